"""Shapley values of the paths of a forest, compiled: see `model.shapley`."""

import numpy as np

from edgewise.backend.numba.vectors import inner, kernel, sort_stably

# Rows whose values are computed at once: they stay in a core's first cache.
_BLOCK = 64

# Patterns of up to this many entries are counted in a table, those of more are sorted.
_COUNTED = 12


@kernel
def count_patterns(values, paths, rooms, start, stop, patterns, sizes, reached):  # type: ignore[no-untyped-def]
    """Count which entries of some paths, from start to stop, the rows of a background pass.

    IN values (columns, n), paths (starts, columns, low, high, missing, tables, allowed), rooms: the
    bounds of the room for each path in patterns. OUT patterns: (weights, shares: 1 for an entry
    that they pass, else 0, and where those of a path start); by path, sizes, the number of patterns
    found, and reached, the number of rows that pass all entries.
    """
    starts, columns, low, high, missing, tables, allowed = paths
    weights, shares, share_starts = patterns
    n_rows = values.shape[1]
    codes, order, spare = np.empty(n_rows, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    passed, counts = np.empty(n_rows), np.zeros(1 << _COUNTED, np.int64)
    for p in range(start, stop):
        first, size = starts[p], starts[p + 1] - starts[p]
        for i in range(n_rows):
            codes[i] = 0
        for e in range(size):
            c = first + e
            _pass(values[columns[c]], low[c], high[c], missing[c], tables[c], allowed, passed)
            for i in range(n_rows):
                codes[i] |= np.int64(passed[i]) << e
        found = rooms[p]
        if size <= _COUNTED:
            for i in range(n_rows):
                counts[codes[i]] += 1
            for pattern in range(1 << size):
                if counts[pattern] > 0:
                    at = share_starts[p] + (found - rooms[p]) * size
                    _write_pattern(pattern, size, shares, at)
                    weights[found] = counts[pattern] / n_rows
                    reached[p] = counts[pattern]
                    counts[pattern] = 0
                    found += 1
        else:
            if len(order) == 0:
                order, spare = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
            sort_stably(codes, order, spare)
            begin = 0
            while begin < n_rows:
                pattern, end = codes[order[begin]], begin
                while end < n_rows and codes[order[end]] == pattern:
                    end += 1
                at = share_starts[p] + (found - rooms[p]) * size
                _write_pattern(pattern, size, shares, at)
                weights[found] = (end - begin) / n_rows
                reached[p] = end - begin
                begin = end
                found += 1
        sizes[p] = found - rooms[p]
        # Patterns ascend: the last one is that of rows that pass everything, if there are any.
        if sizes[p] > 0 and not _passes_all(shares, share_starts[p] + (sizes[p] - 1) * size, size):
            reached[p] = 0


@kernel
def add_contributions(values, paths, leaves, rooms, sizes, patterns, quadrature, pairs, out):  # type: ignore[no-untyped-def]
    """Add what the columns of paths, and pairs of them, contribute to the scores of rows.

    IN values (columns, n), paths (as above), leaves (paths, K), rooms and sizes: where the patterns
    of each path start and how many there are; patterns (as above), quadrature: (nodes, weights,
    starts by number of nodes), pairs: (starts by path, the place in `out` of each pair of entries),
    empty for none. OUT out (places, K, n).
    """
    starts, columns, low, high, missing, tables, allowed = paths
    pattern_weights, shares, share_starts = patterns
    nodes, weights, node_starts = quadrature
    pair_starts, pair_places = pairs
    n_rows, n_scores, with_pairs = values.shape[1], leaves.shape[1], len(pair_places) > 0
    most = 1
    for p in range(len(starts) - 1):
        most = max(most, starts[p + 1] - starts[p])
    passed, ratio = np.empty((most, _BLOCK)), np.empty((most, _BLOCK))
    amounts, product = np.empty((most, _BLOCK)), np.empty(_BLOCK)
    together = np.empty((most * (most - 1) // 2 if with_pairs else 0, _BLOCK))
    for begin in range(0, n_rows, _BLOCK):
        n = min(_BLOCK, n_rows - begin)
        for p in range(len(starts) - 1):
            first, size = starts[p], starts[p + 1] - starts[p]
            if size == 0:
                continue
            n_pairs = size * (size - 1) // 2 if with_pairs else 0
            for e in range(size):
                c = first + e
                column = values[columns[c], begin : begin + n]
                _pass(column, low[c], high[c], missing[c], tables[c], allowed, passed[e])
                _fill(amounts[e], n, 0.0)
            for pair in range(n_pairs):
                _fill(together[pair], n, 0.0)
            n_nodes = (size + 1) // 2
            for pattern in range(rooms[p], rooms[p] + sizes[p]):
                at = share_starts[p] + (pattern - rooms[p]) * size
                if n == 1 and _is_blocked(passed, shares, at, size):
                    continue
                for q in range(node_starts[n_nodes], node_starts[n_nodes + 1]):
                    t = nodes[q]
                    _fill(product, n, pattern_weights[pattern] * weights[q])
                    for e in range(size):
                        share = shares[at + e]
                        out_of_row = (1.0 - t) * share
                        in_row = out_of_row + t
                        gain, loss = (1.0 - share) / in_row, -1.0 / (1.0 - t)
                        here, ratios = passed[e], ratio[e]
                        for i in range(n):
                            product[i] *= in_row if here[i] > 0.0 else out_of_row
                            ratios[i] = gain if here[i] > 0.0 else loss
                    for e in range(size):
                        total, ratios = amounts[e], ratio[e]
                        for i in range(n):
                            total[i] += product[i] * ratios[i]
                    if n_pairs:
                        pair = 0
                        for e in range(size):
                            for other in range(e + 1, size):
                                total, ratios, others = together[pair], ratio[e], ratio[other]
                                for i in range(n):
                                    total[i] += product[i] * ratios[i] * others[i]
                                pair += 1
            for e in range(size):
                _add(amounts[e], leaves[p], n, begin, out[columns[first + e]])
            for pair in range(n_pairs):
                _add(together[pair], leaves[p], n, begin, out[pair_places[pair_starts[p] + pair]])


@inner
def _pass(column, low, high, missing, table, allowed, passed):  # type: ignore[no-untyped-def]
    """Write 1 for the rows that pass an entry of a path, and 0 for others."""
    n = len(column)
    if table >= 0:
        for i in range(n):
            passed[i] = 1.0 if allowed[table + np.int64(column[i])] else 0.0
    elif missing:
        for i in range(n):
            value = column[i]
            inside = (low <= value) & (not value >= high)
            passed[i] = 1.0 if inside | (value != value) else 0.0
    else:
        for i in range(n):
            value = column[i]
            passed[i] = 1.0 if (low <= value) & (not value >= high) else 0.0


@inner
def _write_pattern(pattern, size, shares, at):  # type: ignore[no-untyped-def]
    for e in range(size):
        shares[at + e] = np.float64((pattern >> e) & 1)


@inner
def _passes_all(shares, at, size):  # type: ignore[no-untyped-def]
    for e in range(size):
        if shares[at + e] == 0.0:
            return False
    return True


@inner
def _is_blocked(passed, shares, at, size):  # type: ignore[no-untyped-def]
    """Return whether neither the row nor the background passes some entry."""
    for e in range(size):
        if shares[at + e] == 0.0 and passed[e, 0] == 0.0:
            return True
    return False


@inner
def _fill(row, n, value):  # type: ignore[no-untyped-def]
    for i in range(n):
        row[i] = value


@inner
def _add(amounts, leaf, n, begin, out):  # type: ignore[no-untyped-def]
    """Add the amounts of n rows, times each number of a leaf, to the rows from `begin` on."""
    for k in range(len(leaf)):
        target, number = out[k, begin : begin + n], leaf[k]
        for i in range(n):
            target[i] += amounts[i] * number
