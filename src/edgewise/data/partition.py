"""Which rows of a table are here, where several processes share it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.collective import Alone, Collective

_ALONE = Alone()


@dataclass(frozen=True)
class Partition:
    """The rows of a table that this process holds: row i here is row ``numbers[i]`` of `n_rows`.

    Where one process holds them all, `numbers` is None and every method returns its argument.
    """

    n_rows: int
    numbers: NDArray[np.int64] | None = None
    collective: Collective = _ALONE

    @staticmethod
    def of_blocks(
        collective: Collective, blocks: Sequence[int], sizes: Sequence[int]
    ) -> "Partition":
        """Return a partition, from the runs of rows that this process holds.

        `blocks` are the numbers of its runs among all processes, ascending, and `sizes`
        the rows of each.
        """
        held = dict(zip(blocks, sizes, strict=True))
        shared: dict[int, int] = {}
        for rank, others in enumerate(collective.gather(held)):
            twice = sorted(shared.keys() & others.keys())
            if twice:
                raise ValueError(f"blocks: number {twice[0]} is at two processes, one is {rank}")
            shared.update(others)
        order = sorted(shared)
        ends = np.cumsum([shared[block] for block in order])
        start = dict(zip(order, (ends - [shared[block] for block in order]).tolist(), strict=True))
        runs = [start[block] + np.arange(size) for block, size in held.items()]
        numbers = np.concatenate([np.empty(0, np.int64), *runs]).astype(np.int64)
        return Partition(int(ends[-1]) if len(ends) else 0, numbers, collective)

    @property
    def is_whole(self) -> bool:
        """Whether all rows are here."""
        return self.numbers is None

    @cached_property
    def is_root(self) -> bool:
        """Whether this is the process that reports, saves and decides by the clock."""
        return self.collective.rank == 0

    def sum(self, values: Any) -> Any:
        """Return the sum over all processes of an array of integers, or of one integer."""
        return self._allreduce(values, "sum")

    def max(self, values: Any) -> Any:
        """Return the maximum over all processes, entry by entry."""
        return self._allreduce(values, "max")

    def min(self, values: Any) -> Any:
        """Return the minimum over all processes, entry by entry."""
        return self._allreduce(values, "min")

    def fsum(self, values: NDArray[np.float64]) -> float:
        """Return the sum of numbers at all processes, rounded once: the same for every order."""
        return self.fsums([values])[0]

    def fsums(self, arrays: Sequence[NDArray[np.float64]]) -> list[float]:
        """Return the sum of each array, rounded once, in one exchange with the other processes."""
        if self.numbers is None:
            return [math.fsum(values.tolist()) for values in arrays]
        partials = self.collective.gather([_partial_sums(values.tolist()) for values in arrays])
        return [
            math.fsum(number for sums in partials for number in sums[i]) for i in range(len(arrays))
        ]

    def any(self, flag: Any) -> bool:
        """Return whether it is true of any process."""
        return bool(self.max(int(bool(flag))))

    def all(self, flag: Any) -> bool:
        """Return whether it is true of all processes."""
        return bool(self.min(int(bool(flag))))

    def _allreduce(self, values: Any, operation: str) -> Any:
        if self.numbers is None:
            return values
        if isinstance(values, np.ndarray):
            shape = values.shape
            return self.collective.allreduce(np.ascontiguousarray(values), operation).reshape(shape)
        dtype = np.float64 if isinstance(values, float) else np.int64
        return self.collective.allreduce(np.array([values], dtype=dtype), operation)[0].item()

    def allgather_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return an array of all rows, along the first axis, given the rows here."""
        if self.numbers is None:
            return values
        # As integers: the bits of the one process that has a row, plus zeros.
        kind = np.dtype(f"u{values.dtype.itemsize}")
        every = np.zeros((self.n_rows, *values.shape[1:]), dtype=values.dtype)
        every[self.numbers] = values
        bits = every.reshape(-1).view(kind)
        return self.collective.allreduce(bits).view(values.dtype).reshape(every.shape)

    def global_rows(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Return the numbers among all of some rows of this process."""
        return rows if self.numbers is None else self.numbers[rows]

    def local_rows(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Return which rows of this process are among some rows of all, ascending."""
        if self.numbers is None:
            return rows
        positions = np.searchsorted(rows, self.numbers)
        is_local = positions < len(rows)
        is_local[is_local] = rows[positions[is_local]] == self.numbers[is_local]
        return np.flatnonzero(is_local).astype(rows.dtype)

    def take(self, rows: NDArray[np.integer]) -> "Partition":
        """Return the partition of some rows of all, ascending, numbered anew."""
        if self.numbers is None:
            return Partition(len(rows))
        local_numbers = self.numbers[self.local_rows(rows)]
        return Partition(
            len(rows), np.searchsorted(rows, local_numbers).astype(np.int64), self.collective
        )


def _partial_sums(numbers: list[float]) -> list[float]:
    """Return an exact sum as a few numbers: each is the rounding error of the one before."""
    partials: list[float] = []
    while (partial := math.fsum([*numbers, *(-number for number in partials)])) != 0.0:
        partials.append(partial)
        if not math.isfinite(partial):
            break
    return partials
