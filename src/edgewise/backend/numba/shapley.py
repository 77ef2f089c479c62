"""Shapley values of the paths of a forest, compiled: see `model.shapley`."""

import numpy as np

from edgewise.backend.numba.vectors import count_ones, inner, kernel

# Rows whose values are computed at once: they stay in a core's first cache.
_BLOCK = 64

# Rows that pass the same entries of a path of up to this many are computed once.
_MAX_SHARED = 16


@kernel
def mark_cuts(values, thresholds, starts, n_marks):  # type: ignore[no-untyped-def]
    """Return, for each threshold, which rows reach it, as bits.

    IN values (columns, n), thresholds (by column, ascending from minus infinity), starts (their
    bounds), n_marks. The marks of a column are those of its thresholds, a line of zeros, and its
    missing values.
    """
    n_columns, n_rows = len(starts) - 1, values.shape[1]
    marks = np.zeros((n_marks, (n_rows + 63) // 64), dtype=np.uint64)
    for u in range(n_columns):
        first, n = starts[u], starts[u + 1] - starts[u]
        line = first + 2 * u
        for i in range(n_rows):
            value, bit = values[u, i], np.uint64(1) << np.uint64(i % 64)
            if value != value:
                marks[line + n + 1, i // 64] |= bit
                continue
            low, high = 0, n
            while high - low > 1:
                middle = (low + high) // 2
                if thresholds[first + middle] <= value:
                    low = middle
                else:
                    high = middle
            if n > 0:
                marks[line + low, i // 64] |= bit
        # A row that reaches a threshold reaches those below.
        for t in range(n - 2, -1, -1):
            for w in range(marks.shape[1]):
                marks[line + t, w] |= marks[line + t + 1, w]
    return marks


@kernel
def find_patterns(values, background, rooms, start, stop, patterns, sizes, reached):  # type: ignore[no-untyped-def]
    """Find which entries of some paths, from start to stop, the rows of a background pass.

    IN values (columns, n), background: (marks as above; paths: starts, columns, low, high, missing,
    tables and allowed; lines of marks, by entry: those that it takes, those among them that it does
    not, and those that it takes as well; by entry, whether an explained row passes it), rooms: by
    path, where its patterns start. OUT patterns: (weights,
    shares: 1 for an entry that they pass, else 0, where those of a path start); by path, sizes, the
    number of patterns, 0 before for paths to leave out, and reached, the share of rows that pass
    all entries. An entry that no explained row passes is passed in every pattern that counts.
    """
    marks, paths, lines, is_open = background
    starts, columns, _, _, _, tables, allowed = paths
    taken, refused, added = lines
    weights, shares, share_starts = patterns
    n_rows, n_words, most = values.shape[1], marks.shape[1], 0
    for p in range(start, stop):
        most = max(most, starts[p + 1] - starts[p])
    passing = np.zeros((most, n_words), dtype=np.uint64)
    # The rows that agree with the entries chosen so far, their number, and what comes next.
    chosen = np.zeros((most + 1, n_words), dtype=np.uint64)
    counts, following = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    counts[0] = n_rows
    for i in range(n_rows):
        chosen[0, i // 64] |= np.uint64(1) << np.uint64(i % 64)
    for p in range(start, stop):
        first, size = starts[p], starts[p + 1] - starts[p]
        reached[p] = 0
        if sizes[p] == 0:
            continue
        for e in range(size):
            c = first + e
            if tables[c] >= 0:
                _mark_categories(values, columns[c], tables[c], allowed, passing, e)
            else:
                a, b, d = taken[c], refused[c], added[c]
                for w in range(n_words):
                    passing[e, w] = (marks[a, w] & ~marks[b, w]) | marks[d, w]
        found, e = rooms[p], 0
        following[0] = 0 if size == 0 or is_open[first] else 1
        while e >= 0:
            if e == size:
                at = share_starts[p] + (found - rooms[p]) * size
                passes_all = True
                for other in range(size):
                    shares[at + other] = following[other] - 1.0
                    passes_all &= following[other] == 2
                weights[found] = counts[e] / n_rows
                if passes_all:
                    reached[p] = weights[found]
                found += 1
                e -= 1
            elif following[e] == 2:
                e -= 1
            else:
                flipped = np.uint64(0) if following[e] else ~np.uint64(0)
                n_chosen = np.uint64(0)
                for w in range(n_words):
                    word = chosen[e, w] & (passing[e, w] ^ flipped)
                    chosen[e + 1, w] = word
                    n_chosen += count_ones(word)
                following[e] += 1
                if n_chosen > 0:
                    e += 1
                    counts[e] = n_chosen
                    following[e] = 0 if e == size or is_open[first + e] else 1
        sizes[p] = found - rooms[p]


@kernel
def add_contributions(values, paths, leaves, found, start, stop, quadrature, pairs, out):  # type: ignore[no-untyped-def]
    """Add what the columns of paths, and pairs of them, contribute to the scores of rows.

    IN values (columns, n), paths (as above), leaves (paths, K), found: (rooms, sizes and patterns
    as above), quadrature: (nodes, weights, starts by number of nodes), pairs: (starts by path, the
    place in `out` of each pair of entries), empty for none. OUT out (places, K, n).
    """
    starts, columns, low, high, missing, tables, allowed = paths
    rooms, sizes, (pattern_weights, shares, share_starts) = found
    nodes, weights, node_starts = quadrature
    pair_starts, pair_places = pairs
    n_rows, n_scores, with_pairs = values.shape[1], leaves.shape[1], len(pair_places) > 0
    most = 1
    for p in range(start, stop):
        most = max(most, starts[p + 1] - starts[p])
    most_pairs = most * (most - 1) // 2 if with_pairs else 0
    # Whole arrays and two indices: a view of a row would take longer than the work for one row.
    passed, ratio = np.empty((most, _BLOCK)), np.empty((most, _BLOCK))
    amounts, product = np.empty((most + most_pairs, n_rows)), np.empty(_BLOCK)
    # Rows that pass the same entries have the same lane.
    codes, lanes = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    lane_of_code = np.full(1 << min(most, _MAX_SHARED), -1)
    code_of_lane = np.empty(n_rows, dtype=np.int64)
    for p in range(start, stop):
        first, size = starts[p], starts[p + 1] - starts[p]
        if size == 0 or sizes[p] == 0:
            continue
        n_pairs, n_lanes = size * (size - 1) // 2 if with_pairs else 0, n_rows
        is_shared = size <= _MAX_SHARED
        if is_shared:
            for i in range(n_rows):
                codes[i] = 0
            for e in range(size):
                c = first + e
                _code(values, columns[c], low[c], high[c], missing[c], tables[c], allowed, e, codes)
            n_lanes = 0
            for i in range(n_rows):
                code = codes[i]
                if lane_of_code[code] < 0:
                    lane_of_code[code], code_of_lane[n_lanes] = n_lanes, code
                    n_lanes += 1
                lanes[i] = lane_of_code[code]
            for lane in range(n_lanes):
                lane_of_code[code_of_lane[lane]] = -1
        else:
            for i in range(n_rows):
                lanes[i] = i
        n_nodes = (size + 1) // 2
        for begin in range(0, n_lanes, _BLOCK):
            n = min(_BLOCK, n_lanes - begin)
            for e in range(size):
                c = first + e
                if is_shared:
                    for i in range(n):
                        passed[e, i] = (code_of_lane[begin + i] >> e) & 1
                else:
                    for i in range(n):
                        codes[i] = 0
                    part = values[:, begin : begin + n]
                    _code(
                        part, columns[c], low[c], high[c], missing[c], tables[c], allowed, 0, codes
                    )
                    for i in range(n):
                        passed[e, i] = codes[i]
            for e in range(size + n_pairs):
                for i in range(n):
                    amounts[e, begin + i] = 0.0
            for pattern in range(rooms[p], rooms[p] + sizes[p]):
                at = share_starts[p] + (pattern - rooms[p]) * size
                if n == 1 and _is_blocked(passed, shares, at, size):
                    continue
                for q in range(node_starts[n_nodes], node_starts[n_nodes + 1]):
                    t, weight = nodes[q], pattern_weights[pattern] * weights[q]
                    loss = -1.0 / (1.0 - t)
                    for i in range(n):
                        product[i] = weight
                    for e in range(size):
                        share = shares[at + e]
                        out_of_row = (1.0 - t) * share
                        in_row = out_of_row + t
                        gain = (1.0 - share) / in_row
                        for i in range(n):
                            product[i] *= in_row if passed[e, i] > 0.0 else out_of_row
                            ratio[e, i] = gain if passed[e, i] > 0.0 else loss
                    for e in range(size):
                        for i in range(n):
                            amounts[e, begin + i] += product[i] * ratio[e, i]
                    pair = size
                    for e in range(size if n_pairs else 0):
                        for other in range(e + 1, size):
                            for i in range(n):
                                both = ratio[e, i] * ratio[other, i]
                                amounts[pair, begin + i] += product[i] * both
                            pair += 1
        for k in range(n_scores):
            leaf = leaves[p, k]
            for e in range(size + n_pairs):
                pair = pair_starts[p] + e - size if e >= size else 0
                place = pair_places[pair] if e >= size else columns[first + e]
                for i in range(n_rows):
                    out[place, k, i] += amounts[e, lanes[i]] * leaf


@inner
def _code(values, u, low, high, missing, table, allowed, e, codes):  # type: ignore[no-untyped-def]
    """Set bit e of the codes of the rows that pass an entry of a path."""
    n = values.shape[1]
    if table >= 0:
        for i in range(n):
            codes[i] |= np.int64(allowed[table + np.int64(values[u, i])]) << e
        return
    for i in range(n):
        value = values[u, i]
        inside = (low <= value) & (not value >= high)
        codes[i] |= np.int64(inside | (missing & (value != value))) << e


@inner
def _mark_categories(values, u, table, allowed, passing, e):  # type: ignore[no-untyped-def]
    """Mark the rows whose category an entry allows."""
    for w in range(passing.shape[1]):
        first, word = 64 * w, np.uint64(0)
        for i in range(min(64, values.shape[1] - first)):
            bit = np.uint64(allowed[table + np.int64(values[u, first + i])])
            word |= bit << np.uint64(i)
        passing[e, w] = word


@inner
def _is_blocked(passed, shares, at, size):  # type: ignore[no-untyped-def]
    """Return whether neither the row nor the background passes some entry."""
    blocked = False
    for e in range(size):
        blocked |= shares[at + e] == 0.0 and passed[e, 0] == 0.0
    return blocked
