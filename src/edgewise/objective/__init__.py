"""Objectives: how scores become signed weights, and how long the step is."""

from edgewise.backend.base import Targets
from edgewise.objective.base import Objective, Taken
from edgewise.objective.cumulative import Cumulative
from edgewise.objective.hamming import REFRESH_EVERY, SAMPLINGS, Hamming, Settings
from edgewise.objective.ranking import STEPS, Ranking, RankSettings, edge_limit
from edgewise.objective.top import FIRST, Top, TopSettings
from edgewise.objective.votes import VOTE_RULES, Vote

__all__ = [
    "FIRST",
    "REFRESH_EVERY",
    "SAMPLINGS",
    "STEPS",
    "VOTE_RULES",
    "Cumulative",
    "Hamming",
    "Objective",
    "RankSettings",
    "Ranking",
    "Settings",
    "Taken",
    "Targets",
    "Top",
    "TopSettings",
    "Vote",
    "edge_limit",
]
