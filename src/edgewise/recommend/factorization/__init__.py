"""Factor models: matrix factorisation, truncated SVD, non-negative and implicit factorisation."""

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
