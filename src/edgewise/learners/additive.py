"""Additive models: curves of single columns, and tables of the pairs of columns that interact."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from edgewise.backend.base import ColumnConstraints, Growth, Interactions, Problem
from edgewise.common.checks import integer
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.data import BinnedTable
from edgewise.learners.base import FoundRule, Learner, Round
from edgewise.learners.selector import subset_rule
from edgewise.learners.stump import cut_at
from edgewise.learners.tree import Tree
from edgewise.model import Test
from edgewise.search import Search

Pair = tuple[int, int]

_PAIRS_PER_COLUMN = 3

# An interaction is measured on this many groups of rows by either column.
_GROUPS = 4

# Sweeps over the rows and columns of a table that fit the sum of two curves to it.
_SWEEPS = 10

# Interactions are measured on fewer rows where all would take more additions, and among the columns
# with the largest curves.
_MAX_ADDITIONS, _MAX_COLUMNS = 1 << 30, 200


@dataclass(eq=False, repr=False)
class Additive(Tree):
    """A sum of curves, one for each column, and of tables for the pairs of columns that interact.

    A generalized additive model (Hastie and Tibshirani 1986) with pairs (Lou et al. 2013). The
    first rounds grow trees of a single column. Then the pairs of columns are ranked by what a table
    of both explains beyond the sum of two curves, and the strongest may share a tree.

    Parameters
    ----------
    base : Learner, str or list, default "stump"
        The learner of the tests, as of a `Tree`. With "stump", categories of fewer than 10 rows, or
        100 from 10,000 rows on, count as one.
    max_leaf_nodes : int, default 4
        The maximum number of leaves of a tree.
    max_pairs : int or None, default None
        The maximum number of pairs. None is three for each column, or 0 where held-out rows find
        that curves alone do better.
    max_terms : int or None, default None
        The maximum number of curves and pairs. The model is then trained twice: on all columns,
        and on the columns and pairs that mattered most.
    terms : list or None, default None
        The columns, and pairs of columns, that the model may consist of, by name or number, such as
        ``["age", ("age", "hours")]``. None is all columns, and the pairs that interact.
    curve_rounds : int, default 20
        The number of rounds before pairs are ranked, at a learning rate of 0.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from edgewise import AdaBoostMH, Additive
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostMH(Additive(max_pairs=0), random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.97
    """

    base: Any = "stump"
    max_leaf_nodes: int = 4
    leaf_votes: str = field(default="free", init=False)
    criterion: str = field(default="gain", init=False)
    small_rounds: int = field(default=0, init=False)
    max_pairs: int | None = None
    max_terms: int | None = None
    terms: Sequence[Any] | None = None
    curve_rounds: int = 20

    def validate(self) -> None:
        for name in ("max_pairs", "max_terms"):
            value = getattr(self, name)
            if value is not None:
                integer(name, value, int(name == "max_terms"))
        integer("curve_rounds", self.curve_rounds, 0)
        super().validate()

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = super().ready(table, search, seed)
        singles = [(j,) for j in range(table.n_columns)]
        pairs: list[Pair] = []
        if self.terms is not None:
            sets = resolve_terms(self.terms, table)
            singles = [(s[0],) for s in sets if len(s) == 1]
            pairs = [(s[0], s[1]) for s in sets if len(s) == 2]
        started.singles_, started.pairs_, started.n_columns_ = singles, pairs, table.n_columns
        # Else, they are ranked after the first rounds.
        started.is_ranked_ = self.terms is not None or self._n_pairs(table) == 0
        started.first_ = started  # the learner of the first of several averaged models
        started.limits_ = []
        return started

    @property
    def chooses_pairs(self) -> bool:
        """Whether held-out rows may choose between pairs and none."""
        return self.max_pairs is None and self.terms is None

    def _base(self, table: BinnedTable | None = None) -> Learner:
        from edgewise.learners import build_learner

        if self.base != "stump":
            return super()._base(table)
        named = build_learner("additive", table)
        assert isinstance(named, Additive)
        base: Learner = named.base
        return base

    def _n_pairs(self, table: BinnedTable) -> int:
        return _PAIRS_PER_COLUMN * table.n_columns if self.max_pairs is None else self.max_pairs

    def _constrain(self, given: ColumnConstraints) -> ColumnConstraints:
        """Return constraints that allow only trees of one column, and of the pairs."""
        self.limits_: list[ColumnConstraints]
        if not self.limits_ or self.limits_[0] is not given:
            terms = [*self.singles_, *self.pairs_]
            sets = [term for term in terms if given.allow(term)]
            sets += [(j,) for term in terms for j in term if given.allow((j,))]
            sets = list(dict.fromkeys(sets))
            # Without a set, all columns would be free.
            members = np.zeros((max(len(sets), 1), self.n_columns_), dtype=bool)
            for s, columns in enumerate(sets):
                members[s, list(columns)] = True
            self.limits_ = [given, given._replace(interactions=Interactions(members))]
        return self.limits_[1]

    def in_larger_steps(self, factor: float) -> Self:
        return replace(self, curve_rounds=round(self.curve_rounds / factor))

    def follow(self, first: Learner) -> None:
        assert isinstance(first, Additive)
        self.first_ = first

    def set_pairs(self, pairs: Sequence[Pair]) -> None:
        """Let these pairs share trees from now on."""
        self.pairs_, self.is_ranked_, self.limits_ = [*pairs], True, []

    def begin(self, t: int) -> None:
        super().begin(t)
        self.t_ = t

    def _ranks_pairs(self, t: int) -> bool:
        """Return whether pairs are ranked in round `t`."""
        return not self.is_ranked_ and t >= self.curve_rounds

    def find(self, round: Round) -> FoundRule | None:
        constraints = round.column_constraints
        if self._ranks_pairs(self.t_):
            if self.first_.is_ranked_:
                self.set_pairs(self.first_.pairs_)
            else:
                pairs = [pair for pair in rank_pairs(round, self.t_) if constraints.allow(pair)]
                self.set_pairs(pairs[: self._n_pairs(round.table)])
        return super().find(round._replace(column_constraints=self._constrain(constraints)))

    def growth_ahead(
        self, t: int, min_sums: tuple[int, ...], column_constraints: ColumnConstraints
    ) -> tuple[Growth | None, float]:
        if self._ranks_pairs(t):
            return None, 0
        growth, n_alike = super().growth_ahead(t, min_sums, self._constrain(column_constraints))
        return growth, n_alike if self.is_ranked_ else self.curve_rounds - t


def resolve_terms(terms: Iterable[Any], table: BinnedTable) -> list[tuple[int, ...]]:
    """Return the columns of each term, one or two, given their names or numbers."""
    numbers = {column_bins.name: j for j, column_bins in enumerate(table.bins)}
    sets: list[tuple[int, ...]] = []
    for term in terms:
        named = term if isinstance(term, (tuple, list)) else (term,)
        columns: set[Any] = {numbers.get(name, name) for name in named}
        if not columns <= {*range(table.n_columns)} or not 1 <= len(columns) <= 2:
            raise ValueError(f"terms: {term!r} is no column of X, nor a pair of them")
        sets.append(tuple(sorted(columns)))
    return list(dict.fromkeys(sets))


# Interactions


def rank_pairs(round: Round, t: int) -> list[Pair]:
    """Return the pairs of columns that interact, the strongest first.

    The strength of a pair is the sum of squares that a table of both columns explains beyond the
    sum of two curves (as FAST; Lou et al. 2013), compared with what chance explains: without an
    interaction, it is about chi-squared distributed. Pairs below the mean of chance are left out.
    """
    round = _sample_rows(round, t)
    table = round.table
    groups = _Groups.of(round, np.concatenate([table.splittable, table.splittable_categorical]))
    if len(groups.columns) < 2:
        return []
    # Of each column and group, the sums by column and group: (columns, groups, columns, groups, K)
    sums = np.stack([groups.split(round, u) for u in range(len(groups.columns))])
    first, second = np.triu_indices(len(sums), 1)
    strengths = _interaction_strengths(sums[first, :, second], _noise(round))
    pairs = np.sort(np.stack([groups.columns[first], groups.columns[second]], axis=1), axis=1)
    # Equal up to rounding, as for copies of a column, the first pair wins.
    strengths = np.round(strengths, 6)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -strengths))
    return [(a, b) for a, b in pairs[order[strengths[order] > 0]].tolist()]


def _sample_rows(round: Round, t: int) -> Round:
    """Return the round on a sample of the rows, where all would take too long."""
    n_columns = min(_MAX_COLUMNS, round.table.n_columns)
    fraction = _MAX_ADDITIONS / max(round.problem.n_rows * n_columns**2, 1)
    if fraction >= 1:
        return round
    rows = round.backend.draw_rows(fraction, 0, t)
    return round.on(round.backend.within(round.problem, rows))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Columns in groups of codes: numbers of about the same mass, the largest categories."""

    columns: Columns  # numeric columns, then categorical ones
    n_numeric: int
    codes: list[Columns]  # of each column, the group of each code
    cells: Columns  # of all columns, one after the other, column and group of each code

    @staticmethod
    def of(round: Round, columns: Columns) -> "_Groups":
        """Return the groups of the columns whose curves may still gain most."""
        n_numeric = len(np.intersect1d(columns, round.table.splittable))
        n_codes = [round.table.bins[j].n_codes for j in columns.tolist()]
        sums = _sums_by_code(round, columns, n_numeric, round.problem)
        by_column = np.split(sums, np.cumsum(n_codes)[:-1])
        if len(columns) > _MAX_COLUMNS:
            sizes = [float((s[:, :-1].astype(float) ** 2).sum()) for s in by_column]
            largest = np.argsort(sizes, kind="stable")[-_MAX_COLUMNS:]
            return _Groups.of(round, columns[np.sort(largest)])
        codes = [
            _group_categories(s[:, -1]) if u >= n_numeric else _group_numbers(s[:, -1])
            for u, s in enumerate(by_column)
        ]
        cells = [u * _GROUPS + group for u, group in enumerate(codes)]
        return _Groups(columns, n_numeric, codes, np.concatenate([columns[:0], *cells]))

    def split(self, round: Round, u: int) -> Reals:
        """Return the sums of each group of a column, by column and group of the same rows."""
        shape = (_GROUPS, len(self.columns), _GROUPS, round.problem.n_scores + 1)
        result = np.zeros(shape)
        for g, problem in self._problems(round, u):
            sums = _sums_by_code(round, self.columns, self.n_numeric, problem)
            for k, of_score in enumerate(sums.T):
                # Whole numbers below 2**53 add up exactly.
                pooled = np.bincount(self.cells, of_score, minlength=shape[1] * _GROUPS)
                result[g, :, :, k] = pooled.reshape(-1, _GROUPS)
        return result

    def _problems(self, round: Round, u: int) -> Iterator[tuple[int, Problem]]:
        """Yield the groups of a column that have rows, and the problems of these rows."""
        table, rest = round.table, round.problem
        j, group = int(self.columns[u]), self.codes[u]
        n_values = len(group) - (table.bins[j].has_missing and u < self.n_numeric)
        for g in range(_GROUPS - 1):
            if u >= self.n_numeric:
                if not (group == g).any():
                    continue
                test: Test = subset_rule(table, j, np.where(group == g, -1, 1).astype(np.int8))
            else:
                # Missing values stay with the highest.
                first = int(np.searchsorted(group[:n_values], g, side="right"))
                if first in (0, n_values):
                    continue
                test = cut_at(table, j, first, 1)
            low, rest = round.backend.split(rest, test)
            if low.size:
                yield g, low
        if rest.size:
            yield _GROUPS - 1, rest


def _sums_by_code(round: Round, columns: Columns, n_numeric: int, problem: Problem) -> Exacts:
    """Return the sums of S and of its mass over the rows of each code of the columns."""
    kinds = [kind for kind in np.split(columns, [n_numeric]) if len(kind)]
    sums = [round.backend.histogram(kind, problem).values for kind in kinds]
    return np.concatenate([np.zeros((0, problem.n_scores + 1), dtype=np.int64), *sums])


def _group_numbers(masses: Exacts) -> Columns:
    middles = np.cumsum(masses) - masses // 2
    groups = middles * _GROUPS // max(int(masses.sum()), 1)
    return np.minimum(groups, _GROUPS - 1).astype(np.intp)


def _group_categories(masses: Exacts) -> Columns:
    groups = np.full(len(masses), _GROUPS - 1, dtype=np.intp)
    largest = np.argsort(-masses, kind="stable")[: _GROUPS - 1]
    groups[largest] = np.arange(len(largest))
    return groups


def _noise(round: Round) -> float:
    """Return the variance of sums of S by chance, as a multiple of their mass."""
    backend, problem = round.backend, round.problem
    sizes = backend.row_weight_sums(problem).astype(np.int64)
    partition = round.table.partition
    # Sums of 64 bits; weights that are all tiny count as a little.
    squares = max(partition.sum(int((sizes >> 4) @ (sizes >> 4))), 1) * 2.0**8
    share = problem.size / problem.n_rows
    # The entries of a row with several classes have at most half the square of their sum.
    return squares * share / max(problem.mass, 1) * (1.0 if problem.n_scores == 1 else 0.5)


def _interaction_strengths(tables: Reals, noise: float) -> Reals:
    """Return the strengths of interactions from tables of sums, shape (pairs, A, B, K + 1).

    They are standard normal without an interaction (Wilson and Hilferty 1931).
    """
    residuals, masses = tables[..., :-1].copy(), tables[..., -1:]
    for axis in (2, 1) * _SWEEPS:
        mass = np.maximum(masses.sum(axis=axis, keepdims=True), 1.0)
        residuals -= residuals.sum(axis=axis, keepdims=True) / mass * masses
    explained = (residuals**2 / np.maximum(masses, 1.0)).sum(axis=(1, 2, 3)) / noise
    n_groups = [(masses.sum(axis=axis) > 0).sum(axis=(1, 2)) for axis in (1, 2)]
    freedom = np.maximum((n_groups[0] - 1.0) * (n_groups[1] - 1.0), 1.0)
    spread = 2.0 / (9.0 * freedom)
    return (np.cbrt(explained / freedom) - (1.0 - spread)) / np.sqrt(spread)
