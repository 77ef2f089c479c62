"""A whole tree in one compiled call, grown best first.

`growth.grow_best_first` grows the same tree node by node, with the same sums and ties. The rows of
a leaf are two ranges of one array of rows, of searched rows and of others, which are partitioned in
place when the leaf is split.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import MISSING_AUTO, GrownTree, Growth, split_directions
from edgewise.backend.host import SignedProblem, SignedVectors, aligned_zeros, lanes_for, width_of
from edgewise.backend.numba.histogram import sum_dense, sum_few, sum_rows
from edgewise.backend.numba.plans import BatchColumns, Lease
from edgewise.backend.numba.scan import (
    ColumnBins,
    SplitQuery,
    gain_of,
    mark_rising,
    scan_edge,
    scan_gain,
    scan_values,
)
from edgewise.backend.numba.vectors import copy_to, inlined, inner, kernel
from edgewise.common.dtypes import ROW, Codes, Columns, Exacts, Integers, Rows, Signs
from edgewise.common.threads import Threads
from edgewise.data.partition import Partition

# A batch's histograms stay in a core's own cache beside a block of signed weights.
_BATCH_BYTES = 1 << 19

# With less work than this for a node, handing it to threads costs more than it saves.
_THREADS_FROM = 1 << 18

# Codes that exceed a core's cache are also kept row by row, for leaves of fewer rows than one in
# this many, whose codes of one column are in different cache lines.
_LARGE, _FAR = 1 << 21, 8
_ROWS_AT_ONCE = 1 << 13


class _Layout(NamedTuple):
    """Columns, and where the bins of each are in a leaf's histogram.

    Batch b has the columns from ``batches[b]`` on, its bins are from ``starts[b]`` on. The first
    `n_cut` columns are split by cuts, the others into two sets of values. `by_row` has the codes
    row by row, or nothing.
    """

    codes: Codes
    columns: BatchColumns
    batches: Columns
    starts: Columns
    n_cut: int
    by_row: Codes


# Spans of fewer rows are parted and summed on one thread.
_SPAN = 1 << 14

# A leaf of a growing tree, or a node that was one: the bounds of its searched rows and of its other
# rows in `_Growing.order`, the number of searched rows at all processes, its slot in the memory for
# histograms, its best cut and the improvement by it, its lower child (the higher follows; -1 for a
# leaf), and its number in the finished tree: a node's, or -1 - a leaf's.
_LEAF = np.dtype(
    [
        ("start", np.intp),
        ("stop", np.intp),
        ("other_start", np.intp),
        ("other_stop", np.intp),
        ("size", np.intp),
        ("slot", np.intp),
        ("column", np.intp),
        ("first", np.intp),
        ("missing", np.intp),
        ("improvement", np.int64),
        ("child", np.intp),
        ("number", np.intp),
    ]
)


class _Growing(NamedTuple):
    """A tree under construction."""

    order: Rows  # the rows, the searched ones first, each leaf's together; one slot is spare
    spare: Rows  # memory for moving rows
    leaves: NDArray[np.void]  # of type `_LEAF`, in the order in which they were made
    sums: Exacts  # (2, leaves, lanes), the sums of S and of |S| over the searched rows
    sides: Signs  # (leaves, codes), the side of each code in a leaf's split; 0 where it abstains
    # (2, columns, 3), each column's best split of the newest two leaves: its gain or edge, first
    # bin and missing side; and the sides of values where it is not a cut.
    splits: Exacts
    value_sides: Signs
    counts: Columns  # of leaves made, of leaves now, and of searches
    # Of each column, summed over all searches, and last the mass of the searched rows.
    improvements: Exacts
    histograms: Integers  # (slots, bins)
    # With interactions, the columns that are tested above each leaf, -1 after the last, and which
    # columns may be tested there.
    paths: Columns  # (leaves, nodes)
    allowed: NDArray[np.bool_]  # (leaves, columns)


class ProblemRows(NamedTuple):
    """The rows to search, S of a problem, its lanes, and constraints (constraints, n).

    S and the constraints are copied to one array if there are constraints.
    """

    rows: Rows
    signed: Integers
    lanes: int
    constraints: Integers


class SplitSearch(NamedTuple):
    """The columns that are searched for splits, and the splits that are looked for.

    `sets` are the sets of columns that may be tested together, as `base.Interactions` has them, or
    none where all may. `directions` are those of the columns, or none where all are free.
    """

    layout: _Layout
    query: SplitQuery
    sets: NDArray[np.bool_]  # (sets, columns)
    directions: Signs


class FinishedTree(NamedTuple):
    """A finished tree, as `GrownTree` has it, in memory for the largest."""

    nodes: Columns
    sides: Signs
    totals: Exacts
    masses: Exacts
    leaves: Columns


@inner
def _newest(tree):  # type: ignore[no-untyped-def]
    """Return the newest two leaves, the smaller first; -1 is the second of the root."""
    low, high = tree.counts[0] - 2, tree.counts[0] - 1
    if low < 0:
        return high, np.intp(-1)
    if tree.leaves[high].size < tree.leaves[low].size:
        return high, low
    return low, high


@inner
def _bins_of(q, layout, weights):  # type: ignore[no-untyped-def]
    """Return where the bins of a column are among those of its batch."""
    lanes = 1 << (weights[3].ndim - 1)
    start = layout.columns.bases[q] * lanes
    return start, start + weights[2] * layout.columns.n_codes[q] * lanes


@inlined
def _sum_batch(batch, layout, sets, weights, tree):  # type: ignore[no-untyped-def]
    """Sum the columns of a batch over the smaller of the newest leaves. OUT tree.histograms."""
    smaller, _ = _newest(tree)
    rows = tree.order[tree.leaves[smaller].start : tree.leaves[smaller].stop]
    low, high = layout.batches[batch], layout.batches[batch + 1]
    start, stop = layout.starts[batch], layout.starts[batch + 1]
    bins = tree.histograms[tree.leaves[smaller].slot, start:stop]
    positions, bases, n_codes, has_missing = layout.columns
    columns = (positions[low:high], bases[low:high], n_codes[low:high], has_missing[low:high])
    if len(sets) and smaller > 0:
        # Few columns may be tested below others.
        first = np.zeros(1, dtype=bases.dtype)
        for q in range(low, high):
            if tree.allowed[smaller, q]:
                begin, end = _bins_of(q, layout, weights)
                single = (
                    positions[q : q + 1], first, n_codes[q : q + 1], has_missing[q : q + 1],
                )  # fmt: skip
                sum_dense(layout.codes, single, weights, rows, bins[begin:end])
    elif len(rows) < len(layout.by_row) // _FAR:
        sum_few(layout.by_row, low, columns, weights, rows, bins)
    else:
        sum_dense(layout.codes, columns, weights, rows, bins)


@inlined
def _search(  # type: ignore[no-untyped-def]
    first_batch, last_batch, sums, split_search, directions, by_edge, weights, tree
):
    """Find the best split of each column of some batches, in the newest leaves.

    With `sums` the histograms of the smaller leaf are summed first; else they are there already.
    `directions` are for sets of values, None without any; `by_edge` is None where splits are
    compared by gain: Numba then compiles no more than is needed. OUT the tree's histograms, splits
    and value_sides.
    """
    layout, query, sets, monotonic = split_search
    histograms, (_, _, _, width) = tree.histograms, weights
    _, bases, n_codes, has_missing = layout.columns
    lanes, n_lanes = 1 << (width.ndim - 1), tree.sums.shape[2]
    any_cut = np.empty((0, 2), dtype=np.bool_)
    smaller, larger = _newest(tree)
    scratch = np.empty((4, n_lanes), dtype=histograms.dtype)
    edges = np.empty(n_lanes, dtype=np.int64)
    keys = np.empty(tree.sides.shape[1])
    orders = np.empty((2, tree.sides.shape[1]), dtype=np.intp)
    rising = np.empty((tree.sides.shape[1] if len(monotonic) else 0, 2), dtype=np.bool_)
    for batch in range(first_batch, last_batch):
        low, high = layout.batches[batch], layout.batches[batch + 1]
        start, stop = layout.starts[batch], layout.starts[batch + 1]
        if sums:
            _sum_batch(batch, layout, sets, weights, tree)
        small_bins = histograms[tree.leaves[smaller].slot, start:stop]
        if larger >= 0:
            # It has the memory of its parent: the difference is its histograms.
            large_bins = histograms[tree.leaves[larger].slot, start:stop]
            if len(sets):
                for q in range(low, high):
                    if tree.allowed[larger, q]:
                        begin, end = _bins_of(q, layout, weights)
                        for at in range(begin, end):
                            large_bins[at] -= small_bins[at]
            else:
                for at in range(len(large_bins)):
                    large_bins[at] -= small_bins[at]
        for side in range(2 if larger >= 0 else 1):
            leaf = smaller if side == 0 else larger
            bins = histograms[tree.leaves[leaf].slot, start:stop]
            totals = tree.sums[0, leaf]
            for q in range(low, high):
                column = ColumnBins(bases[q], n_codes[q], has_missing[q])
                best, first, missing = np.int64(-1), 0, 0
                if len(sets) and not tree.allowed[leaf, q]:
                    tree.splits[side, q, 0] = best
                    continue
                if directions is not None and q >= layout.n_cut:
                    best = scan_values(
                        bins, column, query, directions, totals, lanes, edges, keys, orders,
                        tree.value_sides[side, q - layout.n_cut],
                    )  # fmt: skip
                if q < layout.n_cut:
                    cuts = any_cut
                    if len(monotonic) and monotonic[q] != 0:
                        cuts = rising[: n_codes[q]]
                        mark_rising(
                            bins, column, query, totals, np.int64(monotonic[q]), lanes, edges, cuts
                        )
                    if by_edge is None:
                        best, first, missing = scan_gain(
                            bins, column, query, totals, cuts, width, scratch, orders[0]
                        )
                    else:
                        best, first, missing = scan_edge(
                            bins, column, query, totals, cuts, width, edges
                        )
                tree.splits[side, q, 0] = best
                tree.splits[side, q, 1] = first
                tree.splits[side, q, 2] = missing


@inner
def _unsplit_score(totals, query):  # type: ignore[no-untyped-def]
    """Return the edge of the constant, or its gain: see `base.gains`."""
    squares, edge = np.int64(0), np.int64(0)
    for k in range(query.n_scores):
        squares += totals[k] * totals[k]
        edge += abs(totals[k])
    if not query.by_gain:
        return edge
    mass = totals[query.n_scores]
    return gain_of(squares, mass, query.damping) if mass > 0 else np.int64(0)


@inlined
def _set_best_split(side, index, layout, tree, query):  # type: ignore[no-untyped-def]
    """Give a leaf the best split of its columns, the first of equal ones."""
    best, leaf = np.int64(0), tree.leaves[index]
    tree.counts[2] += 1
    # The root is split if any split has an edge, other leaves if that beats the constant.
    unsplit = _unsplit_score(tree.sums[0, index], query) if index > 0 else np.int64(0)
    baseline = unsplit
    if index == 0 and query.by_gain:
        baseline = _unsplit_score(tree.sums[0, 0], query)
    for k in range(query.n_scores):
        tree.improvements[-1] += tree.sums[1, index, k]
    for q in range(tree.splits.shape[1]):
        tree.improvements[q] += max(tree.splits[side, q, 0] - baseline, 0)
        if tree.splits[side, q, 0] > best:
            best = tree.splits[side, q, 0]
            leaf.column, leaf.first, leaf.missing = (
                q, tree.splits[side, q, 1], tree.splits[side, q, 2],
            )  # fmt: skip
    if best > 0:
        leaf.improvement = best - unsplit
        if leaf.column >= layout.n_cut:
            copy_to(tree.sides[index], tree.value_sides[side, leaf.column - layout.n_cut])


@inner
def _set_sides(index, layout, tree, missing):  # type: ignore[no-untyped-def]
    """Set the side of every code in a leaf's cut, and of missing values in other tables."""
    leaf, sides = tree.leaves[index], tree.sides[index]
    q = leaf.column
    if q >= layout.n_cut:
        return
    n_values = layout.columns.n_codes[q]
    if layout.columns.has_missing[q]:
        n_values -= 1
        sides[n_values] = leaf.missing
    else:
        # Where training had no missing values and learned no side, cuts abstain on them.
        sides[n_values] = 0 if missing == MISSING_AUTO else missing
    for code in range(n_values):
        sides[code] = 1 if code >= leaf.first else -1


@inner
def _add_leaf(tree, start, stop, other_start, other_stop):  # type: ignore[no-untyped-def]
    leaf = tree.leaves[tree.counts[0]]
    leaf.start, leaf.stop, leaf.child, leaf.improvement = start, stop, -1, 0
    leaf.other_start, leaf.other_stop, leaf.size = other_start, other_stop, stop - start
    tree.counts[0] += 1


@inner
def _partition_rows(start, stop, codes, sides, order, spare):  # type: ignore[no-untyped-def]
    """Move low rows to the front; return where they end. OUT order, spare (the high rows)."""
    low, high = start, start
    for p in range(start, stop):
        row = order[p]
        is_high = sides[codes[row]] > 0
        order[low], spare[high] = row, row
        low += not is_high
        high += is_high
    return low


@inner
def _partition_range(start, stop, codes, sides, tree):  # type: ignore[no-untyped-def]
    """Move high rows behind low ones; return where they start."""
    middle = _partition_rows(start, stop, codes, sides, tree.order, tree.spare)
    for p in range(stop - middle):
        tree.order[middle + p] = tree.spare[start + p]
    return middle


@inner
def _add_children(parent, middle, other_middle, tree):  # type: ignore[no-untyped-def]
    """Add the children of a leaf, whose high rows start at `middle` and at `other_middle`."""
    parent_leaf = tree.leaves[parent]
    parent_leaf.child = tree.counts[0]
    _add_leaf(tree, parent_leaf.start, middle, parent_leaf.other_start, other_middle)
    _add_leaf(tree, middle, parent_leaf.stop, other_middle, parent_leaf.other_stop)


@inner
def _assign_slots(parent, tree):  # type: ignore[no-untyped-def]
    """Give the larger of the newest leaves its parent's histogram slot, the smaller a free one."""
    smaller, larger = _newest(tree)
    tree.leaves[larger].slot, tree.leaves[smaller].slot = tree.leaves[parent].slot, tree.counts[1]
    tree.counts[1] += 1


@inner
def _allow_columns(parent, sets, tree):  # type: ignore[no-untyped-def]
    """Set the columns that may be tested in the newest leaves; -1 is the parent of the root."""
    smaller, larger = _newest(tree)
    path, allowed = tree.paths[smaller], tree.allowed[smaller]
    depth = 0
    if parent >= 0:
        while tree.paths[parent, depth] >= 0:
            path[depth] = tree.paths[parent, depth]
            depth += 1
        path[depth] = tree.leaves[parent].column
        depth += 1
    path[depth] = -1
    for q in range(len(allowed)):
        allowed[q] = False
    for members in sets:
        is_open = True
        for at in range(depth):
            is_open = is_open and members[path[at]]
        if is_open:
            for q in range(len(allowed)):
                allowed[q] = allowed[q] or members[q]
    if larger >= 0:
        for at in range(depth + 1):
            tree.paths[larger, at] = path[at]
        for q in range(len(allowed)):
            tree.allowed[larger, q] = allowed[q]


@inlined
def _split_leaf(parent, layout, weights, tree):  # type: ignore[no-untyped-def]
    """Split a leaf; sum S over the smaller child, the larger has the remainder."""
    parent_leaf, sides = tree.leaves[parent], tree.sides[parent]
    codes = layout.codes[layout.columns.positions[parent_leaf.column]]
    middle = _partition_range(parent_leaf.start, parent_leaf.stop, codes, sides, tree)
    other = _partition_range(parent_leaf.other_start, parent_leaf.other_stop, codes, sides, tree)
    _add_children(parent, middle, other, tree)
    _assign_slots(parent, tree)
    smaller, larger = _newest(tree)
    rows = tree.order[tree.leaves[smaller].start : tree.leaves[smaller].stop]
    totals, masses = tree.sums[0], tree.sums[1]
    for k in range(totals.shape[1]):
        totals[smaller, k] = masses[smaller, k] = 0
    sum_rows(weights, rows, totals[smaller], masses[smaller])
    for k in range(totals.shape[1]):
        totals[larger, k] = totals[parent, k] - totals[smaller, k]
        masses[larger, k] = masses[parent, k] - masses[smaller, k]


@inlined
def _choose_leaf(layout, query, tree):  # type: ignore[no-untyped-def]
    """Return the leaf that gains most, the earliest of equal ones, or -1 for none."""
    smaller, larger = _newest(tree)
    for side in range(2 if larger >= 0 else 1):
        index = smaller if side == 0 else larger
        # Every split leaves one side of a single row empty.
        if index == 0 or tree.leaves[index].size > 1:
            _set_best_split(side, index, layout, tree, query)
    best, best_leaf = np.int64(0), np.intp(-1)
    for other in range(tree.counts[0]):
        leaf = tree.leaves[other]
        if leaf.child < 0 and leaf.improvement > best:
            best, best_leaf = leaf.improvement, np.intp(other)
    if best_leaf >= 0:
        _set_sides(best_leaf, layout, tree, query.missing)
    return best_leaf


@inlined
def _finish(n_scores, by_gain, tree, finished):  # type: ignore[no-untyped-def]
    """Assign nodes and leaves their numbers, and rows their leaves. OUT tree.leaves, finished."""
    n_made, n_nodes, number = tree.counts[0], tree.counts[1] - 1, 0
    for index in range(n_made):
        leaf = tree.leaves[index]
        end = number
        if leaf.child < 0:
            leaf.number = -1 - number
            for p in range(leaf.start, leaf.stop):
                finished.leaves[tree.order[p]] = number
            for p in range(leaf.other_start, leaf.other_stop):
                finished.leaves[tree.order[p]] = number
            number += 1
        else:
            # Nodes are numbered in the order of their splits, in which their children were index.
            leaf.number = (leaf.child - 1) // 2
            end = n_nodes + 1 + leaf.number
        for k in range(n_scores):
            finished.totals[end, k] = tree.sums[0, index, k]
            # One score column has its mass beside it, which need not be the size of its weights.
            finished.masses[end, k] = tree.sums[1, index, k + (by_gain and n_scores == 1)]
    for index in range(n_made):
        leaf = tree.leaves[index]
        if leaf.child >= 0:
            node = finished.nodes[leaf.number]
            node[0], node[1], node[2] = leaf.column, leaf.first, leaf.missing
            node[3] = tree.leaves[leaf.child].number
            node[4] = tree.leaves[leaf.child + 1].number
            copy_to(finished.sides[leaf.number], tree.sides[index])


@inner
def _put_rows(start, stop, source, n_columns, weights, tree):  # type: ignore[no-untyped-def]
    """Copy some of the source's rows to the tree, and S there. OUT weights, tree.order."""
    rows, flat_signed, lanes_given, constraints = source
    signed, n, _, width = weights
    lanes = 1 << (width.ndim - 1)
    for p in range(start, stop):
        row = np.intp(rows[p])
        tree.order[p] = rows[p]
        if len(constraints):
            for k in range(n_columns):
                to = ((k // lanes) * n + row) * lanes + k % lanes
                at = ((k // lanes_given) * n + row) * lanes_given + k % lanes_given
                signed[to] = flat_signed[at]
            for a in range(len(constraints)):
                k = n_columns + a
                signed[((k // lanes) * n + row) * lanes + k % lanes] = constraints[a, row]


@inner
def _begin(rows, n, tree):  # type: ignore[no-untyped-def]
    """Start with the root: `rows`, ascending, then the others of n rows."""
    tree.counts[0], tree.counts[1], tree.counts[2] = 0, 1, 0
    for q in range(len(tree.improvements)):
        tree.improvements[q] = 0
    n_rows, p, at = len(rows), 0, len(rows)
    if n_rows < n:
        for row in range(n):
            is_searched = p < n_rows and rows[p] == row
            # Without a branch: always stored, kept if outside of the sample; one slot is spare.
            tree.order[at] = row
            at += not is_searched
            p += is_searched
    _add_leaf(tree, 0, n_rows, n_rows, n)
    tree.leaves[0].slot = 0
    for k in range(tree.sums.shape[2]):
        tree.sums[0, 0, k] = tree.sums[1, 0, k] = 0


@kernel
def walk(codes, nodes, sides, leaf_of):  # type: ignore[no-untyped-def]
    """Find the leaves of other rows. IN codes (by column, then row), nodes, sides. OUT leaf_of."""
    for row in range(len(leaf_of)):
        node = np.intp(0)
        while node >= 0:
            side = sides[node, codes[nodes[node, 0], row]]
            if side == 0:
                node = -2 - len(nodes) - node
            else:
                node = nodes[node, 4] if side > 0 else nodes[node, 3]
        leaf_of[row] = -1 - node


@kernel
def grow(  # type: ignore[no-untyped-def]
    is_new, most_rows, source, split_search, directions, by_edge, weights, tree, finished
):
    """Grow a tree on one thread; return a leaf of more than `most_rows` that is to be split, or -1.

    A tree that is not new goes on from where its newest leaves have been searched. IN the arguments
    up to by_edge. OUT weights, tree, finished.
    """
    layout, query, sets, _ = split_search
    if is_new:
        _put_rows(0, len(source.rows), source, query.n_columns, weights, tree)
        _begin(source.rows, weights[1], tree)
        sum_rows(weights, source.rows, tree.sums[0, 0], tree.sums[1, 0])
        if len(sets):
            _allow_columns(np.intp(-1), sets, tree)
    is_searched = not is_new
    while tree.counts[1] < len(finished.nodes):
        if not is_searched:
            _search(
                0, len(layout.starts) - 1, True, split_search, directions, by_edge, weights, tree
            )
        leaf = _choose_leaf(layout, query, tree)
        if leaf < 0:
            break
        if tree.leaves[leaf].size > most_rows:
            return leaf
        _split_leaf(leaf, layout, weights, tree)
        if len(sets):
            _allow_columns(leaf, sets, tree)
        is_searched = False
    _finish(query.n_scores, query.by_gain, tree, finished)
    return np.intp(-1)


# The steps that threads per_thread, and between which processes sum what each has counted.
put_rows = kernel(_put_rows.py_func)
begin = kernel(_begin.py_func)
sum_batch = kernel(_sum_batch.py_func)
search = kernel(_search.py_func)
partition_rows = kernel(_partition_rows.py_func)
add_children = kernel(_add_children.py_func)
assign_slots = kernel(_assign_slots.py_func)
allow_columns = kernel(_allow_columns.py_func)


class TreeGrower:
    """The memory for trees on some columns of a table, and their growth."""

    def __init__(
        self,
        codes: Codes,
        positions: Columns,
        shapes: tuple[Columns, NDArray[np.bool_]],
        growth: Growth,
        problem: SignedProblem,
        threads: Threads,
    ) -> None:
        self._n_scores, self._n_columns = problem.n_scores, problem.n_scores + problem.mass_column
        directions = None
        if growth.n_cut < len(positions):
            directions = split_directions(growth.criterion, problem.n_scores)
        self.kinds = (directions, None if growth.criterion == "gain" else True)
        self._threads = threads
        chunks, _, lanes = problem.shape
        n_constraints = len(constraint_columns(problem, growth))
        if n_constraints:
            chunks, lanes = lanes_for(self._n_columns + n_constraints)
        dtype, n = problem.signed.dtype, problem.n_rows
        self._layout = _lay_out(
            (codes, positions, growth.n_cut), shapes, (chunks, lanes), dtype.itemsize, threads.n
        )
        self._has_grown, self.all_rows = False, np.arange(problem.n_rows, dtype=ROW)
        # S with the constraints, where there are any.
        signed = aligned_zeros((chunks * n * lanes * (n_constraints > 0),), dtype.type)
        self._vectors: SignedVectors = (signed, n, chunks, width_of(lanes))
        # One more, for the missing values of a table whose like training did not see.
        max_leaves, most_codes = growth.max_leaf_nodes, int(shapes[0].max()) + 1
        self.finished = FinishedTree(
            np.empty((max_leaves, 5), dtype=np.intp),
            np.zeros((max_leaves, most_codes), dtype=np.int8),
            np.empty((2 * max_leaves, problem.n_scores), dtype=np.int64),
            np.empty((2 * max_leaves, problem.n_scores), dtype=np.int64),
            np.empty(n, dtype=np.intp),
        )
        self._spare: list[Columns] = []
        self.tree = _Growing(
            np.empty(n + 1, dtype=ROW),
            np.empty(n, dtype=ROW),
            np.zeros(2 * max_leaves, dtype=_LEAF),
            np.zeros((2, 2 * max_leaves, chunks * lanes), dtype=np.int64),
            np.zeros((2 * max_leaves, most_codes), dtype=np.int8),
            np.zeros((2, len(positions), 3), dtype=np.int64),
            np.zeros((2, len(positions) - growth.n_cut, most_codes), dtype=np.int8),
            np.zeros(3, dtype=np.intp),
            np.zeros(len(positions) + 1, dtype=np.int64),
            aligned_zeros((max_leaves, int(self._layout.starts[-1])), dtype.type),
            np.zeros((2 * max_leaves, max_leaves), dtype=np.intp),
            np.zeros((2 * max_leaves, len(positions)), dtype=np.bool_),
        )

    def grow(
        self, problem: SignedProblem, growth: Growth, partition: Partition | None = None
    ) -> GrownTree:
        """Grow a tree; all processes of a partition, which hold the rows, do the same together."""
        lease = self.lease_leaves()
        rows = self.all_rows if problem.rows is None else problem.rows
        source, weights = self.arrange(problem, growth, rows)
        split_search, tree = self.split_search(growth), self.tree
        arguments = (source, split_search, *self.kinds, weights, tree, self.finished)
        n, n_columns = problem.n_rows, len(growth.columns)
        if partition is None and (self._threads.n == 1 or problem.size * n_columns < _THREADS_FROM):
            grow(True, n, *arguments)
            return self._build_tree(growth, lease)
        self._threads.map(
            lambda span: put_rows(*span, source, self._n_columns, weights, tree),
            self._threads.spans(len(rows), _SPAN),
        )
        begin(rows, n, tree)
        if len(split_search.sets):
            allow_columns(-1, split_search.sets, tree)
        # All processes split every leaf together.
        most_rows = _THREADS_FROM // n_columns if partition is None else -1
        partition = partition or Partition(n)
        leaves, sums = tree.leaves, tree.sums
        leaves["size"][0] = partition.sum(len(rows))
        sums[:, 0] = partition.sum(self._sums_of(0, weights))
        self._search(split_search, weights, partition)
        while (parent := int(grow(False, most_rows, *arguments))) >= 0:
            add_children(parent, *self._partition_rows(parent), tree)
            sizes = leaves["size"][tree.counts[0] - 2 : tree.counts[0]]
            sizes[:] = partition.sum(sizes)
            assign_slots(parent, tree)
            if len(split_search.sets):
                allow_columns(parent, split_search.sets, tree)
            smaller, larger = self._newest()
            sums[:, smaller] = partition.sum(self._sums_of(smaller, weights))
            sums[:, larger] = sums[:, parent] - sums[:, smaller]
            if tree.counts[1] < growth.max_leaf_nodes:
                self._search(split_search, weights, partition)
        return self._build_tree(growth, lease)

    def arrange(
        self, problem: SignedProblem, growth: Growth, rows: Rows
    ) -> tuple[ProblemRows, SignedVectors]:
        """Return rows of a problem, and the memory of S as these are searched."""
        constraints = constraint_columns(problem, growth)
        source = ProblemRows(rows, problem.vectors[0], problem.shape[2], constraints)
        return source, self._vectors if len(constraints) else problem.vectors

    def _partition_rows(self, parent: int) -> list[int]:
        """Move the high rows of a leaf, searched ones and others, behind low ones; return where."""
        leaf, layout, tree = self.tree.leaves[parent], self._layout, self.tree
        codes, sides = layout.codes[layout.columns.positions[leaf["column"]]], tree.sides[parent]
        ranges = [
            [(int(leaf[at]) + a, int(leaf[at]) + b) for a, b in self._threads.spans(size, _SPAN)]
            for at, size in (
                ("start", int(leaf["stop"] - leaf["start"])),
                ("other_start", int(leaf["other_stop"] - leaf["other_start"])),
            )
        ]
        lows = iter(
            self._threads.map(
                lambda span: int(partition_rows(*span, codes, sides, tree.order, tree.spare)),
                [*ranges[0], *ranges[1]],
            )
        )
        return [self._join_spans([(a, next(lows), b) for a, b in spans]) for spans in ranges]

    def _join_spans(self, spans: list[tuple[int, int, int]]) -> int:
        """Put the high rows of parted spans after all low ones; return where they start."""
        order, at = self.tree.order, spans[0][1]
        for start, low, _ in spans[1:]:
            # Low rows only move down, past those that have moved.
            order[at : at + low - start] = order[start:low]
            at += low - start
        middle = at
        for start, low, stop in spans:
            order[at : at + stop - low] = self.tree.spare[start : start + stop - low]
            at += stop - low
        return middle

    def _sums_of(self, index: int, weights: SignedVectors) -> Exacts:
        """Return the sums of S and of |S| over the rows of a leaf."""
        tree, start = self.tree, int(self.tree.leaves["start"][index])

        def add(span: tuple[int, int]) -> Exacts:
            # Each in memory of its own: threads that write to one cache line wait for each other.
            sums = np.zeros(tree.sums.shape[::2], dtype=np.int64)
            sum_rows(weights, tree.order[start + span[0] : start + span[1]], *sums)
            return sums

        spans = self._threads.spans(int(tree.leaves["stop"][index]) - start, _SPAN)
        return np.sum(self._threads.map(add, spans), axis=0)

    def _search(
        self, split_search: SplitSearch, weights: SignedVectors, partition: Partition
    ) -> None:
        """Find the best split of each column in the newest leaves, on the rows of all processes."""
        layout, tree = split_search.layout, self.tree
        batches = range(len(layout.starts) - 1)
        if not partition.is_whole:
            sets = split_search.sets
            self._threads.map(lambda batch: sum_batch(batch, layout, sets, weights, tree), batches)
            small_bins = tree.histograms[tree.leaves["slot"][self._newest()[0]]]
            small_bins[:] = partition.sum(small_bins)
        arguments = (partition.is_whole, split_search, *self.kinds, weights, tree)
        self._threads.map(lambda batch: search(batch, batch + 1, *arguments), batches)

    def _newest(self) -> tuple[int, int]:
        """Return the newest two leaves, the smaller first."""
        low, high = int(self.tree.counts[0]) - 2, int(self.tree.counts[0]) - 1
        sizes = self.tree.leaves["size"]
        return (high, low) if low < 0 or sizes[high] < sizes[low] else (low, high)

    def split_search(self, growth: Growth) -> SplitSearch:
        """Return the columns to search, and the splits to find."""
        query = SplitQuery(
            self._n_scores, self._n_columns, growth.criterion == "gain", False, growth.missing,
            np.array(growth.min_sums, dtype=np.int64), growth.damping,
        )  # fmt: skip
        layout = self._layout
        size = len(layout.columns.positions) * layout.codes.shape[1]
        # From the second tree on the same columns on, codes by row are worth their memory.
        if self._has_grown and size >= _LARGE and not len(layout.by_row):
            positions, n_rows = layout.columns.positions, layout.codes.shape[1]
            by_row = np.empty((n_rows, len(positions)), dtype=layout.codes.dtype)
            for start in range(0, n_rows, _ROWS_AT_ONCE):
                block = slice(start, start + _ROWS_AT_ONCE)
                by_row[block] = layout.codes[positions, block].T
            self._layout = layout._replace(by_row=by_row)
        self._has_grown = True
        sets = np.empty((0, len(growth.columns)), dtype=np.bool_)
        interactions = growth.column_constraints.interactions
        if interactions is not None:
            sets = np.ascontiguousarray(interactions.members[:, growth.columns])
        return SplitSearch(self._layout, query, sets, growth.directions)

    def lease_leaves(self) -> Lease:
        """Give the next tree memory of its own for the leaf of each row."""
        memory = self._spare.pop() if self._spare else np.empty(len(self.all_rows), dtype=np.intp)
        self.finished = self.finished._replace(leaves=memory)
        return Lease(memory, self._spare)

    def _build_tree(self, growth: Growth, lease: Lease) -> GrownTree:
        n_nodes, tree = int(self.tree.counts[1]) - 1, self.finished
        n_ends = 2 * n_nodes + 1
        return GrownTree(
            tree.nodes[:n_nodes].copy(),
            tree.totals[:n_ends].copy(),
            tree.masses[:n_ends].copy(),
            lease.array,
            growth=growth,
            sides=tree.sides[:n_nodes].copy(),
            n_searches=int(self.tree.counts[2]),
            improvements=self.tree.improvements[:-1].copy(),
            mass=int(self.tree.improvements[-1]),
            lease=lease,
        )


def constraint_columns(problem: SignedProblem, growth: Growth) -> Integers:
    """Return the columns whose sums in a leaf have a minimum."""
    masses = problem.constraints
    if not growth.min_sums:
        return np.empty((0, 0), dtype=problem.signed.dtype)
    assert isinstance(masses, SignedProblem)
    return masses.signed[:, :, 0]


def _lay_out(
    columns: tuple[Codes, Columns, int],
    shapes: tuple[Columns, NDArray[np.bool_]],
    shape: tuple[int, int],
    itemsize: int,
    n_threads: int,
) -> _Layout:
    """Return the columns in batches: work for every thread, histograms that stay in cache."""
    (codes, positions, n_cut), (n_codes, has_missing), (chunks, lanes) = columns, shapes, shape
    n_fitting = _BATCH_BYTES // (int(n_codes.max()) * chunks * lanes * itemsize)
    # Whole fours, since histograms are summed four columns at a time.
    per_thread = -(-len(positions) // (4 * n_threads)) * 4
    size = min(per_thread, max(4, n_fitting // 4 * 4))
    batches = np.append(np.arange(0, len(positions), size), len(positions)).astype(np.intp)
    ends = np.concatenate(([0], np.cumsum(n_codes * chunks))).astype(np.intp)
    bases = ends[:-1] - np.repeat(ends[batches[:-1]], np.diff(batches))
    starts = ends[batches] * lanes
    all_columns = BatchColumns(positions, bases, n_codes, has_missing)
    return _Layout(codes, all_columns, batches, starts, n_cut, codes[:0])
