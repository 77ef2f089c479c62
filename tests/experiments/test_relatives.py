"""The relatives of AdaBoost keep their guarantees."""

import numpy as np
import pytest
from experiments.relatives import ArcX4, BoostByMajority, fit_method, noisy, train_with_objective
from sklearn.datasets import load_breast_cancer, load_iris

from edgewise import AdaBoostMH


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def rights(model, X, y):
    """Return how often each row was right, from the rules one by one."""
    signs = np.where(np.searchsorted(model.classes_, y) > 0, 1, -1)
    staged = np.array([np.ravel(scores) for scores in model.staged_decision_function(X)])
    return (np.diff(staged, axis=0, prepend=0) * signs > 0).sum(axis=0)


def test_every_rule_has_one_vote(cancer):
    model = train_with_objective(AdaBoostMH("stump", preset="paper", n_rounds=15), ArcX4, *cancer)
    assert (model.history_["alpha"] == 1.0).all()
    margins = rights(model, *cancer) * 2 - model.n_rounds_
    np.testing.assert_array_equal(np.abs(model.decision_function(cancer[0])), np.abs(margins))


def test_arc_x4_weighs_by_the_fourth_power_of_mistakes(cancer):
    X, y = cancer
    seen = []

    class Watched(ArcX4):
        def advance(self, rule, vote):
            progress = super().advance(rule, vote)
            seen.append(self.state.weights[0].copy())
            return progress

    model = train_with_objective(AdaBoostMH("stump", preset="paper", n_rounds=10), Watched, X, y)
    mistakes = model.n_rounds_ - rights(model, X, y)
    weights = 1.0 + mistakes.astype(float) ** 4
    np.testing.assert_allclose(seen[-1], weights / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("n_rounds", [11, 31])
def test_boost_by_majority_keeps_its_bound_wherever_the_edges_are_large_enough(
    cancer, gamma, n_rounds
):
    kept = []

    def kind(*given):
        kept.append(BoostByMajority(n_rounds, gamma, *given))
        return kept[-1]

    model = train_with_objective(
        AdaBoostMH("stump", preset="paper", n_rounds=n_rounds), kind, *cancer
    )
    edges = model.history_["edge"]
    assert (edges >= 2 * gamma).all()
    assert model.history_["train_error"][-1] <= kept[0].bound()


def test_the_weights_of_boost_by_majority_are_chances_to_decide():
    binomial = BoostByMajority.__new__(BoostByMajority)
    binomial.n_rounds, binomial.gamma = 3, 0.1
    # Before the last of three rounds only entries that were right once depend on it.
    np.testing.assert_array_equal(
        binomial.weights_of(2, np.array([0, 1, 2])) > 0, [False, True, False]
    )
    # Before the second, those right once need one right and none more: not both others.
    np.testing.assert_allclose(binomial.weights_of(1, np.array([0, 1])), [0.6, 0.4])


def test_the_error_of_filterboost_is_at_most_twice_its_weight(cancer):
    model = fit_method("FilterBoost", *cancer, 20, 0)
    weight, error = model.history_["weight"][1:], model.history_["train_error"][:-1]
    assert (error <= 2 * weight + 1e-9).all()


def test_several_classes_and_noise():
    X, y = load_iris(return_X_y=True)
    wrong = noisy(y, 0.2, np.random.default_rng(0))
    assert np.sum(wrong != y) == 30
    for method in ("arc-x4", "boost-by-majority", "bagging"):
        assert fit_method(method, X, y, 10, 0).score(X, y) > 0.9
