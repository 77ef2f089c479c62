"""One function per data set, so that an editor can list them."""

import os

from edgewise.datasets.dataset import Dataset
from edgewise.datasets.loading import load


def load_letter(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load printed letters: 16 integer columns, classes ``'A'`` to ``'Z'``.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        16,000 rows to train on, 4,000 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("letter").n_features, datasets.info("letter").n_classes
    (16, 26)
    """
    return load("letter", data_home=data_home, download=download)


def load_pendigits(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load pen-drawn digits: 16 coordinates, classes 0 to 9.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        7,494 rows to train on, 3,498 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("pendigits").n_features, datasets.info("pendigits").n_classes
    (16, 10)
    """
    return load("pendigits", data_home=data_home, download=download)


def load_mnist(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load handwritten digits: 784 grey levels as ``uint8``, classes 0 to 9.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        60,000 rows to train on, 10,000 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("mnist").n_features, datasets.info("mnist").n_classes
    (784, 10)
    """
    return load("mnist", data_home=data_home, download=download)


def load_usps(*, data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Load zip-code digits: 256 grey levels in -1..1, classes 0 to 9.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        7,291 rows to train on, 2,007 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("usps").n_features, datasets.info("usps").n_classes
    (256, 10)
    """
    return load("usps", data_home=data_home, download=download)


def load_isolet(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load spoken letters: 617 acoustic columns, classes 1 to 26.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        6,238 rows to train on, 1,559 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("isolet").n_features, datasets.info("isolet").n_classes
    (617, 26)
    """
    return load("isolet", data_home=data_home, download=download)


def load_emotions(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load music with its emotions: 72 columns, six labels.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        391 rows to train on, 202 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("emotions").n_features, datasets.info("emotions").n_classes
    (72, 6)
    """
    return load("emotions", data_home=data_home, download=download)


def load_scene(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load photographs with their kinds of scene: 294 columns, six labels.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        1,211 rows to train on, 1,196 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("scene").n_features, datasets.info("scene").n_classes
    (294, 6)
    """
    return load("scene", data_home=data_home, download=download)


def load_yeast(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load genes with their functions: 103 columns, 14 labels.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        1,500 rows to train on, 917 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("yeast").n_features, datasets.info("yeast").n_classes
    (103, 14)
    """
    return load("yeast", data_home=data_home, download=download)


def load_bibtex(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load bibliography entries with their tags: 1,836 sparse columns, 159 labels.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        4,880 rows to train on, 2,515 to test on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("bibtex").n_features, datasets.info("bibtex").n_classes
    (1836, 159)
    """
    return load("bibtex", data_home=data_home, download=download)
