"""Train and test splits of ratings."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of, positive
from edgewise.common.choices import FOLDS
from edgewise.common.dtypes import Mask, Reals
from edgewise.ratings.rows import Grouped

if TYPE_CHECKING:
    from edgewise.ratings.ratings import Ratings

LEFT_OUT = ("random", "last")


class Split(NamedTuple):
    """A training part and a test part of ratings, with the same catalog."""

    train: "Ratings"
    test: "Ratings"


def mask_held_out(
    by: str, share: float, view: Grouped, times: Reals | None, rng: np.random.Generator
) -> Mask:
    """Return a test mask: a share of all ratings or of each user's, at random or the latest.

    With a share of each user's ratings, at least one of them stays in training.
    """
    n = len(view.values)
    chosen = np.zeros(n, dtype=bool)
    keys = times if by.endswith("time") else None
    if by in ("random", "time"):
        order = rng.permutation(n) if keys is None else np.argsort(keys, kind="stable")
        chosen[order[n - round(share * n) :]] = True
        return chosen
    position, sizes = _order_positions(view, keys, rng)
    taken = np.minimum(np.round(share * sizes), np.maximum(sizes - 1, 0))
    chosen[view.rows] = position >= np.repeat(sizes - taken, sizes)
    return chosen


def mask_n_per_user(n: int, view: Grouped, times: Reals | None, rng: np.random.Generator) -> Mask:
    """Return a mask with `n` ratings, the latest or (without times) any, of users with more."""
    position, sizes = _order_positions(view, times, rng)
    chosen = np.zeros(len(view.values), dtype=bool)
    chosen[view.rows] = (position >= np.repeat(sizes - n, sizes)) & np.repeat(sizes > n, sizes)
    return chosen


def time_windows(
    n_windows: int, test: float | None, train: float | None, times: Reals
) -> list[tuple[Mask, Mask]]:
    """Return masks of training and test ratings, for test windows that end with the last rating.

    Ratings of one time stay together, so that nothing in training is as late as the test.
    """
    integer("n_windows", n_windows, 1)
    share = 0.5 / n_windows if test is None else positive("test", test, 1.0)
    before = 1.0 if train is None else positive("train", train, 1.0)
    if n_windows * share >= 1.0:
        raise ValueError(
            f"test must be below 1 / n_windows, {1 / n_windows:g}, to leave ratings to train on, "
            f"got {share:g}"
        )
    ordered, n = np.append(np.sort(times), np.inf), len(times)
    first = [n - round((n_windows - turn) * share * n) for turn in range(n_windows)]
    windows = []
    for at, end in zip(first, [*ordered[first[1:]], np.inf], strict=True):
        earliest, start = ordered[max(at - round(before * n), 0)], ordered[at]
        windows.append(((times >= earliest) & (times < start), (times >= start) & (times < end)))
    if not all(mask.any() for window in windows for mask in window):
        raise ValueError(
            f"n_windows={n_windows} leaves a window without ratings to train or to test on: "
            f"use fewer windows for {n} ratings, or larger shares"
        )
    return windows


def fold_numbers(by: str, k: int, view: Grouped, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of every rating, from 0 to k - 1; sizes differ by at most one."""
    n = len(view.values)
    if n < integer("n_folds", k, 2):
        raise ValueError(f"n_folds must be at most the number of ratings, {n}, got {k}")
    one_of("by", by, FOLDS)
    numbers = np.empty(n, dtype=np.intp)
    if by == "random":
        numbers[rng.permutation(n)] = np.arange(n) % k
        return numbers
    position, sizes = _order_positions(view, None, rng)
    # Users start at random folds, so that those with few ratings do not all fill the first.
    first = rng.integers(k, size=len(sizes))
    numbers[view.rows] = (position + np.repeat(first, sizes)) % k
    return numbers


def _order_positions(
    view: Grouped, times: Reals | None, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return each entry's position in a random (or temporal) order of its user's ratings."""
    n = len(view.values)
    keys = rng.random(n) if times is None else times[view.rows]
    order = np.lexsort((keys, view.row_numbers))
    position = np.empty(n, dtype=np.intp)
    position[order] = np.arange(n) - np.repeat(view.starts[:-1], view.sizes)
    return position, view.sizes
