"""What is measured on a classifier's validation rows, and how."""

from typing import Any

from edgewise.boosting import Metric, Monitor
from edgewise.data import BinnedTable, encode
from edgewise.dtypes import Reals
from edgewise.estimators.link import probabilities
from edgewise.estimators.rows import HeldOut
from edgewise.estimators.targets import Labels
from edgewise.metrics import ON_PROBABILITIES, ON_SCORES


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
    """
    if held_out is None:
        return None
    targets: Any = held_out.codes
    metric: Metric
    if callable(eval_metric):
        if not labels.multilabel:
            targets = labels.classes[targets]

        def metric(y: Any, scores: Reals) -> float:
            return eval_metric(y, scores[:, 0] if scores.shape[1] == 1 else scores)

    elif eval_metric in ON_SCORES:
        metric = ON_SCORES[eval_metric]
    else:

        def metric(y: Any, scores: Reals) -> float:
            given = probabilities(scores, offsets, labels.multilabel, link)
            return ON_PROBABILITIES[eval_metric](y, given)

    assert trained.aligned is not None
    filters = trained.aligned.filters
    binned = encode(held_out.table, trained.bins, training=False, filters=filters)
    return Monitor(binned, targets, metric, labels.n_scores)
