"""The default of RankBoost: what it compares on held-out queries, and what it tells."""

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import Exhaustive, RankBoost, Stump, Tree, metrics
from edgewise.estimators.candidates import Candidate
from edgewise.estimators.fitted import HeldOutRecord
from edgewise.estimators.judgments import JudgedRows
from edgewise.estimators.ranking import resolve_ranker
from edgewise.estimators.train import Choice, _standard_error
from edgewise.model.archive import read, write


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
    # Here trees are better by far.
    assert best > first + 0.1
    ways = ["columns", "stumps and columns", "columns, by ndcg", "trees, by ndcg"]
    assert list(settings.compared) == ways
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


def test_a_file_from_before_presets_loads(model, lists, tmp_path):
    X, y, qid = lists
    model.save(tmp_path / "new.edgewise")
    header, arrays = read(tmp_path / "new.edgewise")
    del header["state"]["fitted_"]["reasons"], header["parameters"]["preset"]
    header["parameters"]["eval_metric"], header["format"] = "map", 1
    write(tmp_path / "old.edgewise", header, arrays)
    old = edgewise.load(tmp_path / "old.edgewise")
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    expected = metrics.mean_average_precision(y, model.predict(X), qid)
    assert old.score(X, y, qid=qid) == expected
    assert "chosen on 4 folds" in str(old.settings_)


@pytest.mark.parametrize(
    ("y", "metric"),
    [
        ([0, 1, 2], "ndcg@10"),
        ([0, 1, 0], "map"),
        ([1, 2, 1], "ndcg@10"),  # every document has a grade above 0
        ([-1, 0, 2], "map"),
        ([0, 5, 90], "disagreement"),  # a gain of 2^90
        ([-3, -2, -2], "disagreement"),
    ],
)
def test_the_grades_decide_the_metric(y, metric):
    X, qid = [[1.0], [2.0], [3.0]], [0, 0, 0]
    model = RankBoost(n_rounds=2).fit(X, y, qid=qid)
    assert model.settings_.eval_metric == model.eval_metric_ == metric
    assert model.settings_.reasons["eval_metric"].startswith("auto, ")
    value = metrics.ranking_metric(metric)(y, model.predict(X), qid)
    assert model.score(X, y, qid=qid) == (-value if metric == "disagreement" else value)
    given = RankBoost(n_rounds=2, eval_metric="auc").fit(X, y, qid=qid).settings_
    assert (given.eval_metric, given.reasons["eval_metric"]) == ("auc", "given")


def test_one_setting_changes_one_thing(model, lists):
    X, y, qid = lists
    decided = model.settings_
    assert model.fitted_.candidate == "trees, by ndcg"
    for same in (
        {"n_rounds": decided.n_rounds},
        {"n_rounds": "auto"},
        {"learner": "tree"},
        {"learner": Tree("stump", 8, "free", "gain")},
        {"objective": "ndcg"},
        {"learning_rate": decided.learning_rate},
        {"eval_metric": "ndcg@10"},
        {"pair_weight": "difference"},
    ):
        other = RankBoost(**same).fit(X, y, qid=qid)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    for name, value in {"n_rounds": 30, "learning_rate": 0.2, "objective": "ndcg@5"}.items():
        settings = RankBoost(**{name: value}).fit(X, y, qid=qid).settings_
        assert getattr(settings, name) == value
        assert len(settings.compared) > 1
        for kept in {"learner", "objective", "learning_rate", "eval_metric"} - {name}:
            assert getattr(settings, kept) == getattr(decided, kept)


@pytest.mark.parametrize("learner", ["stump", "product", "tree", "feature", ["stump", "feature"]])
def test_any_learner_has_its_rounds_chosen(lists, learner):
    X, y, qid = lists
    model = RankBoost(learner, n_rounds="auto", early_stopping_rounds=5).fit(X, y, qid=qid)
    assert model.settings_.rounds_from == "4 folds"
    assert model.settings_.reasons["learner"] == "given"
    again = RankBoost(learner, n_rounds=model.n_rounds_).fit(X, y, qid=qid)
    assert again.settings_.rounds_from == "n_rounds"


def test_smaller_steps_have_more_rounds():
    candidate = Candidate("columns", "feature", learning_rate=0.5, max_rounds=60)
    usual, small, large = (
        resolve_ranker(RankBoost(learning_rate=rate), candidate, 300, 4, 0, True)
        for rate in ("auto", 0.05, 1.0)
    )
    assert small.max_rounds == 10 * usual.max_rounds == 600
    assert small.stopping.patience == 10 * usual.stopping.patience
    assert large.max_rounds == usual.max_rounds


def test_a_candidate_must_be_better_by_a_standard_error():
    first, other = (
        Choice(HeldOutRecord("4 folds", 1), losses=np.array(losses))
        for losses in ([0.5, 0.5, 0.5, 0.5], [0.3, 0.5, 0.3, 0.5])
    )
    assert _standard_error(first, other) == pytest.approx(0.1 / np.sqrt(4))


def test_the_losses_of_held_out_queries_are_of_the_metric(lists, monkeypatch):
    X, y, qid = lists
    choices = []

    def keep(first, other):
        choices.append(other)
        return 0.0

    monkeypatch.setattr("edgewise.estimators.train._standard_error", keep)
    model = RankBoost(n_rounds=3).fit(X, y, qid=qid)
    for choice, value in zip(choices, model.settings_.compared.values(), strict=True):
        assert choice.losses.shape == (30,)
        # Folds have 8, 8, 7 and 7 queries.
        assert -choice.losses.mean() == pytest.approx(value, abs=0.01)


def test_paper_has_the_settings_of_the_thesis(lists):
    X, y, qid = lists
    thesis = RankBoost(
        "stump",
        n_rounds=500,
        learning_rate=1.0,
        objective="pairs",
        pair_weight="equal",
        query_weight="pairs",
        monotonic_cst="none",
        max_bins=65_535,
    )
    paper = RankBoost(preset="paper").fit(X, y, qid=qid)
    np.testing.assert_array_equal(paper.predict(X), thesis.fit(X, y, qid=qid).predict(X))
    assert paper.settings_.compared == {}
    assert paper.settings_.reasons["learning_rate"] == "paper"
    increasing = RankBoost(preset="paper", monotonic_cst="increasing", n_rounds=5)
    explicit = thesis.set_params(monotonic_cst="increasing", n_rounds=5)
    np.testing.assert_array_equal(
        increasing.fit(X, y, qid=qid).predict(X), explicit.fit(X, y, qid=qid).predict(X)
    )


def test_a_warm_start_keeps_the_candidate(lists, model):
    X, y, qid = lists
    resumed = RankBoost(n_rounds=20, warm_start=True).fit(X, y, qid=qid)
    assert resumed.fitted_.candidate == model.fitted_.candidate
    resumed.set_params(n_rounds=40).fit(X, y, qid=qid)
    full = RankBoost(n_rounds=40).fit(X, y, qid=qid)
    np.testing.assert_array_equal(resumed.predict(X), full.predict(X))
    # Then with rounds that held-out queries choose.
    resumed.set_params(n_rounds=None).fit(X, y, qid=qid)
    assert resumed.settings_.rounds_from == "4 folds"
    assert resumed.fitted_.candidate == model.fitted_.candidate


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
    by_map = compared(learning_rate=0.4, objective="map")[1]
    assert (by_map.learning_rate, by_map.objective) == (0.4, "map")
    assert list(by_map.compared) == [
        "columns, by map",
        "stumps and columns, by map",
        "trees, by map",
    ]
    assert "columns, by map" in compared(eval_metric="map")[1].compared


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
    assert len(model.settings_.compared) == 4
    assert model.score(*held_out) == pytest.approx(model.fitted_.best_validation)


def test_with_an_eval_set_a_sample_of_the_queries_compares(lists, monkeypatch):
    X, y, qid = lists
    monkeypatch.setattr("edgewise.estimators.train._COMPARED_ROWS", 150)
    sampled = []
    sample = JudgedRows.sample

    def keep(rows, fraction, seed):
        sampled.append(np.unique(qid[sample(rows, fraction, seed)], return_counts=True)[1])
        return sample(rows, fraction, seed)

    monkeypatch.setattr(JudgedRows, "sample", keep)
    model = RankBoost().fit(X, y, qid=qid, eval_set=(X, y, qid))
    assert len(model.settings_.compared) == 4
    # Half of the 30 queries, with all of their documents.
    assert sampled[0].tolist() == [10] * 15


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
