"""Ranking metrics without ties: values of other programs, and examples worked by hand."""

import math
import random

import numpy as np
import pytest

from edgewise import metrics


def instance():
    """Return 116 graded documents of 12 queries; query 4 has no relevant one."""
    draw = random.Random(2009).random
    y, scores, qid = [], [], []
    for query in range(12):
        for _ in range(3 + int(draw() * 15)):
            y.append(int(draw() * 3) if query != 4 else 0)
            scores.append(int(draw() * 1e6))
            qid.append(query)
    return y, scores, qid


# Values per query of instance(), by pytrec_eval-terrier 0.5.11 (map, recip_rank, ndcg,
# ndcg_cut_5, P_5, P_10, recall_5, recall_10) and ranx 0.3.21 (ndcg_burges, ndcg_burges@5): the
# gain of the former is linear, that of the latter exponential. What both have is equal.
# fmt: off
REFERENCE = [
    ("mean_average_precision", {},
     [0.6083333333, 0.9333765771, 0.943687936, 0.8166666667, 0.0, 0.8736394558,
      0.8134920635, 1.0, 0.8875, 0.7961904762, 0.9821428571, 0.5438999132]),
    ("mean_reciprocal_rank", {},
     [0.5, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.25]),
    ("ndcg", {"gain": "linear"},
     [0.7315682115, 0.9067594816, 0.9113539059, 0.7751678073, 0.0, 0.8990380419,
      0.7610331526, 0.8596139056, 0.9252480161, 0.801196686, 0.8516462059, 0.6293919503]),
    ("ndcg", {"gain": "linear", "k": 5},
     [0.592512032, 0.7426142776, 0.7165902417, 0.6751547357, 0.0, 0.7040090042,
      0.4501924534, 0.8596139056, 0.9252480161, 0.5509127178, 0.723426765, 0.2042392524]),
    ("ndcg", {},
     [0.7315682115, 0.875941383, 0.8736590517, 0.6900409959, 0.0, 0.8781774077,
      0.6770235702, 0.7807789775, 0.9117958962, 0.7584512155, 0.7969165691, 0.601979087]),
    ("ndcg", {"k": 5},
     [0.592512032, 0.6568190367, 0.6130649606, 0.6119528922, 0.0, 0.6578330245,
      0.3319646601, 0.7807789775, 0.9117958962, 0.5021695396, 0.6312356867, 0.1798945275]),
    ("precision_at", {"k": 5},
     [0.6, 1.0, 1.0, 0.6, 0.0, 0.8, 0.6, 0.8, 0.8, 0.6, 1.0, 0.4]),
    ("precision_at", {},
     [0.4, 0.9, 0.9, 0.4, 0.0, 0.7, 0.6, 0.4, 0.4, 0.5, 0.7, 0.6]),
    ("recall_at", {"k": 5},
     [0.75, 0.4166666667, 0.3846153846, 0.75, 0.0, 0.5714285714,
      0.5, 1.0, 1.0, 0.6, 0.7142857143, 0.1818181818]),
    ("recall_at", {},
     [1.0, 0.75, 0.6923076923, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5454545455]),
]

# The line "Average" of the evaluation script of LETOR 4.0 (Eval-Score-4.0.pl) on instance(),
# printed with more digits: NDCG@1 to NDCG@10, then MeanNDCG.
LETOR = [
    0.4722222222, 0.4583333333, 0.4564576579, 0.4772076800, 0.5362136104,
    0.4567583250, 0.4309262739, 0.3202245019, 0.3230796917, 0.2686061578,
]
LETOR_MEAN = 0.5451886816
# fmt: on


@pytest.mark.parametrize(("name", "options", "expected"), REFERENCE)
def test_values_of_pytrec_eval_and_ranx(name, options, expected):
    y, scores, qid = instance()
    each = getattr(metrics, name)(y, scores, qid, **options, per_query=True)
    np.testing.assert_allclose(each, expected, rtol=0, atol=1e-10)


def test_values_of_the_letor_script():
    y, scores, qid = instance()
    lists = metrics.Lists(y, qid)
    result = [metrics.ndcg(lists, scores, k=k, rule="letor") for k in range(1, 11)]
    np.testing.assert_allclose(result, LETOR, rtol=0, atol=1e-10)
    assert metrics.ndcg(lists, scores, rule="letor") == pytest.approx(LETOR_MEAN, abs=1e-10)


def test_letor_rule_by_hand():
    # Gains in order: 1, 0, 3; best order: 3, 1, 0. Ranks 1 and 2 are not discounted.
    y, scores = [1, 0, 2], [3.0, 2.0, 1.0]
    by_k = [1 / 3, 1 / 4, (1 + 3 / math.log2(3)) / 4]
    for k, expected in enumerate(by_k, 1):
        assert metrics.ndcg(y, scores, k=k, rule="letor") == pytest.approx(expected)
    # A list of three documents has no NDCG@4: the script counts it as 0.
    assert metrics.ndcg(y, scores, k=4, rule="letor") == 0.0
    assert metrics.ndcg(y, scores, rule="letor") == pytest.approx(sum(by_k) / 3)
    assert metrics.ndcg([0, 0], [1.0, 2.0], rule="letor") == 0.0


def test_ndcg_by_hand():
    # Order 0, 2, 1 against 2, 1, 0.
    y, scores = [0, 2, 1], [3.0, 2.0, 1.0]
    best = 3 + 1 / math.log2(3)
    assert metrics.ndcg(y, scores) == pytest.approx((3 / math.log2(3) + 1 / 2) / best)
    assert metrics.ndcg(y, scores, k=1) == 0.0
    assert metrics.ndcg(y, scores, k=2) == pytest.approx(3 / math.log2(3) / best)
    linear = (2 / math.log2(3) + 1 / 2) / (2 + 1 / math.log2(3))
    assert metrics.ndcg(y, scores, gain="linear") == pytest.approx(linear)


def test_measures_of_the_movie_task_by_hand():
    # Good movies (grade 5) at ranks 2 and 5 of five.
    y, scores = [4, 5, 1, 2, 5], [5.0, 4.0, 3.0, 2.0, 1.0]
    assert metrics.prot(y, scores) == 1 / 2
    assert metrics.precision_at_full_recall(y, scores) == 2 / 5
    assert metrics.mean_average_precision(y, scores, relevant="top") == pytest.approx(
        (1 / 2 + 2 / 5) / 2
    )
    # Misordered of the 9 pairs: (4, 5) twice, (1, 2), (1, 5), (2, 5).
    assert metrics.disagreement(y, scores) == 5 / 9


def test_prot_of_a_random_order_is_that_of_the_distribution_of_the_first_rank():
    # Iyer 1999 eq. (5.2): 2 good of 4 tied movies are first at 1, 2, 3 with 3/6, 2/6, 1/6.
    y, scores = [5, 5, 1, 1], [0.0] * 4
    assert metrics.prot(y, scores) == pytest.approx(3 / 6 + 2 / 6 / 2 + 1 / 6 / 3)
    assert metrics.precision_at_full_recall(y, scores) == pytest.approx(
        2 * (3 / 6 / 4 + 2 / 6 / 3 + 1 / 6 / 2)
    )
    first = metrics.average_rank(y, scores, relevant="top")
    assert first == pytest.approx((3 * 1 + 2 * 2 + 1 * 3) / 6)


def test_good_movies_need_a_worse_one():
    y, scores, qid = [3, 3, 3, 1], [1.0, 2.0, 1.0, 2.0], [0, 0, 1, 1]
    np.testing.assert_array_equal(metrics.prot(y, scores, qid, per_query=True), [0.0, 0.5])
    assert metrics.prot(y, scores, qid, empty="skip") == 0.5
    assert metrics.mean_reciprocal_rank(y, scores, qid) == 1.0


def test_columns_of_table_5_1():
    # First relevant documents at ranks 1 and 3, and one query without any.
    y = [1, 0, 0, 0, 0, 2, 1, 0, 0]
    scores = [9, 8, 7, 3, 2, 1, 0, 5, 6]
    qid = ["x", "x", "x", "y", "y", "y", "y", "z", "z"]
    assert metrics.top_counts(y, scores, qid).tolist() == [1, 1, 2, 2, 2, 2]
    assert metrics.top_counts(y, scores, qid, ks=[3, 1]).tolist() == [2, 1]
    assert metrics.average_rank(y, scores, qid) == 2.0
    assert metrics.average_rank(y, scores, qid, max_rank=2, empty=2) == (1 + 2 + 2) / 3


def test_a_perfect_order_is_worth_one():
    y, _, qid = instance()
    for name in ("map", "mrr", "ndcg", "ndcg@3", "prot", "precision_at_full_recall"):
        metric = metrics.ranking_metric(name)
        assert metric.function(y, y, qid, empty=1.0) == pytest.approx(1.0)
    assert metrics.disagreement(y, y, qid) == 0.0
    assert metrics.ndcg(y, y, qid, rule="letor", empty=1.0) == pytest.approx(1.0)
    worst = metrics.disagreement(y, np.negative(y), qid, empty=1.0)
    assert worst == 1.0
