"""What experts may say: labels, and their codes 0, 1, ..."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]


def checked_labels(labels: Any) -> NDArray[Any]:
    """Return two or more different labels, all numbers or all strings, as an array, or raise.

    Examples
    --------
    >>> checked_labels((-1, 1))
    array([-1,  1])
    """
    wanted = "labels must be two or more different numbers, or strings"
    if isinstance(labels, str):
        raise TypeError(f"{wanted}, got {labels!r}")
    try:
        kinds = {isinstance(label, str) for label in labels}
        array = np.array(list(labels))
    except (TypeError, ValueError):
        raise TypeError(f"{wanted}, got {labels!r}") from None
    if len(kinds) > 1 or array.dtype.kind not in "iufU":
        raise TypeError(f"{wanted}, got {labels!r}")
    if array.ndim != 1 or len(array) < 2 or len(np.unique(array)) < len(array):
        raise ValueError(f"{wanted}, got {labels!r}")
    return array


def coded(name: str, values: Any, labels: NDArray[Any], ndim: int) -> Codes:
    """Return the place of each value among `labels`, or raise.

    Examples
    --------
    >>> coded("advice", ["no", "yes", "no"], checked_labels(["yes", "no"]), ndim=1)
    array([1, 0, 1])
    """
    array = _plain(values)
    listed = ", ".join(map(repr, labels.tolist()))
    if array.ndim != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of shape {array.shape}")
    words = labels.dtype.kind == "U"
    if array.size and (array.dtype.kind not in ("U" if words else "biuf")):
        raise TypeError(f"{name} must hold only {listed}, got an array of {array.dtype}")
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.intp)
    order = np.argsort(labels)
    codes = order[np.minimum(np.searchsorted(labels[order], array), len(labels) - 1)]
    wrong = labels[codes] != array
    if wrong.any():
        raise ValueError(f"{name} must hold only {listed}, got {array[wrong][0].item()!r}")
    return codes


def _plain(values: Any) -> NDArray[Any]:
    """Return an array; one of objects that are all strings, as frames have them, as strings."""
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.flat):
        return array.astype(np.str_)
    return array
