"""The loops of the recommenders, in NumPy and compiled.

`NAME.py` holds a family of loops in NumPy and `NAME_numba.py` the same functions, with the same
arguments, compiled: which of them runs changes the time, not the result.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import numpy as np

from edgewise.common.compiled import compiling, use_compiled
from edgewise.common.threads import Threads


def load_kernels(name: str, visits: float) -> ModuleType:
    """Return the module of kernels for work that visits this many entries."""
    return load_compiled(name) if use_compiled(visits) else import_module(f"{__name__}.{name}")


def load_compiled(name: str) -> ModuleType:
    """Return a module of compiled kernels."""
    with compiling:
        return import_module(f"{__name__}.{name}_numba")


def map_spans(kernels: ModuleType, n_threads: int, run: Callable[[slice], None], n: int) -> None:
    """Call ``run(span)`` for spans of `n` rows that share the work among threads."""
    with kernel_threads(kernels, n_threads) as pool:
        pool.map(lambda span: run(slice(*span)), pool.shares(np.arange(n + 1)))


def kernel_threads(kernels: ModuleType, n: int) -> Threads:
    """Return `n` threads to run kernels on: one if the kernels hold Python's lock."""
    return Threads(n if kernels.__name__.endswith("_numba") else 1)
