"""Shorter steps, and base functions searched on some of the rows."""

import numpy as np
import pytest

from edgewise import Exhaustive, Stump, Tree
from edgewise.backend.reference.engine import ReferenceBackend

from ..helpers import Given, search

VOTES = ["discrete", "real", "abstain"]
LOSSES = ["exponential", "logistic"]


@pytest.fixture
def start(make_problem, make_targets, make_objective):
    def make(votes="discrete", backend=ReferenceBackend, n=80, **settings):
        problem = make_problem(4, n=n, n_scores=3)
        return make_objective(problem, make_targets(4, problem), votes, backend=backend, **settings)

    return make


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", [0.5, 0.1, 1e-3])
def test_a_rate_shortens_the_step_and_nothing_else(start, boost, votes, loss, rate):
    (full_step,), (short_step,) = (
        list(boost(start(votes, loss=loss, learning_rate=learning_rate), 1))
        for learning_rate in (1.0, rate)
    )
    assert np.array_equal(short_step.signs, full_step.signs)
    assert np.array_equal(short_step.vote.votes, full_step.vote.votes)
    assert short_step.vote.edge == pytest.approx(full_step.vote.edge, rel=1e-12)
    assert short_step.vote.alpha == rate * full_step.vote.alpha
    # The energy is that of the step really taken.
    assert full_step.vote.energy < short_step.vote.energy < 1


@pytest.mark.parametrize("loss", LOSSES)
def test_a_rate_shortens_the_step_of_real_outputs(start, boost, loss):
    tree = Tree(Stump(), max_leaf_nodes=4)
    objective = start("real", loss=loss, learning_rate=0.25)
    labels = objective.state.labels
    (full_step,) = boost(start("real", loss=loss), 1, tree)
    (short_step,) = boost(objective, 1, tree)
    assert (full_step.vote.alpha, short_step.vote.alpha) == (1.0, 0.25)
    assert np.array_equal(short_step.signs, full_step.signs)
    grown = short_step.weights * np.exp(
        -labels * short_step.signs * short_step.vote.coefficients[:, None]
    )
    assert short_step.vote.energy == pytest.approx(grown.sum(), rel=1e-12)


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_the_exponential_loss_is_the_product_of_the_energies_at_any_rate(start, boost, votes, rate):
    objective = start(votes, learning_rate=rate)
    first, product = objective.state.weights.copy(), 1.0
    for step in boost(objective, 20):
        product *= step.vote.energy
        margins = objective.state.labels * objective.state.scores
        assert (first * np.exp(-margins)).sum() == pytest.approx(product, rel=1e-9)
        assert step.progress.hamming_loss <= product * (1 + 1e-9)


class Watched(ReferenceBackend):
    """Backends that record the rows they search."""

    def __init__(self, table):
        super().__init__(table)
        self.rows = []

    def within(self, problem, rows):
        self.rows.append(rows)
        return super().within(problem, rows)


def drawn(objective, rounds):
    """Return the rows that each of some rounds looks at."""
    learner = Stump().ready(objective.backend.table, Exhaustive(), seed=0)
    objective.backend.rows.clear()
    for t in rounds:
        objective.find(learner, t)
    return [rows.tolist() for rows in objective.backend.rows]


@pytest.mark.parametrize("share", [0.5, 0.3, 0.99])
def test_a_sample_has_its_share_of_the_rows_each_once(start, share):
    samples = drawn(start(backend=Watched, subsample=share), range(50))
    assert len(samples) == 50
    for rows in samples:
        assert sorted(set(rows)) == rows
        assert 0 <= rows[0] <= rows[-1] < 80
    # Each row is drawn by itself.
    deviation = (share * (1 - share) / (50 * 80)) ** 0.5
    assert sum(map(len, samples)) / (50 * 80) == pytest.approx(share, abs=4 * deviation)


def test_a_sample_without_any_row_is_all_rows(start):
    objective = start(backend=Watched, subsample=1e-6)
    assert drawn(objective, range(5)) == []
    learner = Stump().ready(objective.backend.table, Exhaustive(), seed=0)
    assert objective.find(learner, 0) is not None


def test_samples_depend_on_the_seed_and_the_round_only(start, boost):
    settings = {"backend": Watched, "subsample": 0.4}
    first, other = start(seed=7, **settings), start(seed=7, loss="logistic", **settings)
    straight = drawn(first, range(6))
    assert len({tuple(rows) for rows in straight}) == 6
    # In any order, after any number of rounds, and whatever is trained.
    assert drawn(first, [5, 3]) == [straight[5], straight[3]]
    list(boost(other, 4))
    assert drawn(other, [2, 0]) == [straight[2], straight[0]]
    assert drawn(start(seed=8, **settings), range(6)) != straight


def test_all_rows_are_looked_at_where_that_is_asked_for(start):
    objective = start(backend=Watched, subsample=0.4)
    learner = Stump().ready(objective.backend.table, Exhaustive(), seed=0)
    everything = objective.find(learner, 0, everything=True)
    assert objective.backend.rows == []
    assert everything.rule == start().find(learner, 0).rule
    assert drawn(start(backend=Watched), range(3)) == []


def test_a_rule_is_the_best_on_its_sample_and_its_step_that_of_all_rows(start, make_problem):
    objective = start(backend=Watched, subsample=0.5)
    table = objective.backend.table
    learner = Stump().ready(table, Exhaustive(), seed=0)
    result = objective.find(learner, 0)
    (rows,) = objective.backend.rows
    sample = make_problem(4, n=80, n_scores=3).rows(rows)
    sample.weights[:] = objective.state.weights[:, rows]
    best = search(ReferenceBackend(sample.binned), table.splittable, sample.state().whole)
    assert result.edge == best.edges.max()
    outputs = result.rule.outputs(table)
    vote = objective.vote(result)
    full = objective.backend.edges(objective.state, Given(outputs))
    assert vote.edge == pytest.approx(np.abs(full.edges).sum() / full.total, rel=1e-12)


def test_a_rule_that_is_wrong_on_all_rows_together_is_no_step(start):
    # Found on a sample of one row, a cut may have no edge on all of them; then there is no vote.
    objective = start(subsample=1e-6, seed=3)
    learner = Stump().ready(objective.backend.table, Exhaustive(), seed=0)
    for t in range(40):
        best = objective.find(learner, t)
        vote = objective.vote(best)
        assert vote is None or vote.energy < 1
