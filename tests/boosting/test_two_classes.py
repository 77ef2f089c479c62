"""ROC AUC and balanced accuracy: as what stops a training, and in the history of two classes."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from edgewise import AdaBoostMH, Checkpoint, RankBoost, load, metrics
from edgewise.boosting import monitor
from edgewise.boosting.monitor import binary_measures
from edgewise.data.partition import Partition

MEASURES = ["roc_auc", "balanced_accuracy"]


def problem(seed, n_rows=120, n_classes=2, noise=1.0):
    """Return rows of few distinct values whose class is partly noise; the first class is common."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n_rows, 4)).astype(float)
    signal = X[:, 0] + X[:, 1] + noise * rng.normal(size=n_rows) * 3
    cuts = np.quantile(signal, np.linspace(0.5, 1.0, n_classes)[:-1])
    return X, np.searchsorted(cuts, signal)


def expected(y, scores, weights=None):
    return {
        "roc_auc": roc_auc_score(y, scores, sample_weight=weights),
        "balanced_accuracy": balanced_accuracy_score(y, scores > 0, sample_weight=weights),
    }


# In the history.


@pytest.mark.parametrize("learner", ["auto", "stump", "product", "tree"])
@pytest.mark.parametrize("votes", ["discrete", "real"])
def test_the_history_has_them_of_training_rows(learner, votes):
    X, y = problem(0)
    model = AdaBoostMH(learner, preset="paper", votes=votes, n_rounds=12).fit(
        X, np.array(["no", "yes"])[y]
    )
    for t, scores in enumerate(model.staged_decision_function(X)):
        for name, value in expected(y, scores).items():
            assert model.history_[name][t] == pytest.approx(value, abs=1e-12)


def test_the_history_has_them_of_validation_rows_where_there_are_any():
    X, y = problem(1)
    new, truth = problem(2)
    model = AdaBoostMH(n_rounds=12).fit(X, y, eval_set=(new, truth))
    for t, scores in enumerate(model.staged_decision_function(new)):
        for name, value in expected(truth, scores).items():
            assert model.history_[name][t] == pytest.approx(value, abs=1e-12)


def test_a_metric_of_ones_own_leaves_them_as_they_are():
    X, y = problem(1)
    names = np.array(["no", "yes"])
    model = AdaBoostMH(n_rounds=5).fit(X, names[y], eval_set=(X, names[y]))
    custom = AdaBoostMH(n_rounds=5, eval_metric=lambda y, scores: float(len(y)))
    custom.fit(X, names[y], eval_set=(X, names[y]))
    for name in MEASURES:
        assert np.isfinite(model.history_[name]).all()
        np.testing.assert_array_equal(custom.history_[name], model.history_[name])


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 5.0}], ids=str)
def test_training_rows_count_by_their_weights(class_weight):
    X, y = problem(3)
    weights = np.random.default_rng(3).random(len(y)) + 0.05
    model = AdaBoostMH(n_rounds=8, n_bags=1, class_weight=class_weight).fit(
        X, y, sample_weight=weights
    )
    for t, scores in enumerate(model.staged_decision_function(X)):
        for name, value in expected(y, scores, weights).items():
            assert model.history_[name][t] == pytest.approx(value, abs=1e-9)


def test_a_row_of_weight_2_is_the_same_as_two_rows():
    X, y = problem(4)
    twice = np.arange(len(y)) % 3 == 0
    weighted = AdaBoostMH("tree", preset="paper", n_rounds=8).fit(
        X, y, sample_weight=np.where(twice, 2.0, 1.0)
    )
    repeated = AdaBoostMH("tree", preset="paper", n_rounds=8).fit(
        np.vstack([X, X[twice]]), np.r_[y, y[twice]]
    )
    for name in MEASURES:
        assert np.isfinite(weighted.history_[name]).all()
        np.testing.assert_allclose(weighted.history_[name], repeated.history_[name], rtol=1e-9)


def test_class_weights_change_neither_measure_of_the_same_scores(monkeypatch):
    X, y = problem(5)

    def refused(*arguments):
        raise AssertionError("rows of a class weigh alike: nothing has to be carried along")

    monkeypatch.setattr("edgewise.metrics.roc._area_of_masses", refused)
    model = AdaBoostMH(n_rounds=6, n_bags=1, class_weight="balanced").fit(X, y)
    last = expected(y, model.decision_function(X))
    for name in MEASURES:
        assert model.history_[name][-1] == pytest.approx(last[name], abs=1e-12)


def test_balanced_accuracy_of_training_rows_takes_no_scores(monkeypatch):
    X, y = problem(5)
    monkeypatch.setattr(monitor, "_MAX_SORTED_ROWS", 0)
    monkeypatch.setattr("edgewise.objective.hamming.Hamming.training_scores", refuse_after_start())
    model = AdaBoostMH("stump", preset="paper", n_rounds=6).fit(X, y)
    expected_value = balanced_accuracy_score(y, model.predict(X))
    assert model.history_["balanced_accuracy"][-1] == pytest.approx(expected_value, abs=1e-12)


def refuse_after_start():
    """Return a method that gives the labels once, and no scores after that."""
    calls = []

    def training_scores(objective):
        calls.append(objective)
        assert len(calls) == 1, "the scores of all rows were copied"
        return np.empty((1, 0)), objective.targets

    return training_scores


def test_other_targets_have_none():
    X, y = problem(6, n_classes=3)
    several = AdaBoostMH(n_rounds=3).fit(X, y, eval_set=(X, y))
    labels = AdaBoostMH(n_rounds=3).fit(X, np.column_stack([y == 0, y == 1]).astype(int))
    ranker = RankBoost(n_rounds=3).fit(X, y)
    for model in (several, labels, ranker):
        assert not set(MEASURES) & set(model.history_)
    for model in (several, labels):
        assert all(np.isnan(model.history_[name]).all() for name in MEASURES)
    with pytest.raises(KeyError, match="roc_auc"):
        ranker.history_["roc_auc"]


def test_validation_rows_of_one_class_have_none():
    X, y = problem(7)
    model = AdaBoostMH(n_rounds=3).fit(X, y, eval_set=(X[y == 0], y[y == 0]))
    assert not set(MEASURES) & set(model.history_)
    assert "validation" in model.history_


@pytest.mark.parametrize("weighted", [False, True])
def test_many_training_rows_are_not_sorted(monkeypatch, weighted):
    X, y = problem(8)
    weights = np.arange(len(y)) + 1.0 if weighted else None
    monkeypatch.setattr(
        monitor, "_MAX_WEIGHTED_ROWS" if weighted else "_MAX_SORTED_ROWS", len(y) - 1
    )
    model = AdaBoostMH(n_rounds=3).fit(X, y, sample_weight=weights)
    assert "roc_auc" not in model.history_
    assert "balanced_accuracy" in model.history_
    # Whoever sets rows aside wants to know.
    validated = AdaBoostMH(n_rounds=3).fit(X, y, sample_weight=weights, eval_set=(X, y))
    assert "roc_auc" in validated.history_


@pytest.mark.parametrize("eval_set", [False, True])
def test_a_run_taken_up_again_measures_the_same(tmp_path, eval_set):
    X, y = problem(9)
    held_out = problem(10) if eval_set else None
    path = tmp_path / "run"
    full = AdaBoostMH(n_rounds=20).fit(X, y, eval_set=held_out)
    AdaBoostMH(n_rounds=11, callbacks=[Checkpoint(path)]).fit(X, y, eval_set=held_out)
    taken_up = load(path).set_params(warm_start=True, n_rounds=20).fit(X, y, eval_set=held_out)
    for name in MEASURES:
        assert np.isfinite(full.history_[name]).all()
        np.testing.assert_array_equal(taken_up.history_[name], full.history_[name])


def test_nothing_is_measured_of_an_objective_of_another_kind():
    class Other:
        def training_scores(self):
            return None

    assert binary_measures(Other(), None, Partition(5))() == {}


# As the validation metric.


@pytest.mark.parametrize("eval_metric", MEASURES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", ["auto", "stump"])
def test_validation_is_that_of_scikit_learn(eval_metric, n_classes, learner):
    X, y = problem(11, n_classes=n_classes)
    new, truth = problem(12, n_classes=n_classes)
    names = np.array(["p", "q", "r"])
    model = AdaBoostMH(learner, preset="paper", n_rounds=10, eval_metric=eval_metric)
    model.fit(X, names[y], eval_set=(new, names[truth]))
    for n_rounds in (1, 4, 10):
        fewer = AdaBoostMH(learner, preset="paper", n_rounds=n_rounds).fit(X, y)
        if eval_metric == "balanced_accuracy":
            value = balanced_accuracy_score(truth, fewer.predict(new))
        elif n_classes == 2:
            value = roc_auc_score(truth, fewer.decision_function(new))
        else:
            p = fewer.predict_proba(new)
            value = roc_auc_score(truth, p, multi_class="ovr", average="macro")
        assert model.history_["validation"][n_rounds - 1] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("eval_metric", MEASURES)
def test_validation_of_labels_is_the_mean_over_them(eval_metric):
    X, y = problem(13, n_classes=3)
    Y = np.column_stack([y == 0, y == 1, X[:, 2] > 4]).astype(int)
    model = AdaBoostMH(n_rounds=5, eval_metric=eval_metric).fit(X, Y, eval_set=(X, Y))
    scores = model.decision_function(X)
    measure = roc_auc_score if eval_metric == "roc_auc" else _balanced
    value = np.mean([measure(Y[:, k], scores[:, k]) for k in range(3)])
    assert model.history_["validation"][-1] == pytest.approx(value, abs=1e-12)


def _balanced(y, scores):
    return balanced_accuracy_score(y, scores > 0)


def test_scores_that_saturate_as_probabilities_are_told_apart():
    y, scores = np.array([0, 0, 1, 1]), np.array([30.0, 31.0, 32.0, 33.0])[:, None]
    assert metrics.roc_auc(y, scores) == 1.0
    saturated = softmax(np.hstack([-scores, scores]), axis=1)[:, 1]
    assert roc_auc_score(y, saturated) == 0.5


@pytest.mark.parametrize("eval_metric", MEASURES)
def test_early_stopping_keeps_the_round_with_the_largest(eval_metric):
    X, y = problem(14, n_rows=200, noise=2.0)
    new, truth = problem(15, n_rows=200, noise=2.0)
    model = AdaBoostMH(
        "stump", preset="paper", n_rounds=300, early_stopping_rounds=5, eval_metric=eval_metric
    )
    model.fit(X, y, eval_set=(new, truth))
    values = model.history_["validation"]
    assert model.stop_reason_ == "early stopping"
    assert model.best_iteration_ == model.n_rounds_ == values.argmax() + 1
    assert len(values) == model.best_iteration_ + 5
    assert values[: model.best_iteration_].max() > values[0]
    np.testing.assert_array_equal(values, model.history_[eval_metric])


@pytest.mark.parametrize("eval_metric", MEASURES)
def test_the_best_round_without_patience(eval_metric, tmp_path):
    X, y = problem(16)
    model = AdaBoostMH("stump", preset="paper", n_rounds=15, eval_metric=eval_metric)
    model.fit(X, y, eval_set=problem(17))
    assert model.best_iteration_ == model.history_["validation"].argmax() + 1
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.eval_metric, loaded.best_iteration_) == (eval_metric, model.best_iteration_)


def test_a_function_says_by_an_attribute_that_larger_is_better():
    X, y = problem(18)

    def wins(truth, scores):
        return next(values)

    wins.larger_is_better = True
    values = iter([0.1, 0.4, 0.3, 0.2, 0.2, 0.9])
    model = AdaBoostMH(n_rounds=50, early_stopping_rounds=3, eval_metric=wins).fit(
        X, y, eval_set=(X, y)
    )
    assert model.best_iteration_ == model.n_rounds_ == 2
    named = AdaBoostMH(n_rounds=9, eval_metric="roc_auc").fit(X, y, eval_set=(X, y))
    by_function = AdaBoostMH(n_rounds=9, eval_metric=metrics.roc_auc).fit(X, y, eval_set=(X, y))
    np.testing.assert_array_equal(named.history_["validation"], by_function.history_["validation"])
    assert named.best_iteration_ == by_function.best_iteration_


def test_an_area_that_is_not_defined_is_refused_before_training():
    X, y = problem(19)
    names = np.array(["no", "yes"])[y]
    model = AdaBoostMH(n_rounds=3, eval_metric="roc_auc")
    with pytest.raises(ValueError, match=r"roc_auc.*every class.*'yes'"):
        model.fit(X, names, eval_set=(X[y == 0], names[y == 0]))
    X, y = problem(19, n_classes=3)
    with pytest.raises(ValueError, match=r"every class.* 1$"):
        model.fit(X, y, eval_set=(X[y != 1], y[y != 1]))
    Y = np.column_stack([y == 0, y == 1]).astype(int)
    with pytest.raises(ValueError, match="with and rows without"):
        model.fit(X, Y, eval_set=(X[y == 0], Y[y == 0]))
    AdaBoostMH(n_rounds=3, eval_metric="balanced_accuracy").fit(X, y, eval_set=(X[:5], y[:5]))


def test_an_unknown_metric_names_those_there_are():
    with pytest.raises(ValueError, match=r"'balanced_accuracy', 'roc_auc', 'log_loss'"):
        AdaBoostMH(eval_metric="auc").fit(*problem(20))
