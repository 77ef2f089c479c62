"""Learners: which base functions can be made."""

from collections.abc import Callable
from typing import Any, NamedTuple

from edgewise.data import BinnedTable
from edgewise.learners.base import Energies, Found, Learner, Round
from edgewise.learners.best import Best
from edgewise.learners.feature import Feature
from edgewise.learners.haar import Haar
from edgewise.learners.indicator import Indicator
from edgewise.learners.product import Product
from edgewise.learners.selector import Selector
from edgewise.learners.stump import Stump
from edgewise.learners.tree import Tree

__all__ = [
    "LEARNERS",
    "LEARNER_NAMES",
    "Best",
    "Energies",
    "Feature",
    "Found",
    "Goal",
    "Haar",
    "Indicator",
    "Learner",
    "Product",
    "Round",
    "Selector",
    "Stump",
    "Tree",
    "learner_named",
]

LEARNERS: dict[str, type[Learner]] = {
    "stump": Stump,
    "selector": Selector,
    "indicator": Indicator,
    "product": Product,
    "tree": Tree,
    "haar": Haar,
    "feature": Feature,
    "best": Best,
}
"""Every learner by the name it has in files."""

# What the names stand for, given the learner of one-column rules for the table's kinds of columns.
LEARNER_NAMES: dict[str, Callable[[Learner, "Goal"], Learner]] = {
    "auto": lambda simple, goal: Tree(
        simple, auto_leaves(goal.n_scores), "free", "gain" if goal.apart else "edge"
    ),
    "stump": lambda simple, _: simple,
    "product": lambda simple, _: Product(simple, n_terms=3),
    "tree": lambda simple, _: Tree(simple, max_leaf_nodes=8),
}


# Subsets of values with fewer rows than this fit the noise, where there are rows enough for others.
_RARE, _MANY_ROWS = 100, 10_000


class Goal(NamedTuple):
    """What is to be told apart.

    Attributes
    ----------
    n_scores : int
        K, the number of score columns.
    multilabel : bool
        Whether each is a label of its own.
    """

    n_scores: int = 1
    multilabel: bool = False

    @property
    def apart(self) -> bool:
        """Whether score columns do not compete: splits by gain measured better there."""
        return self.n_scores == 1 or self.multilabel


def auto_leaves(n_scores: int) -> int:
    """Return how many leaves the automatic learner's trees have: more for more classes.

    Examples
    --------
    >>> [auto_leaves(k) for k in (1, 3, 10, 26, 159)]
    [8, 8, 16, 32, 32]
    """
    return min(32, max(8, 1 << (n_scores - 1).bit_length()))


def learner_named(
    learner: Any, table: BinnedTable | None = None, goal: Goal | None = None
) -> Learner:
    """Return a learner for a name, an object or a list of them.

    Parameters
    ----------
    learner : str, Learner or list
        What the user asked for.
    table : BinnedTable or None
        The training table, whose columns decide what a name stands for.
    goal : Goal or None
        What is to be told apart, which also does.

    Raises
    ------
    ValueError, TypeError
        If it is none of these, or one of its settings is wrong.
    """
    names = ", ".join(repr(name) for name in LEARNER_NAMES)
    if isinstance(learner, str):
        if learner not in LEARNER_NAMES:
            raise ValueError(f"learner must be one of {names} or a Learner, got {learner!r}")
        learner = LEARNER_NAMES[learner](_simple(table), goal or Goal())
    elif isinstance(learner, (list, tuple)):
        if not learner:
            raise ValueError("learner must be a list of at least one learner, got []")
        learner = Best(list(learner))
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be one of {names} or a Learner object, got {learner!r}")
    learner.validate()
    return learner


def part_named(argument: str, learner: Any, table: BinnedTable | None) -> Learner:
    """Return a learner that is part of another.

    Raises
    ------
    ValueError, TypeError
        If it is no learner, or "auto", which also sets votes and loss and so stands alone.
    """
    if isinstance(learner, str) and learner == "auto":
        raise ValueError(f"{argument} must not be 'auto', which stands alone; use a Tree")
    return learner_named(learner, table)


def _simple(table: BinnedTable | None) -> Learner:
    """Return the learner of one-column rules for a table's kinds of columns."""
    if table is None:
        return Best([Stump(), Indicator()])
    if len(table.categorical.columns) == 0:
        return Stump()
    # In small tables every value may be rare.
    subsets = Indicator(rare=_RARE if table.n_rows >= _MANY_ROWS else 1)
    if len(table.categorical.columns) == table.n_columns:
        return subsets
    return Best([Stump(), subsets])
