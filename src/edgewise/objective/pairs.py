"""Feedback as a list of weighted pairs, of any kind: O(pairs) a round (Iyer 1999 section 4.2.1)."""

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, exact_sum, exp
from edgewise.common.dtypes import Exacts, Reals, Rows
from edgewise.objective.feedback import SIDE_SCALE, Feedback, Moments, Sides, Weighed


class PairList(Feedback):
    """Pairs of rows with positive weights.

    Parameters
    ----------
    rows : int32 array of shape (m,)
        The table rows that occur in pairs.
    worse, better : intp arrays of shape (p,)
        The pairs (x0, x1), by their places in `rows`: x1 is to be ranked above x0.
    weights : float64 array of shape (p,)
        D(x0, x1), positive; they need not sum to 1.
    """

    def __init__(
        self, rows: Rows, worse: NDArray[np.intp], better: NDArray[np.intp], weights: Reals
    ) -> None:
        self.rows = rows
        self.worse, self.better = worse, better
        self.weights = weights / exact_sum(weights)

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.worse)

    def weigh(self, scores: Reals) -> Weighed:
        """Return the energy and the potentials at given scores."""
        grown = self.grown(scores)
        energy = exact_sum(grown)
        potentials = np.zeros(self.n_rows, dtype=np.int64)
        if energy > 0:
            shares = np.rint(grown * (0.5 * EXACT_SCALE / energy)).astype(np.int64)
            np.add.at(potentials, self.better, shares)
            np.subtract.at(potentials, self.worse, shares)
        return Weighed(energy, potentials.astype(np.float64) * (energy / EXACT_SCALE))

    def grown(self, scores: Reals) -> Reals:
        """Return D(x0, x1) exp(H(x0) - H(x1)) of each pair."""
        return self.weights * exp(scores[self.worse] - scores[self.better])

    def moments(self, scores: Reals, outputs: Reals, step: float) -> Moments:
        """Return the energy after a step along real-valued outputs, and its derivatives."""
        apart = outputs[self.worse] - outputs[self.better]
        grown = self.grown(scores + step * outputs)
        slopes = grown * apart
        slope = exact_sum(np.maximum(slopes, 0.0)) - exact_sum(np.maximum(-slopes, 0.0))
        return Moments(exact_sum(grown), slope, exact_sum(grown * apart**2))

    def sides(self, scores: Reals, high: NDArray[np.bool_]) -> tuple[float, float]:
        """Return W- and W+."""
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
        """Return W- and W+ of every cut: a pair counts from its lower code on up to its higher."""
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
        """Return the ranking loss."""
        worse, better = scores[self.worse], scores[self.better]
        shares = 0.5 * (worse >= better) + 0.5 * (worse > better)
        return exact_sum(self.weights * shares)

    def span(self, scores: Reals) -> float:
        """Return how far apart the scores of a pair are at most."""
        return float(np.abs(scores[self.worse] - scores[self.better]).max())

    def some(self, share: float, rng: np.random.Generator) -> Rows:
        """Return a random share of the rows, ascending."""
        size = max(2, round(share * self.n_rows))
        return np.sort(rng.choice(self.rows, min(size, self.n_rows), replace=False))
