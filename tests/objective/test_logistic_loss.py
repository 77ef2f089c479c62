"""The logistic loss: bounded weights, and a bound that decreases in every round."""

import numpy as np
import pytest

from edgewise import AdaBoostMH, Product, Stump, Tree
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend

KINDS = {
    "binary": (1, "multilabel"),
    "multiclass": (4, "multiclass"),
    "multilabel": (3, "multilabel"),
}
# Learner, votes and whether the score columns share a cut; trees with real votes have real outputs.
FORMS = {
    "discrete stumps": (Stump(), "discrete", True),
    "real stumps": (Stump(), "real", True),
    "abstaining stumps": (Stump(), "abstain", True),
    "stump for each": (Stump(), "discrete", False),
    "products": (Product(Stump(), n_terms=2), "discrete", True),
    "discrete trees": (Tree(Stump(), max_leaf_nodes=3), "discrete", True),
    "real trees": (Tree(Stump(), max_leaf_nodes=3), "real", True),
}

every_form = pytest.mark.parametrize("form", FORMS)
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def train(make_problem, make_targets, make_objective, boost):
    """Return (objective, initial weights, rounds as they come)."""

    def start(kind, form, weighting="balanced", n_rounds=12, seed=0, **settings):
        n_scores, labels = KINDS[kind]
        learner, votes, factorized = FORMS[form]
        problem = make_problem(
            seed, n=80, n_scores=n_scores, kind=labels, equal_mass=weighting == "balanced"
        )
        targets = make_targets(seed, problem, weighting)
        settings = {"loss": "logistic", **settings}
        first = make_objective(problem, targets).state.weights.copy()
        objective = make_objective(problem, targets, votes, factorized, **settings)
        return objective, first, boost(objective, n_rounds, learner)

    return start


def margins(objective):
    return objective.state.labels * objective.state.scores


def loss(objective, first):
    """Return the logistic loss in units of what it is without any round."""
    return float((first * np.logaddexp(0.0, -margins(objective))).sum() / np.log(2))


def test_training_starts_with_the_initial_weights(train):
    objective, first, _ = train("multiclass", "discrete stumps")
    assert np.array_equal(objective.state.weights, first)


@every_kind
@every_form
@pytest.mark.parametrize("weighting", ["balanced", "label weights", "matrix"])
def test_weights_are_the_slopes_of_the_loss(train, kind, form, weighting):
    objective, first, rounds = train(kind, form, weighting)
    n_rounds = 0
    for step in rounds:
        slopes = first / (1 + np.exp(margins(objective)))
        np.testing.assert_allclose(objective.state.weights, slopes / slopes.sum(), rtol=1e-12)
        # No entry weighs more than its initial weight.
        assert (slopes <= first).all()
        assert step.progress.weight <= 1
        n_rounds += 1
    assert n_rounds == 12


@every_form
def test_the_weight_of_a_round_is_the_sum_of_the_slopes_before_it(train, form):
    objective, first, rounds = train("multiclass", form)
    weight = 0.5
    for step in rounds:
        assert step.progress.weight == pytest.approx(weight, rel=1e-12)
        weight = (first / (1 + np.exp(margins(objective)))).sum()


@every_kind
@every_form
@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.3}, {"subsample": 0.5}], ids=str)
def test_the_loss_falls_by_at_least_what_the_bound_says(train, kind, form, settings):
    objective, first, rounds = train(kind, form, **settings)
    before = bound = 1.0
    for step in rounds:
        after = loss(objective, first)
        decrease = step.progress.weight * (1 - step.vote.energy) / np.log(2)
        bound -= decrease
        assert step.vote.energy < 1
        assert before - after >= decrease - 1e-12
        assert step.progress.hamming_loss <= after + 1e-12
        assert after <= bound + 1e-12
        before = after
    assert before < 1


@every_form
def test_energy_and_edge_are_what_their_definitions_say(train, form):
    objective, _, rounds = train("multilabel", form, "label weights")
    for step in rounds:
        h = step.vote.coefficients[:, None] * step.signs
        grown = step.weights * np.exp(-h * objective.state.labels)
        assert step.vote.energy == pytest.approx(grown.sum(), rel=1e-10)
        if step.signs.dtype == np.int8:
            right = step.weights * objective.state.labels * step.signs
            edge = (right * np.sign(step.vote.votes)[:, None]).sum()
            assert step.vote.edge == pytest.approx(edge, rel=1e-9)


@every_form
@pytest.mark.parametrize("backend", [ReferenceBackend, NumbaBackend])
def test_permuted_rows_give_the_same_rounds_bit_for_bit(
    assert_order_does_not_matter, form, backend
):
    learner, votes, factorized = FORMS[form]
    settings = {"loss": "logistic", "learning_rate": 0.5}
    assert_order_does_not_matter(backend, 20, [learner], votes, factorized, **settings)


def test_a_refresh_changes_nothing(train):
    objective, _, rounds = train("multiclass", "discrete stumps")
    list(rounds)
    before = objective.state.weights.copy()
    objective.refresh()
    assert np.array_equal(objective.state.weights, before)


@pytest.mark.parametrize("form", ["discrete stumps", "real stumps", "products", "real trees"])
def test_rows_that_are_surely_right_leave_weights_that_are_a_distribution(
    make_problem, make_targets, make_objective, boost, form
):
    # The slopes of all entries fall below 2**-62, the unit of exact sums.
    learner, votes, factorized = FORMS[form]
    problem = make_problem(0, n=40, d=2, n_scores=1, kind="multilabel", missing=False)
    problem.labels[:] = problem.binned.cut(0, 2, 1)
    targets = make_targets(0, problem)
    objective = make_objective(problem, targets, votes, factorized, loss="logistic")
    losses = []
    for step in boost(objective, 100, learner):
        losses.append(step.progress.hamming_loss)
        assert np.isfinite(objective.state.weights).all()
        assert objective.state.weights.sum() == pytest.approx(1.0, abs=1e-3)
    assert losses[-1] == 0.0


@pytest.mark.parametrize("learner", ["stump", "product", "tree", "auto"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.1, "subsample": 0.6}], ids=str)
def test_the_bound_in_the_history_is_never_below_the_hamming_loss(
    blobs, learner, n_classes, settings
):
    X, y = blobs(n_classes=n_classes)
    X[::7, 1] = np.nan
    model = AdaBoostMH(
        learner, preset="paper", n_rounds=40, loss="logistic", random_state=0, **settings
    ).fit(X, y)
    history = model.history_
    assert (history["hamming_loss"] <= history["bound"] + 1e-12).all()
    assert (np.diff(history["bound"]) < 0).all()
    decreases = history["weight"] * (1 - history["energy"]) / np.log(2)
    np.testing.assert_allclose(history["bound"], 1 - np.cumsum(decreases), rtol=1e-12)
    # And it bounds the loss itself.
    signs = np.where(y == 1, 1, -1)[:, None]
    first = np.full(signs.shape, 1 / len(y))
    if n_classes == 3:
        signs = np.where(y[:, None] == np.arange(3), 1, -1)
        first = np.where(signs > 0, 0.5, 0.25) / len(y)
    for bound, scores in zip(history["bound"], model.staged_decision_function(X), strict=True):
        left = (first * np.logaddexp(0.0, -signs * scores.reshape(signs.shape))).sum()
        assert left / np.log(2) <= bound + 1e-12
