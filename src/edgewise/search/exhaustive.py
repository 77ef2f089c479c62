"""Search every column in every round."""

from edgewise.common.dtypes import Columns
from edgewise.search.base import Search


class Exhaustive(Search):
    """Search every column in every round.

    Examples
    --------
    >>> import numpy as np
    >>> search = Exhaustive().start(np.arange(3), seed=0)
    >>> search.pull()
    array([0, 1, 2])
    """

    def pull(self, n: int | None = None) -> Columns:
        return self.columns_

    def takes_all(self, n_columns: int) -> bool:
        return True
