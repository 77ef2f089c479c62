"""Scores of validation rows, updated round by round."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Signs
from edgewise.data import BinnedTable

Metric = Callable[[Any, Reals], float]
"""A function of true targets and scores of shape (n, K)."""


class Monitor:
    """The scores of validation rows, shape (K, n); `positive` marks the second of two classes."""

    def __init__(
        self,
        binned: BinnedTable,
        y: Any,
        metric: Metric,
        n_scores: int,
        larger_is_better: bool = False,
        positive: NDArray[np.bool_] | None = None,
    ) -> None:
        self.binned = binned
        self.larger_is_better = larger_is_better
        self.positive = positive
        self._y = y
        self._metric = metric
        self.scores = np.zeros((n_scores, binned.n_rows))

    def advance(self, outputs: Signs | Reals, moves: Reals) -> None:
        """Move the scores by one term."""
        self.scores += outputs * moves[:, None]

    def value(self) -> float:
        """Return the metric of the scores so far."""
        value = float(self._metric(self._y, self.scores.T))
        if math.isnan(value):
            # No round would be the best.
            raise ValueError("eval_metric gave NaN on the validation rows")
        return value
