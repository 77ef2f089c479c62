"""What trimming saves with 1,000 classes, on generated data.

Run with
    python benchmarks/many_classes.py [--classes 1000] [--rows 20000] [--rounds 120]
The rows of a class lie around one point. A round searches all weights, or the heaviest (row, class)
entries that hold at least `trim` of the weight. CPU seconds of the rounds on one thread, without
reading and binning; errors on as many new rows. Needs about 100 bytes of memory per (row, class)
entry.
"""

import argparse
import os
import time

import numpy as np

os.environ.setdefault("EDGEWISE_BACKEND", "numba")

from edgewise import AdaBoostMH, Callback, Product, Stump
from edgewise.boosting import TrainingRun


class Clock(Callback):
    """Record the CPU time after every round."""

    def on_start(self, run: TrainingRun) -> None:
        """Start the clock."""
        self.times = [time.process_time()]

    def on_round(self, run: TrainingRun) -> None:
        """Record the time."""
        self.times.append(time.process_time())


def blobs(n_classes: int, n_rows: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows scattered around one point per class, and their classes."""
    points = np.random.default_rng(0).normal(size=(n_classes, n_columns))
    rng = np.random.default_rng([1, seed])
    y = rng.permutation(np.arange(n_rows) % n_classes)
    return points[y] + 0.35 * rng.normal(size=(n_rows, n_columns)), y


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=120)
    options = parser.parse_args()
    X, y = blobs(options.classes, options.rows, options.columns, 0)
    X_test, y_test = blobs(options.classes, options.rows, options.columns, 1)
    print(f"{options.rows} rows, {options.columns} columns, {options.classes} classes")
    print("learner     trim   CPU s  ms a round: first  middle   last   saved   error")
    learners = {"stumps": Stump(), "products": Product(Stump(), 2)}
    for name, learner in learners.items():
        AdaBoostMH(learner, preset="paper", n_rounds=2, trim=0.95).fit(X[:4000], y[:4000])
        for trim in (None, 0.99, 0.95, 0.9):
            clock = Clock()
            model = AdaBoostMH(
                learner,
                preset="paper",
                n_rounds=options.rounds,
                trim=trim,
                callbacks=[clock],
                random_state=0,
            ).fit(X, y)
            took = np.diff(clock.times)
            parts = [1e3 * part.mean() for part in np.array_split(took, 3)]
            saved = 100 * model.history_["saved"][-1]
            error = 100 * (model.predict(X_test) != y_test).mean()
            print(
                f"{name:<9}  {trim or 'none':>5}  {took.sum():6.1f}"
                f"             {parts[0]:6.0f}  {parts[1]:6.0f} {parts[2]:6.0f}  {saved:5.1f} %"
                f"  {error:5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
