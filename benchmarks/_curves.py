"""Timed runs, their curves and result files, shared by the benchmarks of error against CPU time.

The time of a run is the CPU time of the process in `fit`, on one thread: reading and binning the
rows, and all rounds. A callback records the time of every round. The test rows are scored
afterwards, at rounds that grow by a few per cent, so scoring does not count. Kernels are loaded or
compiled beforehand on a few rows of the same set, as in any second run on a machine.

The bins of the widest task are made once per process; every run is charged the time they took.

Settings are text, written as between the brackets of the class, so that result files are readable
and settings can come from the command line.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import edgewise
import edgewise.search
from _results import append, read_lines
from edgewise import AdaBoostMH, Callback, datasets
from edgewise.boosting import loop
from edgewise.data import Chunks, as_table, fit_encode

warnings.filterwarnings("ignore", message="X does not have valid feature names")

MOST = 1_000_000  # rounds: the budget ends a run earlier
STEP = 1.06  # ratio of the rounds of neighboring points
WARM_UP_ROWS, WARM_UP_ROUNDS = 2000, 40
# Fixed for repeatable runs. LightGBM is faster by rows if columns are few or dense.
PEER = {"n_jobs": 1, "deterministic": True, "random_state": 0, "verbosity": -1}

Record = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Rows to train on and rows to measure on; targets are numbers from 0.

    `small` is a task to warm up on, where a part of the rows will not do. `bins` makes them once.
    """

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    small: "Rows | None" = None
    bins: "BinnedOnce | None" = None

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def measure(self, scores: Any) -> float:
        """Return in per cent the error, 1 - AUC of two classes, or the Hamming loss of labels."""
        if self.y.ndim == 2:
            return 100 * float(np.mean((scores > 0) != (self.y_test > 0)))
        if self.n_classes == 2:
            return 100 * (1 - float(roc_auc_score(self.y_test, scores)))
        return 100 * float(np.mean(scores.argmax(axis=1) != self.y_test))

    def validation(self) -> "Rows":
        """Return five sixths of the training rows for training, one sixth for testing."""
        X, X_held, y, y_held = train_test_split(
            self.X, self.y, test_size=1 / 6, random_state=0, stratify=self.y
        )
        return Rows(f"{self.name}/validation", X, y, X_held, y_held)

    def few(self) -> "Rows":
        """Return a few rows of every class for a warm-up."""
        if self.small is not None:
            return self.small
        order = np.random.default_rng(0).permutation(len(self.y))[:WARM_UP_ROWS]
        first = np.unique(self.y, return_index=True)[1] if self.y.ndim == 1 else order
        chosen = np.unique(np.concatenate([order, first]))
        X = self.X.iloc[chosen] if hasattr(self.X, "iloc") else self.X[chosen]
        return Rows(self.name, X, self.y[chosen], None, None)


def load(name: str) -> Rows | None:
    """Return a data set, or print that there is no copy and return None."""
    if not datasets.available(name):
        print(f"{name:10} skipped: not in $EDGEWISE_DATA or the cache")
        return None
    data = datasets.load(name, download=False)
    if data.y_train.ndim == 2:
        return Rows(name, data.X_train, data.y_train, data.X_test, data.y_test)
    classes, y = np.unique(data.y_train, return_inverse=True)
    return Rows(name, data.X_train, y, data.X_test, np.searchsorted(classes, data.y_test))


class Watch(Callback):
    """Record the CPU time after every round since `start`, and end a run at its budget.

    The budget covers reading and rounds, or rounds alone.
    """

    def __init__(self, budget: float, reading: bool = True) -> None:
        self.budget, self.reading = budget, reading
        self.ready = 0.0
        self.marks: list[float] = []

    def start(self) -> None:
        """Start the clock."""
        self.began = time.process_time()

    def mark(self) -> bool:
        """Record a round; return whether the budget is spent."""
        self.marks.append(time.process_time() - self.began)
        before = 0.0 if self.reading else self.ready
        return self.marks[-1] - before >= self.budget

    def on_start(self, run: Any) -> None:
        self.ready = time.process_time() - self.began

    def on_round(self, run: Any) -> str | None:
        return "budget" if self.mark() else None


class BinnedOnce:
    """Bins made by the first run; later runs reuse them and are charged the time they took."""

    def __init__(self) -> None:
        self.binned: Any = None
        self.seconds = 0.0

    def charged(self, watch: Watch, X: Any) -> Any:
        """Return the bins of the training rows, and charge the run their time."""
        if self.binned is None:
            started = time.process_time()
            self.binned = fit_encode(as_table(X), None, max_bins=256)
            self.seconds = time.process_time() - started
        else:
            watch.began -= self.seconds
        return self.binned


def rounds_shown(n_rounds: int, step: float = STEP) -> list[int]:
    """Return the rounds at which a curve has points, each `step` times the last, and the end."""
    shown, at = [], 1.0
    while round(at) < n_rounds:
        shown.append(round(at))
        at = max(at * step, round(at) + 1.0)
    return [*shown, n_rounds]


def run_edgewise(settings: str, rows: Rows, budget: float, reading: bool = True) -> Record:
    """Return the curve of ``AdaBoostMH(settings)`` within a budget of CPU seconds.

    `reading` tells whether that time includes reading and binning.
    """
    warm_up(settings, rows)
    watch = Watch(budget, reading)
    model = make_classifier(settings, n_rounds=MOST, callbacks=[watch])
    watch.start()
    model.fit(rows.X if rows.bins is None else rows.bins.charged(watch, rows.X), rows.y)
    shown, errors = rounds_shown(model.n_rounds_), []
    wanted = set(shown)
    for t, scores in enumerate(model.staged_decision_function(rows.X_test), start=1):
        if t in wanted:
            errors.append(rows.measure(scores))
    return record(rows, f"AdaBoostMH({settings})", watch, shown, errors)


def make_classifier(settings: str, **more: Any) -> AdaBoostMH:
    """Return the classifier that the text describes.

    It may use the names of edgewise, its learners and its searches.
    """
    known: dict[str, Any] = {}
    for module in (edgewise.learners, edgewise.search, edgewise):
        known |= {name: getattr(module, name) for name in module.__all__}
    known |= {kind.__name__: kind for kind in edgewise.search.SEARCHES.values()}
    model = eval(f"AdaBoostMH({settings})", known)  # the benchmark's own text or the caller's
    model.set_params(n_jobs=1, **more)
    if model.random_state is None:
        model.set_params(random_state=0)
    return model


def warm_up(settings: str, rows: Rows) -> None:
    """Train on a few rows, recomputing the weights from the scores as long runs do."""
    few, usual = rows.few(), loop.REFRESH_EVERY
    loop.REFRESH_EVERY = WARM_UP_ROUNDS // 2
    try:
        make_classifier(settings, n_rounds=WARM_UP_ROUNDS).fit(few.X, few.y)
    finally:
        loop.REFRESH_EVERY = usual


def lightgbm(
    settings: str, rows: Rows, trees: int, budget: float = np.inf, reading: bool = True
) -> Record:
    """Return the curve of ``LGBMClassifier(settings)`` with a number of trees per class."""
    from lightgbm import LGBMClassifier
    from lightgbm.callback import EarlyStopException

    chosen = eval(f"dict({settings})")
    categorical = chosen.pop("categorical_feature", "auto")
    watch = Watch(budget, reading)
    X, X_test = as_array(rows.X), as_array(rows.X_test)

    def on_start(run: Any) -> None:
        if run.iteration == 0:
            watch.on_start(run)

    on_start.before_iteration = True  # type: ignore[attr-defined]

    def on_tree(run: Any) -> None:
        if watch.mark():
            raise EarlyStopException(run.iteration, [])

    model = LGBMClassifier(n_estimators=trees, **(PEER | chosen))
    watch.start()
    model.fit(X, rows.y, categorical_feature=categorical, callbacks=[on_start, on_tree])
    shown, errors, scores = rounds_shown(len(watch.marks)), [], 0.0
    for before, t in zip([0, *shown], shown, strict=False):
        # Score only the new trees, so that every tree is visited once.
        span = {"start_iteration": before, "num_iteration": t - before}
        scores = scores + model.booster_.predict(X_test, raw_score=True, **span)
        errors.append(rows.measure(scores))
    return record(rows, f"LGBMClassifier({settings})", watch, shown, errors)


def as_array(X: Any) -> Any:
    """Return a table made by columns as an array for LightGBM; return others unchanged."""
    return X.array() if isinstance(X, Chunks) else X


def record(rows: Rows, settings: str, watch: Watch, shown: list[int], errors: Any) -> Record:
    marks = np.array(watch.marks)
    taken = np.diff(marks, prepend=0.0)
    return {
        "data": rows.name,
        "settings": settings,
        "rounds": shown,
        "seconds": [round(float(marks[t - 1]), 4) for t in shown],
        "errors": [round(error, 4) for error in errors],
        "reading": round(watch.ready, 4),
        # A round much slower than the median must have compiled something.
        "slowest": round(float(taken[1:].max(initial=0.0)), 4),
        "median": round(float(np.median(taken)), 6),
    }


class Results:
    """A file with one record per line; recorded runs are not repeated."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.records: list[Record] = [] if path is None else read_lines(path)

    def add(self, data: str, method: str, run: Callable[[], Record]) -> Record:
        """Return the record of a method on a data set, running it if necessary."""
        for known in self.records:
            if (known["data"], known["method"]) == (data, method):
                print(f"... {shown_end(known)} (from {self.path})", flush=True)
                return known
        new = {"method": method} | run()
        self.records.append(new)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            append(self.path, new)
        print(f"... {shown_end(new)}", flush=True)
        return new

    def of(self, data: str) -> list[Record]:
        return [known for known in self.records if known["data"] == data]

    def names(self) -> list[str]:
        return list(dict.fromkeys(known["data"] for known in self.records))


def shown_end(known: Record) -> str:
    """Describe the end of a curve."""
    return (
        f"{known['data']}, {known['method']}: {known['errors'][-1]:.2f} % (least "
        f"{min(known['errors']):.2f}) after {known['rounds'][-1]:,} rounds in "
        f"{known['seconds'][-1]:.1f} s; {1e3 * known['median']:.2f} ms a round, "
        f"slowest {1e3 * known['slowest']:.0f}, reading {known['reading']:.2f} s"
    )


def error_at(known: Record, seconds: float) -> float:
    """Return the error at the last point before a time, or NaN."""
    before = [e for s, e in zip(known["seconds"], known["errors"], strict=True) if s <= seconds]
    return before[-1] if before else float("nan")


def time_to(known: Record, error: float) -> float:
    """Return when a curve first reaches an error, or infinity."""
    points = zip(known["seconds"], known["errors"], strict=True)
    return next((s for s, e in points if e <= error + 1e-9), float("inf"))


def seconds_in_words(seconds: float) -> str:
    return "-" if np.isinf(seconds) else format(seconds, ".1f" if seconds < 100 else ".0f")


def matching(names: Iterable[str], parts: list[str] | None) -> list[str]:
    """Return the names that contain one of the given parts, or all without parts."""
    return [name for name in names if not parts or any(part in name for part in parts)]
