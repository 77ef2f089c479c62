"""``edgewise explain``: the prediction for one row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli import common, tables
from edgewise.common.text import one_line, pluralize

if TYPE_CHECKING:
    from edgewise.model import Contribution

option = common.option_group("Options")


@common.command("explain")
@common.argument("model", "Saved classifier or ranker.", type=common.FILE)
@common.argument("data", "Rows.", type=common.FILE)
@option("--row", type=common.COUNT, default=1, help="Row of DATA to explain, 1 for the first.")
@option("--against", type=common.COUNT, help="Explain why --row ranks above or below this row.")
@option("--class", "name", metavar="NAME", help="Explain the score of this class.")
@option("-n", type=common.COUNT, default=10, help="Number of contributions.")
@common.json_option(option)
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
    ranks = tables.task_of(loaded) == "grades"
    if against is not None and not ranks:
        raise click.UsageError("--against is for rankers")
    rows = tables.read_for_model(data, loaded, model, needs_target=False)
    X = _select_row(rows, "--row", row)
    if against is not None:
        other = _select_row(rows, "--against", against)
        with common.one_line_errors(data):
            explanation = loaded.explain_pair(X, other)
        contributions = explanation.contributions
        result = {"row": row, "against": against, "scores": explanation.scores}
        difference, (first, second) = explanation.difference, explanation.scores
        way = "above" if difference > 0 else "below" if difference < 0 else "level with"
        title = f"Why row {row} of {data} ranks {way} row {against}"
        text = f"The scores {first:+.2f} and {second:+.2f} differ by {difference:+.2f}, the sum of:"
    else:
        from edgewise.cli.effects import spaced_rows

        with common.one_line_errors(data):
            explanation = loaded.explain(X, rows.take(spaced_rows(len(rows))).X)
        if name is not None:
            classes = {str(label): label for label in explanation.classes}
            if name not in classes:
                valid = ", ".join(classes)
                raise click.UsageError(f"--class must be one of {valid}, got {name!r}")
            explanation = explanation.of(classes[name])
        contributions = explanation.contributions
        result = {"row": row, "class": explanation.explained}
        title = f"Row {row} of {data}"
        if tables.task_of(loaded) == "classes":
            probabilities = loaded.predict_proba(X)[0]
            best = int(probabilities.argmax())
            title += f": {loaded.classes_[best]} (probability {probabilities[best]:.1%})"
        score = sum(contribution.amount for contribution in contributions)
        whose = f" for {explanation.explained}" if len(explanation.classes) > 1 else ""
        text = f"The score{whose} is {score:+.2f}, the sum of:"
    if as_json:
        listed = [
            {"name": contribution.name, "value": contribution.detail, "amount": contribution.amount}
            for contribution in contributions
        ]
        common.print_json({**result, "contributions": listed})
        return
    common.print_heading(title)
    click.echo(one_line(text))
    _print_contributions(contributions, n)


def _select_row(rows: tables.Rows, option: str, number: int) -> Any:
    """Return one row of a file, by its number from 1."""
    import numpy as np

    if number > len(rows):
        raise click.UsageError(f"{option} {number}: {rows.path} has {pluralize(len(rows), 'rows')}")
    return rows.take(np.array([number - 1])).X


def _print_contributions(parts: "Sequence[Contribution]", n: int) -> None:
    """Print the largest contributions, and the sum of the others."""
    lines = [["contribution", "from"]]
    lines += [[f"{contribution.amount:+.2f}", str(contribution)] for contribution in parts[:n]]
    if others := parts[n:]:
        total = sum(contribution.amount for contribution in others)
        lines.append([f"{total:+.2f}", pluralize(len(others), "others")])
    common.print_table(lines, left=(1,))
