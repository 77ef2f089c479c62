"""Categories of many values: ROC AUC, log loss and CPU time of the defaults of libraries.

Run with `python benchmarks/categories.py [--models edgewise lightgbm catboost] [--sets ...]`. Every
model runs on one thread, and a fit of ours that does not count loads or compiles the kernels. Sets:

- adult: 6,000 rows of adult, alone and with a column of 300, 1,500 or 4,000 random values
- merchants: 30,000 generated rows of 1,500 merchants, each with an effect of its own
- likes: 30,000 ratings of MovieLens 100K, four stars or more, by user and movie
- crossed: 8,000 generated rows of three columns of 300 values with effects, and one without
- ids: 1,000,000 generated rows of 100,000 values with effects; only where it is asked for

Measures are means over three splits, one for ids.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from edgewise import AdaBoostMH, datasets
from edgewise.common.text import text_table
from suite import MODELS

N_SPLITS = 3


class Rows(NamedTuple):
    """Rows to split, and how many of them to train on."""

    X: pd.DataFrame
    y: np.ndarray
    n_train: int


def _drawn(log_odds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int)


def _codes(values: np.ndarray) -> pd.Categorical:
    return pd.Categorical([f"v{value}" for value in values.tolist()])


def adult(n_values: int) -> Callable[[np.random.Generator], Rows]:
    def make(rng: np.random.Generator) -> Rows:
        data = datasets.load("adult", download=False)
        X = pd.concat([data.X_train, data.X_test], ignore_index=True)
        y = np.concatenate([data.y_train, data.y_test])
        if n_values:
            X["random"] = _codes(rng.integers(0, n_values, len(X)))
        return Rows(X, (y == np.unique(y)[1]).astype(int), 6_000)

    return make


def merchants(rng: np.random.Generator) -> Rows:
    merchant, X = rng.integers(0, 1_500, 60_000), rng.normal(size=(60_000, 5))
    log_odds = 1.2 * rng.normal(size=1_500)[merchant] + X[:, 0] + 0.5 * X[:, 1] * X[:, 2] - 1
    frame = pd.DataFrame(X, columns=list("abcde")).assign(merchant=_codes(merchant))
    return Rows(frame, _drawn(log_odds, rng), 30_000)


def likes(_: np.random.Generator) -> Rows:
    ratings = datasets.load("ml-100k", download=False).ratings
    users, items = ratings.users, ratings.items
    frame = pd.DataFrame({"user": _codes(users), "movie": _codes(items)})
    return Rows(frame, (ratings.values >= 4).astype(int), 30_000)


def crossed(rng: np.random.Generator) -> Rows:
    values, effects = rng.integers(0, 300, (16_000, 4)), rng.normal(size=(3, 300))
    log_odds = np.sum([effects[j][values[:, j]] for j in range(3)], axis=0)
    frame = pd.DataFrame(
        {name: _codes(column) for name, column in zip("abcd", values.T, strict=True)}
    )
    return Rows(frame, _drawn(log_odds, rng), 8_000)


def ids(rng: np.random.Generator) -> Rows:
    value, X = rng.integers(0, 100_000, 1_000_000), rng.normal(size=(1_000_000, 5))
    names = [f"v{i}" for i in range(100_000)]
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcde"))
    frame["id"] = pd.Categorical.from_codes(value, names)
    return Rows(frame, _drawn(rng.normal(size=100_000)[value] + X[:, 0], rng), 900_000)


SETS: dict[str, Callable[[np.random.Generator], Rows]] = {
    "adult": adult(0),
    **{f"adult + {n:,} random": adult(n) for n in (300, 1_500, 4_000)},
    "merchants": merchants,
    "likes": likes,
    "crossed": crossed,
    "ids": ids,
}


def measure(model_name: str, rows: Rows, seed: int) -> tuple[float, float, float]:
    """Return ROC AUC, log loss and the CPU seconds of a fit."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    train, test = order[: rows.n_train], order[rows.n_train :]
    X, X_test = rows.X.iloc[train], rows.X.iloc[test]
    categorical = list(X.select_dtypes("category"))
    if model_name == "catboost":
        X, X_test = (
            frame.assign(**{c: frame[c].astype(object).fillna("?") for c in categorical})
            for frame in (X, X_test)
        )
    if model_name == "edgewise":
        AdaBoostMH(n_rounds=8).fit(X, rows.y[train])
    model = MODELS[model_name](categorical)
    start = time.process_time()
    model.fit(X, rows.y[train])
    seconds = time.process_time() - start
    chance = model.predict_proba(X_test)[:, 1]
    return roc_auc_score(rows.y[test], chance), log_loss(rows.y[test], chance), seconds


def main() -> None:
    """Print a table for each measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=["edgewise", "lightgbm", "catboost"])
    parser.add_argument("--sets", nargs="+", default=[name for name in SETS if name != "ids"])
    arguments = parser.parse_args()
    means = {}
    for name in arguments.sets:
        rows = SETS[name](np.random.default_rng(0))
        for model in arguments.models:
            splits = [
                measure(model, rows, seed) for seed in range(1 if name == "ids" else N_SPLITS)
            ]
            means[name, model] = np.mean(splits, axis=0)
            print(name, model, *(f"{value:.4f}" for value in means[name, model]), flush=True)
    for index, title in enumerate(("ROC AUC", "log loss", "CPU seconds")):
        lines = [
            [name, *(f"{means[name, model][index]:.3f}" for model in arguments.models)]
            for name in arguments.sets
        ]
        print(f"\n{title}\n{text_table([['set', *arguments.models], *lines])}")


if __name__ == "__main__":
    main()
