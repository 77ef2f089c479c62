"""Objectives: how scores become signed weights, and how long the step is."""

from edgewise.objective.hamming import (
    LOSSES,
    REFRESH_EVERY,
    Hamming,
    Progress,
    Settings,
    Targets,
)
from edgewise.objective.votes import VOTE_RULES, Vote, VoteRule

__all__ = [
    "LOSSES",
    "REFRESH_EVERY",
    "VOTE_RULES",
    "Hamming",
    "Progress",
    "Settings",
    "Targets",
    "Vote",
    "VoteRule",
]
