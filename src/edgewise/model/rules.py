"""Base functions: what one round of boosting adds, before its coefficient and votes.

A rule is evaluated on a `Source`: rows as they came (`Aligned`) or their codes (`BinnedTable`);
both give the same outputs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Signs
from edgewise.data import CONSTANT


class Source(Protocol):
    """Rows that rules can be evaluated on."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    def threshold_signs(self, j: int, threshold: float, missing: int) -> Signs:
        """Return +1 where column `j` is at or above a threshold, else -1; `missing` where NaN."""

    def subset_values(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each row what `values` says of its category."""

    def numbers(self, j: int) -> Reals:
        """Return the values of numeric column `j`."""


class Rule(ABC):
    """A base function phi."""

    @abstractmethod
    def outputs(self, source: Source) -> Signs | Reals:
        """Return phi of every row, shape (1, n), or (K, n) where it differs by score column."""

    @property
    @abstractmethod
    def columns(self) -> list[int]:
        """The columns that the rule looks at, one entry for each test."""

    @property
    def key(self) -> tuple[object, ...] | None:
        """What is equal for equal rules; None where that is not asked for."""
        return None


class Test(Rule):
    """A rule that says -1, 0 or +1, the same for every score column."""

    @abstractmethod
    def signs(self, source: Source) -> Signs:
        """Return phi of every row, shape (n,)."""

    @property
    @abstractmethod
    def factors(self) -> "tuple[Cut | Subset, ...]":
        """The simple tests whose product this is; none for the constant."""

    def outputs(self, source: Source) -> Signs:
        """Return phi of every row, shape (1, n)."""
        return self.signs(source)[None]

    @property
    def columns(self) -> list[int]:
        """The columns that the rule looks at, one entry for each test."""
        return [factor.column for factor in self.factors]

    @property
    def key(self) -> tuple[object, ...] | None:
        """What is equal for equal rules: the factors."""
        return tuple(
            (f.column, f.threshold, f.missing)
            if isinstance(f, Cut)
            else (f.column, bytes(f.values))
            for f in self.factors
        )


@dataclass(frozen=True)
class Cut(Test):
    """+1 where a numeric column is at or above a threshold, -1 below.

    Kégl and Busa-Fekete 2009a, section 2.2.

    Attributes
    ----------
    column : int
        The column; -1 is the constant +1.
    threshold : float
        The threshold; minus infinity puts every value on the positive side.
    missing : int
        The output for missing values: -1, 0 or +1.
    """

    column: int
    threshold: float
    missing: int

    def signs(self, source: Source) -> Signs:
        """Return phi of every row, shape (n,)."""
        return source.threshold_signs(self.column, self.threshold, self.missing)

    @property
    def factors(self) -> "tuple[Cut | Subset, ...]":
        """The cut itself; nothing for the constant."""
        return () if self.column == CONSTANT else (self,)


EVERYWHERE = Cut(CONSTANT, -np.inf, 1)
"""The constant +1."""


@dataclass(frozen=True)
class Subset(Test):
    """+1 on some values of a categorical column, -1 on the others.

    Kégl and Busa-Fekete 2009a, eq. 9.

    Attributes
    ----------
    column : int
        The column.
    values : int8 array of shape (values + 1,)
        The output for each value, and last the one for missing and unseen values.
    """

    column: int
    values: Signs

    def signs(self, source: Source) -> Signs:
        """Return phi of every row, shape (n,)."""
        return source.subset_values(self.column, self.values)

    @property
    def factors(self) -> "tuple[Cut | Subset, ...]":
        """The subset itself."""
        return (self,)


@dataclass(frozen=True)
class ProductRule(Test):
    """The product of several tests (Kégl and Busa-Fekete 2009a section 2.3)."""

    terms: "tuple[Cut | Subset, ...]"

    def signs(self, source: Source) -> Signs:
        """Return phi of every row, shape (n,)."""
        signs = np.ones(source.n_rows, dtype=np.int8)
        for term in self.terms:
            signs *= term.signs(source)
        return signs

    @property
    def factors(self) -> "tuple[Cut | Subset, ...]":
        """The terms."""
        return self.terms


@dataclass(frozen=True)
class Node:
    """An inner node of a tree: a test, and what follows on -1, +1 and 0.

    What follows is the number of a node, or -1 - the number of a leaf.
    """

    test: Test
    low: int
    high: int
    rest: int


@dataclass(frozen=True)
class TreeRule(Rule):
    """A tree of tests with an output for each leaf and score column.

    Attributes
    ----------
    nodes : tuple of Node
        The inner nodes; the first is the root, and children come after their parents.
    leaves : int8 or float64 array of shape (leaves, K)
        The outputs.
    """

    nodes: tuple[Node, ...]
    leaves: Signs | Reals

    def outputs(self, source: Source) -> Signs | Reals:
        """Return the outputs of every row, shape (K, n)."""
        return by_leaf(self.leaves, self.leaf_of(source))

    def leaf_of(self, source: Source) -> NDArray[np.intp]:
        """Return the leaf that each row falls into."""
        at = np.zeros(source.n_rows, dtype=np.intp)
        for place, node in enumerate(self.nodes):
            here = np.flatnonzero(at == place)
            signs = node.test.signs(source)[here]
            at[here] = np.where(signs > 0, node.high, np.where(signs < 0, node.low, node.rest))
        return -1 - at

    @property
    def columns(self) -> list[int]:
        """The columns that the tree looks at, one entry for each test."""
        return [j for node in self.nodes for j in node.test.columns]


@dataclass(frozen=True)
class PerScore(Rule):
    """A cut of its own for each score column, as in the original AdaBoost.MH."""

    cuts: tuple[Cut, ...]

    def outputs(self, source: Source) -> Signs:
        """Return the cuts of every row, shape (K, n)."""
        return np.stack([cut.signs(source) for cut in self.cuts])

    @property
    def columns(self) -> list[int]:
        """The column of each cut."""
        return [cut.column for cut in self.cuts]


@dataclass(frozen=True)
class Scores(Rule):
    """A number for each value of a categorical column.

    The real subset indicator of Kégl and Busa-Fekete 2009a.

    Attributes
    ----------
    column : int
        The column.
    values : float64 array of shape (values + 1,)
        The number of each value, and last that of missing and unseen values.
    """

    column: int
    values: Reals

    def outputs(self, source: Source) -> Reals:
        """Return the numbers of every row, shape (1, n)."""
        return source.subset_values(self.column, self.values)[None]

    @property
    def columns(self) -> list[int]:
        """The column."""
        return [self.column]


@dataclass(frozen=True)
class Linear(Rule):
    """A numeric column itself: the simplest weak ranker of Iyer 1999 section 4.3.

    Attributes
    ----------
    column : int
        The column.
    fill : float
        What stands for a missing value, q_def.
    """

    column: int
    fill: float

    def outputs(self, source: Source) -> Reals:
        """Return the column's values, shape (1, n)."""
        values = source.numbers(self.column)
        return np.where(np.isnan(values), self.fill, values)[None]

    @property
    def columns(self) -> list[int]:
        """The column."""
        return [self.column]

    @property
    def key(self) -> tuple[object, ...] | None:
        """What is equal for equal rules."""
        return (self.column, self.fill)


def by_leaf(leaves: Signs | Reals, leaf_of: NDArray[np.intp]) -> Signs | Reals:
    """Return the outputs of rows, shape (K, n), given the leaf of each."""
    by_score: NDArray[Any] = np.ascontiguousarray(leaves.T)
    return by_score.take(leaf_of, axis=1)
