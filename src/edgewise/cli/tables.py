"""Rows of tables and SVMlight files, for commands that train or use a classifier or ranker."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli import params
from edgewise.cli.common import one_line_errors
from edgewise.common.text import id_text, pluralize, quote_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.io import RawTable, Schema

# Below this fraction of stored values, a sparse matrix is smaller.
_SPARSE = 1 / 3

logger = logging.getLogger("edgewise")

_column_option = partial(params.option, group="Columns", metavar="COL")


def target_option(about: str) -> params.Decorator:
    """Add the option ``--target``."""
    return _column_option("--target", multiple=True, help=about)


query_option = _column_option("--query", help="Column with query ids, for ranking.")
doc_option = _column_option("--doc", help="Column with document ids, for run files.")
weight_option = _column_option("--weight", help="Column with row weights.")
kind_options = params.combine(
    _column_option("--drop", multiple=True, help="Columns to leave out."),
    _column_option("--categorical", multiple=True, help="Columns of categories."),
    _column_option("--numeric", multiple=True, help="Columns of numbers."),
)
"""Adds the options that override the inferred kinds of columns."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file: features, and the targets, queries, documents and weights if there are any.

    Of classes, `y` has the positions in `classes`.
    """

    path: str
    X: Any
    y: Any = None
    qid: Any = None
    docs: Any = None
    weight: Any = None
    ids: dict[str, Any] = field(default_factory=dict)
    """Columns of ids, by name."""
    classes: Any = None
    n_dropped: int = 0
    """Rows of the file that are left out because they have no target."""

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_queries(self) -> int:
        """The number of queries; rows without query ids are one list."""
        return 1 if self.qid is None else len(set(self.qid.tolist()))

    @property
    def labels(self) -> Any:
        """The targets, of classes their names."""
        return self.y if self.classes is None else self.classes[self.y]

    def take(self, rows: "NDArray[Any]") -> "Rows":
        """Return some of the rows; the columns are copied when they are read."""
        from edgewise.data import Table
        from edgewise.data.table import SelectedRowsTable

        X = SelectedRowsTable(self.X, rows) if isinstance(self.X, Table) else self.X[rows]
        ids = {name: column[rows] for name, column in self.ids.items()}
        y, qid, docs, weight = (
            None if column is None else column[rows]
            for column in (self.y, self.qid, self.docs, self.weight)
        )
        return Rows(self.path, X, y, qid, docs, weight, ids, self.classes)


def describe_queries(rows: Rows) -> str:
    """Return the numbers of queries and documents."""
    return f"{pluralize(rows.n_queries, 'queries')}, {pluralize(len(rows), 'documents')}"


# Files


def is_table(path: str) -> bool:
    """Return whether a file is a table, by its name; other files are SVMlight or LETOR."""
    from edgewise.io.tables import table_kind

    return table_kind(path) is not None


def warn_of_query_column(path: str, columns: Sequence[str]) -> None:
    """Warn if a column that is taken for a feature looks like query ids."""
    from edgewise.common.ids import looks_like_queries

    if name := next(filter(looks_like_queries, columns), None):
        logger.warning("%s: %r looks like query ids; to rank, use --query %s", path, name, name)


def warn_of_one_list(rows: Rows) -> None:
    """Warn that rows to rank have no query ids, unless they are few enough for one list."""
    from edgewise.common.ids import LONGEST_LIST

    if len(rows) > LONGEST_LIST:
        hint = "--query COL" if is_table(rows.path) else "qid:ID in each line"
        message = "%s has no query ids (%s): all %d rows are ranked as one list"
        logger.warning(message, rows.path, hint, len(rows))


def read_raw(path: str, text_columns: Sequence[str]) -> "RawTable":
    """Read the columns of a table."""
    from edgewise.io import read_columns

    with one_line_errors(path):
        return read_columns(path, text_columns)


def rows_of_table(path: str, raw: "RawTable", schema: "Schema", needs_target: bool = True) -> Rows:
    """Return the rows of a table, without those that lack a target that is needed."""
    import numpy as np

    y, classes = None, None
    with one_line_errors(path):
        X = schema.transform(raw)
        if needs_target and schema.task == "classes":
            y, classes = schema.class_codes(raw)
        elif needs_target:
            y = schema.labels(raw)
        qid, docs, weight = (
            None if getattr(schema, role) is None else schema.role(raw, role)
            for role in ("query", "doc", "weight")
        )
        rows = Rows(path, X, y, qid, docs, weight, schema.ids(raw), classes)
    if y is None:
        return rows
    missing = y < 0 if classes is not None else np.isnan(y.reshape(len(y), -1)).any(axis=1)
    target, n_dropped = " ".join(schema.target), int(missing.sum())
    if n_dropped == len(y):
        raise click.ClickException(f"{path} has no value in --target {target}")
    if n_dropped:
        size = pluralize(n_dropped, "rows")
        logger.warning("%s: dropped %s without a value in %r", path, size, target)
        rows = replace(rows.take(np.flatnonzero(~missing)), n_dropped=n_dropped)
    return replace(rows, y=rows.y.astype(np.int64)) if schema.task == "labels" else rows


def read_svmlight(
    paths: Sequence[str], task: str | None, n_features: int | None = None
) -> list[Rows]:
    """Read SVMlight files with the features of a model, or all that occur; query ids mean grades.

    A line may leave out features, which are 0.
    """
    import numpy as np

    from edgewise.io import read_letor

    files = []
    for path in paths:
        with one_line_errors(path):
            files.append(read_letor(path, sparse=True))
    width = max(data.X.shape[1] for data in files) if n_features is None else n_features
    task = task or ("classes" if files[0].qid is None else "grades")
    tables = []
    for path, data in zip(paths, files, strict=True):
        X = data.X
        if X.shape[1] > width:
            raise click.ClickException(f"{path} has {X.shape[1]} features, the model has {width}")
        X = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
        X = X if X.nnz < _SPARSE * X.shape[0] * width else X.toarray()
        if task == "grades":
            tables.append(Rows(path, X, data.y, data.qid, data.docs))
            continue
        classes, y = np.unique(data.y, return_inverse=True)
        if np.array_equal(classes, np.floor(classes)):
            classes = classes.astype(np.int64)
        tables.append(Rows(path, X, y, docs=data.docs, classes=classes))
    return tables


def read_like(
    path: str, schema: "Schema", needs_target: bool = True, raw: "RawTable | None" = None
) -> Rows:
    """Read the rows of a table with the columns of another, and warn of differences."""
    raw = read_raw(path, schema.words) if raw is None else raw
    rows = rows_of_table(path, raw, schema, needs_target)
    extra = schema.extra(raw)
    if extra and any(column.kind == "dropped" or column.n_distinct for column in schema.columns):
        plural = "columns" if len(extra) > 1 else "column"
        logger.warning("%s: ignored %s not in training: %s", path, plural, quote_names(extra, 5))
    for name, categories in schema.new_categories(raw).items():
        message = "%s: %r has unseen categories, treated as missing: %s"
        logger.warning(message, path, name, quote_names(categories, 5))
    return rows


# Saved models


def task_of(model: Any) -> str:
    """Return what a model learned: classes, labels or grades."""
    from edgewise import RankBoost

    if isinstance(model, RankBoost):
        return "grades"
    return "labels" if model.fitted_.multilabel else "classes"


def read_for_model(
    path: str,
    model: Any,
    model_path: str,
    target: Sequence[str] = (),
    needs_target: bool = True,
    **roles: str | None,
) -> Rows:
    """Read the rows of a file with the columns of a saved model."""
    schema = _schema_of(model)
    columns: dict[str, Any] = {role: column for role, column in roles.items() if column}
    if target:
        columns["target"] = tuple(target)
    if not is_table(path):
        for role in columns:
            raise click.UsageError(f"--{role} is for tables, {path} is SVMlight")
        if schema is not None:
            raise click.ClickException(
                f"{path} is an SVMlight file, but {model_path} has named columns: use a table"
            )
        return read_svmlight([path], task_of(model), model.n_features_in_)[0]
    if schema is None:
        raise click.ClickException(
            f"{path} is a table, but {model_path} has numbered features: use an SVMlight file"
        )
    features = {column.name for column in schema.columns if column.features}
    for role, names in columns.items():
        for name in (names,) if isinstance(names, str) else names:
            if name in features:
                raise click.UsageError(f"--{role}: {name!r} is a feature of {model_path}")
    schema = replace(schema, **columns)
    if needs_target and not schema.target:
        raise click.UsageError(f"--target must name the target column of {path}")
    raw = read_raw(path, schema.words)
    # Columns that prediction does not need may be absent.
    absent: dict[str, Any] = {}
    for role in ("query", "doc", "weight"):
        column = getattr(schema, role)
        if column is None or role in columns or column in raw.columns:
            continue
        if role == "query":
            lacks = f"{path} has no column {column!r} of query ids"
            if needs_target:
                raise click.UsageError(f"{lacks}: name another with --query")
            logger.warning("%s: all rows are ranked as one query", lacks)
        absent[role] = None
    return read_like(path, replace(schema, **absent), needs_target, raw)


def _schema_of(model: Any) -> "Schema | None":
    """Return the schema of a model; one without takes named columns as they are."""
    from edgewise.io import ColumnSchema, Schema

    names = model.fitted_.feature_names
    if model.schema_ is not None or names is None:
        schema: Schema | None = model.schema_
        return schema
    columns = []
    for j, name in enumerate(names):
        values = model.fitted_.categories.get(j, ())
        if values and all(isinstance(value, str) for value in values):
            columns.append(ColumnSchema(name, "category", 0, 0, categories=tuple(values)))
        else:
            columns.append(ColumnSchema(name, "number", 0, 0))
    return Schema(tuple(columns), task=task_of(model))


def align_classes(classes: Any, rows: Rows) -> Rows:
    """Return the rows that have one of the classes of a model, encoded as the model does."""
    import numpy as np

    if rows.classes is None:
        return rows
    positions = {_class_name(name): k for k, name in enumerate(classes.tolist())}
    names = [_class_name(name) for name in rows.classes.tolist()]
    y = np.array([positions.get(name, -1) for name in names])[rows.y]
    rows = replace(rows, y=y, classes=classes)
    if (y >= 0).all():
        return rows
    unknown = ", ".join([name for name in names if name not in positions][:5])
    if (y < 0).all():
        raise click.ClickException(f"{rows.path} has only unknown classes: {unknown}")
    size = pluralize(int((y < 0).sum()), "rows")
    logger.warning("%s: dropped %s of unknown classes: %s", rows.path, size, unknown)
    return rows.take(np.flatnonzero(y >= 0))


def _class_name(label: Any) -> str:
    """Return a class as text; false and true are 0 and 1, as in frames and Arrow files."""
    from edgewise.io.schema import BOOLEANS

    name = id_text(label)
    return str(BOOLEANS.index(name.lower())) if name.lower() in BOOLEANS else name
