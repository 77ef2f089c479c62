"""``edgewise recommend``: from ratings to lists of items."""

import csv
import math
import time
from collections.abc import Iterable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from edgewise.cli import common
from edgewise.cli import ratings as shared
from edgewise.cli.common import explicit_options, one_line_errors, option_group
from edgewise.common.choices import SPLITS
from edgewise.common.text import one_line, pluralize, text_table
from edgewise.recommend.algorithms import ALGORITHMS, build

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.common.ids import Ids
    from edgewise.ratings import Ratings
    from edgewise.recommend import RecommendedList, RecommendedLists, Recommender

RATINGS, LISTS, MANY_ITEMS = "boosted", "boosted-lists", "implicit"
NEW = "new user"

Names = dict[Any, str]
"""The names of items by id; some may lack one."""

files, lists = option_group("Files"), option_group("Lists")
training, testing = option_group("Training"), option_group("Testing")
several = partial(lists, multiple=True)


@common.command("recommend", epilog=f"{shared.ABOUT_METRICS}\n\n{shared.ABOUT_ALGORITHMS}")
@common.argument("data", "Ratings to train on, or a saved model.", type=common.FILE)
@common.model_file(files)
@files(
    "--output",
    "-o",
    type=common.TABLE_FILE,
    help="Write the lists of --user, or of all users, here: a table with the columns user, item, "
    "rank and score; .csv, .csv.gz or .parquet.",
)
@files(
    "--add",
    type=common.FILE,
    help="Ratings to add to a saved model, of known or new users, without a new training; save it "
    "by --model.",
)
@shared.features(files)
@files("--item-names", type=common.FILE, help="Text or Parquet file with item names to show.")
@files("--name-column", metavar="COL", help="Column of that file with names.  [default: name]")
@files(
    "--names-columns",
    metavar="LIST",
    help="Names of its first columns, if it has no header, such as item,name. The column with ids "
    "has the name that it has in DATA.",
)
@several("--user", "users", metavar="ID", help="Users to list items for, as in --user 7 8.")
@several(
    "--new-user",
    "new_users",
    metavar="ITEM=RATING,...",
    callback=lambda _, __, texts: [(text, parse_new_user(text)) for text in texts],
    help="Ratings of a new user to list items for, such as 50=5,181=4.",
)
@several("--similar-to", metavar="ITEM", help="Items to list similar items for.")
@lists("-n", type=common.COUNT, default=10, help="Length of the lists.")
@lists("--include-seen", is_flag=True, help="Also list items that the user has rated.")
@training(
    "--algorithm",
    choices=ALGORITHMS,
    metavar="NAME",
    default=None,
    help=f"Name from the list below.  [default: {LISTS} for lists or --implicit, {MANY_ITEMS} past "
    f"20,000 items; {RATINGS} for ratings or with features]",
)
@training(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Parameters of the algorithm, named as in Python.",
)
@common.seed(training)
@common.threads(training)
@testing("--test", type=common.FILE, help="Ratings to test on, with the columns of DATA.")
@testing(
    "--hold-out",
    type=common.Real(0, 1, min_open=True, max_open=True),
    help="Share of DATA to test on.",
)
@testing(
    "--by",
    choices=SPLITS,
    help="Hold out random ratings, random ratings of each user, the latest ratings, or the latest "
    "of each user.",
)
@shared.metrics(testing)
@common.json_option(lists)
@shared.columns
def recommend(**options: Any) -> None:
    """Train a recommender on ratings, or load a saved one, and list items for users.

      edgewise recommend ratings.csv --user 196 --model films.edgewise
          trains, lists the best items for a user and saves the model
      edgewise recommend films.edgewise --new-user "50=5,181=4" --similar-to 50
          uses the saved model, without training
      edgewise recommend films.edgewise --add new.csv --model films2.edgewise
          adds new ratings to the saved model, without training it anew
      edgewise recommend ratings.csv --algorithm item-knn --hold-out 0.2
          measures predictions and lists on held-out ratings

    DATA is a text file, plain or gzipped, with one rating per line and "," ";"
    "::" or tabs between columns, or a Parquet file. A header such as
    user,item,rating names the columns; without one, use --columns. DATA may
    also be a saved model, whose name ends in .edgewise.

    Ids on the command line are integers if all ids in the file are integers, and
    strings otherwise. Without --algorithm, lists come from a model of what users
    choose to rate, whose scores are no ratings. With --hold-out, the metrics come
    from a model trained without the held-out ratings; the lists and --model from
    one trained on all.
    """
    args = SimpleNamespace(**options)
    saved = args.data.endswith(common.MODEL)
    wants_lists = args.users or args.new_users or args.similar_to or args.output
    wants_model = bool(wants_lists or args.model)
    _check(args, saved, wants_model)
    how = shared.reading_options(args)
    implicit = how["rating"] is None
    shared.check_output_table(args.output)
    names = shared.metric_names(args.metrics, implicit)
    added = None
    if saved:
        recommender, added = _loaded(args, how)
        data = recommender.ratings_
    else:
        # Rating models make poor lists: they do not learn what users choose to rate.
        has_features = explicit_options("user_features", "item_features")
        ranks = implicit or (wants_lists and not has_features)
        recommender, data = _built(args, how, LISTS if ranks else RATINGS)
    request = _request(args, data, recommender if saved else None)
    titles = {} if args.item_names is None else _read_names(args, data.item_ids)
    train, held_out = _split(args, data, how)
    facts = [("ratings", shared.describe(data)), ("users", f"{data.n_users:,}")]
    facts.append(("items", f"{data.n_items:,}"))
    if added is not None:
        facts.append(("added", f"{pluralize(len(added), 'ratings')}, {args.add}"))
    values = {}
    if held_out is not None:
        from edgewise.recommend.evaluation import evaluate

        if not saved:
            facts.append(_fit(recommender, train, args.data))
        with one_line_errors("--hold-out" if args.test is None else "--test"):
            values = evaluate(recommender, held_out, names, relevant=args.relevant)
    if not saved and (held_out is None or (args.hold_out and wants_model)):
        facts.append(_fit(recommender, data, args.data))
    found = request.lists(recommender)
    shown = request.shown(recommender, found, titles)
    if args.model is not None:
        recommender.save(args.model)
    if args.output is not None and found is not None:
        _write(args.output, found, titles)
        facts.append(("written", f"{pluralize(len(found), 'lists')} to {args.output}"))
    if saved:
        facts.append(("model", f"{type(recommender).__name__}, from {args.data}"))
    if args.as_json:
        common.print_json({"test": values, "lists": [_as_dict(*one, titles) for one in shown]})
        return
    common.print_facts(facts)
    if held_out is not None:
        source = f"held out by {args.by}" if args.test is None else args.test
        common.print_facts([("test", f"{pluralize(len(held_out), 'ratings')}, {source}")])
        cells = ["-" if value != value else f"{value:.4f}" for value in values.values()]
        click.echo(text_table([["", *values], ["", *cells]]))
    for title, ranked in shown:
        click.echo()
        _print_list(title, ranked, titles)


def _check(args: SimpleNamespace, saved: bool, wants_model: bool) -> None:
    """Raise if options do not go together."""
    if len(explicit_options("test", "hold_out")) > 1:
        raise click.UsageError("--test and --hold-out are two ways to test: use one of them")
    if not explicit_options("test", "hold_out") and not wants_model:
        raise click.UsageError(
            "nothing to do: add --user to list items, --output to write the lists of all users, "
            "--model to save the model, or --hold-out to test"
        )
    common.require_options(["by"], "hold_out")
    common.require_options(["metrics", "relevant"], "test", "hold_out")
    common.require_options(["name_column", "names_columns"], "item_names")
    if not saved and args.add is not None:
        raise click.UsageError(f"--add is for saved models, and {args.data} is none")
    if not saved:
        return
    training = ("algorithm", "settings", "random_state", "n_jobs", "hold_out")
    if extra := explicit_options(*training, "user_features", "item_features"):
        raise click.UsageError(f"{extra[0]}: {args.data} is trained already")
    if explicit_options("model") and args.add is None:
        raise click.UsageError(f"--model: {args.data} is trained already")
    needed = ["--item-column"] if args.item_names is not None else []
    extra = [name for name in explicit_options(*shared.READING) if name not in needed]
    if extra and args.test is None and args.add is None:
        raise click.UsageError(f"{extra[0]} describes a file of ratings, and there is none")


def _loaded(args: SimpleNamespace, how: dict[str, Any]) -> "tuple[Recommender, Ratings | None]":
    """Return a saved model, and the ratings of --add, which it has learned."""
    model = common.load_model(args.data, ["Recommender"], "recommend")
    if args.add is None:
        return model, None
    added = shared.read_test(args.add, how, model.ratings_, "--add")
    with one_line_errors(f"--add {args.add}"):
        model.partial_fit(added)
    return model, added


def _built(
    args: SimpleNamespace, how: dict[str, Any], default: str
) -> "tuple[Recommender, Ratings]":
    """Return a model to train, of --algorithm or else the default, and the ratings."""
    usual = shared.shared_settings(args, how["rating"] is None) | {"verbose": common.verbosity()}

    def built(name: str) -> "Recommender":
        with one_line_errors("--set"):
            return build(name, common.parse_settings(args.settings), usual)

    model = built(args.algorithm or default)
    data = shared.with_features(shared.read_ratings(args.data, how), args, how)
    if args.algorithm is None and data.n_items > getattr(model, "max_items", math.inf):
        model = built(MANY_ITEMS)
    return model, data


def _split(
    args: SimpleNamespace, data: "Ratings", how: dict[str, Any]
) -> "tuple[Ratings, Ratings | None]":
    """Return the ratings to train on and to test on."""
    if args.test is not None:
        return data, shared.read_test(args.test, how, data)
    if args.hold_out is None:
        return data, None
    if args.by.endswith("time") and data.times is None:
        raise click.UsageError(f"--by {args.by} needs the times of ratings: add --time-column")
    with one_line_errors("--hold-out"):
        return data.split(args.hold_out, args.by, random_state=args.random_state)


def _fit(model: "Recommender", ratings: "Ratings", path: str) -> tuple[str, str]:
    """Train a model and return the fact about it."""
    began = time.perf_counter()
    with one_line_errors(path):
        model.fit(ratings)
    seconds = time.perf_counter() - began
    size = pluralize(len(ratings), "ratings")
    return "training", f"{type(model).__name__}, {size}, {seconds:.2f} s"


class Request(NamedTuple):
    """The lists to make: for users, for the ratings of new users, and of similar items."""

    args: SimpleNamespace
    users: "NDArray[Any]"
    items: "NDArray[Any]"
    new: list[dict[Any, float]]

    def lists(self, model: "Recommender") -> "RecommendedLists | None":
        """Return the lists of the users, or of all users if a file wants lists and no user does."""
        if not self.args.users and self.args.output is None:
            return None
        with one_line_errors("--user"):
            return self._recommended(model, self.users if self.args.users else None)

    def _recommended(self, model: "Recommender", users: Any) -> "RecommendedLists":
        return model.recommend(users, self.args.n, exclude_seen=not self.args.include_seen)

    def shown(
        self, model: "Recommender", lists: "RecommendedLists | None", names: Names
    ) -> list[tuple[str, "RecommendedList"]]:
        """Return the lists to print, with titles; the lists of all users only go to a file."""
        found = []
        if lists is not None and self.args.users:
            places = model.ratings_.user_ids.find("users", self.users)
            sizes = model.ratings_.by_user.sizes[places].tolist()
            for user, size, ranked in zip(self.users.tolist(), sizes, lists, strict=True):
                found.append((f"user {user} ({pluralize(size, 'ratings')})", ranked))
        if self.new:
            ids = _unused_ids(model.ratings_, len(self.new))
            with one_line_errors("--new-user"):
                wider = model.fold_in(dict(zip(ids, self.new, strict=True)))
                lists = self._recommended(wider, ids)
            for place, (rated, ranked) in enumerate(zip(self.new, lists, strict=True), 1):
                number = f" {place}" if len(ids) > 1 else ""
                found.append((f"{NEW}{number} ({pluralize(len(rated), 'ratings')})", ranked))
        if len(self.items):
            with one_line_errors("--similar-to"):
                lists = model.similar_items(self.items, self.args.n)
            for item, ranked in zip(self.items.tolist(), lists, strict=True):
                name = f" ({names[item]})" if item in names else ""
                found.append((f"similar to {item}{name}", ranked))
        return found


def _request(args: SimpleNamespace, ratings: "Ratings", model: "Recommender | None") -> Request:
    """Return the lists to make; ids and ratings are checked before training."""
    known_users = ratings.by_user.sizes > 0 if model is None else model.known_users_
    known_items = ratings.by_item.sizes > 0 if model is None else model.known_items_
    of_users = (ratings.user_ids, known_users, f"the users of {args.data}")
    of_items = (ratings.item_ids, known_items, f"the items of {args.data}")
    new = []
    for text, pairs in args.new_users:
        values = [_on_scale(item, number, ratings) for item, number in pairs]
        found = _find_ids("--new-user", [item for item, _ in pairs], *of_items).tolist()
        if len(set(found)) < len(found):
            raise click.UsageError(f"--new-user {text!r} rates an item twice")
        new.append(dict(zip(found, values, strict=True)))
    users = _find_ids("--user", dict.fromkeys(args.users), *of_users)
    items = _find_ids("--similar-to", dict.fromkeys(args.similar_to), *of_items)
    return Request(args, users, items, new)


def _find_ids(
    option: str, words: Iterable[str], ids: "Ids", known: "NDArray[Any]", owner: str
) -> "NDArray[Any]":
    """Return the ids that the words of an option stand for; `known` says which ids count."""
    places = {str(one): place for place, one in enumerate(ids.values.tolist())} if words else {}
    found = []
    for word in words:
        try:
            place = places.get(str(int(word)) if ids.kind == "integers" else word)
        except ValueError:
            raise click.UsageError(f"{option}: {owner} are integers, got {word!r}") from None
        if place is None or not known[place]:
            raise click.UsageError(f"{option}: {word!r} is not among {owner}")
        found.append(place)
    return ids.values[found] if found else ids.values[:0]


def parse_new_user(text: str) -> list[tuple[str, float | None]]:
    """Return items and ratings of a text such as ``50=5,181=4``; None where there is no rating."""
    try:
        words = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise click.UsageError(f"--new-user {text!r} has unmatched quotes: {error}") from error
    pairs = []
    for word in (one.strip() for one in words):
        item, sign, number = word.rpartition("=")
        item, rating = (item.strip(), _finite(number)) if sign else (word, None)
        if not item or (sign and rating is None):
            raise click.UsageError(f"--new-user must be item=rating,..., got {word!r} in {text!r}")
        pairs.append((item, rating))
    if not pairs:
        raise click.UsageError("--new-user must be item=rating,..., got nothing")
    return pairs


def _finite(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _on_scale(item: str, number: float | None, ratings: "Ratings") -> float:
    """Return a rating; it may be left out where all ratings are the same."""
    low, high = ratings.low, ratings.high
    if number is None and low == high:
        return low
    if number is None:
        raise click.UsageError(f"--new-user must be item=rating,..., got {item!r} without a rating")
    if not low <= number <= high:
        raise click.UsageError(f"--new-user: ratings are from {low:g} to {high:g}, got {number:g}")
    return number


def _unused_ids(ratings: "Ratings", n: int) -> list[Any]:
    """Return ids of the kind that users have, and that nobody has."""
    taken = set(ratings.user_ids.values.tolist())
    numeric = ratings.user_ids.kind == "integers"
    ids = [one if numeric else f"{NEW} {one}" for one in range(len(taken) + n)]
    return [one for one in ids if one not in taken][:n]


def _write(path: str, lists: "RecommendedLists", names: Names) -> None:
    """Write lists as a table, with the names of items where there are any."""
    from edgewise.io import write_table

    table = {name: column.tolist() for name, column in lists.columns().items()}
    if names:
        table["name"] = [names.get(one, "") for one in table["item"]]
    write_table(path, table)


def _as_dict(title: str, ranked: "RecommendedList", names: Names) -> dict[str, Any]:
    pairs = zip(ranked.ids.tolist(), ranked.scores.tolist(), strict=True)
    items = [{"item": one, "name": names.get(one), "score": score} for one, score in pairs]
    return {"list": title, "items": items}


def _print_list(title: str, ranked: "RecommendedList", names: Names) -> None:
    """Print a list: places, ids, names where there are any, and scores."""
    click.echo(one_line(title))
    if not len(ranked.ids):
        click.echo("  no item is left")
        return
    ids = ranked.ids.tolist()
    shown = any(one in names for one in ids)
    rows = [
        [f"{place:4}", str(one), *([names.get(one, "")] if shown else []), f"{score:.3f}"]
        for place, (one, score) in enumerate(zip(ids, ranked.scores.tolist(), strict=True), 1)
    ]
    click.echo(text_table(rows, left=(1, 2) if shown else (1,)))


def _read_names(args: SimpleNamespace, ids: "Ids") -> Names:
    """Return the names of items from the file of --item-names."""
    path, known = args.item_names, {str(one): one for one in ids.values.tolist()}
    columns = {"--item-column": args.item_column or "item"}
    columns["--name-column"] = args.name_column or "name"
    for header, rows in _name_tables(path, args.names_columns):
        if all(header.count(column) == 1 for column in columns.values()):
            item, name = (header.index(column) for column in columns.values())
            whole = [row for row in rows if len(row) > max(item, name)]
            words = [(str(row[item]).strip(), str(row[name]).strip()) for row in whole]
            names = {known[word]: name for word, name in words if word in known}
            if names:
                return names
    for option, column in columns.items():
        if header.count(column) != 1:
            raise click.ClickException(
                f"{option} {column!r} must be one of the columns of --item-names {path}: "
                f"there are {', '.join(map(repr, header))}"
            )
    raise click.ClickException(f"--item-names {path} names none of the items")


def _name_tables(path: str, given: str | None) -> Iterator[tuple[list[str], list[Any]]]:
    """Yield the header and rows of a file, a text cut at each separator that its first line has.

    The ids show which one is right: a list of genres may contain another separator.
    """
    from edgewise.io.text import rank_separators, read_lines, split_rows

    if path.lower().endswith(shared.PARQUET):
        import narwhals.stable.v1 as nw

        from edgewise.io import read_table

        with one_line_errors():
            table = nw.from_native(read_table(path).X, eager_only=True)
        yield table.columns, table.rows()
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
        header = given.split(",") if given else rows.pop(0)
        yield [name.strip() for name in header], rows
