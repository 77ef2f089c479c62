"""``edgewise report``: an HTML report on a model."""

from types import SimpleNamespace
from typing import Any

import click

from edgewise.cli import common, params, ratings, tables
from edgewise.common.text import pluralize


@params.command("report")
@params.argument("model", "Saved classifier, ranker or recommender.", type=params.FILE)
@params.option(
    "--data",
    group="Files",
    type=params.FILE,
    required=True,
    help="Rows (or ratings) to test on, preferably not the training rows.",
)
@params.output("Write the report here.", params.OutputFile(".html"), required=True)
@tables.target_option("Target column, if the model does not know it.")
@tables.query_option
@ratings.columns
def report(
    model: str, data: str, output: str, target: tuple[str, ...], query: str | None, **reading: Any
) -> None:
    """Write an HTML report on a model: what it learned, and its errors.

      edgewise report people.edgewise --data test.csv -o people.html
      edgewise report films.edgewise --data ratings.csv -o films.html

    The report is one file that needs no network. It shows errors and bounds per
    round, margins, the confusion matrix or ranking metrics, calibration,
    importances, effects of columns, the strongest rules, and the worst errors; of
    a recommender its errors, a map of the items, and lists with reasons.
    """
    from edgewise import Recommender

    loaded = common.load_model(model)
    if isinstance(loaded, Recommender):
        options = ratings.reading_options(SimpleNamespace(**reading))
        test = ratings.read_test(data, options, loaded.ratings_, "--data")
        with common.one_line_errors(data):
            loaded.report(test, output)
        click.echo(f"Wrote {output}: {pluralize(len(test), 'ratings')} of {data}")
        return
    params.refuse_options(ratings.READING, "is for recommenders")
    loaded = common.load_model(model, common.TABLE_MODELS, "have a report of a table")
    rows = tables.read_for_model(data, loaded, model, target, query=query)
    rows = tables.align_classes(loaded.classes_, rows) if rows.classes is not None else rows
    roles = {"qid": rows.qid} if tables.task_of(loaded) == "grades" else {}
    with common.one_line_errors(data):
        loaded.report(rows.X, rows.labels, output, **roles)
    click.echo(f"Wrote {output}: {pluralize(len(rows), 'rows')} of {data}")
