"""The few loops that take all the time, each written twice: in NumPy and compiled by Numba.

Both give the same integers and so the same model. Small problems take NumPy and compile nothing;
`kernels_for` chooses.
"""

import os
from typing import Protocol

from edgewise.data import BinnedTable
from edgewise.dtypes import Columns, Signs
from edgewise.kernels.fixed_point import EXACT_SCALE, SEARCH_SCALE, exact_sum, fixed
from edgewise.kernels.state import Candidates, Edges, State, Step, Tally
from edgewise.kernels.twins import TwinKernels
from edgewise.validation import one_of

__all__ = [
    "EXACT_SCALE",
    "SEARCH_SCALE",
    "Candidates",
    "Edges",
    "Kernels",
    "State",
    "Step",
    "Tally",
    "TwinKernels",
    "exact_sum",
    "fixed",
    "kernels_for",
    "use_compiled",
]

BACKENDS = ("auto", "numpy", "numba")

# NumPy takes about 3 ns for an entry that it visits and compiled code a tenth of that or less;
# loading Numba and its cached kernels takes a second or two, compiling them for the first time ten.
_COMPILE_FROM = 1_000_000_000

# NumPy's histogram takes some 50 bytes of memory for each value of the table.
_COMPILE_FROM_VALUES = 4_000_000


class Kernels(Protocol):
    """What the boosting loop asks of the kernels of its training table."""

    table: BinnedTable
    name: str

    def search(
        self,
        columns: Columns,
        state: State,
        per_score: bool = False,
        score_edges: bool = False,
        constant: bool = True,
    ) -> Candidates:
        """Return the best cut of each column."""

    def edges(self, state: State, signs: Signs) -> Edges:
        """Return the edges of a cut."""

    def advance(self, state: State, signs: Signs, step: Step) -> Tally:
        """Take the step."""

    def close(self) -> None:
        """End what was started."""


def use_compiled(visits: float) -> bool:
    """Return whether work that visits this many entries is worth compiled kernels.

    The environment variable ``EDGEWISE_BACKEND`` ("auto", "numpy" or "numba") overrides the choice.
    """
    choice = one_of("EDGEWISE_BACKEND", os.environ.get("EDGEWISE_BACKEND", "auto"), BACKENDS)
    return choice == "numba" or (choice == "auto" and visits >= _COMPILE_FROM)


def kernels_for(table: BinnedTable, n_scores: int, n_rounds: int, n_jobs: int) -> Kernels:
    """Return the kernels for a training table, compiled where the work is worth it."""
    visits = float(table.n_rows) * (table.n_columns + 4) * n_scores * n_rounds
    if table.n_rows * table.n_columns > _COMPILE_FROM_VALUES:
        visits = max(visits, _COMPILE_FROM)
    if use_compiled(visits):
        from edgewise.kernels.engine import CompiledKernels

        return CompiledKernels(table, n_jobs)
    return TwinKernels(table)
