"""One function per set of ratings, so that an editor can list them."""

import os

from edgewise.datasets.ratings import RatingsDataset
from edgewise.datasets.ratings_loading import load_ratings


def load_ml_100k(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RatingsDataset:
    """Load MovieLens 100K: movies rated 1 to 5, with the published folds.

    The terms of GroupLens allow research; they forbid redistribution and commercial use without
    permission. See ``licence`` of what is returned.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    RatingsDataset
        100,000 ratings of 1,682 movies by 943 users, folds 1 to 5 and the splits "ua" and "ub".
        Raises as :func:`load_ratings` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.ratings_info("ml_100k").splits
    ('u1', 'u2', 'u3', 'u4', 'u5', 'ua', 'ub')
    """
    return load_ratings("ml_100k", data_home=data_home, download=download)


def load_ml_1m(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> RatingsDataset:
    """Load MovieLens 1M: movies rated 1 to 5, without a published split.

    The terms of GroupLens allow research; they forbid redistribution and commercial use without
    permission. See ``licence`` of what is returned.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    RatingsDataset
        1,000,209 ratings by 6,040 users of 3,706 movies; 177 more movies of the catalogue have no
        rating. Raises as :func:`load_ratings` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> facts = datasets.ratings_info("ml_1m")
    >>> facts.n_users, facts.n_items, facts.n_rated
    (6040, 3883, 3706)
    """
    return load_ratings("ml_1m", data_home=data_home, download=download)
