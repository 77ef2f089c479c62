"""The library's logger, kept quiet where a caller has its own answer to a warning."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
