"""Data larger than memory, in pieces: blocks of columns, blocks of rows, Parquet files."""

import os
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from edgewise.common.checks import integer
from edgewise.common.lazy import import_optional
from edgewise.data.columns import Column, concatenate_columns, copy_column
from edgewise.data.table import ColumnTable, Table, as_table

MEMORY = 1 << 28
"""The default number of bytes of columns in memory: 256 MiB."""

Path = str | os.PathLike[str]

_INDEX = re.compile(r"__index_level_\d+__")


class Chunks(Table):
    """Data in pieces, to train and predict on without all of them in memory.

    Make one with :meth:`columns_of`, :meth:`rows_of` or :meth:`parquet`, and pass it to ``fit`` and
    ``predict`` in place of an array. The model is the same, bit for bit, as from one array.
    Training keeps only the bins, one byte per value or less.

    A piece is a NumPy array (or a file, opened with ``numpy.load(path, mmap_mode="r")``), a sparse
    matrix or a data frame; or a function without arguments that returns one, called each time the
    piece is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import AdaBoostMH, Chunks
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(200, 30)), rng.normal(size=(200, 20))
    >>> y = left[:, 3] + right[:, 4] > 0
    >>> X = Chunks.columns_of([left, lambda: right])
    >>> X.shape
    (200, 50)
    >>> model = AdaBoostMH(n_rounds=20).fit(X, y)
    >>> float(model.score(X, y))
    0.97
    """

    @staticmethod
    def columns_of(pieces: Sequence[Any], names: Sequence[str] | None = None) -> "Chunks":
        """Return pieces side by side: each has some of the columns, and all rows.

        Parameters
        ----------
        pieces : sequence of pieces
            At least one. Functions are called once now, for their shapes.
        names : sequence of str or None, default None
            The names of all columns; None takes the names of data frames.
        """
        return _ColumnChunks(pieces, names)

    @staticmethod
    def rows_of(
        pieces: Sequence[Any] | Callable[[], Iterable[Any]],
        memory: int = MEMORY,
        names: Sequence[str] | None = None,
    ) -> "Chunks":
        """Return pieces one above the other: each has some of the rows, and all columns.

        The pieces are read once now, to count rows, and in training once per `memory` bytes of
        columns. Prediction reads them once.

        Parameters
        ----------
        pieces : sequence of pieces, or function that returns an iterator over pieces
            At least one, with the same columns. The function must return the same pieces each time.
        memory : int, default 2**28
            The number of bytes of columns in memory.
        names : sequence of str or None, default None
            The names of the columns; None takes the names of data frames.

        Examples
        --------
        >>> import numpy as np
        >>> from edgewise import Chunks
        >>> X = Chunks.rows_of([np.zeros((3, 2)), np.ones((4, 2))])
        >>> X.shape, X.column(1).values
        ((7, 2), array([0., 0., 0., 1., 1., 1., 1.]))
        """
        return _RowChunks(pieces, memory, names)

    @staticmethod
    def parquet(
        paths: Path | Sequence[Path], without: str | Sequence[str] = (), memory: int = MEMORY
    ) -> "ParquetFiles":
        """Return the columns of Parquet files, read some columns at a time. Needs pyarrow.

        Its ``values(name)`` returns one column of the files as an array: the target, for instance.

        Parameters
        ----------
        paths : path or sequence of paths
            The files, one above the other, with the same columns.
        without : str or sequence of str, default ()
            Columns to leave out, such as the target.
        memory : int, default 2**28
            The number of bytes of columns in memory.
        """
        return ParquetFiles(paths, without, memory)

    def __init__(
        self,
        n_rows: int,
        widths: Sequence[int],
        names: Sequence[str] | None = None,
        infinite: str = "raise",
    ) -> None:
        self._starts = np.concatenate(([0], np.cumsum(widths))).astype(int)
        self.n_rows, self.n_columns = n_rows, int(self._starts[-1])
        super().__init__(_check_column_names(names, self.n_columns), infinite)
        self._kept: tuple[int, Table] | None = None

    def __len__(self) -> int:
        return self.n_rows

    def _adopt(self, table: Table) -> Table:
        """Return a piece with the names and settings of the whole."""
        return table._replace(
            names=self.names, infinite=self.infinite, categorical=self.categorical
        )

    @abstractmethod
    def _load(self, block: int) -> Table:
        """Return the columns of a block, with their infinite values."""

    def _raw(self, j: int) -> Column:
        block = int(np.searchsorted(self._starts, j, side="right")) - 1
        if self._kept is None or self._kept[0] != block:
            self._kept = None
            self._kept = block, self._load(block)
        return self._kept[1].column(j - int(self._starts[block]))

    def _raws(self) -> Iterator[Column]:
        self._kept = None
        for block in range(len(self._starts) - 1):
            yield from self._load(block).columns()


class _ColumnChunks(Chunks):
    """Blocks of columns."""

    def __init__(self, pieces: Sequence[Any], names: Sequence[str] | None) -> None:
        check_pieces(pieces)
        self._pieces = list(pieces)
        if not self._pieces:
            raise ValueError("pieces must be at least one block of columns, got none")
        shapes, all_names = [], list[str]()
        for table in map(open_chunk, self._pieces):
            shapes.append(table.shape)
            all_names.extend(table.names or [])
        n_rows, widths = shapes[0][0], [width for _, width in shapes]
        for number, (rows, _) in enumerate(shapes, 1):
            if rows != n_rows:
                raise ValueError(
                    f"pieces must have the same number of rows: the first has {n_rows}, "
                    f"number {number} has {rows}"
                )
        if names is None and len(all_names) == sum(widths):
            names = all_names
        super().__init__(n_rows, widths, names)

    def _load(self, block: int) -> Table:
        return open_chunk(self._pieces[block])


class _RowChunks(Chunks):
    """Blocks of rows, read for some columns at a time."""

    def __init__(self, pieces: Any, memory: int, names: Sequence[str] | None) -> None:
        integer("memory", memory, 1)
        if isinstance(pieces, Iterator):
            raise TypeError(
                "pieces can be read only once: give a sequence of them, or a function that returns "
                f"an iterator, got {type(pieces).__name__}"
            )
        if not callable(pieces):
            check_pieces(pieces)
        self._source = pieces
        n_rows, first = 0, None
        for number, table in enumerate(self._tables(), 1):
            first = first or table
            if table.n_columns != first.n_columns or table.names != first.names:
                raise ValueError(
                    f"pieces must have the same columns: piece {number} differs from the first"
                )
            n_rows += table.n_rows
        if first is None:
            raise ValueError("pieces must be at least one block of rows, got none")
        widths = block_widths(first.n_columns, n_rows, memory)
        super().__init__(n_rows, widths, names or first.names)

    def _tables(self) -> Iterator[Table]:
        return map(open_chunk, self._source() if callable(self._source) else self._source)

    def chunks(self) -> Iterator[Table]:
        """Yield the pieces as tables."""
        return map(self._adopt, self._tables())

    def _load(self, block: int) -> Table:
        wanted = range(int(self._starts[block]), int(self._starts[block + 1]))
        runs: list[list[Column]] = [[] for _ in wanted]
        n_rows = 0
        for table in self._tables():
            n_rows += table.n_rows
            for run, (_, column) in zip(runs, table.select_columns(wanted), strict=True):
                run.append(copy_column(column))
        if n_rows != self.n_rows:
            raise ValueError(
                f"pieces must be the same each time: they had {self.n_rows} rows, now {n_rows}"
            )
        columns = [
            concatenate_columns(run, self.name(j)) for j, run in zip(wanted, runs, strict=True)
        ]
        return ColumnTable(columns, None, "value")


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
        sizes, headers = zip(*map(self._header, self._paths), strict=True)
        names = headers[0]
        for path, header in zip(self._paths, headers, strict=True):
            if different := sorted({*header} ^ {*names}):
                raise ValueError(
                    f"paths must have the same columns: {str(path)!r} differs from the first file "
                    f"in column {different[0]!r}"
                )
        if absent := [name for name in self._without if name not in names]:
            raise ValueError(f"without names the column {absent[0]!r}, which the files do not have")
        features = [name for name in names if name not in self._without]
        if not features or not any(sizes):
            raise ValueError("paths must have at least one column for X, and one row")
        self._paths = [path for path, size in zip(self._paths, sizes, strict=True) if size]
        super().__init__(sum(sizes), block_widths(len(features), sum(sizes), memory), features)

    def values(self, name: str) -> Any:
        """Return one column as an array: the target, for instance."""
        if name not in {*(self.names or []), *self._without}:
            raise ValueError(f"name must be a column of the files, got {name!r}")
        tables = [self._read_columns(path, [name]) for path in self._paths]
        return import_module("pyarrow").concat_tables(tables).column(0).to_numpy()

    def chunks(self) -> Iterator[Table]:
        """Yield the rows of each file."""
        if len(self._paths) == 1:
            yield self
            return
        for path in self._paths:
            # A file may have its columns in another order than the first.
            yield self._adopt(ParquetFiles(path, self._without, self._memory))

    def select_columns(self, wanted: Sequence[int]) -> Iterator[tuple[int, Column]]:
        """Yield the number and the column of some columns; no others are read."""
        names, width = self.names or [], int(self._starts[1])
        for start in range(0, len(wanted), width):
            numbers = wanted[start : start + width]
            columns = self._columns([names[j] for j in numbers])
            for j, column in zip(numbers, columns, strict=True):
                yield j, self._without_infinities(j, column)

    def _load(self, block: int) -> Table:
        span = slice(int(self._starts[block]), int(self._starts[block + 1]))
        return ColumnTable(self._columns((self.names or [])[span]), None, "value")

    def _columns(self, names: list[str]) -> list[Column]:
        tables = [as_table(self._read_columns(path, names), "value") for path in self._paths]
        return [
            concatenate_columns([t.column(p) for t in tables], name) for p, name in enumerate(names)
        ]

    def _header(self, path: Path) -> tuple[int, list[str]]:
        with self._open(path) as file:
            # An unnamed index of pandas only numbers the rows.
            names = [name for name in file.schema_arrow.names if not _INDEX.fullmatch(name)]
            return file.metadata.num_rows, names

    def _read_columns(self, path: Path, columns: list[str]) -> Any:
        with self._open(path) as file:
            return file.read(columns=columns).select(columns)

    def _open(self, path: Path) -> Any:
        try:
            return _pyarrow().ParquetFile(path)
        except OSError:
            raise
        except Exception as error:
            raise ValueError(f"{path} is not a readable Parquet file: {error}") from error


def check_pieces(pieces: Any) -> None:
    """Raise unless this can be a sequence of pieces; an array or a data frame is one piece."""
    is_piece = isinstance(pieces, (str, bytes)) or len(getattr(pieces, "shape", ())) == 2
    if is_piece or not isinstance(pieces, Iterable):
        raise TypeError(
            "pieces must be a sequence of arrays, sparse matrices, data frames or functions, "
            f"[piece] where there is one; got {type(pieces).__name__}"
        )


def open_chunk(piece: Any) -> Table:
    """Return a piece as a table, with its infinite values."""
    return as_table(piece() if callable(piece) else piece, "value")


def block_widths(n_columns: int, n_rows: int, memory: int) -> list[int]:
    """Return the number of columns of each block, at 8 bytes per value."""
    width = max(1, min(n_columns, memory // (8 * max(1, n_rows))))
    n_full, remainder = divmod(n_columns, width)
    return [width] * n_full + [remainder] * (remainder > 0)


def _check_column_names(names: Sequence[str] | None, n_columns: int) -> list[str] | None:
    """Return the names of columns, or raise unless each column has a different one."""
    if names is None:
        return None
    strings = [str(name) for name in names]
    if len(strings) != n_columns:
        raise ValueError(f"names must be {n_columns}, one for each column, got {len(strings)}")
    if len(set(strings)) < n_columns:
        twice = min(name for name, count in Counter(strings).items() if count > 1)
        raise ValueError(f"names must be different, got {twice!r} more than once")
    return strings


def _pyarrow() -> Any:
    return import_optional("pyarrow.parquet", "Parquet files need pyarrow", "frames")
