"""Metrics user by user: their values, and how sure a mean over users is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of
from edgewise.common.dtypes import Reals
from edgewise.metrics.significance import Z95


@dataclass(frozen=True, eq=False)
class UserSums:
    """A metric as a ratio of sums over users: of `sums`, by `masses`; its square root if `root`.

    A mean over users has masses of 1; an error over ratings has each user's number of ratings. The
    mass of a user without a value is 0.
    """

    sums: Reals
    masses: Reals
    root: bool = False

    @classmethod
    def of(cls, values: Reals) -> "UserSums":
        """Return values by user, NaN where undefined, of which the mean is the metric."""
        defined = ~np.isnan(values)
        return cls(np.where(defined, values, 0.0), defined.astype(np.float64))

    @property
    def values(self) -> Reals:
        """The metric of each user alone; NaN where it is undefined."""
        means = np.full(len(self.sums), np.nan)
        np.divide(self.sums, self.masses, out=means, where=self.masses > 0)
        return np.sqrt(means) if self.root else means

    @property
    def influence(self) -> Reals:
        """How much each user moves the metric, to first order; their mean is 0.

        The ratio R = sum of s / sum of m moves by (s_u - R m_u) / mean(m), and its root by that
        over 2 sqrt(R): the delta method, with users as the units that are drawn.
        """
        counted = self.masses > 0
        total, n = self.masses.sum(), int(counted.sum())
        if n == 0:
            return np.zeros(len(self.sums))
        ratio = float(self.sums.sum() / total)
        moved = (self.sums - ratio * self.masses) * (n / total)
        return moved / (2.0 * math.sqrt(ratio)) if self.root and ratio > 0 else moved

    def standard_error(self, other: "UserSums | None" = None) -> float:
        """Return the standard error of the metric, or of its difference from another's."""
        counted, moved = self.masses > 0, self.influence
        if other is not None:
            counted, moved = counted | (other.masses > 0), moved - other.influence
        n = int(counted.sum())
        return math.sqrt(float(moved @ moved) / (n - 1) / n) if n > 1 else math.nan


def pooled(parts: Sequence[tuple[NDArray[Any], UserSums]]) -> UserSums:
    """Return the sums of several tests, added up by the users' ids."""
    ids, place = np.unique(np.concatenate([ids for ids, _ in parts]), return_inverse=True)
    sums, masses = (
        np.bincount(place, np.concatenate(arrays), len(ids)).astype(np.float64)
        for arrays in ([one.sums for _, one in parts], [one.masses for _, one in parts])
    )
    return UserSums(sums, masses, parts[0][1].root)


class Measured(NamedTuple):
    """The value of a metric, and where it has one its sums over users."""

    value: float
    users: UserSums | None = None

    @property
    def half_interval(self) -> float:
        """Half the 95% interval; NaN where there is none."""
        return math.nan if self.users is None else Z95 * self.users.standard_error()


class Difference(NamedTuple):
    """The difference of two models, its 95% interval, and a two-sided p-value.

    Examples
    --------
    >>> from edgewise import BiasBaseline, Ratings
    >>> from edgewise.recommend import compare
    >>> rows = [(user, item, user + item) for user in range(6) for item in range(5)]
    >>> models = {"own": BiasBaseline(), "overall": BiasBaseline(user_damping=1e9)}
    >>> found = compare(models, Ratings.from_arrays(*zip(*rows)), "rmse", random_state=0)
    >>> found.difference("own", "overall", "rmse").p_value < 0.05
    True
    """

    difference: float
    low: float
    high: float
    p_value: float


def difference(value: float, error: float) -> Difference:
    """Return a difference with its interval and p-value, given its standard error."""
    if math.isnan(error) or math.isnan(value):
        return Difference(value, math.nan, math.nan, math.nan)
    size = abs(value) / error if error > 0 else (math.inf if value else 0.0)
    p_value = math.erfc(size / math.sqrt(2.0))
    return Difference(value, value - Z95 * error, value + Z95 * error, p_value)


@dataclass(frozen=True, eq=False, repr=False)
class UserValues:
    """The metrics of each user of a test: the result of ``evaluate(..., per_user=True)``.

    Attributes
    ----------
    users : array
        The ids of the users.
    values : dict of str to float array
        The values of each metric, one for each user; NaN where a user has none.

    Examples
    --------
    >>> from edgewise import BiasBaseline, Ratings
    >>> from edgewise.recommend import evaluate
    >>> train = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Heat": 4}})
    >>> test = Ratings.from_dict({"bob": {"Fargo": 5}, "ann": {"Up": 2}})
    >>> found = evaluate(BiasBaseline().fit(train), test, "hit_rate", k=1, per_user=True)
    >>> found.users, found.values["hit_rate@1"]
    (array(['ann', 'bob'], dtype='<U3'), array([nan,  1.]))
    """

    users: NDArray[Any]
    values: dict[str, Reals]
    measured: dict[str, Measured]

    def __repr__(self) -> str:
        return f"UserValues({len(self.users)} users, {', '.join(self.values)})"

    def interval(self, metric: str) -> tuple[float, float, float]:
        """Return the value of a metric over all users, and its 95% interval."""
        found = self.measured[one_of("metric", metric, tuple(self.values))]
        return found.value, found.value - found.half_interval, found.value + found.half_interval

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame of `library`, "pandas" or "polars": "user", then each metric."""
        from edgewise.io.frames import frame_library

        return frame_library(library).DataFrame({"user": self.users, **self.values})
