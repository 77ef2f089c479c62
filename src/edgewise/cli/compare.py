"""``edgewise compare``: several recommenders on the same folds, in one table."""

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli import common, params
from edgewise.cli import ratings as shared
from edgewise.common.choices import COMPARE_BY
from edgewise.common.text import one_line, pluralize

if TYPE_CHECKING:
    from edgewise.ratings import Ratings
    from edgewise.recommend import Recommender

RATINGS = "boosted,item-knn,user-knn,sgd,als,nmf,bias"
LISTS = "boosted-lists,ease,implicit,popularity"
DEFAULT = f"{RATINGS},{LISTS}"
DEFAULT_IMPLICIT = "boosted-lists,ease,implicit,item-knn,user-knn,popularity,random"

option = partial(params.option, group="Comparison")


@params.command(
    "compare",
    epilog=f"{shared.ABOUT_METRICS}\n\n{shared.ABOUT_ALGORITHMS}\n\n"
    f"Default: {RATINGS},\n  {LISTS}.\nWith --implicit:\n  {DEFAULT_IMPLICIT}.",
)
@params.argument("data", "Ratings to train on.", type=params.FILE)
@params.option("--test", group="Files", type=params.FILE, help="Ratings to test on, not folds.")
@shared.features
@params.output("Write the table here: .csv, .csv.gz or .parquet.")
@option("--algorithms", metavar="LIST", help="Comma-separated names from the list below.")
@params.settings(
    "Parameters of the algorithms, such as sgd.n_factors=30.", "NAME.KEY=VALUE", "Comparison"
)
@option("--folds", type=click.IntRange(min=2), default=5, help="Number of folds or windows.")
@option(
    "--by",
    choices=COMPARE_BY,
    help="Make folds of random ratings; spread each user's ratings evenly; test on windows of "
    "time, each after all that it trains on; or test on the last rating of each user.",
)
@option("--intervals", is_flag=True, help="Show 95% intervals of the metrics, over users.")
@shared.metrics
@params.seed
@params.threads
@params.json
@shared.columns
def compare(**options: Any) -> None:
    """Train recommenders on the same folds of ratings and compare them in one table.

      edgewise compare ratings.csv --algorithms bias,item-knn --folds 10
          by ten-fold cross-validation
      edgewise compare ratings.csv --by time --time-column when --folds 3
          on three windows of time, each after all ratings that it trains on
      edgewise compare u1.base --test u1.test --columns user,item,rating,time
          on a given test set

    The table shows the mean of each metric over the folds and the median training
    and prediction times; * marks the best value of a column. DATA may have any
    format that `edgewise recommend` reads.
    """
    from edgewise.recommend import compare as compare_models

    args = SimpleNamespace(**options)
    reading = shared.reading_options(args)
    _check(args, reading)
    shared.check_output_table(args.output)
    is_implicit = reading["rating"] is None
    metrics = shared.metric_names(args.metrics, is_implicit)
    models = _build_models(args, is_implicit)
    train = shared.add_features(shared.read_ratings(args.data, reading), args, reading)
    splits = _read_splits(args, train, reading)
    try:
        results = compare_models(
            models, splits, metrics, relevant=args.relevant, verbose=common.verbosity()
        )
    except RuntimeError as error:
        # It names the model and the fold that failed.
        raise click.ClickException(f"{args.data}: {error}") from error
    columns = results.columns(args.intervals)
    if args.output is not None:
        from edgewise.io import write_table

        write_table(args.output, columns)
    if args.as_json:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        common.print_json({"ratings": len(train), "algorithms": rows})
        return
    counts = pluralize(train.n_users, "users"), pluralize(train.n_items, "items")
    common.print_facts([("ratings", ", ".join([shared.describe(train), *counts]))])
    if args.test is not None:
        test_size = pluralize(len(splits[0][1]), "ratings")
        common.print_facts([("test", f"{test_size}, {args.test}")])
    click.echo()
    for line in results.text(args.intervals).split("\n"):
        click.echo(one_line(line))


def _check(args: SimpleNamespace, reading: dict[str, Any]) -> None:
    """Raise if options do not go together."""
    if args.test is not None:
        params.refuse_options(["folds", "by"], "makes folds, but --test replaces them")
    if args.by == "last":
        params.refuse_options(["folds"], "makes folds, but --by last tests once")
    if args.by in ("time", "last") and reading["time"] is None:
        raise click.UsageError(f"--by {args.by} needs times: name their column by --time-column")
    if args.data.endswith(params.MODEL):
        raise click.UsageError(
            f"{args.data} is a model, and compare trains on ratings: to test a model, use "
            f"`edgewise recommend {args.data} --test FILE`"
        )


def _build_models(args: SimpleNamespace, is_implicit: bool) -> dict[str, "Recommender"]:
    """Return the recommenders by name, with the parameters of --set."""
    default = DEFAULT_IMPLICIT if is_implicit else DEFAULT
    settings: dict[str, list[str]] = {}
    for name in map(str.strip, (args.algorithms or default).split(",")):
        if name not in shared.ALGORITHMS:
            raise click.UsageError(
                f"--algorithms: {name!r} is not one of {', '.join(shared.ALGORITHMS)}"
            )
        if name in settings:
            raise click.UsageError(f"--algorithms names {name} twice")
        settings[name] = []
    for pair in args.settings:
        name, point, setting = pair.partition(".")
        if not point or "=" in name:
            raise click.UsageError(f"--set must have the form algorithm.key=value, got {pair!r}")
        if name not in settings:
            raise click.UsageError(f"--set: {name!r} is not among {', '.join(settings)}")
        settings[name].append(setting)
    defaults = shared.default_settings(args, is_implicit)
    with common.one_line_errors("--set"):
        return {
            name: shared.build_recommender(name, params.parse_settings(pairs), defaults)
            for name, pairs in settings.items()
        }


def _read_splits(
    args: SimpleNamespace, train: "Ratings", reading: dict[str, Any]
) -> "list[tuple[Ratings, Ratings]]":
    if args.test is not None:
        return [(train, shared.read_test(args.test, reading, train))]
    if args.folds > len(train):
        raise click.UsageError(
            f"--folds must be at most the number of ratings, {len(train)}, got {args.folds}"
        )
    from edgewise.recommend.evaluation.comparison import resolve_splits

    with common.one_line_errors(f"--by {args.by}"):
        return list(resolve_splits(train, args.folds, args.random_state, "--folds", args.by)[0])
