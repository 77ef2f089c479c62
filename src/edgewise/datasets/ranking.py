"""What a loader of a ranking set returns, and what is known of a set before a file is touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from edgewise.common.checks import integer
from edgewise.io import RankingData


@dataclass(frozen=True)
class RankingInfo:
    """The facts of a ranking set: sizes, terms and where it comes from.

    Attributes
    ----------
    name : str
        The name that :func:`edgewise.datasets.load_ranking` takes.
    n_rows, n_queries : tuple of int
        Documents and queries of each part.
    n_features : int
        Columns of ``X``.
    n_grades : int
        Grades of relevance, from 0.
    licence : str
        The terms of use, as far as the publisher states them.
    citation : str
        The paper to cite.
    source : str
        The publisher's page.
    description : str
        A few sentences on rows, columns and folds.

    Examples
    --------
    >>> from edgewise import datasets
    >>> facts = datasets.ranking_info("mq2008")
    >>> sum(facts.n_rows), sum(facts.n_queries), facts.n_features, facts.n_grades
    (15211, 784, 46, 3)
    """

    name: str
    n_rows: tuple[int, ...]
    n_queries: tuple[int, ...]
    n_features: int
    n_grades: int
    licence: str
    citation: str
    source: str
    description: str


class Fold(NamedTuple):
    """One fold of a ranking set: what to train on, to choose settings by, and to test on.

    Examples
    --------
    >>> import numpy as np
    >>> part = RankingData(np.eye(2), np.zeros(2), np.array(["a", "a"]))
    >>> train, valid, test = Fold(part, part, part)
    >>> train
    RankingData(2 rows, 2 columns, 1 queries)
    """

    train: RankingData
    valid: RankingData
    test: RankingData


@dataclass(frozen=True, eq=False, repr=False)
class RankingDataset:
    """A ranking set in parts, and the folds that its publisher makes of them.

    Attributes
    ----------
    name : str
        The name it was loaded under.
    parts : sequence of RankingData
        The parts, in the publisher's order. No query is in two of them.
    first : int
        Which part, counted from 0, the training rows of fold 1 begin with.
    feature_names : sequence of str
        One name per column of ``X``.
    licence, citation, source, description : str
        As in :class:`RankingInfo`.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [RankingData(np.eye(2), np.zeros(2), np.array([q, q])) for q in "abcde"]
    >>> toy = RankingDataset("toy", parts, 0, ["x", "y"], "CC0", "none", "here", "Ten points.")
    >>> toy
    RankingDataset('toy', 10 rows, 2 columns, 5 queries, 5 folds)
    >>> train, valid, test = toy.fold(2)
    >>> train.queries, valid.queries, test.queries
    (array(['b', 'c', 'd'], dtype='<U1'), array(['e'], dtype='<U1'), array(['a'], dtype='<U1'))
    """

    name: str
    parts: Sequence[RankingData]
    first: int
    feature_names: Sequence[str]
    licence: str
    citation: str
    source: str
    description: str

    def __repr__(self) -> str:
        n_rows = sum(len(part) for part in self.parts)
        n_queries = sum(part.n_queries for part in self.parts)
        return (
            f"RankingDataset({self.name!r}, {n_rows} rows, {len(self.feature_names)} columns, "
            f"{n_queries} queries, {self.n_folds} folds)"
        )

    @property
    def n_folds(self) -> int:
        """The number of folds, which is that of the parts."""
        return len(self.parts)

    def fold(self, k: int) -> Fold:
        """Return the published fold `k`, counted from 1.

        Going round the parts from where the fold begins, all but two train, the next one is for
        validation and the last one tests.

        Parameters
        ----------
        k : int
            Which fold, from 1 to :attr:`n_folds`.

        Raises
        ------
        ValueError
            If there is no such fold.
        """
        start = integer("k", k, 1, self.n_folds) - 1 + self.first
        *train, valid, test = (
            self.parts[(start + step) % self.n_folds] for step in range(self.n_folds)
        )
        return Fold(RankingData.concatenate(train), valid, test)
