"""The backend compiled by Numba: the reference's integers, much faster, on several threads."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import draw_key, draw_limit
from edgewise.backend.base import (
    Candidates,
    Edges,
    GrownTree,
    Growth,
    Histogram,
    NodeSearch,
    RealStep,
    RoundResult,
    RoundsRequest,
    RuleLike,
    ScanQuery,
    Step,
    Tally,
    TestLike,
)
from edgewise.backend.host import HostState, SignedProblem, aligned_zeros, search_type
from edgewise.backend.local import HostBackend
from edgewise.backend.numba import histogram as kernels
from edgewise.backend.numba import step as updates
from edgewise.backend.numba.plans import (
    Batch,
    ColumnShapes,
    HistogramLayout,
    LaneHistogram,
    Lease,
)
from edgewise.backend.numba.ranking import NumbaPairs
from edgewise.backend.numba.rounds import train
from edgewise.backend.numba.scan import scan_columns
from edgewise.backend.numba.trees import TreeGrower, walk
from edgewise.backend.reference.engine import is_shared
from edgewise.common.dtypes import ROW, Codes, Columns, Exacts, Integers, Reals, Rows, Signs
from edgewise.common.threads import Threads
from edgewise.data import BinnedTable
from edgewise.data.part import RowSubset
from edgewise.data.partition import Partition

# Histograms larger than this are summed again rather than kept for a subtraction.
_KEPT_BYTES = 1 << 25

# The most memory for the histograms of a whole tree's leaves, and for its codes.
_TREE_BYTES = 1 << 28

# For compiled code: all cuts are allowed, and both sides may hold anything.
_ALL_CUTS, _NO_MIN_SUMS = np.empty((0, 2), dtype=bool), np.empty(0, dtype=np.int64)


class NumbaBackend(HostBackend):
    """The backend compiled by Numba, on up to `n_jobs` threads."""

    def __init__(
        self, table: BinnedTable, n_jobs: int = 1, threads: Threads | None = None,
        shapes: ColumnShapes | None = None,
    ) -> None:  # fmt: skip
        super().__init__(table)
        self.threads = Threads(n_jobs) if threads is None else threads
        self._shapes = ColumnShapes(table) if shapes is None else shapes.of_rows(table)
        self._spans: dict[int, list[tuple[int, int]]] = {}
        self._layouts: dict[tuple[Any, ...], HistogramLayout] = {}
        self._spare: dict[tuple[int, Any], list[Integers]] = {}
        self._scratch: SimpleQueue[Integers] = SimpleQueue()
        self._scratch_shape: tuple[int, Any] = (0, None)
        self._scratch_plan: HistogramLayout | None = None
        self._subset: RowSubset | None = None
        self._trees: tuple[Any, TreeGrower | None] | None = None
        self._watched: tuple[BinnedTable, Columns, Rows] | None = None
        self.pairs = NumbaPairs(self.threads)

    # The round's problem.

    def _flip(self, problem: SignedProblem, signs: Signs) -> SignedProblem:
        chunks, n, lanes = problem.signed.shape
        lease = self._lease(problem.signed.size, problem.signed.dtype)
        out = lease.array.reshape(problem.signed.shape)
        spans = self._row_spans(n)
        sums = np.zeros((len(spans), chunks * lanes), dtype=np.int64)

        def run(part: int) -> None:
            kernels.flip(*spans[part], problem.vectors, signs, out.reshape(-1), sums[part])

        self.spread(run, range(len(spans)))
        totals = _total(sums)[: problem.n_scores]
        flipped = SignedProblem.of(
            out,
            totals,
            problem.signed_masses,
            None,
            problem.mass_column,
            problem.constraints,
            lease,
        )
        if problem.rows is None and signs.all():
            return flipped
        rows = problem.rows if problem.rows is not None else np.flatnonzero(signs).astype(ROW)
        return self.within(flipped, rows)

    def _split_rows(self, rows: Rows | None, test: TestLike) -> tuple[Rows, Rows]:
        """Return the rows on either side; a cut of a dense column looks at these rows only."""
        cut = self._cut_of(test)
        if cut is None or self.table.storage_index[cut[0]] < 0:
            return super()._split_rows(rows, test)
        column, first, missing = cut
        self.table.ready(np.array([column]))
        if rows is None:
            rows = np.arange(self.table.n_rows, dtype=ROW)
        codes = self.table.dense.codes[self.table.storage_index[column]]
        missing_code = self.table.bins[column].missing_code
        low, high = np.empty_like(rows), np.empty_like(rows)
        n_low, n_high = kernels.cut_rows(codes, rows, first, missing, missing_code, low, high)
        return low[:n_low], high[:n_high]

    def within(self, problem: SignedProblem, rows: Rows) -> SignedProblem:
        chunks, _, lanes = problem.signed.shape
        sums = np.zeros((2, chunks * lanes), dtype=np.int64)
        kernels.sum_rows(problem.vectors, rows, *sums)
        totals, masses = sums[:, : problem.n_scores]
        if problem.mass_column and problem.n_scores == 1:
            masses = sums[0, 1:2]
        return self._narrow(problem, totals, masses, rows)

    def draw_rows(self, fraction: float, seed: int, t: int) -> Rows:
        rows = np.empty(self.table.n_rows, dtype=ROW)
        return rows[: kernels.draw_rows(draw_key(seed, t)[0], draw_limit(fraction), rows)]

    # The search.

    def histogram(self, columns: Columns, problem: SignedProblem) -> Histogram:
        layout = self._layout(columns, problem)
        if layout.size * layout.dtype.itemsize > _KEPT_BYTES:
            return LaneHistogram(layout, problem, self._fill)
        return super().histogram(columns, problem)

    def _compute_histogram(self, columns: Columns, problem: SignedProblem) -> LaneHistogram:
        layout = self._layout(columns, problem)
        if problem.histograms is None or not self.keeps_histograms:
            return LaneHistogram(layout, problem, self._fill)
        return LaneHistogram(layout, problem, self._fill, self._lease(layout.size, layout.dtype))

    def scan(self, histogram: Histogram, query: ScanQuery) -> Candidates:
        if not isinstance(histogram, LaneHistogram):
            return super().scan(histogram, query)
        layout, totals = histogram.layout, histogram.totals
        n_columns, per_score = len(layout.columns), query.criterion == "score"
        shape = (n_columns, len(totals) if per_score else 1)
        best, first = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.intp)
        missing = np.empty(shape, dtype=np.int8)
        wants_edges = query.score_edges and not per_score
        edges = np.empty((n_columns, len(totals)) if wants_edges else (0, 0), dtype=np.int64)
        allowed, plan = _ALL_CUTS, self._plan(layout.columns)
        sides = None
        if query.constraints is not None:
            sides = plan.satisfies(query.constraints, query.missing, query.min_sums)
        if query.directions is not None:
            rises = plan.find_rising(histogram, query)
            sides = rises if sides is None else sides & rises
        if sides is not None:
            allowed = np.ascontiguousarray(sides.T)
        by_gain, n_scores = query.criterion == "gain", len(totals)
        split_query = (
            n_scores, n_scores + histogram.mass_column, by_gain, query.constant, query.missing,
            _NO_MIN_SUMS, query.damping,
        )  # fmt: skip
        mass = histogram.mass if by_gain else None
        arguments = (
            split_query, query.bounds, (allowed, layout.starts), totals, mass, layout.width,
            (best, first, missing, edges),
        )  # fmt: skip

        def run(batch: Batch) -> None:
            flat = histogram.flat
            memory = self._scratch.get() if flat is None else flat[batch.start :]
            bins = memory[: batch.size]
            if not histogram.is_summed:
                self._fill(histogram, batch, bins)
            scan_columns(bins, tuple(batch.columns), batch.where, *arguments)
            if flat is None:
                self._scratch.put(memory)

        if histogram.flat is None:
            self._make_scratch(layout)
        if layout.has_sparse and histogram.problem is not None:
            _ = histogram.problem.member  # made once, before the threads read it
        self.spread(run, layout.batches)
        if histogram.flat is not None:
            histogram.mark_summed()
        which = np.s_[:, :] if per_score else np.s_[:, 0]
        return Candidates(
            layout.columns,
            best[which],
            first[which],
            missing[which],
            edges if wants_edges else None,
        )

    def _fill(self, histogram: LaneHistogram, batch: Batch, bins: Integers) -> None:
        """Sum the signed weights of a batch's columns."""
        if histogram.subtrahend is not None:
            subtrahend = histogram.subtrahend[batch.start : batch.start + batch.size]
            np.subtract(bins, subtrahend, out=bins)
            return
        problem = histogram.problem
        assert problem is not None
        stored = (batch.codes, tuple(batch.columns), problem.vectors)
        if batch.is_sparse:
            kernels.sum_sparse(*stored, problem.member, problem.column_totals, bins)
        else:
            kernels.sum_dense(*stored, problem.rows, bins)

    def grow(self, problem: SignedProblem, growth: Growth, search: NodeSearch) -> GrownTree | None:
        grower = self._grower(problem, growth)
        if grower is None:
            return super().grow(problem, growth, search)
        return grower.grow(problem, growth)

    def joint_grower(
        self, problem: SignedProblem, growth: Growth, partition: Partition
    ) -> Callable[[], GrownTree] | None:
        if problem.signed.dtype != search_type(partition.n_rows * problem.n_scores):
            return None
        grower = self._grower(problem, growth)
        return None if grower is None else partial(grower.grow, problem, growth, partition)

    def train_ahead(self, state: HostState, request: RoundsRequest) -> Iterator[RoundResult]:
        growth, watched = request.growth, request.watched
        if growth is None:
            return iter(())
        problem = self.problem(state, request.constraints)
        grower = self._grower(problem, growth)
        if grower is None or (watched is not None and not self._may_watch(watched[0], growth)):
            return iter(())
        codes, scores = np.empty((len(growth.columns), 0), dtype=ROW), state.scores[:, :0]
        if watched is not None:
            codes, scores = self._watched_codes(watched[0], growth), watched[1]
        return iter(train(grower, state, problem, request, growth, codes, scores))

    def outputs_on(self, table: BinnedTable, rule: Any) -> Signs | Reals:
        tree = rule.grown
        if tree is None or tree.growth is None or not self._may_watch(table, tree.growth):
            return super().outputs_on(table, rule)
        leaves = np.empty(table.n_rows, dtype=np.intp)
        walk(self._watched_codes(table, tree.growth), tree.nodes, tree.sides, leaves)
        by_score: NDArray[Any] = np.ascontiguousarray(rule.leaves.T)
        return by_score.take(leaves, axis=1)

    def _may_watch(self, table: BinnedTable, growth: Growth) -> bool:
        """Return whether the codes of validation rows are few enough to be kept."""
        return len(growth.columns) * table.n_rows * np.dtype(ROW).itemsize <= _TREE_BYTES

    def _watched_codes(self, table: BinnedTable, growth: Growth) -> Rows:
        """Return the codes of validation rows, kept for the next round."""
        seen, columns = self._watched, growth.columns
        if seen is None or seen[0] is not table or not np.array_equal(seen[1], columns):
            # Of one type for all tables, so that kernels are compiled once.
            self._watched = None
            codes = _stack_codes(table, columns, growth.groups, ROW)
            self._watched = seen = (table, columns, codes)
        return seen[2]

    def _grower(self, problem: SignedProblem, growth: Growth) -> TreeGrower | None:
        """Return the memory for trees on some columns, kept for the next round."""
        columns = growth.columns
        if len(columns) == 0:
            return None
        form = (growth.n_cut, growth.criterion, problem.n_scores, problem.signed.dtype)
        key = (columns.tobytes(), growth.max_leaf_nodes, len(growth.min_sums), *form)
        self.table.ready(columns[: growth.n_cut])
        if self._trees is None or self._trees[0] != key:
            # Released first, so that the new grower can reuse its memory.
            self._trees = None
            codes = self._dense_codes(growth)
            bins = [self.table.bins[j] for j in columns.tolist()]
            n_codes = np.array([column_bins.n_codes for column_bins in bins], dtype=np.intp)
            lanes = problem.shape[0] * problem.shape[2]
            size = int(n_codes.sum()) * lanes * problem.signed.itemsize
            grower = None
            if codes is not None and size * growth.max_leaf_nodes <= _TREE_BYTES:
                shapes = (n_codes, np.array([column_bins.has_missing for column_bins in bins]))
                grower = TreeGrower(*codes, shapes, growth, problem, self.threads)
            self._trees = (key, grower)
        return self._trees[1]

    def _dense_codes(self, growth: Growth) -> tuple[Codes, Columns] | None:
        """Return the codes of all rows of some columns, and where each is; None if too large."""
        table, columns = self.table, growth.columns
        if growth.n_cut == len(columns) and (table.storage_index[columns] >= 0).all():
            return table.dense.codes, table.storage_index[columns]
        if table.fill is not None or len(columns) * table.n_rows > _TREE_BYTES:
            return None
        return _stack_codes(table, columns, growth.groups), np.arange(len(columns))

    def with_columns(
        self, table: BinnedTable, shapes: ColumnShapes | None = None
    ) -> "NumbaBackend":
        other = NumbaBackend(table, threads=self.threads, shapes=shapes)
        # Without shapes the columns are others each time, and no histogram is asked for twice.
        other.keeps_histograms = shapes is not None
        other._scratch, other._scratch_shape = self._scratch, self._scratch_shape
        return other

    # Parts of the weights.

    def row_weight_sums(self, problem: SignedProblem) -> Exacts:
        chunks, n, lanes = problem.shape
        masses = np.zeros(n, dtype=np.int64)
        flat = problem.vectors[0]
        kernels.row_weight_sums(flat, n, chunks, lanes, problem.n_scores, masses)
        return masses

    def sum_heavy(self, problem: SignedProblem, least: int) -> int:
        n, lanes = problem.n_rows, problem.shape[2]
        return int(kernels.sum_heavy(problem.vectors[0], least, n, lanes, problem.n_scores))

    def on_rows(self, rows: Rows) -> "NumbaBackend":
        if self._subset is None:
            self._subset = RowSubset(self.table, kernels.pick_rows)
        return self.with_columns(self._subset.take(rows), self._shapes)

    def copy_rows(
        self, problem: SignedProblem, rows: Rows, memory: Integers | None
    ) -> SignedProblem:
        chunks, _, lanes = problem.shape
        if memory is None:
            memory = aligned_zeros((chunks, len(rows), lanes), problem.signed.dtype.type)
        sums = np.zeros((3, chunks * lanes), dtype=np.int64)
        kernels.gather_rows(problem.vectors, rows, memory.reshape(-1), *sums)
        totals, masses = sums[1:, : problem.n_scores]
        constraints = problem.constraints_of(rows)
        return SignedProblem.of(memory, totals, masses, None, problem.mass_column, constraints)

    # The step.

    def edges(self, state: HostState, rule: RuleLike) -> Edges:
        signs, spans = self.outputs(rule), self._row_spans(state.n_rows)
        sums = np.empty((len(spans), 3, state.n_scores), dtype=np.int64)

        def run(part: int) -> None:
            updates.sum_edges(*spans[part], state.weights, state.labels, signs, sums[part])

        self.spread(run, range(len(spans)))
        edges, masses, idle = _total(sums)
        return Edges(edges, masses - idle, sum(masses.tolist()))

    def energy(self, state: HostState, rule: RuleLike, coefficients: Reals) -> int:
        outputs, spans = self.outputs(rule), self._row_spans(state.n_rows)

        def run(span: tuple[int, int]) -> int:
            return updates.sum_energy(*span, state.weights, state.labels, outputs, coefficients)

        return sum(self.spread(run, spans))

    def advance(self, state: HostState, rule: RuleLike | None, step: Step) -> Tally:
        signs = self._everywhere if rule is None else self.outputs(rule)
        spans, problem = self._row_spans(state.n_rows), state.whole
        lanes, signed = problem.shape[2], problem.vectors[0]
        sums = np.zeros((len(spans), 4, state.n_scores), dtype=np.int64)

        def run(part: int) -> tuple[int, int]:
            return updates.advance(
                *spans[part], state.arrays, signs, tuple(step), lanes, signed, sums[part]
            )

        counts = self.spread(run, range(len(spans)))
        total = _total(sums)
        problem.signed_totals, problem.signed_masses = total[0], total[1]
        pseudo = sum(count[0] for count in counts) if len(signs) == 1 else -1
        return Tally(pseudo, sum(count[1] for count in counts), total[2:])

    def reweigh(self, state: HostState, rule: RuleLike, step: RealStep) -> tuple[int, int]:
        outputs = self.outputs(rule)
        moves = (state.arrays, outputs, step.coefficients, step.votes, step.unit)

        def run(span: tuple[int, int]) -> tuple[int, int]:
            if step.loss == "softmax":
                return updates.reweigh_softmax(*span, *moves)
            return updates.reweigh(*span, *moves, step.loss == "logistic", step.shift)

        sums = self.spread(run, self._row_spans(state.n_rows))
        pseudo = sum(span_sums[1] for span_sums in sums) if is_shared(outputs) else -1
        return sum(span_sums[0] for span_sums in sums), pseudo

    # Work.

    def spread(self, run: Any, parts: Any) -> list[Any]:
        return self.threads.map(run, parts)

    def close(self) -> None:
        self.threads.close()

    def _row_spans(self, n_rows: int) -> list[tuple[int, int]]:
        """Return the rows that each thread takes."""
        if n_rows not in self._spans:
            self._spans[n_rows] = self.threads.spans(n_rows)
        return self._spans[n_rows]

    def _layout(self, columns: Columns, problem: SignedProblem) -> HistogramLayout:
        chunks, _, lanes = problem.shape
        key = (columns.tobytes(), chunks, lanes, problem.signed.dtype.itemsize)
        self.table.ready(columns)
        if key not in self._layouts:
            if len(self._layouts) > 3:
                self._layouts.clear()
            batches = self._shapes.batches(columns, problem, self.threads.n)
            self._layouts[key] = HistogramLayout(
                columns, (chunks, lanes), problem.signed.dtype, batches
            )
        return self._layouts[key]

    def _lease(self, size: int, dtype: Any) -> Lease:
        spare = self._spare.setdefault((size, dtype), [])
        return Lease(spare.pop() if spare else aligned_zeros((size,), dtype.type), spare)

    def _make_scratch(self, plan: HistogramLayout) -> None:
        """Make room for the histograms of every thread."""
        if plan is self._scratch_plan:
            return
        self._scratch_plan = plan
        size, dtype = self._scratch_shape
        count = min(self.threads.n, len(plan.batches))
        if dtype != plan.dtype or size < plan.largest:
            self._scratch = SimpleQueue()
            self._scratch_shape = (max(plan.largest, size), plan.dtype)
        while self._scratch.qsize() < count:
            self._scratch.put(aligned_zeros((self._scratch_shape[0],), plan.dtype.type))


def _stack_codes(
    table: BinnedTable, columns: Columns, groups: Mapping[int, Columns], dtype: Any = None
) -> NDArray[Any]:
    """Return the codes of some columns; values of groups have the code of their group."""
    kinds = [table.code_type(j) for j in columns.tolist()] if dtype is None else [dtype]
    stacked = np.empty((len(columns), table.n_rows), dtype=np.result_type(*kinds))
    # One by one, since the codes of sparse columns are made here.
    for position, j in enumerate(columns.tolist()):
        codes = table.codes(j)
        if j in groups:
            # Codes after the last of training are missing values and new categories.
            group_of = np.append(groups[j], np.arange(len(groups[j]), int(codes.max()) + 1))
            codes = group_of.astype(codes.dtype)[codes]
        stacked[position] = codes
    return stacked


def _total(sums: Exacts) -> Exacts:
    """Return the sum over the threads' parts."""
    return sums[0] if len(sums) == 1 else sums.sum(axis=0)
