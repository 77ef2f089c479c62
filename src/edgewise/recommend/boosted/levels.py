"""Ratings as the labels of score columns, and scores as ratings again."""

from dataclasses import dataclass

import numpy as np

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Reals, Rows

TARGETS = ("auto", "ordered", "one_hot", "binary", "value")

# With more distinct ratings than this, neighboring ones share a level.
MOST_LEVELS = 20

# Scores become chances this many at a time, which stay in the cache.
_TILE = 1 << 14


@dataclass(frozen=True)
class Levels:
    """The levels of ratings, and the questions of the score columns.

    `values` has the rating of each level, `starts` the least rating of each level after the first.
    With the target "value" the one score is the rating itself: `values` has the ratings of the
    scores 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> levels = Levels("ordered", np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0]))
    >>> levels.labels()
    array([[-1., -1.],
           [ 1., -1.],
           [ 1.,  1.]])
    >>> levels.expected(np.array([[50.0, 0.0]]))
    array([2.5])
    """

    target: str
    values: Reals
    starts: Reals
    logistic: bool = True

    @property
    def n_columns(self) -> int:
        """The number of score columns."""
        return len(self.values) if self.target == "one_hot" else len(self.values) - 1

    def codes(self, ratings: Reals) -> Rows:
        """Return the level of each rating, from 0."""
        return np.searchsorted(self.starts, ratings, side="right").astype(np.int32)

    def questions(self) -> tuple[Rows, Rows]:
        """Return for each column the level that a yes is above, and the last that is one."""
        columns = np.arange(self.n_columns, dtype=np.int32)
        if self.target == "one_hot":
            return columns - 1, columns
        return columns, np.full_like(columns, len(self.values))

    def labels(self) -> Reals:
        """Return the labels -1 or +1 of every level, shape (levels, columns)."""
        level = np.arange(len(self.values))[:, None]
        column = np.arange(self.n_columns)
        is_there = level == column if self.target == "one_hot" else level > column
        return np.where(is_there, 1.0, -1.0)

    def gaps(self) -> Reals:
        """Return what a chance of 1 in each column adds to the expected rating."""
        return self.values.copy() if self.target == "one_hot" else np.diff(self.values)

    def direction(self) -> Reals:
        """Return the votes of "a better rating", whose square is 1 on average."""
        if self.target != "one_hot":
            return np.ones(self.n_columns)
        # One-hot columns never rise together: high levels rise as low ones fall.
        positions = np.arange(self.n_columns) - (self.n_columns - 1) / 2
        return positions / np.sqrt((positions * positions).mean())

    @property
    def low(self) -> float:
        """The expected rating before anything is added."""
        return 0.0 if self.target == "one_hot" else float(self.values[0])

    def chances(self, scores: Reals) -> Reals:
        """Return the chance of a yes in each column."""
        if self.target == "value":
            return scores
        return 1.0 / (1.0 + exp(-scores if self.logistic else -2.0 * scores))

    def slopes(self, chances: Reals) -> Reals:
        """Return the derivatives of chances by their scores."""
        if self.target == "value":
            return np.ones_like(chances)
        return chances * (1.0 - chances) * (1.0 if self.logistic else 2.0)

    def expected(self, scores: Reals) -> Reals:
        """Return the expected rating, from scores of shape (..., columns)."""
        if scores.size == 0:
            return np.full(scores.shape[:-1], self.low)
        rows = scores.reshape(-1, scores.shape[-1])
        ratings = np.empty(len(rows))
        step = max(1, _TILE // rows.shape[1])
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            ratings[block] = self._expected(rows[block])
        return ratings.reshape(scores.shape[:-1])

    def _expected(self, scores: Reals) -> Reals:
        chances = self.chances(scores)
        if self.target == "one_hot":
            chances = chances / np.maximum(chances.sum(axis=-1, keepdims=True), 1e-300)
        return self.low + (chances * self.gaps()).sum(axis=-1)

    def median(self, scores: Reals) -> Reals:
        """Return the median level; with one-hot columns the likeliest."""
        if self.target == "value":
            return self.expected(scores)
        if self.target == "one_hot":
            return self.values[scores.argmax(axis=-1)]
        return self.values[(scores > 0).sum(axis=-1)]

    def mode(self, scores: Reals) -> Reals:
        """Return the likeliest level."""
        if self.target in ("one_hot", "value"):
            return self.median(scores)
        return self.values[self.probabilities(scores).argmax(axis=-1)]

    def probabilities(self, scores: Reals) -> Reals:
        """Return the probability of each level, shape (..., levels)."""
        chances = self.chances(scores)
        if self.target == "one_hot":
            return chances / np.maximum(chances.sum(axis=-1, keepdims=True), 1e-300)
        # Chances of "above this level" can only decrease from level to level.
        chances = -np.sort(-chances, axis=-1)
        ends = np.ones((*chances.shape[:-1], 1))
        return -np.diff(np.concatenate([ends, chances, 0.0 * ends], axis=-1))


def levels_of(
    ratings: Reals, target: str, threshold: float | None, logistic: bool = True
) -> Levels:
    """Return the levels of training ratings; `threshold` is for a binary target, None the mean."""
    distinct, counts = np.unique(ratings, return_counts=True)
    if target == "auto":
        target = "ordered" if len(distinct) <= MOST_LEVELS else "value"
    if target == "value":
        mean, spread = float(ratings.mean()), float(ratings.std())
        if len(distinct) == 1 or spread == 0.0:
            return Levels("ordered", distinct[:1], distinct[:0], logistic)
        ends = np.array([mean, mean + spread])
        return Levels(target, ends, ends[1:], logistic)
    if target == "binary":
        low, high = float(distinct[0]), float(distinct[-1])
        if threshold is None:
            # The mean of equal numbers may come out below them.
            threshold = max(low, float(ratings.mean()))
        elif not low <= threshold < high:
            raise ValueError(
                f"threshold must have ratings on both sides: at least {low:g} and below {high:g}, "
                f"got {threshold:g}"
            )
        starts = distinct[distinct > threshold][:1]
    elif len(distinct) > MOST_LEVELS:
        # Levels of about as many ratings each.
        shares = np.cumsum(counts)[:-1] / counts.sum()
        cuts = np.searchsorted(shares, np.arange(1, MOST_LEVELS) / MOST_LEVELS)
        starts = np.unique(distinct[1:][np.minimum(cuts, len(distinct) - 2)])
    else:
        starts = distinct[1:]
    codes = np.searchsorted(starts, ratings, side="right")
    sizes = np.bincount(codes, minlength=len(starts) + 1)
    sums = np.bincount(codes, ratings, minlength=len(starts) + 1)
    values = distinct if len(starts) == len(distinct) - 1 else sums / np.maximum(sizes, 1)
    return Levels(target, values.astype(np.float64), starts.astype(np.float64), logistic)
