"""Prediction alone: a saved model scores rows where only NumPy is installed.

``pip install --no-deps edgewise numpy`` is enough for this module. It reads the files that
:meth:`edgewise.AdaBoostMH.save` and :meth:`edgewise.RankBoost.save` write, and predicts the same,
bit for bit::

    from edgewise.predictor import load

    model = load("model.edgewise")
    model.predict_proba([{"size": 4.5, "color": "red"}])
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of, positive
from edgewise.common.dtypes import Reals
from edgewise.common.fields import OrNone, Record, Value
from edgewise.common.files import PathLike
from edgewise.data.columns import Column, NumericColumn, column_from_objects
from edgewise.data.table import (
    INFINITE_CHOICES,
    ColumnTable,
    SparseTable,
    Table,
    array_table,
    as_table,
    is_frame,
)
from edgewise.model.archive import Header, ModelFileError, read
from edgewise.model.scorer import SCORING, SCORING_CLASSES, ClassScorer, RankScorer, Scorer

if TYPE_CHECKING:
    from edgewise.io.schema import Schema

__all__ = ["SavedClassifier", "SavedRanker", "load"]

S = TypeVar("S", bound=Scorer)


class SavedModel(Generic[S]):
    """A model from a file, which only predicts."""

    def __init__(self, scorer: S, infinite: str, schema: "Schema | None") -> None:
        self._scorer = scorer
        self._infinite = one_of("handle_infinite", infinite, INFINITE_CHOICES)
        self._schema = schema

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X in training."""
        return self._scorer.n_features

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the columns of X in training, x0, x1 and so on if it had none."""
        return np.array(self._names, dtype=object)

    @property
    def categories_(self) -> dict[str, tuple[object, ...]]:
        """The values of the categorical columns in training."""
        categories = self._scorer.categories
        return {self._scorer.feature_name(j): values for j, values in categories.items()}

    @property
    def _names(self) -> list[str]:
        return [self._scorer.feature_name(j) for j in range(self._scorer.n_features)]

    def _scores(self, X: Any) -> Reals:
        """Return the scores of rows, of shape (n, K)."""
        table, n_features = self._table(X), self._scorer.n_features
        if table.n_columns != n_features:
            raise ValueError(
                f"X has {table.n_columns} columns, but the model was trained on {n_features}"
            )
        return self._scorer.scores(table.with_categorical(self._scorer.categorical))

    def _table(self, X: Any) -> Table:
        if is_frame(X):
            return self._read_frame(X)
        if isinstance(X, Table):
            return self._order_columns(as_table(X, self._infinite))
        if isinstance(X, Mapping):
            return self._read_columns(
                {name: [v] if np.ndim(v) == 0 else v for name, v in X.items()}
            )
        if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
            shared = [name for name in X[0] if all(name in row for row in X)]
            return self._read_columns({name: [row[name] for row in X] for name in shared})
        if hasattr(X, "tocsc"):
            return SparseTable(X, None, self._infinite)
        try:
            values = np.asarray(X)
        except ValueError as error:
            raise ValueError("X must have rows of the same length") from error
        if values.ndim != 2:
            raise ValueError(f"X must have rows and columns, got {values.ndim} dimension(s)")
        if values.dtype.kind in "fiub":
            return array_table(values, self._infinite)
        # A list of rows with numbers and strings would become strings only.
        objects = np.array(X, dtype=object).T
        columns = [column_from_objects(cells.tolist(), f"x{j}") for j, cells in enumerate(objects)]
        return ColumnTable(columns, None, self._infinite)

    def _read_frame(self, X: Any) -> Table:
        try:
            names = [str(name) for name in getattr(X, "column_names", X.columns)]
            if self._schema is not None and self._are_raw(names):
                return as_table(self._schema.transform(X), self._infinite)
            return self._order_columns(as_table(X, self._infinite))
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "X is a data frame, which needs the package narwhals: install it, or give "
                "rows as dicts, or a dict of columns"
            ) from error

    def _read_columns(self, X: Mapping[str, Any]) -> Table:
        """Return columns by their names as a table."""
        if self._schema is not None and self._are_raw(X):
            from edgewise.io.tables import RawTable

            used = [column.name for column in self._schema.columns if column.features]
            raw = {name: _raw_column(X[name], name) for name in used if name in X}
            _check_lengths(raw.values())
            rows = RawTable(raw, len(next(iter(raw.values()), ())))
            return as_table(self._schema.transform(rows), self._infinite)
        _check_names(self._names, X)
        columns = [_column(X[name], name) for name in self._names]
        _check_lengths(columns)
        return ColumnTable(columns, self._names, self._infinite)

    def _are_raw(self, names: Collection[str]) -> bool:
        """Return whether columns are of a table that the schema transforms first."""
        assert self._schema is not None
        raw = [column.name for column in self._schema.columns if column.features]
        are_features = all(name in names for name in self._names)
        return not are_features or all(name in names for name in raw)

    def _order_columns(self, table: Table) -> Table:
        """Return a table with the columns of training, by their names if they have some."""
        expected, names = self._scorer.feature_names, table.names
        if expected is None or names is None or names == list(expected):
            return table
        _check_names(expected, names)
        columns = [table.column(names.index(name)) for name in expected]
        return ColumnTable(columns, expected, self._infinite)


class SavedClassifier(SavedModel[ClassScorer]):
    """A classifier from a file, which only predicts; :func:`load` returns it.

    Examples
    --------
    >>> import os, tempfile
    >>> from edgewise import AdaBoostMH, predictor
    >>> path = os.path.join(tempfile.mkdtemp(), "small.edgewise")
    >>> model = AdaBoostMH("stump", preset="paper", n_rounds=3)
    >>> model.fit([[0.0], [1.0], [2.0]], ["a", "b", "b"]).save(path)
    >>> model = predictor.load(path)
    >>> model.classes_.tolist(), model.predict([[0.2], [None]]).tolist()
    (['a', 'b'], ['a', 'a'])
    >>> model.predict_proba([[0.2]]).round(3)
    array([[1., 0.]])
    """

    @property
    def classes_(self) -> NDArray:
        """The class labels, or names of labels."""
        return self._scorer.classes

    def decision_function(self, X: Any) -> Reals:
        """Return the scores: (n_samples,) for two classes, else (n_samples, K)."""
        return self._scorer.decisions(self._scores(X))

    def predict(self, X: Any) -> NDArray:
        """Return the predicted classes, or the 0/1 matrix of predicted labels."""
        return self._scorer.predictions(self._scores(X))

    def predict_proba(self, X: Any) -> Reals:
        """Return the estimated probabilities of shape (n_samples, n_classes)."""
        return self._scorer.probabilities(self._scores(X))


class SavedRanker(SavedModel[RankScorer]):
    """A ranker from a file, which only predicts; :func:`load` returns it.

    Examples
    --------
    >>> import os, tempfile
    >>> from edgewise import RankBoost, predictor
    >>> path = os.path.join(tempfile.mkdtemp(), "small.edgewise")
    >>> RankBoost(n_rounds=3).fit([[3.0], [1.0], [2.0]], [1, 0, 0]).save(path)
    >>> predictor.load(path).predict([{"x0": 2.9}, {"x0": 1.0}]).round(2)
    array([2.07, 0.  ])
    """

    def predict(self, X: Any) -> Reals:
        """Return the scores of documents: larger is ranked higher within a query."""
        return self._scores(X)[:, 0] + float(self._scorer.score_offsets[-1])


def load(path: PathLike) -> SavedClassifier | SavedRanker:
    """Read a saved `AdaBoostMH` or `RankBoost` to predict with; NumPy is all that it needs.

    Predictions are the same as with :func:`edgewise.load`, bit for bit. Rows may be a
    two-dimensional array or list, a list of dicts by column name, a dict of columns or of the
    values of one row, a SciPy sparse matrix or, where narwhals is installed, a data frame. A
    missing value is NaN or None; named columns that training did not have are ignored. A model of
    `edgewise train` takes the columns of its table: dates as ISO strings or as dates.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    SavedClassifier or SavedRanker
        A model with ``predict``; a classifier's has ``predict_proba``, ``decision_function`` and
        ``classes_`` too.

    Raises
    ------
    ModelFileError
        If it is not a model file, is damaged, or holds another kind of model.

    Examples
    --------
    See :class:`SavedClassifier` and :class:`SavedRanker`.
    """
    header, arrays = read(path)
    kind = header.get("estimator")
    if kind not in _RECORDS:
        raise ModelFileError(
            f"{path} holds a {kind}; edgewise.predictor reads {' and '.join(_RECORDS)}, "
            "edgewise.load any model"
        )
    record, model = _RECORDS[kind]
    try:
        scorer = record.unpack(header["state"]["fitted_"], "fitted_", arrays, {})
        scorer.check()
        return model(scorer, header["parameters"]["handle_infinite"], _schema(header))
    except Exception as error:
        # A hostile header can make anything go wrong; nothing of it is used then.
        raise ModelFileError(f"{path} is not a readable edgewise model: {error!r}") from error


def _schema(header: Header) -> "Schema | None":
    if header.get("schema") is None:
        return None
    from edgewise.io.schema import Schema

    return Schema.from_json(header["schema"])


def _column(values: Any, name: str) -> Column:
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} of X must be 1-D, got {array.ndim}-D")
    if array.dtype.kind in "fiub":
        return NumericColumn(array_table(array[:, None]).values[:, 0])
    return column_from_objects(array.tolist(), name)


def _raw_column(values: Any, name: str) -> Any:
    """Return a column of numbers, strings or dates, as a text table would have it."""
    from edgewise.io.tables import date_column
    from edgewise.io.text import NA_VALUES

    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return _column(values, name)
    cells = [None if isinstance(cell, str) and cell in NA_VALUES else cell for cell in values]
    return date_column(cells) or _column(cells, name)


def _check_names(expected: Iterable[str], names: Collection[str]) -> None:
    for name in expected:
        if name not in names:
            raise ValueError(f"X has no column {name!r}")


def _check_lengths(columns: Iterable[Any]) -> None:
    if len({len(column) for column in columns}) > 1:
        raise ValueError("X must have columns of the same length")


@dataclass(frozen=True, eq=False, kw_only=True)
class _SavedClasses(ClassScorer):
    held_out: dict[str, float] | None

    @property
    def temperature(self) -> float:
        return 1.0 if self.held_out is None else self.held_out["temperature"]


_HELD_OUT = Record({"temperature": Value(float, partial(positive, "temperature"))})

_RECORDS: dict[str, tuple[Record, Any]] = {
    "AdaBoostMH": (
        Record({**SCORING_CLASSES, "held_out": OrNone(_HELD_OUT)}, _SavedClasses),
        SavedClassifier,
    ),
    "RankBoost": (Record(SCORING, RankScorer), SavedRanker),
}
