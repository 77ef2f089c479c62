"""Recommenders with a small model for each user, on the ratings of other users (Iyer 1999)."""

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import flag, integer
from edgewise.common.dtypes import Indices, Reals
from edgewise.common.fields import Array
from edgewise.common.threads import Threads
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import iter_blocks, weights_of
from edgewise.recommend.base import Recommender
from edgewise.recommend.model import Seeded, Threaded, parameter

MAX_ROUNDS = 10_000
"""The maximum number of rounds per user: users of a saved model are trained on request."""

# The cache of user models holds at most this many numbers.
_CACHED_NUMBERS = 1 << 24

# Counting the ratings of a reference user takes memory for each pair of levels.
_MAX_LEVELS = 256


@dataclass(eq=False, repr=False, kw_only=True)
class PerUserRecommender(Recommender, Threaded):
    """Base of recommenders that train a small model for each user, on first use.

    User models are cached in `user_models_`; the oldest are dropped first.
    """

    refits_on_update = True
    stored: ClassVar = {"user_models_": None}

    @abstractmethod
    def _fit_user(self, user: int) -> Any:
        """Return the model of a user."""

    @abstractmethod
    def _score_items(self, user_model: Any) -> Reals:
        """Return the scores of all items under a user's model."""

    def _score_some(self, user_model: Any, items: Indices) -> Reals:
        """Return the scores of some items, as :meth:`_score_items` computes them."""
        return self._score_items(user_model)[items]

    def _user_model_size(self) -> int:
        """Return how many numbers a user's model holds."""
        return 1

    def _user_model(self, user: int) -> Any:
        """Return the model of a user, from the cache or trained now."""
        models = self.__dict__.setdefault("user_models_", OrderedDict())
        model = models.get(user)
        if model is None:
            model = models[user] = self._fit_user(user)
            while len(models) > max(16, _CACHED_NUMBERS // self._user_model_size()):
                models.popitem(last=False)
        return model

    def _run_each(self, run: Callable[[int], None], n_tasks: int) -> None:
        """Run tasks, each about one user, on the threads of the model."""
        # A user has few equations: with several BLAS threads they can take twenty times as long.
        with (
            _linear_algebra().limit(limits=1, user_api="blas"),
            Threads(min(self._threads(), n_tasks)) as pool,
        ):
            pool.map(run, range(n_tasks))

    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        scores, groups = np.empty(len(users)), group_by_user(users)

        def run(task: int) -> None:
            user, rows = groups[task]
            scores[rows] = self._score_some(self._user_model(user), items[rows])

        self._run_each(run, len(groups))
        return scores

    def _user_scores(self, users: Indices) -> Reals:
        scores = np.empty((len(users), self.n_items_))

        def run(task: int) -> None:
            scores[task] = self._score_items(self._user_model(int(users[task])))

        self._run_each(run, len(users))
        return scores

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        self.user_models_ = OrderedDict[int, Any]()


def group_by_user(users: Indices) -> list[tuple[int, Indices]]:
    """Return each user once, in ascending order, and its positions."""
    order = np.argsort(users, kind="stable")
    distinct, starts = np.unique(users[order], return_index=True)
    return list(zip(distinct.tolist(), np.split(order, starts[1:]), strict=False))


@cache
def _linear_algebra() -> Any:
    """Return the controller of BLAS threads; finding the libraries takes time."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def check_reference_users(name: str, value: Any) -> None:
    """Raise unless this is None, a number of users, or a sequence of ids."""
    if isinstance(value, Integral):
        integer(name, value, 1)
    elif value is not None and (isinstance(value, str) or not hasattr(value, "__len__")):
        raise TypeError(f"{name} must be None, an integer or a list of users, got {value!r}")


@dataclass(eq=False, repr=False, kw_only=True)
class ReferenceUsers(Recommender, Seeded):
    """Base of recommenders that learn from the ratings of other users, Iyer's viewers."""

    stored: ClassVar = {"reference_users_": Array("references", np.intp, below="users")}

    reference_users: Any = parameter(None, check_reference_users)

    def _resolve_reference_users(self, ratings: Ratings, seed: int) -> Indices:
        """Return the indices of the requested users that have ratings, ascending."""
        requested, rated = self.reference_users, np.flatnonzero(ratings.by_user.sizes > 0)
        if requested is None:
            return rated
        if isinstance(requested, Integral):
            return np.sort(np.random.default_rng(seed).permutation(rated)[: int(requested)])
        return np.intersect1d(ratings.user_ids.require("reference_users", requested), rated)

    def _check_restored(self) -> None:
        super()._check_restored()
        if (np.diff(self.reference_users_) <= 0).any():
            raise ValueError("reference_users_ must be ascending")


@dataclass(eq=False, repr=False, kw_only=True)
class ReferenceRecommender(ReferenceUsers, PerUserRecommender):
    """Base of recommenders with a model per user on the ratings of the reference users."""

    stored: ClassVar = {"reference_means_": "references"}

    def _fit(self, ratings: Ratings) -> None:
        self.reference_users_ = self._resolve_reference_users(ratings, self._seed())
        self.reference_means_ = ratings.by_user.means[self.reference_users_]

    def _reference_ratings(self, items: Indices) -> tuple[Indices, Indices, Reals]:
        """Return the ratings of some items: reference user, position in `items`, and value."""
        view = self.ratings_.by_item.take(items)
        number = np.full(self.n_users_, -1, dtype=np.intp)
        number[self.reference_users_] = np.arange(len(self.reference_users_))
        references = number[view.others]
        counts = references >= 0
        return references[counts], view.row_numbers[counts], view.values[counts]


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
        ratings = self.ratings_.by_user.row(user)
        grades = np.unique(ratings.values, return_inverse=True)[1].astype(np.intp)
        references, positions, values = self._reference_ratings(ratings.others)
        levels = np.searchsorted(self.levels_, values)
        shape = len(self.reference_users_), len(self.levels_)
        masses = weights_of(ratings)
        return ranking_distances(grades, (references, positions, levels), shape, masses)

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
            items, values, _ = view.row(user)
            scores[items] = values
            total += scores
        return total / len(user_model.users)

    def _check_restored(self) -> None:
        super()._check_restored()
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


class UserWeights(NamedTuple):
    """One user's regression: the weights of the reference users, and the user's scale."""

    weights: Reals
    mean: float
    scale: float


@dataclass(eq=False, repr=False, kw_only=True)
class UserRegression(ReferenceRecommender):
    """Predicts a user's ratings by linear regression on other users' (Iyer 1999, 5.2.3).

    With the user's ratings a and the ratings C of the same items by the reference users (Iyer's
    viewers), the weights w are the shortest that minimize ``|| w C - a ||``. Missing ratings are
    replaced by the reference user's mean. A user's weights are computed on first use.

    Fitted: the indices `reference_users_`, and the means and standard deviations of their ratings,
    `reference_means_` and `reference_scales_` (1 if not normalized).

    Parameters
    ----------
    normalize : bool, default False
        Scale the ratings of each user to mean 0 and variance 1 first (Iyer 5.2.6).
    reference_users : int, sequence of ids or None, default None
        A number of users drawn at random, the users with these ids, or all users (None).
    random_state, n_jobs
        See :class:`Recommender`.

    Examples
    --------
    >>> from edgewise import Ratings, UserRegression
    >>> ratings = Ratings.from_dict({
    ...     "ann": {"Heat": 4, "Fargo": 2}, "bob": {"Heat": 2, "Fargo": 1, "Jaws": 2},
    ...     "cat": {"Jaws": 3}})
    >>> model = UserRegression(reference_users=["bob"]).fit(ratings)
    >>> round(model.predict("ann", "Jaws"), 6)
    4.0
    """

    stored: ClassVar = {"reference_scales_": "references"}

    normalize: bool = parameter(False, flag)

    def _fit(self, ratings: Ratings) -> None:
        super()._fit(ratings)
        self.reference_scales_ = np.ones(len(self.reference_users_))
        if self.normalize:
            view, users = ratings.by_user, self.reference_users_.tolist()
            scales = [_deviation(view.row(user).values) for user in users]
            self.reference_scales_ = np.array(scales)

    def _check_restored(self) -> None:
        super()._check_restored()
        if not (self.reference_scales_ > 0).all():
            raise ValueError("reference_scales_ must be positive")

    def _user_model_size(self) -> int:
        return len(self.reference_users_)

    def _fit_user(self, user: int) -> UserWeights:
        items, values, _ = ratings = self.ratings_.by_user.row(user)
        mean, scale = (float(values.mean()), _deviation(values)) if self.normalize else (0.0, 1.0)
        rated = self._filled_ratings(items)
        rated[:, self.reference_users_ == user] = 0.0
        target = (values - mean) / scale
        roots = np.sqrt(weights_of(ratings))
        # The shortest of the minimizers.
        weights = np.linalg.lstsq(rated * roots[:, None], target * roots, rcond=None)[0]
        return UserWeights(np.asarray(weights), mean, scale)

    def _filled_ratings(self, items: Indices) -> Reals:
        """Return the reference users' ratings of some items, shape (items, reference users)."""
        columns, rows, values = self._reference_ratings(items)
        fills = np.zeros(len(self.reference_users_)) if self.normalize else self.reference_means_
        rated = np.tile(fills, (len(items), 1))
        if self.normalize:
            values = (values - self.reference_means_[columns]) / self.reference_scales_[columns]
        rated[rows, columns] = values
        return rated

    def _score_some(self, user_model: UserWeights, items: Indices) -> Reals:
        references, positions, values = self._reference_ratings(items)
        shares = (user_model.weights / self.reference_scales_)[references]
        deviations = values - self.reference_means_[references]
        return self._to_scores(user_model, np.bincount(positions, deviations * shares, len(items)))

    def _score_items(self, user_model: UserWeights) -> Reals:
        view = self.ratings_.by_user
        entries, sizes = view.entries(self.reference_users_), view.sizes[self.reference_users_]
        shares = np.repeat(user_model.weights / self.reference_scales_, sizes)
        deviations = view.values[entries] - np.repeat(self.reference_means_, sizes)
        sums = np.bincount(view.others[entries], deviations * shares, self.n_items_)
        return self._to_scores(user_model, sums)

    def _to_scores(self, user_model: UserWeights, sums: NDArray) -> Reals:
        """Convert weighted sums of deviations from the reference users' means to scores."""
        if self.normalize:
            return np.asarray(user_model.mean + user_model.scale * sums)
        return np.asarray(sums + float(user_model.weights @ self.reference_means_))


def _deviation(values: Reals) -> float:
    """Return the standard deviation, or 1 if it is 0."""
    return float(values.std()) or 1.0
