"""``edgewise show`` on files of any model."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from edgewise import (
    AdaBoostMH,
    BiasBaseline,
    ItemKNN,
    MatrixFactorization,
    Popularity,
    RankBoost,
    RankFusion,
    Ratings,
)
from edgewise.boosting import CLASSIFIER_FIELDS, History
from edgewise.cli import main
from edgewise.fusion import RankedLists

RATINGS = {"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4, "Alien": 1}, "cy": {"Heat": 4}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.edgewise"


@pytest.fixture
def facts(path, success):
    """A function that returns the facts about a saved model by name."""

    def show(model):
        model.save(path)
        lines = success(["show", path]).split("\n\n")[0].splitlines()
        return {line[:16].strip(): line[17:] for line in lines}

    return show


@pytest.fixture
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 15))
    y = np.array(["low", "mid", "high"])[(X[:, 2] > 0).astype(int) + (X[:, 4] > 0)]
    return AdaBoostMH("stump", preset="paper", n_rounds=40).fit(X, y, eval_set=(X, y))


class TestBoosting:
    def test_a_classifier(self, classes, path, facts, success):
        shown, history = facts(classes), classes.history_
        assert shown["estimator"] == "AdaBoostMH, discrete votes, exponential loss"
        assert shown["classes"] == "3: high, low, mid"
        assert shown["learner"] == "Stump()"
        assert shown["training"].startswith("40 rounds")
        assert f"(bound {history.last('bound'):.1%})" in shown["training"]
        assert shown["validation"] == f"{history.last('validation'):.4g} (error)"
        text = success(["show", path])
        j = int(classes.feature_importances_.argmax())
        assert f" x{j} " in text
        assert f" {classes.rules(1)[0]}\n" in text

    def test_as_json(self, classes, path, success):
        classes.save(path)
        shown = json.loads(success(["show", path, "-n", 3, "--json"]))
        assert [rule["rule"] for rule in shown["rules"]] == [str(r) for r in classes.rules(3)]
        importances = np.sort(classes.feature_importances_)[::-1]
        assert [column["importance"] for column in shown["columns"]] == importances[:3].tolist()

    def test_an_additive_model_is_listed_by_its_terms(self, path, success, monkeypatch):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"age": rng.normal(size=200), "city": rng.choice(["Oslo", "Rome"], 200)})
        y = np.where(X.age + (X.city == "Oslo") + rng.normal(size=200) / 2 > 0.5, "rich", "poor")
        model = AdaBoostMH("additive", n_rounds=30, random_state=0).fit(X, y)
        model.save(path)
        text = success(["show", path])
        assert "Strongest rules" not in text
        heading, _, *lines = text.partition("\nTerms, ")[2].splitlines()
        assert heading == "by their share in the scores: above 0 for rich, below for poor"
        assert [line.split("  ")[0].strip() for line in lines] == [t.name for t in model.terms_]
        assert "\u2588" in text
        assert "(Rome) to +" in text
        shown = json.loads(success(["show", path, "--json"]))
        assert shown["terms"] == [
            {"name": t.name, "importance": t.importance} for t in model.terms_
        ]
        model.edit("city", drop=True).save(path)
        assert "Changed by hand\n city: dropped\n" in success(["show", path])
        points = success(["scorecard", path, "--points", 5])
        assert "sum of points" in points
        assert "probability of rich" in points

    def test_only_additive_models_have_scorecards(self, classes, path, failure):
        classes.save(path)
        assert "--learner additive" in failure(["scorecard", path])

    def test_a_ranker(self, facts):
        rng = np.random.default_rng(3)
        X, qid = rng.normal(size=(60, 4)), np.repeat(np.arange(6), 10)
        y = (X[:, 1] > 0).astype(int) + (X[:, 2] > 0)
        model = RankBoost(n_rounds=12).fit(X, y, qid, eval_set=(X, y, qid))
        shown = facts(model)
        assert shown["estimator"] == "RankBoost, rules compared by edge"
        assert shown["pairs"] == "weighted by difference, queries by root"
        assert f"ranking loss {model.history_.last('ranking_loss'):.1%}" in shown["training"]
        assert shown["validation"] == f"{model.history_.last('validation'):.4g} (ndcg@10)"

    def test_a_fusion(self, facts):
        lists = RankedLists([[1, 3], [2, None], [3, 1]], qid=[1, 1, 1], names=["bm25", "url"])
        shown = facts(RankFusion(n_rounds=5).fit(lists, [0, 0, 1]))
        assert shown["lists"] == "2: bm25, url"

    def test_a_model_without_rounds(self, facts):
        shown = facts(RankBoost(n_rounds=5).fit([[1.0], [1.0]], [0, 1]))
        assert shown["training"] == "0 rounds, ended by: no edge"

    @pytest.mark.parametrize("learner", ["product", "tree", "auto"])
    def test_any_learner(self, learner, facts):
        X = np.random.default_rng(2).normal(size=(60, 4))
        model = AdaBoostMH(learner, n_rounds=5).fit(X, (X[:, 1] > 0).astype(int))
        assert facts(model)["learner"] == repr(model.learner_)

    def test_losses_are_those_of_the_best_round(self, facts):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
        model = AdaBoostMH(n_rounds=60, early_stopping_rounds=3)
        model.fit(X[:60], y[:60], eval_set=(X[60:], y[60:]))
        assert model.n_rounds_ < model.history_.n_rounds
        loss = model.history_["hamming_loss"][model.n_rounds_ - 1]
        shown = facts(model)["training"]
        assert f"Hamming loss {loss:.1%}" in shown
        # Above one half it says less than a guess.
        assert model.history_["bound"][model.n_rounds_ - 1] > 0.5
        assert "bound" not in shown

    def test_metrics_of_two_classes(self, facts):
        X = np.random.default_rng(0).normal(size=(60, 3))
        y = (X[:, 0] + X[:, 1] > 0.5).astype(int)
        model = AdaBoostMH("stump", n_rounds=4).fit(X[:40], y[:40])
        shown = facts(model)
        assert shown["ROC AUC"] == f"{model.history_['roc_auc'][-1]:.4g} (training rows)"
        model = AdaBoostMH("stump", n_rounds=4, early_stopping_rounds=2, eval_metric="roc_auc")
        shown = facts(model.fit(X[:40], y[:40], eval_set=(X[40:], y[40:])))
        kept = model.history_["roc_auc"][model.n_rounds_ - 1]
        assert shown["ROC AUC"] == f"{kept:.4g} (validation rows)"
        assert shown["validation"] == f"{kept:.4g} (roc_auc)"
        assert "ROC AUC" not in facts(RankBoost(n_rounds=2).fit(X, y))

    def test_columns_that_rounds_searched(self, facts):
        X = np.random.default_rng(0).normal(size=(30, 3))
        model = AdaBoostMH("stump", n_rounds=2).fit(X, X[:, 0] > 0)
        values = dict.fromkeys(CLASSIFIER_FIELDS, (np.nan, np.nan))
        values |= {"energy": [0.9, 0.9], "columns": [40, 20], "saved": [0.5, 1.0]}
        rows = np.column_stack([values[name] for name in CLASSIFIER_FIELDS])
        model.fitted_ = replace(model.fitted_, history=History.from_array(rows))
        assert facts(model)["columns searched"] == "30.0 per round"

    def test_effects_on_rows(self, path, tmp_path, success):
        frame = pd.DataFrame({"size": np.arange(20.0), "kind": ["a", "b"] * 10})
        model = AdaBoostMH("stump", n_rounds=3).fit(frame, frame["size"] > 9)
        model.save(path)
        frame.to_csv(tmp_path / "rows.csv", index=False)
        shown = json.loads(success(["show", path, tmp_path / "rows.csv", "--json"]))
        (column,) = shown["columns"]
        assert column["output"] == "True"
        for value, mean in column["means"]:
            replaced = frame.assign(size=float(value))
            assert mean == pytest.approx(model.predict_proba(replaced)[:, 1].mean())


class TestRecommenders:
    def test_ratings_and_parameters(self, facts):
        shown = facts(ItemKNN(n_neighbors=2).fit(Ratings.from_dict(RATINGS)))
        assert shown["estimator"] == "ItemKNN, predicts ratings"
        assert shown["ratings"] == "5 from 1 to 5, mean 3.4"
        assert (shown["users"], shown["items"]) == ("3, strings", "3, strings")
        assert "n_neighbors=2, " in shown["parameters"]

    def test_shapes_of_factors(self, facts):
        model = MatrixFactorization(n_factors=2, n_epochs=1, random_state=0)
        shown = facts(model.fit(Ratings.from_dict(RATINGS)))
        assert (shown["user_factors_"], shown["item_factors_"]) == ("3 x 2", "3 x 2")

    def test_scores(self, facts):
        shown = facts(Popularity().fit(Ratings.from_arrays([7, 8], [1, 1])))
        assert shown["estimator"] == "Popularity, predicts scores"
        assert shown["users"] == "2, integers"

    def test_features_and_unknown_items(self, facts):
        films = pd.DataFrame({"item": ["Heat", "Fargo", "Alien", "Up"], "year": [1995, 6, 9, 2009]})
        table = [
            (user, item, value) for user, row in RATINGS.items() for item, value in row.items()
        ]
        frame = pd.DataFrame(table, columns=["user", "item", "rating"])
        shown = facts(BiasBaseline().fit(Ratings.from_frame(frame, item_features=films)))
        assert shown["items"] == "4, strings, 1 of them unknown"
        assert shown["item features"] == "1: year"

    def test_rows_are_refused(self, path, tmp_path, failure):
        ItemKNN().fit(Ratings.from_dict(RATINGS)).save(path)
        (tmp_path / "rows.csv").write_text("a\n1\n")
        assert "DATA" in failure(["show", path, tmp_path / "rows.csv"])


def test_names_cannot_steer_the_terminal(path, capsys):
    frame = pd.DataFrame({"w\x1b[0m": ["u\x1b[2J", "v\r"]})
    AdaBoostMH("stump", n_rounds=2).fit(frame, ["a\x1b[31m", "b\nc"]).save(path)
    assert main(["show", str(path)]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\r" not in text
    assert "2: a?[31m, b c" in text


class TestErrors:
    @pytest.mark.parametrize("name", ["none.edgewise", "folder", "notes.txt", "damaged.edgewise"])
    def test_are_one_line(self, name, classes, tmp_path, failure):
        (tmp_path / "folder").mkdir()
        (tmp_path / "notes.txt").write_text("not a model\nat all\n")
        damaged = tmp_path / "damaged.edgewise"
        classes.save(damaged)
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2] ^= 0xFF
        damaged.write_bytes(content)
        assert name in failure(["show", tmp_path / name])
