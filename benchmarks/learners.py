"""CPU time of a round with a stump, a product and a tree, on one thread.

Run with `python benchmarks/learners.py [letter pendigits]`. The learners train twice, in turn, and
the faster run counts: the median CPU time of its rounds, without the first ones. Kernels are loaded
or compiled beforehand.

"searches" counts how often a round asks for the histograms of all columns. "rows" is the number of
rows these searches visit, in multiples of all rows: a node of a tree visits its own rows, and the
larger half of every split follows by subtraction. If searching were the only cost, a round would
take at most "rows" times as long as a round of stumps. MultiBoost's times were measured earlier on
a machine of the same kind, its test errors with the same number of rounds.
"""

import argparse
import os
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["EDGEWISE_BACKEND"] = "numba"

import numpy as np

from edgewise import AdaBoostMH, Callback, datasets
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.learners import Learner, Product, Stump, Tree

LEARNERS = {
    "stump": Stump(),
    "product": Product(Stump(), 3),
    "tree": Tree(Stump(), 8),
}
ROUNDS = {"letter": 100, "pendigits": 1000}
WARM_UP = 10
REPEATS = 2

# MultiBoost's milliseconds a round, and its test error after as many rounds as above.
REFERENCE = {
    ("letter", "stump"): (80.0, None),
    ("letter", "product"): (350.0, 0.246),
    ("letter", "tree"): (330.0, 0.130),
    ("pendigits", "stump"): (9.0, None),
    ("pendigits", "product"): (46.0, 0.0220),
    ("pendigits", "tree"): (67.0, 0.0232),
}


class Rounds(Callback):
    """Record CPU time and searches after every round."""

    def __init__(self) -> None:
        self.searches, self.rows = 0, 0.0

    def on_start(self, run: Any) -> None:
        self.marks = [self._mark()]

    def on_round(self, run: Any) -> None:
        self.marks.append(self._mark())

    def _mark(self) -> tuple[float, int, float]:
        return time.process_time(), self.searches, self.rows

    def count(self, problem: Any) -> None:
        self.searches += 1
        if problem.split_from is None:
            n_rows = problem.n_rows if problem.rows is None else len(problem.rows)
            self.rows += n_rows / problem.n_rows

    def a_round(self) -> tuple[float, float, float]:
        """Return the median milliseconds, and the mean searches and rows, of a round."""
        taken = np.diff(np.array(self.marks[WARM_UP:]), axis=0)
        return 1e3 * float(np.median(taken[:, 0])), *taken[:, 1:].mean(axis=0).tolist()


def train_with_history(
    learner: Learner, n_rounds: int, X: Any, y: Any
) -> tuple[AdaBoostMH, Rounds]:
    """Train a model; return it with the record of its rounds."""
    rounds, plain = Rounds(), NumbaBackend.histogram

    def histogram(self: Any, columns: Any, problem: Any) -> Any:
        rounds.count(problem)
        return plain(self, columns, problem)

    NumbaBackend.histogram = histogram  # type: ignore[method-assign]
    try:
        model = AdaBoostMH(
            learner, preset="paper", n_rounds=n_rounds, n_jobs=1, callbacks=[rounds]
        ).fit(X, y)
    finally:
        NumbaBackend.histogram = plain  # type: ignore[method-assign]
    return model, rounds


def measure(name: str) -> None:
    data, n_rounds = datasets.load(name, download=False), ROUNDS[name]
    print(
        f"{name}, {data.X_train.shape[0]:,} x {data.X_train.shape[1]}, "
        f"{len(data.target_names)} classes, {n_rounds:,} rounds\n"
        "           ms/round  MultiBoost  times faster  searches   rows  stump rounds"
        "  test error  MultiBoost's"
    )
    for learner in LEARNERS.values():
        AdaBoostMH(learner, preset="paper", n_rounds=2, n_jobs=1).fit(data.X_train, data.y_train)
    models, runs = {}, {kind: [] for kind in LEARNERS}
    for _ in range(REPEATS):
        for kind, learner in LEARNERS.items():
            models[kind], rounds = train_with_history(learner, n_rounds, data.X_train, data.y_train)
            runs[kind].append(rounds.a_round())
    stump = min(runs["stump"])[0]
    for kind, model in models.items():
        milliseconds, searches, rows = min(runs[kind])
        error = 1 - model.score(data.X_test, data.y_test)
        theirs, their_error = REFERENCE[name, kind]
        print(
            f"{kind:10} {milliseconds:8.3f}  {theirs:7g} ms  {theirs / milliseconds:12.1f}  "
            f"{searches:8.2f}  {rows:5.2f}  {milliseconds / stump:12.2f}  {error:10.4f}  "
            f"{'' if their_error is None else format(their_error, '12.4f')}",
            flush=True,
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(ROUNDS))
    for name in parser.parse_args().names:
        if datasets.available(name):
            measure(name)
        else:
            print(f"{name:10} skipped: not in $EDGEWISE_DATA or the cache")


if __name__ == "__main__":
    main()
