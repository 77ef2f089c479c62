"""The exponential function, written out so that NumPy and compiled code agree to the last bit.

Libraries differ in the last digit of exp. Weights that are computed from scores must be the same
whichever kernels are in use, so they are computed with plain additions and multiplications in a
fixed order: exp(x) = 2**n * exp(r) with r = x - n ln 2, and a Taylor polynomial for exp(r). The
compiled twin is in `update`.
"""

import numpy as np

from edgewise.common.dtypes import Reals

LOG2_E = 1.4426950408889634

# ln 2 in two parts: n times the first is exact, so that r has no rounding error to speak of.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10

# Past these the result or a factor of it would leave the range of a double.
LOWEST, HIGHEST = -700.0, 700.0

# 1 / i!: on |r| <= ln 2 / 2 the next term is below half a unit in the last place.
(C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13) = (
    1.0,
    1.0,
    0.5,
    0.16666666666666666,
    0.041666666666666664,
    0.008333333333333333,
    0.001388888888888889,
    0.0001984126984126984,
    2.48015873015873e-05,
    2.7557319223985893e-06,
    2.755731922398589e-07,
    2.505210838544172e-08,
    2.08767569878681e-09,
    1.6059043836821613e-10,
)


def exp(x: Reals) -> Reals:
    """Return e**x, x cut to [-700, 700].

    Examples
    --------
    >>> import numpy as np
    >>> exp(np.array([0.0, 1.0, -1000.0]))
    array([1.00000000e+000, 2.71828183e+000, 9.85967654e-305])
    """
    x = np.minimum(np.maximum(x, LOWEST), HIGHEST)
    n = np.rint(x * LOG2_E)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    # By halves and not from one end (Estrin's scheme): processors do independent sums at once.
    r2 = r * r
    r4 = r2 * r2
    a = (C0 + C1 * r) + (C2 + C3 * r) * r2
    b = (C4 + C5 * r) + (C6 + C7 * r) * r2
    c = (C8 + C9 * r) + (C10 + C11 * r) * r2
    value = (a + b * r4) + (c + (C12 + C13 * r) * r4) * (r4 * r4)
    return value * ((n.astype(np.int64) + 1023) << 52).view(np.float64)
