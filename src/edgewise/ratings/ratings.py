"""Ratings of items by users, with the map between ids and indices inside."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from edgewise.common.checks import generator, integer, one_of, positive
from edgewise.common.dtypes import ROW, Reals, Rows
from edgewise.common.ids import Ids
from edgewise.data.column_table import ColumnTable
from edgewise.ratings.rows import Grouped, grouped
from edgewise.ratings.sources import Sources
from edgewise.ratings.splits import (
    FOLD_WAYS,
    LEFT_OUT,
    WAYS,
    fold_numbers,
    held_out,
    one_each,
)


class Split(NamedTuple):
    """Ratings to train on and ratings to test on, with the same catalogue.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> train, test = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8]).split(0.25, random_state=0)
    >>> len(train), len(test)
    (3, 1)
    """

    train: "Ratings"
    test: "Ratings"


@dataclass(frozen=True, eq=False, repr=False)
class Ratings(Sources):
    """What users said of items: one rating of a pair of user and item, and never two.

    Made by :meth:`from_frame`, :meth:`from_arrays`, :meth:`from_matrix`, :meth:`from_dict` or
    :meth:`from_file`. Ratings stand in a fixed order, by user and then by item, so that nothing
    depends on the order in which they came.

    Attributes
    ----------
    user_ids, item_ids : Ids
        The catalogue: ids, in the order of their indices. Parts of the ratings share it.
    users, items : int32 arrays
        The indices of each rating's user and item.
    values : float64 array
        The ratings; 1 where only the fact is known that a user chose an item.
    weights, times : float64 array or None
        How much each rating counts, and when it was given.
    user_features, item_features : ColumnTable or None
        Columns for all users and all items.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> ratings
    Ratings(3 ratings from 3 to 5, 2 users, 2 items)
    >>> ratings.csr().toarray()
    array([[3., 5.],
           [4., 0.]])
    >>> ratings.item_ids.values
    array(['Fargo', 'Heat'], dtype='<U5')
    """

    user_ids: Ids
    item_ids: Ids
    users: Rows
    items: Rows
    values: Reals
    weights: Reals | None = None
    times: Reals | None = None
    user_features: ColumnTable | None = None
    item_features: ColumnTable | None = None

    def __post_init__(self) -> None:
        # Views of them are kept, and models keep them: a change would go unnoticed.
        for array in (self.users, self.items, self.values, self.weights, self.times):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        span = f" from {self.low:g} to {self.high:g}" if len(self) else ""
        return f"Ratings({len(self)} ratings{span}, {self.n_users} users, {self.n_items} items)"

    @property
    def n_users(self) -> int:
        """The number of users in the catalogue, with or without ratings."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """The number of items in the catalogue, with or without ratings."""
        return len(self.item_ids)

    @property
    def low(self) -> float:
        """The least rating."""
        return float(self.values.min())

    @property
    def high(self) -> float:
        """The largest rating."""
        return float(self.values.max())

    @cached_property
    def levels(self) -> Reals:
        """The different ratings, ascending."""
        return np.unique(self.values)

    @cached_property
    def mean(self) -> float:
        """The weighted mean of the ratings."""
        return float(np.average(self.values, weights=self.weights))

    @cached_property
    def by_user(self) -> Grouped:
        """The ratings of each user, by item."""
        return grouped(self.users, self.items, self.values, self.weights, self.n_users)

    @cached_property
    def by_item(self) -> Grouped:
        """The ratings of each item, by user."""
        return grouped(self.items, self.users, self.values, self.weights, self.n_items)

    def csr(self) -> Any:
        """Return the ratings as a sparse matrix of users by items."""
        view = self.by_user
        shape = (self.n_users, self.n_items)
        parts = (view.values.copy(), view.others.copy(), view.starts.copy())
        return sparse.csr_array(parts, shape=shape)

    def take(self, rows: ArrayLike) -> "Ratings":
        """Return some of the ratings, by a mask or by their places, with the same catalogue.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> ratings = Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 3, 4])
        >>> ratings.take(ratings.values > 3)
        Ratings(2 ratings from 4 to 5, 2 users, 2 items)
        """
        chosen = self._chosen(np.asarray(rows))
        return Ratings(
            self.user_ids,
            self.item_ids,
            self.users[chosen],
            self.items[chosen],
            self.values[chosen],
            None if self.weights is None else self.weights[chosen],
            None if self.times is None else self.times[chosen],
            self.user_features,
            self.item_features,
        )

    def _chosen(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Return the places of ratings, ascending and each once, or raise."""
        n = len(self)
        if rows.dtype == bool:
            if rows.shape != (n,):
                raise ValueError(f"rows must be a mask of all {n} ratings, got shape {rows.shape}")
            return np.flatnonzero(rows)
        if rows.size == 0:
            return np.zeros(0, dtype=np.intp)
        if rows.dtype.kind not in "iu" or rows.ndim != 1:
            raise TypeError("rows must be a mask, or the places of ratings")
        if rows.min() < -n or rows.max() >= n:
            raise ValueError(f"rows must be from 0 to {n - 1}, got {rows.min()} to {rows.max()}")
        places = np.unique(rows.astype(np.intp) % n)
        if len(places) < len(rows):
            raise ValueError("rows must hold each place once")
        return places

    def split(self, test: float = 0.2, by: str = "random", random_state: Any = None) -> Split:
        """Return ratings to train on and ratings to test on.

        Parameters
        ----------
        test : float, default 0.2
            The share of the ratings to test on.
        by : {"random", "user", "time", "user_time"}, default "random"
            Any ratings; the same share of each user's, of whom one rating at least is left to
            train on; the last of all by time; or the last of each user's.
        random_state : int, Generator, RandomState or None, default None
            The same number gives the same split.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> ratings = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], times=[4, 3, 2, 1])
        >>> ratings.split(0.5, by="time").test.users
        array([0, 0], dtype=int32)
        """
        share = positive("test", test, 1.0)
        if one_of("by", by, WAYS).endswith("time"):
            self._require_times(f"by={by!r}")
        rng = generator(random_state)
        parts = self._parts(held_out(by, share, self.by_user, self.times, rng))
        if not all(len(part) for part in parts):
            empty = "train" if len(parts.train) == 0 else "test"
            raise ValueError(f"test={test} leaves none of {len(self)} ratings to {empty} on")
        return parts

    def leave_one_out(self, by: str = "random", random_state: Any = None) -> Split:
        """Return a test part of one rating of every user who has at least two.

        Parameters
        ----------
        by : {"random", "last"}, default "random"
            Any rating, or the last by time.
        random_state : int, Generator, RandomState or None, default None
            The same number gives the same split.
        """
        if one_of("by", by, LEFT_OUT) == "last":
            self._require_times("by='last'")
        return self._parts(one_each(by, self.by_user, self.times, generator(random_state)))

    def folds(self, k: int = 5, by: str = "random", random_state: Any = None) -> Iterator[Split]:
        """Return `k` splits; every rating is in one of the test parts.

        Parameters
        ----------
        k : int, default 5
            How many.
        by : {"random", "user"}, default "random"
            Any ratings, or as many of each user's in all folds as can be.
        random_state : int, Generator, RandomState or None, default None
            The same number gives the same folds.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> ratings = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8])
        >>> [len(test) for train, test in ratings.folds(2)]
        [2, 2]
        """
        integer("k", k, 2)
        if len(self) < k:
            raise ValueError(f"k must be at most the number of ratings, {len(self)}, got {k}")
        one_of("by", by, FOLD_WAYS)
        numbers = fold_numbers(by, k, self.by_user, generator(random_state))
        return (self._parts(numbers == fold) for fold in range(k))

    def _parts(self, tested: NDArray[np.bool_]) -> Split:
        return Split(self.take(~tested), self.take(tested))

    def _require_times(self, what: str) -> None:
        if self.times is None:
            raise ValueError(f"{what} needs the times of the ratings, and these have none")

    def with_users(self, more: "Ratings") -> "Ratings":
        """Return these ratings and those of further users on the same items.

        Parameters
        ----------
        more : Ratings
            Ratings of users that are not here, of items that are.

        Raises
        ------
        ValueError
            If a user is here already, or an item is not.
        """
        user_ids = self.user_ids.extended("users", more.user_ids)
        places = self.item_ids.find("items", more.item_ids.values)
        rated = np.zeros(more.n_items, dtype=bool)
        rated[more.items] = True
        if (places[rated] < 0).any():
            lost = more.item_ids.values[rated & (places < 0)].tolist()
            raise ValueError(f"items must be known, got {', '.join(map(repr, lost[:3]))}")
        return Ratings(
            user_ids,
            self.item_ids,
            np.concatenate([self.users, (more.users + self.n_users).astype(ROW)]),
            np.concatenate([self.items, places[more.items].astype(ROW)]),
            np.concatenate([self.values, more.values]),
            _both(self.weights, more.weights, 1.0, len(self), len(more)),
            _both(self.times, more.times, np.nan, len(self), len(more)),
            _more_rows(self.user_features, more.user_features, more.n_users),
            self.item_features,
        )


def _both(
    ones: Reals | None, others: Reals | None, default: float, n_ones: int, n_others: int
) -> Reals | None:
    if ones is None and (others is None or np.isnan(default)):
        return None
    first = np.full(n_ones, default) if ones is None else ones
    return np.concatenate([first, np.full(n_others, default) if others is None else others])


def _more_rows(
    table: ColumnTable | None, more: ColumnTable | None, n_more: int
) -> ColumnTable | None:
    from edgewise.ratings.features import joined, rows_of

    if table is None:
        return None
    if more is None:
        return rows_of(table, np.append(np.arange(table.n_rows), np.full(n_more, -1)))
    return joined(table, more)
