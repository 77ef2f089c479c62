"""Callbacks: objects that watch a training run, and can stop it."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from edgewise.boosting.history import History
from edgewise.common.checks import integer, not_negative, positive
from edgewise.common.files import PathLike, temporary_path
from edgewise.common.progress import close_bar, progress_bar

if TYPE_CHECKING:
    from tqdm.std import tqdm

# The quantities that a progress bar shows, where they are recorded.
_SHOWN = {
    "ranking_loss": "misordered {:.4f}",
    "train_error": "error {:.4f}",
    "bound": "bound {:.3g}",
    "validation": "validation {:.4f}",
    "roc_auc": "AUC {:.4f}",
    "balanced_accuracy": "balanced accuracy {:.4f}",
}


@dataclass
class TrainingRun:
    """A training run, as callbacks see it.

    Attributes
    ----------
    n_rounds : int
        The number of rounds to train.
    history : History
        All rounds so far, including the rounds of an earlier fit.
    save : callable
        ``save(path)`` writes the model of the rounds so far; once training has ended, the model
        that `fit` returns.
    validates, larger_is_better : bool
        Whether there are validation rows, and the direction of their metric.
    stop_reason : str
        Why training ended: "n_rounds", "no edge", "fitted" (no loss is left), "early stopping",
        "time limit", "interrupted", "failed" (something raised an error), or what a callback
        returned.
    best_round : int or None
        The number of rounds to keep, where early stopping chose it.
    finished : bool
        Whether training has ended.
    started : float
        The beginning of `fit`, on the clock of ``time.perf_counter``.
    stage : str
        The purpose of the run, where it does not train the model itself.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Callback, TrainingRun
    >>> class Tell(Callback):
    ...     def on_end(self, run: TrainingRun) -> None:
    ...         print(f"{run.history.n_rounds} of {run.n_rounds} rounds")
    >>> model = AdaBoostMH(n_rounds=3, callbacks=[Tell()]).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    3 of 3 rounds
    """

    n_rounds: int
    history: History
    save: Callable[[Any], None]
    validates: bool = False
    stop_reason: str = "n_rounds"
    best_round: int | None = None
    finished: bool = False
    started: float = field(default_factory=time.perf_counter)
    larger_is_better: bool = False
    stage: str = ""

    @property
    def seconds(self) -> float:
        """The time since training began."""
        return time.perf_counter() - self.started


class Callback:
    """Watches a training run; override the methods you need.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Callback
    >>> class StopWhenRight(Callback):
    ...     def on_round(self, run):
    ...         return "all right" if run.history.last("train_error") == 0 else None
    >>> model = AdaBoostMH(n_rounds=50, callbacks=[StopWhenRight()])
    >>> model.fit([[0.0], [1.0], [2.0]], [0, 1, 1]).stop_reason_
    'all right'
    """

    def on_start(self, run: TrainingRun) -> None:
        """Run before the first round."""

    def on_round(self, run: TrainingRun) -> str | None:
        """Run after every round; return a reason to end the training."""

    def on_end(self, run: TrainingRun) -> None:
        """Run after the last round, whatever ended the training, an error included."""


class StoppingRule(NamedTuple):
    """When a series of values has stopped improving.

    It has after `patience` values (None: never), or the fraction `patience_fraction` of the values
    so far, without an improvement of at least `min_delta` and of `min_delta_rel` times the value.
    Values that are worse than the best by at most the fraction `keep_within` of it, or of its
    distance from 1 where larger is better, are as good.
    """

    patience: int | None
    patience_fraction: float = 0.0
    min_delta_rel: float = 0.0
    min_delta: float = 0.0
    keep_within: float = 0.0


def metric_size(value: float, larger_is_better: bool) -> float:
    """Return the size that differences are relative to: the distance from the best possible.

    Examples
    --------
    >>> metric_size(0.25, larger_is_better=False), metric_size(0.75, larger_is_better=True)
    (0.25, 0.25)
    """
    return abs(1.0 - value) if larger_is_better else abs(value)


class BestRound:
    """The best of a series of values (`best`, from 1), and when to stop waiting for more."""

    def __init__(self, rule: StoppingRule, larger_is_better: bool = False) -> None:
        self.rule, self.larger_is_better = rule, larger_is_better
        self.n_rounds = self.best = self._last_improvement = 0
        self._lowest = self._to_beat = math.inf

    def update(self, value: float, noise: float = 0.0) -> bool:
        """Add the value of the next round; return whether to stop.

        If the rule keeps rounds that are as good, those worse than the best by no more than the
        `noise` are, too.
        """
        rule = self.rule
        self.n_rounds += 1
        loss = -value if self.larger_is_better else value
        if loss < self._lowest:
            self._lowest, self.best = loss, self.n_rounds
        else:
            best = -self._lowest if self.larger_is_better else self._lowest
            slack = rule.keep_within * metric_size(best, self.larger_is_better)
            slack = max(slack, noise) if rule.keep_within else 0.0
            if slack and loss - self._lowest <= slack:
                self.best = self.n_rounds
        if loss < self._to_beat:
            self._to_beat = loss - max(rule.min_delta_rel * abs(loss), rule.min_delta)
            self._last_improvement = self.n_rounds
        if rule.patience is None:
            return False
        waited = self.n_rounds - self._last_improvement
        return waited >= max(rule.patience, rule.patience_fraction * self._last_improvement)


class EarlyStopping(Callback):
    """Stop after `patience` rounds without an improvement of the validation metric.

    The model keeps the rounds up to the best one.

    Parameters
    ----------
    patience : int
        The number of rounds to wait for an improvement.
    patience_fraction : float, default 0.0
        Wait for at least this fraction of the rounds up to the last improvement.
    min_delta_rel : float, default 0.0
        The smallest improvement that counts, relative to the metric.
    min_delta : float, default 0.0
        The smallest improvement that counts.
    keep_within : float, default 0.0
        Keep the rounds up to the last whose metric is within this relative distance of the best;
        relative to 1 minus the best for metrics that are maximized.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, EarlyStopping
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = AdaBoostMH(n_rounds=100, callbacks=[EarlyStopping(5)])
    >>> model.fit(X, y, eval_set=(X, y)).stop_reason_
    'early stopping'
    """

    def __init__(
        self,
        patience: int,
        patience_fraction: float = 0.0,
        min_delta_rel: float = 0.0,
        min_delta: float = 0.0,
        keep_within: float = 0.0,
    ) -> None:
        self.patience = integer("patience", patience, 1)
        self.patience_fraction = not_negative("patience_fraction", patience_fraction)
        self.min_delta_rel = not_negative("min_delta_rel", min_delta_rel)
        self.min_delta = not_negative("min_delta", min_delta)
        self.keep_within = not_negative("keep_within", keep_within)

    def on_start(self, run: TrainingRun) -> None:
        if not run.validates:
            raise ValueError("EarlyStopping needs validation rows: validation_fraction or eval_set")
        rule = StoppingRule(
            self.patience,
            self.patience_fraction,
            self.min_delta_rel,
            self.min_delta,
            self.keep_within,
        )
        self._best_round = BestRound(rule, run.larger_is_better)
        for value in run.history["validation"].tolist():
            self._update(run, value)

    def on_round(self, run: TrainingRun) -> str | None:
        history = run.history
        noise = history.last("noise") if "noise" in history.fields else 0.0
        return "early stopping" if self._update(run, history.last("validation"), noise) else None

    def _update(self, run: TrainingRun, value: float, noise: float = 0.0) -> bool:
        stops = self._best_round.update(value, noise)
        if self._best_round.best == self._best_round.n_rounds:
            run.best_round = self._best_round.best
        return stops


class TimeLimit(Callback):
    """Stop after the round in which the time runs out.

    Parameters
    ----------
    seconds : float
        The limit, from the beginning of `fit`.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, TimeLimit
    >>> model = AdaBoostMH(n_rounds=1000, callbacks=[TimeLimit(1e-9)])
    >>> model.fit([[0.0], [1.0]], [0, 1]).stop_reason_
    'time limit'
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = positive("seconds", seconds)

    def on_round(self, run: TrainingRun) -> str | None:
        return "time limit" if run.seconds >= self.seconds else None


class Checkpoint(Callback):
    """Save the model every few rounds and at the end, so that a long run can be resumed.

    To resume: ``edgewise.load(path).set_params(warm_start=True).fit(X, y)``. A save that fails
    during training, on a full disk for example, is a warning, and the next one tries again. If the
    last one fails, `fit` raises its error, and the estimator keeps the trained model.

    Parameters
    ----------
    path : str or path-like
        The file; each save replaces the last.
    every : int, default 100
        The number of rounds between saves.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Checkpoint
    >>> model = AdaBoostMH(n_rounds=10_000, callbacks=[Checkpoint("model.edgewise", every=500)])
    """

    def __init__(self, path: PathLike, every: int = 100) -> None:
        self.path = Path(path)
        self.every = integer("every", every, 1)

    def on_start(self, run: TrainingRun) -> None:
        # Fail now rather than after the first hundred rounds.
        self.check(run.save)

    def check(self, save: Callable[[Any], None]) -> None:
        """Raise if the model cannot be saved where the file is to be."""
        with temporary_path(self.path) as beside:
            save(beside)

    def on_round(self, run: TrainingRun) -> str | None:
        if run.history.n_rounds % self.every == 0:
            try:
                run.save(self.path)
            except OSError as error:
                rounds = f"after {run.history.n_rounds} rounds"
                warnings.warn(f"no checkpoint {rounds}: {error}", RuntimeWarning, stacklevel=2)
        return None

    def on_end(self, run: TrainingRun) -> None:
        run.save(self.path)


class ProgressBar(Callback):
    """Show rounds, training error and its bound, speed and time left, in a bar of tqdm.

    For two classes, ROC AUC and balanced accuracy too: of the validation rows where there are any,
    else of the training rows. In a notebook the bar is a widget if ipywidgets is installed.

    Parameters
    ----------
    stream : text stream or None
        Where to write; None is standard error, if it is a terminal. A terminal shows one line that
        is kept up to date; other streams get a line every tenth of the way.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, ProgressBar
    >>> model = AdaBoostMH(n_rounds=1000, callbacks=[ProgressBar()])
    """

    _bar: "tqdm | None" = None

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def on_start(self, run: TrainingRun) -> None:
        n_rounds = run.history.n_rounds
        self._bar = progress_bar(run.n_rounds, "rounds", n_rounds, run.stage, self.stream)

    def on_round(self, run: TrainingRun) -> str | None:
        if self._bar is not None and not self._bar.disable:
            self._bar.set_postfix_str(_format_metrics(run), refresh=False)
            self._bar.update(run.history.n_rounds - self._bar.n)
        return None

    def on_end(self, run: TrainingRun) -> None:
        # An interrupt may come before the bar does.
        if self._bar is not None:
            close_bar(self._bar)
            self._bar = None

    def __getstate__(self) -> dict[str, Any]:
        # A bar can be neither copied nor pickled.
        return {"stream": self.stream}


def _format_metrics(run: TrainingRun) -> str:
    """Return the losses and metrics of the last round as text."""
    recorded = {name: run.history.last(name) for name in _SHOWN if name in run.history.fields}
    return ", ".join(
        _SHOWN[name].format(value) for name, value in recorded.items() if not math.isnan(value)
    )


def check_callbacks(callbacks: Any) -> Sequence[Callback]:
    """Return the callbacks as a list, or raise if one is not a Callback."""
    if callbacks is None:
        return []
    callbacks = list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise TypeError(
                "callbacks must be objects of edgewise.Callback, whose on_round(run) sees every "
                f"round, got {callback!r}"
            )
    return callbacks
