"""Time of a first use, in fresh processes.

Run with `python benchmarks/startup.py [--repeats 15]` for the CPU time (user and system) of imports
and a small fit, which must cost little compared with the imports that any scikit-learn program pays
for, and must not load Numba.

Run with `python benchmarks/startup.py --cold [--repeats 3]` for the first fit of a fresh
installation, whose kernels nobody has compiled, and for the same fit once they are in the cache:
the time from `import edgewise` to a fitted model, on a table of generated rows.

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
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris

from edgewise import AdaBoostMH

# CPU seconds beyond the reference step.
IMPORT_TARGET = 0.1
FIT_TARGET = 0.5

# Rows and classes of the first fits, of 20 columns; seconds of wall time in multiples of the same
# fit with kernels in the cache, and more.
FIRST_FITS = ((500, 2), (500, 3), (20_000, 2), (20_000, 3))
COLD_FACTOR, COLD_SECONDS = 1.5, 2.0

FIRST_FIT = """
import sys, time
import numpy as np
n_rows, n_classes = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.normal(size=(n_rows, 20))
scores = X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=n_rows)
y = np.digitize(scores, np.quantile(scores, np.arange(1, n_classes) / n_classes))
wall, cpu = time.perf_counter(), time.process_time()
from edgewise import AdaBoostMH
AdaBoostMH().fit(X, y)
print(time.perf_counter() - wall, time.process_time() - cpu)
"""

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


def first_fit(cache: Path, n_rows: int, n_classes: int) -> tuple[float, float]:
    """Return wall and CPU seconds of a first fit, once nothing compiles in the background."""
    environment = ENVIRONMENT | {"NUMBA_CACHE_DIR": str(cache), "EDGEWISE_BACKEND": "auto"}
    command = [sys.executable, "-c", FIRST_FIT, str(n_rows), str(n_classes)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    while list(cache.glob("*.lock")):
        time.sleep(0.1)
    wall, cpu = map(float, run.stdout.split())
    return wall, cpu


def cold_and_warm(repeats: int) -> int:
    """Print the times of first fits, and return 1 if a cold one takes too long."""
    print(f"rows x 20, AdaBoostMH(): seconds from the import to the model, median of {repeats}")
    print("   rows classes     cold (CPU)     warm (CPU)   limit")
    missed = False
    for n_rows, n_classes in FIRST_FITS:
        times = []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                times.append([first_fit(Path(folder), n_rows, n_classes) for _ in range(2)])
        (cold, cold_cpu), (warm, warm_cpu) = np.median(times, axis=0)
        limit = COLD_FACTOR * warm + COLD_SECONDS
        missed |= bool(cold > limit)
        print(
            f"{n_rows:7} {n_classes:7} {cold:8.2f} ({cold_cpu:4.2f}){warm:9.2f} ({warm_cpu:4.2f})"
            f"{limit:8.2f} {'MISSED' if cold > limit else 'met'}",
            flush=True,
        )
    return int(missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--cold", action="store_true", help="first fits, cold and warm")
    options = parser.parse_args()
    if options.cold:
        return cold_and_warm(options.repeats or 3)
    options.repeats = options.repeats or 15
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "iris.npz"
        X, y = load_iris(return_X_y=True)
        np.savez(path, X=X, y=y)
        # Read the rows with the first import, not as part of the fit.
        before = (
            f"import sklearn.ensemble\nimport numpy\niris = numpy.load({str(path)!r})\n"
            "X, y = iris['X'], iris['y']"
        )
        model = Path(folder) / "digits.edgewise"
        AdaBoostMH().fit(*load_digits(return_X_y=True)).save(model)
        predict = "model.predict_proba(numpy.zeros((1, 64)))"
        programs = {
            "bare": [],
            "import": ["import edgewise"],
            "full": [
                "import numpy",
                f"import edgewise\nmodel = edgewise.load({str(model)!r})",
                predict,
            ],
            "light": [
                "import numpy",
                f"from edgewise.predictor import load\nmodel = load({str(model)!r})",
                predict,
            ],
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
    for name, module in (("full", "edgewise"), ("light", "edgewise.predictor")):
        show(f"import {module}, load the default of digits", [run[name][0][1] for run in runs])
        show("then: probabilities of one row", [run[name][0][2] for run in runs])
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
