"""Readers of the publishers' formats: delimited text, flights, IDX and ARFF."""

import io
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import REAL
from edgewise.datasets.files import numbers
from edgewise.io.arff import parse_arff

if TYPE_CHECKING:
    import pandas

# Pandas is an optional dependency, so its name stays in quotes.
Features: TypeAlias = "NDArray[Any] | sparse.csr_matrix | pandas.DataFrame"

_IDX_UINT8: Final = 0x08
_DELAY: Final = "arr_delay"
_LATE_MINUTES: Final = 15


@dataclass(frozen=True)
class LabeledTable:
    """Rows and their classes or labels, with names of columns and labels if the file has them."""

    X: Features
    y: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()

    def take(self, rows: slice) -> "LabeledTable":
        """Return some rows; a data frame numbers them from 0."""
        frame: Any = self.X
        X = frame.iloc[rows].reset_index(drop=True) if hasattr(frame, "iloc") else frame[rows]
        return LabeledTable(X, self.y[rows], self.feature_names, self.label_names)


def read_numbers(
    content: bytes, *, delimiter: str | None = ",", class_first: bool = False
) -> LabeledTable:
    """Read rows of numbers and a class, which is an integer or a string."""
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    mark = None if delimiter is None else delimiter.encode()
    if class_first:
        pairs = [line.split(mark, 1)[::-1] for line in lines]
    else:
        pairs = [line.rsplit(mark, 1) for line in lines]
    if any(len(pair) < 2 for pair in pairs):
        raise ValueError("every row must have one or more columns and a class")
    X = numbers([row for row, _ in pairs], delimiter)
    return LabeledTable(X, _classes([label.decode("ascii") for _, label in pairs]))


def read_mixed(
    contents: Sequence[bytes],
    *,
    columns: Sequence[str],
    numeric: Collection[str] = (),
    class_first: bool = False,
    delimiter: str | None = ",",
) -> LabeledTable:
    r"""Read rows with categorical columns in the format of C4.5 into a pandas data frame.

    ``?`` is a missing value, ``|`` begins a comment, and a full stop may end a row. Files are read
    together so that a column has the same sorted categories in all of them.
    """
    import pandas

    lines = [line for content in contents for line in content.decode("ascii").splitlines()]
    rows = [line.split(delimiter) for line in lines if line.strip() and not line.startswith("|")]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(columns) + 1:
            raise ValueError(
                f"row {number} has {len(row)} values for {len(columns)} columns and the class"
            )
    cells = list(zip(*rows, strict=True)) or [()] * (len(columns) + 1)
    classes = cells.pop(0 if class_first else -1)
    frame = {}
    for name, column in zip(columns, cells, strict=True):
        values = [None if cell.strip() == "?" else cell.strip() for cell in column]
        try:
            frame[name] = np.array(values, REAL) if name in numeric else pandas.Categorical(values)
        except ValueError as error:
            raise ValueError(f"column {name!r} must hold numbers: {error}") from error
    return LabeledTable(pandas.DataFrame(frame), _classes(classes))


def read_flights(
    content: bytes, *, columns: Sequence[str], numeric: Collection[str]
) -> LabeledTable:
    """Read flights and whether they arrive late, by more than 15 minutes.

    Flights that never arrived have no class and are left out.
    """
    import pandas

    kinds = {name: REAL if name in numeric else str for name in columns} | {_DELAY: REAL}
    table = pandas.read_csv(io.BytesIO(content), usecols=list(kinds), dtype=kinds)
    table = table[table[_DELAY].notna()]
    frame = {
        name: table[name].to_numpy() if name in numeric else pandas.Categorical(table[name])
        for name in columns
    }
    is_late = table[_DELAY].to_numpy() > _LATE_MINUTES
    return LabeledTable(pandas.DataFrame(frame), np.where(is_late, "late", "on time"))


def read_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an IDX array of unsigned bytes."""
    if len(content) < 4 or content[:2] != b"\0\0":
        raise ValueError("not an IDX file: it does not begin with two zero bytes")
    kind, n_dims = content[2], content[3]
    if kind != _IDX_UINT8:
        raise ValueError(f"IDX element type {kind:#04x} is not supported, only unsigned bytes")
    start = 4 + 4 * n_dims
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
    if len(shape) != n_dims or len(content) - start != math.prod(shape):
        raise ValueError(f"IDX header promises {shape}, but {len(content) - start} bytes follow")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape).copy()


def read_idx_pair(images: bytes, labels: bytes) -> LabeledTable:
    """Read IDX images, flattened row by row, and their IDX labels."""
    pixels = read_idx(images)
    return LabeledTable(pixels.reshape(len(pixels), -1), read_idx(labels).astype(np.int64))


def read_arff(content: bytes, *, n_labels: int) -> LabeledTable:
    r"""Read a dense or sparse ARFF file whose last `n_labels` attributes are 0/1 labels.

    Sparse rows become a CSR matrix; ``?`` becomes NaN.
    """
    try:
        data = parse_arff(content)
        names = tuple(data.names)
        table: Any = (
            _sparse_rows(data.rows, len(names))
            if data.is_sparse
            else (np.array(data.rows, dtype=REAL).reshape(len(data.rows), len(names)))
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"not an ARFF file of numbers: {error}") from error
    if not 0 < n_labels < len(names):
        raise ValueError(f"n_labels={n_labels} with {len(names)} attributes leaves no columns")
    X, labels = table[:, :-n_labels], table[:, -n_labels:]
    if data.is_sparse:
        labels = labels.toarray()
    else:
        X = np.ascontiguousarray(X)
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("ARFF labels must be 0 or 1")
    return LabeledTable(X, labels.astype(np.int8), names[:-n_labels], names[-n_labels:])


def n_categorical(X: Features) -> int:
    """Return the number of categorical columns."""
    frame: Any = X
    return frame.select_dtypes("category").shape[1] if hasattr(frame, "select_dtypes") else 0


def _sparse_rows(rows: list[dict[int, Any]], n_columns: int) -> sparse.csr_matrix:
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    values = np.array([value for row in rows for value in row.values()], dtype=REAL)
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    table = sparse.csr_matrix((values, columns, starts), shape=(len(rows), n_columns))
    table.eliminate_zeros()
    table.sort_indices()
    return table


def _classes(cells: Sequence[str]) -> NDArray[Any]:
    """Return classes as integers if all are numbers, otherwise as strings."""
    labels = [cell.strip().removesuffix(".") for cell in cells]
    try:
        values = np.array(labels, dtype=REAL)
    except ValueError:
        return np.array(labels, dtype=str)
    codes = values.astype(np.int64)
    if not np.array_equal(codes, values):
        raise ValueError("the class column holds values that are not integers")
    return codes
