"""Recommended lists written one after another."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import flag
from edgewise.common.dtypes import Exacts, Reals

ItemLists: TypeAlias = Any
"""Lists of item indices: a sequence of sequences of any lengths, or a 2-D integer array."""


@dataclass(frozen=True, eq=False)
class Recommended:
    """The items of all lists, one list after another, and how many each list has."""

    items: NDArray[np.intp]
    sizes: Exacts

    @property
    def starts(self) -> Exacts:
        """The place of each list's first item, and the end of the last."""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.sizes)])


def recommended(lists: ItemLists, n_items: int) -> Recommended:
    """Return lists of indices below `n_items` one after another, or raise.

    Examples
    --------
    >>> found = recommended([[3, 1], [], [2]], n_items=4)
    >>> found.items.tolist(), found.sizes.tolist()
    ([3, 1, 2], [2, 0, 1])
    """
    if isinstance(lists, np.ndarray) and lists.ndim == 2:
        sizes = np.full(len(lists), lists.shape[1], dtype=np.int64)
        items = _indices(lists.ravel())
    else:
        try:
            parts = [_indices(part) for part in lists]
        except TypeError as error:
            raise TypeError(f"lists must be lists of item indices: {error}") from None
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        items = np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)
    if len(items) == 0:
        raise ValueError("lists must recommend at least one item, got none")
    wrong = (items < 0) | (items >= n_items)
    if wrong.any():
        raise ValueError(
            f"lists must hold item indices from 0 to {n_items - 1}, got {items[wrong][0]}"
        )
    return Recommended(items, sizes)


def _indices(part: ArrayLike) -> NDArray[np.intp]:
    array = np.asarray(part)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"got {part!r} for one of them")
    return array.astype(np.intp)


def over_lists(values: Reals, defined: NDArray[np.bool_], per_list: bool) -> float | Reals:
    """Return the value of each list, NaN where it has none, or their mean over the others.

    Examples
    --------
    >>> over_lists(np.array([0.5, 0.0]), np.array([True, False]), per_list=False)
    0.5
    """
    if flag("per_list", per_list):
        return np.where(defined, values, np.nan)
    return float(values[defined].mean())
