"""Threads: how many, and how work is spread over them."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
P = TypeVar("P")

# More threads than this, and than this many for each core, help nobody; a file may ask for more.
_ENOUGH, _ENOUGH_A_CORE = 32, 4

# With fewer rows, starting a thread costs more than it saves.
ROWS_PER_THREAD = 4096

# Parts that wait for each thread of a stream: enough to keep it busy, and few in memory.
_AHEAD = 4


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` asks for, as joblib counts; None is one.

    OMP_NUM_THREADS limits negative numbers: in its workers, joblib sets it to their share of the
    cores, so that all of them together do not start more threads than there are cores.
    """
    if n_jobs is None:
        return 1
    from joblib import effective_n_jobs

    enough = max(_ENOUGH, _ENOUGH_A_CORE * (os.cpu_count() or 1))
    threads = min(int(effective_n_jobs(n_jobs)), enough)
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return min(threads, max(int(limit), 1)) if n_jobs < 0 and limit.isdecimal() else threads


class Threads:
    """A pool of up to `n` threads; with one, work runs in the caller's thread."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._pool = ThreadPoolExecutor(n) if n > 1 else None

    def map(self, run: Callable[[P], T], items: Sequence[P]) -> list[T]:
        """Return ``run(item)`` for each item, in order."""
        if self._pool is None or len(items) < 2:
            return [run(item) for item in items]
        return list(self._pool.map(run, items))

    def stream(self, run: Callable[[P], T], items: Iterable[P]) -> Iterator[T]:
        """Yield ``run(item)`` in order, with a few items per thread waiting."""
        if self._pool is None:
            yield from map(run, items)
            return
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(self._pool.submit(run, item))
            if len(waiting) > _AHEAD * self.n:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def spans(self, n_rows: int, min_rows: int = ROWS_PER_THREAD) -> list[tuple[int, int]]:
        """Return one range of rows (start, stop) per thread, none shorter than `min_rows`."""
        n_spans = max(1, min(self.n, n_rows // min_rows))
        return list(pairwise(n_rows * i // n_spans for i in range(n_spans + 1)))

    def shares(self, work: NDArray) -> list[tuple[int, int]]:
        """Return ranges of rows (start, stop) with about equal work, a few per thread.

        Row i takes ``work[i + 1] - work[i]``: the work is cumulative, as the starts of compressed
        rows are.
        """
        n_rows = len(work) - 1
        if self.n == 1:
            return [(0, n_rows)]
        cuts = np.searchsorted(work, np.linspace(0, work[-1], 4 * self.n + 1)[1:-1])
        return list(pairwise(np.unique([0, *cuts.tolist(), n_rows]).tolist()))

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
