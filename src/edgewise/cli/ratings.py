"""Ratings on the command line: files, ids, metrics, algorithms by name, and tables of results."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from edgewise import recommend as recommenders
from edgewise.cli.common import (
    Decorator,
    Real,
    heading,
    one_line_errors,
    options,
    print_table,
)
from edgewise.common.checks import ArgumentError
from edgewise.common.files import replacing
from edgewise.io import require_parquet, write_table
from edgewise.io.frames import frame_library
from edgewise.ratings import Ratings
from edgewise.ratings.inputs import DUPLICATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.common.ids import Ids
    from edgewise.recommend import Recommender

ROLES = {
    "user": "user ids",
    "item": "item ids",
    "rating": "ratings",
    "weight": "weights of the ratings",
    "time": "times of the ratings",
}
"""The columns of ratings, and what they hold."""

PARQUET = ".parquet"

_DEFAULTS = ("user", "item", "rating")
_TABS = {"tab": "\t", r"\t": "\t"}
_IMPLICIT_METRICS = "ndcg@10,precision@10,recall@10,map"
_METRICS = f"rmse,mae,{_IMPLICIT_METRICS}"

ABOUT_METRICS = """\
Metrics of predicted ratings:
  rmse, mae, nmae, one_zero; add _level to round predictions to a level first,
  or _best for the better of both
Metrics of the order of a user's test items:
  disagreement, ap, prot, coverage
Metrics of lists of items that the user has not rated in training:
  ndcg@k, precision@k, recall@k, map, auc, catalogue_coverage@k, novelty@k,
  diversity@k; test ratings of at least --relevant are relevant
Users and items without training ratings are predicted by means."""

_column = heading("Columns of ratings")


def _column_options() -> list[Decorator]:
    return [
        _column(
            f"--{role}-column",
            metavar="COL",
            help=f"Column with {what}." + (f"  [default: {role}]" if role in _DEFAULTS else ""),
        )
        for role, what in ROLES.items()
    ]


columns = options(
    _column("--columns", metavar="LIST", help="Comma-separated names, if there is no header."),
    _column("--separator", metavar="S", help='One of "," ";" "::" tab.  [default: detected]'),
    *_column_options(),
    _column("--implicit", is_flag=True, help="There are no ratings, only which items users chose."),
    _column(
        "--duplicates",
        type=click.Choice(DUPLICATES),
        default="raise",
        help="What to do if a user rates an item twice.",
    ),
)
"""Adds the options that describe a file of ratings."""

COLUMN_OPTIONS = (
    "columns",
    "separator",
    *(f"{role}_column" for role in ROLES),
    "implicit",
    "duplicates",
)


def metrics(option: Any) -> Decorator:
    """Add the options that choose metrics."""
    return options(
        option("--metrics", metavar="LIST", help=f"Comma-separated names.  [default: {_METRICS}]"),
        option(
            "--relevant",
            type=Real(),
            help="Smallest rating that is relevant.  [default: the upper quarter of the scale; 4 "
            "for ratings from 1 to 5]",
        ),
    )


class Reading(NamedTuple):
    """How to read files of ratings: the arguments of ``Ratings.from_file``."""

    user: str
    item: str
    rating: str | None
    weight: str | None
    time: str | None
    columns: list[str] | None
    separator: str | None
    duplicates: str

    @property
    def implicit(self) -> bool:
        """Whether there are no ratings."""
        return self.rating is None


def reading_of(
    columns: str | None, separator: str | None, implicit: bool, duplicates: str, **roles: str | None
) -> Reading:
    """Return how to read files, from the options of `columns`."""
    if implicit and roles["rating_column"] is not None:
        raise click.UsageError("--implicit means no ratings, but --rating-column names some")
    if separator == "":
        raise click.UsageError("--separator must not be empty")
    names = None if columns is None else _names("--columns", columns)
    found: dict[str, Any] = {}
    for role in ROLES:
        usual = role in _DEFAULTS if names is None else role in ("user", "item", *names)
        column = roles[f"{role}_column"] or (role if usual else None)
        if names is not None and column not in (None, *names):
            raise click.UsageError(f"--{role}-column {column!r} must be one of --columns {columns}")
        found[role] = column
    if implicit:
        found["rating"] = None
    separator = _TABS.get(separator or "", separator)
    return Reading(**found, columns=names, separator=separator, duplicates=duplicates)


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise click.UsageError(f"{option} must be comma-separated names, got {text!r}")
    if len(set(names)) < len(names):
        raise click.UsageError(f"{option} must be different names, got {text!r}")
    return names


def read_ratings(path: str, reading: Reading) -> Ratings:
    """Read ratings; errors name columns by their options."""
    if reading.columns is not None and path.lower().endswith(PARQUET):
        raise click.UsageError(f"--columns is for text files; {path} has column names")
    options = {role: f"--{role}-column" for role in ROLES} | {"duplicates": "--duplicates"}
    with one_line_errors(path, options):
        try:
            return Ratings.from_file(path, **reading._asdict())
        except ArgumentError as error:
            if reading.columns is None and error.argument in ROLES:
                hint = "; use --columns if the file has no header"
                hint += ", or --implicit if it has no ratings" * (error.argument == "rating")
                raise ArgumentError(error.argument, error.value, error.problem + hint) from error
            raise


def read_test(path: str, reading: Reading, train: Ratings) -> Ratings:
    """Read test ratings; integer ids become strings where the training ids are strings."""
    test = read_ratings(path, reading)
    pairs = (test.user_ids, train.user_ids), (test.item_ids, train.item_ids)
    users, items = (
        mine.values.astype(str) if theirs.kind == "strings" else mine.values
        for mine, theirs in pairs
    )
    with one_line_errors(f"--test {path}"):
        train.user_ids.find("users", users[:1])
        train.item_ids.find("items", items[:1])
    return Ratings.from_arrays(
        users[test.users], items[test.items], test.values, weights=test.weights, times=test.times
    )


def find_ids(
    option: str, words: Sequence[str], ids: "Ids", known: "NDArray[Any]", owner: str
) -> "NDArray[Any]":
    """Return the ids that the words of an option stand for.

    `known` says which ids count; `owner` says whose they are, such as "the users of r.csv".
    """
    numeric = ids.kind == "integers"
    for word in words:
        if numeric and _integer(word) is None:
            raise click.UsageError(f"{option}: {owner} are integers, got {word!r}")
    values: list[Any] = [_integer(word) if numeric else word for word in words]
    # An integer of more than 64 bits is nobody's.
    fits = [not numeric or -(2**63) <= one < 2**63 for one in values]
    kept = [one if fit else 0 for one, fit in zip(values, fits, strict=True)]
    found = np.array(kept, dtype=np.int64 if numeric else np.str_)
    places = ids.find(option, found)
    for word, place, fit in zip(words, places.tolist(), fits, strict=True):
        if place < 0 or not known[place] or not fit:
            raise click.UsageError(f"{option}: {word!r} is not among {owner}")
    return found


def _integer(word: str) -> int | None:
    try:
        return int(word)
    except ValueError:
        return None


def describe(ratings: Ratings) -> str:
    """Return the number of ratings and their scale."""
    span = f" from {ratings.low:g} to {ratings.high:g}" if ratings.low < ratings.high else ""
    return f"{len(ratings):,}{span}"


def metric_names(text: str | None, implicit: bool) -> list[str]:
    """Return the names of metrics; the default depends on the feedback."""
    from edgewise.recommend.evaluation.evaluator import metrics_named

    usual = _IMPLICIT_METRICS if implicit else _METRICS
    names = (usual if text is None else text).split(",")
    with one_line_errors("--metrics"):
        return [metric.name for metric in metrics_named([name.strip() for name in names], 10)]


def print_values(values: Mapping[str, float]) -> None:
    """Print the values of metrics, a dash where one is undefined.

    Examples
    --------
    >>> print_values({"rmse": 0.94, "map": float("nan")})
        rmse  map
      0.9400    -
    """
    shown = ["-" if value != value else f"{value:.4f}" for value in values.values()]
    print_table([["", *values], ["", *shown]])


def write_columns(path: str, columns: Mapping[str, list[Any]]) -> None:
    """Write a table as CSV or Parquet, as the name says."""
    if path.lower().endswith(PARQUET):
        write_table(path, frame_library(None).DataFrame(dict(columns)))
        return
    with replacing(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        text.flush()
        text.detach()


def check_libraries(path: str | None) -> None:
    """Raise, before any work starts, if a library is missing that Parquet needs."""
    if path is not None and path.lower().endswith(PARQUET):
        with one_line_errors("--output"):
            require_parquet()


class Algorithm(NamedTuple):
    """A recommender: its class, what it does, and the parameters that its name fixes."""

    kind: str
    about: str
    settings: Mapping[str, Any] = {}


ALGORITHMS = {
    "boosted": Algorithm("BoostedFactorization", "boosted products of user and item rules"),
    "rankboost": Algorithm("RankBoostRecommender", "RankBoost for each user, on others' ratings"),
    "item-knn": Algorithm("ItemKNN", "nearest neighbours among items"),
    "user-knn": Algorithm("UserKNN", "nearest neighbours among users"),
    "nearest": Algorithm("RankingNeighbor", "the user who orders items most alike"),
    "regression": Algorithm("UserRegression", "least squares for each user, on others' ratings"),
    "sgd": Algorithm("MatrixFactorization", "matrix factorisation by SGD", {"solver": "sgd"}),
    "als": Algorithm("MatrixFactorization", "matrix factorisation by ALS", {"solver": "als"}),
    "svd": Algorithm("SVDRecommender", "truncated singular value decomposition"),
    "nmf": Algorithm("NonNegativeFactorization", "non-negative matrix factorisation"),
    "implicit": Algorithm("ImplicitFactorization", "matrix factorisation for implicit feedback"),
    "bias": Algorithm("BiasBaseline", "mean with user and item biases"),
    "popularity": Algorithm("Popularity", "most rated items"),
    "random": Algorithm("RandomRecommender", "random items, as a baseline"),
}

ABOUT_ALGORITHMS = "Algorithms:\n" + "\n".join(
    f"  {name:<11} {one.about}" for name, one in ALGORITHMS.items()
)

_WORDS = {"true": True, "false": False, "none": None}


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Return parameters from words of the form key=value.

    Examples
    --------
    >>> parse_settings(["k=30", "similarity=cosine", "implicit=true"])
    {'k': 30, 'similarity': 'cosine', 'implicit': True}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, sign, word = pair.partition("=")
        key, word = key.strip(), word.strip()
        if not sign or not key:
            raise click.UsageError(f"--set must have the form key=value, got {pair!r}")
        if key in settings:
            raise click.UsageError(f"--set gives {key} twice")
        settings[key] = _value(word)
    return settings


def _value(word: str) -> Any:
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def build(name: str, settings: Mapping[str, Any], shared: Mapping[str, Any]) -> "Recommender":
    """Return an untrained recommender with the parameters of ``--set``, checked.

    Parameters in `shared`, such as the random seed, are set if the recommender has them.

    Examples
    --------
    >>> build("item-knn", {"n_neighbors": 7}, {"verbose": 0})
    ItemKNN(n_neighbors=7)
    """
    algorithm = ALGORITHMS[name]
    kind = getattr(recommenders, algorithm.kind)
    known = kind._get_param_names()
    for key in settings:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise click.UsageError(f"--set: {name} has no parameter {key!r}; it has {listed}")
    fitting = {key: value for key, value in shared.items() if key in known}
    model: Recommender = kind(**{**fitting, **algorithm.settings, **settings})
    with one_line_errors("--set"):
        model._check_parameters()
    return model


def shared_settings(random_state: int, n_jobs: int, implicit: bool) -> dict[str, Any]:
    """Return the parameters that are set where a recommender has them."""
    shared = {"random_state": random_state, "n_jobs": n_jobs}
    return {**shared, "implicit": True} if implicit else shared
