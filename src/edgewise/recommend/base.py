"""The base class of all recommenders: ids, unknown ids, lists, new users and files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError

from edgewise.common.checks import flag, generator, integer, one_of
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.fields import Array, Value, finite
from edgewise.common.ids import as_ids
from edgewise.common.progress import Step, progress
from edgewise.common.threads import Threads, n_threads
from edgewise.model.file import Storable, stored_fields
from edgewise.ratings import Grouped, Ids, Ratings
from edgewise.ratings.ratings import RATINGS
from edgewise.recommend.filters import Filters, described, owned
from edgewise.recommend.lists import RecommendedLists, contenders, ranked
from edgewise.recommend.similarity import Directions

if TYPE_CHECKING:
    from edgewise.report import Report

UNKNOWN = ("raise", "mean", "nan")

Scorer = Callable[[Indices, Indices], Reals]
Near = tuple[NDArray[Any], Reals | None]

# The largest integer that a parameter can be: compiled loops take no larger ones.
LARGEST = 2**31 - 1

SEED = Value(int, lambda seed: integer("seed_", seed, 0, LARGEST))
"""The seed of a fitted model in a file."""

# The mean rating of a user or an item counts this many ratings of the overall mean too: chosen for
# unknown users within the training parts of ml-100k and ml-1m, by users and by time.
_DAMPING = 3.0

# Users are scored in blocks of at most this many scores.
_ENTRIES = 1 << 21

# The users whose lists a report measures.
_REPORT_USERS = 1000


def parameter(default: Any, check: Callable[..., Any], *limits: Any) -> Any:
    """Declare a parameter of a recommender that is a dataclass, with its default and its check.

    Fits call ``check(name, value, *limits)``, except for None where that is the default.
    """
    return field(default=default, metadata={"check": check, "limits": limits})


class Recommender(Storable, ABC):
    """Base of all recommenders; derive from it to write your own.

    A subclass declares its parameters as a dataclass, or stores them in ``__init__``, and writes
    ``_fit(ratings)`` and ``_pair_scores(users, items)``, which work on indices; the other methods
    at the top of this class have defaults to override. Fitted attributes end in an underscore and
    are arrays, numbers, strings or None, so that files can hold them; ``stored`` declares the
    shapes of arrays, such as "users k".

    Many recommenders share these parameters:

    - ``random_state`` (int, RandomState or None, default None): the random seed;
    - ``n_jobs`` (int or None, default None): the number of threads, -1 for all cores; no result
      depends on it;
    - ``verbose`` (int, default 0): 1 shows progress.

    Attributes
    ----------
    ratings_ : Ratings
        The training ratings.
    known_users_, known_items_ : bool arrays
        The part of the catalog that the model can score.
    low_, high_, mean_ : float
        The lowest, the highest and the mean rating in training.

    Examples
    --------
    >>> from edgewise import Ratings, Recommender
    >>> class ItemMean(Recommender):
    ...     def _fit(self, ratings):
    ...         self.means_ = ratings.by_item.means
    ...     def _pair_scores(self, users, items):
    ...         return self.means_[items]
    >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
    >>> ItemMean().fit(ratings).recommend("bob").scores
    array([5.])
    """

    predicts_levels: ClassVar[bool] = False
    """Whether ``predict`` takes ``output="level"``, and ``predict_proba`` has their chances."""

    fits_at_once: ClassVar[bool] = False
    """Whether a fit is so fast that ``partial_fit`` fits anew on all ratings."""

    # Whether lists are made in several threads: not where scores are made in threads already.
    _serves_in_threads: ClassVar[bool] = False

    stored: ClassVar = {
        "ratings_": RATINGS,
        "known_users_": Array("users", np.bool_),
        "known_items_": Array("items", np.bool_),
        "low_": Value(float, finite),
        "high_": Value(float, finite),
        "mean_": Value(float, finite),
    }
    stores_undeclared = True

    ratings_: Ratings
    known_users_: Mask
    known_items_: Mask
    low_: float
    high_: float
    mean_: float

    # For subclasses to write.

    @property
    def predicts(self) -> str:
        """Whether scores are on the scale of ratings ("rating") or only order items ("score")."""
        return "rating"

    @property
    def adds_items(self) -> bool:
        """Whether ``partial_fit`` learns items that the fit did not know."""
        return False

    @abstractmethod
    def _fit(self, ratings: Ratings) -> None:
        """Learn from ratings; there is at least one."""

    @abstractmethod
    def _pair_scores(self, users: Indices, items: Indices) -> Reals:
        """Return the scores of pairs of known users and known items."""

    def _check_parameters(self) -> None:
        """Raise if a parameter is wrong."""
        for one in fields(self) if is_dataclass(self) else ():
            value, optional = getattr(self, one.name), one.default is None
            if "check" in one.metadata and not (value is None and optional):
                check, limits = one.metadata["check"], one.metadata["limits"]
                check(one.name, value, *limits[: 1 if check is integer else None])
                if check is integer:
                    integer(one.name, value, *(*limits, LARGEST)[:2])

    def _user_scores(self, users: Indices) -> Reals:
        """Return the scores of all items for some users, shape (users, items)."""
        scores = np.full((len(users), self.n_items_), -np.inf)
        known = np.flatnonzero(self.known_items_)
        pairs = np.repeat(users, len(known)), np.tile(known, len(users))
        scores[:, known] = self._pair_scores(*pairs).reshape(len(users), len(known))
        return scores

    def _near_scores(self, users: Indices) -> Near:
        """Return scores of all items for some users to make lists of, in an array of their own.

        They may be near those of `_pair_scores`, and much faster: then a number for each user says
        how far off they may be. None says that these are the scores to show.
        """
        return np.array(self._user_scores(users)), None

    def _fold_in(self, ratings: Ratings, users: Indices) -> None:
        """Learn about new users, whose indices follow all others, and change nothing else."""

    def _fold_in_items(self, before: Ratings, now: Ratings, items: Indices) -> None:
        """Learn items that the fit did not know from their ratings now; for ``adds_items``."""

    def _settle(self, ratings: Ratings, users: Indices) -> None:
        """Bring what depends on other users up to date, after some have new ratings."""

    def _extended(self, ratings: Ratings, users: Indices) -> "Recommender":
        """Return a model of more ratings, among them new ones of these users."""
        from edgewise.recommend.updates import extended

        return extended(self, ratings, users)

    def _vectors(self, side: str) -> Any:
        """Return one row per user or item, whose cosines are the similarities."""
        return centered(self._rating_rows(side), self.mean_)

    def _similarities(self, side: str, places: Indices) -> Reals:
        """Return the similarity of some users or items to all; minus infinity excludes one."""
        return self._directions(side).cosines(places)

    def _knows_users(self, ratings: Ratings) -> Mask:
        """Return the users the model can score: by default, those with ratings."""
        return ratings.by_user.sizes > 0

    def _knows_items(self, ratings: Ratings) -> Mask:
        """Return the items the model can score: by default, those with ratings."""
        return ratings.by_item.sizes > 0

    def _restored(self) -> None:
        """Raise if the fitted attributes of a file do not fit together; rebuild what it skips."""
        self._check_parameters()
        if self.low_ > self.high_:
            raise ValueError("low_ must not be above high_")

    # What every model can do.

    @property
    def n_users_(self) -> int:
        """The number of users in the catalog."""
        return self._trained().n_users

    @property
    def n_items_(self) -> int:
        """The number of items in the catalog."""
        return self._trained().n_items

    def fit(self, ratings: Ratings) -> Self:
        """Learn from ratings and return the model; if the fit fails, it stays as it was."""
        check_ratings("ratings", ratings)
        self._check_parameters()
        draft = copy(self)
        for name in [name for name in vars(draft) if name.endswith("_") or name == "_kept"]:
            delattr(draft, name)
        draft.ratings_ = ratings
        draft.known_users_ = draft._knows_users(ratings)
        draft.known_items_ = draft._knows_items(ratings)
        draft.low_, draft.high_, draft.mean_ = ratings.low, ratings.high, ratings.mean
        draft._fit(ratings)
        draft._check_finite()
        self.__dict__ = draft.__dict__
        return self

    def _check_finite(self) -> None:
        """Raise if training left numbers that no file can hold, and no prediction can use."""
        for name in stored_fields(type(self)):
            value = vars(self).get(name)
            if isinstance(value, np.ndarray) and not np.isfinite(value).all():
                raise ValueError(
                    f"ratings are too large or too different for {type(self).__name__}: {name} is "
                    "no longer finite"
                )

    def predict(self, users: Any, items: Any, unknown: str = "raise") -> Any:
        """Predict the rating (or score) of each pair of a user and an item.

        Parameters
        ----------
        users, items : array-like of ids, or one id
            The pairs; a single id is paired with every id of the other side.
        unknown : {"raise", "mean", "nan"}, default "raise"
            For users and items that training does not know: raise a ValueError, predict the mean
            rating of the known side, shrunken toward that of all ratings by three ratings, or
            NaN. Scores, which are not ratings, have their mean in training.

        Returns
        -------
        float64 array
            Within the scale of the ratings if the model predicts ratings. A number for one user
            and one item.
        """
        return self._predicted(users, items, unknown, self._pair_scores)

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        exclude_seen: bool = True,
        items: Any = None,
        unknown: str = "raise",
        *,
        exclude: Any = None,
        where: Mapping[str, Any] | None = None,
        min_support: int = 0,
    ) -> Any:
        """Return the best items for users; a list is the same whoever else is asked for.

        Parameters
        ----------
        users : array-like of ids, one id, or None
            The users; None for all that the model knows.
        n : int, default 10
            Length of the lists. A list is shorter if there are fewer items left.
        exclude_seen : bool, default True
            Whether to leave out items that the user has rated.
        items : array-like of ids, mapping of users to ids, or None, default None
            The items to choose from, for all users or for each; None for all items.
        unknown : {"raise", "mean", "nan"}, default "raise"
            For users that training does not know: raise an error, recommend what is popular, or
            an empty list. Popular is the best mean rating over all users, where no rating counts
            as the lowest; of choices, the largest share of users.
        exclude : array-like of ids, mapping of users to ids, or None, default None
            Items to leave out, for all users or for each.
        where : mapping of str to values, default None
            Features of the items and their values, one or several: other items are left out.
        min_support : int, default 0
            The fewest training ratings of an item.

        Returns
        -------
        RecommendedLists
            One list per user; a single :class:`RecommendedList` for one id.
        """
        integer("n", n, 1)
        flag("exclude_seen", exclude_seen)
        one_of("unknown", unknown, UNKNOWN)
        ratings = self._trained()
        if users is None:
            users = ratings.user_ids.values[self.known_users_]
        places = self._places("users", users)
        if unknown == "raise":
            self._require_known("users", users, places)
        asked = as_ids("users", users)
        filters = self._filters(asked, items, exclude, where, min_support, exclude_seen)
        found = self._best(places, n, filters, unknown)
        return _as_lists(users, asked, found, ratings.item_ids)

    def _filters(
        self, users: NDArray, items: Any, exclude: Any, where: Any, support: int, seen: bool
    ) -> Filters:
        """Return which items the lists of users may hold, or raise."""
        ratings, ids = self.ratings_, self.ratings_.item_ids
        allowed, chosen, excluded = self.known_items_.copy(), None, None
        if isinstance(items, Mapping):
            chosen = owned("items", items, users.tolist(), ids, known=True)
        elif items is not None:
            allowed &= np.isin(np.arange(len(ids)), ids.require("items", items))
        if isinstance(exclude, Mapping):
            excluded = owned("exclude", exclude, users.tolist(), ids, known=False)
        elif exclude is not None:
            allowed &= ~np.isin(np.arange(len(ids)), ids.find("exclude", exclude))
        if where is not None:
            allowed &= described(where, ratings.item_features, len(ids))
        if integer("min_support", support, 0):
            allowed &= ratings.by_item.sizes >= support
        return Filters(allowed, ratings.by_user if seen else None, chosen, excluded)

    def similar_items(self, items: Any, n: int = 10) -> Any:
        """Return the `n` items most similar to each item (or to one), never the item itself."""
        return self._similar("items", items, n)

    def similar_users(self, users: Any, n: int = 10) -> Any:
        """Return the `n` users most similar to each user (or to one), never the user itself."""
        return self._similar("users", users, n)

    def fold_in(self, ratings: Ratings | Mapping[Any, Mapping[Any, float]]) -> Self:
        """Return a model that also knows new users, learned from their ratings without a new fit.

        Parameters
        ----------
        ratings : Ratings, or mapping of users to mappings of items to ratings
            Ratings by users that training has not seen, of items that it has.
        """
        trained = self._trained()
        more = self._more(ratings)
        both = trained.with_users(more)
        unrated = np.setdiff1d(both.items[len(trained) :], np.flatnonzero(self.known_items_))
        if len(unrated):
            lost = trained.item_ids.values[unrated[:3]].tolist()
            raise ValueError(f"items must be known, but {lost} had no ratings in training")
        model = copy(self)
        model.ratings_ = both
        users = np.arange(trained.n_users, both.n_users)
        model.known_users_ = np.concatenate([self.known_users_, self._knows_users(both)[users]])
        model._fold_in(both, users)
        return model

    def partial_fit(self, ratings: Ratings | Mapping[Any, Mapping[Any, float]]) -> Self:
        """Learn from more ratings without a new fit, and return the model.

        Users with new ratings, new or known, are learned again from all their ratings, as
        :meth:`fold_in` does, while the items stay as the fit left them. Items that the fit did not
        know are then learned from their ratings, by neighborhoods and models with factors for
        users and items (``adds_items``); other models raise an error, and learn new items by
        :meth:`fit`. The result depends on the fit and on the ratings since, not on the number of
        calls; only neighbors of users are those at the time of a call. Models that fit at once
        (``fits_at_once``: baselines, and models that train each user on first use) fit anew on all
        ratings. Fit again from time to time: what new ratings say about old items is not learned.

        Parameters
        ----------
        ratings : Ratings, or mapping of users to mappings of items to ratings
            New ratings; one of a pair that was rated already replaces the old one. A model that
            is not fitted yet is fitted on them.

        Examples
        --------
        >>> from edgewise import ImplicitFactorization, Ratings
        >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 8, 9])
        >>> model = ImplicitFactorization(n_factors=2, regularization=0.1, random_state=0)
        >>> model.fit(ratings).recommend(3, n=1).scores < 0.1
        array([ True])
        >>> model.partial_fit({3: {7: 1}, 4: {9: 1}}).recommend(3, n=1).ids
        array([8])
        """
        if not self.__sklearn_is_fitted__():
            given = isinstance(ratings, Mapping)
            return self.fit(Ratings.from_dict(ratings) if given else ratings)  # type: ignore[arg-type]
        from edgewise.recommend.updates import updated

        self.__dict__ = updated(self, self._more(ratings)).__dict__
        return self

    def _more(self, given: Any) -> Ratings:
        """Return ratings to add to those of training, within their scale."""
        more = given if isinstance(given, Ratings) else Ratings.from_dict(given)
        rates = self.predicts == "rating" and len(more) > 0
        if rates and not self.low_ <= more.low <= more.high <= self.high_:
            raise ValueError(
                f"ratings must be from {self.low_:g} to {self.high_:g}, as in training, got "
                f"{more.low:g} to {more.high:g}"
            )
        return more

    def report(
        self,
        ratings: Ratings,
        path: Any = None,
        *,
        names: Mapping[Any, str] | None = None,
        title: str | None = None,
    ) -> "Report":
        """Make a page that shows how good the model is on test ratings, and what it recommends.

        One HTML file that needs no network: errors, calibration, a map of the items, how often
        popular items are shown, the sessions and lists of a few users with reasons, and the
        ratings that it gets most wrong. Lists are measured for at
        most 1,000 users, and the page says so.

        Parameters
        ----------
        ratings : Ratings
            The test ratings, best those that training has not seen.
        path : str or path-like, default None
            Write the page here.
        names : mapping of ids to str, default None
            Names of the items; an item without one shows its id.
        title : str, default None
            The heading.

        Examples
        --------
        >>> from edgewise import BiasBaseline, Ratings
        >>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
        >>> report = BiasBaseline().fit(ratings).report(ratings)
        >>> report.section("errors").title
        'Errors'
        """
        from edgewise.recommend.evaluation.evaluator import Evaluator, recommender_metrics
        from edgewise.recommend.evaluation.exposure import exposure
        from edgewise.report import recommender_report, reported

        check_ratings("ratings", ratings)
        self._trained()

        def made() -> "Report":
            judged = Evaluator(self, ratings, "mean")
            few, n_users, users = judged, None, np.unique(ratings.users)
            if len(users) > _REPORT_USERS:
                n_users = _REPORT_USERS
                drawn = np.random.default_rng(0).choice(users, n_users, replace=False)
                few = Evaluator(self, ratings.take(np.isin(ratings.users, drawn)), "mean")
            errors = recommender_metrics(["rmse", "mae", "one_zero_best", "disagreement"], 10)
            values = judged.measured(errors, None)
            lists = ["ndcg", "precision", "recall", "hit_rate", "catalog_coverage"]
            values |= few.measured(recommender_metrics(lists, 10), None)
            spans = {name: (one.value, one.half_interval) for name, one in values.items()}
            there = few.user_places[np.unique(few.test.users)]
            there = there[self._known(there, None)]
            shares = None
            if len(there):
                shares = exposure(self, users=self.ratings_.user_ids.values[there])
            given = spans, judged.predictions, names, title, n_users, shares
            return recommender_report(self, ratings, *given)

        return reported(path, made)

    def __sklearn_is_fitted__(self) -> bool:
        return "ratings_" in vars(self)

    def _notebook_summary(self) -> str:
        from edgewise.report.notebook import recommender_summary

        return recommender_summary(self) if self.__sklearn_is_fitted__() else ""

    # Helpers for subclasses.

    def _trained(self) -> Ratings:
        """Return the training ratings, or raise if there are none yet."""
        ratings = vars(self).get("ratings_")
        if ratings is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit first.")
        return ratings

    def _rating_rows(self, side: str) -> Any:
        """Return the ratings as a sparse matrix with one row per user or item."""
        return self.ratings_.csr() if side == "users" else self.ratings_.csr().T.tocsr()

    def _seed(self) -> int:
        """Return a seed from ``random_state``."""
        return int(generator(getattr(self, "random_state", None)).integers(2**31))

    def _threads(self) -> int:
        """Return the number of threads that ``n_jobs`` means."""
        return n_threads(getattr(self, "n_jobs", None))

    def _progress(self, total: int, what: str) -> AbstractContextManager[Step]:
        """Return a context that gives a function to call after each step."""
        return progress(bool(getattr(self, "verbose", 0)), total, what)

    # Ids and unknown ids.

    def _catalog(self, side: str) -> tuple[Ids, Mask]:
        """Return the ids of users or items, and which of them the model knows."""
        ratings = self._trained()
        if side == "users":
            return ratings.user_ids, self.known_users_
        return ratings.item_ids, self.known_items_

    def _places(self, side: str, ids: Any) -> Indices:
        """Return the index of each user or item, -1 for ids that are not there."""
        return self._catalog(side)[0].find(side, ids)

    def _known(self, users: Indices | None, items: Indices | None) -> Mask:
        """Return which pairs are known on both sides; None leaves a side out."""
        masks = [
            (places >= 0) & known[places]
            for places, known in ((users, self.known_users_), (items, self.known_items_))
            if places is not None
        ]
        return np.logical_and.reduce(masks)

    def _require_known(self, side: str, ids: Any, places: Indices) -> None:
        """Raise if the model does not know some of the ids."""
        catalog, known = self._catalog(side)
        cold = ~((places >= 0) & known[places])
        if cold.any():
            lost = catalog.format_unknown(ids, np.where(cold, -1, 0))
            raise ValueError(
                f"{side} must be ids that training knows, got {lost}; unknown='mean' or 'nan' "
                "predicts for others too"
            )

    def _found(self, users: Any, items: Any, unknown: str) -> tuple[Indices, Indices, Mask]:
        """Return the indices of pairs and which are known, or raise if all must be."""
        one_of("unknown", unknown, UNKNOWN)
        user_places, item_places = self._places("users", users), self._places("items", items)
        sizes = {len(user_places), len(item_places)}
        if len(sizes - {1}) > 1:
            raise ValueError(
                f"items must be as long as users, {len(user_places)}, got {len(item_places)}"
            )
        if unknown == "raise":
            self._require_known("users", users, user_places)
            self._require_known("items", items, item_places)
        user_places, item_places = np.broadcast_arrays(user_places, item_places)
        return user_places, item_places, self._known(user_places, item_places)

    def _predicted(
        self, users: Any, items: Any, unknown: str, scorer: Scorer, clip: bool = True
    ) -> Any:
        """Return the scores of known pairs, and means or NaN for the others."""
        user_places, item_places, known = self._found(users, items, unknown)
        scores = np.full(len(known), np.nan)
        if known.any():
            scores[known] = scorer(user_places[known], item_places[known])
        if clip and self.predicts == "rating":
            np.clip(scores, self.low_, self.high_, out=scores)
        if unknown == "mean" and not known.all():
            scores[~known] = self._means(user_places[~known], item_places[~known])
        return float(scores[0]) if _is_one(users) and _is_one(items) else scores

    def _means(self, users: Indices, items: Indices) -> Reals:
        """Return the predictions for pairs with an unknown side."""
        if self.predicts == "score":
            return np.full(len(users), self._mean_score())
        known_user, known_item = self._known(users, None), self._known(None, items)
        means = np.full(len(users), self.mean_)
        means[known_user] += self._biases(self.ratings_.by_user)[users[known_user]]
        known_item &= ~known_user
        means[known_item] += self._biases(self.ratings_.by_item)[items[known_item]]
        return means

    def _biases(self, view: Grouped) -> Reals:
        """Return how far the mean rating of each row is from the overall mean, shrunken."""
        errors = view.values - self.mean_
        return damped_means(errors, view.row_numbers, view.weights, view.mass, _DAMPING)

    def _popularity(self) -> Reals:
        """Return the scores of items for an unknown user: means over all users.

        No rating counts as the lowest, so few good ratings make no popular item; in choices it
        counts as 0.
        """
        view = self.ratings_.by_item
        choices = self.low_ == self.high_
        lowest = 0.0 if choices else self.low_
        above = np.ones_like(view.values) if choices else view.values - lowest
        if view.weights is not None:
            above = above * view.weights
        sums = np.bincount(view.row_numbers, above, view.n_rows)
        return lowest + sums / np.count_nonzero(self.ratings_.by_user.sizes)

    def _mean_score(self) -> float:
        """Return the mean score of the pairs in training."""
        users, items = (side.astype(np.intp) for side in (self.ratings_.users, self.ratings_.items))
        known = self._known(users, items)
        return float(self._pair_scores(users[known], items[known]).mean())

    # Lists.

    def _best(self, places: Indices, n: int, filters: Filters, unknown: str) -> "Found":
        """Return the best items for users, scored in blocks of users."""
        known, left_out = self._known(places, None), np.flatnonzero(~filters.items)
        parts = [(lists, False) for lists in _blocks(np.flatnonzero(known), self.n_items_)]
        popular = np.zeros(0)
        if unknown == "mean" and not known.all():
            popular = self._popularity()
            parts += [(lists, True) for lists in _blocks(np.flatnonzero(~known), self.n_items_)]

        def run(part: tuple[Indices, bool]) -> "Found":
            lists, is_new = part
            users = places[lists]
            if filters.chosen is not None:
                rows, items = filters.pairs(lists, users)
                scores = popular[items] if is_new else self._pair_scores(users[rows], items)
            else:
                popularity = np.tile(popular, (len(users), 1)), None
                table, errors = popularity if is_new else self._near_scores(users)
                table[:, left_out] = -np.inf
                table[filters.left_out(lists, users)] = -np.inf
                rows, items = contenders(table, n, errors)
                near = table[rows, items].astype(np.float64)
                scores = near if errors is None else self._pair_scores(users[rows], items)
            rows, items, scores = ranked(rows, items, scores, n)
            return Found(lists[rows], items, scores)

        with Threads(self._threads() if self._serves_in_threads else 1) as pool:
            return Found.all_of(pool.map(run, parts))

    def _directions(self, side: str) -> Directions:
        """Return the vectors whose cosines are similarities, made ready once."""
        directions: Directions = self._once(side, lambda: Directions(self._vectors(side)))
        return directions

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what serving needs of the fitted model, made at the first request.

        It holds as long as the ratings are the same object: other ratings make another model.
        """
        ratings, kept = vars(self).get("_kept", (None, {}))
        if ratings is not self.ratings_:
            kept = {}
        if name not in kept:
            kept = {**kept, name: make()}
            self._kept = self.ratings_, kept
        return kept[name]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept"}

    def _similar(self, side: str, ids: Any, n: int) -> Any:
        integer("n", n, 1)
        catalog, known = self._catalog(side)
        places, left_out = catalog.find(side, ids), np.flatnonzero(~known)
        self._require_known(side, ids, places)

        def run(lists: Indices) -> "Found":
            ones = places[lists]
            table, errors = self._near_similarities(side, ones)
            table[:, left_out] = -np.inf
            table[np.arange(len(ones)), ones] = -np.inf
            rows, others = contenders(table, n, errors)
            near = table[rows, others].astype(np.float64)
            if errors is not None:
                near = self._directions(side).pairs(ones[rows], others)
            rows, others, near = ranked(rows, others, near, n)
            return Found(lists[rows], others, near)

        parts = list(_blocks(np.arange(len(places)), len(catalog)))
        return _as_lists(ids, as_ids(side, ids), Found.all_of(map(run, parts)), catalog)

    def _near_similarities(self, side: str, places: Indices) -> Near:
        """Return similarities to make lists of, as `_near_scores` does scores."""
        if type(self)._similarities is Recommender._similarities:
            return self._directions(side).near(places)
        return np.array(self._similarities(side, places)), None


class Found(NamedTuple):
    """Entries of lists: the number of the list, the place in the catalog, and the score.

    The entries of a list stand together, best first.
    """

    lists: Indices
    places: Indices
    scores: Reals

    @classmethod
    def all_of(cls, parts: Iterable["Found"]) -> Self:
        """Return entries together, in the order of the lists."""
        nothing = cls(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))
        lists, places, scores = map(np.concatenate, zip(nothing, *parts, strict=True))
        order = np.argsort(lists, kind="stable")
        return cls(lists[order], places[order], scores[order])


def _as_lists(given: Any, keys: NDArray, found: Found, catalog: Ids) -> Any:
    """Return the lists of `keys`; the only one if one id was given."""
    ends = np.searchsorted(found.lists, np.arange(len(keys)), side="right")
    lists = RecommendedLists(keys, catalog.values[found.places], found.scores, ends)
    return lists[0] if _is_one(given) else lists


def _blocks(places: Indices, width: int) -> Iterator[Indices]:
    size = max(1, _ENTRIES // max(1, width))
    return (places[start : start + size] for start in range(0, len(places), size))


def _is_one(ids: Any) -> bool:
    return isinstance(ids, (str, int, np.integer, np.str_))


def check_ratings(name: str, given: Any) -> None:
    """Raise unless these are Ratings, at least one."""
    if not isinstance(given, Ratings):
        advice = "make them with Ratings.from_frame, from_arrays, from_dict or the like"
        if isinstance(getattr(given, "ratings", None), Ratings):
            advice = "those of a data set are its .ratings"
        raise TypeError(f"{name} must be Ratings, got {type(given).__name__}: {advice}")
    if len(given) == 0:
        raise ValueError(f"{name} must hold at least one rating, got none")


def damped_means(
    errors: Reals, rows: NDArray, weights: Reals | None, mass: Reals, damping: float
) -> Reals:
    """Return the mean error of each row with `damping` errors of 0 added; 0 for an empty row."""
    sums = np.bincount(rows, errors if weights is None else errors * weights, len(mass))
    return np.divide(sums, mass + damping, out=np.zeros(len(mass)), where=mass > 0)


def centered(matrix: Any, mean: float) -> Any:
    """Return a sparse matrix less `mean`; as it is if all are equal, as in implicit feedback."""
    if len(matrix.data) == 0 or (matrix.data == matrix.data[0]).all():
        return matrix
    return sparse.csr_array((matrix.data - mean, matrix.indices, matrix.indptr), matrix.shape)
