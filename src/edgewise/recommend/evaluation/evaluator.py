"""One fitted model on test ratings: the metrics by name, and their values."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import flag, integer, one_of
from edgewise.common.dtypes import Reals
from edgewise.metrics import RANKING_METRICS, Lists, mean_average_precision
from edgewise.metrics import ratings as errors
from edgewise.ratings import Ratings
from edgewise.recommend.base import UNKNOWN, Recommender, check_ratings
from edgewise.recommend.evaluation.catalog import list_values, mean_of
from edgewise.recommend.evaluation.users import Measured, UserSums, UserValues

_ORDER_METRICS: dict[str, Callable[..., Any]] = {
    **{name: RANKING_METRICS[name].function for name in ("disagreement", "prot", "coverage")},
    "ap": partial(mean_average_precision, relevant="top"),
}

BEST, LEVEL = "_best", "_level"


@dataclass(frozen=True)
class RecommenderMetric:
    """A metric by name: what it evaluates, its direction, and its cut-off if it takes one.

    `evaluates` is "ratings" (predictions of test pairs), "order" (of each user's test items) or
    "lists" (recommended out of the whole catalog).
    """

    base: str
    evaluates: str
    larger_is_better: bool = True
    cut: bool = False
    k: int | None = None

    @property
    def name(self) -> str:
        """The name in results, with "@k" if there is a cut-off."""
        return self.base if self.k is None else f"{self.base}@{self.k}"

    @property
    def choices(self) -> tuple["RecommenderMetric", ...]:
        """The metrics that a "best" one takes the better of: of the expectation and the level."""
        if not self.base.endswith(BEST):
            return (self,)
        stem = self.base.removesuffix(BEST)
        return METRICS[stem], METRICS[stem + LEVEL]


def _metrics(evaluates: str, *names: str, **settings: bool) -> dict[str, RecommenderMetric]:
    return {name: RecommenderMetric(name, evaluates, **settings) for name in names}


METRICS: dict[str, RecommenderMetric] = {
    **_metrics("ratings", "rmse", larger_is_better=False),
    **_metrics("ratings", "mae", "mae_level", "mae_best", larger_is_better=False),
    **_metrics("ratings", "nmae", "nmae_level", "nmae_best", larger_is_better=False),
    **_metrics("ratings", "one_zero", "one_zero_level", "one_zero_best", larger_is_better=False),
    **_metrics("order", "disagreement", larger_is_better=False),
    **_metrics("order", "ap", "prot", "coverage"),
    **_metrics("lists", "ndcg", "precision", "recall", "hit_rate", cut=True),
    **_metrics("lists", "map", "mrr", "auc"),
    **_metrics("lists", "catalog_coverage", "novelty", "diversity", cut=True),
    **_metrics("lists", "average_popularity", "gini", cut=True, larger_is_better=False),
}
DEFAULT_METRICS = tuple(METRICS)
"""The metrics of ``evaluate`` by default: all but those that rank every list as a whole."""

METRICS |= {
    name: RecommenderMetric(name, "lists", metric.larger_is_better, metric.cutoff == "required")
    for name, metric in RANKING_METRICS.items()
    if metric.for_runs and name not in METRICS
}
"""All metrics by name; names with a cut-off may end in "@k"."""


def metrics_named(metrics: Any, k: Any, argument: str = "metrics") -> tuple[RecommenderMetric, ...]:
    """Return the metrics of these names, each once; `argument` is what errors call them."""
    integer("k", k, 1)
    names = [metrics] if isinstance(metrics, str) else metrics
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be names of metrics, got {metrics!r}")
    found = dict.fromkeys(_named(name, int(k), argument) for name in names)
    if not found:
        raise ValueError(f"{argument} must name at least one metric, got none")
    return tuple(found)


def _named(name: Any, k: int, argument: str) -> RecommenderMetric:
    base, at, cut = name.partition("@") if isinstance(name, str) else ("", "", "")
    metric = METRICS.get(base)
    if metric is not None and not at:
        return replace(metric, k=k if metric.cut else None)
    if metric is not None and metric.cut and cut.isascii() and cut.isdigit() and int(cut) > 0:
        return replace(metric, k=int(cut))
    listed = ", ".join(one.base + ("[@k]" if one.cut else "") for one in METRICS.values())
    raise ValueError(f"{argument} must be among {listed}, got {name!r}")


@overload
def evaluate(
    model: Recommender,
    test: Ratings,
    metrics: Iterable[str] | str = ...,
    k: int = ...,
    relevant: float | None = ...,
    unknown: str = ...,
    *,
    per_user: Literal[False] = ...,
) -> dict[str, float]: ...


@overload
def evaluate(
    model: Recommender,
    test: Ratings,
    metrics: Iterable[str] | str = ...,
    k: int = ...,
    relevant: float | None = ...,
    unknown: str = ...,
    *,
    per_user: Literal[True],
) -> UserValues: ...


def evaluate(
    model: Recommender,
    test: Ratings,
    metrics: Iterable[str] | str = DEFAULT_METRICS,
    k: int = 10,
    relevant: float | None = None,
    unknown: str = "mean",
    *,
    per_user: bool = False,
) -> dict[str, float] | UserValues:
    """Evaluate a fitted recommender on test ratings.

    - Test pairs, if the model predicts ratings (NaN if it only scores): "rmse", "mae", "nmae" (over
      the error of blind guesses, as Marlin 2004 has it, and not over the range of the ratings),
      "one_zero" (share of wrong levels). With "_level" they are of the predicted level, the nearest
      to the prediction or the model's own; with "_best" the smaller.
    - The order of each user's test items (Iyer 1999 section 5.2.4), where the user's highest rating
      is good: "disagreement", "ap", "prot", "coverage". Users with equal ratings are skipped.
    - Lists out of the whole catalog, without items that the user rated in training: "ndcg",
      "precision", "recall" and "hit_rate" (any relevant item on the list) at k, "map", "mrr" and
      "auc", or any metric of TREC runs, such as "err", in ten times the time. Relevant items that
      training does not know count as missed; users without relevant items are skipped; ties count
      by their expectation.
    - Lists of k items beyond accuracy: "catalog_coverage", "novelty" (in bits) and "diversity";
      "average_popularity" and "gini", which are lower for lists that favor popular items less.

    Parameters
    ----------
    model : Recommender
        A fitted model.
    test : Ratings
        The test ratings. Their weights count in metrics of predicted ratings.
    metrics : str or sequence of str, default all that need no whole lists
        Names from above; "ndcg@5" has another cut-off than `k`.
    k : int, default 10
        The cut-off of lists.
    relevant : float or None, default None
        The lowest relevant rating; None is the upper quarter of the scale, which is 4 for 1 to 5,
        and everything if all ratings are equal.
    unknown : {"mean", "nan", "raise"}, default "mean"
        For users and items that training does not know: predict shrunken means and list what is
        popular, skip them, or raise.
    per_user : bool, default False
        Return the values of each user. "catalog_coverage" and "gini", which are of all lists
        together, are left out.

    Returns
    -------
    dict of str to float, or UserValues
        The values by name, such as "ndcg@10"; NaN if a metric is undefined. With `per_user`, those
        of each user as arrays or a frame, and intervals of their means.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline, evaluate
    >>> train = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Heat": 4}})
    >>> test = Ratings.from_dict({"bob": {"Fargo": 4}})
    >>> found = evaluate(BiasBaseline().fit(train), test, ["rmse", "ndcg"], k=1, relevant=4)
    >>> list(found), found["ndcg@1"]
    (['rmse', 'ndcg@1'], 1.0)
    """
    chosen = metrics_named(metrics, k)
    least = check_relevant(relevant)
    flag("per_user", per_user)
    evaluator = Evaluator(model, test, unknown)
    return evaluator.user_values(chosen, least) if per_user else evaluator.values(chosen, least)


def check_relevant(relevant: Any) -> float | None:
    """Return the lowest relevant rating, or raise."""
    if relevant is None:
        return None
    if isinstance(relevant, bool) or not isinstance(relevant, Real) or np.isnan(float(relevant)):
        raise ValueError(f"relevant must be None or a rating, got {relevant!r}")
    return float(relevant)


class Evaluator:
    """A fitted model and test ratings; predictions are made once for all metrics."""

    def __init__(self, model: Recommender, test: Ratings, unknown: str) -> None:
        if not isinstance(model, Recommender):
            raise TypeError(f"model must be a recommender, got {type(model).__name__}")
        check_ratings("test", test)
        self.model, self.test = model, test
        self.unknown = one_of("unknown", unknown, UNKNOWN)
        trained = model._trained()
        # Where the users and items of the test catalog are in the training catalog.
        self.user_places = trained.user_ids.find("users", test.user_ids.values)
        item_places = trained.item_ids.find("items", test.item_ids.values)
        self.users, self.items = self.user_places[test.users], item_places[test.items]
        self.known = model._known(self.users, self.items)
        if unknown == "raise":
            users, items = self._ids
            model._require_known("users", users, self.users)
            model._require_known("items", items, self.items)

    def values(
        self, metrics: Iterable[RecommenderMetric], relevant: float | None
    ) -> dict[str, float]:
        """Return the values of metrics by name, in their order."""
        return {name: one.value for name, one in self.measured(metrics, relevant).items()}

    def user_values(
        self, metrics: Iterable[RecommenderMetric], relevant: float | None
    ) -> UserValues:
        """Return the values of metrics for each user with a test rating."""
        measured = self.measured(metrics, relevant)
        tested = np.unique(self.test.users)
        sums = {name: one.users for name, one in measured.items() if one.users is not None}
        values = {name: one.values[tested] for name, one in sums.items()}
        return UserValues(self.test.user_ids.values[tested], values, measured)

    def measured(
        self, metrics: Iterable[RecommenderMetric], relevant: float | None
    ) -> dict[str, Measured]:
        """Return the values of metrics by name, in their order, with their sums over users."""
        chosen = list(metrics)
        found: dict[str, Measured] = {}
        for one in chosen:
            if one.evaluates == "ratings":
                found[one.name] = self._rating_error(one)
            elif one.evaluates == "order":
                found[one.name] = self._order_value(one.base)
        lists = [one for one in chosen if one.evaluates == "lists"]
        if lists:
            if relevant is None:
                # The upper quarter of the scale.
                low = min(self.model.low_, self.test.low)
                high = max(self.model.high_, self.test.high)
                relevant = high - (high - low) / 4.0
            found |= list_values(self, lists, relevant)
        return {one.name: found[one.name] for one in chosen}

    @property
    def _ids(self) -> tuple[NDArray[Any], NDArray[Any]]:
        test = self.test
        return test.user_ids.values[test.users], test.item_ids.values[test.items]

    @cached_property
    def included(self) -> NDArray[np.bool_]:
        """Which test ratings count."""
        return self.known if self.unknown == "nan" else np.ones(len(self.test), dtype=bool)

    @cached_property
    def predictions(self) -> Reals:
        """The predictions for all test ratings."""
        return np.asarray(self.model.predict(*self._ids, unknown=self.unknown))

    @cached_property
    def levels(self) -> Reals:
        """The distinct ratings in training or in the test."""
        return np.union1d(self.model.ratings_.levels, self.test.levels)

    @cached_property
    def predicted_levels(self) -> Reals:
        """The predicted levels: the model's own, or the nearest to its predictions."""
        guess = self.predictions
        if self.model.predicts_levels:
            predict: Any = self.model.predict
            guess = np.asarray(predict(*self._ids, unknown=self.unknown, output="level"))
        rounded = np.full(len(guess), np.nan)
        rounded[self.included] = errors.nearest_level(guess[self.included], self.levels)
        return rounded

    @cached_property
    def scores(self) -> Reals:
        """The scores that order items: predictions before they are clipped to the scale."""
        model = self.model
        if model.predicts == "score":
            return self.predictions
        found = model._predicted(*self._ids, self.unknown, model._pair_scores, clip=False)
        return np.asarray(found)

    def _rating_error(self, metric: RecommenderMetric) -> Measured:
        """Return an error of predicted ratings or levels; NaN if there are none."""
        if len(metric.choices) > 1:
            both = [self._rating_error(one) for one in metric.choices]
            return min(both, key=lambda one: np.inf if np.isnan(one.value) else one.value)
        stem = metric.base.removesuffix(LEVEL)
        by_level = stem != metric.base
        none = UserSums.of(np.full(self.test.n_users, np.nan))
        if self.model.predicts != "rating" or not self.included.any():
            return Measured(float("nan"), none)
        if (by_level or stem in ("nmae", "one_zero")) and len(self.levels) < 2:
            return Measured(float("nan"), none)
        guess = (self.predicted_levels if by_level else self.predictions)[self.included]
        truth, weights = self.test.values[self.included], self.test.weights
        weights = None if weights is None else weights[self.included]
        losses = np.abs(guess - truth)
        if stem == "rmse":
            value = errors.rmse(truth, guess, sample_weight=weights)
            losses *= losses
        elif stem == "mae":
            value = errors.mae(truth, guess, sample_weight=weights)
        elif stem == "nmae":
            value = errors.nmae(truth, guess, levels=self.levels, sample_weight=weights)
            unit = float(np.average(losses, weights=weights))
            losses *= value / unit if unit > 0 else 1.0
        else:
            value = errors.one_zero_error(truth, guess, levels=self.levels, sample_weight=weights)
            losses = (errors.nearest_level(guess, self.levels) != truth).astype(np.float64)
        users, n_users = self.test.users[self.included], self.test.n_users
        sums = np.bincount(users, losses if weights is None else losses * weights, n_users)
        masses = np.bincount(users, weights, n_users)
        by_user = UserSums(sums.astype(np.float64), masses.astype(np.float64), stem == "rmse")
        return Measured(value, by_user)

    @cached_property
    def _test_lists(self) -> Lists:
        return Lists(self.test.values[self.included], self.test.users[self.included])

    def _order_value(self, name: str) -> Measured:
        """Return a metric of the order of each user's test items; NaN if it is undefined."""
        values = np.full(self.test.n_users, np.nan)
        if self.included.any():
            lists, scores = self._test_lists, self.scores[self.included]
            metric = _ORDER_METRICS[name]
            values[lists.queries] = metric(lists, scores, empty="skip", per_query=True)
        return mean_of(values)
