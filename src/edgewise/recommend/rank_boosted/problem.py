"""One target's ranking problem: its rated items, and which bins of which columns they fall into."""

from typing import NamedTuple

import numpy as np

from edgewise.common.dtypes import ROW, Columns, Exacts, Reals, Rows
from edgewise.estimators.judgements import graded_layout
from edgewise.objective.lists import GradedLists, Layout
from edgewise.ratings import Ratings
from edgewise.recommend.rank_boosted.matrix import Matrix


class Settings(NamedTuple):
    """How rules and steps are chosen: see `RankBoostRecommender`."""

    n_rounds: int
    learning_rate: float
    monotonic_cst: str
    q_def: float | None
    pair_weight: str
    max_features: float = 1.0
    seed: int = 0


class Part(NamedTuple):
    """Some rows of the matrix: only the columns that tell them apart, only the codes that occur.

    Attributes
    ----------
    starts : intp array of shape (rows + 1,)
        The entries of row i are from ``starts[i]`` to ``starts[i + 1]``.
    bins : int32 array
        The bin of each entry. Those of a column follow each other, by rising value.
    columns : intp array of shape (columns,)
        The numbers of the columns, ascending.
    first_bins : intp array of shape (columns + 1,)
        The bins of column c are from ``first_bins[c]`` to ``first_bins[c + 1]``.
    codes : intp array of shape (bins,)
        The code that each bin stands for.
    gaps : bool array of shape (columns,)
        Whether a column has no entry for some of the rows.
    """

    starts: Columns
    bins: Rows
    columns: Columns
    first_bins: Columns
    codes: Columns
    gaps: np.ndarray


def part_of(matrix: Matrix, items: Columns, without: int) -> Part:
    """Return the rows of some items, without a column (-1: with all of them)."""
    low, sizes = matrix.starts[items], np.diff(matrix.starts)[items]
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1]) + np.repeat(low - (ends - sizes), sizes)
    columns = matrix.columns[places]
    bins = matrix.first_bins[columns] + matrix.codes[places]
    counts = np.bincount(bins, minlength=matrix.first_bins[-1])
    present = np.bincount(columns, minlength=matrix.n_columns)
    occupied = np.add.reduceat(counts > 0, matrix.first_bins[:-1], dtype=np.intp)
    gaps = present < len(items)
    # A cut of any other column would leave all rows on one side.
    useful = (occupied > 1) | ((occupied == 1) & gaps)
    if without >= 0:
        useful[without] = False
    kept_bins = np.flatnonzero((counts > 0) & np.repeat(useful, np.diff(matrix.first_bins)))
    number = np.full(len(counts), -1, dtype=ROW)
    number[kept_bins] = np.arange(len(kept_bins))
    local = number[bins]
    entries = local >= 0
    row_sizes = np.bincount(np.repeat(np.arange(len(items)), sizes)[entries], minlength=len(items))
    chosen = np.flatnonzero(useful)
    first = np.concatenate(([0], np.cumsum(occupied[chosen])))
    codes = kept_bins - np.repeat(matrix.first_bins[chosen], occupied[chosen])
    starts = np.concatenate(([0], np.cumsum(row_sizes)))
    return Part(starts, local[entries], chosen, first, codes, gaps[chosen])


class Target(NamedTuple):
    """What one user's ranker is trained on: items in the order of their ratings.

    Attributes
    ----------
    part : Part
        Their rows of the matrix.
    layout, lists : Layout and GradedLists
        Their pairs.
    start : float64 array of shape (items,)
        The scores to begin with.
    """

    part: Part
    layout: Layout
    lists: GradedLists
    start: Reals


class Rated(NamedTuple):
    """The ratings of one user.

    Attributes
    ----------
    items : intp array
        What was rated.
    values : float64 array
        The ratings.
    weights : float64 array or None
        Their weights.
    """

    items: Columns
    values: Reals
    weights: Reals | None

    @staticmethod
    def of(ratings: Ratings, user: int) -> "Rated":
        """Return the ratings of a user."""
        view = ratings.by_user
        span = view.span(user)
        weights = None if view.weights is None else view.weights[span]
        return Rated(view.others[span].astype(np.intp), view.values[span], weights)

    @property
    def has_pairs(self) -> bool:
        """Whether any two of the ratings differ."""
        return len(self.values) > 0 and bool(self.values.min() < self.values.max())


def target_of(
    matrix: Matrix, rated: Rated, start: Reals | None, without: int, pair_weight: str
) -> Target:
    """Return the problem of a user of whom some ratings differ.

    `start` has the scores of all items to begin with (None: 0), `without` is the user's own column.
    """
    query: Exacts = np.zeros(len(rated.items), dtype=np.int64)
    rows = np.arange(len(rated.items))
    layout = graded_layout(rows, rated.values, query, pair_weight, rated.weights)
    items = rated.items[layout.rows]
    scores = np.zeros(len(items)) if start is None else start[items]
    return Target(part_of(matrix, items, without), layout, GradedLists(layout), scores)
