"""The step that minimises the energy along any base function (Iyer 1999, the first method)."""

import math
from collections.abc import Callable

from edgewise.objective.feedback import Moments

# A step is accurate enough where the next would change it by less than this, or this share of it.
_ACCURACY = 1e-10
_MOST_STEPS = 200


def best_step(moments: Callable[[float], Moments], largest: float) -> float:
    """Return the c in [-largest, largest] that minimises the energy Z(c).

    Z(c) is a sum of terms a exp(c d) with a > 0, so Z'' is a sum of a d^2 exp(c d) >= 0: Z is
    convex, and strictly so unless d = 0 in every term, in which case Z is constant and 0 is
    returned. Hence Z' rises strictly, has at most one zero, and c is that zero or, where Z' has
    the same sign on the whole interval, the end at which Z is least.

    Newton's step is taken where it stays inside the current bracket and the last step has at least
    halved the bracket or |Z'|; otherwise the bracket is halved.

    **Convergence.** The bracket [low, high] always has Z'(low) <= 0 <= Z'(high), so it holds the
    minimum, and it never grows. Suppose that the iteration went on for ever. Every step that is
    not Newton's halves the bracket, so if there are infinitely many of these the width tends to 0
    and the iterates tend to the minimum. If there are finitely many, then from some step on each
    step halves the bracket or |Z'|: again the width tends to 0, or Z' tends to 0, which on a
    compact interval means that the iterates tend to the only point where it is 0. In both cases
    the relative change falls below the accuracy after finitely many steps. Near the minimum Z'' is
    bounded away from 0 and Z''' is bounded, so Newton's steps converge quadratically there and
    are accepted. (In floating point 200 steps are the most: after so many halvings the bracket has
    no more numbers inside.)

    Parameters
    ----------
    moments : function
        Z, Z' and Z'' at c.
    largest : float
        The largest step to consider.

    Examples
    --------
    >>> import math
    >>> def moments(c):  # W- = 0.6, W+ = 0.2
    ...     down, up = 0.6 * math.exp(-c), 0.2 * math.exp(c)
    ...     return Moments(0.2 + down + up, up - down, up + down)
    >>> round(best_step(moments, 10.0), 6) == round(0.5 * math.log(0.6 / 0.2), 6)
    True
    """
    low, high = -largest, largest
    c, last_slope, last_width = 0.0, math.inf, math.inf
    for _ in range(_MOST_STEPS):
        _, slope, curvature = moments(c)
        if slope == 0.0:
            return c
        low, high = (c, high) if slope < 0 else (low, c)
        width = high - low
        step = c - slope / curvature if curvature > 0 else math.nan
        halved = width <= 0.5 * last_width or abs(slope) <= 0.5 * last_slope
        if not (low < step < high and halved):
            step = 0.5 * (low + high)
        last_slope, last_width = abs(slope), width
        if abs(step - c) <= _ACCURACY * max(1.0, abs(c)) or width <= _ACCURACY * largest:
            return step
        c = step
    return c
