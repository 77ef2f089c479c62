"""CPU time (user and system) of a first use, in fresh processes.

Run with `python benchmarks/startup.py [--repeats 15]`. A small fit must cost little compared with
the imports that any scikit-learn program pays for, and must not load Numba.

Importing the same modules varies by tenths of a second between processes, more than a small fit
takes. So every cost is the difference of two clock readings within one process, shown as the median
with its spread.
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

# CPU seconds beyond the reference step.
IMPORT_TARGET = 0.1
FIT_TARGET = 0.5

# Fix the number of threads.
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def cpu_seconds(steps: list[str]) -> tuple[list[float], float, bool]:
    """Run steps in a fresh process.

    Returns the CPU time of each step and of the whole process, and whether Numba was loaded.
    """
    lines = ["from time import process_time as _now", "_marks = [_now()]"]
    for step in steps:
        lines += [step, "_marks.append(_now())"]
    lines += ["import sys", "print(*_marks, 'numba' in sys.modules)"]
    command = [sys.executable, "-c", "\n".join(lines)]
    child = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    *marks, numba = child.stdout.read().split() or ["no output"]
    child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"exit code {child.returncode} of:\n{command[-1]}")
    times = np.diff([float(mark) for mark in marks]).tolist()
    return times, usage.ru_utime + usage.ru_stime, numba == "True"


def show(name: str, times: list[float], target: float | None = None) -> bool:
    """Print median and range of a cost and return whether the median meets its target."""
    middle = statistics.median(times)
    verdict = ""
    if target is not None:
        verdict = f"  target {target:g} s: {'met' if middle <= target else 'MISSED'}"
    spread = f"({min(times):.3f} to {max(times):.3f})"
    print(f"{name:<52} {middle:6.3f} s {spread:<18}{verdict}")
    return target is None or middle <= target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "iris.npz"
        X, y = load_iris(return_X_y=True)
        np.savez(path, X=X, y=y)
        # Read the rows with the first import, not as part of the fit.
        before = (
            f"import sklearn.ensemble\nimport numpy\niris = numpy.load({str(path)!r})\n"
            "X, y = iris['X'], iris['y']"
        )
        programs = {
            "bare": [],
            "import": ["import edgewise"],
            "fit": [
                before,
                "from edgewise import AdaBoostMH",
                "model = AdaBoostMH().fit(X, y)\nassert model.n_rounds_ > 0",
            ],
        }
        for steps in programs.values():
            cpu_seconds(steps)  # bytecode and disk caches
        # The programs take turns, so a busy spell of the machine affects all of them.
        runs = [
            {name: cpu_seconds(steps) for name, steps in programs.items()}
            for _ in range(options.repeats)
        ]
    print(f"CPU time in fresh processes: median (and range) of {options.repeats}")
    show("python -c pass, whole process", [run["bare"][1] for run in runs])
    show("import edgewise, whole process", [run["import"][1] for run in runs])
    show("import sklearn.ensemble", [run["fit"][0][0] for run in runs])
    show("then: import AdaBoostMH", [run["fit"][0][1] for run in runs])
    show("then: AdaBoostMH().fit(iris)", [run["fit"][0][2] for run in runs])
    print()
    met = [
        show("import edgewise", [run["import"][0][0] for run in runs], IMPORT_TARGET),
        show(
            "import and fit, beyond import sklearn.ensemble",
            [sum(run["fit"][0][1:]) for run in runs],
            FIT_TARGET,
        ),
    ]
    numba = any(result[2] for run in runs for result in run.values())
    print(f"Numba loaded: {'yes, MISSED' if numba else 'no, as required'}")
    return 0 if all(met) and not numba else 1


if __name__ == "__main__":
    sys.exit(main())
