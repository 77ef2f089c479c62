"""The nearest neighbors of Iyer 1999: users who order a user's items the same way."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, threads
from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Ratings
from edgewise.recommend.parameters import parameter
from edgewise.recommend.per_user import ViewerRecommender, check_viewers

# Counting a viewer's ratings takes memory for each pair of levels.
_MAX_LEVELS = 256

# Blocks of counts hold at most this many numbers.
_COUNTS = 1 << 23


class _NearUsers(NamedTuple):
    viewers: Indices
    losses: Reals
    defaults: Reals


@dataclass(eq=False, repr=False)
class RankingNeighbor(ViewerRecommender):
    """Predicts the ratings of the viewers who order a user's items best (Iyer 1999, 5.2.3).

    The distance of a viewer, Iyer's word for another user, is the ranking loss of its ratings:
    the share of the user's pairs of differently rated items that the viewer orders the other way,
    ties counting half (Eq. 5.1). Items that the viewer did not rate get a default score, the level
    that minimizes the loss, or the viewer's mean if it rated all the user's items. Among viewers
    with equal loss the nearer has more items in common with the user, then the lower index; among
    default scores the lowest wins. Weights of viewers' ratings do not count. Neighbors of a user
    are found on first use.

    Fitted: `levels_`, the distinct ratings in training, tried as default scores; `viewers_`, the
    indices of the viewers, and `viewer_means_`, their mean ratings.

    Parameters
    ----------
    n_neighbors : int, default 1
        The number of nearest viewers to average: 1 in Iyer's experiments, more as the discussion
        proposes.
    viewers : int, sequence of ids or None, default None
        Who can be a neighbor: a number of users drawn at random, the users with these ids, or
        all users (None).
    random_state, n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import RankingNeighbor, Ratings
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 5, "Fargo": 3}, "bob": {"Heat": 1, "Fargo": 5, "Jaws": 2},
    ...     "cat": {"Heat": 4, "Fargo": 1, "Jaws": 3}})
    >>> model = RankingNeighbor().fit(ratings)
    >>> model.similar_users("ann", n=1).ids, model.predict("ann", "Jaws")
    (array(['cat'], dtype='<U3'), 3.0)
    """

    stored: ClassVar = {"levels_": "levels"}

    n_neighbors: int = parameter(1, integer, 1)
    _: KW_ONLY
    viewers: Any = parameter(None, check_viewers)
    random_state: Any = None
    n_jobs: int | None = parameter(None, threads)

    def _fit(self, ratings: Ratings) -> None:
        if len(ratings.levels) > _MAX_LEVELS:
            raise ValueError(
                f"ratings must have at most {_MAX_LEVELS} different levels, got "
                f"{len(ratings.levels)}: round them first"
            )
        super()._fit(ratings)
        self.levels_ = ratings.levels

    def _losses(self, user: int) -> tuple[Indices, Reals, Reals, NDArray[np.int64]]:
        """Return all viewers but the user, their losses, defaults and numbers of common items."""
        view = self.ratings_.by_user
        span = view.span(user)
        grades = np.unique(view.values[span], return_inverse=True)[1].astype(np.intp)
        weights = None if view.weights is None else view.weights[span]
        whose, places, values = self._viewer_ratings(view.others[span].astype(np.intp))
        levels = np.searchsorted(self.levels_, values)
        sizes = len(self.viewers_), len(self.levels_)
        losses, defaults, common = viewer_losses(grades, whose, places, levels, *sizes, weights)
        scores = np.where(defaults >= 0, self.levels_[defaults], self.viewer_means_)
        others = self.viewers_ != user
        return self.viewers_[others], losses[others], scores[others], common[others]

    def _learn(self, user: int) -> _NearUsers:
        others, losses, defaults, common = self._losses(user)
        order = np.lexsort((others, -common, losses))[: self.n_neighbors]
        return _NearUsers(others[order], losses[order], defaults[order])

    def _row(self, learned: _NearUsers) -> Reals:
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
        view = self.ratings_.by_user
        values = view.values[view.entries(self.viewers_)]
        if not (np.diff(self.levels_) > 0).all() or not np.isin(values, self.levels_).all():
            raise ValueError("levels_ must be the distinct ratings, ascending")

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return 1 less the ranking loss between users; minus infinity for all but viewers."""
        if side == "items":
            return super()._similarities(side, indices)
        similar = np.full((len(indices), self.n_users_), -np.inf)
        for row, user in zip(similar, indices.tolist(), strict=True):
            others, losses, _, _ = self._losses(user)
            row[others] = 1.0 - losses
        return similar


def viewer_losses(
    grades: NDArray[np.intp],
    viewers: NDArray[np.integer],
    places: NDArray[np.integer],
    levels: NDArray[np.integer],
    n_viewers: int,
    n_levels: int,
    weights: Reals | None = None,
) -> tuple[Reals, NDArray[np.intp], NDArray[np.int64]]:
    """Return the ranking loss (Iyer 1999, Eq. 5.1), best default level and common items of viewers.

    Pairs are never listed: the number that a viewer misorders follows from how many of the user's
    items have each combination of the user's level and the viewer's. `grades` are the codes of the
    user's ratings, from 0 without gaps; `viewers`, `places` and `levels` the viewers' ratings of
    these items: the viewer, the item, and the code of the rating. A pair has the product of the
    weights of its items. The default level of a viewer who rated all items is -1.
    """
    n_grades = int(grades.max(initial=0)) + 1
    masses = np.ones(len(grades)) if weights is None else weights
    totals = np.asarray(np.bincount(grades, masses, n_grades), dtype=np.float64)
    n_pairs = _pairs(totals[None])[0]
    common = np.bincount(viewers, minlength=n_viewers)
    losses, defaults = np.zeros(n_viewers), np.full(n_viewers, -1, dtype=np.intp)
    cell = (viewers.astype(np.int64) * n_grades + grades[places]) * n_levels + levels
    step = max(1, _COUNTS // (n_grades * n_levels))
    for start in range(0, n_viewers, step):
        stop = min(start + step, n_viewers)
        mine = np.flatnonzero((viewers >= start) & (viewers < stop))
        shape = (stop - start, n_grades, n_levels)
        first = start * n_grades * n_levels
        filled = np.bincount(cell[mine] - first, masses[places[mine]], int(np.prod(shape)))
        counts = np.asarray(filled, dtype=np.float64).reshape(shape)
        doubled = _doubled(counts, totals)
        partial = common[start:stop] < len(grades)
        best = np.where(partial, doubled.argmin(axis=1), 0)
        losses[start:stop] = doubled[np.arange(len(best)), best] / (2 * n_pairs or 1.0)
        defaults[start:stop] = np.where(partial, best, -1)
    return losses, defaults, common


def _doubled(counts: Reals, totals: Reals) -> Reals:
    """Return twice the misordered pairs, ties counting half, of each viewer and default level.

    `counts` is the number of items by viewer, grade of the user and level of the viewer.
    """
    unrated = totals - counts.sum(axis=2)
    # Items with a lower grade, by level.
    below = np.cumsum(counts, axis=1) - counts
    unrated_below = np.cumsum(unrated, axis=1) - unrated
    # Twice what an item of this grade misorders at each level: lower grades above it or tied.
    above = 2 * (below.sum(axis=2, keepdims=True) - np.cumsum(below, axis=2)) + below
    # Twice what an item of a lower grade misorders at each level.
    under = 2 * np.cumsum(counts, axis=2) - counts
    among = (counts * above).sum(axis=(1, 2)) + _pairs(unrated)
    crossed = (unrated[:, :, None] * above + unrated_below[:, :, None] * under).sum(axis=1)
    return among[:, None] + crossed


def _pairs(masses: Reals) -> Reals:
    """Return the mass of pairs of different columns in each row."""
    return ((np.cumsum(masses, axis=1) - masses) * masses).sum(axis=1)
