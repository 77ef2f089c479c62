"""Objectives: how scores become signed weights, and how long the step is."""

from edgewise.objective.hamming import REFRESH_EVERY, Hamming, Progress, Targets
from edgewise.objective.votes import VOTE_RULES, Vote, VoteRule

__all__ = ["REFRESH_EVERY", "VOTE_RULES", "Hamming", "Progress", "Targets", "Vote", "VoteRule"]
