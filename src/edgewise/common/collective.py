"""Processes that train one model together, each on its own rows.

Every process makes the same calls in the same order. Only integers are summed, so the sums do not
depend on who holds which rows, nor on the order in which a network adds them.
"""

import pickle
from abc import ABC, abstractmethod
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bytes of a process in the first exchange of a gather.
_SLOT = 512

OPERATIONS = ("sum", "max", "min")
"""What `Collective.allreduce` does with the numbers of all processes."""


class Collective(ABC):
    """A group of processes: this one is number `rank` of `size`.

    For another transport, derive from this class and implement `allreduce`. The other methods
    follow from it, and may be replaced by something better.
    """

    rank: int
    size: int

    @abstractmethod
    def allreduce(self, values: NDArray[Any], operation: str = "sum") -> NDArray[Any]:
        """Return the sum, the maximum or the minimum over all processes, entry by entry.

        `values` have the same shape and type everywhere: integers of 8, 32 or 64 bits, or float64
        for a maximum or minimum.
        """

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes, in the order of their ranks."""
        data = np.frombuffer(pickle.dumps(value), dtype=np.uint8)
        # Small values travel with their sizes, in one exchange.
        slots = np.zeros((self.size, _SLOT), dtype=np.uint8)
        slots[self.rank, :8] = np.array([len(data)], dtype="<i8").view(np.uint8)
        if len(data) <= _SLOT - 8:
            slots[self.rank, 8 : 8 + len(data)] = data
        slots = self.allreduce(slots)
        sizes = slots[:, :8].copy().view("<i8")[:, 0].tolist()
        if max(sizes) <= _SLOT - 8:
            return [pickle.loads(slots[r, 8 : 8 + sizes[r]].tobytes()) for r in range(self.size)]
        ends = [0, *accumulate(sizes)]
        every = np.zeros(ends[-1], dtype=np.uint8)
        every[ends[self.rank] : ends[self.rank + 1]] = data
        every = self.allreduce(every)
        return [pickle.loads(every[start:end].tobytes()) for start, end in pairwise(ends)]

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return the value of the process `root`."""
        return self.gather(value if self.rank == root else None)[root]


class Alone(Collective):
    """The only process."""

    rank, size = 0, 1

    def allreduce(self, values: NDArray[Any], operation: str = "sum") -> NDArray[Any]:
        """Return the values."""
        return values

    def gather(self, value: Any) -> list[Any]:
        """Return a list of the value."""
        return [value]

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return the value."""
        return value
