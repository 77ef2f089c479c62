"""What a loader returns, and what is known of a data set before any file is touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray
from scipy import sparse

Features: TypeAlias = NDArray[Any] | sparse.csr_matrix


@dataclass(frozen=True)
class DatasetInfo:
    """The facts of a data set: sizes, terms and where it comes from.

    Attributes
    ----------
    name : str
        The name that :func:`edgewise.datasets.load` takes.
    n_train, n_test : int
        Rows of the standard split.
    n_features : int
        Columns of ``X``.
    n_classes : int
        Classes, or labels where a row may carry several.
    multilabel : bool
        Whether ``y`` is an indicator matrix.
    licence : str
        The terms of use, as far as the publisher states them.
    citation : str
        The paper to cite.
    source : str
        The publisher's page.
    description : str
        One or two sentences on rows, columns and split.

    Examples
    --------
    >>> from edgewise import datasets
    >>> letter = datasets.info("letter")
    >>> letter.n_train, letter.n_test, letter.n_features, letter.n_classes
    (16000, 4000, 16, 26)
    """

    name: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    licence: str
    citation: str
    source: str
    description: str
    multilabel: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set with its standard train/test split.

    Attributes
    ----------
    name : str
        The name it was loaded under.
    X_train, X_test : ndarray or scipy.sparse.csr_matrix
        One row per example.
    y_train, y_test : ndarray
        One class per example, or an (n, K) ``int8`` matrix of zeros and ones.
    feature_names : sequence of str
        One name per column of ``X``.
    target_names : sequence of str
        One name per class, in the sorted order of the values of ``y``, or per column of ``y``.
    licence, citation, source, description : str
        As in :class:`DatasetInfo`.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(3), np.array([0, 1, 2])
    >>> Dataset("toy", X, y, X[:2], y[:2], "abc", "012", "CC0", "none", "here", "Three points.")
    Dataset('toy', train=(3, 3), test=(2, 3), classes=3)
    """

    name: str
    X_train: Features
    y_train: NDArray[Any]
    X_test: Features
    y_test: NDArray[Any]
    feature_names: Sequence[str]
    target_names: Sequence[str]
    licence: str
    citation: str
    source: str
    description: str

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, train={self.X_train.shape}, test={self.X_test.shape}, "
            f"classes={len(self.target_names)})"
        )
