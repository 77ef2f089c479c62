"""The classifier inside scikit-learn's tools: clones, grids, pipelines, routing, pickles."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from edgewise import AdaBoostMH, Lazy, Stump


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_clone_copies_settings_and_forgets_the_fit(iris):
    model = AdaBoostMH(Stump(constant=False), search=Lazy(3), n_rounds=7, votes="real")
    copied = clone(model.fit(*iris))
    assert copied.learner is not model.learner
    assert copied.get_params()["learner__constant"] is False
    assert copied.get_params()["search__k"] == 3
    assert (copied.n_rounds, copied.votes) == (7, "real")
    assert not hasattr(copied, "terms_")


def test_fit_leaves_the_settings_alone(iris):
    learner, search = Stump(), Lazy(2)
    model = AdaBoostMH(learner, search=search, n_rounds=3, random_state=0)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(*iris)
    assert model.learner is learner
    assert model.search is search
    assert {name: repr(value) for name, value in model.get_params().items()} == before
    assert vars(search) == {"k": 2, "per_round": False}


def test_grid_search_reaches_the_settings_of_learner_and_search(iris):
    grid = GridSearchCV(
        AdaBoostMH(Stump(), search=Lazy(), n_rounds=15, random_state=0),
        {"learner__constant": [True, False], "search__k": [1, 4]},
        cv=3,
    ).fit(*iris)
    assert len(grid.cv_results_["params"]) == 4
    best = grid.best_estimator_
    assert best.learner.constant == grid.best_params_["learner__constant"]
    assert best.search.k == grid.best_params_["search__k"]
    # With one random column of four a round sees less than with all of them.
    scores = grid.cv_results_["mean_test_score"]
    assert scores.min() < scores.max()
    assert grid.best_score_ > 0.9


def test_a_setting_of_the_search_changes_the_model(iris):
    X, y = iris
    rounds = AdaBoostMH("stump", search=Lazy(1), n_rounds=40, random_state=0).fit(X, y)
    all_columns = clone(rounds).set_params(search__k=4).fit(X, y)
    assert set(rounds.fitted_.terms.columns.ravel()) >= {0, 1, 2, 3}
    assert all_columns.history_["bound"][-1] < rounds.history_["bound"][-1]


def test_pipeline_with_a_scaler_predicts_as_without(iris):
    X, y = iris
    piped = make_pipeline(StandardScaler(), AdaBoostMH(n_rounds=30)).fit(X, y)
    plain = AdaBoostMH(n_rounds=30).fit(X, y)
    # Stumps depend on the order of the values only, which scaling keeps.
    np.testing.assert_array_equal(piped.predict(X), plain.predict(X))
    assert piped.score(X, y) > 0.95


def test_pipeline_hands_over_a_named_frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=90), "color": np.tile(["red", "green", "blue"], 30)}
    )
    y = np.where(frame["color"] == "red", "yes", "no")
    prepare = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["size"]),
            ("names", OneHotEncoder(sparse_output=False), ["color"]),
        ]
    ).set_output(transform="pandas")
    model = Pipeline([("prepare", prepare), ("boost", AdaBoostMH(n_rounds=10))]).fit(frame, y)
    assert model.score(frame, y) == 1.0
    boost = model.named_steps["boost"]
    assert list(boost.feature_names_in_) == [
        "numbers__size", "names__color_blue", "names__color_green", "names__color_red",
    ]  # fmt: skip
    assert boost.feature_importances_.argmax() == 3


def test_cross_val_score(iris):
    scores = cross_val_score(AdaBoostMH(n_rounds=30), *iris, cv=4)
    assert scores.shape == (4,)
    assert scores.mean() > 0.9


def test_sample_weight_is_routed(iris):
    X, y = iris
    weight = (y > 0).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = AdaBoostMH(n_rounds=5).set_fit_request(sample_weight=True)
        result = cross_validate(
            model.set_score_request(sample_weight=False), X, y, cv=3,
            params={"sample_weight": weight}, return_estimator=True,
        )  # fmt: skip
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        piped = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)
    # Rows of weight 0 are absent, so the first class is unknown wherever the weights arrived.
    assert [est.classes_.tolist() for est in result["estimator"]] == [[1, 2]] * 3
    assert piped.classes_.tolist() == [1, 2]


@pytest.mark.parametrize("how", ["pickle", "joblib"])
@pytest.mark.parametrize("settings", [{}, {"factorized": False}, {"validation_fraction": 0.3}])
def test_a_pickled_model_predicts_the_same(iris, how, settings, same_terms):
    X, y = iris
    model = AdaBoostMH(Stump(), search=Lazy(2), n_rounds=8, random_state=1, **settings).fit(X, y)
    if how == "pickle":
        copied = pickle.loads(pickle.dumps(model))
    else:
        stream = io.BytesIO()
        joblib.dump(model, stream)
        stream.seek(0)
        copied = joblib.load(stream)
    same_terms(model, copied)
    np.testing.assert_array_equal(model.decision_function(X), copied.decision_function(X))
    np.testing.assert_array_equal(model.history_.to_array(), copied.history_.to_array())
    same_terms(
        copied.set_params(warm_start=True, n_rounds=12).fit(X, y),
        clone(model).set_params(n_rounds=12).fit(X, y),
    )


def test_models_train_in_joblib_workers(iris):
    X, y = iris
    parallel = cross_val_score(AdaBoostMH(n_rounds=10), X, y, cv=3, n_jobs=2)
    np.testing.assert_array_equal(parallel, cross_val_score(AdaBoostMH(n_rounds=10), X, y, cv=3))
