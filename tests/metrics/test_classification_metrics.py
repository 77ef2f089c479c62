"""Metrics against scikit-learn's, and against hand-worked examples."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from edgewise import metrics
from edgewise.metrics.classification import predict_targets
from edgewise.metrics.registry import CLASSIFICATION_METRICS, larger_is_better

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n_classes, n_rows=20):
    rng = np.random.default_rng(seed)
    n_scores = 1 if n_classes == 2 else n_classes
    return rng.integers(0, n_classes, n_rows), rng.normal(size=(n_rows, n_scores))


@given(SEEDS, st.integers(2, 5))
def test_error_is_one_minus_accuracy(seed, n_classes):
    y, scores = problem(seed, n_classes)
    guess = (scores[:, 0] > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(predict_targets(scores), guess)
    expected = 1 - sklearn.metrics.accuracy_score(y, guess)
    assert metrics.error(y, scores) == pytest.approx(expected)


@given(SEEDS, st.integers(2, 5))
def test_error_of_labels_is_one_minus_subset_accuracy(seed, n_labels):
    rng = np.random.default_rng(seed)
    Y, scores = rng.integers(0, 2, (15, n_labels)), rng.normal(size=(15, n_labels))
    guess = predict_targets(scores, multilabel=True)
    assert metrics.error(Y, scores) == pytest.approx(1 - sklearn.metrics.accuracy_score(Y, guess))
    expected = sklearn.metrics.hamming_loss(Y, guess)
    assert metrics.hamming_loss(Y, scores) == pytest.approx(expected)


@given(SEEDS, st.integers(2, 5))
def test_hamming_loss_counts_signs(seed, n_classes):
    y, scores = problem(seed, n_classes)
    signs = np.where(y == 1, 1, -1)[:, None]
    if n_classes > 2:
        signs = np.where(y[:, None] == np.arange(n_classes), 1, -1)
    assert metrics.hamming_loss(y, scores) == pytest.approx((scores * signs <= 0).mean())


@given(SEEDS, st.integers(2, 5))
def test_log_loss_is_that_of_scikit_learn(seed, n_classes):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 10)]
    p = softmax(rng.normal(size=(len(y), n_classes)), axis=1)
    assert metrics.log_loss(y, p) == pytest.approx(sklearn.metrics.log_loss(y, p))


def test_log_loss_of_labels_adds_up_over_the_labels():
    Y = np.array([[1, 0], [0, 0]])
    p = np.array([[0.5, 0.25], [0.2, 0.1]])
    expected = -np.log([0.5 * 0.75, 0.8 * 0.9]).mean()
    assert metrics.log_loss(Y, p) == pytest.approx(expected)


def test_log_loss_of_certain_mistakes_is_finite():
    assert np.isfinite(metrics.log_loss(np.array([0, 1]), np.array([[0.0, 1.0], [1.0, 0.0]])))
    assert np.isfinite(metrics.log_loss(np.array([[0, 1]]), np.array([[1.0, 0.0]])))
    assert metrics.log_loss(np.array([1]), np.array([[0.0, 1.0]])) == pytest.approx(0.0, abs=1e-9)


def test_ties_go_to_the_first_class_and_zero_is_no():
    assert predict_targets(np.zeros((1, 3))).tolist() == [0]
    assert predict_targets(np.zeros((1, 1))).tolist() == [0]
    assert predict_targets(np.zeros((1, 2)), multilabel=True).tolist() == [[0, 0]]
    assert metrics.error(np.array([0, 1]), np.zeros((2, 1))) == 0.5
    assert metrics.hamming_loss(np.array([0, 1]), np.zeros((2, 1))) == 0.5


@given(SEEDS, st.integers(2, 5), st.booleans())
def test_balanced_accuracy_is_that_of_scikit_learn(seed, n_classes, weighted):
    y, scores = problem(seed, n_classes)
    y[:n_classes] = np.arange(n_classes)
    weights = np.random.default_rng(seed).random(len(y)) + 0.1 if weighted else None
    guess = predict_targets(scores)
    expected = sklearn.metrics.balanced_accuracy_score(y, guess, sample_weight=weights)
    assert metrics.balanced_accuracy(y, scores, weights) == pytest.approx(expected)


@given(SEEDS)
def test_balanced_accuracy_of_labels_is_the_mean_over_the_labels(seed):
    rng = np.random.default_rng(seed)
    Y, scores = rng.integers(0, 2, (15, 3)), rng.normal(size=(15, 3))
    Y[:2] = [[0, 0, 0], [1, 1, 1]]
    each = [sklearn.metrics.balanced_accuracy_score(Y[:, k], scores[:, k] > 0) for k in range(3)]
    assert metrics.balanced_accuracy(Y, scores) == pytest.approx(np.mean(each))


def test_balanced_accuracy_leaves_out_classes_without_rows():
    scores = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert metrics.balanced_accuracy(np.array([0, 0, 2, 2]), scores) == 0.75


def test_a_constant_prediction_has_the_balanced_accuracy_of_chance():
    y = np.array([0] * 99 + [1])
    assert metrics.balanced_accuracy(y, np.full((100, 1), -1.0)) == 0.5


def test_every_name_stands_for_the_function_of_that_name():
    for name, metric in CLASSIFICATION_METRICS.items():
        assert metric.function is getattr(metrics, name)
    takes = {name: metric.takes for name, metric in CLASSIFICATION_METRICS.items()}
    assert (takes["error"], takes["roc_auc"]) == ("scores", "either")
    assert takes["log_loss"] == "probabilities"


def test_which_way_metrics_go():
    rising = {name for name in CLASSIFICATION_METRICS if larger_is_better(name)}
    assert rising == {"balanced_accuracy", "roc_auc"}
    assert larger_is_better(metrics.roc_auc)
    assert not larger_is_better(lambda y, scores: 0.0)
