"""``edgewise recommend``: from ratings to lists of items."""

import csv
import math
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import zip_longest
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from edgewise.cli import common, params
from edgewise.cli import ratings as shared
from edgewise.cli.common import one_line_errors
from edgewise.common.text import pluralize, quote_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.common.ids import Ids
    from edgewise.ratings import Ratings
    from edgewise.recommend import RecommendedList, RecommendedLists, Recommender

RATINGS, LISTS, MANY_ITEMS = "boosted", "boosted-lists", "implicit"
NEW = "new user"
SPLITS = {
    "random": "held out at random",
    "user": "held out at random from each user",
    "time": "the latest ones",
    "user_time": "the latest ones of each user",
}
"""The ways to hold out ratings, and what the test set then is."""

Names = dict[Any, str]
"""The names of items by id; some may lack one."""

file_option, list_option, training_option, test_option = (
    partial(params.option, group=group) for group in ("Files", "Lists", "Training", "Testing")
)


@params.command("recommend", epilog=f"{shared.ABOUT_METRICS}\n\n{shared.ABOUT_ALGORITHMS}")
@params.argument("data", "Ratings to train on, or a saved model.", type=params.FILE)
@params.model()
@params.output(
    "Write the lists of --user, or of all users, here: a table with the columns user, item, rank "
    "and score; .csv, .csv.gz or .parquet."
)
@params.escape_formulas
@file_option(
    "--add",
    type=params.FILE,
    help="Ratings of known or new users to add to a saved model without retraining; save it with "
    "--model.",
)
@shared.features
@file_option("--item-names", type=params.FILE, help="Text or Parquet file with item names to show.")
@file_option(
    "--name-column", metavar="COL", help="Column of that file with names.  [default: name]"
)
@file_option(
    "--names-columns",
    metavar="LIST",
    help="Names of its first columns, if it has no header, such as item,name. The column with ids "
    "has the name that it has in DATA.",
)
@list_option(
    "--user",
    "users",
    metavar="ID",
    multiple=True,
    help="Users to list items for, as in --user 7 8.",
)
@list_option(
    "--new-user",
    "new_users",
    metavar="ITEM=RATING,...",
    multiple=True,
    callback=lambda _, __, texts: [(text, parse_new_user(text)) for text in texts],
    help="Ratings of a new user to list items for, such as 50=5,181=4.",
)
@list_option("--similar-to", metavar="ITEM", multiple=True, help="Items to list similar items for.")
@list_option("-n", type=params.COUNT, default=10, help="Length of the lists.")
@list_option("--include-seen", is_flag=True, help="Also list items that the user has rated.")
@training_option(
    "--algorithm",
    choices=shared.ALGORITHMS,
    metavar="NAME",
    default=None,
    help=f"Name from the list below.  [default: {LISTS} for lists or --implicit, {MANY_ITEMS} past "
    f"20,000 items; {RATINGS} for ratings or with features]",
)
@params.settings("Parameters of the algorithm, named as in Python.")
@test_option("--test", type=params.FILE, help="Ratings to test on, with the columns of DATA.")
@test_option(
    "--hold-out",
    type=params.Real(0, 1, min_open=True, max_open=True),
    help="Fraction of DATA to test on.",
)
@test_option(
    "--by",
    choices=SPLITS,
    help="Hold out random ratings, random ratings of each user, the latest ratings, or the latest "
    "of each user.",
)
@shared.metrics
@params.seed
@params.threads
@params.json
@shared.columns
def recommend(**options: Any) -> None:
    """Train a recommender on ratings, or load a saved one, and list items for users.

      edgewise recommend ratings.csv --user 196 --model films.edgewise
          trains, lists the best items for a user and saves the model
      edgewise recommend films.edgewise --new-user "50=5,181=4" --similar-to 50
          uses the saved model, without training
      edgewise recommend films.edgewise --add new.csv --model films2.edgewise
          adds new ratings to the saved model, without retraining
      edgewise recommend ratings.csv --algorithm item-knn --hold-out 0.2
          measures predictions and lists on held-out ratings

    DATA is a text file, plain or gzipped, with one rating per line and "," ";"
    "::" or tabs between columns, or a Parquet file. A header such as
    user,item,rating names the columns; without one, use --columns. DATA may
    also be a saved model, whose name ends in .edgewise.

    Ids on the command line are integers if all ids in the file are integers, and
    strings otherwise. Without --algorithm, lists come from a model of implicit
    feedback, whose scores are not ratings. With --hold-out, the metrics come from
    a model trained without the held-out ratings; the lists and --model from one
    trained on all.
    """
    args = SimpleNamespace(**options)
    is_saved = args.data.endswith(params.MODEL)
    makes_lists = bool(args.users or args.new_users or args.similar_to or args.output)
    needs_model = makes_lists or bool(args.model)
    _check(args, is_saved, needs_model)
    reading = shared.reading_options(args)
    is_implicit = reading["rating"] is None
    shared.check_output_table(args.output)
    metrics = shared.metric_names(args.metrics, is_implicit)
    facts: list[tuple[str, str]] = []
    if is_saved:
        model = common.load_model(args.data, ["Recommender"], "recommend")
        facts.append(("model", f"{type(model).__name__}, from {args.data}"))
        if args.add is not None:
            facts.append(("added", _add_ratings(model, args.add, reading)))
        data = model.ratings_
    else:
        # Rating models make poor lists: they do not learn what users choose to rate.
        has_features = args.user_features or args.item_features
        ranks = is_implicit or (makes_lists and not has_features)
        model, data = _build(args, reading, LISTS if ranks else RATINGS)
    request = _parse_request(args, data, model if is_saved else None)
    names = {} if args.item_names is None else _read_names(args, data.item_ids)
    train, test = _split_ratings(args, data, reading)
    facts.append(("ratings", shared.describe(data)))
    facts += [("users", f"{data.n_users:,}"), ("items", f"{data.n_items:,}")]
    values = {}
    if test is not None:
        from edgewise.recommend import evaluate

        if not is_saved:
            facts.append(("training", _fit(model, train, args.data)))
        with one_line_errors("--hold-out" if args.test is None else "--test"):
            values = evaluate(model, test, metrics, relevant=args.relevant)
    if not is_saved and (test is None or (args.hold_out and needs_model)):
        facts.append(("training", _fit(model, data, args.data)))
    user_lists = None
    if args.users or args.output is not None:
        with one_line_errors("--user"):
            user_lists = _recommend(args, model, request.users if args.users else None)
    lists = _title_lists(args, model, request, user_lists, names)
    if args.model is not None:
        model.save(args.model)
    if args.output is not None and user_lists is not None:
        _write(args.output, user_lists, names, args.escape_formulas)
        facts.append(("written", f"{pluralize(len(user_lists), 'lists')} to {args.output}"))
    if args.as_json:
        common.print_json({"test": values, "lists": [_to_json(*titled, names) for titled in lists]})
        return
    common.print_facts(facts)
    if test is not None:
        source = SPLITS[args.by] if args.test is None else args.test
        common.print_facts([("test", f"{pluralize(len(test), 'ratings')}, {source}")])
        common.print_metrics(values)
    for title, ranked in lists:
        _print_list(title, ranked, names)


def _check(args: SimpleNamespace, is_saved: bool, needs_model: bool) -> None:
    """Raise if options do not go together."""
    if args.test is not None:
        params.refuse_options(["hold_out"], "cannot be combined with --test")
    if not (args.test or args.hold_out or needs_model):
        raise click.UsageError(
            "nothing to do: add --user to list items, --output to write the lists of all users, "
            "--model to save the model, or --hold-out to test"
        )
    params.require_options(["by"], "hold_out")
    params.require_options(["metrics", "relevant"], "test", "hold_out")
    params.require_options(["name_column", "names_columns"], "item_names")
    if not is_saved:
        if args.add is not None:
            raise click.UsageError(f"--add needs a saved model, but {args.data} is a ratings file")
        return
    training = ("algorithm", "settings", "random_state", "n_jobs", "hold_out")
    reason = f"is for training, and {args.data} is already trained"
    params.refuse_options((*training, "user_features", "item_features"), reason)
    if args.add is None:
        params.refuse_options(["model"], reason)
        if args.test is None:
            # --item-column also names the ids of --item-names.
            columns = [
                name for name in shared.READING if not args.item_names or name != "item_column"
            ]
            params.refuse_options(columns, "describes a ratings file: add --test or --add")


def _add_ratings(model: "Recommender", path: str, reading: dict[str, Any]) -> str:
    """Update a saved model with ratings, and return how many there are."""
    added = shared.read_test(path, reading, model.ratings_, "--add")
    with one_line_errors(f"--add {path}"):
        model.partial_fit(added)
    return f"{pluralize(len(added), 'ratings')}, {path}"


def _build(
    args: SimpleNamespace, reading: dict[str, Any], default: str
) -> "tuple[Recommender, Ratings]":
    """Return a model to train, of --algorithm or else the default, and the ratings."""
    defaults = shared.default_settings(args, reading["rating"] is None)
    defaults["verbose"] = common.verbosity()
    settings = params.parse_settings(args.settings)
    with one_line_errors("--set"):
        model = shared.build_recommender(args.algorithm or default, settings, defaults)
    data = shared.add_features(shared.read_ratings(args.data, reading), args, reading)
    if args.algorithm is None and data.n_items > getattr(model, "max_items", math.inf):
        with one_line_errors("--set"):
            model = shared.build_recommender(MANY_ITEMS, settings, defaults)
    return model, data


def _split_ratings(
    args: SimpleNamespace, data: "Ratings", reading: dict[str, Any]
) -> "tuple[Ratings, Ratings | None]":
    if args.test is not None:
        return data, shared.read_test(args.test, reading, data)
    if args.hold_out is None:
        return data, None
    if args.by.endswith("time") and data.times is None:
        raise click.UsageError(f"--by {args.by} needs the times of ratings: add --time-column")
    with one_line_errors("--hold-out"):
        return data.split(args.hold_out, args.by, random_state=args.random_state)


def _fit(model: "Recommender", ratings: "Ratings", path: str) -> str:
    """Train a model, and return its name, the number of ratings and the time."""
    began = time.perf_counter()
    with one_line_errors(path):
        model.fit(ratings)
    seconds = time.perf_counter() - began
    return f"{type(model).__name__}, {pluralize(len(ratings), 'ratings')}, {seconds:.2f} s"


# Lists


class Request(NamedTuple):
    """Users and items to make lists for, and the ratings of new users."""

    users: "NDArray[Any]"
    items: "NDArray[Any]"
    new_users: list[dict[Any, float]]


def _parse_request(
    args: SimpleNamespace, ratings: "Ratings", model: "Recommender | None"
) -> Request:
    """Return the requested lists; ids and ratings are checked before training."""
    known_users = ratings.by_user.sizes > 0 if model is None else model.known_users_
    known_items = ratings.by_item.sizes > 0 if model is None else model.known_items_
    item_ids = (ratings.item_ids, known_items, f"items of {args.data}")
    new_users = []
    for text, pairs in args.new_users:
        values = [_check_rating(item, number, ratings) for item, number in pairs]
        items = _find_ids("--new-user", [item for item, _ in pairs], *item_ids).tolist()
        if len(set(items)) < len(items):
            raise click.UsageError(f"--new-user {text!r} rates an item twice")
        new_users.append(dict(zip(items, values, strict=True)))
    user_ids = (ratings.user_ids, known_users, f"users of {args.data}")
    users = _find_ids("--user", dict.fromkeys(args.users), *user_ids)
    similar = _find_ids("--similar-to", dict.fromkeys(args.similar_to), *item_ids)
    return Request(users, similar, new_users)


def _find_ids(
    option: str, texts: Iterable[str], ids: "Ids", is_known: "NDArray[Any]", owner: str
) -> "NDArray[Any]":
    """Return the ids of an option, or raise if one is unknown."""
    indices = {str(value): i for i, value in enumerate(ids.values.tolist())} if texts else {}
    chosen = []
    for text in texts:
        try:
            index = indices.get(str(int(text)) if ids.kind == "integers" else text)
        except ValueError:
            raise click.UsageError(f"{option}: {owner} are integers, got {text!r}") from None
        if index is None or not is_known[index]:
            raise click.UsageError(f"{option}: {text!r} is not among the {owner}")
        chosen.append(index)
    return ids.values[chosen] if chosen else ids.values[:0]


def parse_new_user(text: str) -> list[tuple[str, float | None]]:
    """Return items and ratings of a text such as ``50=5,181=4``, None for an item alone."""
    try:
        cells = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise click.UsageError(f"--new-user {text!r} has unmatched quotes: {error}") from error
    pairs = []
    for cell in map(str.strip, cells):
        item, sign, number = cell.rpartition("=")
        item, rating = (item.strip(), _parse_finite(number)) if sign else (cell, None)
        if not item or (sign and rating is None):
            raise click.UsageError(f"--new-user must be item=rating,..., got {cell!r} in {text!r}")
        pairs.append((item, rating))
    if not pairs:
        raise click.UsageError("--new-user must be item=rating,..., got nothing")
    return pairs


def _parse_finite(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _check_rating(item: str, number: float | None, ratings: "Ratings") -> float:
    """Return a rating within the scale; it may be absent where all ratings are the same."""
    low, high = ratings.low, ratings.high
    if number is None and low == high:
        return low
    if number is None:
        raise click.UsageError(f"--new-user must be item=rating,..., got {item!r} without a rating")
    if not low <= number <= high:
        raise click.UsageError(f"--new-user: ratings are from {low:g} to {high:g}, got {number:g}")
    return number


def _recommend(args: SimpleNamespace, model: "Recommender", users: Any) -> "RecommendedLists":
    return model.recommend(users, args.n, exclude_seen=not args.include_seen)


def _title_lists(
    args: SimpleNamespace,
    model: "Recommender",
    request: Request,
    user_lists: "RecommendedLists | None",
    names: Names,
) -> list[tuple[str, "RecommendedList"]]:
    """Return the lists to print, with titles; the lists of all users only go to a file."""
    titled = []
    if user_lists is not None and args.users:
        indices = model.ratings_.user_ids.find("users", request.users)
        sizes = model.ratings_.by_user.sizes[indices].tolist()
        for user, size, ranked in zip(request.users.tolist(), sizes, user_lists, strict=True):
            titled.append((f"user {user} ({pluralize(size, 'ratings')})", ranked))
    if request.new_users:
        ids = _unused_ids(model.ratings_, len(request.new_users))
        with one_line_errors("--new-user"):
            wider = model.fold_in(dict(zip(ids, request.new_users, strict=True)))
            lists = _recommend(args, wider, ids)
        for i, (rated, ranked) in enumerate(zip(request.new_users, lists, strict=True), 1):
            number = f" {i}" if len(ids) > 1 else ""
            titled.append((f"{NEW}{number} ({pluralize(len(rated), 'ratings')})", ranked))
    if len(request.items):
        with one_line_errors("--similar-to"):
            lists = model.similar_items(request.items, args.n)
        for item, ranked in zip(request.items.tolist(), lists, strict=True):
            name = f" ({names[item]})" if item in names else ""
            titled.append((f"similar to {item}{name}", ranked))
    return titled


def _unused_ids(ratings: "Ratings", n: int) -> list[Any]:
    """Return ids that no user has, integers if the ids of users are."""
    used = set(ratings.user_ids.values.tolist())
    is_integer = ratings.user_ids.kind == "integers"
    ids = (i if is_integer else f"{NEW} {i}" for i in range(len(used) + n))
    return [user for user in ids if user not in used][:n]


def _write(path: str, lists: "RecommendedLists", names: Names, escape_formulas: bool) -> None:
    """Write lists as a table, with the names of items where there are any."""
    from edgewise.io import write_table

    table = {name: column.tolist() for name, column in lists.columns().items()}
    if names:
        table["name"] = [names.get(item, "") for item in table["item"]]
    write_table(path, table, escape_formulas=escape_formulas)


def _to_json(title: str, ranked: "RecommendedList", names: Names) -> dict[str, Any]:
    pairs = zip(ranked.ids.tolist(), ranked.scores.tolist(), strict=True)
    items = [{"item": item, "name": names.get(item), "score": score} for item, score in pairs]
    return {"list": title, "items": items}


def _print_list(title: str, ranked: "RecommendedList", names: Names) -> None:
    """Print a list: ranks, ids, names where there are any, and scores."""
    common.print_heading(title)
    if not len(ranked.ids):
        click.echo(" no items to recommend")
        return
    pairs = list(zip(ranked.ids.tolist(), ranked.scores.tolist(), strict=True))
    has_names = any(item in names for item, _ in pairs)
    rows = [
        [f"{rank:3}", str(item), *([names.get(item, "")] if has_names else []), f"{score:.3f}"]
        for rank, (item, score) in enumerate(pairs, 1)
    ]
    common.print_table(rows, left=(1, 2) if has_names else (1,), heading=False)


def _read_names(args: SimpleNamespace, ids: "Ids") -> Names:
    """Return the names of items from the file of --item-names."""
    path, items = args.item_names, {str(item): item for item in ids.values.tolist()}
    id_column, name_column = args.item_column or "item", args.name_column or "name"
    for table in _read_name_tables(path, args.names_columns):
        if {id_column, name_column} <= table.keys():
            pairs = zip(table[id_column], table[name_column], strict=True)
            texts = [(str(item).strip(), str(name).strip()) for item, name in pairs]
            if names := {items[item]: name for item, name in texts if item in items}:
                return names
    for option, column in (("--item-column", id_column), ("--name-column", name_column)):
        if column not in table:
            raise click.ClickException(
                f"{option} {column!r} must be one of the columns of --item-names {path}: "
                f"{quote_names(table)}"
            )
    raise click.ClickException(f"--item-names {path} names none of the items")


def _read_name_tables(path: str, names: str | None) -> Iterator[dict[str, Any]]:
    """Yield the columns of a file by name, of a text for each separator that its first line has.

    The ids show which one is right: a list of genres may contain another separator.
    """
    from edgewise.io.text import rank_separators, read_lines, split_rows

    if path.lower().endswith(shared.PARQUET):
        import narwhals.stable.v1 as nw

        from edgewise.io import read_table

        with one_line_errors():
            table = nw.from_native(read_table(path).X, eager_only=True)
        yield table.to_dict(as_series=False)
        return
    with one_line_errors():
        lines = read_lines(path, fallback="latin-1")
    separators = rank_separators(next(filter(str.strip, lines), ""))
    if not separators:
        raise click.ClickException(f"--item-names {path} is empty or has only one column")
    for separator in separators:
        # Only titles between commas need quotes; elsewhere a quote is part of the title.
        with one_line_errors(f"--item-names {path}"):
            rows = list(split_rows(lines, separator, quotes=separator in ",;"))
        header = names.split(",") if names else rows.pop(0)
        columns = zip_longest(*rows, fillvalue="")
        yield dict(zip(map(str.strip, header), columns, strict=False))
