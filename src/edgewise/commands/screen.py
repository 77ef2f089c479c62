"""What commands print: lines, facts, tables and the rules of models."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewise.estimators.trained import TrainedModel

_GAP = "  "


def say(line: str = "") -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def one_line(text: object) -> str:
    r"""Return the text in one line that the terminal can show, whatever a file put into it.

    Examples
    --------
    >>> one_line("two\nlines \x1b[31m")
    'two lines ?[31m'
    """
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in str(text))
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def say_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names with what there is to say of each.

    Examples
    --------
    >>> say_facts([("rounds", "300"), ("ranking loss", "0.12")])
    rounds           300
    ranking loss     0.12
    """
    for name, value in facts:
        say(f"{name:<16} {one_line(value)}".rstrip())


def say_table(rows: Sequence[Sequence[str]], indent: str = "") -> None:
    """Print rows of words: the first column to the left, the others to the right.

    Examples
    --------
    >>> say_table([["run", "map"], ["bm25", "0.25"]])
    run    map
    bm25  0.25
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    for first, *rest in cells:
        padded = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        say((indent + _GAP.join([first.ljust(widths[0]), *padded])).rstrip())


def say_rules(model: "TrainedModel", n: int) -> None:
    """Print the strongest rules of a model, or nothing if it has none."""
    rules = model.rules(n)
    if rules:
        say("strongest rules")
    for rule in rules:
        for line in str(rule).split("\n"):
            say(f"  {one_line(line)}")


def counted(number: Any, what: str) -> str:
    """Return a number of things in words; `what` is their plural.

    Examples
    --------
    >>> counted(15211, "documents"), counted(1, "queries")
    ('15,211 documents', '1 query')
    """
    if number == 1:
        return f"1 {what[:-3]}y" if what.endswith("ies") else f"1 {what[:-1]}"
    return f"{number:,} {what}"
