"""Parquet files, read some columns at a time."""

import os
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from edgewise.common.checks import integer
from edgewise.data.chunks import MEMORY, Chunks, Path, checked_names, spread
from edgewise.data.column_table import ColumnTable
from edgewise.data.columns import Column
from edgewise.data.joining import joined
from edgewise.data.table import Table, as_table

_INDEX = re.compile(r"__index_level_\d+__")


class ParquetFiles(Chunks):
    """The columns of Parquet files, one file above the other."""

    def __init__(
        self, paths: Path | Sequence[Path], without: str | Sequence[str] = (), memory: int = MEMORY
    ) -> None:
        integer("memory", memory, 1)
        _pyarrow()
        self._paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        self._without = (without,) if isinstance(without, str) else tuple(without)
        self._memory = memory
        if not self._paths:
            raise ValueError("paths must be at least one Parquet file, got none")
        n_rows, names, with_rows = 0, list[str](), list[Path]()
        for place, path in enumerate(self._paths):
            rows, columns = self._header(path)
            with_rows += [path] * (rows > 0)
            names = columns if place == 0 else names
            if set(columns) != set(names):
                other = sorted(set(columns) ^ set(names))[0]
                raise ValueError(
                    f"paths must have the same columns: {str(path)!r} differs from the first file "
                    f"in column {other!r}"
                )
            n_rows += rows
        absent = [name for name in self._without if name not in set(names)]
        if absent:
            raise ValueError(f"without names the column {absent[0]!r}, which the files do not have")
        features = [name for name in names if name not in set(self._without)]
        if not features or not n_rows:
            raise ValueError("paths must have at least one column for X, and one row")
        self._paths = with_rows
        widths = spread(len(features), n_rows, memory)
        super().__init__(n_rows, widths, checked_names(features, len(features)))

    def values(self, name: str) -> Any:
        """Return one column as an array: the target, for instance.

        Raises
        ------
        ValueError
            If there is no column of this name.
        """
        if name not in {*(self.names or []), *self._without}:
            raise ValueError(f"name must be a column of the files, got {name!r}")
        tables = [self._read(path, [name]) for path in self._paths]
        return import_module("pyarrow").concat_tables(tables).column(0).to_numpy()

    def parts(self) -> Iterator[Table]:
        """Yield the rows of each file."""
        if len(self._paths) == 1:
            yield self
            return
        for path in self._paths:
            part = ParquetFiles(path, self._without, self._memory)
            # A file may have its columns in another order than the first.
            part.names, part.infinite = self.names, self.infinite
            yield part.declare(list(self.categorical))

    def chosen(self, wanted: Sequence[int]) -> Iterator[tuple[int, Column]]:
        """Yield the number and the column of some columns; no others are read."""
        names, width = self.names or [], int(self._starts[1])
        for start in range(0, len(wanted), width):
            numbers = wanted[start : start + width]
            columns = self._columns([names[j] for j in numbers])
            for j, column in zip(numbers, columns, strict=True):
                yield j, self._declared(j, self._settle(j, column))

    def _load(self, block: int) -> Table:
        span = slice(int(self._starts[block]), int(self._starts[block + 1]))
        return ColumnTable(self._columns((self.names or [])[span]), None, "value")

    def _columns(self, names: list[str]) -> list[Column]:
        tables = [as_table(self._read(path, names), "value") for path in self._paths]
        return [joined([t.column(p) for t in tables], name) for p, name in enumerate(names)]

    def _header(self, path: Path) -> tuple[int, list[str]]:
        with self._open(path) as file:
            # An index of pandas without a name only numbers the rows.
            names = [name for name in file.schema_arrow.names if not _INDEX.fullmatch(name)]
            return file.metadata.num_rows, names

    def _read(self, path: Path, columns: list[str]) -> Any:
        with self._open(path) as file:
            found = file.read(columns=columns)
        return found.select(columns)

    def _open(self, path: Path) -> Any:
        try:
            return _pyarrow().ParquetFile(path)
        except OSError:
            raise
        except Exception as error:
            raise ValueError(f"{path} is not a readable Parquet file: {error}") from error


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow: pip install "edgewise[frames]"') from error
