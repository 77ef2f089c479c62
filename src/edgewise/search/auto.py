"""Look at every column where there are few, and learn where to look where there are many."""

from typing import Any, Self

from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.common.dtypes import Columns, Reals
from edgewise.search.base import Search
from edgewise.search.exhaustive import Exhaustive
from edgewise.search.ucb import UCB

MANY_COLUMNS = 500
"""From so many columns on, `Auto` learns where to look."""


class Auto(Search):
    """Look at every column of up to 499, and at some of more: ``UCB(k, random=0.5)``.

    That is what ``search="auto"`` stands for. Half of the k are those that promise most, half
    are drawn at random: where few columns tell anything the first half finds them, where most do
    the second half makes rules differ. With fewer columns there is less time to save.

    Parameters
    ----------
    k : int, default 50
        How many of many columns to look at.

    Examples
    --------
    >>> import numpy as np
    >>> len(Auto().start(np.arange(100), seed=0).pull())
    100
    >>> len(Auto().start(np.arange(10_000), seed=0).pull())
    50
    """

    def __init__(self, k: int = 50) -> None:
        self.k = k

    def validate(self) -> None:
        """Raise if `k` is not a positive integer."""
        integer("k", self.k, 1)

    def start(self, columns: Columns, seed: int) -> Self:
        """Begin a run over the given columns."""
        self.chosen_ = UCB(self.k, random=0.5) if len(columns) >= MANY_COLUMNS else Exhaustive()
        self.chosen_.start(columns, seed)
        return super().start(columns, seed)

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether the search wants to know what the columns were worth."""
        return "chosen_" not in self.__dict__ or self.chosen_.learns

    def begin(self, t: int) -> Self:
        """Begin round `t`."""
        self.chosen_.begin(t)
        return super().begin(t)

    def takes_all(self, n_columns: int) -> bool:
        """Return whether a pull takes all of so many columns."""
        return n_columns < MANY_COLUMNS

    def pull(self, n: int | None = None) -> Columns:
        """Return the columns that the search it has chosen wants."""
        return self.chosen_.pull(n)

    def rewards(self, shares: Reals) -> Reals:
        """Return what columns are worth, from their edges as shares of the weight."""
        return self.chosen_.rewards(shares)

    def update(self, columns: Columns, rewards: Reals) -> None:
        """Learn what columns that were pulled were worth."""
        self.chosen_.update(columns, rewards)

    def state(self, n_rounds: int) -> dict[str, NDArray[Any]]:
        """Return what the search has learned in so many rounds, as arrays."""
        return self.chosen_.state(n_rounds)

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take up what `state` returned, after `start` on the same columns."""
        self.chosen_.restore(state)
