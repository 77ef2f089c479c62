"""Models from files, of whatever kind they are."""

import os
from typing import Any

from edgewise.model import file, read


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file that ``save`` wrote.

    A model file holds numbers and names only: reading one never runs code from it, and a damaged or
    hostile file gives a ModelFileError.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : AdaBoostMH, RankBoost, RankFusion or a recommender
        The trained model, which predicts as the saved one did, bit for bit.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If it is not a model file, is damaged, or comes from a newer edgewise.

    Examples
    --------
    >>> import os, tempfile
    >>> import edgewise
    >>> model = edgewise.AdaBoostMH(n_rounds=3).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "small.edgewise")
    >>> model.save(path)
    >>> edgewise.load(path).predict([[1.7]])
    array(['b'], dtype='<U1')
    """
    header, arrays = read(path)
    if "trained" in header:
        from edgewise.estimators.files import load as rebuilt

        return rebuilt(path, header, arrays)
    return file.load(path)
