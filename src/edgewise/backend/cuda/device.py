"""The GPU: CuPy, imported only when asked for, and the kernels compiled for it."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend import arithmetic
from edgewise.backend.base import MISSING_AUTO

_FOLDER = Path(__file__).parent
_STEPS, _ROUNDS = ("common.cu", "search.cu", "step.cu"), ("common.cu", "rounds.cu")

# Fused multiply-adds round once where the CPU rounds twice.
_OPTIONS = ("-std=c++17", "-fmad=false")

# The most shared memory of a block, once its kernel has asked for it.
_MOST_SHARED = 96 * 1024

# The compute capability that sums over a warp in one instruction.
_ROUNDS_FROM = 8

# Blocks for each multiprocessor in passes over the rows.
_BLOCKS_A_PROCESSOR = 8


def why_no_gpu() -> str | None:
    """Return what is missing to train on a GPU, or None if nothing is."""
    try:
        import cupy
    except ImportError:
        return "needs CuPy: install edgewise[cuda]"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy raises its own, and others where a library is missing
        return f"finds no GPU: {error}"
    return None if count else "finds no GPU"


@cache
def gpu() -> "Device":
    """Return the current GPU."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    device = Device(cupy, int(properties["multiProcessorCount"]))
    device.trains_rounds = int(properties["major"]) >= _ROUNDS_FROM
    return device


class Device:
    """Arrays and kernels of one GPU.

    `xp` is CuPy, or a module with the few functions of it that are used here, which runs kernels.
    Blocks have `threads` threads, a power of two from 32 on, or `most_threads` where each
    multiprocessor has one block.
    """

    def __init__(
        self, xp: Any, n_processors: int, threads: int = 256, most_threads: int = 1024
    ) -> None:
        self.xp = xp
        self.n_processors = n_processors
        self.threads = threads
        self.most_threads = most_threads
        self.trains_rounds = True  # whether it has the instructions for whole rounds
        self._modules: dict[tuple[int, bool], Any] = {}
        self._rounds: dict[int, Any] = {}

    def upload(self, array: NDArray[Any], dtype: Any = None) -> Any:
        """Return an array on the device."""
        return self.xp.asarray(np.ascontiguousarray(array, dtype=dtype))

    def download(self, array: Any) -> NDArray[Any]:
        """Return an array on the host."""
        return self.xp.asnumpy(array)

    def download_later(self, array: Any) -> Callable[[], NDArray[Any]]:
        """Return a function that waits for the work so far and returns an array as it left it."""
        if self.xp.cuda is None:
            host_array = self.download(array)
            return lambda: host_array
        from cupyx import empty_pinned

        host, copied = empty_pinned(array.shape, array.dtype), self.xp.cuda.Event()
        array.get(out=host, blocking=False)
        copied.record()

        def wait() -> NDArray[Any]:
            copied.synchronize()
            return host

        return wait

    def zeros(self, *shape: int) -> Any:
        """Return 64-bit sums, at first 0."""
        return self.xp.zeros(shape, dtype=np.int64)

    def blocks(self, n: int, each: int = 0) -> int:
        """Return the number of blocks for n rows, of which a block takes `each` at a time."""
        return max(1, min(-(-n // (each or self.threads)), _BLOCKS_A_PROCESSOR * self.n_processors))

    def function(self, name: str, lanes: int = 1, wide: bool = False) -> Any:
        """Return a compiled kernel; modules are compiled at their first use and kept on disk."""
        key = (lanes, wide)
        if key not in self._modules:
            options = (*_OPTIONS, f"-DLANES={lanes}", f"-DWIDE={int(wide)}")
            self._modules[key] = self.xp.RawModule(code=source(_STEPS), options=options)
        return self._modules[key].get_function(name)

    def rounds(self, name: str, lanes: int) -> Any:
        """Return a kernel whose blocks wait for each other, and so must all run at once."""
        if lanes not in self._rounds:
            options = (*_OPTIONS, f"-DLANES={lanes}", "-DWIDE=0")
            self._rounds[lanes] = self.xp.RawModule(
                code=source(_ROUNDS), options=options, enable_cooperative_groups=True
            )
        return self._rounds[lanes].get_function(name)

    def launch(
        self,
        name: str,
        blocks: int | tuple[int, int],
        arguments: Sequence[Any],
        like: tuple[int, bool] = (1, False),
        shared: int = 0,
    ) -> None:
        """Start a kernel: `like` has its lanes and whether sums are wide, `shared` its bytes."""
        function = self.function(name, *like)
        if shared > 48 * 1024:
            function.max_dynamic_shared_size_bytes = _MOST_SHARED
        grid = blocks if isinstance(blocks, tuple) else (blocks, 1)
        function(grid, (self.threads,), as_kernel_arguments(arguments), shared_mem=shared)


def as_kernel_arguments(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return arguments as kernels take them: ints have 32 bits, None is a null pointer."""
    made: list[Any] = []
    for argument in arguments:
        if argument is None:
            made.append(np.intp(0))
        elif isinstance(argument, (bool, int)):
            made.append(np.int32(argument))
        elif isinstance(argument, float):
            made.append(np.float64(argument))
        else:
            made.append(argument)
    return tuple(made)


def most_shared_bins(lanes: int, itemsize: int) -> int:
    """Return the most bins whose sums fit into a block's shared memory."""
    return _MOST_SHARED // (lanes * itemsize)


@cache
def source(names: tuple[str, ...]) -> str:
    """Return the CUDA source, with the constants of `arithmetic` before it."""
    constants: dict[str, Any] = {
        name: getattr(arithmetic, name)
        for name in (
            "SEARCH_SCALE", "EXACT_SCALE", "GAIN_SCALE", "ENERGY_SCALE", "LOG2_E", "LN2_HIGH",
            "LN2_LOW", "LOWEST", "HIGHEST", "SQRT_HALF",
        )
    }  # fmt: skip
    for name in ("TAYLOR", "SERIES"):
        constants |= {f"{name}_{i}": value for i, value in enumerate(getattr(arithmetic, name))}
    lines = [f"#define {name} ({value.hex()})" for name, value in constants.items()]
    lines.append(f"#define MISSING_AUTO {MISSING_AUTO}")
    return "\n".join([*lines, *((_FOLDER / name).read_text() for name in names)])
