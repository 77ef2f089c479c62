"""Implicit feedback against the dense equations of the paper (Hu, Koren and Volinsky 2008)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import ImplicitFactorization, Ratings


def dense(ratings, alpha):
    """Return the preferences and confidences of all pairs."""
    P = np.zeros((ratings.n_users, ratings.n_items))
    C = np.ones_like(P)
    weights = 1.0 if ratings.weights is None else ratings.weights
    P[ratings.users, ratings.items] = ratings.values > 0
    C[ratings.users, ratings.items] += alpha * weights * np.abs(ratings.values)
    return P, C


def solve(P, C, Y, penalty):
    """Return every row's x = (Y'CY + penalty I)^-1 Y'Cp, eq. 4."""
    eye = penalty * np.eye(Y.shape[1])
    return np.array(
        [
            np.linalg.solve(Y.T @ (c[:, None] * Y) + eye, Y.T @ (c * p))
            for p, c in zip(P, C, strict=True)
        ]
    )


def model_of(**settings):
    return ImplicitFactorization(
        **{"n_factors": 3, "regularization": 0.5, "alpha": 2.0, "random_state": 0, **settings}
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_items_solve_the_dense_equations(make_ratings, weighted):
    some = make_ratings(weighted=weighted)
    # What is disliked is a preference of 0, held with confidence.
    ratings = Ratings.from_arrays(
        some.users, some.items, some.values - some.mean, weights=some.weights
    )
    model = model_of(solver="exact", n_epochs=3).fit(ratings)
    P, C = dense(ratings, 2.0)
    expected = solve(P.T, C.T, model.user_factors_, 0.5)
    np.testing.assert_allclose(model.item_factors_, expected, rtol=1e-8, atol=1e-10)


def test_enough_conjugate_gradients_solve_the_dense_equations(make_ratings):
    ratings = make_ratings()
    model = model_of(solver="cg", n_epochs=3, cg_steps=20).fit(ratings)
    P, C = dense(ratings, 2.0)
    expected = solve(P.T, C.T, model.user_factors_, 0.5)
    np.testing.assert_allclose(model.item_factors_, expected, atol=1e-4)


def test_conjugate_gradients_end_where_exact_solutions_do(make_ratings):
    ratings = make_ratings(n_users=30, n_items=20)
    exact, cg = (model_of(solver=s, n_epochs=60).fit(ratings) for s in ("exact", "cg"))
    assert cg.loss_history_[-1] == pytest.approx(exact.loss_history_[-1], rel=1e-3)
    everyone = np.arange(30)
    np.testing.assert_allclose(cg._user_scores(everyone), exact._user_scores(everyone), atol=0.05)


@given(
    seed=st.integers(0, 10**6),
    solver=st.sampled_from(["cg", "exact"]),
    alpha=st.sampled_from([0.0, 0.5, 10.0]),
    penalty=st.sampled_from([0.1, 5.0]),
)
@settings(max_examples=40)
def test_the_loss_is_that_of_the_paper_and_never_rises(seed, solver, alpha, penalty):
    rng = np.random.default_rng(seed)
    rated = rng.random((8, 7)) < 0.4
    rated[0, 0] = True
    users, items = np.nonzero(rated)
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 4, len(users)).astype(float))
    model = model_of(
        solver=solver, alpha=alpha, regularization=penalty, n_epochs=8, random_state=seed
    ).fit(ratings)
    history = model.loss_history_
    # A step of conjugate gradients never raises a quadratic function; single precision may a bit.
    assert (np.diff(history) <= 1e-5 * history[0]).all()
    P, C = dense(ratings, alpha)
    X, Y = model.user_factors_, model.item_factors_
    loss = 0.5 * ((C * (P - X @ Y.T) ** 2).sum() + penalty * ((X**2).sum() + (Y**2).sum()))
    assert history[-1] == pytest.approx(loss, rel=1e-4)


def test_without_confidence_it_is_the_decomposition_of_choices():
    # With alpha = 0 and next to no penalty all pairs count alike: the best product of rank k.
    rng = np.random.default_rng(1)
    P = (rng.random((9, 7)) < 0.5).astype(float)
    P[0] = P[:, 0] = 1
    ratings = Ratings.from_arrays(*np.nonzero(P))
    model = model_of(n_factors=2, alpha=0.0, regularization=1e-8, solver="exact", n_epochs=500).fit(
        ratings
    )
    left, values, right = np.linalg.svd(P)
    best = (left[:, :2] * values[:2]) @ right[:2]
    np.testing.assert_allclose(model.user_factors_ @ model.item_factors_.T, best, atol=1e-4)


def test_twice_the_weight_is_twice_the_alpha(make_ratings):
    ratings = make_ratings()
    twice = Ratings.from_arrays(
        ratings.users, ratings.items, ratings.values, weights=np.full(len(ratings), 2.0)
    )
    one = model_of(solver="exact", alpha=2.0).fit(ratings)
    two = model_of(solver="exact", alpha=1.0).fit(twice)
    np.testing.assert_allclose(one.item_factors_, two.item_factors_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scale", [1e9, 1e30])
def test_large_confidences(make_ratings, scale):
    some = make_ratings()
    large = Ratings.from_arrays(some.users, some.items, np.abs(some.values) * scale)
    model = model_of(n_epochs=3).fit(large)
    predicted = model.predict(large.users, large.items)
    np.testing.assert_allclose(predicted, 1.0, atol=0.3)
    few = model_of(n_epochs=3).fit(Ratings.from_arrays(some.users, some.items, some.values * 2**30))
    more = model_of(n_epochs=3, alpha=1.0).fit(
        Ratings.from_arrays(some.users, some.items, some.values * 2**31)
    )
    np.testing.assert_array_equal(few.user_factors_, more.user_factors_)
