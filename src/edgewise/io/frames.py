"""CSV and Parquet files as data frames, without the columns that are not features."""

import csv
import io
import warnings
import zlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import ArgumentError, one_of
from edgewise.common.files import PathLike, open_input, replace_file
from edgewise.common.lazy import import_optional
from edgewise.io.ranking import RankingData
from edgewise.io.tables import as_number, check_names

_LIBRARIES: Final = ("pandas", "polars")
_SUFFIXES: Final = (".csv", ".csv.gz", ".parquet")
# Below this share of words, a column of numbers has typing errors and no categories.
_FEW_WORDS: Final = 0.1
_INSTALL: Final = 'pip install "edgewise[frames]"'
# Columns that an error lists at most.
_LISTED: Final = 100
MISSING: Final = ("", "NA", "NaN", "nan", "NULL", "null")
"""Missing values in a CSV file, whichever library reads it."""


def read_table(
    path: PathLike,
    target: str | None = None,
    query: str | None = None,
    doc: str | None = None,
    library: str | None = None,
) -> RankingData:
    r"""Read a CSV or Parquet file with a header; columns keep their types.

    Columns of strings are categorical for the estimators. In a CSV file, empty cells, ``NA``,
    ``NaN``, ``nan``, ``NULL`` and ``null`` are missing values, and a column with a few words among
    its numbers is an error. Query ids and document ids become strings; grades keep their type.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in ``.csv``, ``.csv.gz`` or ``.parquet``.
    target, query, doc : str, default=None
        The columns with grades (or classes), query ids and document ids; ``X`` has the others.
    library : {"pandas", "polars"}, default=None
        The library of the data frame; with None, the first that is installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> _ = path.write_text("query,grade,color,price\n007,2,red,9.5\n007,0,blue,\n")
    >>> data = read_table(path, target="grade", query="query")
    >>> data.y, data.qid, list(data.X.columns)
    (array([2, 0]), array(['007', '007'], dtype='<U3'), ['color', 'price'])
    """
    kind = _kind(path)
    roles = {"target": target, "query": query, "doc": doc}
    named = [name for name in roles.values() if name is not None]
    if len(set(named)) < len(named):
        raise ValueError("target, query and doc must be different columns")
    frames = frame_library(library)
    import narwhals.stable.v1 as nw

    if kind == "parquet":
        table = nw.from_native(_read_parquet(path, frames), eager_only=True)
        _check(path, table.columns, roles)
    else:
        _check(path, _header(path), roles)
        texts = [name for name in (query, doc) if name is not None]
        table = nw.from_native(_read_csv(path, frames, texts), eager_only=True)
        for name in table.drop(texts).columns:
            _check_numbers(path, table[name], nw)
    if not len(table):
        raise ValueError(f"{path} is empty: it has a header and no rows")
    return RankingData(
        table.drop(named).to_native(),
        None if target is None else table[target].to_numpy(),
        None if query is None else _texts(path, "query", table[query], nw),
        None if doc is None else _texts(path, "doc", table[doc], nw),
    )


def write_table(path: PathLike, frame: Any) -> None:
    r"""Write a data frame as CSV or Parquet, without an index.

    Parameters
    ----------
    path : str or path-like
        Where to write; the name ends in ``.csv``, ``.csv.gz`` or ``.parquet``.
    frame : data frame
        A pandas, polars or Arrow table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from edgewise.io import write_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> write_table(path, pd.DataFrame({"color": ["red"], "price": [0.1]}))
    >>> path.read_text()
    'color,price\nred,0.1\n'
    """
    kind = _kind(path)
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise TypeError(f"frame must be a data frame, got {type(frame).__name__}") from error
    if kind == "parquet" and table.implementation.is_pandas():
        _require_pyarrow()
    with replace_file(path) as stream:
        if kind == "parquet":
            table.write_parquet(stream)
        else:
            stream.write(table.write_csv().encode())


def _kind(path: PathLike) -> str:
    name = Path(path).name.lower()
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return suffix.split(".")[1]
    raise ValueError(f"path must end in {', '.join(_SUFFIXES)}, got {str(path)!r}")


def frame_library(name: str | None) -> Any:
    """Import a library, or the first that is installed."""
    wanted = _LIBRARIES if name is None else (one_of("library", name, _LIBRARIES),)
    for candidate in wanted:
        try:
            return import_module(candidate)
        except ImportError:
            continue
    raise ImportError(f"reading a table needs {' or '.join(wanted)}: {_INSTALL}")


def require_parquet() -> None:
    """Raise ImportError if a library is missing that Parquet files need."""
    if frame_library(None).__name__ == "pandas":
        _require_pyarrow()


def _require_pyarrow() -> None:
    import_optional("pyarrow", "Parquet files need pyarrow", "frames")


def _header(path: PathLike) -> list[str]:
    """Read the column names: the libraries would rename duplicates."""
    with open_input(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            return next(csv.reader(text), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path} is not a readable CSV file: {error}") from error
        finally:
            text.detach()


def _check(path: PathLike, columns: Sequence[str], roles: dict[str, str | None]) -> None:
    if not columns:
        raise ValueError(f"{path} is empty: it has no header")
    check_names(path, columns)
    for role, name in roles.items():
        if name is not None and name not in columns:
            listed = ", ".join(repr(column) for column in columns[:_LISTED])
            more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
            raise ArgumentError(role, name, f"must be a column of {path}: {listed}{more}")
    if len(columns) == sum(name is not None for name in roles.values()):
        raise ValueError(f"{path} has no column left for X")


def _read_csv(path: PathLike, frames: Any, texts: list[str]) -> Any:
    """Read a CSV file; the columns `texts` stay strings, such as 007."""
    with open_input(path) as stream:
        try:
            if frames.__name__ == "pandas":
                return _pandas_csv(stream, frames, texts)
            return frames.read_csv(
                stream.read(),
                schema_overrides=dict.fromkeys(texts, frames.String),
                null_values=list(MISSING),
                infer_schema_length=None,
            )
        except (EOFError, OSError, zlib.error):
            raise
        except Exception as error:
            raise ValueError(f"{path} is not a readable CSV file: {error}") from error


def _check_numbers(path: PathLike, column: Any, nw: Any) -> None:
    """Raise if nearly all cells of a column are numbers: the others would make it categorical."""
    if column.dtype not in (nw.String, nw.Object):
        return
    cells = column.to_list()
    words = {cell for cell in cells if isinstance(cell, str)}
    odd = {word for word in words if as_number(word) is None}
    rows = [row for row, cell in enumerate(cells) if cell in odd]
    n_numbers = sum(isinstance(cell, str) for cell in cells) - len(rows)
    if 0 < len(rows) < _FEW_WORDS * (len(rows) + n_numbers):
        raise ValueError(
            f"{path}: the column {column.name!r} holds numbers, but {cells[rows[0]]!r} in row "
            f"{rows[0] + 1}; leave the cell empty if its value is missing"
        )


def _pandas_csv(stream: BinaryIO, pandas: Any, texts: list[str]) -> Any:
    options: dict[str, Any] = {}
    if tuple(int(part) for part in pandas.__version__.split(".")[:2]) < (3, 1):
        # Before 3.1 the last digit of a number may be lost without this option, which then went.
        options["float_precision"] = "round_trip"
    with warnings.catch_warnings():
        # Rows with more columns than the header would lose cells, with a warning.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        return pandas.read_csv(
            stream,
            dtype=dict.fromkeys(texts, str),
            keep_default_na=False,
            na_values=list(MISSING),
            index_col=False,
            low_memory=False,
            **options,
        )


def _read_parquet(path: PathLike, frames: Any) -> Any:
    if frames.__name__ == "pandas":
        _require_pyarrow()
    with Path(path).open("rb") as stream:
        try:
            frame = frames.read_parquet(stream)
        except Exception as error:
            raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
    if frames.__name__ == "pandas":
        # A named index is a column; an unnamed one only numbers the rows.
        frame = frame.reset_index(drop=frame.index.names == [None])
    return frame


def _texts(path: PathLike, role: str, column: Any, nw: Any) -> NDArray[np.str_]:
    gone = column.is_null().to_numpy()
    if gone.any():
        row = int(np.argmax(gone)) + 1
        raise ValueError(f"{role}={column.name!r} has no value in row {row} of {path}")
    return np.array(column.cast(nw.String).to_list(), dtype=np.str_)
