"""``edgewise info`` on files of recommenders, and what it tells of rounds and of two classes.

Other models are in ``test_cli.py``.
"""

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
    Ratings,
)
from edgewise.boosting import CLASSIFYING, History

RATINGS = {"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4, "Alien": 1}, "cy": {"Heat": 4}}


def facts_of(model, path, success, capsys):
    """Return the lines that `edgewise info` prints for a model, by name."""
    model.save(path)
    lines = success(["info", path], capsys).splitlines()
    return {line[:16].strip(): line[17:] for line in lines}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "films.edgewise"


def test_tells_what_a_recommender_knows(path, success, capsys):
    model = ItemKNN(n_neighbors=2).fit(Ratings.from_dict(RATINGS))
    facts = facts_of(model, path, success, capsys)
    assert facts["estimator"] == "ItemKNN, which predicts ratings"
    assert facts["ratings"] == "5 from 1 to 5, 3.4 on average"
    assert facts["users"] == "3, strings"
    assert facts["items"] == "3, strings"
    assert "n_neighbors=2, " in facts["parameters"]
    assert facts["user_biases_"] == "3"


def test_tells_the_shapes_of_factors(path, success, capsys):
    model = MatrixFactorization(n_factors=2, n_epochs=1, random_state=0)
    facts = facts_of(model.fit(Ratings.from_dict(RATINGS)), path, success, capsys)
    assert (facts["user_factors_"], facts["item_factors_"]) == ("3 x 2", "3 x 2")


def test_tells_what_only_scores(path, success, capsys):
    ratings = Ratings.from_arrays([7, 8], [1, 1])
    facts = facts_of(Popularity().fit(ratings), path, success, capsys)
    assert facts["estimator"] == "Popularity, which predicts scores"
    assert facts["ratings"] == "2, 1 on average"
    assert facts["users"] == "2, integers"


def test_tells_of_features_and_of_what_is_unknown(path, success, capsys):
    films = pd.DataFrame(
        {"item": ["Heat", "Fargo", "Alien", "Up"], "year": [1995, 1996, 1979, 2009]}
    )
    table = [(user, item, value) for user, row in RATINGS.items() for item, value in row.items()]
    frame = pd.DataFrame(table, columns=["user", "item", "rating"])
    model = BiasBaseline().fit(Ratings.from_frame(frame, item_features=films))
    facts = facts_of(model, path, success, capsys)
    assert facts["items"] == "4, strings, 1 of them unknown"
    assert facts["item features"] == "1: year"


def test_tells_how_two_classes_are_told_apart(path, success, capsys):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] + X[:, 1] > 0.5).astype(int)
    model = AdaBoostMH("stump", n_rounds=4).fit(X[:40], y[:40])
    facts = facts_of(model, path, success, capsys)
    assert facts["ROC AUC"] == f"{model.history_['roc_auc'][-1]:.4g} (training rows)"
    value = f"{model.history_['balanced_accuracy'][-1]:.4g}"
    assert facts["balanced acc."] == f"{value} (training rows)"
    model = AdaBoostMH("stump", n_rounds=4, early_stopping_rounds=2, eval_metric="roc_auc")
    facts = facts_of(model.fit(X[:40], y[:40], eval_set=(X[40:], y[40:])), path, success, capsys)
    kept = model.history_["roc_auc"][model.n_rounds_ - 1]
    assert facts["ROC AUC"] == f"{kept:.4g} (validation rows)"
    assert facts["validation"] == f"{kept:.4g} (roc_auc)"
    facts = facts_of(RankBoost(n_rounds=2).fit(X, y), path, success, capsys)
    assert "ROC AUC" not in facts


def test_tells_how_much_a_round_looked_at(path, success, capsys):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = AdaBoostMH("stump", n_rounds=2).fit(X, X[:, 0] > 0)
    searched = dict.fromkeys(CLASSIFYING, (np.nan, np.nan))
    searched |= {"energy": [0.9, 0.9], "columns": [40, 20], "saved": [0.5, 1.0]}
    rows = np.column_stack([searched[name] for name in CLASSIFYING])
    model.fitted_ = replace(model.fitted_, history=History.from_array(rows))
    facts = facts_of(model, path, success, capsys)
    assert facts["columns a round"] == "30.0 on average, 75.0% of the work saved"
    searched |= {"columns": [np.nan, np.nan], "saved": [np.nan, np.nan]}
    rows = np.column_stack([searched[name] for name in CLASSIFYING])
    model.fitted_ = replace(model.fitted_, history=History.from_array(rows))
    assert "columns a round" not in facts_of(model, path, success, capsys)
