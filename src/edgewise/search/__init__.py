"""Searches: which columns are looked at this round."""

from typing import Any

from edgewise.search.base import Search
from edgewise.search.exhaustive import Exhaustive
from edgewise.search.lazy import Lazy
from edgewise.validation import one_of

__all__ = ["SEARCHES", "Exhaustive", "Lazy", "Search", "search_named"]

SEARCHES: dict[str, type[Search]] = {"exhaustive": Exhaustive, "lazy": Lazy}


def search_named(search: Any) -> Search:
    """Return a search for a name or an object.

    Raises
    ------
    ValueError, TypeError
        If it is neither, or one of its settings is wrong.
    """
    if isinstance(search, str):
        search = SEARCHES[one_of("search", search, SEARCHES)]()
    if not isinstance(search, Search):
        names = ", ".join(repr(name) for name in SEARCHES)
        raise TypeError(f"search must be one of {names} or a Search object, got {search!r}")
    search.validate()
    return search
