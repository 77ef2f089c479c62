"""``edgewise compare``: several recommenders on the same folds, in one table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli.common import (
    FILE,
    MODEL,
    TABLE_FILE,
    argument,
    command,
    given,
    heading,
    jobs,
    one_line_errors,
    print_facts,
    seed,
    verbosity,
)
from edgewise.cli.ratings import (
    ABOUT_ALGORITHMS,
    ABOUT_METRICS,
    ALGORITHMS,
    build,
    check_libraries,
    columns,
    describe,
    metric_names,
    metrics,
    parse_settings,
    read_ratings,
    read_test,
    reading_of,
    shared_settings,
    write_columns,
)
from edgewise.common.text import counted, one_line
from edgewise.ratings.splits import FOLD_WAYS
from edgewise.recommend.evaluation import compare as compare_models

if TYPE_CHECKING:
    from edgewise.ratings import Ratings
    from edgewise.recommend import Recommender

DEFAULT = "boosted,item-knn,user-knn,sgd,als,nmf,implicit,bias,popularity"
DEFAULT_IMPLICIT = "implicit,item-knn,user-knn,popularity,random"
_FOLDS = 5

files, comparison = heading("Files"), heading("Comparison")


@command(
    "compare",
    epilog=f"{ABOUT_METRICS}\n\n{ABOUT_ALGORITHMS}\n\nDefault: {DEFAULT}.\n"
    f"With --implicit: {DEFAULT_IMPLICIT}.",
)
@argument("ratings", type=FILE, help="Ratings to train on.")
@files("--test", type=FILE, help="Ratings to test on, instead of folds.")
@files("--output", "-o", type=TABLE_FILE, help="Write the table here: .csv, .csv.gz or .parquet.")
@comparison("--algorithms", metavar="LIST", help="Comma-separated names from the list below.")
@comparison(
    "--set",
    "settings",
    metavar="NAME.KEY=VALUE",
    multiple=True,
    help="Parameters of the algorithms, such as item-knn.n_neighbors=30.",
)
@comparison("--folds", type=click.IntRange(min=2), default=_FOLDS, help="Number of folds.")
@comparison(
    "--by",
    type=click.Choice(FOLD_WAYS),
    default=FOLD_WAYS[0],
    help="Make folds of random ratings, or spread each user's ratings evenly.",
)
@metrics(comparison)
@seed(comparison)
@jobs(comparison)
@columns
def compare(
    ratings: str,
    test: str | None,
    output: str | None,
    algorithms: str | None,
    settings: tuple[str, ...],
    folds: int,
    by: str,
    metrics: str | None,
    relevant: float | None,
    random_state: int,
    n_jobs: int,
    **reading: Any,
) -> None:
    """Train recommenders on the same folds of ratings and compare them in one table.

      edgewise compare ratings.csv --algorithms bias,item-knn --folds 10
          by ten-fold cross-validation
      edgewise compare u1.base --test u1.test --columns user,item,rating,time
          on a given test set

    The table shows the mean of each metric over the folds and the median training
    and prediction times; * marks the best value of a column. RATINGS has the
    formats of `edgewise recommend`.
    """
    if test is not None and (clash := given("folds", "by")):
        raise click.UsageError(f"{clash[0]} makes folds, but --test replaces them")
    how = reading_of(**reading)
    if ratings.endswith(MODEL):
        raise click.UsageError(
            f"{ratings} is a model, and compare trains on ratings: to test a model, use "
            f"`edgewise recommend {ratings} --test FILE`"
        )
    check_libraries(output)
    names = metric_names(metrics, how.implicit)
    default = DEFAULT_IMPLICIT if how.implicit else DEFAULT
    shared = shared_settings(random_state, n_jobs, how.implicit)
    models = _models(default if algorithms is None else algorithms, settings, shared)
    train = read_ratings(ratings, how)
    if test is not None:
        parts = [(train, read_test(test, how, train))]
    else:
        parts = _folds(train, folds, by, random_state)
    try:
        found = compare_models(models, parts, names, relevant=relevant, verbose=verbosity())
    except RuntimeError as error:
        # It names the model and the fold that failed.
        raise click.ClickException(f"{ratings}: {error}") from error
    if output is not None:
        rows = found.table
        write_columns(output, {name: [row[name] for row in rows] for name in rows[0]})
    counts = counted(train.n_users, "users"), counted(train.n_items, "items")
    print_facts([("ratings", ", ".join([describe(train), *counts]))])
    if test is not None:
        print_facts([("test", f"{counted(len(parts[0][1]), 'ratings')}, {test}")])
    click.echo()
    for line in str(found).split("\n"):
        click.echo(one_line(line))


def _models(
    algorithms: str, pairs: Sequence[str], shared: dict[str, Any]
) -> dict[str, "Recommender"]:
    """Return the recommenders by name, with the parameters of --set."""
    words: dict[str, list[str]] = {}
    for name in (one.strip() for one in algorithms.split(",")):
        if name not in ALGORITHMS:
            raise click.UsageError(f"--algorithms: {name!r} is not one of {', '.join(ALGORITHMS)}")
        if name in words:
            raise click.UsageError(f"--algorithms names {name} twice")
        words[name] = []
    for pair in pairs:
        name, point, rest = pair.partition(".")
        if not point or "=" in name:
            raise click.UsageError(f"--set must have the form algorithm.key=value, got {pair!r}")
        if name not in words:
            raise click.UsageError(f"--set: {name!r} is not among {', '.join(words)}")
        words[name].append(rest)
    return {name: build(name, parse_settings(some), shared) for name, some in words.items()}


def _folds(
    ratings: "Ratings", n_folds: int, by: str, random_state: int
) -> list[tuple["Ratings", "Ratings"]]:
    if n_folds > len(ratings):
        raise click.UsageError(
            f"--folds must be at most the number of ratings, {len(ratings)}, got {n_folds}"
        )
    with one_line_errors("--folds"):
        return list(ratings.folds(n_folds, by, random_state=random_state))
