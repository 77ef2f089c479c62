"""When to compile: the one place that decides between the reference kernels and Numba's."""

import os
from importlib import import_module
from types import ModuleType

from edgewise.common.checks import one_of

BACKENDS = ("auto", "numpy", "numba")

# NumPy takes about 3 ns for an entry that it visits and compiled code a tenth of that or less;
# loading Numba and its cached kernels takes a second or two, compiling them for the first time ten.
COMPILE_FROM = 1_000_000_000


def use_compiled(visits: float) -> bool:
    """Return whether work that visits this many entries is worth compiled kernels.

    The environment variable ``EDGEWISE_BACKEND`` ("auto", "numpy" or "numba") overrides the choice.
    """
    choice = one_of("EDGEWISE_BACKEND", os.environ.get("EDGEWISE_BACKEND", "auto"), BACKENDS)
    return choice == "numba" or (choice == "auto" and visits >= COMPILE_FROM)


def kernels(name: str, visits: float) -> ModuleType:
    """Return the module of kernels worth this much work.

    ``backend.reference.NAME`` and ``backend.numba.NAME`` hold the same functions with the same
    arguments; which one answers changes the time, not the result.
    """
    kind = "numba" if use_compiled(visits) else "reference"
    return import_module(f"edgewise.backend.{kind}.{name}")
