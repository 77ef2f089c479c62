"""Compiled loops: when they are worth it, and how they are kept on disk.

Numba itself watches a function's own file only: after a change to an inner function in another file
it would go on with the old arithmetic. Here the sources of the whole package count.
"""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from edgewise.common.checks import one_of

BACKENDS = ("auto", "numpy", "numba")

# NumPy takes about 3 ns for an entry that it visits and compiled code a tenth of that or less;
# loading Numba and its cached kernels takes a second or two, compiling them for the first time ten.
COMPILE_FROM = 1_000_000_000

_ROOT = Path(__file__).parents[1]


def use_compiled(visits: float, are_ready: bool = False) -> bool:
    """Return whether work that visits this many entries is worth compiled loops.

    Loops that this process has compiled or loaded already are always worth it.
    The environment variable ``EDGEWISE_BACKEND`` ("auto", "numpy" or "numba") overrides the choice.
    """
    choice = one_of("EDGEWISE_BACKEND", os.environ.get("EDGEWISE_BACKEND", "auto"), BACKENDS)
    return choice == "numba" or (choice == "auto" and (are_ready or visits >= COMPILE_FROM))


def version_of(folder: Path) -> str:
    """Return a hash of all Python sources in a folder and below."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def _package_version(package: str) -> str:
    return version_of(_ROOT / package)


def cached(version: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function and keeps the result until its package changes.

    `version` stands for the sources of the package; None takes their hash.
    """
    from numba import njit
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    def compile_function(function: Callable[..., Any]) -> Any:
        file = Path(function.__code__.co_filename)
        stamp = version or _package_version(file.relative_to(_ROOT).parts[0])
        kept = FunctionCache(function)
        kept._cache_file = IndexDataCacheFile(
            cache_path=kept._cache_path,
            filename_base=kept._impl.filename_base,
            source_stamp=(kept._impl.locator.get_source_stamp(), stamp),
        )
        dispatcher = njit(**options)(function)
        dispatcher._cache = kept
        return dispatcher

    return compile_function
