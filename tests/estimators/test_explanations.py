"""What the model says about itself, and missing values at prediction time."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, RankBoost, Stump, Tree

SETTINGS = [
    {},
    {"votes": "real"},
    {"votes": "abstain"},
    {"factorized": False},
    {"learner": Stump(constant=False)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_curves_add_up_to_the_scores(blobs, settings, n_classes):
    X, y = blobs(n_classes=n_classes)
    X[::9, 0] = np.nan
    model = AdaBoostMH(**{"learner": "stump", "n_rounds": 30, **settings}).fit(X, y)
    explanation = model.explain()
    scores = explanation.bias + sum(curve(X[:, curve.column]) for curve in explanation)
    decisions = model.decision_function(X)
    np.testing.assert_allclose(
        scores, decisions[:, None] if n_classes == 2 else decisions, atol=1e-12
    )


def test_curves_are_sorted_and_named(blobs):
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["height", "b", "c", "d"])
    model = AdaBoostMH("stump", n_rounds=40).fit(frame, y)
    explanation = model.explain()
    assert explanation.classes == [0, 1, 2]
    shares = [curve.importance for curve in explanation]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    assert explanation[0].name == "height"
    assert explanation.curve("height") is explanation.curve(0) is explanation[0]
    assert explanation[0].importance == pytest.approx(model.feature_importances_[0])
    assert "height" in repr(explanation)
    with pytest.raises(KeyError, match="weight"):
        explanation.curve("weight")


def test_curves_of_an_array_have_made_up_names(blobs):
    assert AdaBoostMH("stump", n_rounds=5).fit(*blobs()).explain()[0].name == "x0"


@pytest.mark.parametrize(
    "settings", [*SETTINGS, {"learner": "product"}, {"learner": "tree"}], ids=str
)
def test_importances_find_the_column_that_matters(settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.digitize(X[:, 3], [-0.5, 0.5])
    model = AdaBoostMH(**{"learner": "stump", "n_rounds": 20, **settings})
    importances = model.fit(X, y).feature_importances_
    assert importances.shape == (5,)
    assert importances.sum() == pytest.approx(1.0)
    assert (importances >= 0).all()
    assert importances[3] > 0.6


def test_names_are_kept(blobs):
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = AdaBoostMH(n_rounds=3).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert model.n_features_in_ == 4
    assert not hasattr(AdaBoostMH(n_rounds=3).fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("votes", ["discrete", "real", "abstain"])
def test_a_column_without_missing_values_abstains_on_them(blobs, monkeypatch, backend, votes):
    X, y = blobs()
    model = AdaBoostMH("stump", n_rounds=40, votes=votes).fit(X, y)
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    holed = X.copy()
    holed[:, 1] = np.nan
    explanation = model.explain()
    np.testing.assert_array_equal(explanation.curve(1).missing, 0.0)
    others = explanation.bias + sum(
        curve(X[:, curve.column]) for curve in explanation if curve.column != 1
    )
    np.testing.assert_allclose(model.decision_function(holed), others, atol=1e-12)
    *_, last = model.staged_decision_function(holed)
    np.testing.assert_allclose(last, others, atol=1e-12)
    everything = model.decision_function(np.full((1, 4), np.nan))
    np.testing.assert_allclose(everything[0], explanation.bias, atol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_missing_values_that_tell_the_class(monkeypatch, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.arange(80) % 2
    X[y == 1, 1] = np.nan
    model = AdaBoostMH(n_rounds=5).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.predict([[0.0, np.nan], [0.0, 0.3]]).tolist() == [1, 0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_importances_of_the_default_agree_with_shapley_values(n_classes):
    """The mean size of a column's contributions is what other libraries call its importance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    signal = X @ [1.0, 0.5, 0.25, 0.0, 0.0, 0.0] + rng.normal(0, 0.5, 1000)
    model = AdaBoostMH().fit(X, np.digitize(signal, np.linspace(-0.7, 0.7, n_classes - 1)))
    sizes = sum(np.abs(model.explain(X[i : i + 1], X[:50]).shapley_values) for i in range(50))
    shares = sizes.sum(axis=1) / sizes.sum()
    importances = model.feature_importances_
    assert (np.argsort(-importances)[:3] == [0, 1, 2]).all()
    assert np.abs(importances - shares).sum() < 0.25


LOSSES = {  # of the scores of all rows and the codes of their classes, each the mean over rows
    "exponential": lambda F, y: np.mean(np.exp(-np.where(y == 1, F, -F))),
    "logistic": lambda F, y: np.mean(np.log1p(np.exp(-np.where(y == 1, F, -F)))),
    "softmax": lambda F, y: np.mean(np.log(np.exp(F).sum(axis=1)) - F[np.arange(len(y)), y]),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_term_counts_by_the_decrease_of_the_training_loss(blobs, loss):
    X, y = blobs(n_classes=3 if loss == "softmax" else 2)
    learner = Tree(Stump(), max_leaf_nodes=4, criterion="gain")
    settings = {"votes": "real", "loss": loss, "learning_rate": 0.1, "n_rounds": 40}
    model = AdaBoostMH(learner, preset="paper", random_state=0, **settings).fit(X, y)
    losses = np.array([LOSSES[loss](F, y) for F in model.staged_decision_function(X)])
    # Each of the K score columns has a K-th of a row's weight.
    decreases = model.fitted_.decreases * model.fitted_.terms.n_scores
    if loss == "exponential":
        np.testing.assert_allclose(decreases[1:], -np.diff(losses), rtol=1e-9)
        assert decreases.sum() == pytest.approx(1.0 - losses[-1])
    else:
        # The bound takes the weights of the round's beginning for those of its end.
        assert (decreases[1:] <= -np.diff(losses)).all()
        assert (decreases[1:] >= -0.95 * np.diff(losses)).all()


def test_a_term_of_a_ranker_counts_by_the_decrease_of_its_loss():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 4)), np.repeat(np.arange(10), 20)
    grades = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=200), [0.0, 1.0])
    ranker = RankBoost("stump", objective="pairs", n_rounds=20).fit(X, grades, qid)
    bounds = np.append(1.0, ranker.history_["bound"])
    np.testing.assert_allclose(ranker.fitted_.decreases, -np.diff(bounds), rtol=1e-9)
    top = RankBoost("tree", objective="ndcg", n_rounds=20).fit(X, grades, qid).fitted_
    relative = -np.log(top.history["energy"])
    assert (top.decreases > 0).all()
    # Late rounds find fewer pairs that would change the metric than early ones.
    assert top.decreases[10:].sum() / top.decreases.sum() < relative[10:].sum() / relative.sum()


@pytest.mark.parametrize("learner", ["auto", "stump", "product", "tree"])
def test_importances_after_a_warm_start_are_those_of_one_fit(blobs, learner):
    X, y = blobs()
    whole = AdaBoostMH(learner, n_rounds=12, random_state=0).fit(X, y)
    resumed = AdaBoostMH(learner, n_rounds=5, random_state=0, warm_start=True).fit(X, y)
    resumed.set_params(n_rounds=12).fit(X, y)
    np.testing.assert_array_equal(whole.feature_importances_, resumed.feature_importances_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_noisy_copy_of_the_target_is_nearly_all_that_counts(n_classes):
    """Rounds that fit the noise of a nearly perfect model lower the loss by very little."""
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, n_classes, 1000), rng.normal(size=(1000, 10))
    copy = np.where(rng.random(1000) < 0.01, rng.integers(0, n_classes, 1000), y)
    X[:, 4] = copy + rng.normal(0, 0.05, 1000)
    model = AdaBoostMH(random_state=0).fit(X, y)
    assert model.feature_importances_[4] > 0.93


def test_trees_are_explained_by_the_importances_of_columns(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=30, n_bags=1).fit(X, y)
    amounts_by_name = {
        contribution.name: contribution.amount for contribution in model.explain().contributions
    }
    shares = {f"x{j}": share for j, share in enumerate(model.feature_importances_) if share}
    assert amounts_by_name == pytest.approx(shares)
    assert max(group.n_rules for group in model.explain().groups) <= 30
