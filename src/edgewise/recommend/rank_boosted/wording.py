"""Rules and votes in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.recommend.rank_boosted.matrix import Matrix
from edgewise.recommend.rank_boosted.terms import Terms, contributions

AVERAGE = "the average viewer"


@dataclass(frozen=True)
class Vote:
    """What one voice adds to the score of an item.

    Attributes
    ----------
    voice : str
        Whose it is: a viewer's, an item feature's, or the average viewer's.
    said : str
        What it says of the item.
    amount : float
        What it adds.
    """

    voice: str
    said: str
    amount: float

    def __str__(self) -> str:
        return f"{self.amount:+.2f}  {self.voice}: {self.said}"


@dataclass(frozen=True)
class ItemVotes:
    """Why an item has its score: the votes for it and against it, the largest first.

    Attributes
    ----------
    user, item : ids
        Whose score of what.
    score : float
        The sum of all votes.
    votes : tuple of Vote
        One for each voice that says anything but 0.
    """

    user: Any
    item: Any
    score: float
    votes: tuple[Vote, ...]

    def __str__(self) -> str:
        head = f"{self.item} for {self.user}: score {self.score:.2f}"
        return "\n".join([head, *(f"  {vote}" for vote in self.votes)])


def rule_text(terms: Terms, t: int, matrix: Matrix, names: Any) -> str:
    """Return a rule in words."""
    column, threshold = int(terms.columns[t]), float(terms.thresholds[t])
    name, side = voice(column, matrix, names), int(terms.sides[t])
    least = "" if threshold == -np.inf else f" >= {threshold:g}"
    if column < matrix.n_viewers:
        test = f"{name} rated it{least}"
        test += {1: " or did not rate it", 0: "; half where unrated"}.get(side, "")
    elif matrix.sides[column - matrix.n_viewers].category is not None:
        test = name
    else:
        test = f"{name}{least}" if least else f"{name} is known"
        test += {1: " or is missing", 0: "; half where missing"}.get(side, "")
    return f"{float(terms.weights[t]):+.2f} where ({test})"


def voice(column: int, matrix: Matrix, names: Any) -> str:
    """Return whose a column is."""
    if column < matrix.n_viewers:
        return f"user {names[matrix.viewers[column]]}"
    side = matrix.sides[column - matrix.n_viewers]
    return side.name if side.category is None else f"{side.name} = {side.category}"


def said(column: int, code: int, matrix: Matrix) -> str:
    """Return what a column says of an item of a code, -1 for missing."""
    viewer = column < matrix.n_viewers
    if code < 0:
        return "did not rate it" if viewer else "no"
    number = 0 if viewer else column - matrix.n_viewers + 1
    if not viewer and matrix.sides[column - matrix.n_viewers].category is not None:
        return "yes"
    levels = matrix.levels[number]
    value = f"{levels.values[code]:g}" if levels.exact else f"at least {levels.values[code]:g}"
    return f"rated it {value}" if viewer else value


def votes_of(terms: Terms, matrix: Matrix, item: int, names: Any) -> list[Vote]:
    """Return what each column adds to the score of an item, its rules added up, if not 0."""
    amounts, codes = contributions(terms, matrix, item)
    columns, first, number = np.unique(terms.columns, return_index=True, return_inverse=True)
    totals = np.bincount(number, amounts, len(columns))
    listed = zip(columns.tolist(), codes[first].tolist(), totals.tolist(), strict=True)
    return [
        Vote(voice(column, matrix, names), said(column, code, matrix), total)
        for column, code, total in listed
        if total != 0.0
    ]
