"""Thompson sampling: normal posteriors whose scales are learned, and old rewards forgotten."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import ThompsonSampling


def run(search, table):
    """Return what is pulled, a round each, where row t has the rewards of round t."""
    results = []
    for t, rewards in enumerate(table):
        columns = search.begin(t).pull()
        search.update(columns, rewards[columns])
        results.append(columns)
    return results


def beliefs(search):
    """Return the means and the standard deviations of the posteriors of all columns."""
    search.memory_["prior"][:] = search._estimate_prior()
    return search._posteriors(search.memory_["counts"], search.memory_["sums"])


@settings(max_examples=40)
@given(st.integers(3, 10), st.integers(1, 3), st.integers(0, 10**6), st.sampled_from([1.0, 0.9]))
def test_posteriors_are_the_posteriors_of_the_rewards_seen(n_arms, k, seed, discount):
    """Worked out from the whole history, each reward discounted by its age."""
    table = np.random.default_rng(seed).random((15, n_arms))
    search = ThompsonSampling(min(k, n_arms - 1), discount=discount).start(np.arange(n_arms), seed)
    pulls = run(search, table)
    ages = len(table) - 1 - np.arange(len(table))
    weights, rewards = np.zeros((2, len(table), n_arms))
    off, many = 0.0, 0.0
    for t, columns in enumerate(pulls):
        for j in columns:
            earlier = discount ** (t - np.arange(t)) * (weights[:t, j] > 0)
            if earlier.any():
                count, average = earlier.sum(), (earlier @ rewards[:t, j]) / earlier.sum()
                late = discount ** ages[t]
                off += late * (table[t, j] - average) ** 2 * count / (count + 1)
                many += late
        weights[t, columns] = 1.0
        rewards[t, columns] = table[t, columns]
    weights *= (discount**ages)[:, None]
    counts, sums = weights.sum(axis=0), (weights * rewards).sum(axis=0)
    averages = sums[counts > 0] / counts[counts > 0]
    between, within = averages.var(), off / many
    precision = 1 / between + counts / within
    means, deviations = beliefs(search)
    assert means == pytest.approx((averages.mean() / between + sums / within) / precision)
    assert deviations == pytest.approx(precision**-0.5)


@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 1000))
def test_every_column_is_tried_once_before_any_twice(n_arms, k, seed):
    pulls = run(ThompsonSampling(k).start(np.arange(n_arms), seed), np.full((8, n_arms), 0.3))
    first = np.concatenate(pulls[: n_arms // k] or [np.arange(0)])
    assert len(np.unique(first)) == len(first)
    if n_arms <= 8 * k:
        assert len(np.unique(np.concatenate(pulls))) == n_arms


def test_a_column_never_tried_is_believed_to_be_at_the_center():
    search = ThompsonSampling(2).start(np.arange(6), 0)
    search.update(np.array([0, 1]), np.array([0.2, 0.6]))
    means, deviations = beliefs(search)
    assert means[2:] == pytest.approx([0.4] * 4)
    assert deviations[2:] == pytest.approx([0.2] * 4)
    assert (deviations[:2] < 0.2).all()


def test_the_scale_of_rewards_does_not_matter():
    """Halved rewards are halved exactly, so the pulls are the same."""
    table = np.random.default_rng(0).random((200, 30)) * np.linspace(0.1, 1, 30)
    full = run(ThompsonSampling(3).start(np.arange(30), 1), table)
    small = run(ThompsonSampling(3).start(np.arange(30), 1), table / 1024)
    assert [c.tolist() for c in full] == [c.tolist() for c in small]


def test_the_best_columns_are_found_among_many():
    rng = np.random.default_rng(0)
    means = np.full(400, 0.01)
    means[::40] = 0.03
    table = np.clip(means + 0.005 * rng.standard_normal((300, 400)), 0, 1)
    pulls = run(ThompsonSampling(10).start(np.arange(400), 0), table)
    late = np.concatenate(pulls[-50:])
    assert (late % 40 == 0).mean() > 0.9


def test_regret_grows_more_slowly_than_time():
    means = np.array([0.8, 0.5, 0.4, 0.3])
    results = []
    for seed in range(5):
        table = (np.random.default_rng(seed).random((2000, 4)) < means).astype(float)
        search = ThompsonSampling(1, "root", discount=1.0).start(np.arange(4), seed)
        results.append(np.cumsum((0.8 - means)[np.concatenate(run(search, table))]))
    early, late = np.mean(results, axis=0)[[499, 1999]]
    # Four times as long; the logarithm grows by 1.22.
    assert late < 1.6 * early
    assert late < 0.05 * 2000


def test_a_column_that_gets_worse_is_left_when_old_rewards_are_forgotten():
    table = np.tile([0.9, 0.5, 0.1], (600, 1))
    table += 0.05 * np.random.default_rng(0).standard_normal(table.shape)
    table[300:, 0] -= 0.6
    pulls = run(ThompsonSampling(1, discount=0.95).start(np.arange(3), 0), table)
    arms = np.concatenate(pulls)
    assert (arms[100:300] == 0).mean() > 0.9
    assert (arms[400:] == 1).mean() > 0.8


def test_where_nothing_tells_columns_apart_all_are_looked_at():
    pulls = run(ThompsonSampling(2).start(np.arange(30), 0), np.zeros((300, 30)))
    assert len(np.unique(np.concatenate(pulls[15:]))) == 30


def test_without_exploration_the_best_means_are_pulled():
    search = ThompsonSampling(2, exploration=0.0).start(np.arange(4), 0)
    search.update(np.arange(4), np.array([0.1, 0.4, 0.2, 0.3]))
    assert search.pull().tolist() == [1, 3]


def test_a_reward_counts_by_the_weight_it_was_seen_on():
    """A reward of half the weight twice is one of the whole weight."""
    once, twice = (ThompsonSampling(1, discount=1.0).start(np.arange(3), 0) for _ in range(2))
    for t, reward in enumerate([0.3, 0.2, 0.6]):
        arm, rewards = np.array([t]), np.array([reward])
        once.update(arm, rewards)
        twice.update(arm, rewards, 0.5)
        twice.update(arm, rewards, 0.5)
    for key in ("counts", "sums"):
        assert twice.memory_[key] == pytest.approx(once.memory_[key])
    # Off by 0.3, of weight 1/4 after weight 1: the variance of one reward times 4 + 1.
    once.update(np.array([0]), np.array([0.6]), 0.25)
    assert once.memory_["noise"] == pytest.approx([0.3**2 / 5, 1.0])


def test_a_small_node_tells_less_than_all_rows():
    search = ThompsonSampling(2).start(np.arange(4), 0)
    search.update(np.arange(4), np.array([0.1, 0.2, 0.3, 0.4]))
    search.update(np.arange(4), np.array([0.2, 0.1, 0.4, 0.3]))
    before, _ = beliefs(search)
    moved = []
    for weight in (1.0, 0.01):
        other = ThompsonSampling(2).start(np.arange(4), 0)
        other.restore(search.state(1))
        other.begin(1).update(np.array([0]), np.array([0.9]), weight)
        moved.append(beliefs(other)[0][0] - before[0])
    assert moved[0] > 5 * abs(moved[1])


def test_pulls_of_one_round_draw_other_columns_from_a_shared_selection():
    search = ThompsonSampling(5, exploration=3.0).start(np.arange(1000), 0)
    rng = np.random.default_rng(0)
    for t in range(250):
        columns = search.begin(t).pull()
        search.update(columns, 0.1 + 0.01 * rng.random(5))
    pulls = [search.begin(300).pull()] + [search.pull() for _ in range(15)]
    first, second = (np.unique(np.concatenate(half)) for half in (pulls[:8], pulls[8:]))
    assert len({tuple(pulled.tolist()) for pulled in pulls}) == 16
    assert 5 < len(first) <= 40
    assert not np.array_equal(first, second)
    # A larger pull than the selection has columns selects again.
