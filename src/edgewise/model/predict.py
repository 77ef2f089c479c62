"""Prediction: a model of stumps by one table for each column, other models by their forest.

The sum of all stumps on a column is a step function of it, so prediction looks up one row of one
table for each column, however many rounds there were.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.compiled import use_compiled
from edgewise.common.dtypes import Columns, Reals
from edgewise.common.threads import ROWS_PER_THREAD, Threads
from edgewise.data import ArrayTable, RawRows, Table
from edgewise.data.filters import Filters
from edgewise.model.forest import Forest, in_order
from edgewise.model.rules import Categories, Cut, Linear, Rule
from edgewise.model.terms import StumpTerms, Terms

# Up to this many numbers to add up, a model of stumps looks all columns up at once.
_FEW = 1 << 18


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained model, ready to score rows; its image filters are numbered after its columns."""

    terms: Terms
    n_columns: int
    categories: Categories
    filters: Filters | None = None

    @cached_property
    def tables(self) -> "ScoreTables":
        """The terms that cut one numeric column, collapsed to one table for each column."""
        if self.terms.is_additive:
            return collapse(self.terms.stumps)
        rules = [self.terms.rule(t) for t in range(len(self.terms))]
        single = [t for t, rule in enumerate(rules) if self.is_curve(rule)]
        alphas, votes = self.terms.alphas[single].tolist(), self.terms.votes[single]
        return collapse(Terms.pack([rules[t] for t in single], alphas, votes).stumps)

    @cached_property
    def forest(self) -> Forest | None:
        """The terms as trees to walk through, if they can be."""
        return Forest.of(self.terms)

    def split(self) -> tuple["Predictor", list[tuple[Linear, Reals]]]:
        """Return the model without the rules that are columns themselves, and those.

        The latter come with their coefficients, shape (K,), those of the same rule added up.
        """
        rules = [self.terms.rule(t) for t in range(len(self.terms))]
        lines: dict[Linear, Reals] = {}
        for rule, moves in zip(rules, self.terms.coefficients, strict=True):
            if isinstance(rule, Linear):
                lines[rule] = lines.get(rule, np.zeros(len(moves))) + moves
        if not lines:
            return self, []
        kept = [t for t, rule in enumerate(rules) if not isinstance(rule, Linear)]
        alphas, votes = self.terms.alphas[kept], self.terms.votes[kept]
        n_cuts = int(all(self.is_curve(rules[t]) for t in kept))
        terms = Terms.pack([rules[t] for t in kept], alphas, votes, n_cuts)
        return replace(self, terms=terms), list(lines.items())

    @property
    def slopes(self) -> Reals:
        """What one more in each column adds to the scores, by rules that are the column itself."""
        slopes = np.zeros((self.n_columns, self.terms.n_scores))
        for line, moves in self.split()[1]:
            slopes[line.column] += moves
        return slopes

    def is_curve(self, rule: Rule) -> bool:
        """Return whether a rule cuts one numeric column, or none."""
        return isinstance(rule, Cut) and rule.column < self.n_columns

    def scores(self, table: Table, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        parts = [self._part_scores(part, n_jobs) for part in table.chunks()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _part_scores(self, table: Table, n_jobs: int) -> Reals:
        if self.terms.has_tables:
            return self.tables.scores(table, n_jobs)
        if self.forest is not None:
            return self.forest.scores(RawRows(table, self.categories, self.filters), n_jobs)
        scores = deque(self.staged_scores(table), maxlen=1).pop()
        return np.ascontiguousarray(scores.T)

    def staged_scores(self, table: Table) -> Iterator[Reals]:
        """Yield the scores of every row, shape (K, n), after each term."""
        rows = RawRows(table, self.categories, self.filters)
        rows.read(np.unique(self.terms.columns).tolist())
        return self.terms.staged_scores(rows)

    def importances(self, decreases: Reals) -> Reals:
        """Return each column's share in the decrease of the loss, given that of each term.

        A filter's share goes to its pixels.
        """
        columns, each = self.terms.columns, self.terms.shares(decreases)
        shares = np.zeros(self.n_columns)
        direct = columns < self.n_columns
        np.add.at(shares, columns[direct], each[direct])
        for j, share in zip(columns[~direct].tolist(), each[~direct].tolist(), strict=True):
            assert self.filters is not None
            pixels = self.filters.pixels(j - self.n_columns)
            shares[pixels] += share / len(pixels)
        total = shares.sum()
        return shares / total if total > 0 else shares


@dataclass(frozen=True)
class ScoreTables:
    """One step function for each column that the model uses."""

    columns: Columns  # (F,), the columns in use, ascending
    starts: Columns  # (F + 1,), the bounds of each column's thresholds, which ascend
    thresholds: Reals
    # (thresholds + 2 F, K), for each column the scores below the first threshold, between
    # thresholds, above the last, and of a missing value
    tables: Reals
    bias: Reals  # (K,), the sum of the constant terms

    def of(self, f: int) -> tuple[Reals, Reals]:
        """Return the thresholds and the table of the f-th column in use."""
        low, high = int(self.starts[f]), int(self.starts[f + 1])
        return self.thresholds[low:high], self.tables[low + 2 * f : high + 2 * f + 2]

    def scores(self, table: Table, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        out = np.tile(self.bias, (table.n_rows, 1))
        visits = 30.0 * table.n_rows * len(self.columns)
        if isinstance(table, ArrayTable) and use_compiled(visits) and self._uses_most(table):
            kernels = import_module("edgewise.backend.numba.score")
            model = (table.values, self.columns, self.starts, self.thresholds, self.tables)
            with Threads(n_jobs if table.n_rows >= 2 * ROWS_PER_THREAD else 1) as threads:
                spans = threads.spans(table.n_rows)
                threads.map(lambda span: kernels.score(*model, *span, out), spans)
            return out
        if out.size * len(self.columns) <= _FEW:
            return self._few_scores(RawRows(table).block(self.columns, slice(None)))
        for f, (j, column) in enumerate(table.select_columns(self.columns.tolist())):
            score(table.with_numbers(j, column).reals(), *self.of(f), out)
        return out

    def _few_scores(self, values: Reals) -> Reals:
        """Return the scores of a few rows, all columns at once, given their values (F, n)."""
        lows, sizes = self.starts[:-1, None], np.diff(self.starts)[:, None]
        place = np.zeros(values.shape, dtype=np.intp)
        step = 1 << int(sizes.max(initial=0)).bit_length()
        padded = np.append(self.thresholds, np.inf)
        while step := step // 2:
            further = place + step
            threshold = padded.take(lows + further - 1, mode="clip")
            place += step * ((further <= sizes) & (threshold <= values))
        place = np.where(np.isnan(values), sizes + 1, place)
        rows = self.tables.take(lows + 2 * np.arange(len(lows))[:, None] + place, axis=0)
        n_rows, width = values.shape[1], len(self.bias)
        moves = np.concatenate([np.tile(self.bias, (1, n_rows, 1)), rows])
        return in_order(moves.reshape(len(moves), -1)).reshape(n_rows, width)

    def _uses_most(self, table: ArrayTable) -> bool:
        """Return whether the compiled kernel can read an array as it is, mostly columns in use."""
        few = table.n_columns > 4 * len(self.columns)
        return not few and table.values.flags.c_contiguous and table.has_no_infinities()


def collapse(terms: StumpTerms) -> ScoreTables:
    """Return the sum of all terms as one table for each column."""
    n_terms, n_scores = terms.votes.shape
    # One entry for each (term, score column): a cut, its score column and its coefficient.
    cuts: tuple[NDArray[Any], ...] = (terms.columns, terms.thresholds, terms.missing)
    column, threshold, missing = (np.broadcast_to(part, terms.votes.shape).ravel() for part in cuts)
    k = np.tile(np.arange(n_scores), n_terms)
    coefficient = terms.coefficients.ravel()

    bias = np.zeros(n_scores)
    constant = column < 0
    np.add.at(bias, k[constant], coefficient[constant])
    order = np.argsort(column, kind="stable")
    used, first = np.unique(column[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    groups = [order[a:b] for j, a, b in zip(used, first, ends, strict=False) if j >= 0]
    starts, thresholds, tables = [0], [np.empty(0)], [np.empty((0, n_scores))]
    for mine in groups:
        steps, place = np.unique(threshold[mine], return_inverse=True)
        # Extended precision keeps the running sums within the rounding of the final table.
        moves = coefficient[mine].astype(np.longdouble)
        jumps = np.zeros((len(steps) + 1, n_scores), dtype=np.longdouble)
        np.add.at(jumps, (place + 1, k[mine]), 2 * moves)
        np.add.at(jumps[0], k[mine], -moves)
        absent = np.zeros((1, n_scores), dtype=np.longdouble)
        np.add.at(absent[0], k[mine], missing[mine] * moves)
        starts.append(starts[-1] + len(steps))
        thresholds.append(steps)
        tables.append(np.concatenate([np.cumsum(jumps, axis=0), absent]).astype(np.float64))
    return ScoreTables(
        used[used >= 0].astype(np.intp),
        np.array(starts, dtype=np.intp),
        np.concatenate(thresholds),
        np.ascontiguousarray(np.concatenate(tables)),
        bias,
    )


def score(values: Reals, thresholds: Reals, table: Reals, out: Reals) -> None:
    """Add to `out` the table row of each value; the table's last row is for missing values."""
    place = np.searchsorted(thresholds, values, side="right")
    place[np.isnan(values)] = len(thresholds) + 1
    out += table[place]
