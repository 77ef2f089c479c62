"""Nearest neighbors, compiled: the same bits as `kernels.neighbors`.

Arguments marked OUT are written.
"""

import numpy as np

from edgewise.backend.numba.vectors import inner, kernel


@inner
def _sift(similarities, rows, position, size):  # type: ignore[no-untyped-def]
    """Restore a heap below `position`, with the worst neighbor on top."""
    similarity, row = similarities[position], rows[position]
    child = 2 * position + 1
    while child < size:
        if child + 1 < size:
            left, right = similarities[child], similarities[child + 1]
            child += right < left or (right == left and rows[child + 1] > rows[child])
        below = similarities[child]
        if similarity < below or (similarity == below and row > rows[child]):
            break
        similarities[position], rows[position] = below, rows[child]
        position, child = child, 2 * child + 1
    similarities[position], rows[position] = similarity, row


@inner
def _keep_largest(near, candidates, count, similarities, rows):  # type: ignore[no-untyped-def]
    """Keep the most similar candidates, in order; ties go to the lower number."""
    size = min(count, len(rows))
    for c in range(size):
        similarities[c], rows[c] = near[c], candidates[c]
    for i in range(size // 2 - 1, -1, -1):
        _sift(similarities, rows, i, size)
    for c in range(size, count):
        last = similarities[0]
        if near[c] > last or (near[c] == last and candidates[c] < rows[0]):
            similarities[0], rows[0] = near[c], candidates[c]
            _sift(similarities, rows, 0, size)
    for end in range(size - 1, 0, -1):
        similarities[0], similarities[end] = similarities[end], similarities[0]
        rows[0], rows[end] = rows[end], rows[0]
        _sift(similarities, rows, 0, end)


@inner
def _add_products(target, entries, columns, dots, common, touched):  # type: ignore[no-untyped-def]
    """Sum the products of a row with all rows. OUT dots, common, touched; return the count."""
    starts, others, values, _ = entries
    column_starts, column_others, column_values, _ = columns
    first, last = starts[target], starts[target + 1]
    work = 0
    for e in range(first, last):
        column, value = others[e], values[e]
        start, stop = column_starts[column], column_starts[column + 1]
        rows, factors = column_others[start:stop], column_values[start:stop]
        for f in range(len(rows)):
            # Unsigned: no check for negative indices, which is far faster.
            cell = np.uint64(rows[f])
            dots[cell] += value * factors[f]
            common[cell] += 1
        work += len(rows)
    count = 0
    if work >= len(dots):
        for row in range(len(dots)):
            touched[count] = row
            count += common[row] > 0
        return count
    for e in range(first, last):
        column = others[e]
        for f in range(column_starts[column], column_starts[column + 1]):
            row = column_others[f]
            if common[row] > 0:
                # Negative: seen already.
                common[row] = -common[row]
                touched[count] = row
                count += 1
    for c in range(count):
        common[touched[c]] = -common[touched[c]]
    return count


@kernel
def nearest(rows, columns, norms, targets, damping, limit, near):  # type: ignore[no-untyped-def]
    """Find the most similar rows of the targets: see the reference. OUT near."""
    shrinkage, min_support = damping
    n_rows = len(rows.starts) - 1
    dots, common = np.zeros(n_rows), np.zeros(n_rows, dtype=np.int32)
    touched, similarities = np.empty(n_rows + 1, dtype=np.int32), np.empty(n_rows + 1)
    for t in range(len(targets)):
        target = targets[t]
        touched_count = _add_products(target, rows, columns, dots, common, touched)
        count = 0
        for c in range(touched_count):
            row = touched[c]
            dot, support, length = dots[row], common[row], norms[target] * norms[row]
            dots[row], common[row] = 0.0, 0
            if length > 0.0 and row < limit and row != target and support >= min_support:
                similarity = dot / length
                if shrinkage > 0.0:
                    similarity *= support / (support + shrinkage)
                similarities[count], touched[count] = similarity, row
                count += similarity > 0.0
        _keep_largest(similarities, touched, count, near.similarities[t], near.others[t])


@kernel
def averages(near, entries, targets, columns, k, totals, masses):  # type: ignore[no-untyped-def]
    """Sum over the neighbors with a value in a column: see the reference. OUT totals, masses."""
    starts, others, values, weights = entries
    neighbors, similarities = near
    n_rows = len(neighbors)
    if len(others) > 0:
        n_rows = max(n_rows, others.max() + 1)
    held = np.full(n_rows, -1, dtype=np.int64)
    current = -1
    for p in range(len(targets)):
        if columns[p] != current:
            if current >= 0:
                for e in range(starts[current], starts[current + 1]):
                    held[others[e]] = -1
            current = columns[p]
            for e in range(starts[current], starts[current + 1]):
                held[others[e]] = e
        row, count, total, mass = targets[p], 0, 0.0, 0.0
        for i in range(neighbors.shape[1]):
            other = neighbors[row, i]
            if other < 0 or count == k:
                break
            e = held[other]
            if e >= 0:
                share = similarities[row, i] * weights[e]
                total += share * values[e]
                mass += share
                count += 1
        totals[p], masses[p] = total, mass


@kernel
def spread(sources, entries, limit, totals, masses, counts):  # type: ignore[no-untyped-def]
    """Add the rows of the sources of each row: see the reference. OUT totals, masses, counts."""
    source_starts, source_rows, amounts, shares = sources
    starts, others, values, weights = entries
    counted = counts.shape[1] > 0
    for row in range(len(source_starts) - 1):
        total = totals[row]
        for e in range(source_starts[row], source_starts[row + 1]):
            start, stop = starts[source_rows[e]], starts[source_rows[e] + 1]
            columns, added, heavy = others[start:stop], values[start:stop], weights[start:stop]
            amount, share = amounts[e], shares[e]
            if not counted:
                for f in range(len(columns)):
                    total[np.uint64(columns[f])] += amount * added[f]
                continue
            mass, count = masses[row], counts[row]
            for f in range(len(columns)):
                cell = np.uint64(columns[f])
                if count[cell] < limit:
                    total[cell] += amount * added[f]
                    mass[cell] += share * heavy[f]
                count[cell] += 1
