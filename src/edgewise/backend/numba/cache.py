"""Compiled functions kept on disk until any of the sources that they may be made of changes.

Numba itself looks at the function's own file only: after a change to an inner function in another
file it would go on with the old arithmetic.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

_HERE = Path(__file__).parent


def version_of(*folders: Path) -> str:
    """Return a hash of all Python sources in some folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


VERSION = version_of(_HERE, _HERE.parent, _HERE.parent / "reference")


class VersionedCache(FunctionCache):
    """Numba's cache of a function, in the same place, with the version of all sources added."""

    def __init__(self, function: Callable[..., Any], version: str) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=(self._impl.locator.get_source_stamp(), version),
        )


def cached(version: str = VERSION, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function and keeps the result on disk."""

    def compile_function(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**options)(function)
        dispatcher._cache = VersionedCache(function, version)
        return dispatcher

    return compile_function
