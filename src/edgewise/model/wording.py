"""Rules in words that a person can read."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import Reals, Signs
from edgewise.model.paths import Interval, Path
from edgewise.model.rules import Categories, Rule

# Longer lists of values and classes, and of the votes of a leaf, are cut short.
MAX_NAMES, _MAX_VOTES = 8, 3


@dataclass(frozen=True)
class ReadableRule:
    """A rule in words, or a path through a tree."""

    round: int
    """The round that added it, from 1; of equal rules, the first."""
    alpha: float
    """Its coefficient; with real votes, and for a path, the largest of them."""
    text: str
    """Its test, and the classes it votes for; the conditions of a path, and what they add."""

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

    def rule(self, number: int, rule: Rule | Path, moves: Reals) -> ReadableRule:
        """Return a rule in words; `moves` are its coefficients alpha * v."""
        return ReadableRule(number, self.size(rule, moves), rule.sentence(self, moves))

    def size(self, rule: Rule | Path, moves: Reals) -> float:
        """Return the strength of a rule."""
        return float(np.abs(moves).max(initial=0.0))

    # Whole terms

    def term(self, test: str, moves: Reals, is_real: bool) -> str:
        """Return a term in words, given its test."""
        return f"{np.abs(moves).max(initial=0.0):+.2f} * {test} -> {self.votes(moves)}"

    def effect(self, moves: Reals) -> str:
        """Return what a leaf adds to the scores: the strongest votes."""
        if len(moves) == 1 and len(self.classes) == 2:
            return f"{_format_vote(abs(moves[0]))} for {self.classes[int(moves[0] > 0)]}"
        order = np.lexsort((-moves, -np.abs(moves)))[: np.count_nonzero(moves)].tolist()
        votes = [f"{_format_vote(moves[k])} for {self.classes[k]}" for k in order[:_MAX_VOTES]]
        return _join_names(votes, len(order))

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
            f"{direction} {_join_names(names[:MAX_NAMES], len(names))}"
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
        return self.interval(Interval(column, threshold, None, missing > 0))

    def interval(self, interval: Interval) -> str:
        """Return an interval of a numeric column."""
        name, low, high = self.name(interval.column), interval.low, interval.high
        if not interval.has_numbers:
            return f"{name} is missing"
        also = " or missing" if interval.missing else ""
        if high is None:
            present = " is present" if low == -np.inf else f" >= {_format_threshold(low)}"
            return f"{name}{present}{also}"
        above = "" if low == -np.inf else f"{_format_threshold(low)} <= "
        return f"{above}{name} < {_format_threshold(high)}{also}"

    def subset(self, column: int, values: Signs) -> str:
        """Return a subset of the values of a categorical column, or its shorter complement."""
        is_inside, is_outside = values > 0, values < 0
        negation, chosen = "", is_inside
        if is_inside[:-1].sum() > is_outside[:-1].sum():
            negation, chosen = "not ", is_outside
        codes = np.flatnonzero(chosen[:-1]).tolist()
        names = [self._value(column, code) for code in codes[:MAX_NAMES]]
        names += ["missing"] * bool(chosen[-1])
        total = len(codes) + bool(chosen[-1])
        if total == 1:
            return f"{self.name(column)} is {negation}{names[0]}"
        if total == 0:
            return f"{self.name(column)} is present"
        return f"{self.name(column)} {negation}in {{{_join_names(names, total)}}}"

    def scores(self, column: int, values: Reals) -> str:
        """Return the largest numbers for values of a categorical column."""
        order = np.argsort(-np.abs(values[:-1]), kind="stable")[:MAX_NAMES].tolist()
        named = [f"{self._value(column, c)}: {values[c]:+.2f}" for c in order]
        listed = _join_names(named, len(values) - 1)
        if values[-1] != 0:
            listed += f", missing: {values[-1]:+.2f}"
        return f"{self.name(column)} by value {{{listed}}}"

    def _value(self, column: int, code: int) -> str:
        return category_name(self._categories[column][code])


def category_name(value: object) -> str:
    """Return a value of a categorical column in words."""
    return f"{value:g}" if isinstance(value, float) else str(value)


class RankWording(Wording):
    """A ranker's rules as sentences: they add to one score."""

    def size(self, rule: Rule | Path, moves: Reals) -> float:
        """Return the difference that a rule makes: from -1 to +1, unless its outputs are real."""
        return super().size(rule, moves) * (1 if rule.is_real else 2)

    def term(self, test: str, moves: Reals, is_real: bool) -> str:
        """Return a term in words: the change of the score, and where."""
        move = float(moves[0])
        return f"{move:+.4g} * {test}" if is_real else f"{2 * move:+.2f} where {test}"

    def effect(self, moves: Reals) -> str:
        """Return what a leaf adds to the score."""
        return _format_vote(moves[0])


class FusionWording(RankWording):
    """Rules on ranked lists, whose columns hold minus the rank, or scores from 0."""

    def interval(self, interval: Interval) -> str:
        """Return positions on a list."""
        name, low, high = self.name(interval.column), interval.low, interval.high
        if not interval.has_numbers:
            return f"{name}: unranked"
        also = " or unranked" if interval.missing else ""
        if low == -np.inf and high is None:
            return f"{name}: ranked{also}"
        if max(low, -np.inf if high is None else high) >= 0:  # of a score
            return super().interval(interval)
        # A value is minus the rank: `low` bounds the last rank, `high` the first.
        if high is None:
            return f"{name}: top {math.floor(-low)}{also}"
        above = math.floor(-high)
        if low == -np.inf:
            return f"{name}: below top {above}{also}"
        return f"{name}: ranks {above + 1} to {math.floor(-low)}{also}"


def _format_threshold(value: float) -> str:
    # Numbers of four digits, such as years, read better without a separator.
    if 10_000 <= abs(value) < 1e15:
        return f"{value:,.1f}".removesuffix(".0")
    return f"{value:.6g}"


def _format_vote(vote: float) -> str:
    return f"{vote:+.2f}" if abs(vote) >= 0.1 else f"{vote:+.2g}"


def _join_names(names: list[str], total: int) -> str:
    more = total - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
