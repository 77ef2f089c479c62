"""Intervals of means and proportions, and paired tests of two systems."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import integer, numbers, seed
from edgewise.common.dtypes import Reals

Z95 = 1.959964
"""Standard errors on either side of a mean in a 95% interval."""

# Signs are drawn in blocks of at most this many, to bound memory.
_BLOCK = 1 << 20

# Sums that are equal in exact arithmetic differ by rounding; relative to the sum of all sizes.
_ROUNDING = 1e-12


def mean_interval(
    values: Reals, low: float = -np.inf, high: float = np.inf
) -> tuple[float, float, float]:
    """Return a mean and its 95% interval, from the spread of the values; NaN is left out.

    `low` and `high` are the range of the values, within which the interval stays.
    """
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return (np.nan,) * 3
    mean = float(present.mean())
    half = Z95 * float(present.std(ddof=1)) / np.sqrt(len(present)) if len(present) > 1 else np.nan
    return mean, max(mean - half, low), min(mean + half, high)


def proportion_interval(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share of `n` rows: unlike Wald's, not empty at 0 or 1.

    Examples
    --------
    >>> [round(end, 3) for end in proportion_interval(0.0, 20)]
    [0.0, 0.161]
    """
    z2 = Z95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


@dataclass(frozen=True, eq=False)
class UnitSums:
    """A metric as a ratio of sums over units, queries or users: `sums` by `masses`.

    With `root` it is the square root of the ratio. A mean over units has masses of 1; an error over
    ratings has each user's number of ratings. The mass of a unit without a value is 0.
    """

    sums: Reals
    masses: Reals
    root: bool = False

    @classmethod
    def of(cls, values: Reals) -> "UnitSums":
        """Return the sums of a mean of values, NaN where undefined."""
        defined = ~np.isnan(values)
        return cls(np.where(defined, values, 0.0), defined.astype(np.float64))

    @classmethod
    def merge(cls, samples: Sequence[tuple[NDArray[Any], "UnitSums"]]) -> "UnitSums":
        """Return the sums of several tests, given with the ids of their units, by id."""
        ids, index = np.unique(np.concatenate([ids for ids, _ in samples]), return_inverse=True)
        sums, masses = (
            np.bincount(index, np.concatenate(arrays), len(ids)).astype(np.float64)
            for arrays in ([each.sums for _, each in samples], [each.masses for _, each in samples])
        )
        return cls(sums, masses, samples[0][1].root)

    @property
    def value(self) -> float:
        """The metric over all units; NaN if no unit has a value."""
        total = float(self.masses.sum())
        ratio = float(self.sums.sum()) / total if total else math.nan
        return math.sqrt(ratio) if self.root else ratio

    @property
    def values(self) -> Reals:
        """The metric of each unit alone; NaN where it is undefined."""
        means = np.full(len(self.sums), np.nan)
        np.divide(self.sums, self.masses, out=means, where=self.masses > 0)
        return np.sqrt(means) if self.root else means

    @property
    def influence(self) -> Reals:
        """How much each unit moves the metric, to first order; their mean is 0.

        The ratio R = sum of s / sum of m moves by (s_u - R m_u) / mean(m), and its root by that
        over 2 sqrt(R): the delta method, with units as what is drawn.
        """
        counted = self.masses > 0
        total, n = self.masses.sum(), int(counted.sum())
        if n == 0:
            return np.zeros(len(self.sums))
        ratio = float(self.sums.sum() / total)
        moved = (self.sums - ratio * self.masses) * (n / total)
        return moved / (2.0 * math.sqrt(ratio)) if self.root and ratio > 0 else moved

    def standard_error(self, other: "UnitSums | None" = None) -> float:
        """Return the standard error of the metric, or of its difference from another's."""
        counted, moved = self.masses > 0, self.influence
        if other is not None:
            counted, moved = counted | (other.masses > 0), moved - other.influence
        n = int(counted.sum())
        return math.sqrt(float(moved @ moved) / (n - 1) / n) if n > 1 else math.nan


class Difference(NamedTuple):
    """The difference of two systems, its 95% interval, and a two-sided p-value.

    Examples
    --------
    >>> Difference.of(0.05, standard_error=0.02).p_value < 0.05
    True
    """

    difference: float
    low: float
    high: float
    p_value: float

    @classmethod
    def of(cls, value: float, standard_error: float) -> "Difference":
        """Return a difference with its interval and p-value."""
        if math.isnan(standard_error) or math.isnan(value):
            return cls(value, math.nan, math.nan, math.nan)
        size = abs(value) / standard_error if standard_error > 0 else math.inf if value else 0.0
        half = Z95 * standard_error
        return cls(value, value - half, value + half, math.erfc(size / math.sqrt(2.0)))


@dataclass(frozen=True)
class RandomizationResult:
    """The result of a paired randomization test.

    Attributes
    ----------
    mean_difference : float
        The mean of a - b over the queries.
    p_value : float
        The share of sign assignments whose mean is at least as far from zero.
    n_queries : int
        Number of queries compared.
    exact : bool
        Whether all sign assignments were enumerated, rather than a sample drawn.
    """

    mean_difference: float
    p_value: float
    n_queries: int
    exact: bool


def randomization_test(
    a: ArrayLike, b: ArrayLike, n_draws: int = 10_000, random_state: Any = None
) -> RandomizationResult:
    """Test whether two rankers have the same mean, by a paired two-sided randomization test.

    Under the null hypothesis, swapping a query's two values, which changes the sign of its
    difference, is as likely as not. The p-value is the share of sign assignments whose mean is at
    least as far from zero as the observed one. All are enumerated if there are at most `n_draws`;
    otherwise `n_draws` are drawn, and the observed one counts too: p = (1 + count) / (1 + n_draws).

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        The values of two rankers for the same queries in the same order, as a metric returns them
        with ``per_query=True``. A query that is NaN for both is left out.
    n_draws : int, default 10_000
        The number of assignments to draw, or the most to enumerate.
    random_state : int, RandomState, Generator or None, default None
        Randomness of the draws.

    Examples
    --------
    >>> randomization_test([0.9, 0.8, 0.7], [0.5, 0.6, 0.6])  # 2 of the 8 assignments
    RandomizationResult(mean_difference=0.2333..., p_value=0.25, n_queries=3, exact=True)
    """
    n_draws = integer("n_draws", n_draws, 1)
    differences = _differences(a, b)
    rng = random_state
    if not isinstance(rng, np.random.Generator):
        rng = np.random.default_rng(seed(random_state))
    # A difference of zero has no sign to change.
    sizes = np.abs(differences[differences != 0])
    observed = abs(differences.sum()) - _ROUNDING * sizes.sum()
    exact = len(sizes) < n_draws.bit_length() and 1 << len(sizes) <= n_draws
    count, total = 0, 1 << len(sizes) if exact else n_draws
    block = max(1, _BLOCK // max(1, len(sizes)))
    for first in range(0, total, block):
        n = min(block, total - first)
        if exact:
            flips = (np.arange(first, first + n)[:, None] >> np.arange(len(sizes))) & 1
        else:
            flips = rng.integers(0, 2, size=(n, len(sizes)), dtype=np.int8)
        sums = sizes.sum() - 2.0 * (flips @ sizes)
        count += int((np.abs(sums) >= observed).sum())
    p_value = count / total if exact else (1 + count) / (1 + total)
    return RandomizationResult(float(differences.mean()), p_value, len(differences), exact)


def _differences(a: ArrayLike, b: ArrayLike) -> Reals:
    """Return a - b over the queries that both have."""
    a = numbers("a", a)
    b = numbers("b", b, len(a), "queries of a")
    for name, values in (("a", a), ("b", b)):
        if np.isinf(values).any():
            raise ValueError(f"{name} must not hold infinities")
    skipped = np.isnan(a)
    if (skipped != np.isnan(b)).any():
        raise ValueError("a and b must skip the same queries: one is NaN where the other is not")
    if skipped.all():
        raise ValueError("a and b must have a query in common, got none that is not NaN")
    return a[~skipped] - b[~skipped]
