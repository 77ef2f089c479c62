"""The exponential loss with outputs of any size, alone and in turn with signs."""

import numpy as np
import pytest

from edgewise import Indicator, Stump, Tree
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.objective import Hamming, HammingSettings

KINDS = {
    "binary": (1, "multilabel"),
    "multiclass": (4, "multiclass"),
    "multilabel": (3, "multilabel"),
}
TREE = Tree(Stump(), max_leaf_nodes=3)
TURNS = {
    "trees": [TREE],
    "trees and stumps": [TREE, Stump()],
    "stumps first": [Stump()] * 3 + [TREE],
}


@pytest.fixture
def train(make_problem, make_targets, make_objective, boost):
    def start(kind, turns, weighting="balanced", n_rounds=15, **settings):
        n_scores, labels = KINDS[kind]
        problem = make_problem(
            1, n=80, n_scores=n_scores, kind=labels, equal_mass=weighting == "balanced"
        )
        objective = make_objective(problem, make_targets(1, problem, weighting), "real", **settings)
        first = objective.state.weights.copy()
        return objective, first, boost(objective, n_rounds, *TURNS[turns])

    return start


def unnormalized(objective, first):
    return first * np.exp(-objective.state.labels * objective.state.scores)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("weighting", ["balanced", "label weights", "matrix"])
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_weights_stay_normalized_and_are_those_of_the_scores(train, kind, turns, weighting, rate):
    objective, first, rounds = train(kind, turns, weighting, learning_rate=rate)
    real, product = 0, 1.0
    for step in rounds:
        real += step.signs.dtype == np.float64
        product *= step.vote.energy
        grown = unnormalized(objective, first)
        assert objective.state.weights.sum() == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(
            objective.state.weights, grown / grown.sum(), rtol=1e-9, atol=1e-15
        )
        assert grown.sum() == pytest.approx(product, rel=1e-9)
        assert step.progress.hamming_loss <= product * (1 + 1e-9)
    assert real >= 3


@pytest.mark.parametrize("turns", TURNS)
def test_a_refresh_between_steps_changes_nothing(train, turns):
    objective, first, rounds = train("multiclass", turns)
    for _ in rounds:
        kept = objective.state.weights.copy()
        objective.refresh()
        np.testing.assert_allclose(objective.state.weights, kept, rtol=1e-9, atol=1e-15)
    grown = unnormalized(objective, first)
    np.testing.assert_allclose(objective.state.weights, grown / grown.sum(), rtol=1e-9)


def test_real_outputs_have_no_pseudo_weight(train):
    _, _, rounds = train("multiclass", "trees and stumps")
    for step in rounds:
        assert np.isnan(step.progress.pseudo_weight) == (step.signs.dtype == np.float64)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("backend", [ReferenceBackend, NumbaBackend])
def test_permuted_rows_give_the_same_rounds_bit_for_bit(
    assert_order_does_not_matter, turns, backend
):
    assert_order_does_not_matter(backend, 20, TURNS[turns])


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("backend", [ReferenceBackend, NumbaBackend])
def test_numbers_for_the_values_of_a_categorical_column(
    make_problem, make_targets, boost, loss, backend
):
    problem = make_problem(5, n=120, n_scores=3)
    values = np.random.default_rng(5).integers(6, size=(120, 2)) + problem.target[:, None] % 2
    values[::9, 1] = -1
    table = as_table(np.where(values < 0, np.nan, values)).with_categorical([0, 1])
    binned = fit_encode(table, None, 256)
    targets = make_targets(5, problem)
    objective = Hamming(backend(binned), targets, HammingSettings("real", loss=loss))
    first = objective.state.weights.copy()
    n_rounds = 0
    for step in boost(objective, 8, Indicator(values="real")):
        assert step.signs.dtype == np.float64
        assert step.signs.shape == (1, 120)
        margins = objective.state.labels * objective.state.scores
        grown = first / (1 + np.exp(margins)) if loss == "logistic" else first * np.exp(-margins)
        np.testing.assert_allclose(objective.state.weights, grown / grown.sum(), rtol=1e-9)
        n_rounds += 1
    assert n_rounds >= 3
