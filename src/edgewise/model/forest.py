"""All terms of a model as one forest, which every row walks through.

A node tests one value: a number against a threshold, or a category. A product is a chain of nodes,
two for each factor after the first: one if the previous factors multiply to +1, one for -1. A leaf
holds the term's outputs times its coefficients, one number per score column. The score of a row is
the sum of the leaves that it reaches, from the first term to the last.

Where all trees are small, a row need not walk: each leaf of a tree is a bit, and every test removes
some of them. A row loses the leaves below every threshold that it reaches, and below every subset
that it is in, and ends in the first leaf that remains (Lucchese et al. 2015): three to five times
faster in NumPy than the walk.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.compiled import is_compiled, record_compiled, use_compiled
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.common.threads import Threads
from edgewise.data import BinnedTable, RawRows
from edgewise.model.rules import KINDS, Scores, Test, TreeRule
from edgewise.model.terms import Terms

if TYPE_CHECKING:
    from edgewise.backend.numba.score import LeafSetNodes, Thresholds, WalkNodes

_TEST, _TREE, _SCORES = map(KINDS.index, (Test, TreeRule, Scores))

# The most memory for all leaves: numbers for many categories and classes can take more.
_MAX_LEAF_BYTES = 1 << 28

# The compiled walk numbers thresholds, categories and the leaves of a term in 16 bits.
_MAX_CODES = 65_535

# How many walks NumPy makes at once, how many numbers it sums, and how many values of rows the
# compiled walk reads at a time, so that they stay in the caches.
_WALKS_AT_ONCE, _NUMBERS_AT_ONCE, _VALUES_AT_ONCE = 1 << 16, 1 << 15, 1 << 17

# Fewer rows take the compiled walk only once it is loaded: nobody waits half a second for one row.
_MIN_ROWS_TO_COMPILE = 32

# A set of leaves fits into the bits of a number.
_MAX_SET_LEAVES = 64

# The cost of NumPy's walk through a term, in visits and apart from the sum; and by sets of leaves.
_VISITS_PER_WALK, _VISITS_PER_SET = 12, 4

_NO_COUNTS = np.empty(0, dtype=np.int64)

# With fewer rows, another thread costs more than it saves.
_ROWS_PER_THREAD = 1024


@dataclass(frozen=True, eq=False)
class Forest:
    """T terms, N nodes and L leaves; the nodes of a term are together, children after parents.

    A child is a node, or -1 - a leaf.
    """

    columns: Columns  # (U,), the columns in use, ascending
    roots: Columns  # (T,), where the walk through each term starts
    node_starts: Columns  # (T + 1,), term t's nodes are from node_starts[t] to node_starts[t + 1]
    node_columns: Columns  # (N,), the column that each node tests, as an index into `columns`
    thresholds: Reals  # (N,), NaN if a node tests a category
    # (3, N), the children for a smaller value, for an equal or larger one, and for a missing one
    children: Columns
    category_starts: Columns  # (N + 1,), the bounds of each node's children by category
    category_children: Columns
    leaf_starts: Columns  # (T + 1,), term t's leaves are from leaf_starts[t] to leaf_starts[t + 1]
    leaves: Reals  # (L, K)

    @staticmethod
    def of(terms: Terms) -> "Forest | None":
        """Return terms as a forest, or None where some are neither tests nor trees."""
        if not np.isin(terms.kinds, (_TEST, _TREE, _SCORES)).all():
            return None
        # The leaves of a term in `terms` are those between its first and last.
        leaves = np.where(terms.children < 0, -1 - terms.children, len(terms.leaves))
        first_leaf = n_leaves = np.zeros(0, dtype=np.intp)
        if len(terms):
            first_leaf = np.minimum.reduceat(leaves.min(axis=0), terms.firsts[:-1])
            last_leaf = np.maximum.reduceat((-1 - terms.children).max(axis=0), terms.firsts[:-1])
            n_leaves = last_leaf + 1 - first_leaf
        scores = np.flatnonzero(terms.kinds == _SCORES)
        factors = terms.starts[terms.firsts[scores]]
        n_leaves[scores] = np.diff(terms.value_starts)[factors]
        if n_leaves.sum() * terms.n_scores * 8 > _MAX_LEAF_BYTES:
            return None
        leaf_starts = _bounds(n_leaves)
        term = np.repeat(np.arange(len(terms)), n_leaves)
        leaf = (first_leaf - leaf_starts[:-1])[term] + np.arange(len(term))
        outputs = terms.leaves[np.minimum(leaf, len(terms.leaves) - 1)]
        for t, f in zip(scores.tolist(), factors.tolist(), strict=True):
            outputs[leaf_starts[t] : leaf_starts[t + 1]] = terms.values_of(f)[:, None]
        return _build(terms, leaf_starts, first_leaf, outputs * terms.coefficients[term])

    def scores(self, rows: RawRows, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        scores = np.zeros((rows.n_rows, self.leaves.shape[1]))
        if not rows.is_array:
            rows.read(self.columns.tolist())

        def walk(block: slice, values: Reals) -> None:
            scores[block] = self.walk(values)

        def walk_compiled(block: slice, values: Reals) -> None:
            self._walk_compiled(values, scores[block])

        self._for_blocks(rows, n_jobs, walk, walk_compiled)
        return scores

    def count_rows(self, rows: RawRows | BinnedTable, n_jobs: int = 1) -> Exacts:
        """Return the number of rows that end in each leaf, shape (L,)."""
        if isinstance(rows, RawRows) and not rows.is_array:
            rows.read(self.columns.tolist())
        if (np.diff(self.node_starts) <= 1).all() and not len(self.category_children):
            return self._count_by_column(rows)
        counts = [np.zeros(len(self.leaves), dtype=np.int64)]

        def walk(block: slice, values: Reals) -> None:
            leaves = self.find_leaves(values).ravel()
            counts.append(np.bincount(leaves, minlength=len(self.leaves)))

        def walk_compiled(block: slice, values: Reals) -> None:
            counts.append(self._count_compiled(values))

        self._for_blocks(rows, n_jobs, walk, walk_compiled)
        return np.sum(counts, axis=0)

    def _count_by_column(self, rows: RawRows | BinnedTable) -> Exacts:
        """Return the number of rows in each leaf where every term has at most one threshold."""
        counts = np.zeros(len(self.leaves), dtype=np.int64)
        counts[-1 - self.roots[self.roots < 0]] = rows.n_rows
        for u in range(len(self.columns)):
            (values,) = rows.block(self.columns[u : u + 1], slice(None))
            nodes = np.flatnonzero(self.node_columns == u)
            thresholds = np.unique(self.thresholds[nodes])
            present = values[~np.isnan(values)]
            steps = np.searchsorted(thresholds, present, side="right")
            n_below = np.cumsum(np.bincount(steps, minlength=len(thresholds) + 1))
            low = n_below[np.searchsorted(thresholds, self.thresholds[nodes])]
            ends = low, len(present) - low, np.full(len(nodes), rows.n_rows - len(present))
            np.add.at(counts, -1 - self.children[:, nodes], np.stack(ends))
        return counts

    def _for_blocks(
        self,
        rows: RawRows | BinnedTable,
        n_jobs: int,
        walk: Callable[[slice, Reals], None],
        walk_compiled: Callable[[slice, Reals], None],
    ) -> None:
        """Call a function for blocks of rows and their values, from some block on the compiled."""
        n_rows, n_terms, width = rows.n_rows, len(self.roots), self.leaves.shape[1]
        visits = _VISITS_PER_WALK if self._leaf_sets is None else _VISITS_PER_SET
        is_compiled = self._compiled_predicate(n_rows, float(n_rows) * n_terms * (visits + width))
        size, start = 1 + _WALKS_AT_ONCE // (n_terms + 1), 0
        while start < n_rows and not is_compiled():
            block = slice(start, start + size)
            walk(block, rows.block(self.columns, block))
            start += size
        if start < n_rows:
            self._run_compiled(rows, start, n_jobs, walk_compiled)

    def walk(self, values: Reals) -> Reals:
        """Return the scores of some rows, shape (n, K), given the columns in use, shape (U, n).

        Categories are given as their codes.
        """
        n_rows, n_terms, width = values.shape[1], len(self.roots), self.leaves.shape[1]
        leaves = self.find_leaves(values)
        step = 1 + _NUMBERS_AT_ONCE // (n_rows * width)
        # The first row is the sum so far.
        summands = np.zeros((min(step, n_terms) + 1, n_rows * width))
        for first in range(0, n_terms, step):
            indices = leaves[first : first + step].ravel()
            used = summands[: 1 + len(indices) // n_rows]
            self.leaves.take(indices, axis=0, out=used[1:].reshape(-1, width), mode="clip")
            summands[:1] = sum_in_order(used)
        # A sum that starts at 0 is never -0.
        return summands[0].reshape(n_rows, width)

    def find_leaves(self, values: Reals) -> Columns:
        """Return the leaf of each term that each row reaches, shape (T, n)."""
        sets = self._leaf_sets
        if sets is not None and sets.covers(values):
            return sets.find_leaves(values)
        n_rows = values.shape[1]
        reached = np.repeat(self.roots, n_rows)
        walk = np.flatnonzero(reached >= 0)
        node, row = reached[walk], walk % n_rows
        flat, offsets = values.ravel(), self.node_columns * n_rows
        has_missing = bool(np.isnan(flat).any())
        while len(node):
            value = flat.take(offsets.take(node) + row)
            child = self.find_children(node, value, has_missing)
            reached[walk] = child
            inside = np.flatnonzero(child >= 0)
            node, row, walk = child[inside], row[inside], walk[inside]
        return (-1 - reached).reshape(-1, n_rows)

    def find_children(self, node: Columns, value: Reals, has_missing: bool = True) -> Columns:
        """Return the child for a value at each of some nodes."""
        side = (value >= self.thresholds.take(node)).astype(np.intp)
        if has_missing:
            side[np.isnan(value)] = 2
        child = self.children.take(side * len(self.node_columns) + node)
        if len(self.category_children):
            subsets = np.flatnonzero(np.isnan(self.thresholds[node]))
            codes = value[subsets].astype(np.intp)
            child[subsets] = self.category_children[self.category_starts[node[subsets]] + codes]
        return child

    @cached_property
    def _leaf_sets(self) -> "LeafSets | None":
        """The terms as sets of leaves, if all are small trees."""
        below = self.children[:2]
        shared = len(np.unique(below)) < below.size
        # Nodes that only missing values lead to would remove the leaves of others.
        n_reached = (below >= 0).sum() + (self.roots >= 0).sum()
        if (
            shared
            or n_reached < len(self.node_columns)
            or np.diff(self.node_starts).max(initial=0) >= _MAX_SET_LEAVES
        ):
            return None
        return LeafSets.of(self)

    # The compiled walk

    @property
    def _form(self) -> str:
        return "walk" if self._leaf_sets is None else f"walk {self._leaf_sets.bits.name}"

    def _compiled_predicate(self, n_rows: int, visits: float) -> Callable[[], bool]:
        """Return a predicate that is true once compiled kernels may take over."""
        if not self._fits_kernel or (
            n_rows < _MIN_ROWS_TO_COMPILE and not use_compiled(0, form=self._form)
        ):
            return lambda: False
        # A process that only predicts a few rows need not read this.
        from edgewise.backend.warmup import kernels_ready

        return kernels_ready(visits, self._form, lambda: (Forest.compile, replace(self)))

    def compile(self) -> None:
        """Compile the walk, for rows with missing values and without."""
        for value in (0.0, np.nan):
            self._walk_compiled(
                np.full((len(self.columns), 1), value), np.empty_like(self.leaves[:1])
            )
        record_compiled(self._form)

    def _run_compiled(
        self,
        rows: RawRows | BinnedTable,
        start: int,
        n_jobs: int,
        walk: Callable[[slice, Reals], None],
    ) -> None:
        """Call a function for blocks of rows from `start` on and their values, on all threads."""
        if not is_compiled(self._form):
            self.compile()
        record_compiled(self._form)
        n_rows = rows.n_rows - start
        with Threads(n_jobs if n_rows >= 2 * _ROWS_PER_THREAD else 1) as threads:
            size = max(1, min(_VALUES_AT_ONCE // (1 + len(self.columns)), -(-n_rows // threads.n)))

            def run(first: int) -> None:
                block = slice(first, first + size)
                walk(block, rows.block(self.columns, block))

            threads.map(run, range(start, rows.n_rows, size))

    def _walk_compiled(
        self, values: Reals, scores: Reals, in_sets: bool | None = None, counts: Exacts = _NO_COUNTS
    ) -> None:
        """Write the result of `walk`, or count the rows in each leaf."""
        kernels = import_module("edgewise.backend.numba.score")
        coding, _ = self._cuts_for_kernel
        if self._in_sets(values) if in_sets is None else in_sets:
            kernels.walk_sets(values, coding, self._sets_for_kernel, scores, counts)
        else:
            kernels.walk(values, coding, self._nodes_for_kernel, scores, counts)

    def _count_compiled(self, values: Reals) -> Exacts:
        """Return the number of rows that end in each leaf."""
        in_sets = self._in_sets(values)
        nodes = self._sets_for_kernel if in_sets else self._nodes_for_kernel
        counts = np.zeros(len(nodes.leaves), dtype=np.int64)
        self._walk_compiled(values, self.leaves[:0], in_sets, counts)
        n_leaves = len(self.leaves)
        if not in_sets:
            return counts[:n_leaves]
        assert self._leaf_sets is not None
        leaves = self._leaf_sets.leaves.ravel()
        return np.bincount(leaves, counts[: len(leaves)], n_leaves).astype(np.int64)

    def _in_sets(self, values: Reals) -> bool:
        return self._leaf_sets is not None and self._leaf_sets.covers(values)

    @cached_property
    def _fits_kernel(self) -> bool:
        """Whether the codes of the compiled walk suffice."""
        counts = [np.bincount(self.node_columns, minlength=1)]
        counts += [np.diff(self.category_starts), np.diff(self.leaf_starts)]
        return all(count.max(initial=0) < _MAX_CODES for count in counts)

    @cached_property
    def _cuts_for_kernel(self) -> tuple["Thresholds", NDArray[np.uint16]]:
        """The thresholds by column, and the number of each node's."""
        kernels = import_module("edgewise.backend.numba.score")
        numeric = ~np.isnan(self.thresholds)
        cuts = np.zeros(len(self.node_columns), dtype=np.uint16)
        padded, sizes = [np.empty(0)], []
        for column in range(len(self.columns)):
            nodes = numeric & (self.node_columns == column)
            distinct = np.unique(self.thresholds[nodes])
            cuts[nodes] = 1 + np.searchsorted(distinct, self.thresholds[nodes])
            n_padded = (1 << len(distinct).bit_length()) - 1
            padded += [distinct, np.full(n_padded - len(distinct), np.inf)]
            sizes.append(len(distinct))
        n_distinct = np.array(sizes, dtype=np.intp)
        bounds = _bounds(np.array([(1 << n.bit_length()) - 1 for n in sizes], dtype=np.intp))
        return kernels.Thresholds(np.concatenate(padded), bounds, n_distinct), cuts

    @cached_property
    def _nodes_for_kernel(self) -> "WalkNodes":
        """The forest as the compiled walk reads it, leaves term by term."""
        kernels = import_module("edgewise.backend.numba.score")
        term = self._term_of_node
        term_of_category = np.repeat(term, np.diff(self.category_starts))
        padding = self._n_padding_terms
        return kernels.WalkNodes(
            np.pad(self._within_term(self.roots, slice(-1)), (0, padding), constant_values=-1),
            np.pad(self.node_starts, (0, padding), mode="edge"),
            self.node_columns,
            self._cuts_for_kernel[1],
            *self._within_term(self.children, term),
            self.category_starts,
            self._within_term(self.category_children, term_of_category),
            # The padding terms end in a row of zeros after the last leaf.
            np.pad(self.leaf_starts, (0, padding), mode="edge"),
            _align(self.leaves, len(self.leaves) + 1),
        )

    def _within_term(self, targets: Columns, term: Any) -> NDArray[np.int32]:
        """Return nodes and leaves numbered from the first of their term."""
        nodes, leaves = targets - self.node_starts[term], targets + self.leaf_starts[term]
        return np.where(targets >= 0, nodes, leaves).astype(np.int32)

    @cached_property
    def _sets_for_kernel(self) -> "LeafSetNodes":
        """The leaf sets as the compiled walk reads them."""
        kernels = import_module("edgewise.backend.numba.score")
        sets, term = self._leaf_sets, self._term_of_node
        assert sets is not None
        node = np.arange(len(self.node_columns)) - self.node_starts[term], term, 0
        is_subset = np.isnan(self.thresholds)
        # The codes of a column are read twice if its missing values go both ways.
        high = sets.missing_high[node] & ~is_subset
        planes, plane = np.unique(2 * self.node_columns + high, return_inverse=True)
        padding = self._n_padding_terms
        node_starts = np.pad(self.node_starts, (0, padding), mode="edge")
        # Each subset of a group of terms has a plane of its own after those.
        subsets = np.flatnonzero(is_subset)
        starts = np.searchsorted(subsets, node_starts[:: kernels.TOGETHER])
        sources = plane[subsets]
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        plane[subsets] = len(planes) + np.arange(len(subsets)) - starts[group]
        leaves = sets.leaves
        return kernels.LeafSetNodes(
            planes // 2,
            np.where(planes % 2, kernels.MISSING, 0).astype(np.uint16),
            starts,
            sources,
            self.category_starts[subsets],
            sets.above.astype(np.uint16),
            node_starts,
            plane,
            np.where(is_subset, 1, self._cuts_for_kernel[1]).astype(np.uint16),
            sets.removed[node].astype(sets.bits),
            _align(self.leaves[leaves.ravel()], leaves.size + padding * leaves.shape[1]),
        )

    @property
    def _term_of_node(self) -> Columns:
        return np.repeat(np.arange(len(self.roots)), np.diff(self.node_starts))

    @property
    def _n_padding_terms(self) -> int:
        """The number of terms that add nothing and fill up the last group of the kernel."""
        from edgewise.backend.numba.score import TOGETHER

        return -len(self.roots) % TOGETHER


def sum_in_order(summands: Reals) -> Reals:
    """Return the sum of rows of numbers from the first to the last."""
    # Along the first axis of several columns NumPy adds row to row, of a single one in pairs.
    return np.add.reduce(summands) if summands.shape[1] > 1 else np.cumsum(summands)[-1:]


def _build(terms: Terms, leaf_starts: Columns, first_leaf: Columns, leaves: Reals) -> Forest:
    """Return the forest of terms; `first_leaf` numbers the leaves of each as in `terms`."""
    node, term = terms.node_of_factor, terms.term_of_factor
    n_factors = len(node)
    leads = terms.starts[:-1][node] == np.arange(n_factors)
    # A factor's node where the factors before it multiply to +1; to -1, the next node.
    first_node = _bounds(np.where(leads, 1, 2))
    n_nodes = int(first_node[-1])
    owner, shift = terms.term_of_node, first_leaf - leaf_starts[:-1]
    children = _skip_constant_nodes(terms, terms.children.astype(np.intp))
    children = _renumber(terms, children, first_node, shift[owner])
    roots = _skip_constant_nodes(terms, terms.firsts[:-1].astype(np.intp))
    roots = _renumber(terms, roots, first_node, shift)

    factor = np.repeat(np.arange(n_factors), np.diff(first_node))
    is_minus = np.arange(n_nodes) > first_node[factor]
    is_last = np.append(leads[1:], True)[factor] if n_factors else leads
    next_node = np.append(first_node[1:], 0)[factor] if n_factors else first_node[:0]
    low, high, zero = children[:, node[factor]]
    plus = np.where(is_last, high, next_node)
    minus = np.where(is_last, low, next_node + 1)
    # The children for an output of -1, 0 and +1.
    sides = np.stack([np.where(is_minus, plus, minus), zero, np.where(is_minus, minus, plus)])
    all_nodes = np.arange(n_nodes)
    missing = sides[1 + np.sign(terms.missing[factor]).astype(np.intp), all_nodes]

    sizes = np.diff(terms.value_starts)[factor]
    category_starts = _bounds(sizes)
    tested_by = np.repeat(all_nodes, sizes)  # the node of each category
    code = np.arange(len(tested_by)) - category_starts[tested_by]
    value = terms.values[terms.value_starts[factor[tested_by]] + code]
    category_children = sides[1 + np.sign(value).astype(np.intp), tested_by]
    term_of_category = term[factor[tested_by]]
    has_scores = terms.kinds[term_of_category] == _SCORES
    category_children[has_scores] = -1 - (leaf_starts[term_of_category] + code)[has_scores]

    columns, node_columns = np.unique(terms.columns[factor], return_inverse=True)
    return Forest(
        columns.astype(np.intp),
        roots,
        _bounds(np.bincount(term[factor], minlength=len(terms))),
        node_columns,
        np.where(sizes > 0, np.nan, terms.thresholds[factor]),
        np.stack([sides[0], sides[2], missing]),
        category_starts,
        category_children,
        leaf_starts,
        leaves,
    )


def _skip_constant_nodes(terms: Terms, targets: Columns) -> Columns:
    """Return nodes and leaves, where nodes that test nothing are replaced by their +1 child."""
    is_constant = np.append(np.diff(terms.starts) == 0, False)
    while (skipped := is_constant[np.maximum(targets, -1)]).any():
        targets = np.where(skipped, terms.children[1][np.maximum(targets, 0)], targets)
    return targets


def _renumber(terms: Terms, targets: Columns, first_node: Columns, shift: Columns) -> Columns:
    """Return nodes and leaves of terms as nodes and leaves of a forest."""
    first_factor = terms.starts[np.maximum(targets, 0)]
    return np.where(targets >= 0, first_node[first_factor], targets + shift)


def _bounds(sizes: Columns) -> Columns:
    """Return the bounds of consecutive ranges of these sizes."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)


def _align(leaves: Reals, n_rows: int) -> Reals:
    """Return leaves, padded with zeros to `n_rows`, so that no vector of 4 splits a cache line."""
    width = leaves.shape[1]
    padded = width + (-width % 4 if width > 1 else 0)
    memory = np.zeros(n_rows * padded + 8)
    first = -memory.ctypes.data % 64 // memory.itemsize
    aligned = memory[first : first + n_rows * padded].reshape(n_rows, padded)
    aligned[: len(leaves), :width] = leaves
    return aligned


@dataclass(frozen=True, eq=False)
class LeafSets:
    """T trees of L leaves, bits from left to right.

    All have M nodes; nodes that pad smaller trees remove no leaves.
    """

    node_columns: Columns  # (M, T), the column of each node, as an index into `Forest.columns`
    thresholds: Reals  # (M, T, 1)
    missing_high: NDArray[np.bool_]  # (M, T, 1), whether a missing value is above the threshold
    removed: NDArray[Any]  # (M, T, 1), the leaves below the threshold
    leaves: Columns  # (T, L), as leaves of the forest
    missing_elsewhere: NDArray[np.bool_]  # (U,), whether missing values go neither low nor high
    # columns, and which of their categories go neither low nor high
    categories_elsewhere: list[tuple[int, NDArray[np.bool_]]]
    above: NDArray[np.bool_]  # whether each of `Forest.category_children` is above
    category_starts: Columns  # (M, T)
    subset_trees: list[Columns]  # by node, the trees in which it tests a subset

    @staticmethod
    def of(forest: Forest) -> "LeafSets":
        """Return the sets of a forest."""
        n_nodes = np.diff(forest.node_starts)
        n_terms, max_nodes = len(n_nodes), int(n_nodes.max(initial=0))
        low, high, missing = forest.children
        # The number of leaves below each node, one below a leaf itself, and the first of them.
        count = np.ones(len(low) + 1, dtype=np.intp)
        first = np.zeros(len(low), dtype=np.intp)
        leaves = np.zeros((n_terms, max_nodes + 1), dtype=np.intp)
        constant = np.flatnonzero(n_nodes == 0)
        leaves[constant, 0] = -1 - forest.roots[constant]
        levels = [forest.node_starts[:-1][n_nodes > m] + m for m in range(max_nodes)]
        for nodes in reversed(levels):
            count[nodes] = count[np.maximum(low[nodes], -1)] + count[np.maximum(high[nodes], -1)]
        term = np.repeat(np.arange(n_terms), n_nodes)
        for nodes in levels:
            middle = first[nodes] + count[np.maximum(low[nodes], -1)]
            for side, start in ((low[nodes], first[nodes]), (high[nodes], middle)):
                inner = side >= 0
                first[side[inner]] = start[inner]
                leaves[term[nodes[~inner]], start[~inner]] = -1 - side[~inner]
        bits = np.min_scalar_type((1 << (max_nodes + 1)) - 1)
        n_below = count[np.maximum(low, -1)].astype(np.uint64)
        removed = ((np.uint64(1) << n_below) - np.uint64(1)) << first.astype(np.uint64)
        missing_elsewhere = np.zeros(len(forest.columns), dtype=bool)
        missing_elsewhere[forest.node_columns[(missing != low) & (missing != high)]] = True
        sizes = np.diff(forest.category_starts)
        tested_by = np.repeat(np.arange(len(low)), sizes)
        above = forest.category_children == high[tested_by]
        elsewhere = ~above & (forest.category_children != low[tested_by])
        categories_elsewhere = []
        for column in np.unique(forest.node_columns[tested_by[elsewhere]]).tolist():
            nodes = (forest.node_columns == column) & (sizes > 0)
            by_node = elsewhere[np.repeat(nodes, sizes)].reshape(nodes.sum(), -1)
            categories_elsewhere.append((column, by_node.any(axis=0)))

        def by_node_and_term(values: NDArray[Any]) -> NDArray[Any]:
            table = np.zeros((max_nodes, n_terms), dtype=values.dtype)
            table[np.arange(len(term)) - forest.node_starts[term], term] = values
            return table

        return LeafSets(
            by_node_and_term(forest.node_columns),
            by_node_and_term(forest.thresholds)[..., None],
            by_node_and_term(missing == high)[..., None],
            by_node_and_term(removed.astype(bits))[..., None],
            leaves,
            missing_elsewhere,
            categories_elsewhere,
            above,
            by_node_and_term(forest.category_starts[:-1]),
            [np.flatnonzero(row) for row in by_node_and_term(sizes)],
        )

    @property
    def bits(self) -> np.dtype[Any]:
        """The type of the sets in the compiled walk."""
        return np.promote_types(self.removed.dtype, np.uint32)

    def covers(self, values: Reals) -> bool:
        """Return whether all values go either low or high at all nodes."""
        if (np.isnan(values).any(axis=1) & self.missing_elsewhere).any():
            return False
        return not any(
            elsewhere[values[column].astype(np.intp)].any()
            for column, elsewhere in self.categories_elsewhere
        )

    def find_leaves(self, values: Reals) -> Columns:
        """Return the leaf of each term that each row reaches, shape (T, n)."""
        removed = np.zeros((len(self.leaves), values.shape[1]), dtype=self.removed.dtype)
        missing = np.isnan(values)
        has_missing = bool(missing.any())
        for m, columns in enumerate(self.node_columns):
            is_high = values.take(columns, axis=0) >= self.thresholds[m]
            if len(trees := self.subset_trees[m]):
                codes = values.take(columns[trees], axis=0).astype(np.intp)
                is_high[trees] = self.above.take(self.category_starts[m, trees, None] + codes)
            if has_missing:
                is_high |= missing.take(columns, axis=0) & self.missing_high[m]
            removed |= is_high * self.removed[m]
        first = ~removed & (removed + removed.dtype.type(1))
        leaf = np.frexp(first.astype(np.float32))[1] - 1
        return self.leaves.take(leaf + self.leaves.shape[1] * np.arange(len(removed))[:, None])
