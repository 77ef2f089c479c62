"""Which columns a search looks at."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import Auto, Exhaustive, Lazy, ThompsonSampling
from edgewise.search import resolve_search


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=60, unique=True),
    st.integers(1, 60),
    st.integers(0, 1000),
)
def test_lazy_draws_k_distinct_columns_in_ascending_order(columns, k, seed):
    columns = np.sort(np.array(columns))
    search = Lazy(k).start(columns, seed)
    for _ in range(3):
        drawn = search.pull()
        assert len(drawn) == min(k, len(columns))
        assert (np.diff(drawn) > 0).all()
        assert np.isin(drawn, columns).all()


def test_lazy_draws_the_same_columns_for_the_same_seed():
    def draws(seed):
        search = Lazy(5).start(np.arange(100), seed)
        return [search.pull().tolist() for _ in range(20)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert draws(1)[0] != draws(1)[1]


def test_lazy_with_a_large_k_looks_at_everything():
    search = Lazy(100).start(np.array([2, 3, 7]), 0)
    assert search.pull().tolist() == [2, 3, 7]


def test_lazy_reaches_every_column_and_never_draws_one_twice():
    search = Lazy(3).start(np.arange(10), 0)
    seen = set()
    for _ in range(200):
        drawn = search.pull().tolist()
        assert len(set(drawn)) == 3
        seen.update(drawn)
    assert seen == set(range(10))


@pytest.mark.parametrize("policy", [Lazy, ThompsonSampling])
def test_per_round_all_pulls_of_a_round_are_of_the_same_columns(policy):
    search = policy(5, per_round=True).start(np.arange(100), 0)
    rounds = [[search.begin(t).pull().tolist() for _ in range(3)] for t in range(4)]
    assert all(pulls == [pulls[0]] * 3 for pulls in rounds)
    assert len({tuple(pulls[0]) for pulls in rounds}) == 4
    # The first pull is what it is without the setting.
    assert rounds[0][0] == policy(5).start(np.arange(100), 0).pull().tolist()


def test_exhaustive_looks_at_everything_in_every_round():
    search = Exhaustive().start(np.array([1, 4, 5]), 0)
    assert [search.pull().tolist() for _ in range(3)] == [[1, 4, 5]] * 3


# What is random in a round depends on the seed and the round, and on nothing before it.


def draws_of(search, t, n_pulls=3):
    search.begin(t)
    return [search.pull().tolist() for _ in range(n_pulls)]


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 10**6), min_size=1, unique=True))
def test_lazy_draws_the_same_columns_in_a_round_however_it_is_reached(seed, rounds):
    straight = Lazy(3).start(np.arange(50), seed)
    expected = {t: draws_of(straight, t) for t in sorted(rounds)}
    for t in rounds:
        # Backwards, again, after other numbers of pulls, and in a search of its own.
        straight.pull()
        assert draws_of(straight, t) == expected[t]
        assert draws_of(Lazy(3).start(np.arange(50), seed), t) == expected[t]


def test_rounds_and_seeds_draw_other_columns():
    search = Lazy(5).start(np.arange(1000), 1)
    actual = [draws_of(search, t)[0] for t in range(50)]
    assert len({tuple(drawn) for drawn in actual}) == 50
    other = Lazy(5).start(np.arange(1000), 2)
    assert all(draws_of(other, t)[0] != drawn for t, drawn in enumerate(actual))


def test_decisions_of_one_round_draw_other_columns():
    search = Lazy(5).start(np.arange(1000), 1)
    first, second, third = draws_of(search, 4)
    assert first != second != third != first


def test_a_search_starts_in_round_0():
    started = Lazy(5).start(np.arange(100), 3)
    assert started.pull().tolist() == draws_of(Lazy(5).start(np.arange(100), 3), 0)[0]


def test_start_and_begin_return_the_search():
    search = Exhaustive()
    assert search.start(np.arange(3), 0) is search
    assert search.begin(7) is search


def test_a_search_starts_anew_on_other_columns():
    search = Lazy(2).start(np.arange(10), 0)
    search.pull()
    assert search.start(np.array([40, 50]), 0).pull().tolist() == [40, 50]


# Settings


@pytest.mark.parametrize(
    ("k", "error"),
    [(0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError), ("3", TypeError)],
)
def test_a_wrong_k_is_an_error_that_names_it(k, error):
    with pytest.raises(error, match=r"\bk must be an integer"):
        resolve_search(Lazy(k))


def test_numpy_integers_will_do_for_k():
    assert resolve_search(Lazy(np.int64(3))).k == 3


def test_searches_have_names():
    assert isinstance(resolve_search("exhaustive"), Exhaustive)
    assert resolve_search("lazy").k == 100
    lazy = Lazy(7)
    assert resolve_search(lazy).k == 7
    assert clone(lazy).get_params() == {"k": 7, "per_round": False}


@pytest.mark.parametrize(("search", "error"), [("hasty", ValueError), (3, TypeError)])
def test_an_unknown_search_is_an_error_that_lists_the_known_ones(search, error):
    with pytest.raises(error, match=r"search must be one of 'auto', 'exhaustive', 'lazy'"):
        resolve_search(search)


@pytest.mark.parametrize("n_columns", [1, 199, 200, 2000])
def test_auto_learns_where_to_look_where_columns_are_many(n_columns):
    columns = np.arange(n_columns)
    search = Auto().start(columns, 0)
    learning = ThompsonSampling(k=50, exploration=1.5, per_round=True).start(columns, 0)
    for t in range(20):
        pulled = search.begin(t).pull()
        wanted = columns if n_columns < 200 else learning.begin(t).pull()
        np.testing.assert_array_equal(pulled, wanted)
        rewards = np.cos(pulled) ** 2
        if search.learns:
            search.update(pulled, rewards)
            learning.update(pulled, rewards)
    again = Auto().start(columns, 0)
    again.restore(search.state(20))
    np.testing.assert_array_equal(again.begin(20).pull(), search.begin(20).pull())
