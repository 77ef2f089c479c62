"""A whole tree of cuts in one compiled call: grown best first, split by gain.

What `learners.tree` does node by node, with the same sums and the same ties, and so the same tree.
The rows of a leaf are a range of one array of rows, parted in place when the leaf is split.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import GAIN_SCALE
from edgewise.backend.base import LEARN, GrownTree, Growth
from edgewise.backend.host import SignedProblem, aligned_zeros, lanes_for, width_of
from edgewise.backend.numba.histogram import sum_dense, sum_rows
from edgewise.backend.numba.scan import scan_gain
from edgewise.backend.numba.vectors import inner, kernel
from edgewise.common.dtypes import ROW, Codes, Columns, Exacts, Integers, Rows
from edgewise.common.threads import Threads

# A batch's histograms stay in a core's own cache beside a block of signed weights.
_BATCH_BYTES = 1 << 19

# With less work than this for a node, handing it to threads costs more than it saves.
_THREADS_FROM = 1 << 18

_ANY_SIDE = np.empty((0, 2), dtype=bool)


class _Layout(NamedTuple):
    """Columns, and where the bins of each are in a leaf's histogram.

    Batch b has the columns from ``batches[b]`` on; its bins are from ``starts[b]`` on, the bins of
    column q from vector ``bases[q]`` of the batch on.
    """

    codes: Codes
    places: Columns
    bases: Columns
    n_codes: Columns
    has_missing: NDArray[np.bool_]
    batches: Columns
    starts: Columns


# A leaf of a growing tree, or a node that was one: its rows, its memory for histograms, its best
# cut, what that gains, and the lower of its parts (the higher follows), -1 for a leaf.
_LEAF = np.dtype(
    [
        ("start", np.intp),
        ("stop", np.intp),
        ("slot", np.intp),
        ("column", np.intp),
        ("first", np.intp),
        ("missing", np.intp),
        ("improvement", np.int64),
        ("child", np.intp),
    ]
)


class _Growing(NamedTuple):
    """A tree under construction.

    `order` holds the rows, each leaf's together, and `spare` is memory for parting them; `leaves`
    are in the order in which they were made, `sums` of shape (2, leaves, lanes) are the sums of S
    and of |S| over their rows. `found` holds gain, first bin and missing side of each column's best
    cut, in the newest two leaves; `counts` the leaves made, the leaves there are, and the searches.
    `improvements` sums what each column gains over all searches; last is the mass of their rows.
    """

    order: Rows
    spare: Rows
    leaves: NDArray[np.void]
    sums: Exacts
    found: Exacts
    counts: Columns
    improvements: Exacts


class _Finished(NamedTuple):
    """A finished tree, as `GrownTree` has it, in memory for the largest."""

    nodes: Columns
    totals: Exacts
    masses: Exacts
    leaf_of: Columns


@inner
def _newest(tree):  # type: ignore[no-untyped-def]
    """Return the newest two leaves, the smaller first; -1 is the second of the root."""
    low, high = tree.counts[0] - 2, tree.counts[0] - 1
    if low < 0:
        return high, np.intp(-1)
    size = tree.leaves[low].stop - tree.leaves[low].start
    if tree.leaves[high].stop - tree.leaves[high].start < size:
        return high, low
    return low, high


@inner
def _search(first_batch, last_batch, layout, question, signed, n, width, tree, histograms):  # type: ignore[no-untyped-def]
    """Find the best cut of each column of some batches, in the newest leaves. OUT tree.found."""
    n_scores, absent, least, damping, heavy = question
    lanes = 1 << (width.ndim - 1)
    chunks = tree.sums.shape[2] // lanes
    smaller, larger = _newest(tree)
    rows = tree.order[tree.leaves[smaller].start : tree.leaves[smaller].stop]
    scratch = np.empty((4, chunks * lanes), dtype=histograms.dtype)
    for batch in range(first_batch, last_batch):
        low, high = layout.batches[batch], layout.batches[batch + 1]
        start, stop = layout.starts[batch], layout.starts[batch + 1]
        bases, n_codes = layout.bases[low:high], layout.n_codes[low:high]
        part = histograms[tree.leaves[smaller].slot, start:stop]
        sum_dense(
            layout.codes, layout.places[low:high], bases, n_codes, signed, n, rows, chunks, width,
            part,
        )  # fmt: skip
        if larger >= 0:
            # It has the memory of the leaf that was split: what is left is the larger part's.
            rest = histograms[tree.leaves[larger].slot, start:stop]
            for at in range(len(rest)):
                rest[at] -= part[at]
        for side in range(2 if larger >= 0 else 1):
            leaf = smaller if side == 0 else larger
            bins = histograms[tree.leaves[leaf].slot, start:stop]
            for q in range(low, high):
                gain, first, missing = scan_gain(
                    bins, layout.bases[q], layout.n_codes[q], layout.has_missing[q], absent,
                    tree.sums[0, leaf], n_scores, least, damping, heavy, width, scratch,
                )  # fmt: skip
                tree.found[side, q, 0] = gain
                tree.found[side, q, 1] = first
                tree.found[side, q, 2] = missing


@inner
def _gain_alone(totals, n_scores, damping):  # type: ignore[no-untyped-def]
    """Return the gain of the constant: see `base.gains`."""
    squares, mass = np.int64(0), totals[n_scores]
    for k in range(n_scores):
        squares += totals[k] * totals[k]
    if mass == 0:
        return np.int64(0)
    return np.int64(np.rint(np.float64(squares) / (np.float64(mass) + damping) * GAIN_SCALE))


@inner
def _settle(side, leaf, tree, n_scores, damping):  # type: ignore[no-untyped-def]
    """Give a leaf the best of its columns' cuts, the first of equal ones."""
    best = np.int64(0)
    own = tree.leaves[leaf]
    # Every cut leaves one side of a single row empty.
    if leaf > 0 and own.stop - own.start < 2:
        return
    tree.counts[2] += 1
    alone = _gain_alone(tree.sums[0, leaf], n_scores, damping)
    tree.improvements[-1] += tree.sums[0, leaf, n_scores]
    for q in range(tree.found.shape[1]):
        tree.improvements[q] += max(tree.found[side, q, 0] - alone, 0)
        if tree.found[side, q, 0] > best:
            best = tree.found[side, q, 0]
            own.column, own.first, own.missing = q, tree.found[side, q, 1], tree.found[side, q, 2]
    if best > 0:
        # The root is split if any cut has an edge, other leaves if that beats the constant.
        own.improvement = best - alone if leaf > 0 else best


@inner
def _is_high(codes, row, leaf, gone):  # type: ignore[no-untyped-def]
    """Return whether a row is on the positive side of a leaf's cut."""
    code = np.intp(codes[row])
    return leaf.missing > 0 if code == gone else code >= leaf.first


@inner
def _gone(layout, q):  # type: ignore[no-untyped-def]
    """Return the code of a column's missing values, -1 where there are none."""
    return layout.n_codes[q] - 1 if layout.has_missing[q] else np.intp(-1)


@inner
def _add_leaf(tree, start, stop):  # type: ignore[no-untyped-def]
    leaf = tree.leaves[tree.counts[0]]
    leaf.start, leaf.stop, leaf.child, leaf.improvement = start, stop, -1, 0
    tree.counts[0] += 1


@inner
def _split(parent, layout, signed, n, width, tree):  # type: ignore[no-untyped-def]
    """Part the rows of a leaf by its cut."""
    lanes = 1 << (width.ndim - 1)
    order, spare, whole = tree.order, tree.spare, tree.leaves[parent]
    codes, gone = layout.codes[layout.places[whole.column]], _gone(layout, whole.column)
    middle, n_high = whole.start, 0
    for p in range(whole.start, whole.stop):
        row = order[p]
        is_high = _is_high(codes, row, whole, gone)
        order[middle], spare[n_high] = row, row
        middle += not is_high
        n_high += is_high
    for p in range(n_high):
        order[middle + p] = spare[p]
    whole.child = tree.counts[0]
    _add_leaf(tree, whole.start, middle)
    _add_leaf(tree, middle, whole.stop)
    smaller, larger = _newest(tree)
    tree.leaves[larger].slot, tree.leaves[smaller].slot = whole.slot, tree.counts[1]
    tree.counts[1] += 1
    rows = order[tree.leaves[smaller].start : tree.leaves[smaller].stop]
    totals, masses = tree.sums[0], tree.sums[1]
    for k in range(totals.shape[1]):
        totals[smaller, k] = masses[smaller, k] = 0
    chunks = totals.shape[1] // lanes
    sum_rows(signed, rows, n, chunks, width, totals[smaller], masses[smaller])
    for k in range(totals.shape[1]):
        totals[larger, k] = totals[parent, k] - totals[smaller, k]
        masses[larger, k] = masses[parent, k] - masses[smaller, k]


@inner
def _step(layout, n_scores, damping, signed, n, width, tree, max_leaf_nodes):  # type: ignore[no-untyped-def]
    """Split the leaf that gains most, the earliest of equal ones; return whether to go on."""
    smaller, larger = _newest(tree)
    _settle(0, smaller, tree, n_scores, damping)
    if larger >= 0:
        _settle(1, larger, tree, n_scores, damping)
    best, chosen = np.int64(0), np.intp(-1)
    for other in range(tree.counts[0]):
        leaf = tree.leaves[other]
        if leaf.child < 0 and leaf.improvement > best:
            best, chosen = leaf.improvement, np.intp(other)
    if chosen < 0:
        return False
    _split(chosen, layout, signed, n, width, tree)
    return tree.counts[1] < max_leaf_nodes


@inner
def _finish(layout, n_scores, tree, finished):  # type: ignore[no-untyped-def]
    """Give nodes and leaves their numbers, and every row its leaf, searched or not.

    OUT finished: see `_Finished`.
    """
    n_made, n_nodes, n_searched = tree.counts[0], tree.counts[1] - 1, tree.leaves[0].stop
    leaf_of, numbers = finished.leaf_of, np.empty(n_made, dtype=np.intp)
    if n_searched < len(leaf_of):
        for row in range(len(leaf_of)):
            leaf_of[row] = -1
    number = 0
    for made in range(n_made):
        leaf = tree.leaves[made]
        place = number
        if leaf.child < 0:
            numbers[made] = -1 - number
            for p in range(leaf.start, leaf.stop):
                leaf_of[tree.order[p]] = number
            number += 1
        else:
            # Nodes are numbered in the order of their splits, in which their children were made.
            numbers[made] = (leaf.child - 1) // 2
            place = n_nodes + 1 + numbers[made]
        for k in range(n_scores):
            finished.totals[place, k] = tree.sums[0, made, k]
            finished.masses[place, k] = tree.sums[1, made, k]
    for made in range(n_made):
        leaf = tree.leaves[made]
        if leaf.child >= 0:
            node = finished.nodes[numbers[made]]
            node[0], node[1], node[2] = leaf.column, leaf.first, leaf.missing
            node[3], node[4] = numbers[leaf.child], numbers[leaf.child + 1]
    if n_searched == len(leaf_of):
        return
    for row in range(len(leaf_of)):
        if leaf_of[row] < 0:
            place = 0
            while tree.leaves[place].child >= 0:
                leaf = tree.leaves[place]
                codes = layout.codes[layout.places[leaf.column]]
                place = leaf.child + _is_high(codes, row, leaf, _gone(layout, leaf.column))
            leaf_of[row] = -1 - numbers[place]


@inner
def _take_weights(signed, lanes_given, amounts, n_scores, n, width, tree, out):  # type: ignore[no-untyped-def]
    """Copy the signed weights of the rows that count, each with its amounts. OUT out."""
    lanes = 1 << (width.ndim - 1)
    for p in range(tree.leaves[0].stop):
        row = np.intp(tree.order[p])
        for k in range(n_scores + 1):
            to = ((k // lanes) * n + row) * lanes + k % lanes
            out[to] = signed[((k // lanes_given) * n + row) * lanes_given + k % lanes_given]
        for a in range(len(amounts)):
            k = n_scores + 1 + a
            out[((k // lanes) * n + row) * lanes + k % lanes] = amounts[a, row]


@kernel
def walk(codes, gone, sides, nodes, leaf_of):  # type: ignore[no-untyped-def]
    """Find the leaves of other rows.

    IN codes (by column, then row), the code of each column's missing values and their side (LEARN
    where every node has its own), nodes (see `GrownTree`). OUT leaf_of.
    """
    for row in range(len(leaf_of)):
        node = np.intp(0)
        while node >= 0:
            q = nodes[node, 0]
            code = np.intp(codes[q, row])
            side = np.intp(1 if code >= nodes[node, 1] else -1)
            if code == gone[q]:
                side = nodes[node, 2] if sides[q] == LEARN else sides[q]
            if side == 0:
                node = -2 - len(nodes) - node
            else:
                node = nodes[node, 4] if side > 0 else nodes[node, 3]
        leaf_of[row] = -1 - node


@kernel
def grow(layout, question, signed, n, width, tree, max_leaf_nodes, histograms, finished):  # type: ignore[no-untyped-def]
    """Grow a tree on one thread. IN the arguments up to width. OUT tree, finished."""
    n_batches = len(layout.starts) - 1
    grows = True
    while grows:
        _search(0, n_batches, layout, question, signed, n, width, tree, histograms)
        grows = _step(layout, question[0], question[3], signed, n, width, tree, max_leaf_nodes)
    _finish(layout, question[0], tree, finished)


# The same in parts, of which threads share the first.
search = kernel(_search.py_func)
step = kernel(_step.py_func)
finish = kernel(_finish.py_func)
take_weights = kernel(_take_weights.py_func)


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
        self._n_scores, self._threads = problem.n_scores, threads
        chunks, _, lanes = problem.shape
        n_amounts = len(_amounts(problem, growth))
        if n_amounts:
            chunks, lanes = lanes_for(problem.n_scores + 1 + n_amounts)
        self._width, self._given = width_of(lanes), problem.shape[2]
        dtype, n = problem.signed.dtype, problem.n_rows
        self._layout = _laid_out(codes, places, shapes, chunks, lanes, dtype.itemsize, threads.n)
        self._signed = aligned_zeros((chunks * n * lanes * (n_amounts > 0),), dtype.type)
        most = growth.max_leaf_nodes
        self._histograms = aligned_zeros((most, int(self._layout.starts[-1])), dtype.type)
        self._finished = _Finished(
            np.empty((most, 5), dtype=np.intp),
            np.empty((2 * most, problem.n_scores), dtype=np.int64),
            np.empty((2 * most, problem.n_scores), dtype=np.int64),
            np.empty(n, dtype=np.intp),
        )
        self._tree = _Growing(
            np.empty(n, dtype=ROW),
            np.empty(n, dtype=ROW),
            np.zeros(2 * most, dtype=_LEAF),
            np.zeros((2, 2 * most, chunks * lanes), dtype=np.int64),
            np.zeros((2, len(places), 3), dtype=np.int64),
            np.zeros(3, dtype=np.intp),
            np.zeros(len(places) + 1, dtype=np.int64),
        )

    def grow(self, problem: SignedProblem, growth: Growth) -> GrownTree:
        """Grow a tree; what was grown before is no longer valid."""
        amounts = _amounts(problem, growth)
        self._begin(problem, amounts)
        n, tree, n_scores, signed = problem.n_rows, self._tree, self._n_scores, problem.flat_signed
        if len(amounts):
            take_weights(signed, self._given, amounts, n_scores, n, self._width, tree, self._signed)
            signed = self._signed
        least = np.array(growth.least, dtype=np.int64)
        question = (n_scores, growth.missing, least, growth.damping, _ANY_SIDE)
        layout, most = self._layout, growth.max_leaf_nodes
        asked = (layout, question, signed, n, self._width, tree)
        n_batches, work = len(layout.starts) - 1, problem.size * len(layout.places)
        if self._threads.n == 1 or n_batches == 1 or work < _THREADS_FROM:
            grow(*asked, most, self._histograms, self._finished)
            return self._grown()

        def run(batch: int) -> None:
            search(batch, batch + 1, *asked, self._histograms)

        grows = True
        while grows:
            self._threads.map(run, range(n_batches))
            grows = step(layout, n_scores, growth.damping, signed, n, self._width, tree, most)
        finish(layout, n_scores, tree, self._finished)
        return self._grown()

    def _begin(self, problem: SignedProblem, amounts: Integers) -> None:
        """Start with the root alone."""
        tree, k = self._tree, self._n_scores
        if problem.rows is None:
            tree.order[:] = np.arange(problem.n_rows, dtype=ROW)
        else:
            tree.order[: problem.size] = problem.rows
        tree.leaves[0] = (0, problem.size, 0, 0, 0, 0, 0, -1)
        tree.counts[:] = (1, 1, 0)
        tree.improvements[:] = 0
        tree.sums[0, 0, :k], tree.sums[1, 0, :k] = problem.signed_totals, problem.signed_masses
        tree.sums[0, 0, k] = problem.mass
        for a, amount in enumerate(amounts):
            rows = amount if problem.rows is None else amount[problem.rows]
            tree.sums[0, 0, k + 1 + a] = rows.sum(dtype=np.int64)

    def _grown(self) -> GrownTree:
        n_nodes, tree = int(self._tree.counts[1]) - 1, self._finished
        n_ends = 2 * n_nodes + 1
        return GrownTree(
            tree.nodes[:n_nodes],
            tree.totals[:n_ends],
            tree.masses[:n_ends],
            int(self._tree.counts[2]),
            tree.leaf_of,
            self._tree.improvements[:-1],
            int(self._tree.improvements[-1]),
        )


def _amounts(problem: SignedProblem, growth: Growth) -> Integers:
    """Return what leaves must hold a least amount of, for each row."""
    masses = problem.row_masses
    if not growth.least:
        return np.empty((0, 0), dtype=problem.signed.dtype)
    assert isinstance(masses, SignedProblem)
    return masses.signed[:, :, 0]


def _laid_out(
    codes: Codes,
    places: Columns,
    shapes: tuple[Columns, NDArray[np.bool_]],
    chunks: int,
    lanes: int,
    itemsize: int,
    n_threads: int,
) -> _Layout:
    """Return the columns in batches: work for every thread, histograms that stay in cache."""
    n_codes, has_missing = shapes
    fitting = _BATCH_BYTES // (int(n_codes.max()) * chunks * lanes * itemsize)
    # Whole fours, since histograms are summed four columns at a time.
    share = -(-len(places) // (4 * n_threads)) * 4
    size = min(share, max(4, fitting // 4 * 4))
    batches = np.append(np.arange(0, len(places), size), len(places)).astype(np.intp)
    ends = np.concatenate(([0], np.cumsum(n_codes * chunks))).astype(np.intp)
    bases = ends[:-1] - np.repeat(ends[batches[:-1]], np.diff(batches))
    return _Layout(codes, places, bases, n_codes, has_missing, batches, ends[batches] * lanes)
