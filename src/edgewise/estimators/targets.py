"""Targets of a classifier: y as users give it, labels, initial weights, and rows with them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.backend.arithmetic import exact_sum
from edgewise.common.checks import numbers
from edgewise.common.dtypes import Exacts, Reals, Signs
from edgewise.common.ids import is_missing, text_array
from edgewise.data import Table
from edgewise.data.partition import Partition
from edgewise.estimators.rows import (
    EvalSet,
    Fold,
    TrainingRows,
    ValidationSet,
    bin_mass,
    read_row_weights,
    scale_to_one,
)
from edgewise.model.scorer import CLASS_KINDS, n_scores
from edgewise.objective import Targets

# The folds that choose the number of rounds: their number, and how many of them are used, below
# numbers of rows.
_FOLDS = {1_000: (3, 3), 5_000: (4, 2), math.inf: (5, 1)}


INIT_WEIGHTS = ("auto", "balanced", "uniform")


@dataclass(frozen=True)
class Labels:
    """The targets of a classification problem."""

    classes: NDArray  # sorted; the label names of a multi-label problem
    codes: NDArray[np.int64]  # the index of each row's class, or a 0/1 matrix of labels

    @property
    def multilabel(self) -> bool:
        """Whether a row can have several labels."""
        return self.codes.ndim == 2

    @property
    def n_scores(self) -> int:
        """K: one column for each class, but a single one for two classes."""
        return n_scores(len(self.classes), self.multilabel)

    def matrix(self) -> Signs:
        """Return Y, -1 or +1, of shape (K, n)."""
        if self.multilabel:
            positive = self.codes.T > 0
        elif self.n_scores == 1:
            positive = self.codes[None] > 0
        else:
            positive = self.codes == np.arange(self.n_scores)[:, None]
        return np.ascontiguousarray(np.where(positive, 1, -1).astype(np.int8))

    def target(self) -> NDArray[np.int32]:
        """Return each row's class where there is one column for each, else -1."""
        if self.multilabel or self.n_scores == 1:
            return np.full(len(self.codes), -1, dtype=np.int32)
        return self.codes.astype(np.int32)


@dataclass(frozen=True, eq=False)
class LabeledRows(TrainingRows):
    """Training rows with their targets."""

    labels: Labels
    weights: Reals | None  # all positive
    label_weights: Reals  # (2, K), initial weights of entries by label (-1, +1) and score column
    entry_weights: Reals | None  # (n, K), the user's initial weights
    class_weight: Any = None

    @cached_property
    def all_labels(self) -> Labels:
        """The labels of all rows, also of other processes."""
        if self.partition.is_whole:
            return self.labels
        narrow = self.labels.codes.astype(np.int8 if len(self.labels.classes) < 128 else np.int32)
        return Labels(self.labels.classes, self.partition.allgather_rows(narrow).astype(np.int64))

    @cached_property
    def targets(self) -> Targets:
        """Labels and initial weights for the objective."""
        labels, label_weights = self.labels, self.label_weights
        rows = np.ones(len(labels.codes)) if self.weights is None else self.weights
        entries = None
        if self.entry_weights is not None:
            entries = np.ascontiguousarray(self.entry_weights.T)
        if self.class_weight is not None:
            factors = read_class_weights(self.class_weight, labels)
            if factors is None:
                factors = balance_classes(labels, rows, self.partition)
            if labels.multilabel:
                label_weights = label_weights * factors
                if entries is not None:
                    positive = labels.matrix() > 0
                    entries = entries * np.where(positive, factors[1][:, None], factors[0][:, None])
            else:
                rows = rows * factors[labels.codes]
        # Scaled first, because the sum of huge weights would overflow.
        rows = scale_to_one(rows, self.partition)
        rows = rows / exact_sum(rows, self.partition)
        return Targets(labels.matrix(), labels.target(), rows, label_weights, entries)

    @cached_property
    def offsets(self) -> Reals:
        """ln(w+ / w-) of each score column, which the initial weights add to twice the score.

        Under the initial weights an entry's label is +1 with odds w+ p / (w- (1 - p)), and the
        score estimates half the logarithm of that.
        """
        low, high = self.label_weights
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.entry_weights is not None:
                positive = self.labels.matrix() > 0
                low, high = (self._mean_entry_weights(side) for side in (~positive, positive))
            offsets = np.log(high / low)
        return np.where(np.isfinite(offsets), offsets, 0.0)

    def _mean_entry_weights(self, entries: NDArray[np.bool_]) -> Reals:
        """Return the mean weight of some entries, by score column."""
        assert self.entry_weights is not None
        columns = zip(self.entry_weights.T, entries, strict=True)
        sums = np.array([exact_sum(weights[rows], self.partition) for weights, rows in columns])
        return sums / self.partition.sum(entries.sum(axis=1))

    @cached_property
    def _all_weights(self) -> Reals | None:
        """The weights of all rows; None where they are equal."""
        weights = self.partition.allgather_rows(self.targets.row_weights)
        return None if (weights == weights[0]).all() else weights

    def bin_mass(self, weighted: bool) -> Exacts | None:
        return bin_mass(self.targets.row_weights if weighted else self.weights, self.partition)

    def take(self, rows: NDArray[np.intp]) -> "LabeledRows":
        local = self.partition.local_rows(rows)
        return replace(
            self,
            table=self.table.take(rows),
            labels=Labels(self.labels.classes, self.labels.codes[local]),
            weights=None if self.weights is None else self.weights[local],
            entry_weights=None if self.entry_weights is None else self.entry_weights[local],
        )

    def hold_out(self, fraction: float, seed: int) -> tuple["LabeledRows", ValidationSet]:
        n, labels = self.partition.n_rows, self.all_labels
        rng = np.random.default_rng(seed)
        groups = [np.arange(n)]
        if not labels.multilabel:
            groups = [np.flatnonzero(labels.codes == k) for k in range(len(labels.classes))]
        # At least one row of each class stays for training.
        sizes = [min(round(fraction * len(group)), len(group) - 1) for group in groups]
        drawn = [rng.permutation(group)[:size] for group, size in zip(groups, sizes, strict=True)]
        held_out = np.sort(np.concatenate(drawn))
        kept = np.setdiff1d(np.arange(n), held_out)
        if len(held_out) == 0 or len(kept) == 0:
            raise ValueError(
                f"validation_fraction={fraction} of {n} rows leaves {len(kept)} to train on and "
                f"{len(held_out)} to validate on"
            )
        return self.take(kept), ValidationSet(labels.codes[held_out], self.table.take(held_out))

    def folds(self, seed: int) -> list[Fold]:
        """Return the folds that choose rounds; none for a single row."""
        n_rows = self.partition.n_rows
        n_folds, n_used = next(folds for limit, folds in _FOLDS.items() if n_rows < limit)
        return self.deal(n_folds, seed)[:n_used]

    def deal(self, n_folds: int, seed: int) -> list[Fold]:
        every = np.arange(self.partition.n_rows)
        folds = fold_rows(self.all_labels, n_folds, seed)
        return [(np.setdiff1d(every, inside, assume_unique=True), inside) for inside in folds]

    def fold_targets(self, rows: NDArray[np.intp]) -> ValidationSet:
        weights = self._all_weights
        targets = self.all_labels.codes[rows]
        return ValidationSet(targets, weights=None if weights is None else weights[rows])

    def sample(self, fraction: float, seed: int) -> NDArray[np.intp]:
        """Draw a fraction of the rows, class by class, at least one row of each."""
        return sample_rows(self.all_labels, fraction, seed)

    def read_eval_set(self, eval_set: EvalSet) -> ValidationSet:
        table, (y,) = self.read_validation_rows(eval_set, "(X, y)")
        labels = self.labels
        codes = encode_labels(y, labels.classes, labels.multilabel, eval_set.argument, table.n_rows)
        return ValidationSet(table.partition.allgather_rows(codes), table, name=eval_set.name)


def fold_rows(labels: Labels, n_folds: int, seed: int) -> list[NDArray[np.intp]]:
    """Deal the rows out to folds, class by class, and return the rows of each.

    The only row of a class is in none of them, so that every class has rows outside each fold.
    There are fewer folds where there are fewer rows, and none for a single row.
    """
    n, rng = len(labels.codes), np.random.default_rng([seed, 3])
    order = rng.permutation(n)
    if not labels.multilabel:
        order = order[np.argsort(labels.codes[order], kind="stable")]
        order = order[np.bincount(labels.codes)[labels.codes[order]] > 1]
    n_folds = min(n_folds, len(order))
    return [np.sort(order[f::n_folds]) for f in range(n_folds)] if n_folds > 1 else []


def sample_rows(labels: Labels, fraction: float, seed: int) -> NDArray[np.intp]:
    """Draw a fraction of the rows, class by class, at least one row of each."""
    rng = np.random.default_rng([seed, 4])
    order = rng.permutation(len(labels.codes))
    if labels.multilabel:
        return np.sort(order[: math.ceil(fraction * len(order))])
    order = order[np.argsort(labels.codes[order], kind="stable")]
    classes = np.split(order, np.cumsum(np.bincount(labels.codes))[:-1])
    return np.sort(np.concatenate([rows[: math.ceil(fraction * len(rows))] for rows in classes]))


def read_rows(
    X: Table,
    y: Any,
    sample_weight: Any,
    init_weights: Any,
    uses_softmax: bool,
    class_weight: Any = None,
) -> LabeledRows:
    """Return the training rows of positive weight, after checking targets and weights."""
    _check_length(y, X.n_rows)
    partition = X.partition
    weights = read_row_weights(sample_weight, X.n_rows, partition)
    keep = None if weights is None or partition.all(weights.all()) else weights > 0
    labels = read_labels(y, partition, keep)
    if class_weight is not None:
        read_class_weights(class_weight, labels)
    by_label, by_entry = read_init_weights(init_weights, labels, X.n_rows, uses_softmax)
    if keep is None or weights is None:
        return LabeledRows(X, labels, weights, by_label, by_entry, class_weight)
    if by_entry is not None:
        by_entry = by_entry[keep]
        if not partition.any((by_entry > 0).any()):
            raise ValueError("init_weights are all 0 on the rows of positive sample_weight")
    rows = X.take(np.flatnonzero(partition.allgather_rows(keep)))
    return LabeledRows(rows, labels, weights[keep], by_label, by_entry, class_weight)


def _check_length(y: Any, n_rows: int) -> None:
    if y is None:
        raise ValueError("y cannot be None: requires y to be passed, but the target y is None")
    try:
        shape = y.shape if sparse.issparse(y) else np.asarray(y).shape
    except ValueError as error:
        raise ValueError(
            "y has rows of different lengths; scikit-learn's MultiLabelBinarizer makes a 0/1 "
            "matrix of lists of labels"
        ) from error
    if not shape or shape[0] != n_rows:
        raise ValueError(
            "X and y must have the same number of rows, got inconsistent numbers of samples: "
            f"{[n_rows, *shape[:1]]}"
        )


def read_labels(y: Any, partition: Partition, keep: NDArray[np.bool_] | None) -> Labels:
    """Return the labels in `y`, of the rows to `keep` only if given."""
    from sklearn.utils import assert_all_finite, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, type_of_target

    # An Arrow table has its names under another name; its columns are arrays.
    names = [str(name) for name in getattr(y, "column_names", getattr(y, "columns", []))]
    array = plain_labels(y)
    kind = type_of_target(array, input_name="y") if array.size else "empty"
    multilabel = array.ndim == 2 and array.shape[1] > 1 and kind.startswith("multilabel")
    form = (array.shape[1], names) if multilabel else array.dtype.kind in "OSTU"
    if len({str(other) for other in partition.collective.gather(form)}) > 1:
        raise ValueError(
            "y must have the same labels, only strings, or only numbers in all partitions"
        )
    if multilabel:
        codes = _indicators(array, "y")
        codes = codes if keep is None else codes[keep]
        return Labels(np.array(names or range(codes.shape[1])), codes)
    values = column_or_1d(array, warn=True)
    assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    values = values if keep is None else values[keep]
    classes = np.unique(np.concatenate(partition.collective.gather(np.unique(values))))
    _check_classes(classes)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least two"
            + ("" if keep is None else " among the rows of positive sample_weight")
        )
    return Labels(classes, np.searchsorted(classes, values).astype(np.int64))


def encode_labels(
    y: Any, classes: NDArray, multilabel: bool, name: str, n_rows: int
) -> NDArray[np.int64]:
    """Return the targets of other rows in the codes of training."""
    array = plain_labels(y, name)
    if len(array) != n_rows:
        raise ValueError(f"{name} has {len(array)} targets for {n_rows} rows of X")
    if multilabel:
        if array.ndim != 2 or array.shape[1] != len(classes):
            raise ValueError(
                f"{name} must have a column for each of the {len(classes)} labels, got shape "
                f"{array.shape}"
            )
        return _indicators(array, name)
    values = array.ravel()
    if (values.dtype.kind in "UO") != (classes.dtype.kind in "UO"):
        raise ValueError(
            f"{name} has the class {values.tolist()[0]!r}, where training had classes of another "
            f"type, such as {classes.tolist()[0]!r}"
        )
    codes = np.minimum(np.searchsorted(classes, values), len(classes) - 1)
    unknown = classes[codes] != values
    if unknown.any():
        raise ValueError(f"{name} has the class {values[unknown][0]}, which training did not have")
    return codes


def plain_labels(y: Any, name: str = "y") -> NDArray:
    """Return targets as an array of numbers or of strings, whatever they came in."""
    array = _as_array(y)
    _check_objects(array, name)
    if array.dtype.kind == "O" and not any(isinstance(value, str) for value in array.flat):
        # Numbers that came as objects, as nullable columns do.
        array = np.array(array.tolist())
        if array.dtype.kind == "O":
            raise ValueError(f"{name} must hold numbers of at most 64 bits")
    return array


def _as_array(y: Any) -> NDArray:
    if sparse.issparse(y):
        return y.toarray()
    if np.ma.is_masked(y):
        raise ValueError("y must not be masked: leave rows without a target out")
    if isinstance(y, (list, tuple)) and any(isinstance(value, str) for value in y):
        # Of a list of several types, NumPy would make strings.
        y = np.array(y, dtype=object)
        _check_objects(y)
        y = text_array("y", y.tolist()) if y.ndim == 1 else y
    array = np.asarray(y)
    return np.array(array.tolist()) if array.dtype.kind == "T" else array


def _indicators(labels: NDArray, name: str) -> NDArray[np.int64]:
    """Return a 0/1 matrix, or raise if it holds anything else."""
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{name} must hold only 0 and 1 in a multi-label problem")
    return labels.astype(np.int64)


def _check_objects(values: NDArray, name: str = "y") -> None:
    """Raise if targets that are Python objects have missing ones or mix strings with others."""
    if values.dtype.kind != "O":
        return
    if any(is_missing(value) for value in values.flat):
        raise ValueError(f"{name} contains missing values (None or NaN): Input {name} contains NaN")
    kinds = {type(value) for value in values.flat}
    listed = ", ".join(sorted(kind.__name__ for kind in kinds))
    if len({issubclass(kind, str) for kind in kinds}) > 1:
        raise ValueError(f"{name} mixes classes of different types: {listed}")
    if not all(issubclass(kind, (str, int, float, np.number, np.bool_)) for kind in kinds):
        raise TypeError(
            f"{name} must hold numbers or strings, got {listed}; scikit-learn's "
            "MultiLabelBinarizer makes a 0/1 matrix of lists of labels"
        )


def _check_classes(classes: NDArray) -> None:
    """Raise if a model file could not hold the classes."""
    kind, size = classes.dtype.kind, classes.dtype.itemsize
    if kind not in CLASS_KINDS or (kind in "iuf" and size > 8):
        raise TypeError(f"y must hold numbers or strings, got {classes.dtype}")
    if kind == "U":
        text_array("y", classes.tolist())


def read_class_weights(class_weight: Any, labels: Labels) -> Reals | None:
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


def balance_classes(labels: Labels, rows: Reals, partition: Partition) -> Reals:
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
    init_weights: Any, labels: Labels, n_rows: int, uses_softmax: bool
) -> tuple[Reals, Reals | None]:
    """Return initial weights by label (-1, +1) and score column, and by entry if given."""
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
