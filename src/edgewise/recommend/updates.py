"""Updates of a fitted model by new ratings, for ``partial_fit``.

Users with new ratings are learned again from all their ratings, as new users are, while the items
stay. Then items unknown to the fit are learned from their ratings by all users. So the model
depends on the fit and on all ratings since, not on the number of calls.
"""

from copy import copy
from dataclasses import replace
from typing import TypeVar

import numpy as np

from edgewise.common.dtypes import ROW, Indices, Mask
from edgewise.common.fields import Array, OrNone
from edgewise.common.ids import Ids
from edgewise.common.text import quote_names
from edgewise.model.file import stored_fields
from edgewise.ratings import Ratings
from edgewise.ratings.features import rows_or_missing
from edgewise.recommend.arrays import weights_of
from edgewise.recommend.model import RatingModel

Model = TypeVar("Model", bound=RatingModel)


def add_ratings(ratings: Ratings, more: Ratings) -> tuple[Ratings, Indices]:
    """Return all ratings, and the users with new ones."""
    both = ratings.with_ratings(more)
    rated = np.unique(both.user_ids.find("users", more.user_ids.values)[more.users])
    return both, np.union1d(rated, np.arange(ratings.n_users, both.n_users)).astype(np.intp)


def update_model(model: Model, ratings: Ratings, users: Indices) -> Model:
    """Return a model of more ratings, among them new ones of some users."""
    draft = copy(model)
    if model.refits_on_update:
        return draft.fit(ratings)
    added = _added_items(model, ratings)
    draft.known_users_ = _extend_mask(model.known_users_, model._knows_users(ratings))
    draft.known_items_ = _extend_mask(model.known_items_, model._knows_items(ratings))
    # Only items of the fit describe a user, as others may be newer than the user.
    fit_ratings = ratings.take(~np.isin(ratings.items, added))
    for name, axis in _arrays_of(type(model), "items"):
        array = np.moveaxis(getattr(model, name).copy(), axis, 0)
        array[added[added < model.n_items_]] = 0
        setattr(draft, name, np.moveaxis(array, 0, axis))
    learn_rows(draft, model.ratings_, fit_ratings, users)
    if len(added):
        draft.added_items_ = added
        draft._fold_in_items(model.ratings_, ratings, added)
    draft.ratings_ = ratings
    draft._finish_update(ratings, users)
    draft._check_finite()
    return draft


def _extend_mask(before: Mask, now: Mask) -> Mask:
    """Return a mask that is True where either is."""
    known = now.copy()
    known[: len(before)] |= before
    return known


def _added_items(model: RatingModel, ratings: Ratings) -> Indices:
    """Return the items unknown to the fit, or raise if the model cannot learn them."""
    fitted = np.zeros(ratings.n_items, dtype=bool)
    fitted[: model.n_items_] = model.known_items_
    fitted[vars(model).get("added_items_", [])] = False
    added = np.flatnonzero(~fitted & (ratings.by_item.sizes > 0))
    if len(added) and not model.adds_items:
        listed = quote_names(ratings.item_ids.values[added].tolist(), 3)
        raise ValueError(
            f"unknown items: {listed}; {type(model).__name__} learns items by fit only"
        )
    return np.union1d(added, np.arange(model.n_items_, ratings.n_items)).astype(np.intp)


def learn_rows(model: RatingModel, before: Ratings, now: Ratings, users: Indices) -> None:
    """Learn users from all their ratings now, as if they were new, and replace them."""
    n_before = before.n_users
    model.ratings_ = _append_users(before, now, users)
    model._fold_in(model.ratings_, np.arange(n_before, n_before + len(users)))
    rows = np.arange(max(n_before, now.n_users))
    rows[users] = n_before + np.arange(len(users))
    for name, axis in _arrays_of(type(model), "users"):
        setattr(model, name, np.take(getattr(model, name), rows, axis))


def _append_users(before: Ratings, now: Ratings, users: Indices) -> Ratings:
    """Return ratings with copies of some users at the end, which have their ratings now."""
    new = now.take(now.by_user.rows[now.by_user.entries(users)])
    numbers = before.n_users + np.repeat(np.arange(len(users)), now.by_user.sizes[users])
    features = before.user_features
    if features is not None and now.user_features is not None:
        features = rows_or_missing(
            now.user_features, np.concatenate([np.arange(before.n_users), users])
        )
    weights = None
    if before.weights is not None or new.weights is not None:
        weights = np.concatenate([weights_of(before), weights_of(new)])
    return replace(
        before,
        user_ids=Ids(np.arange(before.n_users + len(users))),
        item_ids=now.item_ids,
        users=np.concatenate([before.users, numbers.astype(ROW)]),
        items=np.concatenate([before.items, new.items]),
        values=np.concatenate([before.values, new.values]),
        weights=weights,
        times=None,
        user_features=features,
        item_features=now.item_features,
    )


def _arrays_of(kind: type[RatingModel], side: str) -> list[tuple[str, int]]:
    """Return the fitted arrays that have an axis of users or items, and that axis."""
    arrays = []
    for name, field in stored_fields(kind).items():
        array = field.field if isinstance(field, OrNone) else field
        if isinstance(array, Array) and name not in ("known_users_", "known_items_"):
            axes = array.shape.split()
            arrays += [(name, axes.index(side))] if side in axes else []
    return arrays


def swap_sides(ratings: Ratings) -> Ratings:
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
