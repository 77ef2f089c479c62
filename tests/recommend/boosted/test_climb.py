import numpy as np
import pytest
from scipy import sparse
from tests.recommend.boosted.conftest import drawn
from tests.recommend.boosted.test_passes import made

from edgewise.recommend.boosted.climb import along, best_votes, pair, single
from edgewise.recommend.boosted.sides import Side, even, feature_marks, marks_of


def started(ratings):
    passes = made(ratings)
    passes.advance(np.ones(ratings.n_users), np.ones(ratings.n_items), np.array([2.0, 1, -1, -2]))
    return passes


def counts(ratings, side):
    ones, n = (
        (ratings.users, ratings.n_users) if side == "users" else (ratings.items, ratings.n_items)
    )
    return np.bincount(ones, minlength=n).astype(float)


def model_change(passes, users, items, votes):
    """The change of the loss along a product, to the second order."""
    h = (users[passes.users] * items[passes.items])[:, None] * votes
    return float((-passes.pulls * h + passes.curves * h * h / 2).sum())


def test_values_of_users_alone_are_the_best_for_their_votes(ratings):
    passes = started(ratings)
    found = single(passes, "users", Side(counts(ratings, "users"), None, 3.0, 1.0), True)
    ones = np.ones(ratings.n_items)

    def penalised(values):
        return model_change(passes, values, ones, found.votes) + 1.5 * (values**2).sum()

    best = penalised(found.user_values)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert penalised(found.user_values + 1e-3 * rng.normal(size=ratings.n_users)) > best


def test_values_of_users_in_a_product_are_the_best_for_its_items_and_votes(ratings):
    passes = started(ratings)
    sides = [Side(counts(ratings, side), None, 5.0, 1.0) for side in ("users", "items")]
    start = np.random.default_rng(1).normal(size=ratings.n_users)
    found = pair(passes, *sides, start, 2, True)

    def penalised(values):
        change = model_change(passes, values, found.item_values, found.votes)
        return change + 2.5 * (values**2).sum()

    best = penalised(found.user_values)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert penalised(found.user_values + 1e-3 * rng.normal(size=ratings.n_users)) > best
    assert found.gain == pytest.approx(-2 * best)


def test_a_product_finds_the_two_tastes():
    ratings = drawn(60, 40, 0.6)
    passes = started(ratings)
    sides = [Side(counts(ratings, side), None, 5.0, 1.0) for side in ("users", "items")]
    found = pair(passes, *sides, np.random.default_rng(1).normal(size=60), 3, True)
    clean = np.random.default_rng(0)
    clean.random((60, 40))
    taste, kind = clean.choice([-1, 1], 60), clean.choice([-1, 1], 40)
    product = np.sign(np.outer(found.user_values, found.item_values)) * np.sign(found.votes.sum())
    assert (product == np.outer(taste, kind)).mean() > 0.95


def test_discrete_votes_have_one_size():
    pulls, curves = np.array([[1.0, -2.0], [3.0, 0.5]]), np.ones((2, 2))
    assert best_votes(pulls, curves, np.ones(2), np.ones(2), real_votes=False).tolist() == [1, -1]
    real = best_votes(pulls, curves, np.ones(2), np.ones(2), real_votes=True)
    assert (real**2).mean() == pytest.approx(1)


def test_slopes_along_votes():
    pulls, curves = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    assert [part.tolist() for part in along(pulls, curves, np.array([2.0, -1.0]))] == [[0], [16]]


def test_shared_values_are_sums_over_marks():
    marks = even(sparse.csr_array(np.array([[1.0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]])))
    side = Side(np.ones(4), marks, 1e12, 1.0)
    pulls, curves = np.array([2.0, 1.0, -3.0, 0.0]), np.array([1.0, 2.0, 1.0, 0.0])
    values, weights = side.values(pulls, curves)
    # Own parts are shrunken away: what is left comes from the marks alone.
    assert values == pytest.approx(marks @ weights, abs=1e-9)
    assert values[3] == 0
    # The length along the marks is the best there is.
    slope = (pulls * values).sum() - (curves * values * values).sum()
    assert slope == pytest.approx(0, abs=1e-9)


def test_marks_are_ratings_and_features():
    ratings = drawn(6, 5, 0.5, features=True)
    marks = marks_of(ratings.by_user, 5, ratings.user_features, True, 6)
    sizes = np.diff(marks.indptr)
    assert marks.data == pytest.approx(np.repeat(1 / np.sqrt(sizes), sizes))
    rated = (marks.toarray()[:, :5] > 0).astype(float)
    assert np.array_equal(rated, (ratings.csr().toarray() > 0).astype(float))
    flags = feature_marks(ratings.user_features, 6).toarray()
    # A yes or no is one mark; a number is cut into parts, of which each row has one.
    assert set(flags[:, 0]) <= {0.0, 1.0}
    assert (flags[:, 1:].sum(axis=1) == 1).all()
    assert marks_of(ratings.by_user, 5, None, False, 6) is None
