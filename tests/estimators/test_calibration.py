"""Probabilities of generated tables whose posteriors are known."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

from edgewise import AdaBoostMH
from edgewise.estimators.calibration import CalibratedLogLoss
from edgewise.metrics.classification import log_loss

NOISY, CLEAN = 0.5, 3.0  # the scale of the logits
KINDS = ["two", "three", "ten", "labels"]


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Train with compiled kernels: the same models in a fraction of the time."""
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")


def draw(kind, scale, n, seed):
    """Return rows, their targets, and the probabilities that the targets were drawn from."""
    rng = np.random.default_rng(seed)
    n_classes = {"two": 2, "three": 3, "ten": 10, "labels": 2}[kind]
    X = rng.normal(size=(n, 4))
    logits = scale * X @ np.random.default_rng(5).normal(size=(4, n_classes))
    if kind == "labels":
        p = expit(logits)
        return X, (rng.random(p.shape) < p).astype(int), p
    p = softmax(logits, axis=1)
    return X, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), p


def calibration_error(y, p):
    """Return the expected calibration error of the predicted classes, or of all labels."""
    sure, right = p.ravel(), y.ravel()
    if y.ndim == 1:
        sure, right = p.max(axis=1), p.argmax(axis=1) == y
    bin_index = np.minimum((10 * sure).astype(int), 9)
    bins = [bin_index == b for b in np.unique(bin_index)]
    return sum(b.mean() * abs(sure[b].mean() - right[b].mean()) for b in bins)


def check(model, kind, scale, known=0.3, tolerance=0.05):
    """Check the probabilities of new rows.

    They are calibrated, and their log loss is lower than that of the shares of the classes by a
    good part, `known`, of what the true posteriors lower it by.
    """
    X, y, _ = draw(kind, scale, 600, 1)
    new, truth, posterior = draw(kind, scale, 3_000, 2)
    p = model.fit(X, y).predict_proba(new)
    shares = y.mean(axis=0) if y.ndim > 1 else np.bincount(y, minlength=p.shape[1]) / len(y)
    nothing = log_loss(truth, np.broadcast_to(shares, p.shape))
    best, reached = log_loss(truth, posterior), log_loss(truth, p)
    assert best < reached < nothing - known * (nothing - best)
    assert calibration_error(truth, p) < tolerance
    assert calibration_error(truth, posterior) < 0.03  # what chance alone makes


@pytest.mark.parametrize("scale", [NOISY, CLEAN], ids=["noisy", "clean"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_default_is_calibrated(kind, scale):
    check(AdaBoostMH(), kind, scale, known=0.3 if scale == NOISY else 0.7)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "softmax"])
@pytest.mark.parametrize(("learner", "votes"), [("stump", "discrete"), ("product", "real")])
@pytest.mark.parametrize("kind", ["two", "ten", "labels"])
def test_every_learner_and_loss_is_calibrated(kind, learner, loss, votes):
    check(AdaBoostMH(learner, loss=loss, votes=votes), kind, CLEAN, tolerance=0.06)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "softmax"])
@pytest.mark.parametrize("kind", ["two", "ten", "labels"])
def test_a_validation_part_calibrates_too_many_rounds(kind, loss):
    model = AdaBoostMH(loss=loss, learning_rate=1.0, n_rounds=60, validation_fraction=0.2)
    check(model, kind, CLEAN, tolerance=0.08)
    assert model.settings_.temperature > 1.0
    assert model.settings_.reasons["n_rounds"] == "given"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows_are_calibrated_within_reason(n_classes):
    """Folds of a handful of rows must not make the probabilities certain."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % n_classes
    p = AdaBoostMH().fit(X, y).predict_proba(rng.normal(size=(500, 3)))
    assert p.max() < 0.99


def test_imbalanced_classes_keep_their_share():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 3))
    p = expit(3 * X[:, 0] - 6)
    y = (rng.random(2_000) < p).astype(int)
    assert y.mean() < 0.08
    model = AdaBoostMH().fit(X[:1_000], y[:1_000])
    q = model.predict_proba(X)[:, 1]
    assert q[:1_000].mean() == pytest.approx(y[:1_000].mean(), abs=0.01)
    assert np.corrcoef(q[1_000:], p[1_000:])[0, 1] > 0.8


def test_the_temperature_changes_no_decision():
    X, y, _ = draw("ten", CLEAN, 300, 1)
    model = AdaBoostMH("product", n_rounds=20, validation_fraction=0.3).fit(X, y)
    assert model.settings_.temperature != 1.0
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_the_loss_does_not_depend_on_the_threads_of_blas():
    rng = np.random.default_rng(0)
    codes, log_odds = rng.integers(3, size=300_000), rng.normal(size=(300_000, 3))
    losses = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            losses.append(CalibratedLogLoss(codes, None, multilabel=False)(log_odds))
    assert losses[0] == losses[1]
