"""Some (row, score column) entries of the signed weights, and no others."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Columns, Exacts, Integers, Rows


@dataclass(frozen=True)
class Entries:
    """Some entries of S, chunk by chunk, in each by row.

    Attributes
    ----------
    shape : tuple (chunks, n, lanes)
        That of the S they are from, with its n rows numbered anew.
    starts : intp array of shape (chunks + 1,)
        The entries of chunk c are from ``starts[c]`` to ``starts[c + 1]``.
    rows, lanes : int32 and uint8 arrays
        The row and the lane of each entry.
    values : integer array
        Their signed weights.
    """

    shape: tuple[int, int, int]
    starts: Columns
    rows: Rows
    lanes: NDArray[np.uint8]
    values: Integers

    @property
    def arrays(self) -> tuple[Columns, Rows, NDArray[np.uint8], Integers]:
        """The entries as compiled code wants them."""
        return self.starts, self.rows, self.lanes, self.values

    @property
    def scores(self) -> Columns:
        """The score column of each entry."""
        chunk = np.repeat(np.arange(self.shape[0]), np.diff(self.starts))
        return chunk * self.shape[2] + self.lanes

    def sums(self, n_scores: int) -> tuple[Exacts, Exacts]:
        """Return the sums of the values and of their sizes, for each score column."""
        n_columns, scores = self.shape[0] * self.shape[2], self.scores
        totals, masses = (np.zeros(n_columns, dtype=np.int64) for _ in range(2))
        np.add.at(totals, scores, self.values)
        np.add.at(masses, scores, np.abs(self.values))
        return totals[:n_scores], masses[:n_scores]

    def of_rows(self, rows: Rows) -> "Entries":
        """Return the entries of some rows."""
        chosen = np.zeros(self.shape[1], dtype=bool)
        chosen[rows] = True
        kept = np.flatnonzero(chosen[self.rows])
        return replace(
            self,
            starts=np.searchsorted(kept, self.starts).astype(np.intp),
            rows=self.rows[kept],
            lanes=self.lanes[kept],
            values=self.values[kept],
        )
