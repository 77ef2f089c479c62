"""Tables on the command line: their files, columns and rows, and how good a model is on them."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli.common import (
    Decorator,
    heading,
    heading_line,
    load_model,
    one_line_errors,
    options,
    print_table,
)
from edgewise.common.choices import DEFAULT_RANKING_METRICS
from edgewise.common.text import id_text, pluralize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.common.dtypes import Reals
    from edgewise.io import RawTable, Schema
    from edgewise.metrics import Lists

OPTIONS = {
    **{name: f"--{name}" for name in ("target", "query", "doc", "weight", "task")},
    **{name: f"--{name}" for name in ("drop", "categorical", "numeric")},
}
"""The options for arguments of the library, by their names there."""

# Below this share of stored values, a sparse matrix is smaller.
_SPARSE = 1 / 3

# The most classes in a printed confusion matrix: more would not fit on a terminal.
_MOST_CLASSES = 8

logger = logging.getLogger("edgewise")

_column = heading("Columns")


def target_option(about: str) -> Decorator:
    """Add the option ``--target``."""
    return _column("--target", metavar="COL", multiple=True, help=about)


query_option = _column(
    "--query", metavar="COL", help="Column with query ids, to rank the rows of each."
)
doc_option = _column("--doc", metavar="COL", help="Column with document ids, for run files.")
weight_option = _column("--weight", metavar="COL", help="Column with weights of the rows.")
kinds = options(
    _column("--drop", metavar="COL", multiple=True, help="Columns to leave out."),
    _column("--categorical", metavar="COL", multiple=True, help="Columns of categories."),
    _column("--numeric", metavar="COL", multiple=True, help="Columns of numbers."),
)
"""Adds the options that say what columns are, against what they look like."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file as a model has them, with what is known about each."""

    path: str
    X: Any
    y: Any = None
    qid: Any = None
    docs: Any = None
    weight: Any = None
    ids: dict[str, Any] = field(default_factory=dict)
    """Columns of ids, by name."""
    classes: Any = None
    """Where rows have classes: their names; `y` has the place of each row's among them."""
    n_left_out: int = 0
    """The rows of the file without a target, which are left out."""

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: "NDArray[Any]") -> "Rows":
        """Return some of the rows; the columns are copied when they are read."""
        from edgewise.data import Table
        from edgewise.data.table import SelectedRowsTable

        X = SelectedRowsTable(self.X, rows) if isinstance(self.X, Table) else self.X[rows]
        parts = {name: getattr(self, name) for name in ("y", "qid", "docs", "weight")}
        some: dict[str, Any] = {
            name: None if part is None else part[rows] for name, part in parts.items()
        }
        ids = {name: part[rows] for name, part in self.ids.items()}
        return Rows(self.path, X, **some, ids=ids, classes=self.classes)


def is_table(path: str) -> bool:
    """Return whether a file is a table, going by its name; all others are SVMlight or LETOR."""
    from edgewise.io.tables import table_kind

    return table_kind(path) is not None


def forgotten_queries(path: str, columns: Iterable[str]) -> str | None:
    """Return what to say of a column that looks like query ids and is taken for a feature."""
    from edgewise.common.ids import looks_like_queries

    name = next(filter(looks_like_queries, columns), None)
    return name and f"{path}: {name!r} looks like query ids: to rank, use --query {name}"


def warn_of_one_list(path: str, n_rows: int) -> None:
    """Warn that rows to rank have no query ids, unless they are as few as one list may have."""
    from edgewise.common.ids import LONGEST_LIST

    if n_rows <= LONGEST_LIST:
        return
    column, line = "--query names the column of query ids", "qid:ID in each line names them"
    what = "%s has no query ids: all %d rows are compared with each other, as one list; %s"
    logger.warning(what, path, n_rows, column if is_table(path) else line)


def read_raw(path: str, words: Sequence[str]) -> "RawTable":
    """Read the columns of a table."""
    from edgewise.io import read_columns

    with one_line_errors(path, OPTIONS):
        return read_columns(path, words)


def rows_of(path: str, raw: "RawTable", schema: "Schema", judged: bool = True) -> Rows:
    """Return the rows of a table; those without a target are left out, if it is needed."""
    import numpy as np

    y, classes = None, None
    with one_line_errors(path, OPTIONS):
        X = schema.transform(raw)
        if judged and schema.task == "classes":
            y, classes = schema.class_codes(raw)
        elif judged:
            y = schema.labels(raw)
        given = [name for name in ("query", "doc", "weight") if getattr(schema, name) is not None]
        roles = {name: schema.role(raw, name) for name in given}
        ids = schema.ids(raw)
    columns = roles.get("query"), roles.get("doc"), roles.get("weight")
    rows = Rows(path, X, y, *columns, ids, classes)
    if y is None:
        return rows
    gone = y < 0 if classes is not None else np.isnan(y.reshape(len(y), -1)).any(axis=1)
    target = " ".join(schema.target)
    if gone.all():
        raise click.ClickException(f"{path} has no value in --target {target}")
    if gone.any():
        size = pluralize(int(gone.sum()), "rows")
        logger.warning("%s: left out %s without a value in %r", path, size, target)
        rows = replace(rows.take(np.flatnonzero(~gone)), n_left_out=int(gone.sum()))
    return replace(rows, y=rows.y.astype(np.int64)) if schema.task == "labels" else rows


def read_svmlight(path: str, task: str | None, width: int | None = None) -> Rows:
    """Read an SVMlight file, widened to the columns of a model; query ids mean grades."""
    import numpy as np

    from edgewise.io import read_letor

    with one_line_errors(path):
        data = read_letor(path, sparse=True)
    X = data.X
    if width is not None and X.shape[1] > width:
        raise click.ClickException(f"{path} has {X.shape[1]} features, the model has {width}")
    width = width or X.shape[1]
    X = widened(X, width, is_sparse(X, width))
    if task == "grades" or (task is None and data.qid is not None):
        return Rows(path, X, data.y, data.qid, data.docs)
    classes, y = np.unique(data.y, return_inverse=True)
    if np.array_equal(classes, np.floor(classes)):
        classes = classes.astype(np.int64)
    return Rows(path, X, y, docs=data.docs, classes=classes)


def is_sparse(X: Any, width: int) -> bool:
    """Return whether a sparse matrix, widened, takes less memory than an array."""
    return bool(X.nnz < _SPARSE * X.shape[0] * width)


def widened(X: Any, width: int, sparse: bool) -> Any:
    """Return a sparse matrix with more columns, or the array of it."""
    wide = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return wide if sparse else wide.toarray()


# Saved models


def load(path: str, purpose: str) -> Any:
    """Load a classifier or ranker."""
    from edgewise import AdaBoostMH, RankBoost

    model = load_model(path)
    if not isinstance(model, (AdaBoostMH, RankBoost)):
        return load_model(path, "AdaBoostMH", purpose)
    return model


def task_of(model: Any) -> str:
    """Return what a model learned: classes, labels or grades."""
    from edgewise import RankBoost

    if isinstance(model, RankBoost):
        return "grades"
    return "labels" if model.fitted_.multilabel else "classes"


def read_for(
    path: str,
    model: Any,
    model_path: str,
    target: Sequence[str] = (),
    judged: bool = True,
    **roles: Any,
) -> Rows:
    """Read the rows of a file as a saved model has them."""
    schema = _schema_of(model)
    if not is_table(path):
        if schema is not None:
            raise click.ClickException(
                f"{path} is an SVMlight file, but the columns of {model_path} have names: use a "
                "table"
            )
        return read_svmlight(path, task_of(model), model.n_features_in_)
    if schema is None:
        raise click.ClickException(
            f"{path} is a table, but the features of {model_path} have numbers: use an SVMlight "
            "or LETOR file"
        )
    given = {name: column for name, column in roles.items() if column is not None}
    if target:
        given["target"] = tuple(target)
    for role, column in given.items():
        for name in (column,) if isinstance(column, str) else column:
            if name in {one.name for one in schema.columns if one.features}:
                raise click.UsageError(f"--{role}: {name!r} is a feature of the model {model_path}")
    schema = replace(schema, **given)
    if judged and not schema.target:
        raise click.UsageError(f"--target must name the column of {path} with the right answers")
    raw = read_raw(path, schema.words)
    # What prediction does not need may be absent.
    absent = [one for one in ("query", "doc", "weight") if getattr(schema, one) not in raw.columns]
    if "query" in absent and "query" not in given and schema.query is not None:
        lacks = f"{path}: the table lacks the column {schema.query!r} of query ids"
        if judged:
            raise click.UsageError(f"{lacks}: name another with --query")
        logger.warning("%s: all rows are ranked as one query", lacks)
    unused: dict[str, Any] = {one: None for one in absent if one not in given}
    schema = replace(schema, **unused)
    rows = rows_of(path, raw, schema, judged)
    note(path, raw, schema)
    return rows


def _schema_of(model: Any) -> "Schema | None":
    """Return the schema of a model; one without a schema takes its columns as they come."""
    from edgewise.io import ColumnSchema, Schema

    names = model.fitted_.feature_names
    if model.schema_ is not None or names is None:
        found: Schema | None = model.schema_
        return found
    columns = []
    for j, name in enumerate(names):
        values = model.fitted_.categories.get(j, ())
        if values and all(isinstance(value, str) for value in values):
            columns.append(ColumnSchema(name, "category", 0, 0, categories=tuple(values)))
        else:
            columns.append(ColumnSchema(name, "number", 0, 0))
    return Schema(tuple(columns), task=task_of(model))


def note(path: str, raw: "RawTable", schema: "Schema") -> None:
    """Warn of columns and categories that the model does not know."""
    extra = schema.extra(raw)
    if extra and any(column.kind == "dropped" or column.n_distinct for column in schema.columns):
        listed = ", ".join(map(repr, extra[:5])) + (", ..." if len(extra) > 5 else "")
        plural = "columns" if len(extra) > 1 else "column"
        logger.warning("%s: ignored the %s %s, which training did not have", path, plural, listed)
    for name, words in schema.new_categories(raw).items():
        listed = ", ".join(map(repr, words[:5])) + (", ..." if len(words) > 5 else "")
        logger.warning("%s: %r has new values, taken as missing: %s", path, name, listed)


# How good a model is


def measured(model: Any, rows: Rows) -> dict[str, Any]:
    """Return the metrics of a model on rows whose answers are known, by the names of metrics."""
    task = task_of(model)
    if task == "grades":
        return _measured_ranking(model, rows)
    rows = known(model.classes_, rows)
    measure = _measured_labels if task == "labels" else _measured_classes
    with one_line_errors(rows.path):
        return measure(model, rows, *answers(model, rows.X))


def answers(model: Any, X: Any) -> tuple[Any, Any]:
    """Return a classifier's probabilities, and its predictions as class numbers or 0/1 labels."""
    from edgewise.metrics.classification import predicted

    scores = model._scores(X)
    return model._probabilities(scores), predicted(scores, model.fitted_.multilabel)


def known(classes: Any, rows: Rows) -> Rows:
    """Return the rows with one of the classes of a model, numbered as its own."""
    import numpy as np

    if rows.classes is None:
        return rows
    own = {id_text(name): place for place, name in enumerate(classes.tolist())}
    names = [id_text(name) for name in rows.classes.tolist()]
    y = np.array([own.get(name, -1) for name in names])[rows.y]
    rows = replace(rows, y=y, classes=classes)
    if (y >= 0).all():
        return rows
    new = ", ".join([name for name in names if name not in own][:5])
    if (y < 0).all():
        raise click.ClickException(f"{rows.path} has none of the classes of the model, but {new}")
    size = pluralize(int((y < 0).sum()), "rows")
    what = "%s: left out %s with classes that the model does not know: %s"
    logger.warning(what, rows.path, size, new)
    return rows.take(np.flatnonzero(y >= 0))


def _measured_classes(model: Any, rows: Rows, probabilities: Any, predicted: Any) -> dict[str, Any]:
    import numpy as np

    from edgewise.metrics import balanced_accuracy, error, log_loss, roc_auc
    from edgewise.metrics.significance import proportion_interval

    classes, weight, codes = model.classes_, rows.weight, rows.y
    said = np.eye(len(classes))[predicted]
    counts = np.bincount(codes, weight, minlength=len(classes))
    wrong = error(codes, said, weight)
    # Weights that differ make the error as uncertain as that of fewer rows (Kish 1965).
    n_rows = len(rows) if weight is None else weight.sum() ** 2 / (weight**2).sum()
    found = {
        "rows": len(rows),
        "error": wrong,
        "error_interval": proportion_interval(wrong, n_rows),
        "baseline_error": 1.0 - float(counts.max() / counts.sum()),
        "log_loss": log_loss(codes, probabilities, weight),
        "balanced_accuracy": balanced_accuracy(codes, said, weight),
    }
    if len(classes) == 2 and counts.min() > 0:
        found["roc_auc"] = roc_auc(codes, probabilities[:, 1])
    matrix = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(matrix, (codes, predicted), 1)
    return {**found, "classes": classes.tolist(), "confusion": matrix.tolist()}


def _measured_labels(model: Any, rows: Rows, probabilities: Any, predicted: Any) -> dict[str, Any]:
    import numpy as np

    from edgewise.metrics import roc_auc

    wrong = predicted != rows.y
    labels = {}
    for k, name in enumerate(model.classes_.tolist()):
        truth = rows.y[:, k]
        auc = roc_auc(truth, probabilities[:, k]) if 0 < truth.sum() < len(truth) else float("nan")
        labels[str(name)] = {
            "share": float(truth.mean()),
            "error": float(wrong[:, k].mean()),
            "roc_auc": auc,
        }
    return {
        "rows": len(rows),
        "hamming_loss": float(wrong.mean()),
        "baseline_hamming_loss": float(
            np.minimum(rows.y.mean(axis=0), 1 - rows.y.mean(axis=0)).mean()
        ),
        "any_label_wrong": float(wrong.any(axis=1).mean()),
        "labels": labels,
    }


def _measured_ranking(model: Any, rows: Rows) -> dict[str, Any]:
    from edgewise.metrics import Lists

    with one_line_errors(rows.path):
        lists, scores = Lists(rows.y, rows.qid), model.predict(rows.X)
    values = test_values(lists, scores, metric_of(model))
    return {"rows": len(rows), "queries": int(lists.row_query.max()) + 1, **values}


def metric_of(model: Any) -> str:
    """Return the name of the metric of a ranker, "map" for a function."""
    from edgewise.metrics.registry import first_metric

    metric = first_metric(model.eval_metric)
    return metric if isinstance(metric, str) else DEFAULT_RANKING_METRICS[0]


def test_values(lists: "Lists", scores: "Reals", metric: str) -> dict[str, float | None]:
    """Return the usual metrics and another of scores; None where grades have no such value."""
    from edgewise.metrics import ranking_metric

    found: dict[str, float | None] = {}
    for name in dict.fromkeys((*DEFAULT_RANKING_METRICS, metric)):
        try:
            found[name] = float(ranking_metric(name)(lists, scores))
        except ValueError:
            # Negative grades have no gain.
            found[name] = None
    return found


def print_measured(found: dict[str, Any], title: str) -> None:
    """Print metrics in words."""
    heading_line(title)
    if "labels" in found:
        _print_labels(found)
    elif "classes" in found:
        _print_classes(found)
    else:
        names = [name for name in found if name not in ("rows", "queries")]
        cells = ["-" if found[name] is None else f"{found[name]:.4f}" for name in names]
        print_table([names, cells], left=())


def _print_classes(found: dict[str, Any]) -> None:
    low, high = found["error_interval"]
    rows = [
        [
            "error",
            f"{found['error']:.1%}",
            f"95% interval {low:.1%} to {high:.1%}; {found['baseline_error']:.1%} when always "
            "predicting the majority class",
        ],
        ["log loss", f"{found['log_loss']:.3f}", "0 is best: how sure it is of the right class"],
        ["balanced accuracy", f"{found['balanced_accuracy']:.1%}", "the mean over the classes"],
    ]
    if "roc_auc" in found:
        about = "1 is best, 0.5 is chance: how well it orders the rows"
        rows.insert(2, ["ROC AUC", f"{found['roc_auc']:.3f}", about])
    print_table(rows, left=(0, 2), heading=False)
    names = [str(name) for name in found["classes"]]
    if len(names) <= _MOST_CLASSES:
        click.echo()
        head = ["rows of class", *(f"said {name}" for name in names)]
        body = zip(names, found["confusion"], strict=True)
        print_table([head, *([name, *(f"{n:,}" for n in row)] for name, row in body)])


def _print_labels(found: dict[str, Any]) -> None:
    base = f"{found['baseline_hamming_loss']:.1%} if it always said the more frequent value"
    rows = [
        ["wrong labels", f"{found['hamming_loss']:.1%}", base],
        ["rows with a wrong label", f"{found['any_label_wrong']:.1%}", ""],
    ]
    print_table(rows, left=(0, 2), heading=False)
    click.echo()
    rows = [["label", "share", "error", "ROC AUC"]]
    for name, one in list(found["labels"].items())[:20]:
        auc = f"{one['roc_auc']:.3f}" if one["roc_auc"] == one["roc_auc"] else "-"
        rows.append([name, f"{one['share']:.1%}", f"{one['error']:.1%}", auc])
    print_table(rows)
