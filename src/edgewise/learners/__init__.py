"""Learners: families of base functions, and their names."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from edgewise.data import BinnedTable
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
    "Best",
    "ColumnLearner",
    "Comparison",
    "Feature",
    "FoundRule",
    "Goal",
    "Haar",
    "Indicator",
    "Learner",
    "Preset",
    "Product",
    "Round",
    "RoundStream",
    "Selector",
    "Stump",
    "Tree",
    "preset_for",
    "resolve_learner",
]

# Subsets of values with fewer rows fit the noise; small tables have no others.
_RARE, _MANY_ROWS = 100, 10_000

# The automatic trees have twice as many leaves from each of these numbers of rows on.
_MORE_LEAVES_FROM = (2_000, 30_000)

# On fewer rows, they have half as many leaves in this many first rounds.
_SMALL_ROUNDS = 100

# From this many rows on, rounds take long: larger steps halve the time, and cost next to no
# accuracy unless several classes compete.
_LARGER_STEPS_FROM = 500_000


class Goal(NamedTuple):
    """The problem that a named learner is for."""

    n_scores: int = 1
    multilabel: bool = False  # whether each score column is a label of its own
    ranking: bool = False  # whether documents are ranked
    newton: bool = False  # whether the leaves of trees take steps of their own
    missing: str = "learn"  # where thresholds put missing values: "learn", "low" or "high"
    n_rows: int = 0
    max_subset_values: int | None = None  # columns of more values have no subsets

    @property
    def apart(self) -> bool:
        """Whether score columns do not compete: there, splits by gain measured better."""
        return self.n_scores == 1 or self.multilabel


_ANY = Goal()


class Preset(NamedTuple):
    """A learner and the settings of AdaBoostMH that go with it, unless the user gives others."""

    learner: Learner
    votes: str = "discrete"
    loss: str = "exponential"
    learning_rate: float = 1.0
    subsample: float = 1.0
    n_rounds: int | None = 500  # None: as many as are best on held-out rows
    damping: float | None = None
    min_samples_leaf: int = 1
    search: str = "exhaustive"


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


def _auto(base: Learner, goal: Goal) -> Preset:
    """Return the settings that measured best over many data sets (docs/guide/defaults.md)."""
    criterion, damping = ("gain", 0.5) if goal.apart else ("edge", 0.1)
    leaves = auto_leaves(goal.n_scores, goal.n_rows)
    small_rounds = _SMALL_ROUNDS if goal.n_rows < _MORE_LEAVES_FROM[0] else 0
    tree = Tree(base, leaves, "free", criterion, small_rounds)
    return Preset(
        tree,
        votes="real",
        # Of two classes and of labels the same loss, started from the priors.
        loss="softmax" if goal.apart else "logistic",
        learning_rate=0.2 if goal.apart and goal.n_rows >= _LARGER_STEPS_FROM else 0.1,
        subsample=0.7,
        n_rounds=None,
        damping=damping,
        # Tiny tables could not be split otherwise.
        min_samples_leaf=min(3, max(1, goal.n_rows // 20)),
        search="auto",
    )


NAMED_LEARNERS: dict[str, Callable[[Learner, Goal], Preset]] = {
    "auto": _auto,
    "stump": lambda base, _: Preset(base),
    "product": lambda base, _: Preset(Product(base, n_terms=3)),
    "tree": lambda base, goal: Preset(
        Tree(base, 32, "free", "gain") if goal.newton else Tree(base, max_leaf_nodes=8)
    ),
    "feature": lambda _, goal: Preset(Feature(goal.missing)),
}
"""The meaning of each name, given the learner of one-column rules for the table."""


def preset_for(name: str, table: BinnedTable | None, goal: Goal = _ANY) -> Preset:
    """Return the meaning of a name for a table; without one, for all kinds of columns."""
    # Weights of documents sum to 0, so that a constant alone can rank nothing.
    constant = not (goal.ranking and name == "stump")
    return NAMED_LEARNERS[name](_one_column(table, goal, constant), goal)


def resolve_learner(
    learner: Any, table: BinnedTable | None = None, names: Collection[str] = NAMED_LEARNERS
) -> Learner:
    """Return a learner for a name, an object or a list of them, checked."""
    known = ", ".join(repr(name) for name in names)
    if isinstance(learner, str):
        if learner not in names:
            raise ValueError(f"learner must be one of {known} or a Learner, got {learner!r}")
        learner = preset_for(learner, table).learner
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


def _one_column(table: BinnedTable | None, goal: Goal, constant: bool) -> Learner:
    """Return the learner of one-column rules for a table's kinds of columns."""
    stump = Stump(constant, goal.missing)
    if table is None:
        return Best([stump, Indicator()])
    if len(table.categorical.columns) == 0:
        return stump
    # In small tables every value may be rare; rankings are compared within queries.
    many = table.partition.n_rows >= _MANY_ROWS and not goal.ranking
    subsets = Indicator(rare=_RARE if many else 1, max_values=goal.max_subset_values)
    if len(table.categorical.columns) == table.n_columns:
        return subsets
    return Best([stump, subsets])
