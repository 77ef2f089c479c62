"""Sums in fixed point: the same in any order, and accurate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.backend.arithmetic import EXACT_SCALE, exact_sum, to_fixed_point

weights = st.lists(st.floats(0.0, 1e12), min_size=1, max_size=60)


@given(weights, st.randoms(use_true_random=False))
def test_a_sum_does_not_depend_on_the_order(numbers, random):
    shuffled = list(numbers)
    random.shuffle(shuffled)
    assert exact_sum(np.array(numbers)) == exact_sum(np.array(shuffled))


@given(weights)
def test_a_sum_is_as_accurate_as_its_grid(numbers):
    n, exact = len(numbers), math.fsum(numbers)
    # Each number is rounded to a grid of at most n / 2**60 of the largest.
    bound = n * n * 2.0**-60 * max(numbers) + math.ulp(exact)
    assert abs(exact_sum(np.array(numbers)) - exact) <= bound


@pytest.mark.parametrize("scale", [1e-300, 5e-324, 1.0, 1e300])
def test_a_sum_of_any_scale(scale):
    values = np.random.default_rng(0).integers(1, 1000, size=1000) * scale
    assert exact_sum(values) == pytest.approx(math.fsum(values), rel=1e-12)


def test_a_sum_of_many_equal_numbers():
    assert exact_sum(np.full(100_000, 1 / 100_000)) == pytest.approx(1.0, rel=1e-14)


def test_a_sum_over_a_matrix_is_that_over_its_transpose():
    values = np.random.default_rng(1).exponential(size=(7, 301)) ** 3
    assert (
        exact_sum(values) == exact_sum(np.ascontiguousarray(values.T)) == exact_sum(values.ravel())
    )


def test_nothing_sums_to_zero():
    assert exact_sum(np.zeros(3)) == 0.0


def test_fixed_point_rounds_to_the_nearest():
    assert to_fixed_point(np.array([0.0, 0.5, 1.0, 0.3])).tolist() == [
        0, 2**61, 2**62, round(0.3 * EXACT_SCALE),
    ]  # fmt: skip
