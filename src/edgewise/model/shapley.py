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

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.backend.warmup import kernels_ready
from edgewise.common.compiled import is_loaded, record_compiled
from edgewise.common.dtypes import Columns, Reals
from edgewise.common.threads import Threads
from edgewise.model.leaf_paths import Paths
from edgewise.model.rules import Linear
from edgewise.model.tables import ScoreTables, look_up

# Numbers that are written or handled at once, so that they stay in the caches.
_NUMBERS_AT_ONCE = 1 << 18

# The entries of patterns that are in memory at once.
_MAX_SHARES = 1 << 21

# No background has more rows than two to this power.
_MAX_BITS = 62

# The number of rows that may need a part of the patterns only.
_FEW_ROWS = 8

# With fewer paths, another thread costs more than it saves.
_PATHS_PER_THREAD = 64

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
        alone = self.values.swapaxes(0, 1).copy()
        for side in self.pairs.T:
            np.add.at(alone, side, -0.5 * self.interactions.swapaxes(0, 1))
        return alone.swapaxes(0, 1)

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
    shares: Shares, linear: dict[Linear, Reals], rows: Reals, background: Reals | None
) -> Shares:
    """Add rules that are columns themselves, with their coefficients, to the shares of others.

    Without a background, they are compared with missing values.
    """
    values, base = shares.values.copy(), shares.base.copy()
    for rule, moves in linear.items():
        u = int(np.searchsorted(shares.columns, rule.column))
        own, mean = np.where(np.isnan(rows[u]), rule.fill, rows[u]), rule.fill
        if background is not None:
            others = background[u]
            mean = float(np.where(np.isnan(others), rule.fill, others).mean())
        values[:, u] += (own - mean)[:, None] * moves
        base += moves * mean
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
    pairs = paths.pairs.columns if interactions else _NO_PAIRS
    places = _NO_PLACES
    if interactions:
        places = paths.pairs.starts, n_columns + paths.pairs.numbers
    n_places = n_columns + len(pairs)
    m = 1 if background is None else background.shape[1]
    work = 2.0 * len(paths.columns) * (m + 8.0 * rows.shape[1])
    is_compiled = kernels_ready(work, _FORM, lambda: (compile_kernels,), waits=True)()
    if is_compiled and not is_loaded(_FORM):
        compile_kernels()
    method: Callable[..., Iterator[Reals]] = _add_compiled if is_compiled else _add_plain
    per_row = 1 + n_places * n_scores if is_compiled else 8 * m
    with Threads(n_jobs) as threads:
        size = min(1 + _NUMBERS_AT_ONCE // per_row, -(-rows.shape[1] // threads.n))
        blocks = [
            np.ascontiguousarray(rows[:, first : first + size])
            for first in range(0, rows.shape[1], max(size, 1))
        ]
        out = [np.zeros((n_places, n_scores, block.shape[1])) for block in blocks]
        parts = [*method(paths, blocks, background, places, threads, out)]
    base = np.sum([np.zeros(n_scores), *parts], axis=0)
    shares = np.concatenate([block.transpose(2, 0, 1) for block in out])
    return Shares(columns, shares[:, :n_columns], pairs, shares[:, n_columns:], base)


_NO_PAIRS = np.empty((0, 2), dtype=np.intp)
_NO_PLACES = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)

_PairPlaces = tuple[Columns, Columns]
"""By path, where its pairs of entries start; by pair, its place after the columns."""


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
    sizes, cuts = paths.sizes, paths.cuts
    rules = [quadrature(n) for n in range(1, 1 + (int(sizes.max(initial=0)) + 1) // 2)]
    nodes_and_weights = (
        np.concatenate([np.empty(0), *(nodes for nodes, _ in rules)]),
        np.concatenate([np.empty(0), *(weights for _, weights in rules)]),
        np.cumsum([0, 0, *range(1, 1 + len(rules))]),
    )
    reached = np.ones(len(sizes))
    n_rows, marks = 1, np.empty((0, 0), dtype=np.uint64)
    if background is None:
        tested = sizes > 0
        reached[tested] = np.multiply.reduceat(paths.shares, paths.starts[:-1][tested])
    else:
        n_rows = background.shape[1]
        n_marks = len(cuts.thresholds) + 2 * (len(cuts.starts) - 1)
        marks = kernels.mark_cuts(background, cuts.thresholds, cuts.starts, n_marks)
    room = np.minimum(2.0 ** np.minimum(sizes, _MAX_BITS), n_rows).astype(np.intp)
    rooms, ends = (np.concatenate([[0], np.cumsum(most)]) for most in (room, room * sizes))
    # Paths of missing values, where there are none, and entries that no row passes, take no time.
    compared = blocks if background is None else [*blocks, background]
    has_missing = np.any([np.isnan(values).any(axis=1) for values in compared], axis=0)
    n_found = paths.are_possible(has_missing, background is None).astype(np.intp)
    is_open: NDArray[np.bool_] = np.ones(len(paths.columns), dtype=bool)
    if len(blocks) == 1 and blocks[0].shape[1] <= _FEW_ROWS:
        is_open = np.asarray(paths.passes(np.arange(len(is_open)), blocks[0]).any(axis=1))
    first = 0
    while first < len(sizes):
        stop = int(np.searchsorted(ends, ends[first] + _MAX_SHARES, side="right")) - 1
        stop = min(max(first + 1, stop), len(sizes))
        starts, share_starts = rooms - rooms[first], ends - ends[first]
        patterns = np.ones(starts[stop]), paths.shares[ends[first] : ends[stop]], share_starts
        if background is not None:
            patterns = np.empty(starts[stop]), np.empty(share_starts[stop]), share_starts
            inputs = background, (marks, paths.arrays, cuts[2:], is_open), starts
            find = partial(_find, kernels, first, inputs, (patterns, n_found, reached))
            threads.map(find, threads.spans(stop - first, _PATHS_PER_THREAD))
        fixed = paths.arrays, paths.leaves, (starts, n_found, patterns), first, stop
        add = partial(_add, kernels, blocks, (*fixed, nodes_and_weights, places), out)
        threads.map(add, range(len(blocks)))
        yield reached[first:stop] @ paths.leaves[first:stop]
        first = stop


def _find(kernels: Any, first: int, inputs: Any, found: Any, span: tuple[int, int]) -> None:
    kernels.find_patterns(*inputs, first + span[0], first + span[1], *found)


def _add(kernels: Any, blocks: list[Reals], inputs: Any, out: list[Reals], b: int) -> None:
    kernels.add_contributions(blocks[b], *inputs, out[b])


def compile_kernels() -> None:
    """Compile the kernels, for one path of one column."""
    one, zero = np.ones(1), np.zeros(1, dtype=np.intp)
    bounds, no, nothing = np.arange(2), np.zeros(1, dtype=bool), np.zeros(0, dtype=bool)
    paths = Paths(np.ones((1, 1)), zero, bounds, zero, one, one, no, zero - 1, nothing, one)
    for background in (None, np.zeros((1, 1))):
        out, places = [np.zeros((1, 1, 1))], (paths.pairs.starts, paths.pairs.numbers)
        with Threads(1) as threads:
            deque(_add_compiled(paths, [np.zeros((1, 1))], background, places, threads, out))
    record_compiled(_FORM)


def _add_plain(
    paths: Paths,
    blocks: list[Reals],
    background: Reals | None,
    places: _PairPlaces,
    threads: Threads,
    out: list[Reals],
) -> Iterator[Reals]:
    """Do the same in NumPy."""
    sizes = paths.sizes
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
