"""Feedback: which instances should be ranked above which (Iyer 1999 section 4.1).

A pair (x0, x1) with x1 to be ranked above x0 has the weight D(x0, x1) exp(H(x0) - H(x1)). What
boosting needs of all pairs is sums over them, and every feedback gives the same ones. Rows are
numbered within the feedback, in its own order; `rows` says which rows of the table they are.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Exacts, Reals, Rows


class Weighed(NamedTuple):
    """The weights of all pairs at given scores.

    Attributes
    ----------
    energy : float
        The sum over pairs of D(x0, x1) exp(H(x0) - H(x1)), 1 where all scores are 0: the product of
        all Z so far, and so the bound of theorem 1.
    potentials : float64 array of shape (m,)
        Half of pi(x) of Iyer 1999 eq. 4.10: what the pairs with x as the better one weigh less what
        those with x as the worse one weigh, over two. Their sizes sum to at most the energy.
    """

    energy: float
    potentials: Reals


class Moments(NamedTuple):
    """The energy after a step of size c along h, and its derivatives by c."""

    energy: float
    slope: float
    curvature: float


SIDE_SCALE = 2.0**50
"""One unit of weight in the sums of pairs on either side of cuts."""


class Sides(NamedTuple):
    """W- and W+ of every cut of a column, in fixed point: int64 arrays of shape (values,).

    At place b the rows with a code of at least b are on the high side. `right` is the weight of the
    pairs whose better row alone is there, `wrong` of those whose worse row alone is.
    """

    right: Exacts
    wrong: Exacts


class Feedback(ABC):
    """Weighted pairs of rows."""

    rows: Rows

    @property
    def n_rows(self) -> int:
        """The number of rows that are in any pair, or could be."""
        return len(self.rows)

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """The number of pairs."""

    @abstractmethod
    def weigh(self, scores: Reals) -> Weighed:
        """Return the energy and the potentials at given scores."""

    @abstractmethod
    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        """Return the energy after a step along real-valued outputs, and its derivatives."""

    @abstractmethod
    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        """Return W- and W+ of Iyer 1999 section 4.2.2, not divided by the energy.

        W- is the weight of the pairs whose better row alone is in `high`, W+ of those whose worse
        row alone is.
        """

    @abstractmethod
    def integers(self, scores: Reals, rows: Rows | None = None) -> Any:
        """Return the weights at given scores as `cut_sides` takes them.

        With `rows` only pairs of these table rows count.
        """

    @abstractmethod
    def cut_sides(self, weights: Any, codes: Exacts, n_values: int) -> Sides:
        """Return W- and W+ of every cut of a column, given the rows' codes.

        A code of -1 is below every cut, a code of `n_values` above.
        """

    @abstractmethod
    def misordered(self, scores: Reals, moved: NDArray[np.bool_] | None = None) -> float:
        """Return the ranking loss (Iyer 1999 eq. 5.1): misordered pairs, those of equal score half.

        `moved` says which rows the last step moved, all by the same: the others and they are in
        order by themselves then, and need no sorting.
        """

    @abstractmethod
    def span(self, scores: Reals) -> float:
        """Return how far apart scores are that are compared."""

    @abstractmethod
    def some(self, share: float, rng: np.random.Generator) -> Rows:
        """Return the rows, ascending, of a random share of the queries, or of the rows."""
