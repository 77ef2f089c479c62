"""How good predicted ratings are, and what recommended lists are like beyond being right."""

from edgewise.metrics.rating.error import mae, rmse
from edgewise.metrics.rating.exposure import catalogue_coverage, gini, novelty
from edgewise.metrics.rating.levels import nearest_level, nmae, one_zero_error
from edgewise.metrics.rating.likeness import diversity

__all__ = [
    "catalogue_coverage",
    "diversity",
    "gini",
    "mae",
    "nearest_level",
    "nmae",
    "novelty",
    "one_zero_error",
    "rmse",
]
