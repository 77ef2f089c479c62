import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from edgewise import AdaBoostMH
from edgewise.plots import ReliabilityDisplay

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def chances():
    """Return probabilities of three classes, and classes drawn with them."""
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([1.0, 1.0, 1.0], size=4000)
    return chances, np.array([rng.choice(["a", "b", "c"], p=p) for p in chances])


def labels(shown):
    return [text.get_text() for text in shown.ax_.get_legend().get_texts()]


def test_two_classes_have_the_line_of_scikit_learn(chances):
    p, y = chances
    two = np.column_stack([1 - p[:, 0], p[:, 0]])
    shown = ReliabilityDisplay.from_predictions(y == "a", two, n_bins=7)
    (curve,) = shown.curves
    observed, predicted = calibration_curve(y == "a", p[:, 0], n_bins=7)
    np.testing.assert_allclose(curve.observed, observed)
    np.testing.assert_allclose(curve.predicted, predicted)
    assert labels(shown)[0] == "perfectly calibrated"
    assert labels(shown)[1].startswith("True ")


def test_true_probabilities_are_on_the_diagonal_and_others_are_off(chances):
    p, y = chances
    names = ["predicted class", "a", "b", "c"]
    right = ReliabilityDisplay.from_predictions(y, p)
    assert [curve.name for curve in right.curves] == names
    assert max(curve.gap for curve in right.curves) < 0.03
    assert right.curves[0].counts.sum() == len(y)
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    first = ReliabilityDisplay.from_predictions(y, sharp).curves[0]
    confidence, accuracy = (
        sharp.max(axis=1).mean(),
        (np.array(list("abc"))[p.argmax(1)] == y).mean(),
    )
    assert first.gap == pytest.approx(confidence - accuracy, abs=0.01)
    assert first.gap > 0.1


def test_two_classifiers_on_the_same_axes(chances):
    p, y = chances
    two = np.column_stack([1 - p[:, 0], p[:, 0]])
    shown = ReliabilityDisplay.from_predictions(y == "a", two, name="one")
    both = ReliabilityDisplay.from_predictions(y == "a", two**0.9, name="_other", ax=shown.ax_)
    names = [label.partition(" (")[0] for label in labels(both)]
    assert names == ["perfectly calibrated", "one: True", " _other: True"]
    assert len({line.get_color() for line in both.ax_.lines}) == 3


def test_many_classes_are_one_line():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(8), size=50), rng.integers(0, 8, 50)
    shown = ReliabilityDisplay.from_predictions(y, p, classes=range(8))
    assert [curve.name for curve in shown.curves] == ["predicted class", "all 8 classes"]
    assert shown.curves[1].counts.sum() == 50 * 8


def test_labels_of_a_multi_label_model(rows):
    X, _ = rows
    Y = (X[:, :3] > 0).astype(int)
    shown = ReliabilityDisplay.from_estimator(AdaBoostMH("stump", n_rounds=3).fit(X, Y), X, Y)
    assert [curve.name for curve in shown.curves] == ["0", "1", "2"]


def test_wrong_arguments(chances):
    p, y = chances
    with pytest.raises(ValueError, match=r"y_prob must have .* \(4000, 3\), got \(4000, 2\)"):
        ReliabilityDisplay.from_predictions(y, p[:, :2])
    with pytest.raises(ValueError, match="n_bins"):
        ReliabilityDisplay.from_predictions(y, p, n_bins=0)


def test_scores_are_no_probabilities():
    with pytest.raises(ValueError, match="y_prob must hold probabilities"):
        ReliabilityDisplay.from_predictions([0, 1], [[1.2, -0.2], [0.0, 1.0]])
