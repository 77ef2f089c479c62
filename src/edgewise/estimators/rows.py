"""The rows of a fit, to train on and to validate on: X as a table, row weights, folds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from edgewise.common.checks import integer, numbers
from edgewise.common.dtypes import Exacts, Reals
from edgewise.data import BinnedTable, Categories, Table, as_table
from edgewise.data.filters import HaarFilters
from edgewise.data.partition import Partition
from edgewise.estimators.fitted import Fitted
from edgewise.learners import Learner
from edgewise.model.scorer import check_n_features

DEFAULT_NAME = "validation"
"""The name of a single validation set."""

EVAL_SET = "eval_set"
"""The source of validation rows that the user gave."""

Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The rows outside and inside a fold, by their numbers among all rows."""


def fraction_source(fraction: float) -> str:
    """Return the name of a held-out fraction of the rows."""
    return f"{fraction:.0%} of the rows"


class EvalSet(NamedTuple):
    """A validation set as the user gave it, its name, and its argument in errors."""

    name: str
    value: Any
    argument: str = "eval_set"


def name_eval_sets(eval_set: Any, eval_names: Any) -> list[EvalSet]:
    """Return the validation sets: one, or a list of them, with or without names."""
    if eval_set is None:
        if eval_names is not None:
            raise ValueError("eval_names must be None where eval_set is None")
        return []
    values = eval_set if isinstance(eval_set, list) else [eval_set]
    if not values:
        raise ValueError("eval_set must be None or at least one tuple, got an empty list")
    if eval_names is not None:
        names = list(eval_names) if isinstance(eval_names, (list, tuple)) else []
        if not all(isinstance(name, str) and name for name in names) or not (
            len({*names}) == len(names) == len(values)
        ):
            raise ValueError(
                f"eval_names must be {len(values)} different strings, one for each eval_set, got "
                f"{eval_names!r}"
            )
    elif len(values) == 1:
        names = [DEFAULT_NAME]
    else:
        names = [f"{DEFAULT_NAME}_{i}" for i in range(len(values))]
    arguments = ["eval_set"] if len(values) == 1 else [f"eval_set[{i}]" for i in range(len(values))]
    return [EvalSet(*fields) for fields in zip(names, values, arguments, strict=True)]


class ValidationSet(NamedTuple):
    """Validation rows, with targets as the metrics take them.

    Rows that the user set aside count equally, whatever their weights. The rows of a fold have no
    table of their own: they are among the training rows.
    """

    targets: Any
    table: Table | None = None
    weights: Reals | None = None
    name: str = DEFAULT_NAME
    binned: BinnedTable | None = None

    @property
    def rows(self) -> BinnedTable:
        """The rows in the bins of the training rows."""
        assert self.binned is not None
        return self.binned


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows with targets, which may be shared by several processes."""

    table: Table

    @property
    def partition(self) -> Partition:
        """The rows of this process among all."""
        return self.table.partition

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the rows, by their numbers among all."""
        raise NotImplementedError

    def bin_mass(self, weighted: bool) -> Exacts | None:
        """Return integer weights of the rows for binning; `weighted` by class weights too."""
        raise NotImplementedError

    def hold_out(self, fraction: float, seed: int) -> tuple[Self, ValidationSet]:
        """Split off a random fraction: of each class, or of the queries."""
        raise NotImplementedError

    def folds(self, seed: int) -> list[Fold]:
        """Return the folds that choose rounds."""
        raise NotImplementedError

    def deal(self, n_folds: int, seed: int) -> list[Fold]:
        """Return the rows outside and inside each of at most `n_folds` folds."""
        raise NotImplementedError

    def fold_targets(self, rows: NDArray[np.intp]) -> ValidationSet:
        """Return the targets and weights of the rows in a fold, wherever they are."""
        raise NotImplementedError

    def read_eval_set(self, eval_set: EvalSet) -> ValidationSet:
        """Return validation rows that the user gave."""
        raise NotImplementedError

    def read_validation_rows(self, eval_set: EvalSet, *forms: str) -> tuple[Table, list[Any]]:
        """Return the table and the targets of an eval set, a tuple in one of the `forms`."""
        value, argument = eval_set.value, eval_set.argument
        lengths = [form.count(",") + 1 for form in forms]
        if not isinstance(value, tuple) or len(value) not in lengths:
            raise ValueError(f"{argument} must be a tuple {' or '.join(forms)}")
        return read_validation_table(value[0], self.table, argument), list(value[1:])


class Columns(NamedTuple):
    """The number and names of the columns of X, and which are declared categorical."""

    n_features: int
    feature_names: tuple[str, ...] | None
    categorical: tuple[int, ...]


def read_columns(model: Any, X: Any, before: Fitted | None) -> tuple[Table, Columns]:
    """Return X as a table with its columns, which stay as in the fit `before`, if there was one."""
    declared = model.categorical_features
    if isinstance(X, BinnedTable):
        assert X.raw_rows is not None
        X = X.raw_rows.table
        declared = sorted(X.categorical) if declared is None else declared
    if before is not None:
        table = model._table(X)
        ignored = find_columns("ignored_features", model.ignored_features, table)
        table = table.with_categorical(table.categorical, ignored)
        return table, Columns(before.n_features, before.feature_names, before.categorical)
    table = as_table(X, model.handle_infinite)
    ignored = find_columns("ignored_features", model.ignored_features, table)
    if len({*ignored}) == table.n_columns:
        raise ValueError("ignored_features must leave at least one column of X")
    columns = find_columns("categorical_features", declared, table)
    categorical = tuple(j for j in columns if j not in ignored)
    table = table.with_categorical(categorical, ignored)
    check_n_features(table.n_columns)
    names = None if table.names is None else tuple(table.names)
    if not isinstance(X, Table):
        # scikit-learn knows names only where all of them are strings.
        checked = BaseEstimator()
        validate_data(checked, X, reset=True, skip_check_array=True)
        names = getattr(checked, "feature_names_in_", None)
        names = None if names is None else tuple(names.tolist())
    return table, Columns(table.n_columns, names, categorical)


def find_columns(argument: str, columns: Any, table: Table) -> list[int]:
    """Return the numbers of columns that the user gave by name or number, or as a mask."""
    if columns is None:
        return []
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise TypeError(f"{argument} must be a list of columns, by name or number, got {columns!r}")
    columns = list(columns)
    if len(columns) == table.n_columns and all(isinstance(v, (bool, np.bool_)) for v in columns):
        return np.flatnonzero(columns).tolist()
    names = table.names or ()
    unknown = [name for name in columns if isinstance(name, str) and name not in names]
    if unknown:
        raise ValueError(f"{argument}: X does not have the column {unknown[0]!r}")
    last = table.n_columns - 1
    return [
        names.index(column)
        if isinstance(column, str)
        else integer(f"a column of {argument}", column, 0, last)
        for column in columns
    ]


def read_validation_table(X: Any, like: Table, argument: str) -> Table:
    """Return validation rows as a table, after checking that it has the columns of training."""
    try:
        table = as_table(X, like.infinite).with_categorical(like.categorical, like.ignored)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{argument}: {error}") from error
    check_columns(table, like.n_columns, like.names, argument)
    return table


def check_columns(
    table: Table, n_columns: int, names: Sequence[str] | None, argument: str = "X"
) -> None:
    """Raise unless a table has the columns of training."""
    if table.n_columns != n_columns:
        raise ValueError(f"{argument} has {table.n_columns} columns, training had {n_columns}")
    for name, trained in zip(table.names or (), names or (), strict=False):
        if name != trained:
            raise ValueError(f"{argument} has the column {name!r} where training had {trained!r}")


def image_filters(learner: Learner | str) -> HaarFilters | None:
    """Return the image filters that a learner uses, if any."""
    if isinstance(learner, str):
        return None
    filters = {simple.filters for simple in learner.simple_learners()} - {None}
    if len(filters) > 1:
        raise ValueError("learner: all Haar parts must have the same shape and smallest")
    return next(iter(filters), None)


def check_column_kinds(learner: Learner, table: BinnedTable) -> None:
    """Raise if there are columns of a kind that the learner cannot use."""
    advice = {
        "categorical": "add Indicator() or Selector() to it, or encode the column as numbers",
        "numeric": "add Stump() to it, or list the column in categorical_features",
    }
    ignored = frozenset() if table.raw_rows is None else table.raw_rows.table.ignored
    for j, bins in enumerate(table.bins):
        if j in ignored:
            continue
        kind = "categorical" if isinstance(bins, Categories) else "numeric"
        if kind not in learner.kinds():
            raise ValueError(
                f"learner={learner!r} cannot use the {kind} column {bins.name!r} of X: "
                f"{advice[kind]}"
            )


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
