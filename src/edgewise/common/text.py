"""Plain text for people: aligned tables, counts, one-line strings."""

import sys
from collections.abc import Sequence

_GAP = "  "


def one_line(text: object) -> str:
    r"""Return text on one printable line, whatever a file put into it.

    Examples
    --------
    >>> one_line("two\nlines \x1b[31m")
    'two lines ?[31m'
    """
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in str(text))
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def text_table(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Return rows of cells as an aligned table: the first column flush left, the others right.

    Examples
    --------
    >>> print(text_table([["run", "map"], ["bm25", "0.25"]]))
    run    map
    bm25  0.25
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    lines = []
    for first, *rest in cells:
        padded = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append((indent + _GAP.join([first.ljust(widths[0]), *padded])).rstrip())
    return "\n".join(lines)


def counted(number: int, what: str) -> str:
    """Return a count with its noun; `what` is the plural.

    Examples
    --------
    >>> counted(15211, "documents"), counted(1, "queries")
    ('15,211 documents', '1 query')
    """
    if number == 1:
        return f"1 {what[:-3]}y" if what.endswith("ies") else f"1 {what[:-1]}"
    return f"{number:,} {what}"
