"""Rows shared among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


class Team:
    """Some threads that rows are spread over.

    Rows do not depend on each other, so that results are the same for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> squares = np.zeros(4)
    >>> def square(start, stop):
    ...     squares[start:stop] = np.arange(start, stop) ** 2
    >>> with Team(2) as team:
    ...     team.spread(square, np.array([0, 1, 2, 3, 4]))
    >>> squares
    array([0., 1., 4., 9.])
    """

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def spread(self, run: Callable[[int, int], None], starts: NDArray[np.int64]) -> None:
        """Call `run` with parts of the rows, of about as many entries each.

        `starts` tells where the entries of each row begin, and where those of the last end.
        """
        n_rows = len(starts) - 1
        if self._pool is None:
            run(0, n_rows)
            return
        # A row costs something without any entry too: its matrix has to be solved.
        work = starts + 8 * np.arange(len(starts))
        shares = np.linspace(0, work[-1], 4 * self._n_threads + 1)[1:-1]
        cuts = np.unique([0, *np.searchsorted(work, shares).tolist(), n_rows]).tolist()
        for future in [self._pool.submit(run, start, stop) for start, stop in pairwise(cuts)]:
            future.result()
