"""Several named sets of validation rows, several metrics, and their histories."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss, roc_auc_score

import edgewise
from edgewise import AdaBoostMH, Callback, EarlyStopping, RankBoost, RankFusion
from edgewise.fusion import RankedLists
from edgewise.metrics import ndcg

SETTINGS = {"n_rounds": 8, "loss": "logistic"}
METRICS = ["log_loss", "error", "roc_auc"]


@pytest.fixture(scope="module")
def parts():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:300]
    X, y = X[order, :6], y[order]
    return (X[:150], y[:150]), (X[150:220], y[150:220]), (X[220:], y[220:])


@pytest.fixture(scope="module")
def model(parts):
    (X, y), *sets = parts
    return AdaBoostMH("stump", preset="paper", eval_metric=METRICS, **SETTINGS).fit(
        X, y, eval_set=sets, eval_names=["near", "far"]
    )


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(160, 4)), np.repeat(np.arange(16), 10)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=160)), 0, 2).astype(int)
    cut = [slice(0, 80), slice(80, 120), slice(120, 160)]
    return [(X[rows], y[rows], qid[rows]) for rows in cut]


def test_every_metric_of_every_set_has_a_history_by_name(model, parts):
    assert [*model.evals_result_] == ["near", "far"]
    for name, (X, y) in zip(["near", "far"], parts[1:], strict=True):
        history = model.evals_result_[name]
        assert [*history] == METRICS
        stages = list(zip(model.staged_predict(X), model.staged_predict_proba(X), strict=True))
        np.testing.assert_allclose(history["error"], [np.mean(p != y) for p, _ in stages])
        np.testing.assert_allclose(history["log_loss"], [log_loss(y, p) for _, p in stages])
        areas = [roc_auc_score(y, scores) for scores in model.staged_decision_function(X)]
        np.testing.assert_allclose(history["roc_auc"], areas)
        np.testing.assert_array_equal(model.history_[f"{name}:error"], history["error"])


def test_the_first_metric_of_the_last_set_decides(model):
    decides = model.evals_result_["far"]["log_loss"]
    np.testing.assert_array_equal(model.history_["validation"], decides)
    assert model.eval_metric_ == "log_loss"
    assert model.best_iteration_ == decides.argmin() + 1


def test_early_stopping_follows_the_deciding_history(parts):
    (X, y), _, (X2, y2) = parts
    stopping = AdaBoostMH("stump", preset="paper", n_rounds=60, eval_metric=["error", "log_loss"])
    stopping.set_params(early_stopping_rounds=3)
    # Of the training rows the error goes on falling; the labels of the last set mean nothing.
    noise = np.random.default_rng(0).permutation(y2)
    model = stopping.fit(X, y, eval_set=[(X, y), (X2, noise)])
    error = model.evals_result_["validation_1"]["error"]
    assert model.stop_reason_ == "early stopping"
    assert model.n_rounds_ == error.argmin() + 1 == model.best_iteration_
    assert len(error) == model.n_rounds_ + 3
    alone = stopping.set_params(eval_metric="error").fit(X, y, eval_set=(X2, noise))
    np.testing.assert_array_equal(model.fitted_.terms.alphas, alone.fitted_.terms.alphas)
    np.testing.assert_array_equal(alone.history_["validation"], error)


def test_watching_more_rows_changes_no_bit_of_the_model(model, parts):
    plain = AdaBoostMH("stump", preset="paper", **SETTINGS).fit(*parts[0])
    np.testing.assert_array_equal(model.fitted_.terms.alphas, plain.fitted_.terms.alphas)
    np.testing.assert_array_equal(model.fitted_.terms.votes, plain.fitted_.terms.votes)


def test_the_default_learner_watches_several_sets(parts):
    (X, y), *sets = parts
    model = AdaBoostMH(n_rounds=12, eval_metric=["log_loss", "error"]).fit(X, y, eval_set=sets)
    for i, (X_set, y_set) in enumerate(sets):
        errors = [np.mean(stage != y_set) for stage in model.staged_predict(X_set)]
        np.testing.assert_allclose(model.evals_result_[f"validation_{i}"]["error"], errors)


def test_one_set_without_a_name_is_called_validation(parts):
    (X, y), held_out, _ = parts
    first = AdaBoostMH("stump", preset="paper", **SETTINGS).fit(X, y, eval_set=[held_out])
    assert {name: [*values] for name, values in first.evals_result_.items()} == {
        "validation": ["error"]
    }
    assert "validation:error" not in first.history_
    split = AdaBoostMH(
        "stump", preset="paper", validation_fraction=0.3, eval_metric=["error", "log_loss"]
    )
    split.set_params(n_rounds=4).fit(X, y)
    assert [*split.evals_result_["validation"]] == ["error", "log_loss"]
    assert AdaBoostMH("stump", preset="paper", n_rounds=2).fit(X, y).evals_result_ == {}


def test_functions_are_metrics_by_their_names(parts):
    def worst(y, scores):
        return float(np.abs(scores - y).max())

    (X, y), held_out, _ = parts
    model = AdaBoostMH("stump", preset="paper", n_rounds=3, eval_metric=["error", worst])
    model.fit(X, y, eval_set=held_out, eval_names=["test"])
    scores = list(model.staged_decision_function(held_out[0]))
    expected = [np.abs(x - held_out[1]).max() for x in scores]
    np.testing.assert_allclose(model.evals_result_["test"]["worst"], expected)


def test_a_file_keeps_the_histories_and_a_warm_start_goes_on(model, parts, tmp_path):
    (X, y), *sets = parts
    model.save(tmp_path / "model.edgewise")
    loaded = edgewise.load(tmp_path / "model.edgewise")
    for name, values in model.evals_result_.items():
        for metric, history in values.items():
            np.testing.assert_array_equal(loaded.evals_result_[name][metric], history)
    names = ["near", "far"]
    loaded.set_params(warm_start=True, n_rounds=12).fit(X, y, eval_set=sets, eval_names=names)
    full = AdaBoostMH("stump", preset="paper", n_rounds=12, loss="logistic", eval_metric=METRICS)
    full.fit(X, y, eval_set=sets, eval_names=names)
    np.testing.assert_array_equal(loaded.history_.to_array(), full.history_.to_array())


def test_a_warm_start_may_watch_other_rows(model, parts):
    (X, y), _, far = parts
    more = AdaBoostMH("stump", preset="paper", warm_start=True, **SETTINGS).set_params(
        eval_metric="error"
    )
    more.fit(X, y, eval_set=far, eval_names=["far"])
    more.set_params(n_rounds=10).fit(X, y, eval_set=(X, y), eval_names=["train"])
    assert np.isnan(more.evals_result_["train"]["error"]).tolist() == [True] * 8 + [False] * 2
    assert np.isnan(more.evals_result_["far"]["error"]).tolist() == [False] * 8 + [True] * 2


def test_a_callback_sees_every_history(parts):
    class Overfits(Callback):
        def on_round(self, run):
            gap = run.history.last("test:error") - run.history.last("train:error")
            return "overfits" if gap > 0.03 and run.history.n_rounds > 2 else None

    (X, y), _, test = parts
    model = AdaBoostMH("tree", preset="paper", n_rounds=40, callbacks=[Overfits()])
    model.fit(X, y, eval_set=[(X, y), test], eval_names=["train", "test"])
    results = model.evals_result_
    gaps = results["test"]["error"] - results["train"]["error"]
    assert model.stop_reason_ == "overfits"
    assert gaps[-1] > 0.03


def test_a_ranker_watches_several_sets_of_queries(documents, tmp_path):
    train, *sets = documents
    model = RankBoost(n_rounds=6, eval_metric=["ndcg@3", "map"], callbacks=[EarlyStopping(50)])
    model.fit(*train, eval_set=sets, eval_names=["old", "new"])
    for name, (X, y, qid) in zip(["old", "new"], sets, strict=True):
        values = model.evals_result_[name]["ndcg@3"]
        stages = [ndcg(y, scores, qid, k=3) for scores in model.staged_predict(X)]
        np.testing.assert_allclose(values[: len(stages)], stages)
    decides = model.evals_result_["new"]["ndcg@3"]
    np.testing.assert_array_equal(model.history_["validation"], decides)
    assert model.n_rounds_ == decides.argmax() + 1
    X, y, qid = sets[1]
    assert model.score(X, y, qid=qid) == pytest.approx(decides.max())
    model.save(tmp_path / "ranker.edgewise")
    loaded = edgewise.load(tmp_path / "ranker.edgewise")
    np.testing.assert_array_equal(
        loaded.evals_result_["old"]["map"], model.evals_result_["old"]["map"]
    )


def test_fused_lists_have_several_sets_too():
    lists = RankedLists(
        [[1, 3], [2, None], [3, 1], [1, 2], [2, 1]], qid=[1, 1, 1, 2, 2], names=["bm25", "url"]
    )
    grades = [0, 0, 1, 0, 1]
    model = RankFusion(n_rounds=3, eval_metric=["map", "ndcg"])
    model.fit(lists, grades, eval_set=[(lists, grades), (lists, grades)], eval_names=["a", "b"])
    assert {name: [*actual] for name, actual in model.evals_result_.items()} == {
        "a": ["map", "ndcg"], "b": ["map", "ndcg"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_names": ["a"]}, "eval_names"),
        ({"eval_set": []}, "eval_set"),
        ({"eval_set": 2, "eval_names": ["a", "b", "c"]}, "eval_names must be 2 different strings"),
        ({"eval_set": 2, "eval_names": "ab"}, "eval_names must be 2 different strings"),
        ({"eval_set": 2, "eval_names": ["a", "a"]}, "eval_names must be 2 different strings"),
    ],
)
def test_names_that_do_not_fit_are_refused(parts, given, message):
    (X, y), *sets = parts
    if given.get("eval_set") == 2:
        given = {**given, "eval_set": sets}
    with pytest.raises(ValueError, match=message):
        AdaBoostMH("stump", preset="paper").fit(X, y, **given)


def test_errors_say_which_set_is_wrong(parts):
    (X, y), (X1, y1), _ = parts
    with pytest.raises(ValueError, match=r"eval_set\[1\] has 5 columns, training had 6"):
        AdaBoostMH("stump", preset="paper").fit(X, y, eval_set=[(X1, y1), (X1[:, :5], y1)])
    with pytest.raises(ValueError, match=r"eval_set\[0\] must be a tuple \(X, y\)"):
        AdaBoostMH("stump", preset="paper").fit(X, y, eval_set=[X1, y1])


@pytest.mark.parametrize(
    ("eval_metric", "message"),
    [
        ([], "eval_metric is an empty list"),
        (["error", "accuracy"], "eval_metric must be one of .* got 'accuracy'"),
        (["error", "error"], "two metrics of the name 'error'"),
    ],
)
def test_metrics_that_do_not_go_together_are_refused(parts, eval_metric, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostMH("stump", preset="paper", eval_metric=eval_metric).fit(*parts[0])
    if "accuracy" in eval_metric:
        with pytest.raises(ValueError, match="eval_metric='error'"):
            RankBoost(eval_metric=eval_metric).fit(*parts[0])


@pytest.mark.parametrize("answer", [None, "low", [0.1, 0.2]], ids=repr)
def test_a_metric_that_returns_no_number_is_named(parts, answer):
    def lift(y, scores):
        return answer

    with pytest.raises(TypeError, match="eval_metric lift must return a number"):
        AdaBoostMH("stump", preset="paper", eval_metric=lift).fit(*parts[0], eval_set=parts[1])


def test_a_function_is_no_callback(parts):
    with pytest.raises(TypeError, match=r"callbacks must be objects of edgewise\.Callback"):
        AdaBoostMH(callbacks=[print]).fit(*parts[0])


def test_the_history_is_a_frame_of_rounds(model):
    frame = model.history_.to_frame()
    assert model.history_.to_frame("polars")["round"].to_list() == frame.index.tolist()
    assert [*frame.columns] == [*model.history_]
    assert frame.index.tolist() == list(range(1, model.history_.n_rounds + 1))
    np.testing.assert_array_equal(frame["far:log_loss"], model.evals_result_["far"]["log_loss"])
