"""The base of all searches, and the rewards of columns that some of them learn from."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from edgewise.common.checks import flag, integer
from edgewise.common.dtypes import Columns, Reals

# Shares of whole numbers that come out a little too large are not one more.
_ROUNDING = 1e-9


class Search(BaseEstimator):
    """Which columns a learner searches.

    A search object holds settings; `start` prepares it for one training run, `begin` for one
    round. Each decision is one `pull` and, where the search learns, one `update` with the rewards
    of the columns. To write a search, give it a `k` and define `_choose`; to write one that learns,
    see `Bandit`.
    """

    k: int = 0
    """The number of columns of a pull, where it is a setting."""

    per_round: bool = False
    """Whether all decisions of a round search the same columns, where it is a setting."""

    learns = False
    """Whether the search learns from rewards."""

    def start(self, columns: Columns, seed: int) -> "Search":
        """Begin a run over the given columns; return the search to go on with, mostly this one."""
        self.columns_ = columns
        self.seed_ = seed
        return self.begin(0)

    def begin(self, t: int) -> Self:
        """Begin round `t`, whose random stream depends only on the seed and the round."""
        self.round_ = t
        self.__dict__.pop("rng_", None)
        self.__dict__.pop("_held", None)
        return self

    @cached_property
    def rng_(self) -> np.random.Generator:
        """The random stream of the round."""
        return np.random.default_rng([self.seed_, self.round_])

    def shared(self, share: float) -> "Search":
        """Return the search for a share of the columns, with the same share of its k."""
        if not self._has_k:
            return self
        return clone(self).set_params(k=max(1, math.ceil(self.k * share - _ROUNDING)))

    @property
    def _has_k(self) -> bool:
        return "k" in self.get_params(deep=False)

    def pull(self, n: int | None = None) -> Columns:
        """Return the numbers of `n` columns to search, ascending; None is the search's own k."""
        if n is None and self.per_round:
            return self._held
        return self._pulled(self.k if n is None else integer("n", n, 1))

    @cached_property
    def _held(self) -> Columns:
        """The columns of the round, where all its decisions search the same."""
        return self._pulled(self.k)

    def _pulled(self, size: int) -> Columns:
        if size >= len(self.columns_):
            return self.columns_
        return self.columns_[self._choose(size)]

    def _choose(self, n: int) -> Columns:
        """Return the positions of `n` columns, fewer than there are, ascending."""
        raise NotImplementedError

    def takes_all(self, n_columns: int) -> bool:
        """Return whether a pull takes all of `n_columns` columns."""
        return self.k >= n_columns

    def rewards(self, shares: Reals) -> Reals:
        """Return the rewards of columns, from their edges as shares of the weight."""
        return root(shares)

    def update(self, columns: Columns, rewards: Reals, weight: float = 1.0) -> None:
        """Learn from the rewards of a pull, seen on a share `weight` of the round's weight."""

    def state(self, n_rounds: int) -> dict[str, NDArray[Any]]:
        """Return what the search has learned after `n_rounds` rounds, as arrays."""
        return {}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `state` returned, after `start` on the same columns."""
        if state:
            raise ValueError(f"{type(self).__name__} has no state to restore")

    def validate(self) -> None:
        """Raise if a setting is wrong."""
        if self._has_k:
            integer("k", self.k, 1)
        flag("per_round", self.per_round)


def root(shares: Reals) -> Reals:
    """Return 1 - sqrt(1 - edge^2): decrease of the error bound (Kégl and Busa-Fekete 2009b)."""
    return 1.0 - np.sqrt(1.0 - np.clip(shares, 0.0, 1.0) ** 2)


def log(shares: Reals) -> Reals:
    """Return ``-1/2 ln(1 - edge^2)``, at most 1: the decrease of the logarithm of the bound."""
    with np.errstate(divide="ignore"):
        return np.minimum(-0.5 * np.log1p(-(np.clip(shares, 0.0, 1.0) ** 2)), 1.0) + 0.0


def relative(shares: Reals, scale: Reals, fade: float) -> Reals:
    """Return `root` as a share of the best of recent pulls: all edges shrink in training.

    `scale`, the best so far, first fades by a factor; it is updated in place. The best of this pull
    alone would not do: it would get a reward of 1 even where no column of the pull is any good.
    """
    rewards = np.nan_to_num(root(shares))
    scale[0] = max(float(rewards.max(initial=0.0)), fade * scale[0])
    return rewards / scale if scale[0] > 0.0 else rewards


REWARDS: dict[str, Callable[[Reals], Reals]] = {"root": root, "log": log}
"""The rewards that depend on edges alone, by their names: numbers between 0 and 1."""
