"""``edgewise explain``: the prediction for one row."""

from typing import Any

import click

from edgewise.cli import common, params, tables
from edgewise.common.text import one_line, pluralize


@params.command("explain")
@params.argument("model", "Saved classifier or ranker.", type=params.FILE)
@params.argument("data", "Rows.", type=params.FILE)
@params.option("--row", type=params.COUNT, default=1, help="Row of DATA, 1 for the first.")
@params.option("--against", type=params.COUNT, help="Why --row ranks above or below this row.")
@params.option("--class", "name", metavar="NAME", help="Explain the score of this class.")
@params.option("-n", type=params.COUNT, default=10, help="Number of contributions.")
@params.json
def explain(
    model: str, data: str, row: int, against: int | None, name: str | None, n: int, as_json: bool
) -> None:
    """Explain the prediction for one row.

      edgewise explain people.edgewise test.csv --row 7
          the contributions of columns, and pairs of them, to its score
      edgewise explain ranker.edgewise test.txt --row 7 --against 9
          why a ranker puts one row above another

    Contributions are Shapley values; they compare the row with the other rows of
    DATA and add up to the score. `edgewise show` explains a whole model.
    """
    loaded = common.load_model(model, common.TABLE_MODELS, "explain rows")
    if against is not None and tables.task_of(loaded) != "grades":
        raise click.UsageError("--against is for rankers")
    rows = tables.read_for_model(data, loaded, model, needs_target=False)
    X = _select_row(rows, "--row", row)
    if against is not None:
        other = _select_row(rows, "--against", against)
        with common.one_line_errors(data):
            explanation = loaded.explain_pair(X, other)
        result = {"row": row, "against": against, "scores": explanation.scores}
        difference, (first, second) = explanation.difference, explanation.scores
        way = "above" if difference > 0 else "below" if difference < 0 else "level with"
        title = f"Why row {row} of {data} ranks {way} row {against}"
        text = f"The scores {first:+.2f} and {second:+.2f} differ by {difference:+.2f}, the sum of:"
    else:
        explanation = _explain_row(loaded, rows, X, name)
        result = {"row": row, "class": explanation.explained}
        title = f"Row {row} of {data}{_describe_prediction(loaded, X)}"
        score = sum(contribution.amount for contribution in explanation.contributions)
        whose = f" for {explanation.explained}" if len(explanation.classes) > 1 else ""
        text = f"The score{whose} is {score:+.2f}, the sum of:"
    contributions = explanation.contributions
    if as_json:
        listed = [{"name": c.name, "value": c.detail, "amount": c.amount} for c in contributions]
        common.print_json({**result, "contributions": listed})
        return
    common.print_heading(title)
    click.echo(one_line(text))
    lines = [["contribution", "from"]]
    lines += [[f"{c.amount:+.2f}", str(c)] for c in contributions[:n]]
    if others := contributions[n:]:
        lines.append([f"{sum(c.amount for c in others):+.2f}", pluralize(len(others), "others")])
    common.print_table(lines, left=(1,))


def _select_row(rows: tables.Rows, option: str, number: int) -> Any:
    """Return one row of a file, by its number from 1."""
    import numpy as np

    if number > len(rows):
        raise click.UsageError(f"{option} {number}: {rows.path} has {pluralize(len(rows), 'rows')}")
    return rows.take(np.array([number - 1])).X


def _explain_row(model: Any, rows: tables.Rows, X: Any, name: str | None) -> Any:
    """Return the explanation of a row, for a class if one is named."""
    from edgewise.cli.effects import spaced_rows

    with common.one_line_errors(rows.path):
        explanation = model.explain(X, rows.take(spaced_rows(len(rows))).X)
    if name is None:
        return explanation
    classes = {str(label): label for label in explanation.classes}
    if name not in classes:
        raise click.UsageError(f"--class must be one of {', '.join(classes)}, got {name!r}")
    return explanation.of(classes[name])


def _describe_prediction(model: Any, X: Any) -> str:
    """Return the predicted class of a row and its probability, if it has one class."""
    if tables.task_of(model) != "classes":
        return ""
    probabilities = model.predict_proba(X)[0]
    best = int(probabilities.argmax())
    return f": {model.classes_[best]} (probability {probabilities[best]:.1%})"
