"""The few loops that take all the time, each written twice: in NumPy and compiled by Numba.

Both give the same integers and so the same model. Small problems take NumPy and compile nothing;
`kernels_for` chooses.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from edgewise.backend.choose import COMPILE_FROM, use_compiled
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.kernels.feedback import SIDE_SCALE, Feedback, Moments, Sides, Weighed
from edgewise.kernels.fixed_point import (
    EXACT_SCALE,
    GAIN_SCALE,
    SEARCH_SCALE,
    WIDE_SEARCH_LIMIT,
    exact_sum,
    fixed,
)
from edgewise.kernels.layout import Layout
from edgewise.kernels.lists import GradedLists
from edgewise.kernels.pairs import PairList
from edgewise.kernels.parts import Part, RowsWithin
from edgewise.kernels.state import (
    LEARN,
    Bounds,
    Candidates,
    Edges,
    InitialWeights,
    Problem,
    RealStep,
    State,
    Step,
    Tally,
    aligned_zeros,
    lanes_for,
)
from edgewise.kernels.twins import TwinKernels

__all__ = [
    "EXACT_SCALE",
    "GAIN_SCALE",
    "LEARN",
    "SEARCH_SCALE",
    "SIDE_SCALE",
    "WIDE_SEARCH_LIMIT",
    "Bounds",
    "Candidates",
    "Edges",
    "Feedback",
    "GradedLists",
    "InitialWeights",
    "Kernels",
    "Layout",
    "Moments",
    "PairList",
    "Part",
    "Problem",
    "RealStep",
    "RowsWithin",
    "Sides",
    "State",
    "Step",
    "Tally",
    "TwinKernels",
    "Weighed",
    "aligned_zeros",
    "exact_sum",
    "fixed",
    "kernels_for",
    "lanes_for",
    "use_compiled",
]

# What NumPy does with a bin after the histogram takes as long as so many entries of it.
_VISITS_A_BIN = 40

# What NumPy does with a document, with a pair of documents, and with one grade after the other of
# the query that has most takes as long as so many entries.
_VISITS_A_DOCUMENT, _VISITS_A_PAIR, _VISITS_A_GRADE = 25, 15, 20_000

# NumPy's histogram takes some 50 bytes of memory for each value of the table.
_COMPILE_FROM_VALUES = 4_000_000


class Kernels(Protocol):
    """What the boosting loop asks of the kernels of its training table."""

    table: BinnedTable
    name: str

    def search(
        self,
        columns: Columns,
        problem: Problem,
        per_score: bool = False,
        score_edges: bool = False,
        constant: bool = True,
        absent: int = LEARN,
        gain: bool = False,
        bounds: Bounds | None = None,
    ) -> Candidates:
        """Return the best cut of each column, by edge or by gain.

        `absent` is the side of missing values (-1, 0 or +1), or LEARN; `bounds` says which signs
        edges may have.
        """

    def histograms(self, columns: Columns, problem: Problem, mass: bool = False) -> Exacts:
        """Return the sums of S of each value of some categorical columns, shape (values, K).

        With `mass` the mass column comes last.
        """

    def flip(self, problem: Problem, signs: Signs) -> Problem:
        """Return the problem under virtual labels."""

    def within(self, problem: Problem, rows: Rows) -> Problem:
        """Return the problem on some of the rows."""

    def cut_rows(
        self, rows: Rows | None, j: int, first: int, missing: int
    ) -> tuple[Rows, Rows] | None:
        """Return those of some rows that are below a cut of column `j`, and those above.

        None where there is no quicker way than to look at the cut of all rows.
        """

    def release(self, problem: Problem) -> None:
        """Take back the memory of a problem that is no longer needed."""

    def over(self, table: BinnedTable) -> "Kernels":
        """Return the kernels of another table with the same rows."""

    def row_masses(self, problem: Problem) -> Exacts:
        """Return the sum of the sizes of each row's signed weights."""

    def mass_from(self, problem: Problem, least: int) -> int:
        """Return the sum of the sizes of the signed weights that are at least so large."""

    def part_of_rows(self, rows: Rows) -> Part:
        """Return the part of some rows; of those returned before, only the last can be used."""

    def part_of_entries(self, problem: Problem, least: int) -> Part:
        """Return the part of the entries whose signed weights are at least so large."""

    def edges(self, state: State, signs: Signs) -> Edges:
        """Return the edges of a cut."""

    def advance(self, state: State, signs: Signs, step: Step) -> Tally:
        """Take the step."""

    def reweigh(
        self, state: State, outputs: Signs | Reals, step: RealStep, initial: InitialWeights
    ) -> tuple[int, int]:
        """Move the scores and compute the weights from them."""

    def energy(self, state: State, outputs: Signs | Reals, coefficients: Reals) -> float:
        """Return Z of a real-valued base function."""

    def spread(self, run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Return what `run` gives for each part, on as many threads as there are."""

    def row_parts(self, n_rows: int) -> int:
        """Return into how many parts so many rows are worth cutting."""

    def close(self) -> None:
        """End what was started."""


def kernels_for(
    table: BinnedTable,
    n_scores: int,
    n_rounds: int,
    n_jobs: int,
    layout: Layout | None = None,
    by_energy: bool = False,
) -> Kernels:
    """Return the kernels for a training table, compiled where the work is worth it.

    `n_rounds` counts searches of all columns, of which a round may make several. `layout` is that
    of the graded lists in a ranking problem, which may search `by_energy`.
    """
    n_bins = sum(b.n_codes for b in table.bins)
    visits = (table.n_rows * (table.n_columns + 4.0) + _VISITS_A_BIN * n_bins) * n_scores * n_rounds
    if layout is not None:
        n_documents, n_grades = len(layout.rows), len(layout.levels)
        work = _VISITS_A_DOCUMENT * n_documents + _VISITS_A_PAIR * layout.n_pairs
        work += _VISITS_A_GRADE * n_grades
        if by_energy:
            work += table.n_columns * n_documents * (_VISITS_A_DOCUMENT + 10 * n_grades)
        visits += work * float(n_rounds)
    if table.n_rows * table.n_columns > _COMPILE_FROM_VALUES:
        visits = max(visits, COMPILE_FROM)
    if use_compiled(visits):
        from edgewise.kernels.engine import CompiledKernels

        return CompiledKernels(table, n_jobs)
    return TwinKernels(table)
