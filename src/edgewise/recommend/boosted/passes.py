"""The passes over all ratings: compiled where they are many, and on several threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.choose import use_compiled
from edgewise.common.dtypes import Reals, Rows
from edgewise.recommend.boosted.levels import Levels

# Ratings are cut into parts whose sums are added up in order. How many depends on the ratings
# alone, so that the sums are the same on any number of threads.
_PART = 1 << 17
_MOST_PARTS = 16

# What a round costs for each rating and score column without compiled passes, in the units in which
# the kernels count visits.
VISITS = 60


class Passes:
    """Scores of all ratings, and the slopes of the loss there.

    Parameters
    ----------
    users, items : int32 arrays of shape (n,)
        The ratings' users and items.
    values, weights : float64 arrays of shape (n,)
        The ratings and what they count.
    levels : Levels
        What the score columns ask.
    sizes : pair of int
        The numbers of users and items.
    n_rounds : int
        How many rounds there will be at most, by which the passes are chosen.
    n_threads : int
        How many threads there are to use.

    Attributes
    ----------
    labels : float32 array of shape (n, L)
        What the columns should say, -1 or +1.
    scores : float64 array of shape (n, L)
        The scores.
    pulls, curves : float32 arrays of shape (n, L)
        Minus the gradient of the loss, and its second derivative. Half as wide as the scores:
        reading them is most of the work.
    """

    def __init__(
        self,
        users: Rows,
        items: Rows,
        values: Reals,
        weights: Reals,
        levels: Levels,
        sizes: tuple[int, int],
        n_rounds: int,
        n_threads: int,
    ) -> None:
        self.users, self.items = users, items
        self.values, self.weights = values, weights
        self.levels, self.sizes = levels, sizes
        n, width = len(users), levels.n_columns
        self.labels = levels.labels()[levels.codes(values)].astype(np.float32)
        self.gaps = levels.gaps()
        self.weighted = not bool((weights == 1.0).all())
        self.scores = np.zeros((n, width))
        self.pulls = np.zeros((n, width), dtype=np.float32)
        self.curves = np.zeros((n, width), dtype=np.float32)
        self.squared_error = 0.0
        n_parts = min(_MOST_PARTS, max(1, n // _PART))
        cuts = np.linspace(0, n, n_parts + 1).astype(np.int64).tolist()
        self._parts = list(pairwise(cuts))
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 and n_parts > 1 else None
        if use_compiled(float(n) * width * n_rounds * VISITS):
            from edgewise.recommend.boosted import compiled as passes
        else:
            from edgewise.recommend.boosted import twins as passes  # type: ignore[no-redef]
        self._passes: Any = passes

    def advance(self, user_values: Reals, item_values: Reals, move: Reals) -> None:
        """Add ``U Z move`` to the scores, and compute the slopes there."""
        sums = np.zeros((len(self._parts), 1))

        def run(part: int) -> None:
            self._passes.advance(
                *self._parts[part], self.users, self.items, user_values, item_values, move,
                self.labels, self.gaps, self.levels.low, self.levels.target == "one_hot",
                self.values, self.weights, self.weighted, self.scores, self.pulls, self.curves,
                sums[part],
            )  # fmt: skip

        self._spread(run)
        self.squared_error = float(_added(sums)[0])

    def sums(self, side: str, other_values: Reals) -> tuple[Reals, Reals]:
        """Return the sums of pulls and of curves for all users, or all items.

        Parameters
        ----------
        side : {"users", "items"}
            Whose.
        other_values : float64 array
            The values at the other side, by which pulls are multiplied, and curves by their
            squares.
        """
        at_users = side == "users"
        ones, others = (self.users, self.items) if at_users else (self.items, self.users)
        shape = (len(self._parts), self.sizes[0 if at_users else 1], self.levels.n_columns)
        pulls, curves = np.zeros(shape), np.zeros(shape)

        def run(part: int) -> None:
            self._passes.gather(
                *self._parts[part], ones, others, other_values, self.pulls, self.curves,
                pulls[part], curves[part],
            )  # fmt: skip

        self._spread(run)
        return _added(pulls), _added(curves)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _spread(self, run: Callable[[int], None]) -> None:
        parts = range(len(self._parts))
        if self._pool is None:
            for part in parts:
                run(part)
        else:
            list(self._pool.map(run, parts))


def _added(parts: NDArray[np.float64]) -> Reals:
    """Return the sum over parts, in their order."""
    return parts[0] if len(parts) == 1 else np.add.reduce(parts, axis=0)
