"""Checks of the parameters that factorisations share."""

import math
from numbers import Real
from typing import Any

from edgewise.validation import integer


def not_negative(name: str, value: Any) -> float:
    """Return `value` as a finite float of at least 0, or raise.

    Examples
    --------
    >>> not_negative("regularization", 0)
    0.0
    >>> not_negative("regularization", -1)
    Traceback (most recent call last):
        ...
    ValueError: regularization must be a number of at least 0, got -1
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number of at least 0, got {value!r}")
    number = float(value)
    if not (number >= 0 and math.isfinite(number)):
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    return number


def check_common(model: Any) -> None:
    """Raise if a parameter is wrong that factorisations share, as far as the model has it."""
    integer("n_factors", model.n_factors, 1)
    if getattr(model, "n_epochs", None) is not None:
        integer("n_epochs", model.n_epochs, 1)
    verbose = getattr(model, "verbose", 0)
    integer("verbose", int(verbose) if verbose in (True, False) else verbose, 0)
    n_jobs = getattr(model, "n_jobs", None)
    if n_jobs is not None and integer("n_jobs", n_jobs, -(10**6)) == 0:
        raise ValueError("n_jobs must not be 0: use 1 for one thread, -1 for all cores")
