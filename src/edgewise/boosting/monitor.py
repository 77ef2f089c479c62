"""Scores of validation rows, and metrics of two classes, updated round by round."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import fixed
from edgewise.backend.base import Backend
from edgewise.common.dtypes import Reals, Signs
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition
from edgewise.metrics import roc_auc
from edgewise.model import Rule
from edgewise.objective import Objective

# Sorting this many training rows takes less than a millisecond; with weights, four times as long.
_MOST_SORTED = 1 << 16
_MOST_WEIGHTED = _MOST_SORTED // 4

Metric = Callable[[Reals], float]
"""A function of the scores of validation rows, of shape (n, K)."""


class Monitor:
    """The scores of validation rows, shape (K, n), and metrics of them, of which the first decides.

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
        self._whole: Reals | None = None  # the scores of all rows, until they move
        self.measured: Callable[[], float] | None = None  # gives the value in place of the first

    def follow(self, rule: Rule, moves: Reals) -> None:
        """Move the scores by a new term."""
        if self.backend is None:
            outputs = rule.outputs(self.binned)
        else:
            outputs = self.backend.outputs_on(self.binned, rule)
        self.advance(outputs, moves)

    def advance(self, outputs: Signs | Reals, moves: Reals) -> None:
        """Move the scores by one term."""
        self.scores += outputs * moves[:, None]
        self._whole = None

    def all_scores(self) -> Reals:
        """Return the scores of all rows, those at other processes too, of shape (n, K)."""
        partition = self.binned.partition
        if partition.is_whole:
            return self.scores.T
        if self._whole is None:
            self._whole = partition.allgather_rows(np.ascontiguousarray(self.scores.T))
        return self._whole

    def value(self) -> float:
        """Return the first metric itself, not what is `measured` instead: that may call this."""
        return self._value(next(iter(self._metrics)), decides=False)

    def values(self) -> dict[str, float]:
        """Return all metrics of the scores so far, the first of them first."""
        return {name: self._value(name, t == 0) for t, name in enumerate(self._metrics)}

    def _value(self, name: str, decides: bool) -> float:
        if decides and self.measured is not None:
            return self.measured()
        given = self._metrics[name](self.all_scores())
        try:
            value = float(given)
        except (TypeError, ValueError) as error:
            raise TypeError(f"eval_metric {name} must return a number, got {given!r}") from error
        if math.isnan(value):
            # No round would be the best.
            raise ValueError(f"eval_metric gave NaN on the validation rows: {name}")
        return value


def binary_measures(
    objective: Objective, monitor: Monitor | None, partition: Partition | None = None
) -> Callable[[], dict[str, float]]:
    """Return a function that gives `roc_auc` and `balanced_accuracy` of the current scores.

    They are of the validation rows where there are any, else of the training rows, which the
    `partition` may share with other processes. The area is left out where it would take long, and
    both where the rows are not of two classes.
    """
    training = objective.training_scores()
    if training is None or len(training[1].labels) != 1:
        return dict
    if monitor is not None:
        positive = monitor.positive
        if positive is None:
            return dict
        return _measured(
            lambda: monitor.all_scores()[:, 0], positive, None, Partition(len(positive))
        )
    targets = training[1]
    positive, mass = targets.labels[0] > 0, fixed(targets.row_weights)
    partition = partition or Partition(len(mass))
    # Weights that are equal within each class cancel out of both measures.
    alike = [_are_alike(mass[chosen], partition) for chosen in (positive, ~positive)]
    return _measured(
        lambda: objective.training_scores()[0][0],  # type: ignore[index]
        positive,
        None if all(alike) else mass,
        partition,
        training=True,
    )


def _are_alike(mass: NDArray[np.int64], partition: Partition) -> bool:
    """Return whether all are the same."""
    least, most = int(mass.min(initial=2**62)), int(mass.max(initial=0))
    return bool(partition.min(least) >= partition.max(most))


def _measured(
    current: Callable[[], Reals],
    positive: NDArray[np.bool_],
    mass: NDArray[np.int64] | None,
    partition: Partition,
    training: bool = False,
) -> Callable[[], dict[str, float]]:
    """Return a function that measures the current scores."""
    negative = ~positive
    most = _MOST_SORTED if mass is None else _MOST_WEIGHTED
    sorts = not (training and partition.n_rows > most)
    totals = partition.sum(_totals((positive, negative), mass))
    if not totals.all():
        return dict
    if sorts:
        every = (
            partition.allgather_rows(positive),
            None if mass is None else partition.allgather_rows(mass),
        )

    def measure() -> dict[str, float]:
        scores = current()
        above = scores > 0
        found, mistaken = (
            partition.sum(_totals((above & positive, above & negative), mass)) / totals
        )
        values = {"balanced_accuracy": (found + (1.0 - mistaken)) / 2}
        if sorts:
            values["roc_auc"] = roc_auc(every[0], partition.allgather_rows(scores), every[1])
        return values

    return measure


def _totals(
    chosen: Sequence[NDArray[np.bool_]], mass: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Return the numbers of rows chosen, or their mass: integers, whatever the order of rows."""
    if mass is None:
        return np.array([np.count_nonzero(rows) for rows in chosen])
    return np.array([mass[rows].sum() for rows in chosen])
