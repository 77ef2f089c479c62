"""Ratings of other units, and from another zero: the same models but for these."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgewise import (
    BiasBaseline,
    MatrixFactorization,
    NonNegativeFactorization,
    Ratings,
    SVDRecommender,
)

MODELS = {
    "sgd": MatrixFactorization(3, n_epochs=5, random_state=0),
    "als": MatrixFactorization(3, solver="als", n_epochs=3, random_state=0),
    "gd": MatrixFactorization(3, solver="gd", n_epochs=5, random_state=0),
    "svd": SVDRecommender(3),
}


def predictions(model, ratings):
    model.fit(ratings)
    new = dict(zip(ratings.items[:4].tolist(), ratings.values[:4].tolist(), strict=True))
    return model.fold_in({999: new})._user_scores(np.arange(ratings.n_users + 1))


def moved(ratings, unit, zero):
    values = unit * ratings.values + zero
    return Ratings.from_arrays(ratings.users, ratings.items, values)


@given(
    name=st.sampled_from(sorted(MODELS)),
    unit=st.sampled_from([1e-6, 0.3, 7.0, 1e5]),
    zero=st.floats(-50, 50),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_affine_change_of_ratings_changes_predictions_alike(make_ratings, name, unit, zero):
    ratings = make_ratings(seed=4)
    usual = predictions(MODELS[name], ratings)
    other = predictions(MODELS[name], moved(ratings, unit, unit * zero))
    np.testing.assert_allclose(other / unit - zero, usual, atol=1e-6)


@pytest.mark.parametrize("entries", ["observed", "all"])
def test_the_units_of_ratings_that_are_never_negative_do_not_matter(make_ratings, entries):
    ratings = make_ratings(low=0.1)
    model = NonNegativeFactorization(3, n_epochs=20, entries=entries, random_state=0)
    usual = predictions(model, ratings)
    np.testing.assert_allclose(predictions(model, moved(ratings, 40.0, 0.0)) / 40.0, usual)


@pytest.mark.parametrize("solver", ["sgd", "als"])
def test_factors_beat_biases_on_continuous_ratings(solver):
    # From -10 to 10, of few items, and mostly noise.
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((400, 40)) < 0.7)
    U, V = rng.normal(size=(400, 2)), rng.normal(size=(40, 2))
    liking = 2 * rng.normal(size=400)[users] + rng.normal(size=40)[items]
    liking += 1.6 * (U[users] * V[items]).sum(axis=1) + 3.5 * rng.normal(size=len(users))
    ratings = Ratings.from_arrays(users, items, np.clip(liking, -10, 10).round(2))
    train, test = ratings.split(0.1, random_state=0)
    errors = [
        np.std(model.fit(train).predict(test.users, test.items) - test.values)
        for model in (BiasBaseline(), MatrixFactorization(solver=solver, random_state=0))
    ]
    assert errors[1] < 0.95 * errors[0]
