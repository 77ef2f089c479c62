"""Search a few random columns in every round."""

import numpy as np

from edgewise.common.checks import integer
from edgewise.common.dtypes import Columns
from edgewise.search.base import Search


class Lazy(Search):
    """Search `k` random columns in every round.

    LazyBoost (Escudero, Màrquez and Rigau 2000).

    Parameters
    ----------
    k : int, default 100
        The number of columns to search; all of them where there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> search = Lazy(2).start(np.arange(10), seed=0)
    >>> search.pull().shape
    (2,)
    """

    def __init__(self, k: int = 100) -> None:
        self.k = k

    def validate(self) -> None:
        integer("k", self.k, 1)

    def takes_all(self, n_columns: int) -> bool:
        return self.k >= n_columns

    def pull(self, n: int | None = None) -> Columns:
        size = self.k if n is None else integer("n", n, 1)
        if size >= len(self.columns_):
            return self.columns_
        return np.sort(self.rng_.choice(self.columns_, size=size, replace=False))
