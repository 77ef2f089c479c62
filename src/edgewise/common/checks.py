"""Checks of arguments: errors name the argument, what is allowed and what it was."""

import math
from collections.abc import Callable, Collection, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL, SIGN, Reals, Signs

Values: TypeAlias = NDArray[Any] | Sequence[float]
"""An array-like that is not a scalar."""


class ArgumentError(ValueError):
    """A wrong argument, in parts: a command line has another name for it."""

    def __init__(self, argument: str, value: object, problem: str) -> None:
        super().__init__(f"{argument}={value!r} {problem}")
        self.argument, self.value, self.problem = argument, value, problem


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int between `low` and `high`, or raise."""
    span = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {span}, got {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be {span}, got {value!r}")
    return number


def power_of_two(name: str, value: Any) -> int:
    """Return `value` as a power of two, or raise."""
    number = integer(name, value, 1)
    if number & (number - 1):
        raise ValueError(f"{name} must be a power of two (1, 2, 4, ...), got {value!r}")
    return number


def positive(name: str, value: Any, below: float = math.inf) -> float:
    """Return `value` as a finite float above 0 and below `below`, or raise."""
    span = "a positive number" if below == math.inf else f"a number above 0 and below {below:g}"
    return _number(name, value, span, lambda number: 0 < number < below)


def up_to_one(name: str, value: Any) -> float:
    """Return `value` as a float above 0 and at most 1, or raise."""
    return _number(name, value, "a number above 0 and at most 1", lambda number: 0 < number <= 1)


def between(name: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float from `low` to `high`, or raise."""
    span = f"a number from {low:g} to {high:g}"
    return _number(name, value, span, lambda number: low <= number <= high)


def not_negative(name: str, value: Any) -> float:
    """Return `value` as a finite float of at least 0, or raise."""
    return _number(name, value, "a number of at least 0", lambda number: 0 <= number < math.inf)


def _number(name: str, value: Any, span: str, lies_within: Callable[[float], bool]) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {span}, got {value!r}")
    number = float(value)
    if not lies_within(number):
        raise ValueError(f"{name} must be {span}, got {value!r}")
    return number


def threads(name: str, value: Any) -> int | None:
    """Return `value` if it can be `n_jobs`: None or an integer but 0, or raise."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be None or an integer other than 0, got {value!r}")
    if value == 0:
        raise ValueError(f"{name} must not be 0: use 1 for one thread, -1 for all cores")
    return int(value)


def verbosity(name: str, value: Any) -> int:
    """Return `value` if it can be `verbose`: an integer of at least 0 or a bool, or raise."""
    return integer(name, int(value) if value in (True, False) else value, 0)


def one_of(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`, or raise with the list of them."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return `value` as a bool, or raise."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def numbers(
    name: str, values: Any, n: int | None = None, of: str = "rows", ndim: int | None = 1
) -> Reals:
    """Return `values` as a float64 array, one for each of `n` things (called `of`), or raise."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{name} must hold real numbers, got an array of {array.dtype}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of shape {array.shape}")
    if n is not None and len(array) != n:
        raise ValueError(f"{name} must have a value for each of the {n} {of}, got {len(array)}")
    if array.dtype.kind == "O" and any(isinstance(value, (str, bytes)) for value in array.flat):
        raise TypeError(f"{name} must hold real numbers, got strings")
    try:
        return array.astype(REAL, copy=False)
    except OverflowError:
        raise ValueError(f"{name} holds a number that is too large") from None
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold real numbers: {error}") from None


def finite_numbers(name: str, values: Any, n: int | None = None, of: str = "rows") -> Reals:
    """Return `values` as a 1-D float64 array of one or more finite numbers; see `numbers`."""
    array = numbers(name, values, n, of)
    if len(array) == 0:
        raise ValueError(f"{name} must hold at least one number, got an empty array")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, got NaN or infinity")
    return array


def reals(name: str, values: Any, ndim: tuple[int, ...] | None = None) -> Reals:
    """Return `values` as a finite float64 array with one of the numbers of dimensions `ndim`."""
    try:
        array = np.asarray(values, dtype=REAL)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must be an array of real numbers: {error}") from None
    if ndim is not None and array.ndim not in ndim:
        allowed = " or ".join(f"{k}-D" for k in ndim)
        raise ValueError(f"{name} must be {allowed}, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return array


def signs(name: str, values: Any, ndim: int, *, zero: bool = False) -> Signs:
    """Return `values` as an int8 array of -1 and +1 (and 0, where `zero` allows it)."""
    array = reals(name, values, ndim=(ndim,))
    allowed = (-1, 0, 1) if zero else (-1, 1)
    if not np.isin(array, allowed).all():
        wrong = array[~np.isin(array, allowed)][0]
        raise ValueError(f"{name} must hold only {allowed}, got {wrong:g}")
    return array.astype(SIGN)


def generator(random_state: Any) -> "np.random.Generator":
    """Return the source of random draws that `random_state` stands for, or raise."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    seed = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if random_state is not None and not (seed and random_state >= 0):
        raise ValueError(
            "random_state must be None, an integer of at least 0, a RandomState or a Generator, "
            f"got {random_state!r}"
        )
    return np.random.default_rng(None if random_state is None else int(random_state))


def seed(random_state: Any) -> int:
    """Return the seed that scikit-learn's `random_state` stands for, or raise."""
    # Imported late: scikit-learn is slow to load.
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31))
    except (TypeError, ValueError) as error:
        raise ValueError(f"random_state must be an int, a RandomState or None: {error}") from error
