"""What products and trees share: a base learner inside."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from edgewise.data import BinnedTable
from edgewise.learners.base import ColumnLearner, Learner
from edgewise.model import Test
from edgewise.search import Search


class Wrapper(Learner):
    """A learner that makes its rules of another's.

    `base` is a learner, a list of learners to choose the best from, or "stump": stumps on numeric
    columns and subset indicators on categorical ones.
    """

    base: Any

    def validate(self) -> None:
        """Raise if a setting is wrong."""
        base = self._base()
        if not base.makes_tests:
            raise ValueError(
                f"base of a {type(self).__name__} must make rules that say -1 or +1, the same for "
                f"every class: no trees and no real values; got {self.base!r}"
            )

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        """Return a copy that is ready for a run."""
        started = clone(self)
        started.base_ = self._base(table).ready(table, search, seed)
        return started

    def begin(self, t: int) -> None:
        """Begin round `t`."""
        self.base_.begin(t)

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        """Return a random rule of the base learner."""
        return self.base_.draw(table, rng)

    def column_learners(self) -> Iterator[ColumnLearner]:
        """Yield those of the base learner."""
        yield from self.base_.column_learners()

    def simple_parts(self) -> Iterator[Learner]:
        """Yield the learners inside."""
        yield from self._base().simple_parts()

    def _base(self, table: BinnedTable | None = None) -> Learner:
        from edgewise.learners import part_named

        return part_named("base", self.base, table)
