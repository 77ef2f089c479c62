"""The loops of matrix factorization in NumPy: the twins of `kernels.factorization_numba`.

Both agree within rounding errors. Arguments marked OUT are written; rows are
solved from `start` to `stop`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals, Rows, Singles
from edgewise.recommend.arrays import iter_blocks

# An equation is redundant if less than this fraction of its diagonal entry is left.
TINY = 1e-12

MAX_DRAWS = 10
"""Items are drawn at most this often until one is not an interaction of the user."""

_WORD = (1 << 64) - 1

Starts = NDArray[np.int64]


class RatedPairs(NamedTuple):
    """Ratings; no weights means that all are 1. The mean is subtracted from the values."""

    users: Rows
    items: Rows
    values: Reals
    weights: Reals
    mean: float


class BiasedFactors(NamedTuple):
    """A row of factors and a bias for each user and each item."""

    users: Reals
    items: Reals
    user_biases: Reals
    item_biases: Reals


class StepSizes(NamedTuple):
    """The step lengths and the penalties of factors and of biases."""

    rate: float
    bias_rate: float
    penalty: float
    bias_penalty: float


class Interactions(NamedTuple):
    """Pairs of users and items, and the items of each user, ascending, in compressed rows."""

    users: Rows
    items: Rows
    starts: Starts
    others: Rows


class RowEntries(NamedTuple):
    """Entries in compressed rows; no weights means that all are 1."""

    starts: Starts
    others: Rows
    values: Reals
    weights: Reals


class RidgeSystem(NamedTuple):
    """Regularized least squares for each row of entries.

    Row i has the matrix ``base + sum of w y y' + scales[i] diag(penalties)`` over its entries and
    the right side ``sum of targets y``, where y is the row of the design at the entry's other end.
    """

    starts: Starts
    others: Rows
    weights: Reals
    targets: Reals
    design: Reals
    base: Reals
    scales: Reals
    penalties: Reals


class ConfidenceSystem(NamedTuple):
    """For each row of entries ``(gram + sum of extra y y') x = sum of targets y``."""

    starts: Starts
    others: Rows
    extra: Reals
    targets: Reals
    design: Singles
    gram: Singles


def pair_products(left: NDArray, right: NDArray, rows: NDArray, others: NDArray) -> NDArray:
    """Return the inner products of pairs of rows, one from `left` and one from `right`."""
    products = np.empty(len(rows), dtype=np.result_type(left, right))
    for block in iter_blocks(len(rows), left.shape[1]):
        products[block] = np.einsum("ij,ij->i", left[rows[block]], right[others[block]])
    return products


def shuffle(order: Rows, state: NDArray[np.uint64]) -> None:
    """Shuffle (Fisher and Yates) with Marsaglia's xorshift generator; OUT order, state."""
    x, values = int(state[0]), order.tolist()
    for last in range(len(values) - 1, 0, -1):
        x = _next_random(x)
        i = (x >> 32) * (last + 1) >> 32
        values[last], values[i] = values[i], values[last]
    order[:] = values
    state[0] = x


def _next_random(x: int) -> int:
    x ^= x << 13 & _WORD
    x ^= x >> 7
    return x ^ (x << 17 & _WORD)


def descend(order: Rows, ratings: RatedPairs, steps: StepSizes, factors: BiasedFactors) -> None:
    """Take a gradient step for every rating in turn; OUT factors. Without bias rate no biases."""
    users, items, values, weights, mean = ratings
    _, _, b, c = factors
    with np.errstate(over="ignore", invalid="ignore"):
        for row in order.tolist():
            i, j = int(users[row]), int(items[row])
            u, v = factors.users[i], factors.items[j]
            error = values[row] - mean - b[i] - c[j] - u @ v
            weight = weights[row] if len(weights) else 1.0
            step, bias_step = steps.rate * weight, steps.bias_rate * weight
            b[i] += bias_step * (error - steps.bias_penalty * b[i])
            c[j] += bias_step * (error - steps.bias_penalty * c[j])
            moved = u + step * (error * v - steps.penalty * u)
            v += step * (error * u - steps.penalty * v)
            u[:] = moved


def descend_pairs(
    order: Rows, pairs: Interactions, rates: tuple[float, float], penalty: float,
    state: NDArray[np.uint64], user_factors: Reals, item_factors: Reals,
) -> None:  # fmt: skip
    """Take a gradient step for every interaction and an item drawn beside it; OUT state, factors.

    Items are drawn until one is not an interaction of the user. The last factor of a user stays.
    """
    x = int(state[0])
    for row in order.tolist():
        i = int(pairs.users[row])
        user_items = pairs.others[pairs.starts[i] : pairs.starts[i + 1]]
        for _ in range(MAX_DRAWS):
            x = _next_random(x)
            other = (x >> 32) * len(item_factors) >> 32
            at = np.searchsorted(user_items, other)
            if at == len(user_items) or user_items[at] != other:
                with np.errstate(over="ignore", invalid="ignore"):
                    u, v, w = user_factors[i], item_factors[pairs.items[row]], item_factors[other]
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
    """Regress items on all others by coordinate descent; OUT weights.

    Row i of the weights minimizes ``w' G w / 2 - G_i w + ridge |w|^2 / 2 + lasso |w|_1`` with all
    weights at least 0 and that of the item itself 0.
    """
    rows = np.arange(start, stop)
    gradient = gram[start:stop].copy()
    for _ in range(n_sweeps):
        largest = np.zeros(len(rows))
        for i in range(len(gram)):
            before = weights[rows, i]
            new = np.maximum(
                0.0, (gradient[:, i] + gram[i, i] * before - lasso) / (gram[i, i] + ridge)
            )
            move = np.where(rows == i, 0.0, new - before).astype(gram.dtype)
            weights[rows, i] += move
            gradient -= move[:, None] * gram[i]
            largest = np.maximum(largest, np.abs(move))
        rows, gradient = rows[largest > tolerance], gradient[largest > tolerance]


def squared_error(ratings: RatedPairs, factors: BiasedFactors) -> float:
    """Return the weighted sum of squared errors."""
    users, items, values, weights, mean = ratings
    products = pair_products(factors.users, factors.items, users, items)
    biases = factors.user_biases[users] + factors.item_biases[items]
    squares = (values - mean - biases - products) ** 2
    return float(np.vdot(squares, weights) if len(weights) else squares.sum())


def ridge_rows(start: int, stop: int, system: RidgeSystem, solutions: Reals) -> None:
    """Solve the regularized least squares of some rows; OUT solutions."""
    starts, others, weights, targets, design, base, scales, penalties = system
    k = design.shape[1]
    for block in iter_blocks(stop - start, k * k):
        first, last = start + block.start, start + block.stop
        matrices = base + scales[first:last, None, None] * np.diag(penalties)
        right = np.zeros((last - first, k))
        for i, row in enumerate(range(first, last)):
            entries = slice(starts[row], starts[row + 1])
            rows = design[others[entries]]
            matrices[i] += rows.T @ (weights[entries, None] * rows)
            right[i] = targets[entries] @ rows
        solutions[first:last] = solve_symmetric(matrices, right)


def solve_symmetric(matrices: Reals, right: Reals) -> Reals:
    """Return the solutions of many symmetric systems by Cholesky decomposition.

    Systems may be singular, as without regularization: where less than TINY of a diagonal entry
    is left, its equation is redundant and its unknown is 0. LAPACK would raise instead.
    """
    upper, x = matrices.copy(), right.copy()
    k = x.shape[1]
    smallest = TINY * np.einsum("ijj->ij", upper)
    roots = np.zeros_like(x)
    for j in range(k):
        pivot = upper[:, j, j]
        solvable = pivot > smallest[:, j]
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
    start: int, stop: int, entries: RowEntries, design: Reals, scales: Reals, penalty: float,
    factors: Reals,
) -> None:  # fmt: skip
    """Make one multiplicative update of some rows; OUT factors.

    Row u becomes ``u * (sum of w r y) / (sum of w (u y) y + penalty scale u)``, factor by factor.
    """
    some = _SomeRows(start, stop, entries.starts, entries.others, len(design))
    rows, values = factors[start:stop], entries.values[some.entries]
    products = pair_products(rows, design, some.numbers, some.others)
    if len(entries.weights):
        values = entries.weights[some.entries] * values
        products *= entries.weights[some.entries]
    above = some.matrix(values) @ design
    below = penalty * scales[start:stop, None] * rows
    below += some.matrix(products) @ design
    rows *= np.divide(above, below, out=np.ones_like(below), where=below > 0)


def conjugate_rows(
    start: int, stop: int, system: ConfidenceSystem, n_steps: int, factors: Singles
) -> None:
    """Take conjugate gradient steps for some rows; OUT factors."""
    starts, others, extra, targets, design, gram = system
    some = _SomeRows(start, stop, starts, others, len(design))
    extra, x = extra[some.entries], factors[start:stop]

    def times(vector: Singles) -> Any:
        products = extra * pair_products(vector, design, some.numbers, some.others)
        return vector @ gram + some.matrix(products.astype(np.float32)) @ design

    residual = some.matrix(targets[some.entries].astype(np.float32)) @ design - times(x)
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


class _SomeRows:
    """The entries of the rows from start to stop."""

    def __init__(self, start: int, stop: int, starts: Starts, others: Rows, n_others: int) -> None:
        self.entries = slice(int(starts[start]), int(starts[stop]))
        self.others = others[self.entries]
        self.starts = starts[start : stop + 1] - starts[start]
        self.numbers = np.repeat(np.arange(stop - start), np.diff(self.starts))
        self.shape = (stop - start, n_others)

    def matrix(self, data: NDArray) -> Any:
        return sparse.csr_array((data, self.others, self.starts), shape=self.shape)
