"""Many rows: error, log loss and AUC against CPU time and memory, beside two other libraries.

Run with
    python benchmarks/large.py --results large.jsonl --plot large.png
    python benchmarks/large.py --binning
    python benchmarks/large.py --threads 2 --results threads.jsonl
It needs LightGBM (`pip install lightgbm`). Runs that have a line in the results are not repeated;
`--rows 0.1` takes a tenth of the rows.

Every run is a process of its own, on one thread unless `--threads` says otherwise. All libraries
have their defaults but for the number of rounds: one run of many rounds gives the whole curve. The
time is the CPU time of `fit`, binning included; a callback notes it after every round, and the test
rows are scored afterwards. "default" is `AdaBoostMH()` as it is, which chooses the rounds on
held-out rows. Kernels are loaded or compiled beforehand on a few rows. Memory is the peak during
`fit` above what the process had with the rows in memory.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score

from _curves import rounds_shown
from _results import append, read_lines
from edgewise import AdaBoostMH, Callback
from edgewise.common.text import text_table

PIECE = 10_000  # rows made at a time, so that making them takes no memory to speak of
FEW = 20_000
SHOWN = 1.25  # ratio of the rounds of neighboring points
MEASURES = {"error": "error, %", "log_loss": "log loss", "auc": "1 - AUC, %"}
FRACTIONS = (0.05, 0.1, 0.25, 0.5, 1.0)

Record = dict[str, Any]


def collisions(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows like those of a particle detector, and whether two particles had one source.

    Momentum and direction of seven particles, and seven masses of pairs, measured with errors. The
    source has mass 1.5 and went into the first two particles or the next two.
    """
    y = rng.random(n) < 0.5
    pt, eta = rng.gamma(2.0, 0.5, (n, 7)) + 0.1, rng.normal(0, 1.2, (n, 7))
    phi = rng.uniform(-np.pi, np.pi, (n, 7))
    either = rng.random(n) < 0.5
    for a, chosen in ((0, y & either), (2, y & ~either)):
        angle = np.cosh(eta[:, a] - eta[:, a + 1]) - np.cos(phi[:, a] - phi[:, a + 1])
        own = rng.normal(1.5, 0.1, n) ** 2 / (2 * pt[:, a] * np.maximum(angle, 0.05))
        pt[:, a + 1] = np.where(chosen & (own < 6), own, pt[:, a + 1])
    pt *= rng.lognormal(0, 0.1, (n, 7))
    one, other = np.array([0, 0, 1, 1, 3, 4, 5]), np.array([1, 2, 2, 3, 4, 5, 6])
    between = np.cosh(eta[:, one] - eta[:, other]) - np.cos(phi[:, one] - phi[:, other])
    masses = np.sqrt(2 * pt[:, one] * pt[:, other] * between) * rng.lognormal(0, 0.1, (n, 7))
    return np.hstack([pt, eta, phi, masses]), y.astype(int)


def ten_classes(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a hundred normal columns, sixty of which matter, mostly in pairs, and ten classes."""
    fixed = np.random.default_rng(1)
    alone, paired = fixed.normal(0, 0.6, (30, 10)), fixed.normal(0, 0.6, (30, 10))
    X = rng.normal(size=(n, 100))
    pairs = X[:, :30] * (X[:, 30:60] > 0)
    scores = np.abs(X[:, 15:45]) @ alone + pairs @ paired + rng.gumbel(size=(n, 10))
    return X, scores.argmax(axis=1)


class Task(NamedTuple):
    """A table to make; rounds and trees end the curves."""

    make: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
    n_rows: int
    n_test: int
    n_columns: int
    rounds: int
    trees: int

    def rows(self, share: float, test: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the training or the test rows, made piece by piece."""
        n = int((self.n_test if test else self.n_rows) * share)
        X, y = np.empty((n, self.n_columns)), np.empty(n, dtype=np.int64)
        for start in range(0, n, PIECE):
            rng = np.random.default_rng([test, start])
            stop = min(n, start + PIECE)
            X[start:stop], y[start:stop] = self.make(rng, stop - start)
        return X, y


TASKS = {
    "1,000,000 x 28, 2 classes": Task(collisions, 1_000_000, 100_000, 28, 300, 200),
    "200,000 x 100, 10 classes": Task(ten_classes, 200_000, 20_000, 100, 200, 50),
}

Scored = Iterator[tuple[int, np.ndarray]]
"""Numbers of rounds with the probabilities of the test rows after them."""


class Clock:
    """CPU time after every round."""

    def __init__(self) -> None:
        self.marks: list[float] = []

    def start(self) -> None:
        self.began = time.process_time()

    def mark(self, *_: Any) -> None:
        self.marks.append(time.process_time() - self.began)


class _Marks(Callback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_round(self, run: Any) -> None:
        self.clock.mark()


def iter_staged_probabilities(model: Any, clock: Clock, X_test: Any) -> Scored:
    """Yield the probabilities after some of the rounds that the clock has marked."""
    wanted = set(rounds_shown(len(clock.marks), SHOWN))
    for t, shares in enumerate(model.staged_predict_proba(X_test), start=1):
        if t in wanted:
            yield t, shares


def ours(X: Any, y: Any, clock: Clock, task: Task, threads: int) -> Callable[[Any], Scored]:
    model = AdaBoostMH(n_rounds=task.rounds, n_jobs=threads, callbacks=[_Marks(clock)])
    clock.start()
    model.fit(X, y)
    return lambda X_test: iter_staged_probabilities(model, clock, X_test)


def default(X: Any, y: Any, clock: Clock, task: Task, threads: int) -> Callable[[Any], Scored]:
    model = AdaBoostMH(n_jobs=threads)
    clock.start()
    model.fit(X, y)
    clock.marks = [time.process_time() - clock.began] * model.n_rounds_
    return lambda X_test: iter([(model.n_rounds_, model.predict_proba(X_test))])


def lightgbm(X: Any, y: Any, clock: Clock, task: Task, threads: int) -> Callable[[Any], Scored]:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=task.trees, n_jobs=threads, deterministic=True, verbosity=-1
    )
    clock.start()
    model.fit(X, y, callbacks=[clock.mark])

    def scored(X_test: Any) -> Scored:
        for t in rounds_shown(len(clock.marks), SHOWN):
            yield t, model.predict_proba(X_test, num_iteration=t)

    return scored


def histogram(X: Any, y: Any, clock: Clock, task: Task, threads: int) -> Callable[[Any], Scored]:
    from sklearn.ensemble._hist_gradient_boosting import gradient_boosting

    # It has no callbacks; the last thing it does in a round is to grow the trees.
    class Timed(gradient_boosting.TreeGrower):
        def grow(self) -> None:
            super().grow()
            clock.mark()

    gradient_boosting.TreeGrower = Timed
    model = HistGradientBoostingClassifier(
        max_iter=task.trees, early_stopping=False, random_state=0
    )
    clock.start()
    model.fit(X, y)
    clock.marks = clock.marks[model.n_trees_per_iteration_ - 1 :: model.n_trees_per_iteration_]
    return lambda X_test: iter_staged_probabilities(model, clock, X_test)


METHODS = {
    "AdaBoostMH": ours,
    "AdaBoostMH, default": default,
    "LightGBM": lightgbm,
    "HistGradientBoosting": histogram,
}


def measure(name: str, method: str, threads: int, share: float) -> Record:
    """Train on a task and return the curve."""
    task, train = TASKS[name], METHODS[method]
    X, y = task.rows(share)
    few = task._replace(rounds=30, trees=3)
    train(X[:FEW], y[:FEW], Clock(), few, threads)
    clock, before, started = Clock(), memory(), time.perf_counter()
    scored = train(X, y, clock, task, threads)
    wall, peak = time.perf_counter() - started, memory() - before
    X_test, y_test = task.rows(share, test=True)
    points: dict[str, list[float]] = {"rounds": [], "seconds": [], "error": [], "log_loss": []}
    for t, shares in scored(X_test):
        points["rounds"].append(t)
        points["seconds"].append(round(clock.marks[t - 1], 4))
        points["error"].append(round(100 * float((shares.argmax(axis=1) != y_test).mean()), 4))
        points["log_loss"].append(round(float(log_loss(y_test, shares)), 6))
        if shares.shape[1] == 2:
            area = roc_auc_score(y_test, shares[:, 1])
            points.setdefault("auc", []).append(round(100 * (1 - float(area)), 4))
    run = {"task": name, "method": method, "threads": threads, "share": share}
    return run | {"wall": round(wall, 3), "memory": round(peak), **points}


def memory() -> float:
    """Return the most memory this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_all(
    results: Path, tasks: list[str], methods: list[str], threads: int, share: float
) -> None:
    """Run what has no line in the results yet, each in a process of its own."""
    known = {(r["task"], r["method"], r["threads"], r["share"]) for r in read_lines(results)}
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    for name in tasks:
        for method in methods:
            if (name, method, threads, share) in known:
                continue
            one = ["--one", name, method, "--threads", str(threads), "--rows", str(share)]
            found = subprocess.run(
                [sys.executable, __file__, *one],
                env=environment,
                stdout=subprocess.PIPE,
                check=True,
            )
            line = json.loads(found.stdout.splitlines()[-1])
            append(results, line)
            print(f"{name}: {method}, {line['seconds'][-1]:.1f} s", file=sys.stderr, flush=True)


def table(records: list[Record]) -> str:
    """Return the measures at the same CPU times, the last being LightGBM's."""
    lines = []
    for name in dict.fromkeys(record["task"] for record in records):
        own = [record for record in records if record["task"] == name]
        last = min(r["seconds"][-1] for r in own if len(r["rounds"]) > 1)
        times = [fraction * last for fraction in FRACTIONS]
        for measured, words in MEASURES.items():
            if measured not in own[0]:
                continue
            head = [f"{words}, after CPU s", *(f"{t:.1f}" for t in times)]
            rows = [
                [
                    record["method"],
                    *(f"{at(record, measured, t):.4g}" for t in times),
                    str(record["rounds"][-1]),
                    f"{record['seconds'][-1]:.1f}",
                    f"{record[measured][-1]:.4g}",
                    f"{record['wall']:.1f}",
                    str(record["memory"]),
                ]
                for record in own
            ]
            rows.insert(0, [*head, "rounds", "CPU s", "end", "wall s", "MiB"])
            lines.append(f"{name}\n{text_table(rows)}\n")
    return "\n".join(lines)


def at(record: Record, measured: str, seconds: float) -> float:
    """Return the measure at the last point before a time, or NaN."""
    points = zip(record["seconds"], record[measured], strict=True)
    return next((value for s, value in reversed(list(points)) if s <= seconds), float("nan"))


def plot(records: list[Record], path: Path) -> None:
    """Draw every measure of every task against CPU time."""
    from edgewise.plots.drawing import COLORS, INK, make_file_figure, save_figure, style_axes

    panels = [
        (task, measured)
        for task in dict.fromkeys(record["task"] for record in records)
        for measured in MEASURES
        if any(record["task"] == task and measured in record for record in records)
    ]
    figure = make_file_figure(3.9 * 3, 3.1 * -(-len(panels) // 3))
    frames = figure.subplots(-(-len(panels) // 3), 3, squeeze=False).ravel().tolist()
    colors = dict(zip(METHODS, (COLORS[0], COLORS[0], INK, COLORS[1]), strict=True))
    for axes, (task, measured) in zip(frames, panels, strict=False):
        for record in (r for r in records if r["task"] == task):
            alone = {"marker": "o", "ls": ""} if len(record["rounds"]) == 1 else {"lw": 1.6}
            style: dict[str, Any] = {"color": colors[record["method"]], **alone}
            axes.plot(record["seconds"], record[measured], label=record["method"], **style)
        ends = [r[measured] for r in records if r["task"] == task]
        least = min(min(end) for end in ends)
        start = max(end[0] for end in ends)
        axes.set_ylim(least - 0.03 * (start - least), least + 0.6 * (start - least))
        axes.set_xscale("log")
        axes.set_xlabel("CPU seconds", fontsize=9)
        axes.set_ylabel(MEASURES[measured], fontsize=9)
        axes.set_title(task, fontsize=10, color=INK, loc="left")
        style_axes(axes)
    for axes in frames[len(panels) :]:
        axes.axis("off")
    handles, labels = frames[0].get_legend_handles_labels()
    frames[-1].legend(handles, labels, loc="center left", frameon=False, fontsize=9)
    save_figure(figure, path)


def binning(share: float) -> str:
    """Return the CPU and wall seconds of making bins and codes, ours and LightGBM's."""
    from lightgbm import Dataset

    from edgewise.data import as_table, encode, fit_encode

    rows = [["", "threads", "LightGBM CPU s", "wall", "edgewise CPU s", "wall", "100,000 rows"]]
    for name, task in TASKS.items():
        whole, y = task.rows(share)
        for dtype in (np.float64, np.float32):
            X = whole.astype(dtype, copy=False)
            for threads in (1, 2):
                known = fit_encode(as_table(X[:FEW]), None, 256).bins
                encode(as_table(X[:FEW]), known)
                peer = {"num_threads": threads, "verbosity": -1}
                runs: list[Callable[[], Any]] = [
                    Dataset(X, y, params=peer).construct,
                    lambda X=X, n=threads: fit_encode(as_table(X), None, 256, n_jobs=n),
                    lambda X=X, known=known: encode(as_table(X[:100_000]), known),
                ]
                cells = [cell for run in runs for cell in time_run(run)]
                rows.append([f"{name}, {dtype.__name__}", str(threads), *cells[:5]])
    return text_table(rows)


def time_run(run: Callable[[], Any]) -> list[str]:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return [f"{time.process_time() - cpu:.2f}", f"{time.perf_counter() - wall:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=Path("large.jsonl"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--plot", type=Path, help="draw the curves to this file")
    parser.add_argument("--binning", action="store_true", help="time binning only")
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    parser.add_argument("--one", nargs=2, metavar=("TASK", "METHOD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options.threads, options.rows)))
        return
    if options.binning:
        print(binning(options.rows))
        return
    if not options.only_table:
        run_all(options.results, options.tasks, options.methods, options.threads, options.rows)
    found = [r for r in read_lines(options.results) if r["method"] in options.methods]
    print(
        table([r for r in found if (r["threads"], r["share"]) == (options.threads, options.rows)])
    )
    if options.plot is not None:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
