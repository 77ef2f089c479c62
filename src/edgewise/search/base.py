"""A search says which columns are looked at in a round, and nothing else."""

from abc import abstractmethod
from functools import cached_property
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from edgewise.dtypes import Columns


class Search(BaseEstimator):
    """Which columns a learner looks at.

    A search object holds settings; `start` readies it for one training run, `begin` for one round.
    Then each decision is one `pull`.
    """

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

    @abstractmethod
    def pull(self) -> Columns:
        """Return the numbers of the columns to look at, ascending."""

    def validate(self) -> None:
        """Raise if a setting is wrong."""
