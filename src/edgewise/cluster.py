"""One model trained by several processes, each on its own rows, to the same bits.

Every process calls ``fit`` with its own rows, and all get the same model: the one that a single
process would have trained on all of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of
from edgewise.common.collective import OPERATIONS, Collective
from edgewise.data import Chunks, Table, as_table
from edgewise.data.partition import Partition

__all__ = ["OPERATIONS", "Collective", "MPICollective", "XGBoostCollective", "rows_here"]

TIMEOUT = 300
"""Seconds that a process waits for the others in a sum, before it considers them lost."""


def rows_here(
    pieces: Sequence[Any], collective: Collective, blocks: Sequence[int] | None = None
) -> Table:
    """Return the rows of this process, among the rows of all processes, as ``fit`` takes them.

    Parameters
    ----------
    pieces : sequence of arrays, sparse matrices or data frames
        Runs of rows, at least one, with the same columns; `y` and the like are then the targets of
        all of them, one after the other.
    collective : Collective
        The processes that train together.
    blocks : sequence of int or None
        The number of each piece among the pieces of all processes, ascending: the model is the same
        as of all pieces in this order. None is ``[rank]``, for one piece each.
    """
    numbers = [collective.rank] if blocks is None else list(blocks)
    if len(numbers) != len(pieces) or sorted({*numbers}) != numbers:
        raise ValueError(f"blocks must be {len(pieces)} ascending numbers, got {blocks!r}")
    tables = [as_table(piece, "value") for piece in pieces]
    table = tables[0] if len(tables) == 1 else Chunks.rows_of(tables)
    columns = collective.gather(table.names or f"{table.n_columns} columns")
    for rank, others in enumerate(columns):
        if others != columns[0]:
            raise ValueError(
                f"pieces must have the same columns: process {rank} has {others}, process 0 has "
                f"{columns[0]}"
            )
    return table.with_partition(
        Partition.of_blocks(collective, numbers, [piece.n_rows for piece in tables])
    )


class XGBoostCollective(Collective):
    """Processes that XGBoost's tracker connects, over TCP; needs XGBoost.

    Each process makes one, in the thread that trains, and closes it at the end, best in a ``with``.
    If a process dies or closes its own, the others raise a `ConnectionError`.

    Parameters
    ----------
    task : int
        The number of this process among all, from 0 on: its rank.
    timeout : int, default 300
        Seconds to wait for the other processes, at the start and in every sum.
    **arguments
        What ``xgboost.tracker.RabitTracker.worker_args()`` returned, for a tracker that was made
        with ``sortby="task"``.

    Examples
    --------
    >>> from xgboost.tracker import RabitTracker  # doctest: +SKIP
    >>> from edgewise import AdaBoostMH  # doctest: +SKIP
    >>> from edgewise.cluster import XGBoostCollective, rows_here  # doctest: +SKIP
    >>> tracker = RabitTracker(n_workers=1, host_ip="127.0.0.1", sortby="task")  # doctest: +SKIP
    >>> tracker.start()  # doctest: +SKIP
    >>> with XGBoostCollective(0, **tracker.worker_args()) as processes:  # doctest: +SKIP
    ...     rows = rows_here([[[0.0], [1.0], [2.0]]], processes)
    ...     model = AdaBoostMH("stump", n_rounds=3).fit(rows, [0, 1, 1])
    """

    def __init__(self, task: int, timeout: int = TIMEOUT, **arguments: Any) -> None:
        from xgboost import collective

        integer("task", task, 0)
        integer("timeout", timeout, 1)
        self._library = collective
        # The tracker sorts the names of tasks as strings. More retries would only delay the news
        # that another process is lost.
        settings = {"dmlc_task_id": f"{task:06d}", "dmlc_timeout": timeout, "dmlc_retry": 1}
        with _report_lost_workers():
            collective.init(**settings | arguments)
        self.rank, self.size = collective.get_rank(), collective.get_world_size()

    def allreduce(self, values: NDArray[Any], operation: str = "sum") -> NDArray[Any]:
        """Return the sum, the maximum or the minimum over all processes, entry by entry."""
        one_of("operation", operation, OPERATIONS)
        with _report_lost_workers():
            total = self._library.allreduce(values, self._library.Op[operation.upper()])
        return total.reshape(values.shape)

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return the value of the process `root`."""
        with _report_lost_workers():
            # XGBoost cannot broadcast None.
            return self._library.broadcast((value,) if self.rank == root else None, root)[0]

    def close(self) -> None:
        """Leave the group."""
        # Where one has died, the first call may only report it, and the others wait for this one.
        for _ in range(3):
            try:
                with _report_lost_workers():
                    self._library.finalize()
            except ConnectionError:
                continue
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def _report_lost_workers() -> Iterator[None]:
    """Turn the errors of XGBoost's sockets, with their long traces, into lost connections."""
    from xgboost.core import XGBoostError

    try:
        yield
    except XGBoostError as error:
        reason = str(error).partition("\nStack trace")[0].strip().rpartition("]: ")[2]
        raise ConnectionError(f"lost the connection to another process: {reason}") from None


class MPICollective(Collective):
    """The processes that ``mpiexec`` started; needs mpi4py and an MPI library.

    If one of them fails, MPI ends them all: start Python with ``-m mpi4py``, so that an exception
    counts as a failure.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm or None, default None
        The processes; None is all of them, ``MPI.COMM_WORLD``.

    Examples
    --------
    >>> from edgewise.cluster import MPICollective  # doctest: +SKIP
    >>> processes = MPICollective()  # doctest: +SKIP
    """

    def __init__(self, communicator: Any = None) -> None:
        from mpi4py import MPI

        self._library = MPI
        self._communicator = MPI.COMM_WORLD if communicator is None else communicator
        self.rank, self.size = self._communicator.Get_rank(), self._communicator.Get_size()

    def allreduce(self, values: NDArray[Any], operation: str = "sum") -> NDArray[Any]:
        """Return the sum, the maximum or the minimum over all processes, entry by entry."""
        one_of("operation", operation, OPERATIONS)
        total = np.empty(values.shape, values.dtype)
        values = np.ascontiguousarray(values)
        self._communicator.Allreduce(values, total, getattr(self._library, operation.upper()))
        return total

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes, in the order of their ranks."""
        return self._communicator.allgather(value)

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return the value of the process `root`."""
        return self._communicator.bcast(value, root)
