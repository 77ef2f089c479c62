"""New ratings for a fitted model, without a new fit: what ``partial_fit`` does.

Users with new ratings are learned again from all their ratings, as new users are, while the rest of
the model stays; then items that the fit did not know are learned from their ratings by all users.
So the model depends on the fit and on all ratings since, not on how many calls brought them.
"""

from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import ROW, Indices
from edgewise.common.fields import Array, OrNone
from edgewise.common.ids import Ids
from edgewise.model.file import stored_fields
from edgewise.ratings import Ratings
from edgewise.ratings.inputs import rows_or_missing
from edgewise.recommend.base import Recommender


def updated(model: Recommender, more: Ratings) -> Recommender:
    """Return a model that also knows these ratings."""
    ratings = model.ratings_.with_ratings(more)
    rated = np.unique(ratings.user_ids.find("users", more.user_ids.values)[more.users])
    users = np.union1d(rated, np.arange(model.n_users_, ratings.n_users))
    return model._extended(ratings, users.astype(np.intp))


def extended(model: Recommender, ratings: Ratings, users: Indices) -> Recommender:
    """Return a model of more ratings, among them new ones of some users."""
    draft = copy(model)
    if model.fits_at_once:
        return draft.fit(ratings)
    added = _added_items(model, ratings)
    draft.known_users_ = _known(model.known_users_, model._knows_users(ratings))
    draft.known_items_ = _known(model.known_items_, model._knows_items(ratings))
    # Only items of the fit say who a user is: others may have come after the user.
    told = ratings.take(~np.isin(ratings.items, added))
    for name, axis in _axes(type(model), "items"):
        before = np.moveaxis(getattr(model, name).copy(), axis, 0)
        before[added[added < model.n_items_]] = 0
        setattr(draft, name, np.moveaxis(before, 0, axis))
    learn_rows(draft, model.ratings_, told, users)
    if len(added):
        draft.added_items_ = added
        draft._fold_in_items(model.ratings_, ratings, added)
    draft.ratings_ = ratings
    draft._settle(ratings, users)
    draft._check_finite()
    return draft


def _known(before: NDArray[np.bool_], now: NDArray[np.bool_]) -> NDArray[np.bool_]:
    known = now.copy()
    known[: len(before)] |= before
    return known


def _added_items(model: Recommender, ratings: Ratings) -> Indices:
    """Return the items that are not of the fit, or raise if the model cannot learn any."""
    fitted = np.zeros(ratings.n_items, dtype=bool)
    fitted[: model.n_items_] = model.known_items_
    fitted[vars(model).get("added_items_", [])] = False
    added = np.flatnonzero(~fitted & (ratings.by_item.sizes > 0))
    beyond = np.arange(model.n_items_, ratings.n_items)
    if len(added) and not model.adds_items:
        lost = ratings.item_ids.values[added[:3]].tolist()
        raise ValueError(
            f"items must be known to a {type(model).__name__}, which learns new items by fit only, "
            f"got {', '.join(map(repr, lost))}"
        )
    return np.union1d(added, beyond).astype(np.intp)


def learn_rows(model: Recommender, before: Ratings, now: Ratings, users: Indices) -> None:
    """Learn users from all ratings they have now, as if they were new, and put them in place."""
    n_before = before.n_users
    model.ratings_ = _with_rows(before, now, users)
    model._fold_in(model.ratings_, np.arange(n_before, n_before + len(users)))
    place = np.arange(max(n_before, now.n_users))
    place[users] = n_before + np.arange(len(users))
    for name, axis in _axes(type(model), "users"):
        setattr(model, name, np.take(getattr(model, name), place, axis))


def _with_rows(before: Ratings, now: Ratings, users: Indices) -> Ratings:
    """Return ratings with those of some users, of which there are others now, added at the end."""
    entries = now.by_user.rows[now.by_user.entries(users)]
    numbers = before.n_users + np.repeat(np.arange(len(users)), now.by_user.sizes[users])
    sides = (before, replace(now.take(entries), users=numbers.astype(ROW)))
    weights = None
    if any(side.weights is not None for side in sides):
        ones = [np.ones(len(side)) if side.weights is None else side.weights for side in sides]
        weights = np.concatenate(ones)
    features = before.user_features
    if features is not None and now.user_features is not None:
        rows = np.concatenate([np.arange(before.n_users), users])
        features = rows_or_missing(now.user_features, rows)
    return replace(
        before,
        user_ids=Ids(np.arange(before.n_users + len(users))),
        item_ids=now.item_ids,
        users=np.concatenate([side.users for side in sides]),
        items=np.concatenate([side.items for side in sides]),
        values=np.concatenate([side.values for side in sides]),
        weights=weights,
        times=None,
        user_features=features,
        item_features=now.item_features,
    )


def _axes(kind: type[Recommender], side: str) -> list[tuple[str, int]]:
    """Return the fitted arrays with numbers for each user or item, and the axis of these."""
    found = []
    for name, field in stored_fields(kind).items():
        array = field.field if isinstance(field, OrNone) else field
        if isinstance(array, Array) and name not in ("known_users_", "known_items_"):
            words = array.shape.split()
            found += [(name, words.index(side))] if side in words else []
    return found


def exchanged(ratings: Ratings) -> Ratings:
    """Return ratings with users and items exchanged."""
    order = ratings.by_item.rows
    return Ratings(
        ratings.item_ids,
        ratings.user_ids,
        ratings.items[order],
        ratings.users[order],
        ratings.values[order],
        None if ratings.weights is None else ratings.weights[order],
        None,
        ratings.item_features,
        ratings.user_features,
    )
