"""The backend in NumPy: the shortest definition of each method.

It trains small problems, where compiling takes longer. Numba's backend returns the same integers
and so trains the same model.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.backend.arithmetic import ENERGY_SCALE, SEARCH_SCALE, exp, to_fixed_point
from edgewise.backend.base import Backend, Edges, RealStep, RuleLike, Step, Tally
from edgewise.backend.host import HostState, SignedProblem
from edgewise.backend.local import HostBackend
from edgewise.backend.reference.ranking import NumpyPairs
from edgewise.backend.reference.scan import ArrayHistogram
from edgewise.common.dtypes import ROW, Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.data.part import RowSubset

# From this many codes on, the product with a sparse matrix is the faster of two ways to sum.
_PRODUCT_FROM = 40_000


class ReferenceBackend(HostBackend):
    """The backend in NumPy.

    Before each round it asks for a `successor`, and hands over to it.
    """

    def __init__(
        self, table: BinnedTable, successor: "Callable[[], Backend | None] | None" = None
    ) -> None:
        super().__init__(table)
        self.pairs = NumpyPairs()
        self._successor = successor

    def upgrade(self) -> Backend:
        return (None if self._successor is None else self._successor()) or self

    def _flip(self, problem: SignedProblem, signs: Signs) -> SignedProblem:
        flipped = replace(problem, signed=problem.signed * signs[None, :, None])
        rows = problem.rows if problem.rows is not None else np.flatnonzero(signs).astype(ROW)
        within = self.within(flipped, rows)
        return within if len(rows) < problem.n_rows else replace(within, rows=None)

    def within(self, problem: SignedProblem, rows: Rows) -> SignedProblem:
        has_own_mass = problem.mass_column and problem.n_scores == 1
        signed = problem.matrix(rows, has_own_mass)
        totals, masses = signed[:, : problem.n_scores].sum(axis=0), np.abs(signed).sum(axis=0)
        # The mass of a row with one score column is given, and need not be the size of its weight.
        return self._narrow(problem, totals, masses[-problem.n_scores :], rows)

    def _compute_histogram(self, columns: Columns, problem: SignedProblem) -> ArrayHistogram:
        plan = self._plan(columns)
        keys = plan.keys if problem.rows is None else plan.keys[problem.rows]
        signed = problem.matrix(problem.rows, problem.mass_column)
        if keys.size > _PRODUCT_FROM:
            starts = len(columns) * np.arange(len(keys) + 1, dtype=np.int32)
            ones = np.ones(keys.size, dtype=np.int64)
            shape = (plan.n_bins, len(keys))
            members = sparse.csc_matrix((ones, keys.ravel(), starts), shape=shape)
            values = np.ascontiguousarray((members @ signed).T)
        else:
            # Doubles hold these sums exactly: they are far below 2**53.
            values = np.empty((signed.shape[1], plan.n_bins), dtype=np.int64)
            for k, column in enumerate(signed.T.astype(np.float64)):
                weights = np.repeat(column, len(columns))
                values[k] = np.bincount(keys.ravel(), weights, plan.n_bins)
        return ArrayHistogram(columns, values, problem.signed_totals, problem.mass)

    def with_columns(self, table: BinnedTable) -> "ReferenceBackend":
        other = ReferenceBackend(table)
        other.keeps_histograms = False
        return other

    def on_rows(self, rows: Rows) -> "ReferenceBackend":
        return ReferenceBackend(RowSubset(self.table).take(rows))

    def edges(self, state: HostState, rule: RuleLike) -> Edges:
        signs = self.outputs(rule)
        exact = to_fixed_point(state.weights)
        edges = (exact * state.labels * signs).sum(axis=1)
        masses = (exact * (signs != 0)).sum(axis=1)
        return Edges(edges, masses, sum(exact.sum(axis=1).tolist()))

    def energy(self, state: HostState, rule: RuleLike, coefficients: Reals) -> int:
        h = self.outputs(rule) * coefficients[:, None]
        grown = state.weights * exp(np.where(state.labels > 0, -h, h))
        return int(np.rint(grown * ENERGY_SCALE).astype(np.int64).sum())

    def advance(self, state: HostState, rule: RuleLike | None, step: Step) -> Tally:
        signs: Any = self._everywhere if rule is None else self.outputs(rule)
        pseudo = int(_pseudo_weights(state, step.votes).sum()) if len(signs) == 1 else -1
        agreement = state.labels * signs
        factors = np.where(agreement > 0, step.agree[:, None], step.against[:, None])
        factors[agreement == 0] = step.abstain
        state.weights *= factors
        state.scores += signs * step.coefficients[:, None]
        _quantize(state)
        wrong = (state.scores > 0) != (state.labels > 0)
        by_label = [(wrong & (state.labels == y)) @ state.row_mass for y in (-1, 1)]
        wrong_rows = state.row_mass[_wrong_rows(state, wrong)].sum()
        return Tally(pseudo, int(wrong_rows), np.array(by_label))

    def reweigh(self, state: HostState, rule: RuleLike, step: RealStep) -> tuple[int, int]:
        outputs = self.outputs(rule)
        pseudo = int(_pseudo_weights(state, step.votes).sum()) if is_shared(outputs) else -1
        state.scores += outputs * step.coefficients[:, None]
        rows, by_label, matrix = state.initial
        low, high = by_label[:, :, None]
        start = (matrix if len(matrix) else rows) * np.where(state.labels > 0, high, low)
        if step.loss == "softmax":
            state.weights[:] = start * softmax_residuals(state.labels, state.scores)
        else:
            margins = np.where(state.labels > 0, state.scores, -state.scores)
            if step.loss == "logistic":
                state.weights[:] = start / (1.0 + exp(margins))
            else:
                state.weights[:] = start * exp(step.shift - margins)
        return int(np.rint(state.weights * step.unit).astype(np.int64).sum()), pseudo


def _pseudo_weights(state: HostState, votes: Reals) -> Exacts:
    """Return | sum over l of w[i,l] y[i,l] v[l] | of each row."""
    pull = np.zeros(state.n_rows)
    for weights, labels, vote in zip(state.weights, state.labels, np.sign(votes), strict=True):
        pull += weights * (labels * vote)
    return to_fixed_point(np.abs(pull))


def softmax_residuals(labels: Signs, scores: Reals) -> Reals:
    """Return |y - p| of each entry, where p is the softmax of its row's scores.

    1 - p of a row's class is the sum over the others, which is exact where p is nearly 1.
    """
    grown = exp(scores - scores.max(axis=0))
    # One by one, in the order of the compiled loops: NumPy would sum in another.
    others = reduce(np.add, np.where(labels > 0, 0.0, grown))
    total = others + grown.max(axis=0, where=labels > 0, initial=0.0)
    return np.where(labels > 0, others, grown) / total


def _quantize(state: HostState) -> None:
    problem = state.whole
    signed = np.rint(state.weights * SEARCH_SCALE).astype(np.int64) * state.labels
    problem.signed_totals = signed.sum(axis=1)
    problem.signed_masses = np.abs(signed).sum(axis=1)
    chunks, n, lanes = problem.signed.shape
    padded = np.zeros((n, chunks * lanes), dtype=np.int64)
    padded[:, : state.n_scores] = signed.T
    if problem.mass_column:
        padded[:, state.n_scores] = np.abs(signed).sum(axis=0)
    problem.signed[:] = padded.reshape(n, chunks, lanes).transpose(1, 0, 2)


def _wrong_rows(state: HostState, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if not state.targets.has_classes:
        return np.asarray(wrong.any(axis=0))
    predicted: NDArray[np.intp] = state.scores.argmax(axis=0)
    return predicted != state.target


def is_shared(outputs: NDArray[Any]) -> bool:
    """Return whether outputs are -1, 0 or +1, the same for all score columns."""
    return len(outputs) == 1 and outputs.dtype == np.int8
