"""The subset indicator: an output of -1 or +1 for every value of one categorical column."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import VALUE_SMOOTHING, split_directions
from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Columns, Exacts, Reals, Signs
from edgewise.data import BinnedTable
from edgewise.learners.base import ColumnLearner, FoundRule, Round
from edgewise.learners.selector import sides_hold, split_gains, subset_rule
from edgewise.learners.stump import find_constant
from edgewise.model import Scores, Test
from edgewise.search import Search

STARTS = ("auto", "exact", "informed", "random")
VALUES = ("signs", "real")

# Up to this many score columns, trying all votes costs less than climbing from informed starts; the
# 2**11 votes of 12 score columns are the most that fit reasonable time and memory.
_EXACT_SCORES, _MOST_EXACT_SCORES = 6, 12

# Votes tried at a time: bounds the memory for columns of many values.
_VOTES_AT_ONCE = 32

# The leading singular vector need not be exact: only its signs count.
_POWER_STEPS = 8

# Alternating Newton steps for real values, and their largest size.
_ROUNDS, _NEWTON_STEPS = 4, 6
_LARGEST = 4.0

# Both sides of every cell gain this share of the average cell's weight, so that a value seen once
# does not get a huge output.
_SMOOTHING = 0.1


@dataclass(eq=False, repr=False)
class Indicator(ColumnLearner):
    """A subset of the values of one categorical column: +1 inside, -1 outside.

    For given votes v the best outputs u are the signs of the values' weights along v, so with few
    classes all votes are tried. With many, u and v are improved in turn until the energy stops
    decreasing (Kégl and Busa-Fekete 2009a, figure 2): a local optimum that depends on the start.
    Missing is one more value.

    Parameters
    ----------
    start : {"auto", "exact", "informed", "random"}, default "auto"
        "exact" tries all votes, for up to 12 classes. "informed" climbs from the best selector,
        the constant and the signs of the leading singular vector of the value-by-class matrix, so
        it is at least as good as the first two. "random" climbs from random signs, as in the
        paper. "auto" is exact for up to 6 classes, else informed. Trees that split by gain, or have
        free leaves of a minimum size, sort the values instead, and have no start.
    restarts : int, default 0
        Additional climbs from random signs; the best wins.
    values : {"signs", "real"}, default "signs"
        "real" gives each value a number of its own, with ``votes="real"`` only and not inside a
        product or a tree.
    rare : int, default 1
        Values with fewer training rows than this count as one value: subsets of many rare values
        fit the noise. Learners given by name take 100 from 10,000 rows on.
    max_values : int or None, default None
        Columns of more values are left out. Learners given by name take 10 where the rates of
        classes stand for columns of more values.

    Examples
    --------
    >>> import pandas
    >>> from edgewise import AdaBoostMH, Indicator
    >>> X = pandas.DataFrame({"color": ["red", "blue", "green", "pink"]})
    >>> model = AdaBoostMH(Indicator(), preset="paper", n_rounds=1).fit(X, [1, 0, 0, 1])
    >>> print(model.rules()[0])
    +3.45 * (color in {pink, red}) -> votes for 1, against 0
    """

    kind = "categorical"
    allows_monotonic_cst = True

    start: str = "auto"
    restarts: int = 0
    values: str = "signs"
    rare: int = 1
    max_values: int | None = None

    def validate(self) -> None:
        one_of("start", self.start, STARTS)
        integer("restarts", self.restarts, 0)
        integer("rare", self.rare, 1)
        if self.max_values is not None:
            integer("max_values", self.max_values, 2)
        one_of("values", self.values, VALUES)

    @property
    def makes_tests(self) -> bool:
        return self.values == "signs"

    def _columns(self, table: BinnedTable) -> Columns:
        columns = super()._columns(table)
        if self.max_values is None:
            return columns
        n_values = np.array([table.bins[j].missing_code for j in columns.tolist()], dtype=np.intp)
        return columns[n_values <= self.max_values]

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = super().ready(table, search, seed)
        if self.rare > 1:
            started.groups_ = {
                j: _group_rare_values(table, j, self.rare) for j in started.columns_.tolist()
            }
        return started

    def find(self, round: Round) -> FoundRule | None:
        columns = self._pull(round)
        if len(columns) == 0:
            return find_constant(round)
        matrix = _ValueMatrix(round, columns, self.groups_ if self.rare > 1 else None)
        if round.compare.splits:
            return self._find_split(round, columns, matrix)
        if self._is_exact(round.problem.n_scores):
            outputs, score_edges = matrix.best(round.min_sums)
        else:
            outputs, score_edges = matrix.climb(np.stack(list(self._starts(matrix, round))))
        edges = np.abs(score_edges).sum(axis=1)
        if matrix.weights is not None:
            edges = np.where(matrix.sides_hold(outputs[None], round.min_sums)[0], edges, -1)
        self._learn(round, columns, edges)
        losses = round.losses(edges, score_edges)
        chosen = int(losses.argmin())
        if edges[chosen] <= 0:
            return None
        column, values = int(columns[chosen]), matrix.slice_of(chosen)
        group = matrix.group[values] - values.start
        signs = outputs[values].astype(np.int8)[group]
        if self.values == "real" and round.real_votes:
            return fit_values(round, column, matrix.values[values], signs, group)
        if (signs == signs[0]).all():
            return find_constant(round)
        rule = subset_rule(round.table, column, signs)
        return FoundRule(rule, int(edges[chosen]), float(losses[chosen]), score_edges[chosen])

    def _find_split(
        self, round: Round, columns: Columns, matrix: "_ValueMatrix"
    ) -> FoundRule | None:
        """Return the best split of sorted values: see `split_directions`."""
        sizes, chosen, inside = matrix.best_split(round)
        self._learn(round, columns, sizes)
        size = int(sizes[chosen])
        if size <= 0:
            return None
        values = matrix.slice_of(chosen)
        group = matrix.group[values] - values.start
        signs = np.where(inside[values], np.int8(1), np.int8(-1))[group]
        rule = subset_rule(round.table, int(columns[chosen]), signs)
        score_edges = (matrix.values[values] * signs[:, None]).sum(axis=0).astype(np.int64)
        return FoundRule(rule, size, -float(size), score_edges)

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
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

    The entries are sums of S, integers below 2**31, so their sums are exact in float64 in any
    order. The first value of a group holds the sums of the whole group.
    """

    def __init__(self, round: Round, columns: Columns, groups: dict[int, Columns] | None) -> None:
        sizes = np.array([round.table.bins[j].n_codes for j in columns], dtype=np.intp)
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        sums = round.backend.histogram(columns, round.problem).values
        weights = round.masses(columns)
        self.weights = None if weights is None else weights.values.astype(np.float64)
        self.group = np.arange(len(sums))
        if groups is not None:
            by_column = zip(self.starts, columns.tolist(), strict=True)
            self.group = np.concatenate([start + groups[j] for start, j in by_column])
            sums = pool_groups(sums, self.group)
            if self.weights is not None:
                self.weights = pool_groups(self.weights, self.group)
        self.masses = sums[:, -1] if round.compare.by_gain else None
        self.values = sums[:, : round.problem.n_scores].astype(np.float64)
        self.totals = round.problem.signed_totals.astype(np.float64)

    def slice_of(self, column: int) -> slice:
        """Return the slice of a column's values."""
        return slice(int(self.starts[column]), int(self.ends[column]))

    def best_selectors(self) -> Reals:
        """Return +1 for the best single value of each column, -1 for the others."""
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
        """Return the index of each column's largest value; ties go to the first."""
        largest = np.maximum.reduceat(sizes, self.starts)
        indices = np.where(sizes == largest[self.owner], np.arange(len(sizes)), len(sizes))
        return np.minimum.reduceat(indices, self.starts)

    def sides_hold(self, outputs: Reals, min_sums: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return which subsets hold `min_sums` on both sides, or have one side only."""
        assert self.weights is not None
        inside = np.add.reduceat(self.weights * (outputs > 0)[..., None], self.starts, axis=1)
        totals = np.add.reduceat(self.weights, self.starts)
        one_sided = ((inside == 0) | (inside == totals)).all(axis=-1)
        result: NDArray[np.bool_] = sides_hold(inside, totals, min_sums) | one_sided
        return result

    def best_split(self, round: Round) -> tuple[Exacts, int, NDArray[np.bool_]]:
        """Return each column's largest edge or gain, the best column, and the values inside."""
        by_gain, n_scores = round.compare.by_gain, self.values.shape[1]
        sizes = np.full(len(self.starts), -1, dtype=np.int64)
        inside = np.zeros(len(self.values), dtype=bool)
        for direction in split_directions(round.compare.criterion, n_scores):
            keys = self.values @ direction
            if by_gain:
                assert self.masses is not None
                keys /= np.maximum(self.masses, 1) + VALUE_SMOOTHING * round.damping
            order = np.lexsort((keys, self.owner))
            prefix_sizes = self._prefix_sizes(round, order)
            largest = np.maximum.reduceat(prefix_sizes, self.starts)
            for column in np.flatnonzero(largest > sizes).tolist():
                values = self.slice_of(column)
                first = values.start + int(prefix_sizes[values].argmax()) + 1
                inside[values] = False
                inside[order[values.start : first]] = True
            sizes = np.maximum(sizes, largest)
        return sizes, int(sizes.argmax()), inside

    def _prefix_sizes(self, round: Round, order: Columns) -> Exacts:
        """Return the edge or gain of splits after each sorted value, -1 after the last."""
        sums = self.values[order].astype(np.int64)
        if self.masses is not None:
            sums = np.column_stack([sums, self.masses[order]])
        inside = self._up_to(sums)
        if self.masses is not None:
            sizes = split_gains(inside, round.problem, round.damping)
        else:
            sizes = np.abs(2 * inside - round.problem.signed_totals).sum(axis=1)
        sizes[self.ends - 1] = -1
        if self.weights is not None:
            totals = np.add.reduceat(self.weights, self.starts)[self.owner]
            sizes[~sides_hold(self._up_to(self.weights[order]), totals, round.min_sums)] = -1
        return sizes

    def _up_to(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return sums over the sorted values of a column up to each."""
        inside = np.cumsum(sums, axis=0)
        return inside - (inside - sums)[self.starts][self.owner]

    def best(self, min_sums: tuple[int, ...] = ()) -> tuple[Reals, NDArray[np.int64]]:
        """Return the outputs of all values and the edges of each column's best subset.

        For votes v the edge is the sum of the sizes of the values along v; opposite votes give the
        opposite subset. All sums are of integers below 2**53, and so exact.
        """
        n_scores = self.values.shape[1]
        votes = 1.0 - 2.0 * ((np.arange(1 << (n_scores - 1))[:, None] >> np.arange(n_scores)) & 1)
        largest = np.full(len(self.starts), -1.0)
        best = np.zeros(len(self.starts), dtype=np.intp)
        for first in range(0, len(votes), _VOTES_AT_ONCE):
            along = self.values @ votes[first : first + _VOTES_AT_ONCE].T
            sizes = np.add.reduceat(np.abs(along), self.starts, axis=0)
            if self.weights is not None:
                sizes = np.where(self.sides_hold(_signs(along).T, min_sums).T, sizes, -1.0)
            better = sizes.max(axis=1) > largest
            best = np.where(better, first + sizes.argmax(axis=1), best)
            largest = np.where(better, sizes.max(axis=1), largest)
        outputs = _signs(np.einsum("vk,vk->v", self.values, votes[best][self.owner]))
        return outputs, self._score_edges(outputs[None])[0].astype(np.int64)

    def climb(self, outputs: Reals) -> tuple[Reals, NDArray[np.int64]]:
        """Improve votes and outputs in turn, in all columns at once, from the starts in `outputs`.

        Return the outputs where each column's best start ended, shape (values,), and their edges,
        shape (columns, K).
        """
        score_edges = self._score_edges(outputs)
        edges = np.abs(score_edges).sum(axis=2)
        is_better = np.ones_like(edges, dtype=bool)
        while is_better.any():
            # The best outputs for the votes, then the best votes for these outputs.
            votes = _signs(score_edges)
            trial = _signs(np.einsum("vk,svk->sv", self.values, votes[:, self.owner]))
            trial_edges = self._score_edges(trial)
            sizes = np.abs(trial_edges).sum(axis=2)
            is_better = sizes > edges
            outputs = np.where(is_better[:, self.owner], trial, outputs)
            score_edges = np.where(is_better[:, :, None], trial_edges, score_edges)
            edges = np.where(is_better, sizes, edges)
        best = edges.argmax(axis=0)
        columns = np.arange(len(best))
        chosen = outputs[best[self.owner], np.arange(len(self.owner))]
        return chosen, score_edges[best, columns].astype(np.int64)

    def _score_edges(self, outputs: Reals) -> Reals:
        """Return the edges of the score columns, shape (starts, columns, K)."""
        return np.add.reduceat(self.values * outputs[:, :, None], self.starts, axis=1)


def _group_rare_values(table: BinnedTable, j: int, rare: int) -> Columns:
    """Return the value that each value of a column counts as: rare ones as the first rare one."""
    group = np.arange(table.bins[j].n_codes)
    counts = table.partition.sum(np.bincount(table.codes(j), minlength=len(group)))
    few = np.flatnonzero(counts < rare)
    group[few] = few[0] if len(few) else 0
    return group


def _signs(values: Reals) -> Reals:
    return np.where(values >= 0, 1.0, -1.0)


def _random_signs(size: int, rng: np.random.Generator) -> Signs:
    return (2 * rng.integers(2, size=size) - 1).astype(np.int8)


def fit_values(round: Round, column: int, signed: Reals, signs: Signs, group: Columns) -> FoundRule:
    """Return a rule with a number for each value of a column, starting from the best signs.

    The real-valued alternative in Kégl and Busa-Fekete 2009a, figure 2, takes u and v in turn as
    half logarithms of odds, as if the other were signs; their product is far too short a step. Here
    each half-step minimizes the energy, sum of g+ exp(-u v) + g- exp(u v), which is convex in u and
    in v. `signed` are the sums of S, shape (values, K), and `group` maps each value to its group.
    """
    sizes = round.problem.absolute()
    sums = round.backend.histogram(np.array([column], dtype=np.intp), sizes).values
    masses = pool_groups(sums[:, : signed.shape[1]].astype(np.float64), group)
    right, wrong = (masses + signed) / 2, (masses - signed) / 2
    floor = _SMOOTHING * masses.sum() / masses.size
    u = signs.astype(np.float64)
    v = _best_factors(np.zeros(signed.shape[1]), u, (right + floor).T, (wrong + floor).T)
    lowest = _energy(u, v, right, wrong)
    for _ in range(_ROUNDS):
        new_u = _best_factors(u, v, right + floor, wrong + floor)
        new_v = _best_factors(v, new_u, (right + floor).T, (wrong + floor).T)
        energy = _energy(new_u, new_v, right, wrong)
        if energy >= lowest:
            break
        u, v, lowest = new_u, new_v, energy
    # The votes carry the size of the step; the largest output is 1.
    scale = float(np.abs(u).max()) or 1.0
    values = (u / scale)[group]
    if not round.table.bins[column].has_missing:
        values = np.append(values, 0.0)
    score_edges = (signed * u[:, None]).sum(axis=0)
    edge = int(np.abs(score_edges).sum())
    return FoundRule(Scores(column, values), edge, lowest, score_edges.astype(np.int64), v * scale)


def pool_groups(sums: NDArray[Any], group: Columns) -> NDArray[Any]:
    """Return the sums with each group's total at its first value."""
    pooled = np.zeros_like(sums)
    np.add.at(pooled, group, sums)
    return pooled


def _best_factors(start: Reals, others: Reals, right: Reals, wrong: Reals) -> Reals:
    """Return for each row the x that minimizes sum of right exp(-x o) + wrong exp(x o)."""
    x = start
    for _ in range(_NEWTON_STEPS):
        lose, gain = right * np.exp(-x[:, None] * others), wrong * np.exp(x[:, None] * others)
        slope = ((gain - lose) * others).sum(axis=1)
        curve = ((gain + lose) * others**2).sum(axis=1)
        step = slope / np.where(curve > 0, curve, 1.0)
        x = np.clip(x - np.clip(step, -1.0, 1.0), -_LARGEST, _LARGEST)
    return x


def _energy(u: Reals, v: Reals, right: Reals, wrong: Reals) -> float:
    h = u[:, None] * v
    return float((right * np.exp(-h) + wrong * np.exp(h)).sum())
