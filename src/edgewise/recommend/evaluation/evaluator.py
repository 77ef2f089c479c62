"""One fitted model on test ratings: the metrics by name, and their values."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Reals
from edgewise.metrics import RANKING_METRICS, Lists, mean_average_precision
from edgewise.metrics import ratings as errors
from edgewise.ratings import Ratings
from edgewise.recommend.base import UNKNOWN, Recommender, check_ratings
from edgewise.recommend.evaluation.catalogue import defined_mean, list_values

_ORDER_METRICS: dict[str, Callable[..., Any]] = {
    **{name: RANKING_METRICS[name].function for name in ("disagreement", "prot", "coverage")},
    "ap": partial(mean_average_precision, relevant="top"),
}

BEST, LEVEL = "_best", "_level"


@dataclass(frozen=True)
class RecommenderMetric:
    """A metric by name: what it evaluates, its direction, and its cut-off if it takes one.

    `evaluates` is "ratings" (predictions of test pairs), "order" (of each user's test items) or
    "lists" (recommended out of the whole catalogue).
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
    **_metrics("lists", "ndcg", "precision", "recall", cut=True),
    **_metrics("lists", "map", "auc"),
    **_metrics("lists", "catalogue_coverage", "novelty", "diversity", cut=True),
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


def evaluate(
    model: Recommender,
    test: Ratings,
    metrics: Iterable[str] | str = DEFAULT_METRICS,
    k: int = 10,
    relevant: float | None = None,
    unknown: str = "mean",
) -> dict[str, float]:
    """Evaluate a fitted recommender on test ratings.

    - Test pairs, if the model predicts ratings (NaN if it only scores): "rmse", "mae", "nmae" (over
      the error of blind guesses), "one_zero" (share of wrong levels). With "_level" they are of the
      predicted level, the nearest to the prediction or the model's own; with "_best" the smaller.
    - The order of each user's test items (Iyer 1999 section 5.2.4), where the user's highest rating
      is good: "disagreement", "ap", "prot", "coverage". Users with equal ratings are skipped.
    - Lists out of the whole catalogue, without items that the user rated in training: "ndcg",
      "precision", "recall" at k, "map" and "auc", or any metric of TREC runs, such as "mrr", in ten
      times the time. Relevant items that training does not know count as missed; users without
      relevant items are skipped; ties count by their expectation. Also "catalogue_coverage",
      "novelty" and "diversity" of the lists of k items.

    Parameters
    ----------
    model : Recommender
        A fitted model.
    test : Ratings
        The test ratings. Their weights count in metrics of predicted ratings.
    metrics : str or sequence of str, default all but "mrr"
        Names from above; "ndcg@5" has another cut-off than `k`.
    k : int, default 10
        The cut-off of lists.
    relevant : float or None, default None
        The lowest relevant rating; None is the upper quarter of the scale, which is 4 for 1 to 5,
        and everything if all ratings are equal.
    unknown : {"mean", "nan", "raise"}, default "mean"
        For users and items that training does not know: predict shrunken means and list what is
        popular, skip them, or raise.

    Returns
    -------
    dict of str to float
        The values by name, such as "ndcg@10"; NaN if a metric is undefined.

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
    return Evaluator(model, test, unknown).values(chosen, least)


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
        # Where the users and items of the test catalogue are in the training catalogue.
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
        chosen = list(metrics)
        found: dict[str, float] = {}
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

    def _rating_error(self, metric: RecommenderMetric) -> float:
        """Return an error of predicted ratings or levels; NaN if there are none."""
        if len(metric.choices) > 1:
            return float(np.fmin.reduce([self._rating_error(one) for one in metric.choices]))
        stem = metric.base.removesuffix(LEVEL)
        by_level = stem != metric.base
        if self.model.predicts != "rating" or not self.included.any():
            return float("nan")
        if (by_level or stem in ("nmae", "one_zero")) and len(self.levels) < 2:
            return float("nan")
        guess = (self.predicted_levels if by_level else self.predictions)[self.included]
        truth, weights = self.test.values[self.included], self.test.weights
        weights = None if weights is None else weights[self.included]
        if stem in ("rmse", "mae"):
            simple = errors.rmse if stem == "rmse" else errors.mae
            return simple(truth, guess, sample_weight=weights)
        error = errors.nmae if stem == "nmae" else errors.one_zero_error
        return error(truth, guess, levels=self.levels, sample_weight=weights)

    @cached_property
    def _test_lists(self) -> Lists:
        return Lists(self.test.values[self.included], self.test.users[self.included])

    def _order_value(self, name: str) -> float:
        """Return a metric of the order of each user's test items; NaN if it is undefined."""
        if not self.included.any():
            return float("nan")
        scores = self.scores[self.included]
        values = _ORDER_METRICS[name](self._test_lists, scores, empty="skip", per_query=True)
        return defined_mean(values)
