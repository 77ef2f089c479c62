"""Meta-estimators: calibration, ensembles, many targets, selected columns, thresholds, copies."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline

from edgewise import RankBoost

from .conftest import NUMBERS, boost


@pytest.fixture(scope="module")
def ages(people):
    return np.digitize(people.age, [35, 60])


@pytest.fixture(scope="module")
def labels(people, income):
    return np.column_stack([income == "rich", people.age > 40]).astype(int)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_calibrated_by_folds(people, income, method):
    calibrated = CalibratedClassifierCV(boost(), method=method, cv=2).fit(people, income)
    probabilities = calibrated.predict_proba(people)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert calibrated.score(people, income) > 0.75


def test_a_trained_model_is_calibrated_as_it_is(people, income, model):
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(people[:90], income[:90])
    # A sigmoid of the scores keeps their order.
    order = np.argsort(model.decision_function(people), kind="stable")
    assert (np.diff(calibrated.predict_proba(people)[order, 1]) >= -1e-12).all()


def test_stacking_voting_and_bagging(people, income):
    parts = [("stumps", boost()), ("trees", boost("tree", 3))]
    stacked = StackingClassifier(parts, LogisticRegression(), cv=2).fit(people, income)
    assert stacked.feature_names_in_.tolist() == people.columns.tolist()
    voted = VotingClassifier(parts, voting="soft").fit(people, income)
    mean = np.mean([part.predict_proba(people) for part in voted.estimators_], axis=0)
    np.testing.assert_allclose(voted.predict_proba(people), mean)
    # Bagging hands over rows of objects, words and all.
    bagged = BaggingClassifier(boost(), n_estimators=3, random_state=0).fit(people, income)
    for combined in (stacked, voted, bagged):
        assert combined.score(people, income) > 0.75


def test_many_classes_and_many_targets(people, ages, labels):
    X = people[NUMBERS]
    assert OneVsRestClassifier(boost()).fit(people, ages).score(people, ages) > 0.9
    assert OneVsOneClassifier(boost()).fit(X, ages).score(X, ages) > 0.9
    several = MultiOutputClassifier(boost()).fit(people, labels)
    own = boost().fit(people, labels[:, 1])
    np.testing.assert_array_equal(several.predict(people)[:, 1], own.predict(people))
    chain = ClassifierChain(boost(), order=[1, 0]).fit(X.fillna(40), labels)
    assert chain.predict(X.fillna(40)).shape == labels.shape
    # No wrapper is needed: the model has several labels of its own accord.
    assert boost(n_rounds=10).fit(people, labels).predict(people).shape == labels.shape


def test_columns_are_selected(people, income):
    chosen = SelectFromModel(boost(), threshold="mean").set_output(transform="pandas")
    assert chosen.fit_transform(people, income).columns.tolist() == ["age", "job"]
    # The other two take numbers alone.
    numeric = people[NUMBERS].assign(noise=np.random.default_rng(0).normal(size=len(people)))
    first = SequentialFeatureSelector(boost(n_rounds=2), n_features_to_select=1, cv=2)
    for selector in (first, RFE(boost(), n_features_to_select=1)):
        assert selector.fit(numeric, income).get_feature_names_out().tolist() == ["age"]
    piped = make_pipeline(chosen, boost()).fit(people, income)
    assert piped[-1].feature_names_in_.tolist() == ["age", "job"]


def test_a_threshold_is_tuned(people, income):
    rare = np.where((income == "rich") & (people.age > 60), "yes", "no")
    plain = boost().fit(people, rare)
    tuned = TunedThresholdClassifierCV(boost(), scoring="balanced_accuracy", cv=2)
    tuned.fit(people, rare)
    assert 0.0 < tuned.best_threshold_ < 1.0
    assert balanced_accuracy_score(rare, tuned.predict(people)) >= balanced_accuracy_score(
        rare, plain.predict(people)
    )


def dumped(model):
    """Return the model after joblib has written and read it, compressed."""
    stream = io.BytesIO()
    joblib.dump(model, stream, compress=3)
    stream.seek(0)
    return joblib.load(stream)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, dumped, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_copies_predict_the_same(people, model, copied):
    again = copied(make_pipeline(model))[-1]
    np.testing.assert_array_equal(again.predict_proba(people), model.predict_proba(people))
    assert repr(again) == repr(model)
    assert not hasattr(clone(again), "terms_")


def test_a_ranker_is_copied_and_put_into_a_pipeline(people, income):
    X, grades, qid = people[NUMBERS], income == "rich", np.arange(len(people)) // 6
    ranker = RankBoost(n_rounds=4).fit(X, grades, qid=qid)
    piped = make_pipeline("passthrough", RankBoost(n_rounds=4))
    piped.fit(X, grades, rankboost__qid=qid)
    for same in (copy.deepcopy(ranker), dumped(ranker), piped):
        np.testing.assert_array_equal(same.predict(X), ranker.predict(X))
