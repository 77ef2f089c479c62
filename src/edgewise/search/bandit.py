"""The base of searches that learn: columns are the arms of a bandit."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import one_of
from edgewise.common.dtypes import Columns, Reals
from edgewise.search.base import REWARDS, Search, relative

# How often all columns are searched while the scale of relative rewards fades to 1/e.
_SCALE_LASTS = 2.0

Memory = dict[str, NDArray[Any]]
"""The memory of a search: arrays by name."""


class Bandit(Search):
    """A search that learns which columns pay off (Kégl and Busa-Fekete 2009b).

    A policy defines its memory before the first pull (`_nothing`), the arms it pulls (`_choose`)
    and how it learns from their rewards (`_learn`). All that it learns is in `memory_`. Each round
    begins with a copy, so that an interrupted round can be undone.
    """

    learns = True

    reward: str

    @abstractmethod
    def _nothing(self, n_arms: int) -> Memory:
        """Return the memory of `n_arms` arms before the first pull."""

    @abstractmethod
    def _learn(self, places: Columns, rewards: Reals, weight: float) -> None:
        """Learn from rewards between 0 and 1, one for each position.

        They were seen on a share `weight` of the round's weight: less than 1 in nodes of trees.
        """

    def start(self, columns: Columns, seed: int) -> Search:
        self.memory_ = self._nothing(len(columns))
        if self.reward == "relative":
            self.memory_["scale"] = np.zeros(1)
        self.kept_ = _copy(self.memory_)
        return super().start(columns, seed)

    def begin(self, t: int) -> Self:
        # Beginning a round again forgets what it has learned.
        if t == self.__dict__.get("round_"):
            self.memory_ = _copy(self.kept_)
        else:
            self.kept_ = _copy(self.memory_)
        return super().begin(t)

    def rewards(self, shares: Reals) -> Reals:
        """Return the rewards of a pull; relative ones remember the best of recent pulls."""
        if self.reward != "relative":
            return REWARDS[self.reward](shares)
        fade = max(0.0, 1.0 - len(shares) / (_SCALE_LASTS * len(self.columns_)))
        return relative(shares, self.memory_["scale"], fade)

    def update(self, columns: Columns, rewards: Reals, weight: float = 1.0) -> None:
        """Learn from the rewards of a pull, clipped to [0, 1]; NaN counts as 0."""
        if len(columns):
            # Of a number and NaN, `fmax` returns the number.
            values = np.minimum(np.fmax(rewards, 0.0), 1.0)
            self._learn(np.searchsorted(self.columns_, columns), values, weight)

    def state(self, n_rounds: int) -> Memory:
        # Only the last round is kept; for earlier ones this is the memory at its beginning.
        return _copy(self.memory_ if n_rounds > self.round_ else self.kept_)

    def restore(self, state: Memory) -> None:
        name = type(self).__name__
        if set(state) != set(self.memory_):
            wanted = ", ".join(sorted(self.memory_))
            raise ValueError(f"the state of {name} has {wanted}, got {', '.join(sorted(state))}")
        for key, known in self.memory_.items():
            given = np.asarray(state[key])
            if given.shape != known.shape or given.dtype.kind not in "iuf":
                raise ValueError(
                    f"{key} in the state of {name} must be numbers of shape {known.shape}, got "
                    f"{given.dtype} of shape {given.shape}"
                )
            if not np.isfinite(given).all():
                raise ValueError(f"{key} in the state of {name} must be finite")
        self.memory_ = {
            key: np.array(state[key], dtype=known.dtype) for key, known in self.memory_.items()
        }
        self.kept_ = _copy(self.memory_)

    def validate(self) -> None:
        super().validate()
        one_of("reward", self.reward, [*REWARDS, "relative"])


def largest(values: Reals, n: int) -> Columns:
    """Return the positions of the `n` largest values, ascending; ties go to the lowest."""
    if n <= 0:
        return np.empty(0, dtype=np.intp)
    last = np.partition(values, len(values) - n)[len(values) - n]
    above = np.flatnonzero(values > last)
    # NumPy does not say how a partition orders equal values, so they are chosen here.
    level = np.flatnonzero(values == last)[: n - len(above)]
    return np.sort(np.concatenate((above, level)))


def _copy(memory: Memory) -> Memory:
    return {key: values.copy() for key, values in memory.items()}
