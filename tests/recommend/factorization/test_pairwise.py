"""Factors learned from pairs of a chosen and another item."""

import numpy as np
import pytest

from edgewise import PairwiseFactorization, Popularity, Ratings, recommend
from edgewise.recommend.kernels import factorization as reference
from edgewise.recommend.kernels import factorization_numba as compiled


def tastes(seed=0):
    """Two kinds of users, who choose among two kinds of items."""
    rng = np.random.default_rng(seed)
    chances = np.where(np.arange(60)[:, None] % 2 == np.arange(40) % 2, 0.4, 0.05)
    users, items = np.nonzero(rng.random((60, 40)) < chances)
    return Ratings.from_arrays(users, items).split(0.2, random_state=0)


def test_it_tells_tastes_apart_and_beats_popularity():
    train, test = tastes()
    model = PairwiseFactorization(4, n_epochs=30, random_state=0).fit(train)
    assert model.loss_history_[-1] < 0.5 * model.loss_history_[0]
    (ours,), (popular,) = (
        recommend.evaluate(one, test, ["ndcg@10"]).values()
        for one in (model, Popularity().fit(train))
    )
    assert ours > popular
    assert (model.user_factors_[:, -1] == 1).all()


def test_a_step_follows_the_gradient_of_the_logistic_loss():
    # One user with one choice among two items: the other item is drawn.
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(1, 3)), rng.normal(size=(2, 3))
    users[0, -1] = 1.0

    def loss(u, v):
        return np.log1p(np.exp(-(u[0] @ (v[0] - v[1]))))

    moved = users.copy(), items.copy()
    zero, starts = np.zeros(1, dtype=np.int32), np.array([0, 1])
    state = np.array([7], dtype=np.uint64)
    pairs = reference.Interactions(zero, zero, starts, zero)
    reference.descend_pairs(zero, pairs, (1e-6, 1e-6), 0.0, state, *moved)
    for side, before in enumerate((users, items)):
        for at in np.ndindex(before.shape):
            ahead = [users.copy(), items.copy()]
            ahead[side][at] += 1e-5
            slope = (loss(*ahead) - loss(users, items)) / 1e-5
            step = (moved[side][at] - before[at]) / 1e-6
            assert step == pytest.approx(0.0 if (side, at[1]) == (0, 2) else -slope, abs=1e-3)


def test_both_kernels_take_the_same_steps():
    train, _ = tastes(1)
    view = train.by_user
    rows = view.row_numbers.astype(np.int32)
    found = []
    for kernels in (reference, compiled):
        rng = np.random.default_rng(0)
        factors = rng.normal(size=(60, 4)), rng.normal(size=(40, 4))
        order, state = np.arange(len(rows), dtype=np.int32), np.array([9], dtype=np.uint64)
        pairs = reference.Interactions(rows, view.others, view.starts, view.others)
        kernels.descend_pairs(order, pairs, (0.1, 0.1), 0.01, state, *factors)
        found.append((*factors, state))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_what_the_user_chose_is_never_drawn():
    # All items are chosen: nothing to draw, nothing to learn.
    chosen = Ratings.from_arrays(np.repeat([0, 1], 3), [0, 1, 2] * 2)
    model = PairwiseFactorization(2, n_epochs=3, random_state=0).fit(chosen)
    start = PairwiseFactorization(2, n_epochs=1, random_state=0).fit(chosen)
    np.testing.assert_array_equal(model.item_factors_, start.item_factors_)


def test_too_long_steps_are_named():
    train, _ = tastes()
    with pytest.raises(ValueError, match="learning_rate is too large"):
        PairwiseFactorization(4, learning_rate=1e200, random_state=0).fit(train)


def test_ratings_of_zero_are_no_choices():
    rng = np.random.default_rng(0)
    likes = rng.random((30, 12)) < 0.4
    likes[0], likes[:, 0] = True, True  # all users and items are known, in the same order
    users, items = np.divmod(np.arange(likes.size), likes.shape[1])
    rated = Ratings.from_arrays(users, items, likes.ravel().astype(float))
    choices = Ratings.from_arrays(*np.nonzero(likes))
    with_zeros, without = (
        PairwiseFactorization(3, n_epochs=5, random_state=0).fit(one) for one in (rated, choices)
    )
    np.testing.assert_array_equal(with_zeros.item_factors_, without.item_factors_)
    np.testing.assert_array_equal(with_zeros.user_factors_, without.user_factors_)
