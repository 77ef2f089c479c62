"""The loops of the recommenders, in NumPy and compiled.

`NAME.py` holds a family of loops in NumPy and `NAME_numba.py` the same functions, with the same
arguments, compiled: which of them runs changes the time, not the result.
"""

from importlib import import_module
from types import ModuleType

from edgewise.common.compiled import compiling, use_compiled
from edgewise.common.threads import Threads


def load_kernels(name: str, visits: float) -> ModuleType:
    """Return the module of kernels for work that visits this many entries."""
    return load_compiled(name) if use_compiled(visits) else import_module(f"{__name__}.{name}")


def load_compiled(name: str) -> ModuleType:
    """Return a module of compiled kernels."""
    with compiling:
        return import_module(f"{__name__}.{name}_numba")


def kernel_threads(kernels: ModuleType, n: int) -> Threads:
    """Return `n` threads to run kernels on: one if the kernels hold Python's lock."""
    return Threads(n if kernels.__name__.endswith("_numba") else 1)
