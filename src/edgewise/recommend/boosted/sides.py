"""The values of users or items in a round: shrunken steps, shared through what they have in common.

A user with few ratings tells little by itself, but it rated some items, and others who rated the
same items tell something about it. So a value has two parts: a sum of weights of the items rated
(and of the user's features), times one over the root of their number, and a step of the user's own,
shrunken towards 0. With items it is the same the other way round.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals
from edgewise.data import CategoricalColumn
from edgewise.data.table import ColumnTable
from edgewise.ratings.rows import Grouped

# A numeric feature is cut into so many parts of about as many rows each.
_PARTS = 10


@dataclass(frozen=True, eq=False)
class Side:
    """Users, or items, with what they have in common.

    Attributes
    ----------
    counts : float64 array of shape (rows,)
        The weights of each one's ratings.
    marks : csr_array of shape (rows, marks) or None
        What each one has: the items rated and features, all of the same size in a row.
    own, shared : float
        How much own steps, and weights of marks, are shrunken.
    """

    counts: Reals
    marks: Any
    own: float
    shared: float

    def values(self, pulls: Reals, curves: Reals) -> tuple[Reals, Reals | None]:
        """Return the values of all rows and the weights of the marks.

        Parameters
        ----------
        pulls, curves : float64 arrays of shape (rows,)
            The sums of the slopes of each row.
        """
        if self.marks is None:
            return step(pulls, curves, self.own, None), None
        marks, squares = self._turned
        weights = (marks @ pulls) / (squares @ curves + self.shared)
        prior = self.marks @ weights
        # The marks of a row overlap with those of others: together they go too far or not far
        # enough, and the best length along them is found.
        bend = float((curves * prior * prior).sum())
        length = float((pulls * prior).sum()) / bend if bend > 0 else 0.0
        weights = weights * length
        return step(pulls, curves, self.own, prior * length), weights

    @cached_property
    def _turned(self) -> tuple[Any, Any]:
        """The marks by mark, and their squares."""
        turned = self.marks.T.tocsr()
        squares = turned.copy()
        squares.data = squares.data**2
        return turned, squares

    def normal(self, values: Reals) -> Reals:
        """Return values whose square is 1 on average over the ratings."""
        mean = float((self.counts * values * values).sum() / self.counts.sum())
        return values / np.sqrt(mean) if mean > 0 else values


def step(pulls: Reals, curves: Reals, shrinkage: float, prior: Reals | None) -> Reals:
    """Return Newton's steps from a prior, shrunken towards it."""
    total = curves + shrinkage
    safe = np.where(total > 0, total, 1.0)
    if prior is None:
        return pulls / safe
    return prior + (pulls - curves * prior) / safe


def marks_of(
    view: Grouped, n_others: int, features: ColumnTable | None, rated: bool, n_trained: int
) -> Any:
    """Return the marks of each row: what it has ratings with, and its features; None if no marks.

    Parameters
    ----------
    view : Grouped
        The ratings of each row.
    n_others : int
        How many there are at the other side.
    features : ColumnTable or None
        The features of the rows.
    rated : bool
        Whether ratings are marks.
    n_trained : int
        How many of the rows were there in training: numbers are cut by these.
    """
    n_rows = len(view.starts) - 1
    parts = []
    if rated:
        ones = np.ones(len(view.others))
        parts.append(sparse.csr_array((ones, view.others, view.starts), (n_rows, n_others)))
    if features is not None:
        parts.append(feature_marks(features, n_trained))
    if not parts:
        return None
    marks = sparse.csr_array(sparse.hstack(parts, format="csr"))
    return even(marks)


def even(marks: Any) -> Any:
    """Return marks that are one over the root of how many there are in a row."""
    sizes = np.diff(marks.indptr)
    marks.data = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    return marks


def feature_marks(features: ColumnTable, n_trained: int) -> Any:
    """Return a column for each category and for each part of a numeric column; 1 where it holds."""
    blocks = [_one_hot(*coded(column, n_trained)[:2]) for column in features.columns()]
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))


def coded(column: Any, n_trained: int) -> tuple[NDArray[np.intp], int, Reals | None]:
    """Return the place of each row among some categories, -1 for none.

    Returns
    -------
    codes : intp array
        The places.
    width : int
        How many categories there are.
    cuts : float64 array or None
        Where numbers are cut; None where they are not.
    """
    if isinstance(column, CategoricalColumn):
        codes = column.codes.astype(np.intp)
        return np.where(codes == column.missing_code, -1, codes), len(column.categories), None
    numbers = column.reals()
    seen = numbers[:n_trained][~np.isnan(numbers[:n_trained])]
    if np.isin(seen, (0.0, 1.0)).all():
        # Of a yes or no only the yes is worth a mark: two people who are no poets have little in
        # common.
        return np.where(numbers == 1.0, 0, -1), 1, None
    cuts = np.unique(np.quantile(seen, np.arange(1, _PARTS) / _PARTS))
    codes = np.searchsorted(cuts, numbers, side="right")
    return np.where(np.isnan(numbers), -1, codes), len(cuts) + 1, cuts


def _one_hot(codes: NDArray[np.intp], width: int) -> Any:
    rows = np.flatnonzero(codes >= 0)
    shape = (len(codes), width)
    return sparse.csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=shape)
