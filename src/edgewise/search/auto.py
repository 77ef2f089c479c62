"""Search all columns where there are few, and learn which to search where there are many."""

from dataclasses import dataclass

from edgewise.common.dtypes import Columns
from edgewise.search.base import Search
from edgewise.search.exhaustive import Exhaustive
from edgewise.search.thompson import ThompsonSampling

MANY_COLUMNS = 200
"""The least number of columns from which `Auto` learns which to search."""

# Above 1, columns are still chosen by their rewards, and trees of a run stay different.
_EXPLORATION = 1.5


@dataclass(eq=False, repr=False)
class Auto(Search):
    """Search every column of up to 199, and learn which to search of more: ``search="auto"``.

    `start` returns `Exhaustive` or ``ThompsonSampling(k, exploration=1.5, per_round=True)``.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search where there are 200 or more.

    Examples
    --------
    >>> import numpy as np
    >>> [len(Auto().start(np.arange(n), seed=0).pull()) for n in (100, 10_000)]
    [100, 50]
    """

    learns = True

    k: int = 50

    def start(self, columns: Columns, seed: int) -> Search:
        if len(columns) < MANY_COLUMNS:
            return Exhaustive().start(columns, seed)
        policy = ThompsonSampling(self.k, exploration=_EXPLORATION, per_round=True)
        return policy.start(columns, seed)

    def takes_all(self, n_columns: int) -> bool:
        return n_columns < MANY_COLUMNS
