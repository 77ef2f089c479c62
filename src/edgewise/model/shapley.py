"""Shapley values: how the columns of rows, and pairs of them, share their scores.

A coalition of columns takes its values from the row. The others take theirs from the rows of a
background (SHAP's interventional values; Lundberg and Lee 2017), or follow the training rows: at a
test of such a column a path goes on with the share of the training rows that take it
(path-dependent values; Lundberg et al. 2020). The score of that mixture is the worth of the
coalition. The Shapley values of the columns sum to the row's score less the mean score of the
background or of the training rows. The Shapley interaction index (Grabisch and Roubens 1999) is
what two columns do only together; a column keeps the rest, as in Lundberg et al. 2020.

A path to a leaf tests some columns, its entries. With o = 1 where the row passes an entry and 0
where it does not, and z the same for a background row, or the share of the training rows that
pass, a coalition S reaches the leaf with the weight prod over S of o times prod over the others of
z. Averaged over all orders, the value of column j is its leaf times

    (o_j - z_j) * integral from 0 to 1 of prod over i != j of (t o_i + (1 - t) z_i) dt,

and the index of two columns likewise: polynomials in t, which Gauss and Legendre's nodes integrate
exactly. Rows of a background that pass the same entries of a path count once, with their number.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.compiled import record_compiled, use_compiled
from edgewise.common.dtypes import Columns, Reals
from edgewise.common.threads import Threads
from edgewise.model.paths import Paths
from edgewise.model.rules import Linear
from edgewise.model.tables import ScoreTables, look_up

# Rows that are explained at once, and numbers that NumPy handles at once.
_ROWS_AT_ONCE, _NUMBERS_AT_ONCE = 1024, 1 << 20

# The entries of patterns that are in memory at once.
_MAX_SHARES = 1 << 21

# The bits of a pattern of entries that compiled code counts.
_MAX_BITS = 62

_FORM = "shapley"


class Shares(NamedTuple):
    """Contributions of columns and pairs of columns to the scores of n rows."""

    columns: Columns  # (U,), the columns in use
    values: Reals  # (n, U, K), the Shapley values
    pairs: Columns  # (P, 2), indices into `columns`
    interactions: Reals  # (n, P, K), the interaction indices
    base: Reals  # (K,), the mean scores of the background or of the training rows

    @property
    def alone(self) -> Reals:
        """The contribution of each column without its pairs, shape (n, U, K)."""
        alone = self.values.copy()
        for side in self.pairs.T:
            np.add.at(alone, (slice(None), side), -0.5 * self.interactions)
        return alone

    @property
    def matrix(self) -> Reals:
        """Contributions of columns, and half those of pairs on either side, (n, U, U, K)."""
        n_rows, n_columns, n_scores = self.values.shape
        matrix = np.zeros((n_rows, n_columns, n_columns, n_scores))
        diagonal = np.arange(n_columns)
        matrix[:, diagonal, diagonal] = self.alone
        for first, second in (self.pairs.T, self.pairs.T[::-1]):
            matrix[:, first, second] = 0.5 * self.interactions
        return matrix

    def extend_to(self, columns: Columns) -> "Shares":
        """Return the shares of more columns; those that are not in use have none."""
        positions = np.searchsorted(columns, self.columns)
        values = np.zeros((len(self.values), len(columns), self.values.shape[2]))
        values[:, positions] = self.values
        return self._replace(columns=columns, values=values, pairs=positions[self.pairs])

    def divide(self, sources: Sequence[tuple[int, ...]]) -> "Shares":
        """Return the shares of the source columns, one or two for each derived column.

        The two share its value equally. What it contributes without its pairs is what they do
        only together.
        """
        columns = np.unique([j for made_of in sources for j in made_of]).astype(np.intp)
        # (U, columns), what each source has of a column
        division = np.array(
            [[(j in made_of) / len(made_of) for j in columns.tolist()] for made_of in sources]
        )
        made_of = [np.flatnonzero(row).tolist() for row in division]
        by_pair: dict[tuple[int, int], Reals] = {}

        def add(s: int, t: int, amount: Reals) -> None:
            # What a column does together with itself, it does alone.
            if s != t:
                pair = min(s, t), max(s, t)
                by_pair[pair] = by_pair.get(pair, 0.0) + amount

        for u, amount in enumerate(self.alone.swapaxes(0, 1)):
            add(made_of[u][0], made_of[u][-1], amount)
        by_index = self.interactions.swapaxes(0, 1)
        for (u, w), amount in zip(self.pairs.tolist(), by_index, strict=True):
            for s, t in product(made_of[u], made_of[w]):
                add(s, t, division[u, s] * division[w, t] * amount)
        pairs = np.array([*by_pair], dtype=np.intp).reshape(-1, 2)
        shape = len(by_pair), len(self.values), len(self.base)
        interactions = np.array([*by_pair.values()]).reshape(shape).swapaxes(0, 1)
        return Shares(columns, division.T @ self.values, pairs, interactions, self.base)


def add_linear_rules(
    shares: Shares, linear: dict[Linear, Reals], rows: Reals, background: Reals
) -> Shares:
    """Add rules that are columns themselves, with their coefficients, to the shares of others."""
    values, base = shares.values.copy(), shares.base.copy()
    for rule, moves in linear.items():
        u = int(np.searchsorted(shares.columns, rule.column))
        own, others = (
            np.where(np.isnan(numbers), rule.fill, numbers) for numbers in (rows[u], background[u])
        )
        values[:, u] += (own - others.mean())[:, None] * moves
        base += moves * others.mean()
    return shares._replace(values=values, base=base)


def additive_shares(tables: ScoreTables, rows: Reals, means: Reals) -> Shares:
    """Return the shares of a model of stumps: each column's curve less its mean, shape (U, K)."""
    n_scores = len(tables.bias)
    values = np.zeros((rows.shape[1], len(rows), n_scores))
    for u in range(len(rows)):
        values[:, u] = look_up(rows[u], *tables.of_column(u)) - means[u]
    pairs, base = np.empty((0, 2), dtype=np.intp), tables.bias + means.sum(axis=0)
    return Shares(tables.columns, values, pairs, np.empty((len(values), 0, n_scores)), base)


def curve_means(tables: ScoreTables, background: Reals) -> Reals:
    """Return the mean of each column's curve over the rows of a background, shape (U, K)."""
    curves = [look_up(values, *tables.of_column(u)) for u, values in enumerate(background)]
    return np.array([curve.mean(axis=0) for curve in curves]).reshape(-1, len(tables.bias))


def training_means(paths: Paths, n_columns: int) -> Reals:
    """Return the mean of each column's curve over the training rows, shape (U, K)."""
    means = np.zeros((n_columns, paths.leaves.shape[1]))
    tested = np.flatnonzero(np.diff(paths.starts))
    np.add.at(means, paths.columns, paths.leaves[tested] * paths.shares[:, None])
    return means


def path_shares(
    paths: Paths,
    columns: Columns,
    rows: Reals,
    background: Reals | None = None,
    interactions: bool = True,
    n_jobs: int = 1,
) -> Shares:
    """Return the shares of columns in use, given their values, shapes (U, n) and (U, m).

    Without a background, the paths have the shares of the training rows.
    """
    n_columns, n_scores = len(rows), paths.leaves.shape[1]
    pairs, places = _pair_places(paths, n_columns) if interactions else _NO_PAIRS
    with Threads(n_jobs) as threads:
        size = min(_ROWS_AT_ONCE, -(-rows.shape[1] // threads.n) or 1)
        blocks = [
            np.ascontiguousarray(rows[:, first : first + size])
            for first in range(0, rows.shape[1], size)
        ]
        n_places = n_columns + len(pairs)
        out = [np.zeros((n_places, n_scores, block.shape[1])) for block in blocks]
        m = 1 if background is None else background.shape[1]
        is_compiled = _fits_kernel(paths) and use_compiled(
            2.0 * len(paths.columns) * (m + 8.0 * rows.shape[1]), form=_FORM
        )
        method: Callable[..., Iterator[Reals]] = _add_compiled if is_compiled else _add_plain
        parts = [*method(paths, blocks, background, places, threads, out)]
    base = np.sum([np.zeros(n_scores), *parts], axis=0)
    shares = np.concatenate([block.transpose(2, 0, 1) for block in out])
    return Shares(columns, shares[:, :n_columns], pairs, shares[:, n_columns:], base)


_NO_PLACES = np.empty(0, dtype=np.intp)
_NO_PAIRS = np.empty((0, 2), dtype=np.intp), (_NO_PLACES, _NO_PLACES)

_PairPlaces = tuple[Columns, Columns]
"""By path, where its pairs of entries start; by pair, its place after the columns."""


def _pair_places(paths: Paths, n_columns: int) -> tuple[Columns, _PairPlaces]:
    """Return the pairs of columns that paths test, and the places of the pairs of each path."""
    sizes = np.diff(paths.starts)
    n_pairs = sizes * (sizes - 1) // 2
    bounds = np.concatenate([[0], np.cumsum(n_pairs)])
    keys = np.empty(bounds[-1], dtype=np.intp)
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        columns = paths.columns[paths.starts[which][:, None] + np.arange(size)]
        i, j = np.triu_indices(size, 1)
        # The entries of a path ascend by column.
        keys[bounds[which][:, None] + np.arange(len(i))] = columns[:, i] * n_columns + columns[:, j]
    distinct, index = np.unique(keys, return_inverse=True)
    pairs = np.stack([distinct // max(n_columns, 1), distinct % max(n_columns, 1)], axis=1)
    return pairs, (bounds, n_columns + index)


def _fits_kernel(paths: Paths) -> bool:
    return bool(np.diff(paths.starts).max(initial=0) <= _MAX_BITS)


@cache
def quadrature(n: int) -> tuple[Reals, Reals]:
    """Return n nodes between 0 and 1, and weights that integrate polynomials up to 2n - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _add_compiled(
    paths: Paths,
    blocks: list[Reals],
    background: Reals | None,
    places: _PairPlaces,
    threads: Threads,
    out: list[Reals],
) -> Iterator[Reals]:
    """Add the contributions of paths to those of blocks of rows; yield parts of the base."""
    kernels = import_module("edgewise.backend.numba.shapley")
    record_compiled(_FORM)
    sizes = np.diff(paths.starts)
    rules = [quadrature(n) for n in range(1, 1 + (int(sizes.max(initial=0)) + 1) // 2)]
    nodes_and_weights = (
        np.concatenate([np.empty(0), *(nodes for nodes, _ in rules)]),
        np.concatenate([np.empty(0), *(weights for _, weights in rules)]),
        np.cumsum([0, 0, *range(1, 1 + len(rules))]),
    )
    n_rows = 1 if background is None else background.shape[1]
    most = np.minimum(1 << sizes, n_rows)
    ends = np.cumsum(most * sizes)
    first = 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + _MAX_SHARES, side="right")))
        part, room, size = paths[first:stop], most[first:stop], sizes[first:stop]
        arrays = (
            *(part.starts, part.columns, part.low, part.high),
            *(part.missing, part.tables, part.allowed),
        )
        share_starts = np.concatenate([[0], np.cumsum(room * size)])
        rooms = np.concatenate([[0], np.cumsum(room)])
        if background is None:
            patterns, counts = (np.ones(len(part.leaves)), part.shares, share_starts), room
            reached = np.multiply.reduceat(np.append(part.shares, 1.0), part.starts[:-1])
            reached[size == 0] = 1.0
        else:
            patterns = np.empty(rooms[-1]), np.empty(share_starts[-1]), share_starts
            counts, n_reached = np.zeros_like(room), np.zeros_like(room)

            def count(span: tuple[int, int], *arguments: Any) -> None:
                kernels.count_patterns(*arguments[:3], *span, *arguments[3:])

            inputs = background, arrays, rooms, patterns, counts, n_reached
            spans = threads.spans(len(part.leaves), 64)
            threads.map(lambda span, inputs=inputs: count(span, *inputs), spans)  # type: ignore[misc]
            reached = n_reached / n_rows
        pairs = (places[0][first : stop + 1], places[1]) if len(places[0]) else places

        def add(b: int, *arguments: Any) -> None:
            kernels.add_contributions(blocks[b], *arguments, out[b])

        inputs = arrays, part.leaves, rooms, counts, patterns, nodes_and_weights, pairs
        threads.map(lambda b, inputs=inputs: add(b, *inputs), range(len(blocks)))  # type: ignore[misc]
        yield reached @ part.leaves
        first = stop


def _add_plain(
    paths: Paths,
    blocks: list[Reals],
    background: Reals | None,
    places: _PairPlaces,
    threads: Threads,
    out: list[Reals],
) -> Iterator[Reals]:
    """Do the same in NumPy."""
    sizes = np.diff(paths.starts)
    for size in np.unique(sizes).tolist():
        group = np.flatnonzero(sizes == size)
        n_rows = 1 if background is None else background.shape[1]
        most = max((block.shape[1] for block in blocks), default=1)
        step = 1 + _NUMBERS_AT_ONCE // (1 + size * n_rows * most)
        for first in range(0, len(group), step):
            some = group[first : first + step]
            entries = paths.starts[some][:, None] + np.arange(size)
            shares = paths.shares[entries][..., None]
            if background is not None:
                shares = paths.passes(entries, background).astype(np.float64)
            yield shares.prod(axis=1).mean(axis=1) @ paths.leaves[some]
            if size == 0:
                continue
            targets, i, j = paths.columns[entries], *np.triu_indices(size, 1)
            if len(places[0]):
                of_pairs = places[1][places[0][some][:, None] + np.arange(len(i))]
                targets = np.concatenate([targets, of_pairs], axis=1)
            else:
                i, j = i[:0], j[:0]
            which = np.arange(targets.size)
            for block, contributions in zip(blocks, out, strict=True):
                amounts = _integrate(paths.passes(entries, block), shares, i, j)
                adder = sparse.csr_array(
                    (np.ones(targets.size), (targets.ravel(), which)),
                    shape=(len(contributions), targets.size),
                )
                for k in range(contributions.shape[1]):
                    moved = amounts * paths.leaves[some, k][:, None, None]
                    contributions[:, k] += adder @ moved.reshape(targets.size, -1)


def _integrate(passed: NDArray[np.bool_], shares: Reals, i: Columns, j: Columns) -> Reals:
    """Return the values of entries, and the indices of pairs (i, j), times 1 for a leaf.

    `passed`, shape (paths, entries, n), is of the rows, and `shares`, (paths, entries, m), of the
    background.
    """
    own, others = passed[..., None], shares[:, :, None]
    amounts = np.zeros((len(passed), passed.shape[1] + len(i), passed.shape[2]))
    for t, weight in zip(*quadrature((passed.shape[1] + 1) // 2), strict=True):
        factors = (1.0 - t) * others + t * own
        ratios = np.where(own, (1.0 - others) / ((1.0 - t) * others + t), -1.0 / (1.0 - t))
        reaching = weight * factors.prod(axis=1)[:, None]
        both = np.concatenate([ratios, ratios[:, i] * ratios[:, j]], axis=1)
        amounts += (reaching * both).mean(axis=-1)
    return amounts
