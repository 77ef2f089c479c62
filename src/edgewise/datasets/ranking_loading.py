"""Load a ranking set by name: find its files, read them, check the counts."""

import io
import os

import numpy as np

from edgewise.common.files import in_batches
from edgewise.datasets.fetch import DatasetMismatchError, Store
from edgewise.datasets.letor import ENTRIES, RankingEntry
from edgewise.datasets.ranking import RankingDataset, RankingInfo
from edgewise.io import RankingData
from edgewise.io.letor import parse_letor


def ranking_names() -> tuple[str, ...]:
    """List the ranking sets.

    Returns
    -------
    tuple of str
        The names that :func:`load_ranking` takes.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.ranking_names()
    ('mq2008', 'mq2008_agg', 'mq2007_agg', 'ohsumed')
    """
    return tuple(ENTRIES)


def ranking_info(name: str) -> RankingInfo:
    """Tell sizes, licence, citation and source of a ranking set, without touching its files.

    Parameters
    ----------
    name : str
        One of :func:`ranking_names`.

    Returns
    -------
    RankingInfo
        The facts.

    Raises
    ------
    ValueError
        If `name` is not a ranking set.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.ranking_info("ohsumed").n_queries
    (22, 21, 21, 21, 21)
    """
    return ranking_entry(name).info


def load_ranking(
    name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RankingDataset:
    """Load a ranking set with its published folds.

    Files are looked for below the folder ``$EDGEWISE_DATA``, then in the user's cache. Their
    publisher has them in archives that Python cannot open, so none of them is downloaded today;
    when one is missing, the error says where to get it and where to put it. Checksums are verified,
    and so are the numbers of rows, queries, columns and grades.

    Parameters
    ----------
    name : str
        One of :func:`ranking_names`.
    data_home : str or path-like, default=None
        A folder to look in, in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether files that are not on this machine may be downloaded, where they have an address.

    Returns
    -------
    RankingDataset
        The parts, the folds, names, licence and citation.

    Raises
    ------
    ValueError
        If `name` is not a ranking set; as :class:`DatasetMismatchError` if a file, or what is read
        from it, is not what the publisher distributes.
    DatasetNotFoundError
        If a file is missing.

    Examples
    --------
    >>> import tempfile
    >>> from edgewise import datasets
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     datasets.load_ranking("mq2008", data_home=empty)
    Traceback (most recent call last):
    edgewise.datasets.fetch.DatasetNotFoundError: letor-mq2008/S1.txt is not there ...
    """
    entry = ranking_entry(name)
    facts = entry.info
    notice = f"{name}. Licence: {facts.licence}. Please cite: {facts.citation}"
    store = Store(data_home, notice)
    parts = []
    for number, file in enumerate(entry.files):
        content = store.content(file, download=download)
        part = parse_letor(in_batches(io.BytesIO(content)), file.path)
        _check(facts, number, part)
        parts.append(part)
    return RankingDataset(
        name=name,
        parts=tuple(parts),
        first=entry.first,
        feature_names=entry.feature_names,
        licence=facts.licence,
        citation=facts.citation,
        source=facts.source,
        description=facts.description,
    )


def ranking_entry(name: str) -> RankingEntry:
    """Return the entry of a ranking set, or raise with the list of them."""
    try:
        return ENTRIES[name]
    except (KeyError, TypeError):
        raise ValueError(f"name={name!r} must be one of {', '.join(ENTRIES)}") from None


def _check(facts: RankingInfo, number: int, part: RankingData) -> None:
    """Compare a part with the entry: a guard against a wrong entry or reader."""
    counts = (
        ("rows", len(part), facts.n_rows[number]),
        ("queries", part.n_queries, facts.n_queries[number]),
        ("columns", part.X.shape[1], facts.n_features),
        ("grades", len(np.unique(part.y)), facts.n_grades),
    )
    for what, found, expected in counts:
        if found != expected:
            raise DatasetMismatchError(
                f"{facts.name}, part {number + 1}: expected {expected} {what}, found {found}"
            )
