"""Fixed point: the scales in which weights are summed, so that no sum depends on its order."""

import math

import numpy as np

from edgewise.common.dtypes import Exacts, Reals

SEARCH_SCALE = 2.0**30
"""One unit of weight in the search. All weights together come to 1, so no histogram overflows."""

EXACT_SCALE = 2.0**62
"""One unit of weight in the sums that steps are computed from."""

GAIN_SCALE = 2.0**20
"""By how much finer than weights in the search gains are."""

ENERGY_SCALE = 2.0**52
"""One unit of weight in sums of energies, which may exceed 1."""

WIDE_SEARCH_LIMIT = 2**26
"""Past this many weights their rounding errors alone could fill the 32-bit head room."""


def exact_sum(values: Reals) -> float:
    """Return the sum of an array of non-negative numbers, the same for every order of them.

    The numbers are rounded to a common binary grid, fine enough for 62 bits of the sum's upper
    bound, and added as integers.

    Examples
    --------
    >>> import numpy as np
    >>> exact_sum(np.array([0.1, 0.2, 0.7]))
    1.0
    """
    largest = float(values.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    # Even if all were the largest, the integers would sum to less than 2**62.
    shift = 62 - int(np.ceil(np.log2(values.size))) - int(np.frexp(largest)[1])
    total = 0
    for row in np.atleast_2d(values):
        total += int(np.rint(np.ldexp(row, shift)).astype(np.int64).sum())
    return math.ldexp(total, -shift)


def fixed(values: Reals) -> Exacts:
    """Return numbers from 0 to 1 as 64-bit integers at the scale of exact sums."""
    return np.rint(values * EXACT_SCALE).astype(np.int64)
