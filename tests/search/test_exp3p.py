"""Exp3.P against Auer et al. 2002, section 6, and for several arms against Uchiya et al. 2010."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import Exp3P
from edgewise.search.exp3p import capped_shares, draw


def published(table, arms, gamma, alpha, horizon):
    """Return the probabilities before each pull, in the paper's own words (k = 1)."""
    n_arms = table.shape[1]
    w = [math.exp(alpha * gamma / 3 * math.sqrt(horizon / n_arms))] * n_arms
    results = []
    for rewards, pulled in zip(table, arms, strict=True):
        p = [(1 - gamma) * wj / sum(w) + gamma / n_arms for wj in w]
        results.append(p)
        for j in range(n_arms):
            estimate = rewards[j] / p[j] if j == pulled else 0.0
            bonus = alpha / (p[j] * math.sqrt(n_arms * horizon))
            w[j] *= math.exp(gamma / (3 * n_arms) * (estimate + bonus))
    return np.array(results)


@settings(max_examples=40)
@given(
    st.integers(2, 8),
    st.integers(0, 10**6),
    st.floats(0.01, 1.0),
    st.floats(0.0, 5.0),
    st.integers(1, 500),
)
def test_one_arm_is_pulled_as_the_paper_says(n_arms, seed, gamma, alpha, horizon):
    table = np.random.default_rng(seed).random((40, n_arms))
    search = Exp3P(1, gamma=gamma, alpha=alpha, horizon=horizon).start(np.arange(n_arms), seed)
    probabilities, arms = [], []
    for rewards in table:
        probabilities.append(search.probabilities())
        columns = search.pull()
        search.update(columns, rewards[columns])
        arms.append(int(columns[0]))
    assert np.array(probabilities) == pytest.approx(
        published(table, arms, gamma, alpha, horizon), rel=1e-9
    )


def test_an_update_worked_out_by_hand():
    """With two arms p = 1/2; r = 0.5 gives an estimate of 1, and the bonus is 0.3 / (1/2 * 6)."""
    search = Exp3P(1, gamma=0.6, alpha=0.3, horizon=18).start(np.arange(2), 0)
    pulled = int(search.pull()[0])
    search.update(np.array([pulled]), np.array([0.5]))
    w = [math.exp(0.6 / 6 * (1.0 + 0.1)), math.exp(0.6 / 6 * 0.1)]
    expected = 0.4 * w[0] / sum(w) + 0.3
    assert search.probabilities()[pulled] == pytest.approx(expected)


# Several arms


def naive_cap(weights, n, gamma):
    """Return the probabilities of Exp3.M, the cut found by trying every number of cut weights."""
    n_arms = len(weights)
    cap = (1 / n - gamma / n_arms) / (1 - gamma)
    ranked = sorted(weights, reverse=True)
    for n_cut in range(n):
        cut = cap * sum(ranked[n_cut:]) / (1 - n_cut * cap)
        if cut >= ranked[n_cut] - 1e-12 * ranked[n_cut]:
            break
    w = [min(wj, cut) for wj in weights] if n_cut else list(weights)
    return [n * ((1 - gamma) * wj / sum(w) + gamma / n_arms) for wj in w]


@given(
    st.lists(st.floats(-8, 8), min_size=2, max_size=20),
    st.integers(1, 19),
    st.floats(0.01, 0.95),
)
def test_several_arms_have_the_probabilities_of_exp3_m(logs, n, gamma):
    n = min(n, len(logs) - 1)
    search = Exp3P(n, gamma=gamma).start(np.arange(len(logs)), 0)
    search.restore({"log_weights": np.array(logs), "pulls": np.array([1])})
    actual = search.probabilities()
    assert actual == pytest.approx(naive_cap([math.exp(x) for x in logs], n, gamma), rel=1e-6)
    assert actual.sum() == pytest.approx(n)
    assert actual.min() >= n * gamma / len(logs) * (1 - 1e-9)
    assert actual.max() <= 1.0


def test_weights_too_far_apart_for_a_double_are_cut_too():
    """The first two are certain whatever the third and the fourth are beside them."""
    logs = np.array([5000.0, 3000.0, math.log(3.0), 0.0, -2000.0])
    search = Exp3P(3, gamma=0.2).start(np.arange(5), 0)
    search.restore({"log_weights": logs, "pulls": np.array([1])})
    cap = (1 / 3 - 0.2 / 5) / 0.8
    left = 1 - 2 * cap
    expected = [1, 1] + [3 * (0.8 * left * x + 0.04) for x in (0.75, 0.25, 0.0)]
    assert search.probabilities() == pytest.approx(expected)
    # With much exploration fewer are cut, and still in the order of their weights.
    assert capped_shares(logs, 3, 0.6) == pytest.approx([0.6, 0.4, 0, 0, 0], abs=1e-300)


@settings(max_examples=40)
@given(st.integers(2, 30), st.integers(1, 29), st.integers(0, 10**6))
def test_exactly_n_arms_are_drawn_each_with_its_probability(n_arms, n, seed):
    n, rng = min(n, n_arms - 1), np.random.default_rng(seed)
    chances = naive_cap((rng.random(n_arms) * 5).tolist(), n, 0.1)
    counts = np.zeros(n_arms)
    for _ in range(400):
        drawn = draw(np.array(chances), n, rng)
        assert len(set(drawn.tolist())) == n
        assert (np.diff(drawn) > 0).all()
        counts[drawn] += 1
    # Five standard deviations of a share of 400 draws.
    spread = np.sqrt(np.array(chances) * (1 - np.minimum(chances, 1)) / 400)
    assert (np.abs(counts / 400 - chances) <= 5 * spread + 1e-9).all()


def test_rounding_never_draws_an_arm_twice():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        chances = np.where(np.arange(12) < 7, np.nextafter(1.0, 2.0), 0.6)
        assert len(draw(chances, 10, rng)) == 10


def test_importance_weights_are_those_of_the_probability_to_be_drawn():
    """Arms drawn grow by their reward over that probability; all grow by the bonus."""
    search = Exp3P(2, gamma=0.5, alpha=0.7, horizon=100).start(np.arange(6), 1)
    before = search.state(1)["log_weights"]
    columns, q = search.pull(), search.probabilities()
    search.update(columns, np.array([0.2, 0.9]))
    grown = search.state(1)["log_weights"] - before
    expected = 0.5 / (3 * 3) * (0.7 / (q * math.sqrt(3 * 100)))
    expected[columns] += 0.5 / (3 * 3) * np.array([0.2, 0.9]) / q[columns]
    assert grown - grown[0] == pytest.approx(expected - expected[0])


def test_arms_that_are_certain_keep_their_weights():
    logs = np.array([50.0, 0.0, 0.0, 0.0])
    search = Exp3P(2, gamma=0.1).start(np.arange(4), 0)
    search.restore({"log_weights": logs, "pulls": np.array([5])})
    columns = search.pull()
    assert columns[0] == 0
    search.update(columns, np.array([1.0, 0.0]))
    after = search.state(1)["log_weights"]
    assert after[0] - after[1] < 50.0


def test_columns_that_were_not_drawn_teach_nothing():
    def after(extra):
        search = Exp3P(2).start(np.arange(8), 0)
        columns = search.pull()
        spare = np.setdiff1d(np.arange(8), columns)[:extra]
        looked = np.sort(np.append(columns, spare))
        search.update(looked, np.where(np.isin(looked, columns), 0.5, 1.0))
        return search.state(1)["log_weights"].tolist()

    assert after(0) == after(2)


def test_the_horizon_doubles_as_pulls_pass_it():
    search = Exp3P(1).start(np.arange(3), 0)
    assert search._horizon() == 1024
    for pulls, horizon in [(1023, 1024), (1024, 2048), (5000, 8192)]:
        search.restore({"log_weights": np.zeros(3), "pulls": np.array([pulls])})
        assert search._horizon() == horizon


def test_nothing_overflows_in_a_very_long_run():
    search = Exp3P(2, gamma=0.9, alpha=50.0).start(np.arange(5), 0)
    rewards = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    for _ in range(10):
        # As a hundred thousand pulls would leave it.
        state = search.state(1)
        state["log_weights"] *= 1e4
        search.restore(state)
        for _ in range(20):
            columns = search.pull()
            search.update(columns, rewards[columns])
        assert np.isfinite(search.state(1)["log_weights"]).all()
        assert search.probabilities().sum() == pytest.approx(2)


# Regret


def adversary(n_pulls, n_arms):
    """Return rewards that no distribution gives: arms take turns, and the last has more besides."""
    turns = np.arange(n_pulls)[:, None] // 7 % n_arms == np.arange(n_arms)
    return 0.2 * turns + 0.8 * (np.arange(n_arms) == n_arms - 1)


def regret_of(n_pulls, n_arms, delta, seed):
    table = adversary(n_pulls, n_arms)
    gamma = min(0.6, 2 * math.sqrt(0.6 * n_arms * math.log(n_arms) / n_pulls))
    alpha = 2 * math.sqrt(math.log(n_arms * n_pulls / delta))
    search = Exp3P(1, gamma=gamma, alpha=alpha, horizon=n_pulls).start(np.arange(n_arms), seed)
    total = 0.0
    for rewards in table:
        columns = search.pull()
        search.update(columns, rewards[columns])
        total += float(rewards[columns[0]])
    return table.sum(axis=0).max() - total


def bound(n_pulls, n_arms, delta):
    """Theorem 6.3: holds with probability 1 - delta."""
    kt, log = n_arms * n_pulls, math.log(n_arms * n_pulls / delta)
    return 4 * math.sqrt(kt * log) + 4 * math.sqrt(5 / 3 * kt * math.log(n_arms)) + 8 * log


def test_regret_stays_below_the_bound_of_theorem_6_3_and_grows_more_slowly_than_time():
    lengths = [250, 1000, 4000]
    regrets = [np.mean([regret_of(n, 2, 0.05, seed) for seed in range(2)]) for n in lengths]
    assert all(r <= bound(n, 2, 0.05) for r, n in zip(regrets, lengths, strict=True))
    # The last bound says something: the other arm alone would lose 0.8 a pull.
    assert bound(4000, 2, 0.05) < 0.8 * 4000
    # Four times the pulls should cost twice the regret, as in the bound, but for a logarithm.
    assert regrets[1] < 3 * regrets[0]
    assert regrets[2] < 3 * regrets[1]
