"""Which ratings to train on and which to test on."""

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.ratings.rows import Grouped

WAYS = ("random", "user", "time", "user_time")
FOLD_WAYS = ("random", "user")
LEFT_OUT = ("random", "last")

Parts = NDArray[np.intp]


def held_out(
    by: str, share: float, view: Grouped, times: Reals | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which ratings to test on: a share of all, or of each user's, at random or the last.

    A user's last rating in training is never taken away when a share of each user's is taken.
    """
    n = len(view.values)
    chosen = np.zeros(n, dtype=bool)
    if by in ("random", "time"):
        order = rng.permutation(n) if by == "random" else _by_time(times)
        chosen[order[n - round(share * n) :]] = True
        return chosen
    place, sizes = _places(view, times if by == "user_time" else None, rng)
    taken = np.minimum(np.round(share * sizes), np.maximum(sizes - 1, 0))
    chosen[view.rows] = place >= np.repeat(sizes - taken, sizes)
    return chosen


def one_each(
    by: str, view: Grouped, times: Reals | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return one rating of every user with at least two: any, or the last."""
    place, sizes = _places(view, times if by == "last" else None, rng)
    chosen = np.zeros(len(view.values), dtype=bool)
    chosen[view.rows] = (place == np.repeat(sizes - 1, sizes)) & np.repeat(sizes > 1, sizes)
    return chosen


def fold_numbers(by: str, k: int, view: Grouped, rng: np.random.Generator) -> Parts:
    """Return the fold, from 0 to k - 1, of every rating; sizes differ by at most one."""
    n = len(view.values)
    numbers = np.empty(n, dtype=np.intp)
    if by == "random":
        numbers[rng.permutation(n)] = np.arange(n) % k
        return numbers
    place, sizes = _places(view, None, rng)
    # Each user begins at another fold, so that short users do not all fill the first ones.
    first = rng.integers(k, size=len(sizes))
    numbers[view.rows] = (place + np.repeat(first, sizes)) % k
    return numbers


def _by_time(times: Reals | None) -> Parts:
    assert times is not None
    return np.argsort(times, kind="stable")


def _places(
    view: Grouped, times: Reals | None, rng: np.random.Generator
) -> tuple[Parts, NDArray[np.int64]]:
    """Return each entry's place in a shuffled (or timely) order of its user's ratings."""
    n = len(view.values)
    keys = rng.random(n) if times is None else times[view.rows]
    users = np.repeat(np.arange(len(view.sizes)), view.sizes)
    order = np.lexsort((keys, users))
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n) - np.repeat(view.starts[:-1], view.sizes)
    return place, view.sizes
