"""The best of several learners, chosen in every decision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from edgewise.data import BinnedTable
from edgewise.learners.base import ColumnLearner, Found, Learner, Round
from edgewise.model import Test
from edgewise.search import Search


@dataclass(eq=False, repr=False)
class Best(Learner):
    """The best rule of several learners: what a list of learners stands for.

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
        learners = self._given(table)
        # Learners of different columns divide the search's columns between them.
        columns = [_columns(learner.ready(table, search, seed)) for learner in learners]
        n_columns = max(1, len(set().union(*columns)))
        shares = [len(columns_of_learner) / n_columns for columns_of_learner in columns]
        started.parts_ = [
            learner.ready(table, search.with_fraction(share), seed + 1 + i)
            for i, (learner, share) in enumerate(zip(learners, shares, strict=True))
        ]
        return started

    def _given(self, table: BinnedTable | None) -> list[Learner]:
        from edgewise.learners import resolve_part

        return [resolve_part("learners", learner, table) for learner in self.learners]

    def alternatives(self, table: BinnedTable | None = None) -> list[Learner]:
        return [
            alternative
            for learner in self._given(table)
            for alternative in learner.alternatives(table)
        ]

    def begin(self, t: int) -> None:
        for part in self.parts_:
            part.begin(t)

    def find(self, round: Round) -> Found | None:
        found = [(part, part.find(round)) for part in self.parts_]
        present = [(part, one) for part, one in found if one is not None]
        if not present:
            return None
        if round.pairs is not None and len(present) > 1 and self._takes_some_values:
            # A column's value and a test have edges of different scales.
            decreases = round.pairs.decreases([one.rule for _, one in present])
            place = int(np.argmax(decreases))
        else:
            place = int(np.argmin([one.loss for _, one in present]))
        self._winner, best = present[place]
        return best

    @property
    def _takes_some_values(self) -> bool:
        return any(part.takes_values for part in self.column_learners())

    def refit_on_all_weights(self, found: Found, round: Round) -> Found:
        return self._winner.refit_on_all_weights(found, round)

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        order = rng.permutation(len(self.parts_)).tolist()
        drawn = (self.parts_[i].draw(table, rng) for i in order)
        return next((rule for rule in drawn if rule is not None), None)

    def column_learners(self) -> Iterator[ColumnLearner]:
        for part in self.parts_:
            yield from part.column_learners()

    def simple_parts(self) -> Iterator[Learner]:
        for learner in self.alternatives():
            yield from learner.simple_parts()

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
    for part in ready.column_learners():
        of_filters = part.filters is not None
        columns.update((of_filters, j) for j in part.columns_.tolist())
    return columns
