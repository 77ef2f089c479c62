"""The base class of all recommenders: predictions, lists, new ratings and pages."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from edgewise.common.checks import flag, integer, one_of
from edgewise.common.dtypes import Indices, Mask, Reals
from edgewise.common.ids import as_ids
from edgewise.common.text import quote_names
from edgewise.model.explain import Contribution, PairExplanation
from edgewise.ratings import Ratings
from edgewise.recommend.lists import (
    ListFilters,
    find_most_similar,
    find_top_items,
    is_single_id,
    matching_items,
    per_user_items,
)
from edgewise.recommend.model import RatingModel, check_ratings
from edgewise.recommend.updates import add_ratings, update_model

if TYPE_CHECKING:
    from edgewise.report import Report

UNKNOWN = ("raise", "mean", "nan")

Scorer = Callable[[Indices, Indices], Reals]


class Recommender(RatingModel):
    """Base of all recommenders; derive from it to write your own.

    A subclass declares its parameters as a dataclass, or stores them in ``__init__``, and writes
    ``_fit(ratings)`` and ``_pair_scores(users, items)``, which work on indices; it may override
    other methods of :class:`~edgewise.recommend.model.RatingModel`. Fitted attributes end in an
    underscore and are arrays, numbers, strings or None, so that files can hold them; ``stored``
    declares the shapes of arrays, such as "users k".

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
        The users and items that the model can score.
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

    def predict(self, users: Any, items: Any, unknown: str = "raise") -> Any:
        """Predict the rating (or score) of each pair of a user and an item.

        Parameters
        ----------
        users, items : array-like of ids, or one id
            The pairs; a single id is paired with every id of the other side.
        unknown : {"raise", "mean", "nan"}, default "raise"
            For unknown users and items: raise a ValueError, predict the mean rating of the known
            user or item, damped toward the overall mean by three ratings (for scores, their mean in
            training), or NaN.

        Returns
        -------
        float64 array
            Clipped to the scale of the ratings if the model predicts ratings. A number for one user
            and one item.
        """
        return self._predict_pairs(users, items, unknown, self._pair_scores)

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
        """Return the best items for users; a list does not depend on the other users.

        Parameters
        ----------
        users : array-like of ids, one id, or None
            The users; None for all known ones.
        n : int, default 10
            Length of the lists. A list is shorter if there are fewer items left.
        exclude_seen : bool, default True
            Whether to leave out items that the user has rated.
        items : array-like of ids, mapping of users to ids, or None, default None
            The items to choose from, for all users or for each; None for all items.
        unknown : {"raise", "mean", "nan"}, default "raise"
            For unknown users: raise an error, recommend popular items, or return an empty list.
            Popular is the best mean rating over all users, with the lowest rating for missing
            ones; in implicit feedback, the largest fraction of users.
        exclude : array-like of ids, mapping of users to ids, or None, default None
            Items to leave out, for all users or for each.
        where : mapping of str to values, default None
            Features of the items and their values, one or several: other items are left out.
        min_support : int, default 0
            The minimum number of training ratings of an item.

        Returns
        -------
        RecommendedLists
            One list per user; a single :class:`RecommendedList` for one id.
        """
        integer("n", n, 1)
        flag("exclude_seen", exclude_seen)
        one_of("unknown", unknown, UNKNOWN)
        ratings = self._fitted_ratings()
        if users is None:
            users = ratings.user_ids.values[self.known_users_]
        indices = ratings.user_ids.find("users", users)
        if unknown == "raise":
            self._check_known("users", users, indices)
        keys, ids = as_ids("users", users), ratings.item_ids
        allowed, candidates, excluded = self.known_items_.copy(), None, None
        if isinstance(items, Mapping):
            candidates = per_user_items("items", items, keys.tolist(), ids, required=True)
        elif items is not None:
            allowed &= np.isin(np.arange(len(ids)), ids.require("items", items))
        if isinstance(exclude, Mapping):
            excluded = per_user_items("exclude", exclude, keys.tolist(), ids, required=False)
        elif exclude is not None:
            allowed &= ~np.isin(np.arange(len(ids)), ids.find("exclude", exclude))
        if where is not None:
            allowed &= matching_items(where, ratings.item_features, len(ids))
        if integer("min_support", min_support, 0):
            allowed &= ratings.by_item.sizes >= min_support
        seen = ratings.by_user if exclude_seen else None
        filters = ListFilters(allowed, seen, candidates, excluded)
        return find_top_items(self, indices, n, filters, unknown).to_lists(users, keys, ids)

    def similar_items(self, items: Any, n: int = 10) -> Any:
        """Return the `n` items most similar to each item (or to one), never the item itself."""
        return self._most_similar("items", items, n)

    def similar_users(self, users: Any, n: int = 10) -> Any:
        """Return the `n` users most similar to each user (or to one), never the user itself."""
        return self._most_similar("users", users, n)

    def _most_similar(self, side: str, ids: Any, n: int) -> Any:
        integer("n", n, 1)
        entries = find_most_similar(self, side, self._known_indices(side, ids), n)
        return entries.to_lists(ids, as_ids(side, ids), self._catalog(side)[0])

    def fold_in(self, ratings: Ratings | Mapping[Any, Mapping[Any, float]]) -> Self:
        """Return a model that also knows new users, learned from their ratings without a new fit.

        Parameters
        ----------
        ratings : Ratings, or mapping of users to mappings of items to ratings
            Ratings by new users of known items.
        """
        trained = self._fitted_ratings()
        both = trained.with_users(self._check_new_ratings(ratings))
        unknown = np.setdiff1d(both.items[len(trained) :], np.flatnonzero(self.known_items_))
        if len(unknown):
            listed = quote_names(trained.item_ids.values[unknown].tolist(), 3)
            raise ValueError(f"unknown items: {listed}; they have no ratings in training")
        model = copy(self)
        model.ratings_ = both
        users = np.arange(trained.n_users, both.n_users)
        model.known_users_ = np.concatenate([self.known_users_, self._knows_users(both)[users]])
        model._fold_in(both, users)
        return model

    def partial_fit(self, ratings: Ratings | Mapping[Any, Mapping[Any, float]]) -> Self:
        """Learn from more ratings without a new fit, and return the model.

        Users with new ratings are learned again from all their ratings, as in :meth:`fold_in`; the
        items of the fit stay as they are, so fit again from time to time. New items are then
        learned from their ratings by neighborhoods and models with factors for users and items
        (``adds_items``); other models raise an error. The result depends on the fit and on the
        ratings since, not on the number of calls, except for the neighbors of users. Fast models
        (``refits_on_update``: baselines, and models that train each user on first use) fit again on
        all ratings.

        Parameters
        ----------
        ratings : Ratings, or mapping of users to mappings of items to ratings
            New ratings; a new rating of a rated pair replaces the old one. A model that is not
            fitted yet is fitted on them.

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
            is_dict = isinstance(ratings, Mapping)
            return self.fit(Ratings.from_dict(ratings) if is_dict else ratings)  # type: ignore[arg-type]
        both, users = add_ratings(self.ratings_, self._check_new_ratings(ratings))
        self.__dict__ = self._update(both, users).__dict__
        return self

    def _update(self, ratings: Ratings, users: Indices) -> "Recommender":
        """Return a model of more ratings, among them new ones of these users."""
        return update_model(self, ratings, users)

    def _check_new_ratings(self, ratings: Any) -> Ratings:
        """Return ratings to add to the training ratings, or raise if they leave the scale."""
        more = ratings if isinstance(ratings, Ratings) else Ratings.from_dict(ratings)
        has_scale = self.predicts == "rating" and len(more) > 0
        if has_scale and not self.low_ <= more.low <= more.high <= self.high_:
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

        One HTML file that needs no network: errors, calibration, a map of the items, exposure of
        popular items, the sessions and lists of a few users with reasons, and the ratings with the
        largest errors. Lists are evaluated for at most 1,000 users.

        Parameters
        ----------
        ratings : Ratings
            The test ratings, preferably not seen in training.
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
        # Evaluation is built on recommenders, and loads on first use.
        from edgewise.recommend.evaluation.diagnostics import report_recommender

        check_ratings("ratings", ratings)
        self._fitted_ratings()
        return report_recommender(self, ratings, path, names, title)

    def _notebook_summary(self) -> str:
        from edgewise.report.notebook import recommender_summary

        return recommender_summary(self) if self.__sklearn_is_fitted__() else ""

    def _find_pairs(self, users: Any, items: Any, unknown: str) -> tuple[Indices, Indices, Mask]:
        """Return the indices of pairs and which are known, or raise if all must be."""
        one_of("unknown", unknown, UNKNOWN)
        user_indices = self._catalog("users")[0].find("users", users)
        item_indices = self._catalog("items")[0].find("items", items)
        sizes = {len(user_indices), len(item_indices)}
        if len(sizes - {1}) > 1:
            raise ValueError(
                f"items must be as long as users, {len(user_indices)}, got {len(item_indices)}"
            )
        if unknown == "raise":
            self._check_known("users", users, user_indices)
            self._check_known("items", items, item_indices)
        user_indices, item_indices = np.broadcast_arrays(user_indices, item_indices)
        return user_indices, item_indices, self._are_known(user_indices, item_indices)

    def _predict_pairs(
        self, users: Any, items: Any, unknown: str, scorer: Scorer, clip: bool = True
    ) -> Any:
        """Return the scores of known pairs, and means or NaN for the others."""
        user_indices, item_indices, known = self._find_pairs(users, items, unknown)
        scores = np.full(len(known), np.nan)
        if known.any():
            scores[known] = scorer(user_indices[known], item_indices[known])
        if clip and self.predicts == "rating":
            np.clip(scores, self.low_, self.high_, out=scores)
        if unknown == "mean" and not known.all():
            scores[~known] = self._mean_scores(user_indices[~known], item_indices[~known])
        return float(scores[0]) if is_single_id(users) and is_single_id(items) else scores


class ExplainedRecommender(Recommender):
    """Base of recommenders whose scores are sums of contributions."""

    def explain(self, user: Any, item: Any, n: int = 10) -> PairExplanation:
        """Explain the score of an item for a user by the contributions that add up to it.

        Parameters
        ----------
        user, item : id
            A known user and a known item.
        n : int, default 10
            The number of contributions that ``str()`` and ``plot()`` show, the largest first.
        """
        integer("n", n, 1)
        self._fitted_ratings()
        indices = self._known_indices("users", [user])[0], self._known_indices("items", [item])[0]
        score, contributions = self._explain_score(int(indices[0]), int(indices[1]))
        contributions.sort(key=lambda contribution: -abs(contribution.amount))
        return PairExplanation(user, item, score, tuple(contributions), n)

    @abstractmethod
    def _explain_score(self, user: int, item: int) -> tuple[float, list[Contribution]]:
        """Return the score of a pair of indices and its contributions, in any order."""
