"""Products of stumps against the published errors and LightGBM, in one run.

Run with `python experiments/product_claims.py [pendigits letter usps isolet] [--quick]`; it needs
LightGBM (`pip install lightgbm`) and takes about 15 minutes on one core, a quarter of them for
LightGBM on isolet. `--quick` trains a tenth of the rounds and trees.

Products of stumps are boosted as in Kégl and Busa-Fekete 2009a (discrete votes, exponential loss),
for 3,000 rounds instead of 100,000. Table 1 of the paper reports the mean test error over the last
half of the rounds. On isolet, the set with most columns, every search tries 100 of the 617, drawn
at random. `AdaBoostMH()` and LightGBM, with 1,000 trees and defaults otherwise, train on the same
split.
"""

import argparse
import os
import time
import warnings
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np
from lightgbm import LGBMClassifier

from edgewise import AdaBoostMH, Lazy, datasets
from edgewise.learners import Product, Stump

warnings.filterwarnings("ignore", message="X does not have valid feature names")

ROUNDS, TREES = 3000, 1000
# Stumps per product, and columns per search.
PRODUCTS = {
    "pendigits": (2, "exhaustive"),
    "letter": (3, "exhaustive"),
    "usps": (3, "exhaustive"),
    "isolet": (3, Lazy(100)),
}
# The paper's mean test error over the last half of 100,000 rounds.
PAPER = {"pendigits": 1.89, "letter": 2.71}


def boosted(model: AdaBoostMH, data: datasets.Dataset) -> tuple[float, float]:
    """Train; return the final test error in per cent and its average over the last half."""
    model.fit(data.X_train, data.y_train, eval_set=(data.X_test, data.y_test))
    errors = 100 * model.history_["validation"]
    return float(errors[-1]), float(np.mean(errors[len(errors) // 2 :]))


def lightgbm(trees: int, data: datasets.Dataset) -> tuple[float, float]:
    """Train LightGBM; return its test error in per cent and NaN for the average."""
    model = LGBMClassifier(n_estimators=trees, n_jobs=1, verbosity=-1)
    model.fit(data.X_train, data.y_train)
    return 100 * float(np.mean(model.predict(data.X_test) != data.y_test)), float("nan")


def runs(name: str, part: float) -> list[tuple[str, Any]]:
    """Return the runs on a data set: a title and a function of the data."""
    terms, search = PRODUCTS[name]
    default = AdaBoostMH()
    rounds, default_rounds, trees = (round(part * n) for n in (ROUNDS, default.n_rounds, TREES))
    default.set_params(n_rounds=default_rounds)
    product = AdaBoostMH(
        Product(Stump(), n_terms=terms), search=search, n_rounds=rounds, random_state=0
    )
    return [
        (f"products of {terms}, {rounds:,} rounds", lambda data: boosted(product, data)),
        (f"AdaBoostMH(), {default_rounds} rounds", lambda data: boosted(default, data)),
        (f"LightGBM, {trees:,} trees", lambda data: lightgbm(trees, data)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PRODUCTS))
    parser.add_argument(
        "--quick", action="store_true", help="train a tenth of the rounds and trees"
    )
    options = parser.parse_args()
    table = []
    for name in options.names:
        data = datasets.load(name)
        for title, run in runs(name, 0.1 if options.quick else 1.0):
            start = time.process_time()
            end, average = run(data)
            seconds = time.process_time() - start
            table.append((name, title, end, average, seconds))
            print(f"... {name}, {title}: {end:.2f} % in {seconds:.0f} s", flush=True)

    print("\nTest errors in per cent; 'average' is over the last half of the rounds.\n")
    print(f"{'':10} {'':31} {'at the end':>10} {'average':>8} {'paper':>6} {'CPU s':>6}")
    for name, title, end, average, seconds in table:
        paper = PAPER.get(name) if title.startswith("products") else None
        print(
            f"{name:10} {title:31} {end:10.2f} "
            f"{'' if np.isnan(average) else format(average, '.2f'):>8} "
            f"{'' if paper is None else format(paper, '.2f'):>6} {seconds:6.0f}"
        )


if __name__ == "__main__":
    main()
