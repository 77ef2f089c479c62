"""The area under the ROC curve of lists: by hand, beside scikit-learn, and beside disagreement."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from edgewise.metrics import Lists, disagreement, grouped_auc


def problem(seed, n=80):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, n), rng.integers(0, 9, n) / 2, rng.integers(0, 12, n)


def test_by_hand():
    # of 2 x 2 pairs: (0.9, 0.5), (0.9, 0.1) and (0.5, 0.1) are right, (0.5, 0.5) is tied
    assert grouped_auc([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1]) == pytest.approx(3.5 / 4)
    assert grouped_auc([0, 1], [1.0, 0.0]) == 0
    assert grouped_auc([0, 1, 1, 0], [0.0] * 4) == 0.5


@given(st.integers(0, 2**32 - 1))
def test_each_list_is_that_of_scikit_learn(seed):
    y, scores, qid = problem(seed)
    result = grouped_auc(y, scores, qid, per_query=True)
    expected = []
    for query in np.unique(qid):
        rows = qid == query
        marks = y[rows] > 0
        mixed = marks.any() and not marks.all()
        expected.append(roc_auc_score(marks, scores[rows]) if mixed else np.nan)
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    if not np.isnan(expected).all():
        assert grouped_auc(y, scores, qid) == pytest.approx(np.nanmean(expected))


@given(st.integers(0, 2**32 - 1))
def test_one_minus_disagreement_on_two_grades(seed):
    y, scores, qid = problem(seed)
    wrong = disagreement(y > 0, scores, qid, empty=0.5, per_query=True)
    right = grouped_auc(y, scores, qid, empty=0.5, per_query=True)
    np.testing.assert_allclose(right, 1 - wrong, atol=1e-12)


def test_which_documents_are_relevant():
    y, scores = [5, 4, 1], [1.0, 3.0, 2.0]
    assert grouped_auc(y, scores, relevant=4) == 0.5
    assert grouped_auc(y, scores, relevant="top") == 0.0
    assert grouped_auc(Lists(y), scores, relevant="top") == 0.0


def test_lists_with_nothing_to_order():
    y, scores, qid = [1, 1, 0, 0, 1, 0], [1.0, 2, 1, 2, 2, 1], [0, 0, 1, 1, 2, 2]
    assert grouped_auc(y, scores, qid) == 1.0
    assert grouped_auc(y, scores, qid, empty=0.5) == pytest.approx(2 / 3)
    np.testing.assert_array_equal(grouped_auc(y, scores, qid, per_query=True), [np.nan, np.nan, 1])
    with pytest.raises(ValueError, match="empty='skip' leaves no query"):
        grouped_auc([1, 1], [1.0, 2.0])


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="relevant must be None, 'top' or a least grade"):
        grouped_auc([1, 0], [1, 0], relevant="most")
    with pytest.raises(ValueError, match="empty must be a number or 'skip'"):
        grouped_auc([1, 0], [1, 0], empty=None)
    with pytest.raises(ValueError, match="scores must have a value for each of the 2 rows"):
        grouped_auc([1, 0], [1.0])
    with pytest.raises(TypeError, match="per_query must be True or False"):
        grouped_auc([1, 0], [1, 0], per_query=1)
