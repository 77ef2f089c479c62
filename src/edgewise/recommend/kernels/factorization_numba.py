"""The loops of matrix factorization, compiled; `kernels.factorization` documents them.

Arguments marked OUT are written. No row depends on another row of the same
call, so threads can share rows in any way.
"""

from typing import Any

import numpy as np
from numba import njit

from edgewise.backend.numba.vectors import copy_to
from edgewise.common.compiled import compile_cached
from edgewise.recommend.kernels.factorization import MAX_DRAWS, TINY

# Reassociation lets sums of products use vector instructions. The order is fixed at compile time,
# so a fit still gives the same bits every time.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}
_kernel = compile_cached(**_OPTIONS)
_inner = njit(no_cpython_wrapper=True, **_OPTIONS)

_BLOCK = 1024


@_inner
def _next_random(x):  # type: ignore[no-untyped-def]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    return x ^ (x << np.uint64(17))


@_kernel
def shuffle(order, state):  # type: ignore[no-untyped-def]
    """Shuffle (Fisher and Yates) with Marsaglia's xorshift generator; OUT order, state."""
    x = state[0]
    for last in range(len(order) - 1, 0, -1):
        x = _next_random(x)
        # The upper half of x as a fraction of all last + 1 positions.
        i = np.intp(((x >> np.uint64(32)) * np.uint64(last + 1)) >> np.uint64(32))
        held = order[last]
        order[last] = order[i]
        order[i] = held
    state[0] = x


@_kernel
def descend(order, ratings, steps, factors):  # type: ignore[no-untyped-def]
    """Take a gradient step for every rating in turn; OUT factors."""
    users, items, values, weights, mean = ratings
    rate, bias_rate, penalty, bias_penalty = steps
    user_factors, item_factors, user_biases, item_biases = factors
    # Ratings are fetched a block ahead: a step that waits for its rating takes twice as long.
    near_users, near_items = np.empty(_BLOCK, dtype=np.int32), np.empty(_BLOCK, dtype=np.int32)
    near_values, near_weights = np.empty(_BLOCK), np.ones(_BLOCK)
    for start in range(0, len(order), _BLOCK):
        size = min(_BLOCK, len(order) - start)
        for at in range(size):
            row = order[start + at]
            near_users[at], near_items[at] = users[row], items[row]
            near_values[at] = values[row] - mean
            if len(weights):
                near_weights[at] = weights[row]
        for at in range(size):
            i, j = near_users[at], near_items[at]
            u, v = user_factors[i], item_factors[j]
            product = 0.0
            for f in range(len(u)):
                product += u[f] * v[f]
            error = near_values[at] - user_biases[i] - item_biases[j] - product
            step, bias_step = rate * near_weights[at], bias_rate * near_weights[at]
            user_biases[i] += bias_step * (error - bias_penalty * user_biases[i])
            item_biases[j] += bias_step * (error - bias_penalty * item_biases[j])
            for f in range(len(u)):
                x, y = u[f], v[f]
                u[f] = x + step * (error * y - penalty * x)
                v[f] = y + step * (error * x - penalty * y)


@_kernel
def descend_pairs(  # type: ignore[no-untyped-def]
    order, pairs, rates, penalty, state, user_factors, item_factors
):
    """Take a step for every interaction and an item drawn beside it; OUT state, factors."""
    users, items, starts, others = pairs
    n_items, k = item_factors.shape
    user_rate, item_rate = rates
    x = state[0]
    for row in order:
        i, j = users[row], items[row]
        u, v = user_factors[i], item_factors[j]
        score = 0.0
        for f in range(k):
            score += u[f] * v[f]
        first, last = starts[i], starts[i + 1]
        for _ in range(MAX_DRAWS):
            x = _next_random(x)
            other = np.intp(((x >> np.uint64(32)) * np.uint64(n_items)) >> np.uint64(32))
            at = first + np.searchsorted(others[first:last], other)
            if at < last and others[at] == other:
                continue
            w = item_factors[other]
            gap = score
            for f in range(k):
                gap -= u[f] * w[f]
            length = 1.0 / (1.0 + np.exp(gap))
            for f in range(k):
                a, b, c = u[f], v[f], w[f]
                if f < k - 1:
                    u[f] = a + user_rate * (length * (b - c) - penalty * a)
                v[f] = b + item_rate * (length * a - penalty * b)
                w[f] = c + item_rate * (-length * a - penalty * c)
            break
    state[0] = x


@_kernel
def sparse_rows(  # type: ignore[no-untyped-def]
    start, stop, gram, ridge, lasso, n_sweeps, tolerance, weights
):
    """Regress the items from start to stop on all others by coordinate descent; OUT weights."""
    n_items = len(gram)
    gradient = np.empty(n_items, dtype=gram.dtype)
    for row in range(start, stop):
        row_weights = weights[row]
        for i in range(n_items):
            gradient[i] = gram[row, i]
        for _ in range(n_sweeps):
            largest = 0.0
            for i in range(n_items):
                if i == row:
                    continue
                size = gram[i, i]
                new = max(0.0, (gradient[i] + size * row_weights[i] - lasso) / (size + ridge))
                move = gram.dtype.type(new - row_weights[i])
                if move != 0.0:
                    row_weights[i] += move
                    near = gram[i]
                    for k in range(n_items):
                        gradient[k] -= move * near[k]
                    largest = max(largest, abs(move))
            if largest <= tolerance:
                break


@_kernel
def squared_error(ratings, factors):  # type: ignore[no-untyped-def]
    """Return the weighted sum of squared errors."""
    users, items, values, weights, mean = ratings
    user_factors, item_factors, user_biases, item_biases = factors
    total = 0.0
    for row in range(len(values)):
        i, j = users[row], items[row]
        product = 0.0
        for f in range(user_factors.shape[1]):
            product += user_factors[i, f] * item_factors[j, f]
        error = values[row] - mean - user_biases[i] - item_biases[j] - product
        total += error * error * (weights[row] if len(weights) else 1.0)
    return total


@_inner
def _add_outer(matrix, design, others, weights):  # type: ignore[no-untyped-def]
    """Add the weighted outer products of some rows to the upper triangle of a matrix."""
    k = design.shape[1]
    n_fours = len(others) - len(others) % 4
    # Four rows at a time: the matrix passes through the core a quarter as often.
    for e in range(0, n_fours, 4):
        y0, y1 = design[others[e]], design[others[e + 1]]
        y2, y3 = design[others[e + 2]], design[others[e + 3]]
        w0, w1, w2, w3 = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
        for a in range(k):
            q0, q1, q2, q3 = w0 * y0[a], w1 * y1[a], w2 * y2[a], w3 * y3[a]
            for b in range(a, k):
                matrix[a, b] += q0 * y0[b] + q1 * y1[b] + q2 * y2[b] + q3 * y3[b]
    for e in range(n_fours, len(others)):
        y = design[others[e]]
        for a in range(k):
            q = weights[e] * y[a]
            for b in range(a, k):
                matrix[a, b] += q * y[b]


@_inner
def _solve(matrix, right):  # type: ignore[no-untyped-def]
    """Solve by Cholesky decomposition; OUT matrix (destroyed), right (the solution).

    Where less than TINY of a diagonal entry is left, its unknown is 0.
    """
    k = len(right)
    smallest = np.empty(k)
    for j in range(k):
        smallest[j] = TINY * matrix[j, j]
    for j in range(k):
        if not matrix[j, j] > smallest[j]:
            matrix[j, j] = 0.0
            continue
        root = np.sqrt(matrix[j, j])
        for b in range(j, k):
            matrix[j, b] /= root
        right[j] /= root
        for a in range(j + 1, k):
            q = matrix[j, a]
            for b in range(a, k):
                matrix[a, b] -= q * matrix[j, b]
            right[a] -= q * right[j]
    for j in range(k - 1, -1, -1):
        if matrix[j, j] == 0.0:
            right[j] = 0.0
            continue
        total = right[j]
        for b in range(j + 1, k):
            total -= matrix[j, b] * right[b]
        right[j] = total / matrix[j, j]


@_kernel
def ridge_rows(start, stop, system, solutions):  # type: ignore[no-untyped-def]
    """Solve the regularized least squares of some rows; OUT solutions."""
    starts, others, weights, targets, design, base, scales, penalties = system
    k = design.shape[1]
    matrix, right = np.empty((k, k)), np.empty(k)
    for i in range(start, stop):
        first, last = starts[i], starts[i + 1]
        for f in range(k):
            copy_to(matrix[f], base[f])
            matrix[f, f] += scales[i] * penalties[f]
        _add_outer(matrix, design, others[first:last], weights[first:last])
        right[:] = 0.0
        for e in range(first, last):
            y, target = design[others[e]], targets[e]
            for f in range(k):
                right[f] += target * y[f]
        _solve(matrix, right)
        copy_to(solutions[i], right)


@_kernel
def multiply_rows(  # type: ignore[no-untyped-def]
    start, stop, entries, design, scales, penalty, factors
):
    """Make one multiplicative update of some rows; OUT factors."""
    starts, others, values, weights = entries
    k = design.shape[1]
    above, below = np.empty(k), np.empty(k)
    for i in range(start, stop):
        row = factors[i]
        above[:] = 0.0
        for f in range(k):
            below[f] = penalty * scales[i] * row[f]
        for e in range(starts[i], starts[i + 1]):
            y = design[others[e]]
            product = 0.0
            for f in range(k):
                product += row[f] * y[f]
            weight = weights[e] if len(weights) else 1.0
            value, predicted = weight * values[e], weight * product
            for f in range(k):
                above[f] += value * y[f]
                below[f] += predicted * y[f]
        for f in range(k):
            if below[f] > 0.0:
                row[f] *= above[f] / below[f]


@_inner
def _residual(gram, design, others, extra, targets, vector, out):  # type: ignore[no-untyped-def]
    """Write (gram + sum of extra y y') vector - sum of targets y to `out`; targets may be empty.

    Two rows at a time, and sums in a new array, which overlaps nothing: both let the compiler use
    vector instructions throughout.
    """
    k = len(vector)
    p, total = vector.copy(), np.zeros(k, dtype=np.float32)
    for j in range(0, k, 4):
        p0, p1, p2, p3 = p[j], p[j + 1], p[j + 2], p[j + 3]
        for f in range(k):
            total[f] += (
                p0 * gram[j, f] + p1 * gram[j + 1, f] + p2 * gram[j + 2, f] + p3 * gram[j + 3, f]
            )
    even = len(others) - len(others) % 2
    for e in range(0, even, 2):
        y0, y1 = design[others[e]], design[others[e + 1]]
        d0, d1 = np.float32(0.0), np.float32(0.0)
        for f in range(k):
            d0 += p[f] * y0[f]
            d1 += p[f] * y1[f]
        d0, d1 = d0 * np.float32(extra[e]), d1 * np.float32(extra[e + 1])
        if len(targets):
            d0, d1 = d0 - np.float32(targets[e]), d1 - np.float32(targets[e + 1])
        for f in range(k):
            total[f] += d0 * y0[f] + d1 * y1[f]
    if even < len(others):
        y = design[others[even]]
        d = np.float32(0.0)
        for f in range(k):
            d += p[f] * y[f]
        d *= np.float32(extra[even])
        if len(targets):
            d -= np.float32(targets[even])
        for f in range(k):
            total[f] += d * y[f]
    copy_to(out, total)


@_kernel
def conjugate_rows(start, stop, system, n_steps, factors):  # type: ignore[no-untyped-def]
    """Take conjugate gradient steps for some rows; OUT factors.

    Design, gram and factors are float32, and their width is a multiple of 4.
    """
    starts, others, extra, targets, design, gram = system
    k = design.shape[1]
    x, p = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.float32)
    r, image = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.float32)
    for i in range(start, stop):
        first, last = starts[i], starts[i + 1]
        near, more = others[first:last], extra[first:last]
        copy_to(x, factors[i])
        _residual(gram, design, near, more, targets[first:last], x, r)
        size = np.float32(0.0)
        for f in range(k):
            r[f] = -r[f]
            p[f] = r[f]
            size += r[f] * r[f]
        for _ in range(n_steps):
            if not size > np.float32(1e-20):
                break
            _residual(gram, design, near, more, targets[:0], p, image)
            curvature = np.float32(0.0)
            for f in range(k):
                curvature += p[f] * image[f]
            length, left = size / curvature, np.float32(0.0)
            for f in range(k):
                x[f] += length * p[f]
                r[f] -= length * image[f]
                left += r[f] * r[f]
            for f in range(k):
                p[f] = r[f] + left / size * p[f]
            size = left
        copy_to(factors[i], x)


@_kernel
def confident_error(rows, others, extra, targets, factors, design):  # type: ignore[no-untyped-def]
    """Return the sum of extra s^2 - 2 targets s, with s the product of a pair."""
    total = 0.0
    for e in range(len(rows)):
        x, y = factors[rows[e]], design[others[e]]
        product = np.float32(0.0)
        for f in range(len(x)):
            product += x[f] * y[f]
        s = np.float64(product)
        total += extra[e] * s * s - 2.0 * targets[e] * s
    return total
