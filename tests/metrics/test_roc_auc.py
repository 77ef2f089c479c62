"""The area under the ROC curve against scikit-learn's, and against pairs that are counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from edgewise.metrics import roc_auc

SEEDS = st.integers(0, 2**32 - 1)
# How scores are rounded: hardly ever tied, now and then, and nearly always.
ROUNDINGS = [12, 1, 0]


def two_classes(seed, n_rows=60, digits=12, scale=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    y[:2] = [0, 1]
    return y, (rng.normal(size=n_rows) + y).round(digits) * scale, rng.random(n_rows) + 0.01


def counted(y, scores, weights=None):
    """Return the share of pairs in order, pair by pair."""
    weights = np.ones(len(y)) if weights is None else weights
    high, low = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    right = (scores[high][:, None] > scores[low]) + 0.5 * (scores[high][:, None] == scores[low])
    pairs = weights[high][:, None] * weights[low]
    return (right * pairs).sum() / pairs.sum()


@given(SEEDS, st.sampled_from(ROUNDINGS), st.sampled_from([1e-8, 1.0, 37.5, 1e6, 1e25, 1e290]))
def test_the_area_is_the_share_of_pairs_in_order(seed, digits, scale):
    y, scores, _ = two_classes(seed, digits=digits, scale=scale)
    assert roc_auc(y, scores) == pytest.approx(counted(y, scores), abs=1e-14)
    assert roc_auc(y, scores) == pytest.approx(roc_auc_score(y, scores), abs=1e-14)


@given(SEEDS, st.sampled_from(ROUNDINGS))
def test_pairs_of_weighted_rows(seed, digits):
    y, scores, weights = two_classes(seed, digits=digits)
    expected = roc_auc_score(y, scores, sample_weight=weights)
    assert roc_auc(y, scores, weights) == pytest.approx(expected, abs=1e-12)
    assert roc_auc(y, scores, weights) == pytest.approx(counted(y, scores, weights), abs=1e-12)
    whole = (weights * 2**50).astype(np.int64)
    assert roc_auc(y, scores, whole) == pytest.approx(expected, abs=1e-12)
    assert roc_auc(y, scores, np.ones(len(y))) == pytest.approx(roc_auc(y, scores), abs=1e-14)


@given(SEEDS, st.sampled_from(ROUNDINGS))
def test_the_order_of_rows_does_not_matter(seed, digits):
    y, scores, weights = two_classes(seed, digits=digits)
    mixed = np.random.default_rng(seed).permutation(len(y))
    whole = (weights * 2**50).astype(np.int64)
    assert roc_auc(y, scores) == roc_auc(y[mixed], scores[mixed])
    assert roc_auc(y, scores, whole) == roc_auc(y[mixed], scores[mixed], whole[mixed])


@given(SEEDS, st.integers(3, 5))
def test_several_classes_each_against_the_rest(seed, n_classes):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 20)]
    p = softmax(rng.normal(size=(len(y), n_classes)), axis=1)
    expected = roc_auc_score(y, p, multi_class="ovr", average="macro")
    assert roc_auc(y, p) == pytest.approx(expected)


@given(SEEDS, st.integers(1, 4))
def test_labels_each_for_itself(seed, n_labels):
    rng = np.random.default_rng(seed)
    Y, scores = rng.integers(0, 2, (20, n_labels)), rng.normal(size=(20, n_labels))
    Y[0], Y[1] = 0, 1
    assert roc_auc(Y, scores) == pytest.approx(roc_auc_score(Y, scores, average="macro"))


def test_a_column_of_probabilities_for_each_of_two_classes():
    y, scores, _ = two_classes(3)
    p = np.column_stack([1 - scores, scores])
    assert roc_auc(y, p) == pytest.approx(roc_auc(y, scores))
    assert roc_auc(y, scores[:, None]) == roc_auc(y, scores)
    assert roc_auc(y == 1, scores) == roc_auc(y, scores)


def test_numbers_that_differ_in_the_last_bit_are_not_tied():
    for number in (1.0, 3.0, 1e9, -5.0):
        assert roc_auc([0, 1], [number, np.nextafter(number, np.inf)]) == 1.0
        assert roc_auc([1, 0], [number, np.nextafter(number, np.inf)]) == 0.0


def test_zeros_of_either_sign_are_tied():
    assert roc_auc([0, 1], [0.0, -0.0]) == 0.5
    assert roc_auc([1, 0], [0.0, -0.0]) == 0.5
    assert roc_auc([0, 1, 1], [-0.0, 0.0, 4.0]) == 0.75


def test_scores_are_left_as_they_are():
    y, scores, _ = two_classes(1, scale=10.0)
    before = scores.copy()
    roc_auc(y, scores)
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize(
    ("y", "scores", "match"),
    [
        ([1, 1], [0.1, 0.2], "one kind"),
        ([0, 0], [0.1, 0.2], "one kind"),
        ([0, 1, 1], np.eye(3), "column 2"),
        ([[0, 1], [0, 0]], np.eye(2), "column 0"),
        ([0, 2], [0.1, 0.2], "only 0 and 1"),
        ([-1, 1], [0.1, 0.2], "only 0 and 1"),
        ([0, 3, 1], np.eye(3), "from 0 to 2"),
        ([0, 1], [0.1, np.nan], "finite"),
        ([0, 1], [np.inf, 0.1], "finite"),
        ([0, 1], [0.1], "row for each"),
        ([[0, 1], [1, 0]], np.ones((2, 3)), "2 labels"),
        ([], [], "none"),
    ],
    ids=str,
)
def test_what_is_not_defined_is_refused(y, scores, match):
    with pytest.raises(ValueError, match=match):
        roc_auc(y, scores)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan]], ids=str)
def test_weights_that_are_none(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        roc_auc([0, 1], [0.1, 0.2], weights)


def test_rows_without_weight_do_not_count():
    assert roc_auc([0, 1, 1], [0.5, 0.1, 0.9], [1.0, 0.0, 2.0]) == 1.0
    with pytest.raises(ValueError, match="one kind"):
        roc_auc([0, 1, 1], [0.5, 0.1, 0.9], [0.0, 1.0, 2.0])
