"""The hyperbolic tangent in single precision, the same bits in NumPy and in compiled code.

A ratio of polynomials, within 3e-7: a processor evaluates it for several numbers at once, which it
cannot do with the tangent of its library. The slopes of the logistic loss follow from it, since
``1 / (1 + exp(m))`` is ``(1 - tanh(m / 2)) / 2``. The compiled twin is in `compiled.advance`.
"""

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]

# From here on the tangent is 1 in single precision.
FARTHEST = np.float32(7.9)

# What chances of one-hot columns add up to at least, before they are divided by it: they come from
# single precision, in which all of them may be 0.
LEAST_CHANCE = 1e-8

# The coefficients of odd powers above the line, and of even powers below it.
A1, A3, A5, A7, A9, A11, A13 = (
    np.float32(4.89352455891786e-03),
    np.float32(6.37261928875436e-04),
    np.float32(1.48572235717979e-05),
    np.float32(5.12229709037114e-08),
    np.float32(-8.60467152213735e-11),
    np.float32(2.00018790482477e-13),
    np.float32(-2.76076847742355e-16),
)
B0, B2, B4, B6 = (
    np.float32(4.89352518554385e-03),
    np.float32(2.26843463243900e-03),
    np.float32(1.18534705686654e-04),
    np.float32(1.19825839466702e-06),
)


def tanh(x: Singles) -> Singles:
    """Return the hyperbolic tangent.

    Examples
    --------
    >>> import numpy as np
    >>> tanh(np.array([0.0, 0.5, -20.0], dtype=np.float32)).round(4)
    array([ 0.    ,  0.4621, -1.    ], dtype=float32)
    """
    x = np.minimum(np.maximum(x, -FARTHEST), FARTHEST)
    q = x * x
    p = ((((((A13 * q + A11) * q + A9) * q + A7) * q + A5) * q + A3) * q + A1) * x
    return np.divide(p, ((B6 * q + B4) * q + B2) * q + B0, dtype=np.float32)
