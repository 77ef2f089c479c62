"""Search a few random columns in every round."""

from dataclasses import dataclass

import numpy as np

from edgewise.common.dtypes import Columns
from edgewise.search.base import Search


@dataclass(eq=False, repr=False)
class Lazy(Search):
    """Search `k` random columns in every round.

    LazyBoost (Escudero, Màrquez and Rigau 2000).

    Parameters
    ----------
    k : int, default 100
        The number of columns to search; all of them where there are fewer.
    per_round : bool, default False
        Whether all terms of a product and all nodes of a tree search the same columns.

    Examples
    --------
    >>> import numpy as np
    >>> search = Lazy(2).start(np.arange(10), seed=0)
    >>> search.pull().shape
    (2,)
    """

    k: int = 100
    per_round: bool = False

    def _choose(self, n: int) -> Columns:
        return np.sort(self.rng_.choice(len(self.columns_), size=n, replace=False))
