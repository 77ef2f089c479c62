"""Objectives on random problems, and rounds of boosting taken one by one."""

from dataclasses import dataclass

import numpy as np
import pytest

from edgewise.kernels import TwinKernels
from edgewise.learners import Stump
from edgewise.objective import Hamming, Targets
from edgewise.search import Exhaustive


@dataclass(frozen=True)
class Round:
    """One round: the weights it met, the cut's signs, the votes and where training then stood."""

    weights: np.ndarray
    signs: np.ndarray
    vote: object
    progress: object


def _make_targets(seed, problem, weighting="balanced"):
    """Return targets; `weighting` is "balanced", "uniform", "label weights" or "matrix"."""
    rng = np.random.default_rng(seed)
    n_scores, _ = problem.labels.shape
    label_weights = np.ones((2, n_scores))
    matrix = None
    if weighting == "balanced" and n_scores > 1:
        label_weights[:] = [[0.5 / (n_scores - 1)], [0.5]]
    elif weighting == "label weights":
        label_weights = rng.uniform(0.5, 2.0, size=(2, n_scores))
    elif weighting == "matrix":
        matrix = rng.uniform(0.0, 2.0, size=problem.labels.shape)
        matrix[rng.random(matrix.shape) < 0.1] = 0.0
    return Targets(problem.labels, problem.target, problem.row_weights, label_weights, matrix)


def _make_objective(problem, targets, votes="discrete", factorized=True, kernels=TwinKernels):
    return Hamming(kernels(problem.binned), targets, votes, factorized)


def _boost(objective, n_rounds, learner=None):
    """Yield the rounds, fewer where there is no edge."""
    table = objective.kernels.table
    search = Exhaustive().start(table.splittable, np.random.default_rng(0))
    for _ in range(n_rounds):
        cut = objective.find(learner or Stump(), search)
        if cut is None:
            return
        places = zip(cut.columns, cut.first, cut.missing, strict=True)
        signs = np.stack([table.cut(j, first, side) for j, first, side in places])
        vote = objective.vote(signs)
        if vote is None:
            return
        weights = objective.state.weights.copy()
        yield Round(weights, signs, vote, objective.advance(signs, vote))


@pytest.fixture(scope="session")
def make_targets():
    return _make_targets


@pytest.fixture(scope="session")
def make_objective():
    return _make_objective


@pytest.fixture(scope="session")
def boost():
    return _boost
