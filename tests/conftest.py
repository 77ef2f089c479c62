"""Random problems that several test folders share."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings

from edgewise.data import as_table, encode, fit_bins
from edgewise.kernels import State, Step, TwinKernels, fixed

# The first example of a test may import libraries; time says nothing about behaviour.
settings.register_profile("edgewise", deadline=None)
settings.load_profile("edgewise")


@dataclass(frozen=True)
class Problem:
    """Rows in bins, labels of shape (K, n) and weights that sum to 1."""

    X: np.ndarray
    binned: object
    labels: np.ndarray
    target: np.ndarray
    row_weights: np.ndarray
    weights: np.ndarray

    def fresh_state(self):
        """Return the state of these weights, not yet quantised for the search."""
        return State(self.labels, self.target, fixed(self.row_weights), self.weights.copy())

    def state(self):
        """Return the state of these weights, ready for a search."""
        state = self.fresh_state()
        everywhere = np.ones((1, len(self.X)), dtype=np.int8)
        TwinKernels(self.binned).advance(state, everywhere, Step.none(len(self.labels)))
        return state

    def rows(self, rows):
        """Return the problem of some rows, in the bins of all."""
        table = as_table(self.X[rows])
        return Problem(
            self.X[rows],
            encode(table, self.binned.bins),
            np.ascontiguousarray(self.labels[:, rows]),
            self.target[rows],
            self.row_weights[rows],
            np.ascontiguousarray(self.weights[:, rows]),
        )


def _labels(rng, n, n_scores, kind):
    if kind == "multiclass":
        target = rng.integers(n_scores, size=n).astype(np.int32)
        return np.where(np.arange(n_scores)[:, None] == target, 1, -1).astype(np.int8), target
    labels = np.where(rng.random((n_scores, n)) < 0.4, 1, -1).astype(np.int8)
    return labels, np.full(n, -1, dtype=np.int32)


def _values(rng, n, d, levels, missing):
    """Return columns of a few levels; the odd ones mostly hold the lowest."""
    X = rng.integers(levels, size=(n, d)) / 4.0
    X[:, 1::2][rng.random((n, len(range(1, d, 2)))) < 0.7] = 0.0
    if missing:
        gone = rng.random((n, d)) < 0.2
        gone[:, 2::3] = False
        X[gone] = np.nan
    return X


def _make_problem(
    seed,
    n=60,
    d=5,
    n_scores=3,
    kind="multiclass",
    missing=True,
    storage="auto",
    equal_mass=True,
    levels=7,
    max_bins=256,
    weight_levels=None,
):
    """Return a random problem; few `weight_levels` make ties likely."""
    rng = np.random.default_rng(seed)
    X = _values(rng, n, d, levels, missing)
    labels, target = _labels(rng, n, n_scores, kind)
    row_weights = np.full(n, 1.0 / n) if equal_mass else rng.dirichlet(np.ones(n))
    if weight_levels is None:
        weights = rng.exponential(size=(n_scores, n)) ** 2
        weights /= weights.sum()
    else:
        weights = rng.integers(weight_levels, size=(n_scores, n)) / 2.0**12
    table = as_table(X)
    binned = encode(table, fit_bins(table, None, max_bins), storage)
    return Problem(X, binned, labels, target, row_weights, weights)


@pytest.fixture(scope="session")
def make_problem():
    return _make_problem
