"""Readers of the publishers' formats: delimited text, IDX, and dense and sparse ARFF."""

import io
import math
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import REAL
from edgewise.datasets.dataset import Features

_IDX_UINT8: Final = 0x08
_ATTRIBUTE: Final = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)
_NUMBER_TYPES: Final = frozenset({"numeric", "real", "integer"})


@dataclass(frozen=True)
class Table:
    """Rows with their labels, and the names of both where the file has them."""

    X: Features
    y: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()

    def part(self, rows: slice) -> "Table":
        """Return some of the rows, numbered from 0 where `X` is a data frame."""
        frame: Any = self.X
        X = frame.iloc[rows].reset_index(drop=True) if hasattr(frame, "iloc") else frame[rows]
        return Table(X, self.y[rows], self.feature_names, self.label_names)


def numbers(content: bytes, *, delimiter: str | None = None) -> NDArray[np.float64]:
    r"""Read lines of numbers; `delimiter` None means any white space.

    Examples
    --------
    >>> numbers(b"1,2\n3,4\n", delimiter=",")
    array([[1., 2.], [3., 4.]])
    """
    return np.loadtxt(io.BytesIO(content), delimiter=delimiter, comments=None, ndmin=2, dtype=REAL)


def class_last(content: bytes, *, delimiter: str | None = ",") -> Table:
    r"""Read numbers whose last column is an integer class.

    Examples
    --------
    >>> class_last(b"0.5,0.25,7\n").y
    array([7])
    """
    rows = numbers(content, delimiter=delimiter)
    return Table(np.ascontiguousarray(rows[:, :-1]), _integers(rows[:, -1]))


def class_first(content: bytes, *, delimiter: str | None = None) -> Table:
    r"""Read numbers whose first column is an integer class.

    Examples
    --------
    >>> class_first(b"7.0000 0.5 0.25\n").X
    array([[0.5 , 0.25]])
    """
    rows = numbers(content, delimiter=delimiter)
    return Table(np.ascontiguousarray(rows[:, 1:]), _integers(rows[:, 0]))


def letter_first(content: bytes) -> Table:
    r"""Read comma-separated numbers after a one-character class.

    Examples
    --------
    >>> letter_first(b"T,2,8\nI,5,12\n").y
    array(['T', 'I'], dtype='<U1')
    """
    lines = content.split()
    y = np.array([line[:1].decode("ascii") for line in lines], dtype="U1")
    return Table(numbers(b"\n".join(line[2:] for line in lines), delimiter=","), y)


def word_last(content: bytes) -> Table:
    r"""Read comma-separated numbers before a class that is a word.

    Examples
    --------
    >>> word_last(b"0.5,1,good\n0.25,0,bad\n").y
    array(['good', 'bad'], dtype='<U4')
    """
    parts = [line.rpartition(b",") for line in content.split()]
    y = np.array([word.decode("ascii") for _, _, word in parts])
    return Table(numbers(b"\n".join(row for row, _, _ in parts), delimiter=","), y)


def idx(content: bytes) -> NDArray[np.uint8]:
    r"""Read an IDX array of unsigned bytes.

    Examples
    --------
    >>> idx(b"\0\0\x08\x01" + b"\0\0\0\x02" + b"\x05\x07")
    array([5, 7], dtype=uint8)
    """
    if len(content) < 4 or content[:2] != b"\0\0":
        raise ValueError("not an IDX file: it does not begin with two zero bytes")
    kind, n_dims = content[2], content[3]
    if kind != _IDX_UINT8:
        raise ValueError(f"IDX element type {kind:#04x} is not read here, only unsigned bytes")
    start = 4 + 4 * n_dims
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
    if len(shape) != n_dims or len(content) - start != math.prod(shape):
        raise ValueError(f"IDX header promises {shape}, but {len(content) - start} bytes follow")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape).copy()


def idx_pair(images: bytes, labels: bytes) -> Table:
    """Read IDX images, flattened row by row, and their IDX labels."""
    pixels = idx(images)
    return Table(pixels.reshape(len(pixels), -1), idx(labels).astype(np.int64))


def arff(content: bytes, *, n_labels: int) -> Table:
    r"""Read a dense or sparse ARFF file whose last `n_labels` attributes are 0/1 labels.

    Sparse rows give a CSR matrix. Attributes must be numeric or have numbers as values;
    ``?`` becomes NaN.

    Examples
    --------
    >>> text = b"@relation r\n@attribute a numeric\n@attribute b {0,1}\n@data\n"
    >>> arff(text + b"0.5,1\n", n_labels=1).y
    array([[1]], dtype=int8)
    >>> arff(text + b"{1 1}\n{0 2}\n", n_labels=1).X.toarray()
    array([[0.], [2.]])
    """
    header, body = _arff_parts(content)
    names = _arff_names(header)
    if not 0 < n_labels < len(names):
        raise ValueError(f"n_labels={n_labels} with {len(names)} attributes leaves no columns")
    if body and body[0].startswith(b"{"):
        rows = _sparse_rows(body, len(names))
        X, labels = rows[:, :-n_labels], rows[:, -n_labels:].toarray()
    else:
        dense = _dense_rows(body, len(names))
        X, labels = np.ascontiguousarray(dense[:, :-n_labels]), dense[:, -n_labels:]
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("ARFF labels must be 0 or 1")
    return Table(X, labels.astype(np.int8), names[:-n_labels], names[-n_labels:])


def _integers(column: NDArray[np.float64]) -> NDArray[np.int64]:
    codes = column.astype(np.int64)
    if not np.array_equal(codes, column):
        raise ValueError("the class column holds values that are not integers")
    return codes


def _arff_parts(content: bytes) -> tuple[list[str], list[bytes]]:
    """Split into declarations and rows, without comments and blank lines."""
    lines = [line.strip() for line in content.splitlines()]
    lines = [line for line in lines if line and not line.startswith(b"%")]
    for at, line in enumerate(lines):
        if line.lower() == b"@data":
            return [text.decode("utf-8") for text in lines[:at]], lines[at + 1 :]
    raise ValueError("not an ARFF file: no @data line")


def _arff_names(header: list[str]) -> tuple[str, ...]:
    names = []
    for line in header:
        match = _ATTRIBUTE.fullmatch(line)
        if match is None:
            continue
        name, kind = match.group(1).strip("'\""), match.group(2).strip()
        if kind.lower() not in _NUMBER_TYPES and not _has_number_values(kind):
            raise ValueError(f"ARFF attribute {name!r} has type {kind!r}; only numbers are read")
        names.append(name)
    return tuple(names)


def _has_number_values(kind: str) -> bool:
    values = kind.removeprefix("{").removesuffix("}").split(",")
    try:
        return kind.startswith("{") and all(math.isfinite(float(value)) for value in values)
    except ValueError:
        return False


def _dense_rows(lines: list[bytes], n_columns: int) -> NDArray[np.float64]:
    if not lines:
        return np.empty((0, n_columns), dtype=REAL)
    rows = numbers(b"\n".join(lines).replace(b"?", b"nan"), delimiter=",")
    if rows.shape[1] != n_columns:
        raise ValueError(f"ARFF rows have {rows.shape[1]} values for {n_columns} attributes")
    return rows


def _sparse_rows(lines: list[bytes], n_columns: int) -> sparse.csr_matrix:
    """Parse all ``{column value, ...}`` rows at once: one split, one conversion."""
    bare = [line.strip(b"{} ") for line in lines]
    counts = [line.count(b",") + 1 if line else 0 for line in bare]
    tokens = b" ".join(bare).replace(b",", b" ").split()
    if len(tokens) != 2 * sum(counts):
        raise ValueError("sparse ARFF rows must be lists of 'column value' pairs")
    columns = np.array(tokens[::2], dtype="S").astype(np.int32)
    values = np.array(tokens[1::2], dtype="S").astype(REAL)
    if columns.size and not 0 <= columns.min() <= columns.max() < n_columns:
        raise ValueError(f"sparse ARFF column {columns.max()} with {n_columns} attributes")
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    rows = sparse.csr_matrix((values, columns, starts), shape=(len(lines), n_columns))
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows
