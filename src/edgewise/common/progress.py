"""Progress bars, and threads that do not log."""

import io
import logging
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from tqdm.std import tqdm

_FORMAT = (
    "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}, {remaining} left, {rate_noinv_fmt}{postfix}]"
)

Step = Callable[..., None]


class _LineStream(io.TextIOBase):
    """A stream that is not a terminal: each state of a bar is a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if drawn := text.strip():
            self._stream.write(drawn + "\n")
            self._stream.flush()
        return len(text)


def progress_bar(
    total: int, unit: str, done: int = 0, title: str = "", stream: TextIO | None = None
) -> "tqdm":
    """Return a bar of tqdm: a widget in a notebook that has ipywidgets, else one line of text.

    A `stream` that is neither terminal nor notebook gets a line every tenth of the way. None is
    standard error, but shows nothing then. `unit` names the steps in the plural.
    """
    from tqdm.auto import tqdm

    out = stream or sys.stderr
    lines = not out.isatty() and not type(out).__module__.startswith("ipykernel.")
    return tqdm(
        total=total,
        initial=done,
        desc=title or None,
        unit=f" {unit}",
        bar_format=_FORMAT,
        dynamic_ncols=True,
        disable=lines and stream is None,
        file=_LineStream(out) if lines else out,
        leave=not lines,
        mininterval=0.0 if lines else 0.1,
        miniters=max(math.ceil(total / 10), 1) if lines else None,
        delay=1e-6,  # a bar that does not move is not drawn
    )


def close_bar(bar: "tqdm") -> None:
    """Leave the last state of a bar on the screen, if it moved at all."""
    if not bar.disable and bar.n > bar.initial:
        if bar.n > bar.last_print_n:
            bar.refresh()
        bar.delay = 0.0
    bar.close()


@contextmanager
def progress(shown: bool, total: int, unit: str) -> Iterator[Step]:
    """Give a function to call after each of `total` steps, with the loss if there is one."""
    if not shown:
        yield lambda *_: None
        return
    bar = progress_bar(total, unit, stream=sys.stderr)

    def step(loss: float | None = None) -> None:
        if loss is not None:
            bar.set_postfix_str(f"loss {loss:.4g}", refresh=False)
        bar.update()

    try:
        yield step
    finally:
        close_bar(bar)


@contextmanager
def mute_logging() -> Iterator[None]:
    """Keep this thread from logging; other threads log as before."""
    logger, thread = logging.getLogger("edgewise"), threading.get_ident()

    def from_others(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(from_others)
    try:
        yield
    finally:
        logger.removeFilter(from_others)
