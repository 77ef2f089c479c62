"""Arithmetic with the same bits everywhere: fixed-point sums, exponentials and random numbers.

Integer sums do not depend on their order. Libraries differ in the last digit of exp, so weights
are computed from scores by plain additions and multiplications in a fixed order:
exp(x) = 2**n * exp(r) with r = x - n ln 2, and a Taylor polynomial for exp(r).
"""

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import ROW, Exacts, Reals, Rows
from edgewise.data.partition import Partition

N = TypeVar("N", float, Reals)

SEARCH_SCALE = 2.0**30
"""One unit of weight in the search. All weights together come to 1, so no histogram overflows."""

EXACT_SCALE = 2.0**62
"""One unit of weight in the sums that steps are computed from."""

GAIN_SCALE = 2.0**20
"""By how much finer than weights in the search gains are."""

ENERGY_SCALE = 2.0**52
"""One unit of weight in sums of energies, which may exceed 1."""

HEAD_ROOM = 2.0**6
"""By how much a sum of new weights may exceed the last one in fixed point."""

LEAST_WEIGHT = 1e-10
"""If the weights of a bounded loss sum to less than this, every row is right by a wide margin."""

WIDE_SEARCH_LIMIT = 2**26
"""Past this many weights their rounding errors alone could fill the 32-bit head room."""


def exact_sum(values: Reals, partition: Partition | None = None) -> float:
    """Return the sum of an array of non-negative numbers, the same for every order of them.

    The numbers are rounded to a common binary grid, fine enough for 62 bits of the sum's upper
    bound, and added as integers. Other processes of the `partition` may have more of them.

    Examples
    --------
    >>> import numpy as np
    >>> exact_sum(np.array([0.1, 0.2, 0.7]))
    1.0
    """
    largest, count = float(values.max(initial=0.0)), values.size
    if partition is not None:
        largest, count = partition.max(largest), partition.sum(count)
    if largest == 0.0:
        return 0.0
    shift = exact_shift(count, largest)
    total = 0
    for row in np.atleast_2d(values):
        total += int(np.rint(np.ldexp(row, shift)).astype(np.int64).sum())
    return math.ldexp(total if partition is None else partition.sum(total), -shift)


def exact_shift(count: int, largest: float) -> int:
    """Return s such that `count` numbers up to `largest` sum to less than 2**62 units of 2**-s."""
    return 62 - int(np.ceil(np.log2(count))) - int(np.frexp(largest)[1])


def to_fixed_point(values: Reals) -> Exacts:
    """Return numbers from 0 to 1 as 64-bit integers at the scale of exact sums."""
    return np.rint(values * EXACT_SCALE).astype(np.int64)


LOG2_E = 1.4426950408889634

# ln 2 in two parts: n times the first is exact, so that r has no rounding error to speak of.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10

# Past these the result or a factor of it would leave the range of a double.
LOWEST, HIGHEST = -700.0, 700.0

# 1 / i!: on |r| <= ln 2 / 2 the next term is below half a unit in the last place.
TAYLOR = (
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


def taylor(r: N) -> N:
    """Return e**r for |r| <= ln 2 / 2, of one number or many; kernels compile it too."""
    # By halves and not from one end (Estrin's scheme): processors do independent sums at once.
    r2 = r * r
    r4 = r2 * r2
    a = (TAYLOR[0] + TAYLOR[1] * r) + (TAYLOR[2] + TAYLOR[3] * r) * r2
    b = (TAYLOR[4] + TAYLOR[5] * r) + (TAYLOR[6] + TAYLOR[7] * r) * r2
    c = (TAYLOR[8] + TAYLOR[9] * r) + (TAYLOR[10] + TAYLOR[11] * r) * r2
    return (a + b * r4) + (c + (TAYLOR[12] + TAYLOR[13] * r) * r4) * (r4 * r4)


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
    return taylor(r) * ((n.astype(np.int64) + 1023) << 52).view(np.float64)


SQRT_HALF = math.sqrt(0.5)

SERIES = tuple(2.0 / (2 * k + 1) for k in range(1, 11))
"""The coefficients of s**3, s**5, ... in ln((1 + s) / (1 - s)) = 2 s + ..."""


def log_series(m: N, n: Any) -> N:
    """Return ln(m 2**n) for m between sqrt(1/2) and sqrt(2); kernels compile it too."""
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    tail = SERIES[-1] * z
    for term in SERIES[-2::-1]:
        tail = (tail + term) * z
    return n * LN2_HIGH + ((s + s) + (s * tail + n * LN2_LOW))


def log(x: Reals) -> Reals:
    """Return the natural logarithm of positive numbers.

    ln(m 2**n) = n ln 2 + ln m with m between sqrt(1/2) and sqrt(2), by a series.

    Examples
    --------
    >>> import numpy as np
    >>> log(np.array([1.0, 2.0, 0.1]))
    array([ 0.        ,  0.69314718, -2.30258509])
    """
    m, n = np.frexp(x)
    low = m < SQRT_HALF
    return log_series(np.where(low, m + m, m), n - low)


def exp_of(x: float) -> float:
    """Return what `exp` does, for one number.

    Examples
    --------
    >>> exp_of(1.0)
    2.718281828459045
    """
    x = min(max(x, LOWEST), HIGHEST)
    n = round(x * LOG2_E)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    return math.ldexp(taylor(r), n)


def log_of(x: float) -> float:
    """Return what `log` does, for one number.

    Examples
    --------
    >>> log_of(2.0)
    0.6931471805599453
    """
    m, n = math.frexp(x)
    if m < SQRT_HALF:
        m, n = m + m, n - 1
    return log_series(m, n)


# The largest float that fits into 64 bits: a fraction of 1 draws all but one row in 2**53.
_HASHES = 2.0**64 - 2.0**11


def splitmix64(seed: NDArray[np.uint64], n: NDArray[np.uint64] | int = 1) -> NDArray[np.uint64]:
    """Return the n-th output of the generator splitmix64 for each seed (Steele et al. 2014)."""
    z = seed + np.asarray(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def draw_rows(
    n: int, fraction: float, seed: int, t: int, numbers: NDArray[np.int64] | None = None
) -> Rows:
    """Return a random fraction of n rows, drawn by a hash of row number, seed and round.

    So the draw does not depend on where rows are stored. Rows may have `numbers` other than 0 to
    n - 1.

    Examples
    --------
    >>> draw_rows(10, 0.5, seed=0, t=1).tolist()
    [0, 1, 3, 4, 6, 7, 9]
    """
    if numbers is None:
        numbers = np.arange(n)
    hashes = splitmix64(draw_key(seed, t), (numbers + 1).astype(np.uint64))
    return np.flatnonzero(hashes < draw_limit(fraction)).astype(ROW)


def draw_key(seed: int, t: int) -> NDArray[np.uint64]:
    """Return the seed of the hashes in round t."""
    return splitmix64(np.array([seed], dtype=np.uint64), t + 1)


def draw_limit(fraction: float) -> np.uint64:
    """Return the upper bound of the hashes of drawn rows."""
    return np.uint64(fraction * _HASHES)
