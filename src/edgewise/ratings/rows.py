"""The ratings of each user, or of each item, side by side."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Rows


@dataclass(frozen=True, eq=False)
class Grouped:
    """Ratings in compressed rows: those of row u are the entries ``starts[u]:starts[u + 1]``.

    Attributes
    ----------
    starts : int64 array of shape (rows + 1,)
        Where each row begins.
    others : int32 array
        The index at the other side, ascending in each row: items of a user, users of an item.
    values : float64 array
        The ratings.
    weights : float64 array or None
        Their weights.
    rows : intp array
        Where each rating stands in the ratings.

    Examples
    --------
    >>> import numpy as np
    >>> view = grouped(np.array([1, 0, 1], np.int32), np.array([2, 0, 1], np.int32),
    ...                np.array([5.0, 3.0, 4.0]), None, 2)
    >>> view.starts, view.others, view.values
    (array([0, 1, 3]), array([0, 1, 2], dtype=int32), array([3., 4., 5.]))
    """

    starts: NDArray[np.int64]
    others: Rows
    values: Reals
    weights: Reals | None
    rows: NDArray[np.intp]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of ratings in each row."""
        return np.diff(self.starts)

    def span(self, row: int) -> slice:
        """Return where the entries of a row are."""
        return slice(int(self.starts[row]), int(self.starts[row + 1]))


def grouped(ones: Rows, others: Rows, values: Reals, weights: Reals | None, n_rows: int) -> Grouped:
    """Return ratings by the index `ones`."""
    order = np.lexsort((others, ones))
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(ones, minlength=n_rows), out=starts[1:])
    kept = None if weights is None else weights[order]
    return Grouped(starts, others[order], values[order], kept, order)
