"""The files of ratings that commands read: their columns, and ids given as words."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edgewise.commands.errors import CommandError
from edgewise.commands.paths import MODEL
from edgewise.common.checks import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgewise.ratings import Ids, Ratings

ROLES = ("user", "item", "rating", "weight", "time")
DUPLICATES = ("raise", "last", "mean", "sum")

PARQUET = ".parquet"

_TABS = {"tab": "\t", r"\t": "\t"}
_COLUMNS_HELP = "the names of the columns, with commas between, if the file has no header"


def add_ratings(parser: Any) -> None:
    """Add the options that say how files of ratings are to be read."""
    group = parser.add_argument_group("columns of ratings")
    group.add_argument("--columns", metavar="LIST", help=_COLUMNS_HELP)
    group.add_argument(
        "--separator",
        metavar="S",
        help='what stands between columns (default: found out; a tab, "::", ";" or ",")',
    )
    for role in ROLES:
        usual = f" (default: {role})" if role in ROLES[:3] else " (default: none)"
        group.add_argument(f"--{role}-column", metavar="COL", help=f"the column of {role}s{usual}")
    group.add_argument(
        "--no-ratings",
        action="store_true",
        help="there is no column of ratings: the file only says which items users chose",
    )
    group.add_argument(
        "--duplicates",
        choices=DUPLICATES,
        help="what to make of several ratings of an item by a user (default: raise)",
    )


def given_columns(options: argparse.Namespace) -> list[str]:
    """Return those options of `add_ratings` that were given."""
    names = ["columns", "separator", *(f"{role}_column" for role in ROLES), "duplicates"]
    given = [name for name in names if getattr(options, name) is not None]
    given += ["no_ratings"] if options.no_ratings else []
    return [f"--{name.replace('_', '-')}" for name in given]


class Reading(NamedTuple):
    """How files of ratings are to be read: the arguments of ``Ratings.from_file``."""

    user: str
    item: str
    rating: str | None
    weight: str | None
    time: str | None
    columns: list[str] | None
    separator: str | None
    duplicates: str


def reading_of(options: argparse.Namespace) -> Reading:
    """Return how to read files, from the options of `add_ratings`.

    Raises
    ------
    CommandError
        If the options don't go together.
    """
    if options.no_ratings and options.rating_column is not None:
        raise CommandError("--no-ratings says that there is no column, --rating-column names one")
    columns = None if options.columns is None else _names("--columns", options.columns)
    roles: dict[str, Any] = {role: getattr(options, f"{role}_column") for role in ROLES}
    for role, name in roles.items():
        if columns is None:
            usual = role if role in ROLES[:3] else None
        else:
            # What the names say need not be said again.
            usual = role if role in ROLES[:2] or role in columns else None
        roles[role] = usual if name is None else name
        if columns is not None and roles[role] not in (None, *columns):
            raise CommandError(
                f"--{role}-column {roles[role]!r} must be one of --columns {options.columns}"
            )
    if options.no_ratings:
        roles["rating"] = None
    if options.separator == "":
        raise CommandError("--separator must not be empty")
    separator = _TABS.get(options.separator, options.separator)
    return Reading(**roles, columns=columns, separator=separator, duplicates=_usual(options))


def _usual(options: argparse.Namespace) -> str:
    return "raise" if options.duplicates is None else options.duplicates


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise CommandError(f"{option} must be names with commas between, got {text!r}")
    if len(set(names)) < len(names):
        raise CommandError(f"{option} must be different names, got {text!r}")
    return names


def is_model(path: str) -> bool:
    """Tell whether a file is a model and not one of ratings, by its name.

    Examples
    --------
    >>> is_model("films.edgewise"), is_model("ratings.csv")
    (True, False)
    """
    return Path(path).suffix == MODEL


def read_ratings(path: str, reading: Reading) -> "Ratings":
    """Return the ratings of a file.

    Raises
    ------
    CommandError
        If it cannot be read; columns are called by their options.
    """
    from edgewise.ratings import Ratings

    if reading.columns is not None and path.lower().endswith(PARQUET):
        raise CommandError(f"--columns is for text files: {path} has names of its own")
    try:
        return Ratings.from_file(path, **reading._asdict())
    except ArgumentError as error:
        option = "--duplicates" if error.argument == "duplicates" else f"--{error.argument}-column"
        told = f"{option} {error.value!r} {error.problem}"
        if reading.columns is None and error.argument in ROLES:
            told += "; if this is no header, --columns says what stands where"
            told += "; if nothing is rated, --no-ratings says so" * (error.argument == "rating")
        raise CommandError(f"{path}: {told}") from error
    except (ValueError, TypeError, ImportError) as error:
        told = str(error)
        raise CommandError(told if told.startswith(path) else f"{path}: {told}") from error


def ratings_like(found: "Ratings", known: "Ratings") -> "Ratings":
    """Return ratings with ids of the kind that others have: integers written out for strings."""
    import numpy as np

    from edgewise.ratings import Ratings

    kinds = [
        (ids.kind, others.kind)
        for ids, others in (
            (found.user_ids, known.user_ids),
            (found.item_ids, known.item_ids),
        )
    ]
    if ("integers", "strings") not in kinds:
        return found
    users, items = (
        ids.values.astype(np.str_) if pair == ("integers", "strings") else ids.values
        for ids, pair in zip((found.user_ids, found.item_ids), kinds, strict=True)
    )
    return Ratings.from_arrays(
        users[found.users],
        items[found.items],
        found.values,
        weights=found.weights,
        times=found.times,
    )


def ids_from(
    option: str, words: Sequence[str], ids: "Ids", known: "NDArray[Any]", whose: str
) -> "NDArray[Any]":
    """Return ids from words: integers where the ids of the ratings are integers.

    Parameters
    ----------
    option : str
        What errors call the words.
    words : sequence of str
        What was given.
    ids : Ids
        The users or items of the ratings.
    known : bool array
        Which of them count.
    whose : str
        What the ids are, and of which file.

    Raises
    ------
    CommandError
        If a word is no integer and should be, or is none of the ids that are known.
    """
    import numpy as np

    numeric = ids.kind == "integers"
    wanted: list[Any] = [_whole(word) if numeric else word for word in words]
    if None in wanted:
        raise CommandError(f"{option}: {whose} are integers, got {words[wanted.index(None)]!r}")
    # An integer that takes more than 64 bits is nobody's.
    fits = [not numeric or -(2**63) <= one < 2**63 for one in wanted]
    kept = [one if fit else 0 for one, fit in zip(wanted, fits, strict=True)]
    found = np.array(kept, dtype=np.int64 if numeric else np.str_)
    places = ids.find(option, found).tolist()
    for word, place, fit in zip(words, places, fits, strict=True):
        if place < 0 or not known[place] or not fit:
            raise CommandError(f"{option}: {word!r} is none of {whose}")
    return found


def _whole(word: str) -> int | None:
    try:
        return int(word)
    except ValueError:
        return None


def size_of(ratings: "Ratings") -> str:
    """Return words on how many ratings there are, and on their scale."""
    span = f" from {ratings.low:g} to {ratings.high:g}" if ratings.low < ratings.high else ""
    return f"{len(ratings):,}{span}"
