"""The subset indicator: an output of -1 or +1 for every value of one categorical column."""

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Problem
from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Codes, Columns, Exacts, Reals, Signs
from edgewise.data import BinnedTable
from edgewise.learners.base import ColumnLearner, Found, Round
from edgewise.learners.real_indicator import pooled, real_values
from edgewise.learners.selector import holds, split_gains, subset_rule
from edgewise.learners.stump import constant_found
from edgewise.model import Test
from edgewise.search import Search

STARTS = ("auto", "exact", "informed", "random")
VALUES = ("signs", "real")

# Up to so many score columns trying all votes costs less than climbing from informed starts.
_EXACT_SCORES = 6

# So many votes at a time bound the memory for columns of many values.
_VOTES_AT_ONCE = 32

# 2**11 votes are as many as can be tried in reasonable time and memory.
_MOST_EXACT_SCORES = 12

# The leading singular vector need not be exact: only signs are taken from it.
_POWER_STEPS = 8


class Indicator(ColumnLearner):
    """A subset of the values of one categorical column: +1 inside, -1 outside.

    Kégl and Busa-Fekete 2009a, figure 2.

    The best outputs u for given votes v are the signs of the values' weights along v, so with few
    classes all votes can be tried. With many, u and v are improved in turn, each the best for the
    other, until the energy stops falling; that finds a local optimum, so what matters is where it
    starts. Missing is one more value, and any number of values will do.

    Parameters
    ----------
    start : {"auto", "exact", "informed", "random"}, default "auto"
        "exact" tries all votes, for up to 12 classes. "informed" climbs from the best selector,
        from the constant, and from the signs of the leading singular vector of the value-by-class
        matrix, so that the edge is at least that of the best selector and of the constant.
        "random" climbs from random signs, as the paper does. "auto" is exact for up to 6 classes,
        else informed.
    restarts : int, default 0
        How many more times to climb from random signs, keeping the best; where all votes are tried
        there is nothing to climb.
    values : {"signs", "real"}, default "signs"
        "real" gives each value a number of its own size: only with ``votes="real"``, and not
        inside a product or a tree.
    rare : int, default 1
        Values with fewer training rows than this count as one value. With many rare values a
        subset of them fits the noise. The learners that are given by name take 100 where there are
        at least 10,000 rows.

    Examples
    --------
    >>> import pandas
    >>> from edgewise import AdaBoostMH, Indicator
    >>> X = pandas.DataFrame({"colour": ["red", "blue", "green", "pink"]})
    >>> model = AdaBoostMH(learner=Indicator(), n_rounds=1).fit(X, [1, 0, 0, 1])
    >>> print(model.rules()[0])
    +3.45 * (colour in {pink, red}) -> votes for 1, against 0
    """

    kind = "categorical"

    def __init__(
        self, start: str = "auto", restarts: int = 0, values: str = "signs", rare: int = 1
    ) -> None:
        self.start = start
        self.restarts = restarts
        self.values = values
        self.rare = rare

    def validate(self) -> None:
        """Raise if a setting is wrong."""
        one_of("start", self.start, STARTS)
        integer("restarts", self.restarts, 0)
        integer("rare", self.rare, 1)
        one_of("values", self.values, VALUES)

    @property
    def makes_tests(self) -> bool:
        """Whether all rules say -1, 0 or +1."""
        return self.values == "signs"

    @property
    def allows_monotonic_cst(self) -> bool:
        """Whether contributions can be kept monotonic: subsets have no direction."""
        return True

    def _columns(self, table: BinnedTable) -> Columns:
        return table.splittable_categorical

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        """Return a copy that is ready for a run."""
        started = super().ready(table, search, seed)
        if self.rare > 1:
            started.groups_ = {
                j: _grouped(table.codes(j), table.bins[j].n_codes, self.rare)
                for j in started.columns_.tolist()
            }
        return started

    def find(self, round: Round) -> Found | None:
        """Return the subset with the largest edge, or the least energy across columns."""
        columns = self._pull(round)
        if len(columns) == 0:
            return constant_found(round)
        matrix = _ValueMatrix(round, columns, self.groups_ if self.rare > 1 else None)
        if round.compare.by_gain:
            return self._find_by_gain(round, columns, matrix)
        if self._is_exact(round.problem.n_scores):
            outputs, score_edges = matrix.best(round.least_mass)
        else:
            outputs, score_edges = matrix.climb(np.stack(list(self._starts(matrix, round))))
        edges = np.abs(score_edges).sum(axis=1)
        if matrix.weights is not None:
            edges = np.where(matrix.holds(outputs[None], round.least_mass)[0], edges, -1)
        self._learn(round, columns, edges)
        losses = round.losses(edges, score_edges)
        chosen = int(losses.argmin())
        if edges[chosen] <= 0:
            return None
        column, part = int(columns[chosen]), matrix.part(chosen)
        group = matrix.group[part] - part.start
        signs = outputs[part].astype(np.int8)[group]
        if self.values == "real" and round.real_votes:
            return real_values(round, column, matrix.values[part], signs, group)
        if (signs == signs[0]).all():
            return constant_found(round)
        rule = subset_rule(round.table, column, signs)
        return Found(rule, int(edges[chosen]), float(losses[chosen]), score_edges[chosen])

    def _find_by_gain(self, round: Round, columns: Columns, matrix: "_ValueMatrix") -> Found | None:
        """Return the best split of the values in the order of their means along one direction.

        With one score column that is the best of all subsets (Breiman et al. 1984).
        """
        gains, chosen, inside = matrix.best_prefix(round.problem, round.least_mass)
        self._learn(round, columns, gains)
        gain = int(gains[chosen])
        if gain <= 0:
            return None
        part = matrix.part(chosen)
        signs = np.where(inside[part], np.int8(1), np.int8(-1))[matrix.group[part] - part.start]
        rule = subset_rule(round.table, int(columns[chosen]), signs)
        score_edges = (matrix.values[part] * signs[:, None]).sum(axis=0).astype(np.int64)
        return Found(rule, gain, -float(gain), score_edges)

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        """Return a random subset of a random column."""
        if len(self.columns_) == 0:
            return None
        column = int(self.columns_[int(rng.integers(len(self.columns_)))])
        signs = _random_signs(table.bins[column].n_codes, rng)
        if (signs == signs[0]).all():
            signs[0] = -signs[0]
        return subset_rule(table, column, signs)

    def _is_exact(self, n_scores: int) -> bool:
        if self.start == "exact" and n_scores > _MOST_EXACT_SCORES:
            raise ValueError(
                f"start='exact' tries all votes of at most {_MOST_EXACT_SCORES} classes, but there "
                f"are {n_scores}: use 'informed'"
            )
        return self.start == "exact" or (self.start == "auto" and n_scores <= _EXACT_SCORES)

    def _starts(self, matrix: "_ValueMatrix", round: Round) -> Iterator[Reals]:
        if self.start != "random":
            yield np.ones(len(matrix.values))
            yield matrix.best_selectors()
            yield matrix.singular()
        n_random = self.restarts + (self.start == "random")
        for _ in range(n_random):
            yield _random_signs(len(matrix.values), round.rng()).astype(np.float64)


class _ValueMatrix:
    """The value-by-class matrices of some columns, one after the other.

    The entries are sums of S: integers below 2**31. Sums of them are exact in float64, so that
    the same subset is found whatever the order of summation. Where values are in groups, all that
    a group sums to is in the place of its first value.
    """

    def __init__(
        self, round: Round, columns: Columns, groups: dict[int, Columns] | None = None
    ) -> None:
        sizes = np.array([round.table.bins[j].n_codes for j in columns], dtype=np.intp)
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        sums = round.backend.histogram(columns, round.problem).values
        weights = round.masses(columns)
        self.weights = None if weights is None else weights.values[:, 0].astype(np.float64)
        self.group = np.arange(len(sums))
        if groups is not None:
            parts = zip(self.starts, columns.tolist(), strict=True)
            self.group = np.concatenate([start + groups[j] for start, j in parts])
            sums = pooled(sums, self.group)
            if self.weights is not None:
                self.weights = pooled(self.weights, self.group)
        self.masses = sums[:, -1] if round.compare.by_gain else None
        self.values = sums[:, : round.problem.n_scores].astype(np.float64)
        self.totals = round.problem.signed_totals.astype(np.float64)

    def part(self, column: int) -> slice:
        """Return where the values of a column are."""
        return slice(int(self.starts[column]), int(self.ends[column]))

    def best_selectors(self) -> Reals:
        """Return +1 for the value of each column that tells most by itself, -1 for the others."""
        outputs = np.full(len(self.values), -1.0)
        outputs[self._largest(np.abs(2 * self.values - self.totals).sum(axis=1))] = 1.0
        return outputs

    def singular(self) -> Reals:
        """Return the signs of each column's leading left singular vector."""
        return _signs(np.einsum("vk,vk->v", self.values, self._direction()[self.owner]))

    def _direction(self) -> Reals:
        """Return each column's leading right singular vector, by power iteration."""
        votes = self.values[self._largest(np.abs(self.values).sum(axis=1))]
        for _ in range(_POWER_STEPS):
            outputs = np.einsum("vk,vk->v", self.values, votes[self.owner])
            votes = np.add.reduceat(self.values * outputs[:, None], self.starts, axis=0)
            scale = np.abs(votes).max(axis=1, keepdims=True)
            votes /= np.where(scale > 0, scale, 1.0)
        return votes

    def _largest(self, sizes: Reals) -> NDArray[np.intp]:
        """Return the place of each column's largest value, the first of equal ones."""
        largest = np.maximum.reduceat(sizes, self.starts)
        places = np.where(sizes == largest[self.owner], np.arange(len(sizes)), len(sizes))
        return np.minimum.reduceat(places, self.starts)

    def holds(self, outputs: Reals, least: int) -> NDArray[np.bool_]:
        """Return whether both sides of subsets hold a least sample weight, shape (tries, columns).

        A subset of all values or of none has one side only; that it is no split is seen elsewhere.
        """
        assert self.weights is not None
        inside = np.add.reduceat(self.weights * (outputs > 0), self.starts, axis=1)
        total = np.add.reduceat(self.weights, self.starts)
        one_sided = (inside == 0) | (inside == total)
        return holds(inside, total, least) | one_sided

    def best_prefix(
        self, problem: Problem, least: int = 0
    ) -> tuple[Exacts, int, NDArray[np.bool_]]:
        """Return each column's largest gain, the best column, and which values are inside."""
        assert self.masses is not None
        along = self.values[:, 0]
        if self.values.shape[1] > 1:
            along = np.einsum("vk,vk->v", self.values, self._direction()[self.owner])
        means = along / np.maximum(self.masses, 1)
        order = np.lexsort((means, self.owner))
        sums = np.column_stack([self.values[order].astype(np.int64), self.masses[order]])
        inside = np.cumsum(sums, axis=0)
        inside -= (inside - sums)[self.starts][self.owner]
        gains = split_gains(inside, problem)
        if self.weights is not None:
            mass = np.cumsum(self.weights[order])
            mass -= (mass - self.weights[order])[self.starts][self.owner]
            total = np.add.reduceat(self.weights, self.starts)[self.owner]
            gains = np.where(holds(mass, total, least), gains, -1)
        best = int(gains.argmax())
        chosen = int(self.owner[best])
        members = np.zeros(len(order), dtype=bool)
        members[order[self.starts[chosen] : best + 1]] = True
        return np.maximum.reduceat(gains, self.starts), chosen, members

    def best(self, least: int = 0) -> tuple[Reals, NDArray[np.int64]]:
        """Return the outputs of all values and the edges of each column's best subset.

        For votes v the best outputs are the signs of the values along v, and the edge is the sum of
        their sizes; opposite votes are the same subset turned over. All sums are of integers below
        2**53, and so exact.
        """
        n_scores = self.values.shape[1]
        votes = 1.0 - 2.0 * ((np.arange(1 << (n_scores - 1))[:, None] >> np.arange(n_scores)) & 1)
        most = np.full(len(self.starts), -1.0)
        best = np.zeros(len(self.starts), dtype=np.intp)
        for first in range(0, len(votes), _VOTES_AT_ONCE):
            along = self.values @ votes[first : first + _VOTES_AT_ONCE].T
            sizes = np.add.reduceat(np.abs(along), self.starts, axis=0)
            if self.weights is not None:
                sizes = np.where(self.holds(_signs(along).T, least).T, sizes, -1.0)
            better = sizes.max(axis=1) > most
            best = np.where(better, first + sizes.argmax(axis=1), best)
            most = np.where(better, sizes.max(axis=1), most)
        outputs = _signs(np.einsum("vk,vk->v", self.values, votes[best][self.owner]))
        return outputs, self._score_edges(outputs[None])[0].astype(np.int64)

    def climb(self, outputs: Reals) -> tuple[Reals, NDArray[np.int64]]:
        """Improve votes and outputs in turn, from several starts and in all columns at once.

        Parameters
        ----------
        outputs : float64 array of shape (starts, values)
            The outputs to begin with.

        Returns
        -------
        outputs : float64 array of shape (values,)
            Where each column's best start ended, the first of equal ones.
        score_edges : int64 array of shape (columns, K)
            Their edges.
        """
        score_edges = self._score_edges(outputs)
        edges = np.abs(score_edges).sum(axis=2)
        grown = np.ones_like(edges, dtype=bool)
        while grown.any():
            # The best outputs for the votes, then the best votes for these outputs.
            votes = _signs(score_edges)
            trial = _signs(np.einsum("vk,svk->sv", self.values, votes[:, self.owner]))
            trial_edges = self._score_edges(trial)
            sizes = np.abs(trial_edges).sum(axis=2)
            grown = sizes > edges
            outputs = np.where(grown[:, self.owner], trial, outputs)
            score_edges = np.where(grown[:, :, None], trial_edges, score_edges)
            edges = np.where(grown, sizes, edges)
        best = edges.argmax(axis=0)
        columns = np.arange(len(best))
        chosen = outputs[best[self.owner], np.arange(len(self.owner))]
        return chosen, score_edges[best, columns].astype(np.int64)

    def _score_edges(self, outputs: Reals) -> Reals:
        """Return the edges of the score columns, shape (starts, columns, K)."""
        return np.add.reduceat(self.values * outputs[:, :, None], self.starts, axis=1)


def _grouped(codes: Codes, n_codes: int, rare: int) -> Columns:
    """Return for each value of a column the one that it counts as: rare ones as the first such."""
    group = np.arange(n_codes)
    few = np.flatnonzero(np.bincount(codes, minlength=n_codes) < rare)
    group[few] = few[0] if len(few) else 0
    return group


def _signs(values: Reals) -> Reals:
    return np.where(values >= 0, 1.0, -1.0)


def _random_signs(size: int, rng: np.random.Generator) -> Signs:
    return (2 * rng.integers(2, size=size) - 1).astype(np.int8)
