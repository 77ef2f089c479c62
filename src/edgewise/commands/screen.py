"""What commands print: lines, facts, tables and the rules of models."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from edgewise.common.text import one_line, text_table

if TYPE_CHECKING:
    from edgewise.estimators.trained import TrainedModel


def say(line: str = "") -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


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
    say(text_table(rows, indent))


def say_rules(model: "TrainedModel", n: int) -> None:
    """Print the strongest rules of a model, or nothing if it has none."""
    rules = model.rules(n)
    if rules:
        say("strongest rules")
    for rule in rules:
        for line in str(rule).split("\n"):
            say(f"  {one_line(line)}")
