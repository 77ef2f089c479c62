"""Predictions round by round, and how sure they are."""

import numpy as np
import pytest

from edgewise import AdaBoostMH

VOTES = ["discrete", "real", "abstain"]


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("learner", "factorized"),
    [("stump", True), ("stump", False), ("product", True), ("tree", True)],
)
def test_the_last_stage_is_the_model(blobs, votes, n_classes, learner, factorized):
    X, y = blobs(n_classes=n_classes)
    model = AdaBoostMH(learner, n_rounds=25, votes=votes, factorized=factorized).fit(X, y)
    new, _ = blobs(n_classes=n_classes, seed=9)
    new[::7, 1] = np.nan
    scores, decided = (list(f(new)) for f in (model.staged_decision_function, model.staged_predict))
    assert len(scores) == len(decided) == model.n_rounds_ == 25
    np.testing.assert_allclose(scores[-1], model.decision_function(new), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(decided[-1], model.predict(new))
    shares = list(model.staged_predict_proba(new))
    assert len(shares) == 25
    np.testing.assert_allclose(shares[-1], model.predict_proba(new), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[shares[3].argmax(axis=1)], decided[3])
    assert scores[0].shape == model.decision_function(new).shape


def test_stages_are_the_models_of_fewer_rounds(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=12).fit(X, y)
    for n_rounds, scores in enumerate(model.staged_decision_function(X), start=1):
        fewer = AdaBoostMH(n_rounds=n_rounds).fit(X, y)
        np.testing.assert_allclose(fewer.decision_function(X), scores, rtol=1e-12, atol=1e-12)


def test_a_stage_is_a_copy(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=3).fit(X, y)
    first, second, _ = model.staged_decision_function(X)
    assert (first != second).any()


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_are_positive_where_the_prediction_is_right(blobs, votes, n_classes):
    X, y = blobs(n_classes=n_classes)
    labels = np.array(["a", "b", "c"])[y]
    model = AdaBoostMH(n_rounds=30, votes=votes).fit(X, labels)
    margins = model.margins(X, labels)
    assert margins.shape == (len(y),)
    assert np.abs(margins).max() <= 1
    np.testing.assert_array_equal(margins > 0, model.predict(X) == labels)


def test_margins_of_labels(blobs):
    X, _ = blobs()
    Y = (X[:, :3] > 0).astype(int)
    model = AdaBoostMH(n_rounds=20).fit(X, Y)
    margins = model.margins(X, Y)
    assert margins.shape == Y.shape
    assert np.abs(margins).max() <= 1
    np.testing.assert_array_equal(margins > 0, model.predict(X) == Y)


def test_one_sure_stump_has_margin_one():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = AdaBoostMH("stump", preset="paper", n_rounds=1).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.margins(X, [0, 0, 1, 1]), 1.0)
    np.testing.assert_allclose(model.margins(X, [1, 1, 0, 0]), -1.0)


def test_margins_grow_with_the_rounds(blobs):
    X, y = blobs(200, 3, 2)
    shares = [(AdaBoostMH(n_rounds=n).fit(X, y).margins(X, y) > 0).mean() for n in (1, 200)]
    assert shares[1] > shares[0]


def test_margins_check_their_targets(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=3).fit(X, y)
    with pytest.raises(ValueError, match=r"y has \d+ targets"):
        model.margins(X, y[:-1])
    with pytest.raises(ValueError, match="y has the class"):
        model.margins(X, y + 1)
