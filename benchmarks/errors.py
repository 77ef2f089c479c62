"""Test errors of boosted stumps on five data sets, next to the published ones.

Run with `python benchmarks/errors.py [letter pendigits usps isolet mnist]`. Kégl and Busa-Fekete
2009a (table 1, stumps) report the mean test error over the last half of 100,000 rounds; this script
averages over the last half of fewer.
"""

import argparse
import time

import numpy as np

from edgewise import AdaBoostMH, datasets
from edgewise.learners import Stump

PAPER = {"letter": 14.74, "pendigits": 4.97, "usps": 6.48, "isolet": 4.88, "mnist": 7.71}
ROUNDS = {"letter": 5000, "pendigits": 10_000, "usps": 5000, "isolet": 3000, "mnist": 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PAPER))
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    for name in options.names:
        if not datasets.available(name):
            print(f"{name:10} skipped: not in $EDGEWISE_DATA or the cache")
            continue
        data = datasets.load(name, download=False)
        start = time.perf_counter()
        model = AdaBoostMH(Stump(), preset="paper", n_rounds=ROUNDS[name], n_jobs=options.n_jobs)
        model.fit(data.X_train, data.y_train, eval_set=(data.X_test, data.y_test))
        seconds = time.perf_counter() - start
        errors = 100 * model.history_["validation"]
        print(
            f"{name:10} {model.n_rounds_:6d} rounds in {seconds:5.1f} s  "
            f"test error {errors[-1]:5.2f} %, mean of the last half "
            f"{np.mean(errors[len(errors) // 2 :]):5.2f} %  (paper {PAPER[name]:.2f} %)",
            flush=True,
        )


if __name__ == "__main__":
    main()
