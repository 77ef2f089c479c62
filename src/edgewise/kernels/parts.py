"""Searching on a part of the signed weights: some rows, or some (row, score column) entries.

A part has the kernels of a table of its rows, and copies the current weights of these on demand.
"""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Rows
from edgewise.kernels.state import Problem

if TYPE_CHECKING:
    from edgewise.kernels import Kernels
    from edgewise.kernels.twins import TwinKernels


class Part(Protocol):
    """Some of the weights."""

    @property
    def kernels(self) -> "Kernels":
        """Those of a table of the part's rows."""

    @property
    def rows(self) -> Rows:
        """Their numbers in the whole table."""

    @property
    def size(self) -> int:
        """How many rows or entries there are."""

    def gather(self, problem: Problem) -> Problem:
        """Return the part's share of a problem of all rows, as it is now."""


class RowsWithin:
    """Some rows, in the table of all: for what is computed of all rows anyway."""

    def __init__(self, kernels: "Kernels", rows: Rows) -> None:
        self.kernels = kernels
        self.rows = rows

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def gather(self, problem: Problem) -> Problem:
        """Return the part's share of a problem of all rows, as it is now."""
        return self.kernels.within(problem, self.rows)


class TwinPart:
    """A part for the kernels in NumPy.

    Parameters
    ----------
    kernels : TwinKernels
        The kernels of the part's table.
    rows : int32 array
        The part's rows.
    chosen : bool array of shape (chunks, rows, lanes) or None
        Which of their entries count; None is all.
    """

    def __init__(
        self, kernels: "TwinKernels", rows: Rows, chosen: NDArray[np.bool_] | None = None
    ) -> None:
        self.kernels = kernels
        self.rows = rows
        self._chosen = chosen

    @property
    def size(self) -> int:
        """How many rows or entries there are."""
        return len(self.rows) if self._chosen is None else int(self._chosen.sum())

    def gather(self, problem: Problem) -> Problem:
        """Return the part's share of a problem of all rows, as it is now."""
        signed = problem.signed[:, self.rows]
        if self._chosen is not None:
            signed = np.where(self._chosen, signed, 0)
        by_row = signed.transpose(1, 0, 2).reshape(len(self.rows), -1)
        scores = by_row[:, : problem.n_scores].astype(np.int64)
        if self._chosen is not None and problem.mass_column:
            chunk, lane = divmod(problem.n_scores, signed.shape[2])
            signed[chunk, :, lane] = np.abs(scores).sum(axis=1)
        return Problem(
            signed,
            scores.sum(axis=0),
            np.abs(scores).sum(axis=0),
            mass_column=problem.mass_column,
        )


def heavy_entries(problem: Problem, least: int) -> NDArray[np.bool_]:
    """Return which entries of S are at least so large; those of the mass column never are."""
    heavy = np.abs(problem.signed) >= least
    if problem.mass_column:
        chunk, lane = divmod(problem.n_scores, problem.signed.shape[2])
        heavy[chunk, :, lane] = False
    return heavy


def row_sizes(problem: Problem) -> Exacts:
    """Return the sum of the sizes of each row's signed weights."""
    sizes = np.abs(problem.signed.astype(np.int64)).sum(axis=(0, 2))
    if problem.mass_column:
        chunk, lane = divmod(problem.n_scores, problem.signed.shape[2])
        sizes -= problem.signed[chunk, :, lane]
    return sizes
