"""The nearest neighbors of Iyer 1999: users who order a user's items the same way."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer
from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import iter_blocks, span_weights
from edgewise.recommend.parameters import parameter
from edgewise.recommend.per_user import ReferenceRecommender

# Counting the ratings of a reference user takes memory for each pair of levels.
_MAX_LEVELS = 256


class NearestUsers(NamedTuple):
    """The nearest users of a user, and their scores for items that they did not rate."""

    users: Indices
    default_scores: Reals


class Distances(NamedTuple):
    """Of each reference user: the ranking loss, the default level, the number of common items."""

    losses: Reals
    default_levels: NDArray[np.intp]
    n_common: NDArray[np.int64]


@dataclass(eq=False, repr=False)
class RankingNeighbor(ReferenceRecommender):
    """Predicts the ratings of the users who order a user's items best (Iyer 1999, 5.2.3).

    The distance of a reference user (Iyer's viewer) is the ranking loss of its ratings: the
    fraction of the user's pairs of differently rated items in the opposite order, ties counting
    half (Eq. 5.1). Items that the reference user did not rate get a default score, the lowest level
    with the smallest loss, or the reference user's mean if it rated all the user's items. Ties of
    reference users go to more items in common, then to the lower index. Weights of reference users'
    ratings do not count. Neighbors of a user are searched on first use.

    Fitted: `levels_`, the distinct ratings in training; the indices `reference_users_`, and their
    mean ratings, `reference_means_`.

    Parameters
    ----------
    n_neighbors : int, default 1
        The number of nearest users to average; 1 in Iyer's experiments.
    reference_users : int, sequence of ids or None, default None
        A number of users drawn at random, the users with these ids, or all users (None).
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

    def _fit(self, ratings: Ratings) -> None:
        if len(ratings.levels) > _MAX_LEVELS:
            raise ValueError(
                f"ratings must have at most {_MAX_LEVELS} distinct levels, got "
                f"{len(ratings.levels)}: round them first"
            )
        super()._fit(ratings)
        self.levels_ = ratings.levels

    def _distances(self, user: int) -> Distances:
        """Return the distances of all reference users from a user."""
        view = self.ratings_.by_user
        span = view.span(user)
        grades = np.unique(view.values[span], return_inverse=True)[1].astype(np.intp)
        references, positions, values = self._reference_ratings(view.others[span].astype(np.intp))
        return ranking_distances(
            grades,
            (references, positions, np.searchsorted(self.levels_, values)),
            (len(self.reference_users_), len(self.levels_)),
            span_weights(view, span),
        )

    def _fit_user(self, user: int) -> NearestUsers:
        losses, levels, n_common = self._distances(user)
        order = np.lexsort((self.reference_users_, -n_common, losses))
        order = order[self.reference_users_[order] != user][: self.n_neighbors]
        defaults = np.where(levels >= 0, self.levels_[levels], self.reference_means_)
        return NearestUsers(self.reference_users_[order], defaults[order])

    def _score_items(self, user_model: NearestUsers) -> Reals:
        if len(user_model.users) == 0:
            return np.full(self.n_items_, self.mean_)
        view, total = self.ratings_.by_user, np.zeros(self.n_items_)
        for user, default in zip(user_model.users.tolist(), user_model.default_scores, strict=True):
            scores = np.full(self.n_items_, default)
            scores[view.others[view.span(user)]] = view.values[view.span(user)]
            total += scores
        return total / len(user_model.users)

    def _restored(self) -> None:
        super()._restored()
        view = self.ratings_.by_user
        values = view.values[view.entries(self.reference_users_)]
        if not (np.diff(self.levels_) > 0).all() or not np.isin(values, self.levels_).all():
            raise ValueError("levels_ must be the distinct ratings, ascending")

    def _similarities(self, side: str, indices: Indices) -> Reals:
        """Return 1 - the ranking loss of reference users; minus infinity for all other users."""
        if side == "items":
            return super()._similarities(side, indices)
        similar = np.full((len(indices), self.n_users_), -np.inf)
        for row, user in zip(similar, indices.tolist(), strict=True):
            row[self.reference_users_] = 1.0 - self._distances(user).losses
        return similar


def ranking_distances(
    grades: NDArray[np.intp],
    ratings: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    shape: tuple[int, int],
    masses: Reals,
) -> Distances:
    """Return the ranking losses (Iyer 1999, Eq. 5.1) of reference users, with the best defaults.

    Pairs are never listed: the number of misordered pairs follows from how many of the user's items
    have each combination of the user's level and the reference user's. `grades` are the codes of
    the user's ratings, from 0 without gaps. `ratings` of these items by reference users are their
    reference user, item, and level. `shape` is the number of reference users and of levels. A pair
    has the product of the masses of its items. The default level is -1 for a reference user who
    rated all items.
    """
    references, positions, levels = ratings
    n_references, n_levels = shape
    n_grades = int(grades.max(initial=0)) + 1
    totals = np.asarray(np.bincount(grades, masses, n_grades), dtype=np.float64)
    n_pairs = _pair_mass(totals[None])[0]
    n_common = np.bincount(references, minlength=n_references)
    losses = np.zeros(n_references)
    default_levels = np.full(n_references, -1, dtype=np.intp)
    width = n_grades * n_levels
    cell = (references.astype(np.int64) * n_grades + grades[positions]) * n_levels + levels
    for block in iter_blocks(n_references, width):
        rows = np.flatnonzero((references >= block.start) & (references < block.stop))
        size, first = block.stop - block.start, block.start * width
        sums = np.bincount(cell[rows] - first, masses[positions[rows]], size * width)
        counts = np.asarray(sums, dtype=np.float64).reshape(size, n_grades, n_levels)
        doubled = _doubled_losses(counts, totals)
        is_partial = n_common[block] < len(grades)
        best = np.where(is_partial, doubled.argmin(axis=1), 0)
        losses[block] = doubled[np.arange(size), best] / (2 * n_pairs or 1.0)
        default_levels[block] = np.where(is_partial, best, -1)
    return Distances(losses, default_levels, n_common)


def _doubled_losses(counts: Reals, totals: Reals) -> Reals:
    """Return twice the misordered pairs, ties counting half, per reference user and default level.

    `counts` is the number of items by reference user, grade of the user and level of the reference
    user.
    """
    unrated = totals - counts.sum(axis=2)
    # Items with a lower grade, by level.
    lower = np.cumsum(counts, axis=1) - counts
    unrated_lower = np.cumsum(unrated, axis=1) - unrated
    # Twice the pairs of an item of this grade at each level with lower grades above it or tied.
    above = 2 * (lower.sum(axis=2, keepdims=True) - np.cumsum(lower, axis=2)) + lower
    # Twice the pairs of an item of a lower grade at each level with this grade below it or tied.
    below = 2 * np.cumsum(counts, axis=2) - counts
    rated_pairs = (counts * above).sum(axis=(1, 2)) + _pair_mass(unrated)
    mixed_pairs = (unrated[:, :, None] * above + unrated_lower[:, :, None] * below).sum(axis=1)
    return rated_pairs[:, None] + mixed_pairs


def _pair_mass(masses: Reals) -> Reals:
    """Return the mass of pairs of different columns in each row."""
    return ((np.cumsum(masses, axis=1) - masses) * masses).sum(axis=1)
