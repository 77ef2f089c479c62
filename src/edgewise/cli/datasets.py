"""``edgewise datasets``: the standard data sets, and which are cached."""

from typing import Any

import click

from edgewise.cli import common, params
from edgewise.common.text import text_table

# Headings of the sizes of each kind, and where `DatasetInfo` has them.
_SIZES = {
    "classification": {
        "train": "n_train", "test": "n_test", "columns": "n_features", "classes": "n_classes",
    },
    "ranking": {
        "documents": "n_rows", "queries": "n_queries", "columns": "n_features", "folds": "n_folds",
    },
    "ratings": {
        "users": "n_users", "items": "n_items", "ratings": "n_ratings", "folds": "n_folds",
    },
}  # fmt: skip


@params.command("datasets")
@params.json
def datasets(as_json: bool) -> None:
    """List the standard data sets, their sizes and licenses, and which are cached."""
    from edgewise import datasets as sets

    listed: list[dict[str, Any]] = []
    for kind, sizes in _SIZES.items():
        rows = [[kind, *sizes, "cached", "license"]]
        for name in sets.names(kind):
            dataset, cached = sets.info(name), sets.available(name)
            # Ranking sets count the rows and queries of each part.
            counts = [getattr(dataset, size) for size in sizes.values()]
            counts = [sum(count) if isinstance(count, tuple) else count for count in counts]
            by_name = dict(zip(sizes, counts, strict=True))
            listed.append({"name": name, "kind": kind, **by_name, "cached": cached})
            # After the name of a license comes its source.
            license = dataset.license.replace(";", ",").split(",")[0]
            cells = [f"{count:,}" for count in counts]
            rows.append([name, *cells, "yes" if cached else "no", license])
        if not as_json:
            click.echo(text_table(rows, left=(0, 5, 6)) + "\n")
    if as_json:
        common.print_json({"datasets": listed})
        return
    click.echo(
        "edgewise.datasets.load(name) downloads a data set; for ranking sets it shows where to\n"
        "get the files. Full license and citation: edgewise.datasets.info(name)."
    )
