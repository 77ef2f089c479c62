"""``edgewise datasets``: the standard data sets, and which are here."""

import click

from edgewise import datasets as sets
from edgewise.cli.common import command
from edgewise.common.text import text_table


@command("datasets")
def datasets() -> None:
    """List the standard data sets, their sizes and licences, and which are here."""
    rows = [["name", "train", "test", "columns", "classes", "here", "licence"]]
    for name in sets.names("classification"):
        one = sets.info(name)
        sizes = (one.n_train, one.n_test, one.n_features, one.n_classes)
        rows.append([name, *map(str, sizes), _here(name), _licence(one.licence)])
    _print(rows)
    rows = [["to rank", "documents", "queries", "columns", "folds", "here", "licence"]]
    for name in sets.names("ranking"):
        ranking = sets.info(name)
        counts = (sum(ranking.n_rows), sum(ranking.n_queries))
        sizes = (*counts, ranking.n_features, len(ranking.n_rows))
        rows.append([name, *map(str, sizes), _here(name), _licence(ranking.licence)])
    _print(rows)
    rows = [["to rate", "users", "items", "ratings", "folds", "here", "licence"]]
    for name in sets.names("ratings"):
        rated = sets.info(name)
        sizes = (rated.n_users, rated.n_items, rated.n_ratings, rated.n_folds)
        rows.append([name, *map(str, sizes), _here(name), _licence(rated.licence)])
    _print(rows)
    click.echo(
        "edgewise.datasets.load(name) downloads a data set that is not here; for ranking sets,\n"
        "it says where to get the files. Full licence and citation: edgewise.datasets.info(name)."
    )


def _print(rows: list[list[str]]) -> None:
    click.echo(text_table(rows, left=(0, 5, 6)) + "\n")


def _here(name: str) -> str:
    return "yes" if sets.available(name) else "no"


def _licence(text: str) -> str:
    """Return the name of a licence, without what follows it."""
    return text.replace(";", ",").split(",")[0]
