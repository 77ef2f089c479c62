"""The default of RankBoost: what it compares on held-out queries, and what it tells."""

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import Exhaustive, RankBoost, Stump


@pytest.fixture(scope="module")
def lists():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 10)
    X = rng.normal(size=(300, 4)).round(1)
    y = np.clip(np.rint(2.0 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=300)), 0, 2)
    return X, y, qid


@pytest.fixture(scope="module")
def model(lists):
    X, y, qid = lists
    return RankBoost().fit(X, y, qid=qid)


def test_held_out_queries_choose(model, lists):
    X, y, qid = lists
    settings = model.settings_
    first, best = settings.compared["columns"], max(settings.compared.values())
    # Here trees are better by far: what differs less may be chance.
    assert best > first + 0.07 / np.sqrt(30)
    ways = {"columns", "stumps and columns", "columns, by map", "trees, by ndcg"}
    assert set(settings.compared) == ways
    assert model.fitted_.held_out.best == best
    assert settings.compared[model.fitted_.candidate] == best
    assert settings.rounds_from == "4 folds"
    assert model.n_rounds_ == settings.n_rounds == model.fitted_.held_out.n_rounds
    assert "chosen on 4 folds" in str(settings)
    again = RankBoost(n_jobs=2).fit(X, y, qid=qid)
    assert np.array_equal(again.predict(X), model.predict(X))


def test_a_file_keeps_what_was_chosen(model, lists, tmp_path):
    X, y, qid = lists
    model.save(tmp_path / "m.edgewise")
    loaded = edgewise.load(tmp_path / "m.edgewise")
    assert loaded.settings_ == model.settings_
    loaded.set_params(warm_start=True).fit(X, y, qid=qid)
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_with_a_number_of_rounds_nothing_is_chosen(lists):
    X, y, qid = lists
    plain = RankBoost("stump", n_rounds=9, objective="pairs", learning_rate=0.2)
    expected = plain.fit(X, y, qid=qid).predict(X)
    assert np.array_equal(RankBoost(n_rounds=9).fit(X, y, qid=qid).predict(X), expected)
    assert RankBoost("stump").fit(X, y, qid=qid).n_rounds_ == 500
    trees = RankBoost(objective="map", n_rounds=3).fit(X, y, qid=qid)
    assert trees.settings_.objective == "map"
    assert "max_leaf_nodes=32" in trees.settings_.learner


def test_few_queries_and_pairs_have_stumps(lists):
    X, y, qid = lists
    few = RankBoost().fit(X[:100], y[:100], qid=qid[:100])
    assert (few.fitted_.candidate, few.settings_.rounds_from) == ("", "n_rounds")
    assert isinstance(few.learner_, Stump)
    assert RankBoost().fit_pairs(X, [[0, 1], [2, 3]]).settings_.objective == "pairs"


def test_settings_leave_ways_out(lists):
    X, y, qid = lists

    def compared(y=y, **settings):
        model = RankBoost(**settings).fit(X, y, qid=qid)
        return {model.fitted_.candidate}, model.settings_

    assert compared(objective="ndcg@5")[1].objective == "ndcg@5"
    assert compared(criterion="energy")[0] == {"stumps"}
    assert compared(time_limit=60.0)[0] == {"columns"}
    assert compared(learning_rate=0.4, objective="map")[1].learning_rate == 0.4


def test_many_documents_have_trees_and_no_refit(lists, monkeypatch):
    X, y, qid = lists
    monkeypatch.setattr("edgewise.estimators.candidates.MANY_DOCUMENTS", 100)
    monkeypatch.setattr("edgewise.estimators.judgments.MANY_DOCUMENTS", 100)
    few = RankBoost(time_limit=60.0).fit(X, y, qid=qid)
    assert few.fitted_.candidate == "large trees, by ndcg"
    assert few.settings_.rounds_from == "2 of 4 folds"
    monkeypatch.setattr("edgewise.estimators.candidates._LARGE_TREES_ONLY", 100)
    monkeypatch.setattr("edgewise.estimators.train.NO_REFIT_ROWS", 100)
    many = RankBoost(early_stopping_rounds=5).fit(X, y, qid=qid)
    assert many.fitted_.candidate == "large trees, by ndcg"
    assert many.settings_.rounds_from == "10% of the rows"


def test_an_eval_set_chooses_too(lists):
    X, y, qid = lists
    held_out = (X[200:], y[200:], qid[200:])
    model = RankBoost().fit(X[:200], y[:200], qid=qid[:200], eval_set=held_out)
    assert model.settings_.rounds_from == "eval_set"
    assert model.score(*held_out) == pytest.approx(model.fitted_.best_validation)


@pytest.mark.parametrize("declared", [True, False])
def test_columns_of_words_are_for_stumps_and_trees(lists, declared):
    X, y, qid = lists
    table = pd.DataFrame(X).add_prefix("x")
    table["color"] = np.where(X[:, 0] > 0, 7, 3) if declared else np.where(X[:, 0] > 0, "a", "b")
    model = RankBoost(early_stopping_rounds=3, categorical_features=["color"] * declared)
    model.fit(table, y, qid=qid)
    assert list(model.settings_.compared) == ["stumps", "trees, by ndcg"]


@pytest.mark.parametrize(("fewer_from", "saved"), [(10**6, 0.5), (100, 0.75)])
def test_large_trees_see_a_part_of_many_columns(lists, monkeypatch, fewer_from, saved):
    X, y, qid = lists
    monkeypatch.setattr("edgewise.estimators.candidates._FEWER_COLUMNS", fewer_from)
    monkeypatch.setattr("edgewise.estimators.candidates._LARGE_TREES_ONLY", 100)
    monkeypatch.setattr("edgewise.estimators.train.NO_REFIT_ROWS", 100)
    monkeypatch.setattr("edgewise.estimators.candidates.MANY_DOCUMENTS", 100)
    monkeypatch.setattr("edgewise.estimators.judgments.MANY_DOCUMENTS", 100)
    monkeypatch.setattr("edgewise.estimators.ranking.MIN_COLUMNS_TO_DRAW", 4)
    some, every = (
        RankBoost(early_stopping_rounds=3, search=search).fit(X, y, qid=qid)
        for search in ("exhaustive", Exhaustive())
    )
    # Of four columns, two and one.
    assert some.history_["saved"].max() == saved
    assert not every.history_["saved"].any()
    again = RankBoost(early_stopping_rounds=3, n_jobs=2).fit(X, y, qid=qid)
    assert np.array_equal(again.predict(X), some.predict(X))
