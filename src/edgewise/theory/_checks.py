"""Input checks shared by the theory functions: each error names its argument."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.dtypes import REAL, SIGN

Values: TypeAlias = NDArray[Any] | Sequence[float]
"""An array-like that is not a scalar: what the overloads answer with an array."""


def as_real(
    values: ArrayLike, name: str, ndim: tuple[int, ...] | None = None
) -> NDArray[np.float64]:
    """Return `values` as a finite float64 array with one of the dimensions `ndim`."""
    try:
        array = np.asarray(values, dtype=REAL)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of real numbers: {error}") from None
    if ndim is not None and array.ndim not in ndim:
        allowed = " or ".join(f"{k}-D" for k in ndim)
        raise ValueError(f"{name} must be {allowed}, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return array


def as_signs(values: ArrayLike, name: str, ndim: int, *, zero: bool = False) -> NDArray[np.int8]:
    """Return `values` as an int8 array of -1 and +1 (and 0, where `zero` allows it)."""
    array = as_real(values, name, ndim=(ndim,))
    allowed = (-1, 0, 1) if zero else (-1, 1)
    if not np.isin(array, allowed).all():
        wrong = array[~np.isin(array, allowed)][0]
        raise ValueError(f"{name} must hold only {allowed}, got {wrong:g}")
    return array.astype(SIGN)


def check_count(value: object, name: str, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def check_real(
    value: object,
    name: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return `value` as a float between `low` and `high`, each end open or closed."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    number = float(value)
    above = number > low if open_low else number >= low
    below = number < high if open_high else number <= high
    if not (above and below and math.isfinite(number)):
        left = "(" if open_low or math.isinf(low) else "["
        right = ")" if open_high or math.isinf(high) else "]"
        raise ValueError(f"{name} must lie in {left}{low:g}, {high:g}{right}, got {number:g}")
    return number


def check_delta(delta: object) -> float:
    """Return the probability that a bound fails, in (0, 1)."""
    return check_real(delta, "delta", 0.0, 1.0, open_low=True, open_high=True)
