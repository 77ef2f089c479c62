"""Factorisation of the matrix of ratings into factors of users and factors of items."""

from edgewise.recommend.factorization.implicit import ImplicitFactorization
from edgewise.recommend.factorization.matrix import MatrixFactorization
from edgewise.recommend.factorization.nonnegative import NonNegativeFactorization
from edgewise.recommend.factorization.svd import SVDRecommender

__all__ = [
    "ImplicitFactorization",
    "MatrixFactorization",
    "NonNegativeFactorization",
    "SVDRecommender",
]
