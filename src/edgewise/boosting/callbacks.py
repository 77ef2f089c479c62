"""What can watch a training run, and stop it."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edgewise.boosting.history import History
from edgewise.common.checks import integer, positive


@dataclass
class Run:
    """A training run as callbacks see it.

    Attributes
    ----------
    n_rounds : int
        How many rounds were asked for.
    history : History
        All rounds so far, those of an earlier fit included.
    save : callable
        ``save(path)`` writes the model of the rounds so far; of those that are kept, once training
        has ended.
    validates : bool
        Whether there are validation rows.
    larger_is_better : bool
        Which way the validation metric goes.
    stop_reason : str
        Why training ended: "n_rounds", "no edge", "fitted" (no loss is left), "early stopping",
        "time limit", "interrupted", or what a callback returned.
    best_round : int or None
        The number of rounds to keep, where early stopping chose it.
    finished : bool
        Whether training has ended.
    started : float
        When it began, on the clock of ``time.perf_counter``.
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

    @property
    def seconds(self) -> float:
        """The time since training began."""
        return time.perf_counter() - self.started


class Callback:
    """Watches a training run. Override what you need.

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

    def on_start(self, run: Run) -> None:
        """Before the first round."""

    def on_round(self, run: Run) -> str | None:
        """After every round; a returned reason ends the training."""

    def on_end(self, run: Run) -> None:
        """After the last round, whatever ended the training."""


class EarlyStopping(Callback):
    """Stop when the validation metric has not improved for `rounds` rounds.

    Parameters
    ----------
    rounds : int
        How many rounds without improvement to bear.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, EarlyStopping
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = AdaBoostMH(n_rounds=100, callbacks=[EarlyStopping(5)])
    >>> model.fit(X, y, eval_set=(X, y)).stop_reason_
    'early stopping'
    """

    def __init__(self, rounds: int) -> None:
        self.rounds = integer("rounds", rounds, 1)

    def on_start(self, run: Run) -> None:
        """Begin with the best of the rounds there are already."""
        if not run.validates:
            raise ValueError("EarlyStopping needs validation rows: validation_fraction or eval_set")
        self._best = np.inf
        for place, value in enumerate(run.history["validation"].tolist()):
            self._note(run, place + 1, value)

    def on_round(self, run: Run) -> str | None:
        """Note the round's metric."""
        self._note(run, run.history.n_rounds, run.history.last("validation"))
        if run.history.n_rounds - (run.best_round or 0) >= self.rounds:
            return "early stopping"
        return None

    def _note(self, run: Run, n_rounds: int, value: float) -> None:
        loss = -value if run.larger_is_better else value
        if loss < self._best:
            self._best = loss
            run.best_round = n_rounds


class TimeLimit(Callback):
    """Stop after the round in which the time ran out.

    Parameters
    ----------
    seconds : float
        The limit, from the beginning of ``fit``.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, TimeLimit
    >>> model = AdaBoostMH(n_rounds=1000, callbacks=[TimeLimit(1e-9)])
    >>> model.fit([[0.0], [1.0]], [0, 1]).stop_reason_
    'time limit'
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = positive("seconds", seconds)

    def on_round(self, run: Run) -> str | None:
        """Look at the clock."""
        return "time limit" if run.seconds >= self.seconds else None


class Checkpoint(Callback):
    """Save the model every few rounds and at the end, so that a long run can be taken up again.

    A saved model goes on with ``edgewise.load(path).set_params(warm_start=True).fit(X, y)``.

    Parameters
    ----------
    path : str or path-like
        Where to save; each save replaces the last.
    every : int, default 100
        How many rounds between saves.

    Examples
    --------
    >>> import os, tempfile
    >>> import edgewise
    >>> path = os.path.join(tempfile.mkdtemp(), "model.edgewise")
    >>> model = edgewise.AdaBoostMH(n_rounds=3, callbacks=[edgewise.Checkpoint(path)])
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> edgewise.load(path).n_rounds_
    3
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 100) -> None:
        self.path = Path(path)
        self.every = integer("every", every, 1)

    def on_start(self, run: Run) -> None:
        """Fail now rather than after the first hundred rounds."""
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"path: the folder of {str(self.path)!r} does not exist")

    def on_round(self, run: Run) -> str | None:
        """Save if it is time."""
        if run.history.n_rounds % self.every == 0:
            run.save(self.path)
        return None

    def on_end(self, run: Run) -> None:
        """Save the model as training leaves it."""
        run.save(self.path)


def check_callbacks(callbacks: Any) -> Sequence[Callback]:
    """Return the callbacks as a list, or raise if one of them is none."""
    if callbacks is None:
        return []
    listed = list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
    for callback in listed:
        if not isinstance(callback, Callback):
            raise TypeError(f"callbacks must be Callback objects, got {callback!r}")
    return listed
