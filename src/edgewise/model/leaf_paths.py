"""The paths of a forest: what each leaf demands of the columns that were tested on the way to it.

Products share nodes: the second factor follows on both outputs of the first. Unrolled, every node
and every leaf is reached on one path.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.model.forest import Forest


class _Edges(NamedTuple):
    """The distinct children of each node, by node."""

    starts: Columns  # (N + 1,), the edges of node p are from starts[p] to starts[p + 1]
    nodes: Columns
    targets: Columns  # nodes, or -1 - leaves
    of_children: Columns  # (3, N), the edge of each of `Forest.children`
    of_categories: Columns  # and of each of `Forest.category_children`

    @staticmethod
    def of(forest: Forest) -> "_Edges":
        """Return the edges of a forest; nodes that test categories have those of categories."""
        n_nodes, n_leaves = len(forest.node_columns), len(forest.leaves)
        node, width = np.arange(n_nodes), n_nodes + n_leaves + 1
        sizes = np.diff(forest.category_starts)
        of_children = node * width + forest.children + n_leaves
        of_categories = np.repeat(node, sizes) * width + forest.category_children + n_leaves
        is_unused = (sizes > 0) & ~np.isin(of_children, of_categories)
        if len(of_categories):
            first = forest.category_starts[:-1].clip(max=len(of_categories) - 1)
            of_children = np.where(is_unused, of_categories[first], of_children)
        of_all = np.concatenate([of_children.ravel(), of_categories])
        keys, edge = np.unique(of_all, return_inverse=True)
        nodes = keys // width
        return _Edges(
            np.searchsorted(nodes, np.arange(n_nodes + 1)),
            nodes,
            keys % width - n_leaves,
            edge[: 3 * n_nodes].reshape(3, -1),
            edge[3 * n_nodes :],
        )


def unroll(forest: Forest) -> Forest:
    """Return the forest with a node and a leaf of its own for every path."""
    edges = _Edges.of(forest)
    starts = np.concatenate([forest.roots, edges.targets])
    if len(np.unique(starts)) == len(starts):
        return forest
    # Nodes and leaves in the order in which they are found, level by level.
    targets, terms = forest.roots, np.arange(len(forest.roots))
    found: list[tuple[Columns, Columns, NDArray[np.bool_]]] = []
    first_edges: list[Columns] = []
    n_edges = len(targets)
    while len(targets):
        inner = targets >= 0
        found.append((targets, terms, inner))
        node = targets[inner]
        sizes = edges.starts[node + 1] - edges.starts[node]
        begins = np.cumsum(sizes) - sizes
        first_edges.append(n_edges + begins)
        n_edges += int(sizes.sum())
        offset = np.repeat(edges.starts[node] - begins, sizes)
        targets = edges.targets[offset + np.arange(len(offset))]
        terms = np.repeat(terms[inner], sizes)
    target, term, inner = map(np.concatenate, zip(*found, strict=True))
    number = np.empty(len(target), dtype=np.intp)
    bounds = []
    for which, sign in ((inner, 1), (~inner, -1)):
        order = np.argsort(term[which], kind="stable")
        numbers = np.empty(len(order), dtype=np.intp)
        numbers[order] = np.arange(len(order))
        number[which] = numbers if sign > 0 else -1 - numbers
        bounds.append(np.searchsorted(term[which][order], np.arange(len(forest.roots) + 1)))
        if sign > 0:
            node_order = order
        else:
            leaf_order = order
    node = target[inner][node_order]
    # The first entry of each node's children in `number`, less the number of its first edge.
    shift = np.concatenate(first_edges)[node_order] - edges.starts[node]
    sizes = np.diff(forest.category_starts)[node]
    category_starts = np.concatenate([[0], np.cumsum(sizes)])
    tested_by = np.repeat(np.arange(len(node)), sizes)
    entry = (
        np.arange(len(tested_by)) + (forest.category_starts[node] - category_starts[:-1])[tested_by]
    )
    return Forest(
        forest.columns,
        number[: len(forest.roots)],
        bounds[0],
        forest.node_columns[node],
        forest.thresholds[node],
        number[edges.of_children[:, node] + shift],
        category_starts,
        number[edges.of_categories[entry] + shift[tested_by]],
        bounds[1],
        forest.leaves[-1 - target[~inner][leaf_order]],
    )


@dataclass(frozen=True, eq=False)
class Paths:
    """P paths to leaves, and E entries: the columns that each path tests, once each.

    A row takes a path if in every entry its number is from `low` to below `high`, or missing where
    `missing` says so, or a category whose entry in `allowed` is true.
    """

    leaves: Reals  # (P, K)
    numbers: Columns  # (P,), the leaves as `Forest.leaves` numbers them
    starts: Columns  # (P + 1,), the entries of path p are from starts[p] to starts[p + 1]
    columns: Columns  # (E,), as an index into `Forest.columns`
    low: Reals  # (E,)
    high: Reals  # (E,), NaN for no bound: infinity is a number too
    missing: NDArray[np.bool_]  # (E,)
    tables: Columns  # (E,), where the entry's categories start in `allowed`; -1 for numbers
    allowed: NDArray[np.bool_]
    # (E,), the share of the training rows that reach the tests of this column and then pass them
    shares: Reals

    @staticmethod
    def of(forest: Forest, covers: Exacts | None = None) -> "Paths":
        """Return the paths of an unrolled forest, given the training rows in each leaf."""
        edges, n_leaves = _Edges.of(forest), len(forest.leaves)
        # Where every node and leaf comes from: leaves first, then nodes.
        into = np.full(n_leaves + len(forest.node_columns), -1)
        into[np.where(edges.targets < 0, -1 - edges.targets, n_leaves + edges.targets)] = np.arange(
            len(edges.targets)
        )
        # A child that follows on no category does not hang on any root.
        place = np.arange(n_leaves)
        is_root = np.zeros(len(into), dtype=bool)
        is_root[np.where(forest.roots < 0, -1 - forest.roots, n_leaves + forest.roots)] = True
        is_reached, leaf = is_root[:n_leaves].copy(), place
        steps = [(leaf[:0], leaf[:0])]
        while len(leaf):
            is_reached[leaf] = is_root[place]
            leaf, edge = leaf[into[place] >= 0], into[place][into[place] >= 0]
            steps.append((leaf, edge))
            place = n_leaves + edges.nodes[edge]
        leaf, edge = (np.concatenate(arrays) for arrays in zip(*steps, strict=True))
        leaf, edge = leaf[is_reached[leaf]], edge[is_reached[leaf]]
        column = forest.node_columns[edges.nodes[edge]]
        order = np.lexsort((column, leaf))
        leaf, edge, column = leaf[order], edge[order], column[order]
        is_first = np.ones(len(leaf), dtype=bool)
        is_first[1:] = (leaf[1:] != leaf[:-1]) | (column[1:] != column[:-1])
        first = np.flatnonzero(is_first)

        def combine(operation: np.ufunc, values: NDArray) -> NDArray:
            return operation.reduceat(values, first) if len(first) else values[:0]

        node, side = edges.nodes[edge], edges.of_children[:, edges.nodes[edge]] == edge
        threshold = forest.thresholds[node]
        low = combine(np.maximum, np.where(side[0], -np.inf, threshold))
        high = combine(np.fmin, np.where(side[1], np.nan, threshold))
        missing = combine(np.logical_and, side[2])
        shares = np.ones(len(first))
        if covers is not None:
            counts = covers[leaf].astype(np.float64)
            shares = combine(np.multiply, _edge_shares(edges, edge, counts)[edge])
        leaf, column = leaf[first], column[first]
        tables = np.full(len(first), -1)
        allowed, n_allowed = [np.zeros(0, dtype=bool)], 0
        sizes = np.diff(forest.category_starts)
        group = np.cumsum(is_first) - 1
        for u in np.unique(forest.node_columns[sizes > 0]).tolist():
            members = np.flatnonzero(forest.node_columns[node] == u)
            entries, begins = np.unique(group[members], return_index=True)
            n_codes = int(sizes[node[members[0]]])
            codes = forest.category_starts[node[members]][:, None] + np.arange(n_codes)
            passes = edges.of_categories[codes] == edge[members][:, None]
            table = np.logical_and.reduceat(passes, begins, axis=0)
            tables[entries] = n_allowed + n_codes * np.arange(len(entries))
            n_allowed += table.size
            allowed.append(table.ravel())
        sizes = np.bincount(leaf, minlength=n_leaves)[is_reached]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        categories = np.concatenate(allowed)
        return Paths(
            forest.leaves[is_reached],
            np.flatnonzero(is_reached),
            starts,
            column,
            low,
            high,
            missing,
            tables,
            categories,
            shares,
        )

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The entries as compiled code takes them."""
        return (
            self.starts, self.columns, self.low, self.high, self.missing, self.tables, self.allowed
        )  # fmt: skip

    @cached_property
    def sizes(self) -> Columns:
        """The number of entries of each path."""
        return np.diff(self.starts)

    @cached_property
    def pairs(self) -> "PathPairs":
        """The pairs of columns that paths test."""
        n_pairs = self.sizes * (self.sizes - 1) // 2
        bounds = np.concatenate([[0], np.cumsum(n_pairs)])
        keys, width = np.empty(bounds[-1], dtype=np.intp), 1 + int(self.columns.max(initial=0))
        for size in np.unique(self.sizes).tolist():
            which = np.flatnonzero(self.sizes == size)
            columns = self.columns[self.starts[which][:, None] + np.arange(size)]
            # The entries of a path ascend by column.
            i, j = np.triu_indices(size, 1)
            keys[bounds[which][:, None] + np.arange(len(i))] = columns[:, i] * width + columns[:, j]
        distinct, index = np.unique(keys, return_inverse=True)
        return PathPairs(np.stack([distinct // width, distinct % width], axis=1), bounds, index)

    @cached_property
    def cuts(self) -> "PathCuts":
        """The thresholds of all entries."""
        thresholds, low, high = [], np.zeros_like(self.columns), np.zeros_like(self.columns)
        none, missing = np.zeros_like(self.columns), np.zeros_like(self.columns)
        n_columns, line = 1 + int(self.columns.max(initial=-1)), 0
        for u in range(n_columns):
            entries = np.flatnonzero((self.columns == u) & (self.tables < 0))
            bounds = np.concatenate([[-np.inf], self.low[entries], self.high[entries]])
            distinct = np.unique(bounds[~np.isnan(bounds)])
            thresholds.append(distinct)
            low[entries] = line + np.searchsorted(distinct, self.low[entries])
            high[entries] = line + np.searchsorted(distinct, self.high[entries])
            none[entries] = line + len(distinct)
            missing[entries] = line + len(distinct) + 1
            line += len(distinct) + 2
        return PathCuts(
            np.concatenate([np.empty(0), *thresholds]),
            np.concatenate([[0], np.cumsum([len(distinct) for distinct in thresholds])]).astype(
                np.intp
            ),
            low,
            np.where(np.isnan(self.high), none, high),
            np.where(self.missing, missing, none),
        )

    def are_possible(self, has_missing: NDArray[np.bool_], by_shares: bool) -> NDArray[np.bool_]:
        """Return which paths rows can take, given which columns have missing values.

        Else training rows may have taken them, where coalitions go `by_shares`.
        """
        takes_no_number = (self.low >= self.high) & (self.tables < 0)
        is_impossible = takes_no_number & ~has_missing[self.columns]
        if by_shares:
            is_impossible &= self.shares == 0.0
        n_impossible = np.concatenate([[0], np.cumsum(is_impossible)])[self.starts]
        return np.diff(n_impossible) == 0

    def passes(self, entries: Columns, values: Reals) -> NDArray[np.bool_]:
        """Return whether rows, given as columns of shape (U, n), pass entries, shape (..., n)."""
        value = values[self.columns[entries]]
        low, high, missing, tables = (
            numbers[entries][..., None]
            for numbers in (self.low, self.high, self.missing, self.tables)
        )
        passed = ((low <= value) & ~(value >= high)) | (missing & np.isnan(value))
        if len(self.allowed):
            codes = np.where(tables >= 0, tables + np.nan_to_num(value, posinf=0.0), 0)
            allowed = self.allowed[codes.astype(np.intp)]
            passed = (passed & (tables < 0)) | (allowed & (tables >= 0))
        return np.asarray(passed, dtype=bool)


class PathPairs(NamedTuple):
    """The pairs of columns that paths test: pairs of entries, path by path."""

    columns: Columns  # (pairs, 2)
    starts: Columns  # (P + 1,), the pairs of path p are from starts[p] to starts[p + 1]
    numbers: Columns  # of each pair of entries, the pair of columns


class PathCuts(NamedTuple):
    """The thresholds of paths by column, ascending from minus infinity, and how entries use them.

    Every column has two lines more than thresholds: one for no values, one for missing ones.
    """

    thresholds: Reals
    starts: Columns  # (columns + 1,)
    low: Columns  # the line of each entry's lower bound
    high: Columns  # and of its upper one, or that of no values
    added: Columns  # the line of missing values if it takes them, else that of no values


def _edge_shares(edges: _Edges, edge: Columns, covers: Reals) -> Reals:
    """Return the share of a node's training rows that take each edge.

    `covers` has the rows at the end of each step of a path; `edge` are the steps. The rows of a
    node that no training row reaches would take all its edges alike.
    """
    n_rows = np.bincount(edge, covers, len(edges.nodes))
    n_nodes = len(edges.starts) - 1
    n_rows_of_node = np.bincount(edges.nodes, n_rows, n_nodes)[edges.nodes]
    alike = 1.0 / np.diff(edges.starts)[edges.nodes]
    return np.where(n_rows_of_node > 0, n_rows / np.maximum(n_rows_of_node, 1.0), alike)
