"""Searches, curves, scorers, routed metadata and jobs within jobs."""

import numpy as np
import pytest
import sklearn
from joblib import parallel_backend
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import Callback, Indicator, Product, RankBoost, Stump, Tree
from edgewise.common.threads import n_threads

from .conftest import NUMBERS, boost


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_nested_settings_are_reached_by_name(people, income):
    model = boost(Tree(Product([Stump(), Indicator()], 2), 4))
    model.set_params(learner__max_leaf_nodes=3, learner__base__n_terms=1)
    assert repr(model.learner) == (
        "Tree(base=Product(base=[Stump(), Indicator()], n_terms=1), max_leaf_nodes=3)"
    )
    grid = {"learner__max_leaf_nodes": [2, 3], "learner__base__n_terms": [1, 2]}
    result = GridSearchCV(
        model, grid, cv=2, scoring=["roc_auc", "neg_log_loss"], refit="neg_log_loss"
    ).fit(people, income)
    assert len(result.cv_results_["mean_test_roc_auc"]) == 4
    best = result.best_estimator_.learner
    assert best.max_leaf_nodes == result.best_params_["learner__max_leaf_nodes"]
    assert best.base.n_terms == result.best_params_["learner__base__n_terms"]
    assert model.learner.base.n_terms == 1  # the grid trained copies


def test_learners_are_choices_too(people, income):
    choices = {"learner": ["stump", "tree", [Stump(), Indicator()]], "learning_rate": [0.1, 1.0]}
    result = RandomizedSearchCV(boost(), choices, n_iter=4, cv=2, random_state=0)
    result.fit(people, income)
    assert result.best_score_ > 0.7
    assert result.best_estimator_.learner_ is not None


def test_halving_spends_rounds(people, income):
    result = HalvingGridSearchCV(
        boost(), {"learning_rate": [0.1, 0.3, 1.0]}, resource="n_rounds", cv=2,
        min_resources=2, max_resources=6, random_state=0,
    ).fit(people, income)  # fmt: skip
    assert result.n_resources_ == [2, 6]
    assert result.best_estimator_.n_rounds_ == 6


def test_curves_of_rows_and_of_a_setting(people, income):
    sizes, train, test = learning_curve(boost(), people, income, cv=3, train_sizes=[0.3, 1.0])
    assert sizes.tolist() == [36, 120]
    assert train.shape == test.shape == (2, 3)
    train, test = validation_curve(
        boost(), people, income, param_name="n_rounds", param_range=[1, 8], cv=3
    )
    assert train[1].mean() > train[0].mean()


def test_scorers_know_the_model_by_name(people, income, model):
    yes = income == "rich"
    own = boost(n_rounds=8).fit(people, yes)
    for name in ("accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision"):
        assert 0.7 < get_scorer(name)(own, people, yes) <= 1.0
    for name in ("neg_log_loss", "neg_brier_score"):
        assert -0.7 < get_scorer(name)(own, people, yes) < 0.0
    assert get_scorer("roc_auc")(model, people, income) == get_scorer("roc_auc")(own, people, yes)
    probabilities = cross_val_predict(boost(), people, income, cv=3, method="predict_proba")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_weights_and_groups_are_routed(people, income, routing):
    family = np.arange(len(people)) // 6
    weight = np.where(family % 2, 1.0, 0.0)
    model = boost().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    result = cross_validate(
        model, people, income, cv=GroupKFold(3), return_estimator=True, return_indices=True,
        params={"sample_weight": weight, "groups": family},
    )  # fmt: skip
    for own, train, test, score in zip(
        result["estimator"], result["indices"]["train"], result["indices"]["test"],
        result["test_score"], strict=True,
    ):  # fmt: skip
        assert not {*family[train]} & {*family[test]}
        kept = train[weight[train] > 0]
        expected = boost().fit(people.iloc[kept], income[kept])
        np.testing.assert_array_equal(
            own.decision_function(people), expected.decision_function(people)
        )
        judged = test[weight[test] > 0]
        assert score == pytest.approx(expected.score(people.iloc[judged], income[judged]))


def test_query_ids_of_a_ranker_are_routed(people, income, routing):
    X, grades, qid = people[NUMBERS], (income == "rich").astype(int), np.arange(len(people)) // 6
    ranker = RankBoost(n_rounds=4).set_fit_request(qid=True).set_score_request(qid=True)
    params = {"qid": qid, "groups": qid}
    result = cross_validate(ranker, X, grades, cv=GroupKFold(3), params=params, return_indices=True)
    for score, train, test in zip(
        result["test_score"], result["indices"]["train"], result["indices"]["test"], strict=True
    ):
        own = RankBoost(n_rounds=4).fit(X.iloc[train], grades[train], qid=qid[train])
        assert score == own.score(X.iloc[test], grades[test], qid=qid[test])
    grid = GridSearchCV(ranker, {"n_rounds": [2, 4]}, cv=GroupKFold(3)).fit(X, grades, **params)
    assert grid.best_score_ > 0.5


def test_validation_rows_are_routed_through_a_pipeline(people, income, routing):
    X = people[["age"]]
    steps = StandardScaler(), boost().set_fit_request(eval_set=True, eval_names=True)
    scaled = StandardScaler().fit_transform(X)
    piped = make_pipeline(*steps).fit(X, income, eval_set=[(scaled, income)], eval_names=["train"])
    assert [*piped[-1].evals_result_] == ["train"]


class Rounds(Callback):
    """Counts rounds, and stops after some."""

    def __init__(self, most):
        self.most, self.seen = most, 0

    def on_round(self, run):
        self.seen += 1
        return "enough" if self.seen == self.most else None


def test_a_callback_of_ones_own_works_inside_a_search(people, income):
    counted = Rounds(3)
    grid = GridSearchCV(boost(callbacks=[counted]), {"learning_rate": [0.5, 1.0]}, cv=2)
    best = grid.fit(people, income).best_estimator_
    assert (best.n_rounds_, best.stop_reason_) == (3, "enough")
    assert counted.seen == 0  # every clone has a copy of its own


def test_jobs_within_jobs_give_the_same_scores(people, income):
    expected = cross_val_score(boost(), people, income, cv=2)
    for backend in ("loky", "threading"):
        with parallel_backend(backend):
            result = cross_val_score(boost(n_jobs=-1), people, income, cv=2, n_jobs=-1)
        np.testing.assert_array_equal(result, expected)


def test_all_cores_are_a_workers_share_of_them(monkeypatch):
    # joblib sets the variable in its workers; 16 workers of 16 threads would starve each other.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads(-1) == 1
    assert n_threads(3) == 3  # asked for by number
    assert n_threads(None) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert n_threads(-1) >= 1
