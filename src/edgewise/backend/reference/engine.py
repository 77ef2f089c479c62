"""The backend in NumPy: what each method computes, in the fewest words.

Small problems are trained with it, so that nothing is compiled. Numba's backend returns the same
integers and so the same model.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.backend.arithmetic import (
    ENERGY_SCALE,
    SEARCH_SCALE,
    exact_shift,
    exact_sum,
    exp,
    fixed,
)
from edgewise.backend.base import (
    Backend,
    Candidates,
    Edges,
    GrownTree,
    Histogram,
    Part,
    Problem,
    RealStep,
    ScanQuery,
    Step,
    Tally,
    Targets,
)
from edgewise.backend.host import HostState, SignedProblem, aligned_zeros, lanes_for, search_type
from edgewise.backend.reference.ranking import PairSums
from edgewise.backend.reference.scan import ArrayHistogram, ScanPlan, scan
from edgewise.common.dtypes import ROW, Columns, Exacts, Integers, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.data.part import RowSubset

if TYPE_CHECKING:
    from edgewise.model.rules import Rule, Test, TreeRule

# How many tests' signs are remembered: a product asks for each of its terms several times a round.
TESTS_REMEMBERED = 16

# From this many codes on, the product with a sparse matrix is the faster of two ways to sum.
_PRODUCT_FROM = 40_000


class ReferenceBackend(PairSums, Backend[HostState, SignedProblem]):
    """The backend in NumPy."""

    name = "numpy"

    def __init__(self, table: BinnedTable) -> None:
        self.table = table
        self._plans: dict[bytes, ScanPlan] = {}
        self._keeps = True  # histograms of a tree's nodes, where they ask for it
        self._evaluated: tuple[Rule, Signs | Reals] | None = None
        self._leaf_of: tuple[Any, NDArray[np.intp]] | None = None
        self._signs: dict[int, tuple[Test, Signs]] = {}
        self._potentials: Integers | None = None

    # The round's problem.

    def state(
        self,
        targets: Targets,
        mass_column: bool = False,
        scale: float | None = None,
        n_all: int | None = None,
    ) -> HostState:
        """Return the state before the first round; `scale` normalizes a part of `n_all` rows."""
        weights = np.stack([targets.initial_weights(k) for k in range(len(targets.labels))])
        row_mass = fixed(targets.row_weights)
        if scale is not None:
            return HostState(targets, scale, row_mass, weights, mass_column, n_all)
        state = HostState(targets, 1.0 / exact_sum(weights), row_mass, weights, mass_column)
        self.refresh(state)
        return state

    def problem(self, state: HostState, constraints: tuple[str, ...] = ()) -> SignedProblem:
        return state.problem(constraints)

    def potentials(
        self, rows: Rows, quanta: Exacts, mass_column: bool = False, masses: Exacts | None = None
    ) -> SignedProblem:
        lanes = lanes_for(1 + mass_column)[1]
        n_rows = self.table.n_rows
        if self._potentials is None or self._potentials.shape[2] != lanes:
            self._potentials = aligned_zeros((1, n_rows, lanes), search_type(n_rows))
        sizes = np.abs(quanta) if masses is None else masses
        self._potentials[0, rows, 0] = quanta
        if mass_column:
            self._potentials[0, rows, 1] = sizes
        some = None if len(rows) == n_rows else np.sort(rows)
        totals = quanta.sum(keepdims=True), sizes.sum(keepdims=True)
        return SignedProblem.of(self._potentials, *totals, some, mass_column)

    def flip(self, problem: SignedProblem, tests: Sequence["Test"]) -> SignedProblem:
        return self._flipped(problem, self._product(tests))

    def _flipped(self, problem: SignedProblem, signs: Signs) -> SignedProblem:
        flipped = replace(problem, signed=problem.signed * signs[None, :, None])
        rows = problem.rows if problem.rows is not None else np.flatnonzero(signs).astype(ROW)
        within = self.within(flipped, rows)
        return within if len(rows) < problem.n_rows else replace(within, rows=None)

    def _product(self, tests: Sequence["Test"]) -> Signs:
        """Return the product of the tests' signs; the constant is left out of it."""
        product: Signs | None = None
        for test in tests:
            if test.factors:
                signs = self._signs_of(test)
                product = signs if product is None else product * signs
        return np.ones(self.table.n_rows, dtype=np.int8) if product is None else product

    def _signs_of(self, test: "Test") -> Signs:
        """Return a test's signs on all rows, evaluated once."""
        held = self._signs.pop(id(test), None)
        if held is None:
            held = (test, test.signs(self.table))
            if len(self._signs) >= TESTS_REMEMBERED:
                del self._signs[next(iter(self._signs))]
        self._signs[id(test)] = held
        return held[1]

    def split(self, problem: SignedProblem, test: "Test") -> tuple[SignedProblem, SignedProblem]:
        """Return the problems on either side of a test, the larger as the rest if none abstain."""
        sides = self._sides(problem.rows, test)
        low, high = sides
        smaller = int(len(high) < len(low))
        small = self.within(problem, sides[smaller])
        rows = sides[1 - smaller]
        if len(low) + len(high) == problem.size:
            large = self._rest(problem, small, rows)
        else:
            large = self.within(problem, rows)
        for one in (small, large, small.constraints, large.constraints):
            if one is not None:
                assert isinstance(one, SignedProblem)
                one.kept = None if problem.kept is None else {}
                one.split_from = None if problem.kept is None else one.split_from
        return (small, large) if smaller == 0 else (large, small)

    def _rest(self, whole: SignedProblem, part: SignedProblem, rows: Rows) -> SignedProblem:
        """Return the problem of the rows of the whole that are not in the part."""
        base = whole if whole.entries is None else self.within(whole, rows)
        masses, of_part = whole.constraints, part.constraints
        return replace(
            base,
            size=len(rows),
            signed_totals=whole.signed_totals - part.signed_totals,
            signed_masses=whole.signed_masses - part.signed_masses,
            rows=rows,
            kept=None,
            split_from=(whole, part),
            constraints=None if masses is None else self._rest(masses, of_part, rows),  # type: ignore[arg-type]
        )

    def _sides(self, rows: Rows | None, test: "Test") -> tuple[Rows, Rows]:
        """Return the rows, all or some, on which a test is -1, and those on which it is +1."""
        signs = test.signs(self.table)
        if rows is None:
            rows = np.arange(len(signs), dtype=ROW)
        else:
            signs = signs[rows]
        return rows[signs < 0], rows[signs > 0]

    def within(self, problem: SignedProblem, rows: Rows) -> SignedProblem:
        own = problem.mass_column and problem.n_scores == 1
        signed = signed_matrix(problem, rows, own)
        totals, masses = signed[:, : problem.n_scores].sum(axis=0), np.abs(signed).sum(axis=0)
        # The mass of a row with one score column is given, and need not be the size of its weight.
        return self._narrowed(problem, totals, masses[-problem.n_scores :], rows)

    def _narrowed(
        self, problem: SignedProblem, totals: Exacts, masses: Exacts, rows: Rows
    ) -> SignedProblem:
        weights = problem.constraints
        if weights is not None:
            weights = self.within(weights, rows)  # type: ignore[arg-type]
        return SignedProblem.of(
            problem.signed, totals, masses, rows, problem.mass_column, weights, problem.lease
        )

    # The search.

    def histogram(self, columns: Columns, problem: SignedProblem) -> Histogram:
        if problem.kept is None or not self._keeps:
            return self._summed(columns, problem)
        key = columns.tobytes()
        if key not in problem.kept:
            whole, part = (one.kept or {} for one in problem.split_from or (problem, problem))
            both = key in whole and key in part
            rest = whole[key] - part[key] if both else self._summed(columns, problem)
            problem.kept[key] = rest
        found: Histogram = problem.kept[key]
        return found

    def _summed(self, columns: Columns, problem: SignedProblem) -> ArrayHistogram:
        plan = self._plan(columns)
        keys = plan.keys if problem.rows is None else plan.keys[problem.rows]
        signed = signed_matrix(problem, problem.rows, problem.mass_column)
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

    def scan(self, histogram: Histogram, question: ScanQuery) -> Candidates:
        return scan(self._plan(histogram.columns), histogram, question)

    def with_columns(self, table: BinnedTable) -> "ReferenceBackend":
        other = ReferenceBackend(table)
        # Its columns are others each time: no node would meet them again.
        other._keeps = False
        return other

    # Parts of the weights.

    def row_weight_sums(self, problem: SignedProblem) -> Exacts:
        sizes = np.abs(problem.signed.astype(np.int64)).sum(axis=(0, 2))
        if problem.mass_column:
            chunk, lane = divmod(problem.n_scores, problem.signed.shape[2])
            sizes -= problem.signed[chunk, :, lane]
        return sizes

    def sum_heavy(self, problem: SignedProblem, least: int) -> int:
        heavy = problem.signed[_heavy_entries(problem, least)]
        return int(np.abs(heavy.astype(np.int64)).sum())

    def part(self, rows: Rows) -> Part[SignedProblem]:
        if not self._can_copy:
            return RowsWithin(self, rows)
        return ArrayPart(self._restricted(rows), rows)

    def select_heavy(self, problem: SignedProblem, least: int) -> Part[SignedProblem] | None:
        if not self._can_copy:
            return None
        heavy = _heavy_entries(problem, least)
        rows = np.flatnonzero(heavy.any(axis=(0, 2))).astype(ROW)
        return ArrayPart(self._restricted(rows), rows, heavy[:, rows])

    @property
    def _can_copy(self) -> bool:
        """Whether rows can be copied: responses of image filters are computed for all."""
        aligned = self.table.raw_rows
        return aligned is None or aligned.filters is None

    def _restricted(self, rows: Rows) -> "ReferenceBackend":
        return ReferenceBackend(RowSubset(self.table).take(rows))

    # The step.

    def edges(self, state: HostState, rule: "Rule") -> Edges:
        signs = self.outputs(rule)
        exact = fixed(state.weights)
        edges = (exact * state.labels * signs).sum(axis=1)
        masses = (exact * (signs != 0)).sum(axis=1)
        return Edges(edges, masses, sum(exact.sum(axis=1).tolist()))

    def energy(self, state: HostState, rule: "Rule", coefficients: Reals) -> int:
        h = self.outputs(rule) * coefficients[:, None]
        grown = state.weights * exp(np.where(state.labels > 0, -h, h))
        return int(np.rint(grown * ENERGY_SCALE).astype(np.int64).sum())

    def advance(self, state: HostState, rule: "Rule | None", step: Step) -> Tally:
        signs: Any = self._everywhere if rule is None else self.outputs(rule)
        pseudo = int(_pseudo_weights(state, step.votes).sum()) if len(signs) == 1 else -1
        agreement = state.labels * signs
        factors = np.where(agreement > 0, step.agree[:, None], step.against[:, None])
        factors[agreement == 0] = step.rest
        state.weights *= factors
        state.scores += signs * step.coefficients[:, None]
        _quantize(state)
        wrong = (state.scores > 0) != (state.labels > 0)
        by_label = [(wrong & (state.labels == y)) @ state.row_mass for y in (-1, 1)]
        wrong_rows = state.row_mass[_wrong_rows(state, wrong)].sum()
        return Tally(pseudo, int(wrong_rows), np.array(by_label))

    def reweigh(self, state: HostState, rule: "Rule", step: RealStep) -> tuple[int, int]:
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

    def refresh(self, state: HostState) -> None:
        largest = self.restore_weights(state, self.least_margin(state))
        shift = exact_shift(state.weights.size, largest)
        self.normalize(state, math.ldexp(self.total_weight(state, shift), -shift))

    def least_margin(self, state: HostState) -> float:
        """Return the least margin y f of an entry that has any weight."""
        return min(
            float((labels * scores).min(where=state.targets.initial_weights(k) > 0, initial=np.inf))
            for k, (labels, scores) in enumerate(zip(state.labels, state.scores, strict=True))
        )

    def restore_weights(self, state: HostState, least: float) -> float:
        """Compute the weights from the scores, not yet normalized; return the largest.

        The largest exponent is 0.
        """
        for k, (labels, scores) in enumerate(zip(state.labels, state.scores, strict=True)):
            decay = exp(np.minimum(least - labels * scores, 0.0))
            state.weights[k] = state.targets.initial_weights(k) * decay
        return float(state.weights.max(initial=0.0))

    def total_weight(self, state: HostState, shift: int) -> int:
        """Return the sum of the weights in units of 2**-shift."""
        rows = (np.rint(np.ldexp(row, shift)).astype(np.int64).sum() for row in state.weights)
        return sum(int(total) for total in rows)

    def normalize(self, state: HostState, total: float) -> None:
        """Divide the weights by their total, and quantize them."""
        state.weights /= total
        self.advance(state, None, Step.scaling(state.n_scores))

    def scores(self, state: HostState) -> Reals:
        return state.scores

    def outputs(self, rule: "Rule") -> Signs | Reals:
        if self._evaluated is None or self._evaluated[0] is not rule:
            self._evaluated = (rule, self._outputs_of(rule))
        return self._evaluated[1]

    def _outputs_of(self, rule: "Rule") -> Signs | Reals:
        if self._leaf_of is not None and self._leaf_of[0] is rule:
            by_score = np.ascontiguousarray(rule.leaves.T)
            return by_score.take(self._leaf_of[1], axis=1)
        factors = getattr(rule, "factors", ())
        if len(factors) > 1 and all(id(factor) in self._signs for factor in factors):
            return self._product(factors)[None]
        return rule.outputs(self.table)

    def learned(self, tree: "TreeRule", leaves: Sequence[SignedProblem] | GrownTree) -> None:
        n_rows = self.table.n_rows
        if isinstance(leaves, GrownTree):
            self._leaf_of = (tree, leaves.leaf_of)
            return
        leaf_of = np.empty(n_rows, dtype=np.intp)
        rows_of = {-1 - number: leaf.rows for number, leaf in enumerate(leaves)}
        if sum(leaf.size for leaf in leaves) < n_rows:
            rows_of = self._parted(tree)
        for end, rows in rows_of.items():
            leaf_of[rows] = -1 - end
        self._leaf_of = (tree, leaf_of)

    def _parted(self, tree: "TreeRule") -> dict[int, Rows | None]:
        """Return the rows of each end of a tree, leaf or abstention, by its number in the nodes."""
        rows_of: dict[int, Rows | None] = {0: None}
        for number, node in enumerate(tree.nodes):
            rows = rows_of.pop(number)
            low, high = rows_of[node.low], rows_of[node.high] = self._sides(rows, node.test)
            n_rows = self.table.n_rows if rows is None else len(rows)
            if len(low) + len(high) < n_rows:
                every = np.arange(n_rows, dtype=ROW) if rows is None else rows
                rows_of[node.rest] = np.setdiff1d(every, np.concatenate([low, high]))
        return rows_of

    @cached_property
    def _everywhere(self) -> Signs:
        """The outputs of the constant."""
        return np.ones((1, self.table.n_rows), dtype=np.int8)

    def _plan(self, columns: Columns) -> ScanPlan:
        key = columns.tobytes()
        if key not in self._plans:
            if len(self._plans) > 1:
                self._plans.clear()
            self._plans[key] = ScanPlan(self.table, columns)
        return self._plans[key]


class ArrayPart(Part[SignedProblem]):
    """Some rows, or the `chosen` entries of them, shape (chunks, rows, lanes), as copies."""

    def __init__(
        self,
        backend: Backend[HostState, SignedProblem],
        rows: Rows,
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(backend, rows, None if chosen is None else int(chosen.sum()))
        self._chosen = chosen

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        signed = problem.signed[:, self.rows]
        if self._chosen is not None:
            signed = np.where(self._chosen, signed, 0)
        return summed(signed, problem, constraints_of(problem, self.rows), factors)


class RowsWithin(Part[SignedProblem]):
    """Some rows that cannot be copied, within the table of all."""

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        if factors is not None:
            every = np.zeros(problem.n_rows)
            every[self.rows] = factors
            problem = summed(problem.signed, problem, problem.constraints, every)
        return self.backend.within(problem, self.rows)


def constraints_of(problem: SignedProblem, rows: Rows) -> SignedProblem | None:
    """Return the sample weights of some rows as the problem of a part."""
    masses = problem.constraints
    if masses is None:
        return None
    assert isinstance(masses, SignedProblem)
    return summed(np.ascontiguousarray(masses.signed[:, rows]), masses, None)


def summed(
    signed: Integers, like: SignedProblem, constraints: Problem | None, factors: Reals | None = None
) -> SignedProblem:
    """Return the problem of other signed weights, or of these times a factor for each row."""
    if factors is not None:
        signed = np.rint(signed * factors[None, :, None]).astype(signed.dtype)
    chunks, n, lanes = signed.shape
    by_row = signed.transpose(1, 0, 2).reshape(n, chunks * lanes)
    scores = by_row[:, : like.n_scores].astype(np.int64)
    sizes = np.abs(scores)
    if like.mass_column:
        chunk, lane = divmod(like.n_scores, lanes)
        signed[chunk, :, lane] = sizes.sum(axis=1)
    return SignedProblem.of(
        signed, scores.sum(axis=0), sizes.sum(axis=0), None, like.mass_column, constraints
    )


def signed_matrix(problem: SignedProblem, rows: Rows | None, mass: bool = False) -> Exacts:
    """Return S of some rows, or of all, as an int64 matrix of K columns; `mass` adds its column."""
    signed = problem.signed if rows is None else problem.signed[:, rows]
    chunks, n, lanes = signed.shape
    by_row = signed.transpose(1, 0, 2).reshape(n, chunks * lanes)
    return by_row[:, : problem.n_scores + mass].astype(np.int64)


def all_signed(problem: SignedProblem, mass: bool = False) -> Exacts:
    """Return S as an (n, K) int64 matrix, 0 in rows that do not count; `mass` adds its column."""
    signed = signed_matrix(problem, None, mass)
    if problem.member is not None:
        signed[~problem.member] = 0
    return signed


def _pseudo_weights(state: HostState, votes: Reals) -> Exacts:
    """Return | sum over l of w[i,l] y[i,l] v[l] | of each row."""
    pull = np.zeros(state.n_rows)
    for weights, labels, vote in zip(state.weights, state.labels, np.sign(votes), strict=True):
        pull += weights * (labels * vote)
    return fixed(np.abs(pull))


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
    whole = state.whole
    signed = np.rint(state.weights * SEARCH_SCALE).astype(np.int64) * state.labels
    whole.signed_totals = signed.sum(axis=1)
    whole.signed_masses = np.abs(signed).sum(axis=1)
    chunks, n, lanes = whole.signed.shape
    padded = np.zeros((n, chunks * lanes), dtype=np.int64)
    padded[:, : state.n_scores] = signed.T
    if whole.mass_column:
        padded[:, state.n_scores] = np.abs(signed).sum(axis=0)
    whole.signed[:] = padded.reshape(n, chunks, lanes).transpose(1, 0, 2)


def _wrong_rows(state: HostState, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if not state.targets.has_classes:
        return np.asarray(wrong.any(axis=0))
    predicted: NDArray[np.intp] = state.scores.argmax(axis=0)
    return predicted != state.target


def is_shared(outputs: NDArray[Any]) -> bool:
    """Return whether outputs are -1, 0 or +1, the same for all score columns."""
    return len(outputs) == 1 and outputs.dtype == np.int8


def _heavy_entries(problem: SignedProblem, least: int) -> NDArray[np.bool_]:
    """Return which entries of S are at least `least`; the mass column has none."""
    heavy = np.abs(problem.signed) >= least
    if problem.mass_column:
        chunk, lane = divmod(problem.n_scores, problem.signed.shape[2])
        heavy[chunk, :, lane] = False
    return heavy
