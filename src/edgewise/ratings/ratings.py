"""Ratings of items by users, and their ids."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from edgewise.common.checks import generator, integer, one_of, positive
from edgewise.common.choices import SPLITS
from edgewise.common.dtypes import ROW, Reals, Rows
from edgewise.common.files import PathLike
from edgewise.common.ids import Ids
from edgewise.common.text import quote_names
from edgewise.data.table import ColumnTable
from edgewise.ratings.features import append_rows
from edgewise.ratings.rows import Grouped, group_ratings
from edgewise.ratings.splits import (
    LEFT_OUT,
    Split,
    fold_numbers,
    mask_held_out,
    mask_n_per_user,
    time_windows,
)


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Ratings of items by users, at most one for each pair; sorted by user, then by item.

    Build them with :meth:`from_frame`, :meth:`from_arrays`, :meth:`from_matrix`,
    :meth:`from_dict` or :meth:`from_file`.

    Attributes
    ----------
    user_ids, item_ids : Ids
        The catalog: ids in the order of their indices. Subsets of the ratings share it.
    users, items : int32 arrays
        The indices of each rating's user and item.
    values : float64 array
        The ratings; 1 for implicit feedback.
    weights, times : float64 array or None
        How much each rating counts, and when it was given.
    user_features, item_features : ColumnTable or None
        Features of all users and all items.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> ratings
    Ratings(3 ratings from 3 to 5, 2 users, 2 items)
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
        # Grouped views and models share these arrays: a change would go unnoticed.
        for array in (self.users, self.items, self.values, self.weights, self.times):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def from_arrays(
        cls,
        users: Any,
        items: Any,
        ratings: Any = None,
        *,
        weights: Any = None,
        times: Any = None,
        user_features: Any = None,
        item_features: Any = None,
        duplicates: str = "raise",
    ) -> "Ratings":
        """Build ratings from arrays of equal length.

        Parameters
        ----------
        users, items : array-like of int or str
            The ids: any integers or strings.
        ratings : array-like of float, default None
            The ratings; None for implicit feedback.
        weights : array-like of float, default None
            How much each rating counts; positive.
        times : array-like of float, default None
            When each rating was given.
        user_features, item_features : data frame or pair, default None
            A frame with a column "user" or "item" of ids, or a pair ``(ids, X)``. Ids without
            ratings join the catalog.
        duplicates : {"raise", "last", "mean", "sum"}, default "raise"
            How to combine several ratings of one pair; "last" is by time, or without times by the
            order of the input.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> Ratings.from_arrays(["ann", "ann", "bob"], [10, 20, 10], [5, 3, 4])
        Ratings(3 ratings from 3 to 5, 2 users, 2 items)
        """
        from edgewise.ratings.inputs import RatingColumns, build_ratings

        columns = RatingColumns(users, items, ratings, weights, times)
        return build_ratings(columns, user_features, item_features, "user", "item", duplicates)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        user: str = "user",
        item: str = "item",
        rating: str | None = "rating",
        *,
        weight: str | None = None,
        time: str | None = None,
        user_features: Any = None,
        item_features: Any = None,
        duplicates: str = "raise",
    ) -> "Ratings":
        """Build ratings from a pandas, polars or Arrow data frame, one rating per row.

        Parameters
        ----------
        frame : data frame
            The ratings.
        user, item : str
            The columns of ids.
        rating, weight, time : str or None
            The columns of ratings (None for implicit feedback), weights and times.
        user_features, item_features, duplicates
            As in :meth:`from_arrays`; id columns have the same names as in `frame`.
        """
        from edgewise.ratings.inputs import build_ratings, frame_columns

        columns = frame_columns(frame, (user, item, rating, weight, time))
        return build_ratings(columns, user_features, item_features, user, item, duplicates)

    @classmethod
    def from_matrix(
        cls, matrix: Any, user_ids: Any = None, item_ids: Any = None, *, missing: float = 0.0
    ) -> "Ratings":
        """Build ratings from a matrix of users by items, an array or a SciPy sparse matrix.

        Parameters
        ----------
        matrix : array or sparse matrix
            The ratings. In a sparse matrix every stored entry is a rating, zeros included.
        user_ids, item_ids : array-like, default None
            The ids of rows and columns; None numbers them from 0.
        missing : float, default 0
            The value that means "not rated" in an array; NaN always does.
        """
        from edgewise.ratings.inputs import build_matrix

        return build_matrix(matrix, user_ids, item_ids, missing)

    @classmethod
    def from_dict(cls, ratings: Mapping[Any, Mapping[Any, float]]) -> "Ratings":
        """Build ratings from a mapping of users to mappings of items to ratings."""
        from edgewise.ratings.inputs import build_dict

        return build_dict(ratings)

    @classmethod
    def from_file(
        cls,
        path: PathLike,
        user: str = "user",
        item: str = "item",
        rating: str | None = "rating",
        *,
        weight: str | None = None,
        time: str | None = None,
        columns: Any = None,
        separator: str | None = None,
        duplicates: str = "raise",
    ) -> "Ratings":
        """Read ratings from a text file, plain or gzipped, or from a Parquet or Arrow file.

        Ids are integers if all of them are written as integers, else strings.

        Parameters
        ----------
        path : str or path-like
            The file. Parquet needs pandas or polars.
        user, item, rating, weight, time, duplicates
            As in :meth:`from_frame`.
        columns : sequence of str, default None
            The names of the columns if the file has no header.
        separator : str, default None
            The separator of columns; None detects "::", tabs, ",", ";", "|" or blanks.
        """
        from edgewise.ratings.inputs import build_ratings, read_ratings

        names = (user, item, rating, weight, time)
        return build_ratings(read_ratings(path, names, columns, separator), duplicates=duplicates)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        span = f" from {self.low:g} to {self.high:g}" if len(self) else ""
        return f"Ratings({len(self)} ratings{span}, {self.n_users} users, {self.n_items} items)"

    @property
    def n_users(self) -> int:
        """The number of users in the catalog, with or without ratings."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """The number of items in the catalog, with or without ratings."""
        return len(self.item_ids)

    @property
    def low(self) -> float:
        """The smallest rating."""
        return float(self.values.min())

    @property
    def high(self) -> float:
        """The largest rating."""
        return float(self.values.max())

    @cached_property
    def levels(self) -> Reals:
        """The distinct ratings, ascending."""
        return np.unique(self.values)

    @cached_property
    def mean(self) -> float:
        """The weighted mean of the ratings."""
        return float(np.average(self.values, weights=self.weights))

    @cached_property
    def by_user(self) -> Grouped:
        """The ratings of each user, by item."""
        columns = self.users, self.items, self.values, self.weights
        return group_ratings(*columns, self.n_users, self.n_items)

    @cached_property
    def by_item(self) -> Grouped:
        """The ratings of each item, by user."""
        columns = self.items, self.users, self.values, self.weights
        return group_ratings(*columns, self.n_items, self.n_users)

    def csr(self) -> Any:
        """Return the ratings as a sparse matrix of users by items."""
        view, shape = self.by_user, (self.n_users, self.n_items)
        arrays = (view.values.copy(), view.others.copy(), view.starts.copy())
        return sparse.csr_array(arrays, shape=shape)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with one row per rating: user, item, rating, and weight and time.

        Parameters
        ----------
        library : {"pandas", "polars"} or None, default None
            The kind of frame; None takes the first of these that is installed.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
        >>> ratings.to_frame("pandas")
          user   item  rating
        0  ann  Fargo     3.0
        1  ann   Heat     5.0
        2  bob  Fargo     4.0
        """
        from edgewise.io.frames import frame_library

        columns: dict[str, Any] = {
            "user": self.user_ids.values[self.users],
            "item": self.item_ids.values[self.items],
            "rating": self.values.copy(),
        }
        for name, more in (("weight", self.weights), ("time", self.times)):
            if more is not None:
                columns[name] = more.copy()
        return frame_library(library).DataFrame(columns)

    def take(self, rows: ArrayLike) -> "Ratings":
        """Return a subset of the ratings, by mask or position, with the same catalog."""
        return self._at(self._check_rows(np.asarray(rows)))

    def _at(self, rows: NDArray[np.integer]) -> "Ratings":
        return replace(
            self,
            users=self.users[rows],
            items=self.items[rows],
            values=self.values[rows],
            weights=None if self.weights is None else self.weights[rows],
            times=None if self.times is None else self.times[rows],
        )

    def _check_rows(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Return positions in ascending order, each once, or raise."""
        n = len(self)
        if rows.dtype == bool:
            if rows.shape != (n,):
                raise ValueError(f"rows must be a mask of all {n} ratings, got shape {rows.shape}")
            return np.flatnonzero(rows)
        if rows.size == 0:
            return np.zeros(0, dtype=np.intp)
        if rows.dtype.kind not in "iu" or rows.ndim != 1:
            raise TypeError("rows must be a mask or positions of ratings")
        if rows.min() < -n or rows.max() >= n:
            raise ValueError(f"rows must be from 0 to {n - 1}, got {rows.min()} to {rows.max()}")
        positions = np.unique(rows.astype(np.intp) % n)
        if len(positions) < len(rows):
            raise ValueError("rows must hold each position once")
        return positions

    def split(self, test: float = 0.2, by: str = "random", random_state: Any = None) -> Split:
        """Split the ratings into a training part and a test part.

        Parameters
        ----------
        test : float, default 0.2
            Fraction of the ratings to test on.
        by : {"random", "user", "time", "user_time"}, default "random"
            Test on random ratings; on random ratings of each user, who keeps at least one to train
            on; on the latest of all ratings; or on the latest of each user.
        random_state : int, Generator, RandomState or None, default None
            Random seed.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> train, test = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8]).split(0.25)
        >>> len(train), len(test)
        (3, 1)
        """
        share = positive("test", test, 1.0)
        if one_of("by", by, SPLITS).endswith("time"):
            self._require_times(f"by={by!r}")
        rng = generator(random_state)
        split = self._split(mask_held_out(by, share, self.by_user, self.times, rng))
        for purpose, ratings in zip(("train", "test"), split, strict=True):
            if not len(ratings):
                raise ValueError(f"test={test} leaves none of {len(self)} ratings to {purpose} on")
        return split

    def leave_one_out(self, by: str = "random", random_state: Any = None) -> Split:
        """Hold out one rating, random or the last, of every user who has at least two."""
        if one_of("by", by, LEFT_OUT) == "last":
            self._require_times("by='last'")
            return self.leave_last()
        return self._split(mask_n_per_user(1, self.by_user, None, generator(random_state)))

    def leave_last(self, n: int = 1) -> Split:
        """Hold out the last `n` ratings of every user who has more; they need times.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> ratings = Ratings.from_arrays([1, 1, 1, 2], [7, 8, 9, 7], times=[30, 10, 20, 5])
        >>> ratings.leave_last().test.items  # user 1 chose item 7 last
        array([0], dtype=int32)
        """
        integer("n", n, 1)
        self._require_times("leave_last")
        return self._split(mask_n_per_user(n, self.by_user, self.times, generator(0)))

    def windows(
        self, n_windows: int = 5, *, test: float | None = None, train: float | None = None
    ) -> Iterator[Split]:
        """Return splits by time: each tests on a window of time and trains on earlier ratings.

        The last window ends with the last rating. Ratings of equal time stay together, so that no
        training rating is as late as a test rating.

        Parameters
        ----------
        n_windows : int, default 5
            Number of windows to test on.
        test : float or None, default None
            Fraction of all ratings per window; None divides the later half of the ratings.
        train : float or None, default None
            Train on the latest ratings before a window, this fraction of all: a sliding window.
            None trains on all earlier ratings.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> ratings = Ratings.from_arrays(range(8), [7, 8] * 4, times=range(8))
        >>> for train, test in ratings.windows(2, test=0.25, train=0.375):
        ...     print(train.times, test.times)
        [1. 2. 3.] [4. 5.]
        [3. 4. 5.] [6. 7.]
        """
        masks = time_windows(n_windows, test, train, self._require_times("windows"))
        return (Split(self.take(early), self.take(late)) for early, late in masks)

    def folds(
        self, n_folds: int = 5, by: str = "random", random_state: Any = None
    ) -> Iterator[Split]:
        """Return `n_folds` splits; each rating is in exactly one test part.

        Parameters
        ----------
        n_folds : int, default 5
            Number of folds.
        by : {"random", "user"}, default "random"
            Distribute all ratings at random, or each user's ratings evenly over the folds.
        random_state : int, Generator, RandomState or None, default None
            Random seed.
        """
        numbers = fold_numbers(by, n_folds, self.by_user, generator(random_state))
        return (self._split(numbers == fold) for fold in range(n_folds))

    def _split(self, tested: NDArray[np.bool_]) -> Split:
        return Split(self.take(~tested), self.take(tested))

    def _require_times(self, what: str) -> Reals:
        if self.times is None or np.isnan(self.times).any():
            which = "these" if self.times is None else "some of these"
            raise ValueError(f"{what} needs times, but {which} ratings have none")
        return self.times

    def with_ratings(self, more: "Ratings") -> "Ratings":
        """Return these ratings with more, of any users and items; of a pair, the new one counts.

        New users and items get the next indices. Features of known ones stay as they are.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> ratings = Ratings.from_dict({"bob": {"Heat": 5, "Jaws": 3}})
        >>> more = ratings.with_ratings(Ratings.from_dict({"ann": {"Up": 4}, "bob": {"Heat": 1}}))
        >>> more.to_frame("pandas")
          user  item  rating
        0  bob  Heat     1.0
        1  bob  Jaws     3.0
        2  ann    Up     4.0
        """
        user_ids, users, new_users = self.user_ids.merge("users", more.user_ids)
        item_ids, items, new_items = self.item_ids.merge("items", more.item_ids)
        both = self._append(more, users, items)
        pairs = both.users.astype(np.int64) * len(item_ids) + both.items
        order = np.argsort(pairs, kind="stable")
        is_last = np.append(np.diff(pairs[order]) > 0, True)
        return replace(
            both._at(order[is_last]),
            user_ids=user_ids,
            item_ids=item_ids,
            user_features=append_rows(self.user_features, more.user_features, new_users),
            item_features=append_rows(self.item_features, more.item_features, new_items),
        )

    def with_users(self, more: "Ratings") -> "Ratings":
        """Return these ratings with more ratings, by new users of the same items."""
        items = self.item_ids.find("items", more.item_ids.values)
        unknown = np.unique(more.items[items[more.items] < 0])
        if len(unknown):
            listed = quote_names(more.item_ids.values[unknown].tolist(), 3)
            raise ValueError(f"items must be known, got {listed}")
        new_users = np.arange(more.n_users)
        return replace(
            self._append(more, self.n_users + new_users, items),
            user_ids=self.user_ids.append("users", more.user_ids),
            user_features=append_rows(self.user_features, more.user_features, new_users),
        )

    def _append(
        self, more: "Ratings", users: NDArray[np.intp], items: NDArray[np.intp]
    ) -> "Ratings":
        """Return these ratings and then more, whose users and items have the given indices."""

        def append(name: str, default: float) -> Reals | None:
            first, second = getattr(self, name), getattr(more, name)
            if first is None and (second is None or np.isnan(default)):
                return None
            first = np.full(len(self), default) if first is None else first
            second = np.full(len(more), default) if second is None else second
            return np.concatenate([first, second])

        return replace(
            self,
            users=np.concatenate([self.users, users[more.users].astype(ROW)]),
            items=np.concatenate([self.items, items[more.items].astype(ROW)]),
            values=np.concatenate([self.values, more.values]),
            weights=append("weights", 1.0),
            times=append("times", np.nan),
        )
