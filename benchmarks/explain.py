"""CPU time of Shapley values on one thread, beside LightGBM's `pred_contrib=True`.

Run with `python benchmarks/explain.py [--rows 5000]`. Both train 100 trees of 31 leaves, without
bags, on generated rows of 14 columns, as many as the table adult has. The ratios are of CPU times,
the least of several. LightGBM's values are path-dependent; ours are timed so, with pairs of
columns, against 10,000 background rows, and for a single row.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from lightgbm import LGBMClassifier

from edgewise import AdaBoostMH
from edgewise.common.text import text_table

TRAINING_ROWS, COLUMNS, TREES, LEAVES = 32_561, 14, 100, 31
BACKGROUND_ROWS, REPEATS = 10_000, 5


def generate(n_rows: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of eight real and six coarse columns, and classes that depend on nine of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, COLUMNS))
    X[:, 8:] = X[:, 8:].round()
    z = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(X[:, 3]) + X[:, 4] * (X[:, 8] > 0) + 0.5 * X[:, 9]
    z += 0.5 * X[:, 10] * X[:, 5] + rng.logistic(size=n_rows)
    return X, np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes))


def least(call: Callable[[], Any]) -> float:
    """Return the least CPU time of a call, the first one apart."""
    call()
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def measure(n_classes: int, n_rows: int) -> list[list[str]]:
    """Return the lines of the table for a number of classes."""
    X, y = generate(TRAINING_ROWS, n_classes)
    rows, background = X[:n_rows], X[-BACKGROUND_ROWS:]
    peer = LGBMClassifier(n_estimators=TREES, num_leaves=LEAVES, n_jobs=1, verbose=-1).fit(X, y)
    settings = {"n_rounds": TREES, "max_leaf_nodes": LEAVES, "n_bags": 1, "n_jobs": 1}
    model = AdaBoostMH("tree", random_state=0, **settings).fit(X, y)
    reference = least(lambda: peer.predict(rows, pred_contrib=True, num_threads=1))
    calls = {
        "path-dependent": lambda: model.shap_values(rows),
        "with pairs": lambda: model.shap_values(rows, interactions=True),
        "against a background": lambda: model.shap_values(rows, background),
        "one row": lambda: model.explain(rows[:1]),
        "one row against a background": lambda: model.explain(rows[:1], background),
    }
    lines = [[str(n_classes), "LightGBM", f"{1e3 * reference:.1f}", ""]]
    for name, call in calls.items():
        seconds = least(call)
        ratio = "" if name.startswith("one") else f"{seconds / reference:.2f}"
        lines.append([str(n_classes), name, f"{1e3 * seconds:.1f}", ratio])
    return lines


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000)
    options = parser.parse_args()
    lines = [["classes", "values", "ms", "ratio to LightGBM"]]
    for n_classes in (2, 5):
        lines += measure(n_classes, options.rows)
    print(text_table(lines))


if __name__ == "__main__":
    main()
