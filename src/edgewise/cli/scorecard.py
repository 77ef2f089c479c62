"""``edgewise scorecard``: an additive model in whole points."""

import click

from edgewise.cli import common, params


@params.command("scorecard")
@params.argument("model", "Saved additive model of two classes, or ranker.", type=params.FILE)
@params.option(
    "--points", type=params.COUNT, default=20, help="Points of the term with the widest range."
)
def scorecard(model: str, points: int) -> None:
    """Print an additive model as points to add up by hand.

      edgewise train people.csv --target income --learner additive --max-terms 6
      edgewise scorecard people.edgewise --points 10

    The scores of each column are rounded to whole points; their sum stands for a
    probability, which is listed below them.
    """
    loaded = common.load_model(model, common.TABLE_MODELS, "have a scorecard")
    if not loaded.fitted_.shows_terms:
        raise click.ClickException(f"{model} has no terms: train it with --learner additive")
    with common.one_line_errors(model):
        click.echo(loaded.scorecard(points))
