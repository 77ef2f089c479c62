import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recommend.boosted.conftest import drawn

from edgewise.common.threads import Threads
from edgewise.recommend.boosted.levels import levels_of
from edgewise.recommend.boosted.products import ScoredRatings
from edgewise.recommend.kernels import boosting as reference
from edgewise.recommend.kernels import boosting_numba as compiled


def made(ratings, n_threads=1, target="ordered"):
    weights = np.ones(len(ratings)) if ratings.weights is None else ratings.weights
    levels = levels_of(ratings.values, target, None)
    sizes = ratings.n_users, ratings.n_items
    pairs = ratings.users, ratings.items
    return ScoredRatings(pairs, ratings.values, weights, levels, sizes, 10, Threads(n_threads))


def moved(scored, seed=0, width=3):
    rng = np.random.default_rng(seed)
    u, z = (rng.normal(size=(size, width)) for size in scored.sizes)
    scored.direction = rng.normal(size=scored.levels.n_columns)
    scored.advance(u, z, rng.normal(size=scored.levels.n_columns))
    return u, z


@given(
    seed=st.integers(0, 2**32 - 1),
    weights=st.booleans(),
    target=st.sampled_from(["ordered", "one_hot", "value"]),
)
@settings(max_examples=20, deadline=None)
def test_compiled_kernels_and_their_reference_give_the_same_bits(seed, weights, target):
    ratings = drawn(12, 9, 0.6, seed, weights=weights)
    found = []
    for kind in (compiled, reference):
        scored = made(ratings, target=target)
        scored._kernels = kind
        u, z = moved(scored, seed)
        sums = (
            *scored.sum_slopes("users", z),
            *scored.sum_slopes("items", u),
            *scored.sum_columns("users"),
        )
        state = scored.slopes.scores, scored.slopes.gradients, scored.slopes.hessians
        found.append([*sums, *state, np.array(scored.squared_error)])
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)


def along_direction(scored, loss):
    """The slopes of a loss of scores along the direction, by finite differences."""
    h = 1e-4
    scores, step = scored.slopes.scores.T.astype(float), h * scored.direction
    up, here, down = loss(scores + step), loss(scores), loss(scores - step)
    return -(up - down) / (2 * h), (up - 2 * here + down) / h**2


@pytest.mark.parametrize("target", ["ordered", "value"])
def test_gradients_and_hessians_are_those_of_the_loss(target):
    scored = made(drawn(8, 6, 0.7, weights=True), target=target)
    moved(scored)
    y = scored.levels.labels()[scored.codes]
    standardized = (scored.values - scored.values.mean()) / scored.values.std()

    def loss(scores):
        if target == "value":
            return scored.weights * 0.25 * (standardized - scores[:, 0]) ** 2
        return scored.weights * np.logaddexp(0, -y * scores).sum(axis=1)

    gradients, hessians = along_direction(scored, loss)
    assert scored.slopes.gradients == pytest.approx(gradients, abs=1e-5)
    assert scored.slopes.hessians == pytest.approx(hessians, abs=1e-5)


def test_sums_are_those_of_the_products():
    scored = made(drawn(8, 6, 0.7))
    _, z = moved(scored)
    along = z[scored.items]
    gradients, hessians = scored.sum_slopes("users", z)
    for user in range(8):
        mine = scored.users == user
        slopes = (
            scored.slopes.gradients[mine, None] * along[mine],
            scored.slopes.hessians[mine, None],
        )
        assert gradients[user] == pytest.approx(slopes[0].sum(axis=0), abs=1e-5)
        assert hessians[user] == pytest.approx((slopes[1] * along[mine] ** 2).sum(axis=0), abs=1e-5)


def test_columns_sum_to_the_slopes_along_the_direction():
    scored = made(drawn(8, 6, 0.7, weights=True))
    moved(scored)
    gradients, hessians = scored.sum_columns("items")
    ones = np.ones((8, 1))
    along = gradients @ scored.direction, hessians @ scored.direction**2
    for found, wanted in zip(scored.sum_slopes("items", ones), along, strict=True):
        assert found[:, 0] == pytest.approx(wanted, abs=1e-5)


def test_the_squared_error_is_that_of_the_expected_rating():
    scored = made(drawn(8, 6, 0.7))
    moved(scored)
    expected = 1 + (1 / (1 + np.exp(-scored.slopes.scores))).sum(axis=0)
    assert scored.squared_error == pytest.approx(((expected - scored.values) ** 2).sum(), rel=1e-5)
