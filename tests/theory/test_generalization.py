"""Generalization bounds: hand-worked values, monotonicity, and the shattering of stumps."""

import math
from functools import reduce
from itertools import combinations, permutations
from operator import or_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.theory import (
    finite_margin_bound,
    margin_bound,
    margin_cdf,
    stump_vc_dimension,
    vc_bound,
    vote_vc_dimension,
)

MARGINS = np.linspace(-0.2, 0.8, 5001)


def shattered_by_stumps(m, n_features):
    """Whether some placing of m points lets stumps of either sign give all 2^m labelings."""
    labelings = set()
    for order in permutations(range(m)):
        tops = [sum(1 << i for i in order[k:]) for k in range(m + 1)]
        both_signs = tops + [(1 << m) - 1 - top for top in tops]
        labelings.add(sum(1 << labeling for labeling in set(both_signs)))
    everything = (1 << (1 << m)) - 1
    tried = combinations(sorted(labelings), min(n_features, len(labelings)))
    return any(reduce(or_, features, 0) == everything for features in tried)


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_stump_vc_dimension_is_what_can_be_shattered(n_features):
    dimension = stump_vc_dimension(n_features)
    assert shattered_by_stumps(dimension, n_features)
    assert not shattered_by_stumps(dimension + 1, n_features)


@given(n_features=st.integers(1, 10**6))
def test_stump_vc_dimension_obeys_the_count_of_labelings(n_features):
    m = stump_vc_dimension(n_features)
    assert 2**m <= 2 * n_features * (m - 1) + 2
    assert stump_vc_dimension(n_features + 1) >= m


def test_vc_bound_by_hand():
    # T = 1, d = 1: D = 2 * 2 * 2 * log2(2e) = 19.541...
    dimension = 8 * (1 + math.log2(math.e))
    assert vote_vc_dimension(1, 1) == pytest.approx(dimension)
    penalty = math.sqrt((dimension * math.log(2e6 * math.e / dimension) + math.log(180)) / 1e6)
    assert vc_bound(0.1, 1, 1, 10**6) == pytest.approx(0.1 + 2 * penalty)


@given(
    rounds=st.integers(1, 2000),
    vc_dimension=st.integers(1, 50),
    n=st.integers(1, 10**6),
    delta=st.floats(1e-6, 0.5),
)
def test_vc_bound_moves_the_right_way(rounds, vc_dimension, n, delta):
    here = vc_bound(0.1, rounds, vc_dimension, n, delta)
    slack = 1e-12
    assert vc_bound(0.1, rounds + 1, vc_dimension, n, delta) >= here - slack
    assert vc_bound(0.1, rounds, vc_dimension + 1, n, delta) >= here - slack
    assert vc_bound(0.1, rounds, vc_dimension, 2 * n, delta) < here
    assert vc_bound(0.1, rounds, vc_dimension, n, delta / 2) > here
    assert vc_bound(0.2, rounds, vc_dimension, n, delta) == pytest.approx(here + 0.1)


def test_vc_bound_says_nothing_when_the_vote_can_fit_anything():
    assert vc_bound(0.0, rounds=10_000, vc_dimension=10, n=100) > 1


def test_margin_bound_by_hand():
    # (2 / 0.5) sqrt(2 * 2 * ln(e * 10000 / 2) / 10000) = 0.24680..., sqrt(ln(20) / 20000)
    margins = [0.6] * 9_000 + [0.5] * 1_000
    value = margin_bound(margins, vc_dimension=2, theta=0.5).value
    assert value == pytest.approx(0.1 + 0.246803 + 0.012239, abs=1e-5)


@pytest.mark.parametrize("bound", [margin_bound, finite_margin_bound])
@given(theta=st.floats(0.01, 1.0), size=st.integers(1, 100), delta=st.floats(1e-6, 0.5))
def test_margin_bounds_move_the_right_way(bound, theta, size, delta):
    here = bound(MARGINS, size, theta=theta, delta=delta)
    assert here.theta == theta
    assert here.value > margin_cdf(MARGINS, theta)
    assert bound(MARGINS, size + 1, theta=theta, delta=delta).value > here.value
    assert bound(MARGINS, size, theta=theta, delta=delta / 2).value > here.value
    assert bound(MARGINS, size, n=10**5, theta=theta, delta=delta).value < here.value
    assert bound((MARGINS + 1) / 2, size, theta=theta, delta=delta).value <= here.value


@pytest.mark.parametrize("bound", [margin_bound, finite_margin_bound])
def test_margin_bounds_tend_to_the_share_of_small_margins(bound):
    assert bound(MARGINS, 10, n=10**14, theta=0.3).value == pytest.approx(0.5, abs=1e-3)


def test_choosing_theta_costs_the_union_bound_and_no_more():
    chosen = margin_bound(MARGINS, 5, n=10**6)
    fixed = margin_bound(MARGINS, 5, n=10**6, theta=chosen.theta)
    charged = margin_bound(MARGINS, 5, n=10**6, theta=chosen.theta, delta=0.05 / 64)
    assert fixed.value < chosen.value == pytest.approx(charged.value)
    for theta in (0.01, 0.1, 0.5, 1.0):
        rival = margin_bound(MARGINS, 5, n=10**6, theta=theta, delta=0.05 / 64)
        assert chosen.value <= rival.value + 0.01


def test_the_grid_does_not_look_at_the_margins():
    first = margin_bound(MARGINS, 5, n=10**6).theta
    others = {margin_bound(MARGINS * scale, 5, n=10**6).theta for scale in (0.5, 0.9, 1.1)}
    complexity = 2 * math.sqrt(10 * math.log(math.e * 10**6 / 5) / 10**6)
    grid = np.geomspace(complexity, 1.0, 64)
    for theta in {first} | others:
        assert np.abs(grid - theta).min() < 1e-12


def test_finite_bound_is_the_best_over_the_size_of_the_draw():
    n, size, theta, delta = len(MARGINS), 100, 0.4, 0.05
    drawn = np.arange(1, 20_000, dtype=float)
    log_class = np.log(drawn * (drawn + 1) ** 2 / delta) + drawn * math.log(size)
    exact = (2 * np.exp(-drawn * theta**2 / 8) + np.sqrt(log_class / (2 * n))).min()
    value = finite_margin_bound(MARGINS, size, theta=theta).value
    assert exact <= value - margin_cdf(MARGINS, theta) + 1e-12
    assert value - margin_cdf(MARGINS, theta) <= exact * 1.001


def test_choosing_theta_is_free_for_a_finite_class():
    chosen = finite_margin_bound(MARGINS, 100, n=10**6)
    fixed = finite_margin_bound(MARGINS, 100, n=10**6, theta=chosen.theta)
    assert chosen.value == pytest.approx(fixed.value, rel=1e-3)


@pytest.mark.parametrize("bound", [margin_bound, finite_margin_bound])
def test_few_examples_prove_nothing(bound):
    assert bound([0.9, 0.9, 0.9], 20).value > 1


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: stump_vc_dimension(0), ValueError, "n_features"),
        (lambda: stump_vc_dimension(2.0), TypeError, "n_features"),
        (lambda: vote_vc_dimension(0, 1), ValueError, "rounds"),
        (lambda: vc_bound(1.1, 1, 1, 10), ValueError, "train_error"),
        (lambda: vc_bound(0.1, 1, 0, 10), ValueError, "vc_dimension"),
        (lambda: vc_bound(0.1, 1, 1, 0), ValueError, "n must"),
        (lambda: vc_bound(0.1, 1, 1, 10, delta=0.0), ValueError, "delta"),
        (lambda: margin_bound([], 1), ValueError, "margins"),
        (lambda: margin_bound([[0.1]], 1), ValueError, "margins"),
        (lambda: margin_bound([2.0], 1), ValueError, "margins"),
        (lambda: margin_bound([0.1], 1.5), TypeError, "vc_dimension"),
        (lambda: margin_bound([0.1], 1, theta=0.0), ValueError, "theta"),
        (lambda: margin_bound([0.1], 1, n=-3), ValueError, "n must"),
        (lambda: finite_margin_bound([0.1], 0), ValueError, "class_size"),
        (lambda: finite_margin_bound([0.1], 5, delta=1.0), ValueError, "delta"),
    ],
)
def test_bad_input_is_named(call, error, name):
    with pytest.raises(error, match=name):
        call()
