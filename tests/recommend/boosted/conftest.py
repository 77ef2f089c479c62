import numpy as np
import pytest

from edgewise import Ratings


def drawn(n_users=30, n_items=20, share=0.5, seed=0, weights=False, features=False):
    """Ratings from 1 to 5 of users with two tastes and items of two kinds, with noise."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < share)
    taste, kind = rng.choice([-1, 1], n_users), rng.choice([-1, 1], n_items)
    clean = 3 + 1.3 * taste[users] * kind[items] + 0.4 * rng.standard_normal(n_items)[items]
    values = np.clip(np.rint(clean + 0.5 * rng.standard_normal(len(users))), 1, 5)
    extra = {}
    if weights:
        extra["weights"] = rng.random(len(users)) + 0.5
    if features:
        noise = rng.random(n_users)
        extra["user_features"] = (np.arange(n_users), np.column_stack([taste > 0, noise]) * 1.0)
        extra["item_features"] = (np.arange(n_items), kind[:, None] * 1.0)
    return Ratings.from_arrays(users, items, values, **extra)


@pytest.fixture
def ratings():
    return drawn()
