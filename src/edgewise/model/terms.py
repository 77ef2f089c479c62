"""A model's terms packed into arrays: h(x) = sum over t of alpha_t v_t phi_t(x)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals, Rows, Signs
from edgewise.model.packed import PackedTerms
from edgewise.model.rules import Cut, PerScore


@dataclass(frozen=True)
class StumpTerms(PackedTerms):
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

    @staticmethod
    def pack(rules: Sequence[Any], alphas: Sequence[float], votes: Reals) -> "StumpTerms":
        """Return cuts, or tuples of them, as arrays."""
        cuts = [rule.cuts if isinstance(rule, PerScore) else (rule,) for rule in rules]
        return StumpTerms(
            np.array([[cut.column for cut in row] for row in cuts], dtype=np.int32),
            np.array([[cut.threshold for cut in row] for row in cuts]),
            np.array([[cut.missing for cut in row] for row in cuts], dtype=np.int8),
            np.array(alphas),
            votes,
        )

    def rule(self, t: int) -> Cut | PerScore:
        """Return term `t` as a rule."""
        rows = zip(
            self.columns[t].tolist(),
            self.thresholds[t].tolist(),
            self.missing[t].tolist(),
            strict=True,
        )
        cuts = tuple(Cut(*row) for row in rows)
        return cuts[0] if len(cuts) == 1 else PerScore(cuts)

    def __getitem__(self, which: slice) -> "StumpTerms":
        return StumpTerms(*(getattr(self, f.name)[which] for f in fields(self)))

    def __add__(self, other: "StumpTerms") -> "StumpTerms":
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return StumpTerms(*(np.concatenate(pair) for pair in pairs))

    @property
    def total_vote(self) -> float:
        """The largest score that any row could reach: what margins are normalised by."""
        return float(np.abs(self.coefficients).max(axis=1, initial=0.0).sum())
