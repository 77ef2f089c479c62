"""Cumulative weights: the sums of all steps on one threshold (Iyer 1999 section 4.3)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Bounds
from edgewise.common.dtypes import Columns, Signs
from edgewise.data import BinnedTable, Bins
from edgewise.model import Cut, Rule

# A cut's key has room for the side of missing values, +1 first: ties go to the first.
_SIDES = 3


class Cumulative:
    """Keeps the cumulative weight of every cut on the side that its column must have.

    Where all cumulative weights of a column are positive, its contribution to the score never
    decreases as its value grows; where they are negative, it never increases. By column,
    `directions` has +1, -1, or 0 without a constraint, and `learn` whether a 0 becomes the
    direction of the first rule. `limit` returns the largest edge whose step takes back no more than
    a given weight.
    """

    def __init__(
        self,
        table: BinnedTable,
        directions: Signs,
        learn: NDArray[np.bool_],
        limit: Callable[[float], int] = lambda weight: 0,
    ) -> None:
        self.table = table
        self.directions = directions.copy()
        self.learn = learn
        self.limit = limit
        self._keys = np.empty(0, dtype=np.int64)
        self._weights = np.empty(0)
        self._limits = np.empty(0, dtype=np.int64)
        self._span = _SIDES * (1 + max((b.n_codes for b in table.bins), default=1))
        self._last: tuple[Columns, Bounds] | None = None

    def bounds(self, columns: Columns) -> Bounds:
        """Return which signs edges may have in a search of some columns."""
        if self._last is not None and self._last[0] is columns:
            return self._last[1]
        low = np.searchsorted(self._keys, columns * self._span)
        high = np.searchsorted(self._keys, (columns + 1) * self._span)
        counts = high - low
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
        kept = np.arange(starts[-1]) + np.repeat(low - starts[:-1], counts)
        rest = self._keys[kept] % self._span
        bounds = Bounds(
            self.directions[columns],
            starts,
            (rest // _SIDES).astype(np.intp),
            (1 - rest % _SIDES).astype(np.int8),
            self._limits[kept],
        )
        self._last = (columns, bounds)
        return bounds

    def clip(self, rule: Rule, step: float) -> float:
        """Return the part of a step that the rule's cumulative weight allows."""
        key = self._key(rule)
        if key is None:
            return step
        direction = int(self.directions[key // self._span])
        if direction * step >= 0:
            return step
        held = direction * self._weight(key)
        return -direction * min(abs(step), max(held, 0.0))

    def add(self, rule: Rule, step: float) -> None:
        """Record a step."""
        key = self._key(rule)
        if key is None:
            return
        column = key // self._span
        if self.learn[column] and self.directions[column] == 0:
            self.directions[column] = np.sign(step)
        at = int(np.searchsorted(self._keys, key))
        new = at == len(self._keys) or bool(self._keys[at] != key)
        if new:
            self._keys = np.insert(self._keys, at, key)
            self._weights = np.insert(self._weights, at, 0.0)
            self._limits = np.insert(self._limits, at, 0)
        self._weights[at] += step
        self._limits[at] = self.limit(abs(float(self._weights[at])))
        # Bounds of all columns stay valid but for this cut's limit.
        if self._last is not None and not new and len(self._last[1].limits) == len(self._limits):
            self._last[1].limits[at] = self._limits[at]
        else:
            self._last = None

    def _weight(self, key: int) -> float:
        at = int(np.searchsorted(self._keys, key))
        known = at < len(self._keys) and self._keys[at] == key
        return float(self._weights[at]) if known else 0.0

    def _key(self, rule: Rule) -> int | None:
        """Return the number of a cut; None for rules without a direction."""
        if not isinstance(rule, Cut) or not 0 <= rule.column < self.table.n_columns:
            return None
        if rule.threshold == -np.inf:
            return None
        bins = self.table.bins[rule.column]
        assert isinstance(bins, Bins)
        side = rule.missing if bins.has_missing else 1
        return rule.column * self._span + bins.first(rule.threshold) * _SIDES + 1 - side
