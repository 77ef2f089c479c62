"""One fitted model on test ratings: the metrics by name, and their values."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import between, flag, integer, one_of
from edgewise.common.dtypes import Reals
from edgewise.io.frames import frame_library
from edgewise.metrics import METRICS, Lists, Metric, nearest_level
from edgewise.metrics.registry import get_metrics
from edgewise.metrics.significance import UnitSums
from edgewise.ratings import Ratings
from edgewise.recommend.base import UNKNOWN, Recommender
from edgewise.recommend.evaluation.catalog import MetricValue, list_values, mean_of
from edgewise.recommend.model import check_ratings

BEST, LEVEL = "_best", "_level"

RECOMMENDER_METRICS = {
    name: metric for name, metric in METRICS.items() if metric.kind != "classification"
}
"""The metrics that a name, without an "@k", can stand for."""

ORDER_METRICS = ("disagreement", "map_top", "prot", "precision_at_full_recall")
"""The metrics of the order of each user's test items; other ranking metrics are of lists."""

DEFAULT_METRICS = (
    *(name for name, metric in METRICS.items() if metric.kind == "ratings"),
    *ORDER_METRICS,
    *("ndcg", "precision", "recall", "hit_rate", "map", "mrr", "auc"),
    *(name for name, metric in METRICS.items() if metric.kind == "catalog"),
)
"""The metrics of ``evaluate`` by default: all except those that must rank every list completely."""


def recommender_metrics(metrics: Any, k: Any, argument: str = "metrics") -> tuple[Metric, ...]:
    """Return the metrics of these names, each once; `k` is the cutoff of names without one."""
    chosen = get_metrics(metrics, RECOMMENDER_METRICS, argument, integer("k", k, 1))
    for metric in chosen:
        if "rel=" in metric.name.replace(" ", ""):
            raise ValueError(f"{argument}: {metric.name!r} sets rel; set relevant instead")
    return tuple(chosen)


def output_variants(metric: Metric) -> tuple[Metric, ...]:
    """Return the metrics whose better value a "best" metric takes: of expectations and levels."""
    if not metric.base.endswith(BEST):
        return (metric,)
    stem = metric.base.removesuffix(BEST)
    return METRICS[stem], METRICS[stem + LEVEL]


@dataclass(frozen=True, eq=False, repr=False)
class UserValues:
    """The metrics of each user of a test: the result of ``evaluate(..., per_user=True)``.

    Attributes
    ----------
    users : array
        The ids of the users.
    values : dict of str to float array
        The values of each metric, one for each user; NaN where a user has none.

    Examples
    --------
    >>> from edgewise import BiasBaseline, Ratings
    >>> from edgewise.recommend import evaluate
    >>> train = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Heat": 4}})
    >>> test = Ratings.from_dict({"bob": {"Fargo": 5}, "ann": {"Up": 2}})
    >>> result = evaluate(BiasBaseline().fit(train), test, "hit_rate", k=1, per_user=True)
    >>> result.users, result.values["hit_rate@1"]
    (array(['ann', 'bob'], dtype='<U3'), array([nan,  1.]))
    """

    users: NDArray[Any]
    values: dict[str, Reals]
    results: dict[str, MetricValue]

    def __repr__(self) -> str:
        return f"UserValues({len(self.users)} users, {', '.join(self.values)})"

    def interval(self, metric: str) -> tuple[float, float, float]:
        """Return the value of a metric over all users, and its 95% interval."""
        result = self.results[one_of("metric", metric, tuple(self.values))]
        return (
            result.value,
            result.value - result.half_interval,
            result.value + result.half_interval,
        )

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame of `library`, "pandas" or "polars": "user", then each metric."""
        return frame_library(library).DataFrame({"user": self.users, **self.values})


def evaluate(
    model: Recommender,
    test: Ratings,
    metrics: Iterable[str] | str = DEFAULT_METRICS,
    k: int = 10,
    relevant: float | None = None,
    unknown: str = "mean",
    *,
    per_user: bool = False,
) -> Any:
    """Evaluate a fitted recommender on test ratings.

    - Errors on test pairs, if the model predicts ratings (NaN if it predicts scores): "rmse",
      "mae", "nmae" (relative to the error of random guesses, Marlin 2004) and "one_zero" (fraction
      of wrong levels). With "_level" they are of the predicted level, the nearest to the prediction
      or the model's own; with "_best", the smaller of both.
    - The order of each user's test items (Iyer 1999 section 5.2.4), where the user's highest rating
      is relevant: "disagreement", "map_top" (mean average precision), "prot" (reciprocal rank) and
      "precision_at_full_recall". Users with equal ratings are skipped.
    - Lists out of the whole catalog, without items that the user rated in training: "ndcg",
      "precision", "recall" and "hit_rate" (any relevant item on the list) at k, "map", "mrr" and
      "auc", or, ten times slower, any other metric of :func:`edgewise.metrics.ranking_metric`, such
      as "err". Relevant items unknown in training count as missed; users without relevant items are
      skipped; with ties, metrics are expectations.
    - Lists of k items beyond accuracy: "catalog_coverage", "novelty" (in bits) and "diversity";
      "average_popularity" and "gini", which are lower for lists that favor popular items less.

    Parameters
    ----------
    model : Recommender
        A fitted model.
    test : Ratings
        The test ratings. Their weights count in metrics of predicted ratings.
    metrics : str or sequence of str, default all that are named above except "err"
        The metrics; "ndcg@5" has another cutoff than `k`.
    k : int, default 10
        The cutoff of lists.
    relevant : float or None, default None
        The lowest relevant rating; None is the upper quarter of the scale, which is 4 for 1 to 5,
        and everything if all ratings are equal.
    unknown : {"mean", "nan", "raise"}, default "mean"
        For users and items unknown in training: predict damped means and recommend popular items,
        skip them, or raise.
    per_user : bool, default False
        Return the values of each user, except "catalog_coverage" and "gini", which have none.

    Returns
    -------
    dict of str to float, or UserValues
        The values by name, such as "ndcg@10"; NaN if a metric is undefined. With `per_user`, the
        values of each user as arrays or a frame, and intervals of their means.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> from edgewise.recommend import BiasBaseline, evaluate
    >>> train = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Heat": 4}})
    >>> test = Ratings.from_dict({"bob": {"Fargo": 4}})
    >>> result = evaluate(BiasBaseline().fit(train), test, ["rmse", "ndcg"], k=1, relevant=4)
    >>> list(result), result["ndcg@1"]
    (['rmse', 'ndcg@1'], 1.0)
    """
    chosen = recommender_metrics(metrics, k)
    min_relevant = check_relevant(relevant)
    evaluator = Evaluator(model, test, unknown)
    results = evaluator.measure(chosen, min_relevant)
    if not flag("per_user", per_user):
        return {name: result.value for name, result in results.items()}
    tested = np.unique(test.users)
    values = {name: result.sums.values[tested] for name, result in results.items() if result.sums}
    return UserValues(test.user_ids.values[tested], values, results)


def check_relevant(relevant: Any) -> float | None:
    """Return the lowest relevant rating, or raise."""
    return None if relevant is None else between("relevant", relevant, -np.inf, np.inf)


class Evaluator:
    """A fitted model and test ratings; predictions are made once for all metrics."""

    def __init__(self, model: Recommender, test: Ratings, unknown: str) -> None:
        if not isinstance(model, Recommender):
            raise TypeError(f"model must be a recommender, got {type(model).__name__}")
        check_ratings("test", test)
        self.model, self.test = model, test
        self.unknown = one_of("unknown", unknown, UNKNOWN)
        trained = model._fitted_ratings()
        # The indices in the training catalog, -1 for none, of the test's users and of its ratings.
        self.trained_users = trained.user_ids.find("users", test.user_ids.values)
        trained_items = trained.item_ids.find("items", test.item_ids.values)
        self.users, self.items = self.trained_users[test.users], trained_items[test.items]
        self.known = model._are_known(self.users, self.items)
        if unknown == "raise":
            users, items = self._ids
            model._check_known("users", users, self.users)
            model._check_known("items", items, self.items)

    def measure(self, metrics: Iterable[Metric], relevant: float | None) -> dict[str, MetricValue]:
        """Return the values of metrics by name, in their order, with their sums over users."""
        chosen = list(metrics)
        results: dict[str, MetricValue] = {}
        for metric in chosen:
            if metric.kind == "ratings":
                results[metric.name] = self._rating_error(metric)
            elif metric.base in ORDER_METRICS:
                results[metric.name] = self._order_value(metric)
        list_metrics = [metric for metric in chosen if metric.name not in results]
        if list_metrics:
            if relevant is None:
                # The upper quarter of the scale.
                low = min(self.model.low_, self.test.low)
                high = max(self.model.high_, self.test.high)
                relevant = high - (high - low) / 4.0
            results |= list_values(self, list_metrics, relevant)
        return {metric.name: results[metric.name] for metric in chosen}

    @property
    def _ids(self) -> tuple[NDArray[Any], NDArray[Any]]:
        test = self.test
        return test.user_ids.values[test.users], test.item_ids.values[test.items]

    @cached_property
    def is_included(self) -> NDArray[np.bool_]:
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
        rounded[self.is_included] = nearest_level(guess[self.is_included], self.levels)
        return rounded

    @cached_property
    def scores(self) -> Reals:
        """The scores that order items: predictions before they are clipped to the scale."""
        model = self.model
        if model.predicts == "score":
            return self.predictions
        scores = model._predict_pairs(*self._ids, self.unknown, model._pair_scores, clip=False)
        return np.asarray(scores)

    def _rating_error(self, metric: Metric) -> MetricValue:
        """Return an error of predicted ratings or levels; NaN without any."""
        if metric.base.endswith(BEST):
            variants = [self._rating_error(variant) for variant in output_variants(metric)]
            return min(variants, key=lambda result: np.nan_to_num(result.value, nan=np.inf))
        stem = metric.base.removesuffix(LEVEL)
        is_level, is_scaled = stem != metric.base, stem in ("nmae", "one_zero")
        has_ratings = self.model.predicts == "rating" and self.is_included.any()
        if not has_ratings or ((is_level or is_scaled) and len(self.levels) < 2):
            return MetricValue(np.nan, UnitSums.of(np.full(self.test.n_users, np.nan)))
        guess = (self.predicted_levels if is_level else self.predictions)[self.is_included]
        truth, weights = self.test.values[self.is_included], self.test.weights
        options: dict[str, Any] = {"levels": self.levels} if is_scaled else {}
        if weights is not None:
            options["sample_weight"] = weights = weights[self.is_included]
        value = float(metric.function(truth, guess, **options))
        losses = np.abs(guess - truth)
        if stem == "rmse":
            losses *= losses
        elif stem == "one_zero":
            losses = (nearest_level(guess, self.levels) != truth).astype(np.float64)
        elif stem == "nmae":
            unit = float(np.average(losses, weights=weights))
            losses *= value / unit if unit > 0 else 1.0
        users, n_users = self.test.users[self.is_included], self.test.n_users
        sums = np.bincount(users, losses if weights is None else losses * weights, n_users)
        masses = np.bincount(users, weights, n_users)
        by_user = UnitSums(sums.astype(np.float64), masses.astype(np.float64), stem == "rmse")
        return MetricValue(value, by_user)

    @cached_property
    def _test_lists(self) -> Lists:
        return Lists(self.test.values[self.is_included], self.test.users[self.is_included])

    def _order_value(self, metric: Metric) -> MetricValue:
        """Return a metric of the order of each user's test items; NaN if it is undefined."""
        values = np.full(self.test.n_users, np.nan)
        if self.is_included.any():
            lists, scores = self._test_lists, self.scores[self.is_included]
            values[lists.queries] = metric.function(lists, scores, empty="skip", per_query=True)
        return mean_of(values)
