"""The base of searches that learn: columns are the arms of a bandit, improvements their rewards."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import GAIN_SCALE, SEARCH_SCALE
from edgewise.common.checks import one_of
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.search.base import Exhaustive, Search

# How often all columns are searched while the scale of relative rewards fades to 1/e.
_PASSES_OF_SCALE = 2.0

Memory = dict[str, NDArray[Any]]
"""The memory of a search: arrays by name."""


class _TreeSums(NamedTuple):
    """The improvements of all columns, summed over the nodes of a tree."""

    improvements: Exacts
    mass: int = 0  # of the rows at the nodes


class Bandit(Search):
    """A search that learns which columns pay off (Kégl and Busa-Fekete 2009b).

    A policy defines its memory before the first pull (`_initial_memory`), the arms it pulls
    (`_choose`) and how it learns from their rewards (`_learn`). All that it learns is in `memory_`.
    Each round begins with a copy, so that an interrupted round can be undone.
    """

    learns = True

    reward: str

    _tree: _TreeSums | None = None

    @abstractmethod
    def _initial_memory(self, n_arms: int) -> Memory:
        """Return the memory of `n_arms` arms before the first pull."""

    @abstractmethod
    def _learn(self, positions: Columns, rewards: Reals, weight: float) -> None:
        """Learn from rewards between 0 and 1, one for each position.

        They were seen on a share `weight` of the round's weight: less than 1 in nodes of trees.
        """

    def start(self, columns: Columns, seed: int) -> Search:
        if self.searches_all(len(columns)):
            # Nothing to learn: backends may then search ahead, and need not say what they saw.
            return Exhaustive().start(columns, seed)
        self.memory_ = self._initial_memory(len(columns))
        if self.reward == "relative":
            self.memory_["scale"] = np.zeros(1)
        self.memory_before_ = _copy(self.memory_)
        return super().start(columns, seed)

    def begin(self, t: int) -> Self:
        # A round that begins again forgets what the search learned in it.
        if t == self.__dict__.get("round_"):
            self.memory_ = _copy(self.memory_before_)
        else:
            self.memory_before_ = _copy(self.memory_)
        self._tree = None
        return super().begin(t)

    def learn(self, columns: Columns, improvements: Exacts, mass: int, by_gain: bool) -> None:
        """Learn from the improvements that columns offer on rows of this mass.

        Inside a tree whose nodes all search the columns of the round they are added up.
        """
        if self._tree is not None:
            positions = np.searchsorted(self.columns_, columns)
            self._tree.improvements[positions] += improvements
            self._tree = self._tree._replace(mass=self._tree.mass + mass)
            return
        rewards = self.rewards(edge_shares(improvements, mass, by_gain))
        self.update(columns, rewards, min(mass / SEARCH_SCALE, 1.0))

    def begin_tree(self) -> None:
        if self.per_round:
            self._tree = _TreeSums(np.zeros(len(self.columns_), dtype=np.int64))

    def end_tree(self, by_gain: bool) -> None:
        # One reward for all nodes: sums do not depend on the order in which nodes were searched.
        tree, self._tree = self._tree, None
        if tree is not None and tree.mass:
            columns = self.pull()
            positions = np.searchsorted(self.columns_, columns)
            self.learn(columns, tree.improvements[positions], tree.mass, by_gain)

    def rewards(self, shares: Reals) -> Reals:
        """Return the rewards of a pull; relative ones remember the best of recent pulls."""
        if self.reward != "relative":
            return REWARDS[self.reward](shares)
        fade = max(0.0, 1.0 - len(shares) / (_PASSES_OF_SCALE * len(self.columns_)))
        return relative(shares, self.memory_["scale"], fade)

    def update(self, columns: Columns, rewards: Reals, weight: float = 1.0) -> None:
        """Learn from the rewards of a pull, clipped to [0, 1]; NaN counts as 0."""
        if len(columns):
            # Of a number and NaN, `fmax` returns the number.
            values = np.minimum(np.fmax(rewards, 0.0), 1.0)
            self._learn(np.searchsorted(self.columns_, columns), values, weight)

    def state(self, n_rounds: int) -> Memory:
        # Only the last round is kept; for earlier ones this is the memory at its beginning.
        return _copy(self.memory_ if n_rounds > self.round_ else self.memory_before_)

    def restore(self, state: Memory) -> None:
        name = type(self).__name__
        if set(state) != set(self.memory_):
            expected = ", ".join(sorted(self.memory_))
            raise ValueError(f"the state of {name} has {expected}, got {', '.join(sorted(state))}")
        for key, current in self.memory_.items():
            values = np.asarray(state[key])
            if values.shape != current.shape or values.dtype.kind not in "iuf":
                raise ValueError(
                    f"{key} in the state of {name} must be numbers of shape {current.shape}, got "
                    f"{values.dtype} of shape {values.shape}"
                )
            if not np.isfinite(values).all():
                raise ValueError(f"{key} in the state of {name} must be finite")
        self.memory_ = {
            key: np.array(state[key], dtype=current.dtype) for key, current in self.memory_.items()
        }
        self.memory_before_ = _copy(self.memory_)

    def validate(self) -> None:
        super().validate()
        one_of("reward", self.reward, [*REWARDS, "relative"])


def edge_shares(improvements: Exacts, mass: int, by_gain: bool) -> Reals:
    """Return improvements as shares of a mass; a gain as the share of the edge with that gain."""
    if by_gain:
        return np.sqrt(np.minimum(improvements / (GAIN_SCALE * max(mass, 1)), 1.0))
    return improvements / max(mass, 1)


def root(shares: Reals) -> Reals:
    """Return 1 - sqrt(1 - edge^2): decrease of the error bound (Kégl and Busa-Fekete 2009b)."""
    return 1.0 - np.sqrt(1.0 - np.clip(shares, 0.0, 1.0) ** 2)


def log(shares: Reals) -> Reals:
    """Return ``-1/2 ln(1 - edge^2)``, at most 1: the decrease of the logarithm of the bound."""
    with np.errstate(divide="ignore"):
        return np.minimum(-0.5 * np.log1p(-(np.clip(shares, 0.0, 1.0) ** 2)), 1.0) + 0.0


def relative(shares: Reals, scale: Reals, fade: float) -> Reals:
    """Return `root` as a share of the best of recent pulls: all edges shrink in training.

    `scale`, the best so far, first fades by a factor; it is updated in place. With the best of this
    pull alone, a pull of bad columns would still give one of them a reward of 1.
    """
    rewards = np.nan_to_num(root(shares))
    scale[0] = max(float(rewards.max(initial=0.0)), fade * scale[0])
    return rewards / scale if scale[0] > 0.0 else rewards


REWARDS: dict[str, Callable[[Reals], Reals]] = {"root": root, "log": log}
"""The rewards that depend on edges alone, by their names: numbers between 0 and 1."""


def largest(values: Reals, n: int) -> Columns:
    """Return the positions of the `n` largest values, ascending; ties go to the lowest."""
    if n <= 0:
        return np.empty(0, dtype=np.intp)
    smallest = np.partition(values, len(values) - n)[len(values) - n]
    above = np.flatnonzero(values > smallest)
    # NumPy does not define how a partition orders equal values, so they are chosen here.
    ties = np.flatnonzero(values == smallest)[: n - len(above)]
    return np.sort(np.concatenate((above, ties)))


def _copy(memory: Memory) -> Memory:
    return {key: values.copy() for key, values in memory.items()}
