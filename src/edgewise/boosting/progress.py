"""A line that tells how far a training has come."""

import math
import shutil
import sys
from collections import deque
from typing import TextIO

from edgewise.boosting.callbacks import Callback, Run
from edgewise.boosting.history import History

_WIDTH = 24
# Seconds between two drawings on a terminal.
_REDRAW = 0.1
# The speed is that of the last so many seconds: rounds need not all take as long, and the first
# of them may compile.
_STRETCH = 10.0


class ProgressBar(Callback):
    """Show rounds, speed, time left, training error and its bound while training.

    The speed is that of the last ten seconds or of the last round, whichever took longer, and the
    time left is what the other rounds take at that speed. Of two classes the area under the ROC
    curve and the balanced accuracy are shown too, of the validation rows where there are any.

    Parameters
    ----------
    stream : text stream or None
        Where to write; standard error if None. On a terminal one line is kept up to date, cut to
        its width; elsewhere a line is written every tenth of the way.

    Examples
    --------
    >>> import io
    >>> from edgewise import AdaBoostMH, ProgressBar
    >>> shown = io.StringIO()
    >>> model = AdaBoostMH(n_rounds=10, callbacks=[ProgressBar(shown)])
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> shown.getvalue().split("  ")[0]
    '[##......................] 1/10'
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def on_start(self, run: Run) -> None:
        """Remember where the run began, data read and earlier rounds replayed."""
        self._live = self._out().isatty()
        self._drawn = -math.inf
        self._shown = 0
        self._marks = deque([(run.seconds, run.history.n_rounds)])

    def on_round(self, run: Run) -> str | None:
        """Redraw if it is time."""
        done = run.history.n_rounds
        if self._live:
            if run.seconds - self._drawn >= _REDRAW:
                self._drawn = run.seconds
                self._mark(run)
                self._draw(run, "")
        elif 10 * done // run.n_rounds > self._shown:
            self._shown = 10 * done // run.n_rounds
            self._mark(run)
            self._out().write(self._line(run) + "\n")
        return None

    def on_end(self, run: Run) -> None:
        """Leave the last state on the screen."""
        if self._live and run.history.n_rounds:
            self._mark(run)
            self._draw(run, "\n")

    def _out(self) -> TextIO:
        # Looked up each time: a stream that is kept cannot be cloned or pickled with the model.
        return self.stream or sys.stderr

    def _draw(self, run: Run, end: str) -> None:
        # A line that wraps could not be drawn over. What is cut off stands at its end.
        width = shutil.get_terminal_size().columns - 1
        self._out().write(f"\r{self._line(run)[:width]}\x1b[K{end}")
        self._out().flush()

    def _mark(self, run: Run) -> None:
        """Note where the run stands now, and forget what lies before the last stretch."""
        self._marks.append((run.seconds, run.history.n_rounds))
        while len(self._marks) > 2 and run.seconds - self._marks[1][0] >= _STRETCH:
            self._marks.popleft()

    def _rate(self) -> float:
        """Return the rounds per second of the last stretch."""
        (began, first), (now, done) = self._marks[0], self._marks[-1]
        return (done - first) / max(now - began, 1e-9)

    def _line(self, run: Run) -> str:
        done, total = run.history.n_rounds, run.n_rounds
        filled = _WIDTH * done // total
        parts = [f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}"]
        rate = self._rate()
        if rate > 0:
            parts.append(f"{rate:,.0f} rounds/s" if rate >= 10 else f"{rate:.2g} rounds/s")
            if done < total and not run.finished:
                parts.append(f"{duration((total - done) / rate)} left")
        return "  ".join([*parts, *_measured(run.history)])


def _measured(history: History) -> list[str]:
    """Return the losses that a user knows, and what there is beside them, in words."""
    known = {
        "ranking_loss": "misordered {:.4f}",
        "train_error": "error {:.4f}",
        "bound": "bound {:.3g}",
        "validation": "validation {:.4f}",
        "roc_auc": "AUC {:.4f}",
        "balanced_accuracy": "balanced accuracy {:.4f}",
    }
    last = {name: history.last(name) for name in known if name in history.fields}
    return [known[name].format(value) for name, value in last.items() if not math.isnan(value)]


def duration(seconds: float) -> str:
    """Return a time as a clock shows it, once it is more than a minute.

    Examples
    --------
    >>> duration(42.3), duration(90), duration(3661)
    ('42 s', '1:30', '1:01:01')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
