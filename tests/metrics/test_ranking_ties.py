"""Every ranking metric is its mean over all orders of the tied documents."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import metrics

# --- The definitions, for grades in the order of a list ------------------------------------------


def good(grades, relevant):
    """Return which documents are relevant."""
    if relevant is None:
        return [g > 0 for g in grades]
    if relevant == "top":
        return [len(set(grades)) > 1 and g == max(grades) for g in grades]
    return [g >= relevant for g in grades]


def ranks(grades, relevant):
    return [i for i, is_good in enumerate(good(grades, relevant), 1) if is_good]


def average_precision(grades, relevant=None, k=math.inf):
    result = ranks(grades, relevant)
    parts = [n / i for n, i in enumerate(result, 1) if i <= k]
    return sum(parts) / len(result) if result else None


def reciprocal_rank(grades, relevant=None, k=math.inf):
    result = ranks(grades, relevant)
    return (result[0] <= k) / result[0] if result else None


def success_at(grades, k=10, relevant=None):
    result = ranks(grades, relevant)
    return float(result[0] <= k) if result else None


def r_precision(grades, relevant=None):
    result = ranks(grades, relevant)
    return sum(i <= len(result) for i in result) / len(result) if result else None


def bpref(grades, relevant=None):
    result = ranks(grades, relevant)
    n_good, n_bad = len(result), len(grades) - len(result)
    above = [min(i - k, n_good) for k, i in enumerate(result, 1)]
    parts = [1 - (n / min(n_bad, n_good) if n else 0) for n in above]
    return sum(parts) / n_good if result else None


def rank_biased_precision(grades, p=0.8, k=math.inf, relevant=None):
    result = ranks(grades, relevant)
    return (1 - p) * sum(p ** (i - 1) for i in result if i <= k) if result else None


def expected_reciprocal_rank(grades, k=None, max_grade=4):
    value, reach = 0.0, 1.0
    for i, g in enumerate(grades[:k], 1):
        stop = (2**g - 1) / 2**max_grade
        value, reach = value + reach * stop / i, reach * (1 - stop)
    return value if max(grades) > 0 else None


def precision_at_full_recall(grades, relevant="top"):
    result = ranks(grades, relevant)
    return len(result) / result[-1] if result else None


def precision_at(grades, k=10, relevant=None):
    result = ranks(grades, relevant)
    return sum(i <= k for i in result) / k if result else None


def recall_at(grades, k=10, relevant=None):
    result = ranks(grades, relevant)
    return sum(i <= k for i in result) / len(result) if result else None


def average_rank(grades, max_rank=None, relevant=None):
    result = ranks(grades, relevant)
    return min(result[0], max_rank or math.inf) if result else None


def disagreement(grades):
    pairs = [(a, b) for a, b in itertools.combinations(grades, 2) if a != b]
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else None


def dcg(grades, k, gain, rule):
    total = 0.0
    for i, g in enumerate(grades[:k], 1):
        value = g if gain == "linear" else 2**g - 1
        total += value / (math.log2(i + 1) if rule == "standard" else math.log2(max(i, 2)))
    return total


def ndcg(grades, k=None, gain="exponential", rule="standard"):
    if max(grades) == 0:
        return None
    if rule == "letor" and k is None:
        n = len(grades)
        return sum(ndcg(grades, i, gain, rule) for i in range(1, n + 1)) / n
    if rule == "letor" and k > len(grades):
        return 0.0
    best = dcg(sorted(grades, reverse=True), k, gain, rule)
    return dcg(grades, k, gain, rule) / best


# --- All orders of the tied documents ------------------------------------------------------------


@functools.cache
def orders(grades, scores):
    """Return the distinct orders of the grades; all of them are equally likely."""
    parts = []
    for score in sorted(set(scores), reverse=True):
        tied = [g for g, s in zip(grades, scores, strict=True) if s == score]
        parts.append(sorted(set(itertools.permutations(tied))))
    return [sum(choice, ()) for choice in itertools.product(*parts)]


def by_query(y, scores, qid):
    """Return (grades, scores) of each query in the order of the ids."""
    rows = [[i for i, q in enumerate(qid) if q == query] for query in sorted(set(qid))]
    return [(tuple(y[i] for i in some), tuple(scores[i] for i in some)) for some in rows]


def expectation(definition, y, scores, qid, **options):
    """Return the mean over the orders for each query, None where it is not defined."""
    means = []
    for grades, tied_scores in by_query(y, scores, qid):
        values = [definition(order, **options) for order in orders(grades, tied_scores)]
        means.append(None if values[0] is None else math.fsum(values) / len(values))
    return means


@st.composite
def problems(draw):
    """Return grades, scores of few values and query ids that are not sorted."""
    n = draw(st.integers(1, 9))
    y = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3]), min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([0.0, -1.5, 2.25]), min_size=n, max_size=n))
    ids = draw(st.sampled_from([["b", "a"], [7, -2, 3], ["one"]]))
    qid = draw(st.lists(st.sampled_from(ids), min_size=n, max_size=n))
    return y, scores, qid


CASES = [
    ("mean_average_precision", average_precision, {}),
    ("mean_average_precision", average_precision, {"relevant": 2}),
    ("mean_average_precision", average_precision, {"relevant": "top"}),
    ("mean_average_precision", average_precision, {"k": 2}),
    ("mean_reciprocal_rank", reciprocal_rank, {}),
    ("mean_reciprocal_rank", reciprocal_rank, {"k": 2}),
    ("success_at", success_at, {"k": 2}),
    ("success_at", success_at, {"k": 1, "relevant": 2}),
    ("r_precision", r_precision, {}),
    ("r_precision", r_precision, {"relevant": 2}),
    ("bpref", bpref, {}),
    ("bpref", bpref, {"relevant": 2}),
    ("rank_biased_precision", rank_biased_precision, {}),
    ("rank_biased_precision", rank_biased_precision, {"p": 0.5, "k": 3, "relevant": 2}),
    ("expected_reciprocal_rank", expected_reciprocal_rank, {}),
    ("expected_reciprocal_rank", expected_reciprocal_rank, {"k": 2, "max_grade": 3}),
    ("expected_reciprocal_rank", expected_reciprocal_rank, {"k": 4}),
    ("mean_reciprocal_rank", reciprocal_rank, {"relevant": 2.5}),
    ("prot", reciprocal_rank, {"relevant": "top"}),
    ("precision_at_full_recall", precision_at_full_recall, {"relevant": "top"}),
    ("precision_at_full_recall", precision_at_full_recall, {"relevant": None}),
    ("precision_at", precision_at, {"k": 2}),
    ("precision_at", precision_at, {"k": 10, "relevant": 2}),
    ("recall_at", recall_at, {"k": 1}),
    ("recall_at", recall_at, {"k": 3, "relevant": "top"}),
    ("ndcg", ndcg, {}),
    ("ndcg", ndcg, {"k": 2}),
    ("ndcg", ndcg, {"k": 3, "gain": "linear"}),
    ("ndcg", ndcg, {"rule": "letor"}),
    ("ndcg", ndcg, {"k": 3, "rule": "letor"}),
    ("disagreement", disagreement, {}),
    ("average_rank", average_rank, {}),
    ("average_rank", average_rank, {"max_rank": 3}),
    ("average_rank", average_rank, {"max_rank": 2, "relevant": "top"}),
]


@pytest.mark.parametrize(("name", "definition", "options"), CASES)
@given(problem=problems())
@settings(max_examples=30, deadline=None)
def test_a_metric_is_its_mean_over_all_orders_of_tied_documents(name, definition, options, problem):
    y, scores, qid = problem
    function = getattr(metrics, name)
    expected = expectation(definition, y, scores, qid, **options)
    filled = [-7.0 if value is None else value for value in expected]
    each = function(y, scores, qid, **options, empty=-7.0, per_query=True)
    np.testing.assert_allclose(each, filled, rtol=1e-12, atol=1e-14)
    mean = function(metrics.Lists(y, qid), scores, **options, empty=-7.0)
    assert isinstance(mean, float)
    assert mean == pytest.approx(sum(filled) / len(filled))

    skipped = function(y, scores, qid, **options, empty="skip", per_query=True)
    np.testing.assert_array_equal(np.isnan(skipped), [value is None for value in expected])
    kept = [value for value in expected if value is not None]
    if kept:
        mean = function(y, scores, qid, **options, empty="skip")
        assert mean == pytest.approx(sum(kept) / len(kept))
    else:
        with pytest.raises(ValueError, match="empty='skip' leaves no query"):
            function(y, scores, qid, **options, empty="skip")


@pytest.mark.parametrize("relevant", [None, 2, "top"])
@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_top_counts_are_expected_numbers_of_queries(relevant, problem):
    y, scores, qid = problem
    ks = (1, 2, 3, 5, 8)
    expected = np.zeros(len(ks))
    for grades, tied_scores in by_query(y, scores, qid):
        firsts = [average_rank(order, None, relevant) for order in orders(grades, tied_scores)]
        if firsts[0] is not None:
            expected += [sum(first <= k for first in firsts) / len(firsts) for k in ks]
    counts = metrics.top_counts(y, scores, qid, ks=ks, relevant=relevant)
    np.testing.assert_allclose(counts, expected, rtol=1e-12, atol=1e-12)
