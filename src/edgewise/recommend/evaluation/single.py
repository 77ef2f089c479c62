"""One model on one test part."""

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from edgewise.ratings import Ratings
from edgewise.recommend.base import Recommender
from edgewise.recommend.evaluation.catalogue import list_values
from edgewise.recommend.evaluation.errors import rating_error
from edgewise.recommend.evaluation.measures import MEASURES, Measure, chosen
from edgewise.recommend.evaluation.order import order_values
from edgewise.recommend.evaluation.tested import Tested


def evaluate(
    model: Recommender,
    test: Ratings,
    metrics: Iterable[str] | str = tuple(MEASURES),
    k: int = 10,
    relevant: float | None = None,
    unknown: str = "mean",
) -> dict[str, float]:
    """Measure a fitted recommender on ratings that it has not seen.

    On the **test pairs**, where the model predicts ratings (NaN where it only scores):

    - "rmse", "mae", "nmae" (mean absolute error over that of blind guesses) and "one_zero" (share
      of wrong levels) of what :meth:`~Recommender.predict` gives, rounded for the last;
    - "mae_level", "nmae_level", "one_zero_level": the same of the predicted level, which is the
      nearest to the prediction, or the model's own where ``predict`` takes ``output="level"``;
    - "mae_best", "nmae_best", "one_zero_best": the lesser of both.

    On the **order of each user's test items** (Iyer 1999 section 5.2.4), where good items are those
    with the user's highest test rating: "disagreement", "ap", "prot", "coverage". Users whose test
    ratings are all the same are left out.

    On **lists out of the whole catalogue** without what the user rated in training:

    - "ndcg", "precision", "recall" at k, "map" over the full list, and "auc". Relevant are test
      ratings of at least `relevant`, all to the same degree; all other items are not. Relevant
      items that training does not know are missed. Users without relevant items are left out. Of
      items with equal scores each order is as likely.
    - "catalogue_coverage" (share of all items on some list), "novelty" (bits of surprise) and
      "diversity" (one minus the cosine of training ratings) of the lists of k items.

    Parameters
    ----------
    model : Recommender
        The model, fitted.
    test : Ratings
        Ratings to test on. Their weights count in measures of predicted ratings.
    metrics : str or sequence of str, default all
        Names from above; "ndcg@5" cuts lists at another place than `k`.
    k : int, default 10
        Where lists are cut.
    relevant : float or None, default None
        The least rating that is relevant; None is the upper quarter of the scale, which is 4 for
        1 to 5, and everything where all ratings are the same.
    unknown : {"mean", "nan", "raise"}, default "mean"
        What becomes of users and items that training says nothing of: predicted by means, left
        out, or an error.

    Returns
    -------
    dict of str to float
        The values by name; those that are cut at k under names like "ndcg@10". NaN where there is
        nothing to measure.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

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
    measures = chosen(metrics, k)
    least = check_relevant(relevant)
    return measured(Tested(model, test, unknown), measures, least)


def measured(
    tested: Tested, measures: Iterable[Measure], relevant: float | None
) -> dict[str, float]:
    """Return the values of measures by name, in the order of the measures."""
    asked = list(measures)
    order = [one.base for one in asked if one.kind.looks_at == "order"]
    lists = [one for one in asked if one.kind.looks_at == "lists"]
    found = {one.name: rating_error(tested, one) for one in asked if one.kind.looks_at == "ratings"}
    if order:
        found |= order_values(tested, order)
    if lists:
        least = default_relevant(tested) if relevant is None else relevant
        found |= list_values(tested, lists, least)
    return {one.name: found[one.name] for one in asked}


def default_relevant(tested: Tested) -> float:
    """Return where the upper quarter of the scale begins."""
    low = min(tested.model.low_, tested.test.low)
    high = max(tested.model.high_, tested.test.high)
    return high - (high - low) / 4.0


def check_relevant(relevant: Any) -> float | None:
    """Return the least relevant rating, or raise."""
    if relevant is None:
        return None
    if isinstance(relevant, bool) or not isinstance(relevant, Real) or np.isnan(float(relevant)):
        raise ValueError(f"relevant must be None or a rating, got {relevant!r}")
    return float(relevant)
