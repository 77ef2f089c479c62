"""Data frames from files of tables, and files from frames and columns."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import ArgumentError, flag, one_of
from edgewise.common.files import PathLike, replace_file
from edgewise.common.lazy import import_optional
from edgewise.common.text import quote_names
from edgewise.data.columns import CategoricalColumn
from edgewise.io.ranking import RankingData
from edgewise.io.tables import ARROW, RawColumn, check_kind, read_arrow_table, read_raw_table
from edgewise.io.text import NUMBER, parse_number

_LIBRARIES: Final = ("pandas", "polars")
_WRITTEN: Final = (".csv", ".csv.gz", ".parquet")
_ROWS_AT_ONCE: Final = 10_000
# What spreadsheets take for a formula begins with one of these.
_FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r")
# Below this fraction, strings in a column of numbers are typing errors and not categories.
_FEW_WORDS: Final = 0.1


def read_table(
    path: PathLike,
    target: str | None = None,
    query: str | None = None,
    doc: str | None = None,
    library: str | None = None,
) -> RankingData:
    r"""Read a table into a data frame, apart from targets, query ids and document ids.

    Columns of strings are categorical for the estimators. A column of a text file with a few
    strings among its numbers is an error. Query ids and document ids become strings; grades keep
    their type. See :func:`read_columns` for formats and missing values.

    Parameters
    ----------
    path : str or path-like
        A table: CSV, TSV, Parquet, Feather, Arrow or ARFF, going by its name.
    target, query, doc : str or None, default None
        The columns with grades (or classes), query ids and document ids; ``X`` has the others.
    library : {"pandas", "polars"} or None, default None
        The library of the data frame; None takes the first that is installed.

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
    kind = check_kind(path)
    roles = {"target": target, "query": query, "doc": doc}
    named = [name for name in roles.values() if name is not None]
    if len(set(named)) < len(named):
        raise ValueError("target, query and doc must be different columns")
    id_columns = [name for name in (query, doc) if name is not None]
    frame = read_frame(path, kind, id_columns, library)
    import narwhals.stable.v1 as nw

    table = nw.from_native(frame, eager_only=True)
    _check_roles(path, table.columns, roles)
    if not len(table):
        raise ValueError(f"{path} is empty: it has column names and no rows")
    return RankingData(
        table.drop(named).to_native(),
        None if target is None else table[target].to_numpy(),
        None if query is None else _strings(path, "query", table[query], nw),
        None if doc is None else _strings(path, "doc", table[doc], nw),
    )


def read_frame(
    path: PathLike, kind: str, words: Sequence[str] = (), library: str | None = None
) -> Any:
    """Read a table of a kind into a data frame; columns in `words` become strings."""
    frames = frame_library(library)
    if kind in ARROW:
        arrow = read_arrow_table(path, kind)
        is_pandas = frames.__name__ == "pandas"
        return arrow.to_pandas(ignore_metadata=True) if is_pandas else frames.from_arrow(arrow)
    raw = read_raw_table(path, kind, words, keep_all=True).columns
    for name, column in raw.items():
        if name not in words:
            _check_numbers(path, name, column)
    return frames.DataFrame({name: _values(column) for name, column in raw.items()})


def write_table(path: PathLike, frame: Any, *, escape_formulas: bool = False) -> None:
    r"""Write a data frame, or a mapping of names to columns, as CSV or Parquet.

    Parameters
    ----------
    path : str or path-like
        Where to write; the name ends in ``.csv``, ``.csv.gz`` or ``.parquet``.
    frame : data frame, or mapping of str to array-like
        A pandas, polars or Arrow table, written without an index; or columns of equal length.
    escape_formulas : bool, default False
        Write an apostrophe before text of a CSV file that a spreadsheet would run as a formula: it
        begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and is no number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise.io import write_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> write_table(path, {"color": ["red"], "price": [0.1]})
    >>> path.read_text()
    'color,price\nred,0.1\n'
    """
    check_output_table(path)
    flag("escape_formulas", escape_formulas)
    is_parquet = str(path).lower().endswith(".parquet")
    if escape_formulas and is_parquet:
        raise ValueError(f"escape_formulas is for CSV files, got {str(path)!r}")
    if isinstance(frame, Mapping):
        if not is_parquet:
            with replace_file(path) as stream:
                stream.writelines(text.encode() for text in iter_csv(frame, escape_formulas))
            return
        frame = frame_library(None).DataFrame(dict(frame))
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise TypeError(f"frame must be a data frame, got {type(frame).__name__}") from error
    if is_parquet and table.implementation.is_pandas():
        _require_pyarrow()
    with replace_file(path) as stream:
        if is_parquet:
            table.write_parquet(stream)
        else:
            text = table.write_csv()
            if escape_formulas:
                text = _to_csv(map(_escape_formulas, csv.reader(io.StringIO(text, newline=""))))
            stream.write(text.encode())


def iter_csv(columns: Mapping[str, Any], escape_formulas: bool = False) -> Iterator[str]:
    """Yield columns of equal length as CSV with a header, some rows at a time."""
    n_rows = len(next(iter(columns.values())))
    for start in range(0, max(n_rows, 1), _ROWS_AT_ONCE):
        runs = [column[start : start + _ROWS_AT_ONCE] for column in columns.values()]
        lists = [run.tolist() if hasattr(run, "tolist") else run for run in runs]
        rows: Iterable[Sequence[Any]] = zip(*lists, strict=True)
        if start == 0:
            rows = chain([tuple(columns)], rows)
        yield _to_csv(map(_escape_formulas, rows) if escape_formulas else rows)


def _to_csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _escape_formulas(cells: Sequence[Any]) -> list[Any]:
    return [f"'{cell}" if _is_formula(cell) else cell for cell in cells]


def _is_formula(cell: Any) -> bool:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA_SIGNS):
        return False
    return NUMBER.fullmatch(cell) is None


def check_output_table(path: PathLike) -> None:
    """Raise unless the installed libraries can write a table under this name."""
    name = Path(path).name.lower()
    if not name.endswith(_WRITTEN):
        raise ValueError(f"path must end in {', '.join(_WRITTEN)}, got {str(path)!r}")
    if name.endswith(".parquet") and frame_library(None).__name__ == "pandas":
        _require_pyarrow()


def frame_library(name: str | None) -> Any:
    """Import a library of data frames; None is the first that is installed."""
    names = _LIBRARIES if name is None else (one_of("library", name, _LIBRARIES),)
    for candidate in names:
        with suppress(ImportError):
            return import_module(candidate)
    purpose = f"reading a table needs {' or '.join(names)}"
    return import_optional(names[0], purpose, "frames")


def _require_pyarrow() -> None:
    import_optional("pyarrow", "Parquet files need pyarrow", "frames")


def _values(column: RawColumn) -> Any:
    """Return a column of a text file as a data frame takes it."""
    if isinstance(column, CategoricalColumn):
        return np.array([*column.categories, None], dtype=object)[column.codes].tolist()
    values = column.values  # type: ignore[union-attr]
    if values.dtype.kind == "M":
        return values
    return values.astype(np.int64 if values.dtype.kind == "i" else np.float64)


def _check_numbers(path: PathLike, name: str, column: RawColumn) -> None:
    """Raise if nearly all cells of a column are numbers: the others would make it categorical."""
    if not isinstance(column, CategoricalColumn):
        return
    odd = np.array([parse_number(str(string)) is None for string in column.categories])
    is_odd = np.append(odd, False)[column.codes]
    n_odd, n_present = int(is_odd.sum()), int((column.codes < len(odd)).sum())
    if 0 < n_odd < _FEW_WORDS * n_present:
        row = int(is_odd.argmax())
        string = column.categories[column.codes[row]]
        raise ValueError(
            f"{path}: column {name!r} holds numbers, but {string!r} in row {row + 1}; leave the "
            "cell empty if its value is missing"
        )


def _check_roles(path: PathLike, columns: Sequence[str], roles: dict[str, str | None]) -> None:
    for role, name in roles.items():
        if name is not None and name not in columns:
            raise ArgumentError(role, name, f"must be a column of {path}: {quote_names(columns)}")
    if len(columns) == sum(name is not None for name in roles.values()):
        raise ValueError(f"{path} has no column left for X")


def _strings(path: PathLike, role: str, column: Any, nw: Any) -> NDArray[np.str_]:
    missing = column.is_null().to_numpy()
    if missing.any():
        row = int(np.argmax(missing)) + 1
        raise ValueError(f"{role}={column.name!r} has no value in row {row} of {path}")
    return np.array(column.cast(nw.String).to_list(), dtype=np.str_)
