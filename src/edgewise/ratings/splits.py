"""Train and test splits of ratings."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.ratings.rows import Grouped

LEFT_OUT = ("random", "last")


def mask_held_out(
    by: str, share: float, view: Grouped, times: Reals | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
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
    position, sizes = _places(view, keys, rng)
    taken = np.minimum(np.round(share * sizes), np.maximum(sizes - 1, 0))
    chosen[view.rows] = position >= np.repeat(sizes - taken, sizes)
    return chosen


def mask_n_per_user(
    n: int, view: Grouped, times: Reals | None, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return a mask with `n` ratings, the latest or (without times) any, of users with more."""
    position, sizes = _places(view, times, rng)
    chosen = np.zeros(len(view.values), dtype=bool)
    chosen[view.rows] = (position >= np.repeat(sizes - n, sizes)) & np.repeat(sizes > n, sizes)
    return chosen


def time_windows(
    n_windows: int, test: float, train: float, times: Reals
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield masks of training and test ratings, for test windows that end with the last rating.

    Ratings of one time stay together, so that nothing in training is as late as the test.
    """
    ordered, n = np.append(np.sort(times), np.inf), len(times)
    first = [n - round((n_windows - turn) * test * n) for turn in range(n_windows)]
    ends = [*ordered[first[1:]], np.inf]
    for at, end in zip(first, ends, strict=True):
        earliest, start = ordered[max(at - round(train * n), 0)], ordered[at]
        yield (times >= earliest) & (times < start), (times >= start) & (times < end)


def fold_numbers(by: str, k: int, view: Grouped, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of every rating, from 0 to k - 1; sizes differ by at most one."""
    n = len(view.values)
    numbers = np.empty(n, dtype=np.intp)
    if by == "random":
        numbers[rng.permutation(n)] = np.arange(n) % k
        return numbers
    position, sizes = _places(view, None, rng)
    # Users start at random folds, lest users with few ratings all fill the first ones.
    first = rng.integers(k, size=len(sizes))
    numbers[view.rows] = (position + np.repeat(first, sizes)) % k
    return numbers


def _places(
    view: Grouped, times: Reals | None, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return each entry's position in a random (or temporal) order of its user's ratings."""
    n = len(view.values)
    keys = rng.random(n) if times is None else times[view.rows]
    order = np.lexsort((keys, view.row_numbers))
    position = np.empty(n, dtype=np.intp)
    position[order] = np.arange(n) - np.repeat(view.starts[:-1], view.sizes)
    return position, view.sizes
