"""Random ratings that the tests of factorization share."""

import numpy as np
import pytest

from edgewise import Ratings


def _make_ratings(
    seed=0, n_users=12, n_items=9, share=0.6, weighted=False, rank=2, noise=0.3, low=None
):
    """Return some entries of a matrix of low rank with noise; user 0 rated everything."""
    rng = np.random.default_rng(seed)
    R = 3.0 + rng.normal(size=(n_users, rank)) @ rng.normal(size=(rank, n_items))
    R += noise * rng.normal(size=R.shape)
    if low is not None:
        R = np.maximum(R, low)
    rated = rng.random(R.shape) < share
    rated[0] = rated[:, 0] = True
    users, items = np.nonzero(rated)
    weights = rng.uniform(0.5, 2.0, len(users)) if weighted else None
    return Ratings.from_arrays(users, items, R[rated], weights=weights)


@pytest.fixture
def make_ratings():
    """Make ratings from a seed and a size."""
    return _make_ratings


@pytest.fixture
def backend(monkeypatch):
    """Choose the kernels: "numpy" or "numba"."""

    def choose(name):
        monkeypatch.setenv("EDGEWISE_BACKEND", name)

    return choose
