"""Prediction by tables and by walks through a forest, compiled."""

import numpy as np

from edgewise.backend.numba.vectors import add_reals, inner, kernel

# Rows that walk together, so that what they need stays in a core's first cache.
_BLOCK = 256

# Terms whose ends are added at once.
_TOGETHER = 4

_MISSING = np.uint16(65_535)


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
                place = size + 1
            else:
                place = 0
                left = size
                while left > 0:
                    half = left // 2
                    if thresholds[low + place + half] <= value:
                        place += half + 1
                        left -= half + 1
                    else:
                        left = half
            row = low + 2 * f + place
            for k in range(n_scores):
                out[i, k] += tables[row, k]


@kernel
def walk(  # type: ignore[no-untyped-def]
    values, thresholds, starts, sizes, roots, firsts, places, cuts, low, high, missing,
    target_starts, targets, bases, ends, out,
):  # fmt: skip
    """Add the rows where the walks through all terms end to the scores of some rows.

    IN values (columns, n), thresholds (by column from starts, padded by infinities to one less than
    a power of two; sizes tells how many there are, 0 for categories), roots (by term) and firsts,
    bases (the first node and end of each); for each node, places (its column), cuts (the number of
    its threshold, from 1), low, high and missing (what follows: a node of the term, or -1 - an
    end of the term), target_starts and targets (what follows on each category); ends (E, K).
    OUT out (n, K), K being 1 or a multiple of 4.
    """
    n_rows, n_terms = values.shape[1], len(roots)
    most = 0
    for t in range(n_terms):
        most = max(most, firsts[t + 1] - firsts[t])
    codes = np.empty((len(values), _BLOCK), dtype=np.uint16)
    some_missing = np.zeros(len(values), dtype=np.bool_)
    counts = np.empty(_BLOCK, dtype=np.int64)
    # Where each row ends from each node on; the last three rows are for ends that follow directly.
    reached = np.empty((most + 3, _BLOCK), dtype=np.uint16)
    ended = np.empty((_TOGETHER, _BLOCK), dtype=np.int64)
    for begin in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - begin)
        for j in range(len(values)):
            column = values[j, begin : begin + n]
            some_missing[j] = _encode(
                column, thresholds[starts[j] : starts[j + 1]], sizes[j], counts[:n], codes[j, :n]
            )
        for t in range(n_terms):
            first, slot = firsts[t], t % _TOGETHER
            for node in range(firsts[t + 1] - 1, first - 1, -1):
                j, at = places[node], reached[node - first, :n]
                code = codes[j, :n]
                if target_starts[node + 1] > target_starts[node]:
                    target = targets[target_starts[node] : target_starts[node + 1]]
                    for i in range(n):
                        following = target[code[i]]
                        at[i] = reached[following, i] if following >= 0 else -1 - following
                    continue
                below = _reached(reached, low[node], most, n)
                above = _reached(reached, high[node], most + 1, n)
                cut = cuts[node]
                if some_missing[j]:
                    absent = _reached(reached, missing[node], most + 2, n)
                    for i in range(n):
                        one, two, three = below[i], above[i], absent[i]
                        here = two if code[i] >= cut else one
                        at[i] = three if code[i] == _MISSING else here
                else:
                    for i in range(n):
                        one, two = below[i], above[i]
                        at[i] = two if code[i] >= cut else one
            root = _reached(reached, roots[t], most, n)
            base = bases[t]
            for i in range(n):
                ended[slot, i] = base + root[i]
            if slot == _TOGETHER - 1:
                _add_four(ended, ends, out[begin : begin + n])
            elif t == n_terms - 1:
                for s in range(slot + 1):
                    for i in range(n):
                        for k in range(ends.shape[1]):
                            out[begin + i, k] += ends[ended[s, i], k]


@inner
def _encode(column, thresholds, size, counts, codes):  # type: ignore[no-untyped-def]
    """Write how many thresholds each value reaches; return whether values are missing."""
    n, some = len(column), False
    if size == 0:
        for i in range(n):
            codes[i] = np.uint16(column[i])
        return False
    counts[:] = 0
    step = (len(thresholds) + 1) // 2
    # Without branches, and value by value inside, the compiler takes several values at once.
    while step > 0:
        for i in range(n):
            counts[i] += step * (thresholds[counts[i] + step - 1] <= column[i])
        step //= 2
    for i in range(n):
        is_missing = column[i] != column[i]
        some |= is_missing
        codes[i] = _MISSING if is_missing else min(counts[i], size)
    return some


@inner
def _reached(reached, following, spare, n):  # type: ignore[no-untyped-def]
    """Return where rows end after a node, or the spare row filled with an end."""
    if following >= 0:
        return reached[following, :n]
    row = reached[spare, :n]
    row[:] = -1 - following
    return row


@inner
def _add_four(ended, ends, out):  # type: ignore[no-untyped-def]
    """Add the ends of four terms, in their order, to the scores of rows."""
    width, scores, flat = ends.shape[1], out.ravel(), ends.ravel()
    for i in range(len(out)):
        a, b, c, d = ended[0, i], ended[1, i], ended[2, i], ended[3, i]
        if width == 1:
            scores[i] = (((scores[i] + flat[a]) + flat[b]) + flat[c]) + flat[d]
        a, b, c, d = width * a, width * b, width * c, width * d
        for k in range(0, width - 3, 4):
            add_reals(scores, width * i + k, flat, a + k, b + k, c + k, d + k)
