"""Boosted factorization: products of user values and item values, learned round by round."""

from edgewise.recommend.boosted.model import BoostedFactorization

__all__ = ["BoostedFactorization"]
