"""Compiled loops: when they are worth it, and how they are kept on disk.

Numba itself watches a function's own file only: after a change to an inner function in another file
it would go on with the old arithmetic. Here the sources of the whole package count.
"""

import hashlib
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edgewise.common.checks import one_of

BACKENDS = ("auto", "numpy", "numba")

# NumPy takes about 3 ns for an entry that it visits and compiled code a tenth of that or less;
# loading Numba and its cached kernels takes half a second, compiling them for the first time ten.
COMPILE_FROM, LOAD_FROM = 1_000_000_000, 200_000_000

# Where Numba is loaded already, further kernels take a tenth of a second.
_LOAD_KERNELS_FROM = LOAD_FROM // 8

# The forms of work whose kernels this process has.
_loaded: set[str] = set()

_ROOT = Path(__file__).parents[1]
_PYCACHE = _ROOT / "backend" / "numba" / "__pycache__"


def use_compiled(visits: float, form: str = "", waits: bool = True) -> bool:
    """Return whether work that visits this many entries is worth compiled loops.

    Loops that this process has compiled or loaded already are always worth it. Work of a known
    `form` (see `remember`) need not wait for a compiler, so less of it is worth them; other work is
    compiled only if it `waits`. The environment variable ``EDGEWISE_BACKEND`` ("auto", "numpy" or
    "numba") overrides the choice.
    """
    choice = backend_choice()
    if choice != "auto":
        return choice == "numba"
    if form in _loaded or (waits and visits >= COMPILE_FROM):
        return True
    least = _LOAD_KERNELS_FROM if "numba" in sys.modules else LOAD_FROM
    return visits >= least and is_compiled(form)


def backend_choice() -> str:
    """Return the environment's choice: "auto", "numpy" or "numba".

    Where Numba is not installed, "auto" is "numpy".
    """
    choice = one_of("EDGEWISE_BACKEND", os.environ.get("EDGEWISE_BACKEND", "auto"), BACKENDS)
    return "numpy" if choice == "auto" and not _has_numba() else choice


@cache
def _has_numba() -> bool:
    """Return whether Numba is installed, without loading it."""
    with suppress(ImportError):
        return find_spec("numba") is not None
    return False


def is_compiled(form: str) -> bool:
    """Return whether all kernels for work of this form are compiled, here or on disk."""
    return form != "" and (form in _loaded or form in _forms_on_disk())


def is_loaded(form: str) -> bool:
    """Return whether this process has compiled or loaded all kernels for work of this form."""
    return form in _loaded


def record_compiled(form: str) -> None:
    """Take note, here and on disk, that all kernels for work of this form are compiled."""
    if form in _loaded:
        return
    _loaded.add(form)
    if form not in _forms_on_disk():
        with suppress(OSError), forms_file().open("a") as file:
            file.write(f"{form}\n")


def _forms_on_disk() -> list[str]:
    try:
        return forms_file().read_text().splitlines()
    except OSError:
        return []


@cache
def forms_file() -> Path:
    """Return where the forms of compiled work are listed: where the kernels are, if possible."""
    # Slow to load, and a process that predicts a few rows does not ask.
    from importlib.metadata import version

    versions = (_package_version("backend"), version("numba"), sys.version, platform.platform())
    digest = hashlib.sha256("\n".join(versions).encode()).hexdigest()[:16]
    return (_cache_folder() or _PYCACHE) / f"edgewise-{digest}.forms"


def _cache_folder() -> Path | None:
    """Return the folder to keep compiled kernels in, or None if there is none to write to."""
    folders = [_PYCACHE]
    # Without a home folder, "~" stays as it is.
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")  # noqa: PTH111
    if not cache.startswith("~"):
        folders.append(Path(cache) / "edgewise")
    if configured := os.environ.get("NUMBA_CACHE_DIR"):
        folders = [Path(configured)]
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


def version_of(folder: Path) -> str:
    """Return a hash of all Python sources in a folder and below."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def _package_version(package: str) -> str:
    return version_of(_ROOT / package)


class _Stopwatch:
    """The seconds of this process for compiling and loading kernels, by the clock and the CPU."""

    def __init__(self) -> None:
        self.spent = (0.0, 0.0)
        self._depth, self._began = 0, (0.0, 0.0)

    def __enter__(self) -> None:
        if self._depth == 0:
            self._began = _now()
        self._depth += 1

    def __exit__(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            wall, cpu = (now - then for now, then in zip(_now(), self._began, strict=True))
            self.spent = self.spent[0] + wall, self.spent[1] + cpu


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


compiling = _Stopwatch()
"""A context for what loads or compiles kernels; ``compiling.spent`` are its seconds so far."""


@cache
def _watch_compiler() -> None:
    """Have Numba's compiler start and stop the stopwatch."""
    from numba.core import event

    class Watch(event.Listener):
        def on_start(self, event: Any) -> None:
            compiling.__enter__()

        def on_end(self, event: Any) -> None:
            compiling.__exit__()

    event.register("numba:compile", Watch())


def compile_cached(stamp: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function and caches the result until its package changes.

    `stamp` stands for the sources of the package; None takes their hash. Where nothing can be
    written, functions are compiled in every process.
    """
    from numba import njit

    _watch_compiler()

    def compile_function(function: Callable[..., Any]) -> Any:
        file = Path(function.__code__.co_filename)
        package_stamp = stamp or _package_version(file.relative_to(_ROOT).parts[0])
        try:
            cache = _kernel_cache(function, package_stamp)
        except RuntimeError as error:
            _warn_once(
                f"compiled kernels cannot be cached ({error}): every process compiles them again, "
                "which takes seconds; set NUMBA_CACHE_DIR to a writable folder"
            )
            return njit(**options)(function)
        except (ImportError, AttributeError, TypeError) as error:
            import numba

            _warn_once(
                f"Numba {numba.__version__} has another cache than the versions that edgewise "
                f"knows ({error}): kernels are cached until their own file changes"
            )
            return njit(cache=True, **options)(function)
        dispatcher = njit(**options)(function)
        dispatcher._cache = cache
        return dispatcher

    return compile_function


def _kernel_cache(function: Callable[..., Any], stamp: str) -> Any:
    """Return Numba's cache of a function, with the stamp of all sources it may be compiled from.

    The only place that knows private parts of Numba: `FunctionCache` with `_cache_path`,
    `_cache_file` and `_impl`, and `IndexDataCacheFile`. Where they differ, any of ImportError,
    AttributeError and TypeError follows.
    """
    from numba.core import config
    from numba.core.caching import IndexDataCacheFile

    # Numba would also take a cache in the working folder, which a file there names, or "~" where
    # there is no home folder. Code that lies in a cache is run, and the folder may be a download.
    if _cache_folder() is None:
        raise RuntimeError("there is no folder to write to")
    config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR", "")
    cache = _cache_class()(function)
    file_stamp = cache._impl.locator.get_source_stamp()
    cache._cache_file = IndexDataCacheFile(
        cache_path=cache._cache_path,
        filename_base=cache._impl.filename_base,
        source_stamp=(file_stamp, stamp),
    )
    return cache


@cache
def _cache_class() -> Any:
    """Return Numba's cache of a function, here one that survives damaged files and full disks."""
    from numba.core.caching import FunctionCache

    class KernelCache(FunctionCache):
        def load_overload(self, signature: Any, context: Any) -> Any:
            # Unpickling damaged bytes may raise anything; without a result Numba compiles.
            with compiling, suppress(Exception):
                return super().load_overload(signature, context)
            return None

        def save_overload(self, signature: Any, data: Any) -> None:
            try:
                with suppress(Exception):
                    return super().save_overload(signature, data)
                self.flush()  # a damaged index is replaced by an empty one
                super().save_overload(signature, data)
            except OSError as error:
                _warn_once(f"compiled kernels cannot be cached: {error}")

    return KernelCache


_warned: list[str] = []


def _warn_once(message: str) -> None:
    if not _warned:
        _warned.append(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)
