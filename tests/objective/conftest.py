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


@pytest.fixture(scope="session")
def assert_order_does_not_matter(make_problem):
    """Check that rows in another order, on any backend, give the same rounds, bit for bit."""

    def check(backend, n_rounds, learners=(), votes="real", factorized=True, **settings):
        weighting = "uniform" if settings.get("loss") == "softmax" else "balanced"
        problem = make_problem(3, n=90, n_scores=3, equal_mass=False)
        order = np.random.default_rng(1).permutation(90)
        runs = []
        for rows, backend_of_run in ((problem, ReferenceBackend), (problem.rows(order), backend)):
            targets = _make_targets(0, rows, weighting)
            runs.append(
                _make_objective(rows, targets, votes, factorized, backend_of_run, **settings)
            )
        first, other = runs
        rounds = (_boost(objective, n_rounds, *learners) for objective in runs)
        for a, b in zip(*rounds, strict=True):
            assert np.array_equal(a.weights[:, order], b.weights)
            assert np.array_equal(a.signs[:, order], b.signs)
            assert np.array_equal(a.vote.votes, b.vote.votes)
            sums = [(r.vote.alpha, r.vote.edge, r.vote.energy, *r.progress) for r in (a, b)]
            assert np.array_equal(*sums, equal_nan=True)
        assert np.array_equal(first.state.scores[:, order], other.state.scores)
        for objective in runs:
            objective.refresh()
        assert np.array_equal(first.state.weights[:, order], other.state.weights)

    return check
