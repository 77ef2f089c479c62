"""The tables of the suite: public sets, and generated ones for what public sets lack.

A public set with a published split uses it. The others have three splits, stratified by the class,
with seeds 0 to 2; 30 % of the rows of a public set test. Groups of generated tables, and of public
tables that are changed:

- `categories`: columns of many values, with and without effects, and with values that occur in no
  training row
- `rare`: classes of 0.5 to 5 % of the rows
- `noisy`: unequal classes that overlap, local structure, and many columns that tell nothing

`ids` has a million rows and 100,000 values, and belongs to no group.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from edgewise import datasets
from edgewise.common.dtypes import Reals

N_SPLITS = 3
TEST_SHARE = 0.3
GROUPS = ("public", "categories", "rare", "noisy")


class Split(NamedTuple):
    """Training and test rows of one split: classes as codes, or labels as a 0/1 matrix."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


class Rows(NamedTuple):
    """Rows to split, and how many of them to train on."""

    X: Any
    y: np.ndarray
    n_train: int
    is_new: np.ndarray | None = None  # whether a row can only be a test row


class Recipe(NamedTuple):
    """How to make a table that is no public set."""

    group: str
    make: Callable[[np.random.Generator], Rows]
    needs: str = ""  # the public set that it is made of


def names(group: str) -> list[str]:
    """Return the tables of a group, or a single one by its name."""
    if group == "public":
        return list(datasets.names("classification"))
    return [name for name, recipe in RECIPES.items() if recipe.group == group] or [group]


def is_available(name: str) -> bool:
    """Return whether the files of a table are on this machine."""
    needs = RECIPES[name].needs if name in RECIPES else name
    return not needs or datasets.available(needs)


def n_splits(name: str) -> int:
    """Return the number of splits of a table."""
    is_single = name == "ids" if name in RECIPES else datasets.info(name).n_test > 0
    return 1 if is_single else N_SPLITS


def splits(name: str) -> Iterator[Split]:
    """Yield the splits of a table."""
    if name in RECIPES:
        rows = RECIPES[name].make(np.random.default_rng(0))
    else:
        data = datasets.load(name, download=False)
        if data.y_test is not None:
            y = _codes(np.concatenate([data.y_train, data.y_test]))
            n = len(data.y_train)
            yield Split(data.X_train, y[:n], data.X_test, y[n:])
            return
        n = len(data.y_train)
        rows = Rows(data.X_train, _codes(data.y_train), n - int(np.ceil(TEST_SHARE * n)))
    for seed in range(n_splits(name)):
        yield _split(rows, seed)


def _codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1] if y.ndim == 1 else y


def _split(rows: Rows, seed: int) -> Split:
    X, y, n_train, is_new = rows
    known = np.arange(len(y)) if is_new is None else np.flatnonzero(~is_new)
    train, test = train_test_split(known, train_size=n_train, stratify=y[known], random_state=seed)
    if is_new is not None:
        test = np.concatenate([test, np.flatnonzero(is_new)])
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    return Split(take(train), y[train], take(test), y[test])


# Categories of many values


def _draw(log_odds: Reals, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int)


def _categories(values: np.ndarray) -> pd.Categorical:
    return pd.Categorical([f"v{value}" for value in values.tolist()])


def _frame(X: Reals, **categories: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=list("abcdefgh"[: X.shape[1]]))
    return frame.assign(**{name: _categories(values) for name, values in categories.items()})


def _load(name: str) -> tuple[Any, np.ndarray]:
    """Return all rows of a public set."""
    data = datasets.load(name, download=False)
    if data.y_test is None:
        return data.X_train, _codes(data.y_train)
    join = partial(pd.concat, ignore_index=True) if data.info.n_categorical else np.concatenate
    return join([data.X_train, data.X_test]), _codes(np.concatenate([data.y_train, data.y_test]))


def adult(rng: np.random.Generator, n_values: int) -> Rows:
    """6,000 rows of adult with a column of random values."""
    X, y = _load("adult")
    if n_values:
        X["random"] = _categories(rng.integers(0, n_values, len(X)))
    return Rows(X, y, 6_000)


def adult_drift(rng: np.random.Generator) -> Rows:
    """6,000 rows of adult without a third of the occupations and countries, which others have."""
    X, y = _load("adult")
    is_new = np.zeros(len(y), dtype=bool)
    for name in ("occupation", "native-country"):
        values = X[name].cat.categories.drop("United-States", errors="ignore")
        is_new |= X[name].isin(rng.choice(values, len(values) // 3, replace=False)).to_numpy()
    return Rows(X, y, 6_000, is_new)


def flights_sample(rng: np.random.Generator) -> Rows:
    """20,000 of 60,000 flights."""
    X, y = _load("flights")
    chosen = rng.choice(len(y), 60_000, replace=False)
    return Rows(X.iloc[chosen].reset_index(drop=True), y[chosen], 20_000)


def merchants(rng: np.random.Generator) -> Rows:
    """1,500 merchants of 20 rows, each with an effect of its own."""
    merchant, X = rng.integers(0, 1_500, 60_000), rng.normal(size=(60_000, 5))
    log_odds = 1.2 * rng.normal(size=1_500)[merchant] + X[:, 0] + 0.5 * X[:, 1] * X[:, 2] - 1
    return Rows(_frame(X, merchant=merchant), _draw(log_odds, rng), 30_000)


def new_merchants(rng: np.random.Generator) -> Rows:
    """Merchants as above; half of the test rows have merchants that no training row has."""
    merchant, X = rng.integers(0, 1_500, 45_000), rng.normal(size=(45_000, 5))
    log_odds = rng.normal(size=1_500)[merchant] + 0.7 * X[:, 0] - 0.7 * np.abs(X[:, 1]) - 1
    is_new = merchant >= 1_000
    return Rows(_frame(X, merchant=merchant), _draw(log_odds, rng), 15_000, is_new)


def likes(_: np.random.Generator) -> Rows:
    """Ratings of MovieLens 100K, four stars or more, by user and movie."""
    ratings = datasets.load("ml-100k", download=False).ratings
    frame = pd.DataFrame({"user": _categories(ratings.users), "movie": _categories(ratings.items)})
    return Rows(frame, (ratings.values >= 4).astype(int), 30_000)


def crossed(rng: np.random.Generator) -> Rows:
    """Three columns of 300 values with effects, and one without."""
    values, effects = rng.integers(0, 300, (16_000, 4)), rng.normal(size=(3, 300))
    log_odds = np.sum([effects[j][values[:, j]] for j in range(3)], axis=0)
    frame = pd.DataFrame(
        {name: _categories(column) for name, column in zip("abcd", values.T, strict=True)}
    )
    return Rows(frame, _draw(log_odds, rng), 8_000)


def pairs(rng: np.random.Generator) -> Rows:
    """Two columns of 40 values, whose effect belongs to the pair, and numbers."""
    values, X = rng.integers(0, 40, (40_000, 2)), rng.normal(size=(40_000, 3))
    log_odds = 1.5 * rng.normal(size=(40, 40))[values[:, 0], values[:, 1]] + 0.5 * X[:, 0]
    return Rows(_frame(X, left=values[:, 0], right=values[:, 1]), _draw(log_odds, rng), 20_000)


def zipf(rng: np.random.Generator) -> Rows:
    """5,000 values, a few of them frequent and most of them rare; four classes."""
    frequencies = 1 / np.arange(10, 5_010)
    value = rng.choice(5_000, 40_000, p=frequencies / frequencies.sum())
    X = rng.normal(size=(40_000, 4))
    scores = rng.normal(size=(5_000, 4))[value] + X @ rng.normal(size=(4, 4)) * 0.5
    return Rows(_frame(X, value=value), _draw_classes(scores, np.full(4, 0.25), rng), 20_000)


def ids(rng: np.random.Generator) -> Rows:
    """100,000 values with effects on a million rows."""
    value, X = rng.integers(0, 100_000, 1_000_000), rng.normal(size=(1_000_000, 5))
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcde"))
    frame["id"] = pd.Categorical.from_codes(value, [f"v{i}" for i in range(100_000)])
    return Rows(frame, _draw(rng.normal(size=100_000)[value] + X[:, 0], rng), 900_000)


# Classes that are rare, or that overlap


def _draw_classes(scores: Reals, shares: Reals, rng: np.random.Generator) -> np.ndarray:
    """Draw a class by the softmax of the scores, about `shares` of the rows each."""
    latent, offsets = scores + rng.gumbel(size=scores.shape), np.log(shares)
    for _ in range(30):
        found = np.bincount((latent + offsets).argmax(axis=1), minlength=len(shares))
        offsets += np.log(shares * len(scores)) - np.log(np.maximum(found, 1))
    return (latent + offsets).argmax(axis=1)


def bumps(
    X: Reals, n_classes: int, n_bumps: int, n_columns: int, width: float, rng: np.random.Generator
) -> Reals:
    """Return a score for each class with variance 1: Gaussian bumps in random columns."""
    scores = np.zeros((len(X), n_classes))
    for _ in range(n_bumps):
        columns = rng.choice(X.shape[1], n_columns, replace=False)
        center = X[rng.integers(len(X))][columns]
        height = np.exp(-0.5 * (((X[:, columns] - center) / width) ** 2).sum(axis=1))
        scores += height[:, None] * rng.normal(size=n_classes)
    return (scores - scores.mean(axis=0)) / scores.std(axis=0)


def smooth(
    rng: np.random.Generator,
    n_rows: int,
    n_train: int,
    shares: tuple[float, ...],
    n_columns: int = 10,
    n_noise: int = 0,
    strength: float = 2.0,
    local: float = 1.0,
) -> Rows:
    """Correlated columns with smooth effects and bumps of width 1, `local` times as strong.

    `n_noise` further columns tell nothing. Classes are drawn: no model separates them.
    """
    mixing = rng.normal(size=(n_columns, n_columns)) + 2 * np.eye(n_columns)
    X = rng.normal(size=(n_rows, n_columns)) @ mixing / np.linalg.norm(mixing, axis=0)
    scores = bumps(X, len(shares), 12, 1, 1.5, rng)
    scores += local * bumps(X, len(shares), 60, min(3, n_columns), 1.0, rng)
    y = _draw_classes(strength * scores, np.array(shares), rng)
    X = np.hstack([X, rng.normal(size=(n_rows, n_noise))])
    return Rows(X[:, rng.permutation(X.shape[1])], y, n_train)


def clusters(rng: np.random.Generator, n_rows: int, n_train: int) -> Rows:
    """Two classes in 60 clusters in five columns, 3 % of the labels wrong."""
    centers, cluster = 2 * rng.normal(size=(60, 5)), rng.integers(0, 60, n_rows)
    X = (
        centers[cluster]
        + rng.normal(size=(n_rows, 5)) * rng.uniform(0.2, 0.9, size=60)[cluster, None]
    )
    y = (rng.random(60) < 0.3)[cluster]
    return Rows(X, (y ^ (rng.random(n_rows) < 0.03)).astype(int), n_train)


def rules(rng: np.random.Generator) -> Rows:
    """Three classes of 93, 5 and 2 % by rules of three thresholds each; a few labels are wrong."""
    X = np.hstack([rng.lognormal(size=(12_000, 6)), rng.integers(0, 2, (12_000, 15))])
    levels = np.argsort(np.argsort(X[:, :6], axis=0), axis=0) / len(X)
    y = np.zeros(len(X), dtype=int)
    y[(levels[:, 0] > 0.7) & (levels[:, 1] < 0.35) & (levels[:, 2] > 0.5)] = 1
    y[(levels[:, 0] > 0.85) & (levels[:, 3] < 0.3) & (X[:, 8] == 1)] = 2
    is_wrong = rng.random(len(X)) < 0.003
    y[is_wrong] = rng.integers(0, 3, is_wrong.sum())
    return Rows(X, y, 5_000)


def thin(
    rng: np.random.Generator, name: str, positive: int, share: float, n_train: int, n_rows: int
) -> Rows:
    """Rows of a public set, so few of one class that it has `share` of them."""
    X, y = _load(name)
    y = y == positive
    count = round(share * n_rows)
    chosen = np.concatenate(
        [
            rng.choice(np.flatnonzero(y), count, replace=False),
            rng.choice(np.flatnonzero(~y), n_rows - count, replace=False),
        ]
    )
    X = X.iloc[chosen].reset_index(drop=True) if hasattr(X, "iloc") else X[chosen]
    return Rows(X, y[chosen].astype(int), n_train)


def _rare(share: float, n_train: int, **settings: Any) -> Recipe:
    settings = {"n_rows": max(2 * n_train, 20_000), "strength": 1.5, **settings}
    return Recipe("rare", partial(smooth, shares=(1 - share, share), n_train=n_train, **settings))


SEVEN = (0.005, 0.03, 0.30, 0.44, 0.18, 0.035, 0.01)
FIVE = (0.03, 0.09, 0.22, 0.26, 0.40)
RECIPES: dict[str, Recipe] = {
    "adult-6000": Recipe("categories", partial(adult, n_values=0), "adult"),
    "adult-random-300": Recipe("categories", partial(adult, n_values=300), "adult"),
    "adult-random-1500": Recipe("categories", partial(adult, n_values=1_500), "adult"),
    "adult-random-4000": Recipe("categories", partial(adult, n_values=4_000), "adult"),
    "adult-drift": Recipe("categories", adult_drift, "adult"),
    "flights-20000": Recipe("categories", flights_sample, "flights"),
    "merchants": Recipe("categories", merchants),
    "new-merchants": Recipe("categories", new_merchants),
    "likes": Recipe("categories", likes, "ml-100k"),
    "crossed": Recipe("categories", crossed),
    "pairs": Recipe("categories", pairs),
    "zipf": Recipe("categories", zipf),
    "ids": Recipe("", ids),
    "rare-3%-1100": _rare(0.03, 1_100),
    "rare-1.3%-1450": _rare(0.013, 1_450, n_columns=8, n_noise=20),
    "rare-0.5%-3000": _rare(0.005, 3_000, n_columns=6),
    "rare-1%-10000": _rare(0.01, 10_000, n_noise=10),
    "rare-3%-20000": _rare(0.03, 20_000, local=2.0),
    "rare-0.5%-50000": _rare(0.005, 50_000),
    "rare-letter": Recipe(
        "rare",
        partial(thin, name="letter", positive=16, share=0.01, n_train=1_500, n_rows=12_000),
        "letter",
    ),
    "rare-adult": Recipe(
        "rare",
        partial(thin, name="adult", positive=1, share=0.01, n_train=8_000, n_rows=30_000),
        "adult",
    ),
    "rare-waveform": Recipe(
        "rare",
        partial(thin, name="waveform", positive=0, share=0.03, n_train=1_200, n_rows=3_300),
        "waveform",
    ),
    "rare-rules": Recipe("rare", rules),
    "seven-classes": Recipe("noisy", partial(smooth, n_rows=9_000, n_train=3_500, shares=SEVEN)),
    "five-classes": Recipe(
        "noisy",
        partial(smooth, n_rows=70_000, n_train=50_000, shares=FIVE, n_columns=9, strength=3.0),
    ),
    "clusters": Recipe("noisy", partial(clusters, n_rows=9_000, n_train=3_800)),
    "wide-400x500": Recipe(
        "noisy", partial(smooth, n_rows=5_000, n_train=400, shares=(0.6, 0.4), n_noise=490, local=0)
    ),
    "wide-1500x200": Recipe(
        "noisy", partial(smooth, n_rows=6_000, n_train=1_500, shares=(0.5, 0.3, 0.2), n_noise=190)
    ),
    "wide-5000x100": Recipe(
        "noisy",
        partial(smooth, n_rows=12_000, n_train=5_000, shares=(0.7, 0.3), n_noise=90, strength=1.0),
    ),
}
"""Changed and generated tables by name."""
