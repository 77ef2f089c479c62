"""``edgewise explain``: what a model has learned, or why a row has its scores."""

from typing import TYPE_CHECKING, Any, NamedTuple

import rich_click as click

from edgewise.cli import common, tables
from edgewise.common.text import one_line, pluralize

if TYPE_CHECKING:
    from edgewise.data import Column, Table

_TOP = 10
_LEARNED = "What it learned: the columns that lower the loss most"
# Rows that effects are averaged over, and values of a column that they are shown at.
_SAMPLE, _VALUES = 200, 5
# Columns of a table on which effects are measured.
_WIDEST = 2000

option = common.heading("Options")


@common.command("explain")
@click.argument("model", type=common.FILE, help="Saved model.")
@click.argument("data", type=common.FILE, required=False, help="Rows to explain it on.")
@option("--row", type=common.COUNT, help="Explain this row of DATA, 1 for the first.")
@option("--against", type=common.COUNT, help="Explain why --row stands above, or below, this row.")
@option("--class", "name", metavar="NAME", help="Explain the score of this class.")
@option("-n", type=common.COUNT, default=_TOP, help="Number of columns or contributions.")
@common.json_option(option)
def explain(
    model: str,
    data: str | None,
    row: int | None,
    against: int | None,
    name: str | None,
    n: int,
    as_json: bool,
) -> None:
    """Say what a model has learned, or why it scores a row as it does.

      edgewise explain people.edgewise
          the most important columns and how they vote
      edgewise explain people.edgewise test.csv
          also what the model predicts at values of these columns, on average
      edgewise explain people.edgewise test.csv --row 7
          what the columns of a row, and pairs of them, add to its score
      edgewise explain ranker.edgewise test.txt --row 7 --against 9
          why a ranker puts one row above another

    Contributions to the score of a row are Shapley values; they compare it with
    the other rows of DATA and add up to the score.
    """
    common.needs(["name", "against"], "row")
    if row is not None and data is None:
        raise click.UsageError("--row is a row of DATA: name the file after MODEL")
    loaded = tables.load(model, "explain rows")
    rows = None if data is None else tables.read_for(data, loaded, model, judged=False)
    if row is not None and rows is not None and against is not None:
        _explain_pair(loaded, rows, row, against, n, as_json)
        return
    if row is not None and rows is not None:
        _explain_row(loaded, rows, row, name, n, as_json)
        return
    found = learned(loaded, None if rows is None else rows.X, n)
    parts = loaded.explain().contributions[:n]
    if as_json:
        listed = [{"name": one.name, "share": one.amount, "votes": one.detail} for one in parts]
        common.print_json({"columns": [one._asdict() for one in found], "parts": listed})
        return
    # The parts of trees, and of stumps, are the columns.
    alone = bool(found) and [one.name for one in parts] == [one.column for one in found]
    if rows is not None or not alone:
        print_learned(found)
    if rows is None:
        common.heading_line(
            _LEARNED if alone else "Its parts: columns that rules test alone or together"
        )
        lines = [[f"{one.amount:.1%}", one.name, one.detail] for one in parts]
        common.print_table([["share", "columns", "how they vote"], *lines], left=(1, 2))
        click.echo()
        click.echo(f"With rows, `edgewise explain {model} DATA` shows what each column changes.")


def _explain_pair(
    model: Any, rows: tables.Rows, row: int, against: int, n: int, as_json: bool
) -> None:
    """Say why a row is ranked above or below another."""
    if tables.task_of(model) != "grades":
        raise click.UsageError("--against compares rows that a ranker ranks")
    first, second = _row(rows, "--row", row), _row(rows, "--against", against)
    with common.one_line_errors(rows.path):
        found = model.explain_pair(first, second)
    if as_json:
        common.print_json(
            {"row": row, "against": against, "scores": found.scores, **_listed(found.contributions)}
        )
        return
    way = "above" if found.difference > 0 else "below" if found.difference < 0 else "level with"
    common.heading_line(f"Why row {row} of {rows.path} stands {way} row {against}")
    scores = f"{found.scores[0]:+.2f} and {found.scores[1]:+.2f}"
    click.echo(
        f"Their scores are {scores}; the difference, {found.difference:+.2f}, is the sum of:"
    )
    _print_parts(found.contributions, n)


def _row(rows: tables.Rows, option: str, number: int) -> Any:
    """Return one row of a file, by its number from 1."""
    import numpy as np

    if number > len(rows):
        raise click.UsageError(f"{option} {number}: {rows.path} has {pluralize(len(rows), 'rows')}")
    return rows.take(np.array([number - 1])).X


def _listed(parts: Any) -> dict[str, Any]:
    listed = [{"name": one.name, "value": one.detail, "amount": one.amount} for one in parts]
    return {"contributions": listed}


def _print_parts(parts: Any, n: int) -> None:
    """Print the largest contributions, and the sum of the others."""
    shown = [["amount", "from"]]
    shown += [[f"{one.amount:+.2f}", str(one)] for one in parts[:n]]
    if rest := parts[n:]:
        total = sum(one.amount for one in rest)
        shown.append([f"{total:+.2f}", pluralize(len(rest), "others")])
    common.print_table(shown, left=(1,))


def _explain_row(
    model: Any, rows: tables.Rows, row: int, name: str | None, n: int, as_json: bool
) -> None:
    import numpy as np

    this = _row(rows, "--row", row)
    some = np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(np.intp)
    with common.one_line_errors(rows.path):
        found = model.explain(this, rows.take(np.unique(some)).X)
    if name is not None:
        known = {str(one): one for one in found.classes}
        if name not in known:
            raise click.UsageError(f"--class must be one of {', '.join(known)}, got {name!r}")
        found = found.of(known[name])
    if as_json:
        common.print_json({"row": row, "class": found.explained, **_listed(found.contributions)})
        return
    title = f"Row {row} of {rows.path}"
    if tables.task_of(model) == "classes":
        chances = model.predict_proba(this)[0]
        best = int(chances.argmax())
        title += f": {model.classes_[best]} (probability {chances[best]:.1%})"
    common.heading_line(title)
    score = sum(one.amount for one in found.contributions)
    whose = f" for {found.explained}" if len(found.classes) > 1 else ""
    click.echo(one_line(f"Its score{whose} is {score:+.2f}, the sum of:"))
    _print_parts(found.contributions, n)


class Learned(NamedTuple):
    """A column, its share in the decrease of the loss, and what it changes."""

    column: str
    share: float
    of: str
    """Which class's probability, or which score, changes."""
    effects: list[tuple[str, float]]
    """Values of the column, and the mean prediction if all rows had them."""


def learned(model: Any, X: Any, n: int = _TOP) -> list[Learned]:
    """Return the most important columns, with effects where there are rows to measure them on."""
    import numpy as np

    from edgewise.data import as_table

    shares = model.feature_importances_
    order = [j for j in np.argsort(-shares, kind="stable").tolist() if shares[j] > 0][:n]
    names = [model.fitted_.feature_name(j) for j in order]
    # Image filters are numbered after the columns.
    if X is None or not order or max(order) >= X.shape[1] or X.shape[1] > _WIDEST:
        return [
            Learned(name, float(shares[j]), "", []) for j, name in zip(order, names, strict=True)
        ]
    rows = as_table(X, model.handle_infinite)
    some = np.unique(np.linspace(0, rows.n_rows - 1, min(rows.n_rows, _SAMPLE)).astype(np.intp))
    part = rows.take(some)
    sample = list(part.columns())
    return [
        Learned(name, float(shares[j]), *_effects(model, sample, part, j))
        for j, name in zip(order, names, strict=True)
    ]


def _effects(
    model: Any, sample: "list[Column]", X: "Table", j: int
) -> tuple[str, list[tuple[str, float]]]:
    """Return what the model predicts, on average, if all rows had a value of a column."""
    import numpy as np

    from edgewise.data import CategoricalColumn, NumericColumn
    from edgewise.data.table import repeat_for_values

    column = sample[j]
    if isinstance(column, CategoricalColumn):
        counts = np.bincount(column.codes, minlength=column.missing_code + 1)
        codes = np.argsort(-counts[: column.missing_code], kind="stable")[:_VALUES]
        codes = codes[counts[codes] > 0]
        labels = [str(column.categories[code]) for code in codes.tolist()]
        values: Column = CategoricalColumn(codes.astype(column.codes.dtype), column.categories)
    else:
        points = column.reals()
        points = points[~np.isnan(points)]
        if len(points):
            shares = np.linspace(0.05, 0.95, _VALUES)
            points = np.unique(np.quantile(points, shares, method="nearest"))
        labels = [_label(model, X.name(j), point) for point in points.tolist()]
        values = NumericColumn(points)
    if not labels:
        return "", []
    table = repeat_for_values(sample, j, values, X.names, X.infinite)
    size = len(labels), len(column), -1
    if tables.task_of(model) == "grades":
        means = model.predict(table).reshape(size).mean(axis=1)[:, 0]
        return "score", list(zip(labels, means.tolist(), strict=True))
    by_value = model.predict_proba(table).reshape(size).mean(axis=1)
    # The second of two classes; otherwise the class or label that changes most.
    two = by_value.shape[1] == 2 and tables.task_of(model) == "classes"
    k = 1 if two else int(np.ptp(by_value, axis=0).argmax())
    return str(model.classes_[k]), list(zip(labels, by_value[:, k].tolist(), strict=True))


def _label(model: Any, name: str, value: float) -> str:
    """Return a number, or the day of the week or the date that it stands for."""
    import numpy as np

    column, _, part = name.rpartition(".")
    dates = [] if model.schema_ is None else model.schema_.columns
    if any(one.name == column and part in one.parts for one in dates):
        if part == "weekday":
            return ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[int(value)]
        if part == "days":
            return str(np.datetime64(int(value // 1), "D"))
    return f"{value:.6g}"


def print_learned(found: list[Learned]) -> None:
    """Print the most important columns and what they change."""
    targets = dict.fromkeys(one.of for one in found if one.of)
    alone = next(iter(targets)) if len(targets) == 1 else ""
    common.heading_line(_LEARNED)
    if not found:
        click.echo(" no column is used")
        return
    rows = [["column", "share"]]
    if targets:
        whose = f" of {alone}" if alone not in ("", "score") else ""
        unit = "score" if alone == "score" else "probability"
        rows[0] += [*([] if alone else ["of"]), f"mean {unit}{whose} at some values"]
    for one in found:
        row = [one.column, f"{one.share:.1%}"]
        if targets:
            number = "{:+.2f}" if one.of == "score" else "{:.0%}"
            parts = [f"{label}: {number.format(value)}" for label, value in one.effects]
            row += [*([] if alone else [one.of]), "   ".join(parts)]
        rows.append(row)
    common.print_table(rows, left=(0, 2, 3))
