"""Small problems in which every rule can be tried, and the plain way to try them."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from edgewise import Exhaustive
from edgewise.backend.arithmetic import GAIN_SCALE, SEARCH_SCALE
from edgewise.backend.base import Step
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.learners import SMOOTHING, Comparison, Round

from ..helpers import state_of

# Weights are small multiples of this, so that they are the same numbers in fixed point.
UNIT = 2.0**-14


@dataclass(frozen=True)
class Small:
    """Rows, labels and weights of shape (K, n), and the codes of the rows."""

    X: np.ndarray
    categorical: tuple
    binned: object
    labels: np.ndarray
    weights: np.ndarray

    @property
    def signed(self):
        """w * y of shape (n, K), in units."""
        return np.rint((self.weights * self.labels).T / UNIT).astype(np.int64)

    def state(self, labels=None, weights=None, mass_column=False):
        """Return the state of these labels and weights, or of others, ready for a search."""
        labels = self.labels if labels is None else labels.astype(np.int8)
        weights = self.weights if weights is None else weights
        n = len(self.X)
        target, row_mass = np.full(n, -1, np.int32), np.full(n, 2**62 // n)
        state = state_of(labels, target, row_mass, weights.copy(), mass_column)
        ReferenceBackend(self.binned).advance(state, None, Step.scaling(state.n_scores))
        return state

    def round(
        self,
        backend=None,
        rng=None,
        problem=None,
        gain=False,
        energies=None,
        score_edges=False,
        **settings,
    ):
        """Return the round of these weights."""
        rng = np.random.default_rng(0) if rng is None else rng
        backend = ReferenceBackend(self.binned) if backend is None else backend
        if problem is None:
            problem = self.state(mass_column=gain).whole
        compare = Comparison("gain" if gain else "edge", energies, score_edges, splits=gain)
        floor = SMOOTHING * SEARCH_SCALE / problem.n_scores
        return Round(backend, problem, lambda: rng, compare, **{"floor": floor, **settings})

    def find(self, learner, search=None, seed=0, t=0, **settings):
        """Return what a learner finds in a round."""
        learner.validate()
        ready = learner.ready(self.binned, search or Exhaustive(), seed)
        ready.begin(t)
        if learner.needs_mass and "problem" not in settings:
            settings["problem"] = self.state(mass_column=True).whole
        return ready.find(self.round(**settings))

    def units(self, edge):
        """Return an edge of the search in units of weight."""
        units = edge / (SEARCH_SCALE * UNIT)
        assert units == round(units)
        return round(units)


def _small(X, labels, weights, categorical=()):
    """Return a problem; `labels` and `weights` have shape (n, K), weights in units."""
    X = np.asarray(X, dtype=np.float64)
    table = as_table(X).with_categorical(categorical)
    labels = np.ascontiguousarray(np.array(labels, dtype=np.int8).T)
    weights = np.ascontiguousarray(np.array(weights, dtype=np.float64).T) * UNIT
    binned = fit_encode(table, None, 256)
    return Small(X, tuple(categorical), binned, labels, weights)


def _random_small(
    seed, n=20, numeric=2, categorical=0, n_scores=2, levels=5, values=4, missing=False, heaviest=8
):
    """Return a random problem; few levels and a small `heaviest` make ties likely."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(levels, size=(n, numeric)) / 2.0
    names = rng.integers(values, size=(n, categorical)).astype(np.float64)
    X = np.hstack([numbers, names])
    if missing:
        X[rng.random(X.shape) < 0.25] = np.nan
        X[0] = 0.0  # every column has some value
    labels = rng.choice([-1, 1], size=(n, n_scores))
    weights = rng.integers(1, heaviest + 1, size=(n, n_scores))
    return _small(X, labels, weights, range(numeric, numeric + categorical))


def _all_cuts(problem, constant=True, missing="learn"):
    """Return (column, threshold, missing side, phi) of every stump, in the order of ties.

    Ties go to the lowest column, then to the lowest threshold, then to missing values on the
    positive side.
    """
    results = []
    for j, bins in enumerate(problem.binned.bins):
        if j in problem.categorical or not bins.can_split:
            continue
        x = problem.X[:, j]
        gone = np.isnan(x)
        sides = (1,) if not gone.any() else (0,) if missing == "abstain" else (1, -1)
        for threshold in (-math.inf, *bins.thresholds.tolist()):
            for side in sides:
                phi = np.where(gone, side, np.where(x >= threshold, 1, -1))
                if constant or (phi != 1).any():
                    results.append((j, threshold, side, phi))
    return results


def _all_selectors(problem):
    """Return (column, value, phi) of every selector; NaN, missing, is a column's last value."""
    results = []
    for j in problem.categorical:
        x = problem.X[:, j]
        values = [*np.unique(x[~np.isnan(x)]).tolist(), *([math.nan] if np.isnan(x).any() else [])]
        for value in values if len(values) > 1 else []:
            inside = np.isnan(x) if math.isnan(value) else x == value
            results.append((j, value, np.where(inside, 1, -1)))
    return results


def _edge(phi, signed):
    """Return the edge of phi with its best votes: Kégl and Busa-Fekete 2009a, eq. 7 with eq. 4."""
    return int(np.abs(phi @ signed).sum())


def _gain(part, signed):
    """Return the sum of the squared edges over the mass of some rows, in the search's fixed point.

    It is rounded once, as the search does; the gain of no rows is 0.
    """
    edges = [int(edge) for edge in signed[part].sum(axis=0)]
    mass = int(np.abs(signed[part]).sum())
    if mass == 0:
        return 0
    unit = int(SEARCH_SCALE * UNIT)
    return round(sum(edge**2 for edge in edges) * unit / mass * GAIN_SCALE)


def _split_gain(phi, signed):
    """Return the gain of both sides of a test; -1 where all the mass is on one side."""
    sides = phi < 0, phi > 0
    if any(np.abs(signed[side]).sum() == 0 for side in sides):
        return -1
    return sum(_gain(side, signed) for side in sides)


def _figure_3(cuts, signed, terms):
    """Return the terms that ProductBase ends with, as places among the cuts, and its edge.

    `cuts` are tuples that end with phi. The base learner is a search of all cuts for the largest
    edge. Without abstention the energy of discrete votes is sqrt(1 - edge**2): it decreases as
    the edge grows.
    """
    n = len(signed)
    chosen, best = [None] * terms, 0
    for step in itertools.count():
        j = step % terms
        others = np.ones(n, dtype=int)
        for index, cut in enumerate(chosen):
            if index != j and cut is not None:
                others *= cuts[cut][-1]
        virtual = signed * others[:, None]
        edges = [int(np.abs(phi @ virtual).sum()) for *_, phi in cuts]
        if max(edges) <= best:
            return [cut for cut in chosen if cut is not None], best
        best = max(edges)
        chosen[j] = edges.index(best)
    return None


@pytest.fixture(scope="session")
def small():
    return _small


@pytest.fixture(scope="session")
def random_small():
    return _random_small


@pytest.fixture(scope="session")
def all_cuts():
    return _all_cuts


@pytest.fixture(scope="session")
def all_selectors():
    return _all_selectors


@pytest.fixture(scope="session")
def edge_of():
    return _edge


@pytest.fixture(scope="session")
def gain_of():
    return _gain


@pytest.fixture(scope="session")
def split_gain():
    return _split_gain


@pytest.fixture(scope="session")
def figure_3():
    return _figure_3
