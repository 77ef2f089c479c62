"""The sequence that all estimators train by: learners by name, bins, and what a fit leaves."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from edgewise import AdaBoostMH, Indicator, Product, RankBoost, Stump, Tree
from edgewise.data import as_table, fit_encode

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.3)
QID = np.repeat(np.arange(15), 20)
KINDS = [AdaBoostMH, RankBoost]


def fitted(kind, rows, y=Y, **settings):
    """Return a trained model of the papers; a ranker has queries."""
    if kind is AdaBoostMH:
        settings["preset"] = "paper"
    model = kind(n_rounds=8, random_state=0, **settings)
    return model.fit(rows, y, qid=QID) if kind is RankBoost else model.fit(rows, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "learner"),
    [("product", Product(Stump(), n_terms=3)), ("tree", Tree(Stump(), max_leaf_nodes=8))],
)
def test_a_name_means_the_same_learner_in_both(kind, name, learner):
    named, explicit = fitted(kind, X, learner=name), fitted(kind, X, learner=learner)
    assert named.learner_.get_params() == explicit.learner_.get_params() or str(
        named.learner_
    ) == str(explicit.learner_)
    np.testing.assert_array_equal(named.fitted_.terms.alphas, explicit.fitted_.terms.alphas)
    assert [str(rule) for rule in named.rules()] == [str(rule) for rule in explicit.rules()]


@pytest.mark.parametrize("kind", KINDS)
def test_names_depend_on_the_kinds_of_columns(kind):
    coded = np.column_stack([X[:, 0], RNG.integers(0, 4, len(X))])
    mixed = fitted(kind, coded, learner="product", categorical_features=[1])
    assert [type(learner) for learner in mixed.learner_.simple_learners()] == [Stump, Indicator]
    names = fitted(kind, coded[:, 1:], learner="tree", categorical_features=[0])
    assert [type(learner) for learner in names.learner_.simple_learners()] == [Indicator]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_bins_can_be_given(kind, learner):
    binned = fit_encode(as_table(X), None, 16)
    from_bins = fitted(kind, binned, learner=learner)
    from_rows = fitted(kind, X, learner=learner, max_bins=16)
    np.testing.assert_array_equal(from_bins.fitted_.terms.alphas, from_rows.fitted_.terms.alphas)
    predict = "decision_function" if kind is AdaBoostMH else "predict"
    np.testing.assert_array_equal(getattr(from_bins, predict)(X), getattr(from_rows, predict)(X))
    assert from_bins.n_features_in_ == 5


def test_given_bins_are_the_ones_used():
    binned = fit_encode(as_table(X), None, 2)
    model = AdaBoostMH("stump", preset="paper", n_rounds=20).fit(binned, Y)
    allowed = [set(binned.thresholds(j).tolist()) for j in range(5)]
    cuts = [model.fitted_.terms.rule(t) for t in range(model.n_rounds_)]
    assert any(cut.column >= 0 for cut in cuts)
    assert all(cut.threshold in allowed[cut.column] for cut in cuts if cut.column >= 0)


def test_rows_that_are_left_out_have_bins_of_their_own():
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    binned = fit_encode(as_table(X), None, 256)
    from_bins = AdaBoostMH("stump", preset="paper", n_rounds=8).fit(
        binned, Y, sample_weight=weights
    )
    kept = weights > 0
    from_rows = AdaBoostMH("stump", preset="paper", n_rounds=8).fit(X[kept], Y[kept])
    np.testing.assert_array_equal(from_bins.decision_function(X), from_rows.decision_function(X))
    split = AdaBoostMH("stump", preset="paper", n_rounds=8, validation_fraction=0.3, random_state=1)
    same = split.fit(binned, Y).decision_function(X)
    np.testing.assert_array_equal(same, split.fit(X, Y).decision_function(X))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_fit_leaves_cannot_be_changed(kind):
    model = fitted(kind, X)
    for field in fields(model.fitted_):
        with pytest.raises(FrozenInstanceError):
            setattr(model.fitted_, field.name, None)
    with pytest.raises(AttributeError):
        model.fitted_.terms = None


@pytest.mark.parametrize("kind", KINDS)
def test_public_attributes_come_with_a_fit(kind):
    model = kind()
    names = ["history_", "learner_", "n_rounds_", "best_iteration_", "stop_reason_",
             "n_features_in_", "feature_names_in_"]  # fmt: skip
    names += ["classes_", "votes_", "loss_", "learning_rate_"] * (kind is AdaBoostMH)
    assert not any(hasattr(model, name) for name in names)
    model = fitted(kind, X)
    assert all(hasattr(model, name) for name in names if name != "feature_names_in_")
    assert not hasattr(model, "feature_names_in_")
    assert model.n_rounds_ == len(model.fitted_.terms) == model.best_iteration_ == 8
    assert model.stop_reason_ == "n_rounds"
