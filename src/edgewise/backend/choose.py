"""Where work runs: NumPy, Numba or a GPU; `common.compiled` has the rule for the first two."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from edgewise.backend.host import lanes_for, search_type
from edgewise.backend.switching import KernelCompilation, SwitchingBackend, WarmupFit
from edgewise.common.compiled import (
    COMPILE_FROM,
    LOAD_FROM,
    backend_choice,
    record_compiled,
    use_compiled,
)

if TYPE_CHECKING:
    from edgewise.backend.base import Backend
    from edgewise.data import BinnedTable

# NumPy takes as long for a bin after the histogram as for this many entries of it.
_VISITS_A_BIN = 40

# NumPy's calls take this much longer than the entries they visit.
_VISITS_A_SEARCH = 100_000

# The same for a document, a pair of documents, and each grade of the query with most grades.
_VISITS_A_DOCUMENT, _VISITS_A_PAIR, _VISITS_A_GRADE = 25, 15, 20_000

# NumPy's histogram takes some 50 bytes of memory for each value of the table.
_COMPILE_FROM_VALUES = 4_000_000

# Work in NumPy that is worth another process, which compiles meanwhile: about a second of it.
_COMPILE_APART_FROM = 2 * LOAD_FROM

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
    Other work starts in NumPy and changes over when another process has compiled its `warmup`.
    `device` says whether a GPU does the work; "auto" takes one for work that is worth compiling.
    """
    if _factories:
        return _factories[-1](table, n_jobs)
    if table.shard is not None:
        if device == "cuda":
            raise ValueError("device='cuda' is for rows in one place: several processes need 'cpu'")
        from edgewise.backend.shared import SharedBackend

        # A warmup of one process would wait for the others.
        alone = replace(table, shard=None)
        own = backend_for(alone, n_scores, n_rounds, n_jobs, layout, by_energy, settings)
        return SharedBackend(own, table.shard)
    n_bins = sum(b.n_codes for b in table.bins)
    visits = (table.n_rows * (table.n_columns + 4.0) + _VISITS_A_BIN * n_bins) * n_scores * n_rounds
    visits += _VISITS_A_SEARCH * n_rounds
    if layout is not None:
        n_documents, n_grades = len(layout.rows), len(layout.levels)
        work = _VISITS_A_DOCUMENT * n_documents + _VISITS_A_PAIR * layout.n_pairs
        work += _VISITS_A_GRADE * n_grades
        if by_energy:
            work += table.n_columns * n_documents * (_VISITS_A_DOCUMENT + 10 * n_grades)
        visits += work * float(n_rounds)
    if device == "cuda" or (device == "auto" and visits >= COMPILE_FROM and has_gpu()):
        from edgewise.backend.cuda.engine import CudaBackend

        pairs = None
        if layout is not None:
            given = (table, n_scores, n_rounds, n_jobs, layout, by_energy, settings, warmup)
            pairs = backend_for(*given)
        return CudaBackend(table, pairs=pairs)
    form = "" if settings is None else _form(table, n_scores, n_jobs, settings)
    fits = table.n_rows * table.n_columns <= _COMPILE_FROM_VALUES
    if table.n_rows == 0:
        # A process may hold none of the rows.
        visits = 0.0

    def compiled_backend() -> "Backend":
        from edgewise.backend.numba.engine import NumbaBackend

        backend = NumbaBackend(table, n_jobs)
        _forms[backend] = form
        return backend

    ready = kernels_ready(visits if fits else max(visits, COMPILE_FROM), form, warmup, not fits)
    if ready():
        return compiled_backend()
    from edgewise.backend.reference.engine import ReferenceBackend

    backend = ReferenceBackend(table)
    if ready is never:
        return backend
    return cast("Backend", SwitchingBackend(backend, ready, compiled_backend))


def has_gpu() -> bool:
    """Return whether there is a GPU to train on."""
    from edgewise.backend.cuda.device import why_no_gpu

    return why_no_gpu() is None


def need_gpu() -> None:
    """Raise if there is no GPU to train on."""
    from edgewise.backend.cuda.device import why_no_gpu

    why = why_no_gpu()
    if why is not None:
        raise RuntimeError(f"device='cuda' {why}; device='cpu' gives the same model")


def kernels_ready(
    visits: float, form: str, warmup: WarmupFit | None = None, waits: bool = False
) -> Callable[[], bool]:
    """Return a function that says, whenever it is asked, whether compiled loops do the rest.

    The work visits this many entries, and earlier work of the same `form` counts as well. If it is
    worth it, another process compiles the `warmup` meanwhile; work that has none, or `waits`,
    compiles its loops itself.
    """
    visits += _done[form]
    if use_compiled(visits, form=form, waits=waits or warmup is None):
        return always
    if form:
        _done[form] = visits
    if warmup is None or visits < _COMPILE_APART_FROM or backend_choice() != "auto":
        return never
    if form not in _compilations:
        _compilations[form] = KernelCompilation(form, warmup)
    compilation = _compilations[form]
    return lambda: compilation.is_done() or (compilation.failed and visits >= COMPILE_FROM)


def always() -> bool:
    """Return True."""
    return True


def never() -> bool:
    """Return False."""
    return False


# The entries that NumPy has visited in work of each form: many small models are worth compiled
# kernels as well.
_done: "defaultdict[str, float]" = defaultdict(float)

# What other processes compile, by its form.
_compilations: dict[str, KernelCompilation] = {}

# The forms of the work that compiled backends do.
_forms: "WeakKeyDictionary[Backend, str]" = WeakKeyDictionary()


def record_kernels_compiled(backend: "Backend") -> None:
    """Take note that a backend has trained a model: the next of its form need compile nothing."""
    if isinstance(backend, SwitchingBackend):
        backend = backend.now
    if _forms.get(backend):
        record_compiled(_forms[backend])


def _form(table: "BinnedTable", n_scores: int, n_jobs: int, settings: Any) -> str:
    """Return the same string for work that takes the same kernels."""
    # One more column for the mass of a row, and one for its amounts, change the lanes with K.
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
        held = value.get_params(deep=False)
    elif is_dataclass(value):
        held = vars(value)
    else:
        return (
            str(value) if value is None or isinstance(value, (str, bool)) else type(value).__name__
        )
    parts = [f"{name}={_shape(one)}" for name, one in held.items() if name != "seed"]
    return f"{type(value).__name__}({' '.join(parts)})"
