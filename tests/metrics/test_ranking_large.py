"""Large inputs: a million rows, tie groups of a hundred thousand, grades that are all different."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from edgewise import metrics
from edgewise.metrics import Lists


def rank_probabilities(before, tied, relevant, j):
    """Return {rank: probability} of the j-th relevant document of a tie group, Iyer 1999 eq.
    5.2.
    """
    ways = math.comb(tied, relevant)
    return {
        before + step: Fraction(
            math.comb(step - 1, j - 1) * math.comb(tied - step, relevant - j), ways
        )
        for step in range(j, tied - relevant + j + 1)
    }


def precisions(marks, scores):
    """Return the expected precision of each relevant document, by the thesis's formulas."""
    result, before, above = [], 0, 0
    for score in sorted(set(scores), reverse=True):
        tied = marks[scores == score]
        for j in range(1, int(tied.sum()) + 1):
            chances = rank_probabilities(before, len(tied), int(tied.sum()), j)
            result.append(sum((above + j) * p / rank for rank, p in chances.items()))
        before, above = before + len(tied), above + int(tied.sum())
    return [float(value) for value in result]


@pytest.fixture(scope="module")
def million():
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = rng.choice([0, 0, 0, 1, 2, 3, 4], n)
    scores = np.round(rng.normal(size=n) + y / 4, 1)
    return y, scores, rng.integers(0, 20_000, n)


def test_a_million_rows_agree_with_the_formulas_of_the_thesis(million):
    y, scores, qid = million
    lists = Lists(y, qid)
    map_ = metrics.mean_average_precision(lists, scores, per_query=True)
    mrr = metrics.mean_reciprocal_rank(lists, scores, per_query=True)
    last = metrics.precision_at_full_recall(lists, scores, per_query=True, relevant=None)
    for query in (0, 777, 19_999):
        mine = qid == query
        each = precisions(y[mine] > 0, scores[mine])
        assert map_[query] == pytest.approx(np.mean(each), rel=1e-12)
        assert mrr[query] == pytest.approx(each[0], rel=1e-12)
        assert last[query] == pytest.approx(each[-1], rel=1e-12)


def test_a_million_rows_agree_with_one_query_at_a_time(million):
    y, scores, qid = million
    lists = Lists(y, qid)
    for function in (
        metrics.ndcg,
        lambda *args, **kw: metrics.ndcg(*args, rule="letor", **kw),
        metrics.precision_at,
        metrics.recall_at,
        metrics.disagreement,
        metrics.average_rank,
        metrics.prot,
    ):
        each = function(lists, scores, per_query=True)
        assert each.shape == (20_000,)
        for query in (3, 12_345):
            mine = qid == query
            assert each[query] == pytest.approx(function(y[mine], scores[mine]), rel=1e-12)


def test_a_million_rows_in_one_list(million):
    y, scores, _ = million
    lists = Lists(y)
    assert metrics.ndcg(lists, y) == pytest.approx(1.0, rel=1e-12)
    # All pairs of different grades, counted from the table of grades and scores.
    values, column = np.unique(scores, return_inverse=True)
    table = np.zeros((5, len(values)))
    np.add.at(table, (y, column), 1)
    wrong = pairs = 0.0
    for low in range(5):
        for high in range(low + 1, 5):
            above = table[low][::-1].cumsum()[::-1] - table[low]
            wrong += table[high] @ (above + table[low] / 2)
            pairs += table[high].sum() * table[low].sum()
    assert metrics.disagreement(lists, scores) == pytest.approx(wrong / pairs, rel=1e-12)
    assert metrics.disagreement(lists, np.zeros(len(y))) == 0.5


@pytest.mark.parametrize("ties", [False, True])
def test_disagreement_of_grades_that_all_differ_follows_kendall(ties):
    rng = np.random.default_rng(1)
    y = rng.normal(size=100_000)
    scores = rng.normal(size=len(y)) + y
    if ties:
        scores = np.round(scores)
        tau = scipy.stats.somersd(np.round(y, 2)[:3000], scores[:3000]).statistic
        result = metrics.disagreement(np.round(y, 2)[:3000], scores[:3000])
    else:
        tau = scipy.stats.kendalltau(y, scores).statistic
        result = metrics.disagreement(y, scores)
    assert result == pytest.approx((1 - tau) / 2, rel=1e-10)


def test_one_relevant_document_in_a_large_tie():
    n = 100_000
    y = np.zeros(n)
    y[17] = 1
    mean = math.fsum(1 / i for i in range(1, n + 1)) / n
    for function in (
        metrics.mean_reciprocal_rank,
        metrics.mean_average_precision,
        metrics.precision_at_full_recall,
    ):
        assert function(y, np.zeros(n)) == pytest.approx(mean, rel=1e-12)
    assert metrics.average_rank(y, np.zeros(n)) == (n + 1) / 2
    assert metrics.average_rank(y, np.zeros(n), max_rank=2) == pytest.approx(2 - 1 / n, rel=1e-12)
    counts = metrics.top_counts(y, np.zeros(n), ks=[10, n])
    np.testing.assert_allclose(counts, [10 / n, 1.0], rtol=1e-12)


@pytest.mark.parametrize("n_relevant", [2, 300, 50_000, 99_999])
def test_many_relevant_documents_in_a_large_tie(n_relevant):
    n, above = 100_000, 2
    y = np.r_[np.zeros(above), np.ones(n_relevant), np.zeros(n - n_relevant)]
    scores = np.r_[np.full(above, 1.0), np.zeros(n)]
    firsts = [(above + step, p) for step, p in _firsts(n, n_relevant)]
    expected = math.fsum(p / rank for rank, p in firsts)
    assert metrics.mean_reciprocal_rank(y, scores) == pytest.approx(expected, rel=1e-12)
    expected = math.fsum(p * min(rank, 31) for rank, p in firsts)
    assert metrics.average_rank(y, scores, max_rank=31) == pytest.approx(expected, rel=1e-12)
    expected = math.fsum(p for rank, p in firsts if rank <= 30)
    assert metrics.top_counts(y, scores, ks=[30])[0] == pytest.approx(expected, rel=1e-12)
    lasts = [(2 * above + n + 1 - rank, p) for rank, p in firsts]
    expected = math.fsum(n_relevant * p / rank for rank, p in lasts)
    assert metrics.precision_at_full_recall(y, scores) == pytest.approx(expected, rel=1e-12)


def _firsts(n, n_relevant):
    left = 1.0  # how likely no relevant document has come yet
    for step in range(1, n - n_relevant + 2):
        here = left * n_relevant / (n - step + 1)
        yield step, here
        left *= (n - n_relevant - step + 1) / (n - step + 1)


def test_average_precision_deep_in_a_long_list():
    # One relevant of two tied documents below 500,000 others: (1/(n+1) + 1/(n+2)) / 2; and both.
    n = 500_000
    scores = np.r_[np.ones(n), np.zeros(2)]
    y = np.r_[np.zeros(n), 1.0, 0.0]
    expected = (1 / (n + 1) + 1 / (n + 2)) / 2
    assert metrics.mean_average_precision(y, scores) == pytest.approx(expected, rel=1e-13)
    y[-1] = 1.0
    expected = (1 / (n + 1) + 2 / (n + 2)) / 2
    assert metrics.mean_average_precision(y, scores) == pytest.approx(expected, rel=1e-13)
