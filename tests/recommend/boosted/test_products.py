import numpy as np
import pytest
from scipy import sparse
from tests.recommend.boosted.conftest import drawn
from tests.recommend.boosted.test_gradients import made

from edgewise.common.threads import Threads
from edgewise.recommend.boosted.products import (
    ValueStep,
    best_products,
    best_single,
    best_votes,
    slopes_along,
)
from edgewise.recommend.features import (
    build_indicators,
    indicator_names,
)


def started(ratings):
    scored = made(ratings)
    users, items = np.ones((ratings.n_users, 1)), np.ones((ratings.n_items, 1))
    scored.advance(users, items, np.array([2.0, 1, -1, -2]))
    return scored


def counts(ratings, side):
    ones, n = (
        (ratings.users, ratings.n_users) if side == "users" else (ratings.items, ratings.n_items)
    )
    return np.bincount(ones, minlength=n).astype(float)


def model_change(scored, users, items, votes):
    """The change of the loss along a product, to the second order."""
    scored.set_direction(votes)
    h = users[scored.users] * items[scored.items]
    return float((-scored.slopes.gradients * h + scored.slopes.hessians * h * h / 2).sum())


def sides_of(ratings, regularization):
    return [
        ValueStep(counts(ratings, side), None, regularization, 1.0, Threads(1))
        for side in ("users", "items")
    ]


@pytest.mark.parametrize("kind", ["users alone", "products"])
def test_values_of_users_are_the_best_for_their_items_and_votes(ratings, kind):
    scored = started(ratings)
    if kind == "users alone":
        step, column = best_single(scored, "users", 5.0, True), 0
    else:
        start = np.random.default_rng(1).normal(size=(ratings.n_users, 3))
        step, column = best_products(scored, *sides_of(ratings, 5.0), start), 1
    items, best_values = step.item_values[:, column], step.user_values[:, column]

    def penalized(values):
        return model_change(scored, values, items, step.votes) + 2.5 * (values**2).sum()

    best = penalized(best_values)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert penalized(best_values + 1e-3 * rng.normal(size=ratings.n_users)) > best
    assert step.gains[column] == pytest.approx(-2 * best, rel=1e-5)


def test_a_product_finds_the_two_tastes():
    ratings = drawn(60, 40, 0.6)
    scored = started(ratings)
    start = np.random.default_rng(1).normal(size=(60, 1))
    step = best_products(scored, *sides_of(ratings, 5.0), start)
    clean = np.random.default_rng(0)
    clean.random((60, 40))
    taste, kind = clean.choice([-1, 1], 60), clean.choice([-1, 1], 40)
    product = np.sign(step.user_values @ step.item_values.T) * np.sign(step.votes.sum())
    assert (product == np.outer(taste, kind)).mean() > 0.95


def test_discrete_votes_have_one_size():
    gradients, hessians = np.array([[1.0, -2.0], [3.0, 0.5]]), np.ones((2, 2))
    assert best_votes(gradients, hessians, np.ones(2), np.ones(2), real_votes=False).tolist() == [
        1,
        -1,
    ]
    real = best_votes(gradients, hessians, np.ones(2), np.ones(2), real_votes=True)
    assert (real**2).mean() == pytest.approx(1)


def test_gradients_and_hessians_along_votes():
    gradients, hessians = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    assert [part.tolist() for part in slopes_along(gradients, hessians, np.array([2.0, -1.0]))] == [
        [0],
        [16],
    ]


def test_shared_values_are_sums_over_indicators():
    half = 0.5**0.5
    rows = [[half, half, 0], [1, 0, 0], [0, half, half], [0, 0, 0]]
    indicators = sparse.csr_array(np.array(rows))
    side = ValueStep(np.ones(4), indicators, 1e12, 1.0, Threads(1))
    gradients, hessians = np.array([2.0, 1.0, -3.0, 0.0]), np.array([1.0, 2.0, 1.0, 0.0])
    values, weights = (one[:, 0] for one in side.values(gradients[:, None], hessians[:, None]))
    # Own parts are shrunken away: what is left comes from the indicators alone.
    assert values == pytest.approx(indicators @ weights, abs=1e-9)
    assert values[3] == 0
    # The length along the indicators is the best there is.
    slope = (gradients * values).sum() - (hessians * values * values).sum()
    assert slope == pytest.approx(0, abs=1e-9)


def test_indicators_are_ratings_and_features():
    ratings = drawn(6, 5, 0.5, features=True)
    indicators = build_indicators(ratings.by_user, 5, ratings.user_features, True, 6)
    sizes = np.diff(indicators.indptr)
    assert indicators.data == pytest.approx(np.repeat(1 / np.sqrt(sizes), sizes))
    rated = (indicators.toarray()[:, :5] > 0).astype(float)
    assert np.array_equal(rated, (ratings.csr().toarray() > 0).astype(float))
    scaled = build_indicators(ratings.by_user, 5, ratings.user_features, False, 6).toarray()
    flags = (scaled > 0).astype(float)
    # A yes or no is one indicator; a number is cut into parts, of which each row has one.
    assert set(flags[:, 0]) <= {0.0, 1.0}
    assert (flags[:, 1:].sum(axis=1) == 1).all()
    assert build_indicators(ratings.by_user, 5, None, False, 6) is None


def test_indicators_have_names():
    ratings = drawn(6, 5, 0.5, features=True)
    features = ratings.user_features
    names = indicator_names(features, 6)
    assert len(names) == build_indicators(ratings.by_user, 5, features, False, 6).shape[1]
    assert names[0] == features.name(0)
    assert names[1].startswith(f"{features.name(1)} < ")
