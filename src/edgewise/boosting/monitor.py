"""Scores and metrics of validation rows, round by round."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import to_fixed_point
from edgewise.backend.base import Backend
from edgewise.common.dtypes import Reals, Signs
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition
from edgewise.metrics import roc_auc
from edgewise.model import Rule
from edgewise.objective import Objective

# Sorting this many training rows takes a tenth of the time per round, and four times as long with
# weights.
_MAX_SORTED_ROWS = 1 << 12
_MAX_WEIGHTED_ROWS = _MAX_SORTED_ROWS // 4

Metric = Callable[[Reals], float]
"""A function of the scores of validation rows, of shape (n, K)."""


class Monitor:
    """The scores of a validation set, shape (K, n), and its metrics; the first decides.

    `positive` marks the second of two classes.
    """

    def __init__(
        self,
        binned: BinnedTable,
        metrics: Mapping[str, Metric],
        n_scores: int,
        larger_is_better: bool = False,
        positive: NDArray[np.bool_] | None = None,
    ) -> None:
        self.binned = binned
        self.larger_is_better = larger_is_better
        self.positive = positive
        self._metrics = dict(metrics)
        self.scores = np.zeros((n_scores, binned.n_rows))
        self.backend: Backend | None = None  # of the training rows
        self._all_scores: Reals | None = None  # of all processes, until the scores change

    def follow(self, rule: Rule, moves: Reals) -> None:
        """Update the scores by a new term."""
        if self.backend is None:
            outputs = rule.outputs(self.binned)
        else:
            outputs = self.backend.outputs_on(self.binned, rule)
        self.advance(outputs, moves)

    def advance(self, outputs: Signs | Reals, moves: Reals) -> None:
        """Add the outputs of a term to the scores."""
        self.scores += outputs * moves[:, None]
        self._all_scores = None

    def set_scores(self, scores: Reals) -> None:
        """Replace the scores of the rows here, of shape (K, n)."""
        self.scores, self._all_scores = scores, None

    def all_scores(self) -> Reals:
        """Return the scores of all rows, including other processes', of shape (n, K)."""
        partition = self.binned.partition
        if partition.is_whole:
            return self.scores.T
        if self._all_scores is None:
            rows = partition.allgather_rows(np.ascontiguousarray(self.scores.T))
            # In the memory order of a single process: sums over columns round by it.
            self._all_scores = np.asfortranarray(rows)
        return self._all_scores

    def value(self) -> float:
        """Return the first metric."""
        return self._value(next(iter(self._metrics)))

    def values(self) -> dict[str, float]:
        """Return all metrics, the first of them first."""
        return {name: self._value(name) for name in self._metrics}

    def _value(self, name: str) -> float:
        result = self._metrics[name](self.all_scores())
        try:
            value = float(result)
        except (TypeError, ValueError) as error:
            raise TypeError(f"eval_metric {name} must return a number, got {result!r}") from error
        if math.isnan(value):
            # No round would be the best.
            raise ValueError(f"eval_metric {name} is NaN on the validation rows")
        return value


class MeanMonitor(Monitor):
    """Validation rows that are scored by the mean of several models, each with its own monitor."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        first = monitors[0]
        n_scores, larger = len(first.scores), first.larger_is_better
        super().__init__(first.binned, first._metrics, n_scores, larger, first.positive)
        self._monitors = monitors

    def all_scores(self) -> Reals:
        """Return the mean scores of all rows, including other processes', of shape (n, K)."""
        total = self._monitors[0].all_scores()
        for monitor in self._monitors[1:]:
            total = total + monitor.all_scores()
        return total / len(self._monitors)


def mean_monitors(bags: Sequence[Mapping[str, Monitor]]) -> dict[str, Monitor]:
    """Return the monitors of the mean of several models, by name, given each model's."""
    if len(bags) == 1:
        return dict(bags[0])
    return {name: MeanMonitor([monitors[name] for monitors in bags]) for name in bags[0]}


def binary_measures(
    objective: Objective, monitor: Monitor | None, partition: Partition
) -> Callable[[], dict[str, float]]:
    """Return a function that measures `roc_auc` and `balanced_accuracy` of the current scores.

    Both are for two classes, and measure the validation rows, if there are any. Else `roc_auc`
    measures the training rows if there are few; the objective knows their balanced accuracy.
    """
    training = objective.training_scores()
    if training is None or len(training[1].labels) != 1:
        return dict
    if monitor is not None:
        return _validation_measures(monitor)
    targets = training[1]
    positive, mass = targets.labels[0] > 0, to_fixed_point(targets.row_weights)
    # Weights that are equal within each class cancel out.
    equal = all(_are_equal(mass[rows], partition) for rows in (positive, ~positive))
    if partition.n_rows > (_MAX_SORTED_ROWS if equal else _MAX_WEIGHTED_ROWS):
        return dict
    all_positive = partition.allgather_rows(positive)
    all_mass = None if equal else partition.allgather_rows(mass)
    if all_positive.all() or not all_positive.any():
        return dict

    def measure() -> dict[str, float]:
        scores = partition.allgather_rows(objective.training_scores()[0][0])  # type: ignore[index]
        return {"roc_auc": roc_auc(all_positive, scores, all_mass)}

    return measure


def _validation_measures(monitor: Monitor) -> Callable[[], dict[str, float]]:
    """Return the function for validation rows, which count equally."""
    positive = monitor.positive
    if positive is None or positive.all() or not positive.any():
        return lambda: {"balanced_accuracy": math.nan}

    def measure() -> dict[str, float]:
        scores = monitor.all_scores()[:, 0]
        above = scores > 0
        accuracy = (above[positive].mean() + (1.0 - above[~positive].mean())) / 2
        return {"roc_auc": roc_auc(positive, scores), "balanced_accuracy": float(accuracy)}

    return measure


def _are_equal(mass: NDArray[np.int64], partition: Partition) -> bool:
    """Return whether all numbers are the same, at all processes."""
    lowest, highest = int(mass.min(initial=2**62)), int(mass.max(initial=0))
    return bool(partition.min(lowest) >= partition.max(highest))
