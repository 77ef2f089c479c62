"""The names of items, from a file beside the ratings."""

import argparse
import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.rating_files import PARQUET

if TYPE_CHECKING:
    from edgewise.ratings import Ids

Names = dict[Any, str]
"""The name of each item by its id; items may be without."""

Pair = tuple[str, str]

# Longest first; those that hardly any title holds come before those that many do.
_SEPARATORS = ("::", "\t", "|", ";", ",")
_NAME = "name"


def add_names(group: Any) -> None:
    """Add the options that say where the names of items are."""
    group.add_argument(
        "--item-names",
        metavar="FILE",
        help="a text or Parquet file with the names of items, which are shown beside their ids",
    )
    group.add_argument(
        "--name-column", metavar="COL", help=f"its column of names (default: {_NAME})"
    )
    group.add_argument(
        "--names-columns",
        metavar="LIST",
        help="its first columns, such as item,name, if it has no header; ids stand in the column "
        "called as in the ratings (default: item)",
    )


def check_names(options: argparse.Namespace) -> None:
    """Raise if columns are named of a file that is not given.

    Raises
    ------
    CommandError
        If they are.
    """
    for option in ("name_column", "names_columns"):
        if getattr(options, option) is not None and options.item_names is None:
            name = option.replace("_", "-")
            raise CommandError(f"--{name} is about the file of names: give --item-names")


def read_names(options: argparse.Namespace, ids: "Ids") -> Names:
    """Return the names of items; none where no file was given.

    Raises
    ------
    CommandError
        If the file cannot be read, lacks a column or names none of the items.
    """
    path = options.item_names
    if path is None:
        return {}
    columns = (options.item_column or "item", options.name_column or _NAME)
    if path.lower().endswith(PARQUET):
        tables = iter([_from_table(path, columns)])
    else:
        tables = _from_text(path, columns, options.names_columns)
    known = {str(one): one for one in ids.values.tolist()}
    for table in tables:
        names = {known[word]: name for word, name in table if word in known}
        if names:
            return names
    raise CommandError(f"--item-names {path} names none of the items")


def _from_table(path: str, columns: Sequence[str]) -> list[Pair]:
    from edgewise.io import read_table

    with in_one_line():
        import narwhals.stable.v1 as nw

        table = nw.from_native(read_table(path).X, eager_only=True)
    _check_columns(path, table.columns, columns)
    parts = ([str(one) for one in table[name].to_list()] for name in columns)
    return list(zip(*parts, strict=True))


def _from_text(path: str, columns: Sequence[str], given: str | None) -> Iterator[list[Pair]]:
    """Yield what a text holds, with each of the signs between columns that its first line allows.

    Which is right turns out by the items: a list of genres may hold another sign.
    """
    text = _text(path).lstrip("\r\n")
    first = text.partition("\n")[0]
    signs = [sign for sign in _SEPARATORS if sign in first]
    if not signs:
        raise CommandError(f"--item-names {path} has one column only, or is empty")
    for sign in signs:
        rows = _cells(path, text, sign)
        header = [name.strip() for name in (given.split(",") if given else rows.pop(0))]
        if sign == signs[-1] or set(columns) <= set(header):
            _check_columns(path, header, columns)
            item, name = (header.index(column) for column in columns)
            width = max(item, name) + 1
            yield [(row[item].strip(), row[name].strip()) for row in rows if len(row) >= width]


def _cells(path: str, text: str, separator: str) -> list[list[str]]:
    if len(separator) > 1:
        # The reader of CSV knows separators of one sign only.
        text, separator = text.replace(separator, "\x1f"), "\x1f"
    # A quote in a title is only a quote where commas have no need of it.
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if separator in ",;" else csv.QUOTE_NONE
    stream = io.StringIO(text, newline="")
    try:
        return [row for row in csv.reader(stream, delimiter=separator, quoting=quoting) if row]
    except csv.Error as error:
        raise CommandError(f"--item-names {path} is not a readable text file: {error}") from error


def _text(path: str) -> str:
    from edgewise.common.files import reading

    with in_one_line(), reading(path) as stream:
        data = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Lists of films are old; in this encoding any bytes are some text.
        return data.decode("latin-1")


def _check_columns(path: str, there: Sequence[str], columns: Sequence[str]) -> None:
    for option, column in zip(("--item-column", "--name-column"), columns, strict=True):
        if list(there).count(column) != 1:
            raise CommandError(
                f"{option} {column!r} must be one of the columns of --item-names {path}: "
                f"there are {', '.join(map(repr, there))}"
            )
