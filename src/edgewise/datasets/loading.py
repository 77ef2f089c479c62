"""Load a data set by name: fetch its files, read them, check the counts."""

import os

import numpy as np

from edgewise.datasets.categorical import n_categorical, require_pandas
from edgewise.datasets.dataset import Dataset, DatasetInfo
from edgewise.datasets.entry import Entry
from edgewise.datasets.fetch import DatasetMismatchError, File, Store
from edgewise.datasets.formats import Table
from edgewise.datasets.letor import ENTRIES as RANKING_ENTRIES
from edgewise.datasets.movielens import ENTRIES as RATINGS_ENTRIES
from edgewise.datasets.registry import ENTRIES


def names() -> tuple[str, ...]:
    """List the data sets.

    Returns
    -------
    tuple of str
        The names that :func:`load` takes.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.names()[:5]
    ('letter', 'pendigits', 'mnist', 'usps', 'isolet')
    """
    return tuple(ENTRIES)


def info(name: str) -> DatasetInfo:
    """Tell sizes, licence, citation and source of a data set, without touching its files.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    DatasetInfo
        The facts.

    Raises
    ------
    ValueError
        If `name` is not a data set.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("bibtex").n_classes
    159
    >>> datasets.info("pendigits").licence
    'CC BY 4.0, as stated by the UCI Machine Learning Repository'
    """
    return _entry(name).info


def available(name: str, *, data_home: str | os.PathLike[str] | None = None) -> bool:
    """Tell whether a data set can be loaded without a download.

    Parameters
    ----------
    name : str
        One of :func:`names`, :func:`ranking_names` or :func:`ratings_names`.
    data_home : str or path-like, default=None
        As in :func:`load`.

    Returns
    -------
    bool
        Whether there is a copy of every file. Checksums are verified by loading, not here.

    Raises
    ------
    ValueError
        If `name` is not a data set.

    Examples
    --------
    >>> import tempfile
    >>> from edgewise import datasets
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     datasets.available("letter", data_home=empty)
    False
    """
    store = Store(data_home)
    return all(store.find(file) is not None for file in _files(name))


def load(
    name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load a data set with its standard train/test split, or whole where it has none.

    A file is looked for below the folder ``$EDGEWISE_DATA``, then in the user's cache, and else
    downloaded from its publisher into the cache. Its checksum is verified wherever it was found,
    and so are the numbers of rows, columns and classes.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : str or path-like, default=None
        A folder to look in, and to download to, in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether files that are not on this machine may be downloaded. Downloading needs pooch:
        ``pip install "edgewise[data]"``.

    Returns
    -------
    Dataset
        Both sides, names, licence and citation. Where the publisher has no split
        (``info(name).n_test`` is 0), all rows are in ``X_train`` and ``y_train``, and ``X_test``
        and ``y_test`` are None. Where there are categorical columns (``info(name).n_categorical``),
        ``X_train`` and ``X_test`` are pandas data frames.

    Raises
    ------
    ValueError
        If `name` is not a data set; as :class:`DatasetMismatchError` if a file, or what is read
        from it, is not what the publisher distributes.
    DatasetNotFoundError
        If a file is missing and could not be, or must not be, downloaded.
    ImportError
        If a file must be downloaded and pooch is not installed, or the set has categorical columns
        and pandas is not installed: ``pip install "edgewise[frames]"``.

    Examples
    --------
    >>> import tempfile
    >>> from edgewise import datasets
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     datasets.load("letter", data_home=empty, download=False)
    Traceback (most recent call last):
    edgewise.datasets.fetch.DatasetNotFoundError: letter/letter-recognition.data is not there ...
    """
    entry = _entry(name)
    facts = entry.info
    if facts.n_categorical:
        require_pandas(name)
    notice = f"{name}. Licence: {facts.licence}. Please cite: {facts.citation}"
    store = Store(data_home, notice)
    contents = [store.content(file, download=download) for file in entry.files]
    train, test = _split(entry, contents)
    _check(facts, train, test)
    return Dataset(
        name=name,
        X_train=train.X,
        y_train=train.y,
        X_test=None if test is None else test.X,
        y_test=None if test is None else test.y,
        feature_names=train.feature_names or entry.feature_names,
        target_names=train.label_names or entry.target_names,
        licence=facts.licence,
        citation=facts.citation,
        source=facts.source,
        description=facts.description,
    )


def _entry(name: str) -> Entry:
    try:
        return ENTRIES[name]
    except (KeyError, TypeError):
        if isinstance(name, str) and name in RANKING_ENTRIES:
            raise ValueError(
                f"name={name!r} is a ranking set: see load_ranking and ranking_info"
            ) from None
        if isinstance(name, str) and name in RATINGS_ENTRIES:
            raise ValueError(
                f"name={name!r} is a set of ratings: see load_ratings and ratings_info"
            ) from None
        raise ValueError(f"name={name!r} must be one of {', '.join(ENTRIES)}") from None


def _files(name: str) -> tuple[File, ...]:
    """Return the files of a set of any kind."""
    if isinstance(name, str) and name in RANKING_ENTRIES:
        return RANKING_ENTRIES[name].files
    if isinstance(name, str) and name in RATINGS_ENTRIES:
        return RATINGS_ENTRIES[name].files
    return _entry(name).files


def _split(entry: Entry, contents: list[bytes]) -> tuple[Table, Table | None]:
    """Read both sides, or cut the one table there is where the standard split does, if one does."""
    at = len(entry.train)
    train = entry.read(*contents[:at])
    if entry.test:
        return train, entry.read(*contents[at:])
    if not entry.info.n_test:
        return train, None
    rows = entry.info.n_train
    return train.part(slice(rows)), train.part(slice(rows, None))


def _check(facts: DatasetInfo, train: Table, test: Table | None) -> None:
    """Compare rows, columns and classes with the entry: a guard against a wrong entry or reader."""
    sides = [("train", train, facts.n_train)]
    if test is not None:
        sides.append(("test", test, facts.n_test))
    for side, table, n_rows in sides:
        n_classes = table.y.shape[1] if facts.multilabel else len(np.unique(table.y))
        counts = (
            ("rows", table.X.shape[0], n_rows),
            ("labelled rows", table.y.shape[0], n_rows),
            ("columns", table.X.shape[1], facts.n_features),
            ("categorical columns", n_categorical(table.X), facts.n_categorical),
            ("classes", n_classes, facts.n_classes),
        )
        for what, found, expected in counts:
            if found != expected:
                raise DatasetMismatchError(
                    f"{facts.name}, {side}: expected {expected} {what}, found {found}"
                )
        if (table.feature_names, table.label_names) != (train.feature_names, train.label_names):
            raise DatasetMismatchError(f"{facts.name}: train and test files name different columns")
