"""What a boosting round with a stump costs, in CPU time on one thread.

Run with `make bench`, or `python benchmarks/rounds.py [letter pendigits mnist]`. The reference is
MultiBoost's C++ SingleStumpLearner, the ancestor, measured on a machine of the same kind.
"""

import argparse
import os
import resource
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from edgewise import AdaBoostMH, Callback, datasets

# Milliseconds a round of MultiBoost's SingleStumpLearner, and the speed-up asked for.
REFERENCE = {"letter": (80.0, 40), "pendigits": (9.0, 20), "mnist": (4200.0, 40)}
ROUNDS = {"letter": 600, "pendigits": 2000, "mnist": 60}


class RoundTimes(Callback):
    """The CPU time at the end of every round."""

    def on_start(self, run):
        self.times = [time.process_time()]

    def on_round(self, run):
        self.times.append(time.process_time())


def measure(name: str, n_jobs: int) -> None:
    data = datasets.load(name, download=False)
    X, y = data.X_train, data.y_train
    n_classes = len(np.unique(y))
    os.environ["EDGEWISE_BACKEND"] = "numba"
    AdaBoostMH(n_rounds=2, n_jobs=n_jobs).fit(X, y)  # load or compile the kernels
    clock = RoundTimes()
    start = time.process_time()
    model = AdaBoostMH(n_rounds=ROUNDS[name], n_jobs=n_jobs, callbacks=[clock]).fit(X, y)
    before = clock.times[0] - start
    rounds = np.diff(clock.times) * 1e3
    median = float(np.median(rounds))
    reference, wanted = REFERENCE[name]
    entries = X.shape[0] * X.shape[1] * n_classes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:10} {X.shape[0]:6d} x {X.shape[1]:3d}, K={n_classes:2d}  "
        f"{median:8.3f} ms/round (least {rounds.min():.3f})  "
        f"{median / entries * 1e6:.4f} ns/entry  "
        f"{reference / median:6.1f} x MultiBoost's {reference:g} ms (wanted {wanted} x)  "
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
            print(f"{name:10} skipped: not in $EDGEWISE_DATA nor in the cache")


if __name__ == "__main__":
    main()
