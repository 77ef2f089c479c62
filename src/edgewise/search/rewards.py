"""Rewards of columns for searches that learn: numbers between 0 and 1, from edges."""

from collections.abc import Callable

import numpy as np

from edgewise.common.dtypes import Reals


def root(shares: Reals) -> Reals:
    """Return ``1 - sqrt(1 - edge^2)``: the decrease of the bound on the error.

    Kégl and Busa-Fekete 2009b.

    Parameters
    ----------
    shares : float64 array
        Edges as shares of the weight, clipped to [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> root(np.array([0.0, 0.6, 1.0]))
    array([0. , 0.2, 1. ])
    """
    return 1.0 - np.sqrt(1.0 - _within(shares) ** 2)


def log(shares: Reals) -> Reals:
    """Return ``-1/2 ln(1 - edge^2)``, at most 1: the decrease of the logarithm of the bound.

    Examples
    --------
    >>> import numpy as np
    >>> log(np.array([0.0, 0.6, 1.0])).round(4)
    array([0.    , 0.2231, 1.    ])
    """
    with np.errstate(divide="ignore"):
        return np.minimum(-0.5 * np.log1p(-(_within(shares) ** 2)), 1.0) + 0.0


def relative(shares: Reals) -> Reals:
    """Return `root` as a share of the best of the pull, whose reward is 1.

    Edges shrink as boosting goes on, for all columns of a pull alike; division leaves how columns
    compare.

    Examples
    --------
    >>> import numpy as np
    >>> relative(np.array([0.0, 0.28, 0.6]))
    array([0. , 0.2, 1. ])
    """
    rewards = np.nan_to_num(root(shares))
    best = rewards.max(initial=0.0)
    return rewards / best if best > 0.0 else rewards


def _within(shares: Reals) -> Reals:
    return np.clip(shares, 0.0, 1.0)


REWARDS: dict[str, Callable[[Reals], Reals]] = {"root": root, "log": log, "relative": relative}
"""The rewards by their names."""
