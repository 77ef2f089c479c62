"""Ratings as the labels of score columns, and scores as ratings again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.backend.arithmetic import exp
from edgewise.common.dtypes import Reals, Rows, Singles
from edgewise.recommend.arrays import iter_blocks

TARGETS = ("auto", "ordered", "one_hot", "binary", "value")

MAX_LEVELS = 20
"""With more distinct ratings than this, neighboring ones share a level."""

# Scores are converted to probabilities in blocks of this many, which stay in the cache.
_BLOCK = 1 << 14

# The relative error of an expected rating in single precision.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class RatingLevels:
    """The levels of ratings, and what each score column predicts of them.

    `values` holds the rating of each level, `starts` the lowest rating of each level but the first.
    With the target "value" the only score is the standardized rating: `values` are the ratings with
    the scores 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> levels = RatingLevels("ordered", np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0]))
    >>> levels.labels()
    array([[-1., -1.],
           [ 1., -1.],
           [ 1.,  1.]])
    >>> levels.mean(np.array([[50.0, 0.0]]))
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

    def positive_levels(self) -> tuple[Rows, Rows]:
        """Return for each column the level below its first positive one, and its last one."""
        columns = np.arange(self.n_columns, dtype=np.int32)
        if self.target == "one_hot":
            return columns - 1, columns
        return columns, np.full_like(columns, len(self.values))

    def labels(self) -> Reals:
        """Return the labels -1 or +1 of every level, shape (levels, columns)."""
        level, (below, last) = np.arange(len(self.values))[:, None], self.positive_levels()
        return np.where((level > below) & (level <= last), 1.0, -1.0)

    def gaps(self) -> Reals:
        """Return what a probability of 1 in each column adds to the expected rating."""
        return self.values.copy() if self.target == "one_hot" else np.diff(self.values)

    def direction(self) -> Reals:
        """Return the votes for a higher rating; their mean square is 1."""
        if self.target != "one_hot":
            return np.ones(self.n_columns)
        # One-hot columns never rise together: high levels rise as low ones fall.
        positions = np.arange(self.n_columns) - (self.n_columns - 1) / 2
        return positions / np.sqrt((positions * positions).mean())

    @property
    def low(self) -> float:
        """The expected rating if all probabilities are 0."""
        return 0.0 if self.target == "one_hot" else float(self.values[0])

    def column_probabilities(self, scores: Reals) -> Reals:
        """Return the probability of a positive label in each column."""
        if self.target == "value":
            return scores
        return 1.0 / (1.0 + exp(-scores if self.logistic else -2.0 * scores))

    def slopes(self, probabilities: Reals) -> Reals:
        """Return the derivatives of probabilities with respect to scores."""
        if self.target == "value":
            return np.ones_like(probabilities)
        return probabilities * (1.0 - probabilities) * (1.0 if self.logistic else 2.0)

    def mean(self, scores: Reals) -> Reals:
        """Return the expected rating, from scores of shape (..., columns)."""
        if scores.size == 0:
            return np.full(scores.shape[:-1], self.low)
        rows = scores.reshape(-1, scores.shape[-1])
        ratings = np.empty(len(rows))
        for block in iter_blocks(len(rows), rows.shape[1], _BLOCK):
            probabilities = self._normalized_probabilities(rows[block])
            ratings[block] = self.low + (probabilities * self.gaps()).sum(axis=-1)
        return ratings.reshape(scores.shape[:-1])

    def approximate(self, columns: Iterator[tuple[Singles, Reals]]) -> tuple[Singles, Reals]:
        """Return expected ratings in single precision, and bounds of the error of each row.

        `columns` yields the scores of each column, which are overwritten, with bounds of theirs.
        Not for one-hot columns.
        """
        # A probability changes by at most a quarter of its score's change, or half of it, and an
        # exponential function of single precision is a few units of the last place off.
        slope = 0.25 if self.logistic else 0.5
        expected: Any = np.float32(self.low)
        errors: Any = 0.0
        for gap, (scores, score_errors) in zip(self.gaps(), columns, strict=True):
            if self.target == "value":
                return self.low + np.float32(gap) * scores, gap * (score_errors + _ROUNDING)
            scores *= -1.0 if self.logistic else -2.0
            with np.errstate(over="ignore"):
                np.exp(scores, out=scores)
            scores += 1.0
            np.divide(np.float32(gap), scores, out=scores)
            expected = np.add(expected, scores, out=scores)
            errors = errors + gap * (slope * score_errors + _ROUNDING)
        return expected, errors + _ROUNDING * np.abs(self.values).max()

    def _normalized_probabilities(self, scores: Reals) -> Reals:
        """Return the probabilities of the columns, which sum to 1 in one-hot columns."""
        probabilities = self.column_probabilities(scores)
        if self.target == "one_hot":
            probabilities = probabilities / np.maximum(
                probabilities.sum(axis=-1, keepdims=True), 1e-300
            )
        return probabilities

    def median(self, scores: Reals) -> Reals:
        """Return the median level; for one-hot columns the most likely one."""
        if self.target == "value":
            return self.mean(scores)
        if self.target == "one_hot":
            return self.values[scores.argmax(axis=-1)]
        return self.values[(scores > 0).sum(axis=-1)]

    def mode(self, scores: Reals) -> Reals:
        """Return the most likely level."""
        if self.target in ("one_hot", "value"):
            return self.median(scores)
        return self.values[self.probabilities(scores).argmax(axis=-1)]

    def probabilities(self, scores: Reals) -> Reals:
        """Return the probability of each level, shape (..., levels)."""
        probabilities = self._normalized_probabilities(scores)
        if self.target == "one_hot":
            return probabilities
        # The probabilities of "above this level" must not increase from level to level.
        probabilities = -np.sort(-probabilities, axis=-1)
        ends = np.ones((*probabilities.shape[:-1], 1))
        return -np.diff(np.concatenate([ends, probabilities, 0.0 * ends], axis=-1))


def levels_of(
    ratings: Reals, target: str, threshold: float | None, logistic: bool = True
) -> RatingLevels:
    """Return the levels of training ratings; a binary target's `threshold` None is the mean."""
    distinct, counts = np.unique(ratings, return_counts=True)
    if target == "auto":
        target = "ordered" if len(distinct) <= MAX_LEVELS else "value"
    if target == "value":
        mean, deviation = float(ratings.mean()), float(ratings.std())
        if len(distinct) == 1 or deviation == 0.0:
            return RatingLevels("ordered", distinct[:1], distinct[:0], logistic)
        ends = np.array([mean, mean + deviation])
        return RatingLevels(target, ends, ends[1:], logistic)
    if target == "binary":
        starts = distinct[distinct > _resolve_threshold(threshold, ratings)][:1]
    elif len(distinct) > MAX_LEVELS:
        # Levels of about as many ratings each.
        shares = np.cumsum(counts)[:-1] / counts.sum()
        cuts = np.searchsorted(shares, np.arange(1, MAX_LEVELS) / MAX_LEVELS)
        starts = np.unique(distinct[1:][np.minimum(cuts, len(distinct) - 2)])
    else:
        starts = distinct[1:]
    values = distinct
    if len(starts) < len(distinct) - 1:
        codes = np.searchsorted(starts, ratings, side="right")
        sizes = np.bincount(codes, minlength=len(starts) + 1)
        values = np.bincount(codes, ratings, minlength=len(starts) + 1) / np.maximum(sizes, 1)
    return RatingLevels(target, values.astype(np.float64), starts.astype(np.float64), logistic)


def _resolve_threshold(threshold: float | None, ratings: Reals) -> float:
    """Return the threshold of a binary target, or raise if it has ratings on one side only."""
    low, high = float(ratings.min()), float(ratings.max())
    if threshold is None:
        # Rounding may put the mean of equal numbers below them.
        return max(low, float(ratings.mean()))
    if not low <= threshold < high:
        raise ValueError(
            f"threshold must have ratings on both sides: at least {low:g} and below {high:g}, "
            f"got {threshold:g}"
        )
    return threshold
