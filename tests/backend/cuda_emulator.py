"""CUDA kernels on the CPU: the package's own .cu files, compiled by g++, every thread a coroutine.

So the logic of the kernels is tested where there is no GPU. `Emulator` stands in for the part of
CuPy that the backend uses: arrays of the device are NumPy arrays of a class of their own, which mix
with no others, as CuPy's do not.
"""

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

HAS_COMPILER = shutil.which("g++") is not None

SHIM = Path(__file__).with_name("cuda_emulator.h").read_text()

_SIGNATURE = re.compile(
    r'extern "C" __global__ void\s*(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)'
)


SIZES = {"i8": 1, "u8": 1, "u16": 2, "int": 4, "u32": 4, "i64": 8, "u64": 8, "f64": 8}


class DeviceArray(np.ndarray):
    """An array of the device: NumPy's are refused, as CuPy refuses them."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [one for one in inputs if type(one) is np.ndarray and one.ndim > 0]
        assert not plain, f"{ufunc} of an array of the device and one of the host"
        inputs = [np.asarray(one) if isinstance(one, np.ndarray) else one for one in inputs]
        if "out" in kwargs:
            kwargs["out"] = tuple(np.asarray(one) for one in kwargs["out"])
        found = getattr(ufunc, method)(*inputs, **kwargs)
        return found.view(DeviceArray) if isinstance(found, np.ndarray) else found

    def __setitem__(self, where, value):
        assert type(value) is not np.ndarray
        super().__setitem__(where, value)


class Emulator:
    """What the backend uses of CuPy; there are no streams."""

    cuda = None

    def __getattr__(self, name):
        def call(*args, **kwargs):
            assert not any(type(one) is np.ndarray and one.ndim for one in args), name
            found = getattr(np, name)(*args, **kwargs)
            return found.view(DeviceArray) if isinstance(found, np.ndarray) else found

        return call

    def asarray(self, array, dtype=None):
        return np.array(array, dtype=dtype, order="C").view(DeviceArray)

    def asnumpy(self, array):
        assert isinstance(array, DeviceArray)
        return np.array(array).view(np.ndarray)

    class RawModule:
        def __init__(self, code, options=(), enable_cooperative_groups=False):
            self.together = enable_cooperative_groups
            launchers = []
            for name, parameters in _SIGNATURE.findall(code):
                names = [re.split(r"[\s*&]+", one.strip())[-1] for one in parameters.split(",")]
                launchers.append(
                    f'extern "C" void run_{name}(unsigned x, unsigned y, int threads, '
                    f"size_t shared, bool together, {parameters}) {{ "
                    f"emulated::kernel = [=]() mutable {{ {name}({', '.join(names)}); }}; "
                    "emulated::launch(x, y, threads, shared, together); }"
                )
            self.parameters = {
                name: [one.strip() for one in parameters.split(",")]
                for name, parameters in _SIGNATURE.findall(code)
            }
            text = "\n".join([SHIM, code, *launchers])
            flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-w"]
            # The C library has an `advance` as well.
            flags += ["-Wl,-Bsymbolic"]
            flags += [option for option in options if option.startswith("-D")]
            key = hashlib.sha256((text + str(flags)).encode()).hexdigest()[:24]
            built = Path(tempfile.gettempdir()) / f"edgewise-emulator-{key}.so"
            if not built.exists():
                with tempfile.TemporaryDirectory() as folder:
                    source = Path(folder) / "kernels.cpp"
                    source.write_text(text)
                    made = Path(folder) / "kernels.so"
                    subprocess.run(["g++", *flags, str(source), "-o", str(made)], check=True)
                    shutil.move(made, built)
            self.library = ctypes.CDLL(str(built))

        def get_function(self, name):
            run = getattr(self.library, f"run_{name}")
            return Function(run, self.parameters[name], self.together)


class Function:
    def __init__(self, run, parameters, together):
        self.run, self.parameters, self.together = run, parameters, together

    def __call__(self, grid, block, arguments, shared_mem=0):
        assert len(arguments) == len(self.parameters), (self.parameters, len(arguments))
        given = [ctypes.c_uint(grid[0]), ctypes.c_uint(grid[1] if len(grid) > 1 else 1)]
        given += [ctypes.c_int(block[0]), ctypes.c_size_t(shared_mem), ctypes.c_bool(self.together)]
        for value, parameter in zip(arguments, self.parameters, strict=True):
            kind = parameter.rsplit(maxsplit=1)[0]
            if "*" in parameter:
                if isinstance(value, np.intp) and value == 0:
                    given.append(ctypes.c_void_p(0))
                    continue
                assert isinstance(value, DeviceArray), parameter
                assert value.flags.c_contiguous, parameter
                held = re.sub(r"const|__restrict__|\*|\s", "", kind)
                assert value.dtype.itemsize == SIZES.get(held, value.dtype.itemsize), parameter
                given.append(ctypes.c_void_p(value.ctypes.data))
                continue
            types = {"i64": np.int64, "int": np.int32, "f64": np.float64, "u64": np.uint64}
            assert type(value) is types[kind], (parameter, type(value))
            as_c = {"i64": ctypes.c_longlong, "int": ctypes.c_int, "f64": ctypes.c_double,
                    "u64": ctypes.c_ulonglong}  # fmt: skip
            given.append(as_c[kind](value.item()))
        self.run(*given)
