"""All rounds of one small ranker: RankBoost with thresholds, chosen by |r| (Iyer 1999 section 4.2).

The same arithmetic as in `edgewise.RankBoost`, and so the same rules, without what an engine for
large tables does in every round. In NumPy here; its compiled twin is in `compiled`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.common.dtypes import Columns, Exacts, Reals, Signs
from edgewise.objective.ranking import LEAST_ENERGY, SMOOTHING, WIDEST, edge_limit
from edgewise.objective.votes import half_log_odds
from edgewise.recommend.rank_boosted.problem import Part, Settings, Target

LEARN = 2
"""The side of missing values is learned."""

SIDES = {None: LEARN, 0: -1, 0.5: 0, 1: 1}
"""The side of missing values, by q_def."""


# Rounds look at so many columns at least, on average, and draw anew so many times.
_LEAST_DRAWN = 10
_MOST_DRAWS = 512


class Cuts(NamedTuple):
    """The rules of all rounds.

    Attributes
    ----------
    columns : intp array of shape (rounds,)
        The column of each, numbered within the part.
    firsts : intp array of shape (rounds,)
        The first bin on the positive side, counted from the column's own first.
    sides : int8 array of shape (rounds,)
        The side of missing values.
    steps : float64 array of shape (rounds,)
        The coefficient, for rules that say -1 or +1.
    """

    columns: Columns
    firsts: Columns
    sides: Signs
    steps: Reals


def directions_of(
    part: Part, monotonic_cst: str, n_viewers: int
) -> tuple[Signs, NDArray[np.bool_]]:
    """Return the direction of each column, and which of the others learn theirs.

    Side features are not opinions: where viewers' columns rise these learn their direction.
    """
    viewer = part.columns < n_viewers
    rises = viewer & (monotonic_cst == "increasing")
    return rises.astype(np.int8), (monotonic_cst != "none") & ~rises


def absent_of(part: Part, q_def: float | None, n_viewers: int) -> Signs:
    """Return the side of missing values of each column, or LEARN, which item features always do."""
    return np.where(part.columns < n_viewers, SIDES[q_def], LEARN).astype(np.int8)


def looked_at(part: Part, settings: Settings) -> NDArray[np.bool_]:
    """Return at which columns each round looks, shape (rounds, columns).

    What is drawn depends on the seed, the round and the number of the column alone, so that it is
    the same for all users and whatever columns there are beside.
    """
    n_columns = len(part.columns)
    share = max(settings.max_features, _LEAST_DRAWN / max(n_columns, 1))
    if share >= 1.0:
        return np.ones((1, n_columns), dtype=bool)
    rounds = np.arange(min(settings.n_rounds, _MOST_DRAWS), dtype=np.uint64)[:, None]
    state = np.array([settings.seed], dtype=np.uint64) + (rounds << np.uint64(32))
    # Splitmix64, once for the round and once for the column.
    mixed = _mixed(_mixed(state) + part.columns.astype(np.uint64))
    return (mixed >> np.uint64(11)).astype(np.float64) < share * 2.0**53


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (state + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Scan:
    """Looks for the best cut of some columns, round by round.

    Cuts are numbered by their first bin b and the side of missing values: 2 b where it is +1, and
    2 b + 1 where it is -1, or 0 if they abstain. Of equals the lowest wins.
    """

    def __init__(self, part: Part, directions: Signs, absent: Signs) -> None:
        sizes = np.diff(part.first_bins)
        self.part = part
        self.directions = directions
        self.column_of = np.repeat(np.arange(len(sizes)), sizes)
        self.row_sizes = np.diff(part.starts)
        lowest = np.arange(len(self.column_of)) == part.first_bins[self.column_of]
        gap, absent = part.gaps[self.column_of], absent[self.column_of]
        high = ~lowest & (~gap | (absent > 0))
        low = gap & (absent != 1)
        self.possible = np.stack([high, low], axis=1)
        # The side of missing values where it is not the positive one.
        self.other_side = np.where(absent == 0, 0, -1)
        # At the first bin a cut tells present from missing values, which is no direction.
        self.lowest = lowest[:, None]
        self.held = np.zeros((len(self.column_of), 2))
        self.limits = np.full((len(self.column_of), 2), -1, dtype=np.int64)

    def best(self, quanta: Exacts, looked: NDArray[np.bool_]) -> tuple[int, int]:
        """Return the number of the best cut of some columns, and its |r| in fixed point."""
        part = self.part
        spread = np.repeat(quanta, self.row_sizes).astype(np.float64)
        # Integers far below 2**53 add up exactly in floating point.
        sums = np.bincount(part.bins, spread, len(self.column_of)).astype(np.int64)
        total = int(quanta.sum())
        running = np.cumsum(sums) - sums
        below = running - running[part.first_bins[:-1]][self.column_of]
        gone = total - np.add.reduceat(sums, part.first_bins[:-1])
        edges = np.empty((len(sums), 2), dtype=np.int64)
        edges[:, 0] = total - 2 * below
        edges[:, 1] = edges[:, 0] - (1 - self.other_side) * gone[self.column_of]
        sizes = np.abs(edges)
        allowed = self.lowest | (self.directions[self.column_of][:, None] * edges >= 0)
        allowed |= sizes <= self.limits
        allowed &= looked[self.column_of][:, None]
        sizes = np.where(allowed & self.possible, sizes, -1).ravel()
        best = int(sizes.argmax())
        return best, int(sizes[best])

    def step(self, shares: Reals, looked: NDArray[np.bool_], learning_rate: float) -> "Step | None":
        """Return the step along the best cut, or None if no cut has an edge."""
        cut, size = self.best(np.rint(shares * SEARCH_SCALE).astype(np.int64), looked)
        if size <= 0:
            return None
        b, side = divmod(cut, 2)
        column, missing = int(self.column_of[b]), int(self.other_side[b]) if side else 1
        signs = _signs(self.part, column, b, missing)
        exact = np.rint(shares * EXACT_SCALE).astype(np.int64)
        edge = int((exact * signs).sum()) / EXACT_SCALE
        odds = half_log_odds((1 + edge) / 2, (1 - edge) / 2, SMOOTHING)
        step = learning_rate * (0.5 * odds)
        direction = int(self.directions[column])
        if b > self.part.first_bins[column] and direction * step < 0:
            step = -direction * min(abs(step), max(direction * float(self.held[b, side]), 0.0))
        return Step(column, b, missing, step, signs)

    def note(self, step: "Step", learning_rate: float) -> None:
        """Add a step to the cumulative weight of its cut, which may be taken back later."""
        at = (step.b, 0 if step.missing > 0 else 1)
        self.held[at] += step.coefficient
        self.limits[at] = edge_limit(abs(float(self.held[at])), learning_rate)


class Step(NamedTuple):
    """A cut, and the coefficient with which it lowers the loss."""

    column: int
    b: int
    missing: int
    coefficient: float
    signs: Signs


def boost(target: Target, settings: Settings, n_viewers: int) -> Cuts:
    """Return the rules of a target's ranker, which change the scores that it starts from."""
    part, lists = target.part, target.lists
    directions, learn = directions_of(part, settings.monotonic_cst, n_viewers)
    scan = Scan(part, directions, absent_of(part, settings.q_def, n_viewers))
    looked, everything = looked_at(part, settings), np.ones(len(part.columns), dtype=bool)
    scores, reach = target.start, float(np.ptp(target.start))
    weighed = lists.weigh(scores)
    found: list[tuple[int, int, int, float]] = []
    while len(found) < settings.n_rounds and len(part.columns):
        if weighed.energy < LEAST_ENERGY or (reach > WIDEST and lists.span(scores) > WIDEST):
            break
        shares = weighed.potentials / max(weighed.energy, 1e-300)
        # Where no column that was drawn lowers the loss, all are looked at.
        for drawn in (looked[len(found) % len(looked)], everything):
            step = scan.step(shares, drawn, settings.learning_rate)
            if step is None:
                continue
            moved = scores + step.coefficient * step.signs
            after = lists.weigh(moved)
            if after.energy / weighed.energy < 1.0:
                break
        else:
            break
        assert step is not None
        reach += abs(step.coefficient) * float(np.ptp(step.signs))
        scores, weighed = moved, after
        first = step.b - int(part.first_bins[step.column])
        if first > 0:
            if learn[step.column] and directions[step.column] == 0:
                directions[step.column] = np.sign(step.coefficient)
            scan.note(step, settings.learning_rate)
        found.append((step.column, first, step.missing, step.coefficient))
    return _packed(found)


def _signs(part: Part, column: int, b: int, missing: int) -> Signs:
    """Return what a cut before a bin says of each row."""
    signs = np.full(len(part.starts) - 1, missing, dtype=np.int8)
    mine = (part.bins >= part.first_bins[column]) & (part.bins < part.first_bins[column + 1])
    places = np.flatnonzero(mine)
    rows = np.searchsorted(part.starts, places, side="right") - 1
    signs[rows] = np.where(part.bins[places] >= b, 1, -1)
    return signs


def _packed(found: list[tuple[int, int, int, float]]) -> Cuts:
    columns, firsts, sides, steps = zip(*found, strict=True) if found else ((), (), (), ())
    return Cuts(
        np.array(columns, dtype=np.intp),
        np.array(firsts, dtype=np.intp),
        np.array(sides, dtype=np.int8),
        np.array(steps, dtype=np.float64),
    )
