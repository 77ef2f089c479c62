"""Ids, matrices and names of lists as they come, turned into what has been checked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL, Reals
from edgewise.common.ids import is_missing
from edgewise.data.table import is_frame


def as_ids(values: Any, name: str, n_rows: int | None = None) -> NDArray[Any]:
    """Return ids, one a row, as an array of integers or of strings, or raise.

    Examples
    --------
    >>> as_ids(["q1", "q2"], "qid")
    array(['q1', 'q2'], dtype='<U2')
    >>> as_ids([1.0, 2.0], "qid")
    array([1, 2])
    >>> as_ids([1.0, float("nan")], "qid")
    Traceback (most recent call last):
        ...
    ValueError: qid must not have missing values, got one in row 1
    """
    # A list of words and NaN would become the words "a" and "nan".
    array = np.array(values, dtype=object) if isinstance(values, (list, tuple)) else values
    array = np.asarray(array)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {array.shape}")
    if n_rows is not None and len(array) != n_rows:
        raise ValueError(f"{name} must have one id a row, {n_rows}, got {len(array)}")
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind == "f":
        array = _from_floats(array, name)
    if array.dtype.kind in "iu":
        if len(array) and int(array.max()) > np.iinfo(np.int64).max:
            raise ValueError(f"{name} must hold 64-bit integers or strings, got {array.max()}")
        return array.astype(np.int64, copy=False)
    if array.dtype.kind in "UT":
        return array.astype(np.str_, copy=False)
    raise TypeError(f"{name} must hold integers or strings, got {array.dtype}")


def _from_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    items = array.tolist()
    for row, item in enumerate(items):
        if is_missing(item):
            raise ValueError(f"{name} must not have missing values, got one in row {row}")
    if not items:
        return np.array([], dtype=np.int64)
    if all(isinstance(item, str) for item in items):
        return np.array(items, dtype=np.str_)
    whole = (int, np.integer, float, np.floating)
    if all(isinstance(item, whole) and not isinstance(item, bool) for item in items):
        return np.array(items)
    kinds = ", ".join(sorted({type(item).__name__ for item in items}))
    raise TypeError(f"{name} must hold integers only or strings only, got {kinds}")


def _from_floats(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    missing = np.flatnonzero(np.isnan(array))
    if len(missing):
        raise ValueError(f"{name} must not have missing values, got one in row {missing[0]}")
    broken = array[array != np.floor(array)]
    if len(broken) or (len(array) and np.abs(array).max() >= 2.0**53):
        wrong = broken[0] if len(broken) else np.abs(array).max()
        raise ValueError(f"{name} must hold integers or strings, got {wrong}")
    return array.astype(np.int64)


def as_matrix(values: Any, name: str) -> tuple[Reals, tuple[str, ...]]:
    """Return a matrix of finite numbers and NaN, and the names of its columns if it is a frame.

    Examples
    --------
    >>> as_matrix([[1, None], [2, 3]], "X")
    (array([[ 1., nan],
           [ 2.,  3.]]), ())
    """
    names: tuple[str, ...] = ()
    if is_frame(values):
        import narwhals.stable.v1 as nw

        frame = nw.from_native(values, eager_only=True)
        names = tuple(str(column) for column in frame.columns)
        columns = [as_reals(frame[column], f"{name}[{column!r}]") for column in frame.columns]
        matrix = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    else:
        try:
            matrix = np.asarray(values, dtype=REAL)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must be a matrix of numbers: {error}") from None
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix of rows by lists, got an array of shape {matrix.shape}"
        )
    if not matrix.size:
        raise ValueError(f"{name} must not be empty, got the shape {matrix.shape}")
    if np.isinf(matrix).any():
        raise ValueError(f"{name} must be finite, or NaN where a list does not return a document")
    return matrix, names


def as_reals(series: Any, name: str) -> Reals:
    """Return a narwhals series of numbers as float64, missing values as NaN."""
    import narwhals.stable.v1 as nw

    try:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=REAL)
    except Exception as error:  # each library of frames has its own
        raise TypeError(f"{name} must hold numbers: {error}") from None


def matching_scores(scores: Any, positions: Reals) -> Reals:
    """Return scores that are NaN just where the positions are, or raise."""
    matrix, _ = as_matrix(scores, "scores")
    if matrix.shape != positions.shape:
        raise ValueError(
            f"scores must have the shape of positions, {positions.shape}, got {matrix.shape}"
        )
    differ = np.argwhere(np.isnan(matrix) != np.isnan(positions))
    if len(differ):
        row, column = differ[0]
        raise ValueError(
            "scores must be NaN just where positions are, "
            f"got {matrix[row, column]} and {positions[row, column]} in row {row}, list {column}"
        )
    return matrix


def check_docs(docs: NDArray[Any], qid: NDArray[Any], codes: NDArray[np.intp]) -> None:
    """Raise unless the documents are different within each query."""
    _, places = np.unique(docs, return_inverse=True)
    order = np.lexsort((places, codes))
    doc, query = places[order], codes[order]
    twice = np.flatnonzero((doc[1:] == doc[:-1]) & (query[1:] == query[:-1]))
    if len(twice):
        row = order[twice[0]]
        raise ValueError(
            f"docs must be different within a query, got {docs[row]} twice for query {qid[row]}"
        )


def as_names(
    names: Sequence[str] | None, columns: tuple[str, ...], n_lists: int
) -> tuple[str, ...]:
    """Return a name for each list, from a frame or made up where none are given, or raise."""
    if isinstance(names, str):
        raise TypeError(f"names must be a sequence of names, got the string {names!r}")
    found = () if names is None else tuple(str(name) for name in names)
    found = found or columns or tuple(f"list{j}" for j in range(n_lists))
    if len(found) != n_lists:
        raise ValueError(f"names must be one a list, {n_lists}, got {len(found)}")
    if len(set(found)) < n_lists:
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"names must be different, got {twice!r} twice")
    return found
