"""What is measured on a classifier's validation rows, and how."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import Metric, Monitor
from edgewise.common.dtypes import Reals
from edgewise.data import BinnedTable, encode
from edgewise.estimators.link import probabilities
from edgewise.estimators.rows import HeldOut
from edgewise.estimators.targets import Labels
from edgewise.metrics.registry import CLASSIFICATION_METRICS, larger_is_better


def make_monitor(
    held_out: HeldOut | None,
    trained: BinnedTable,
    labels: Labels,
    offsets: Reals,
    link: float,
    eval_metric: Any,
) -> Monitor | None:
    """Return the monitor of the validation rows, or None without any.

    A function as `eval_metric` gets the targets as the user gave them, and the scores as
    ``decision_function`` returns them.

    Raises
    ------
    ValueError
        If `eval_metric` is not defined on these rows.
    """
    if held_out is None:
        return None
    if isinstance(eval_metric, str) and eval_metric == "roc_auc":
        _check_pairs(held_out.codes, labels)
    targets: Any = held_out.codes
    if callable(eval_metric) and not labels.multilabel:
        targets = labels.classes[targets]
    metric = _metric(eval_metric, labels, offsets, link)
    binary = labels.n_scores == 1 and not labels.multilabel
    positive = held_out.codes == 1 if binary else None
    assert trained.aligned is not None
    filters = trained.aligned.filters
    binned = encode(held_out.table, trained.bins, training=False, filters=filters)
    larger = larger_is_better(eval_metric)
    return Monitor(binned, targets, metric, labels.n_scores, larger, positive)


def _metric(eval_metric: Any, labels: Labels, offsets: Reals, link: float) -> Metric:
    """Return the metric as a function of the targets and the scores of shape (n, K)."""
    if callable(eval_metric):
        return lambda y, scores: eval_metric(y, scores[:, 0] if scores.shape[1] == 1 else scores)
    # Rows of one class among several are compared by its probability; a score of its own ranks
    # rows as its probability does, and never saturates.
    named = CLASSIFICATION_METRICS[eval_metric]
    compared = labels.n_scores > 1 and not labels.multilabel and named.takes == "either"
    if named.takes != "probabilities" and not compared:
        return named.function

    def metric(y: Any, scores: Reals) -> float:
        given = probabilities(scores, offsets, labels.multilabel, link)
        return named.function(y, given)

    return metric


def _check_pairs(codes: NDArray[np.int64], labels: Labels) -> None:
    """Raise unless the rows have every class, or every label both with and without it."""
    if labels.multilabel:
        counts = (codes > 0).sum(axis=0)
        lacking = (counts == 0) | (counts == len(codes))
        wanted = "rows with and rows without each label"
    else:
        lacking = np.bincount(codes, minlength=len(labels.classes)) == 0
        wanted = "rows of every class"
    if lacking.any():
        names = ", ".join(repr(name) for name in labels.classes[lacking].tolist())
        raise ValueError(
            f"eval_metric='roc_auc' needs {wanted} to validate on; they lack some for {names}"
        )
