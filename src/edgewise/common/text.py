"""Plain text for people, aligned tables, counts and one-line strings; plain values for JSON."""

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

_GAP = "  "


def one_line(text: object) -> str:
    """Return text on one printable line, whatever a file put into it."""
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in str(text))
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def id_text(value: object) -> str:
    """Return an id or a class as text: frames store integers as floats where others are missing."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def text_table(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Return rows of cells as an aligned table: columns outside `left` flush right."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if j in left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def to_json_value(value: Any) -> Any:
    """Return a value as JSON can hold it; a number that is not finite becomes None."""
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return to_json_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (int, str)) else str(value)


def pluralize(number: int, noun: str) -> str:
    """Return a count with its noun; `noun` is the plural."""
    if number == 1:
        return f"1 {noun[:-3]}y" if noun.endswith("ies") else f"1 {noun[:-1]}"
    return f"{number:,} {noun}"


def quote_names(names: Iterable[object], max_count: int = 60) -> str:
    """Return names in quotes between commas, and how many there are beyond `max_count`.

    >>> quote_names(["age", "city", "size"], 2)
    "'age', 'city' and 1 more"
    """
    quoted = [repr(name) for name in names]
    n_others = len(quoted) - max_count
    return ", ".join(quoted[:max_count]) + (f" and {n_others} more" if n_others > 0 else "")
