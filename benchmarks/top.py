"""NDCG@10 against CPU seconds on large generated lists: RankBoost, LightGBM and XGBoost.

Run with
    python benchmarks/top.py --seconds 60 --results top.jsonl
    python benchmarks/top.py --rows 1000000 --clicks --results top.jsonl --plot docs/results/top.png
It needs LightGBM and XGBoost. `--only NAME` runs the contenders with NAME in their titles, and
runs that have a line in the results are not repeated. Each is a process of its own, on one thread.

The lists are in the shape of MSLR-WEB: about 120 documents a query, 136 columns, five grades of
which the highest are rare. With `--clicks` grades are the clicks of users who look at the first
documents of an older ranking, which makes most of what is relevant a grade of 0. A fifth of the
queries are tested. Curves are read off models of many rounds: the CPU time until a round has ended,
binning included, and NDCG@10 of the test queries after it.

Peers have their own defaults, and are tuned: of `DRAWS` settings, most of them random, the one with
the highest NDCG@10 on held-out training queries is taken, averaged over the best within a quarter,
a half and the whole of the time. The search has a quarter of the training queries, but no more than
60,000 documents, three quarters of them to train on, and less time by the same share. "RankBoost()"
is untouched: its curve is that of the rounds as they come, on nine tenths of the training queries.

Memory is the peak of the process, and in brackets how far that is above what it had with the rows
and the libraries in memory, after a first round on a few queries.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np

from _results import append, read_lines

COLUMNS, FACTORS = 136, 12
# The shares of documents below each grade.
SHARES = (0.52, 0.84, 0.97, 0.992)
# Rounds after which models are tested.
STAGES = (5, 10, 15, 20, 27, 35, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000)
# Settings that the search for a peer's best tries, and on how many documents at most.
DRAWS, MOST = 8, 60_000
TIMES = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180)


class Lists(NamedTuple):
    """Documents, grades and queries, sorted by query."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def between(self, low: float, high: float) -> "Lists":
        """Return the queries between two shares of all."""
        first, last = int(self.qid[0]), int(self.qid[-1]) + 1
        ends = np.searchsorted(self.qid, [first + s * (last - first) for s in (low, high)])
        part = slice(*ends.tolist())
        return Lists(self.X[part], self.y[part], self.qid[part])

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.qid - self.qid[0])


def generate_lists(rows: int, clicks: bool = False, seed: int = 0) -> Lists:
    """Return documents, grades and queries: see the top of the file."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(40, 201, size=rows // 40)
    qid = np.repeat(np.arange(len(sizes)), sizes)[:rows]
    n_queries = int(qid[-1]) + 1
    z = rng.normal(size=(rows, FACTORS)).astype(np.float32)
    q = rng.normal(size=(n_queries, FACTORS)).astype(np.float32)
    worth = np.tanh(z[:, :4]) @ np.array([1.0, 0.8, 0.6, 0.4], dtype=np.float32)
    worth += 0.7 * z[:, 4] * (q[qid, 0] > 0) - 0.5 * z[:, 5] * (q[qid, 0] <= 0)
    worth += 0.5 * z[:, 6] * z[:, 7] - 0.4 * np.abs(z[:, 8]) + 0.5 * (z[:, 0] > 1) * (z[:, 9] > 0)
    worth += 0.3 * q[qid, 1] + rng.normal(scale=0.8, size=rows).astype(np.float32)
    X = np.empty((rows, COLUMNS), dtype=np.float32)
    for j in range(COLUMNS):
        noise = rng.normal(size=rows).astype(np.float32)
        if j % 17 == 16:
            # What is known of the query alone.
            X[:, j] = q[qid, j // 17] + 0.1 * rng.normal(size=n_queries).astype(np.float32)[qid]
            continue
        part = rng.normal(size=2) * np.array([1.0, 0.4])
        some = rng.choice(FACTORS, size=2, replace=False)
        column = z[:, some] @ part.astype(np.float32) + rng.uniform(0.5, 2.5) * noise
        scale = np.exp(0.5 * q[qid, j % FACTORS])
        kind = j % 4
        if kind == 0:
            column = np.exp(column) * scale
        elif kind == 1:
            column = np.floor(np.exp(column + 1.0))
        elif kind == 2:
            column = np.where(column > rng.normal(), column + q[qid, j % FACTORS], 0.0)
        X[:, j] = column
    if not clicks:
        grades = np.searchsorted(np.quantile(worth, SHARES), worth)
        return Lists(X, grades.astype(np.float64), qid)
    # An older ranking shows the documents; users look at a place with a probability of 1 / place
    # and click on what is worth it. Grades are clicks, of 4 users.
    older = worth + rng.normal(scale=1.5, size=rows)
    order = np.lexsort((-older, qid))
    place = np.empty(rows, dtype=np.int64)
    place[order] = np.arange(rows) - np.searchsorted(qid, qid[order])
    chance = 1.0 / (1.0 + np.exp(2.0 - 1.5 * worth)) / (1.0 + place) ** 0.7
    return Lists(X, rng.binomial(4, chance).astype(np.float64), qid)


def ndcg(y: np.ndarray, scores: np.ndarray, qid: np.ndarray, k: int = 10) -> float:
    """Return the mean NDCG@k of the queries with anything relevant."""
    starts = np.flatnonzero(np.diff(qid, prepend=-1))
    number = np.cumsum(np.diff(qid, prepend=-1) != 0) - 1
    position = np.arange(len(y)) - starts[number]
    weights = np.where(position < k, 1.0 / np.log2(position + 2.0), 0.0)
    gains = 2.0**y - 1.0
    got, best = (
        np.add.reduceat(gains[np.lexsort((-by, qid))] * weights, starts) for by in (scores, y)
    )
    return float((got[best > 0] / best[best > 0]).mean())


class Point(NamedTuple):
    """A model after some rounds: CPU seconds, binning included, and NDCG@10 of the test queries."""

    rounds: int
    seconds: float
    ndcg: float


Settings = dict[str, Any]
Train = Callable[[Settings, Lists, Lists, float], Iterator[Point]]


def lightgbm_curve(
    settings: Settings, train: Lists, test: Lists, seconds: float
) -> Iterator[Point]:
    import lightgbm

    start = time.process_time()
    data = lightgbm.Dataset(train.X, train.y, group=train.sizes)
    booster = lightgbm.Booster({"num_threads": 1, "verbosity": -1, **settings}, data)
    yield from _stages(booster.update, lambda: booster.predict(test.X), start, test, seconds)


def xgboost_curve(settings: Settings, train: Lists, test: Lists, seconds: float) -> Iterator[Point]:
    import xgboost

    start = time.process_time()
    bins = {"max_bin": settings["max_bin"]} if "max_bin" in settings else {}
    data = xgboost.QuantileDMatrix(train.X, train.y, qid=train.qid, **bins)
    booster = xgboost.Booster({"nthread": 1, "tree_method": "hist", **settings}, [data])
    rounds = iter(range(STAGES[-1]))
    yield from _stages(
        lambda: booster.update(data, next(rounds)),
        lambda: booster.inplace_predict(test.X),
        start,
        test,
        seconds,
    )


def _stages(
    update: Callable[[], Any],
    scores: Callable[[], np.ndarray],
    start: float,
    test: Lists,
    seconds: float,
) -> Iterator[Point]:
    """Train round by round; testing takes no time."""
    for t in range(1, STAGES[-1] + 1):
        update()
        spent = time.process_time() - start
        if t in STAGES:
            yield Point(t, spent, ndcg(test.y, scores(), test.qid))
            start += time.process_time() - start - spent
        if spent > seconds:
            return


def our_curve(settings: Settings, train: Lists, test: Lists, seconds: float) -> Iterator[Point]:
    from edgewise import Callback, RankBoost

    class Times(Callback):
        """Record the CPU time after every round."""

        def __init__(self) -> None:
            self.times: list[float] = []

        def on_round(self, run: Any) -> str | None:
            self.times.append(time.process_time() - start)
            return "time limit" if self.times[-1] > seconds else None

    start, clock = time.process_time(), Times()
    model = RankBoost(n_jobs=1, callbacks=[clock], **settings).fit(train.X, train.y, qid=train.qid)
    whole = time.process_time() - start
    for t in (*(t for t in STAGES if t < model.n_rounds_), model.n_rounds_):
        # The rounds that validation looked at and left out take time, too.
        spent = clock.times[t - 1] if t < model.n_rounds_ else whole
        yield Point(t, spent, ndcg(test.y, model.predict(test.X, n_rounds=t), test.qid))


# What a search tries; the first of each is the default of the library.
TREES = {
    "learning_rate": (0.1, 0.05, 0.2, 0.3),
    "num_leaves": (31, 15, 63, 127),
    "min_data_in_leaf": (20, 50, 200),
    "feature_fraction": (1.0, 0.5, 0.25),
    "max_bin": (255, 127, 63),
    "lambda_l2": (0.0, 1.0, 10.0),
}
XGB_TREES = {
    "eta": (0.3, 0.05, 0.1, 0.2),
    "max_leaves": (0, 15, 31, 63, 127),
    "min_child_weight": (1.0, 0.1, 10.0),
    "colsample_bytree": (1.0, 0.5, 0.25),
    "max_bin": (256, 128, 64),
    "lambdarank_num_pair_per_sample": (None, 1, 10, 30, 60),
    "lambdarank_pair_method": ("topk", "mean"),
}
XENDCG, LAMBDARANK = {"objective": "rank_xendcg"}, {"objective": "lambdarank"}
BY_NDCG = {"objective": "rank:ndcg"}
BY_TREES = {"learner": "tree", "objective": "ndcg", "n_rounds": 5}
USUAL: Settings = {
    "num_leaves": 63, "min_data_in_leaf": 50, "feature_fraction": 0.5, "max_bin": 127,
}  # fmt: skip
USUAL_XGB: Settings = {
    "eta": 0.1, "max_leaves": 63, "max_depth": 0, "grow_policy": "lossguide",
    "colsample_bytree": 0.5, "lambdarank_num_pair_per_sample": 30,
}  # fmt: skip
TRUNCATION = {"lambdarank_truncation_level": (30, 10, 60)}


class Contender(NamedTuple):
    """A library with settings, what a search of its best tries, and what loads all of it."""

    train: Train
    settings: Settings
    space: dict[str, tuple] | None = None
    first: Settings = {}  # noqa: RUF012


CONTENDERS = {
    "RankBoost()": Contender(our_curve, {}, first=BY_TREES),
    "LightGBM lambdarank": Contender(lightgbm_curve, LAMBDARANK),
    "LightGBM xendcg": Contender(lightgbm_curve, XENDCG),
    "XGBoost rank:ndcg": Contender(xgboost_curve, BY_NDCG),
    "LightGBM lambdarank, tuned": Contender(lightgbm_curve, LAMBDARANK, TREES | TRUNCATION),
    "LightGBM xendcg, tuned": Contender(lightgbm_curve, XENDCG, TREES),
    "XGBoost rank:ndcg, tuned": Contender(xgboost_curve, BY_NDCG, XGB_TREES),
}


def draw_settings(space: dict[str, tuple]) -> Iterator[Settings]:
    """Return the settings that a search tries: defaults, those usual for such data, random ones."""
    rng = np.random.default_rng(0)
    yield from ({}, USUAL_XGB if "eta" in space else USUAL)
    for _ in range(DRAWS - 2):
        chosen = {name: values[rng.integers(len(values))] for name, values in space.items()}
        if chosen.get("max_leaves"):
            chosen |= {"grow_policy": "lossguide", "max_depth": 0}
        yield {name: value for name, value in chosen.items() if value is not None}


def tune(contender: Contender, train: Lists, seconds: float) -> tuple[Settings, list[Any]]:
    """Return the settings that are best on held-out training queries, and all that were tried."""
    share = min(0.25, MOST / len(train.y))
    part, aside = train.between(0.0, 0.75 * share), train.between(0.75 * share, share)
    limit = seconds * 0.75 * share
    tried = []
    for settings in draw_settings(contender.space or {}):
        points = list(contender.train(contender.settings | settings, part, aside, limit))
        values = [best_until(points, share * limit) or 0.0 for share in (0.25, 0.5, 1.0)]
        tried.append((sum(values) / len(values), settings))
        print(f"    {tried[-1][0]:.4f} {settings}", file=sys.stderr, flush=True)
    return max(tried, key=lambda one: one[0])[1], tried


def best_until(points: list[Any], seconds: float) -> float | None:
    """Return the highest NDCG@10 of the points within a time."""
    return max((value for _, spent, value in points if spent <= seconds), default=None)


def run(title: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Train one contender on the lists of a folder."""
    contender = CONTENDERS[title]
    lists = Lists(*(np.load(folder / f"{name}.npy") for name in Lists._fields))
    train, test = lists.between(0.0, 0.8), lists.between(0.8, 1.0)
    settings, tried = contender.settings, []
    if contender.space is not None:
        chosen, tried = tune(contender, train, seconds)
        settings = settings | chosen
    # Libraries are loaded, and kernels compiled, before.
    few, first = train.between(0.0, 20 / len(train.sizes)), settings | contender.first
    list(contender.train(first, few, few, 0.0))
    before = resident()
    points = list(contender.train(settings, train, test, seconds))
    return {
        "title": title,
        "settings": settings,
        "tried": tried,
        "points": points,
        "peak": mebibytes(),
        "before": before,
    }


def mebibytes() -> float:
    """Return the peak memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident() -> float:
    """Return the memory in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def table(records: list[dict[str, Any]]) -> str:
    """Return the best NDCG@10 up to each time, as Markdown."""
    rows = [["", *(f"{t} s" for t in TIMES), "memory"], ["---"] * (len(TIMES) + 2)]
    for record in records:
        values = [best_until(record["points"], t) for t in TIMES]
        cells = ["-" if value is None else f"{value:.3f}" for value in values]
        above = record["peak"] - record["before"]
        rows.append([record["title"], *cells, f"{record['peak']:.0f} MiB ({above:.0f})"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def draw(groups: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw the curves, a panel for each set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(groups), figsize=(6.4 * len(groups), 4.8), squeeze=False)
    colors = {"RankBoost": "#c03", "LightGBM lambdarank": "#222", "LightGBM xendcg": "#47a"}
    for axis, (name, records) in zip(axes[0], groups.items(), strict=True):
        for record in records:
            title, points = record["title"], np.array(record["points"])
            color = next((c for key, c in colors.items() if title.startswith(key)), "#396")
            line = "--" if "tuned" in title else "-"
            marker = "o" if len(points) == 1 else "."
            axis.plot(points[:, 1], points[:, 2], line, marker=marker, color=color, label=title)
        axis.set(xscale="log", xlabel="CPU seconds, one thread", ylabel="NDCG@10", title=name)
        best = max(value for record in records for _, _, value in record["points"])
        axis.set_ylim(0.82 * best, 1.005 * best)
        axis.grid(alpha=0.3)
    axes[0][-1].legend(fontsize="small", loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--clicks", action="store_true")
    parser.add_argument("--only", action="append", help="titles with NAME in them")
    parser.add_argument("--seconds", type=float, default=90.0, help="where curves end")
    parser.add_argument("--results", type=Path, default=Path("top.jsonl"))
    parser.add_argument("--plot", type=Path, help="draw the curves of all results to this file")
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    parser.add_argument("--one", nargs=2, metavar=("TITLE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(options.one[0], Path(options.one[1]), options.seconds)))
        return
    data = f"{options.rows:,} documents" + (", clicks" if options.clicks else "")
    known = {record["title"] for record in read_lines(options.results) if record["data"] == data}
    titles = [
        title
        for title in CONTENDERS
        if title not in known and (not options.only or any(n in title for n in options.only))
    ]
    with tempfile.TemporaryDirectory() as folder:
        if titles and not options.only_table:
            for name, array in generate_lists(options.rows, options.clicks)._asdict().items():
                np.save(Path(folder) / f"{name}.npy", array)
        for title in titles if not options.only_table else ():
            command = [sys.executable, __file__, "--one", title, folder]
            command += ["--seconds", str(options.seconds)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            record = {"data": data, **json.loads(done.stdout)}
            append(options.results, record)
            for rounds, spent, value in record["points"]:
                print(f"{title:28} {rounds:5} rounds {spent:7.1f} CPU s   NDCG@10 {value:.4f}")
            print(f"{title:28} {record['settings']} {record['peak']:.0f} MiB", flush=True)
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in read_lines(options.results):
        groups.setdefault(record["data"], []).append(record)
    for name, records in groups.items():
        print(f"\n{name}\n\n{table(records)}")
    if options.plot:
        draw(groups, options.plot)


if __name__ == "__main__":
    main()
