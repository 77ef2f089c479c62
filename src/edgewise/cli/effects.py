"""The most important columns of a model, and their effects on its predictions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgewise.cli import common, tables
from edgewise.data import CategoricalColumn, NumericColumn, as_table
from edgewise.model.explain import mean_outputs, most_frequent

if TYPE_CHECKING:
    from edgewise.data import Column, Table

TOP = 10
"""Columns to show."""

# Rows that effects are averaged over, and values of a column that they are shown at.
_N_ROWS, _N_VALUES = 200, 5
# Effects of wider tables would take long.
_MAX_COLUMNS = 2000


class Effects(NamedTuple):
    """A column, its importance, and the mean prediction at some of its values."""

    name: str
    importance: float
    output: str = ""
    """The class whose probability is predicted, or "score"."""
    means: Sequence[tuple[str, float]] = ()
    """Values of the column, and the mean prediction if all rows had them."""


def spaced_rows(n_rows: int) -> Any:
    """Return evenly spaced rows to average over."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, _N_ROWS)).astype(np.intp))


def important_columns(model: Any, X: Any, n: int = TOP) -> list[Effects]:
    """Return the most important columns, with effects where there are rows to average over."""
    importances = model.feature_importances_
    order = np.argsort(-importances, kind="stable").tolist()
    top = [j for j in order if importances[j] > 0][:n]
    effects = [Effects(model.fitted_.feature_name(j), float(importances[j])) for j in top]
    # Image filters are numbered after the columns.
    if X is None or not top or max(top) >= X.shape[1] or X.shape[1] > _MAX_COLUMNS:
        return effects
    table = as_table(X, model.handle_infinite)
    rows = table.take(spaced_rows(table.n_rows))
    columns = list(rows.columns())
    return [
        effect._replace(**_effects(model, rows, columns, j))
        for effect, j in zip(effects, top, strict=True)
    ]


def _effects(model: Any, rows: "Table", columns: "list[Column]", j: int) -> dict[str, Any]:
    """Return the output and the mean predictions at values of a column."""
    column = columns[j]
    if isinstance(column, CategoricalColumn):
        codes = most_frequent(column.codes, column.missing_code, _N_VALUES)
        labels = [str(column.categories[code]) for code in codes.tolist()]
        values: Column = CategoricalColumn(codes.astype(column.codes.dtype), column.categories)
    else:
        points = column.reals()
        points = points[~np.isnan(points)]
        if len(points):
            quantiles = np.linspace(0.05, 0.95, _N_VALUES)
            points = np.unique(np.quantile(points, quantiles, method="nearest"))
        labels = [_format_value(model, rows.name(j), point) for point in points.tolist()]
        values = NumericColumn(points)
    if not labels:
        return {}
    ranks = tables.task_of(model) == "grades"
    output = model.predict if ranks else model.predict_proba
    means = mean_outputs(output, rows, columns, j, values)
    # The second of two classes; otherwise the class or label that changes most.
    is_binary = means.shape[1] == 2 and tables.task_of(model) == "classes"
    k = 1 if is_binary else int(np.ptp(means, axis=0).argmax())
    name = "score" if ranks else str(model.classes_[k])
    return {"output": name, "means": list(zip(labels, means[:, k].tolist(), strict=True))}


def _format_value(model: Any, name: str, value: float) -> str:
    """Return a number, or the day of the week or the date that it stands for."""
    column, _, part = name.rpartition(".")
    dates = () if model.schema_ is None else model.schema_.columns
    if any(date.name == column and part in date.parts for date in dates):
        if part == "weekday":
            return ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[int(value)]
        if part == "days":
            return str(np.datetime64(int(value // 1), "D"))
    return f"{value:.6g}"


def print_effects(columns: Sequence[Effects]) -> None:
    """Print the most important columns, and their effects where they are known."""
    outputs = dict.fromkeys(column.output for column in columns if column.output)
    common.print_heading("Importance of columns, by the decrease in loss")
    if not columns:
        common.print_table([["no column is used"]])
        return
    rows = [["column", "importance"]]
    if outputs:
        only = next(iter(outputs)) if len(outputs) == 1 else ""
        unit = "score" if only == "score" else f"probability of {only}" if only else "probability"
        rows[0] += [*([] if only else ["class"]), f"mean {unit} at some values"]
    for column in columns:
        row = [column.name, f"{column.importance:.1%}"]
        if outputs:
            form = "{}: {:+.2f}" if column.output == "score" else "{}: {:.0%}"
            row += [*([] if only else [column.output])]
            row.append("   ".join(form.format(label, mean) for label, mean in column.means))
        rows.append(row)
    common.print_table(rows, left=(0, 2, 3))
