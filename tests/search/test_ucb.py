"""Upper confidence bounds against Kégl and Busa-Fekete 2009b, section 3.1, and Auer et al. 2002,
theorem 1.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import UCB
from edgewise.search.bandit import largest


def pulls_of(search, table):
    """Return what is pulled where row t of a table has the rewards of pull t."""
    results = []
    for rewards in table:
        columns = search.pull()
        search.update(columns, rewards[columns])
        results.append(columns.tolist())
    return results


def naive(table, k, exploration):
    """Return the pulls of UCB(k), worked out from the whole history each time."""
    n_arms = table.shape[1]
    history = {j: [] for j in range(n_arms)}
    results = []
    for t, rewards in enumerate(table):

        def bound(j, t=t):
            past = history[j]
            if not past:
                return math.inf
            return sum(past) / len(past) + exploration * math.sqrt(2 * math.log(t) / len(past))

        ranked = sorted(range(n_arms), key=lambda j: (-bound(j), j))
        chosen = sorted(ranked[:k])
        for j in chosen:
            history[j].append(rewards[j])
        results.append(chosen)
    return results


def test_pulls_worked_out_by_hand():
    """After one pull each (t = 3) the confidence terms are equal and the averages decide.

    Then (t = 4) arm 2 has 0.4 + sqrt(ln 4) = 1.577, arm 0 0.5 + sqrt(2 ln 4) = 2.165; then (t = 5)
    arm 0 has 0.5 + sqrt(ln 5) = 1.769, arm 1 0.2 + sqrt(2 ln 5) = 1.994.
    """
    table = np.array([[0.5, 0.2, 0.8]] * 3 + [[0.5, 0.2, 0.0]] * 3)
    search = UCB(k=1, exploration=1.0, memory=None).start(np.arange(3), 0)
    assert pulls_of(search, table) == [[0], [1], [2], [2], [0], [1]]


# Eighths: sums are exact in any order, so the pulls are equal even where bounds are close.
@settings(max_examples=60)
@given(
    st.integers(2, 12),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.05, 1.0]),
)
def test_the_pulls_are_those_of_the_formula(n_arms, k, seed, exploration):
    table = np.random.default_rng(seed).integers(9, size=(40, n_arms)) / 8
    k = min(k, n_arms - 1)
    search = UCB(k, exploration=exploration, memory=None).start(np.arange(n_arms), 0)
    assert pulls_of(search, table) == naive(table, k, exploration)


def test_the_papers_search_by_its_settings():
    """Kégl and Busa-Fekete 2009b: reward 1 - sqrt(1 - edge^2), bound of UCB1, no forgetting."""
    edges = np.random.default_rng(0).random((60, 12)) * 0.3
    search = UCB(3, reward="root", exploration=1.0, memory=None).start(np.arange(12), 0)
    counts, sums = np.zeros((2, 12))
    for t, seen in enumerate(edges):
        pulled = search.begin(t).pull()
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = sums / counts + np.sqrt(2 * np.log(max(t, 1)) / counts)
        bounds[counts == 0] = np.inf
        assert pulled.tolist() == sorted(np.argsort(-bounds, kind="stable")[:3].tolist())
        search.update(pulled, search.rewards(seen[pulled]))
        counts[pulled] += 1
        sums[pulled] += 1 - np.sqrt(1 - seen[pulled] ** 2)


@given(st.integers(1, 60), st.integers(1, 20))
def test_every_arm_is_pulled_once_before_any_twice(n_arms, k):
    search = UCB(k, exploration=1.0, memory=None).start(np.arange(n_arms), 0)
    first = pulls_of(search, np.full((-(-n_arms // k), n_arms), 0.3))
    counts = np.bincount(np.concatenate(first), minlength=n_arms)
    assert counts.min() == 1
    assert np.concatenate(first[:-1] or [[]]).tolist() == list(range((len(first) - 1) * k))
    # The last pull takes the arms that are left; only the rest of it is second looks.
    assert (counts == 2).sum() == max(len(first) * min(k, n_arms) - n_arms, 0)


def test_without_exploration_the_best_averages_are_pulled():
    search = UCB(2, exploration=0.0, memory=None).start(np.arange(5), 0)
    table = np.tile([0.1, 0.5, 0.2, 0.4, 0.3], (10, 1))
    assert pulls_of(search, table)[3:] == [[1, 3]] * 7


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(0, 40))
def test_the_largest_values_are_taken_and_of_equal_ones_the_lowest(values, n):
    n = min(n, len(values))
    expected = sorted(sorted(range(len(values)), key=lambda j: (-values[j], j))[:n])
    assert largest(np.array(values, dtype=float), n).tolist() == expected


# Regret

MEANS = np.array([0.9, 0.4, 0.3, 0.2])
CHECKED = np.array([200, 400, 800, 1600, 3200])


@pytest.fixture(scope="module")
def regret():
    """Return the regret of UCB1 with 0/1 rewards after some pulls, the mean of eight runs."""
    gaps, regrets = MEANS.max() - MEANS, []
    for seed in range(8):
        table = (np.random.default_rng(seed).random((CHECKED[-1], len(MEANS))) < MEANS).astype(
            float
        )
        search = UCB(k=1, exploration=1.0, memory=None).start(np.arange(len(MEANS)), 0)
        arms = np.concatenate(pulls_of(search, table))
        regrets.append(np.cumsum(gaps[arms])[CHECKED - 1])
    return np.mean(regrets, axis=0)


def test_regret_stays_below_the_bound_of_theorem_1(regret):
    gaps = (MEANS.max() - MEANS)[1:]
    bound = 8 * (np.log(CHECKED)[:, None] / gaps).sum(axis=1) + (1 + math.pi**2 / 3) * gaps.sum()
    assert (regret <= bound).all()


def test_regret_grows_like_a_logarithm(regret):
    """Each doubling adds about as much as the one before; linear regret would add twice as much."""
    steps = np.diff(regret)
    assert (steps[1:] < 1.5 * steps[:-1]).all()
    assert regret[-1] < 3 * regret[0]


def test_a_memory_fades_counts_and_sums_at_every_pull():
    search = UCB(k=1, reward="root", exploration=0.0, memory=2.0).start(np.arange(4), 0)
    rewards = [0.8, 0.4, 0.2, 0.1]
    for arm, reward in enumerate(rewards):
        assert search.pull().tolist() == [arm]
        search.update(np.array([arm]), np.array([reward]))
    # One column of four with a memory of two: what was known counts 1 - 1 / (2 * 4) each time.
    fades = (7 / 8) ** np.array([3, 2, 1, 0])
    np.testing.assert_allclose(search.memory_["counts"], fades)
    np.testing.assert_allclose(search.memory_["sums"], fades * rewards)


def test_a_share_of_the_columns_is_drawn_at_random():
    columns = np.arange(100)
    search = UCB(k=10, reward="root", exploration=0.0, random=0.5).start(columns, 3)
    for t in range(60):
        pulled = search.begin(t).pull()
        assert len(np.unique(pulled)) == 10
        search.update(pulled, np.where(pulled < 5, 0.9, 0.1))
    # Once the five best are known they are half of every pull, and the others change.
    late = [set(search.begin(t).pull().tolist()) for t in range(60, 70)]
    assert all({0, 1, 2, 3, 4} <= pulled for pulled in late)
    assert len(set().union(*late)) > 20
