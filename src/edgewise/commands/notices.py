"""Warnings of the library on standard error, each once."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from edgewise.common.text import one_line


class _Shown(logging.Handler):
    """Writes what is logged in one line, unless it has just been said."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        line = f"edgewise: {record.levelname.lower()}: {one_line(record.getMessage())}"
        if line not in self._said:
            self._said.add(line)
            # On a terminal a progress bar may stand in this line.
            sys.stderr.write(f"\r\x1b[K{line}\n" if sys.stderr.isatty() else f"{line}\n")
            sys.stderr.flush()


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Show what the library warns of while a command runs.

    Examples
    --------
    >>> import contextlib, logging
    >>> with contextlib.redirect_stderr(sys.stdout), shown_warnings():
    ...     for _ in range(2):
    ...         logging.getLogger("edgewise").warning("1 of 2 queries has no pairs")
    edgewise: warning: 1 of 2 queries has no pairs
    """
    logger, handler = logging.getLogger("edgewise"), _Shown()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
