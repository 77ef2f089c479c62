"""A tiny matrix whose right answers are known: two groups of users with opposite tastes."""

from typing import Any, ClassVar

import numpy as np

from edgewise import Ratings

N_USERS = 6
N_ITEMS = 5

USERS = [f"{group}{place}" for group in "ab" for place in range(N_USERS)]
ITEMS = [f"{group}{place}" for group in "xy" for place in range(N_ITEMS)]
# One item of each group that new users have not seen.
UNRATED = ("x2", "y0")
# In the order of the strings, so that a model may not tell the difference; not consecutive.
NUMBERS = {name: 7 * place + 30 for place, name in enumerate(sorted([*USERS, *ITEMS]))}


def left_out(user):
    """Return the items that a user did not rate: one of each group, or none of any."""
    place = int(user[1:])
    if place == N_ITEMS:
        return ()
    apart = (0, 1) if user.startswith("a") else (3, 0)
    return tuple(f"{group}{(place + k) % N_ITEMS}" for group, k in zip("xy", apart, strict=True))


def own(user):
    """Return the group of items that a user likes."""
    return "x" if user.startswith("a") else "y"


def undecided(user):
    """Return the items to which a user gives a 3: one of each group, or none of any."""
    place = int(user[1:])
    if place == N_ITEMS:
        return ()
    return f"x{(place + 2) % N_ITEMS}", f"y{(place + 4) % N_ITEMS}"


def tastes():
    """Return who gave what to what: 4 or 5 to the own group, 1 or 2 to the other, sometimes 3."""
    rows = []
    for i, user in enumerate(USERS):
        for j, item in enumerate(ITEMS):
            if item not in left_out(user):
                high = 4 + (i * i + j + i // N_USERS) % 3 // 2
                if item in undecided(user):
                    high = 3
                rows.append((user, item, high if item.startswith(own(user)) else 6 - high))
    return rows


class Setting:
    """The knobs of a model, and what the tests need to say about it."""

    knows_tastes: ClassVar[bool] = True
    """Whether the model tells tastes apart: not so the mean of an item."""

    knows_alike: ClassVar[bool] = True
    """Whether the items similar to one are first of all those of its own group."""

    implicit: ClassVar[bool] = False
    """Whether the model learns from choices: then only what users like is in the data."""

    needs_features: ClassVar[bool] = False
    """Whether the model needs columns of the items."""

    knows_cold_users: ClassVar[bool] = False
    """Whether the model has a list for users without ratings, the same as for all."""

    knows_cold_items: ClassVar[bool] = False
    """Whether the model scores items without ratings."""

    takes_negative: ClassVar[bool] = True
    """Whether ratings may be below zero."""

    asks_others: ClassVar[bool] = False
    """Whether predictions for a user depend on new ratings of others, or on the user's name."""

    explains: ClassVar[bool] = True
    """Whether scores are explained, if the model has a method for it."""

    free_sizes: ClassVar[frozenset[str]] = frozenset({"loss_history_"})
    """Stored arrays of any length."""

    free_integers: ClassVar[frozenset[str]] = frozenset()
    """Stored arrays of integers that may hold any number."""

    def make(self) -> Any:
        """Return a model that was not fitted, small and fast."""
        raise NotImplementedError

    def ratings(self, numbers=False, order=None, **parts) -> Ratings:
        """Return the data, with ids of strings or integers, the rows in any order."""
        rows = [row for row in tastes() if row[2] > 3 or not self.implicit]
        rows = rows if order is None else [rows[place] for place in order]
        users, items, values = zip(*rows, strict=True)
        if numbers:
            users, items = ([NUMBERS[one] for one in ids] for ids in (users, items))
        return Ratings.from_arrays(
            users, items, values, item_features=self.item_features(ITEMS, numbers), **parts
        )

    def item_features(self, items, numbers=False) -> Any:
        """Return two columns that tell the groups apart, where the model needs them."""
        if not self.needs_features:
            return None
        columns = [[float(item[0] == "x"), float(item[0] == "y")] for item in items]
        return [NUMBERS[item] for item in items] if numbers else list(items), columns

    def small(self, table) -> Ratings:
        """Return other ratings, given as a mapping, with features where they are needed."""
        rows = [(user, item, row[item]) for user, row in table.items() for item in row]
        users, items, values = zip(*rows, strict=True)
        features = self.item_features(sorted(set(items)))
        return Ratings.from_arrays(users, items, values, item_features=features)

    def fitted(self) -> Any:
        """Return a fitted model that the tests share and leave as it is."""
        kept = vars(type(self)).get("_fitted")
        if kept is None:
            kept = type(self)._fitted = self.make().fit(self.ratings())
        return kept

    def likes(self, group):
        """Return what a new user of group "a" or "b" says, of all items but two."""
        row = {}
        for item in ITEMS:
            if item not in UNRATED:
                liked = item.startswith(own(group))
                if liked or not self.implicit:
                    row[item] = 5.0 if liked else 1.0
        return row


def seen(ratings, user):
    """Return the ids that a user rated."""
    place = int(ratings.user_ids.find("users", user)[0])
    view = ratings.by_user
    return set(ratings.item_ids.values[view.others[view.span(place)]].tolist())


def everything(model, users=None):
    """Return all that a model says, to be compared bit for bit."""
    ratings = model.ratings_
    users = ratings.user_ids.values[model.known_users_] if users is None else np.asarray(users)
    items = ratings.item_ids.values[model.known_items_]
    lists = model.recommend(users, n=len(items), exclude_seen=False)
    alike = model.similar_items(items, n=len(items))
    return {
        "predict": model.predict(np.repeat(users, len(items)), np.tile(items, len(users))),
        "recommend": lists.ids,
        "scores": lists.scores,
        "ends": lists.ends,
        "similar items": alike.ids,
        "similarities of items": alike.scores,
        "similar users": model.similar_users(users).ids,
        "similarities of users": model.similar_users(users).scores,
    }


def assert_same(ours, theirs, but=()):
    """Assert that two models say the same, bit for bit."""
    for name in ours:
        if name not in but:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
