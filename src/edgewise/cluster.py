"""One model trained by several processes, each on its own rows, to the same bits.

Every process calls ``fit`` with its own rows, and all get the same model: the one that a single
process would have trained on all of them.
"""

from collections.abc import Sequence
from typing import Any

from edgewise.common.collective import OPERATIONS, Collective
from edgewise.data import Chunks, Table, as_table
from edgewise.data.partition import Partition

__all__ = ["OPERATIONS", "Collective", "rows_here"]


def rows_here(
    pieces: Sequence[Any], collective: Collective, blocks: Sequence[int] | None = None
) -> Table:
    """Return the rows of this process as ``fit`` takes them, among those of all processes.

    Parameters
    ----------
    pieces : sequence of arrays, sparse matrices or data frames
        Runs of rows, at least one, with the same columns; `y` and the like are then the targets of
        all of them, one after the other.
    collective : Collective
        The processes that train together.
    blocks : sequence of int or None
        The number of each piece among those of all processes, ascending: the model is the one of
        all pieces in the order of their numbers. None is ``[rank]``, for one piece each.
    """
    numbers = [collective.rank] if blocks is None else list(blocks)
    if len(numbers) != len(pieces) or sorted({*numbers}) != numbers:
        raise ValueError(f"blocks must be {len(pieces)} ascending numbers, got {blocks!r}")
    tables = [as_table(piece, "value") for piece in pieces]
    table = tables[0] if len(tables) == 1 else Chunks.rows_of(tables)
    shapes = collective.gather((table.n_columns, table.names))
    for rank, other in enumerate(shapes):
        if other != shapes[0]:
            raise ValueError(
                f"pieces must have the same columns: process {rank} has {_columns(*other)}, "
                f"process 0 has {_columns(*shapes[0])}"
            )
    sizes = [one.n_rows for one in tables]
    table.shard = Partition.of_blocks(collective, numbers, sizes)
    return table


def _columns(n_columns: int, names: Sequence[str] | None) -> str:
    return f"{n_columns} columns" if names is None else ", ".join(map(repr, names))
