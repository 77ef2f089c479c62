"""What a loader returns, and what is known of a data set before any file is touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    import pandas

# Pandas is an optional dependency, so its name stays in quotes.
Features: TypeAlias = "NDArray[Any] | sparse.csr_matrix | pandas.DataFrame"


@dataclass(frozen=True)
class DatasetInfo:
    """The facts of a data set: sizes, terms and where it comes from.

    Attributes
    ----------
    name : str
        The name that :func:`edgewise.datasets.load` takes.
    n_train, n_test : int
        Rows of the standard split. Where the publisher has none, all rows train and `n_test` is 0.
    n_features : int
        Columns of ``X``.
    n_classes : int
        Classes, or labels where a row may carry several.
    multilabel : bool
        Whether ``y`` is an indicator matrix.
    n_categorical : int
        How many columns of ``X`` hold categories. Where there are any, ``X`` is a pandas data
        frame, and loading needs pandas.
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
    n_categorical: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set with its standard train/test split, or with all its rows where it has none.

    Attributes
    ----------
    name : str
        The name it was loaded under.
    X_train : ndarray, scipy.sparse.csr_matrix or pandas.DataFrame
        One row per example. A data frame where there are categorical columns: they are of type
        ``category``, the others ``float64``, and missing values are NaN.
    y_train : ndarray
        One class per example, or an (n, K) ``int8`` matrix of zeros and ones.
    X_test, y_test : as `X_train` and `y_train`, or None
        None where the publisher has no split: then all rows are in `X_train` and `y_train`.
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
    >>> Dataset("toy", X, y, None, None, "abc", "012", "CC0", "none", "here", "No split.")
    Dataset('toy', train=(3, 3), test=None, classes=3)
    """

    name: str
    X_train: Features
    y_train: NDArray[Any]
    X_test: "Features | None"
    y_test: NDArray[Any] | None
    feature_names: Sequence[str]
    target_names: Sequence[str]
    licence: str
    citation: str
    source: str
    description: str

    def __repr__(self) -> str:
        test = None if self.X_test is None else self.X_test.shape
        return (
            f"Dataset({self.name!r}, train={self.X_train.shape}, test={test}, "
            f"classes={len(self.target_names)})"
        )
