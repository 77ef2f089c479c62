"""The paired randomization test against its definition and against SciPy's."""

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from edgewise.metrics import randomization_test
from edgewise.metrics.significance import proportion_interval

TENTHS = st.integers(-9, 9).map(lambda i: i / 10)


@given(st.lists(st.tuples(TENTHS, TENTHS), min_size=1, max_size=9))
def test_the_exact_p_value_counts_all_signs(pairs):
    a, b = np.array(pairs).T
    # Tenths as whole numbers: the sums are exact, so that ties are ties.
    whole = np.rint((a - b) * 10).astype(int)
    sums = [abs(whole @ signs) for signs in itertools.product([-1, 1], repeat=len(whole))]
    result = randomization_test(a, b)
    assert result.exact
    assert result.n_queries == len(pairs)
    assert result.p_value == np.mean(np.array(sums) >= abs(whole.sum()))
    assert result.mean_difference == pytest.approx(whole.mean() / 10)


def test_drawn_signs_come_near_the_exact_p_value():
    rng = np.random.default_rng(0)
    a = rng.random(14)
    b = a - rng.normal(0.1, 0.3, size=14)
    exact = randomization_test(a, b, n_draws=2**14)
    drawn = randomization_test(a, b, n_draws=2**14 - 1, random_state=1)
    assert exact.exact
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)
    assert drawn.mean_difference == exact.mean_difference
    scipys = scipy.stats.permutation_test(
        (a - b,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert exact.p_value == pytest.approx(scipys.pvalue)


def test_a_drawn_p_value_is_never_zero_and_counts_the_observed_signs():
    a = np.ones(50) + np.arange(50) / 1000
    result = randomization_test(a, np.zeros(50), n_draws=999, random_state=0)
    assert result.p_value == 1 / 1000


def test_draws_follow_the_random_state():
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 200))
    first = randomization_test(a, b, random_state=7)
    assert first == randomization_test(a, b, random_state=7)
    assert first != randomization_test(a, b, random_state=8)
    by_generator = [
        randomization_test(a, b, random_state=np.random.default_rng(5)) for _ in range(2)
    ]
    assert by_generator[0] == by_generator[1]
    randomization_test(a, b, random_state=np.random.RandomState(0))
    randomization_test(a, b)


def test_the_order_of_the_two_changes_only_the_sign():
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 100))
    item, other = (randomization_test(*pair, random_state=0) for pair in ((a, b), (b, a)))
    assert item.p_value == other.p_value
    assert item.mean_difference == -other.mean_difference


def test_alike_rankers_have_a_p_value_of_one():
    a = np.arange(40) / 7
    result = randomization_test(a, a)
    assert (result.mean_difference, result.p_value, result.exact) == (0.0, 1.0, True)


def test_rounding_does_not_break_ties():
    # 0.1 + 0.2 and 0.3 differ by rounding; all eight sums of this kind are 0.3 or less.
    result = randomization_test([0.1, 0.2, 0.3], [0.0, 0.0, 0.6])
    assert result.p_value == 1.0


def test_memory_does_not_grow_with_the_draws():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 20_000))
    assert 0 < randomization_test(a, b, n_draws=200, random_state=0).p_value <= 1


def test_skipped_queries_are_left_out():
    nan = np.nan
    result = randomization_test([0.9, nan, 0.8, 0.7], [0.5, nan, 0.6, 0.6])
    assert result == randomization_test([0.9, 0.8, 0.7], [0.5, 0.6, 0.6])
    assert result.n_queries == 3


@pytest.mark.parametrize(
    ("a", "b", "options", "error", "message"),
    [
        ([1.0], [1.0, 2.0], {}, ValueError, "b must have a value for each of the 1 queries of a"),
        ([1.0, np.nan], [1.0, 2.0], {}, ValueError, "a and b must skip the same queries"),
        ([np.nan], [np.nan], {}, ValueError, "a and b must have a query in common"),
        ([], [], {}, ValueError, "a and b must have a query in common"),
        ([np.inf], [1.0], {}, ValueError, "a must not hold infinities"),
        ([1.0], [[1.0]], {}, ValueError, "b must be 1-D"),
        (["x"], [1.0], {}, TypeError, "a must hold real numbers"),
        ([1.0], [0.0], {"n_draws": 0}, ValueError, "n_draws must be an integer of at least 1"),
        ([1.0], [0.0], {"random_state": "x"}, ValueError, "random_state must be an int"),
    ],
)
def test_what_is_refused(a, b, options, error, message):
    with pytest.raises(error, match=message):
        randomization_test(a, b, **options)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (1, 7), (13, 90), (50, 50)])
def test_intervals_of_proportions_are_those_of_scipy(hits, n):
    expected = scipy.stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert proportion_interval(hits / n, n) == pytest.approx((expected.low, expected.high))
