"""Rewards of columns, from their edges (Kégl and Busa-Fekete 2009b, section 3.2)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import UCB, Exp3P, ThompsonSampling
from edgewise.search.bandit import REWARDS, log, relative, root


def test_the_rewards_of_an_edge_of_0_6():
    """The energy is 0.8, so the bound decreases by 0.2 and its logarithm by ln(5/4)."""
    share = np.array([0.6])
    assert root(share)[0] == pytest.approx(0.2)
    assert log(share)[0] == pytest.approx(math.log(5 / 4))


def test_the_logarithmic_reward_is_cut_to_1():
    """It passes 1 where the energy passes 1/e."""
    edge = math.sqrt(1 - math.exp(-2))
    assert log(np.array([edge * 0.999, edge * 1.001, 1.0]))[1:].tolist() == [1.0, 1.0]
    assert log(np.array([edge * 0.999]))[0] < 1.0


def test_relative_rewards_are_shares_of_the_best_of_recent_pulls():
    """Edges of 0.6 and 0.28 lower the bound by 0.2 and 0.04."""
    scale = np.zeros(1)
    assert relative(np.array([0.6, 0.0, 0.28]), scale, 0.5) == pytest.approx([1.0, 0.0, 0.2])
    # The best so far counts half in the next pull, and a quarter in the one after it.
    assert relative(np.array([0.28, 0.0]), scale, 0.5) == pytest.approx([0.4, 0.0])
    assert relative(np.array([0.28]), scale, 0.5) == pytest.approx([0.8])
    assert relative(np.array([0.28]), scale, 0.5) == pytest.approx([1.0])
    assert scale == pytest.approx([0.04])


def test_without_an_edge_relative_rewards_are_0():
    scale = np.zeros(1)
    assert relative(np.zeros(3), scale, 0.5).tolist() == [0.0] * 3
    assert relative(np.empty(0), scale, 0.5).tolist() == []
    assert scale.tolist() == [0.0]


def test_the_scale_fades_to_1_over_e_while_all_columns_are_searched_twice():
    search = UCB(10).start(np.arange(1000), 0)
    search.rewards(np.array([0.6] + [0.0] * 9))
    for _ in range(200):
        search.rewards(np.zeros(10))
    assert search.memory_["scale"][0] == pytest.approx(0.2 / math.e, rel=0.01)


@pytest.mark.parametrize("policy", [UCB, Exp3P, ThompsonSampling])
def test_the_scale_is_part_of_the_state(policy):
    shares = np.array([0.6, 0.28, 0.0])
    search = policy(3, "relative").start(np.arange(9), 0)
    search.update(search.pull(), search.rewards(shares))
    again = policy(3, "relative").start(np.arange(9), 0)
    again.restore(search.state(1))
    expected = search.begin(1).rewards(shares / 2)
    assert expected.max() < 1.0
    assert again.begin(1).rewards(shares / 2).tolist() == expected.tolist()
    # A round that begins again has the scale that it began with.
    assert search.begin(1).rewards(shares / 2).tolist() == expected.tolist()


def test_pulls_of_noise_alone_do_not_hide_the_columns_that_matter():
    """As shares of each pull's own best, noise would look as good as what matters."""
    n_columns, n_rows = 1000, 3000
    matter = np.arange(7, n_columns, 50)
    search = UCB(20).start(np.arange(n_columns), 0)
    rng = np.random.default_rng(0)
    for t in range(150):
        columns = search.begin(t).pull()
        edges = np.abs(rng.standard_normal(20)) / math.sqrt(n_rows)
        edges[np.isin(columns, matter)] += 0.1
        search.update(columns, search.rewards(edges))
        if t == 49:
            # The first pass: the best of noise has a small share of what columns that matter bring.
            averages = search.memory_["sums"] / search.memory_["counts"]
            others = np.setdiff1d(np.arange(n_columns), matter)
            assert averages[matter].min() > 1.5 * np.quantile(averages[others], 0.99)
    assert np.isin(search.begin(150).pull(), matter).mean() > 0.9


def test_a_first_pass_of_noise_teaches_nothing_about_the_scale():
    """Once a good column was seen, the best of a pull of noise has the small reward it deserves."""
    noise, good = 0.03, 0.12
    before = UCB(5).start(np.arange(100), 0)
    for _ in range(10):
        before.rewards(np.full(5, noise))
    after = UCB(5).start(np.arange(100), 0)
    for search in (before, after):
        assert search.rewards(np.array([good, 0.0, 0.0, 0.0, 0.0]))[0] == 1.0
    rewards = [search.rewards(np.full(5, noise)).tolist() for search in (before, after)]
    assert rewards[0] == rewards[1]
    assert max(rewards[0]) < 0.07


@given(st.floats(0.01, 0.1), st.lists(st.floats(0.0, 0.1), min_size=4, max_size=4))
def test_an_edge_has_the_same_reward_whatever_else_is_pulled(edge, others):
    alone, among = (UCB(5).start(np.arange(1000), 0) for _ in range(2))
    for search in (alone, among):
        search.rewards(np.full(5, 0.2))
    mine = alone.rewards(np.array([edge, 0.0, 0.0, 0.0, 0.0]))[0]
    assert among.rewards(np.array([edge, *others]))[0] == mine


def test_small_edges_have_nearly_the_same_reward_of_both_kinds():
    shares = np.linspace(0.0, 0.1, 11)
    assert root(shares) == pytest.approx(log(shares), abs=3e-5)


@pytest.mark.parametrize("name", [*REWARDS, "relative"])
@given(shares=st.lists(st.floats(-2, 2), min_size=1))
def test_rewards_lie_between_0_and_1_and_grow_with_the_edge(name, shares):
    search = UCB(1, name).start(np.arange(5), 0)
    rewards = search.rewards(np.sort(np.array(shares)))
    assert ((rewards >= 0) & (rewards <= 1)).all()
    assert (np.diff(rewards) >= 0).all()


def test_searches_give_the_reward_that_is_asked_for():
    share = np.array([0.28, 0.6])
    assert UCB(1).start(np.arange(5), 0).rewards(share) == pytest.approx([0.2, 1.0])
    assert UCB(reward="root").rewards(share) == pytest.approx(root(share))
    assert UCB(reward="log").rewards(share) == pytest.approx(log(share))
    assert Exp3P().rewards(share) == pytest.approx(log(share))
    assert ThompsonSampling().rewards(share) == pytest.approx(root(share))
    relative_too = ThompsonSampling(1, "relative").start(np.arange(5), 0)
    assert relative_too.rewards(share) == pytest.approx([0.2, 1.0])
