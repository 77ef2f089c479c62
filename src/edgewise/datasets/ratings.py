"""What a loader of ratings returns, and what is known of a set before a file is touched."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of
from edgewise.ratings import Ratings, Split


@dataclass(frozen=True)
class RatingsInfo:
    """The facts of a set of ratings: sizes, terms and where it comes from.

    Attributes
    ----------
    name : str
        The name that :func:`edgewise.datasets.load_ratings` takes.
    n_users, n_items : int
        Users and items of the catalogue.
    n_rated : int
        Items with at least one rating.
    n_ratings : int
        Ratings, one for each pair of a user and an item.
    levels : tuple of float
        The values that ratings have, ascending.
    splits : tuple of str
        Names of the published splits, folds first; empty where there are none.
    n_test : tuple of int
        Test ratings of each split.
    n_folds : int
        How many of the splits are folds, whose test ratings together are all ratings.
    licence : str
        The terms of use, as the publisher states them.
    citation : str
        The paper to cite.
    source : str
        The publisher's page.
    description : str
        A few sentences on ratings, side features and splits.

    Examples
    --------
    >>> from edgewise import datasets
    >>> facts = datasets.ratings_info("ml_100k")
    >>> facts.n_users, facts.n_items, facts.n_ratings, facts.n_folds
    (943, 1682, 100000, 5)
    """

    name: str
    n_users: int
    n_items: int
    n_rated: int
    n_ratings: int
    levels: tuple[float, ...]
    licence: str
    citation: str
    source: str
    description: str
    splits: tuple[str, ...] = ()
    n_test: tuple[int, ...] = ()
    n_folds: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class RatingsDataset:
    """Ratings with side features and titles, and the splits that their publisher makes of them.

    Attributes
    ----------
    name : str
        The name it was loaded under.
    ratings : Ratings
        All ratings, with their times and the side features of users and items. Ids are the
        integers of the files.
    item_titles : mapping of int to str
        The title of each item, by its id.
    held_out : mapping of str to intp array
        For each published split, folds first, the places of its test ratings in `ratings`.
    n_folds : int
        How many of the splits are folds; 0 where the publisher has none.
    licence, citation, source, description : str
        As in :class:`RatingsInfo`.

    Examples
    --------
    >>> import numpy as np
    >>> ratings = Ratings.from_arrays([1, 1, 2], [10, 20, 10], [5, 3, 4])
    >>> toy = RatingsDataset("toy", ratings, {10: "Alien", 20: "Brazil"}, {"u1": np.array([1])}, 1,
    ...                      "CC0", "none", "here", "Three ratings.")
    >>> toy
    RatingsDataset('toy', 2 users, 2 items, 3 ratings, splits: u1)
    >>> train, test = toy.fold(1)
    >>> train.values, test.values
    (array([5., 4.]), array([3.]))
    """

    name: str
    ratings: Ratings
    item_titles: Mapping[int, str]
    held_out: Mapping[str, NDArray[np.intp]]
    n_folds: int
    licence: str
    citation: str
    source: str
    description: str

    def __repr__(self) -> str:
        return (
            f"RatingsDataset({self.name!r}, {self.ratings.n_users} users, "
            f"{self.ratings.n_items} items, {len(self.ratings)} ratings, "
            f"splits: {', '.join(self.splits) or 'none'})"
        )

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the published splits, folds first."""
        return tuple(self.held_out)

    def fold(self, k: int) -> Split:
        """Return the published fold `k`, counted from 1: what to train on, and what to test on.

        Parameters
        ----------
        k : int
            Which fold, from 1 to :attr:`n_folds`.

        Returns
        -------
        Split
            ``train`` and ``test``, both with the whole catalogue of users and items, so that an
            index means the same in both; some items may have no rating in ``train``.

        Raises
        ------
        ValueError
            If there is no such fold.
        """
        if not self.n_folds:
            raise ValueError(
                f"{self.name} has no published folds; ratings.folds() and ratings.split() make some"
            )
        return self.split(self.splits[integer("k", k, 1, self.n_folds) - 1])

    def split(self, name: str) -> Split:
        """Return a published split: what to train on, and what to test on.

        Parameters
        ----------
        name : str
            One of :attr:`splits`.

        Returns
        -------
        Split
            As :meth:`fold` returns it.

        Raises
        ------
        ValueError
            If there is no such split.
        """
        if not self.held_out:
            raise ValueError(f"{self.name} has no published splits; ratings.split() makes one")
        tested = np.zeros(len(self.ratings), dtype=bool)
        tested[self.held_out[one_of("name", name, self.splits)]] = True
        return Split(self.ratings.take(~tested), self.ratings.take(tested))
