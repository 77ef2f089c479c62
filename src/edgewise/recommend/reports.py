"""The results on the report page of a recommender, and the map of its items."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from edgewise.common.dtypes import Indices, Reals
from edgewise.ratings import Ratings
from edgewise.recommend.base import Recommender
from edgewise.recommend.evaluation.diagnostics import exposure
from edgewise.recommend.evaluation.evaluator import Evaluator, recommender_metrics
from edgewise.report import RecommenderResults, Report, build_report, recommender_report

# The maximum number of users whose lists are evaluated.
_MAX_USERS = 1000
_MAX_MAP_ITEMS = 120

_ERRORS = ("rmse", "mae", "one_zero_best", "disagreement")
_LIST_METRICS = ("ndcg", "precision", "recall", "hit_rate", "catalog_coverage")


def report_recommender(
    model: Recommender, test: Ratings, path: Any, names: Mapping[Any, str] | None, title: str | None
) -> Report:
    """Build the page of :meth:`Recommender.report`, and write it if there is a path."""

    def build() -> Report:
        evaluator = Evaluator(model, test, "mean")
        sample, n_users, users = evaluator, None, np.unique(test.users)
        if len(users) > _MAX_USERS:
            n_users = _MAX_USERS
            drawn = np.random.default_rng(0).choice(users, n_users, replace=False)
            sample = Evaluator(model, test.take(np.isin(test.users, drawn)), "mean")
        values = evaluator.measure(recommender_metrics(list(_ERRORS), 10), None)
        values |= sample.measure(recommender_metrics(list(_LIST_METRICS), 10), None)
        spans = {name: (value.value, value.half_interval) for name, value in values.items()}
        known = sample.trained_users[np.unique(sample.test.users)]
        known = known[model._are_known(known, None)]
        shares = positions = None
        if len(known):
            shares = exposure(model, users=model.ratings_.user_ids.values[known])
        # A model may have too few items for a map, or only equal ones.
        with suppress(ValueError):
            positions = map_items(model, _MAX_MAP_ITEMS)
        results = RecommenderResults(
            model, test, evaluator.predictions, spans, n_users, shares, positions, names or {}
        )
        return recommender_report(results, title)

    return build_report(path, build)


def map_items(model: Recommender, n: int) -> tuple[Indices, Reals, Reals]:
    """Return the `n` most rated items, their principal components, and the shares of the variance.

    Raises ValueError where a model has too few items for a map, or all are alike.
    """
    sizes = np.where(model.known_items_, model.ratings_.by_item.sizes, -1)
    items = np.argsort(-sizes, kind="stable")[:n]
    items = items[sizes[items] >= 0]
    if len(items) < 3:
        raise ValueError(f"estimator must know at least 3 items, got {len(items)}")
    vectors = model._vectors("items")[items]
    # There are few items, but a row of ratings may be long.
    products = vectors @ vectors.T
    products = np.asarray(products.todense() if hasattr(products, "todense") else products)
    centered = products - products.mean(axis=0)
    centered -= centered.mean(axis=1, keepdims=True)
    variances, directions = np.linalg.eigh((centered + centered.T) / 2.0)
    variances, directions = np.maximum(variances[::-1], 0.0), directions[:, ::-1]
    if variances[0] <= 1e-12 * max(float(np.abs(products).max()), 1e-300):
        raise ValueError("estimator must have items with different vectors")
    axes = directions[:, :2]
    farthest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    positions = axes * np.sqrt(variances[:2]) * np.where(farthest < 0, -1.0, 1.0)
    return items, positions, variances[:2] / variances.sum()
