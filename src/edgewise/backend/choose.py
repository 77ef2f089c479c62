"""Where work runs: NumPy, Numba or a GPU."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

from edgewise.backend.host import lanes_for, search_type
from edgewise.backend.warmup import WarmupFit, kernels_ready, never
from edgewise.common.compiled import COMPILE_FROM, record_compiled
from edgewise.data.partition import Partition

if TYPE_CHECKING:
    from edgewise.backend.base import Backend
from edgewise.data import BinnedTable

# In units of one entry that NumPy adds to a histogram: a bin after the histogram; the calls of a
# search; a document, a pair of documents, and a grade of the query with most grades.
_VISITS_PER_BIN, _VISITS_PER_SEARCH = 40, 100_000
_VISITS_PER_DOCUMENT, _VISITS_PER_PAIR, _VISITS_PER_GRADE = 25, 15, 20_000

# NumPy's histogram takes some 50 bytes of memory for each value of the table.
_COMPILE_FROM_VALUES = 4_000_000

_factories: "list[Callable[[BinnedTable, int], Backend]]" = []


@contextmanager
def use_backend(factory: "Callable[[BinnedTable, int], Backend]") -> Iterator[None]:
    """Train with other backends: `factory` makes one, given the training table and `n_jobs`.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.backend.reference.engine import ReferenceBackend
    >>> with use_backend(lambda table, n_jobs: ReferenceBackend(table)):
    ...     model = AdaBoostMH("stump", n_rounds=1).fit([[0.0], [1.0]], [0, 1])
    """
    _factories.append(factory)
    try:
        yield
    finally:
        _factories.remove(factory)


def training_visits(
    table: "BinnedTable", n_scores: int, n_rounds: int, layout: Any, by_energy: bool
) -> float:
    """Return the work of a training, in entries that NumPy adds to a histogram."""
    if table.n_rows == 0:
        # A process may hold none of the rows.
        return 0.0
    n_bins = sum(b.n_codes for b in table.bins)
    visits = (table.n_rows * (table.n_columns + 4.0) + _VISITS_PER_BIN * n_bins) * n_scores
    visits += _VISITS_PER_SEARCH
    if layout is not None:
        n_documents, n_grades = len(layout.rows), len(layout.levels)
        visits += _VISITS_PER_DOCUMENT * n_documents + _VISITS_PER_PAIR * layout.n_pairs
        visits += _VISITS_PER_GRADE * n_grades
        if by_energy:
            visits += table.n_columns * n_documents * (_VISITS_PER_DOCUMENT + 10.0 * n_grades)
    return visits * n_rounds


def backend_for(
    table: "BinnedTable",
    n_scores: int,
    n_rounds: int,
    n_jobs: int,
    layout: Any = None,
    by_energy: bool = False,
    settings: Any = None,
    warmup: WarmupFit | None = None,
    device: str = "cpu",
) -> "Backend":
    """Return the backend for a training table, compiled where the work is worth it.

    `n_rounds` counts searches of all columns; a round may make several. `layout` is the layout of
    the graded lists in a ranking problem, whose cuts may be compared `by_energy`. `settings` are
    the objects that shape the training: work that is known to be compiled need not wait for it.
    Other work starts in NumPy and is handed over when another process has compiled its `warmup`.
    `device` says whether a GPU does the work; "auto" takes one for work that is worth compiling.
    """
    if _factories:
        return _factories[-1](table, n_jobs)
    if not table.partition.is_whole:
        if device == "cuda":
            raise ValueError("device='cuda' is for rows in one place: several processes need 'cpu'")
        from edgewise.backend.shared import SharedBackend

        # A warm-up fit of one process would wait for the others.
        alone = replace(table, partition=Partition(table.n_rows))
        local = backend_for(alone, n_scores, n_rounds, n_jobs, layout, by_energy, settings)
        return SharedBackend(local, table.partition)
    visits = training_visits(table, n_scores, n_rounds, layout, by_energy)
    form = "" if settings is None else _form(table, n_scores, n_jobs, settings)
    if device == "auto" and visits >= COMPILE_FROM:
        from edgewise.backend.cuda.device import why_no_gpu

        device = "cpu" if why_no_gpu() else "cuda"
    if device != "cuda":
        return _cpu_backend(table, n_jobs, visits, form, warmup)
    from edgewise.backend.cuda.engine import CudaBackend

    if layout is None:
        return CudaBackend(table)
    # No warm-up fit, which would train on the GPU as well: kernels of pairs compile in seconds.
    return CudaBackend(table, cpu=_cpu_backend(table, n_jobs, visits, form, None))


def _cpu_backend(
    table: "BinnedTable", n_jobs: int, visits: float, form: str, warmup: WarmupFit | None
) -> "Backend":
    """Return the backend in NumPy, compiled, or the first until the second is ready."""
    from edgewise.backend.reference.engine import ReferenceBackend

    def compiled_backend() -> "Backend":
        from edgewise.backend.numba.engine import NumbaBackend

        backend = NumbaBackend(table, n_jobs)
        backend.form = form
        return backend

    fits = table.n_rows * table.n_columns <= _COMPILE_FROM_VALUES
    ready = kernels_ready(visits if fits else max(visits, COMPILE_FROM), form, warmup, not fits)
    if ready():
        return compiled_backend()
    if ready is never:
        return ReferenceBackend(table)
    return ReferenceBackend(table, lambda: compiled_backend() if ready() else None)


def need_gpu() -> None:
    """Raise an error without a GPU to train on."""
    from edgewise.backend.cuda.device import why_no_gpu

    why = why_no_gpu()
    if why is not None:
        raise RuntimeError(f"device='cuda' {why}; device='cpu' gives the same model")


def record_kernels_compiled(backend: "Backend") -> None:
    """Record that a backend has trained a model: the next of its form need not compile."""
    if backend.form:
        record_compiled(backend.form)


def _form(table: "BinnedTable", n_scores: int, n_jobs: int, settings: Any) -> str:
    """Return the same string for work that takes the same kernels."""
    # One more column for the mass of a row, and one for its constraints, change the lanes with K.
    lanes = [lanes_for(n_scores + more)[1] for more in range(3)]
    wide = search_type(table.n_rows * n_scores).__name__
    kinds = [table.dense.codes.dtype, table.dense.codes.size > 0, len(table.sparse.columns) > 0]
    kinds += sorted({str(codes.dtype) for codes in table.categorical.codes})
    return f"{lanes} {wide} {[str(kind) for kind in kinds]} {n_jobs > 1} {_shape(settings)}"


def _shape(value: Any) -> str:
    """Return settings in words, all numbers but 0 and 1 alike, since these turn things off."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}" if value in (0, 1) else "#"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(_shape, value))}]"
    if hasattr(value, "get_params"):
        fields = value.get_params(deep=False)
    elif is_dataclass(value):
        fields = vars(value)
    else:
        return (
            str(value) if value is None or isinstance(value, (str, bool)) else type(value).__name__
        )
    settings = [f"{name}={_shape(setting)}" for name, setting in fields.items() if name != "seed"]
    return f"{type(value).__name__}({' '.join(settings)})"
