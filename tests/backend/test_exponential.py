"""The exponential function that NumPy and compiled code share to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from edgewise.backend.arithmetic import HIGHEST, LOWEST, exp
from edgewise.backend.numba import step

numbers = st.floats(allow_nan=False, allow_infinity=True)


@njit
def compiled_exp(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = step.exp(x[i])
    return out


def probes():
    """Return numbers of all sizes, and those around the places where the power of 2 changes."""
    rng = np.random.default_rng(0)
    halves = (np.arange(-1009, 1010) + 0.5) * math.log(2)
    return np.concatenate(
        [
            rng.uniform(-700, 700, 100_000),
            rng.normal(size=100_000),
            rng.normal(size=10_000) * 10.0 ** rng.integers(-300, 0, 10_000),
            halves,
            np.nextafter(halves, -np.inf),
            np.nextafter(halves, np.inf),
            np.arange(-700.0, 701.0),
            [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf],
        ]
    )


def test_it_is_the_exponential_function():
    x = np.clip(probes(), -700, 700)
    np.testing.assert_allclose(exp(x), np.exp(x), rtol=1e-15, atol=0)


@given(st.lists(st.floats(-700, 700), min_size=1))
def test_it_is_the_exponential_function_of_any_number(values):
    x = np.array(values)
    np.testing.assert_allclose(exp(x), np.exp(x), rtol=1e-15, atol=0)


def test_the_compiled_one_gives_the_same_bits():
    x = probes()
    assert np.array_equal(exp(x), compiled_exp(x))


@given(st.lists(numbers, min_size=1))
def test_the_compiled_one_gives_the_same_bits_for_any_number(values):
    x = np.array(values)
    assert np.array_equal(exp(x), compiled_exp(x))


def test_shape_and_values_that_are_known():
    assert exp(np.zeros((2, 3))).tolist() == [[1.0] * 3] * 2
    assert exp(np.array([1.0]))[0] == pytest.approx(math.e, rel=1e-15)


def test_past_its_ends_it_stays_as_it_is():
    ends = exp(np.array([LOWEST, HIGHEST]))
    assert np.array_equal(exp(np.array([-1e300, 1e300])), ends)
    assert 0 < ends[0] < ends[1] < np.inf


def test_its_argument_is_not_changed():
    x = np.array([-1000.0, 0.5])
    exp(x)
    assert x.tolist() == [-1000.0, 0.5]
