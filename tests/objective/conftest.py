"""Objectives on random problems, and rounds of boosting taken one by one."""

from dataclasses import dataclass

import numpy as np
import pytest

from edgewise import Exhaustive, Stump
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.objective import Hamming, HammingSettings, Targets


@dataclass(frozen=True)
class Round:
    """One round: the weights it met, the rule's outputs, the votes, where training then stood."""

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


def _make_objective(
    problem, targets, votes="discrete", factorized=True, backend=ReferenceBackend, **settings
):
    return Hamming(backend(problem.binned), targets, HammingSettings(votes, factorized, **settings))


def _boost(objective, n_rounds, *learners):
    """Yield the rounds, fewer where there is no edge; several learners take turns."""
    table = objective.backend.table
    ready = [learner.ready(table, Exhaustive(), seed=0) for learner in learners or [Stump()]]
    for t in range(n_rounds):
        chosen = _choose(objective, ready[t % len(ready)], t)
        if chosen is None:
            return
        best, vote = chosen
        outputs = objective.backend.outputs(best.rule)
        weights = objective.state.weights.copy()
        yield Round(weights, outputs, vote, objective.advance(best.rule, vote))


def _choose(objective, learner, t):
    """Return what was found and the votes; of all rows where a sample gives none."""
    for everything in (False, True):
        best = objective.find(learner, t, everything)
        if best is not None:
            vote = objective.vote(best)
            if vote is not None:
                return best, vote
    return None


@pytest.fixture(scope="session")
def make_targets():
    return _make_targets


@pytest.fixture(scope="session")
def make_objective():
    return _make_objective


@pytest.fixture(scope="session")
def boost():
    return _boost
