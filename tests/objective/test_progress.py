"""What a round reports: errors from the scores, and w'_Sigma (Kégl 2014b eq. 14)."""

import numpy as np
import pytest

from edgewise.theory import pseudo_weight_sum

KINDS = {
    "binary": (1, "multilabel"),
    "multiclass": (4, "multiclass"),
    "multilabel": (3, "multilabel"),
}
VOTES = ["discrete", "real", "abstain"]


@pytest.mark.parametrize("weighting", ["balanced", "label weights", "matrix"])
@pytest.mark.parametrize("equal_mass", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_those_of_the_scores(
    make_problem, make_targets, make_objective, boost, kind, equal_mass, weighting
):
    n_scores, labels = KINDS[kind]
    problem = make_problem(2, n=70, n_scores=n_scores, kind=labels, equal_mass=equal_mass)
    targets = make_targets(2, problem, weighting)
    objective = make_objective(problem, targets)
    first = objective.state.weights.copy()
    for step in boost(objective, 15):
        scores = objective.state.scores
        wrong = np.where(scores > 0, 1, -1) != problem.labels
        if kind == "multiclass":
            lost = scores.argmax(axis=0) != problem.target
        else:
            lost = wrong.any(axis=0)
        assert step.progress.train_error == pytest.approx(
            problem.row_weights[lost].sum(), abs=1e-12
        )
        assert step.progress.hamming_loss == pytest.approx(first[wrong].sum(), abs=1e-12)


@pytest.mark.parametrize("weighting", ["balanced", "label weights", "matrix"])
def test_initial_weights_are_rows_times_labels_normalized(
    make_problem, make_targets, make_objective, weighting
):
    problem = make_problem(4, n=40, n_scores=3, equal_mass=False)
    targets = make_targets(4, problem, weighting)
    expected = np.empty(problem.labels.shape)
    for (k, i), label in np.ndenumerate(problem.labels):
        factor = targets.label_weights[int(label > 0), k]
        expected[k, i] = problem.row_weights[i] * (
            factor if targets.matrix is None else targets.matrix[k, i]
        )
    weights = make_objective(problem, targets).state.weights
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("kind", ["multiclass", "multilabel"])
def test_the_pseudo_weight_is_that_of_theory(
    make_problem, make_targets, make_objective, boost, kind, votes
):
    problem = make_problem(1, n=60, n_scores=5, kind=kind)
    objective = make_objective(problem, make_targets(1, problem), votes)
    minimum = 1.0
    for step in boost(objective, 20):
        signs = np.sign(step.vote.votes)
        expected = pseudo_weight_sum(step.weights.T, problem.labels.T, signs)
        assert step.progress.pseudo_weight == pytest.approx(expected, rel=1e-9)
        assert step.vote.edge - 1e-12 <= step.progress.pseudo_weight <= 1 + 1e-9
        minimum = min(minimum, step.progress.pseudo_weight)
    assert minimum < 0.99


def test_with_one_score_column_nothing_cancels_and_the_pseudo_weight_is_1(
    make_problem, make_targets, make_objective, boost
):
    # |w y v| = w for a single column, and the weights sum to 1.
    problem = make_problem(1, n=60, n_scores=1, kind="multilabel")
    objective = make_objective(problem, make_targets(1, problem))
    actual = [step.progress.pseudo_weight for step in boost(objective, 20)]
    assert actual == pytest.approx([1.0] * 20, abs=1e-9)


def test_with_two_opposite_columns_nothing_cancels_either(
    make_problem, make_targets, make_objective, boost
):
    # Kégl 2014b remark 1: y_1 = -y_2 and v_1 = -v_2.
    problem = make_problem(1, n=60, n_scores=2, kind="multiclass")
    objective = make_objective(problem, make_targets(1, problem))
    for step in boost(objective, 20):
        assert step.vote.votes.sum() == 0
        assert step.progress.pseudo_weight == pytest.approx(1.0, abs=1e-9)


def test_without_a_shared_cut_there_is_no_pseudo_weight(
    make_problem, make_targets, make_objective, boost
):
    problem = make_problem(1, n=60, n_scores=3)
    objective = make_objective(problem, make_targets(1, problem), factorized=False)
    assert all(np.isnan(step.progress.pseudo_weight) for step in boost(objective, 5))
