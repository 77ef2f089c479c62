"""Iyer's nearest neighbours: viewers who order a target's items as the target does."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, threads
from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.recommend.answers import Indices
from edgewise.recommend.neighbours.losses import viewer_losses
from edgewise.recommend.neighbours.matrix import row_means
from edgewise.recommend.neighbours.targets import (
    OneByOne,
    check_places,
    check_viewers,
    chosen_viewers,
)
from edgewise.recommend.neighbours.twins import entries_of

# The counts of a viewer take memory for each pair of levels.
_MOST_LEVELS = 256


class _Near(NamedTuple):
    viewers: Indices
    losses: Reals
    defaults: Reals


class RankingNeighbour(OneByOne):
    """Predicts what the viewer says whose ratings order a user's items best (Iyer 1999, 5.2.3).

    How near a viewer is, is the ranking loss of its ratings with respect to the user's: the share
    of the user's pairs of differently rated items that the viewer puts the other way round, ties
    counting half (Eq. 5.1). Items that the viewer did not rate get a default score, the level that
    makes the loss least, or the viewer's mean if it rated all the user's items. Each user is
    looked at when first asked for.

    Parameters
    ----------
    k : int, default 1
        How many of the nearest viewers are averaged: 1 in Iyer's experiments, more as its
        discussion proposes.
    viewers : int, sequence of ids or None, default None
        Whose ratings can be a neighbour's: all users', those of so many drawn at random, or of
        the users named.
    random_state : int, RandomState or None, default None
        The same number draws the same viewers.
    n_jobs : int or None, default 1
        Threads, which share users. -1 takes all cores.

    Attributes
    ----------
    levels_ : float64 array
        The different ratings in training: the default scores that are tried.
    viewers_, viewer_means_ : arrays
        The viewers' indices, and the mean rating of each.

    Notes
    -----
    Of viewers with the same loss the one that has more items in common with the user is nearer,
    then the one of the lower index; of default scores with the same loss the lowest is taken.
    Weights of a user's ratings count in its pairs; those of viewers do not.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import RankingNeighbour
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 5, "Fargo": 3}, "bob": {"Heat": 1, "Fargo": 5, "Jaws": 2},
    ...     "cat": {"Heat": 4, "Fargo": 1, "Jaws": 3}})
    >>> model = RankingNeighbour().fit(ratings)
    >>> model.similar_users("ann", n=1).ids, model.predict("ann", "Jaws")
    (array(['cat'], dtype='<U3'), 3.0)
    """

    stored: ClassVar = {
        "levels_": "levels",
        "viewers_": "viewers",
        "viewer_means_": "viewers",
    }

    levels_: Reals
    viewers_: Indices
    viewer_means_: Reals

    def __init__(
        self,
        k: int = 1,
        *,
        viewers: Any = None,
        random_state: Any = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.k = k
        self.viewers = viewers
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        integer("k", self.k, 1)
        check_viewers(self.viewers)
        threads("n_jobs", self.n_jobs)

    def _fit(self, ratings: Ratings) -> None:
        if len(ratings.levels) > _MOST_LEVELS:
            raise ValueError(
                f"ratings must have at most {_MOST_LEVELS} different levels, got "
                f"{len(ratings.levels)}: round them first"
            )
        self.levels_ = ratings.levels
        self.viewers_ = chosen_viewers(self.viewers, ratings, self._seed())
        self.viewer_means_ = row_means(ratings.by_user)[self.viewers_]

    def _losses(self, user: int) -> tuple[Indices, Reals, Reals, NDArray[np.int64]]:
        """Return the viewers other than the user, their losses, defaults and common items."""
        ratings = self.ratings_
        span = ratings.by_user.span(user)
        items = ratings.by_user.others[span].astype(np.intp)
        grades = np.unique(ratings.by_user.values[span], return_inverse=True)[1].astype(np.intp)
        weights = None if ratings.by_user.weights is None else ratings.by_user.weights[span]
        number = np.full(ratings.n_users, -1, dtype=np.intp)
        others = self.viewers_[self.viewers_ != user]
        number[others] = np.arange(len(others))
        view = ratings.by_item
        entries = entries_of(view.starts, items)
        places = np.repeat(np.arange(len(items)), view.sizes[items])
        whose = number[view.others[entries]]
        kept = np.flatnonzero(whose >= 0)
        levels = np.searchsorted(self.levels_, view.values[entries[kept]])
        found = viewer_losses(
            grades, whose[kept], places[kept], levels, len(others), len(self.levels_), weights
        )
        means = self.viewer_means_[self.viewers_ != user]
        scores = np.where(found.defaults >= 0, self.levels_[found.defaults], means)
        return others, found.losses, scores, found.common

    def _learn(self, user: int) -> _Near:
        others, losses, defaults, common = self._losses(user)
        order = np.lexsort((others, -common, losses))[: self.k]
        return _Near(others[order], losses[order], defaults[order])

    def _row(self, learned: _Near) -> Reals:
        if len(learned.viewers) == 0:
            return np.full(self.n_items_, self.mean_)
        view, total = self.ratings_.by_user, np.zeros(self.n_items_)
        for viewer, default in zip(learned.viewers.tolist(), learned.defaults, strict=True):
            scores = np.full(self.n_items_, default)
            scores[view.others[view.span(viewer)]] = view.values[view.span(viewer)]
            total += scores
        return total / len(learned.viewers)

    def _restored(self) -> None:
        super()._restored()
        check_places("viewers_", self.viewers_, self.n_users_)
        view = self.ratings_.by_user
        values = view.values[entries_of(view.starts, self.viewers_)]
        if not (np.diff(self.levels_) > 0).all() or not np.isin(values, self.levels_).all():
            raise ValueError("levels_ must be the different ratings, ascending")

    def _similarities(self, side: str, places: Indices) -> Reals:
        """Return 1 less the ranking loss, between users; minus infinity for who is no viewer."""
        if side == "items":
            return super()._similarities(side, places)
        similar = np.full((len(places), self.n_users_), -np.inf)
        for row, user in zip(similar, places.tolist(), strict=True):
            others, losses, _, _ = self._losses(user)
            row[others] = 1.0 - losses
        return similar
