"""A search says which columns are looked at in a round, and nothing else."""

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from edgewise.common.dtypes import Columns, Reals
from edgewise.search.worth import root

# Shares of whole numbers that come out a little too large are not one more.
_ROUNDING = 1e-9


class Search(BaseEstimator):
    """Which columns a learner looks at.

    A search object holds settings; `start` readies it for one training run, `begin` for one round.
    Then each decision is one `pull`, and, where the search learns, one `update` with what the
    columns were worth.
    """

    learns = False
    """Whether the search wants to know what the columns were worth."""

    def start(self, columns: Columns, seed: int) -> Self:
        """Begin a run over the given columns."""
        self.columns_ = columns
        self.seed_ = seed
        return self.begin(0)

    def begin(self, t: int) -> Self:
        """Begin round `t`, with a random stream that depends on the seed and the round only."""
        self.round_ = t
        self.__dict__.pop("rng_", None)
        return self

    @cached_property
    def rng_(self) -> np.random.Generator:
        """The random stream of the round."""
        return np.random.default_rng([self.seed_, self.round_])

    def shared(self, share: float) -> "Search":
        """Return the search for a part of the columns, which gets as large a share of its k."""
        if "k" not in self.get_params(deep=False):
            return self
        wanted = self.get_params(deep=False)["k"] * share
        return clone(self).set_params(k=max(1, math.ceil(wanted - _ROUNDING)))

    @abstractmethod
    def pull(self, n: int | None = None) -> Columns:
        """Return the numbers of `n` columns to look at, ascending; None is the search's own k."""

    def takes_all(self, n_columns: int) -> bool:
        """Return whether a pull takes all of so many columns."""
        return False

    def rewards(self, shares: Reals) -> Reals:
        """Return what columns are worth, from their edges as shares of the weight.

        It is by how much the step lowers the bound on the error, 1 - sqrt(1 - edge^2).
        """
        return root(shares)

    def update(self, columns: Columns, rewards: Reals) -> None:
        """Learn what columns that were pulled were worth."""

    def state(self, n_rounds: int) -> dict[str, NDArray[Any]]:
        """Return what the search has learned in so many rounds, as arrays."""
        return {}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take up what `state` returned, after `start` on the same columns.

        Raises
        ------
        ValueError
            If it is the state of another search.
        """
        if state:
            raise ValueError(f"{type(self).__name__} learns nothing that could be taken up")

    def validate(self) -> None:
        """Raise if a setting is wrong."""
