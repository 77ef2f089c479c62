"""``edgewise report``: a page about a model."""

from types import SimpleNamespace
from typing import Any

import rich_click as click

from edgewise.cli import common, tables
from edgewise.cli import ratings as shared
from edgewise.common.text import pluralize

files = common.heading("Files")


@common.command("report")
@click.argument("model", type=common.FILE, help="Saved classifier, ranker or recommender.")
@files(
    "--data",
    type=common.FILE,
    required=True,
    help="Rows (or ratings) to test the model on, best those that it has not seen.",
)
@files(
    "--output", "-o", type=common.OutputFile(".html"), required=True, help="Write the page here."
)
@tables.target_option("Column with the right answers, if the model does not know it.")
@tables.query_option
@shared.columns
def report(
    model: str,
    data: str,
    output: str,
    target: tuple[str, ...],
    query: str | None,
    **reading: Any,
) -> None:
    """Write a page about a model: what it learned, how good it is, where it fails.

      edgewise report people.edgewise --data test.csv -o people.html
      edgewise report films.edgewise --data ratings.csv -o films.html

    The page is one file that needs no network. It shows errors and bounds by
    round, margins, the confusion matrix or ranking metrics, calibration,
    importances, the curves of columns, the strongest rules, and the rows that the
    model gets most wrong; of a recommender its errors, a map of the items, and
    lists with reasons.
    """
    from edgewise import Recommender

    loaded = common.load_model(model)
    if isinstance(loaded, Recommender):
        ratings = shared.read_test(
            data, shared.reading_of(SimpleNamespace(**reading)), loaded.ratings_
        )
        with common.one_line_errors(data):
            loaded.report(ratings, output)
        click.echo(f"Wrote {output}: {pluralize(len(ratings), 'ratings')} of {data}")
        return
    if extra := common.given(*shared.READING):
        raise click.UsageError(f"{extra[0]} describes a file of ratings, for a recommender")
    loaded = tables.load(model, "make a report of a table")
    rows = tables.read_for(data, loaded, model, target, query=query)
    if rows.classes is not None:
        rows = tables.known(loaded.classes_, rows)
    y = rows.y if rows.classes is None else rows.classes[rows.y]
    roles = {"qid": rows.qid} if tables.task_of(loaded) == "grades" else {}
    with common.one_line_errors(data):
        loaded.report(rows.X, y, output, **roles)
    click.echo(f"Wrote {output}: {pluralize(len(rows), 'rows')} of {data}")
