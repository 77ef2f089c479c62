"""A search says which columns are looked at in a round, and nothing else."""

from abc import abstractmethod
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from edgewise.dtypes import Columns


class Search(BaseEstimator):
    """Which columns a learner looks at.

    A search object holds settings; `start` readies a copy of it for one training run. Then each
    decision is one `pull`.
    """

    def start(self, columns: Columns, rng: np.random.Generator) -> Self:
        """Begin a run over the given columns with a random stream of its own."""
        self.columns_ = columns
        self.rng_ = rng
        return self

    @abstractmethod
    def pull(self) -> Columns:
        """Return the numbers of the columns to look at, ascending."""

    def validate(self) -> None:
        """Raise if a setting is wrong."""
