"""Objectives: how scores become signed weights, and how long the step is."""

from edgewise.backend.base import Targets
from edgewise.objective.base import Objective, TrainedRound
from edgewise.objective.hamming import REFRESH_EVERY, SAMPLINGS, Hamming, HammingSettings
from edgewise.objective.ranking import Cumulative, Ranking, RankSettings, edge_limit
from edgewise.objective.top import DEFAULT_CUTOFF, Top, TopSettings
from edgewise.objective.votes import VOTE_RULES, Vote

__all__ = [
    "DEFAULT_CUTOFF",
    "REFRESH_EVERY",
    "SAMPLINGS",
    "VOTE_RULES",
    "Cumulative",
    "Hamming",
    "HammingSettings",
    "Objective",
    "RankSettings",
    "Ranking",
    "Targets",
    "Top",
    "TopSettings",
    "TrainedRound",
    "Vote",
    "edge_limit",
]
