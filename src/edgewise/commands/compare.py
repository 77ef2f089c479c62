"""``edgewise compare``: many recommenders over folds, in one table."""

import argparse
from typing import TYPE_CHECKING, Any

from edgewise.commands.algorithms import built, listed, names_from, settings_by_name, usual_of
from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.measured import ABOUT, add_metrics, metrics_of, read_test
from edgewise.commands.options import count, jobs, seed
from edgewise.commands.paths import Named, check_inputs, check_outputs
from edgewise.commands.rating_files import add_ratings, is_model, read_ratings, reading_of, size_of
from edgewise.commands.recommended import check_table, write_columns
from edgewise.commands.screen import say, say_facts
from edgewise.commands.training import on_a_terminal
from edgewise.common.text import counted, one_line

if TYPE_CHECKING:
    from edgewise.ratings import Ratings
    from edgewise.recommend import Recommender
    from edgewise.recommend.evaluation import Comparison

BY = ("random", "user")

_ALGORITHMS = "boosted,item-knn,user-knn,sgd,als,nmf,implicit,bias,popularity"
_OF_CHOICES = "implicit,item-knn,user-knn,popularity,random"
_FOLDS = 5
_DESCRIPTION = f"""\
Train recommenders on the same folds of ratings and show, in one table, how good each is and how
long it takes; * marks the best value.

  edgewise compare ratings.csv --algorithms bias,item-knn,sgd --set item-knn.k=30
        all three on five folds
  edgewise compare u1.base --test u1.test --columns user,item,rating,time
        on one part that is given

RATINGS are read as `edgewise recommend` reads them. With --by random any ratings are in a fold,
with --by user as many of each user's in all folds as can be. Values are means over the folds, times
are medians.

{ABOUT}

algorithms:
{listed()}

default: {_ALGORITHMS};
if there are no ratings: {_OF_CHOICES}"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "compare",
        help="compare recommenders over folds of ratings",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files = parser.add_argument_group("files")
    files.add_argument("ratings", metavar="RATINGS", help="ratings to train on")
    files.add_argument("--test", metavar="FILE", help="ratings to test on, instead of folds")
    files.add_argument(
        "--out", metavar="OUT", help="where to write the table: .csv, .csv.gz or .parquet"
    )
    group = parser.add_argument_group("what to compare")
    group.add_argument("--algorithms", metavar="LIST", help="names with commas between")
    group.add_argument(
        "--set",
        metavar="NAME.KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="parameters of the algorithms, such as item-knn.k=30",
    )
    group.add_argument(
        "--folds", metavar="K", type=count, help=f"how many folds, 2 or more (default: {_FOLDS})"
    )
    group.add_argument("--by", choices=BY, help="how folds are made (default: random)")
    add_metrics(group)
    group.add_argument(
        "--seed", metavar="N", type=seed, default=0, help="of what is random (default: 0)"
    )
    group.add_argument(
        "--jobs", metavar="N", type=jobs, default=1, help="threads, -1 for all cores (default: 1)"
    )
    add_ratings(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Compare, write the table, and show it."""
    _check(options)
    choices = reading_of(options).rating is None
    metrics = metrics_of(options, choices)
    models = _models(options, choices)
    ratings = read_ratings(options.ratings, reading_of(options))
    parts = _parts(options, ratings)
    found = _compared(options, models, parts, metrics)
    if options.out is not None:
        rows = found.table
        write_columns(options.out, {name: [row[name] for row in rows] for name in rows[0]})
    counts = counted(ratings.n_users, "users"), counted(ratings.n_items, "items")
    say_facts([("ratings", ", ".join([size_of(ratings), *counts]))])
    if options.test is not None:
        say_facts([("test", f"{counted(len(parts[0][1]), 'ratings')}, {options.test}")])
    say()
    for line in str(found).split("\n"):
        say(one_line(line))


def _check(options: argparse.Namespace) -> None:
    """Raise if options don't go together, or files are not as they should be."""
    for name in ("folds", "by"):
        if getattr(options, name) is not None and options.test is not None:
            raise CommandError(f"--{name} is about folds, and --test is tested on instead")
    if options.folds == 1:
        raise CommandError("--folds must be 2 or more, got 1")
    reading_of(options)
    inputs: list[Named] = [("RATINGS", options.ratings), ("--test", options.test)]
    check_inputs(inputs)
    if is_model(options.ratings):
        raise CommandError(
            f"{options.ratings} is a model: compare trains on ratings; to test one model use "
            f"edgewise recommend {options.ratings} --test FILE"
        )
    check_outputs([("--out", options.out)], inputs, [])
    if options.out is not None:
        check_table("--out", options.out)


def _models(options: argparse.Namespace, choices: bool) -> dict[str, "Recommender"]:
    names = names_from(options.algorithms or (_OF_CHOICES if choices else _ALGORITHMS))
    settings = settings_by_name(options.set, names)
    usual = usual_of(options.seed, options.jobs, choices)
    return {name: built(name, settings[name], usual) for name in names}


def _parts(options: argparse.Namespace, ratings: "Ratings") -> list[tuple["Ratings", "Ratings"]]:
    """Return what to train on and what to test on, for each fold."""
    if options.test is not None:
        return [(ratings, read_test(options.test, reading_of(options), ratings))]
    folds = options.folds or _FOLDS
    if folds > len(ratings):
        raise CommandError(
            f"--folds must be at most the number of ratings, {len(ratings)}, got {folds}"
        )
    with in_one_line("--folds"):
        return list(ratings.folds(folds, options.by or BY[0], random_state=options.seed))


def _compared(
    options: argparse.Namespace,
    models: dict[str, "Recommender"],
    parts: list[tuple["Ratings", "Ratings"]],
    metrics: list[str],
) -> "Comparison":
    from edgewise.recommend.evaluation import compare

    try:
        return compare(models, parts, metrics, relevant=options.relevant, verbose=on_a_terminal())
    except RuntimeError as error:
        # Which model failed, and where, is part of what it says.
        raise CommandError(f"{options.ratings}: {error}") from error
