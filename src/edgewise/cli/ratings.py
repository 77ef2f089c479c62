"""Ratings on the command line: files, ids, metrics, algorithms, and tables of results."""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from edgewise import recommend
from edgewise.cli import params
from edgewise.cli.common import one_line_errors
from edgewise.common import choices
from edgewise.common.choices import DEFAULT_LIST_METRICS, DEFAULT_RATING_METRICS
from edgewise.common.text import quote_names

if TYPE_CHECKING:
    from edgewise.common.ids import Ids
    from edgewise.ratings import Ratings
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

ABOUT_METRICS = """\
Metrics of predicted ratings:
  rmse, mae, nmae, one_zero; with _level, predictions are rounded to a rating
  level first; with _best, the better of both counts
Metrics of the order of a user's test items:
  disagreement, map_top, prot, precision_at_full_recall
Metrics of lists of items that the user has not rated in training:
  ndcg@k, precision@k, recall@k, hit_rate@k, map, mrr, auc; test ratings of at
  least --relevant are relevant
Metrics of these lists beyond accuracy:
  catalog_coverage@k, novelty@k, diversity@k, average_popularity@k, gini@k
Predictions for users and items without training ratings are means."""

_column_option = partial(params.option, group="Columns of ratings")
_metric_option = partial(params.option, group="Metrics")

columns = params.combine(
    _column_option(
        "--columns", metavar="LIST", help="Comma-separated names, for files without a header."
    ),
    _column_option(
        "--separator", metavar="S", help='Such as "," ";" "::" or tab.  [default: detected]'
    ),
    *(
        _column_option(
            f"--{role}-column",
            metavar="COL",
            help=f"Column with {values}." + (f"  [default: {role}]" if role in _DEFAULTS else ""),
        )
        for role, values in ROLES.items()
    ),
    _column_option(
        "--implicit", is_flag=True, help="Implicit feedback: pairs of user and item, no ratings."
    ),
    _column_option(
        "--duplicates",
        choices=choices.DUPLICATES,
        help="How to merge several ratings of an item by a user.",
    ),
)
"""Adds the options that describe a file of ratings."""

metrics = params.combine(
    _metric_option(
        "--metrics",
        metavar="LIST",
        help=f"Comma-separated names.  [default: {','.join(DEFAULT_RATING_METRICS)}]",
    ),
    _metric_option(
        "--relevant",
        type=params.Real(),
        help="Smallest rating that is relevant.  [default: top quarter of the scale, 4 on a 1-5 "
        "scale]",
    ),
)
"""Adds the options that choose metrics."""

features = params.combine(
    *(
        params.option(
            f"--{side}-features",
            group="Files",
            type=params.FILE,
            help=f"Table with features of {side}s, as `edgewise train` reads it; the column with "
            f"ids has the name that it has in DATA.",
        )
        for side in ("user", "item")
    )
)
"""Adds the options that name tables of features."""


READING = ("columns", "separator", "implicit", "duplicates", *(f"{role}_column" for role in ROLES))
"""The parameters of these options."""


def reading_options(args: SimpleNamespace) -> dict[str, Any]:
    """Return the arguments of ``Ratings.from_file``, from the options of `columns`."""
    columns, separator = args.columns, args.separator
    if args.implicit and args.rating_column is not None:
        raise click.UsageError("--implicit means no ratings, but --rating-column names some")
    if separator == "":
        raise click.UsageError("--separator must not be empty")
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    if names is not None and "" in names:
        raise click.UsageError(f"--columns must be comma-separated names, got {columns!r}")
    if names is not None and len(set(names)) < len(names):
        raise click.UsageError(f"--columns must be different names, got {columns!r}")
    defaults = _DEFAULTS if names is None else ("user", "item", *names)
    reading: dict[str, Any] = {"columns": names, "duplicates": args.duplicates}
    reading["separator"] = _TABS.get(separator, separator)
    for role in ROLES:
        column = getattr(args, f"{role}_column") or (role if role in defaults else None)
        if names is not None and column not in (None, *names):
            raise click.UsageError(f"--{role}-column {column!r} must be one of --columns {columns}")
        reading[role] = None if args.implicit and role == "rating" else column
    return reading


def read_ratings(path: str, reading: dict[str, Any]) -> "Ratings":
    """Read ratings; errors name columns by their options."""
    from edgewise.common.checks import ArgumentError
    from edgewise.ratings import Ratings

    if reading["columns"] is not None and path.lower().endswith(PARQUET):
        raise click.UsageError(f"--columns is for text files; {path} has column names")
    with one_line_errors(path):
        try:
            return Ratings.from_file(path, **reading)
        except ArgumentError as error:
            if reading["columns"] is None and error.argument in ROLES:
                hint = "; use --columns if the file has no header"
                hint += ", or --implicit if it has no ratings" * (error.argument == "rating")
                raise ArgumentError(error.argument, error.value, error.problem + hint) from error
            raise


def add_features(ratings: "Ratings", args: SimpleNamespace, reading: dict[str, Any]) -> "Ratings":
    """Return ratings with the features of --user-features and --item-features."""
    features: dict[str, Any] = {}
    for side in ("user", "item"):
        path, ids = getattr(args, f"{side}_features"), getattr(ratings, f"{side}_ids")
        if path is not None:
            option = f"--{side}-features"
            features[f"{side}_features"] = _read_features(option, path, reading[side], ids)
    if not features:
        return ratings
    with one_line_errors(" and ".join(f"--{name.replace('_', '-')}" for name in features)):
        users, items = ratings.user_ids.values, ratings.item_ids.values
        return _replace_ids(ratings, users, items, **features)


def _replace_ids(ratings: "Ratings", users: Any, items: Any, **features: Any) -> "Ratings":
    """Return ratings with other ids of the users and items, or with features."""
    return type(ratings).from_arrays(
        users[ratings.users],
        items[ratings.items],
        ratings.values,
        weights=ratings.weights,
        times=ratings.times,
        **features,
    )


def _read_features(option: str, path: str, key: str, ids: "Ids") -> tuple[Any, Any]:
    """Return the ids and the features of a table."""
    from edgewise.io import Schema, read_columns

    with one_line_errors(f"{option} {path}"):
        table = read_columns(path, [key])
        if key not in table.columns:
            raise ValueError(f"no column {key!r} of ids; columns: {quote_names(table.columns)}")
        schema = Schema.fit(table, doc=key)
        owners = schema.role(table, "doc")
        if ids.kind == "integers":
            texts = [text for text in owners.tolist() if not text.lstrip("-").isdigit()]
            if texts:
                raise ValueError(f"ids must be integers, as in DATA, got {texts[0]!r}")
            owners = owners.astype("int64")
        return owners, schema.transform(table)


def read_test(
    path: str, reading: dict[str, Any], train: "Ratings", option: str = "--test"
) -> "Ratings":
    """Read ratings for a model; integer ids become strings where the training ids are strings."""
    test = read_ratings(path, reading)
    users, items = (
        ids.values.astype(str) if train_ids.kind == "strings" else ids.values
        for ids, train_ids in ((test.user_ids, train.user_ids), (test.item_ids, train.item_ids))
    )
    with one_line_errors(f"{option} {path}"):
        train.user_ids.find("users", users[:1])
        train.item_ids.find("items", items[:1])
    return _replace_ids(test, users, items)


def describe(ratings: "Ratings") -> str:
    """Return the number of ratings and their scale."""
    span = f" from {ratings.low:g} to {ratings.high:g}" if ratings.low < ratings.high else ""
    return f"{len(ratings):,}{span}"


def metric_names(text: str | None, implicit: bool) -> list[str]:
    """Return the names of metrics; the default depends on the feedback."""
    from edgewise.recommend.evaluation.evaluator import recommender_metrics

    names = text or (DEFAULT_LIST_METRICS if implicit else DEFAULT_RATING_METRICS)
    with one_line_errors("--metrics"):
        return [metric.name for metric in recommender_metrics(names, 10)]


def check_output_table(path: str | None) -> None:
    """Raise, before any work starts, if a library is missing that Parquet needs."""
    if path is not None and path.lower().endswith(PARQUET):
        from edgewise import io

        with one_line_errors("--output"):
            io.check_output_table(path)


class Algorithm(NamedTuple):
    """A recommender: its class, what it does, and the parameters that its name fixes."""

    kind: str
    about: str
    settings: Mapping[str, Any] = {}


ALGORITHMS = {
    "boosted": Algorithm("BoostedFactorization", "boosted products of user and item rules"),
    "rankboost": Algorithm("RankBoostRecommender", "RankBoost for each user, on others' ratings"),
    "item-knn": Algorithm("ItemKNN", "nearest neighbors among items"),
    "user-knn": Algorithm("UserKNN", "nearest neighbors among users"),
    "nearest": Algorithm("RankingNeighbor", "the user who orders items most alike"),
    "regression": Algorithm("UserRegression", "least squares for each user, on others' ratings"),
    "sgd": Algorithm("MatrixFactorization", "matrix factorization by SGD", {"solver": "sgd"}),
    "als": Algorithm("MatrixFactorization", "matrix factorization by ALS", {"solver": "als"}),
    "svd": Algorithm("SVDRecommender", "truncated singular value decomposition"),
    "nmf": Algorithm("NonNegativeFactorization", "non-negative matrix factorization"),
    "implicit": Algorithm("ImplicitFactorization", "matrix factorization for implicit feedback"),
    "boosted-lists": Algorithm("BoostedLists", "boosted factors and regression, for lists"),
    "ease": Algorithm("EASE", "least squares of each item on all others, for lists"),
    "slim": Algorithm("SLIM", "few weights of other items, none negative, for lists"),
    "bpr": Algorithm("PairwiseFactorization", "factors that place choices above other items"),
    "bias": Algorithm("BiasBaseline", "mean with user and item biases"),
    "popularity": Algorithm("Popularity", "most rated items"),
    "random": Algorithm("RandomRecommender", "random items, as a baseline"),
}

ABOUT_ALGORITHMS = "Algorithms:\n" + "\n".join(
    f"  {name:<13} {algorithm.about}" for name, algorithm in ALGORITHMS.items()
)


def build_recommender(
    name: str, settings: Mapping[str, Any], shared: Mapping[str, Any]
) -> "Recommender":
    """Return an untrained recommender, its parameters checked; `shared` are set where it has them.

    Examples
    --------
    >>> build_recommender("item-knn", {"n_neighbors": 7}, {"verbose": 0})
    ItemKNN(n_neighbors=7)
    """
    algorithm = ALGORITHMS[name]
    kind = getattr(recommend, algorithm.kind)
    known = kind._get_param_names()
    for key in settings:
        if key not in known:
            raise ValueError(
                f"{name} has no parameter {key!r}; it has {', '.join(known) or 'none'}"
            )
    fitting = {key: value for key, value in shared.items() if key in known}
    model: Recommender = kind(**{**fitting, **algorithm.settings, **settings})
    model._check_parameters()
    return model


def default_settings(args: SimpleNamespace, is_implicit: bool) -> dict[str, Any]:
    """Return the parameters that are set where a recommender has them."""
    settings = {"random_state": args.random_state, "n_jobs": args.n_jobs}
    return {**settings, "implicit": True} if is_implicit else settings
