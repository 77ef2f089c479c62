"""Compiled loops: when they are worth it, and how they are kept on disk.

Numba itself watches a function's own file only: after a change to an inner function in another file
it would go on with the old arithmetic. Here the sources of the whole package count.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from edgewise.common.checks import one_of

BACKENDS = ("auto", "numpy", "numba")

# NumPy takes about 3 ns for an entry that it visits and compiled code a tenth of that or less;
# loading Numba and its cached kernels takes half a second, compiling them for the first time ten.
COMPILE_FROM, LOAD_FROM = 1_000_000_000, 200_000_000

# The forms of work whose kernels this process has.
_loaded: set[str] = set()

_ROOT = Path(__file__).parents[1]


def use_compiled(visits: float, form: str = "") -> bool:
    """Return whether work that visits this many entries is worth compiled loops.

    Loops that this process has compiled or loaded already are always worth it. Work of a known
    `form` (see `remember`) need not wait for a compiler, so less of it is worth them. The
    environment variable ``EDGEWISE_BACKEND`` ("auto", "numpy" or "numba") overrides the choice.
    """
    choice = one_of("EDGEWISE_BACKEND", os.environ.get("EDGEWISE_BACKEND", "auto"), BACKENDS)
    if choice != "auto":
        return choice == "numba"
    if form in _loaded or visits >= COMPILE_FROM:
        return True
    return visits >= LOAD_FROM and form != "" and form in _forms_on_disk()


def remember(form: str) -> None:
    """Take note, here and on disk, that all kernels for work of this form are compiled."""
    if form in _loaded:
        return
    _loaded.add(form)
    path = _forms_file()
    if form not in _forms_on_disk():
        with suppress(OSError), path.open("a") as file:
            file.write(f"{form}\n")


def _forms_on_disk() -> list[str]:
    try:
        return _forms_file().read_text().splitlines()
    except OSError:
        return []


@cache
def _forms_file() -> Path:
    """Return where the forms of compiled work are listed: beside the kernels themselves."""
    versions = (_package_version("backend"), version("numba"), sys.version, platform.platform())
    digest = hashlib.sha256("\n".join(versions).encode()).hexdigest()[:16]
    folder = os.environ.get("NUMBA_CACHE_DIR") or _ROOT / "backend" / "numba" / "__pycache__"
    return Path(folder) / f"edgewise-{digest}.forms"


def version_of(folder: Path) -> str:
    """Return a hash of all Python sources in a folder and below."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def _package_version(package: str) -> str:
    return version_of(_ROOT / package)


def cached(stamp: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function and keeps the result until its package changes.

    `stamp` stands for the sources of the package; None takes their hash.
    """
    from numba import njit
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    def compile_function(function: Callable[..., Any]) -> Any:
        file = Path(function.__code__.co_filename)
        own = stamp or _package_version(file.relative_to(_ROOT).parts[0])
        kept = FunctionCache(function)
        kept._cache_file = IndexDataCacheFile(
            cache_path=kept._cache_path,
            filename_base=kept._impl.filename_base,
            source_stamp=(kept._impl.locator.get_source_stamp(), own),
        )
        dispatcher = njit(**options)(function)
        dispatcher._cache = kept
        return dispatcher

    return compile_function
