"""Learners: families of base functions, and their names."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from edgewise.data import BinnedTable
from edgewise.learners.additive import Additive
from edgewise.learners.base import (
    SMOOTHING,
    ColumnLearner,
    Comparison,
    FoundRule,
    Learner,
    Round,
    RoundStream,
)
from edgewise.learners.best import Best
from edgewise.learners.feature import Feature
from edgewise.learners.haar import Haar
from edgewise.learners.indicator import Indicator
from edgewise.learners.product import Product
from edgewise.learners.selector import Selector
from edgewise.learners.stump import Stump
from edgewise.learners.tree import Tree

__all__ = [
    "NAMED_LEARNERS",
    "SMOOTHING",
    "Additive",
    "Best",
    "ColumnLearner",
    "Comparison",
    "Feature",
    "FoundRule",
    "Goal",
    "Haar",
    "Indicator",
    "Learner",
    "Product",
    "Round",
    "RoundStream",
    "Selector",
    "Stump",
    "Tree",
    "build_learner",
    "resolve_learner",
]

# Subsets of values with fewer rows fit the noise; small tables have no others.
_RARE, _MANY_ROWS = 100, 10_000

# Curves over the values of a column fit rare ones even in small tables.
_RARE_IN_CURVES = 10

# The automatic trees have twice as many leaves from each of these numbers of rows on.
_MORE_LEAVES_FROM = (2_000, 30_000)

# On fewer rows, they have half as many leaves in this many first rounds.
_SMALL_ROUNDS = 100


class Goal(NamedTuple):
    """The problem that a named learner is for."""

    n_scores: int = 1
    multilabel: bool = False  # whether each score column is a label of its own
    ranking: bool = False  # whether documents are ranked
    newton: bool = False  # whether the leaves of trees take steps of their own
    missing: str = "learn"  # where thresholds put missing values: "learn", "low" or "high"
    n_rows: int = 0
    n_columns: int = 0
    max_subset_values: int | None = None  # columns of more values have no subsets

    @property
    def apart(self) -> bool:
        """Whether score columns do not compete: there, splits by gain measured better."""
        return self.n_scores == 1 or self.multilabel


_ANY = Goal()


def auto_leaves(n_scores: int, n_rows: int = 0) -> int:
    """Return the number of leaves of the automatic trees: more for more classes or rows.

    Examples
    --------
    >>> [auto_leaves(k) for k in (1, 3, 10, 26, 159)]
    [8, 8, 16, 32, 32]
    >>> [auto_leaves(1, n) for n in (1_000, 2_000, 30_000, 1_000_000)]
    [8, 16, 32, 32]
    """
    for_rows = 8 << sum(n_rows >= many for many in _MORE_LEAVES_FROM)
    return min(32, max(for_rows, 1 << (n_scores - 1).bit_length()))


def _automatic_tree(base: Learner, goal: Goal) -> Tree:
    """Return the trees that measured best over many data sets (docs/guide/defaults.md)."""
    leaves = auto_leaves(goal.n_scores, goal.n_rows)
    small_rounds = _SMALL_ROUNDS if goal.n_rows < _MORE_LEAVES_FROM[0] else 0
    return Tree(base, leaves, "free", "gain" if goal.apart else "edge", small_rounds)


def _tree(base: Learner, goal: Goal) -> Tree:
    return Tree(base, 32, "free", "gain") if goal.newton else Tree(base, max_leaf_nodes=8)


NAMED_LEARNERS: dict[str, Callable[[Learner, Goal], Learner]] = {
    "auto": _automatic_tree,
    "stump": lambda base, _: base,
    "product": lambda base, _: Product(base, n_terms=3),
    "tree": _tree,
    "additive": lambda base, _: Additive(base),
    "feature": lambda _, goal: Feature(goal.missing),
}
"""The learner of each name, given the learner of one-column rules for the table."""


def build_learner(name: str, table: BinnedTable | None, goal: Goal = _ANY) -> Learner:
    """Return the learner of a name for a table; without one, for all kinds of columns."""
    # Weights of documents sum to 0, so that a constant alone can rank nothing.
    constant = not (goal.ranking and name == "stump")
    rare = _RARE_IN_CURVES if name == "additive" else 1
    return NAMED_LEARNERS[name](_one_column(table, goal, constant, rare), goal)


def resolve_learner(
    learner: Any, table: BinnedTable | None = None, names: Collection[str] = NAMED_LEARNERS
) -> Learner:
    """Return a learner for a name, an object or a list of them, checked."""
    known = ", ".join(repr(name) for name in names)
    if isinstance(learner, str):
        if learner not in names:
            raise ValueError(f"learner must be one of {known} or a Learner, got {learner!r}")
        learner = build_learner(learner, table)
    elif isinstance(learner, (list, tuple)):
        if not learner:
            raise ValueError("learner must be a list of at least one learner, got []")
        learner = Best(list(learner))
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be one of {known} or a Learner object, got {learner!r}")
    learner.validate()
    return learner


def resolve_base(argument: str, learner: Any, table: BinnedTable | None) -> Learner:
    """Return the base of another learner, checked."""
    if isinstance(learner, str) and learner == "auto":
        raise ValueError(f"{argument}='auto' is not allowed here; pass a Tree")
    return resolve_learner(learner, table)


def _one_column(table: BinnedTable | None, goal: Goal, constant: bool, rare: int) -> Learner:
    """Return the learner of one-column rules for a table's kinds of columns.

    In small tables, values of fewer than `rare` rows count as one.
    """
    stump = Stump(constant, goal.missing)
    if table is None:
        return Best([stump, Indicator(rare=rare)])
    if len(table.categorical.columns) == 0:
        return stump
    # In small tables every value may be rare; rankings are compared within queries.
    many = table.partition.n_rows >= _MANY_ROWS and not goal.ranking
    subsets = Indicator(rare=_RARE if many else rare, max_values=goal.max_subset_values)
    if len(table.categorical.columns) == table.n_columns:
        return subsets
    return Best([stump, subsets])
