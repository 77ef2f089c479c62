"""The loops of matrix factorization in NumPy: see `kernels.factorization_numba`.

Both agree within rounding errors. Arguments are read (IN) or written (OUT).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals, Rows, Singles

RELEASES_GIL = False

# Blocks of pairs, or of equations, are sized to at most this many numbers.
_BLOCK = 1 << 20
_WORD = (1 << 64) - 1

Starts = NDArray[np.int64]


def pair_products(left: NDArray, right: NDArray, ones: NDArray, others: NDArray) -> NDArray:
    """Return the inner products of pairs of rows, one from `left` and one from `right`."""
    products = np.empty(len(ones), dtype=np.result_type(left, right))
    size = max(1, _BLOCK // max(1, left.shape[1]))
    for start in range(0, len(ones), size):
        part = slice(start, start + size)
        products[part] = np.einsum("ij,ij->i", left[ones[part]], right[others[part]])
    return products


def shuffle(order: Rows, state: NDArray[np.uint64]) -> None:
    """Shuffle (Fisher and Yates) with Marsaglia's xorshift generator; OUT order, state."""
    x, places = int(state[0]), order.tolist()
    for last in range(len(places) - 1, 0, -1):
        x ^= x << 13 & _WORD
        x ^= x >> 7
        x ^= x << 17 & _WORD
        place = (x >> 32) * (last + 1) >> 32
        places[last], places[place] = places[place], places[last]
    order[:] = places
    state[0] = x


def descend(
    order: Rows, users: Rows, items: Rows, values: Reals, weights: Reals, mean: float, rate: float,
    bias_rate: float, penalty: float, bias_penalty: float, user_factors: Reals, item_factors: Reals,
    user_biases: Reals, item_biases: Reals,
) -> None:  # fmt: skip
    """Take a gradient step for every rating in turn; OUT factors and biases.

    No weights means all are 1; a `bias_rate` of 0 means no biases.
    """
    b, c = user_biases, item_biases
    with np.errstate(over="ignore", invalid="ignore"):
        for place in order.tolist():
            i, j = int(users[place]), int(items[place])
            u, v = user_factors[i], item_factors[j]
            error = values[place] - mean - b[i] - c[j] - u @ v
            weight = weights[place] if len(weights) else 1.0
            step, bias_step = rate * weight, bias_rate * weight
            b[i] += bias_step * (error - bias_penalty * b[i])
            c[j] += bias_step * (error - bias_penalty * c[j])
            moved = u + step * (error * v - penalty * u)
            v += step * (error * u - penalty * v)
            u[:] = moved


def descend_pairs(
    order: Rows, users: Rows, items: Rows, starts: Starts, others: Rows, n_tries: int,
    rates: tuple[float, float], penalty: float, state: NDArray[np.uint64], user_factors: Reals,
    item_factors: Reals,
) -> None:  # fmt: skip
    """Take a gradient step for every choice and an item drawn beside it; OUT state, factors.

    An item is drawn up to `n_tries` times, until it is no choice of the user. The last factor of a
    user stays.
    """
    x = int(state[0])
    for place in order.tolist():
        i = int(users[place])
        own = others[starts[i] : starts[i + 1]]
        for _ in range(n_tries):
            x ^= x << 13 & _WORD
            x ^= x >> 7
            x ^= x << 17 & _WORD
            other = (x >> 32) * len(item_factors) >> 32
            at = np.searchsorted(own, other)
            if at == len(own) or own[at] != other:
                with np.errstate(over="ignore", invalid="ignore"):
                    u, v, w = user_factors[i], item_factors[items[place]], item_factors[other]
                    length = 1.0 / (1.0 + np.exp(u @ v - u @ w))
                    moved = u + rates[0] * (length * (v - w) - penalty * u)
                    v += rates[1] * (length * u - penalty * v)
                    w += rates[1] * (-length * u - penalty * w)
                    u[:-1] = moved[:-1]
                break
    state[0] = x


def sparse_rows(
    start: int, stop: int, gram: NDArray, ridge: float, lasso: float, n_sweeps: int,
    tolerance: float, weights: NDArray,
) -> None:  # fmt: skip
    """Regress the items from start to stop on all others by coordinate descent; OUT weights.

    Row i of the weights minimizes ``w' G w / 2 - G_i w + ridge |w|^2 / 2 + lasso |w|_1`` with all
    weights at least 0 and that of the item itself 0.
    """
    rows = np.arange(start, stop)
    gradient = gram[start:stop].copy()
    for _ in range(n_sweeps):
        largest = np.zeros(len(rows))
        for i in range(len(gram)):
            own = weights[rows, i]
            new = np.maximum(
                0.0, (gradient[:, i] + gram[i, i] * own - lasso) / (gram[i, i] + ridge)
            )
            move = np.where(rows == i, 0.0, new - own).astype(gram.dtype)
            weights[rows, i] += move
            gradient -= move[:, None] * gram[i]
            largest = np.maximum(largest, np.abs(move))
        rows, gradient = rows[largest > tolerance], gradient[largest > tolerance]


def squared_error(
    users: Rows, items: Rows, values: Reals, weights: Reals, mean: float, user_factors: Reals,
    item_factors: Reals, user_biases: Reals, item_biases: Reals,
) -> float:  # fmt: skip
    """Return the weighted sum of squared errors; no weights means all are 1."""
    products = pair_products(user_factors, item_factors, users, items)
    squares = (values - mean - (user_biases[users] + item_biases[items]) - products) ** 2
    return float(np.vdot(squares, weights) if len(weights) else squares.sum())


def ridge_rows(
    start: int, stop: int, starts: Starts, others: Rows, weights: Reals, targets: Reals,
    design: Reals, base: Reals, scales: Reals, penalties: Reals, tiny: float, solutions: Reals,
) -> None:  # fmt: skip
    """Solve the regularized least squares of the rows from start to stop; OUT solutions.

    Row i has the matrix ``base + sum of w y y' + scales[i] diag(penalties)`` over its entries and
    the right side ``sum of targets y``, where y is the row of the design at the entry's other end.
    """
    k = design.shape[1]
    size = max(1, _BLOCK // (k * k))
    for first in range(start, stop, size):
        last = min(first + size, stop)
        matrices = base + scales[first:last, None, None] * np.diag(penalties)
        right = np.zeros((last - first, k))
        for place, row in enumerate(range(first, last)):
            entries = slice(starts[row], starts[row + 1])
            near = design[others[entries]]
            matrices[place] += near.T @ (weights[entries, None] * near)
            right[place] = targets[entries] @ near
        solutions[first:last] = solved(matrices, right, tiny)


def solved(matrices: Reals, right: Reals, tiny: float) -> Reals:
    """Return the solutions of many symmetric systems by Cholesky decomposition.

    Systems may be singular, as without regularization: where less than `tiny` of a diagonal entry
    is left, its equation is redundant and its unknown is 0. LAPACK would raise instead.
    """
    upper, x = matrices.copy(), right.copy()
    k = x.shape[1]
    least = tiny * np.einsum("ijj->ij", upper)
    roots = np.zeros_like(x)
    for j in range(k):
        pivot = upper[:, j, j]
        solvable = pivot > least[:, j]
        roots[:, j] = np.where(solvable, np.sqrt(np.where(solvable, pivot, 1.0)), 0.0)
        over = np.where(solvable, 1.0 / np.where(solvable, roots[:, j], 1.0), 0.0)
        upper[:, j, j:] *= over[:, None]
        x[:, j] *= over
        row = upper[:, j, j + 1 :]
        upper[:, j + 1 :, j + 1 :] -= row[:, :, None] * row[:, None, :]
        x[:, j + 1 :] -= row * x[:, j, None]
    for j in range(k - 1, -1, -1):
        total = x[:, j] - np.einsum("ij,ij->i", upper[:, j, j + 1 :], x[:, j + 1 :])
        solvable = roots[:, j] > 0
        x[:, j] = np.where(solvable, total / np.where(solvable, roots[:, j], 1.0), 0.0)
    return x


def multiply_rows(
    start: int, stop: int, starts: Starts, others: Rows, values: Reals, weights: Reals,
    design: Reals, scales: Reals, penalty: float, factors: Reals,
) -> None:  # fmt: skip
    """Make one multiplicative update of the rows from start to stop; OUT factors.

    Row u becomes ``u * (sum of w r y) / (sum of w (u y) y + penalty scale u)``, factor by factor;
    no weights means all are 1.
    """
    part = _Part(start, stop, starts, others, len(design))
    rows, entries = factors[start:stop], part.entries
    products = pair_products(rows, design, part.numbers, part.others)
    wanted = values[entries]
    if len(weights):
        wanted = weights[entries] * wanted
        products *= weights[entries]
    above = part.matrix(wanted) @ design
    below = penalty * scales[start:stop, None] * rows
    below += part.matrix(products) @ design
    rows *= np.divide(above, below, out=np.ones_like(below), where=below > 0)


def conjugate_rows(
    start: int, stop: int, starts: Starts, others: Rows, extra: Reals, targets: Reals,
    design: Singles, gram: Singles, n_steps: int, factors: Singles,
) -> None:  # fmt: skip
    """Take conjugate gradient steps for the rows from start to stop; OUT factors.

    The system of a row is ``(gram + sum of extra y y') x = sum of targets y``.
    """
    part = _Part(start, stop, starts, others, len(design))
    more, x = extra[part.entries], factors[start:stop]

    def times(vector: Singles) -> Any:
        products = more * pair_products(vector, design, part.numbers, part.others)
        return vector @ gram + part.matrix(products.astype(np.float32)) @ design

    residual = part.matrix(targets[part.entries].astype(np.float32)) @ design - times(x)
    direction, size = residual, np.einsum("ij,ij->i", residual, residual)
    for _ in range(n_steps):
        image = times(direction)
        curvature = np.einsum("ij,ij->i", direction, image)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=size > 1e-20)
        x += length[:, None] * direction
        residual = residual - length[:, None] * image
        left = np.einsum("ij,ij->i", residual, residual)
        turn = np.divide(left, size, out=np.zeros_like(size), where=size > 1e-20)
        direction, size = residual + turn[:, None] * direction, left


def confident_error(
    rows: NDArray, others: Rows, extra: Reals, targets: Reals, factors: NDArray, design: NDArray
) -> float:
    """Return the sum of ``extra s^2 - 2 targets s``, with s the product of a pair."""
    s = pair_products(factors, design, rows, others).astype(float)
    return float((extra * s * s - 2.0 * targets * s).sum())


class _Part:
    """The entries of the rows from start to stop."""

    def __init__(self, start: int, stop: int, starts: Starts, others: Rows, n_others: int) -> None:
        self.entries = slice(int(starts[start]), int(starts[stop]))
        self.others = others[self.entries]
        self.starts = starts[start : stop + 1] - starts[start]
        self.numbers = np.repeat(np.arange(stop - start), np.diff(self.starts))
        self.shape = (stop - start, n_others)

    def matrix(self, data: NDArray) -> Any:
        return sparse.csr_array((data, self.others, self.starts), shape=self.shape)
