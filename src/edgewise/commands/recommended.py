"""Lists of items, on the screen and in files."""

import csv
import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.item_names import Names
from edgewise.commands.rating_files import PARQUET
from edgewise.commands.screen import say
from edgewise.common.text import one_line

if TYPE_CHECKING:
    from edgewise.recommend import Ranked, RankedLists

ENDINGS = (".csv", ".csv.gz", PARQUET)
"""How the names of files of lists end."""


def say_list(title: str, ranked: "Ranked", names: Names) -> None:
    """Print a list: places, ids, names where there are any, and scores.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.recommend import Ranked
    >>> best = Ranked(np.array([50, 181]), np.array([4.5, 4.25]))
    >>> say_list("user 196", best, {50: "Star Wars"})
    user 196
       1  50   Star Wars  4.500
       2  181             4.250
    """
    say(one_line(title))
    if not len(ranked.ids):
        say("  no item is left")
    ids = ranked.ids.tolist()
    columns = [[one_line(one) for one in ids]]
    if any(one in names for one in ids):
        columns.append([one_line(names.get(one, "")) for one in ids])
    widths = [max(map(len, column), default=0) for column in columns]
    scores = [f"{score:.3f}" for score in ranked.scores.tolist()]
    end = max(map(len, scores), default=0)
    for place, (*cells, score) in enumerate(zip(*columns, scores, strict=True), 1):
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        say("  ".join([f"{place:4}", *padded, score.rjust(end)]))


def check_table(option: str, path: str) -> None:
    """Raise, before any work is done, if a table cannot be written so.

    Raises
    ------
    CommandError
        If the ending is wrong, or a library is missing that Parquet needs.

    Examples
    --------
    >>> check_table("--out", "recs.txt")
    Traceback (most recent call last):
        ...
    edgewise.commands.errors.CommandError: --out must end in .csv, .csv.gz, .parquet, got 'recs.txt'
    """
    if not path.lower().endswith(ENDINGS):
        raise CommandError(f"{option} must end in {', '.join(ENDINGS)}, got {path!r}")
    if path.lower().endswith(PARQUET):
        with in_one_line(option), tempfile.TemporaryDirectory() as folder:
            _write_parquet(Path(folder) / f"rehearsal{PARQUET}", {"user": [1]})


def write_lists(path: str, lists: "RankedLists", names: Names) -> None:
    """Write lists as CSV or Parquet, as the name says: user, item, rank and score of each entry.

    With names of items there is one more column, of these.
    """
    import numpy as np

    sizes = np.diff(lists.ends, prepend=0)
    columns: dict[str, Any] = {
        "user": np.repeat(lists.keys, sizes),
        "item": lists.ids,
        "rank": np.arange(len(lists.ids)) - np.repeat(lists.ends - sizes, sizes) + 1,
        "score": lists.scores,
    }
    columns = {name: values.tolist() for name, values in columns.items()}
    if names:
        columns["name"] = [names.get(one, "") for one in columns["item"]]
    write_columns(path, columns)


def write_columns(path: str, columns: Mapping[str, list[Any]]) -> None:
    """Write a table as CSV or Parquet, as the name says; it gets that when it is complete."""
    from edgewise.common.files import replacing

    if path.lower().endswith(PARQUET):
        _write_parquet(path, columns)
        return
    with replacing(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        text.flush()
        text.detach()


def _write_parquet(path: str | Path, columns: Mapping[str, list[Any]]) -> None:
    from edgewise.io import write_table
    from edgewise.io.frames import frame_library

    write_table(path, frame_library(None).DataFrame(dict(columns)))
