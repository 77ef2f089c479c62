import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recommend.boosted.conftest import drawn

from edgewise.recommend.boosted import compiled, twins
from edgewise.recommend.boosted.levels import levels_of
from edgewise.recommend.boosted.passes import Passes


def made(ratings, n_threads=1):
    weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    levels = levels_of(ratings.values, "ordered", None)
    sizes = ratings.n_users, ratings.n_items
    return Passes(
        ratings.users, ratings.items, ratings.values, weights, levels, sizes, 10, n_threads
    )


def moved(passes, seed=0):
    rng = np.random.default_rng(seed)
    u, z = rng.normal(size=passes.sizes[0]), rng.normal(size=passes.sizes[1])
    passes.advance(u, z, rng.normal(size=passes.levels.n_columns))
    return u, z


@given(seed=st.integers(0, 2**32 - 1), weights=st.booleans())
@settings(max_examples=15, deadline=None)
def test_compiled_passes_and_twins_give_the_same_bits(seed, weights):
    ratings = drawn(12, 9, 0.6, seed, weights=weights)
    found = []
    for kind in (compiled, twins):
        passes = made(ratings)
        passes._passes = kind
        u, z = moved(passes, seed)
        sums = *passes.sums("users", z), *passes.sums("items", u)
        state = passes.scores, passes.pulls, passes.curves
        found.append([*sums, *state, np.array(passes.squared_error)])
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)


def test_slopes_are_those_of_the_logistic_loss():
    passes = made(drawn(8, 6, 0.7, weights=True))
    moved(passes)
    y = passes.labels

    def loss(scores):
        return passes.weights[:, None] * np.logaddexp(0, -y * scores)

    h = 1e-4
    up, here, down = loss(passes.scores + h), loss(passes.scores), loss(passes.scores - h)
    assert passes.pulls == pytest.approx(-(up - down) / (2 * h), abs=1e-6)
    assert passes.curves == pytest.approx((up - 2 * here + down) / h**2, abs=1e-5)


def test_the_squared_error_is_that_of_the_expected_rating():
    passes = made(drawn(8, 6, 0.7))
    moved(passes)
    expected = 1 + (1 / (1 + np.exp(-passes.scores))).sum(axis=1)
    assert passes.squared_error == pytest.approx(((expected - passes.values) ** 2).sum())


def test_parts_of_the_ratings_give_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("edgewise.recommend.boosted.passes._PART", 50)
    ratings = drawn(40, 30)
    found = []
    for n_threads in (1, 3):
        passes = made(ratings, n_threads)
        assert len(passes._parts) > 3
        _, z = moved(passes)
        found.append((*passes.sums("users", z), passes.scores))
        passes.close()
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)
