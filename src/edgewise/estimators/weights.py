"""Weights of rows, classes and entries, from the arguments of `fit` to the first round."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import exact_sum
from edgewise.common.checks import numbers
from edgewise.common.dtypes import Exacts, Reals
from edgewise.data.partition import Partition

if TYPE_CHECKING:
    from edgewise.estimators.targets import Labels

INIT_WEIGHTS = ("auto", "balanced", "uniform")


def read_row_weights(
    sample_weight: Any, n_rows: int, partition: Partition | None = None
) -> Reals | None:
    """Return the weights of the rows, checked."""
    if sample_weight is None:
        return None
    weights = numbers("sample_weight", sample_weight, ndim=None)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must have the shape ({n_rows},), got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
    positive = (weights > 0).any()
    if not (positive if partition is None else partition.any(positive)):
        raise ValueError("sample_weight must have at least one positive weight, but all are zero")
    return weights


def scale_to_one(weights: Reals, partition: Partition | None = None) -> Reals:
    """Return weights times the power of 2, which rounds nothing, that makes the largest about 1."""
    largest = float(np.abs(weights).max(initial=0.0))
    if partition is not None:
        largest = partition.max(largest)
    return np.ldexp(weights, -int(np.frexp(largest)[1]))


def bin_mass(weights: Reals | None, partition: Partition) -> Exacts | None:
    """Return row weights as integers for binning: whole numbers as they are, others scaled."""
    if weights is None:
        return None
    n, largest = partition.n_rows, partition.max(float(weights.max(initial=0.0)))
    if partition.all((weights == np.rint(weights)).all()) and largest < 2.0**62 / n:
        return weights.astype(np.int64)
    shift = 62 - int(np.ceil(np.log2(n + 1))) - int(np.frexp(largest)[1])
    return np.rint(np.ldexp(weights, shift)).astype(np.int64)


def read_class_weights(class_weight: Any, labels: "Labels") -> Reals | None:
    """Return the factors that `class_weight` gives, checked; None if it is "balanced".

    There is one for each class. A multi-label problem has a list with a dict {0: weight, 1: weight}
    for each label, and factors by label (-1, +1) and label column.
    """
    classes = labels.classes.tolist()
    if isinstance(class_weight, str) and class_weight == "balanced":
        return None
    values: Sequence[Any]
    if labels.multilabel:
        dicts = class_weight if isinstance(class_weight, list) else []
        if len(dicts) != len(classes) or not all(isinstance(w, dict) for w in dicts):
            raise ValueError(
                f"class_weight must be 'balanced' or a list of {len(classes)} dicts, one for each "
                f"label, got {class_weight!r}"
            )
        values = [[w.get(value, 1.0) for w in dicts] for value in (0, 1)]
    elif isinstance(class_weight, dict):
        unknown = [label for label in class_weight if label not in classes]
        if unknown:
            raise ValueError(f"class_weight has the class {unknown[0]!r}, which y does not have")
        values = [class_weight.get(label, 1.0) for label in classes]
    else:
        kind = ValueError if isinstance(class_weight, str) else TypeError
        raise kind(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    factors = numbers("class_weight", values, ndim=None)
    if not _are_weights(factors):
        raise ValueError(f"class_weight must hold non-negative numbers, got {class_weight!r}")
    return factors


def _are_weights(values: Reals) -> bool:
    return bool(np.isfinite(values).all() and (values >= 0).all() and (values > 0).any())


def balance_classes(labels: "Labels", rows: Reals, partition: Partition) -> Reals:
    """Return the factors of ``class_weight="balanced"``, given the weights of the rows."""
    total = exact_sum(rows, partition)

    def masses(codes: NDArray[np.int64], n_codes: int) -> Reals:
        return np.array([exact_sum(rows[codes == code], partition) for code in range(n_codes)])

    if labels.multilabel:
        by_label = np.stack([masses(codes, 2) for codes in labels.codes.T], axis=1)
        return total / np.where(by_label > 0, 2 * by_label, 2 * total)
    by_class = masses(labels.codes, len(labels.classes))
    return exact_sum(by_class) / (len(labels.classes) * by_class)


def read_init_weights(
    init_weights: Any, labels: "Labels", n_rows: int, uses_softmax: bool
) -> tuple[Reals, Reals | None]:
    """Return initial weights by label (-1, +1) and score column, and those of entries if given."""
    k = labels.n_scores
    is_named = isinstance(init_weights, str)
    if init_weights is None or (is_named and init_weights not in INIT_WEIGHTS):
        raise ValueError(
            f"init_weights must be 'auto', 'balanced', 'uniform' or a matrix, got {init_weights!r}"
        )
    is_uniform = is_named and init_weights in ("auto", "uniform")
    softmax = uses_softmax and k > 1 and not labels.multilabel
    if softmax and not is_uniform:
        raise ValueError("init_weights must be 'auto' or 'uniform' for loss='softmax'")
    if is_named:
        if labels.multilabel and not is_uniform:
            raise ValueError("init_weights must be 'uniform' or a matrix for multi-label targets")
        if labels.multilabel or init_weights == "uniform" or k == 1 or softmax:
            return np.full((2, k), 1.0 / k), None
        return np.array([np.full(k, 0.5 / (k - 1)), np.full(k, 0.5)]), None
    matrix = numbers("init_weights", init_weights, ndim=None)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.shape != (n_rows, k):
        raise ValueError(
            f"init_weights must have the shape {(n_rows, k)}, one column for each class and a "
            f"single one for two classes, got {matrix.shape}"
        )
    if not _are_weights(matrix):
        raise ValueError("init_weights must be finite, not negative and not all 0")
    return np.ones((2, k)), matrix
