"""Data that come in pieces: blocks of columns, runs of rows, or Parquet files."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from edgewise.common.checks import integer
from edgewise.data.blocks import BlockTable
from edgewise.data.column_table import ColumnTable
from edgewise.data.columns import Column
from edgewise.data.joining import joined, owned
from edgewise.data.table import Table, as_table

if TYPE_CHECKING:
    from edgewise.data.parquet import ParquetFiles

MEMORY = 1 << 28
"""Bytes of columns that are in memory at a time, by default: 256 MiB."""

Path = str | os.PathLike[str]


class Chunks(BlockTable):
    """Data in pieces, to train and predict on without all of them in memory.

    Make one with :meth:`columns_of`, :meth:`rows_of` or :meth:`parquet`, and give it to ``fit`` and
    ``predict`` in place of an array. The model is the same, bit for bit, as of one array of all the
    data. While training only the bins are kept, a byte for each value or less.

    A piece is what ``fit`` takes: a NumPy array (or a file of one, opened with
    ``numpy.load(path, mmap_mode="r")``), a sparse matrix or a data frame; or a function without
    arguments that returns one, and is called each time that the piece is needed.

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
    1.0
    """

    @staticmethod
    def columns_of(pieces: Sequence[Any], names: Sequence[str] | None = None) -> "Chunks":
        """Return pieces side by side: each has some of the columns, and all rows.

        Parameters
        ----------
        pieces : sequence of pieces
            At least one. Functions are called once now, to see what they return.
        names : sequence of str or None, default None
            The names of all columns; None takes those of the pieces if they are data frames.

        Raises
        ------
        ValueError, TypeError
            If there are no pieces, or they differ in their numbers of rows, or names are not as
            many as columns or not all different.
        """
        return _Beside(pieces, names)

    @staticmethod
    def rows_of(
        pieces: Sequence[Any] | Callable[[], Iterable[Any]],
        memory: int = MEMORY,
        names: Sequence[str] | None = None,
    ) -> "Chunks":
        """Return pieces one above the other: each has some of the rows, and all columns.

        Training reads the pieces once now, to count rows, and then once for every `memory` bytes
        of columns. Prediction reads them once, piece by piece.

        Parameters
        ----------
        pieces : sequence of pieces, or function that returns an iterator over pieces
            At least one, with the same columns. The function is called for each reading and must
            give the same pieces every time.
        memory : int, default 2**28
            Bytes of columns to have in memory at a time. More take fewer readings.
        names : sequence of str or None, default None
            The names of the columns; None takes those of the pieces if they are data frames.

        Raises
        ------
        ValueError, TypeError
            If there are no pieces, or they differ in their columns, or can be read only once.

        Examples
        --------
        >>> import numpy as np
        >>> from edgewise import Chunks
        >>> X = Chunks.rows_of([np.zeros((3, 2)), np.ones((4, 2))])
        >>> X.shape, X.column(1).values
        ((7, 2), array([0., 0., 0., 1., 1., 1., 1.]))
        """
        return _Above(pieces, memory, names)

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
            Columns that are no features, such as the target.
        memory : int, default 2**28
            Bytes of columns to have in memory at a time.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        ValueError
            If a file is not readable, or lacks a column, or `without` names one that is not there.
        """
        from edgewise.data.parquet import ParquetFiles

        return ParquetFiles(paths, without, memory)


class _Beside(Chunks):
    """Blocks of columns."""

    def __init__(self, pieces: Sequence[Any], names: Sequence[str] | None) -> None:
        check_pieces(pieces)
        self._pieces = list(pieces)
        if not self._pieces:
            raise ValueError("pieces must be at least one block of columns, got none")
        shapes, found = [], list[str]()
        for piece in self._pieces:
            table = opened(piece)
            shapes.append(table.shape)
            found.extend(table.names or [])
        n_rows, widths = shapes[0][0], [width for _, width in shapes]
        for place, (rows, _) in enumerate(shapes):
            if rows != n_rows:
                raise ValueError(
                    f"pieces must have the same number of rows: the first has {n_rows}, "
                    f"number {place + 1} has {rows}"
                )
        if names is None and len(found) == sum(widths):
            names = found
        super().__init__(n_rows, widths, checked_names(names, sum(widths)))

    def _load(self, block: int) -> Table:
        return opened(self._pieces[block])


class _Above(Chunks):
    """Runs of rows, read for some columns at a time."""

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
        for place, table in enumerate(self._tables()):
            first = table if first is None else first
            if table.n_columns != first.n_columns or table.names != first.names:
                raise ValueError(
                    f"pieces must have the same columns: number {place + 1} has others than the "
                    "first"
                )
            n_rows += table.n_rows
        if first is None:
            raise ValueError("pieces must be at least one run of rows, got none")
        widths = spread(first.n_columns, n_rows, memory)
        super().__init__(n_rows, widths, checked_names(names or first.names, first.n_columns))

    def _tables(self) -> Iterator[Table]:
        pieces = self._source() if callable(self._source) else self._source
        for piece in pieces:
            yield opened(piece)

    def parts(self) -> Iterator[Table]:
        """Yield the pieces as tables."""
        for table in self._tables():
            table.names, table.infinite = self.names, self.infinite
            yield table.declare(list(self.categorical))

    def _load(self, block: int) -> Table:
        wanted = range(int(self._starts[block]), int(self._starts[block + 1]))
        found: list[list[Column]] = [[] for _ in wanted]
        n_rows = 0
        for table in self._tables():
            n_rows += table.n_rows
            for place, (_, column) in enumerate(table.chosen(wanted)):
                found[place].append(owned(column))
        if n_rows != self.n_rows:
            raise ValueError(
                f"pieces must be the same each time: they had {self.n_rows} rows, now {n_rows}"
            )
        columns = [joined(parts, self.name(j)) for j, parts in zip(wanted, found, strict=True)]
        return ColumnTable(columns, None, "value")


def check_pieces(pieces: Any) -> None:
    """Raise unless there may be pieces in it: one array or data frame is a piece itself."""
    is_piece = isinstance(pieces, (str, bytes)) or len(getattr(pieces, "shape", ())) == 2
    if is_piece or not isinstance(pieces, Iterable):
        raise TypeError(
            "pieces must be a sequence of arrays, sparse matrices, data frames or functions, "
            f"[piece] where there is one; got {type(pieces).__name__}"
        )


def opened(piece: Any) -> Table:
    """Return a piece as a table, its infinite values as they are."""
    return as_table(piece() if callable(piece) else piece, "value")


def spread(n_columns: int, n_rows: int, memory: int) -> list[int]:
    """Return how many columns are read at a time, at 8 bytes a value.

    Examples
    --------
    >>> spread(10, 1000, 32_000)
    [4, 4, 2]
    """
    width = max(1, min(n_columns, memory // (8 * max(1, n_rows))))
    whole, rest = divmod(n_columns, width)
    return [width] * whole + [rest] * (rest > 0)


def checked_names(names: Sequence[str] | None, n_columns: int) -> list[str] | None:
    """Return names of columns, or raise if they are not as many as columns, or not different."""
    if names is None:
        return None
    given = [str(name) for name in names]
    if len(given) != n_columns:
        raise ValueError(f"names must be {n_columns}, one for each column, got {len(given)}")
    if len(set(given)) < n_columns:
        twice = min(name for name, count in Counter(given).items() if count > 1)
        raise ValueError(f"names must be different, got {twice!r} more than once")
    return given
