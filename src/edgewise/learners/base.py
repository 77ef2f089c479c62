"""A learner says which base functions it can make, and finds the best of them in a round."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from sklearn.base import BaseEstimator

from edgewise.dtypes import Columns, Exacts, Reals, Signs
from edgewise.kernels import Kernels, State
from edgewise.search import Search

Energies = Callable[[Exacts], Reals]
"""From the edges of some candidates, shape (candidates, K) in the search's fixed point, to the
energy Z that each would leave."""


@dataclass(frozen=True)
class Cut:
    """What a learner found: where to cut, one column for all scores or one for each.

    Attributes
    ----------
    columns : intp array of shape (1,) or (K,)
        The column; -1 is the constant classifier.
    first : intp array of the same shape
        The first bin on the positive side.
    missing : int8 array of the same shape
        The output for missing values.
    """

    columns: Columns
    first: Columns
    missing: Signs


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
