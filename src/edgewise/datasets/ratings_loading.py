"""Load a set of ratings by name: fetch its files, read them, check the counts and the splits."""

import os
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import REAL, ROW
from edgewise.datasets.fetch import DatasetMismatchError, File, Store
from edgewise.datasets.movielens import ENTRIES, RatingsEntry
from edgewise.datasets.movielens_files import Rated, Side
from edgewise.datasets.ratings import RatingsDataset, RatingsInfo
from edgewise.ratings import Ids, Ratings
from edgewise.ratings.inputs import rows_of

_Read = TypeVar("_Read", Rated, Side)


def ratings_names() -> tuple[str, ...]:
    """List the sets of ratings.

    Returns
    -------
    tuple of str
        The names that :func:`load_ratings` takes.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.ratings_names()
    ('ml_100k', 'ml_1m')
    """
    return tuple(ENTRIES)


def ratings_info(name: str) -> RatingsInfo:
    """Tell sizes, licence, citation and source of a set of ratings, without touching its files.

    Parameters
    ----------
    name : str
        One of :func:`ratings_names`.

    Returns
    -------
    RatingsInfo
        The facts.

    Raises
    ------
    ValueError
        If `name` is not a set of ratings.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.ratings_info("ml_1m").licence[:35]
    'GroupLens terms: research use only;'
    """
    return _entry(name).info


def load_ratings(
    name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RatingsDataset:
    """Load a set of ratings with its published splits, where it has any.

    A file is looked for below the folder ``$EDGEWISE_DATA``, then in the user's cache, and else
    taken out of the publisher's archive, which is downloaded once. Its checksum is verified
    wherever it was found, and so are the numbers of users, items and ratings, and that the splits
    are made of the ratings.

    Parameters
    ----------
    name : str
        One of :func:`ratings_names`.
    data_home : str or path-like, default=None
        A folder to look in, and to download to, in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether files that are not on this machine may be downloaded. Downloading needs pooch:
        ``pip install "edgewise[data]"``.

    Returns
    -------
    RatingsDataset
        The ratings with their side features, the splits, titles, licence and citation.

    Raises
    ------
    ValueError
        If `name` is not a set of ratings; as :class:`DatasetMismatchError` if a file, or what is
        read from it, is not what the publisher distributes.
    DatasetNotFoundError
        If a file is missing and could not be, or must not be, downloaded.
    ImportError
        If a file must be downloaded and pooch is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from edgewise import datasets
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     datasets.load_ratings("ml_100k", data_home=empty, download=False)
    Traceback (most recent call last):
    edgewise.datasets.fetch.DatasetNotFoundError: ml-100k/u.data is not there ...
    """
    entry = _entry(name)
    facts = entry.info
    notice = f"{name}. Licence: {facts.licence}. Please cite: {facts.citation}"
    store = Store(data_home, notice)
    contents = {file.path: store.content(file, download=download) for file in entry.files}
    rated = _parsed(entry.ratings, contents, entry.read_ratings)
    users = _parsed(entry.users, contents, entry.read_users)
    items = _parsed(entry.items, contents, entry.read_items)
    ratings = _assembled(facts.name, rated, users, items)
    _check(facts, ratings)
    tests = [_parsed(file, contents, entry.read_ratings) for file in entry.tests]
    return RatingsDataset(
        name=name,
        ratings=ratings,
        item_titles=dict(zip(items.ids.tolist(), items.titles, strict=True)),
        held_out=_held_out(facts, ratings, tests),
        n_folds=facts.n_folds,
        licence=facts.licence,
        citation=facts.citation,
        source=facts.source,
        description=facts.description,
    )


def _entry(name: str) -> RatingsEntry:
    try:
        return ENTRIES[name]
    except (KeyError, TypeError):
        raise ValueError(f"name={name!r} must be one of {', '.join(ENTRIES)}") from None


def _parsed(file: File, contents: dict[str, bytes], read: Callable[[bytes], _Read]) -> _Read:
    try:
        return read(contents[file.path])
    except ValueError as error:
        raise DatasetMismatchError(f"{file.path}: {error}") from error


def _assembled(name: str, rated: Rated, users: Side, items: Side) -> Ratings:
    """Return the ratings with the catalogue of the files of users and items."""
    user_ids, item_ids = Ids.of("users", users.ids), Ids.of("items", items.ids)
    try:
        at_users = user_ids.require("users of ratings", rated.users)
        at_items = item_ids.require("items of ratings", rated.items)
    except ValueError as error:
        raise DatasetMismatchError(f"{name}: {error}") from error
    pairs = at_users * len(item_ids) + at_items
    order = np.argsort(pairs, kind="stable")
    if not np.diff(pairs[order]).all():
        raise DatasetMismatchError(f"{name}: a user rated an item twice")
    return Ratings(
        user_ids,
        item_ids,
        at_users[order].astype(ROW),
        at_items[order].astype(ROW),
        rated.values[order].astype(REAL),
        times=rated.times[order].astype(REAL),
        user_features=rows_of(users.columns, np.argsort(users.ids)),
        item_features=rows_of(items.columns, np.argsort(items.ids)),
    )


def _check(facts: RatingsInfo, ratings: Ratings) -> None:
    """Compare counts with the entry: a guard against a wrong entry or reader."""
    counts = (
        ("users", ratings.n_users, facts.n_users),
        ("items", ratings.n_items, facts.n_items),
        ("rated items", len(np.unique(ratings.items)), facts.n_rated),
        ("ratings", len(ratings), facts.n_ratings),
    )
    for what, found, expected in counts:
        if found != expected:
            raise DatasetMismatchError(f"{facts.name}: expected {expected} {what}, found {found}")
    if tuple(ratings.levels) != facts.levels:
        raise DatasetMismatchError(
            f"{facts.name}: expected ratings {list(facts.levels)}, found {ratings.levels.tolist()}"
        )


def _held_out(
    facts: RatingsInfo, ratings: Ratings, tests: list[Rated]
) -> dict[str, NDArray[np.intp]]:
    """Return where the test ratings of each split stand; those of the folds are all ratings."""
    held_out = {}
    for split, test, n_test in zip(facts.splits, tests, facts.n_test, strict=True):
        if len(test) != n_test:
            raise DatasetMismatchError(
                f"{facts.name}, {split}: expected {n_test} test ratings, found {len(test)}"
            )
        held_out[split] = _places(f"{facts.name}, {split}", ratings, test)
    folds = list(held_out.values())[: facts.n_folds]
    if folds and not np.array_equal(np.sort(np.concatenate(folds)), np.arange(len(ratings))):
        raise DatasetMismatchError(
            f"{facts.name}: expected every rating in the test part of one fold and no other"
        )
    return held_out


def _places(where: str, ratings: Ratings, test: Rated) -> NDArray[np.intp]:
    """Return the places of test ratings, which must be there with the same value and time."""
    pairs = ratings.users.astype(np.intp) * ratings.n_items + ratings.items
    users = ratings.user_ids.find("users", test.users)
    items = ratings.item_ids.find("items", test.items)
    wanted = np.where((users < 0) | (items < 0), -1, users * ratings.n_items + items)
    places = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    assert ratings.times is not None
    same = (
        (pairs[places] == wanted)
        & (ratings.values[places] == test.values)
        & (ratings.times[places] == test.times)
    )
    if not same.all() or len(np.unique(places)) < len(places):
        raise DatasetMismatchError(f"{where}: expected test ratings that are among all ratings")
    return np.sort(places)
