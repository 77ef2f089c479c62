"""The rows that a classifier trains and validates on, read and checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals
from edgewise.data import Table, as_table
from edgewise.estimators.targets import (
    Labels,
    encode_labels,
    read_init_weights,
    read_labels,
    read_row_weights,
)


@dataclass(frozen=True)
class Rows:
    """Training rows.

    Attributes
    ----------
    table : Table
        Their features.
    labels : Labels
        Their targets.
    weights : float64 array or None
        Their weights, all positive.
    init_weights : str or float64 array of shape (n, K)
        The initial weights asked for.
    """

    table: Table
    labels: Labels
    weights: Reals | None
    init_weights: Any

    def take(self, rows: NDArray[np.intp]) -> "Rows":
        """Return some of the rows."""
        return Rows(
            self.table.take(rows),
            self.labels.take(rows),
            None if self.weights is None else self.weights[rows],
            self.init_weights if isinstance(self.init_weights, str) else self.init_weights[rows],
        )


@dataclass(frozen=True)
class HeldOut:
    """Validation rows: features and coded targets."""

    table: Table
    codes: NDArray[np.int64]


def read_rows(X: Table, y: Any, sample_weight: Any, init_weights: Any) -> Rows:
    """Return the training rows, without those of weight 0.

    Raises
    ------
    ValueError
        If X, y and the weights do not fit together, or y is no classification target.
    """
    n_targets = X.n_rows if y is None else _length(y)
    if n_targets != X.n_rows:
        raise ValueError(
            f"X and y must have the same number of rows, got inconsistent numbers of samples: "
            f"{[X.n_rows, n_targets]}"
        )
    weights = read_row_weights(sample_weight, X.n_rows)
    keep = None
    if weights is not None and (weights == 0).any():
        keep = np.flatnonzero(weights)
    labels = read_labels(y, keep)
    checked = read_init_weights(init_weights, labels, X.n_rows)
    if keep is None or weights is None:
        return Rows(X, labels, weights, checked)
    if not isinstance(checked, str):
        checked = checked[keep]
        if not (checked > 0).any():
            raise ValueError("init_weights are all 0 on the rows of positive sample_weight")
    return Rows(X.take(keep), labels, weights[keep], checked)


def _length(y: Any) -> int:
    """Return the number of targets, in whatever form they come."""
    shape = y.shape if sparse.issparse(y) else np.asarray(y).shape
    if not shape:
        raise ValueError(f"y must hold one target for each row of X, got {y!r}")
    return int(shape[0])


def read_held_out(eval_set: Any, like: Rows, infinite: str) -> HeldOut:
    """Return the validation rows that the user gave.

    Raises
    ------
    ValueError
        If `eval_set` is not a pair, or does not match the training rows.
    """
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not isinstance(eval_set, tuple) or len(eval_set) != 2:
        raise ValueError("eval_set must be a tuple (X, y)")
    table = read_validation(eval_set[0], like.table, infinite)
    codes = encode_labels(eval_set[1], like.labels, "eval_set")
    if len(codes) != table.n_rows:
        raise ValueError(f"eval_set has {table.n_rows} rows and {len(codes)} targets")
    return HeldOut(table, codes)


def read_validation(X: Any, like: Table, infinite: str) -> Table:
    """Return validation rows, which must have the columns of the training rows."""
    table = as_table(X, infinite).declare(list(like.categorical))
    if table.n_columns != like.n_columns:
        raise ValueError(f"eval_set has {table.n_columns} columns, X has {like.n_columns}")
    if table.names is not None and like.names is not None:
        differing = [a for a, b in zip(table.names, like.names, strict=True) if a != b]
        if differing:
            raise ValueError(f"eval_set has the column {differing[0]!r} where X has another")
    return table


def split(rows: Rows, fraction: float, seed: int) -> tuple[Rows, HeldOut]:
    """Set a random share of the rows aside for validation, class by class.

    Raises
    ------
    ValueError
        If the split would leave nothing to train on or to validate on.
    """
    n = rows.table.n_rows
    rng = np.random.default_rng(seed)
    if rows.labels.multilabel:
        groups = [np.arange(n)]
    else:
        groups = [np.flatnonzero(rows.labels.codes == k) for k in range(len(rows.labels.classes))]
    aside = np.sort(np.concatenate([_some(rng, group, fraction) for group in groups]))
    kept = np.setdiff1d(np.arange(n), aside)
    if len(aside) == 0 or len(kept) == 0:
        raise ValueError(
            f"validation_fraction={fraction} of {n} rows leaves {len(kept)} to train on and "
            f"{len(aside)} to validate on"
        )
    return rows.take(kept), HeldOut(rows.table.take(aside), rows.labels.codes[aside])


def _some(rng: np.random.Generator, group: NDArray[np.intp], fraction: float) -> NDArray[np.intp]:
    """Return a random share of a class; at least one of its rows stays for training."""
    size = min(round(fraction * len(group)), len(group) - 1)
    return rng.permutation(group)[:size]
