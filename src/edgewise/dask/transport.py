"""Sums over the workers of a Dask cluster, along the connections that the cluster has anyway.

The workers form a binary tree. Each adds up what its children send, passes it on to its parent, and
answers the children with the total that the parent answers.
"""

import asyncio
from collections import defaultdict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of
from edgewise.common.collective import OPERATIONS, Collective

_REDUCTIONS = dict(zip(OPERATIONS, (np.add, np.maximum, np.minimum), strict=True))


class DaskCollective(Collective):
    """The workers of a run; this task has the number `rank`.

    Parameters
    ----------
    run : str
        The name of the run.
    rank : int
        The number of this worker among all.
    workers : list of str
        The addresses of all workers, by rank; each has called :func:`register`.
    timeout : float
        Seconds to wait for another worker in a sum.
    """

    def __init__(self, run: str, rank: int, workers: list[str], timeout: float) -> None:
        from distributed import get_worker

        self.rank, self.size = rank, len(workers)
        self._run, self._timeout, self._step = run, timeout, 0
        self._worker = get_worker()
        self._parent = None if rank == 0 else workers[(rank - 1) // 2]
        self._children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < self.size]

    def allreduce(self, values: NDArray[Any], operation: str = "sum") -> NDArray[Any]:
        """Return the sum, the maximum or the minimum over all workers, entry by entry."""
        from distributed.utils import sync

        one_of("operation", operation, OPERATIONS)
        total: NDArray[Any] = sync(self._worker.loop, self._allreduce, values, operation)
        return total.reshape(values.shape)

    async def _allreduce(self, values: NDArray[Any], operation: str) -> NDArray[Any]:
        from distributed.protocol import to_serialize

        exchange, self._step = _EXCHANGES[self._run], self._step + 1
        try:
            async with asyncio.timeout(self._timeout):
                total = np.ascontiguousarray(values).reshape(-1)
                for child in self._children:
                    total = _REDUCTIONS[operation](total, await exchange.part(self._step, child))
                if self._parent is not None:
                    message = {"run": self._run, "step": self._step, "rank": self.rank}
                    send = self._worker.rpc(self._parent).edgewise_reduce
                    total = np.array(await send(**message, values=to_serialize(total)))
        except (OSError, TimeoutError) as error:
            raise ConnectionError(f"lost the connection to another worker: {error}") from None
        exchange.publish(self._step, total)
        return total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            self._worker.loop.add_callback(abort, self._run)


class _Exchange:
    """The arrays that the children of a worker sent, and the totals that they wait for."""

    def __init__(self) -> None:
        new = asyncio.get_running_loop().create_future
        self._parts: defaultdict[tuple[int, int], asyncio.Future[Any]] = defaultdict(new)
        self._totals: defaultdict[int, asyncio.Future[Any]] = defaultdict(new)
        self._error: ConnectionError | None = None

    async def part(self, step: int, child: int) -> NDArray[Any]:
        """Return the array of a child."""
        self._check()
        values: NDArray[Any] = await self._parts[step, child]
        del self._parts[step, child]
        return values

    async def reduce(self, step: int, child: int, values: NDArray[Any]) -> NDArray[Any]:
        """Take the array of a child, and return the total."""
        self._check()
        self._parts[step, child].set_result(values)
        total: NDArray[Any] = await self._totals[step]
        return total

    def publish(self, step: int, total: NDArray[Any]) -> None:
        """Answer the children; they have read the total of two steps ago."""
        if not self._totals[step].done():
            self._totals[step].set_result(total)
        self._totals.pop(step - 2, None)

    def abort(self) -> None:
        """End all waits with an error."""
        self._error = ConnectionError("lost the connection to another worker: the run has ended")
        for future in (*self._parts.values(), *self._totals.values()):
            if not future.done():
                future.set_exception(self._error)
                future.exception()  # nobody may wait for it

    def _check(self) -> None:
        if self._error is not None:
            raise self._error


# By run of this process; used in the event loop of the worker alone.
_EXCHANGES: defaultdict[str, _Exchange] = defaultdict(_Exchange)


async def register(run: str, dask_worker: Any) -> None:
    """Prepare a worker to take what other workers of a run send."""
    dask_worker.handlers["edgewise_reduce"] = _reduce
    _EXCHANGES[run] = _Exchange()


async def _reduce(run: str, step: int, rank: int, values: Any) -> Any:
    from distributed.protocol import to_serialize

    return to_serialize(await _EXCHANGES[run].reduce(step, rank, values))


async def abort(run: str) -> None:
    """End the waits of a run on this worker, because another worker is lost or has failed."""
    if run in _EXCHANGES:
        _EXCHANGES[run].abort()


async def unregister(run: str) -> None:
    """Forget a run."""
    _EXCHANGES.pop(run, None)
