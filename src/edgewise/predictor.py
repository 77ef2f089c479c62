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
        table = self._table(X)
        if table.n_columns != self._scorer.n_features:
            raise ValueError(
                f"X has {table.n_columns} columns, but the model was trained on "
                f"{self._scorer.n_features}"
            )
        return self._scorer.scores(table.with_categorical(self._scorer.categorical))

    def _table(self, X: Any) -> Table:
        """Return rows as a table."""
        if is_frame(X):
            return self._of_frame(X)
        if isinstance(X, Table):
            return self._in_order(as_table(X, self._infinite))
        if isinstance(X, Mapping):
            return self._of_columns({name: [v] if np.ndim(v) == 0 else v for name, v in X.items()})
        if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
            shared = [name for name in X[0] if all(name in row for row in X)]
            return self._of_columns({name: [row[name] for row in X] for name in shared})
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
        objects = np.array(X, dtype=object)
        names = [f"x{j}" for j in range(objects.shape[1])]
        columns = [
            column_from_objects(objects[:, j].tolist(), name) for j, name in enumerate(names)
        ]
        return ColumnTable(columns, None, self._infinite)

    def _of_frame(self, X: Any) -> Table:
        try:
            names = [str(name) for name in getattr(X, "column_names", X.columns)]
            if self._schema is not None and self._has_raw(names):
                return as_table(self._schema.transform(X), self._infinite)
            return self._in_order(as_table(X, self._infinite))
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "X is a data frame, which needs the package narwhals: install it, or give "
                "rows as dicts, or a dict of columns"
            ) from error

    def _of_columns(self, X: Mapping[str, Any]) -> Table:
        """Return columns by their names as a table."""
        if self._schema is not None and self._has_raw(X):
            from edgewise.io.tables import RawTable

            wanted = [column.name for column in self._schema.columns if column.features]
            raw = {name: _raw_column(X[name], name) for name in wanted if name in X}
            _check_lengths(raw.values())
            rows = RawTable(raw, len(next(iter(raw.values()), ())))
            return as_table(self._schema.transform(rows), self._infinite)
        for name in self._names:
            if name not in X:
                raise ValueError(f"X has no column {name!r}")
        columns = [_column(X[name], name) for name in self._names]
        _check_lengths(columns)
        return ColumnTable(columns, self._names, self._infinite)

    def _has_raw(self, given: Collection[str]) -> bool:
        """Return whether columns are the raw ones, and not what the schema makes of them."""
        assert self._schema is not None
        raw = [column.name for column in self._schema.columns if column.features]
        made = all(name in given for name in self._names)
        return not made or all(name in given for name in raw)

    def _in_order(self, table: Table) -> Table:
        """Return a table with the columns of training, by their names if they have some."""
        wanted, given = self._scorer.feature_names, table.names
        if wanted is None or given is None or given == list(wanted):
            return table
        absent = [name for name in wanted if name not in given]
        if absent:
            raise ValueError(f"X has no column {absent[0]!r}")
        columns = [table.column(given.index(name)) for name in wanted]
        return ColumnTable(columns, wanted, self._infinite)


class SavedClassifier(SavedModel[ClassScorer]):
    """A classifier from a file, which only predicts; :func:`load` returns it.

    Examples
    --------
    >>> import os, tempfile
    >>> from edgewise import AdaBoostMH, predictor
    >>> path = os.path.join(tempfile.mkdtemp(), "small.edgewise")
    >>> AdaBoostMH("stump", n_rounds=3).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"]).save(path)
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

    Predictions are those of :func:`edgewise.load`, bit for bit. Rows may be a two-dimensional array
    or list, a list of dicts by column name, a dict of columns or of the values of one row,
    a SciPy sparse matrix, or, where narwhals is installed, a data frame. A missing value is NaN or
    None; columns that training did not have are ignored where they have names. A model that
    `edgewise train` made takes the columns of its table: dates as ISO strings or as dates.

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
    >>> import os, tempfile
    >>> from edgewise import AdaBoostMH, predictor
    >>> path = os.path.join(tempfile.mkdtemp(), "small.edgewise")
    >>> AdaBoostMH(n_rounds=3).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"]).save(path)
    >>> predictor.load(path).predict([{"x0": 1.7}])
    array(['b'], dtype='<U1')
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
        raise ValueError(f"X must have one value a row in column {name!r}, got {array.ndim}-D")
    if array.dtype.kind in "fiub":
        return NumericColumn(array_table(array[:, None]).values[:, 0])
    return column_from_objects(array.tolist(), name)


def _raw_column(values: Any, name: str) -> Any:
    """Return a column as a table has it: of numbers, words or dates."""
    from edgewise.io.tables import date_column
    from edgewise.io.text import NA_VALUES

    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return _column(values, name)
    given = [None if isinstance(one, str) and one in NA_VALUES else one for one in list(values)]
    return date_column(given) or _column(given, name)


def _check_lengths(columns: Iterable[Any]) -> None:
    if len({len(column) for column in columns}) > 1:
        raise ValueError("X must have columns of the same length")


@dataclass(frozen=True, eq=False, kw_only=True)
class _SavedClasses(ClassScorer):
    held_out: float | None

    @property
    def temperature(self) -> float:
        return 1.0 if self.held_out is None else self.held_out


def _temperature(temperature: float) -> float:
    return positive("temperature", temperature)


_HELD_OUT = Record({"temperature": Value(float)}, _temperature)

_RECORDS: dict[str, tuple[Record, Any]] = {
    "AdaBoostMH": (
        Record({**SCORING_CLASSES, "held_out": OrNone(_HELD_OUT)}, _SavedClasses),
        SavedClassifier,
    ),
    "RankBoost": (Record(SCORING, RankScorer), SavedRanker),
}
