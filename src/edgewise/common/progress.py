"""A line on standard error that tells how far long work has come."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WIDTH = 24
_REDRAW = 0.1

Step = Callable[..., None]


@contextmanager
def progress(shown: bool, total: int, what: str) -> Iterator[Step]:
    """Give a function to call after each of `total` steps, with a number to show if there is one.

    On a terminal one line is kept up to date; elsewhere a line is written every tenth of the way.

    Examples
    --------
    >>> with progress(False, 10, "epochs") as step:
    ...     step(0.5)
    """
    if not shown:
        yield lambda *_: None
        return
    line = _Line(total, what)
    try:
        yield line.step
    finally:
        line.close()


class _Line:
    def __init__(self, total: int, what: str) -> None:
        self.total, self.what = total, what
        self.done, self.tenths = 0, 0
        self.began = time.perf_counter()
        self.drawn = -_REDRAW
        self.text = ""
        self.live = sys.stderr.isatty()

    def step(self, value: float | None = None) -> None:
        self.done += 1
        seconds = time.perf_counter() - self.began
        filled = _WIDTH * self.done // max(self.total, 1)
        shown = "" if value is None else f"  loss {value:.4g}"
        left = (self.total - self.done) * seconds / self.done
        bar = "#" * filled + "." * (_WIDTH - filled)
        self.text = f"[{bar}] {self.done}/{self.total} {self.what}{shown}  {left:.0f} s left"
        if self.live and seconds - self.drawn >= _REDRAW:
            self.drawn = seconds
            sys.stderr.write(f"\r{self.text}\x1b[K")
            sys.stderr.flush()
        elif not self.live and 10 * self.done // max(self.total, 1) > self.tenths:
            self.tenths = 10 * self.done // max(self.total, 1)
            sys.stderr.write(self.text + "\n")

    def close(self) -> None:
        if self.live and self.done:
            sys.stderr.write(f"\r{self.text}\x1b[K\n")
            sys.stderr.flush()
