"""The columns of X: read once, checked against the learner and against validation rows."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from edgewise.common.checks import integer
from edgewise.data import BinnedTable, Categories, Table, as_table
from edgewise.data.filters import HaarFilters
from edgewise.estimators.fitted import Fitted
from edgewise.learners import Learner
from edgewise.model.scorer import check_n_features


class Columns(NamedTuple):
    """The number and names of the columns of X, and which are declared categorical."""

    n_features: int
    feature_names: tuple[str, ...] | None
    categorical: tuple[int, ...]


def read_columns(model: Any, X: Any, before: Fitted | None) -> tuple[Table, Columns]:
    """Return X as a table with its columns; those of the fit `before`, where there was one."""
    declared = model.categorical_features
    if isinstance(X, BinnedTable):
        assert X.raw_rows is not None
        X = X.raw_rows.table
        declared = sorted(X.categorical) if declared is None else declared
    if before is not None:
        return model._table(X), Columns(before.n_features, before.feature_names, before.categorical)
    table = as_table(X, model.handle_infinite)
    categorical = tuple(_categorical_columns(declared, table))
    table = table.with_categorical(categorical)
    check_n_features(table.n_columns)
    names = None if table.names is None else tuple(table.names)
    if not isinstance(X, Table):
        # scikit-learn knows names only where all of them are strings.
        checked = BaseEstimator()
        validate_data(checked, X, reset=True, skip_check_array=True)
        names = getattr(checked, "feature_names_in_", None)
        names = None if names is None else tuple(names.tolist())
    return table, Columns(table.n_columns, names, categorical)


def _categorical_columns(declared: Any, table: Table) -> list[int]:
    """Return the indices of the columns that the user declared categorical."""
    if declared is None:
        return []
    if isinstance(declared, str) or not hasattr(declared, "__iter__"):
        raise TypeError(
            f"categorical_features must be a list of columns, by name or number, got {declared!r}"
        )
    declared = list(declared)
    if len(declared) == table.n_columns and all(isinstance(v, (bool, np.bool_)) for v in declared):
        return np.flatnonzero(declared).tolist()
    names = table.names or ()
    unknown = [name for name in declared if isinstance(name, str) and name not in names]
    if unknown:
        raise ValueError(f"categorical_features: X does not have the column {unknown[0]!r}")
    last = table.n_columns - 1
    return [
        names.index(column)
        if isinstance(column, str)
        else integer("a categorical_features entry", column, 0, last)
        for column in declared
    ]


def read_validation_table(X: Any, like: Table, argument: str) -> Table:
    """Return validation rows as a table, whose columns must be those of the training rows."""
    try:
        table = as_table(X, like.infinite).with_categorical(like.categorical)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{argument}: {error}") from error
    if table.n_columns != like.n_columns:
        raise ValueError(f"{argument} has {table.n_columns} columns, X has {like.n_columns}")
    if table.names is not None and like.names is not None:
        differing = [a for a, b in zip(table.names, like.names, strict=True) if a != b]
        if differing:
            raise ValueError(f"{argument} has the column {differing[0]!r} where X has another")
    return table


def image_filters(learner: Learner | str) -> HaarFilters | None:
    """Return the image filters that a learner uses, if any."""
    if isinstance(learner, str):
        return None
    filters = {part.filters for part in learner.simple_parts()} - {None}
    if len(filters) > 1:
        raise ValueError("learner: all Haar parts must have the same shape and smallest")
    return next(iter(filters), None)


def check_column_kinds(learner: Learner, table: BinnedTable) -> None:
    """Raise if there are columns of a kind that the learner cannot use."""
    advice = {
        "categorical": "add Indicator() or Selector() to it, or encode the column as numbers",
        "numeric": "add Stump() to it, or list the column in categorical_features",
    }
    for bins in table.bins:
        kind = "categorical" if isinstance(bins, Categories) else "numeric"
        if kind not in learner.kinds():
            raise ValueError(
                f"learner={learner!r} cannot use the {kind} column {bins.name!r} of X: "
                f"{advice[kind]}"
            )
