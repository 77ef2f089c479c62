"""Searches: which columns a round looks for rules in."""

from typing import Any

from edgewise.common.checks import one_of
from edgewise.search.auto import Auto
from edgewise.search.bandit import Bandit
from edgewise.search.base import Search
from edgewise.search.exhaustive import Exhaustive
from edgewise.search.exp3p import Exp3P
from edgewise.search.lazy import Lazy
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
    "search_named",
]

SEARCHES: dict[str, type[Search]] = {
    "auto": Auto,
    "exhaustive": Exhaustive,
    "lazy": Lazy,
    "ucb": UCB,
    "exp3p": Exp3P,
    "thompson": ThompsonSampling,
}


def search_named(search: Any) -> Search:
    """Return a search for a name or an object, its settings checked."""
    if isinstance(search, str):
        search = SEARCHES[one_of("search", search, SEARCHES)]()
    if not isinstance(search, Search):
        names = ", ".join(repr(name) for name in SEARCHES)
        raise TypeError(f"search must be one of {names} or a Search object, got {search!r}")
    search.validate()
    return search
