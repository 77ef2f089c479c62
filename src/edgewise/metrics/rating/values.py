"""True and predicted ratings side by side, checked, with what each of them counts."""

from typing import Any

import numpy as np

from edgewise.common.checks import numbers
from edgewise.common.dtypes import Reals


def finite(name: str, values: Any) -> Reals:
    """Return `values` as a 1-D float64 array of finite numbers, at least one of them, or raise."""
    array = numbers(name, values)
    if len(array) == 0:
        raise ValueError(f"{name} must hold at least one number, got an empty array")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, got NaN or infinity")
    return array


def compared(y: Any, predictions: Any) -> tuple[Reals, Reals]:
    """Return true and predicted ratings of equal length, or raise.

    Examples
    --------
    >>> compared([5, 3], [4.5, 2])
    (array([5., 3.]), array([4.5, 2. ]))
    """
    truth, guess = finite("y", y), finite("predictions", predictions)
    if len(truth) != len(guess):
        raise ValueError(
            f"predictions must have a value for each of the {len(truth)} ratings, got {len(guess)}"
        )
    return truth, guess


def mean(values: Reals, sample_weight: Any) -> float:
    """Return the mean of `values` under the sample weights (None: equal ones), or raise.

    Examples
    --------
    >>> mean(np.array([1.0, 4.0]), sample_weight=[2, 1])
    2.0
    """
    if sample_weight is None:
        return float(values.mean())
    weights = finite("sample_weight", sample_weight)
    if len(weights) != len(values):
        raise ValueError(
            f"sample_weight must have a weight for each of the {len(values)} ratings, "
            f"got {len(weights)}"
        )
    if (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must not be negative, nor 0 everywhere")
    return float(np.average(values, weights=weights))
