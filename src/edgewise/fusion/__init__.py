"""Fusion of several ranked lists of documents into one, without training.

:class:`RankedLists` holds the lists. Each method is a function of them that returns one score a
row; higher is better within a query.
"""

from edgewise.fusion.lists import RankedLists, grades_of
from edgewise.fusion.methods import (
    FUSIONS,
    best_list,
    borda,
    comb_mnz,
    comb_sum,
    condorcet,
    fuse,
    maximum_rank,
    median_rank,
    minimum_rank,
    normalized_scores,
    rank_sum,
    reciprocal_rank_fusion,
    single_list,
)

__all__ = [
    "FUSIONS",
    "RankedLists",
    "best_list",
    "borda",
    "comb_mnz",
    "comb_sum",
    "condorcet",
    "fuse",
    "grades_of",
    "maximum_rank",
    "median_rank",
    "minimum_rank",
    "normalized_scores",
    "rank_sum",
    "reciprocal_rank_fusion",
    "single_list",
]
