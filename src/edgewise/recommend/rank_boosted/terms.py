"""The rules of one user's ranker, and the scores that they give to items."""

from typing import NamedTuple

import numpy as np

from edgewise.common.dtypes import Columns, Reals, Rows, Signs
from edgewise.recommend.rank_boosted.matrix import Levels, Matrix
from edgewise.recommend.rank_boosted.problem import Part
from edgewise.recommend.rank_boosted.rounds import Cuts


class Terms(NamedTuple):
    """The rules of a ranker, each of them once, in the order in which they were found.

    Attributes
    ----------
    columns : int32 array of shape (rules,)
        The column of the matrix that each is about.
    thresholds : float64 array of shape (rules,)
        It says 1 of values at or above this, 0 of those below; minus infinity is any value.
    sides : int8 array of shape (rules,)
        It says 1 of missing values (+1), 0 (-1), or 1/2 (0), as where there were none in training.
    weights : float64 array of shape (rules,)
        What the rule counts: the thesis's alpha, added up over rounds.
    """

    columns: Rows
    thresholds: Reals
    sides: Signs
    weights: Reals

    def __bool__(self) -> bool:
        return len(self.columns) > 0


KINDS = (np.int32, np.float64, np.int8, np.float64)
"""The types of the arrays of `Terms`."""

NO_TERMS = Terms(np.empty(0, dtype=np.int32), np.empty(0), np.empty(0, dtype=np.int8), np.empty(0))
"""The rules of a user without pairs."""


def terms_of(cuts: Cuts, part: Part, matrix: Matrix, q_def: float | None) -> Terms:
    """Return the rules of a ranker: the same rule of several rounds is one, of their total."""
    bins = part.first_bins[cuts.columns] + cuts.firsts
    _, found, place = np.unique(2 * bins + (cuts.sides < 1), return_index=True, return_inverse=True)
    # Rules of -1 and +1 differ by twice their coefficient.
    weights = np.bincount(place, 2.0 * cuts.steps, len(found))
    order = np.argsort(found)
    order = order[weights[order] != 0.0]
    at, bins = found[order], bins[found[order]]
    local = cuts.columns[at]
    columns = part.columns[local]
    # Unless told, a rule of a column without gaps says nothing of values that are missing later.
    told = np.where(columns < matrix.n_viewers, 0.5 if q_def is None else q_def, 0.5)
    unseen = np.rint(2 * told - 1)
    return Terms(
        columns.astype(np.int32),
        _thresholds(matrix, columns, part.codes[bins - 1], part.codes[bins], cuts.firsts[at]),
        np.where(part.gaps[local], cuts.sides[at], unseen).astype(np.int8),
        weights[order],
    )


def _thresholds(
    matrix: Matrix, columns: Columns, below: Columns, above: Columns, firsts: Columns
) -> Reals:
    """Return thresholds half-way between codes; minus infinity at the first of a column."""
    thresholds = np.full(len(columns), -np.inf)
    for levels, mine in _by_levels(matrix, columns):
        mine = mine[firsts[mine] > 0]
        thresholds[mine] = levels.thresholds(below[mine], above[mine])
    return thresholds


def _by_levels(matrix: Matrix, columns: Rows | Columns) -> list[tuple[Levels, Columns]]:
    """Return the different levels that columns have, and the places of the columns of each."""
    number = np.maximum(0, columns - matrix.n_viewers + 1)
    return [(matrix.levels[k], np.flatnonzero(number == k)) for k in np.unique(number)]


def first_codes(terms: Terms, matrix: Matrix) -> Columns:
    """Return the first code that each rule says 1 of."""
    first = np.zeros(len(terms.columns), dtype=np.intp)
    for levels, mine in _by_levels(matrix, terms.columns):
        first[mine] = np.searchsorted(levels.values, terms.thresholds[mine], side="left")
    return first


def item_scores(terms: Terms, matrix: Matrix) -> Reals:
    """Return the scores of all items: the weights of the rules that say 1."""
    # What each rule says of missing values is a constant, but for the items that have a value.
    absent = terms.weights * (0.5 + 0.5 * terms.sides)
    low = matrix.column_starts[terms.columns]
    sizes = matrix.column_starts[terms.columns + 1] - low
    ends = np.cumsum(sizes)
    n_entries = int(ends[-1]) if len(ends) else 0
    places = np.arange(n_entries) + np.repeat(low - ends + sizes, sizes)
    says = matrix.column_codes[places] >= np.repeat(first_codes(terms, matrix), sizes)
    moves = np.repeat(terms.weights, sizes) * says - np.repeat(absent, sizes)
    return absent.sum() + np.bincount(matrix.column_items[places], moves, matrix.n_items)


def contributions(terms: Terms, matrix: Matrix, item: int) -> tuple[Reals, Columns]:
    """Return what each rule adds to the score of an item, and the item's codes, -1 for missing."""
    span = slice(int(matrix.starts[item]), int(matrix.starts[item + 1]))
    columns, codes = matrix.columns[span], matrix.codes[span]
    at = np.searchsorted(columns, terms.columns)
    there = at < len(columns)
    there[there] = columns[at[there]] == terms.columns[there]
    mine = np.full(len(terms.columns), -1, dtype=np.intp)
    mine[there] = codes[at[there]]
    says = np.where(there, mine >= first_codes(terms, matrix), 0.5 + 0.5 * terms.sides)
    return terms.weights * says, mine
