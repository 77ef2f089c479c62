"""Where work runs: NumPy or Numba, one backend or another; `common.compiled` has the rule."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from edgewise.common.compiled import COMPILE_FROM, use_compiled

if TYPE_CHECKING:
    from edgewise.backend.base import Backend
    from edgewise.data import BinnedTable

# NumPy takes as long for a bin after the histogram as for this many entries of it.
_VISITS_A_BIN = 40

# The same for a document, a pair of documents, and each grade of the query with most grades.
_VISITS_A_DOCUMENT, _VISITS_A_PAIR, _VISITS_A_GRADE = 25, 15, 20_000

# NumPy's histogram takes some 50 bytes of memory for each value of the table.
_COMPILE_FROM_VALUES = 4_000_000

_factories: "list[Callable[[BinnedTable, int], Backend]]" = []


@contextmanager
def using(factory: "Callable[[BinnedTable, int], Backend]") -> Iterator[None]:
    """Train with other backends: `factory` makes one, given the training table and `n_jobs`.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.backend.reference.engine import ReferenceBackend
    >>> with using(lambda table, n_jobs: ReferenceBackend(table)):
    ...     model = AdaBoostMH("stump", n_rounds=1).fit([[0.0], [1.0]], [0, 1])
    """
    _factories.append(factory)
    try:
        yield
    finally:
        _factories.remove(factory)


def kernels(name: str, visits: float) -> ModuleType:
    """Return the module of kernels for work that visits this many entries.

    ``backend.reference.NAME`` and ``backend.numba.NAME`` hold the same functions with the same
    arguments; which one answers changes the time, not the result.
    """
    if use_compiled(visits):
        return compiled(name)
    return import_module(f"edgewise.backend.reference.{name}")


def compiled(name: str) -> ModuleType:
    """Return a module of Numba's kernels, for work that has no reference of the same form."""
    return import_module(f"edgewise.backend.numba.{name}")


def backend_for(
    table: "BinnedTable",
    n_scores: int,
    n_rounds: int,
    n_jobs: int,
    layout: Any = None,
    by_energy: bool = False,
) -> "Backend":
    """Return the backend for a training table, compiled where the work is worth it.

    `n_rounds` counts searches of all columns; a round may make several. `layout` is the layout of
    the graded lists in a ranking problem, whose cuts may be compared `by_energy`.
    """
    if _factories:
        return _factories[-1](table, n_jobs)
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
        from edgewise.backend.numba.engine import NumbaBackend

        return NumbaBackend(table, n_jobs)
    from edgewise.backend.reference.engine import ReferenceBackend

    return ReferenceBackend(table)
