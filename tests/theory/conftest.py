"""A plain AdaBoost.MH to hold the bounds against: brute-force stumps, discrete votes."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest


@dataclass
class Run:
    """What one run leaves behind, round by round."""

    signs: np.ndarray
    initial: np.ndarray
    edges: list = field(default_factory=list)
    alphas: list = field(default_factory=list)
    energies: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    votes: list = field(default_factory=list)
    cuts: list = field(default_factory=list)
    scores: list = field(default_factory=list)


def one_hot_signs(y, n_classes):
    return np.where(np.arange(n_classes) == np.asarray(y)[:, None], 1.0, -1.0)


def initial_weights(signs, kind):
    n, n_classes = signs.shape
    if kind == "uniform" or n_classes == 1:
        return np.full(signs.shape, 1.0 / (n * n_classes))
    return np.where(signs > 0, 0.5 / n, 0.5 / (n * (n_classes - 1)))


def stump_outputs(X):
    """Every labeling of the rows that a stump or a constant gives, up to its sign."""
    rows = {tuple(np.ones(len(X)))}
    for column in X.T:
        values = np.unique(column)
        for cut in (values[:-1] + values[1:]) / 2:
            rows.add(tuple(np.where(column >= cut, 1.0, -1.0)))
    return np.array(sorted(rows))


def all_labelings(n):
    """Every labeling of n rows: a base class with which weak learning cannot fail."""
    return np.array(list(product((-1.0, 1.0), repeat=n)))


def adaboost_mh(candidates, signs, weights, rounds):
    """Boost; the energy of each round is summed from its definition, Kégl 2014b eq. 4."""
    run = Run(signs=signs, initial=weights)
    scores = np.zeros_like(signs)
    for _ in range(rounds):
        classwise = candidates @ (weights * signs)
        best = int(np.argmax(np.abs(classwise).sum(axis=1)))
        cut, votes = candidates[best], np.where(classwise[best] > 0, 1.0, -1.0)
        edge = float(np.abs(classwise[best]).sum())
        if edge <= 1e-9 or edge >= 1 - 1e-9:
            break
        alpha = 0.5 * np.log((1 + edge) / (1 - edge))
        h = alpha * np.outer(cut, votes)
        scores = scores + h
        unnormalized = weights * np.exp(-h * signs)
        energy = float(unnormalized.sum())
        for name, value in [
            ("edges", edge),
            ("alphas", alpha),
            ("energies", energy),
            ("weights", weights),
            ("votes", votes),
            ("cuts", cut),
            ("scores", scores),
        ]:
            getattr(run, name).append(value)
        weights = unnormalized / energy
    return run


def _boosted(seed, n, d, n_classes, rounds, init="balanced"):
    """Boost stumps on random data; one class gives a single column of random signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    if n_classes == 1:
        signs = rng.choice([-1.0, 1.0], size=(n, 1))
    else:
        signs = one_hot_signs(rng.integers(n_classes, size=n), n_classes)
    return adaboost_mh(stump_outputs(X), signs, initial_weights(signs, init), rounds)


@pytest.fixture(scope="session")
def boosted():
    return _boosted


@pytest.fixture(scope="session")
def boosted_to_zero():
    """Boost where the edges stay large: stumps on a line (one class), or all labelings."""

    def run(labels, n_classes, rounds):
        labels = np.asarray(labels)
        if n_classes == 1:
            signs = np.where(labels > 0, 1.0, -1.0)[:, None]
            candidates = stump_outputs(np.arange(float(len(labels)))[:, None])
        else:
            signs = one_hot_signs(labels, n_classes)
            candidates = all_labelings(len(labels))
        return adaboost_mh(candidates, signs, initial_weights(signs, "balanced"), rounds)

    return run
