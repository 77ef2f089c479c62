"""``edgewise recommend``: from ratings to lists of items."""

import csv
import math
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from edgewise.cli import common
from edgewise.cli import ratings as shared
from edgewise.cli.common import given, heading, one_line_errors
from edgewise.common.choices import SPLITS
from edgewise.common.text import counted, one_line, text_table
from edgewise.recommend.algorithms import ALGORITHMS, build

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.common.ids import Ids
    from edgewise.ratings import Ratings
    from edgewise.recommend import RecommendedList, RecommendedLists, Recommender

DEFAULT, DEFAULT_IMPLICIT = "boosted", "implicit"
NEW = "new user"

Names = dict[Any, str]
"""The names of items by id; some may lack one."""

Pairs = list[tuple[str, str]]
"""Ids of items with their names, as a file has them."""

Titled = tuple[str, "RecommendedList"]
"""A list under its title."""

files, lists = heading("Files"), heading("Lists")
training, testing = heading("Training"), heading("Testing")
several = partial(lists, multiple=True)


@common.command("recommend", epilog=f"{shared.ABOUT_METRICS}\n\n{shared.ABOUT_ALGORITHMS}")
@common.argument("ratings", type=common.FILE, help="Ratings to train on, or a saved model.")
@common.model_file(files)
@files(
    "--output",
    "-o",
    type=common.TABLE_FILE,
    help="Write the lists of --user, or of all users, here: a table with the columns user, item, "
    "rank and score; .csv, .csv.gz or .parquet.",
)
@files("--item-names", type=common.FILE, help="Text or Parquet file with item names to show.")
@files("--name-column", metavar="COL", help="Its column with names.  [default: name]")
@files(
    "--names-columns",
    metavar="LIST",
    help="Its first columns, such as item,name, if it has no header. Ids are in the column named "
    "as in the ratings.",
)
@several("--user", "users", metavar="ID", help="Users to list items for, as in --user 7 8.")
@several(
    "--new-user",
    "new_users",
    metavar="ITEM=RATING,...",
    help="Ratings of a user who is not in RATINGS, to list items for.",
)
@several("--similar-to", metavar="ITEM", help="Items to list similar items for.")
@lists("-n", type=common.COUNT, default=10, help="Length of the lists.")
@lists("--include-seen", is_flag=True, help="Also list items that the user has rated.")
@training(
    "--algorithm",
    choices=ALGORITHMS,
    metavar="NAME",
    default=None,
    help=f"Name from the list below.  [default: {DEFAULT}; with --implicit: {DEFAULT_IMPLICIT}]",
)
@training(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Parameters of the algorithm, as in Python.",
)
@common.seed(training)
@common.jobs(training)
@testing("--test", type=common.FILE, help="Ratings to test on, with the columns of RATINGS.")
@testing(
    "--hold-out",
    type=common.Real(0, 1, min_open=True, max_open=True),
    help="Share of RATINGS to test on.",
)
@testing(
    "--by",
    choices=SPLITS,
    help="Hold out random ratings, random ratings of each user, the latest ratings, or the latest "
    "of each user.",
)
@shared.metrics(testing)
@shared.columns
def recommend(
    ratings: str,
    model: str | None,
    output: str | None,
    item_names: str | None,
    name_column: str | None,
    names_columns: str | None,
    users: tuple[str, ...],
    new_users: tuple[str, ...],
    similar_to: tuple[str, ...],
    n: int,
    include_seen: bool,
    algorithm: str | None,
    settings: tuple[str, ...],
    random_state: int,
    n_jobs: int,
    test: str | None,
    hold_out: float | None,
    by: str,
    metrics: str | None,
    relevant: float | None,
    **reading: Any,
) -> None:
    """Train a recommender on ratings, or load a saved one, and list items for users.

      edgewise recommend ratings.csv --user 196 --model films.edgewise
          trains, lists the best items for a user and saves the model
      edgewise recommend films.edgewise --new-user "50=5,181=4" --similar-to 50
          uses the saved model, without training
      edgewise recommend ratings.csv --algorithm item-knn --hold-out 0.2
          measures predictions and lists on held-out ratings

    RATINGS has one rating a line, below a header such as user,item,rating: a text
    file with "," ";" "::" or tabs between columns, plain or gzipped, or a Parquet
    file. Without a header, use --columns user,item,rating. RATINGS may also be a
    saved model, whose name ends in .edgewise.

    Ids on the command line are integers if all ids in the file are integers, and
    strings otherwise. With --hold-out, the metrics come from a model trained
    without the held-out ratings; the lists and --model from one trained on all.
    """
    saved = ratings.endswith(common.MODEL)
    wants_model = bool(users or new_users or similar_to or output or model)
    params = click.get_current_context().params
    _check(params, saved, wants_model, list(reading))
    how = shared.reading_of(**reading)
    implicit = how["rating"] is None
    shared.check_libraries(output)
    names = shared.metric_names(metrics, implicit)
    if saved:
        recommender = common.load_model(ratings, "Recommender", "recommend")
        data = recommender.ratings_
    else:
        name = algorithm or (DEFAULT_IMPLICIT if implicit else DEFAULT)
        usual = shared.shared_settings(random_state, n_jobs, implicit)
        with one_line_errors("--set"):
            chosen = shared.parse_settings(settings)
            recommender = build(name, chosen, usual | {"verbose": common.verbosity()})
        data = shared.read_ratings(ratings, how)
    request = _request(params, data, recommender if saved else None)
    titles: Names = {}
    if item_names is not None:
        columns = (reading["item_column"] or "item", name_column or "name")
        titles = _read_names(item_names, columns, names_columns, data.item_ids)
    train, held_out = data, None
    if test is not None:
        held_out = shared.read_test(test, how, data)
    elif hold_out is not None:
        if by.endswith("time") and data.times is None:
            raise click.UsageError(f"--by {by} needs the times of ratings: add --time-column")
        with one_line_errors("--hold-out"):
            train, held_out = data.split(hold_out, by, random_state=random_state)
    facts = [("ratings", shared.describe(data)), ("users", f"{data.n_users:,}")]
    facts.append(("items", f"{data.n_items:,}"))
    values = {}
    if held_out is not None:
        from edgewise.recommend.evaluation import evaluate

        if not saved:
            facts.append(_fit(recommender, train, ratings))
        with one_line_errors("--hold-out" if test is None else "--test"):
            values = evaluate(recommender, held_out, names, relevant=relevant)
    if not saved and (held_out is None or (hold_out and wants_model)):
        facts.append(_fit(recommender, data, ratings))
    found = request.lists(recommender)
    shown = request.shown(recommender, found, titles)
    if model is not None:
        recommender.save(model)
    if output is not None and found is not None:
        table = {name: column.tolist() for name, column in found.columns().items()}
        if titles:
            table["name"] = [titles.get(one, "") for one in table["item"]]
        shared.write_columns(output, table)
        facts.append(("written", f"{counted(len(found), 'lists')} to {output}"))
    if saved:
        facts.append(("model", f"{type(recommender).__name__}, from {ratings}"))
    common.print_facts(facts)
    if held_out is not None:
        source = f"held out by {by}" if test is None else test
        common.print_facts([("test", f"{counted(len(held_out), 'ratings')}, {source}")])
        shared.print_values(values)
    for title, ranked in shown:
        click.echo()
        print_list(title, ranked, titles)


def _check(params: dict[str, Any], saved: bool, wants_model: bool, reading: list[str]) -> None:
    """Raise if options do not go together."""
    if len(given("test", "hold_out")) > 1:
        raise click.UsageError("--test and --hold-out are two ways to test: use one of them")
    if not given("test", "hold_out") and not wants_model:
        raise click.UsageError(
            "nothing to do: add --user to list items, --output to write the lists of all users, "
            "--model to save the model, or --hold-out to test"
        )
    common.needs(["by"], "hold_out")
    common.needs(["metrics", "relevant"], "test", "hold_out")
    common.needs(["name_column", "names_columns"], "item_names")
    for text in params["new_users"]:
        parse_pairs(text)
    if not saved:
        return
    if extra := given("algorithm", "settings", "random_state", "n_jobs", "hold_out", "model"):
        raise click.UsageError(f"{extra[0]}: {params['ratings']} is trained already")
    needed = ["--item-column"] if params["item_names"] is not None else []
    extra = [name for name in given(*reading) if name not in needed]
    if extra and params["test"] is None:
        raise click.UsageError(f"{extra[0]} describes a file of ratings, and there is none")


def _fit(model: "Recommender", ratings: "Ratings", path: str) -> tuple[str, str]:
    """Train a model and return the fact about it."""
    began = time.perf_counter()
    with one_line_errors(path):
        model.fit(ratings)
    seconds = time.perf_counter() - began
    size = counted(len(ratings), "ratings")
    return "training", f"{type(model).__name__}, {size}, {seconds:.2f} s"


class Request(NamedTuple):
    """The lists to make: for users, for items, for the ratings of new users, or for everyone."""

    users: "NDArray[Any]"
    items: "NDArray[Any]"
    new: list[dict[Any, float]]
    n: int
    include_seen: bool
    everyone: bool

    def lists(self, model: "Recommender") -> "RecommendedLists | None":
        """Return the lists of the users."""
        if not len(self.users) and not self.everyone:
            return None
        users = None if self.everyone else self.users
        with one_line_errors("--user"):
            return model.recommend(users, self.n, exclude_seen=not self.include_seen)

    def shown(
        self, model: "Recommender", lists: "RecommendedLists | None", names: Names
    ) -> list[Titled]:
        """Return the lists to print: all but the lists of all users, which go to a file."""
        found: list[Titled] = []
        if lists is not None and not self.everyone:
            places = model.ratings_.user_ids.find("users", self.users)
            sizes = model.ratings_.by_user.sizes[places].tolist()
            for user, size, ranked in zip(self.users.tolist(), sizes, lists, strict=True):
                found.append((f"user {user} ({counted(size, 'ratings')})", ranked))
        if self.new:
            ids = _unused_ids(model.ratings_, len(self.new))
            with one_line_errors("--new-user"):
                wider = model.fold_in(dict(zip(ids, self.new, strict=True)))
                lists = wider.recommend(ids, self.n, exclude_seen=not self.include_seen)
            for place, (rated, ranked) in enumerate(zip(self.new, lists, strict=True), 1):
                number = f" {place}" if len(ids) > 1 else ""
                found.append((f"{NEW}{number} ({counted(len(rated), 'ratings')})", ranked))
        if len(self.items):
            with one_line_errors("--similar-to"):
                lists = model.similar_items(self.items, self.n)
            for item, ranked in zip(self.items.tolist(), lists, strict=True):
                name = f" ({names[item]})" if item in names else ""
                found.append((f"similar to {item}{name}", ranked))
        return found


def _request(params: dict[str, Any], ratings: "Ratings", model: "Recommender | None") -> Request:
    """Return the lists to make; ids and ratings are checked before training."""
    known_users = ratings.by_user.sizes > 0 if model is None else model.known_users_
    known_items = ratings.by_item.sizes > 0 if model is None else model.known_items_
    of_users = (ratings.user_ids, known_users, f"the users of {params['ratings']}")
    of_items = (ratings.item_ids, known_items, f"the items of {params['ratings']}")
    new = []
    for text in params["new_users"]:
        items, numbers = zip(*parse_pairs(text), strict=True)
        values = [_on_scale(*pair, ratings) for pair in zip(items, numbers, strict=True)]
        found = shared.find_ids("--new-user", items, *of_items).tolist()
        if len(set(found)) < len(found):
            raise click.UsageError(f"--new-user {text!r} rates an item twice")
        new.append(dict(zip(found, values, strict=True)))
    return Request(
        users=shared.find_ids("--user", list(dict.fromkeys(params["users"])), *of_users),
        items=shared.find_ids("--similar-to", list(dict.fromkeys(params["similar_to"])), *of_items),
        new=new,
        n=params["n"],
        include_seen=params["include_seen"],
        everyone=params["output"] is not None and not params["users"],
    )


def parse_pairs(text: str) -> list[tuple[str, float | None]]:
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


def print_list(title: str, ranked: "RecommendedList", names: Names) -> None:
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


# Longest first; separators that hardly any title contains come before those that many do.
_SEPARATORS = ("::", "\t", "|", ";", ",")


def _read_names(path: str, columns: tuple[str, str], header: str | None, ids: "Ids") -> Names:
    """Return the names of items from a file with these columns of ids and names."""
    known = {str(one): one for one in ids.values.tolist()}
    from_file = _names_from_table if path.lower().endswith(shared.PARQUET) else _names_from_text
    for table in from_file(path, columns, header):
        names = {known[word]: name for word, name in table if word in known}
        if names:
            return names
    raise click.ClickException(f"--item-names {path} names none of the items")


def _names_from_table(path: str, columns: Sequence[str], _: str | None) -> Iterator[Pairs]:
    import narwhals.stable.v1 as nw

    from edgewise.io import read_table

    with one_line_errors():
        table = nw.from_native(read_table(path).X, eager_only=True)
    _check_columns(path, table.columns, columns)
    ids, names = ([str(one) for one in table[name].to_list()] for name in columns)
    yield list(zip(ids, names, strict=True))


def _names_from_text(path: str, columns: Sequence[str], given: str | None) -> Iterator[Pairs]:
    """Yield ids and names, cut at each separator that the first line has.

    The ids show which one is right: a list of genres may contain another separator.
    """
    from edgewise.common.files import reading
    from edgewise.ratings.inputs import split_cells

    with one_line_errors(), reading(path) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Lists of films are old; any bytes are text in this encoding.
        text = data.decode("latin-1")
    text = text.lstrip("\r\n")
    first = text.partition("\n")[0]
    separators = [sign for sign in _SEPARATORS if sign in first]
    if not separators:
        raise click.ClickException(f"--item-names {path} is empty or has one column only")
    for sign in separators:
        # Only titles between commas need quotes; elsewhere a quote is part of the title.
        with one_line_errors("--item-names"):
            rows = split_cells(path, text, sign, quotes=sign in ",;")
        header = [name.strip() for name in (given.split(",") if given else rows.pop(0))]
        if sign == separators[-1] or set(columns) <= set(header):
            _check_columns(path, header, columns)
            item, name = (header.index(column) for column in columns)
            width = max(item, name) + 1
            yield [(row[item].strip(), row[name].strip()) for row in rows if len(row) >= width]


def _check_columns(path: str, there: Sequence[str], columns: Sequence[str]) -> None:
    for option, column in zip(("--item-column", "--name-column"), columns, strict=True):
        if list(there).count(column) != 1:
            raise click.ClickException(
                f"{option} {column!r} must be one of the columns of --item-names {path}: "
                f"there are {', '.join(map(repr, there))}"
            )
