"""One function per UCI set of :mod:`edgewise.datasets.uci`, so that an editor can list them."""

import os

from edgewise.datasets.dataset import Dataset
from edgewise.datasets.loading import load


def load_adult(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load persons of the US census of 1994: six numbers, eight categorical columns, two classes.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        32,561 rows to train on, 16,281 to test on; data frames. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("adult").n_features, datasets.info("adult").n_classes
    (14, 2)
    """
    return load("adult", data_home=data_home, download=download)


def load_mushroom(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load mushrooms: 22 categorical columns, classes ``'e'`` (edible) and ``'p'`` (poisonous).

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        8,124 rows, all to train on; a data frame. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("mushroom").n_features, datasets.info("mushroom").n_classes
    (22, 2)
    """
    return load("mushroom", data_home=data_home, download=download)


def load_car(*, data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Load ratings of cars: six categorical columns, four classes.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        1,728 rows, all to train on; a data frame. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("car").n_features, datasets.info("car").n_classes
    (6, 4)
    """
    return load("car", data_home=data_home, download=download)


def load_connect4(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load positions of Connect-4: 42 categorical columns, two classes, not the original three.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        67,557 rows, all to train on; a data frame. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("connect4").n_features, datasets.info("connect4").n_classes
    (42, 2)
    """
    return load("connect4", data_home=data_home, download=download)


def load_german(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load credit risks: seven numbers, 13 categorical columns, classes 1 (good) and 2 (bad).

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        1,000 rows, all to train on; a data frame. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("german").n_features, datasets.info("german").n_classes
    (20, 2)
    """
    return load("german", data_home=data_home, download=download)


def load_votes84(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load votes of the US House of 1984: 16 categorical columns, two parties.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        435 rows, all to train on; a data frame. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("votes84").n_features, datasets.info("votes84").n_classes
    (16, 2)
    """
    return load("votes84", data_home=data_home, download=download)


def load_ionosphere(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load radar returns: 34 numbers, classes ``'b'`` (bad) and ``'g'`` (good).

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        351 rows, all to train on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("ionosphere").n_features, datasets.info("ionosphere").n_classes
    (34, 2)
    """
    return load("ionosphere", data_home=data_home, download=download)


def load_kr_vs_kp(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load chess endgames: 36 categorical columns, classes ``'nowin'`` and ``'won'``.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        3,196 rows, all to train on; a data frame. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("kr_vs_kp").n_features, datasets.info("kr_vs_kp").n_classes
    (36, 2)
    """
    return load("kr_vs_kp", data_home=data_home, download=download)


def load_sonar(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load sonar echoes: 60 numbers, classes ``'M'`` (mine) and ``'R'`` (rock).

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        208 rows, all to train on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("sonar").n_features, datasets.info("sonar").n_classes
    (60, 2)
    """
    return load("sonar", data_home=data_home, download=download)


def load_spambase(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load e-mails: 57 numbers, classes 0 and 1 (spam).

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        4,601 rows, all to train on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("spambase").n_features, datasets.info("spambase").n_classes
    (57, 2)
    """
    return load("spambase", data_home=data_home, download=download)


def load_tictactoe(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load ends of tic-tac-toe: nine categorical columns, ``'positive'`` where x won.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        958 rows, all to train on; a data frame. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("tictactoe").n_features, datasets.info("tictactoe").n_classes
    (9, 2)
    """
    return load("tictactoe", data_home=data_home, download=download)


def load_waveform(
    *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load noisy waves: 21 numbers, classes 0 to 2.

    Parameters
    ----------
    data_home : str or path-like, default=None
        A folder to use in place of ``$EDGEWISE_DATA`` and the cache.
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    Dataset
        5,000 rows, all to train on. Raises as :func:`load` does.

    Examples
    --------
    >>> from edgewise import datasets
    >>> datasets.info("waveform").n_features, datasets.info("waveform").n_classes
    (21, 3)
    """
    return load("waveform", data_home=data_home, download=download)
