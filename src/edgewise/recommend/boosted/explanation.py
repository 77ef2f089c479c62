"""A prediction of boosted factorization as a sum of contributions."""

from typing import TYPE_CHECKING

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.model import Contribution
from edgewise.recommend.boosted.products import relative_weights
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS
from edgewise.recommend.features import indicator_names

if TYPE_CHECKING:
    from edgewise.recommend.boosted.model import BoostedFactorization

# Contributions below this fraction of all others are rounding errors.
_ROUNDING = 1e-6


def explain_pair(
    model: "BoostedFactorization", user: int, item: int
) -> tuple[float, list[Contribution]]:
    """Return the prediction for the indices of a user and an item, and its contributions.

    The scores of the columns are sums. The expected rating is a sum of probabilities, each of which
    depends on one score: a contribution's share of the change of the score, from the constant to
    its end, is its share of the change of the probability.
    """
    levels, kinds = model._levels, model.kinds_[1:]
    products = model.user_values_[user].astype(np.float64) * model.item_values_[item]
    products = products[:, None] * model.round_votes_
    constant = products[0] if len(products) else np.zeros(levels.n_columns)
    change = products[1:].sum(axis=0)
    start, end = levels.chances(constant), levels.chances(constant + change)
    # Where contributions cancel, the quotient is noise: take the derivative there instead.
    has_quotient = np.abs(change) > 1e-6
    slope = np.divide(end - start, change, out=levels.slopes(start), where=has_quotient)
    slope = levels.gaps() * slope

    def points(scores: Reals) -> Reals:
        return (scores * slope).sum(axis=-1)

    def points_of(kind: int) -> float:
        return float(points(products[1:][kinds == kind].sum(axis=0)))

    added, named = (_by_rating if model.joint_ else _by_indicator)(model, user, item)
    amounts = points(added)
    parts = [
        Contribution("mean", float(levels.expected(constant))),
        Contribution("item offset", points_of(ITEMS)),
    ]
    offset, taste = points_of(USERS), float(points_of(BOTH) - amounts.sum())
    if not model.joint_:
        parts += [Contribution("user offset", offset), Contribution("user taste", taste)]
    elif abs(offset + taste) > _ROUNDING * np.abs(amounts).sum():
        # Nothing remains where the model has all ratings that it was trained on.
        parts.append(Contribution("user taste", offset + taste))
    parts = [part for part in parts if part.amount != 0.0]
    parts += [
        Contribution(name, amount, detail)
        for (name, detail), amount in zip(named, amounts.tolist(), strict=True)
    ]
    return float(levels.expected(constant + change)), parts


def _by_rating(
    model: "BoostedFactorization", user: int, item: int
) -> tuple[Reals, list[tuple[str, str]]]:
    """Return what each rating of a user adds to the score, and its name and detail."""
    view = model.ratings_.by_user
    span = view.span(user)
    items, weights = view.others[span], relative_weights(view, model.ratings_, model.n_trained_)
    added = model._user_system.contributions(items, view.values[span], weights[span], item)
    ids = model.ratings_.item_ids.values[items]
    return added[:, None], [("rated", str(item_id)) for item_id in ids.tolist()]


def _by_indicator(
    model: "BoostedFactorization", user: int, item: int
) -> tuple[Reals, list[tuple[str, str]]]:
    """Return what each indicator feature of a user adds to the scores, and its name and detail."""
    if len(model.indicator_weights_) == 0:
        return np.zeros((0, model._levels.n_columns)), []
    ratings = model.ratings_
    row = model._fitted_boosting.user_indicators(ratings, model.n_trained_)[[user]]
    along = model.item_values_[item, :, None] * model.round_votes_
    added = np.einsum("mt,tl->ml", model.indicator_weights_[row.indices], along)
    names: list[tuple[str, str]] = []
    if model.share:
        names += [("rated", str(item_id)) for item_id in ratings.item_ids.values.tolist()]
    if model.side_features and ratings.user_features is not None:
        features = indicator_names(ratings.user_features, model.n_trained_)
        names += [("feature", name) for name in features]
    return added * row.data[:, None], [names[k] for k in row.indices.tolist()]
