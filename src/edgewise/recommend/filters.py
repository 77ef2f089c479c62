"""Which items a list may hold: candidates, exclusions, and what a user has seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import ArgumentError
from edgewise.common.dtypes import Indices, Mask
from edgewise.common.ids import Ids
from edgewise.data.columns import CategoricalColumn
from edgewise.data.table import ColumnTable
from edgewise.ratings.rows import Grouped, entry_positions


class Owned(NamedTuple):
    """Items of each list: those of list t are ``items[starts[t]:starts[t + 1]]``."""

    starts: NDArray[np.int64]
    items: NDArray[np.integer]

    def of(self, lists: Indices) -> tuple[Indices, Indices]:
        """Return the items of some lists, as places in `lists` and items."""
        sizes = self.starts[lists + 1] - self.starts[lists]
        rows = np.repeat(np.arange(len(lists)), sizes)
        return rows, self.items[entry_positions(self.starts, lists)].astype(np.intp, copy=False)


@dataclass(frozen=True)
class Filters:
    """The items that lists may hold: some for all lists, and some for each."""

    items: Mask
    seen: Grouped | None = None
    chosen: Owned | None = None
    excluded: Owned | None = None

    def left_out(self, lists: Indices, users: Indices) -> tuple[Indices, Indices]:
        """Return what single lists must not hold, as places in `lists` and items.

        `users` are the indices of their users, -1 for users without any ratings.
        """
        rows, items = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        if self.seen is not None:
            old = np.flatnonzero(users >= 0)
            more = Owned(self.seen.starts, self.seen.others).of(users[old])
            rows.append(old[more[0]])
            items.append(more[1])
        if self.excluded is not None:
            more = self.excluded.of(lists)
            rows.append(more[0])
            items.append(more[1])
        return np.concatenate(rows), np.concatenate(items)

    def pairs(self, lists: Indices, users: Indices) -> tuple[Indices, Indices]:
        """Return what lists with candidates of their own may hold, in order."""
        allowed = np.zeros((len(lists), len(self.items)), dtype=bool)
        if self.chosen is not None:
            allowed[self.chosen.of(lists)] = True
        allowed[:, ~self.items] = False
        allowed[self.left_out(lists, users)] = False
        rows, items = np.nonzero(allowed)
        return rows, items


def owned(name: str, given: Mapping[Any, Any], users: list[Any], ids: Ids, known: bool) -> Owned:
    """Return the items of each user's list, or raise.

    With `known`, every user must have some, perhaps none, and all must be items of the catalog.
    """
    lost = next((user for user in users if user not in given), None) if known else None
    if lost is not None:
        raise ValueError(f"{name} must hold items for every user, got none for {lost!r}")
    lists = [np.atleast_1d(np.asarray(given.get(user, ()), dtype=object)) for user in users]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in lists], dtype=np.int64)])
    flat = np.fromiter(chain.from_iterable(lists), dtype=object, count=int(starts[-1]))
    if known:
        return Owned(starts, ids.require(name, flat))
    places = ids.find(name, flat)
    ends = np.concatenate([[0], np.cumsum(places >= 0)])
    return Owned(ends[starts], places[places >= 0])


def described(where: Mapping[str, Any], features: ColumnTable | None, n_items: int) -> Mask:
    """Return the items whose features have one of the values that `where` gives, or raise."""
    if not isinstance(where, Mapping):
        raise TypeError(f"where must map features to values, got {type(where).__name__}")
    chosen = np.ones(n_items, dtype=bool)
    names = [] if features is None else [features.name(j) for j in range(features.n_columns)]
    for name, given in where.items():
        if features is None or name not in names:
            raise ArgumentError(
                "where", dict(where), f"must name features of the items: there are {names}"
            )
        values = given if isinstance(given, (list, tuple, set, frozenset, np.ndarray)) else [given]
        column = features.column(names.index(name))
        if isinstance(column, CategoricalColumn):
            there = [category in set(values) for category in column.categories]
            chosen &= np.array([*there, False])[column.codes]
        else:
            numbers = [value for value in values if not isinstance(value, str)]
            chosen &= np.isin(column.reals(), numbers)
    return chosen
