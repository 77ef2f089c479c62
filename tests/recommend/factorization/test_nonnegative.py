"""Non-negative factorization: the loss never rises, and nothing is ever below 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import NonNegativeFactorization, Ratings


def dense(ratings, entries):
    """Return the matrix and the weights of all entries."""
    R = np.zeros((ratings.n_users, ratings.n_items))
    W = np.zeros_like(R) if entries == "observed" else np.ones_like(R)
    R[ratings.users, ratings.items] = ratings.values
    weights = 1.0 if ratings.weights is None else ratings.weights
    W[ratings.users, ratings.items] = weights
    return R, W


def loss_of(R, W, U, V, penalty):
    sizes = (U**2).sum(axis=1)[:, None] + (V**2).sum(axis=1)
    return 0.5 * (W * ((R - U @ V.T) ** 2 + penalty * sizes)).sum()


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 4),
    entries=st.sampled_from(["observed", "all"]),
    penalty=st.sampled_from([0.0, 0.01, 1.0]),
    weighted=st.booleans(),
    zeros=st.booleans(),
)
@settings(max_examples=60)
def test_the_loss_never_rises_and_factors_stay_positive(seed, k, entries, penalty, weighted, zeros):
    rng = np.random.default_rng(seed)
    rated = rng.random((6, 7)) < 0.5
    rated[0, 0] = True
    users, items = np.nonzero(rated)
    values = rng.integers(0 if zeros else 1, 6, len(users)).astype(float)
    weights = rng.uniform(0.1, 3.0, len(users)) if weighted else None
    ratings = Ratings.from_arrays(users, items, values, weights=weights)
    model = NonNegativeFactorization(
        k, n_epochs=25, entries=entries, regularization=penalty, random_state=seed
    ).fit(ratings)
    history = model.loss_history_
    assert (np.diff(history) <= 1e-10 * max(history[0], 1.0)).all()
    assert (model.user_factors_ >= 0).all()
    assert (model.item_factors_ >= 0).all()
    penalty *= model.scale_
    end = loss_of(*dense(ratings, entries), model.user_factors_, model.item_factors_, penalty)
    assert history[-1] == pytest.approx(end, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("entries", ["observed", "all"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_update_is_that_of_lee_and_seung(make_ratings, entries, weighted):
    ratings = make_ratings(low=0.1, weighted=weighted)
    start, after = (
        NonNegativeFactorization(
            2, n_epochs=n, entries=entries, regularization=0.2, random_state=0
        ).fit(ratings)
        for n in (1, 2)
    )
    (R, W), U, V = dense(ratings, entries), start.user_factors_, start.item_factors_
    penalty = 0.2 * start.scale_
    U = U * ((W * R) @ V) / ((W * (U @ V.T)) @ V + penalty * W.sum(axis=1)[:, None] * U)
    V = V * ((W * R).T @ U) / ((W * (U @ V.T)).T @ U + penalty * W.sum(axis=0)[:, None] * V)
    np.testing.assert_allclose(after.user_factors_, U, rtol=1e-10)
    np.testing.assert_allclose(after.item_factors_, V, rtol=1e-10)


def test_a_product_of_positive_factors_is_found():
    rng = np.random.default_rng(0)
    R = rng.uniform(0.5, 2, (10, 2)) @ rng.uniform(0.5, 2, (2, 8))
    rated = rng.random(R.shape) < 0.8
    users, items = np.nonzero(rated)
    model = NonNegativeFactorization(2, n_epochs=2000, regularization=0.0, random_state=0)
    model.fit(Ratings.from_arrays(users, items, R[rated]))
    np.testing.assert_allclose(model.user_factors_ @ model.item_factors_.T, R, rtol=0.05)


def test_gaps_as_noughts_make_scores():
    ratings = Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 2])
    model = NonNegativeFactorization(2, entries="all", regularization=0.0, random_state=0)
    assert model.predicts == "score"
    assert NonNegativeFactorization().predicts == "rating"
    scores = model.fit(ratings)._user_scores(np.arange(3))
    np.testing.assert_allclose(scores, [[1, 1, 0], [1, 1, 0], [0, 0, 1]], atol=0.02)


def test_negative_ratings_are_refused():
    ratings = Ratings.from_arrays([0, 1], [0, 0], [1.0, -1.0])
    with pytest.raises(ValueError, match="ratings must not be negative here, got -1"):
        NonNegativeFactorization().fit(ratings)
