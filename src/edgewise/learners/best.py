"""The best of several learners, chosen in every decision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from edgewise.data import BinnedTable
from edgewise.learners.base import ColumnLearner, FoundRule, Learner, Round
from edgewise.model import Test
from edgewise.search import Search


@dataclass(eq=False, repr=False)
class Best(Learner):
    """The best rule of several learners; a list of learners means the same.

    Parameters
    ----------
    learners : list of Learner
        The learners; ties go to the first.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Best, Indicator, Stump
    >>> AdaBoostMH(learner=Best([Stump(), Indicator()])).fit([[1.0], [2.0]], [0, 1]).n_rounds_ > 0
    True
    """

    learners: Sequence[Any]

    def validate(self) -> None:
        if not isinstance(self.learners, (list, tuple)) or not self.learners:
            raise ValueError(f"learners must be a list of learners, got {self.learners!r}")
        self.alternatives()

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = clone(self)
        learners = self._resolve_learners(table)
        # Learners of different columns divide the search's columns between them.
        columns = [_columns(learner.ready(table, search, seed)) for learner in learners]
        n_columns = max(1, len(set().union(*columns)))
        shares = [len(columns_of_learner) / n_columns for columns_of_learner in columns]
        started.learners_ = [
            learner.ready(table, search.with_fraction(share), seed + 1 + i)
            for i, (learner, share) in enumerate(zip(learners, shares, strict=True))
        ]
        return started

    def _resolve_learners(self, table: BinnedTable | None) -> list[Learner]:
        from edgewise.learners import resolve_base

        return [resolve_base("learners", learner, table) for learner in self.learners]

    def alternatives(self, table: BinnedTable | None = None) -> list[Learner]:
        return [
            alternative
            for learner in self._resolve_learners(table)
            for alternative in learner.alternatives(table)
        ]

    def begin(self, t: int) -> None:
        for learner in self.learners_:
            learner.begin(t)

    def find(self, round: Round) -> FoundRule | None:
        results = [(learner, learner.find(round)) for learner in self.learners_]
        candidates = [(learner, rule) for learner, rule in results if rule is not None]
        if not candidates:
            return None
        losses = [rule.loss for _, rule in candidates]
        if round.pairs is not None and len(candidates) > 1 and self.uses_values:
            # A column's value and a test have edges of different scales.
            losses = [-x for x in round.pairs.decreases([best.rule for _, best in candidates])]
        self._winner, best = candidates[int(np.argmin(losses))]
        return best

    def refit_on_all_weights(self, found: FoundRule, round: Round) -> FoundRule:
        return self._winner.refit_on_all_weights(found, round)

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        order = rng.permutation(len(self.learners_)).tolist()
        drawn = (self.learners_[i].draw(table, rng) for i in order)
        return next((rule for rule in drawn if rule is not None), None)

    def column_learners(self) -> Iterator[ColumnLearner]:
        for learner in self.learners_:
            yield from learner.column_learners()

    def simple_learners(self) -> Iterator[Learner]:
        for learner in self.alternatives():
            yield from learner.simple_learners()

    @property
    def makes_tests(self) -> bool:
        return all(learner.makes_tests for learner in self.alternatives())

    @property
    def needs_mass(self) -> bool:
        return any(learner.needs_mass for learner in self.alternatives())

    @property
    def cost(self) -> int:
        return sum(learner.cost for learner in self.alternatives())


def _columns(ready: Learner) -> set[tuple[bool, int]]:
    """Return the columns that a learner searches; image filters have numbers of their own."""
    columns: set[tuple[bool, int]] = set()
    for learner in ready.column_learners():
        of_filters = learner.filters is not None
        columns.update((of_filters, j) for j in learner.columns_.tolist())
    return columns
