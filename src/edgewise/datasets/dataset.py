"""Loaded data sets: classification, ranking and ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of
from edgewise.datasets.catalog import DatasetInfo
from edgewise.datasets.formats import Features
from edgewise.io import RankingData
from edgewise.ratings import Ratings, Split


@dataclass(frozen=True, eq=False, repr=False)
class _Named:
    info: DatasetInfo

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.info.name


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(_Named):
    """A classification set with its standard split, or with all its rows where it has none.

    Attributes
    ----------
    info : DatasetInfo
        Sizes, license, citation and source.
    X_train, X_test : ndarray, scipy.sparse.csr_matrix or pandas.DataFrame
        One row per example. With categorical columns it is a data frame: they have the type
        ``category``, the others ``float64``, and missing values are NaN. `X_test` and `y_test` are
        None where the publisher has no split.
    y_train, y_test : ndarray
        One class per example, or an (n, K) ``int8`` matrix of zeros and ones.
    feature_names : sequence of str
        One name per column of ``X``.
    target_names : sequence of str
        One name per class, in the sorted order of the values of ``y``, or per column of ``y``.
    """

    X_train: Features
    y_train: NDArray[Any]
    X_test: "Features | None"
    y_test: NDArray[Any] | None
    feature_names: Sequence[str]
    target_names: Sequence[str]

    def __repr__(self) -> str:
        test = None if self.X_test is None else self.X_test.shape
        return (
            f"Dataset({self.name!r}, train={self.X_train.shape}, test={test}, "
            f"classes={len(self.target_names)})"
        )


class Fold(NamedTuple):
    """One fold of a ranking set: rows to train on, to choose settings by, and to test on."""

    train: RankingData
    valid: RankingData
    test: RankingData


@dataclass(frozen=True, eq=False, repr=False)
class RankingDataset(_Named):
    """A ranking set in parts, from which its publisher makes folds.

    Attributes
    ----------
    info : DatasetInfo
        Sizes, license, citation and source.
    parts : sequence of RankingData
        The parts, in the publisher's order. No query is in two of them.
    first : int
        The part, from 0, that the training rows of fold 1 begin with.
    feature_names : sequence of str
        One name per column of ``X``.
    """

    parts: Sequence[RankingData]
    first: int
    feature_names: Sequence[str]

    def __repr__(self) -> str:
        n_rows = sum(len(data) for data in self.parts)
        n_queries = sum(data.n_queries for data in self.parts)
        return (
            f"RankingDataset({self.name!r}, {n_rows} rows, {len(self.feature_names)} columns, "
            f"{n_queries} queries, {self.n_folds} folds)"
        )

    @property
    def n_folds(self) -> int:
        """The number of folds, one for each part."""
        return len(self.parts)

    def fold(self, k: int) -> Fold:
        """Return the published fold `k`, counted from 1.

        Starting at the fold's first part and going round, all parts but two train, the next one
        validates and the last one tests.
        """
        start = integer("k", k, 1, self.n_folds) - 1 + self.first
        *train, valid, test = (
            self.parts[(start + step) % self.n_folds] for step in range(self.n_folds)
        )
        return Fold(RankingData.concatenate(train), valid, test)


@dataclass(frozen=True, eq=False, repr=False)
class RatingsDataset(_Named):
    """Ratings with side features and titles, and their published splits.

    Attributes
    ----------
    info : DatasetInfo
        Sizes, license, citation and source.
    ratings : Ratings
        All ratings, with their times and the side features of users and items. Ids are the
        integers of the files.
    item_titles : mapping of int to str
        The title of each item, by its id.
    held_out : mapping of str to intp array
        For each published split, folds first, the indices of its test ratings.
    """

    ratings: Ratings
    item_titles: Mapping[int, str]
    held_out: Mapping[str, NDArray[np.intp]]

    def __repr__(self) -> str:
        return (
            f"RatingsDataset({self.name!r}, {self.ratings.n_users} users, "
            f"{self.ratings.n_items} items, {len(self.ratings)} ratings, "
            f"splits: {', '.join(self.splits) or 'none'})"
        )

    @property
    def n_folds(self) -> int:
        """The number of published folds; 0 where there are none."""
        return self.info.n_folds

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the published splits, folds first."""
        return tuple(self.held_out)

    def fold(self, k: int) -> Split:
        """Return the published fold `k`, counted from 1, as :meth:`split` does."""
        if not self.n_folds:
            raise ValueError(
                f"{self.name} has no published folds; ratings.folds() and ratings.split() make some"
            )
        return self.split(self.splits[integer("k", k, 1, self.n_folds) - 1])

    def split(self, name: str) -> Split:
        """Return a published split, one of :attr:`splits`.

        Both parts share all users and items, so an index means the same in both.
        """
        if not self.held_out:
            raise ValueError(f"{self.name} has no published splits; ratings.split() makes one")
        tested = np.zeros(len(self.ratings), dtype=bool)
        tested[self.held_out[one_of("name", name, self.splits)]] = True
        return Split(self.ratings.take(~tested), self.ratings.take(tested))
