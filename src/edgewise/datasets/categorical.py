"""Delimited text with categorical columns, read into a pandas data frame.

The format is that of C4.5, in which the UCI repository has most of its sets: a row a line, ``?``
for a missing value, ``|`` before a comment, and a full stop that may end a row.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL
from edgewise.datasets.dataset import Features
from edgewise.datasets.formats import Table

_MISSING: Final = "?"
_COMMENT: Final = "|"


def require_pandas(name: str) -> None:
    """Raise an ImportError that says which data set needs pandas, where it is not installed."""
    try:
        _pandas()
    except ImportError as error:
        raise ImportError(
            f"name={name!r} has categorical columns and is returned as a pandas DataFrame; "
            'install pandas (pip install "edgewise[frames]")'
        ) from error


def mixed(
    *contents: bytes,
    columns: Sequence[str],
    numeric: Collection[str] = (),
    class_first: bool = False,
    delimiter: str | None = ",",
) -> Table:
    r"""Read rows with categorical columns, the class last or first.

    Parameters
    ----------
    *contents : bytes
        Files whose rows follow each other. Files of one set are read together, so that a column
        has the same categories in all of them.
    columns : sequence of str
        Names of the columns, without the class.
    numeric : collection of str, default=()
        The columns that hold numbers; the others are categorical.
    class_first : bool, default=False
        Whether the class is the first value of a row rather than the last.
    delimiter : str or None, default=","
        What stands between values; None for white space.

    Returns
    -------
    Table
        ``X`` is a data frame: categorical columns of type ``category`` with sorted categories, the
        others ``float64``, NaN for ``?``. ``y`` holds integers if all classes are, else words.

    Raises
    ------
    ValueError
        If a row has more or fewer values than there are columns, or no number where one should be.

    Examples
    --------
    >>> table = mixed(b"red,2,yes\nblue,?,no\n", columns=["colour", "size"], numeric=["size"])
    >>> table.X
      colour  size
    0    red   2.0
    1   blue   NaN
    >>> table.y
    array(['yes', 'no'], dtype='<U3')
    """
    rows = [
        line.split(delimiter)
        for content in contents
        for line in content.decode("ascii").splitlines()
        if line.strip() and not line.startswith(_COMMENT)
    ]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(columns) + 1:
            raise ValueError(
                f"row {number} has {len(row)} values for {len(columns)} columns and the class"
            )
    cells = list(zip(*rows, strict=True)) or [()] * (len(columns) + 1)
    classes = cells.pop(0 if class_first else -1)
    data = {
        name: _reals(cell, name) if name in numeric else _categories(cell)
        for name, cell in zip(columns, cells, strict=True)
    }
    return Table(_pandas().DataFrame(data), _classes(classes))


def n_categorical(X: Features) -> int:
    """Count the columns that hold categories."""
    frame: Any = X
    return frame.select_dtypes("category").shape[1] if hasattr(frame, "select_dtypes") else 0


def _pandas() -> Any:
    """Import pandas when it is first needed: it is an optional dependency."""
    import pandas

    return pandas


def _reals(cells: Sequence[str], name: str) -> NDArray[np.float64]:
    try:
        values = (np.nan if cell.strip() == _MISSING else float(cell) for cell in cells)
        return np.fromiter(values, REAL, len(cells))
    except ValueError as error:
        raise ValueError(f"column {name!r} must hold numbers: {error}") from error


def _categories(cells: Sequence[str]) -> Any:
    # Only the few different values are looked at one by one: Connect-4 has three million cells.
    words = {cell: cell.strip() for cell in set(cells)}
    categories = sorted(set(words.values()) - {_MISSING})
    place = {word: code for code, word in enumerate(categories)}
    codes = {cell: place.get(word, -1) for cell, word in words.items()}
    return _pandas().Categorical.from_codes([codes[cell] for cell in cells], categories)


def _classes(cells: Sequence[str]) -> NDArray[Any]:
    words = [cell.strip().removesuffix(".") for cell in cells]
    if words and all(word.isdigit() for word in words):
        return np.array(words, dtype=np.int64)
    return np.array(words, dtype=str)
