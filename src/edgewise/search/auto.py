"""Search all columns where there are few, and learn which to search where there are many."""

from typing import Any, Self

from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.common.dtypes import Columns, Reals
from edgewise.search.base import Search
from edgewise.search.exhaustive import Exhaustive
from edgewise.search.ucb import UCB

MANY_COLUMNS = 500
"""The least number of columns from which `Auto` learns which to search."""


class Auto(Search):
    """Search every column of up to 499, and k of more by ``UCB(k, random=0.5)``: ``search="auto"``.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search where there are 500 or more.

    Examples
    --------
    >>> import numpy as np
    >>> [len(Auto().start(np.arange(n), seed=0).pull()) for n in (100, 10_000)]
    [100, 50]
    """

    def __init__(self, k: int = 50) -> None:
        self.k = k

    def validate(self) -> None:
        integer("k", self.k, 1)

    def start(self, columns: Columns, seed: int) -> Self:
        self.chosen_ = UCB(self.k, random=0.5) if len(columns) >= MANY_COLUMNS else Exhaustive()
        self.chosen_.start(columns, seed)
        return super().start(columns, seed)

    @property
    def learns(self) -> bool:  # type: ignore[override]
        return "chosen_" not in self.__dict__ or self.chosen_.learns

    def begin(self, t: int) -> Self:
        self.chosen_.begin(t)
        return super().begin(t)

    def takes_all(self, n_columns: int) -> bool:
        return n_columns < MANY_COLUMNS

    def pull(self, n: int | None = None) -> Columns:
        return self.chosen_.pull(n)

    def rewards(self, shares: Reals) -> Reals:
        return self.chosen_.rewards(shares)

    def update(self, columns: Columns, rewards: Reals) -> None:
        self.chosen_.update(columns, rewards)

    def state(self, n_rounds: int) -> dict[str, NDArray[Any]]:
        return self.chosen_.state(n_rounds)

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.chosen_.restore(state)
