"""``edgewise datasets``: the standard data sets, and which are here."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import click

from edgewise.cli.common import command
from edgewise.common.text import text_table

_SIZES: dict[str, dict[str, Callable[[Any], int]]] = {
    "classification": {
        "train": attrgetter("n_train"),
        "test": attrgetter("n_test"),
        "columns": attrgetter("n_features"),
        "classes": attrgetter("n_classes"),
    },
    "ranking": {
        "documents": lambda one: sum(one.n_rows),
        "queries": lambda one: sum(one.n_queries),
        "columns": attrgetter("n_features"),
        "folds": lambda one: len(one.n_rows),
    },
    "ratings": {
        "users": attrgetter("n_users"),
        "items": attrgetter("n_items"),
        "ratings": attrgetter("n_ratings"),
        "folds": attrgetter("n_folds"),
    },
}


@command("datasets")
def datasets() -> None:
    """List the standard data sets, their sizes and licences, and which you have."""
    from edgewise import datasets as sets

    for kind, sizes in _SIZES.items():
        rows = [[kind, *sizes, "here", "licence"]]
        for name in sets.names(kind):
            one = sets.info(name)
            here = "yes" if sets.available(name) else "no"
            # What follows the name of a licence says who states it.
            licence = one.licence.replace(";", ",").split(",")[0]
            rows.append([name, *(f"{size(one):,}" for size in sizes.values()), here, licence])
        click.echo(text_table(rows, left=(0, 5, 6)) + "\n")
    click.echo(
        "edgewise.datasets.load(name) downloads a data set that is not here; for ranking sets it\n"
        "says where to get the files. Full licence and citation: edgewise.datasets.info(name)."
    )
