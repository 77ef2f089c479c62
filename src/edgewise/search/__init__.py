"""Searches: which columns to try in each round."""

from typing import Any

from edgewise.common.checks import one_of
from edgewise.search.bandit import Bandit
from edgewise.search.base import Exhaustive, Lazy, Search
from edgewise.search.exp3p import Exp3P
from edgewise.search.thompson import Auto, ThompsonSampling
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
