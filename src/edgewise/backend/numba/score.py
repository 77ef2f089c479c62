"""Prediction by tables and by walks through a forest, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.numba.vectors import LEAF_LANES, add_reals, find_leaves, inner, kernel
from edgewise.common.dtypes import Codes, Columns, Reals

# Rows that walk together, so that what they need stays in a core's first cache; a multiple of
# LEAF_LANES.
_BLOCK = 256

# Terms whose leaves are added at once.
TOGETHER = 8

MISSING = np.uint16(65_535)


class Thresholds(NamedTuple):
    """The thresholds of each column, by which its values are coded."""

    thresholds: Reals  # of all columns, of each padded by infinities to one less than a power of 2
    starts: Columns  # (columns + 1,)
    sizes: Columns  # (columns,), without the padding; 0 for categories


class WalkNodes(NamedTuple):
    """A forest whose nodes a row walks through.

    What follows a node is another node of the term, by its position in the term, or -1 - a leaf of
    it.
    """

    roots: NDArray[np.int32]  # by term, a multiple of TOGETHER; like what follows a node
    firsts: Columns  # the first node of each term, and the end
    columns: Columns  # that each node tests
    cuts: NDArray[np.uint16]  # the number of each node's threshold in its column, from 1
    low: NDArray[np.int32]  # what follows for a value below the threshold
    high: NDArray[np.int32]  # for others
    missing: NDArray[np.int32]  # for missing values
    category_starts: Columns  # (nodes + 1,), the bounds of what follows for each category
    category_children: NDArray[np.int32]
    leaf_starts: Columns  # the first leaf of each term
    leaves: Reals  # (leaves, 1 or a multiple of 4, K at least)


class LeafSetNodes(NamedTuple):
    """A forest whose nodes remove sets of leaves: see `model.forest`.

    A plane is the codes of a column for a block of rows. Nodes that test subsets have planes of
    their own after those of columns: 1 in the subset, else 0.
    """

    plane_columns: Columns
    missing_codes: Codes  # by plane, the code of a missing value
    subset_starts: Columns  # by TOGETHER terms, the bounds of their subsets
    subset_planes: Columns  # the plane of each subset's column
    side_starts: Columns  # where the categories of each subset start in `sides`
    sides: Codes  # by category, 1 if it is in the subset
    firsts: Columns  # the first node of each term, and the end
    planes: Columns  # of each node
    cuts: NDArray[np.uint16]
    lost: NDArray[np.unsignedinteger]  # by node, the leaves below it, as bits
    leaves: Reals  # as of `WalkNodes`, as many for each term


@kernel
def score(values, columns, starts, thresholds, tables, start, stop, out):  # type: ignore[no-untyped-def]
    """Add the table rows of the values of several columns to the scores of some rows.

    IN values (n, columns of X), columns, starts and thresholds (by column), tables (two rows more
    than thresholds for each column, the last for missing values). OUT out (n, K).
    """
    n_scores = out.shape[1]
    for i in range(start, stop):
        for f in range(len(columns)):
            value = np.float64(values[i, columns[f]])
            low, size = starts[f], starts[f + 1] - starts[f]
            if np.isnan(value):
                position = size + 1
            else:
                position = 0
                left = size
                while left > 0:
                    half = left // 2
                    if thresholds[low + position + half] <= value:
                        position += half + 1
                        left -= half + 1
                    else:
                        left = half
            row = low + 2 * f + position
            for k in range(n_scores):
                out[i, k] += tables[row, k]


@kernel
def walk(values, coding, nodes, out, n_ended):  # type: ignore[no-untyped-def]
    """Write the sums of the leaves where the walks of each row through all terms end.

    IN values (columns, n), coding (`Thresholds`), nodes (`WalkNodes`). OUT out (n, K); or
    n_ended (leaves), unless it is empty, to which the rows that end in each leaf are added.
    """
    thresholds, starts, sizes = coding
    (
        roots, firsts, columns, cuts, low, high, missing, category_starts, category_children,
        leaf_starts, leaves,
    ) = nodes  # fmt: skip
    n_rows, n_terms, width = values.shape[1], len(roots), leaves.shape[1]
    max_nodes = 0
    for t in range(n_terms):
        max_nodes = max(max_nodes, firsts[t + 1] - firsts[t])
    codes = np.empty((len(values), _BLOCK), dtype=np.uint16)
    some_missing = np.zeros(len(values), dtype=np.bool_)
    counts = np.empty(_BLOCK, dtype=np.int64)
    # The leaf of each row from each node on; the last three rows are for leaves that follow it.
    reached = np.empty((max_nodes + 3, _BLOCK), dtype=np.uint16)
    ended = np.empty((TOGETHER, _BLOCK), dtype=np.int32)
    sums = np.empty((_BLOCK, width))
    step = width if len(n_ended) == 0 else 1
    for begin in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - begin)
        for j in range(len(values)):
            column, column_thresholds = (
                values[j, begin : begin + n],
                thresholds[starts[j] : starts[j + 1]],
            )
            some_missing[j] = _encode(
                column, column_thresholds, sizes[j], MISSING, counts[:n], codes[j, :n]
            )
        _clear(sums)
        for t in range(n_terms):
            first, slot = firsts[t], t % TOGETHER
            for node in range(firsts[t + 1] - 1, first - 1, -1):
                j, at = columns[node], reached[node - first, :n]
                code = codes[j, :n]
                if category_starts[node + 1] > category_starts[node]:
                    children = category_children[category_starts[node] : category_starts[node + 1]]
                    for i in range(n):
                        following = children[code[i]]
                        at[i] = reached[following, i] if following >= 0 else -1 - following
                    continue
                below = _ends_after(reached, low[node], max_nodes, n)
                above = _ends_after(reached, high[node], max_nodes + 1, n)
                cut = cuts[node]
                if some_missing[j]:
                    absent = _ends_after(reached, missing[node], max_nodes + 2, n)
                    for i in range(n):
                        low_end, two, three = below[i], above[i], absent[i]
                        here = two if code[i] >= cut else low_end
                        at[i] = three if code[i] == MISSING else here
                else:
                    for i in range(n):
                        low_end, two = below[i], above[i]
                        at[i] = two if code[i] >= cut else low_end
            root = _ends_after(reached, roots[t], max_nodes, n)
            for i in range(n):
                ended[slot, i] = step * (leaf_starts[t] + root[i])
            if slot == TOGETHER - 1:
                if len(n_ended) == 0:
                    _add_leaves(ended, leaves, n, sums)
                else:
                    _count_leaves(ended, n, n_ended)
        _write(sums, begin, min(n, len(out)), out)


@kernel
def walk_sets(values, coding, nodes, out, n_ended):  # type: ignore[no-untyped-def]
    """Write the sums of the leaves that remain in each term after its nodes have removed others.

    IN values (columns, n), coding (`Thresholds`), nodes (`LeafSetNodes`). OUT out (n, K); or
    n_ended (leaves), unless it is empty, to which the rows that end in each leaf are added.
    """
    thresholds, starts, sizes = coding
    columns, missing_codes, subset_starts, subset_planes, side_starts, sides = (
        nodes.plane_columns, nodes.missing_codes, nodes.subset_starts, nodes.subset_planes,
        nodes.side_starts, nodes.sides,
    )  # fmt: skip
    firsts, planes, cuts, lost, leaves = (
        nodes.firsts, nodes.planes, nodes.cuts, nodes.lost, nodes.leaves,
    )  # fmt: skip
    n_rows, n_terms, width = values.shape[1], len(firsts) - 1, leaves.shape[1]
    n_leaves = len(leaves) // max(1, n_terms)
    step = width if len(n_ended) == 0 else 1
    max_planes = 0
    for group in range(len(subset_starts) - 1):
        max_planes = max(max_planes, subset_starts[group + 1] - subset_starts[group])
    codes = np.zeros((len(columns) + max_planes, _BLOCK), dtype=np.uint16)
    counts = np.empty(_BLOCK, dtype=np.int64)
    ended = np.empty((TOGETHER, _BLOCK), dtype=np.int32)
    sums = np.empty((_BLOCK, width))
    code, end, plane_start = codes.ravel(), ended.ravel(), np.empty_like(planes)
    for node in range(len(planes)):
        plane_start[node] = _BLOCK * planes[node]
    for begin in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - begin)
        for p in range(len(columns)):
            j = columns[p]
            column, column_thresholds = (
                values[j, begin : begin + n],
                thresholds[starts[j] : starts[j + 1]],
            )
            _encode(column, column_thresholds, sizes[j], missing_codes[p], counts[:n], codes[p, :n])
        _clear(sums)
        for group in range(0, n_terms, TOGETHER):
            first = subset_starts[group // TOGETHER]
            for s in range(first, subset_starts[group // TOGETHER + 1]):
                source, side = codes[subset_planes[s]], sides[side_starts[s] :]
                plane = codes[len(columns) + s - first]
                for i in range(n):
                    plane[i] = side[source[i]]
            for i in range(0, n, LEAF_LANES):
                for slot in range(TOGETHER):
                    t = group + slot
                    find_leaves(
                        code, i, plane_start, cuts, lost, firsts[t], firsts[t + 1],
                        end, slot * _BLOCK + i, t * n_leaves * step, step,
                    )  # fmt: skip
            if len(n_ended) == 0:
                _add_leaves(ended, leaves, n, sums)
            else:
                _count_leaves(ended, n, n_ended)
        _write(sums, begin, min(n, len(out)), out)


@inner
def _encode(column, thresholds, size, absent, counts, codes):  # type: ignore[no-untyped-def]
    """Write how many thresholds each value reaches; return whether values are missing."""
    n, has_missing = len(column), False
    if size == 0:
        for i in range(n):
            codes[i] = np.uint16(column[i])
        return False
    for i in range(n):
        counts[i] = 0
    step = (len(thresholds) + 1) // 2
    # Without branches, and value by value inside, the compiler takes several values at once.
    while step > 0:
        for i in range(n):
            counts[i] += step * (thresholds[counts[i] + step - 1] <= column[i])
        step //= 2
    for i in range(n):
        is_missing = column[i] != column[i]
        has_missing |= is_missing
        codes[i] = absent if is_missing else min(counts[i], size)
    return has_missing


@inner
def _ends_after(reached, following, spare, n):  # type: ignore[no-untyped-def]
    """Return where rows end after a node, or the spare row filled with an end."""
    if following >= 0:
        return reached[following, :n]
    row = reached[spare, :n]
    for i in range(n):
        row[i] = -1 - following
    return row


@inner
def _add_leaves(ended, leaves, n, sums):  # type: ignore[no-untyped-def]
    """Add the leaves of TOGETHER terms, in their order, to the sums of n rows."""
    width, scores, flat = leaves.shape[1], sums.ravel(), leaves.ravel()
    for i in range(n):
        a, b, c, d = ended[0, i], ended[1, i], ended[2, i], ended[3, i]
        e, f, g, h = ended[4, i], ended[5, i], ended[6, i], ended[7, i]
        if width == 1:
            half = (((scores[i] + flat[a]) + flat[b]) + flat[c]) + flat[d]
            scores[i] = (((half + flat[e]) + flat[f]) + flat[g]) + flat[h]
        for k in range(0, width - 3, 4):
            addresses = (a + k, b + k, c + k, d + k, e + k, f + k, g + k, h + k)
            add_reals(scores, width * i + k, flat, addresses)


@inner
def _count_leaves(ended, n, n_ended):  # type: ignore[no-untyped-def]
    """Add the number of rows that end in each leaf of TOGETHER terms."""
    for i in range(n):
        for slot in range(TOGETHER):
            n_ended[ended[slot, i]] += 1


# Loops, since assignments to parts of arrays take long to compile.


@inner
def _clear(sums):  # type: ignore[no-untyped-def]
    for i in range(len(sums)):
        for k in range(sums.shape[1]):
            sums[i, k] = 0.0


@inner
def _write(sums, begin, n, out):  # type: ignore[no-untyped-def]
    for i in range(n):
        for k in range(out.shape[1]):
            out[begin + i, k] = sums[i, k]
