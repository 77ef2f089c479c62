"""Rankers that go on, stop early, are interrupted, and are watched."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from edgewise import Callback, Checkpoint, Lazy, RankBoost, Stump, load
from edgewise.data import RawRows, as_table
from edgewise.metrics import disagreement, mean_average_precision, ranking_metric
from edgewise.model import Linear

from ..helpers import assert_same_run


def documents(seed=0, n=120, n_queries=10, noise=2.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = noise * rng.normal(size=(n, 5)) + y[:, None] * [1.0, -0.7, 0.4, 0.0, 0.0]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.integers(n_queries, size=n)


same = partial(
    assert_same_run, names=("edge", "alpha", "energy", "bound", "ranking_loss", "validation")
)


CASES = {
    "default": {},
    "whole steps": {"learning_rate": 1.0},
    "increasing": {"monotonic_cst": "increasing", "learning_rate": 1.0},
    "energy": {"criterion": "energy"},
    "exact": {"step": "exact"},
    "low": {"missing": "low"},
    "abstain": {"learner": Stump(missing="abstain")},
    "product": {"learner": "product"},
    "tree": {"learner": "tree"},
    "feature": {"learner": "feature"},
    "lazy": {"search": Lazy(1), "random_state": 5},
    "sampled": {"subsample": 0.5, "random_state": 5},
    "held out": {"validation_fraction": 0.3, "random_state": 5},
}


@pytest.mark.parametrize(
    ("case", "backend"),
    [*((case, "numpy") for case in CASES), ("default", "numba"), ("increasing", "numba")],
)
def test_twenty_rounds_and_twenty_more_are_forty(monkeypatch, case, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y, qid = documents()
    weights = np.random.default_rng(1).random(120) + 0.5
    full = RankBoost(n_rounds=40, **CASES[case]).fit(X, y, qid, weights)
    resumed = RankBoost(n_rounds=20, warm_start=True, **CASES[case]).fit(X, y, qid, weights)
    assert resumed.n_rounds_ == 20
    resumed.set_params(n_rounds=40).fit(X, y, qid, weights)
    same(resumed, full)
    np.testing.assert_array_equal(resumed.predict(X), full.predict(X))


def test_pairs_go_on_too():
    X, _, _ = documents()
    pairs = np.arange(120).reshape(60, 2)
    full = RankBoost(n_rounds=30).fit_pairs(X, pairs)
    resumed = RankBoost(n_rounds=10, warm_start=True).fit_pairs(X, pairs)
    same(resumed.set_params(n_rounds=30).fit_pairs(X, pairs), full)


def test_long_lists_go_on_too(monkeypatch):
    # Past 256 documents the compiled loss keeps them sorted from round to round.
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    X, y, qid = documents(n=700, n_queries=2)
    full = RankBoost(n_rounds=20).fit(X, y, qid)
    resumed = RankBoost(n_rounds=10, warm_start=True).fit(X, y, qid)
    same(resumed.set_params(n_rounds=20).fit(X, y, qid), full)


@pytest.mark.parametrize("case", ["default", "energy", "product", "tree", "feature", "lazy"])
def test_a_saved_model_goes_on(tmp_path, case):
    X, y, qid = documents()
    options = {key: value for key, value in CASES[case].items() if key != "random_state"}
    model = RankBoost(n_rounds=12, warm_start=True, random_state=0, **options).fit(X, y, qid)
    model.save(tmp_path / "ranker")
    loaded = load(tmp_path / "ranker")
    same(loaded, model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.rank(X, qid), model.rank(X, qid))
    for fitted in (model, loaded):
        fitted.set_params(n_rounds=20, warm_start=True).fit(X, y, qid)
    same(loaded, model)


def test_fewer_rounds_than_there_are():
    X, y, qid = documents()
    model = RankBoost(n_rounds=10, warm_start=True).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"n_rounds.*at least 10.*5"):
        model.set_params(n_rounds=5).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"warm_start: learner"):
        model.set_params(n_rounds=20, learner="tree").fit(X, y, qid)
    assert model.n_rounds_ == 10


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("learner", ["product", "tree"])
def test_rules_can_follow_columns_taken_as_numbers(monkeypatch, tmp_path, learner, backend):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y, qid = documents()
    model = RankBoost("feature", n_rounds=4, warm_start=True, random_state=0).fit(X, y, qid)
    first, loss = model.predict(X), model.history_["ranking_loss"][-1]
    model.set_params(learner=learner, n_rounds=9).fit(X, y, qid)
    rules = [model.fitted_.terms.rule(t) for t in range(9)]
    assert [isinstance(rule, Linear) for rule in rules] == [True] * 4 + [False] * 5
    assert model.history_["ranking_loss"][-1] < loss

    # A column counts as it is; a rule of -1 and +1 as 0 and 1, twice its coefficient.
    expected = np.zeros(len(X))
    for rule, move in zip(rules, model.fitted_.terms.coefficients[:, 0], strict=True):
        outputs = rule.outputs(RawRows(as_table(X)))[0]
        expected += move * (outputs if rule.is_real else outputs + 1)
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-12)
    stages = list(model.staged_predict(X))
    np.testing.assert_allclose(stages[3], first, rtol=0, atol=1e-12)
    np.testing.assert_allclose(stages[-1], expected, rtol=0, atol=1e-12)

    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert [str(rule) for rule in loaded.rules(None)] == [str(rule) for rule in model.rules(None)]


@pytest.mark.parametrize("learner", ["feature", "product", "tree"])
def test_stumps_follow_no_other_rules(learner):
    X, y, qid = documents()
    for before, after in ((learner, "stump"), ("stump", learner)):
        model = RankBoost(before, n_rounds=2, warm_start=True).fit(X, y, qid)
        scores = model.predict(X)
        with pytest.raises(ValueError, match="warm_start: learner must be as in the last fit"):
            model.set_params(learner=after, n_rounds=4).fit(X, y, qid)
        np.testing.assert_array_equal(model.predict(X), scores)


def test_without_warm_start_a_fit_begins_anew():
    X, y, qid = documents()
    model = RankBoost(n_rounds=10).fit(X, y, qid)
    same(model.fit(X, y, qid), RankBoost(n_rounds=10).fit(X, y, qid))


# Validation


@pytest.mark.parametrize(
    "metric", ["map", "ndcg@5", "mrr", "disagreement", "prot", "precision_at_full_recall"]
)
@pytest.mark.parametrize("learner", ["stump", "tree", "feature"])
def test_the_metric_of_every_round(metric, learner):
    X, y, qid = documents()
    later = documents(1)
    model = RankBoost(learner, n_rounds=15, eval_metric=metric)
    model.fit(X, y, qid, eval_set=later)
    measure = ranking_metric(metric)
    for value, scores in zip(
        model.history_["validation"], model.staged_predict(later[0]), strict=True
    ):
        assert value == pytest.approx(measure(later[1], np.round(scores, 9), later[2]), abs=1e-9)
    best = np.argmax if measure.larger_is_better else np.argmin
    assert model.best_iteration_ == best(model.history_["validation"]) + 1
    expected = measure(later[1], np.round(model.predict(later[0]), 9), later[2])
    sign = 1 if measure.larger_is_better else -1
    assert model.score(*later) == pytest.approx(sign * expected, abs=1e-9)


@pytest.mark.parametrize(("metric", "larger"), [("map", True), ("disagreement", False)])
def test_patience(metric, larger):
    X, y, qid = documents(noise=4.0)
    later = documents(1, noise=4.0)
    model = RankBoost(n_rounds=300, early_stopping_rounds=8, eval_metric=metric, learning_rate=1.0)
    model.fit(X, y, qid, eval_set=later)
    seen = model.history_["validation"]
    assert model.stop_reason_ == "early stopping"
    best = int(seen.argmax() if larger else seen.argmin()) + 1
    # The first of the best rounds is kept, and eight more were looked at.
    assert model.n_rounds_ == model.best_iteration_ == best
    assert len(seen) == best + 8
    short = RankBoost(n_rounds=best, eval_metric=metric, learning_rate=1.0).fit(X, y, qid)
    np.testing.assert_array_equal(model.predict(X), short.predict(X))


def test_a_metric_of_ones_own():
    X, y, qid = documents()
    seen = []

    def own(grades, scores, queries):
        seen.append((len(grades), len(scores), len(queries)))
        return mean_average_precision(grades, scores, queries)

    model = RankBoost(n_rounds=12, eval_metric=own).fit(X, y, qid, eval_set=(X, y, qid))
    named = RankBoost(n_rounds=12, eval_metric="map").fit(X, y, qid, eval_set=(X, y, qid))
    np.testing.assert_array_equal(model.history_["validation"], named.history_["validation"])
    assert model.best_iteration_ == named.best_iteration_
    assert set(seen) == {(120, 120, 120)}
    assert model.score(X, y, qid) == named.score(X, y, qid)


def test_held_out_queries_are_not_trained_on():
    X, y, qid = documents()
    model = RankBoost(n_rounds=15, validation_fraction=0.3, random_state=1).fit(X, y, qid)
    rows = None
    # Three of ten queries were set aside: the model is that of the seven others.
    for held in np.array(np.meshgrid(range(10), range(10), range(10))).reshape(3, -1).T:
        if len(set(held)) == 3 and held[0] < held[1] < held[2]:
            kept = ~np.isin(qid, held)
            other = RankBoost(n_rounds=2).fit(X[kept], y[kept], qid[kept])
            if np.array_equal(other.fitted_.terms.alphas, model.fitted_.terms.alphas[:2]):
                rows = kept
                break
    assert rows is not None
    same(
        model,
        RankBoost(n_rounds=15).fit(
            X[rows], y[rows], qid[rows], eval_set=(X[~rows], y[~rows], qid[~rows])
        ),
    )


def test_of_one_query_documents_are_held_out():
    X, y, _ = documents()
    model = RankBoost(n_rounds=5, validation_fraction=0.25, random_state=0).fit(X, y)
    assert "validation" in model.history_
    again = RankBoost(n_rounds=5, validation_fraction=0.25, random_state=0).fit(X, y)
    same(model, again)


def test_validation_by_disagreement_of_the_training_rows_is_their_ranking_loss():
    X, y, qid = documents(n_queries=1)
    model = RankBoost(
        n_rounds=10, eval_metric="disagreement", pair_weight="equal", query_weight="pairs"
    ).fit(X, y, qid, eval_set=(X, y, qid))
    np.testing.assert_allclose(
        model.history_["validation"], model.history_["ranking_loss"], atol=1e-12
    )
    assert disagreement(y, model.predict(X), qid) == pytest.approx(-model.score(X, y, qid))


# Callbacks


class Recorder(Callback):
    def __init__(self, act=None):
        self.act, self.seen = act, []

    def on_start(self, run):
        self.seen.append("start")

    def on_round(self, run):
        self.seen.append(run.history.n_rounds)
        return self.act(run) if self.act else None

    def on_end(self, run):
        self.seen.append("end")


def test_callbacks_see_every_round():
    X, y, qid = documents()
    watcher = Recorder()
    RankBoost(n_rounds=4, callbacks=[watcher]).fit(X, y, qid)
    assert watcher.seen == ["start", 1, 2, 3, 4, "end"]


def test_a_callback_may_stop():
    X, y, qid = documents()

    def enough(run):
        return "good enough" if run.history.last("ranking_loss") < 0.3 else None

    model = RankBoost(n_rounds=300, callbacks=[Recorder(enough)]).fit(X, y, qid)
    assert model.stop_reason_ == "good enough"
    assert model.history_["ranking_loss"][-1] < 0.3 <= model.history_["ranking_loss"][:-1].min()


def test_an_interrupt_keeps_the_rounds_so_far(caplog):
    X, y, qid = documents()

    def interrupt(run):
        if run.history.n_rounds == 7:
            raise KeyboardInterrupt

    model = RankBoost(n_rounds=50, callbacks=[Recorder(interrupt)]).fit(X, y, qid)
    assert model.stop_reason_ == "interrupted"
    assert model.n_rounds_ == 7
    assert "interrupted after 7 rounds" in caplog.text
    same(model, RankBoost(n_rounds=7).fit(X, y, qid))
    model.set_params(n_rounds=20, warm_start=True, callbacks=None).fit(X, y, qid)
    same(model, RankBoost(n_rounds=20).fit(X, y, qid))


def test_an_error_in_a_callback_leaves_the_model_as_it_was():
    X, y, qid = documents()

    def fail(run):
        raise RuntimeError("disk full")

    model = RankBoost(n_rounds=6).fit(X, y, qid)
    before = pickle.dumps(model.fitted_.terms)
    model.set_params(callbacks=[Recorder(fail)])
    with pytest.raises(RuntimeError, match="disk full"):
        model.fit(X[:, :2], y, qid)
    assert pickle.dumps(model.fitted_.terms) == before
    assert model.n_features_in_ == 5
    assert len(model.predict(X)) == 120


def test_checkpoints_are_models(tmp_path):
    X, y, qid = documents()
    path = tmp_path / "ranker"
    model = RankBoost(
        n_rounds=40, early_stopping_rounds=3, learning_rate=1.0, callbacks=[Checkpoint(path)]
    ).fit(X, y, qid, eval_set=documents(1))
    saved = load(path)
    assert saved.n_rounds_ == model.n_rounds_ < model.history_.n_rounds
    assert (saved.best_iteration_, saved.stop_reason_) == (
        model.best_iteration_, model.stop_reason_,
    )  # fmt: skip
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))


def test_time_limit():
    X, y, qid = documents()
    model = RankBoost(n_rounds=10**6, time_limit=0.2).fit(X, y, qid)
    assert model.stop_reason_ in ("time limit", "no edge")
    assert 0 < model.n_rounds_ < 10**6


def test_progress_is_shown_on_request(capsys):
    X, y, qid = documents()
    RankBoost(n_rounds=3, verbose=1).fit(X, y, qid)
    shown = capsys.readouterr()
    assert shown.err + shown.out
    RankBoost(n_rounds=3).fit(X, y, qid)
    quiet = capsys.readouterr()
    assert quiet.err + quiet.out == ""


# Why training ends


def test_training_ends_without_an_edge(caplog):
    X, y = [[1.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1]
    model = RankBoost(n_rounds=10).fit(X, y)
    assert (model.n_rounds_, model.stop_reason_) == (0, "no edge")
    assert "no rule has an edge" in caplog.text
    assert model.predict(X).tolist() == [0.0] * 4
    assert model.rank(X).tolist() == [1, 2, 3, 4]
    assert list(model.staged_predict(X)) == []


@pytest.mark.parametrize("options", [
    {}, {"step": "exact"}, {"learner": "feature"}, {"learner": "tree"},
    {"criterion": "energy"},
], ids=str)  # fmt: skip
def test_pairs_that_are_all_in_order_train_on_with_finite_steps(options):
    X, y = np.arange(6.0)[:, None], np.arange(6)
    model = RankBoost(n_rounds=60, learning_rate=1.0, **options).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.history_["ranking_loss"][-1] == 0.0
    assert (np.diff(model.predict(X)) > 0).all()
    assert model.stop_reason_ == "n_rounds"
    assert (model.history_["energy"] < 1).all()


@pytest.mark.filterwarnings("error")
def test_training_ends_where_every_pair_is_right_by_a_wide_margin():
    X, y = np.arange(6.0)[:, None], np.arange(6)
    model = RankBoost(n_rounds=2000, learning_rate=1.0, step="exact").fit(X, y)
    assert model.stop_reason_ in ("fitted", "no edge")
    assert (np.abs(model.history_["edge"]) <= 1.0).all()
    assert model.history_["bound"][-1] < 1e-100


@pytest.mark.parametrize("options", [
    {}, {"learner": "feature"},
    {"step": "exact"},
    {"criterion": "energy"},
], ids=str)  # fmt: skip
def test_a_rule_that_orders_few_pairs_rightly_lowers_the_loss(options):
    # Of the heavy pair no column knows anything.
    X = [[0.0], [1.0], [5.0], [5.0]]
    model = RankBoost(n_rounds=5, **options).fit_pairs(X, [[0, 1], [2, 3]], [1.0, 2000.0])
    assert model.n_rounds_ == 5
    assert model.predict([[1.0]])[0] > model.predict([[0.0]])[0]


# Copies


def test_clone_and_pickle():
    X, y, qid = documents()
    model = RankBoost("product", n_rounds=5, monotonic_cst="none", random_state=3).fit(X, y, qid)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "terms_")
    same(fresh.fit(X, y, qid), model)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_parameters_are_set_and_listed():
    model = RankBoost().set_params(n_rounds=7, criterion="energy", learner=Stump(missing="low"))
    params = model.get_params()
    assert (params["n_rounds"], params["criterion"]) == (7, "energy")
    assert params["learner__missing"] == "low"
    assert RankBoost(**{k: v for k, v in params.items() if "__" not in k}).get_params() == params


def test_a_refit_without_names_forgets_those_of_the_last():
    X, y, qid = documents()
    model = RankBoost(n_rounds=5).fit(pd.DataFrame(X, columns=list("abcde")), y, qid)
    assert model.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(model.fit(X, y, qid), "feature_names_in_")


def test_the_data_are_not_changed():
    X, y, qid = documents()
    weights = np.ones(120)
    before = [values.copy() for values in (X, y, qid, weights)]
    for options in ({}, {"criterion": "energy"}, {"learner": "feature"}):
        RankBoost(n_rounds=5, **options).fit(X, y, qid, weights)
    for values, copy in zip((X, y, qid, weights), before, strict=True):
        np.testing.assert_array_equal(values, copy)
