"""Load a data set by name: get its files, read them, check the counts."""

import io
from typing import Any

import numpy as np

from edgewise.common.files import PathLike, iter_line_batches
from edgewise.common.lazy import import_optional
from edgewise.datasets.catalog import DatasetInfo, Entry, find_entry
from edgewise.datasets.dataset import Dataset, RankingDataset
from edgewise.datasets.files import DataFolders, DatasetMismatchError, check_counts
from edgewise.datasets.formats import (
    LabeledTable,
    n_categorical,
    read_arff,
    read_flights,
    read_idx_pair,
    read_mixed,
    read_numbers,
)
from edgewise.datasets.movielens import read_ratings
from edgewise.io.letor import parse_letor

Contents = dict[str, list[bytes]]


def available(name: str, *, data_home: PathLike | None = None) -> bool:
    """Return whether a data set can be loaded without a download; checksums are not verified.

    Takes the parameters of :func:`load`.

    Examples
    --------
    >>> import tempfile
    >>> from edgewise import datasets
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     datasets.available("letter", data_home=empty)
    False
    """
    files, folders = find_entry(name).all_files, DataFolders(data_home)
    return all(folders.find(file) is not None for file in files)


def load(name: str, *, data_home: PathLike | None = None, download: bool = True) -> Any:
    """Load a data set with its published splits or folds.

    A file is looked up below the folder ``$EDGEWISE_DATA``, then in the user's cache, and otherwise
    downloaded from its publisher into the cache. Checksums and all counts of the catalog are
    verified. The LETOR and KEEL sets have no address: the error says how to get them by hand.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : str, path-like or None, default None
        A folder to look in, and to download to, in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default True
        Whether missing files may be downloaded. Downloading needs pooch:
        ``pip install "edgewise[data]"``.

    Returns
    -------
    Dataset, RankingDataset or RatingsDataset
        The data, depending on ``info(name).kind``.

    Raises
    ------
    DatasetNotFoundError
        If a file is missing and cannot, or must not, be downloaded.
    DatasetMismatchError
        If a file, or its content, differs from what the publisher distributes.

    Examples
    --------
    >>> from edgewise import datasets
    >>> if datasets.available("letter"):
    ...     letter = datasets.load("letter")
    ...     assert letter.X_train.shape == (16000, 16)
    """
    entry = find_entry(name)
    info = entry.info
    if info.n_categorical:
        purpose = f"{name} has categorical columns and is returned as a pandas DataFrame"
        import_optional("pandas", purpose, "frames")
    notice = f"{name}. License: {info.license}. Please cite: {info.citation}"
    folders = DataFolders(data_home, notice)
    contents = {
        role: [folders.content(file, download=download) for file in files]
        for role, files in entry.files.items()
    }
    return _READERS[info.kind](entry, contents)


def _classification(entry: Entry, contents: Contents) -> Dataset:
    info = entry.info
    train, test = _read_labeled(entry, contents["train"]), None
    if "test" in contents:
        test = _read_labeled(entry, contents["test"])
    elif info.n_test:
        train, test = train.take(slice(info.n_train)), train.take(slice(info.n_train, None))
    _check_rows(info, "train", train, info.n_train)
    if test is not None:
        _check_rows(info, "test", test, info.n_test)
        if (test.feature_names, test.label_names) != (train.feature_names, train.label_names):
            raise DatasetMismatchError(f"{info.name}: train and test files name different columns")
    return Dataset(
        info,
        train.X,
        train.y,
        None if test is None else test.X,
        None if test is None else test.y,
        train.feature_names or entry.columns,
        train.label_names or entry.classes,
    )


def _read_labeled(entry: Entry, contents: list[bytes]) -> LabeledTable:
    """Read the files of the training or the test rows."""
    if entry.format == "idx":
        return read_idx_pair(*contents)
    if entry.format == "arff":
        return read_arff(*contents, n_labels=entry.info.n_classes)
    if entry.format == "flights":
        return read_flights(*contents, columns=entry.columns, numeric=entry.numeric)
    if entry.header:
        contents = [content.partition(b"\n")[2] for content in contents]
    layout: Any = {"delimiter": entry.all_files[0].delimiter, "class_first": entry.class_first}
    if entry.format == "mixed":
        return read_mixed(contents, columns=entry.columns, numeric=entry.numeric, **layout)
    return read_numbers(*contents, **layout)


def _ranking(entry: Entry, contents: Contents) -> RankingDataset:
    info, parts = entry.info, []
    files = zip(entry.files["parts"], contents["parts"], info.n_rows, info.n_queries, strict=True)
    for number, (file, content, n_rows, n_queries) in enumerate(files, 1):
        data = parse_letor(iter_line_batches(io.BytesIO(content)), file.path)
        counts = [
            ("rows", len(data), n_rows),
            ("queries", data.n_queries, n_queries),
            ("columns", data.X.shape[1], info.n_features),
            ("grades", len(np.unique(data.y)), info.n_grades),
        ]
        check_counts(f"{info.name}, part {number}", counts)
        parts.append(data)
    return RankingDataset(info, tuple(parts), entry.first, entry.columns)


def _check_rows(info: DatasetInfo, side: str, rows: LabeledTable, n_rows: int) -> None:
    n_classes = rows.y.shape[1] if info.multilabel else len(np.unique(rows.y))
    counts = [
        ("rows", rows.X.shape[0], n_rows),
        ("labeled rows", rows.y.shape[0], n_rows),
        ("columns", rows.X.shape[1], info.n_features),
        ("categorical columns", n_categorical(rows.X), info.n_categorical),
        ("classes", n_classes, info.n_classes),
    ]
    check_counts(f"{info.name}, {side}", counts)


_READERS = {"classification": _classification, "ranking": _ranking, "ratings": read_ratings}
