"""``edgewise recommend``: from ratings to what users may like."""

import argparse
import time
from typing import TYPE_CHECKING, Any

from edgewise.commands.algorithms import (
    ALGORITHMS,
    DEFAULT,
    DEFAULT_OF_CHOICES,
    built,
    listed,
    settings_of,
    usual_of,
)
from edgewise.commands.asked import asked_of, pairs_of
from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.info import loaded
from edgewise.commands.item_names import add_names, check_names, read_names
from edgewise.commands.measured import ABOUT, add_metrics, metrics_of, read_test, say_values
from edgewise.commands.options import count, jobs, seed
from edgewise.commands.paths import Named, check_inputs, check_outputs
from edgewise.commands.rating_files import (
    add_ratings,
    given_columns,
    is_model,
    read_ratings,
    reading_of,
    size_of,
)
from edgewise.commands.recommended import check_table, say_list, write_lists
from edgewise.commands.screen import say, say_facts
from edgewise.commands.training import on_a_terminal
from edgewise.common.text import counted

if TYPE_CHECKING:
    from edgewise.ratings import Ratings, Split
    from edgewise.recommend import Recommender

WAYS = ("random", "user", "time", "user_time")

_DESCRIPTION = f"""\
Train a recommender on ratings, or take a saved one, and show what users may like.

  edgewise recommend ratings.csv --user 196 --model films.edgewise
        trains, shows the best items for a user, and saves the model
  edgewise recommend films.edgewise --new-user "50=5,181=4" --similar-to 50
        asks the saved model, without training
  edgewise recommend ratings.csv --algorithm item-knn --set k=30 --hold-out 0.2
        shows how good predictions and lists are

RATINGS holds one rating a line, with a header of names such as user,item,rating: a text file with
",", ";", "::" or tabs between columns, gzipped or not, or a Parquet file. For one without a header,
--columns says what stands where: --columns user,item,rating,time. Or RATINGS is a model that
--model wrote, whose name ends in .edgewise.

Ids on the command line are taken as integers if all ids in the ratings are written as integers, and
as they stand otherwise.

With --hold-out, the metrics are those of a model that was trained without the ratings held out;
lists and --model come from one that was trained on all.

{ABOUT}

algorithms:
{listed()}"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "recommend",
        help="train a recommender on ratings, and show what users may like",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files = parser.add_argument_group("files")
    files.add_argument("ratings", metavar="RATINGS", help="ratings to train on, or a saved model")
    files.add_argument("--model", metavar="OUT.edgewise", help="where to save the model")
    files.add_argument(
        "--out",
        metavar="OUT",
        help="where to write the lists of --user, or of all users: .csv, .csv.gz or .parquet, with "
        "the columns user, item, rank and score",
    )
    add_names(files)
    _add_lists(parser.add_argument_group("lists"))
    _add_training(parser.add_argument_group("training"))
    _add_testing(parser.add_argument_group("testing"))
    add_ratings(parser)
    parser.set_defaults(run=run)


def _add_lists(group: Any) -> None:
    for option, metavar, about in (
        ("--user", "ID", "users whose lists to show"),
        ("--similar-to", "ITEM", "items to show similar ones of"),
    ):
        group.add_argument(
            option, metavar=metavar, nargs="+", action="extend", default=[], help=about
        )
    group.add_argument(
        "--new-user",
        metavar="ITEM=RATING,...",
        action="append",
        default=[],
        help="ratings of somebody who is not in RATINGS, whose list to show; may be given again",
    )
    group.add_argument(
        "-n", metavar="N", type=count, default=10, help="the length of lists (default: 10)"
    )
    group.add_argument(
        "--include-seen", action="store_true", help="lists may hold what the user has rated"
    )


def _add_training(group: Any) -> None:
    group.add_argument(
        "--algorithm",
        metavar="NAME",
        choices=ALGORITHMS,
        help=f"(default: {DEFAULT}; {DEFAULT_OF_CHOICES} if there are no ratings)",
    )
    group.add_argument(
        "--set",
        metavar="KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="parameters of the algorithm, as in Python",
    )
    group.add_argument("--seed", metavar="N", type=seed, help="of what is random (default: 0)")
    group.add_argument(
        "--jobs", metavar="N", type=jobs, help="threads, -1 for all cores (default: 1)"
    )


def _add_testing(group: Any) -> None:
    group.add_argument("--test", metavar="FILE", help="ratings to test on, in columns as RATINGS")
    group.add_argument(
        "--hold-out", metavar="SHARE", type=_share, help="the share of RATINGS to test on"
    )
    group.add_argument(
        "--by",
        choices=WAYS,
        help="what to hold out: any ratings, some of each user's, the last by time, or the last of "
        "each user's (default: random)",
    )
    add_metrics(group)


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and below 1")
    return number


def run(options: argparse.Namespace) -> None:
    """Train or load, write what was asked for, and tell what came of it."""
    _check(options)
    metrics = metrics_of(options, reading_of(options).rating is None)
    saved = is_model(options.ratings)
    model = _saved(options.ratings) if saved else _untrained(options)
    ratings = model.ratings_ if saved else read_ratings(options.ratings, reading_of(options))
    asked = asked_of(options, ratings, model if saved else None)
    names = read_names(options, ratings.item_ids)
    split = _split(options, ratings)
    facts = _facts(ratings)
    tested = None
    if split is not None:
        if not saved:
            facts.append(_trained(options, model, split.train))
        tested = split.test, _values(options, model, split.test, metrics)
    if not saved and (split is None or (options.hold_out and _wants_model(options))):
        facts.append(_trained(options, model, ratings))
    lists = asked.lists(model)
    shown = asked.shown(model, lists, names)
    if options.model is not None:
        model.save(options.model)
    if options.out is not None and lists is not None:
        write_lists(options.out, lists, names)
        facts.append(("written", f"{counted(len(lists), 'lists')} to {options.out}"))
    if saved:
        facts.append(("model", f"{type(model).__name__}, from {options.ratings}"))
    say_facts(facts)
    if tested is not None:
        _say_test(options, *tested)
    for title, ranked in shown:
        say()
        say_list(title, ranked, names)


def _wants_model(options: argparse.Namespace) -> bool:
    """Tell whether anything but metrics is asked for."""
    lists = (options.user, options.similar_to, options.new_user)
    return any(lists) or options.out is not None or options.model is not None


def _check(options: argparse.Namespace) -> None:
    """Raise if options don't go together, or files are not as they should be."""
    tests = [name for name in ("test", "hold_out") if getattr(options, name) is not None]
    if len(tests) > 1:
        raise CommandError("--test and --hold-out are two ways to test: give one of them")
    if not tests and not _wants_model(options):
        raise CommandError(
            "there is nothing to do: --user says whose list to show, --out where to write all "
            "lists, --model where to save the model, and --hold-out what share to test on"
        )
    if options.by is not None and options.hold_out is None:
        raise CommandError("--by says what to hold out: give --hold-out")
    for name in ("metrics", "relevant"):
        if getattr(options, name) is not None and not tests:
            raise CommandError(f"--{name} is about tests: give --test or --hold-out")
    for text in options.new_user:
        pairs_of(text)
    check_names(options)
    reading_of(options)
    inputs: list[Named] = [("RATINGS", options.ratings), ("--test", options.test)]
    inputs.append(("--item-names", options.item_names))
    check_inputs(inputs)
    check_outputs([("--model", options.model), ("--out", options.out)], inputs, ["--model"])
    if options.out is not None:
        check_table("--out", options.out)
    if is_model(options.ratings):
        _check_saved(options)


def _check_saved(options: argparse.Namespace) -> None:
    """Raise if there are options that a trained model has no use for."""
    unused = ("algorithm", "set", "seed", "jobs", "hold_out", "model")
    for name in unused:
        if getattr(options, name) not in (None, []):
            raise CommandError(
                f"--{name.replace('_', '-')}: {options.ratings} is a model that is trained already"
            )
    if options.test is None:
        named = ["--item-column"] if options.item_names is not None else []
        for option in given_columns(options):
            if option not in named:
                raise CommandError(f"{option} is about files of ratings, and none is given")


def _saved(path: str) -> "Recommender":
    from edgewise.recommend import Recommender

    model = loaded(path)
    if not isinstance(model, Recommender):
        raise CommandError(f"{path} holds {type(model).__name__}, which does not recommend")
    return model


def _untrained(options: argparse.Namespace) -> "Recommender":
    choices = reading_of(options).rating is None
    name = options.algorithm or (DEFAULT_OF_CHOICES if choices else DEFAULT)
    usual = usual_of(options.seed, options.jobs, choices)
    return built(name, settings_of(options.set), {**usual, "verbose": on_a_terminal()})


def _split(options: argparse.Namespace, ratings: "Ratings") -> "Split | None":
    """Return what to train on and what to test on, if there is a test."""
    from edgewise.ratings import Split

    if options.test is not None:
        return Split(ratings, read_test(options.test, reading_of(options), ratings))
    if options.hold_out is None:
        return None
    by = options.by or WAYS[0]
    if by.endswith("time") and ratings.times is None:
        raise CommandError(f"--by {by} needs the times of ratings: --time-column names them")
    with in_one_line("--hold-out"):
        return ratings.split(options.hold_out, by, random_state=options.seed or 0)


def _facts(ratings: "Ratings") -> list[tuple[str, str]]:
    return [
        ("ratings", size_of(ratings)),
        ("users", f"{ratings.n_users:,}"),
        ("items", f"{ratings.n_items:,}"),
    ]


def _trained(
    options: argparse.Namespace, model: "Recommender", ratings: "Ratings"
) -> tuple[str, str]:
    """Train a model, and return what there is to say of that."""
    began = time.perf_counter()
    with in_one_line(options.ratings):
        model.fit(ratings)
    seconds = time.perf_counter() - began
    return (
        "training",
        f"{type(model).__name__}, {counted(len(ratings), 'ratings')}, {seconds:.2f} s",
    )


def _values(
    options: argparse.Namespace, model: "Recommender", test: "Ratings", metrics: list[str]
) -> dict[str, float]:
    from edgewise.recommend.evaluation import evaluate

    with in_one_line("--test" if options.hold_out is None else "--hold-out"):
        return evaluate(model, test, metrics, relevant=options.relevant)


def _say_test(options: argparse.Namespace, test: "Ratings", values: dict[str, float]) -> None:
    which = options.test
    if options.hold_out is not None:
        which = f"held out by {options.by or WAYS[0]}"
    say_facts([("test", f"{counted(len(test), 'ratings')}, {which}")])
    say_values(values)
