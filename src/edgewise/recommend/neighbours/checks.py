"""Checks of the parameters that neighbourhood models share."""

from numbers import Real
from typing import Any

from edgewise.validation import integer


def non_negative(name: str, value: Any) -> float:
    """Return `value` as a finite float of at least 0, or raise."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number of at least 0, got {value!r}")
    number = float(value)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    return number


def threads(value: Any) -> None:
    """Raise unless `value` is a number of threads: None, or an integer other than 0."""
    if value is not None and integer("n_jobs", value, -(10**6)) == 0:
        raise ValueError("n_jobs must not be 0: use 1 for one thread, -1 for all cores")
