"""Where an expected rating comes from."""

from typing import TYPE_CHECKING

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.model import Contribution, PairExplanation
from edgewise.recommend.boosted.indicators import indicator_names
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS
from edgewise.recommend.boosted.training import user_indicators

if TYPE_CHECKING:
    from edgewise.recommend.boosted.model import BoostedFactorization


def explanation(model: "BoostedFactorization", user: int, item: int, shown: int) -> PairExplanation:
    """Return the parts of a prediction, given the indices of a user and an item.

    The scores of the columns are sums. The expected rating is a sum of chances, each of which
    depends on one score: a part's share of the score's way from the constant to its end is its
    share of the change of the chance.
    """
    levels, ratings, kinds = model._levels, model.ratings_, model.kinds_[1:]
    products = (model.user_values_[:, user] * model.item_values_[:, item])[:, None]
    products = products * model.round_votes_
    constant = products[0] if len(products) else np.zeros(levels.n_columns)
    moved = products[1:].sum(axis=0)
    logistic = model.loss == "logistic"
    start, end = levels.chances(constant, logistic), levels.chances(constant + moved, logistic)
    # Where parts cancel, the quotient is noise: take the derivative there instead.
    moves = np.abs(moved) > 1e-6
    slope = start * (1.0 - start) * (1.0 if logistic else 2.0)
    slope = levels.gaps() * np.divide(end - start, moved, out=slope, where=moves)

    def points(scores: Reals) -> Reals:
        return (scores * slope).sum(axis=-1)

    def of_kind(kind: int) -> float:
        return float(points(products[1:][kinds == kind].sum(axis=0)))

    added, named = _by_indicator(model, user, item)
    amounts = points(added)
    parts = [
        Contribution("mean", float(levels.expected(constant, logistic))),
        Contribution("user offset", of_kind(USERS)),
        Contribution("item offset", of_kind(ITEMS)),
        Contribution("user taste", float(of_kind(BOTH) - amounts.sum())),
    ]
    parts = [part for part in parts if part.amount != 0.0]
    parts += [
        Contribution(name, amount, detail)
        for (name, detail), amount in zip(named, amounts.tolist(), strict=True)
    ]
    parts.sort(key=lambda part: -abs(part.amount))
    return PairExplanation(
        ratings.user_ids.values[user].item(),
        ratings.item_ids.values[item].item(),
        float(levels.expected(constant + moved, logistic)),
        tuple(parts),
        shown,
    )


def _by_indicator(
    model: "BoostedFactorization", user: int, item: int
) -> tuple[Reals, list[tuple[str, str]]]:
    """Return what each indicator feature of a user adds to the scores, and its name and detail."""
    if model.indicator_weights_.shape[1] == 0:
        return np.zeros((0, model._levels.n_columns)), []
    ratings, settings = model.ratings_, model._settings()
    row = user_indicators(ratings, settings, model.n_trained_)[[user]]
    along = model.item_values_[:, item, None] * model.round_votes_
    weights = model.indicator_weights_[:, row.indices]
    added = np.einsum("tm,tl->ml", weights, along) * row.data[:, None]
    n_rated = ratings.n_items if model.share else 0
    features: list[str] = []
    if model.side_features and ratings.user_features is not None:
        features = indicator_names(ratings.user_features, model.n_trained_)
    return added, [
        ("rated", str(ratings.item_ids.values[k]))
        if k < n_rated
        else ("feature", features[k - n_rated])
        for k in row.indices.tolist()
    ]
