"""Theory on arrays: training bounds, margins, generalization and ranking bounds, pseudo-weights.

Every function is pure and takes numbers from a fitted model or its history.
"""

from edgewise.theory.bounds import (
    energy,
    one_error_bound,
    pseudo_labels,
    pseudo_weight_sum,
    pseudo_weights,
    rounds_to_zero_error,
    step,
    training_loss_bound,
)
from edgewise.theory.generalization import (
    MarginBound,
    finite_margin_bound,
    margin_bound,
    ranker_vc_dimension,
    ranking_bound,
    ranking_deviation,
    ranking_sample_size,
    stump_vc_dimension,
    vc_bound,
    vote_vc_dimension,
)
from edgewise.theory.margins import margin_cdf, margin_cdf_bound, margin_distribution, margins

__all__ = [
    "MarginBound",
    "energy",
    "finite_margin_bound",
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
    "ranking_sample_size",
    "rounds_to_zero_error",
    "step",
    "stump_vc_dimension",
    "training_loss_bound",
    "vc_bound",
    "vote_vc_dimension",
]
