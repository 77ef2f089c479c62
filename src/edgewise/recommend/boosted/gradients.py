"""Scores of all ratings, with the gradient and hessian of the logistic loss there."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.choose import kernels
from edgewise.common.dtypes import Reals, Rows
from edgewise.common.threads import Threads
from edgewise.recommend.boosted.levels import Levels

# Ratings are cut into parts whose sums are added in order. The number of parts depends on the
# ratings alone, so that sums are the same on any number of threads.
_PART = 1 << 17
_MOST_PARTS = 16

# The cost of a round for each rating and score column in NumPy, counted in visits of a histogram.
_VISITS = 60


class ScoredRatings:
    """The ratings of a training run and their scores, moved round by round.

    Parameters
    ----------
    users, items : int32 arrays of shape (n,)
        The users and items of the ratings.
    values, weights : float64 arrays of shape (n,)
        The ratings and their weights.
    levels : Levels
        The score columns.
    sizes : pair of int
        The numbers of users and items.
    n_rounds : int
        The most rounds there will be: whether compiled code is worth it depends on it.
    threads : Threads
        The threads to use.

    Attributes
    ----------
    labels : float32 array of shape (n, L)
        The labels of the columns, -1 or +1.
    scores : float64 array of shape (n, L)
        The scores.
    gradients, hessians : float32 arrays of shape (n, L)
        The negative gradient of the loss, and its second derivative. Half as wide as the scores:
        reading them is most of the work.
    squared_error : float
        The weighted sum of squared errors of the expected ratings.
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
        threads: Threads,
    ) -> None:
        self.users, self.items = users, items
        self.values, self.weights = values, weights
        self.levels, self.sizes = levels, sizes
        n, width = len(users), levels.n_columns
        self.labels = levels.labels()[levels.codes(values)].astype(np.float32)
        self.gaps = levels.gaps()
        self.weighted = not bool((weights == 1.0).all())
        self.scores = np.zeros((n, width))
        self.gradients = np.zeros((n, width), dtype=np.float32)
        self.hessians = np.zeros((n, width), dtype=np.float32)
        self.squared_error = 0.0
        n_parts = min(_MOST_PARTS, max(1, n // _PART))
        self._parts = list(pairwise(np.linspace(0, n, n_parts + 1).astype(np.int64).tolist()))
        self._threads = threads
        self._kernels: Any = kernels(
            "factorization_boosting", float(n) * width * n_rounds * _VISITS
        )

    def advance(self, user_values: Reals, item_values: Reals, votes: Reals) -> None:
        """Add ``U Z votes`` to the scores, and compute gradients and hessians there."""
        sums = np.zeros((len(self._parts), 1))

        def run(part: int) -> None:
            self._kernels.advance(
                *self._parts[part], self.users, self.items, user_values, item_values, votes,
                self.labels, self.gaps, self.levels.low, self.levels.target == "one_hot",
                self.values, self.weights, self.weighted, self.scores, self.gradients,
                self.hessians, sums[part],
            )  # fmt: skip

        self._spread(run)
        self.squared_error = float(_added(sums)[0])

    def sums(self, side: str, other_values: Reals) -> tuple[Reals, Reals]:
        """Return the sums of gradients and of hessians for all users, or all items.

        Gradients are multiplied by the values of the other side, hessians by their squares.
        """
        of_users = side == "users"
        ones, others = (self.users, self.items) if of_users else (self.items, self.users)
        shape = (len(self._parts), self.sizes[0 if of_users else 1], self.levels.n_columns)
        gradients, hessians = np.zeros(shape), np.zeros(shape)

        def run(part: int) -> None:
            self._kernels.gather(
                *self._parts[part], ones, others, other_values, self.gradients, self.hessians,
                gradients[part], hessians[part],
            )  # fmt: skip

        self._spread(run)
        return _added(gradients), _added(hessians)

    def _spread(self, run: Callable[[int], None]) -> None:
        self._threads.map(run, range(len(self._parts)))


def _added(parts: NDArray[np.float64]) -> Reals:
    """Return the sum over parts, in their order."""
    return parts[0] if len(parts) == 1 else np.add.reduce(parts, axis=0)
