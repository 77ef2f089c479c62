"""Parts and sums of ratings in compressed rows."""

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.ratings.rows import Grouped


def rows_from(side: Grouped, first: int) -> Grouped:
    """Return the rows from `first` on, as rows of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import Ratings
    >>> view = Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 3, 4]).by_user
    >>> rows_from(view, 1).starts, rows_from(view, 1).values
    (array([0, 1]), array([4.]))
    """
    at = int(side.starts[first])
    weights = None if side.weights is None else side.weights[at:]
    return Grouped(
        side.starts[first:] - at, side.others[at:], side.values[at:], weights, side.rows[at:]
    )


def row_numbers(side: Grouped) -> NDArray[np.intp]:
    """Return the row of each entry."""
    return np.repeat(np.arange(len(side.starts) - 1), side.sizes)


def row_mass(side: Grouped) -> Reals:
    """Return the sum of the weights of each row."""
    if side.weights is None:
        return side.sizes.astype(float)
    counts = np.bincount(row_numbers(side), side.weights, len(side.starts) - 1)
    return counts.astype(float)
