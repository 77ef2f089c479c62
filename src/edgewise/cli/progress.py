"""What a terminal shows while a model trains: a bar that is gone when training is over."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from edgewise.boosting import ProgressBar
from edgewise.metrics.registry import metric_title

if TYPE_CHECKING:
    from rich.progress import Progress

    from edgewise.boosting import Callback, TrainingRun

# The quantities of a round that are shown where they were recorded, and their formats.
_FORMATS = {"ranking_loss": ".1%", "train_error": ".1%", "bound": ".1%", "validation": ".4f"}


class LiveProgress(ProgressBar):
    """Shows rounds, speed, time left, the error and its bound, in a live line of rich."""

    _live: "Progress | None" = None

    def on_start(self, run: "TrainingRun") -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._live = Progress(
            TextColumn("{task.description}"),
            BarColumn(20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[notes]}"),
            console=Console(stderr=True),
            transient=True,
        )
        title = run.stage or "training"
        done = run.history.n_rounds
        self._task = self._live.add_task(
            title, total=run.n_rounds, completed=done, speed="", notes=""
        )
        self._began, self._before = run.seconds, done
        self._live.start()

    def on_round(self, run: "TrainingRun") -> str | None:
        """Move the bar."""
        if self._live is not None:
            done, last = run.history.n_rounds, run.history.last
            rate = (done - self._before) / max(run.seconds - self._began, 1e-9)
            known = {name: last(name) for name in _FORMATS if name in run.history.fields}
            notes = [
                f"{metric_title(name)} {value:{_FORMATS[name]}}"
                for name, value in known.items()
                if not math.isnan(value)
            ]
            speed = f"{rate:,.0f} rounds/s" if rate >= 10 else f"{rate:.2g} rounds/s"
            self._live.update(self._task, completed=done, speed=speed, notes="  ".join(notes))
        return None

    def on_end(self, run: "TrainingRun") -> None:
        """Take the bar away."""
        self.stop()

    def stop(self) -> None:
        """Take the bar away, if there is one."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __getstate__(self) -> dict[str, Any]:
        return {"stream": None}


@contextmanager
def progress() -> "Iterator[list[Callback] | None]":
    """Give the callbacks that show progress on a terminal, and leave the terminal as it was."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = LiveProgress()
    try:
        yield [bar]
    finally:
        bar.stop()
