"""``edgewise rules``: the strongest rules of a model."""

import rich_click as click

from edgewise.cli import common
from edgewise.common.text import one_line

option = common.heading("Options")


@common.command("rules")
@click.argument("model", type=common.FILE, help="Saved classifier, ranker or fusion.")
@option("-n", type=common.COUNT, default=20, help="Number of rules.")
@common.json_option(option)
def rules(model: str, n: int, as_json: bool) -> None:
    """List the rules of a model with the largest votes, the strongest first.

    A rule tests one or more columns; where the test holds, it adds its votes to
    the scores of the classes, and otherwise it takes them away. A tree adds the
    votes of the leaf that a row falls into.
    """
    loaded = common.load_model(model)
    # A recommender has rules for each user.
    if not hasattr(loaded, "terms_"):
        kind = type(loaded).__name__
        raise click.ClickException(f"{model} holds {kind}, which is not made of rules")
    found = loaded.rules(n)
    if as_json:
        listed = [{"round": one.round, "size": one.alpha, "rule": one.text} for one in found]
        common.print_json({"model": model, "rounds": loaded.n_rounds_, "rules": listed})
        return
    click.echo(f"{len(found)} of {loaded.n_rounds_} rules")
    for one in found:
        first, *more = str(one).split("\n")
        click.echo(f"{f'round {one.round}':>11}  {one_line(first)}")
        for line in more:
            click.echo(f"{'':>11}  {one_line(line)}")
