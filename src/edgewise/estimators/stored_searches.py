"""What searches have learned, to files and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.estimators.stored_parts import strings
from edgewise.model.stored import checked_array

States = list[dict[str, NDArray]]
"""The state of the search of each simple learner, as arrays by name."""

# More than any model has columns, image filters included.
_MOST_NUMBERS = 20_000_000
_MOST_SEARCHES = 10_000


def search_parts(states: States) -> tuple[list[list[str]], dict[str, NDArray]]:
    """Return the names of the arrays of each search, for the header, and the arrays."""
    arrays = {
        _key(i, name): _plain(values)
        for i, state in enumerate(states)
        for name, values in state.items()
    }
    return [sorted(state) for state in states], arrays


def read_searches(saved: Any, arrays: dict[str, NDArray]) -> States:
    """Return what `search_parts` took, or raise if it is damaged."""
    if not isinstance(saved, list) or len(saved) > _MOST_SEARCHES:
        raise ValueError("the states of the searches are damaged")
    return [
        {name: _checked(arrays[_key(i, name)]) for name in strings(names)}
        for i, names in enumerate(saved)
    ]


def _key(i: int, name: str) -> str:
    return f"search_{i}_{name}"


def _plain(values: Any) -> NDArray:
    """Return whole numbers as int64, others as float64."""
    array = np.asarray(values)
    return np.atleast_1d(array).astype(np.float64 if array.dtype.kind == "f" else np.int64)


def _checked(array: NDArray) -> NDArray:
    dtype = np.float64 if array.dtype == np.float64 else np.int64
    if array.size > _MOST_NUMBERS:
        raise ValueError("the state of a search is longer than any can be")
    return checked_array(array, dtype, (None,))
