"""Rewards of columns for searches that learn: numbers between 0 and 1, from edges."""

from collections.abc import Callable

import numpy as np

from edgewise.common.dtypes import Reals


def root(shares: Reals) -> Reals:
    """Return 1 - sqrt(1 - edge^2): decrease of the error bound (Kégl and Busa-Fekete 2009b)."""
    return 1.0 - np.sqrt(1.0 - np.clip(shares, 0.0, 1.0) ** 2)


def log(shares: Reals) -> Reals:
    """Return ``-1/2 ln(1 - edge^2)``, at most 1: the decrease of the logarithm of the bound."""
    with np.errstate(divide="ignore"):
        return np.minimum(-0.5 * np.log1p(-(np.clip(shares, 0.0, 1.0) ** 2)), 1.0) + 0.0


def relative(shares: Reals) -> Reals:
    """Return `root` as a share of the best of the pull: edges of all columns shrink in training."""
    rewards = np.nan_to_num(root(shares))
    best = rewards.max(initial=0.0)
    return rewards / best if best > 0.0 else rewards


REWARDS: dict[str, Callable[[Reals], Reals]] = {"root": root, "log": log, "relative": relative}
"""The rewards by their names."""
