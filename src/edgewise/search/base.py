"""The base of all searches, and the two that learn nothing: all columns, and random ones."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from edgewise.common.checks import flag, integer
from edgewise.common.dtypes import Columns, Exacts, Reals

# Fractions of whole numbers that come out slightly too large are not rounded up.
_ROUNDING = 1e-9


class Search(BaseEstimator):
    """Which columns a learner searches.

    A search object holds settings; `start` prepares it for one training run, `begin` for one
    round. Each decision is one `pull`, after which a search that learns is shown how far each
    column improves the model. To write a search, give it a `k` and define `_choose`; to write one
    that learns, see `Bandit`.
    """

    k: int = 0
    """The number of columns of a pull, where it is a setting."""

    per_round: bool = False
    """Whether all decisions of one round search the same columns, where it is a setting."""

    learns = False
    """Whether the search learns from rewards."""

    def start(self, columns: Columns, seed: int) -> "Search":
        """Start a run over these columns and return the search to use, mostly this one."""
        self.columns_ = columns
        self.seed_ = seed
        return self.begin(0)

    def begin(self, t: int) -> Self:
        """Begin round `t`, whose random stream depends only on the seed and the round."""
        self.round_ = t
        self.__dict__.pop("rng_", None)
        self.__dict__.pop("_columns_of_round", None)
        return self

    @cached_property
    def rng_(self) -> np.random.Generator:
        """The random stream of the round."""
        return np.random.default_rng([self.seed_, self.round_])

    def with_fraction(self, fraction: float) -> "Search":
        """Return the search for a fraction of the columns, with the same fraction of its k."""
        if not self._has_k:
            return self
        return clone(self).set_params(k=max(1, math.ceil(self.k * fraction - _ROUNDING)))

    @property
    def _has_k(self) -> bool:
        return "k" in self.get_params(deep=False)

    def pull(self) -> Columns:
        """Return the columns to search, ascending."""
        return self._columns_of_round if self.per_round else self._select_columns()

    @cached_property
    def _columns_of_round(self) -> Columns:
        return self._select_columns()

    def _select_columns(self) -> Columns:
        if self.searches_all(len(self.columns_)):
            return self.columns_
        return self.columns_[self._choose()]

    def _choose(self) -> Columns:
        """Return the positions of `k` columns, fewer than there are, ascending."""
        raise NotImplementedError

    def searches_all(self, n_columns: int) -> bool:
        """Return whether a pull takes all of `n_columns` columns."""
        return self.k >= n_columns

    def learn(self, columns: Columns, improvements: Exacts, mass: int, by_gain: bool) -> None:
        """Learn from the improvements that columns offer on rows of this mass; see `Bandit`."""

    def begin_tree(self) -> None:
        """Begin to add up the improvements at the nodes of a tree."""

    def end_tree(self, by_gain: bool) -> None:
        """Learn from the sums over all nodes of the tree."""

    def rewards(self, shares: Reals) -> Reals:
        """Return the rewards of columns, from their edges as shares of the weight."""
        raise NotImplementedError

    def update(self, columns: Columns, rewards: Reals, weight: float = 1.0) -> None:
        """Learn from the rewards of a pull, seen on a share `weight` of the round's weight."""

    def state(self, n_rounds: int) -> dict[str, NDArray[Any]]:
        """Return the memory of the search after `n_rounds` rounds, as arrays."""
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


class Exhaustive(Search):
    """Search every column in every round.

    Examples
    --------
    >>> import numpy as np
    >>> search = Exhaustive().start(np.arange(3), seed=0)
    >>> search.pull()
    array([0, 1, 2])
    """

    def searches_all(self, n_columns: int) -> bool:
        """Return True."""
        return True


@dataclass(eq=False, repr=False)
class Lazy(Search):
    """Search `k` random columns in every round.

    LazyBoost (Escudero, Màrquez and Rigau 2000).

    Parameters
    ----------
    k : int, default 100
        The number of columns to search; all of them if there are fewer.
    per_round : bool, default False
        Whether all terms of a product and all nodes of a tree search the same columns.

    Examples
    --------
    >>> import numpy as np
    >>> search = Lazy(2).start(np.arange(10), seed=0)
    >>> search.pull().shape
    (2,)
    """

    k: int = 100
    per_round: bool = False

    def _choose(self) -> Columns:
        return np.sort(self.rng_.choice(len(self.columns_), size=self.k, replace=False))
