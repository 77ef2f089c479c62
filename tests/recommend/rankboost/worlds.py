"""Small worlds of ratings, and the same as a dense matrix."""

import numpy as np

from edgewise import Ratings


def world(seed, n_users=14, n_items=40, levels=5, seen=0.6):
    """Return ratings by users of a few tastes; user 0 has rated the same items as user 1."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) + rng.normal(size=n_items)
    noisy = taste + 0.7 * rng.normal(size=taste.shape)
    values = np.clip(np.rint(noisy + (levels + 1) / 2), 1, levels)
    given = rng.random(values.shape) < seen
    given[0, 0] = True
    given[1] = given[0]
    users, items = np.nonzero(given)
    return Ratings.from_arrays(users, items, values[users, items])


def dense(ratings):
    """Return items by users, NaN where there is no rating."""
    table = np.full((ratings.n_items, ratings.n_users), np.nan)
    table[ratings.items, ratings.users] = ratings.values
    return table
