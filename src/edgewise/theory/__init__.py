"""Theory on arrays: training bounds, margins, generalization and ranking bounds, pseudo-weights.

Every function is pure and takes numbers from a fitted model or its history.
"""

from edgewise.theory.bounds import (
    energy,
    exponential_loss_bound,
    hamming_bound,
    one_error_bound,
    rounds_to_zero_error,
    step,
)
from edgewise.theory.generalization import (
    MarginBound,
    finite_margin_bound,
    margin_bound,
    stump_vc_dimension,
    vc_bound,
    vote_vc_dimension,
)
from edgewise.theory.margins import margin_cdf, margin_cdf_bound, margin_distribution, margins
from edgewise.theory.pseudo_weights import pseudo_labels, pseudo_weight_sum, pseudo_weights
from edgewise.theory.ranking import (
    ranker_vc_dimension,
    ranking_bound,
    ranking_deviation,
    ranking_loss_bound,
    ranking_sample_size,
)

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
