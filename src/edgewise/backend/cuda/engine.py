"""The backend on a GPU. Weights, scores, codes and histograms stay there."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exact_sum, to_fixed_point
from edgewise.backend.base import (
    Backend,
    Candidates,
    Edges,
    Histogram,
    Part,
    RealStep,
    RoundResult,
    RoundsRequest,
    RuleLike,
    ScanQuery,
    State,
    Step,
    Tally,
    Targets,
    TestLike,
)
from edgewise.backend.cuda.columns import DeviceColumns, DeviceHistogram, DevicePlan, form_of
from edgewise.backend.cuda.device import Device, gpu
from edgewise.backend.cuda.rounds import ProductRounds, can_train
from edgewise.backend.host import SignedProblem, lanes_for, search_type
from edgewise.backend.local import LocalBackend, PartInPlace
from edgewise.backend.reference.ranking import NumpyPairs
from edgewise.common.dtypes import ROW, Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable

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
        self.row_mass = up(to_fixed_point(targets.row_weights))
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
        zeros = np.zeros(k, dtype=np.int64)
        self.whole = SignedProblem.of(signed, zeros, zeros, mass_column=mass_column)
        self.constraints: dict[tuple[str, ...], SignedProblem] = {}

    @property
    def start(self) -> tuple[Any, Any, Any]:
        """The initial weights, as kernels take them, not yet normalized."""
        return self.rows, self.by_label, self.matrix


class CudaBackend(LocalBackend[DeviceState]):
    """The backend on a GPU; sums over pairs of documents, and image filters, stay on the CPU.

    A backend on the CPU sums the pairs, where there are any.
    """

    leaf_type = np.int32

    def __init__(
        self, table: BinnedTable, device: Device | None = None, cpu: Backend | None = None
    ) -> None:
        super().__init__(table)
        self._cpu = cpu
        self.pairs = NumpyPairs() if cpu is None else cpu.pairs
        self.device = gpu() if device is None else device
        self.xp = self.device.xp
        self.columns = DeviceColumns(table, self.device)
        self._device_plans: dict[bytes, DevicePlan] = {}
        self._rounds: tuple[Any, ProductRounds | None] | None = None

    def _upload(self, array: NDArray[Any]) -> Any:
        return self.device.upload(array)

    def upgrade(self) -> Backend:
        if self._cpu is not None:
            self._cpu = self._cpu.upgrade()
            self.pairs = self._cpu.pairs
        return self

    # The round's problem.

    def state(self, targets: Targets, mass_column: bool = False) -> DeviceState:
        weights = np.stack([targets.initial_weights(k) for k in range(len(targets.labels))])
        state = DeviceState(self.device, targets, 1.0 / exact_sum(weights), mass_column)
        self.refresh(state)
        return state

    def _flip(self, problem: SignedProblem, signs: Any) -> SignedProblem:
        chunks, n, lanes = problem.shape
        device, xp = self.device, self.device.xp
        out, sums = xp.empty_like(problem.signed), device.zeros(chunks * lanes + 1)
        blocks = (device.blocks(n, device.threads // lanes), chunks)
        arguments = (np.int64(n), chunks, problem.signed, signs, out, sums)
        device.launch("flip", blocks, arguments, form_of(problem), 8 * (lanes + 1))
        *totals, zeros = device.download(sums).tolist()
        flipped = replace(problem, signed=out, histograms=None)
        if problem.rows is None and zeros == 0:
            flipped.signed_totals = np.array(totals[: problem.n_scores], dtype=np.int64)
            return flipped
        rows = problem.rows
        if rows is None:
            rows = xp.flatnonzero(signs).astype(ROW)
        return self.within(flipped, rows)

    def _evaluate(self, test: TestLike) -> Any:
        cut = self._cut_of(test)
        if cut is not None:
            return self.columns.cut(*cut)
        values = getattr(test, "values", None)
        if values is not None and len(test.factors) == 1:
            column = getattr(test, "column", -1)
            return self.device.upload(values)[self.columns.categorical(column).astype(np.int64)]
        return self.device.upload(test.signs(self.table))

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
        host_sums = device.download(sums)
        totals, masses = host_sums[:, : problem.n_scores]
        if problem.mass_column and problem.n_scores == 1:
            masses = host_sums[0, 1:2]
        return self._narrow(problem, totals, masses, rows)

    # The search.

    def _compute_histogram(self, columns: Columns, problem: SignedProblem) -> Any:
        plan = self._device_plan(columns)
        sums = plan.sum_bins(problem, self._member(problem))
        return DeviceHistogram(plan, sums, problem.signed_totals, problem.mass, problem.mass_column)

    def _member(self, problem: SignedProblem) -> Any:
        """Return whether each row counts; None where all do."""
        if problem.rows is None:
            return None
        member = problem.__dict__.get("on_device")
        if member is None:
            member = self.device.xp.zeros(problem.n_rows, dtype=np.uint8)
            member[problem.rows] = 1
            problem.__dict__["on_device"] = member
        return member

    def _device_plan(self, columns: Columns) -> DevicePlan:
        key = columns.tobytes()
        if key not in self._device_plans:
            if len(self._device_plans) > 3:
                self._device_plans.clear()
            self._device_plans[key] = DevicePlan(columns, self.columns)
        return self._device_plans[key]

    def scan(self, histogram: Histogram, query: ScanQuery) -> Candidates:
        # Its kernel knows no directions of several score columns, nor of gains.
        if not isinstance(histogram, DeviceHistogram) or query.directions is not None:
            return super().scan(histogram, query)
        device, plan, sums = self.device, histogram.plan, histogram.sums
        up, n_scores, n_columns = device.upload, len(histogram.totals), len(plan.columns)
        like, by_score = (sums.shape[2], sums.dtype.itemsize == 8), query.criterion == "score"
        wants_edges = query.score_edges and not by_score
        best = device.zeros(n_columns, n_scores if by_score else 1, 3)
        edges = device.zeros(n_columns, n_scores) if wants_edges else None
        bounds: list[Any] = [None] * 5
        if query.bounds is not None:
            types = (np.int8, np.int64, np.int64, np.int8, np.int64)
            bounds = [
                up(np.asarray(array), kind) for array, kind in zip(query.bounds, types, strict=True)
            ]
        limits: list[Any] = [None] * 4
        constraints = query.constraints
        if constraints is not None:
            assert isinstance(constraints, DeviceHistogram)
            min_sums = np.array(query.min_sums, dtype=np.int64)
            below = self._below(constraints)
            limits = [constraints.sums, below, up(constraints.totals), up(min_sums)]
        arguments = (
            plan.bases, plan.n_codes, plan.has_missing, np.int64(plan.n_bins), sums,
            self._below(histogram), up(histogram.column_totals), n_scores,
            query.criterion == "gain", by_score, query.constant, query.missing,
            float(query.damping), *bounds, *limits,
            len(query.min_sums), best, edges,
        )  # fmt: skip
        blocks = (n_columns, best.shape[1])
        device.launch("choose_cuts", blocks, arguments, like, 16 * device.threads)
        cuts = device.download(best)
        which = np.s_[:, :] if by_score else np.s_[:, 0]
        return Candidates(
            plan.columns,
            cuts[..., 0][which],
            cuts[..., 1][which].astype(np.intp),
            cuts[..., 2][which].astype(np.int8),
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

    def train_ahead(self, state: DeviceState, request: RoundsRequest) -> Iterator[RoundResult]:
        chunks, _, lanes = state.whole.shape
        narrow = chunks == 1 and lanes > 1 and not form_of(state.whole)[1]
        if request.growth is not None or not self.device.trains_rounds:
            return iter(())
        if not narrow or state.mass_column:
            return iter(())
        key = (request.columns.tobytes(), lanes)
        if self._rounds is None or self._rounds[0] != key:
            rounds = None
            if can_train(self.table, request):
                rounds = ProductRounds(self.table, request.columns, lanes, self.device)
            self._rounds = (key, rounds)
        rounds = self._rounds[1]
        return iter(()) if rounds is None else rounds.train(state, request)

    def with_columns(self, table: BinnedTable) -> "CudaBackend":
        other = CudaBackend(table, self.device)
        other.keeps_histograms = False
        return other

    # Parts of the weights.

    def row_weight_sums(self, problem: SignedProblem) -> Exacts:
        return self.device.download(super().row_weight_sums(problem))

    def select_heavy(self, problem: SignedProblem, least: int) -> Part[SignedProblem] | None:
        if not self._can_copy:
            return None
        heavy = self._heavy(problem, least)
        rows = self.device.download(self.xp.flatnonzero(heavy.any(axis=(0, 2))))
        return PartInPlace(self, rows.astype(ROW), heavy)

    # The step.

    def _outputs(self, rule: RuleLike | None) -> tuple[Any, Any, int]:
        """Return a rule's outputs as kernels take them: signs or reals, and how many rows."""
        if rule is None:
            return None, None, 1
        outputs = self._outputs_of(rule)
        is_real = outputs.dtype.kind == "f"
        return None if is_real else outputs, outputs if is_real else None, len(outputs)

    def _compute_outputs(self, rule: Any) -> Any:
        device = self.device
        if rule.grown is not None:
            leaves: NDArray[Any] = rule.leaves
            n_ends, k = leaves.shape
            out = device.xp.empty((k, self.table.n_rows), dtype=leaves.dtype)
            is_real = leaves.dtype.kind == "f"
            arguments = (
                np.int64(self.table.n_rows), k, n_ends, rule.grown.leaves,
                device.upload(leaves.T, np.float64), out if is_real else None,
                None if is_real else out,
            )  # fmt: skip
            device.launch("leaf_outputs", device.blocks(self.table.n_rows), arguments)
            return out
        cuts = getattr(rule, "cuts", None)
        if cuts is not None:
            return device.xp.stack([self._signs_of(cut) for cut in cuts])
        if hasattr(rule, "factors"):
            return self._signs_of(rule)[None]
        return device.upload(rule.outputs(self.table))

    def edges(self, state: DeviceState, rule: RuleLike) -> Edges:
        k, device = state.n_scores, self.device
        sums, shared = device.zeros(3, k), 24 * k if 3 * k <= _MOST_SUMS else 0
        arguments = (
            np.int64(state.n_rows), k, state.labels, state.weights, *self._outputs(rule),
            shared > 0, sums,
        )  # fmt: skip
        device.launch("sum_edges", device.blocks(state.n_rows), arguments, shared=shared)
        edges, masses, totals = device.download(sums)
        return Edges(edges, masses, sum(totals.tolist()))

    def energy(self, state: DeviceState, rule: RuleLike, coefficients: Reals) -> int:
        device, total = self.device, self.device.zeros(1)
        arguments = (
            np.int64(state.n_rows), state.n_scores, state.labels, state.weights,
            *self._outputs(rule), device.upload(coefficients), total,
        )  # fmt: skip
        device.launch("sum_energy", device.blocks(state.n_rows), arguments)
        return int(device.download(total)[0])

    def advance(self, state: DeviceState, rule: RuleLike | None, step: Step) -> Tally:
        k, device, problem = state.n_scores, self.device, state.whole
        outputs, count = self._outputs(rule), 4 * k + 2
        sums, shared = device.zeros(count), 8 * count if count <= _MOST_SUMS else 0
        factors = np.stack([step.agree, step.against, step.coefficients, step.votes])
        arguments = (
            np.int64(state.n_rows), k, state.labels, state.target, state.row_mass, *outputs,
            device.upload(factors), float(step.abstain), state.mass_column, shared > 0,
            state.weights, state.scores, problem.signed, sums,
        )  # fmt: skip
        blocks = device.blocks(state.n_rows)
        device.launch("advance", blocks, arguments, form_of(problem), shared)
        host_sums = device.download(sums)
        problem.signed_totals, problem.signed_masses = host_sums[:k], host_sums[k : 2 * k]
        pseudo, wrong_rows = host_sums[4 * k :].tolist()
        by_label = host_sums[2 * k : 4 * k].reshape(2, k)
        return Tally(pseudo if outputs[2] == 1 else -1, wrong_rows, by_label)

    def reweigh(self, state: DeviceState, rule: RuleLike, step: RealStep) -> tuple[int, int]:
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

    def min_margin(self, state: DeviceState) -> float:
        xp, (rows, by_label, matrix) = self.device.xp, state.start
        factors = xp.where(state.labels > 0, by_label[1][:, None], by_label[0][:, None])
        initial = (rows if matrix is None else matrix) * factors
        margins = xp.where(initial > 0, state.labels * state.scores, np.inf)
        return float(margins.min())

    def restore_weights(self, state: DeviceState, min_margin: float) -> float:
        arguments = (
            np.int64(state.n_rows), state.n_scores, state.labels, *state.start, float(min_margin),
            state.scores, state.weights,
        )  # fmt: skip
        self.device.launch("restore_weights", self.device.blocks(state.n_rows), arguments)
        return float(state.weights.max())

    def total_weight(self, state: DeviceState, shift: int) -> int:
        units = self.device.xp.rint(state.weights * math.ldexp(1.0, shift))
        return int(units.astype(np.int64).sum())

    def scores(self, state: DeviceState) -> Reals:
        return self.device.download(state.scores)

    def outputs(self, rule: RuleLike) -> Signs | Reals:
        signs, reals, _ = self._outputs(rule)
        return self.device.download(reals if signs is None else signs)

    def spread(self, run: Any, parts: Any) -> list[Any]:
        return super().spread(run, parts) if self._cpu is None else self._cpu.spread(run, parts)

    def close(self) -> None:
        if self._cpu is not None:
            self._cpu.close()
