"""Matrix factorization: three solvers of one function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import MatrixFactorization, Ratings
from edgewise.recommend.factorization.matrix import PENALTIES, RatingLoss
from edgewise.recommend.kernels.factorization import BiasedFactors

SOLVERS = ["sgd", "als", "gd"]


def factors_of(model):
    return BiasedFactors(
        model.user_factors_, model.item_factors_, model.user_biases_, model.item_biases_
    )


def loss_of(model, penalty, biases):
    return RatingLoss(model.ratings_, model.intercept_, penalty, biases, model.scale_)


def test_all_solvers_find_the_same_minimum(make_ratings):
    ratings = make_ratings(rank=1, noise=0.1)
    common = {"n_factors": 1, "regularization": 0.05, "random_state": 0}
    models = [
        MatrixFactorization(solver="als", n_epochs=200, **common),
        MatrixFactorization(solver="gd", n_epochs=2000, **common),
        MatrixFactorization(solver="sgd", n_epochs=1000, learning_rate=0.005, **common),
    ]
    losses = [model.fit(ratings).loss_history_[-1] for model in models]
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    # With steps of one length SGD ends near the minimum and not in it.
    assert losses[2] == pytest.approx(losses[0], rel=1e-2)
    pairs = ratings.users, ratings.items
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(*pairs), models[0].predict(*pairs), atol=0.05)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("biases", [True, False])
def test_history_ends_with_the_loss_of_the_model(make_ratings, solver, biases):
    ratings = make_ratings(weighted=True)
    model = MatrixFactorization(2, solver=solver, n_epochs=7, biases=biases, random_state=0).fit(
        ratings
    )
    loss = loss_of(model, PENALTIES[solver], biases)(factors_of(model))
    assert model.loss_history_.shape == (8,)
    assert model.loss_history_[-1] == pytest.approx(loss, rel=1e-12)
    if not biases:
        assert model.intercept_ == 0
        assert not model.user_biases_.any()
        assert not model.item_biases_.any()


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 4),
    penalty=st.sampled_from([0.0, 0.01, 1.0]),
    biases=st.booleans(),
    solver=st.sampled_from(["als", "gd"]),
)
@settings(max_examples=40)
def test_loss_never_rises(seed, k, penalty, biases, solver):
    rng = np.random.default_rng(seed)
    rated = rng.random((7, 6)) < 0.6
    rated[0, 0] = True
    users, items = np.nonzero(rated)
    values = rng.integers(1, 6, len(users)).astype(float)
    ratings = Ratings.from_arrays(users, items, values, weights=rng.uniform(0.1, 3, len(users)))
    model = MatrixFactorization(
        k, solver=solver, n_epochs=10, regularization=penalty, biases=biases, random_state=seed
    ).fit(ratings)
    history = model.loss_history_
    assert (np.diff(history) <= 1e-9 * history[0]).all()


@pytest.mark.parametrize("solver", ["als", "gd"])
def test_the_gradient_vanishes_at_the_end(make_ratings, solver):
    ratings = make_ratings(rank=1, weighted=True)
    model = MatrixFactorization(1, solver=solver, n_epochs=400, regularization=0.1, random_state=1)
    model.fit(ratings)
    gradient = loss_of(model, 0.1, True).gradient(factors_of(model))
    assert sum(np.vdot(part, part) for part in gradient) ** 0.5 < 1e-4


@pytest.mark.parametrize("biases", [True, False])
def test_normal_equations_of_the_items_hold(make_ratings, biases):
    ratings = make_ratings(weighted=True)
    model = MatrixFactorization(3, solver="als", n_epochs=2, biases=biases, random_state=0).fit(
        ratings
    )
    # The items are solved for last: the derivatives by their factors and biases are 0.
    gradient = loss_of(model, 0.1, biases).gradient(factors_of(model))
    np.testing.assert_allclose(gradient.items, 0, atol=1e-9)
    np.testing.assert_allclose(gradient.item_biases, 0, atol=1e-9)
    assert np.abs(gradient.users).max() > 1e-3


def test_one_epoch_of_least_squares_by_hand():
    # A 4 x 4 matrix that is full: user 0 solves (V'V + 4 s lambda I) u = V'r.
    R = np.array([[5.0, 3, 4, 1], [4, 2, 3, 1], [1, 5, 2, 4], [2, 4, 1, 5]])
    ratings = Ratings.from_matrix(R)
    model = MatrixFactorization(2, solver="als", n_epochs=1, regularization=0.25, biases=False)
    model.set_params(random_state=0).fit(ratings)
    U, V = model.user_factors_, model.item_factors_
    rows = [
        np.linalg.solve(U.T @ U + 4 * 0.25 * model.scale_ * np.eye(2), U.T @ R[:, j])
        for j in range(4)
    ]
    np.testing.assert_allclose(V, rows, rtol=1e-10)


def test_one_step_of_descent_by_hand():
    ratings = Ratings.from_arrays([0], [0], [4.0], weights=[2.0])
    model = MatrixFactorization(
        1,
        solver="sgd",
        n_epochs=1,
        learning_rate=0.1,
        regularization=0.5,
        biases=False,
        random_state=0,
    )
    start = MatrixFactorization(
        1, solver="sgd", n_epochs=1, learning_rate=1e-300, biases=False, random_state=0
    ).fit(ratings)
    u, v = start.user_factors_[0, 0], start.item_factors_[0, 0]
    error = 4.0 - u * v
    model.fit(ratings)
    assert model.user_factors_[0, 0] == pytest.approx(u + 0.1 * 2 * (error * v - 0.5 * u))
    assert model.item_factors_[0, 0] == pytest.approx(v + 0.1 * 2 * (error * u - 0.5 * v))


def test_a_rating_of_the_mean_leaves_nothing_to_learn():
    ratings = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [3.0, 3, 3, 3])
    for solver in SOLVERS:
        model = MatrixFactorization(1, solver=solver, n_epochs=300, random_state=0).fit(ratings)
        np.testing.assert_allclose(model.predict([0, 1], [1, 0]), 3.0, atol=0.05)


@pytest.mark.parametrize("solver", ["als", "gd"])
def test_weights_of_two_change_nothing_but_the_loss(make_ratings, solver):
    ratings = make_ratings(seed=5)
    twice = Ratings.from_arrays(
        ratings.users, ratings.items, ratings.values, weights=np.full(len(ratings), 2.0)
    )
    rate = 0.004 if solver == "gd" else 1.0
    once, double = (
        MatrixFactorization(2, solver=solver, n_epochs=10, learning_rate=step, random_state=0).fit(
            data
        )
        for data, step in ((ratings, rate), (twice, rate / 2))
    )
    np.testing.assert_allclose(double.user_factors_, once.user_factors_, rtol=1e-8)
    np.testing.assert_allclose(double.item_biases_, once.item_biases_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(double.loss_history_, 2 * once.loss_history_)


def test_two_new_users_at_once_are_as_one_after_the_other(make_ratings):
    model = MatrixFactorization(2, n_epochs=5, random_state=0).fit(make_ratings())
    new = {70: {0: 4.0, 3: 2.0}, 71: {1: 3.0}}
    together = model.fold_in(new)
    apart = model.fold_in({70: new[70]}).fold_in({71: new[71]})
    np.testing.assert_allclose(together.user_factors_, apart.user_factors_, rtol=1e-12)
    np.testing.assert_allclose(together.user_biases_, apart.user_biases_, rtol=1e-12)


def test_steps_that_are_too_long_are_named(make_ratings):
    with pytest.raises(ValueError, match="learning_rate is too large"):
        MatrixFactorization(3, n_epochs=50, learning_rate=9.0, random_state=0).fit(make_ratings())


@pytest.mark.parametrize("compiled", ["numpy", "numba"])
def test_the_scale_of_the_ratings_does_not_matter_to_descent(make_ratings, monkeypatch, compiled):
    monkeypatch.setenv("EDGEWISE_BACKEND", compiled)
    ratings = make_ratings(seed=3)
    wide = Ratings.from_arrays(ratings.users, ratings.items, 256.0 * ratings.values)
    usual, large = (
        MatrixFactorization(2, n_epochs=20, random_state=0).fit(data) for data in (ratings, wide)
    )
    # Powers of four: every number of one fit is that of the other but for its exponent.
    np.testing.assert_array_equal(large.user_factors_, 16.0 * usual.user_factors_)
    np.testing.assert_array_equal(large.item_biases_, 256.0 * usual.item_biases_)
