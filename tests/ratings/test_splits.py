"""Splits and folds: their sizes, what they share, and that they come again."""

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from edgewise import Ratings

WAYS = ["random", "user", "time", "user_time"]
N_OF_USER = [1, 2, 3, 5, 9, 20]


@st.composite
def some_ratings(draw):
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    users = np.repeat(np.arange(len(sizes)), sizes)
    items = np.concatenate([np.arange(size) for size in sizes])
    times = draw(st.lists(st.integers(0, 5), min_size=len(users), max_size=len(users)))
    return Ratings.from_arrays(users, items, np.arange(len(users)), times=times)


@pytest.fixture
def ratings():
    return made(np.arange(sum(N_OF_USER)))


def made(order):
    """Return users of 1, 2, 3, 5, 9 and 20 ratings, the rows in any order."""
    users = np.repeat(np.arange(len(N_OF_USER)), N_OF_USER)
    items = np.concatenate([np.arange(size) for size in N_OF_USER])
    times = np.random.default_rng(5).permutation(len(users))
    return Ratings.from_arrays(
        users[order], items[order], np.arange(len(users))[order], times=times[order]
    )


def assert_parts(ratings, train, test):
    """Assert that every rating is in one of two parts, with the catalog of all."""
    np.testing.assert_array_equal(np.sort(np.r_[train.values, test.values]), ratings.values)
    for part in (train, test):
        assert part.user_ids is ratings.user_ids
        assert part.item_ids is ratings.item_ids
        assert (np.diff(part.users * 1000 + part.items) > 0).all()


def of_each(sizes, share):
    """Return how many of each user's ratings are tested: the share, but not the last one."""
    return np.minimum(np.round(share * sizes), sizes - 1)


def held_out(ratings, by, share):
    if by in ("random", "time"):
        return round(share * len(ratings))
    return of_each(ratings.by_user.sizes, share).sum()


@pytest.mark.parametrize("by", WAYS)
@given(some_ratings(), st.floats(0.01, 0.99), st.integers(0, 10))
def test_parts_of_any_split(by, ratings, share, seed):
    n_tested = held_out(ratings, by, share)
    if n_tested in (0, len(ratings)):
        with pytest.raises(ValueError, match=f"test={share} leaves none of {len(ratings)} ratings"):
            ratings.split(share, by=by, random_state=seed)
        return
    train, test = ratings.split(share, by=by, random_state=seed)
    assert_parts(ratings, train, test)
    assert len(test) == n_tested
    if by not in ("random", "time"):
        sizes = ratings.by_user.sizes
        assert (train.by_user.sizes >= 1).all()
        np.testing.assert_array_equal(test.by_user.sizes, of_each(sizes, share))


@given(some_ratings(), st.floats(0.1, 0.9))
def test_the_last_of_all_are_tested(ratings, share):
    assume(held_out(ratings, "time", share) not in (0, len(ratings)))
    train, test = ratings.split(share, by="time")
    assert train.times.max() <= test.times.min()


@given(some_ratings(), st.floats(0.1, 0.9))
def test_the_last_of_each_user_are_tested(ratings, share):
    assume(held_out(ratings, "user_time", share) > 0)
    train, test = ratings.split(share, by="user_time")
    for user in range(ratings.n_users):
        earlier, later = train.times[train.users == user], test.times[test.users == user]
        assert not len(later) or earlier.max() <= later.min()


@pytest.mark.parametrize("by", WAYS)
def test_splits_come_again_whatever_the_order_of_input(by, ratings):
    order = np.random.default_rng(1).permutation(len(ratings))
    one = ratings.split(0.3, by=by, random_state=7)
    for other in (ratings, made(order)):
        two = other.split(0.3, by=by, random_state=7)
        np.testing.assert_array_equal(one.test.values, two.test.values)


@pytest.mark.parametrize("by", ["random", "user"])
def test_other_seeds_give_other_splits(by, ratings):
    tests = {tuple(ratings.split(0.3, by=by, random_state=seed).test.values) for seed in range(5)}
    assert len(tests) == 5


def test_random_states_of_any_kind(ratings):
    for make in (np.random.default_rng, np.random.RandomState):
        one, two = (ratings.split(random_state=make(3)).test.values for _ in range(2))
        np.testing.assert_array_equal(one, two)
    assert len(ratings.split(random_state=None).test) == 8


@pytest.mark.parametrize("by", ["random", "last"])
@given(some_ratings())
def test_one_of_every_user_with_two_is_left_out(by, ratings):
    train, test = ratings.leave_one_out(by=by, random_state=0)
    assert_parts(ratings, train, test)
    np.testing.assert_array_equal(test.by_user.sizes, (ratings.by_user.sizes > 1).astype(int))
    if by == "last":
        for user, time in zip(test.users, test.times, strict=True):
            assert time == ratings.times[ratings.users == user].max()


@given(some_ratings(), st.integers(1, 4))
def test_the_last_few_of_every_user_with_more_are_left_out(ratings, n):
    train, test = ratings.leave_last(n)
    assert_parts(ratings, train, test)
    sizes = ratings.by_user.sizes
    np.testing.assert_array_equal(test.by_user.sizes, np.where(sizes > n, n, 0))
    for user in np.unique(test.users):
        assert train.times[train.users == user].max() <= test.times[test.users == user].min()


@given(some_ratings(), st.integers(1, 3), st.sampled_from([None, 0.2]))
def test_windows_train_on_what_came_before(ratings, n, share):
    with suppress(ValueError):  # few ratings may leave a window without any
        splits = list(ratings.windows(n, test=0.2, train=share))
        assert len(splits) == n
        for train, test in splits:
            assert train.times.max() < test.times.min()
            if share is None:
                assert len(train) == (ratings.times < test.times.min()).sum()
        for (_, early), (_, late) in pairwise(splits):
            assert early.times.max() < late.times.min()
        assert splits[-1].test.times.max() == ratings.times.max()
        tested = ratings.times >= splits[0].test.times.min()
        assert sum(len(test) for _, test in splits) == tested.sum()


def test_windows_slide(ratings):
    sizes = [(len(train), len(test)) for train, test in ratings.windows(4, test=0.1, train=0.25)]
    assert sizes == [(10, 4)] * 4
    assert [len(train) for train, _ in ratings.windows(2)] == [20, 30]


def test_any_rating_may_be_left_out(ratings):
    chosen = [ratings.leave_one_out(random_state=seed).test.values for seed in range(40)]
    of_user = np.array(chosen)[:, 1]
    assert set(of_user) == {3.0, 4.0, 5.0}


@pytest.mark.parametrize("by", ["random", "user"])
@given(some_ratings(), st.integers(2, 6), st.integers(0, 10))
def test_folds_are_a_partition(by, ratings, k, seed):
    if k > len(ratings):
        with pytest.raises(ValueError, match="n_folds must be"):
            ratings.folds(k, by=by)
        return
    folds = list(ratings.folds(k, by=by, random_state=seed))
    assert len(folds) == k
    tested = np.concatenate([test.values for _, test in folds])
    np.testing.assert_array_equal(np.sort(tested), ratings.values)
    for train, test in folds:
        assert_parts(ratings, train, test)
    sizes = np.array([len(test) for _, test in folds])
    if by == "random":
        assert np.ptp(sizes) <= 1
    else:
        of_users = np.array([test.by_user.sizes for _, test in folds])
        assert (np.ptp(of_users, axis=0) <= 1).all()


@pytest.mark.parametrize("by", ["random", "user"])
def test_folds_come_again_whatever_the_order_of_input(by, ratings):
    order = np.random.default_rng(1).permutation(len(ratings))
    pairs = zip(
        ratings.folds(3, by=by, random_state=7),
        made(order).folds(3, by=by, random_state=7),
        strict=True,
    )
    for one, two in pairs:
        np.testing.assert_array_equal(one.test.values, two.test.values)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda r: r.split(0), ValueError, "test must be a number above 0 and below 1"),
        (lambda r: r.split(1.0), ValueError, "test must be"),
        (lambda r: r.split("0.2"), TypeError, "test must be"),
        (lambda r: r.split(by="users"), ValueError, "by must be one of 'random', 'user'"),
        (lambda r: r.split(random_state="x"), ValueError, "random_state must be"),
        (lambda r: r.split(random_state=-1), ValueError, "random_state must be"),
        (lambda r: r.leave_one_out("first"), ValueError, "by must be one of 'random', 'last'"),
        (lambda r: r.leave_last(0), ValueError, "n must be an integer"),
        (lambda r: r.windows(0), ValueError, "n_windows must be an integer"),
        (lambda r: r.windows(4, test=0.25), ValueError, "test must be below 1 / n_windows, 0.25"),
        (lambda r: r.windows(train=0), ValueError, "train must be a number above 0"),
        (lambda r: r.windows(100), ValueError, "n_windows=100 leaves a window without ratings"),
        (lambda r: r.folds(1), ValueError, "n_folds must be an integer"),
        (lambda r: r.folds(1000), ValueError, "n_folds must be"),
        (lambda r: r.folds(2.5), TypeError, "n_folds must be"),
        (lambda r: r.folds(by="time"), ValueError, "by must be one of"),
        (lambda r: r.folds(random_state="x"), ValueError, "random_state must be"),
    ],
)
def test_errors_name_the_argument_at_once(ratings, ask, error, words):
    with pytest.raises(error, match=words):
        ask(ratings)


@pytest.mark.parametrize(
    "ask",
    [
        lambda r: r.split(by="time"),
        lambda r: r.split(by="user_time"),
        lambda r: r.leave_one_out("last"),
        lambda r: r.leave_last(),
        lambda r: r.windows(),
    ],
)
def test_times_are_needed(ask):
    with pytest.raises(ValueError, match=r"(by='.*'|leave_last|windows) needs times"):
        ask(Ratings.from_arrays([1, 1, 2], [1, 2, 1]))
