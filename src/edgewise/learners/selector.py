"""The selector: one value of one categorical column (Kégl and Busa-Fekete 2009a eq. 8)."""

from typing import Any

import numpy as np

from edgewise.backend.base import Problem, gains
from edgewise.common.dtypes import Exacts, Signs
from edgewise.data import BinnedTable
from edgewise.learners.base import ColumnLearner, FoundRule, Round
from edgewise.learners.stump import find_constant
from edgewise.model import Subset, Test


class Selector(ColumnLearner):
    """A test for one value of one categorical column: +1 on that value, -1 on all others.

    Missing is one more value. Values that training did not see count as missing; a column without
    missing values in training abstains on them.

    Examples
    --------
    >>> import pandas
    >>> from edgewise import AdaBoostMH, Selector
    >>> X = pandas.DataFrame({"color": ["red", "blue", "green", "red"]})
    >>> model = AdaBoostMH(Selector(), preset="paper", n_rounds=1).fit(X, [1, 0, 0, 1])
    >>> print(model.rules()[0])
    +3.45 * (color is red) -> votes for 1, against 0
    """

    kind = "categorical"
    allows_monotonic_cst = True

    def find(self, round: Round) -> FoundRule | None:
        columns = self._pull(round)
        if len(columns) == 0:
            return find_constant(round)
        values = round.backend.histogram(columns, round.problem).values
        score_edges = 2 * values[:, : round.problem.n_scores] - round.problem.signed_totals
        if round.compare.by_gain:
            edges = split_gains(values, round.problem, round.damping)
        else:
            edges = np.abs(score_edges).sum(axis=1)
        masses = round.masses(columns)
        if masses is not None:
            edges = np.where(sides_hold(masses.values, masses.totals, round.min_sums), edges, -1)
        starts = np.cumsum([0, *(round.table.bins[j].n_codes for j in columns[:-1])])
        self._learn(round, columns, np.maximum.reduceat(edges, starts))
        losses = round.losses(edges, score_edges)
        best = int(losses.argmin())
        if edges[best] <= 0:
            return None
        i = int(np.searchsorted(starts, best, side="right")) - 1
        rule = subset_of(round.table, int(columns[i]), best - int(starts[i]))
        return FoundRule(rule, int(edges[best]), float(losses[best]), score_edges[best])

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        if len(self.columns_) == 0:
            return None
        column = int(self.columns_[int(rng.integers(len(self.columns_)))])
        return subset_of(table, column, int(rng.integers(table.bins[column].n_codes, size=1)[0]))


def sides_hold(inside: Any, totals: Any, min_sums: tuple[int, ...]) -> Any:
    """Return whether subsets and their complements hold `min_sums`, compared on the last axis."""
    return ((inside >= min_sums) & (totals - inside >= min_sums)).all(axis=-1)


def split_gains(inside: Exacts, problem: Problem, damping: float) -> Exacts:
    """Return the gains of splits, given sums of S and mass inside; -1 for one-sided ones."""
    outside = problem.signed_totals - inside[:, :-1]
    masses = inside[:, -1], problem.mass - inside[:, -1]
    sides = (inside[:, :-1], outside)
    side_gains = [
        gains((sums**2).sum(axis=1), mass, damping)
        for sums, mass in zip(sides, masses, strict=True)
    ]
    return np.where((masses[0] > 0) & (masses[1] > 0), side_gains[0] + side_gains[1], -1)


def subset_of(table: BinnedTable, column: int, code: int) -> Subset:
    """Return the rule that is +1 on one code of a column and -1 on its other codes."""
    signs = np.full(table.bins[column].n_codes, -1, dtype=np.int8)
    signs[code] = 1
    return subset_rule(table, column, signs)


def subset_rule(table: BinnedTable, column: int, signs: Signs) -> Subset:
    """Return the rule with an output for each code; 0 for missing where training saw none."""
    if not table.bins[column].has_missing:
        signs = np.append(signs, np.int8(0))
    return Subset(column, signs.astype(np.int8))
