import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recommend.boosted.conftest import drawn

from edgewise.backend.numba import factorization_boosting as compiled
from edgewise.backend.reference import factorization_boosting as reference
from edgewise.common.threads import Threads
from edgewise.recommend.boosted.levels import levels_of
from edgewise.recommend.boosted.products import ScoredRatings


def made(ratings, n_threads=1):
    weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    levels = levels_of(ratings.values, "ordered", None)
    sizes = ratings.n_users, ratings.n_items
    return ScoredRatings(
        ratings.users, ratings.items, ratings.values, weights, levels, sizes, 10, Threads(n_threads)
    )


def moved(scored, seed=0):
    rng = np.random.default_rng(seed)
    u, z = rng.normal(size=scored.sizes[0]), rng.normal(size=scored.sizes[1])
    scored.advance(u, z, rng.normal(size=scored.levels.n_columns))
    return u, z


@given(seed=st.integers(0, 2**32 - 1), weights=st.booleans())
@settings(max_examples=15, deadline=None)
def test_compiled_kernels_and_their_reference_give_the_same_bits(seed, weights):
    ratings = drawn(12, 9, 0.6, seed, weights=weights)
    found = []
    for kind in (compiled, reference):
        scored = made(ratings)
        scored._kernels = kind
        u, z = moved(scored, seed)
        sums = *scored.sums("users", z), *scored.sums("items", u)
        state = scored.scores, scored.gradients, scored.hessians
        found.append([*sums, *state, np.array(scored.squared_error)])
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)


def test_gradients_and_hessians_are_those_of_the_logistic_loss():
    scored = made(drawn(8, 6, 0.7, weights=True))
    moved(scored)
    y = scored.labels

    def loss(scores):
        return scored.weights[:, None] * np.logaddexp(0, -y * scores)

    h = 1e-4
    up, here, down = loss(scored.scores + h), loss(scored.scores), loss(scored.scores - h)
    assert scored.gradients == pytest.approx(-(up - down) / (2 * h), abs=1e-6)
    assert scored.hessians == pytest.approx((up - 2 * here + down) / h**2, abs=1e-5)


def test_the_squared_error_is_that_of_the_expected_rating():
    scored = made(drawn(8, 6, 0.7))
    moved(scored)
    expected = 1 + (1 / (1 + np.exp(-scored.scores))).sum(axis=1)
    assert scored.squared_error == pytest.approx(((expected - scored.values) ** 2).sum())


def test_parts_of_the_ratings_give_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("edgewise.recommend.boosted.products._PART", 50)
    ratings = drawn(40, 30)
    found = []
    for n_threads in (1, 3):
        scored = made(ratings, n_threads)
        assert len(scored._parts) > 3
        _, z = moved(scored)
        found.append((*scored.sums("users", z), scored.scores))
        scored._threads.close()
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)
