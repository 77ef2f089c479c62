"""Where ratings come from: arrays, frames, matrices, mappings and files."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgewise.common.files import PathLike

if TYPE_CHECKING:
    from edgewise.ratings.ratings import Ratings


class Sources:
    """The ways to make ratings."""

    # The modules that do the work make ratings themselves, and so are imported when needed.

    @staticmethod
    def from_arrays(
        users: Any,
        items: Any,
        ratings: Any = None,
        *,
        weights: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        user_features: Any = None,
        item_features: Any = None,
        duplicates: str = "raise",
    ) -> "Ratings":
        """Return ratings from arrays of the same length.

        Parameters
        ----------
        users, items : array-like of int or str
            The ids, of any numbers or strings; they need not be consecutive.
        ratings : array-like of float, default None
            The ratings; None where it only is known that the users chose the items.
        weights, sample_weight : array-like of float, default None
            How much each rating counts; positive. Two names of the same, the second that of
            scikit-learn.
        times : array-like of float, default None
            When each rating was given.
        user_features, item_features : data frame or pair, default None
            Columns of users and of items: a frame with a column "user" or "item" of ids, or a pair
            ``(ids, X)``. Ids without ratings join the catalogue.
        duplicates : {"raise", "last", "mean", "sum"}, default "raise"
            What to do where a user rated an item several times; "last" is by time where there
            are times, else the last in the order given.

        Raises
        ------
        ValueError
            If there are no ratings, lengths differ, a rating is not finite, or a pair comes twice.
        TypeError
            If ids are neither all integers nor all strings.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> Ratings.from_arrays(["ann", "ann", "bob"], [10, 20, 10], [5, 3, 4])
        Ratings(3 ratings from 3 to 5, 2 users, 2 items)
        """
        from edgewise.ratings.building import Columns, build

        if weights is not None and sample_weight is not None:
            raise ValueError("weights and sample_weight are the same: give one of them")
        counted = sample_weight if weights is None else weights
        columns = Columns(users, items, ratings, counted, times)
        return build(columns, user_features, item_features, "user", "item", duplicates)

    @staticmethod
    def from_frame(
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
        """Return ratings from a data frame of pandas, polars or Arrow, one rating a row.

        Parameters
        ----------
        frame : data frame
            The ratings.
        user, item : str
            The columns of ids.
        rating, weight, time : str or None
            The columns of ratings (None: it only is known that the users chose the items), of
            weights and of times.
        user_features, item_features, duplicates
            As in :meth:`from_arrays`; the columns of ids are named as in `frame`.

        Examples
        --------
        >>> import pandas
        >>> from edgewise import Ratings
        >>> frame = pandas.DataFrame({"user": [1, 2], "item": ["a", "a"], "rating": [4, 5]})
        >>> Ratings.from_frame(frame)
        Ratings(2 ratings from 4 to 5, 2 users, 1 items)
        """
        from edgewise.ratings.building import build, frame_columns

        columns = frame_columns(frame, user, item, rating, weight, time)
        return build(columns, user_features, item_features, user, item, duplicates)

    @staticmethod
    def from_matrix(
        matrix: Any, user_ids: Any = None, item_ids: Any = None, *, missing: float = 0.0
    ) -> "Ratings":
        """Return ratings from a matrix of users by items: an array, or any SciPy sparse matrix.

        Parameters
        ----------
        matrix : array or sparse matrix
            The ratings. What a sparse matrix does not store was not rated; what it stores was,
            zeros too.
        user_ids, item_ids : array-like, default None
            The ids of rows and columns; None numbers them from 0.
        missing : float, default 0
            What stands for "not rated" in a plain array; NaN always does.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> Ratings.from_matrix([[5, 0], [3, 4]], item_ids=["Heat", "Fargo"])
        Ratings(3 ratings from 3 to 5, 2 users, 2 items)
        """
        from edgewise.ratings.building import build_matrix

        return build_matrix(matrix, user_ids, item_ids, missing)

    @staticmethod
    def from_dict(ratings: Mapping[Any, Mapping[Any, float]]) -> "Ratings":
        """Return ratings from a mapping of users to mappings of items to ratings.

        A user without ratings joins the catalogue.

        Examples
        --------
        >>> from edgewise import Ratings
        >>> Ratings.from_dict({"ann": {"Heat": 5}}).values
        array([5.])
        """
        from edgewise.ratings.building import build_dict

        return build_dict(ratings)

    @staticmethod
    def from_file(
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
        r"""Return ratings from a text file or a Parquet file, gzipped or not.

        Parameters
        ----------
        path : str or path-like
            The file. Parquet needs pandas or polars.
        user, item, rating, weight, time : str
            The columns, as in :meth:`from_frame`.
        columns : sequence of str, default None
            The names of the columns where the file has no header of its own.
        separator : str, default None
            What stands between columns; None finds out: a tab, "::", ";" or ",".
        duplicates : {"raise", "last", "mean", "sum"}, default "raise"
            As in :meth:`from_arrays`.

        Returns
        -------
        Ratings
            Ids are integers where all of them are written as integers, else strings.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from edgewise import Ratings
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "u.data"
        >>> _ = path.write_text("196\t242\t3\n186\t302\t4\n")
        >>> Ratings.from_file(path, columns=["user", "item", "rating"])
        Ratings(2 ratings from 3 to 4, 2 users, 2 items)
        """
        from edgewise.ratings.building import build
        from edgewise.ratings.reading import file_columns

        names = (user, item, rating, weight, time)
        read = file_columns(path, names, columns, separator)
        return build(read, None, None, user, item, duplicates)
