"""Callbacks: objects that watch a training run, and can stop it."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from edgewise.boosting.history import History
from edgewise.common.checks import integer, not_negative, positive
from edgewise.common.files import PathLike, temporary_path
from edgewise.common.progress import close_bar, progress_bar

if TYPE_CHECKING:
    from tqdm.std import tqdm

# The quantities of a round that a progress bar shows, where they were recorded.
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
    """A training run as callbacks see it.

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
        What the run is for, where it does not train the model itself.

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
        """Run after the last round, whatever ended the training."""


class BestRound:
    """The best of a series of values (`best`, from 1), and when to stop waiting for more.

    `patience` is the number of values to wait for one that is better than the last such value by
    `least` and by the share `tolerance` of it; it grows to the `share` of the values so far. Values
    that are worse than the best by at most the share `slack` are as good.
    """

    def __init__(
        self,
        patience: int | None,
        larger_is_better: bool = False,
        share: float = 0.0,
        tolerance: float = 0.0,
        least: float = 0.0,
        slack: float = 0.0,
    ) -> None:
        self.patience, self.larger_is_better = patience, larger_is_better
        self.share, self.tolerance, self.least, self.slack = share, tolerance, least, slack
        self.n_rounds = self.best = self._last = 0
        self._least = self._to_beat = math.inf

    def update(self, value: float) -> bool:
        """Note the value of the next round; return whether to stop."""
        self.n_rounds += 1
        loss = -value if self.larger_is_better else value
        if loss < self._least:
            self._least, self.best = loss, self.n_rounds
        elif self.slack and loss - self._least <= self.slack * abs(self._least):
            self.best = self.n_rounds
        if loss < self._to_beat:
            self._to_beat = loss - max(self.tolerance * abs(loss), self.least)
            self._last = self.n_rounds
        if self.patience is None:
            return False
        return self.n_rounds - self._last >= max(self.patience, self.share * self._last)


class EarlyStopping(Callback):
    """Stop after `rounds` rounds without improvement of the validation metric.

    The model keeps the rounds up to the best one.

    Parameters
    ----------
    rounds : int
        The number of rounds to wait for an improvement.
    share : float, default 0.0
        Wait for at least this share of the rounds up to the last improvement.
    tolerance : float, default 0.0
        The least improvement that counts, as a share of the metric.
    least : float, default 0.0
        The least improvement that counts.
    slack : float, default 0.0
        Keep the rounds up to the last whose metric is worse than the best by at most this share.
        Of metrics for which larger is better, the best round is kept.

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
        rounds: int,
        share: float = 0.0,
        tolerance: float = 0.0,
        least: float = 0.0,
        slack: float = 0.0,
    ) -> None:
        self.rounds = integer("rounds", rounds, 1)
        self.share = not_negative("share", share)
        self.tolerance = not_negative("tolerance", tolerance)
        self.least = not_negative("least", least)
        self.slack = not_negative("slack", slack)

    def on_start(self, run: TrainingRun) -> None:
        if not run.validates:
            raise ValueError("EarlyStopping needs validation rows: validation_fraction or eval_set")
        slack = 0.0 if run.larger_is_better else self.slack
        least = (self.share, self.tolerance, self.least, slack)
        self._watch = BestRound(self.rounds, run.larger_is_better, *least)
        for value in run.history["validation"].tolist():
            self._note(run, value)

    def on_round(self, run: TrainingRun) -> str | None:
        return "early stopping" if self._note(run, run.history.last("validation")) else None

    def _note(self, run: TrainingRun, value: float) -> bool:
        stops = self._watch.update(value)
        if self._watch.best == self._watch.n_rounds:
            run.best_round = self._watch.best
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

    To resume: ``edgewise.load(path).set_params(warm_start=True).fit(X, y)``. A save that fails on
    the way, on a full disk for example, is a warning, and the next one tries again. If the last one
    fails, `fit` raises its error; the estimator has the trained model all the same.

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
        done = run.history.n_rounds
        self._bar = progress_bar(run.n_rounds, "rounds", done, run.stage, self.stream)

    def on_round(self, run: TrainingRun) -> str | None:
        if self._bar is not None and not self._bar.disable:
            self._bar.set_postfix_str(_notes(run), refresh=False)
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


def _notes(run: TrainingRun) -> str:
    """Return the losses and metrics of the last round in words."""
    last = {name: run.history.last(name) for name in _SHOWN if name in run.history.fields}
    known = {name: value for name, value in last.items() if not math.isnan(value)}
    return ", ".join(_SHOWN[name].format(value) for name, value in known.items())


def check_callbacks(callbacks: Any) -> Sequence[Callback]:
    """Return the callbacks as a list, or raise if one is not a Callback."""
    if callbacks is None:
        return []
    listed = list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
    for callback in listed:
        if not isinstance(callback, Callback):
            raise TypeError(
                "callbacks must be objects of edgewise.Callback, whose on_round(run) sees every "
                f"round, got {callback!r}"
            )
    return listed
