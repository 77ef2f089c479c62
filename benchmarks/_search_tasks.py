"""Generated tasks for searches: few or many informative columns out of thousands.

A task is named by its kind, its informative columns and all columns, as in "sum-40-2000":
- sum: the class is the sign of a sum of equal effects, up to noise; fall: effects fall by 7 % from
  one column to the next, so the useful columns change as training goes on;
- classes: six classes, each with effects of its own;
- groups: every 20 informative columns show the same hidden one, up to noise;
- categories: categorical columns of eight values, an effect for each;
- pairs: half of each effect depends on the product of two columns alone.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from _curves import BinnedOnce, Rows
from edgewise.data.columns import CategoricalColumn
from edgewise.data.table import ColumnTable

GENERATED = (
    "sum-2-2000",
    "sum-40-2000",
    "sum-300-2000",
    "sum-1000-2000",
    "sum-40-20000",
    "fall-100-2000",
    "classes-40-2000",
    "groups-400-2000",
    "categories-40-2000",
    "pairs-10-2000",
)
_GROUP, _COMMON = 20, 0.8
_FALL = 0.93
_NOISE = 0.2
_VALUES = tuple("abcdefgh")
N_TRAIN, N_TEST = 3000, 4000


def generate_task(name: str, seed: int, n_train: int = N_TRAIN, n_test: int = N_TEST) -> Rows:
    """Return the rows of a generated task."""
    kind, informative, n_columns = name.split("-")
    rng = np.random.default_rng([seed, *map(ord, name)])
    X, y = made_rows(kind, int(informative), int(n_columns), n_train + n_test, rng)
    table = categorical_table if kind == "categories" else np.asarray
    small = Rows(name, table(X[:500]), y[:500], None, None)
    return Rows(
        name,
        table(X[:n_train]),
        y[:n_train],
        table(X[n_train:]),
        y[n_train:],
        small,
        BinnedOnce(),
    )


def made_rows(
    kind: str, informative: int, n_columns: int, n_rows: int, rng: np.random.Generator
) -> tuple[Any, NDArray[np.int64]]:
    chosen = rng.choice(n_columns, informative, replace=False)
    if kind == "categories":
        codes = rng.integers(len(_VALUES), size=(n_rows, n_columns), dtype=np.int32)
        effects = rng.standard_normal((informative, len(_VALUES)))
        seen = effects[np.arange(informative), codes[:, chosen]]
        return codes, above_0(seen.sum(axis=1) / np.sqrt(informative), rng)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    signs = rng.choice((-1.0, 1.0), informative)
    if kind == "classes":
        scores = X[:, chosen] @ rng.standard_normal((informative, 6))
        return X, (scores + 0.5 * rng.gumbel(size=scores.shape)).argmax(axis=1)
    if kind == "groups":
        hidden = rng.standard_normal((n_rows, informative // _GROUP), dtype=np.float32)
        rest = np.float32(np.sqrt(1 - _COMMON**2))
        X[:, chosen] = np.float32(_COMMON) * np.repeat(hidden, _GROUP, axis=1) + rest * X[:, chosen]
        return X, above_0(hidden @ signs[::_GROUP] / np.sqrt(hidden.shape[1]), rng)
    if kind == "pairs":
        first, second = X[:, chosen[::2]], X[:, chosen[1::2]]
        return X, above_0((np.sign(first * second) + first).sum(axis=1), rng)
    strengths = _FALL ** np.arange(informative) if kind == "fall" else np.ones(informative)
    strengths /= np.sqrt((strengths**2).sum())
    return X, above_0(X[:, chosen] @ (signs * strengths), rng)


def above_0(effects: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    return (effects + _NOISE * rng.standard_normal(len(effects)) > 0).astype(np.int64)


def categorical_table(codes: Any) -> ColumnTable:
    columns = [CategoricalColumn(codes[:, j], _VALUES) for j in range(codes.shape[1])]
    return ColumnTable(columns, None, "value")
