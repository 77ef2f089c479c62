"""Search all columns where there are few, and learn which to search where there are many."""

from dataclasses import dataclass

from edgewise.common.dtypes import Columns
from edgewise.search.base import Search
from edgewise.search.exhaustive import Exhaustive
from edgewise.search.ucb import UCB

MANY_COLUMNS = 500
"""The least number of columns from which `Auto` learns which to search."""


@dataclass(eq=False, repr=False)
class Auto(Search):
    """Search every column of up to 499, and k of more by ``UCB(k, random=0.5)``: ``search="auto"``.

    `start` returns one of these two.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search where there are 500 or more.

    Examples
    --------
    >>> import numpy as np
    >>> [len(Auto().start(np.arange(n), seed=0).pull()) for n in (100, 10_000)]
    [100, 50]
    """

    learns = True

    k: int = 50

    def start(self, columns: Columns, seed: int) -> Search:
        chosen = UCB(self.k, random=0.5) if len(columns) >= MANY_COLUMNS else Exhaustive()
        return chosen.start(columns, seed)

    def takes_all(self, n_columns: int) -> bool:
        return n_columns < MANY_COLUMNS
