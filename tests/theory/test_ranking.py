"""Ranking bounds: hand-worked values, a brute-force RankBoost, draws, and shattering."""

import math
from functools import reduce
from itertools import combinations, permutations, product
from operator import or_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.theory import (
    ranker_vc_dimension,
    ranking_bound,
    ranking_deviation,
    ranking_sample_size,
    stump_vc_dimension,
    training_loss_bound,
    vc_bound,
)


def rankboost(X, grades, rounds):
    """Boost thresholds pair by pair (Iyer 1999 figure 4-1), energies from their definition."""
    low, high = np.nonzero(grades[:, None] < grades[None, :])
    D = np.full(len(low), 1.0 / len(low))
    H, losses, energies = np.zeros(len(X)), [], []
    weak = [(column > cut).astype(float) for column in X.T for cut in np.unique(column)]
    for _ in range(rounds):
        r = [D @ (h[high] - h[low]) for h in weak]
        best = int(np.argmax(np.abs(r)))
        if not 1e-9 < abs(r[best]) < 1 - 1e-9:
            break
        h = weak[best]
        alpha = 0.5 * np.log((1 + r[best]) / (1 - r[best]))
        D = D * np.exp(alpha * (h[low] - h[high]))
        energies.append(D.sum())
        D = D / D.sum()
        H = H + alpha * h
        losses.append(np.mean(H[high] <= H[low]))
    return np.array(losses), np.array(energies), np.exp(H[low] - H[high]).mean()


@pytest.mark.parametrize("seed", range(5))
def test_the_product_of_the_energies_is_above_the_ranking_loss(seed):
    rng = np.random.default_rng(seed)
    X, grades = rng.integers(6, size=(30, 3)), rng.integers(3, size=30)
    losses, energies, exponential = rankboost(X, grades, rounds=20)
    bound = training_loss_bound(energies)
    assert len(losses) > 3
    assert (losses <= bound + 1e-12).all()
    assert bound[-1] == pytest.approx(exponential)
    assert (np.diff(bound) <= 1e-12).all()


def test_deviation_by_hand():
    # T = 1, d = 2: D = 2 * 3 * 2 * log2(2e) = 12 * 2.442695 = 29.312340
    # m = 10^6: 2 sqrt((29.312340 * (ln(2e6 / 29.312340) + 1) + ln 360) / 1e6)
    #         = 2 sqrt((29.312340 * 12.130649 + 5.886104) / 1e6) = 0.038024
    # n = 10^4: 2 sqrt((29.312340 * 7.525479 + 5.886104) / 1e4) = 0.300982
    assert ranking_deviation(1, 2, 10**6, 10**6) == pytest.approx(2 * 0.038024, abs=2e-6)
    assert ranking_deviation(1, 2, 10**6, 10**4) == pytest.approx(0.038024 + 0.300982, abs=2e-6)
    assert ranking_bound(0.2, 1, 2, 10**6, 10**4) == pytest.approx(0.539006, abs=2e-6)


def test_one_side_is_the_bound_for_classification_that_fails_half_as_often():
    one_side = vc_bound(0.0, rounds=5, vc_dimension=3, n=10**5, delta=0.01)
    assert ranking_deviation(5, 3, 10**5, 10**5, delta=0.02) == pytest.approx(2 * one_side)


@given(
    rounds=st.integers(1, 1000),
    d=st.integers(1, 40),
    m=st.integers(1, 10**7),
    n=st.integers(1, 10**7),
    delta=st.floats(1e-6, 0.5),
)
def test_deviation_moves_the_right_way(rounds, d, m, n, delta):
    here = ranking_deviation(rounds, d, m, n, delta)
    slack = 1e-12
    assert ranking_deviation(rounds + 1, d, m, n, delta) >= here - slack
    assert ranking_deviation(rounds, d + 1, m, n, delta) >= here - slack
    assert ranking_deviation(rounds, d, 2 * m, n, delta) < here
    assert ranking_deviation(rounds, d, m, 2 * n, delta) < here
    assert ranking_deviation(rounds, d, m, n, delta / 2) > here
    assert ranking_deviation(rounds, d, n, m, delta) == pytest.approx(here)
    assert ranking_bound(0.3, rounds, d, m, n, delta) == pytest.approx(here + 0.3)


@pytest.mark.parametrize(("m", "n"), [(3, 10**9), (10**9, 3), (1, 1)])
def test_few_instances_on_one_side_prove_nothing(m, n):
    assert 1 < ranking_deviation(rounds=50, vc_dimension=4, m=m, n=n) < math.inf


@given(
    epsilon=st.floats(0.01, 1.0),
    rounds=st.integers(1, 300),
    d=st.integers(1, 20),
    delta=st.floats(1e-6, 0.5),
)
def test_sample_size_is_the_least_one(epsilon, rounds, d, delta):
    size = ranking_sample_size(epsilon, rounds, d, delta)
    assert ranking_deviation(rounds, d, size, size, delta) < epsilon
    assert ranking_deviation(rounds, d, 3 * size, size, delta) < epsilon
    assert ranking_deviation(rounds, d, size - 1, size - 1, delta) >= epsilon


def test_the_bound_holds_on_draws_from_a_small_class():
    """Two weak rankers on one feature of six values: the true loss of each vote is a finite sum."""
    values = 6
    weak = [(np.arange(values) > cut).astype(float) for cut in range(-1, values)]
    votes = np.array(
        [a * g + b * h for g, h in product(weak, weak) for a in (-1, 1) for b in (-1, 1)]
    )
    wrong = votes[:, :, None] >= votes[:, None, :]
    rng = np.random.default_rng(0)
    below, above = rng.dirichlet(np.ones(values)), rng.dirichlet(np.ones(values))
    true = np.einsum("hxy,x,y->h", wrong, below, above)
    m, n, draws = 40_000, 20_000, 200
    allowed = ranking_deviation(rounds=2, vc_dimension=ranker_vc_dimension(1), m=m, n=n)
    assert allowed < 1
    worst = []
    for _ in range(draws):
        x, y = rng.multinomial(m, below) / m, rng.multinomial(n, above) / n
        worst.append(np.abs(np.einsum("hxy,x,y->h", wrong, x, y) - true).max())
    assert np.mean(np.array(worst) >= allowed) <= 0.05
    assert max(worst) > 0


def shattered_by_rankers(p, n_features, defaults):
    """Whether some features, each an order of some of p instances, mark all 2^p subsets.

    A feature is the tuple of the instances that it ranks, best first.
    """
    marks = set()
    for size in range(p + 1):
        for order in permutations(range(p), size):
            outside = sum(1 << i for i in set(range(p)) - set(order))
            tops = [sum(1 << i for i in order[:k]) for k in range(size + 1)]
            subsets = {top | (outside if q else 0) for top in tops for q in defaults}
            marks.add(sum(1 << subset for subset in subsets))
    # A feature that marks no more than another one does cannot help.
    useful = [a for a in marks if not any(a != b and a & b == a for b in marks)]
    everything = (1 << (1 << p)) - 1
    tried = combinations(sorted(useful), min(n_features, len(useful)))
    return any(reduce(or_, features, 0) == everything for features in tried)


@pytest.mark.parametrize(
    ("default", "q", "n_features"),
    [("learned", (0, 1), n) for n in (1, 2, 3, 4)]
    + [("given", (0,), n) for n in (1, 2, 3, 4, 5)]
    + [("given", (1,), n) for n in (1, 3)],
)
def test_ranker_vc_dimension_is_what_can_be_shattered(default, q, n_features):
    dimension = ranker_vc_dimension(n_features, default=default)
    assert shattered_by_rankers(dimension, n_features, q)
    if dimension < 4:
        assert not shattered_by_rankers(dimension + 1, n_features, q)


@given(n_features=st.integers(1, 10**6))
def test_ranker_vc_dimension_obeys_the_count_of_marked_sets(n_features):
    given_q = ranker_vc_dimension(n_features, default="given")
    assert 2**given_q <= n_features * (given_q - 1) + 2
    learned = ranker_vc_dimension(n_features)
    assert learned == stump_vc_dimension(n_features)
    assert given_q <= learned <= given_q + 2


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: ranking_deviation(0, 1, 5, 5), ValueError, "rounds"),
        (lambda: ranking_deviation(1, 0, 5, 5), ValueError, "vc_dimension"),
        (lambda: ranking_deviation(1, 1, 0, 5), ValueError, "m must"),
        (lambda: ranking_deviation(1, 1, 5, 0), ValueError, "n must"),
        (lambda: ranking_deviation(1, 1, 5.0, 5), TypeError, "m must"),
        (lambda: ranking_deviation(1, 1, 5, 5, delta=1.0), ValueError, "delta"),
        (lambda: ranking_bound(-0.1, 1, 1, 5, 5), ValueError, "train_loss"),
        (lambda: ranking_sample_size(0.0, 1, 1), ValueError, "epsilon"),
        (lambda: ranking_sample_size(0.5, 1.5, 1), TypeError, "rounds"),
        (lambda: ranker_vc_dimension(0), ValueError, "n_features"),
        (lambda: ranker_vc_dimension(3, default="none"), ValueError, "default"),
    ],
)
def test_bad_input_is_named(call, error, name):
    with pytest.raises(error, match=name):
        call()
