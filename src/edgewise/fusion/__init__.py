"""Fusion: several ranked lists of documents into one, without training.

:class:`RankedLists` holds the lists. Each method is a function of them that gives one score a row;
higher is better within a query.
"""

from edgewise.fusion.combination import comb_mnz, comb_sum
from edgewise.fusion.judgements import grades_of
from edgewise.fusion.lists import RankedLists
from edgewise.fusion.majorities import condorcet
from edgewise.fusion.normalisation import normalised_scores
from edgewise.fusion.points import borda
from edgewise.fusion.ranks import maximum_rank, median_rank, minimum_rank, rank_sum
from edgewise.fusion.reciprocal import reciprocal_rank_fusion
from edgewise.fusion.registry import FUSIONS, fuse
from edgewise.fusion.single import best_list, single_list

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
    "normalised_scores",
    "rank_sum",
    "reciprocal_rank_fusion",
    "single_list",
]
