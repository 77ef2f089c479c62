"""What the commands that test recommenders have in common: metrics by name, and their values."""

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgewise.commands.errors import in_one_line
from edgewise.commands.rating_files import Reading, ratings_like, read_ratings
from edgewise.commands.screen import say_table

if TYPE_CHECKING:
    from edgewise.ratings import Ratings

METRICS_OF_CHOICES = "ndcg@10,precision@10,recall@10,map"
METRICS = f"rmse,mae,{METRICS_OF_CHOICES}"
"""What is shown unless the command is told otherwise; the former where there are no ratings."""

ABOUT = """\
Metrics of predicted ratings are rmse, mae, nmae and one_zero; with _level added, those of predicted
levels, and with _best the lesser of both. Metrics of the order of a user's test items are
disagreement, ap, prot and coverage. Metrics of lists out of all items that the user did not rate in
training are ndcg@k, precision@k, recall@k, map, auc, catalogue_coverage@k, novelty@k and
diversity@k; test ratings of at least --relevant are relevant there. Users and items that training
says nothing of are predicted by means."""


def add_metrics(group: Any) -> None:
    """Add the options that say what is measured."""
    group.add_argument(
        "--metrics", metavar="LIST", help=f"names with commas between (default: {METRICS})"
    )
    group.add_argument(
        "--relevant",
        metavar="R",
        type=_rating,
        help="the least rating that is relevant (default: the upper quarter of the scale, which is "
        "4 for ratings from 1 to 5)",
    )


def _rating(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def metrics_of(options: argparse.Namespace, choices: bool) -> list[str]:
    """Return the names of the metrics; others are usual where there are choices and no ratings.

    Raises
    ------
    CommandError
        If one is unknown.
    """
    from edgewise.recommend.evaluation.measures import chosen

    usual = METRICS_OF_CHOICES if choices else METRICS
    names = (usual if options.metrics is None else options.metrics).split(",")
    with in_one_line("--metrics"):
        return [measure.name for measure in chosen([name.strip() for name in names], 10)]


def read_test(path: str, reading: Reading, train: "Ratings") -> "Ratings":
    """Return ratings to test on, whose ids are of the kinds that those of training have.

    Raises
    ------
    CommandError
        If the file cannot be read, or ids are no integers where training has integers.
    """
    found = ratings_like(read_ratings(path, reading), train)
    with in_one_line(f"--test {path}"):
        train.user_ids.find("users", found.user_ids.values[:1])
        train.item_ids.find("items", found.item_ids.values[:1])
    return found


def say_values(values: Mapping[str, float]) -> None:
    """Print the values of metrics; a dash where one is not defined.

    Examples
    --------
    >>> say_values({"rmse": 0.94, "map": float("nan")})
        rmse  map
      0.9400    -
    """
    shown = ["-" if math.isnan(value) else f"{value:.4f}" for value in values.values()]
    say_table([["", *values], ["", *shown]])
