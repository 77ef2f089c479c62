"""A learner says which base functions it can make, and finds the best of them in a round."""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from sklearn.base import BaseEstimator

from edgewise.dtypes import Exacts, Reals
from edgewise.kernels import Kernels, State
from edgewise.search import Search

Energies = Callable[[Exacts], Reals]
"""From the edges of some candidates, shape (candidates, K) in the search's fixed point, to the
energy Z that each would leave."""


class Cut(NamedTuple):
    """What a learner found: where to cut, one column for all scores or one for each.

    Attributes
    ----------
    columns : list of int, 1 or K of them
        The column; -1 is the constant classifier.
    first : list of int
        The first bin on the positive side.
    missing : list of int
        The output for missing values.
    """

    columns: list[int]
    first: list[int]
    missing: list[int]


class Learner(BaseEstimator):
    """A family of base functions phi."""

    @abstractmethod
    def find(
        self, kernels: Kernels, state: State, search: Search, energies: Energies | None
    ) -> Cut | None:
        """Return the best base function for the round's signed weights, or None if all have edge 0.

        With `energies`, columns are compared by the energy of each column's best cut; without, by
        its edge, which for discrete votes is the same.
        """

    def validate(self) -> None:
        """Raise if a setting is wrong."""

    @abstractmethod
    def find_per_score(self, kernels: Kernels, state: State, search: Search) -> Cut | None:
        """Return the best base function of each score column by itself."""
