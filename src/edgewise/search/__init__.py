"""Searches: which columns to try in each round."""

from dataclasses import dataclass
from typing import Any

from edgewise.common.checks import one_of
from edgewise.common.dtypes import Columns
from edgewise.search.bandit import Bandit
from edgewise.search.base import Exhaustive, Lazy, Search
from edgewise.search.exp3p import Exp3P
from edgewise.search.thompson import ThompsonSampling
from edgewise.search.ucb import UCB

__all__ = [
    "SEARCHES",
    "UCB",
    "Auto",
    "Bandit",
    "Exhaustive",
    "Exp3P",
    "Lazy",
    "Search",
    "ThompsonSampling",
    "resolve_search",
]

MANY_COLUMNS = 200
"""The smallest number of columns from which `Auto` learns which to search."""

# Above 1, columns are still chosen by their rewards, and trees of a run stay different.
_EXPLORATION = 1.5


@dataclass(eq=False, repr=False)
class Auto(Search):
    """Search every column of up to 199, and learn which to search of more: ``search="auto"``.

    `start` returns `Exhaustive` or ``ThompsonSampling(k, exploration=1.5, per_round=True)``.

    Parameters
    ----------
    k : int, default 50
        The number of columns to search if there are 200 or more.

    Examples
    --------
    >>> import numpy as np
    >>> [len(Auto().start(np.arange(n), seed=0).pull()) for n in (100, 10_000)]
    [100, 50]
    """

    learns = True

    k: int = 50

    def start(self, columns: Columns, seed: int) -> Search:
        if self.searches_all(len(columns)):
            return Exhaustive().start(columns, seed)
        policy = ThompsonSampling(self.k, exploration=_EXPLORATION, per_round=True)
        return policy.start(columns, seed)

    def searches_all(self, n_columns: int) -> bool:
        return n_columns < MANY_COLUMNS


SEARCHES: dict[str, type[Search]] = {
    "auto": Auto,
    "exhaustive": Exhaustive,
    "lazy": Lazy,
    "ucb": UCB,
    "exp3p": Exp3P,
    "thompson": ThompsonSampling,
}


def resolve_search(search: Any) -> Search:
    """Return the search of a name, or an object with its settings checked."""
    if isinstance(search, str):
        search = SEARCHES[one_of("search", search, SEARCHES)]()
    if not isinstance(search, Search):
        names = ", ".join(repr(name) for name in SEARCHES)
        raise TypeError(f"search must be one of {names} or a Search object, got {search!r}")
    search.validate()
    return search
