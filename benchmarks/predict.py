"""CPU time of a prediction on one thread, for models of 100 to 10,000 rounds.

Run with `python benchmarks/predict.py [--sklearn]`. A model of stumps collapses to one table per
column, so its time depends on the size of the tables, which the bins limit, not on the rounds. Two
data sets show it: letter (or generated rows of its size, if it is neither in $EDGEWISE_DATA nor in
the cache), whose columns have 16 values, and continuous columns, whose tables grow for a while.
Products do not collapse, so every round is visited. To save time 2,500 rounds are trained and
repeated four times: the time is for 10,000 rounds, the error for 2,500. LightGBM, if installed,
visits every tree on letter. It is more accurate than stumps, so read the error with the time.

`--trees` times `predict_proba` of 1, 100 and 100,000 rows instead: the default of edgewise beside
those of LightGBM and CatBoost, as far as installed, on generated rows of 2 and of 10 classes, and
on pendigits and letter where they are; the sizes of their files stand beside. Then it shows what
the model costs a new process, on a cache without compiled kernels and on one that has them: loading
it, the first row, further ones, why a row has its scores compared with 100 others, 100,000 rows at
first and compiled, and how long after the first that is. `--rows 5000` trains the generated sets on
fewer rows.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import edgewise
from edgewise import AdaBoostMH, datasets
from edgewise.learners import Product, Stump

ROWS = 10_000
ROUNDS = (100, 1_000, 10_000)
PRODUCT_ROUNDS, PRODUCT_COPIES = 2_500, 4
TREES = (100, 1_000)
SECONDS = 1.0
BATCHES = (1, 100, 100_000)
FOREST_ROWS = 20_000
# Run in a new process: what a saved model costs there.
FRESH = """
import json, statistics, sys, time
import numpy as np
import sklearn.base, sklearn.utils.validation
clock = time.process_time
def ms(call, times):
    found = []
    for _ in range(times):
        start = clock()
        call()
        found.append(1e3 * (clock() - start))
    return statistics.median(found)
start = clock()
import edgewise
from edgewise import AdaBoostMH
imported = 1e3 * (clock() - start)
path, X = sys.argv[1], np.load(sys.argv[2])
found = {"import": imported, "load": ms(lambda: edgewise.load(path), 9)}
model = edgewise.load(path)
found["first row"] = ms(lambda: model.predict_proba(X[:1]), 1)
found["a row"] = ms(lambda: model.predict_proba(X[:1]), 99)
found["100 rows"] = ms(lambda: model.predict_proba(X[:100]), 25)
found["why a row"] = ms(lambda: model.explain(X[:1], X[1:101]), 5)
assert "numba" not in sys.modules
found[f"first {len(X):,} rows"] = ms(lambda: model.predict_proba(X), 1)
start = time.monotonic()
while "numba" not in sys.modules and time.monotonic() < start + 60:
    model.predict_proba(X)
waited = time.monotonic() - start
found[f"{len(X):,} rows, compiled"] = ms(lambda: model.predict_proba(X), 5)
found["compiled after"] = 1e3 * waited
print(json.dumps(found))
"""


def letter_like() -> tuple[str, np.ndarray, np.ndarray]:
    if datasets.available("letter"):
        data = datasets.load("letter", download=False)
        X = np.concatenate([data.X_train, data.X_test])
        return "letter", X, np.concatenate([data.y_train, data.y_test])
    X, y = continuous()
    return "generated, 16 values a column", np.clip(np.rint(X), 0, 15), y


def continuous() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 26, 2 * ROWS)
    centers = rng.uniform(3, 12, (26, 16))
    return centers[y] + rng.normal(0, 2, (len(y), 16)), y


def cpu_ms(call: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the median CPU milliseconds of a call, over about a second of calls, and its result.

    The first call may compile kernels and does not count, unless it takes long by itself.
    """
    times: list[float] = []
    while sum(times[1:]) < SECONDS and sum(times) < 10 * SECONDS:
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times[1:] or times), result


def show(name: str, milliseconds: float, reference: float, note: str) -> None:
    print(
        f"{name:<34} {milliseconds:9.2f} ms  {1e3 * milliseconds / ROWS:8.3f} us/row  "
        f"{milliseconds / reference:8.1f} x  {note}",
        flush=True,
    )


def halves(name: str, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return training rows with their classes, and test rows with theirs."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    print(f"{name}: predict {ROWS:,} rows of {X.shape[1]} columns, {len(np.unique(y))} classes")
    return X[ROWS:], y[ROWS:], X[:ROWS], y[:ROWS]


def measure_edgewise(X: np.ndarray, y: np.ndarray, rows: np.ndarray, truth: np.ndarray) -> float:
    """Time models of growing size and return the time of the smallest."""
    model = AdaBoostMH(learner=Stump(), preset="paper", warm_start=True)
    first = None
    for n_rounds in ROUNDS:
        model.set_params(n_rounds=n_rounds).fit(X, y)
        milliseconds, given = cpu_ms(lambda: model.predict(rows))
        first = first or milliseconds
        error = np.mean(given != truth)
        steps = sum(len(curve.thresholds) for curve in model.explain())
        note = f"error {error:.4f}, {steps:,} thresholds"
        show(f"edgewise, {model.n_rounds_:,} rounds", milliseconds, first, note)
    assert first is not None
    print(f"{ROUNDS[-1] // ROUNDS[0]} times the rounds cost {milliseconds / first:.2f} x the time")
    return first


def measure_products(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, truth: np.ndarray, reference: float
) -> float:
    """Time a model of products."""
    model = AdaBoostMH(learner=Product(Stump(), 3), preset="paper", n_rounds=PRODUCT_ROUNDS).fit(
        X, y
    )
    once = terms = model.fitted_.terms
    for _ in range(PRODUCT_COPIES - 1):
        terms = terms + once
    model.fitted_ = replace(model.fitted_, terms=terms)
    milliseconds, given = cpu_ms(lambda: model.predict(rows))
    note = f"error {np.mean(given != truth):.4f} (of {len(once):,} rounds)"
    show(f"edgewise, {len(terms):,} products", milliseconds, reference, note)
    return milliseconds


def measure_lightgbm(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, truth: np.ndarray, reference: float
) -> float | None:
    """Time LightGBM and return the time of its largest model."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        print("LightGBM is not installed")
        return None
    model = LGBMClassifier(n_estimators=TREES[-1], n_jobs=1, verbose=-1).fit(X, y)
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    # The first trees of a larger model are the smaller model.
    for trees in TREES:
        milliseconds, given = cpu_ms(lambda n=trees: model.predict(rows, num_iteration=n))
        error = np.mean(given != truth)
        show(f"LightGBM, n_estimators={trees:,}", milliseconds, reference, f"error {error:.4f}")
    return milliseconds


def measure_sklearn(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, truth: np.ndarray, reference: float
) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=TREES[0], early_stopping=False).fit(X, y)
    milliseconds, given = cpu_ms(lambda: model.predict(rows))
    error = np.mean(given != truth)
    name = f"HistGradientBoosting, max_iter={TREES[0]}"
    show(name, milliseconds, reference, f"error {error:.4f}")


def forests() -> dict[str, Callable[..., object]]:
    """Return makers of models of trees: the defaults of edgewise and of its peers."""
    found: dict[str, Callable[..., object]] = {"edgewise": AdaBoostMH}
    try:
        from lightgbm import LGBMClassifier

        found["LightGBM"] = partial(LGBMClassifier, n_jobs=1, verbose=-1)
    except ImportError:
        print("LightGBM is not installed")
    try:
        from catboost import CatBoostClassifier

        settings = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
        found["CatBoost"] = partial(CatBoostClassifier, **settings)
    except ImportError:
        print("CatBoost is not installed")
    return found


def forest_tasks(n_rows: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, rows and classes."""
    from sklearn.datasets import make_classification

    for n_classes in (2, 10):
        settings = {"n_informative": 12, "n_classes": n_classes, "random_state": 0}
        yield f"generated, {n_classes} classes", *make_classification(n_rows, 20, **settings)
    for name in ("pendigits", "letter"):
        if datasets.available(name):
            data = datasets.load(name, download=False)
            yield name, np.asarray(data.X_train, dtype=np.float64), data.y_train


def measure_forests(name: str, X: np.ndarray, y: np.ndarray) -> None:
    """Time the probabilities of single rows, small and large batches, and a new process."""
    many = np.resize(X, (BATCHES[-1], X.shape[1]))
    print(f"{name}, {len(X):,} x {X.shape[1]}: CPU milliseconds of predict_proba")
    print(f"{'':<24}" + "".join(f"{n:>12,} rows" for n in BATCHES) + f"{'file':>14}")
    with tempfile.TemporaryDirectory() as folder:
        path, rows, cache = (Path(folder) / part for part in ("model", "rows.npy", "cache"))
        np.save(rows, many)
        for peer, make in forests().items():
            model = make().fit(X, y)
            times = [cpu_ms(partial(model.predict_proba, many[:n]))[0] for n in BATCHES]
            ours = peer == "edgewise"
            file = path if ours else path.with_suffix(".peer")
            save = model.save if ours else getattr(model, "booster_", model).save_model
            save(str(file))
            size = f"{file.stat().st_size / 1e3:11,.0f} kB"
            print(f"{peer:<24}" + "".join(f"{one:17.2f}" for one in times) + size, flush=True)
        n_rounds = edgewise.load(path).n_rounds_
        print(f"{f'edgewise, {n_rounds} rounds, in a new process':<41}{'cold':>4}{'warm':>9}")
        command = [sys.executable, "-c", FRESH, str(path), str(rows)]
        settings = ({**os.environ, "NUMBA_CACHE_DIR": str(cache)}, os.environ)
        runs = [
            subprocess.run(command, env=env, capture_output=True, text=True) for env in settings
        ]
    cold, warm = (json.loads(run.stdout) for run in runs)
    for what in cold:
        print(f"  {what:<34}{cold[what]:9.2f}{warm[what]:9.2f} ms", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sklearn", action="store_true", help="time HistGradientBoosting too")
    parser.add_argument("--trees", action="store_true", help="time trees, beside the peers")
    parser.add_argument("--rows", type=int, default=FOREST_ROWS, help="generated rows for trees")
    options = parser.parse_args()
    if options.trees:
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for task in forest_tasks(options.rows):
            measure_forests(*task)
        return
    task = halves(*letter_like())
    reference = measure_edgewise(*task)
    products = measure_products(*task, reference)
    trees = measure_lightgbm(*task, reference)
    if trees is not None:
        print(f"LightGBM's {TREES[-1]:,} take {trees / products:.1f} x the time of the products")
    if options.sklearn:
        measure_sklearn(*task, reference)
    print()
    measure_edgewise(*halves("generated, continuous columns", *continuous()))


if __name__ == "__main__":
    main()
