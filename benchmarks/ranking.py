"""CPU time of RankBoost on one thread: compared with LightGBM, and as the data grows.

Run with `python benchmarks/ranking.py [growth lists speed] [--quick]`. `--quick` leaves out the
points with 10^6 rows and trains fewer rounds. Three parts:

growth  Generated lists of about 100 documents with 5 grades, as float32: 10^4 to 10^6 rows of 136
        features, and 17 to 136 features of 10^5 rows. Each point trains twice, in new processes,
        and the faster run counts: the median of its rounds. "binning" is everything before the
        first round. "above input" is the peak memory of training minus the memory before it. "ns"
        is per row and feature of a round: it is constant if growth is linear.
lists   The same rows as one long list, with 5 grades and with a different grade for every document.
        There are far more pairs then, but they are never listed.
speed   300 rounds on the training part of fold 1 of MQ2008, with every threshold and in other
        settings, against LightGBM's lambdarank with 300 trees: CPU time of a whole fit, including
        binning, the median of 5 after a warm-up. The fits take turns, so ratios do not depend on
        how busy the machine is. Needs LightGBM and the data set.
"""

import argparse
import json
import logging
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["EDGEWISE_BACKEND"] = "numba"

import numpy as np

from edgewise import Callback, Product, RankBoost, Tree, datasets

# MQ2008 has queries of one grade; no need to warn.
logging.getLogger("edgewise").setLevel(logging.ERROR)

FEATURES = (17, 34, 68, 136)
# max_bins: the default (65,535 for few rows, 1,024 for many) and two others.
DEFAULT, MOST, LEAST = None, 65535, 256
# Rounds by the number of rows.
ROUNDS = {10_000: 60, 100_000: 30, 1_000_000: 15}
WARM_UP = 3
# The shares of documents with grades 1 to 4; the rest have 0.
GRADES = (0.25, 0.12, 0.06, 0.02)

STUMPS: dict[str, Any] = {"learner": "stump", "objective": "pairs"}
SPEED: dict[str, dict[str, Any]] = {
    "every threshold": {"max_bins": MOST},
    "max_bins=256": {"max_bins": LEAST},
    'criterion="energy"': {"criterion": "energy"},
    "products of 2": {"learner": Product("stump", 2)},
    "trees of 8": {"learner": Tree("stump", 8, "free", "gain")},
}
LIGHTGBM = "LightGBM lambdarank"
REPEATS, FIT_ROUNDS = 5, 300

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


class RoundTimes(Callback):
    """Record the CPU time after every round."""

    def on_start(self, run: Any) -> None:
        self.times = [time.process_time()]

    def on_round(self, run: Any) -> None:
        self.times.append(time.process_time())


def generate_documents(rows: int, features: int, kind: str) -> Columns:
    """Return documents, grades and queries.

    A third of the features correlate with the grades, another third are small counts. The lists
    have 50 to 150 documents, or there is one list; with "continuous" all grades differ.
    """
    rng = np.random.default_rng(0)
    worth = rng.normal(size=rows).astype(np.float32)
    X = np.empty((rows, features), dtype=np.float32)
    for j in range(features):
        column = rng.normal(size=rows).astype(np.float32)
        if j % 3 == 0:
            column += rng.uniform(0.1, 1.0) * worth
        elif j % 3 == 1:
            column = np.floor(np.exp(column + 1))
        X[:, j] = column
    if kind == "continuous":
        y = worth.astype(np.float64)
    else:
        edges = np.quantile(worth, 1 - np.cumsum(GRADES[::-1])[::-1])
        y = np.searchsorted(edges, worth).astype(np.float64)
    if kind != "short lists":
        return X, y, np.zeros(rows, dtype=np.int64)
    sizes = rng.integers(50, 151, size=rows // 50 + 1)
    return X, y, np.repeat(np.arange(len(sizes)), sizes)[:rows]


def mebibytes() -> float:
    """Return the peak memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def point(rows: int, features: int, max_bins: int | None, kind: str, rounds: int) -> dict[str, Any]:
    """Train once; return time and memory."""
    settings = {**STUMPS, "max_bins": max_bins}
    RankBoost(n_rounds=2, **settings).fit(*generate_documents(1000, features, kind))
    X, y, qid = generate_documents(rows, features, kind)
    before, clock = mebibytes(), RoundTimes()
    start = time.process_time()
    model = RankBoost(n_rounds=rounds, n_jobs=1, callbacks=[clock], **settings)
    model.fit(X, y, qid=qid)
    return {
        "rows": rows,
        "features": features,
        "bins": max_bins or "default",
        "ms": 1e3 * float(np.median(np.diff(clock.times)[WARM_UP:])),
        "binning": clock.times[0] - start,
        "above": mebibytes() - before,
        "peak": mebibytes(),
        "loss": float(model.history_["ranking_loss"][-1]),
    }


def in_child(*settings: Any) -> dict[str, Any]:
    """Measure a point in new processes, so that memory starts clean."""
    command = [sys.executable, str(Path(__file__)), "--point", json.dumps(settings)]
    runs = [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(2)
    ]
    return runs[0] | {key: min(run[key] for run in runs) for key in ("ms", "binning")}


def show(found: dict[str, Any], note: str = "") -> None:
    entries = found["rows"] * found["features"]
    print(
        f"{found['rows']:>9,} {found['features']:9} {found['bins']:>7} {found['ms']:9.2f} "
        f"{1e6 * found['ms'] / entries:7.3f} {found['binning']:10.2f} {found['above']:12.0f} "
        f"{found['peak']:9.0f}  {note}",
        flush=True,
    )


def header(title: str) -> None:
    print(
        f"{title}\n     rows  features    bins  ms/round      ns  binning s  above input  peak MiB"
    )


def ratios(new: dict[str, Any], old: dict[str, Any]) -> str:
    """Return the growth from one point to the next."""
    return ", ".join(f"{new[k] / old[k]:.1f} x {k}" for k in ("ms", "binning", "above"))


def growth(quick: bool) -> None:
    sizes = [n for n in ROUNDS if not quick or n < 1_000_000]
    for bins in (DEFAULT, MOST, LEAST):
        header("More rows")
        last = None
        for rows in sizes:
            found = in_child(rows, FEATURES[-1], bins, "short lists", ROUNDS[rows])
            show(found, ratios(found, last) if last else "")
            last = found
    header("More features")
    last = None
    for features in FEATURES:
        found = in_child(100_000, features, DEFAULT, "short lists", ROUNDS[100_000])
        show(found, ratios(found, last) if last else "")
        last = found


def lists(quick: bool) -> None:
    header("One long list")
    few, many = 100_000, 100_000 if quick else 1_000_000
    for rows, kind in ((many, "short lists"), (many, "5 grades")):
        show(in_child(rows, FEATURES[0], DEFAULT, kind, ROUNDS[rows]), kind)
    for kind in ("short lists", "5 grades", "continuous"):
        show(in_child(few, FEATURES[0], DEFAULT, kind, ROUNDS[few]), kind)


def fits(part: Any, rounds: int) -> dict[str, Callable[[], Any]]:
    """Return the fits to time, by title."""
    import lightgbm

    _, starts, counts = np.unique(part.qid, return_index=True, return_counts=True)
    group = counts[np.argsort(starts)]
    options = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1}

    def ours(settings: dict[str, Any]) -> Callable[[], Any]:
        model = RankBoost(n_rounds=rounds, n_jobs=1, **{**STUMPS, **settings})
        return lambda: model.fit(part.X, part.y, qid=part.qid)

    def theirs() -> Any:
        return lightgbm.train(options, lightgbm.Dataset(part.X, part.y, group=group), rounds)

    return {title: ours(settings) for title, settings in SPEED.items()} | {LIGHTGBM: theirs}


def measure_speed(quick: bool) -> None:
    rounds, repeats = (30, 1) if quick else (FIT_ROUNDS, REPEATS)
    try:
        part = datasets.load("mq2008", download=False).fold(1).train
    except datasets.DatasetNotFoundError:
        print("speed skipped: mq2008 is not in $EDGEWISE_DATA or the cache")
        return
    print(f"MQ2008, {len(part.y):,} x {part.X.shape[1]}, {rounds} rounds or trees")
    times: dict[str, list[float]] = {}
    for _ in range(1 + repeats):
        for title, fit in fits(part, rounds).items():
            start = time.process_time()
            fit()
            times.setdefault(title, []).append(time.process_time() - start)
    medians = {title: statistics.median(taken[1:]) for title, taken in times.items()}
    print(f"{'':22} CPU s  ms/round  times LightGBM's  least   most")
    for title, median in medians.items():
        print(
            f"{title:20} {median:7.2f} {1e3 * median / rounds:9.2f} "
            f"{median / medians[LIGHTGBM]:17.2f} {min(times[title][1:]):6.2f} "
            f"{max(times[title][1:]):6.2f}"
        )


PARTS = {"growth": growth, "lists": lists, "speed": measure_speed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="leave out the points with 10^6 rows")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(point(*json.loads(options.point))))
        return
    for name in options.parts:
        PARTS[name](options.quick)
        print()


if __name__ == "__main__":
    main()
