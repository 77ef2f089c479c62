"""Theory on arrays: training bounds, margins, generalisation and ranking bounds, pseudo-weights.

Everything here is a pure function of numbers that a fitted model or its history holds.
"""

from edgewise.theory.bounds import (
    exponential_loss_bound,
    hamming_bound,
    one_error_bound,
    rounds_to_zero_error,
)
from edgewise.theory.generalisation import (
    MarginBound,
    finite_margin_bound,
    margin_bound,
    vc_bound,
)
from edgewise.theory.margins import (
    margin_cdf,
    margin_cdf_bound,
    margin_distribution,
    margins,
)
from edgewise.theory.pseudo_weights import (
    pseudo_labels,
    pseudo_weight_sum,
    pseudo_weights,
)
from edgewise.theory.ranking import (
    ranker_vc_dimension,
    ranking_bound,
    ranking_deviation,
    ranking_loss_bound,
    ranking_sample_size,
)
from edgewise.theory.steps import energy, step
from edgewise.theory.vc_dimension import stump_vc_dimension, vote_vc_dimension

__all__ = [
    "MarginBound",
    "energy",
    "exponential_loss_bound",
    "finite_margin_bound",
    "hamming_bound",
    "margin_bound",
    "margin_cdf",
    "margin_cdf_bound",
    "margin_distribution",
    "margins",
    "one_error_bound",
    "pseudo_labels",
    "pseudo_weight_sum",
    "pseudo_weights",
    "ranker_vc_dimension",
    "ranking_bound",
    "ranking_deviation",
    "ranking_loss_bound",
    "ranking_sample_size",
    "rounds_to_zero_error",
    "step",
    "stump_vc_dimension",
    "vc_bound",
    "vote_vc_dimension",
]
