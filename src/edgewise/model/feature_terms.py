"""A model whose base functions are columns themselves, packed into arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals, Rows
from edgewise.data import Aligned
from edgewise.model.packed import PackedTerms
from edgewise.model.rules import Linear


@dataclass(frozen=True)
class FeatureTerms(PackedTerms):
    """Columns, one a round.

    Attributes
    ----------
    columns : int32 array of shape (T,)
        The column.
    fills : float64 array of shape (T,)
        What stands for a missing value.
    alphas : float64 array of shape (T,)
        The base coefficients.
    votes : float64 array of shape (T, 1)
        -1 or +1.
    """

    columns: Rows
    fills: Reals
    alphas: Reals
    votes: Reals

    @staticmethod
    def empty(n_scores: int = 1) -> "FeatureTerms":
        """Return no terms."""
        nothing = np.empty(0)
        return FeatureTerms(np.empty(0, np.int32), nothing, nothing, np.empty((0, n_scores)))

    @staticmethod
    def pack(rules: Sequence[Any], alphas: Sequence[float], votes: Reals) -> "FeatureTerms":
        """Return rules as arrays."""
        return FeatureTerms(
            np.array([rule.column for rule in rules], dtype=np.int32),
            np.array([rule.fill for rule in rules], dtype=np.float64),
            np.array(alphas, dtype=np.float64),
            votes,
        )

    def rule(self, t: int) -> Linear:
        """Return term `t` as a rule."""
        return Linear(int(self.columns[t]), float(self.fills[t]))

    def __getitem__(self, which: slice) -> "FeatureTerms":
        return FeatureTerms(*(getattr(self, f.name)[which] for f in fields(self)))

    def __add__(self, other: "FeatureTerms") -> "FeatureTerms":
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return FeatureTerms(*(np.concatenate(pair) for pair in pairs))

    @property
    def total_vote(self) -> float:
        """The sum of the sizes of the coefficients."""
        return float(np.abs(self.coefficients).sum())

    def scores(self, rows: Aligned, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, 1)."""
        return self.summed_scores(rows).T
