"""What a first use costs: CPU time (user and system) of fresh processes.

Run with `python benchmarks/startup.py [--repeats 9]`. A small fit must be as good as free beside
the imports that any scikit-learn program pays for, and must not load Numba.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

# Seconds of CPU time beyond what the step is compared with.
IMPORT_TARGET = 0.1
FIT_TARGET = 0.5

FIT = """
import numpy as np
from edgewise import AdaBoostMH
iris = np.load({iris!r})
AdaBoostMH().fit(iris["X"], iris["y"])
"""
# The exit code tells whether the step loaded Numba.
ENDING = "\nimport sys; sys.exit(3 if 'numba' in sys.modules else 0)"
# Another number of threads must not change what is measured.
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def cpu_seconds(code: str) -> tuple[float, bool]:
    """Return the CPU time of a fresh process that runs the code, and whether it loaded Numba."""
    child = subprocess.Popen([sys.executable, "-c", code + ENDING], env=ENVIRONMENT)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3):
        raise RuntimeError(f"exit code {child.returncode} of:\n{code}")
    return usage.ru_utime + usage.ru_stime, child.returncode == 3


def measure(steps: dict[str, str], repeats: int) -> tuple[dict[str, float], dict[str, bool]]:
    """Return the median time of each step, and whether it loaded Numba."""
    for code in steps.values():
        cpu_seconds(code)  # bytecode and disk caches
    times: dict[str, list[float]] = {name: [] for name in steps}
    numba = dict.fromkeys(steps, False)
    # The steps take turns, so that a busy spell of the machine falls on all of them.
    for _ in range(repeats):
        for name, code in steps.items():
            seconds, loaded = cpu_seconds(code)
            times[name].append(seconds)
            numba[name] |= loaded
    return {name: statistics.median(values) for name, values in times.items()}, numba


def judge(what: str, seconds: float, target: float) -> bool:
    met = seconds <= target
    print(f"{what:<58} {seconds:7.3f} s  target {target:g} s: {'met' if met else 'MISSED'}")
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        iris = str(Path(folder) / "iris.npz")
        X, y = load_iris(return_X_y=True)
        np.savez(iris, X=X, y=y)
        fit = FIT.format(iris=iris)
        steps = {
            "pass": "pass",
            "import edgewise": "import edgewise",
            "import sklearn.ensemble": "import sklearn.ensemble",
            "from edgewise import AdaBoostMH": "from edgewise import AdaBoostMH",
            "import sklearn.ensemble, AdaBoostMH().fit(iris)": f"import sklearn.ensemble\n{fit}",
            "AdaBoostMH().fit(iris) alone": fit,
        }
        times, numba = measure(steps, options.repeats)
    print(f"CPU time of a fresh process, median of {options.repeats}")
    for name, seconds in times.items():
        print(f"  {name:<56} {seconds:7.3f} s{'  (loaded Numba)' if numba[name] else ''}")
    first = times["import edgewise"] - times["pass"]
    fitting = (
        times["import sklearn.ensemble, AdaBoostMH().fit(iris)"] - times["import sklearn.ensemble"]
    )
    met = [
        judge("import edgewise, beyond a bare interpreter", first, IMPORT_TARGET),
        judge("AdaBoostMH().fit(iris), beyond import sklearn.ensemble", fitting, FIT_TARGET),
    ]
    print(f"Numba loaded: {'yes, MISSED' if any(numba.values()) else 'no, as it must be'}")
    return 0 if all(met) and not any(numba.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
