"""The ratings of a user under a new name give the factors that training found."""

import numpy as np
import pytest

from edgewise import (
    ImplicitFactorization,
    MatrixFactorization,
    NonNegativeFactorization,
    Ratings,
    SVDRecommender,
)


def least_squares(biases):
    return MatrixFactorization(
        1, solver="als", n_epochs=500, regularization=0.05, biases=biases, random_state=0
    )


def implicit(solver):
    return ImplicitFactorization(
        3, solver=solver, n_epochs=300, regularization=0.5, alpha=2.0, random_state=0
    )


@pytest.mark.parametrize(
    ("model", "data", "tolerance"),
    [
        *((least_squares(biases), {"weighted": True}, 1e-4) for biases in (True, False)),
        *((implicit(solver), {"rank": 2, "low": None}, 0.01) for solver in ("cg", "exact")),
        (NonNegativeFactorization(1, n_epochs=500, random_state=0), {}, 1e-4),
        *((SVDRecommender(3, fill=fill), {}, 1e-10) for fill in ("bias", "mean", "zero")),
    ],
)
def test_a_user_folded_in_again_has_the_same_factors(make_ratings, model, data, tolerance):
    ratings = make_ratings(**{"low": 0.1, "rank": 1, **data})
    model.fit(ratings)
    mine = ratings.users == 3
    weights = None if ratings.weights is None else ratings.weights[mine]
    again = Ratings.from_arrays(
        np.full(mine.sum(), 99), ratings.items[mine], ratings.values[mine], weights=weights
    )
    more = model.fold_in(again)
    assert len(model.user_factors_) == ratings.n_users
    np.testing.assert_allclose(more.user_factors_[-1], model.user_factors_[3], atol=tolerance)
    if hasattr(model, "user_biases_"):
        np.testing.assert_allclose(more.user_biases_[-1], model.user_biases_[3], atol=tolerance)
