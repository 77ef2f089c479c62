"""Binary, multi-class and multi-label targets, their weights and their probabilities."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import expit

from edgewise import AdaBoostMH

VOTES = ["discrete", "real", "abstain"]


@pytest.fixture
def label_matrix(blobs):
    X, _ = blobs(150, 3)
    return X, np.column_stack([X[:, 0] > 1, X[:, 1] > 0, X[:, 0] + X[:, 2] > 1]).astype(int)


@pytest.mark.parametrize(
    "classes", [[0, 1], [-1, 1], [3, 7], ["no", "yes"], [False, True], [0.5, 2.0]], ids=str
)
def test_two_classes_of_any_labels(blobs, classes):
    X, y = blobs(n_classes=2)
    if classes == [0.5, 2.0]:  # floats that are no whole numbers are no classes
        with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
            AdaBoostMH(n_rounds=5).fit(X, np.array(classes)[y])
        return
    labels = np.array(classes)[y]
    model = AdaBoostMH("stump", preset="paper", n_rounds=30).fit(X, labels)
    assert model.classes_.tolist() == classes
    scores = model.decision_function(X)
    assert scores.shape == (len(y),)
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted, model.classes_[(scores > 0).astype(int)])
    assert model.score(X, labels) > 0.8
    proba = model.predict_proba(X)
    assert proba.shape == (len(y), 2)
    np.testing.assert_allclose(proba[:, 1], expit(2 * scores))
    # The logistic loss has the log-odds themselves as scores.
    model = AdaBoostMH("stump", preset="paper", n_rounds=30, loss="logistic").fit(X, labels)
    proba, scores = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(proba[:, 1], expit(scores))


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("factorized", [True, False])
def test_several_classes(blobs, votes, factorized):
    X, y = blobs(200, n_classes=4)
    labels = np.array(["d", "a", "c", "b"])[y]
    model = AdaBoostMH(
        "stump", preset="paper", n_rounds=60, votes=votes, factorized=factorized
    ).fit(X, labels)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    scores = model.decision_function(X)
    assert scores.shape == (200, 4)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.score(X, labels) > 0.7
    proba = model.predict_proba(X)
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("make", [pd.Series, pl.Series, list, pd.Categorical, np.asarray])
def test_targets_of_any_container(blobs, same_terms, make):
    X, y = blobs()
    labels = np.array(["x", "y", "z"], dtype=object)[y].tolist()
    model = AdaBoostMH(n_rounds=5).fit(X, make(labels))
    assert model.classes_.tolist() == ["x", "y", "z"]
    same_terms(model, AdaBoostMH(n_rounds=5).fit(X, y))


@pytest.mark.parametrize("dtype", ["Int64", "string", "category", "boolean"])
def test_pandas_extension_targets(blobs, same_terms, dtype):
    X, y = blobs(n_classes=2)
    model = AdaBoostMH(n_rounds=5).fit(X, pd.Series(y).astype(dtype))
    same_terms(model, AdaBoostMH(n_rounds=5).fit(X, y))


def test_multi_label_targets_of_any_container(label_matrix, same_terms):
    X, Y = label_matrix
    model = AdaBoostMH(n_rounds=40).fit(X, Y)
    named = AdaBoostMH(n_rounds=40).fit(X, pd.DataFrame(Y, columns=["tall", "wide", "heavy"]))
    assert model.classes_.tolist() == [0, 1, 2]
    assert named.classes_.tolist() == ["tall", "wide", "heavy"]
    for other in (sparse.csr_matrix(Y), Y.astype(bool), Y.astype(float), Y.tolist()):
        same_terms(model, AdaBoostMH(n_rounds=40).fit(X, other))
    same_terms(model, named)


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_multi_label_predictions(label_matrix, votes, n_labels):
    X, Y = label_matrix
    Y = Y[:, :n_labels]
    model = AdaBoostMH("stump", preset="paper", n_rounds=80, votes=votes).fit(X, Y)
    scores, predicted = model.decision_function(X), model.predict(X)
    assert scores.shape == predicted.shape == Y.shape
    np.testing.assert_array_equal(predicted, (scores > 0).astype(int))
    assert (predicted == Y).mean() > 0.9
    proba = model.predict_proba(X)
    # Each label has a probability of its own: the logistic link of its score.
    np.testing.assert_allclose(proba, expit(2 * scores))
    assert np.abs(proba.sum(axis=1) - 1).max() > 0.1


def test_multi_label_history(label_matrix):
    X, Y = label_matrix
    model = AdaBoostMH(n_rounds=10, n_bags=1).fit(X, Y)
    stages = list(model.staged_predict(X))
    errors = [(stage != Y).any(axis=1).mean() for stage in stages]
    losses = [(stage != Y).mean() for stage in stages]
    np.testing.assert_allclose(model.history_["train_error"], errors)
    np.testing.assert_allclose(model.history_["hamming_loss"], losses)


def test_balanced_initial_weights_need_classes(label_matrix):
    X, Y = label_matrix
    with pytest.raises(ValueError, match=r"init_weights.*multi-label"):
        AdaBoostMH(init_weights="balanced").fit(X, Y)


def test_auto_initial_weights(blobs, label_matrix, same_terms):
    X, y = blobs()
    fit = AdaBoostMH("tree", preset="paper", n_rounds=10).fit
    same_terms(
        fit(X, y),
        AdaBoostMH("tree", preset="paper", n_rounds=10, init_weights="balanced").fit(X, y),
    )
    X, Y = label_matrix
    same_terms(
        AdaBoostMH(n_rounds=10).fit(X, Y),
        AdaBoostMH(n_rounds=10, init_weights="uniform").fit(X, Y),
    )


@pytest.mark.parametrize("named", ["balanced", "uniform"])
def test_an_initial_weight_matrix_that_spells_out_a_name(blobs, named):
    X, y = blobs()
    positive = y[:, None] == np.arange(3)
    matrix = np.where(positive, 0.5, 0.25) if named == "balanced" else np.ones((len(y), 3))
    by_name = AdaBoostMH(loss="logistic", n_rounds=15, init_weights=named).fit(X, y)
    by_matrix = AdaBoostMH(loss="logistic", n_rounds=15, init_weights=matrix).fit(X, y)
    np.testing.assert_array_equal(
        by_name.fitted_.terms.thresholds, by_matrix.fitted_.terms.thresholds
    )
    np.testing.assert_allclose(by_name.decision_function(X), by_matrix.decision_function(X))
    np.testing.assert_allclose(by_name.predict_proba(X), by_matrix.predict_proba(X))
    np.testing.assert_allclose(
        by_name.history_["hamming_loss"], by_matrix.history_["hamming_loss"], atol=1e-12
    )


def test_an_initial_weight_of_0_takes_an_entry_out(blobs):
    X, y = blobs()
    matrix = np.ones((len(y), 3))
    matrix[:, 2] = 0.0
    model = AdaBoostMH(n_rounds=20, init_weights=matrix, votes="real").fit(X, y)
    assert not (model.predict(X) == 2).all()
    assert np.isfinite(model.decision_function(X)).all()
    binary = AdaBoostMH(n_rounds=5, init_weights=np.ones(80)).fit(X[:80], y[:80] > 0)
    np.testing.assert_array_equal(
        binary.fitted_.terms.thresholds,
        AdaBoostMH(n_rounds=5).fit(X[:80], y[:80] > 0).fitted_.terms.thresholds,
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_heavier_class_is_predicted_at_least_as_often(blobs, n_classes):
    X, y = blobs(200, 2, n_classes, seed=3)
    shares = [
        (AdaBoostMH(n_rounds=10, class_weight={1: weight}).fit(X, y).predict(X) == 1).mean()
        for weight in (0.02, 1.0, 50.0)
    ]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_class_weight_multiplies_sample_weight(blobs, same_terms):
    X, y = blobs()
    weights = np.where(y == 2, 4.0, 1.0)
    # A bin for every value: with fewer, sample weights shape them, class weights do not.
    same_terms(
        AdaBoostMH(n_rounds=10, max_bins=256, class_weight={2: 4.0}).fit(X, y),
        AdaBoostMH(n_rounds=10, max_bins=256).fit(X, y, sample_weight=weights),
    )


def test_balanced_class_weights_give_every_class_the_same(blobs):
    X, y = blobs(400, 2, 2)
    rare = np.flatnonzero((y == 0) | (np.arange(400) % 20 == 1))
    X, y = X[rare], y[rare]
    weights = len(y) / (2 * np.bincount(y))
    by_name = AdaBoostMH(n_rounds=10, class_weight="balanced").fit(X, y)
    by_dict = AdaBoostMH(n_rounds=10, class_weight=dict(enumerate(weights))).fit(X, y)
    np.testing.assert_allclose(by_name.decision_function(X), by_dict.decision_function(X))
    plain = AdaBoostMH(n_rounds=10).fit(X, y)
    assert (by_name.predict(X) == 1).mean() > (plain.predict(X) == 1).mean()


def test_class_weight_of_multi_label_targets(label_matrix):
    X, Y = label_matrix
    noise = np.random.default_rng(0).random((len(X), 1))
    balanced = AdaBoostMH(
        "stump", preset="paper", n_rounds=200, class_weight="balanced", votes="real"
    )
    balanced.fit(noise > 2, Y)
    # Both values of every label weigh the same, so that a constant model knows nothing.
    np.testing.assert_allclose(balanced.predict_proba(noise > 2), 0.5, atol=1e-6)
    chosen = [{1: 9.0}, {0: 1.0, 1: 1.0}, {}]
    model = AdaBoostMH("stump", preset="paper", n_rounds=50, class_weight=chosen, votes="real")
    model.fit(noise > 2, Y)
    p = Y.mean(axis=0)
    expected = np.array([9 * p[0] / (9 * p[0] + 1 - p[0]), p[1], p[2]])
    np.testing.assert_allclose(model.predict_proba(noise[:1] > 2)[0], expected, atol=1e-6)


# With nothing to go by, the best model is a constant, and its probabilities are the frequencies
# of the classes, whatever the initial weights.


@pytest.mark.parametrize("votes", ["discrete", "real"])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("init_weights", ["balanced", "uniform"])
@pytest.mark.parametrize(
    "counts", [(60, 25, 15), (70, 30), (30, 30, 30, 10)], ids=lambda c: f"K={len(c)}"
)
def test_a_constant_problem_gives_the_frequencies(votes, loss, init_weights, counts):
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.zeros((len(y), 1))
    model = AdaBoostMH(
        "stump", preset="paper", n_rounds=3000, votes=votes, loss=loss, init_weights=init_weights
    )
    model.fit(X, y)
    frequencies = np.array(counts) / len(y)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], frequencies, atol=0.005)


def test_a_constant_problem_with_row_weights():
    y = np.repeat([0, 1, 2], [10, 10, 10])
    weights = np.repeat([6.0, 3.0, 1.0], 10)
    X = np.zeros((30, 1))
    model = AdaBoostMH("stump", preset="paper", n_rounds=500, votes="real").fit(
        X, y, sample_weight=weights
    )
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], [0.6, 0.3, 0.1], atol=1e-4)


def test_a_constant_problem_with_a_weight_matrix():
    y = np.repeat([0, 1, 2], [12, 6, 2])
    matrix = np.where(y[:, None] == np.arange(3), 5.0, [[1.0, 2.0, 3.0]])
    model = AdaBoostMH("stump", preset="paper", n_rounds=500, votes="real", init_weights=matrix)
    model.fit(np.zeros((20, 1)), y)
    np.testing.assert_allclose(model.predict_proba([[0.0]])[0], [0.6, 0.3, 0.1], atol=1e-4)


@pytest.mark.parametrize(
    "settings", [{"learner": "stump", "n_rounds": 3000}, {}, {"learner": "product"}], ids=str
)
@pytest.mark.parametrize("loss", [None, "exponential", "logistic"])
def test_probabilities_of_certain_rows_stay_proper(settings, loss):
    X = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
    y = np.repeat([0, 1, 2], 20)
    proba = AdaBoostMH(**settings, loss=loss).fit(X, y).predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(proba.argmax(axis=1), y)
