"""What long work shows on the screen: a progress line, and warnings unless they are muted."""

import logging
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

_WIDTH = 24
# Seconds between two drawings on a terminal.
_REDRAW = 0.1
# The speed is measured over the last ten seconds: steps need not all take as long, and the first
# of them may compile.
_STRETCH = 10.0

Step = Callable[..., None]


class ProgressLine:
    """A bar, the speed, the time left and a few numbers.

    On a terminal one line is kept up to date, cut to its width; elsewhere a line is written every
    tenth of the way. `unit` names the steps in the plural, `seconds` is the caller's clock, and
    `stream` defaults to standard error.
    """

    def __init__(
        self,
        total: int,
        unit: str,
        done: int = 0,
        seconds: float = 0.0,
        stream: TextIO | None = None,
    ) -> None:
        self.total, self.unit, self.stream = total, unit, stream
        self._live = self._out().isatty()
        self._drawn = float("-inf")
        self._tenths = 0
        self._marks = deque([(seconds, done)])

    def update(self, done: int, seconds: float, notes: Callable[[], Sequence[str]]) -> None:
        """Show how many steps are done, if it is time; `notes` gives what to say beside it."""
        tenths = 10 * done // max(self.total, 1)
        if self._live and seconds - self._drawn >= _REDRAW:
            self._drawn = seconds
            self._draw(self._line(done, seconds, notes(), done < self.total), "")
        elif not self._live and tenths > self._tenths:
            self._tenths = tenths
            self._out().write(self._line(done, seconds, notes(), done < self.total) + "\n")

    def close(self, done: int, seconds: float, notes: Callable[[], Sequence[str]]) -> None:
        """Leave the last state on the terminal."""
        if self._live and done:
            self._draw(self._line(done, seconds, notes(), False), "\n")

    def _out(self) -> TextIO:
        # Looked up each time: a stream that is kept cannot be cloned or pickled with a model.
        return self.stream or sys.stderr

    def _draw(self, line: str, end: str) -> None:
        # A line that wraps could not be drawn over.
        width = shutil.get_terminal_size().columns - 1
        self._out().write(f"\r{line[:width]}\x1b[K{end}")
        self._out().flush()

    def _line(self, done: int, seconds: float, notes: Sequence[str], goes_on: bool) -> str:
        self._marks.append((seconds, done))
        while len(self._marks) > 2 and seconds - self._marks[1][0] >= _STRETCH:
            self._marks.popleft()
        began, first = self._marks[0]
        rate = (done - first) / max(seconds - began, 1e-9)
        filled = _WIDTH * done // max(self.total, 1)
        parts = [f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{self.total}"]
        if rate > 0:
            speed = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
            parts.append(f"{speed} {self.unit}/s")
            if goes_on:
                parts.append(f"{duration((self.total - done) / rate)} left")
        return "  ".join([*parts, *notes])


@contextmanager
def progress(shown: bool, total: int, unit: str) -> Iterator[Step]:
    """Give a function to call after each of `total` steps, with the loss if there is one."""
    if not shown:
        yield lambda *_: None
        return
    began, line = time.perf_counter(), ProgressLine(total, unit)
    done, notes = 0, list[str]()

    def step(loss: float | None = None) -> None:
        nonlocal done, notes
        done, notes = done + 1, [] if loss is None else [f"loss {loss:.4g}"]
        line.update(done, time.perf_counter() - began, lambda: notes)

    try:
        yield step
    finally:
        line.close(done, time.perf_counter() - began, lambda: notes)


def duration(seconds: float) -> str:
    """Return a time in seconds, and as a clock shows it from a minute on."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


@contextmanager
def muted() -> Iterator[None]:
    """Keep this thread from logging; other threads log as before."""
    logger, own = logging.getLogger("edgewise"), threading.get_ident()

    def from_others(record: logging.LogRecord) -> bool:
        return record.thread != own

    logger.addFilter(from_others)
    try:
        yield
    finally:
        logger.removeFilter(from_others)
