"""NDCG@10 against CPU seconds on large generated lists: RankBoost, LightGBM and XGBoost.

Run with `python benchmarks/top.py [--rows 300000] [--clicks] [--only NAME] [--seconds 120]`, on one
thread. The lists are in the shape of MSLR-WEB: about 120 documents a query, 136 columns, five
grades of which the highest are rare. With `--clicks` grades are the clicks of users who look
at the first documents of an older ranking, which makes most of what is relevant a grade of 0. A
fifth of the queries are tested. Curves are read off models of many rounds: the CPU time until a
round has ended, binning included, and NDCG@10 of the test queries after it. Peers have their own
defaults, and one other setting each that is usual for such data ("tuned"; nothing was searched).
"""

import argparse
import os
import resource
import time
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("EDGEWISE_BACKEND", "numba")

import numpy as np

COLUMNS, FACTORS = 136, 12
# The shares of documents below each grade.
SHARES = (0.52, 0.84, 0.97, 0.992)
# Rounds after which models are tested.
STAGES = (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000)

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def generated(rows: int, clicks: bool = False, seed: int = 0) -> Data:
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
        return X, np.searchsorted(np.quantile(worth, SHARES), worth).astype(np.float64), qid
    # An older ranking shows the documents; users look at a place with a probability of 1 / place
    # and click on what is worth it. Grades are clicks, of 4 users.
    older = worth + rng.normal(scale=1.5, size=rows)
    order = np.lexsort((-older, qid))
    place = np.empty(rows, dtype=np.int64)
    place[order] = np.arange(rows) - np.searchsorted(qid, qid[order])
    chance = 1.0 / (1.0 + np.exp(2.0 - 1.5 * worth)) / (1.0 + place) ** 0.7
    return X, rng.binomial(4, chance).astype(np.float64), qid


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


def sizes_of(qid: np.ndarray) -> np.ndarray:
    return np.bincount(qid - qid[0])


OURS: dict[str, dict[str, Any]] = {
    'RankBoost("tree", "ndcg")': {"learner": "tree", "objective": "ndcg"},
    "RankBoost()": {"n_rounds": "auto"},
}
LIGHTGBM = {
    "LightGBM lambdarank": {"objective": "lambdarank"},
    "LightGBM lambdarank tuned": {
        "objective": "lambdarank", "num_leaves": 63, "learning_rate": 0.1,
        "min_data_in_leaf": 50, "feature_fraction": 0.5, "max_bin": 127,
    },
    "LightGBM xendcg": {"objective": "rank_xendcg"},
    "LightGBM xendcg tuned": {
        "objective": "rank_xendcg", "num_leaves": 63, "learning_rate": 0.1,
        "min_data_in_leaf": 50, "feature_fraction": 0.5, "max_bin": 127,
    },
}  # fmt: skip
XGBOOST = {
    "XGBoost rank:ndcg": {"objective": "rank:ndcg", "tree_method": "hist"},
    "XGBoost rank:ndcg tuned": {
        "objective": "rank:ndcg", "tree_method": "hist", "max_leaves": 63, "max_depth": 0,
        "grow_policy": "lossguide", "eta": 0.1, "colsample_bytree": 0.5,
        "lambdarank_num_pair_per_sample": 30, "lambdarank_pair_method": "topk",
    },
}  # fmt: skip


class Curve:
    """CPU seconds and NDCG@10 after the stages, without the time of testing."""

    def __init__(self, title: str, test: Data, seconds: float) -> None:
        self.title, self.test, self.seconds = title, test, seconds
        self.spent, self.since, self.done = 0.0, time.process_time(), False

    def at(self, n_rounds: int, scores: Any) -> bool:
        """Note a stage; `scores` returns those of the test queries. True is the end."""
        self.spent += time.process_time() - self.since
        value = ndcg(self.test[1], scores(), self.test[2])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{self.title:28} {n_rounds:5} rounds {self.spent:7.1f} CPU s   NDCG@10 {value:.4f}"
            f"   {peak:6.0f} MiB",
            flush=True,
        )
        self.since = time.process_time()
        return self.spent > self.seconds


def train_lightgbm(curve: Curve, settings: dict[str, Any], train: Data, test: Data) -> None:
    import lightgbm

    X, y, qid = train
    options = {"num_threads": 1, "verbosity": -1, **settings}
    data = lightgbm.Dataset(X, y, group=sizes_of(qid))
    booster = lightgbm.Booster(options, data)
    for t in range(1, STAGES[-1] + 1):
        booster.update()
        if t in STAGES and curve.at(t, lambda: booster.predict(test[0])):
            return


def train_xgboost(curve: Curve, settings: dict[str, Any], train: Data, test: Data) -> None:
    import xgboost

    X, y, qid = train
    data = xgboost.QuantileDMatrix(X, y, qid=qid)
    booster = xgboost.Booster({"nthread": 1, **settings}, [data])
    tested = xgboost.DMatrix(test[0])
    for t in range(STAGES[-1]):
        booster.update(data, t)
        if t + 1 in STAGES and curve.at(t + 1, lambda: booster.predict(tested)):
            return


def train_edgewise(curve: Curve, settings: dict[str, Any], train: Data, test: Data) -> None:
    from edgewise import Callback, RankBoost

    class Times(Callback):
        """Record the CPU time after every round."""

        def __init__(self) -> None:
            self.times: list[float] = []

        def on_round(self, run: Any) -> str | None:
            self.times.append(time.process_time())
            late = self.times[-1] - curve.since > curve.seconds
            return "time limit" if late else None

    X, y, qid = train
    few = np.searchsorted(qid, qid[0] + 20)
    # Kernels are compiled once, and kept.
    trees = {"learner": "tree", "objective": "ndcg", "n_rounds": 3}
    RankBoost(n_jobs=1, **trees).fit(X[:few], y[:few], qid=qid[:few])
    curve.since = time.process_time()
    clock = Times()
    model = RankBoost(n_jobs=1, callbacks=[clock], **{"n_rounds": STAGES[-1], **settings})
    model.fit(X, y, qid=qid)
    whole, since, chooses = time.process_time() - curve.since, curve.since, len(settings) < 2
    for t, scores in enumerate(model.staged_predict(test[0]), 1):
        if t == model.n_rounds_ or (t in STAGES and not chooses):
            # The rounds that validation looked at and left out take time, too.
            curve.spent = whole if chooses else clock.times[t - 1] - since
            curve.since = time.process_time()
            curve.at(t, partial(np.asarray, scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--clicks", action="store_true")
    parser.add_argument("--only", action="append", help="titles with NAME in them")
    parser.add_argument("--seconds", type=float, default=120.0, help="where curves end")
    options = parser.parse_args()
    X, y, qid = generated(options.rows, options.clicks)
    first_test = int(0.8 * (qid[-1] + 1))
    cut = int(np.searchsorted(qid, first_test))
    train, test = (X[:cut], y[:cut], qid[:cut]), (X[cut:], y[cut:], qid[cut:])
    del X
    for runs, fit in (
        (OURS, train_edgewise), (LIGHTGBM, train_lightgbm), (XGBOOST, train_xgboost),
    ):  # fmt: skip
        for title, settings in runs.items():
            if not options.only or any(name in title for name in options.only):
                fit(Curve(title, test, options.seconds), settings, train, test)


if __name__ == "__main__":
    main()
