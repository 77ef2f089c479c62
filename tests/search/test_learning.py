"""What holds for every search that learns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import UCB, AdaBoostMH, Bandit, Exp3P, Lazy, Stump, ThompsonSampling, Tree
from edgewise.search import SEARCHES, resolve_search

LEARNING = [UCB, Exp3P, ThompsonSampling]
every = pytest.mark.parametrize("policy", LEARNING)


def go(search, rounds, pulls=2, seed=0):
    """Return what is pulled in some rounds; rewards depend on the round and the pull alone."""
    results = []
    for t in rounds:
        search.begin(t)
        for i in range(pulls):
            columns = search.pull()
            results.append(columns.tolist())
            rewards = np.random.default_rng([seed, t, i]).random(1000)
            search.update(columns, rewards[columns])
    return results


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


@every
@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=40, unique=True),
    st.integers(1, 45),
    st.integers(0, 1000),
)
def test_k_distinct_columns_are_pulled_in_ascending_order(policy, columns, k, seed):
    columns = np.sort(np.array(columns))
    search = policy(k).start(columns, seed)
    for pulled in go(search, range(6)):
        assert len(pulled) == min(k, len(columns))
        assert (np.diff(pulled) > 0).all()
        assert np.isin(pulled, columns).all()


@every
def test_the_same_seed_pulls_the_same_columns(policy):
    def pulls(seed):
        return go(policy(4).start(np.arange(50), seed), range(40))

    assert pulls(1) == pulls(1)
    if policy is not UCB:
        assert pulls(1) != pulls(2)


@every
def test_a_pull_of_all_columns_returns_all(policy):
    columns = np.array([2, 3, 7])
    for k in (3, 100):
        assert go(policy(k).start(columns, 0), range(5)) == [[2, 3, 7]] * 10
    search = policy(1).start(columns, 0)
    assert search.searches_all(1)
    assert not search.searches_all(2)


@every
def test_good_columns_are_pulled_more_often_than_others(policy):
    rewards = np.where(np.arange(40) % 10 == 3, 0.9, 0.1)
    settings = {"gamma": 0.5} if policy is Exp3P else {}
    search = policy(4, **settings).start(np.arange(40), 0)
    counts = np.zeros(40)
    for t in range(600):
        columns = search.begin(t).pull()
        counts[columns] += 1
        search.update(columns, rewards[columns])
    good = rewards > 0.5
    assert counts[good].min() > 2 * counts[~good].max()


# State


@every
@settings(max_examples=25)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 8), st.integers(0, 10**6))
def test_a_search_that_is_taken_up_goes_on_with_the_same_pulls(policy, n, k, stop, seed):
    straight = policy(k).start(np.arange(n), seed)
    go(straight, range(stop), seed=seed)
    state = straight.state(stop)
    resumed = policy(k).start(np.arange(n), seed)
    resumed.restore(state)
    assert go(resumed, range(stop, 14), seed=seed) == go(straight, range(stop, 14), seed=seed)
    assert same(resumed.state(14), straight.state(14))


@every
def test_a_round_that_was_interrupted_is_forgotten(policy):
    full = policy(3).start(np.arange(12), 0)
    go(full, range(5))
    broken = policy(3).start(np.arange(12), 0)
    go(broken, range(5))
    go(broken, [5], pulls=1)
    assert same(broken.state(5), full.state(5))
    assert not same(broken.state(6), full.state(5))
    # And if it is begun again, it goes as if it were the first time.
    assert go(broken, range(5, 9)) == go(full, range(5, 9))


@every
def test_a_state_does_not_change_with_the_search(policy):
    search = policy(3).start(np.arange(12), 0)
    go(search, range(3))
    state = search.state(3)
    before = {key: values.copy() for key, values in state.items()}
    go(search, range(3, 6))
    assert same(state, before)
    other = policy(3).start(np.arange(12), 0)
    other.restore(state)
    go(other, range(3, 6))
    assert same(state, before)


@every
def test_a_new_start_knows_nothing(policy):
    search = policy(3).start(np.arange(12), 0)
    first = go(search, range(4))
    assert go(search.start(np.arange(12), 0), range(4)) == first


@every
def test_the_state_of_another_search_is_refused(policy):
    search = policy(3).start(np.arange(12), 0)
    name = policy.__name__
    with pytest.raises(ValueError, match=f"the state of {name} has"):
        search.restore({"hopes": np.zeros(12)})
    state = policy(3).start(np.arange(11), 0).state(0)
    with pytest.raises(ValueError, match=rf"in the state of {name} must be numbers of shape \(12,"):
        search.restore(state)
    bad = {key: np.full(values.shape, np.nan) for key, values in search.state(0).items()}
    with pytest.raises(ValueError, match=f"in the state of {name} must be finite"):
        search.restore(bad)
    assert same(search.state(0), policy(3).start(np.arange(12), 0).state(0))


def test_searches_that_learn_nothing_have_no_state():
    search = Lazy(3).start(np.arange(12), 0)
    assert search.state(4) == {}
    search.restore({})
    with pytest.raises(ValueError, match="Lazy has no state"):
        search.restore({"counts": np.zeros(12)})


# Rewards that are no rewards


@every
@pytest.mark.filterwarnings("error")
def test_rewards_that_are_not_numbers_do_no_harm(policy):
    search = policy(3).start(np.arange(12), 0)
    bad = np.array([np.nan, np.inf, -np.inf])
    for t in range(10):
        columns = search.begin(t).pull()
        search.update(columns, bad if t % 2 else search.rewards(bad))
        assert len(columns) == 3
    assert all(np.isfinite(values).all() for values in search.state(10).values())


@every
def test_no_columns_are_no_error(policy):
    search = policy(3).start(np.arange(0), 0)
    assert search.pull().tolist() == []
    search.update(np.arange(0), np.empty(0))


# Settings


@pytest.mark.parametrize(
    ("search", "error", "words"),
    [
        (UCB(0), ValueError, "k must be an integer of at least 1, got 0"),
        (Exp3P(2.5), TypeError, "k must be an integer"),
        (ThompsonSampling(True), TypeError, "k must be an integer"),
        (UCB(reward="edge"), ValueError, "reward must be one of 'root', 'log', 'relative'"),
        (UCB(exploration=-1), ValueError, "exploration must be a number of at least 0"),
        (UCB(random=1.5), ValueError, "random must be a number from 0 to 1"),
        (UCB(memory=0), ValueError, "memory must be a positive number"),
        (UCB(exploration="much"), TypeError, "exploration must be a number of at least 0"),
        (Exp3P(gamma=0), ValueError, "gamma must be a number above 0 and at most 1"),
        (Exp3P(gamma=1.5), ValueError, "gamma must be a number above 0 and at most 1"),
        (Exp3P(alpha=-0.1), ValueError, "alpha must be a number of at least 0"),
        (Exp3P(horizon=0), ValueError, "horizon must be an integer of at least 1"),
        (Exp3P(horizon=1e3), TypeError, "horizon must be an integer of at least 1"),
        (
            ThompsonSampling(discount=0),
            ValueError,
            "discount must be a number above 0 and at most 1",
        ),
        (ThompsonSampling(discount=1.01), ValueError, "discount must be a number above 0 and at"),
        (ThompsonSampling(per_round=1), TypeError, "per_round must be True or False"),
        (ThompsonSampling(exploration=float("nan")), ValueError, "exploration must be a number"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_wrong_setting_is_an_error_that_names_it(search, error, words):
    with pytest.raises(error, match=words):
        resolve_search(search)


@pytest.mark.parametrize(
    ("name", "policy"), [("ucb", UCB), ("exp3p", Exp3P), ("thompson", ThompsonSampling)]
)
def test_searches_that_learn_have_names(name, policy):
    search = resolve_search(name)
    assert type(search) is policy
    assert isinstance(search, Bandit)
    assert search.learns
    assert search.k == 50
    assert clone(search).get_params() == search.get_params()


def test_only_searches_that_choose_learn():
    def learning(n_columns):
        searches = {name: kind().start(np.arange(n_columns), 0) for name, kind in SEARCHES.items()}
        return {name for name, search in searches.items() if search.learns}

    assert learning(50) == set()
    assert learning(51) == {"ucb", "exp3p", "thompson"}
    assert learning(200) == {"ucb", "exp3p", "thompson", "auto"}


@pytest.mark.parametrize("search", ["ucb", "exp3p", "thompson"])
def test_models_that_search_all_columns_are_the_same_on_all_backends(search, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    models = []
    for name in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", name)
        learner = Tree(Stump(), 5, "free", "gain")
        models.append(AdaBoostMH(learner, n_rounds=20, search=search).fit(X, np.arange(60) % 3))
    states = [model.fitted_.search_states for model in models]
    assert all(map(same, *states))
