"""Rules in words that a person can read."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Signs
from edgewise.model.rules import Categories, Rule, TreeRule

# Longer lists of values and classes are cut short.
_MAX_NAMES = 8


@dataclass(frozen=True)
class ReadableRule:
    """One term of a model, in words."""

    round: int
    """The round that added it, from 1."""
    alpha: float
    """Its coefficient; with real votes the largest of them."""
    text: str
    """Its test, and the classes it votes for."""

    def __str__(self) -> str:
        return self.text


class Wording:
    """A classifier's rules as sentences, with the names of columns, values and classes.

    `classes` names each score column; with one score column for two classes, both.
    """

    def __init__(
        self, name: Callable[[int], str], categories: Categories, classes: list[object]
    ) -> None:
        self._column_name = name
        self._categories = categories
        self.classes = [*map(str, classes)]

    def rule(self, number: int, rule: Rule, moves: Reals) -> ReadableRule:
        """Return a term in words; `moves` are its coefficients alpha * v."""
        return ReadableRule(number, *rule.sentence(self, moves))

    def size(self, rule: Rule, moves: Reals) -> float:
        """Return the strength of a term, as `rule` does, without making its words."""
        if isinstance(rule, TreeRule):
            return self.tree_head(rule.leaves, moves)[0]
        return self.term("", moves, rule.is_real)[0]

    # Whole terms

    def term(self, test: str, moves: Reals, is_real: bool) -> tuple[float, str]:
        """Return the size of a term, and the term in words, given its test."""
        size = float(np.abs(moves).max(initial=0.0))
        return size, f"{size:+.2f} * {test} -> {self.votes(moves)}"

    def tree_head(self, leaves: NDArray[Any], moves: Reals) -> tuple[float, str]:
        """Return the size of a tree, and the line above its branches."""
        size = float(np.abs(moves).max(initial=0.0)) * float(np.abs(leaves).max())
        return size, f"{size:+.2f} * tree"

    def leaf(self, moves: Reals, is_real: bool) -> str:
        """Return which classes a leaf votes for; with real values also by how much."""
        size = f" by {np.abs(moves[0]):.2f}" if is_real and len(moves) == 1 else ""
        return self.votes(moves) + size

    def votes(self, moves: Reals) -> str:
        """Return the classes that coefficients vote for and against, the strongest first."""
        if len(moves) == 1 and len(self.classes) == 2:
            high, low = self.classes[::-1] if moves[0] > 0 else self.classes
            return f"votes for {high}, against {low}"
        sizes = np.abs(moves)
        order = np.argsort(-sizes, kind="stable").tolist()
        named = {k: self.classes[k] for k in order}
        if not np.isin(sizes, (0.0, sizes.max())).all():
            named = {k: f"{self.classes[k]} ({sizes[k]:.2f})" for k in order}
        likes = [named[k] for k in order if moves[k] > 0]
        dislikes = [named[k] for k in order if moves[k] < 0]
        sides = [
            f"{direction} {_join_names(names[:_MAX_NAMES], len(names))}"
            for direction, names in (("for", likes), ("against", dislikes))
            if names
        ]
        return "votes " + ", ".join(sides) if sides else "no votes"

    # Tests

    def name(self, j: int) -> str:
        """Return the name of a column on one line."""
        return " ".join(self._column_name(j).split())

    def cut(self, column: int, threshold: float, missing: int) -> str:
        """Return a cut of a numeric column."""
        name = self.name(column)
        if threshold == -np.inf:
            return f"({name} is {'missing' if missing > 0 else 'present'})"
        also = " or missing" if missing > 0 else ""
        return f"({name} >= {threshold:.6g}{also})"

    def subset(self, column: int, values: Signs) -> str:
        """Return a subset of the values of a categorical column, or its shorter complement."""
        is_inside, is_outside = values > 0, values < 0
        negation, chosen = "", is_inside
        if is_inside[:-1].sum() > is_outside[:-1].sum():
            negation, chosen = "not ", is_outside
        codes = np.flatnonzero(chosen[:-1]).tolist()
        names = [self._value(column, code) for code in codes[:_MAX_NAMES]]
        names += ["missing"] * bool(chosen[-1])
        total = len(codes) + bool(chosen[-1])
        if total == 1:
            return f"({self.name(column)} is {negation}{names[0]})"
        return f"({self.name(column)} {negation}in {{{_join_names(names, total)}}})"

    def scores(self, column: int, values: Reals) -> str:
        """Return the largest numbers for values of a categorical column."""
        order = np.argsort(-np.abs(values[:-1]), kind="stable")[:_MAX_NAMES].tolist()
        named = [f"{self._value(column, c)}: {values[c]:+.2f}" for c in order]
        listed = _join_names(named, len(values) - 1)
        if values[-1] != 0:
            listed += f", missing: {values[-1]:+.2f}"
        return f"({self.name(column)} by value {{{listed}}})"

    def _value(self, column: int, code: int) -> str:
        return category_name(self._categories[column][code])


def category_name(value: object) -> str:
    """Return a value of a categorical column in words."""
    return f"{value:g}" if isinstance(value, float) else str(value)


class RankWording(Wording):
    """A ranker's rules as sentences: they add to one score."""

    def term(self, test: str, moves: Reals, is_real: bool) -> tuple[float, str]:
        """Return the size of a term, and the term in words: the change of the score, and where."""
        move = float(moves[0])
        if is_real:
            return abs(move), f"{move:+.4g} * {test}"
        # The difference between -1 and +1 is what counts.
        return abs(2 * move), f"{2 * move:+.2f} where {test}"

    def tree_head(self, leaves: NDArray[Any], moves: Reals) -> tuple[float, str]:
        """Return the difference between the largest and the smallest leaf, and the first line."""
        span = abs(float(moves[0])) * float(np.ptp(leaves))
        return span, f"{span:.2f} * tree"

    def leaf(self, moves: Reals, is_real: bool) -> str:
        """Return the change of the score in a leaf."""
        return f"{float(moves[0]):+.2f}"


class FusionWording(RankWording):
    """Rules on ranked lists, whose columns hold minus the rank, or scores from 0."""

    def cut(self, column: int, threshold: float, missing: int) -> str:
        """Return a cut of a list at a position."""
        name = self.name(column)
        if threshold == -np.inf:
            return f"({name}: {'unranked' if missing > 0 else 'ranked'})"
        if threshold >= 0:  # of a score
            return super().cut(column, threshold, missing)
        also = " or unranked" if missing > 0 else ""
        return f"({name}: top {math.floor(-threshold)}{also})"


def _join_names(names: list[str], total: int) -> str:
    more = total - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
