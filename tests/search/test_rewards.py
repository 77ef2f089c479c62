"""Rewards of columns, from their edges (Kégl and Busa-Fekete 2009b, section 3.2)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import UCB, Exhaustive, Exp3P, Lazy, ThompsonSampling
from edgewise.search.base import REWARDS, log, relative, root


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


def test_relative_rewards_are_shares_of_the_best_of_the_pull():
    assert relative(np.array([0.6, 0.0, 0.28])) == pytest.approx([1.0, 0.0, 0.2])
    assert relative(np.zeros(3)).tolist() == [0.0] * 3
    assert relative(np.empty(0)).tolist() == []


def test_small_edges_have_nearly_the_same_reward_of_both_kinds():
    shares = np.linspace(0.0, 0.1, 11)
    assert root(shares) == pytest.approx(log(shares), abs=3e-5)


@pytest.mark.parametrize("name", sorted(REWARDS))
@given(shares=st.lists(st.floats(-2, 2), min_size=1))
def test_rewards_lie_between_0_and_1_and_grow_with_the_edge(name, shares):
    rewards = REWARDS[name](np.sort(np.array(shares)))
    assert ((rewards >= 0) & (rewards <= 1)).all()
    assert (np.diff(rewards) >= 0).all()


@pytest.mark.parametrize("search", [Exhaustive(), Lazy()], ids=["exhaustive", "lazy"])
def test_the_reward_is_the_root_where_nothing_else_is_said(search):
    assert search.rewards(np.array([0.6])) == pytest.approx([0.2])


def test_searches_give_the_reward_that_is_asked_for():
    share = np.array([0.28, 0.6])
    assert UCB().rewards(share) == pytest.approx([0.2, 1.0])
    assert UCB(reward="root").rewards(share) == pytest.approx(root(share))
    assert UCB(reward="log").rewards(share) == pytest.approx(log(share))
    assert Exp3P().rewards(share) == pytest.approx(log(share))
    assert ThompsonSampling().rewards(share) == pytest.approx(root(share))
    assert ThompsonSampling(reward="relative").rewards(share) == pytest.approx([0.2, 1.0])
