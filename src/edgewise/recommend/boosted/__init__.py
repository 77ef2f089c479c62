"""Boosted factorisation: products of user values and item values, learned round by round."""

from edgewise.recommend.boosted.model import BoostedFactorization
from edgewise.recommend.boosted.reasons import Reasons

__all__ = ["BoostedFactorization", "Reasons"]
