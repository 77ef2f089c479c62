"""Running sums within each of many lists that stand one after another."""

import numpy as np

from edgewise.common.dtypes import Exacts, Reals


def running_sums(values: Reals, position: Exacts) -> Reals:
    """Return the running sums of each list; `position` numbers its places from 1.

    Sums of 1, 2, 4, ... neighbours are doubled up: unlike differences of one running sum over all
    lists, these lose nothing to what comes before, at the price of a pass for each doubling.

    Examples
    --------
    >>> import numpy as np
    >>> running_sums(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([1, 2, 1, 2, 3]))
    array([ 1.,  3.,  4., 12., 28.])
    """
    sums = values.copy()
    width, longest = 1, int(position.max(initial=0))
    while width < longest:
        sums[width:] += np.where(position[width:] > width, sums[:-width], 0.0)
        width *= 2
    return sums
