"""A backend for rows that several processes share: sums over the local rows, summed over processes.

Every process runs the same loop with a backend of its own rows. All that a backend returns are sums
of integers over rows, so their sums over all processes are those of one process with all rows, and
every process continues alike. Rows never travel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from edgewise.backend.arithmetic import draw_rows
from edgewise.backend.base import (
    Backend,
    Candidates,
    Edges,
    GrownTree,
    Growth,
    Histogram,
    NodeSearch,
    Part,
    Problem,
    RealStep,
    RuleLike,
    ScanQuery,
    Step,
    Tally,
    Targets,
    TestLike,
)
from edgewise.backend.growth import grow_best_first
from edgewise.backend.host import HostState, search_type
from edgewise.backend.reference.scan import ArrayHistogram
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition

StepT = TypeVar("StepT", Step, RealStep)


@dataclass
class SharedProblem(Problem):
    """A problem of all rows; `local` is the problem of the rows of this process."""

    local: Any = None

    def absolute(self) -> "SharedProblem":
        local = self.local.absolute()
        return replace(self, signed_totals=self.signed_masses, local=local, histograms=None)


class SharedBackend(Backend[HostState, SharedProblem]):
    """All rows: those of this process in the backend `local`, others at other processes.

    It spreads no work over threads: messages must be in the same order at all processes.
    """

    def __init__(self, local: Backend[Any, Any], partition: Partition) -> None:
        self.local = local
        self.table: BinnedTable = replace(local.table, partition=partition)
        self.partition = partition
        # The sums of S and |S| after the last step.
        self._totals: tuple[Exacts, Exacts] | None = None
        self._constraints: dict[tuple[str, ...], SharedProblem] = {}
        self.pairs = local.pairs

    # The round's problem.

    def state(self, targets: Targets, mass_column: bool = False) -> HostState:
        """Return the state of the rows here, normalized with all others."""
        local: Any = self.local
        state: HostState = local.state(targets, mass_column, self.partition)
        self.refresh(state)
        return state

    def problem(self, state: HostState, constraints: tuple[str, ...] = ()) -> SharedProblem:
        local, n_rows = self.local.problem(state, constraints), self.partition.n_rows
        assert self._totals is not None
        shared = None
        if constraints:
            if constraints not in self._constraints:
                self._constraints[constraints] = self._share([local.constraints])[0]
            shared = replace(self._constraints[constraints], local=local.constraints)
        return SharedProblem(n_rows, n_rows, *self._totals, local.mass_column, shared, local=local)

    def potentials(
        self, rows: Rows, quanta: Exacts, mass_column: bool = False, masses: Exacts | None = None
    ) -> SharedProblem:
        return self._share([self.local.potentials(rows, quanta, mass_column, masses)])[0]

    def flip(self, problem: SharedProblem, tests: Sequence[TestLike]) -> SharedProblem:
        return self._share([self.local.flip(problem.local, tests)])[0]

    def split(self, problem: SharedProblem, test: TestLike) -> tuple[SharedProblem, SharedProblem]:
        low, high = self._share(list(self.local.split(problem.local, test)))
        return low, high

    def within(self, problem: SharedProblem, rows: Rows) -> SharedProblem:
        return self._share([self.local.within(problem.local, rows)])[0]

    def draw_rows(self, fraction: float, seed: int, t: int) -> Rows:
        return draw_rows(self.table.n_rows, fraction, seed, t, self.partition.numbers)

    def _share(self, problems: Sequence[Problem]) -> list[SharedProblem]:
        """Return problems of the rows here as problems of all rows: one message for their sums."""
        counts = [
            np.concatenate([[summed.size], summed.signed_totals, summed.signed_masses])
            for problem in problems
            for summed in (problem, problem.constraints)
            if summed is not None
        ]
        sums = iter(self._sum_together(*counts))
        return [self._to_shared(problem, sums) for problem in problems]

    def _to_shared(self, local: Problem, sums: Iterator[Exacts]) -> SharedProblem:
        counts, constraints = next(sums), local.constraints
        shared = None if constraints is None else self._to_shared(constraints, sums)
        totals, masses = np.split(counts[1:], 2)
        return SharedProblem(
            self.partition.n_rows, int(counts[0]), totals, masses, local.mass_column, shared,
            local=local,
        )  # fmt: skip

    def _sum_together(self, *parts: Exacts) -> list[Exacts]:
        """Return arrays of integers, summed over all processes in one message."""
        flat = np.concatenate([np.ravel(array) for array in parts]).astype(np.int64)
        sums = np.split(self.partition.sum(flat), np.cumsum([array.size for array in parts])[:-1])
        return [total.reshape(array.shape) for total, array in zip(sums, parts, strict=True)]

    # The search.

    def histogram(self, columns: Columns, problem: SharedProblem) -> Histogram:
        return problem.histogram(columns, lambda: self._compute_histogram(columns, problem))

    def _compute_histogram(self, columns: Columns, problem: SharedProblem) -> ArrayHistogram:
        values = self.local.histogram(columns, problem.local).by_score
        # The type in which one process would sum all rows.
        narrow = search_type(self.partition.n_rows * problem.n_scores)
        sums = self.partition.sum(np.ascontiguousarray(values, dtype=narrow))
        return ArrayHistogram(columns, sums.astype(np.int64), problem.signed_totals, problem.mass)

    def scan(self, histogram: Histogram, query: ScanQuery) -> Candidates:
        return self.local.scan(histogram, query)

    def grow(self, problem: SharedProblem, growth: Growth, search: NodeSearch) -> GrownTree | None:
        grow = self.local.joint_grower(problem.local, growth, self.partition)
        if len(growth.columns) and self.partition.all(grow is not None):
            assert grow is not None
            return grow()
        return grow_best_first(self, problem, growth, search)

    def assign_leaves(
        self, nodes: Columns, tests: Sequence[TestLike], leaves: list[SharedProblem]
    ) -> Any:
        return self.local.assign_leaves(nodes, tests, [leaf.local for leaf in leaves])

    def with_columns(self, table: BinnedTable) -> "SharedBackend":
        return SharedBackend(self.local.with_columns(table), self.partition)

    # Parts of the weights.

    def row_weight_sums(self, problem: SharedProblem) -> Exacts:
        return self.local.row_weight_sums(problem.local)

    def sum_heavy(self, problem: SharedProblem, least: int) -> int:
        return int(self.partition.sum(self.local.sum_heavy(problem.local, least)))

    def select(self, rows: Rows) -> Part[SharedProblem]:
        return SharedPart(self, self.local.select(rows))

    def select_heavy(self, problem: SharedProblem, least: int) -> Part[SharedProblem] | None:
        local = self.local.select_heavy(problem.local, least)
        return None if local is None else SharedPart(self, local)

    # The step.

    def edges(self, state: HostState, rule: RuleLike) -> Edges:
        local = self.local.edges(state, rule)
        edges, masses, total = self._sum_together(
            local.edges, local.masses, np.array([local.total])
        )
        return Edges(edges, masses, int(total[0]))

    def energy(self, state: HostState, rule: RuleLike, coefficients: Reals) -> int:
        return int(self.partition.sum(self.local.energy(state, rule, coefficients)))

    def advance(self, state: HostState, rule: RuleLike | None, step: Step) -> Tally:
        local, problem = self.local.advance(state, rule, self._agree_on(step)), state.whole
        counts = np.array([local.pseudo, local.wrong_rows])
        counts, wrong, totals, masses = self._sum_together(
            counts, local.wrong_entries, problem.signed_totals, problem.signed_masses
        )
        self._totals = (totals, masses)
        pseudo = -1 if local.pseudo < 0 else int(counts[0])
        return Tally(pseudo, int(counts[1]), wrong)

    def reweigh(self, state: HostState, rule: RuleLike, step: RealStep) -> tuple[int, int]:
        agreed = self._agree_on(step._replace(loss=0.0))._replace(loss=step.loss)  # type: ignore[arg-type]
        total, pseudo = self.local.reweigh(state, rule, agreed)
        sums = self.partition.sum(np.array([total, pseudo]))
        return int(sums[0]), -1 if pseudo < 0 else int(sums[1])

    def _agree_on(self, step: StepT) -> StepT:
        """Return the step of the first process: libraries may differ in the last digit of exp."""
        numbers = np.concatenate([np.atleast_1d(value) for value in step])
        bits = (
            numbers.view(np.int64) if self.partition.is_root else np.zeros(len(numbers), np.int64)
        )
        agreed, at = self.partition.sum(bits).view(np.float64), 0
        values: list[Any] = []
        for value in step:
            size = np.size(value)
            bits_ = agreed[at : at + size]
            values.append(bits_ if isinstance(value, np.ndarray) else float(bits_[0]))
            at += size
        return type(step)(*values)

    def refresh(self, state: HostState) -> None:
        local: Any = self.local
        state.weights /= local.restore_all(state, self.partition)
        self.advance(state, None, Step.scaling(state.n_scores))

    def scores(self, state: HostState) -> Reals:
        return self.local.scores(state)

    def outputs(self, rule: RuleLike) -> Signs | Reals:
        return self.local.outputs(rule)

    def outputs_on(self, table: BinnedTable, rule: RuleLike) -> Signs | Reals:
        return self.local.outputs_on(table, rule)

    def close(self) -> None:
        self.local.close()


class SharedPart(Part[SharedProblem]):
    """Some rows or entries, of which `local` are at this process."""

    def __init__(self, backend: SharedBackend, local: Part[Any]) -> None:
        size = int(backend.partition.sum(local.size))
        super().__init__(SharedBackend(local.backend, backend.partition), local.rows, size)
        self._local = local

    def gather(self, problem: SharedProblem, factors: Reals | None = None) -> SharedProblem:
        backend: Any = self.backend
        gathered: SharedProblem = backend._share([self._local.gather(problem.local, factors)])[0]
        return gathered
