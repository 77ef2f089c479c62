"""The exponential loss decreases by the factor Z in every round.

Kégl and Busa-Fekete 2009a section 2.1.
"""

import numpy as np
import pytest

from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.learners import FoundRule
from edgewise.model import EVERYWHERE

from ..helpers import Given

VOTES = ["discrete", "real", "abstain"]
KINDS = {
    "binary": (1, "multilabel"),
    "multiclass": (4, "multiclass"),
    "multilabel": (3, "multilabel"),
}

# Votes on signs follow from the rows; what was found is asked for real outputs only.
FOUND = FoundRule(EVERYWHERE, 0, 0.0, None)

every_rule = pytest.mark.parametrize("votes", VOTES)
either_form = pytest.mark.parametrize("factorized", [True, False])
every_kind = pytest.mark.parametrize("kind", KINDS)


def initial_weights(targets):
    """Return W1 as the targets define it, normalized."""
    if targets.matrix is not None:
        factors = targets.matrix
    else:
        low, high = targets.label_weights[:, :, None]
        factors = np.where(targets.labels > 0, high, low)
    weights = targets.row_weights * factors
    return weights / weights.sum()


@pytest.fixture
def train(make_problem, make_targets, make_objective, boost):
    """Return (objective, initial weights, rounds as they come)."""

    def start(kind, votes, factorized, weighting="balanced", n_rounds=25, seed=0):
        n_scores, labels = KINDS[kind]
        problem = make_problem(
            seed, n=80, n_scores=n_scores, kind=labels, equal_mass=weighting == "balanced"
        )
        targets = make_targets(seed, problem, weighting)
        objective = make_objective(problem, targets, votes, factorized)
        return objective, initial_weights(targets), boost(objective, n_rounds)

    return start


def loss(objective, weights):
    state = objective.state
    return float((weights * np.exp(-state.scores * state.labels)).sum())


@every_kind
@either_form
@every_rule
@pytest.mark.parametrize("weighting", ["balanced", "matrix"])
def test_the_loss_is_the_product_of_the_energies_and_falls(
    train, kind, votes, factorized, weighting
):
    objective, first, rounds = train(kind, votes, factorized, weighting)
    product, before, n_rounds = 1.0, 1.0, 0
    for step in rounds:
        product *= step.vote.energy
        after = loss(objective, first)
        assert after == pytest.approx(product, rel=1e-9)
        assert after < before
        before, n_rounds = after, n_rounds + 1
    assert n_rounds == 25


@every_kind
@either_form
@every_rule
def test_energy_edge_and_weights_are_what_their_definitions_say(train, kind, votes, factorized):
    objective, _, rounds = train(kind, votes, factorized, "label weights")
    for step in rounds:
        labels, h = objective.state.labels, step.vote.coefficients[:, None] * step.signs
        unnormalized = step.weights * np.exp(-h * labels)
        edge = (step.weights * labels * step.signs * np.sign(step.vote.votes)[:, None]).sum()
        assert step.vote.energy == pytest.approx(unnormalized.sum(), rel=1e-12)
        assert step.vote.edge == pytest.approx(edge, rel=1e-9)
        np.testing.assert_allclose(
            objective.state.weights, unnormalized / unnormalized.sum(), rtol=1e-12, atol=1e-300
        )


@every_kind
@either_form
def test_discrete_step_and_energy_follow_from_the_edge(train, kind, factorized):
    _, _, rounds = train(kind, "discrete", factorized)
    for step in rounds:
        g = step.vote.edge
        assert 0 < g < 1
        assert set(step.vote.votes.tolist()) <= {-1.0, 1.0}
        assert step.vote.alpha == pytest.approx(0.5 * np.log((1 + g) / (1 - g)), rel=1e-10)
        assert step.vote.energy == pytest.approx(np.sqrt(1 - g * g), rel=1e-12)


@every_kind
@either_form
def test_real_votes_are_half_the_log_odds(train, kind, factorized):
    objective, _, rounds = train(kind, "real", factorized)
    for step in rounds:
        right = (step.signs * objective.state.labels) > 0
        plus, minus = (step.weights * right).sum(axis=1), (step.weights * ~right).sum(axis=1)
        # Sides lighter than an average entry are smoothed; see the test of a perfect cut.
        usual = np.minimum(plus, minus) > 1.001 * objective.floor
        expected = 0.5 * np.log(plus[usual] / minus[usual])
        np.testing.assert_allclose(step.vote.votes[usual], expected, rtol=1e-9, atol=1e-13)
        assert step.vote.alpha == 1.0


@pytest.mark.parametrize("n", [30, 32])
@pytest.mark.parametrize("right", [[1], [-1], [1, -1, 1]])
@every_rule
def test_a_perfect_cut_has_a_finite_step(
    make_problem, make_targets, make_objective, votes, right, n
):
    problem = make_problem(0, n=n, d=2, n_scores=len(right), kind="multilabel")
    cut = problem.binned.cut(0, 2, 1)
    problem.labels[:] = np.array(right)[:, None] * cut
    objective = make_objective(problem, make_targets(0, problem), votes)
    energies = []
    for _ in range(50):
        vote = objective.vote(FOUND._replace(rule=Given(cut)))
        assert vote.edge == pytest.approx(1.0, rel=1e-12)
        assert 0 < vote.alpha < np.inf
        assert np.isfinite(vote.coefficients).all()
        assert np.array_equal(np.sign(vote.votes), right)
        again = objective.evaluate_vote(Given(cut), vote.alpha, vote.votes)
        assert (again.edge, again.energy) == pytest.approx((vote.edge, vote.energy), rel=1e-12)
        progress = objective.advance(Given(cut), vote)
        energies.append(vote.energy)
    assert max(energies) < 1
    assert (progress.train_error, progress.hamming_loss) == (0.0, 0.0)
    assert np.isfinite(objective.state.weights).all()
    assert objective.state.weights.sum() == pytest.approx(1.0, abs=1e-9)


@every_rule
@either_form
def test_no_votes_where_every_row_has_its_opposite(
    make_problem, make_targets, make_objective, boost, votes, factorized
):
    for seed in range(20):
        half = make_problem(seed, n=20, n_scores=3, kind="multilabel", equal_mass=False)
        problem = half.rows(np.tile(np.arange(20), 2))
        problem.labels[:, 20:] *= -1
        problem.row_weights[:] /= 2
        targets = make_targets(seed, problem, "uniform")
        objective = make_objective(problem, targets, votes, factorized)
        assert list(boost(objective, 1)) == []
        cut = problem.binned.cut(0, 1, 1)
        assert objective.vote(FOUND._replace(rule=Given(cut))) is None


@either_form
@every_rule
def test_refreshed_weights_are_those_kept_by_multiplication(train, votes, factorized):
    objective, first, rounds = train("multiclass", votes, factorized, n_rounds=200)
    assert len(list(rounds)) == 200
    state = objective.state
    kept = state.weights.copy()
    objective.refresh()
    np.testing.assert_allclose(state.weights, kept, rtol=1e-9, atol=1e-15)
    exact = first * np.exp(-state.scores * state.labels)
    np.testing.assert_allclose(state.weights, exact / exact.sum(), rtol=1e-9)


def test_refresh_brings_back_weights_that_vanished(make_problem, make_targets, make_objective):
    problem = make_problem(0, n=30, n_scores=3)
    objective = make_objective(problem, make_targets(0, problem))
    state = objective.state
    first = state.weights.copy()
    state.scores[:] = 600.0 * state.labels
    state.weights[:] = 0.0
    objective.refresh()
    np.testing.assert_allclose(state.weights, first, rtol=1e-12)
    state.scores[:] = 0.0
    state.scores[0, 0] = -800.0 * state.labels[0, 0]
    objective.refresh()
    assert state.weights[0, 0] == pytest.approx(1.0)
    assert np.isfinite(state.weights).all()


@either_form
@every_rule
@pytest.mark.parametrize("backend", [ReferenceBackend, NumbaBackend])
def test_permuted_rows_give_the_same_rounds_bit_for_bit(
    assert_order_does_not_matter, votes, factorized, backend
):
    assert_order_does_not_matter(backend, 30, (), votes, factorized)


@every_rule
def test_retaken_votes_have_the_energy_of_the_weights_they_meet(train, votes):
    objective, _, rounds = train("multiclass", votes, True)
    steps = list(rounds)
    weights, labels = objective.state.weights, objective.state.labels
    again = objective.evaluate_vote(Given(steps[0].signs), steps[0].vote.alpha, steps[0].vote.votes)
    h = again.coefficients[:, None] * steps[0].signs
    assert np.array_equal(again.coefficients, steps[0].vote.coefficients)
    assert again.energy == pytest.approx((weights * np.exp(-h * labels)).sum(), rel=1e-12)
