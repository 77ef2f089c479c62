"""The numbers for a recommender's page."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgewise.ratings import Ratings
from edgewise.recommend.base import Recommender
from edgewise.recommend.evaluation.evaluator import Evaluator, recommender_metrics
from edgewise.recommend.evaluation.exposure import exposure
from edgewise.report import Report, recommender_report, reported

# The maximum number of users whose lists are evaluated.
_MAX_USERS = 1000

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
        known = sample.user_places[np.unique(sample.test.users)]
        known = known[model._are_known(known, None)]
        shares = None
        if len(known):
            shares = exposure(model, users=model.ratings_.user_ids.values[known])
        predictions = evaluator.predictions
        return recommender_report(model, test, spans, predictions, names, title, n_users, shares)

    return reported(path, build)
