"""CPU time of a boosting round with a stump, on one thread.

Run with `make bench`, or `python benchmarks/rounds.py [letter pendigits mnist]`. There are two
references. MultiBoost's SingleStumpLearner (C++), the ancestor, was measured earlier on a machine
of the same kind, at 12, 7.5 and 9 ns per row, feature and class. The plain scan is the search of
Kégl 2014b, figure 2 (sorted rows, class-wise edges updated row by row in float64), written as in
the paper, compiled, and timed in the same run, so that the ratio does not depend on how busy the
machine is. It covers the search alone, without the update of the weights.
"""

import argparse
import os
import resource
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numba import njit

from edgewise import AdaBoostMH, Callback, datasets
from edgewise.learners import Stump

# Milliseconds per round of MultiBoost's SingleStumpLearner, and the target speed-up.
REFERENCE = {"letter": (80.0, 40), "pendigits": (9.0, 20), "mnist": (4200.0, 40)}
ROUNDS = {"letter": 600, "pendigits": 2000, "mnist": 60}


class RoundTimes(Callback):
    """Record the CPU time after every round."""

    def on_start(self, run):
        self.times = [time.process_time()]

    def on_round(self, run):
        self.times.append(time.process_time())


@njit(nogil=True)
def plain_scan(order, values, signed, edges, best):
    """BESTSTUMP of Kégl 2014b for every column; `best` gets the largest edge of each."""
    n_columns, n = order.shape
    n_classes = signed.shape[1]
    for j in range(n_columns):
        edges[:] = 0.0
        for i in range(n):
            for k in range(n_classes):
                edges[k] += signed[i, k]
        best[j] = np.abs(edges).sum()
        for i in range(n - 1):
            row = order[j, i]
            for k in range(n_classes):
                edges[k] -= 2.0 * signed[row, k]
            if values[j, i] != values[j, i + 1]:
                size = 0.0
                for k in range(n_classes):
                    size += abs(edges[k])
                if size > best[j]:
                    best[j] = size


def time_plain_scan(X, y, columns: int = 32) -> float:
    """Return the milliseconds of a plain scan of all columns, extrapolated from some."""
    classes, codes = np.unique(y, return_inverse=True)
    signed = np.full((len(y), len(classes)), -0.5 / (len(y) * (len(classes) - 1)))
    signed[np.arange(len(y)), codes] = 0.5 / len(y)
    some = np.ascontiguousarray(X[:, :: max(1, X.shape[1] // columns)].T)
    order = np.argsort(some, axis=1)
    values = np.take_along_axis(some, order, axis=1)
    scratch = np.empty(len(classes)), np.empty(len(some))
    plain_scan(order[:1], values[:1], signed, *scratch)
    times = []
    for _ in range(3):
        start = time.process_time()
        plain_scan(order, values, signed, *scratch)
        times.append(time.process_time() - start)
    return float(np.median(times)) * 1e3 * X.shape[1] / len(some)


def measure(name: str, n_jobs: int) -> None:
    data = datasets.load(name, download=False)
    X, y = data.X_train, data.y_train
    n_classes = len(np.unique(y))
    os.environ["EDGEWISE_BACKEND"] = "numba"
    # Load or compile the kernels.
    AdaBoostMH(Stump(), preset="paper", n_rounds=2, n_jobs=n_jobs).fit(X, y)
    clock = RoundTimes()
    start = time.process_time()
    model = AdaBoostMH(
        Stump(), preset="paper", n_rounds=ROUNDS[name], n_jobs=n_jobs, callbacks=[clock]
    ).fit(X, y)
    before = clock.times[0] - start
    plain = time_plain_scan(X, y)
    rounds = np.diff(clock.times) * 1e3
    median = float(np.median(rounds))
    reference, wanted = REFERENCE[name]
    entries = X.shape[0] * X.shape[1] * n_classes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:10} {X.shape[0]:6d} x {X.shape[1]:3d}, K={n_classes:2d}  "
        f"{median:8.3f} ms/round (least {rounds.min():.3f})  "
        f"{median / entries * 1e6:.4f} ns/entry  "
        f"{reference / median:6.1f} x MultiBoost's {reference:g} ms (target {wanted} x)  "
        f"{plain / median:5.1f} x the plain scan's {plain:.1f} ms in this run  "
        f"bins in {before:.2f} s  peak {peak:.0f} MiB  "
        f"train error {model.history_['train_error'][-1]:.4f} after {model.n_rounds_}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(REFERENCE))
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    for name in options.names:
        if datasets.available(name):
            measure(name, options.n_jobs)
        else:
            print(f"{name:10} skipped: not in $EDGEWISE_DATA or the cache")


if __name__ == "__main__":
    main()
