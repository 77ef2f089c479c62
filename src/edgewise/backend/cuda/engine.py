"""The backend on a GPU. Weights, scores, codes and histograms stay there."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exact_sum, fixed
from edgewise.backend.base import (
    Backend,
    Candidates,
    Climb,
    ClimbedRound,
    Edges,
    GrownTree,
    Histogram,
    Part,
    RealStep,
    ScanQuery,
    State,
    Step,
    Tally,
    Targets,
)
from edgewise.backend.cuda.columns import DeviceColumns, DeviceHistogram, DevicePlan, form_of
from edgewise.backend.cuda.device import Device, gpu
from edgewise.backend.cuda.rounds import ProductRounds, can_climb
from edgewise.backend.host import SignedProblem, lanes_for, search_type
from edgewise.backend.reference.engine import TESTS_REMEMBERED, ReferenceBackend, RowsWithin
from edgewise.backend.reference.ranking import PairSums
from edgewise.common.dtypes import ROW, Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable

if TYPE_CHECKING:
    from edgewise.model.rules import Rule, Test, TreeRule

_LOSSES = {"exponential": 0, "logistic": 1, "softmax": 2}

# With more score columns than this, a block adds to the sums directly.
_MOST_SUMS = 6000


class DeviceState(State):
    """Weights and scores as arrays on the device: see `host.HostState`."""

    def __init__(self, device: Device, targets: Targets, scale: float, mass_column: bool) -> None:
        up, xp = device.upload, device.xp
        self.targets, self.scale, self.mass_column = targets, scale, mass_column
        k, n = targets.labels.shape
        self.n_scores, self.n_rows = k, n
        self.labels, self.target = up(targets.labels), up(targets.target)
        self.row_mass = up(fixed(targets.row_weights))
        self.rows, self.by_label = up(targets.row_weights), up(targets.label_weights)
        self.matrix = None
        if targets.matrix is not None:
            self.matrix = up(targets.row_weights * targets.matrix)
            self.by_label = xp.ones((2, k))
        self.scaled = self.by_label * scale
        self.weights, self.scores = xp.zeros((k, n)), xp.zeros((k, n))
        chunks, lanes = lanes_for(k + mass_column)
        # One more row of zeros, for passes over more rows than there are.
        signed = xp.zeros((chunks * n + 1) * lanes, dtype=search_type(n * k))
        signed = signed[: chunks * n * lanes].reshape(chunks, n, lanes)
        nothing = np.zeros(k, dtype=np.int64)
        self.whole = SignedProblem.of(signed, nothing, nothing, mass_column=mass_column)
        self.constraints: dict[tuple[str, ...], SignedProblem] = {}

    @property
    def start(self) -> tuple[Any, Any, Any]:
        """The initial weights, as kernels take them, not yet normalized."""
        return self.rows, self.by_label, self.matrix


class CudaBackend(ReferenceBackend):
    """The backend on a GPU; sums over pairs of documents, and image filters, stay on the CPU."""

    name = "cuda"

    def __init__(
        self, table: BinnedTable, device: Device | None = None, pairs: Backend | None = None
    ) -> None:
        super().__init__(table)
        # The CPU's backend that sums pairs, where there are any.
        self._pairs = pairs
        self.device = gpu() if device is None else device
        self.columns = DeviceColumns(table, self.device)
        self._device_plans: dict[bytes, DevicePlan] = {}
        self._on_device: tuple[Any, Any] | None = None
        self._leaves: tuple[Any, Any] | None = None
        self._rounds: tuple[Any, ProductRounds | None] | None = None

    # The round's problem.

    def state(  # type: ignore[override]
        self, targets: Targets, mass_column: bool = False, scale: float | None = None
    ) -> DeviceState:
        if scale is not None:
            return DeviceState(self.device, targets, scale, mass_column)
        weights = np.stack([targets.initial_weights(k) for k in range(len(targets.labels))])
        state = DeviceState(self.device, targets, 1.0 / exact_sum(weights), mass_column)
        self.refresh(state)  # type: ignore[arg-type]
        return state

    def problem(  # type: ignore[override]
        self, state: DeviceState, constraints: tuple[str, ...] = ()
    ) -> SignedProblem:
        if not constraints:
            return state.whole
        if constraints not in state.constraints:
            state.constraints[constraints] = self._masses(state, constraints)
        return replace(state.whole, constraints=state.constraints[constraints])

    def _masses(self, state: DeviceState, names: tuple[str, ...]) -> SignedProblem:
        quanta = state.targets.leaf_constraints(names)
        signed = self.device.upload(quanta[:, :, None], state.whole.signed.dtype)
        totals = quanta.sum(axis=1)
        return SignedProblem.of(signed, totals, totals)

    def potentials(
        self, rows: Rows, quanta: Exacts, mass_column: bool = False, masses: Exacts | None = None
    ) -> SignedProblem:
        n_rows, lanes = self.table.n_rows, lanes_for(1 + mass_column)[1]
        sizes = np.abs(quanta) if masses is None else masses
        signed = np.zeros((1, n_rows, lanes), dtype=search_type(n_rows))
        signed[0, rows, 0] = quanta
        if mass_column:
            signed[0, rows, 1] = sizes
        some = None if len(rows) == n_rows else self.device.upload(np.sort(rows), ROW)
        totals = quanta.sum(keepdims=True), sizes.sum(keepdims=True)
        return SignedProblem.of(self.device.upload(signed), *totals, some, mass_column)

    def _flipped(self, problem: SignedProblem, signs: Any) -> SignedProblem:
        chunks, n, lanes = problem.shape
        device, xp = self.device, self.device.xp
        out, sums = xp.empty_like(problem.signed), device.zeros(chunks * lanes + 1)
        blocks = (device.blocks(n, device.threads // lanes), chunks)
        arguments = (np.int64(n), chunks, problem.signed, signs, out, sums)
        device.launch("flip", blocks, arguments, form_of(problem), 8 * (lanes + 1))
        *totals, zeros = device.download(sums).tolist()
        flipped = replace(problem, signed=out, kept=None, split_from=None)
        if problem.rows is None and zeros == 0:
            flipped.signed_totals = np.array(totals[: problem.n_scores], dtype=np.int64)
            return flipped
        rows = problem.rows
        if rows is None:
            rows = xp.flatnonzero(signs).astype(ROW)
        return self.within(flipped, rows)

    def _product(self, tests: Sequence["Test"]) -> Any:
        product = None
        for test in tests:
            if test.factors:
                signs = self._signs_of(test)
                product = signs if product is None else product * signs
        return self.device.xp.ones(self.table.n_rows, dtype=np.int8) if product is None else product

    def _signs_of(self, test: "Test") -> Any:
        held = self._signs.pop(id(test), None)
        if held is None:
            held = (test, self._evaluate(test))
            if len(self._signs) >= TESTS_REMEMBERED:
                del self._signs[next(iter(self._signs))]
        self._signs[id(test)] = held
        return held[1]

    def _evaluate(self, test: "Test") -> Any:
        """Return a test's signs on the device."""
        if len(test.factors) > 1:
            return self._product(test.factors)
        j, threshold = getattr(test, "column", -1), getattr(test, "threshold", None)
        table = self.table
        if 0 <= j < table.n_columns and threshold is not None:
            first = table.first(j, threshold)
            own = table.thresholds(j)
            if threshold == -np.inf or (first > 0 and own[first - 1] == threshold):
                return self.columns.cut(j, first, test.missing)  # type: ignore[attr-defined]
        values = getattr(test, "values", None)
        if values is not None and 0 <= j < table.n_columns:
            return self.device.upload(values)[self.columns.categorical(j).astype(np.int64)]
        return self.device.upload(test.signs(table))

    def _sides(self, rows: Rows | None, test: "Test") -> tuple[Any, Any]:
        signs = self._signs_of(test)
        if rows is None:
            xp = self.device.xp
            return (xp.flatnonzero(signs < 0).astype(ROW), xp.flatnonzero(signs > 0).astype(ROW))
        signs = signs[rows]
        return rows[signs < 0], rows[signs > 0]

    def within(self, problem: SignedProblem, rows: Rows) -> SignedProblem:
        device = self.device
        if isinstance(rows, np.ndarray):
            rows = device.upload(rows, ROW)
        chunks, n, lanes = problem.shape
        sums = device.zeros(2, chunks * lanes)
        if len(rows):
            blocks = (device.blocks(len(rows), device.threads // lanes), chunks)
            arguments = (np.int64(n), chunks, problem.signed, rows, np.int64(len(rows)), sums)
            device.launch("sum_rows", blocks, arguments, form_of(problem), 16 * lanes)
        found = device.download(sums)
        totals, masses = found[:, : problem.n_scores]
        if problem.mass_column and problem.n_scores == 1:
            masses = found[0, 1:2]
        return self._narrowed(problem, totals, masses, rows)

    # The search.

    def _summed(self, columns: Columns, problem: SignedProblem) -> Any:
        plan = self._device_plan(columns)
        sums = plan.summed(problem, self._member(problem))
        return DeviceHistogram(plan, sums, problem.signed_totals, problem.mass, problem.mass_column)

    def _member(self, problem: SignedProblem) -> Any:
        """Return whether each row counts; None where all do."""
        if problem.rows is None:
            return None
        held = problem.__dict__.get("on_device")
        if held is None:
            held = self.device.xp.zeros(problem.n_rows, dtype=np.uint8)
            held[problem.rows] = 1
            problem.__dict__["on_device"] = held
        return held

    def _device_plan(self, columns: Columns) -> DevicePlan:
        key = columns.tobytes()
        if key not in self._device_plans:
            if len(self._device_plans) > 3:
                self._device_plans.clear()
            self._device_plans[key] = DevicePlan(columns, self.columns)
        return self._device_plans[key]

    def scan(self, histogram: Histogram, question: ScanQuery) -> Candidates:
        if not isinstance(histogram, DeviceHistogram):
            return super().scan(histogram, question)
        device, plan, sums = self.device, histogram.plan, histogram.sums
        up, n_scores, n_columns = device.upload, len(histogram.totals), len(plan.columns)
        like, by_score = (sums.shape[2], sums.dtype.itemsize == 8), question.criterion == "score"
        wanted = question.score_edges and not by_score
        best = device.zeros(n_columns, n_scores if by_score else 1, 3)
        edges = device.zeros(n_columns, n_scores) if wanted else None
        bounds: list[Any] = [None] * 5
        if question.bounds is not None:
            types = (np.int8, np.int64, np.int64, np.int8, np.int64)
            bounds = [
                up(np.asarray(one), dtype)
                for one, dtype in zip(question.bounds, types, strict=True)
            ]
        amounts: list[Any] = [None] * 4
        masses = question.masses
        if masses is not None:
            assert isinstance(masses, DeviceHistogram)
            least = np.array(question.least, dtype=np.int64)
            amounts = [masses.sums, self._below(masses), up(masses.totals), up(least)]
        arguments = (
            plan.bases, plan.n_codes, plan.has_missing, np.int64(plan.n_bins), sums,
            self._below(histogram), up(histogram.column_totals), n_scores,
            question.criterion == "gain", by_score, question.constant, question.missing,
            float(question.damping), *bounds, *amounts,
            0 if masses is None else len(question.least), best, edges,
        )  # fmt: skip
        blocks = (n_columns, best.shape[1])
        device.launch("choose_cuts", blocks, arguments, like, 16 * device.threads)
        found = device.download(best)
        which = np.s_[:, :] if by_score else np.s_[:, 0]
        return Candidates(
            plan.columns,
            found[..., 0][which],
            found[..., 1][which].astype(np.intp),
            found[..., 2][which].astype(np.int8),
            None if edges is None else device.download(edges),
        )

    def _below(self, histogram: DeviceHistogram) -> Any:
        """Return the sums of the bins below each."""
        plan, sums, device = histogram.plan, histogram.sums, self.device
        chunks, n_bins, lanes = sums.shape
        below = device.xp.empty_like(sums)
        arguments = (plan.bases, plan.n_codes, np.int64(n_bins), sums, below)
        wide = sums.dtype.itemsize == 8
        shared = device.threads * sums.dtype.itemsize
        blocks = (len(plan.columns), chunks)
        device.launch("sum_below", blocks, arguments, (lanes, wide), shared)
        return below

    def climb(  # type: ignore[override]
        self, state: DeviceState, climb: Climb
    ) -> Iterator[ClimbedRound]:
        chunks, _, lanes = state.whole.shape
        narrow = chunks == 1 and lanes > 1 and not form_of(state.whole)[1]
        if not (self.device.trains_rounds and narrow) or state.mass_column:
            return iter(())
        key = (climb.columns.tobytes(), lanes)
        if self._rounds is None or self._rounds[0] != key:
            rounds = None
            if can_climb(self.table, climb.columns, climb):
                rounds = ProductRounds(self.table, climb.columns, lanes, self.device)
            self._rounds = (key, rounds)
        rounds = self._rounds[1]
        # Signs of the last round's rules are not remembered.
        self._on_device = None
        return iter(()) if rounds is None else rounds.train(state, climb)

    def with_columns(self, table: BinnedTable) -> "CudaBackend":
        other = CudaBackend(table, self.device)
        other._keeps = False
        return other

    # Parts of the weights.

    def row_weight_sums(self, problem: SignedProblem) -> Exacts:
        xp = self.device.xp
        sizes = xp.abs(problem.signed).sum(axis=(0, 2), dtype=np.int64)
        if problem.mass_column:
            chunk, lane = divmod(problem.n_scores, problem.shape[2])
            sizes -= problem.signed[chunk, :, lane]
        return self.device.download(sizes)

    def sum_heavy(self, problem: SignedProblem, least: int) -> int:
        heavy = problem.signed * self._heavy(problem, least)
        return int(self.device.xp.abs(heavy).sum(dtype=np.int64))

    def _heavy(self, problem: SignedProblem, least: int) -> Any:
        """Return which entries of S are at least `least`; the mass column has none."""
        # Compared as 64 bits: `least` may exceed the type of S.
        heavy = self.device.xp.abs(problem.signed).astype(np.int64) >= least
        if problem.mass_column:
            chunk, lane = divmod(problem.n_scores, problem.shape[2])
            heavy[chunk, :, lane] = False
        return heavy

    def part(self, rows: Rows) -> Part[SignedProblem]:
        return DevicePart(self, rows)

    def select_heavy(self, problem: SignedProblem, least: int) -> Part[SignedProblem] | None:
        if not self._can_copy:
            return None
        heavy = self._heavy(problem, least)
        rows = self.device.download(self.device.xp.flatnonzero(heavy.any(axis=(0, 2))))
        return DevicePart(self, rows.astype(ROW), heavy)

    # The step.

    def _outputs(self, rule: "Rule | None") -> tuple[Any, Any, int]:
        """Return a rule's outputs as kernels take them: signs or reals, and how many rows."""
        if rule is None:
            return None, None, 1
        if self._on_device is None or self._on_device[0] is not rule:
            self._on_device = (rule, self._device_outputs(rule))
        outputs = self._on_device[1]
        is_real = outputs.dtype.kind == "f"
        return None if is_real else outputs, outputs if is_real else None, len(outputs)

    def _device_outputs(self, rule: "Rule") -> Any:
        device = self.device
        if self._leaves is not None and self._leaves[0] is rule:
            leaves: NDArray[Any] = rule.leaves
            n_ends, k = leaves.shape
            out = device.xp.empty((k, self.table.n_rows), dtype=leaves.dtype)
            is_real = leaves.dtype.kind == "f"
            arguments = (
                np.int64(self.table.n_rows), k, n_ends, self._leaves[1],
                device.upload(leaves.T, np.float64), out if is_real else None,
                None if is_real else out,
            )  # fmt: skip
            device.launch("leaf_outputs", device.blocks(self.table.n_rows), arguments)
            return out
        cuts = getattr(rule, "cuts", None)
        if cuts is not None:
            return device.xp.stack([self._signs_of(cut) for cut in cuts])
        if hasattr(rule, "factors"):
            return self._signs_of(rule)[None]  # type: ignore[arg-type]
        return device.upload(rule.outputs(self.table))

    def edges(self, state: DeviceState, rule: "Rule") -> Edges:  # type: ignore[override]
        k, device = state.n_scores, self.device
        sums, shared = device.zeros(3, k), 24 * k if 3 * k <= _MOST_SUMS else 0
        arguments = (
            np.int64(state.n_rows), k, state.labels, state.weights, *self._outputs(rule),
            shared > 0, sums,
        )  # fmt: skip
        device.launch("sum_edges", device.blocks(state.n_rows), arguments, shared=shared)
        edges, masses, every = device.download(sums)
        return Edges(edges, masses, sum(every.tolist()))

    def energy(  # type: ignore[override]
        self, state: DeviceState, rule: "Rule", coefficients: Reals
    ) -> int:
        device, total = self.device, self.device.zeros(1)
        arguments = (
            np.int64(state.n_rows), state.n_scores, state.labels, state.weights,
            *self._outputs(rule), device.upload(coefficients), total,
        )  # fmt: skip
        device.launch("sum_energy", device.blocks(state.n_rows), arguments)
        return int(device.download(total)[0])

    def advance(  # type: ignore[override]
        self, state: DeviceState, rule: "Rule | None", step: Step
    ) -> Tally:
        k, device, whole = state.n_scores, self.device, state.whole
        outputs, count = self._outputs(rule), 4 * k + 2
        sums, shared = device.zeros(count), 8 * count if count <= _MOST_SUMS else 0
        parts = np.stack([step.agree, step.against, step.coefficients, step.votes])
        arguments = (
            np.int64(state.n_rows), k, state.labels, state.target, state.row_mass, *outputs,
            device.upload(parts), float(step.rest), state.mass_column, shared > 0, state.weights,
            state.scores, whole.signed, sums,
        )  # fmt: skip
        blocks = device.blocks(state.n_rows)
        device.launch("advance", blocks, arguments, form_of(whole), shared)
        found = device.download(sums)
        whole.signed_totals, whole.signed_masses = found[:k], found[k : 2 * k]
        pseudo, wrong_rows = found[4 * k :].tolist()
        by_label = found[2 * k : 4 * k].reshape(2, k)
        return Tally(pseudo if outputs[2] == 1 else -1, wrong_rows, by_label)

    def reweigh(  # type: ignore[override]
        self, state: DeviceState, rule: "Rule", step: RealStep
    ) -> tuple[int, int]:
        device, sums, outputs = self.device, self.device.zeros(2), self._outputs(rule)
        moves = device.upload(np.stack([step.coefficients, step.votes]))
        arguments = (
            np.int64(state.n_rows), state.n_scores, state.labels, *outputs, moves, state.rows,
            state.scaled, state.matrix, _LOSSES[step.loss], float(step.shift), float(step.unit),
            state.weights, state.scores, sums,
        )  # fmt: skip
        device.launch("reweigh", device.blocks(state.n_rows), arguments)
        total, pseudo = device.download(sums).tolist()
        return total, pseudo if outputs[0] is not None and outputs[2] == 1 else -1

    def least_margin(self, state: DeviceState) -> float:  # type: ignore[override]
        xp, (rows, by_label, matrix) = self.device.xp, state.start
        factors = xp.where(state.labels > 0, by_label[1][:, None], by_label[0][:, None])
        initial = (rows if matrix is None else matrix) * factors
        margins = xp.where(initial > 0, state.labels * state.scores, np.inf)
        return float(margins.min())

    def restore_weights(self, state: DeviceState, least: float) -> float:  # type: ignore[override]
        arguments = (
            np.int64(state.n_rows), state.n_scores, state.labels, *state.start, float(least),
            state.scores, state.weights,
        )  # fmt: skip
        self.device.launch("restore_weights", self.device.blocks(state.n_rows), arguments)
        return float(state.weights.max())

    def total_weight(self, state: DeviceState, shift: int) -> int:  # type: ignore[override]
        units = self.device.xp.rint(state.weights * math.ldexp(1.0, shift))
        return int(units.astype(np.int64).sum())

    def scores(self, state: DeviceState) -> Reals:  # type: ignore[override]
        return self.device.download(state.scores)

    def outputs(self, rule: "Rule") -> Signs | Reals:
        signs, reals, _ = self._outputs(rule)
        return self.device.download(reals if signs is None else signs)

    def learned(self, tree: "TreeRule", leaves: Sequence[SignedProblem] | GrownTree) -> None:
        n_rows = self.table.n_rows
        assert not isinstance(leaves, GrownTree)
        if sum(leaf.size for leaf in leaves) == n_rows:
            leaf_of = self.device.xp.empty(n_rows, dtype=np.int32)
            for number, leaf in enumerate(leaves):
                leaf_of[leaf.rows] = number
            self._leaves = (tree, leaf_of)

    # Ranking.

    def weigh_pairs(self, lists: Any, scores: Reals) -> tuple[Reals, Reals]:
        return self._sums.weigh_pairs(lists, scores)

    def pair_moments(self, lists: Any, scores: Reals, outputs: Reals) -> Reals:
        return self._sums.pair_moments(lists, scores, outputs)

    def misordered_pairs(self, lists: Any, scores: Reals, moved: NDArray[np.bool_] | None) -> Reals:
        return self._sums.misordered_pairs(lists, scores, moved)

    def crossing_pairs(
        self, lists: Any, weights: Any, codes: Exacts, n_values: int
    ) -> tuple[Exacts, Exacts]:
        return self._sums.crossing_pairs(lists, weights, codes, n_values)

    def spread(self, run: Any, parts: Any) -> list[Any]:
        return super().spread(run, parts) if self._pairs is None else self._pairs.spread(run, parts)

    def close(self) -> None:
        if self._pairs is not None:
            self._pairs.close()

    @property
    def _sums(self) -> "PairSums | Backend":
        return PairSums() if self._pairs is None else self._pairs


class DevicePart(RowsWithin):
    """Some rows, or the `chosen` entries of them, within the table of all."""

    def __init__(self, backend: CudaBackend, rows: Rows, chosen: Any = None) -> None:
        size = None if chosen is None else int(chosen.sum())
        super().__init__(backend, rows, size)
        self._device, self._chosen = backend.device, chosen

    def gather(self, problem: SignedProblem, factors: Reals | None = None) -> SignedProblem:
        signed, xp = problem.signed, self._device.xp
        if self._chosen is not None:
            signed = xp.where(self._chosen, signed, 0).astype(signed.dtype)
        if factors is not None:
            every = np.zeros(problem.n_rows)
            every[self.rows] = factors
            scaled = signed * self._device.upload(every)[None, :, None]
            signed = xp.rint(scaled).astype(signed.dtype)
        if problem.mass_column and signed is not problem.signed:
            chunk, lane = divmod(problem.n_scores, signed.shape[2])
            signed[chunk, :, lane] = 0
            signed[chunk, :, lane] = xp.abs(signed).sum(axis=(0, 2))
        return self.backend.within(replace(problem, signed=signed), self.rows)
