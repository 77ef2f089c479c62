"""Targets and weights of a classifier: from y as users give it to labels and initial weights."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.backend.arithmetic import exact_sum
from edgewise.common.dtypes import Exacts, Reals, Signs
from edgewise.common.ids import is_missing, text_array
from edgewise.data import Table
from edgewise.data.partition import Partition
from edgewise.estimators.columns import read_validation_table
from edgewise.estimators.validation import EvalSet, ValidationSet
from edgewise.model.scorer import CLASS_KINDS, n_scores
from edgewise.objective import Targets

INIT_WEIGHTS = ("auto", "balanced", "uniform")

_LISTS = "scikit-learn's MultiLabelBinarizer makes a 0/1 matrix of lists of labels"


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
            return np.ascontiguousarray(np.where(self.codes.T > 0, 1, -1).astype(np.int8))
        if self.n_scores == 1:
            return np.where(self.codes[None] > 0, 1, -1).astype(np.int8)
        matrix = np.full((self.n_scores, len(self.codes)), -1, dtype=np.int8)
        matrix[self.codes, np.arange(len(self.codes))] = 1
        return matrix

    def target(self) -> NDArray[np.int32]:
        """Return each row's class where there is one column for each, else -1."""
        if self.multilabel or self.n_scores == 1:
            return np.full(len(self.codes), -1, dtype=np.int32)
        return self.codes.astype(np.int32)


def read_labels(y: Any, partition: Partition, keep: NDArray[np.bool_] | None) -> Labels:
    """Return the labels in `y`, of the rows to `keep` only if given."""
    from sklearn.utils import assert_all_finite, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, type_of_target

    if y is None:
        raise ValueError("y cannot be None: requires y to be passed, but the target y is None")
    # An Arrow table has its names under another name; its columns are arrays.
    names = [str(name) for name in getattr(y, "column_names", getattr(y, "columns", []))]
    given = plain_labels(y)
    kind = type_of_target(given, input_name="y") if given.size else "empty"
    multilabel = given.ndim == 2 and given.shape[1] > 1 and kind.startswith("multilabel")
    form = (given.shape[1], names) if multilabel else given.dtype.kind in "OSTU"
    if len({str(other) for other in partition.collective.gather(form)}) > 1:
        raise ValueError(
            "y must be of one kind in all partitions: the same labels, or classes that are all "
            "strings or all numbers"
        )
    if multilabel:
        codes = _indicators(given, "y")
        codes = codes if keep is None else codes[keep]
        return Labels(np.array(names or range(codes.shape[1])), codes)
    values = column_or_1d(given, warn=True)
    assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    values = values if keep is None else values[keep]
    own = np.unique(values)
    classes = np.unique(np.concatenate(partition.collective.gather(own)))
    codes = np.searchsorted(classes, values)
    _check_classes(classes)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least two"
            + ("" if keep is None else " among the rows of positive sample_weight")
        )
    return Labels(classes, codes.astype(np.int64))


# The folds that choose the number of rounds: their number, and how many of them are used, below
# numbers of rows.
_FOLDS = {1_000: (3, 3), 5_000: (4, 2), math.inf: (5, 1)}


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Training rows with their targets."""

    table: Table
    labels: Labels
    weights: Reals | None  # all positive
    label_weights: Reals  # (2, K), initial weights of entries by label (-1, +1) and score column
    entry_weights: Reals | None  # (n, K), the user's own
    class_weight: Any = None

    @property
    def partition(self) -> Partition:
        """The rows here among all."""
        return self.table.partition

    @cached_property
    def all_labels(self) -> Labels:
        """The labels of all rows, including those of other processes."""
        if self.partition.is_whole:
            return self.labels
        narrow = self.labels.codes.astype(np.int8 if len(self.labels.classes) < 128 else np.int32)
        return Labels(self.labels.classes, self.partition.allgather_rows(narrow).astype(np.int64))

    @cached_property
    def targets(self) -> Targets:
        """Labels and initial weights for the objective."""
        return make_targets(self)

    @cached_property
    def offsets(self) -> Reals:
        """The log-odds that the initial weights add to each score column."""
        return score_offsets(self)

    @cached_property
    def _all_weights(self) -> Reals | None:
        """The weights of all rows; None where they are equal."""
        weights = self.partition.allgather_rows(self.targets.row_weights)
        return None if (weights == weights[0]).all() else weights

    def bin_mass(self, weighted: bool) -> Exacts | None:
        """Return integer weights of the rows for binning; `weighted` by class weights too."""
        return bin_mass(self.targets.row_weights if weighted else self.weights, self.partition)

    def take(self, rows: NDArray[np.intp]) -> "LabeledRows":
        """Return some of the rows, by their numbers among all."""
        local = self.partition.local_rows(rows)
        return replace(
            self,
            table=self.table.take(rows),
            labels=Labels(self.labels.classes, self.labels.codes[local]),
            weights=None if self.weights is None else self.weights[local],
            entry_weights=None if self.entry_weights is None else self.entry_weights[local],
        )

    def hold_out(self, fraction: float, seed: int) -> tuple["LabeledRows", ValidationSet]:
        """Split a random fraction of the rows off for validation, class by class."""
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

    def folds(self, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return the rows outside and inside each fold that chooses rounds; none for one row."""
        n_folds, n_used = next(folds for limit, folds in _FOLDS.items() if self._n_rows < limit)
        return self._deal(n_folds, seed)[:n_used]

    def fold_of_a_fifth(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows outside and inside a fold of a fifth of the rows."""
        return self._deal(5, seed)[0]

    @property
    def _n_rows(self) -> int:
        return self.partition.n_rows

    def _deal(self, n_folds: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        every = np.arange(self._n_rows)
        folds = fold_rows(self.all_labels, n_folds, seed)
        return [(np.setdiff1d(every, inside, assume_unique=True), inside) for inside in folds]

    def fold_targets(self, rows: NDArray[np.intp]) -> ValidationSet:
        """Return the targets and weights of the rows in a fold."""
        weights = self._all_weights
        targets = self.all_labels.codes[rows]
        return ValidationSet(targets, weights=None if weights is None else weights[rows])

    def sample(self, fraction: float, seed: int) -> NDArray[np.intp]:
        """Draw a fraction of the rows, class by class, at least one row of each."""
        return sample_rows(self.all_labels, fraction, seed)

    def first_sample(self, n_rows: int, seed: int) -> "LabeledRows":
        """Return a random sample of `n_rows` rows; these rows where there are no more."""
        if n_rows >= self._n_rows:
            return self
        return self.take(self.sample(n_rows / self._n_rows, seed))

    def read_eval_set(self, eval_set: EvalSet) -> ValidationSet:
        """Return validation rows that the user gave."""
        name, value, argument = eval_set
        if not isinstance(value, tuple) or len(value) != 2:
            raise ValueError(f"{argument} must be a tuple (X, y)")
        table = read_validation_table(value[0], self.table, argument)
        classes, multilabel = self.labels.classes, self.labels.multilabel
        codes = encode_labels(value[1], classes, multilabel, argument)
        if len(codes) != table.n_rows:
            raise ValueError(f"{argument} has {table.n_rows} rows and {len(codes)} targets")
        return ValidationSet(table.partition.allgather_rows(codes), table, name=name)


def read_rows(
    X: Table,
    y: Any,
    sample_weight: Any,
    init_weights: Any,
    uses_softmax: bool,
    class_weight: Any = None,
) -> LabeledRows:
    """Return the training rows, without rows of weight 0, once all weights are checked."""
    try:
        shape = y.shape if sparse.issparse(y) else np.asarray(y).shape
    except ValueError as error:
        raise ValueError(f"y has rows of different lengths; {_LISTS}") from error
    if y is not None and not shape:
        raise ValueError(f"y must hold one target for each row of X, got {y!r}")
    if y is not None and shape[0] != X.n_rows:
        raise ValueError(
            f"X and y must have the same number of rows, got inconsistent numbers of samples: "
            f"{[X.n_rows, shape[0]]}"
        )
    partition = X.partition
    weights = read_row_weights(sample_weight, X.n_rows, partition)
    keep = None if weights is None or partition.all(weights.all()) else weights > 0
    labels = read_labels(y, partition, keep)
    if class_weight is not None:
        given_class_weights(class_weight, labels)
    by_label, by_entry = read_init_weights(init_weights, labels, X.n_rows, uses_softmax)
    if keep is None or weights is None:
        return LabeledRows(X, labels, weights, by_label, by_entry, class_weight)
    if by_entry is not None:
        by_entry = by_entry[keep]
        if not partition.any((by_entry > 0).any()):
            raise ValueError("init_weights are all 0 on the rows of positive sample_weight")
    rows = X.take(np.flatnonzero(partition.allgather_rows(keep)))
    return LabeledRows(rows, labels, weights[keep], by_label, by_entry, class_weight)


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


def sample_rows(labels: Labels, share: float, seed: int) -> NDArray[np.intp]:
    """Draw a share of the rows, class by class, at least one row of each."""
    rng = np.random.default_rng([seed, 4])
    order = rng.permutation(len(labels.codes))
    if labels.multilabel:
        return np.sort(order[: math.ceil(share * len(order))])
    order = order[np.argsort(labels.codes[order], kind="stable")]
    classes = np.split(order, np.cumsum(np.bincount(labels.codes))[:-1])
    return np.sort(np.concatenate([one[: math.ceil(share * len(one))] for one in classes]))


def encode_labels(y: Any, classes: NDArray, multilabel: bool, name: str) -> NDArray[np.int64]:
    """Return the targets of other rows in the codes of training."""
    given = plain_labels(y, name)
    if multilabel:
        if given.ndim != 2 or given.shape[1] != len(classes):
            raise ValueError(
                f"{name} must have a column for each of the {len(classes)} labels, got shape "
                f"{given.shape}"
            )
        return _indicators(given, name)
    values = given.ravel()
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


def read_row_weights(
    sample_weight: Any, n_rows: int, partition: Partition | None = None
) -> Reals | None:
    """Return the weights of the rows, checked."""
    if sample_weight is None:
        return None
    from sklearn.utils.validation import check_array

    weights = _numbers("sample_weight", sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    weights = check_array(
        weights, ensure_2d=False, dtype=np.float64, input_name="sample_weight", ensure_min_samples=0
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1D, got an array of shape {weights.shape}")
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected ({n_rows},): one weight for each "
            "row of X"
        )
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative, but has negative values")
    positive = (weights > 0).any()
    if not (positive if partition is None else partition.any(positive)):
        raise ValueError("sample_weight must have at least one positive weight, but all are zero")
    return weights


def bin_mass(weights: Reals | None, partition: Partition) -> Exacts | None:
    """Return row weights as integers for binning: whole numbers as they are, others scaled."""
    if weights is None:
        return None
    n, largest = partition.n_rows, partition.max(float(weights.max(initial=0.0)))
    if partition.all((weights == np.rint(weights)).all()) and largest < 2.0**62 / n:
        return weights.astype(np.int64)
    shift = 62 - int(np.ceil(np.log2(n + 1))) - int(np.frexp(largest)[1])
    return np.rint(np.ldexp(weights, shift)).astype(np.int64)


def make_targets(labeled: LabeledRows) -> Targets:
    """Return labels and initial weights for the objective."""
    labels, label_weights = labeled.labels, labeled.label_weights
    class_weight, partition = labeled.class_weight, labeled.partition
    rows = np.ones(len(labels.codes)) if labeled.weights is None else labeled.weights
    given = None
    if labeled.entry_weights is not None:
        given = np.ascontiguousarray(labeled.entry_weights.T)
    if class_weight is not None:
        factors = class_weights(class_weight, labels, rows, partition)
        if labels.multilabel:
            label_weights = label_weights * factors
            if given is not None:
                signs = labels.matrix() > 0
                given = given * np.where(signs, factors[1][:, None], factors[0][:, None])
        else:
            rows = rows * factors[labels.codes]
    # By a power of two first, which changes no digit: the sum of huge weights would overflow.
    largest = partition.max(float(rows.max(initial=0.0)))
    rows = np.ldexp(rows, -int(np.frexp(largest)[1]))
    rows = rows / exact_sum(rows, partition)
    return Targets(labels.matrix(), labels.target(), rows, label_weights, given)


def given_class_weights(class_weight: Any, labels: Labels) -> Reals | None:
    """Return the factors that `class_weight` gives, checked; None where it is "balanced".

    There is one for each class. A multi-label problem has a list with a dict {0: weight, 1: weight}
    for each label, and factors by label (-1, +1) and label column.
    """
    place = labels.classes.tolist()
    wanted = f"a list of {len(place)} dicts, one for each label" if labels.multilabel else "a dict"
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be 'balanced' or {wanted}, got {class_weight!r}")
        return None
    if labels.multilabel:
        dicts = isinstance(class_weight, list) and all(isinstance(w, dict) for w in class_weight)
        if not dicts or len(class_weight) != len(place):
            raise ValueError(
                f"class_weight of a multi-label problem must be 'balanced' or {wanted}; got "
                f"{class_weight!r}"
            )
        return _factors([[w.get(v, 1.0) for w in class_weight] for v in (0, 1)], class_weight)
    if not isinstance(class_weight, dict):
        raise TypeError(f"class_weight must be None, 'balanced' or {wanted}, got {class_weight!r}")
    for label in class_weight:
        if label not in place:
            raise ValueError(f"class_weight names the class {label!r}, which y does not have")
    return _factors([class_weight.get(label, 1.0) for label in place], class_weight)


def class_weights(class_weight: Any, labels: Labels, rows: Reals, partition: Partition) -> Reals:
    """Return the weight of each class, or by label (-1, +1) and label column."""
    given = given_class_weights(class_weight, labels)
    if given is not None:
        return given
    if labels.multilabel:
        chosen = [[rows[y == v] for y in labels.codes.T] for v in (0, 1)]
        masses = np.array([[exact_sum(own, partition) for own in side] for side in chosen])
        total = exact_sum(rows, partition)
        return total / np.where(masses > 0, 2 * masses, 2 * total)
    by_class = [rows[labels.codes == k] for k in range(len(labels.classes))]
    masses = np.array([exact_sum(own, partition) for own in by_class])
    return exact_sum(masses) / (len(labels.classes) * masses)


def read_init_weights(
    init_weights: Any, labels: Labels, n_rows: int, uses_softmax: bool
) -> tuple[Reals, Reals | None]:
    """Return initial weights of entries by label (-1, +1) and score column, and the user's own."""
    k = labels.n_scores
    named = isinstance(init_weights, str)
    softmax = uses_softmax and k > 1 and not labels.multilabel
    if init_weights is None or (named and init_weights not in INIT_WEIGHTS):
        raise ValueError(
            f"init_weights must be 'auto', 'balanced', 'uniform' or a matrix, got {init_weights!r}"
        )
    if softmax and not (named and init_weights in ("auto", "uniform")):
        raise ValueError(
            "loss='softmax' weighs all classes of a row alike: init_weights must be 'auto' or "
            "'uniform', or use loss='logistic'"
        )
    if named:
        if init_weights == "balanced" and labels.multilabel:
            raise ValueError(
                "init_weights='balanced' is not defined for multi-label targets; use 'uniform' or "
                "a matrix"
            )
        if labels.multilabel or init_weights == "uniform" or k == 1 or softmax:
            return np.full((2, k), 1.0 / k), None
        return np.array([np.full(k, 0.5 / (k - 1)), np.full(k, 0.5)]), None
    matrix = _numbers("init_weights", init_weights)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.shape != (n_rows, k):
        raise ValueError(
            f"init_weights must have shape {(n_rows, k)}: one column for each class, "
            f"or a single one for two classes; got {matrix.shape}"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any() or not (matrix > 0).any():
        raise ValueError("init_weights must be finite, not negative and not all 0")
    return np.ones((2, k)), matrix


def score_offsets(rows: LabeledRows) -> Reals:
    """Return ln(w+ / w-) of each score column: what the initial weights add to twice the score.

    Under the initial weights an entry's label is +1 with odds w+ p / (w- (1 - p)), and the score
    estimates half the logarithm of that.
    """
    low, high = rows.label_weights
    with np.errstate(invalid="ignore", divide="ignore"):
        if rows.entry_weights is not None:
            weights, positive = rows.entry_weights.T, rows.labels.matrix() > 0
            low, high = (
                np.array([exact_sum(w[y], rows.partition) for w, y in zip(weights, s, strict=True)])
                / rows.partition.sum(s.sum(axis=1))
                for s in (~positive, positive)
            )
        offsets = np.log(high / low)
    return np.where(np.isfinite(offsets), offsets, 0.0)


def plain_labels(y: Any, name: str = "y") -> NDArray:
    """Return targets as an array of numbers or of strings, whatever they came in."""
    given = _as_array(y)
    _check_objects(given, name)
    if given.dtype.kind == "O" and not any(isinstance(value, str) for value in given.ravel()):
        # Numbers that came as objects, as nullable columns do.
        given = np.array(given.tolist())
    if given.dtype.kind == "O" and isinstance(given.ravel()[:1].tolist()[0], int):
        raise ValueError(f"{name} must hold numbers of at most 64 bits")
    return given


def _as_array(y: Any) -> NDArray:
    """Return targets as an array."""
    if sparse.issparse(y):
        return y.toarray()
    if np.ma.is_masked(y):
        raise ValueError("y must not be masked: leave rows without a target out")
    if isinstance(y, (list, tuple)) and any(isinstance(one, str) for one in y):
        # Of a list of several types, NumPy would make strings.
        y = np.array(y, dtype=object)
        _check_objects(y)
        y = text_array("y", y.tolist()) if y.ndim == 1 else y
    given = np.asarray(y)
    return np.array(given.tolist()) if given.dtype.kind == "T" else given


def _indicators(labels: NDArray, name: str) -> NDArray[np.int64]:
    """Return a 0/1 matrix, or raise if it holds anything else."""
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{name} must hold only 0 and 1 in a multi-label problem")
    return labels.astype(np.int64)


def _check_objects(values: NDArray, name: str = "y") -> None:
    """Raise if targets that are Python objects have missing ones or mix strings with others."""
    if values.dtype.kind != "O":
        return
    for value in values.ravel():
        if is_missing(value):
            raise ValueError(
                f"{name} contains missing values (None or NaN): Input {name} contains NaN"
            )
    found = {type(value) for value in values.ravel()}
    kinds = sorted(kind.__name__ for kind in found)
    if len({issubclass(kind, str) for kind in found}) > 1:
        raise ValueError(f"{name} mixes classes of different types: {', '.join(kinds)}")
    if not all(issubclass(kind, (str, int, float, np.number, np.bool_)) for kind in found):
        lists = any(issubclass(kind, (list, tuple, set, frozenset, np.ndarray)) for kind in found)
        advice = f"; {_LISTS}" if lists else ""
        raise TypeError(f"{name} must hold numbers or strings, got {', '.join(kinds)}{advice}")


def _check_classes(classes: NDArray) -> None:
    """Raise if a model file could not hold the classes."""
    kind, size = classes.dtype.kind, classes.dtype.itemsize
    if kind not in CLASS_KINDS or (kind in "iuf" and size > 8):
        raise TypeError(f"y must hold numbers or strings, got {classes.dtype}")
    if kind == "U":
        text_array("y", classes.tolist())


def _factors(chosen: list[Any], class_weight: Any) -> Reals:
    """Return the factors that `class_weight` gives, checked."""
    factors = _numbers("class_weight", chosen)
    if not np.isfinite(factors).all() or (factors < 0).any() or not (factors > 0).any():
        raise ValueError(f"class_weight must hold non-negative numbers, got {class_weight!r}")
    return factors


def _numbers(name: str, values: Any) -> Reals:
    """Return an argument as float64, or raise naming it."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("got complex ones")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
