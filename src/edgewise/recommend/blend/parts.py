"""The models of a blend: what each says of anything, and how they come to files and back."""

from copy import copy
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.common.fields import Arrays, Field, Json, Sizes
from edgewise.model.file import packed, unpacked
from edgewise.ratings import Ratings
from edgewise.recommend.base import Indices, Recommender


def pair_scores(part: Recommender, users: Indices, items: Indices, on_scale: bool) -> Reals:
    """Return what a model says of pairs: means where it knows a user or an item not."""
    known = part._known(users, items)
    scores = np.zeros(len(users))
    if known.any():
        scores[known] = part._pair_scores(users[known], items[known])
    if on_scale:
        np.clip(scores, part.low_, part.high_, out=scores)
    if not known.all():
        scores[~known] = part._means(users[~known], items[~known])
    return scores


def user_scores(part: Recommender, users: Indices, on_scale: bool) -> Reals:
    """Return what a model says of all items for some users, as :func:`pair_scores` does."""
    scores = np.zeros((len(users), part.n_items_))
    known = part.known_users_[users]
    if known.any():
        scores[known] = part._user_scores(users[known])
    if on_scale:
        np.clip(scores, part.low_, part.high_, out=scores)
    if not (known.all() and part.known_items_.all()):
        row, item = np.nonzero(~(known[:, None] & part.known_items_))
        scores[row, item] = part._means(users[row], item)
    return scores


def with_users(part: Recommender, ratings: Ratings, users: Indices) -> Recommender:
    """Return a model that also knows new users, as far as they rated items that it knows."""
    known = part.known_items_[ratings.items] | (ratings.users < users[0])
    usable = ratings if known.all() else ratings.take(known)
    more = copy(part)
    more.ratings_ = ratings
    new = usable.by_user.sizes[users] > 0
    more.known_users_ = np.concatenate([part.known_users_, new])
    more._fold_in(usable, users)
    return more


class _PartField(Field):
    """A fitted model without the ratings that all models of a blend share."""

    def pack(self, value: Recommender, name: str, arrays: Arrays) -> Json:
        return packed(value, f"{name}.", arrays, leave_out=("ratings_",))

    def unpack(self, saved: Json, name: str, arrays: Arrays, sizes: Sizes) -> Any:
        known = {word: sizes[word] for word in ("users", "items", "ratings")}
        model = unpacked(saved, f"{name}.", arrays, known, leave_out=("ratings_",))
        if not isinstance(model, Recommender):
            raise TypeError(f"{name} must be a recommender")
        return model


PART = _PartField()
