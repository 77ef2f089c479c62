"""The base of backends whose rows are in one place: in this process' memory or on a GPU."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exact_shift, exact_sum, exp, to_fixed_point
from edgewise.backend.base import (
    Backend,
    Candidates,
    GrownTree,
    Growth,
    Histogram,
    NodeSearch,
    Part,
    RuleLike,
    ScanQuery,
    StateT,
    Step,
    Targets,
    TestLike,
)
from edgewise.backend.growth import grow_best_first
from edgewise.backend.host import HostState, SignedProblem, aligned_zeros, lanes_for, search_type
from edgewise.backend.reference.scan import ScanPlan, scan
from edgewise.common.dtypes import ROW, Columns, Exacts, Integers, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition

# How many tests' signs are remembered: a product needs each of its terms several times per round.
_TESTS_REMEMBERED = 16


class LocalBackend(Backend[StateT, SignedProblem]):
    """A backend whose rows are in one place: arrays of `xp`, NumPy or CuPy."""

    xp: Any = np
    leaf_type: Any = np.intp

    def __init__(self, table: BinnedTable) -> None:
        self.table = table
        # Whether histograms of tree nodes are kept; not of columns that are others every time.
        self.keeps_histograms = True
        self._plans: dict[bytes, ScanPlan] = {}
        self._signs: dict[tuple[object, ...], Any] = {}
        self._last_outputs: tuple[RuleLike, Any] | None = None
        self._potentials: Integers | None = None

    # Implemented by each backend.

    def _upload(self, array: NDArray[Any]) -> Any:
        """Return an array where the rows are."""
        return array

    @abstractmethod
    def _evaluate(self, test: TestLike) -> Any:
        """Return a test's signs on all rows."""

    @abstractmethod
    def _compute_outputs(self, rule: Any) -> Any:
        """Return a rule's outputs on all rows, shape (1, n) or (K, n)."""

    @abstractmethod
    def _flip(self, problem: SignedProblem, signs: Any) -> SignedProblem:
        """Return the problem with S multiplied by each row's sign."""

    @abstractmethod
    def _compute_histogram(self, columns: Columns, problem: SignedProblem) -> Histogram:
        """Return a histogram of some rows, without regard to others."""

    @abstractmethod
    def min_margin(self, state: StateT) -> float:
        """Return the smallest margin y f of the entries with an initial weight."""

    @abstractmethod
    def restore_weights(self, state: StateT, min_margin: float) -> float:
        """Compute the weights from the scores, not yet normalized; return the largest.

        Entries with the smallest margin of all rows get the exponent 0.
        """

    @abstractmethod
    def total_weight(self, state: StateT, shift: int) -> int:
        """Return the sum of the weights in units of 2**-shift."""

    # Shared by all.

    def problem(self, state: Any, constraints: tuple[str, ...] = ()) -> SignedProblem:
        problem: SignedProblem = state.whole
        if not constraints:
            return problem
        if constraints not in state.constraints:
            quanta = state.targets.leaf_constraints(constraints)
            signed = self._upload(quanta[:, :, None].astype(problem.signed.dtype))
            totals = quanta.sum(axis=1)
            state.constraints[constraints] = SignedProblem.of(signed, totals, totals)
        return replace(problem, constraints=state.constraints[constraints])

    def potentials(
        self, rows: Rows, quanta: Exacts, mass_column: bool = False, masses: Exacts | None = None
    ) -> SignedProblem:
        n_rows, lanes = self.table.n_rows, lanes_for(1 + mass_column)[1]
        if self._potentials is None or self._potentials.shape[2] != lanes:
            self._potentials = aligned_zeros((1, n_rows, lanes), search_type(n_rows))
        sizes = np.abs(quanta) if masses is None else masses
        self._potentials[0, rows, 0] = quanta
        if mass_column:
            self._potentials[0, rows, 1] = sizes
        ascending = None
        if len(rows) < n_rows:
            ascending = self._upload(np.sort(rows).astype(ROW, copy=False))
        totals = quanta.sum(keepdims=True), sizes.sum(keepdims=True)
        return SignedProblem.of(self._upload(self._potentials), *totals, ascending, mass_column)

    def refresh(self, state: Any) -> None:
        state.weights /= self.restore_all(state, Partition(self.table.n_rows))
        self.advance(state, None, Step.scaling(state.n_scores))

    def restore_all(self, state: StateT, partition: Partition) -> float:
        """Compute the weights from the scores; return their sum over all processes."""
        min_margin = partition.min(self.min_margin(state))
        largest = partition.max(self.restore_weights(state, min_margin))
        shift = exact_shift(state.n_scores * partition.n_rows, largest)
        return math.ldexp(partition.sum(self.total_weight(state, shift)), -shift)

    def flip(self, problem: SignedProblem, tests: Sequence[TestLike]) -> SignedProblem:
        return self._flip(problem, self._product(tests))

    def _product(self, tests: Sequence[TestLike]) -> Any:
        """Return the product of the tests' signs; the constant is left out of it."""
        product = None
        for test in tests:
            if test.factors:
                signs = self._signs_of(test)
                product = signs if product is None else product * signs
        return self.xp.ones(self.table.n_rows, dtype=np.int8) if product is None else product

    def _signs_of(self, test: TestLike) -> Any:
        """Return a test's signs on all rows, remembered for the last tests."""
        key = test.key
        if key is None:
            return self._evaluate(test)
        signs = self._signs.pop(key, None)
        if signs is None:
            factors = test.factors
            signs = self._product(factors) if len(factors) > 1 else self._evaluate(test)
            if len(self._signs) >= _TESTS_REMEMBERED:
                del self._signs[next(iter(self._signs))]
        self._signs[key] = signs
        return signs

    def _outputs_of(self, rule: RuleLike) -> Any:
        """Return a rule's outputs on all rows, remembered for the last rule."""
        if self._last_outputs is None or self._last_outputs[0] is not rule:
            self._last_outputs = (rule, self._compute_outputs(rule))
        return self._last_outputs[1]

    def _cut_of(self, test: TestLike) -> tuple[int, int, int] | None:
        """Return the column, first bin and missing side of a cut between bins; None for others."""
        cut: Any = test
        if not test.is_cut or not 0 <= cut.column < self.table.n_columns:
            return None
        table, column, threshold = self.table, cut.column, cut.threshold
        first = table.first(column, threshold)
        if first == 0 and threshold != -np.inf:
            return None
        if first > 0 and table.thresholds(column)[first - 1] != threshold:
            return None
        return column, first, cut.missing

    def split(self, problem: SignedProblem, test: TestLike) -> tuple[SignedProblem, SignedProblem]:
        """Return the problems on either side of a test, the larger as the rest if none abstain."""
        low, high = self._split_rows(problem.rows, test)
        low_is_larger = len(high) < len(low)
        smaller, larger = (high, low) if low_is_larger else (low, high)
        small = self.within(problem, smaller)
        if len(low) + len(high) == problem.size:
            large = _rest(problem, small, larger)
        else:
            large = self.within(problem, larger)
        return (large, small) if low_is_larger else (small, large)

    def _split_rows(self, rows: Any, test: TestLike) -> tuple[Any, Any]:
        """Return the rows, all or some, on which a test is -1, and those on which it is +1."""
        signs, xp = self._signs_of(test), self.xp
        if rows is None:
            return xp.flatnonzero(signs < 0).astype(ROW), xp.flatnonzero(signs > 0).astype(ROW)
        signs = signs[rows]
        return rows[signs < 0], rows[signs > 0]

    def _narrow(
        self, problem: SignedProblem, totals: Exacts, masses: Exacts, rows: Any
    ) -> SignedProblem:
        """Return the problem of some rows, given their sums."""
        constraints = problem.constraints
        if constraints is not None:
            constraints = self.within(constraints, rows)  # type: ignore[arg-type]
        return SignedProblem.of(
            problem.signed, totals, masses, rows, problem.mass_column, constraints, problem.lease
        )

    def histogram(self, columns: Columns, problem: SignedProblem) -> Histogram:
        if not self.keeps_histograms:
            return self._compute_histogram(columns, problem)
        return problem.histogram(columns, lambda: self._compute_histogram(columns, problem))

    def scan(self, histogram: Histogram, query: ScanQuery) -> Candidates:
        return scan(self._plan(histogram.columns), histogram, query)

    def _plan(self, columns: Columns) -> ScanPlan:
        key = columns.tobytes()
        if key not in self._plans:
            if len(self._plans) > 1:
                self._plans.clear()
            self._plans[key] = ScanPlan(self.table, columns)
        return self._plans[key]

    def grow(self, problem: SignedProblem, growth: Growth, search: NodeSearch) -> GrownTree | None:
        return grow_best_first(self, problem, growth, search)

    def assign_leaves(
        self, nodes: Columns, tests: Sequence[TestLike], leaves: list[SignedProblem]
    ) -> Any:
        rows_of: dict[int, Any] = {-1 - number: leaf.rows for number, leaf in enumerate(leaves)}
        if sum(leaf.size for leaf in leaves) < self.table.n_rows:
            rows_of = self._follow(nodes, tests)
        row_leaves = self.xp.empty(self.table.n_rows, dtype=self.leaf_type)
        for end, rows in rows_of.items():
            row_leaves[rows] = -1 - end
        return row_leaves

    def _follow(self, nodes: Columns, tests: Sequence[TestLike]) -> dict[int, Any]:
        """Return the rows of each leaf of a tree, and the rows on which each node abstains."""
        rows_of: dict[int, Any] = {0: self.xp.arange(self.table.n_rows, dtype=ROW)}
        for number, test in enumerate(tests):
            rows = rows_of.pop(number)
            low, high = self._split_rows(rows, test)
            rows_of[int(nodes[number, 3])], rows_of[int(nodes[number, 4])] = low, high
            if len(low) + len(high) < len(rows):
                rows_of[-2 - len(nodes) - number] = rows[self._signs_of(test)[rows] == 0]
        return rows_of

    # Parts of the weights.

    def select(self, rows: Rows) -> Part[SignedProblem]:
        return PartInPlace(self, rows)

    def sum_heavy(self, problem: SignedProblem, least: int) -> int:
        heavy = problem.signed * self._heavy(problem, least)
        return int(abs(heavy).sum(dtype=np.int64))

    def row_weight_sums(self, problem: SignedProblem) -> Exacts:
        sizes = abs(problem.signed).sum(axis=(0, 2), dtype=np.int64)
        if problem.mass_column:
            chunk, lane = divmod(problem.n_scores, problem.shape[2])
            sizes -= problem.signed[chunk, :, lane]
        return sizes

    def _heavy(self, problem: SignedProblem, least: int) -> Any:
        """Return which entries of S are at least `least`; the mass column has none."""
        # Compared as 64 bits: `least` may exceed the type of S.
        heavy = abs(problem.signed).astype(np.int64) >= least
        if problem.mass_column:
            chunk, lane = divmod(problem.n_scores, problem.shape[2])
            heavy[chunk, :, lane] = False
        return heavy

    @property
    def _can_copy(self) -> bool:
        """Whether rows can be copied: responses of image filters are computed for all."""
        raw = self.table.raw_rows
        return raw is None or raw.filters is None


class HostBackend(LocalBackend[HostState]):
    """A backend whose rows are in this process' memory."""

    @cached_property
    def _everywhere(self) -> Signs:
        """The outputs of the constant."""
        return np.ones((1, self.table.n_rows), dtype=np.int8)

    def state(
        self,
        targets: Targets,
        mass_column: bool = False,
        partition: Partition | None = None,
    ) -> HostState:
        """Return the state before the first round; with a partition, without weights."""
        weights = np.stack([targets.initial_weights(k) for k in range(len(targets.labels))])
        scale, row_mass = 1.0 / exact_sum(weights, partition), to_fixed_point(targets.row_weights)
        n_rows = self.table.n_rows if partition is None else partition.n_rows
        state = HostState(targets, scale, row_mass, weights, mass_column, n_rows)
        if partition is None:
            self.refresh(state)
        return state

    def _evaluate(self, test: TestLike) -> Signs:
        return test.signs(self.table)

    def scores(self, state: HostState) -> Reals:
        return state.scores

    def outputs(self, rule: RuleLike) -> Signs | Reals:
        outputs: Signs | Reals = self._outputs_of(rule)
        return outputs

    def _compute_outputs(self, rule: Any) -> Signs | Reals:
        if rule.grown is not None:
            by_score: NDArray[Any] = np.ascontiguousarray(rule.leaves.T)
            return by_score.take(rule.grown.leaves, axis=1)
        if rule.key is not None and getattr(rule, "factors", None):
            signs: Signs = self._signs_of(rule)
            return signs[None]
        outputs: Signs | Reals = rule.outputs(self.table)
        return outputs

    def min_margin(self, state: HostState) -> float:
        return min(
            float((labels * scores).min(where=state.targets.initial_weights(k) > 0, initial=np.inf))
            for k, (labels, scores) in enumerate(zip(state.labels, state.scores, strict=True))
        )

    def restore_weights(self, state: HostState, min_margin: float) -> float:
        for k, (labels, scores) in enumerate(zip(state.labels, state.scores, strict=True)):
            decay = exp(np.minimum(min_margin - labels * scores, 0.0))
            state.weights[k] = state.targets.initial_weights(k) * decay
        return float(state.weights.max(initial=0.0))

    def total_weight(self, state: HostState, shift: int) -> int:
        rows = (np.rint(np.ldexp(row, shift)).astype(np.int64).sum() for row in state.weights)
        return sum(int(total) for total in rows)

    def select(self, rows: Rows) -> Part[SignedProblem]:
        return CopiedPart(self, rows) if self._can_copy else PartInPlace(self, rows)

    def select_heavy(self, problem: SignedProblem, least: int) -> Part[SignedProblem] | None:
        if not self._can_copy:
            return None
        heavy = self._heavy(problem, least)
        rows = np.flatnonzero(heavy.any(axis=(0, 2))).astype(ROW)
        return CopiedPart(self, rows, heavy[:, rows])

    @abstractmethod
    def on_rows(self, rows: Rows) -> "HostBackend":
        """Return the backend of some rows; the one returned before is no longer valid."""

    def copy_rows(
        self, problem: SignedProblem, rows: Rows, memory: Integers | None
    ) -> SignedProblem:
        """Return the problem of copies of some rows, in the memory of earlier ones."""
        return problem.with_signed(problem.signed[:, rows], problem.constraints_of(rows))


class CopiedPart(Part[SignedProblem]):
    """Some rows, or the `chosen` entries of them, shape (chunks, rows, lanes), as copies."""

    def __init__(
        self, whole: HostBackend, rows: Rows, chosen: NDArray[np.bool_] | None = None
    ) -> None:
        size = len(rows) if chosen is None else int(chosen.sum())
        super().__init__(whole.on_rows(rows), rows, size)
        self._whole, self._chosen = whole, chosen
        self._memory: Integers | None = None

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        if self._chosen is None and factors is None:
            copies = self._whole.copy_rows(problem, self.rows, self._memory)
            self._memory = copies.signed
            return copies
        signed = problem.signed[:, self.rows]
        if self._chosen is not None:
            signed = np.where(self._chosen, signed, 0).astype(signed.dtype)
        return problem.with_signed(signed, problem.constraints_of(self.rows), factors)


class PartInPlace(Part[SignedProblem]):
    """Some rows, or the `chosen` entries of them, that are searched within the table of all."""

    def __init__(self, backend: LocalBackend[Any], rows: Rows, chosen: Any = None) -> None:
        super().__init__(backend, rows, len(rows) if chosen is None else int(chosen.sum()))
        self._chosen = chosen

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        backend: Any = self.backend
        signed, xp = problem.signed, backend.xp
        if self._chosen is not None:
            signed = xp.where(self._chosen, signed, 0).astype(signed.dtype)
        if factors is not None:
            scales = np.zeros(problem.n_rows)
            scales[self.rows] = factors
            scaled = signed * backend._upload(scales)[None, :, None]
            signed = xp.rint(scaled).astype(signed.dtype)
        if problem.mass_column and signed is not problem.signed:
            chunk, lane = divmod(problem.n_scores, signed.shape[2])
            signed[chunk, :, lane] = 0
            signed[chunk, :, lane] = abs(signed).sum(axis=(0, 2))
        return self.backend.within(replace(problem, signed=signed), self.rows)


def _rest(whole: SignedProblem, part: SignedProblem, rows: Any) -> SignedProblem:
    """Return the problem of the rows of the whole that are not in the part."""
    constraints, of_part = whole.constraints, part.constraints
    if constraints is not None:
        constraints = _rest(constraints, of_part, rows)  # type: ignore[arg-type]
    return replace(
        whole,
        size=len(rows),
        signed_totals=whole.signed_totals - part.signed_totals,
        signed_masses=whole.signed_masses - part.signed_masses,
        rows=rows,
        histograms=None,
        constraints=constraints,
    )
