"""A whole tree in one compiled call, grown best first.

What `growth.grow_best_first` does node by node, with the same sums and ties, and so the same tree.
The rows of a leaf are a range of one array of rows, parted in place when the leaf is split, and
another range of the rows that no search looks at: each has its leaf when the tree is finished.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import MISSING_AUTO, GrownTree, Growth, split_directions
from edgewise.backend.host import SignedProblem, aligned_zeros, lanes_for, width_of
from edgewise.backend.numba.histogram import sum_dense, sum_few, sum_rows
from edgewise.backend.numba.plans import Lease
from edgewise.backend.numba.scan import gain_of, scan_edge, scan_gain, scan_values
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

    Batch b has the columns from ``batches[b]`` on; its bins are from ``starts[b]`` on, the bins of
    column q from vector ``bases[q]`` of the batch on. Columns from `n_cut` on are split into two
    sets of values, those before by cuts. `by_row` has the codes row by row, or nothing.
    """

    codes: Codes
    places: Columns
    bases: Columns
    n_codes: Columns
    has_missing: NDArray[np.bool_]
    batches: Columns
    starts: Columns
    n_cut: int
    by_row: Codes


# Spans of fewer rows are parted and summed on one thread.
_SPAN = 1 << 14

# A leaf of a growing tree, or a node that was one: its rows that are searched and those that are
# not, how many are searched at all processes, its memory for histograms, its best cut, what that
# gains, the lower of its parts (the higher follows), -1 for a leaf, and its number when finished:
# that of a node, or -1 - that of a leaf.
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
    """A tree under construction.

    `order` holds the rows, first those that are searched, each leaf's together, with room for one
    more; `spare` is memory for parting them. `leaves` are in the order in which they were made,
    `sums` of shape (2, leaves, lanes) are the sums of S and of |S| over their rows that are
    searched, ``sides[leaf, code]`` the side of a leaf's split on which a code is: -1, +1, or 0
    where it abstains. `found` holds gain or edge, first bin and missing side of each column's best
    split of the newest two leaves, `sets` the sides of values where it is not a cut; `counts` are
    the leaves made, the leaves there are, and the searches, `improvements` what each column
    improves, summed over all searches, and last the mass of their rows.
    """

    order: Rows
    spare: Rows
    leaves: NDArray[np.void]
    sums: Exacts
    sides: Signs
    found: Exacts
    sets: Signs
    counts: Columns
    improvements: Exacts


class GrowthOptions(NamedTuple):
    """What a search looks for: see `Growth`.

    Of `n_own` columns of S the first `n_scores` are score columns; the amounts follow.
    """

    n_scores: int
    n_own: int
    by_gain: bool
    absent: int
    least: Exacts
    damping: float


class _Finished(NamedTuple):
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


@inlined
def _sum(batch, layout, signed, n, width, tree, histograms):  # type: ignore[no-untyped-def]
    """Sum the columns of a batch over the smaller of the newest leaves. OUT histograms."""
    chunks, (smaller, _) = tree.sums.shape[2] >> (width.ndim - 1), _newest(tree)
    rows = tree.order[tree.leaves[smaller].start : tree.leaves[smaller].stop]
    low, high = layout.batches[batch], layout.batches[batch + 1]
    leaf_bins = histograms[
        tree.leaves[smaller].slot, layout.starts[batch] : layout.starts[batch + 1]
    ]
    bins = layout.bases[low:high], layout.n_codes[low:high]
    if len(rows) < len(layout.by_row) // _FAR:
        sum_few(layout.by_row, low, *bins, signed, n, rows, chunks, width, leaf_bins)
    else:
        sum_dense(
            layout.codes, layout.places[low:high], *bins, signed, n, rows, chunks, width, leaf_bins
        )


@inlined
def _search(  # type: ignore[no-untyped-def]
    first_batch, last_batch, sums, layout, question, directions, by_edge, signed, n, width, tree,
    histograms,
):  # fmt: skip
    """Find the best split of each column of some batches, in the newest leaves.

    With `sums` the histograms of the smaller leaf are summed first; else they are there already.
    `directions` are for sets of values, None without any; `by_edge` is None where splits are
    compared by gain: Numba then compiles no more than is needed. OUT tree.found, tree.sets.
    """
    n_scores, min_sums, damping = question.n_scores, question.least, question.damping
    lanes = 1 << (width.ndim - 1)
    chunks, n_sums = tree.sums.shape[2] // lanes, question.n_own + len(min_sums)
    any_side = np.empty((0, 2), dtype=np.bool_)
    smaller, larger = _newest(tree)
    scratch = np.empty((4, chunks * lanes), dtype=histograms.dtype)
    edges = np.empty(chunks * lanes, dtype=np.int64)
    keys = np.empty(tree.sides.shape[1])
    orders = np.empty((2, tree.sides.shape[1]), dtype=np.intp)
    for batch in range(first_batch, last_batch):
        low, high = layout.batches[batch], layout.batches[batch + 1]
        start, stop = layout.starts[batch], layout.starts[batch + 1]
        if sums:
            _sum(batch, layout, signed, n, width, tree, histograms)
        small_bins = histograms[tree.leaves[smaller].slot, start:stop]
        if larger >= 0:
            # It has the memory of the leaf that was split: what is left is the larger part's.
            large_bins = histograms[tree.leaves[larger].slot, start:stop]
            for at in range(len(large_bins)):
                large_bins[at] -= small_bins[at]
        for side in range(2 if larger >= 0 else 1):
            leaf = smaller if side == 0 else larger
            bins = histograms[tree.leaves[leaf].slot, start:stop]
            totals = tree.sums[0, leaf]
            for q in range(low, high):
                base, n_codes, gone = layout.bases[q], layout.n_codes[q], layout.has_missing[q]
                best, first, missing = np.int64(-1), 0, 0
                if directions is not None and q >= layout.n_cut:
                    best = scan_values(
                        bins, base, n_codes, question, directions, totals, n_sums, lanes, edges,
                        keys, orders, tree.sets[side, q - layout.n_cut],
                    )  # fmt: skip
                if q < layout.n_cut:
                    if by_edge is None:
                        best, first, missing = scan_gain(
                            bins, base, n_codes, gone, question.absent, totals, n_scores, min_sums,
                            damping, any_side, width, scratch, orders[0],
                        )  # fmt: skip
                    else:
                        best, first, missing = scan_edge(
                            bins, base, n_codes, gone, False, question.absent, totals, n_scores,
                            n_sums, min_sums, any_side, width, edges,
                        )  # fmt: skip
                tree.found[side, q, 0] = best
                tree.found[side, q, 1] = first
                tree.found[side, q, 2] = missing


@inner
def _unsplit_score(totals, question):  # type: ignore[no-untyped-def]
    """Return the edge of the constant, or its gain: see `base.gains`."""
    squares, edge = np.int64(0), np.int64(0)
    for k in range(question.n_scores):
        squares += totals[k] * totals[k]
        edge += abs(totals[k])
    if not question.by_gain:
        return edge
    mass = totals[question.n_scores]
    return gain_of(squares, mass, question.damping) if mass > 0 else np.int64(0)


@inlined
def _settle(side, place, layout, tree, question):  # type: ignore[no-untyped-def]
    """Give a leaf the best split of its columns, the first of equal ones."""
    best, leaf = np.int64(0), tree.leaves[place]
    tree.counts[2] += 1
    # The root is split if any split has an edge, other leaves if that beats the constant.
    alone = _unsplit_score(tree.sums[0, place], question) if place > 0 else np.int64(0)
    gathers = (
        alone if place > 0 or not question.by_gain else _unsplit_score(tree.sums[0, 0], question)
    )
    for k in range(question.n_scores):
        tree.improvements[-1] += tree.sums[1, place, k]
    for q in range(tree.found.shape[1]):
        tree.improvements[q] += max(tree.found[side, q, 0] - gathers, 0)
        if tree.found[side, q, 0] > best:
            best = tree.found[side, q, 0]
            leaf.column, leaf.first, leaf.missing = (
                q, tree.found[side, q, 1], tree.found[side, q, 2],
            )  # fmt: skip
    if best > 0:
        leaf.improvement = best - alone
        if leaf.column >= layout.n_cut:
            copy_to(tree.sides[place], tree.sets[side, leaf.column - layout.n_cut])


@inner
def _note_sides(place, layout, tree, absent):  # type: ignore[no-untyped-def]
    """Note on which side of a leaf's cut every code is, missing values in other tables too."""
    leaf, sides = tree.leaves[place], tree.sides[place]
    q = leaf.column
    if q >= layout.n_cut:
        return
    n_values = layout.n_codes[q] - 1 if layout.has_missing[q] else layout.n_codes[q]
    for code in range(n_values):
        sides[code] = 1 if code >= leaf.first else -1
    if layout.has_missing[q]:
        sides[n_values] = leaf.missing
    else:
        # Where training had no missing values and learned no side, cuts abstain on them.
        sides[n_values] = 0 if absent == MISSING_AUTO else absent


@inner
def _add_leaf(tree, start, stop, other_start, other_stop):  # type: ignore[no-untyped-def]
    leaf = tree.leaves[tree.counts[0]]
    leaf.start, leaf.stop, leaf.child, leaf.improvement = start, stop, -1, 0
    leaf.other_start, leaf.other_stop, leaf.size = other_start, other_stop, stop - start
    tree.counts[0] += 1


@inner
def _part_rows(start, stop, codes, sides, order, spare):  # type: ignore[no-untyped-def]
    """Part some rows; return where the low ones end, which stay. OUT spare: the high ones."""
    low, high = start, start
    for p in range(start, stop):
        row = order[p]
        is_high = sides[codes[row]] > 0
        order[low], spare[high] = row, row
        low += not is_high
        high += is_high
    return low


@inner
def _part_range(start, stop, codes, sides, tree):  # type: ignore[no-untyped-def]
    """Part some rows, the high ones after the low ones; return where they start."""
    middle = _part_rows(start, stop, codes, sides, tree.order, tree.spare)
    for p in range(stop - middle):
        tree.order[middle + p] = tree.spare[start + p]
    return middle


@inner
def _add_parts(parent, middle, other_middle, tree):  # type: ignore[no-untyped-def]
    """Add the parts of a leaf."""
    parent_leaf = tree.leaves[parent]
    parent_leaf.child = tree.counts[0]
    _add_leaf(tree, parent_leaf.start, middle, parent_leaf.other_start, other_middle)
    _add_leaf(tree, middle, parent_leaf.stop, other_middle, parent_leaf.other_stop)


@inner
def _assign_slots(parent, tree):  # type: ignore[no-untyped-def]
    """Give the larger of the newest leaves its parent's memory, the smaller one that is free."""
    smaller, larger = _newest(tree)
    tree.leaves[larger].slot, tree.leaves[smaller].slot = tree.leaves[parent].slot, tree.counts[1]
    tree.counts[1] += 1


@inlined
def _split(parent, layout, signed, n, width, tree):  # type: ignore[no-untyped-def]
    """Part a leaf; sum S over the smaller of its parts, the larger has the rest."""
    parent_leaf, sides = tree.leaves[parent], tree.sides[parent]
    codes = layout.codes[layout.places[parent_leaf.column]]
    middle = _part_range(parent_leaf.start, parent_leaf.stop, codes, sides, tree)
    other = _part_range(parent_leaf.other_start, parent_leaf.other_stop, codes, sides, tree)
    _add_parts(parent, middle, other, tree)
    _assign_slots(parent, tree)
    smaller, larger = _newest(tree)
    rows = tree.order[tree.leaves[smaller].start : tree.leaves[smaller].stop]
    totals, masses = tree.sums[0], tree.sums[1]
    for k in range(totals.shape[1]):
        totals[smaller, k] = masses[smaller, k] = 0
    chunks = totals.shape[1] >> (width.ndim - 1)
    sum_rows(signed, rows, n, chunks, width, totals[smaller], masses[smaller])
    for k in range(totals.shape[1]):
        totals[larger, k] = totals[parent, k] - totals[smaller, k]
        masses[larger, k] = masses[parent, k] - masses[smaller, k]


@inlined
def _choose(layout, question, tree):  # type: ignore[no-untyped-def]
    """Return the leaf that gains most, the earliest of equal ones, or -1 for none."""
    smaller, larger = _newest(tree)
    for side in range(2 if larger >= 0 else 1):
        index = smaller if side == 0 else larger
        # Every split leaves one side of a single row empty.
        if index == 0 or tree.leaves[index].size > 1:
            _settle(side, index, layout, tree, question)
    best, chosen = np.int64(0), np.intp(-1)
    for other in range(tree.counts[0]):
        leaf = tree.leaves[other]
        if leaf.child < 0 and leaf.improvement > best:
            best, chosen = leaf.improvement, np.intp(other)
    if chosen >= 0:
        _note_sides(chosen, layout, tree, question.absent)
    return chosen


@inlined
def _finish(n_scores, by_gain, tree, finished):  # type: ignore[no-untyped-def]
    """Give nodes and leaves their numbers, and every row its leaf. OUT tree.leaves, finished."""
    n_made, n_nodes, number = tree.counts[0], tree.counts[1] - 1, 0
    for made in range(n_made):
        leaf = tree.leaves[made]
        end = number
        if leaf.child < 0:
            leaf.number = -1 - number
            for p in range(leaf.start, leaf.stop):
                finished.leaves[tree.order[p]] = number
            for p in range(leaf.other_start, leaf.other_stop):
                finished.leaves[tree.order[p]] = number
            number += 1
        else:
            # Nodes are numbered in the order of their splits, in which their children were made.
            leaf.number = (leaf.child - 1) // 2
            end = n_nodes + 1 + leaf.number
        for k in range(n_scores):
            finished.totals[end, k] = tree.sums[0, made, k]
            # One score column has its mass beside it, which need not be the size of its weights.
            finished.masses[end, k] = tree.sums[1, made, k + (by_gain and n_scores == 1)]
    for made in range(n_made):
        leaf = tree.leaves[made]
        if leaf.child >= 0:
            node = finished.nodes[leaf.number]
            node[0], node[1], node[2] = leaf.column, leaf.first, leaf.missing
            node[3] = tree.leaves[leaf.child].number
            node[4] = tree.leaves[leaf.child + 1].number
            copy_to(finished.sides[leaf.number], tree.sides[made])


@inner
def _put_rows(start, stop, rows, weights, n_own, signed, n, width, tree):  # type: ignore[no-untyped-def]
    """Take some of the rows that are searched, and S there.

    `weights` are S as the problem has it, its lanes, and each row's amounts, which are put together
    unless there are no amounts. OUT signed, tree.order.
    """
    lanes, (flat_signed, lanes_given, constraints) = 1 << (width.ndim - 1), weights
    for p in range(start, stop):
        row = np.intp(rows[p])
        tree.order[p] = rows[p]
        if len(constraints):
            for k in range(n_own):
                to = ((k // lanes) * n + row) * lanes + k % lanes
                at = ((k // lanes_given) * n + row) * lanes_given + k % lanes_given
                signed[to] = flat_signed[at]
            for a in range(len(constraints)):
                k = n_own + a
                signed[((k // lanes) * n + row) * lanes + k % lanes] = constraints[a, row]


@inner
def _begin(rows, n, tree):  # type: ignore[no-untyped-def]
    """Start with the root alone: `rows`, ascending, and those of n that are not among them."""
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
    is_new, most_rows, rows, weights, layout, question, directions, by_edge, signed, n, width, tree,
    max_leaf_nodes, histograms, finished,
):  # fmt: skip
    """Grow a tree on one thread; return a leaf of more than `most_rows` that is to be split, or -1.

    A tree that is not new goes on from where its newest leaves have been searched. IN the arguments
    up to by_edge. OUT signed, tree, histograms, finished.
    """
    n_batches, chunks = len(layout.starts) - 1, tree.sums.shape[2] >> (width.ndim - 1)
    if is_new:
        _put_rows(0, len(rows), rows, weights, question.n_own, signed, n, width, tree)
        _begin(rows, n, tree)
        sum_rows(signed, rows, n, chunks, width, tree.sums[0, 0], tree.sums[1, 0])
    is_searched = not is_new
    while tree.counts[1] < max_leaf_nodes:
        if not is_searched:
            _search(
                0, n_batches, True, layout, question, directions, by_edge, signed, n, width, tree,
                histograms,
            )  # fmt: skip
        chosen = _choose(layout, question, tree)
        if chosen < 0:
            break
        if tree.leaves[chosen].size > most_rows:
            return chosen
        _split(chosen, layout, signed, n, width, tree)
        is_searched = False
    _finish(question.n_scores, question.by_gain, tree, finished)
    return np.intp(-1)


# Its parts, which threads share, and between which processes sum what they found.
put_rows = kernel(_put_rows.py_func)
begin = kernel(_begin.py_func)
sum_batch = kernel(_sum.py_func)
search = kernel(_search.py_func)
part_rows = kernel(_part_rows.py_func)
add_parts = kernel(_add_parts.py_func)
assign_slots = kernel(_assign_slots.py_func)


class TreeGrower:
    """The memory for trees on some columns of a table, and their growth."""

    def __init__(
        self,
        codes: Codes,
        places: Columns,
        shapes: tuple[Columns, NDArray[np.bool_]],
        growth: Growth,
        problem: SignedProblem,
        threads: Threads,
    ) -> None:
        self._columns = (problem.n_scores, problem.n_scores + problem.mass_column)
        directions = None
        if growth.n_cut < len(places):
            directions = split_directions(growth.criterion, problem.n_scores)
        self.kinds = (directions, None if growth.criterion == "gain" else True)
        self._threads = threads
        chunks, _, lanes = problem.shape
        n_amounts = len(constraint_columns(problem, growth))
        if n_amounts:
            chunks, lanes = lanes_for(self._columns[1] + n_amounts)
        self.width = width_of(lanes)
        dtype, n = problem.signed.dtype, problem.n_rows
        self._layout = _lay_out(
            (codes, places, growth.n_cut), shapes, (chunks, lanes), dtype.itemsize, threads.n
        )
        self._has_grown, self.all_rows = False, np.arange(problem.n_rows, dtype=ROW)
        self.signed = aligned_zeros((chunks * n * lanes * (n_amounts > 0),), dtype.type)
        # One more, for the missing values of a table whose like training did not see.
        max_leaves, most_codes = growth.max_leaf_nodes, int(shapes[0].max()) + 1
        self.histograms = aligned_zeros((max_leaves, int(self._layout.starts[-1])), dtype.type)
        self.finished = _Finished(
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
            np.zeros((2, len(places), 3), dtype=np.int64),
            np.zeros((2, len(places) - growth.n_cut, most_codes), dtype=np.int8),
            np.zeros(3, dtype=np.intp),
            np.zeros(len(places) + 1, dtype=np.int64),
        )

    def grow(
        self, problem: SignedProblem, growth: Growth, partition: Partition | None = None
    ) -> GrownTree:
        """Grow a tree; all processes of a partition, which hold the rows, do the same together."""
        lease = self.lease_leaves()
        question, constraints = self.question(growth), constraint_columns(problem, growth)
        rows = self.all_rows if problem.rows is None else problem.rows
        n, flat_signed = problem.n_rows, problem.flat_signed
        signed = self.signed if len(constraints) else flat_signed
        layout, max_leaves, tree = self.layout(), growth.max_leaf_nodes, self.tree
        weights, data = (flat_signed, problem.shape[2], constraints), (signed, n, self.width, tree)
        asked = (rows, weights, layout, question, *self.kinds, *data)
        results = (max_leaves, self.histograms, self.finished)
        work = problem.size * len(layout.places)
        if partition is None and (self._threads.n == 1 or work < _THREADS_FROM):
            grow(True, n, *asked, *results)
            return self._build_tree(growth, lease)
        self._threads.map(
            lambda span: put_rows(*span, rows, weights, question.n_own, *data),
            self._threads.spans(len(rows), _SPAN),
        )
        begin(rows, n, tree)
        # All processes split every leaf together.
        most_rows = _THREADS_FROM // len(layout.places) if partition is None else -1
        partition = partition or Partition(n)
        leaves, sums = tree.leaves, tree.sums
        leaves["size"][0] = partition.sum(len(rows))
        sums[:, 0] = partition.sum(self._sums_of(0, signed, n))
        self._search(question, data, partition)
        while (parent := int(grow(False, most_rows, *asked, *results))) >= 0:
            add_parts(parent, *self._partition_rows(parent), tree)
            sizes = leaves["size"][tree.counts[0] - 2 : tree.counts[0]]
            sizes[:] = partition.sum(sizes)
            assign_slots(parent, tree)
            smaller, larger = self._newest()
            sums[:, smaller] = partition.sum(self._sums_of(smaller, signed, n))
            sums[:, larger] = sums[:, parent] - sums[:, smaller]
            if tree.counts[1] < max_leaves:
                self._search(question, data, partition)
        return self._build_tree(growth, lease)

    def _partition_rows(self, parent: int) -> list[int]:
        """Part the rows of a leaf, those searched and others; return where the high ones start."""
        leaf, layout, tree = self.tree.leaves[parent], self._layout, self.tree
        codes, sides = layout.codes[layout.places[leaf["column"]]], tree.sides[parent]
        ranges = [
            [(int(leaf[at]) + a, int(leaf[at]) + b) for a, b in self._threads.spans(size, _SPAN)]
            for at, size in (
                ("start", int(leaf["stop"] - leaf["start"])),
                ("other_start", int(leaf["other_stop"] - leaf["other_start"])),
            )
        ]
        lows = iter(
            self._threads.map(
                lambda span: int(part_rows(*span, codes, sides, tree.order, tree.spare)),
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

    def _sums_of(self, made: int, signed: Integers, n: int) -> Exacts:
        """Return the sums of S and of |S| over the rows of a leaf."""
        tree, start = self.tree, int(self.tree.leaves["start"][made])
        chunks = tree.sums.shape[2] >> (self.width.ndim - 1)

        def add(span: tuple[int, int]) -> Exacts:
            # Each in memory of its own: threads that write to one cache line wait for each other.
            sums = np.zeros(tree.sums.shape[::2], dtype=np.int64)
            rows = tree.order[start + span[0] : start + span[1]]
            sum_rows(signed, rows, n, chunks, self.width, *sums)
            return sums

        spans = self._threads.spans(int(tree.leaves["stop"][made]) - start, _SPAN)
        return np.sum(self._threads.map(add, spans), axis=0)

    def _search(self, question: GrowthOptions, data: tuple[Any, ...], partition: Partition) -> None:
        """Find the best split of each column in the newest leaves, on the rows of all processes."""
        layout, tree = self._layout, self.tree
        batches = range(len(layout.starts) - 1)
        if not partition.is_whole:
            self._threads.map(
                lambda batch: sum_batch(batch, layout, *data, self.histograms), batches
            )
            small_bins = self.histograms[tree.leaves["slot"][self._newest()[0]]]
            small_bins[:] = partition.sum(small_bins)
        asked, sums = (layout, question, *self.kinds, *data, self.histograms), partition.is_whole
        self._threads.map(lambda batch: search(batch, batch + 1, sums, *asked), batches)

    def _newest(self) -> tuple[int, int]:
        """Return the newest two leaves, the smaller first."""
        low, high = int(self.tree.counts[0]) - 2, int(self.tree.counts[0]) - 1
        sizes = self.tree.leaves["size"]
        return (high, low) if low < 0 or sizes[high] < sizes[low] else (low, high)

    def question(self, growth: Growth) -> GrowthOptions:
        """Return what searches look for."""
        min_sums = np.array(growth.min_sums, dtype=np.int64)
        by_gain = growth.criterion == "gain"
        return GrowthOptions(*self._columns, by_gain, growth.missing, min_sums, growth.damping)

    def layout(self) -> _Layout:
        """Return the layout, with codes by row from the second tree on the same columns on."""
        layout = self._layout
        size = len(layout.places) * layout.codes.shape[1]
        if self._has_grown and size >= _LARGE and not len(layout.by_row):
            positions, n_rows = layout.places, layout.codes.shape[1]
            by_row = np.empty((n_rows, len(positions)), dtype=layout.codes.dtype)
            for start in range(0, n_rows, _ROWS_AT_ONCE):
                block = slice(start, start + _ROWS_AT_ONCE)
                by_row[block] = layout.codes[positions, block].T
            self._layout = layout._replace(by_row=by_row)
        self._has_grown = True
        return self._layout

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
    fitting = _BATCH_BYTES // (int(n_codes.max()) * chunks * lanes * itemsize)
    # Whole fours, since histograms are summed four columns at a time.
    share = -(-len(positions) // (4 * n_threads)) * 4
    size = min(share, max(4, fitting // 4 * 4))
    batches = np.append(np.arange(0, len(positions), size), len(positions)).astype(np.intp)
    ends = np.concatenate(([0], np.cumsum(n_codes * chunks))).astype(np.intp)
    bases = ends[:-1] - np.repeat(ends[batches[:-1]], np.diff(batches))
    starts = ends[batches] * lanes
    return _Layout(codes, positions, bases, n_codes, has_missing, batches, starts, n_cut, codes[:0])
