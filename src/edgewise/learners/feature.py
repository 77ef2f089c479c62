"""A column itself as a weak ranker (Iyer 1999 sections 4.2.2, the first method, and 4.3)."""

import math
from dataclasses import dataclass
from typing import Self, cast

import numpy as np

from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.common.checks import one_of
from edgewise.common.choices import RANK_MISSING
from edgewise.common.dtypes import Reals
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition
from edgewise.learners.base import ColumnLearner, FoundRule, Round
from edgewise.model import Linear, Test
from edgewise.search import Search


@dataclass(eq=False, repr=False)
class Feature(ColumnLearner):
    """A numeric column itself: h(x) is its value.

    For `RankBoost` only. A round takes the column along which the loss decreases most, to second
    order, and the exact step. Unlike thresholds, this depends on the sizes of the values, not only
    on their order.

    Parameters
    ----------
    missing : {"learn", "low", "high"}, default "learn"
        A missing value counts as the smallest value of its column, as the largest, or with "learn"
        as the best of these and the middle between them. Without missing values in training it
        counts as the middle.

    Examples
    --------
    >>> from edgewise import Feature, RankBoost
    >>> model = RankBoost(Feature(), n_rounds=1).fit([[1.0], [2.0], [4.0], [3.0]], [0, 0, 1, 0])
    >>> model.rank([[1.0], [3.0]])
    array([2, 1])
    """

    kind = "numeric"
    takes_values = True

    missing: str = "learn"

    # The rules of each column, made once.
    _rules_of = cast("dict[int, list[Linear]]", None)

    def validate(self) -> None:
        one_of("missing", self.missing, RANK_MISSING)

    @property
    def makes_tests(self) -> bool:
        return False

    def find(self, round: Round) -> FoundRule | None:
        if round.pairs is None:
            raise ValueError("Feature is a learner for RankBoost")
        best: FoundRule | None = None
        columns = self._pull(round)
        rules = [rule for j in columns.tolist() for rule in self._rules(round.table, j)]
        decreases = round.pairs.decreases(rules, only_best=not self.search_.learns)
        for rule, decrease in zip(rules, decreases, strict=True):
            if decrease > 0 and (best is None or -decrease < best.loss):
                best = FoundRule(rule, int(np.ceil(decrease * SEARCH_SCALE)), -decrease, None)
        if self.search_.learns:
            positions = np.searchsorted(columns, [rule.column for rule in rules])
            largest = np.zeros(len(columns))
            np.maximum.at(largest, positions, decreases)
            # To second order an edge lowers the loss by half of its square.
            shares = np.sqrt(np.minimum(2.0 * largest, 1.0))
            self.search_.update(columns, self.search_.rewards(shares))
        return best

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = super().ready(table, search, seed)
        started._rules_of = {}
        return started

    def _rules(self, table: BinnedTable, j: int) -> list[Linear]:
        """Return the rules of a column: one for each candidate for its missing values."""
        if j not in self._rules_of:
            self._rules_of[j] = [
                Linear(j, fill) for fill in self._fills(table.numbers(j), table.partition)
            ]
        return self._rules_of[j]

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        """Return None: products and trees cannot use the values of a column."""
        return None

    def _fills(self, values: Reals, partition: Partition) -> list[float]:
        """Return the candidates for the value of a missing entry."""
        is_missing = np.isnan(values)
        low = partition.min(float(values[~is_missing].min(initial=np.inf)))
        high = partition.max(float(values[~is_missing].max(initial=-np.inf)))
        if not math.isfinite(high - low):
            raise ValueError(
                f"X has a column of numbers from {low:g} to {high:g}, too far apart for "
                "learner='feature', which takes columns as they are"
            )
        fills = {"low": [low], "high": [high], "learn": [low, low / 2 + high / 2, high]}
        if self.missing == "learn" and not partition.any(is_missing.any()):
            return fills["learn"][1:2]
        return fills[self.missing]
