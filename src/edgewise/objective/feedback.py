"""Feedback: which instances should be ranked above which (Iyer 1999 section 4.1).

A pair (x0, x1) with x1 to be ranked above x0 has the weight D(x0, x1) exp(H(x0) - H(x1)). Boosting
needs sums over all pairs, and every feedback provides the same ones. Rows are numbered in the
feedback's own order; `rows` maps them to the table.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, exact_sum, exp
from edgewise.backend.base import PairSums
from edgewise.common.dtypes import Exacts, Reals, Rows


class PairWeights(NamedTuple):
    """The weights of all pairs at given scores."""

    # The sum over pairs of D(x0, x1) exp(H(x0) - H(x1)): the product of all Z so far, and so the
    # bound of theorem 1.
    energy: float
    # (m,), half of pi(x) of Iyer 1999 eq. 4.10: the weight of the pairs in which x is better, minus
    # the weight of those in which it is worse, over two.
    potentials: Reals


class Moments(NamedTuple):
    """The energy after a step of size c along h, and its derivatives by c."""

    energy: float
    slope: float
    curvature: float


class Lines(NamedTuple):
    """The outputs of several rules, from the middle of each query, and their squares: (m, R)."""

    values: Reals
    squares: Reals


# A step is accurate enough if the next would change it by less than this, or this share of it.
_ACCURACY = 1e-10
_MOST_STEPS = 200

SIDE_SCALE = 2.0**50
"""One unit of weight in the sums of pairs on either side of cuts."""


class Sides(NamedTuple):
    """W- and W+ of every cut of a column, in fixed point: int64 arrays of shape (values,).

    At index b, rows with a code of at least b are high. `right` weighs the pairs with only the
    better row high, `wrong` the pairs with only the worse row high.
    """

    right: Exacts
    wrong: Exacts


class Feedback(ABC):
    """Weighted pairs of rows."""

    rows: Rows

    @property
    def n_rows(self) -> int:
        """The number of rows that pairs may use."""
        return len(self.rows)

    def use(self, pairs: PairSums) -> None:
        """Sum over pairs with a backend's sums from now on, where they are needed."""
        return

    @abstractmethod
    def weigh(self, scores: Reals) -> PairWeights:
        """Return the energy and the potentials at given scores."""

    @abstractmethod
    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        """Return the energy after a step along real-valued outputs, and its derivatives."""

    def lines(self, outputs: Sequence[Reals]) -> Lines | None:
        """Return what `curvatures` needs of the outputs of rules; None if there is no such way."""
        return None

    def curvatures(self, scores: Reals, lines: Lines) -> Reals | None:
        """Return the curvatures of `moments` along several rules at once, by plain sums."""
        return None

    @abstractmethod
    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        """Return W- and W+ of Iyer 1999 section 4.2.2, not divided by the energy.

        W- is the weight of the pairs with only the better row in `high`, W+ with only the worse.
        """

    @abstractmethod
    def integers(self, scores: Reals, rows: Rows | None = None) -> Any:
        """Return the weights for `cut_sides`; with `rows`, of pairs within these rows only."""

    @abstractmethod
    def cut_sides(self, weights: Any, codes: Exacts, n_values: int) -> Sides:
        """Return W- and W+ of every cut of a column, given the rows' codes.

        A code of -1 is below every cut, a code of `n_values` above.
        """

    @abstractmethod
    def misordered(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        """Return the ranking loss (Iyer 1999 eq. 5.1); a tie counts one half.

        `moved` marks the rows that the last step moved, all by the same amount: within the moved
        rows and within the others the order is still valid, so nothing needs sorting again.
        """

    @abstractmethod
    def span(self, scores: Reals) -> float:
        """Return the largest difference between scores that are compared."""

    def some(self, share: float, rng: np.random.Generator) -> Rows:
        """Return a random share of the rows, or the rows of a share of the queries, ascending."""
        size = max(2, round(share * self.n_rows))
        return np.sort(rng.choice(self.rows, min(size, self.n_rows), replace=False))


class PairList(Feedback):
    """Any list of weighted pairs: O(pairs) a round (Iyer 1999 section 4.2.1).

    The pairs (x0, x1) are indices into `rows`, the table rows that occur in them: `better` has x1,
    to be ranked above x0 in `worse`. `weights` are D(x0, x1), positive; they need not sum to 1.
    """

    def __init__(
        self, rows: Rows, worse: NDArray[np.intp], better: NDArray[np.intp], weights: Reals
    ) -> None:
        self.rows = rows
        self.worse, self.better = worse, better
        self.weights = weights / exact_sum(weights)

    def weigh(self, scores: Reals) -> PairWeights:
        grown = self.grown(scores)
        energy = exact_sum(grown)
        potentials = np.zeros(self.n_rows, dtype=np.int64)
        if energy > 0:
            shares = np.rint(grown * (0.5 * EXACT_SCALE / energy)).astype(np.int64)
            np.add.at(potentials, self.better, shares)
            np.subtract.at(potentials, self.worse, shares)
        return PairWeights(energy, potentials.astype(np.float64) * (energy / EXACT_SCALE))

    def grown(self, scores: Reals) -> Reals:
        """Return D(x0, x1) exp(H(x0) - H(x1)) of each pair."""
        return self.weights * exp(scores[self.worse] - scores[self.better])

    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        apart = outputs[self.worse] - outputs[self.better]
        grown = self.grown(scores + step * outputs)
        slopes = grown * apart
        slope = exact_sum(np.maximum(slopes, 0.0)) - exact_sum(np.maximum(-slopes, 0.0))
        return Moments(exact_sum(grown), slope, exact_sum(grown * apart**2))

    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        grown = self.grown(scores)
        low_better = high[self.better] & ~high[self.worse]
        high_worse = high[self.worse] & ~high[self.better]
        return exact_sum(grown * low_better), exact_sum(grown * high_worse)

    def integers(self, scores: Reals, rows: Rows | None = None) -> Exacts:
        """Return each pair's share of the weight as an integer."""
        grown = self.grown(scores)
        if rows is not None:
            inside = np.isin(self.rows, rows)
            grown = grown * (inside[self.worse] & inside[self.better])
        energy = exact_sum(grown)
        return np.rint(grown * (SIDE_SCALE / energy if energy > 0 else 0.0)).astype(np.int64)

    def cut_sides(self, weights: Exacts, codes: Exacts, n_values: int) -> Sides:
        """Return W- and W+: a pair counts in the cuts between its two codes."""
        worse, better = codes[self.worse], codes[self.better]
        found = []
        for low, high in ((worse, better), (better, worse)):
            apart = np.flatnonzero(low < high)
            jumps = np.zeros(n_values + 2, dtype=np.int64)
            np.add.at(jumps, low[apart] + 1, weights[apart])
            np.subtract.at(jumps, high[apart] + 1, weights[apart])
            found.append(np.cumsum(jumps)[:n_values])
        return Sides(*found)

    def misordered(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        worse, better = scores[self.worse], scores[self.better]
        shares = 0.5 * (worse >= better) + 0.5 * (worse > better)
        return exact_sum(self.weights * shares)

    def span(self, scores: Reals) -> float:
        return float(np.abs(scores[self.worse] - scores[self.better]).max())


def best_step(moments: Callable[[float], Moments], largest: float) -> float:
    """Return the c in [-largest, largest] that minimizes the energy Z(c) (Iyer 1999, first method).

    `moments` returns Z, Z' and Z'' at c. Z is a sum of terms a exp(c d) with a > 0, hence convex,
    and strictly convex unless it is constant (then 0 is returned). A Newton step is accepted if it
    stays inside the bracket and the last step halved the bracket or |Z'|; otherwise the bracket is
    halved.

    The iteration converges: the bracket always holds the minimum and never grows. Infinitely many
    bisections shrink it to a point; with finitely many, every later step halves the bracket or
    |Z'|, and Z' -> 0 on a compact interval forces c to its only zero. Near the minimum Newton's
    steps converge quadratically and are accepted.

    Examples
    --------
    >>> import math
    >>> def moments(c):  # W- = 0.6, W+ = 0.2
    ...     down, up = 0.6 * math.exp(-c), 0.2 * math.exp(c)
    ...     return Moments(0.2 + down + up, up - down, up + down)
    >>> round(best_step(moments, 10.0), 6) == round(0.5 * math.log(0.6 / 0.2), 6)
    True
    """
    low, high = -largest, largest
    c, last_slope, last_width = 0.0, math.inf, math.inf
    for _ in range(_MOST_STEPS):
        _, slope, curvature = moments(c)
        if slope == 0.0:
            return c
        low, high = (c, high) if slope < 0 else (low, c)
        width = high - low
        step = c - slope / curvature if curvature > 0 else math.nan
        halved = width <= 0.5 * last_width or abs(slope) <= 0.5 * last_slope
        if not (low < step < high and halved):
            step = 0.5 * (low + high)
        last_slope, last_width = abs(slope), width
        if abs(step - c) <= _ACCURACY * max(1.0, abs(c)) or width <= _ACCURACY * largest:
            return step
        c = step
    return c
