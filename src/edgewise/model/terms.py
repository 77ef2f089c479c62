"""A model's terms packed into arrays: h(x) = sum over t of alpha_t v_t phi_t(x)."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from edgewise.data import Table
from edgewise.dtypes import Reals, Rows, Signs


@dataclass(frozen=True)
class StumpTerms:
    """Stumps, one a round (C = 1), or one a round and score column (C = K).

    Attributes
    ----------
    columns : int32 array of shape (T, C)
        The column that is cut; -1 is the constant +1.
    thresholds : float64 array of shape (T, C)
        phi is +1 where the column is at or above the threshold, else -1.
    missing : int8 array of shape (T, C)
        phi of a missing value: -1, +1, or 0 where training saw none in the column.
    alphas : float64 array of shape (T,)
        The base coefficients.
    votes : float64 array of shape (T, K)
        The vote vectors.
    """

    columns: Rows
    thresholds: Reals
    missing: Signs
    alphas: Reals
    votes: Reals

    @staticmethod
    def empty(n_cuts: int, n_scores: int) -> "StumpTerms":
        """Return no terms."""
        return StumpTerms(
            np.empty((0, n_cuts), np.int32),
            np.empty((0, n_cuts)),
            np.empty((0, n_cuts), np.int8),
            np.empty(0),
            np.empty((0, n_scores)),
        )

    def __len__(self) -> int:
        return len(self.alphas)

    def __getitem__(self, which: slice) -> "StumpTerms":
        return StumpTerms(*(getattr(self, f.name)[which] for f in fields(self)))

    def __add__(self, other: "StumpTerms") -> "StumpTerms":
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return StumpTerms(*(np.concatenate(pair) for pair in pairs))

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return self.votes.shape[1]

    @property
    def coefficients(self) -> Reals:
        """alpha_t v_t, shape (T, K)."""
        return self.alphas[:, None] * self.votes

    @property
    def total_vote(self) -> float:
        """The largest score that any row could reach: what margins are normalised by."""
        return float(np.abs(self.coefficients).max(axis=1, initial=0.0).sum())

    def signs(self, table: Table) -> Iterator[Signs]:
        """Yield phi_t of every row, shape (C, n), term by term."""
        values: dict[int, Reals] = {}
        for t in range(len(self)):
            signs = np.empty((self.columns.shape[1], table.n_rows), dtype=np.int8)
            for c, j in enumerate(self.columns[t].tolist()):
                if j >= 0 and j not in values:
                    values[j] = table.numbers(j).reals()
                signs[c] = _cut(values.get(j), self.thresholds[t, c], self.missing[t, c])
            yield signs

    def staged_scores(self, table: Table) -> Iterator[Reals]:
        """Yield the scores of every row, shape (K, n), after each term."""
        scores = np.zeros((self.n_scores, table.n_rows))
        for signs, moves in zip(self.signs(table), self.coefficients, strict=True):
            scores += signs * moves[:, None]
            yield scores.copy()


def _cut(values: Reals | None, threshold: float, missing: int) -> Signs | int:
    if values is None:
        return 1
    signs = np.where(values >= threshold, np.int8(1), np.int8(-1))
    signs[np.isnan(values)] = missing
    return signs
