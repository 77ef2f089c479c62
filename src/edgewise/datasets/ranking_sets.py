"""One function per ranking set, so that an editor can list them."""

import os

from edgewise.datasets.ranking import RankingDataset
from edgewise.datasets.ranking_loading import load_ranking


def load_mq2008(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RankingDataset:
    """Load web pages for queries: 46 features scaled within each query, grades 0 to 2.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        As in :func:`load_ranking`.

    Returns
    -------
    RankingDataset
        15,211 documents of 784 queries in five parts. Raises as
        :func:`load_ranking` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> facts = datasets.ranking_info("mq2008")
    >>> facts.n_features, sum(facts.n_rows)
    (46, 15211)
    """
    return load_ranking("mq2008", data_home=data_home, download=download)


def load_mq2008_agg(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RankingDataset:
    """Load the documents of ``mq2008`` with their places in 25 lists, grades 0 to 2.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        As in :func:`load_ranking`.

    Returns
    -------
    RankingDataset
        15,211 documents of 784 queries in five parts. A place of 1 is the top of a list;
        NaN, a document that is not in it. Raises as
        :func:`load_ranking` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> facts = datasets.ranking_info("mq2008_agg")
    >>> facts.n_features, sum(facts.n_rows)
    (25, 15211)
    """
    return load_ranking("mq2008_agg", data_home=data_home, download=download)


def load_mq2007_agg(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RankingDataset:
    """Load web pages for queries with their places in 21 lists, grades 0 to 2.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        As in :func:`load_ranking`.

    Returns
    -------
    RankingDataset
        69,623 documents of 1,692 queries in five parts. A place of 1 is the top of a list;
        NaN, a document that is not in it. Raises as
        :func:`load_ranking` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> facts = datasets.ranking_info("mq2007_agg")
    >>> facts.n_features, sum(facts.n_rows)
    (21, 69623)
    """
    return load_ranking("mq2007_agg", data_home=data_home, download=download)


def load_ohsumed(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RankingDataset:
    """Load medical abstracts for questions of physicians: 25 features, grades 0 to 2.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        As in :func:`load_ranking`.

    Returns
    -------
    RankingDataset
        16,140 documents of 106 queries in five parts, the test sets of the folds. Raises as
        :func:`load_ranking` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> facts = datasets.ranking_info("ohsumed")
    >>> facts.n_features, sum(facts.n_rows)
    (25, 16140)
    """
    return load_ranking("ohsumed", data_home=data_home, download=download)
