"""Learning curves of fitted models as numbers, for plots, report pages and notebooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.metrics.registry import metric_title

LOG_ROUNDS = 3000
"""With that many rounds, a linear axis would squeeze the first ones into its left edge."""

# Losses that span a larger ratio have a logarithmic axis, which spans at most the second.
_LINEAR_SPAN, _MAX_SPAN = 30.0, 1e6
_LOSSES = (
    "bound", "train_error", "hamming_loss", "ranking_loss", "train_rmse", "validation_rmse",
)  # fmt: skip
# Validation metrics on the scale of the training losses; others have a chart of their own.
_ERROR_RATES = ("error", "hamming_loss")


class LearningCurve(NamedTuple):
    """The values of one quantity after some rounds, on rows that have a name unless trained on."""

    quantity: str
    values: Reals
    rounds: NDArray[np.intp]
    rows: str = ""

    @property
    def name(self) -> str:
        """The quantity and its rows, such as "validation log loss"."""
        return f"{self.rows} {self.quantity}".strip()

    @property
    def is_bound(self) -> bool:
        """Whether this is the bound on the training loss, and not a loss."""
        return self.quantity == "bound"

    def after(self, n_rounds: int) -> float:
        """Return the value after some rounds."""
        return float(np.interp(n_rounds, self.rounds, self.values))

    def thin_out(self, max_points: int) -> "LearningCurve":
        """Return at most `max_points` evenly spaced points, with the first and the last."""
        indices = evenly_spaced(len(self.values), max_points)
        return self._replace(values=self.values[indices], rounds=self.rounds[indices])


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """The record of a training run.

    Attributes
    ----------
    losses : sequence of LearningCurve
        The bound and the losses, on training and validation rows, on one scale.
    metrics : mapping of str to sequence of LearningCurve
        The other validation metrics, by title: a curve for each set of rows.
    edges : sequence of LearningCurve
        The edge of each round, and the pseudo-weight sum w'_Sigma where it was recorded.
    n_rounds : int
        The number of rounds that were recorded.
    kept : int
        The number of rounds in the model if it has fewer than were recorded, else 0.
    best : tuple of str and int
        The title of the metric that decided on the number of rounds, and its best round.
    unit : str
        What a round is: "boosting round" or "epoch".
    """

    losses: Sequence[LearningCurve]
    metrics: Mapping[str, Sequence[LearningCurve]] = field(default_factory=dict)
    edges: Sequence[LearningCurve] = ()
    n_rounds: int = 0
    kept: int = 0
    best: tuple[str, int] = ("", 0)
    unit: str = "boosting round"


def learning_curves(model: Any) -> LearningCurves:
    """Return the learning curves of a classifier, a ranker or a recommender."""
    history: Any = getattr(model, "history_", None) or {}
    losses = [
        _curve(name.removeprefix("validation_"), history[name], name.startswith("v") * "validation")
        for name in _LOSSES
        if _is_recorded(history, name)
    ]
    if not hasattr(model, "evals_result_"):
        epochs = getattr(model, "loss_history_", ())
        if losses or len(epochs) < 2:
            return LearningCurves(losses)
        # The first loss is that before training.
        loss = LearningCurve("training loss", np.asarray(epochs), np.arange(len(epochs)))
        return LearningCurves([loss], unit="epoch")
    if len(losses) == 3 and np.allclose(losses[1].values, losses[2].values):
        del losses[2]  # with two classes the error is the Hamming loss
    metrics: dict[str, list[LearningCurve]] = {}
    best_round, evaluated = model.best_iteration_, _validation_curves(model)
    for metric, curve in evaluated:
        if metric in _ERROR_RATES:
            losses.append(curve)
        else:
            metrics.setdefault(curve.quantity, []).append(curve)
    if not model.evals_result_ and evaluated:
        best_round = model.fitted_.held_out.n_rounds
    edges = [
        _curve(name, history[name])
        for name in ("edge", "pseudo_weight")
        if _is_recorded(history, name)
    ]
    recorded = [history.n_rounds, *(int(curve.rounds[-1]) for _, curve in evaluated)]
    best = (metric_title(model.eval_metric_) if evaluated else "", best_round)
    kept = model.n_rounds_ if model.n_rounds_ < history.n_rounds else 0
    return LearningCurves(losses, metrics, edges, max(recorded), kept, best)


def _validation_curves(model: Any) -> list[tuple[str, LearningCurve]]:
    """Return the metrics of validation rows, or of those held out to choose the rounds."""
    curves = [
        (metric, _curve(metric, values, rows))
        for rows, metrics in model.evals_result_.items()
        for metric, values in metrics.items()
        if len(values)
    ]
    held_out = getattr(model.fitted_, "held_out", None)
    if not curves and held_out is not None and len(held_out.values) > 1:
        curve = _curve(model.eval_metric_, held_out.values, "held-out")
        return [(model.eval_metric_, curve._replace(rounds=held_out.stride * curve.rounds))]
    return curves


def _curve(name: str, values: Any, rows: str = "") -> LearningCurve:
    return LearningCurve(metric_title(name), np.asarray(values), np.arange(len(values)) + 1, rows)


def _is_recorded(history: Mapping[str, Reals], name: str) -> bool:
    return name in history and bool(np.isfinite(history[name]).mean() > 0.5)


def log_floor(curves: Sequence[LearningCurve]) -> float:
    """Return where a logarithmic axis of losses begins, or 0 if they suit a linear one.

    The bound keeps decreasing long after the losses stop: it does not count.
    """
    values = [curve.values for curve in curves if not curve.is_bound] or [c.values for c in curves]
    losses, every = np.concatenate(values), np.concatenate([curve.values for curve in curves])
    high = float(np.nanmax(every))
    low = max(float(losses[losses > 0].min(initial=high)), high / _MAX_SPAN)
    return low if 0 < low < high / _LINEAR_SPAN else 0.0


def evenly_spaced(n: int, max_count: int) -> NDArray[np.intp]:
    """Return at most `max_count` evenly spaced indices below `n`, with the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, max_count)).round().astype(np.intp))
