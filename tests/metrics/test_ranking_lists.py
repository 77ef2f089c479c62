"""Lists: queries in any order and of any kind, scores of any size, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import metrics
from edgewise.metrics import Lists

FUNCTIONS = [
    metrics.mean_average_precision,
    metrics.average_rank,
    metrics.precision_at_full_recall,
    metrics.disagreement,
    metrics.ndcg,
    metrics.precision_at,
    metrics.prot,
    metrics.recall_at,
    metrics.mean_reciprocal_rank,
]


def problem(seed, n=60, n_queries=5):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, n), rng.integers(0, 8, n) / 4, rng.integers(0, n_queries, n)


def test_lists_know_their_queries_and_places():
    lists = Lists([1, 0, 2, 0], qid=["b", "a", "b", "b"])
    assert (lists.n_rows, lists.n_queries) == (4, 2)
    assert lists.queries.tolist() == ["a", "b"]
    assert lists.sizes.tolist() == [1, 3]
    ranked = lists.rank([0.5, 0.1, 0.5, 0.9])
    assert ranked.order[:2].tolist() == [1, 3]
    assert sorted(ranked.order[2:].tolist()) == [0, 2]
    assert ranked.lists.query.tolist() == [0, 1, 1, 1]
    assert ranked.lists.position.tolist() == [1, 1, 2, 3]
    assert ranked.group_starts.tolist() == [0, 1, 2]
    assert ranked.group_sizes.tolist() == [1, 1, 2]
    assert ranked.group_before.tolist() == [0, 0, 1]
    assert ranked.group_query.tolist() == [0, 1, 1]


def test_equal_scores_of_two_lists_are_no_tie():
    assert not Lists([1, 0], qid=[0, 1]).rank([3.0, 3.0]).has_ties


@pytest.mark.parametrize("function", FUNCTIONS)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_the_size_of_scores_do_not_matter(function, seed):
    y, scores, qid = problem(seed)
    before = (y.copy(), scores.copy(), qid.copy())
    value = function(y, scores, qid, per_query=True)
    shuffle = np.random.default_rng(seed).permutation(len(y))
    other = function(y[shuffle], np.exp(scores[shuffle]), qid[shuffle], per_query=True)
    np.testing.assert_allclose(other, value, rtol=1e-12)
    for array, copy in zip((y, scores, qid), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    "spelt",
    [
        lambda qid: [f"query {q}" for q in qid],
        lambda qid: np.array([f"query {q}" for q in qid]),
        lambda qid: np.array([f"query {q}" for q in qid], dtype=object),
        lambda qid: pd.Series([f"query {q}" for q in qid]),
        lambda qid: pd.Series(qid, index=range(1000, 1000 + len(qid))).astype("category"),
        lambda qid: qid.astype(float),
        lambda qid: (qid - 3).astype(np.int8),
        lambda qid: qid.tolist(),
        lambda qid: np.datetime64("2020-01-01") + qid,
    ],
)
def test_queries_of_any_kind(spelt):
    y, scores, qid = problem(7)
    expected = metrics.ndcg(y, scores, qid, per_query=True)
    np.testing.assert_array_equal(metrics.ndcg(y, scores, spelt(qid), per_query=True), expected)
    assert Lists(y, spelt(qid)).queries.tolist() == sorted(set(np.asarray(spelt(qid)).tolist()))


@pytest.mark.parametrize("n_queries", [1, 2, 256, 257, 65_536, 65_537, 140_000])
def test_any_number_of_queries(n_queries):
    rng = np.random.default_rng(n_queries)
    qid = rng.permutation(np.repeat(np.arange(n_queries), 2))
    scores = rng.normal(size=2 * n_queries)
    best = np.full(n_queries, -np.inf)
    np.maximum.at(best, qid, scores)
    y = rng.random(2 * n_queries) < 0.5
    expected = np.zeros(n_queries)
    np.maximum.at(expected, qid, np.where(y, np.where(scores == best[qid], 1.0, 0.5), 0.0))
    result = metrics.mean_reciprocal_rank(y, scores, qid, per_query=True)
    np.testing.assert_array_equal(result, expected)


def test_no_queries_mean_one_list():
    y, scores, _ = problem(3)
    for function in FUNCTIONS:
        each = function(y, scores, per_query=True)
        assert each.shape == (1,)
        assert function(y, scores) == each[0] == function(y, scores, np.full(len(y), "all"))


def test_infinite_scores_have_a_rank():
    assert metrics.mean_reciprocal_rank([0, 1, 0], [0.0, np.inf, -np.inf]) == 1.0
    assert metrics.mean_reciprocal_rank([0, 1, 0], [0.0, -np.inf, np.inf]) == 1 / 3
    assert metrics.mean_reciprocal_rank([0, 1], [np.inf, np.inf]) == 0.75


def test_a_single_document():
    assert metrics.mean_average_precision([1], [0.3]) == 1.0
    assert metrics.ndcg([1], [0.3], rule="letor") == 1.0
    assert metrics.disagreement([1], [0.3], empty=0.25) == 0.25


def test_negative_zero_is_zero():
    assert metrics.mean_average_precision([1, 0], [0.0, -0.0]) == 0.75


def test_prepared_lists_answer_the_same_however_often_they_are_asked():
    y, scores, qid = problem(11)
    lists = Lists(y, qid)
    for _ in range(2):
        for k in range(1, 30):
            assert metrics.ndcg(lists, scores, k=k) == metrics.ndcg(y, scores, qid, k=k)
    assert metrics.ndcg(lists, scores, gain="linear") == metrics.ndcg(y, scores, qid, gain="linear")


@pytest.mark.parametrize(
    ("y", "qid", "error", "message"),
    [
        ([], None, ValueError, "y must hold at least one number"),
        ([[1, 0]], None, ValueError, r"y must be 1-D, got an array of shape \(1, 2\)"),
        ([1.0, np.nan], None, ValueError, "y must hold finite numbers"),
        ([1.0, np.inf], None, ValueError, "y must hold finite numbers"),
        (["a", "b"], None, TypeError, "y must hold real numbers"),
        ([1j, 0], None, TypeError, "y must hold real numbers"),
        (np.array([1, "a"], dtype=object), None, TypeError, "y must hold real numbers"),
        ([1, 0], [1], ValueError, "qid must have an id for each of the 2 rows, got 1"),
        ([1, 0], [[1, 2]], ValueError, "qid must be 1-D"),
        ([1, 0], 3, ValueError, "qid must be 1-D"),
        ([1, 0], [1.0, np.nan], ValueError, "qid must not have missing values"),
        ([1, 0], np.array([1.0, np.nan]), ValueError, "qid must not have missing values"),
        ([1, 0], ["a", None], ValueError, "qid must not have missing values"),
        ([1, 0], ["a", float("nan")], ValueError, "qid must not have missing values"),
        ([1, 0], ["a", pd.NA], ValueError, "qid must not have missing values"),
        ([1, 0], pd.Series([1, None], dtype="Int64"), ValueError, "qid must not have missing"),
        ([1, 0], np.array(["2020-01-01", "NaT"], "M8[D]"), ValueError, "qid must not have missing"),
        ([1, 0], ["a", 1], TypeError, "qid must hold ids that can be sorted"),
    ],
)
def test_what_lists_refuse(y, qid, error, message):
    with pytest.raises(error, match=message):
        Lists(y, qid)


@pytest.mark.parametrize("function", [*FUNCTIONS, metrics.top_counts])
def test_what_every_metric_refuses(function):
    y = [1, 0, 1]
    with pytest.raises(ValueError, match="scores must have a value for each of the 3 rows, got 2"):
        function(y, [1.0, 2.0])
    with pytest.raises(ValueError, match="scores must not hold NaN"):
        function(y, [1.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="scores must be 1-D"):
        function(y, [[1.0], [2.0], [3.0]])
    with pytest.raises(TypeError, match="scores must hold real numbers"):
        function(y, ["1", "2", "3"])
    with pytest.raises(ValueError, match="qid must be None where y is a Lists"):
        function(Lists(y), [1.0, 2.0, 3.0], [0, 0, 0])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_options_refuse(function):
    y, scores = [1, 0, 1], [1.0, 2.0, 3.0]
    for empty in ("drop", np.nan, None, True):
        with pytest.raises(ValueError, match="empty must be a number or 'skip'"):
            function(y, scores, empty=empty)
    with pytest.raises(TypeError, match="per_query must be True or False"):
        function(y, scores, per_query="yes")


def test_what_single_options_refuse():
    y, scores = [1, 0, 1], [1.0, 2.0, 3.0]
    for relevant in ("best", np.nan, True, [1]):
        with pytest.raises(ValueError, match="relevant must be None, 'top' or a least grade"):
            metrics.mean_average_precision(y, scores, relevant=relevant)
    for function in (metrics.ndcg, metrics.precision_at, metrics.recall_at):
        with pytest.raises(ValueError, match="k must be an integer of at least 1"):
            function(y, scores, k=0)
        with pytest.raises(TypeError, match="k must be an integer of at least 1"):
            function(y, scores, k=2.5)
    with pytest.raises(ValueError, match="max_rank must be an integer of at least 1"):
        metrics.average_rank(y, scores, max_rank=0)
    with pytest.raises(ValueError, match="ks must be an integer of at least 1"):
        metrics.top_counts(y, scores, ks=[1, 0])
    with pytest.raises(ValueError, match="gain must be one of 'exponential', 'linear'"):
        metrics.ndcg(y, scores, gain="square")
    with pytest.raises(ValueError, match="rule must be one of 'standard', 'letor'"):
        metrics.ndcg(y, scores, rule="trec")


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_ndcg_refuses_negative_gains(gain):
    with pytest.raises(ValueError, match=r"y must not hold negative grades for ndcg.*got -1"):
        metrics.ndcg([1, -1], [1.0, 2.0], gain=gain)
    assert metrics.mean_average_precision([1, -1], [1.0, 2.0]) == 0.5


def test_ndcg_refuses_gains_beyond_all_numbers():
    with pytest.raises(ValueError, match="y is too large for gain='exponential'"):
        metrics.ndcg([2000, 1], [1.0, 2.0])
    assert metrics.ndcg([2000, 0], [2.0, 1.0], gain="linear") == 1.0


K = {"ndcg": "@60", "precision": "@5", "recall": "@5", "success": "@3", "hit_rate": "@3"}


@pytest.mark.parametrize("name", sorted({*metrics.RANKING_METRICS} - {"bpref"}))
@pytest.mark.parametrize("seed", range(3))
def test_documents_that_are_not_returned_stand_infinitely_far_down(name, seed):
    rng = np.random.default_rng(seed)
    y, qid = rng.integers(0, 3, 60), rng.integers(0, 5, 60)
    scores, returned = rng.integers(0, 4, 60).astype(float), rng.random(60) < 0.6
    # Many documents of grade 0 between the returned ones and the others.
    if name in ("auc", "disagreement"):
        expected_lists, all_scores = Lists(y, qid), np.where(returned, scores, -1.0)
    else:
        filler = np.repeat(np.arange(5), 20_000)
        expected_lists = Lists(np.r_[y, np.zeros(len(filler))], np.r_[qid, filler])
        all_scores = np.r_[np.where(returned, scores, -2.0), np.full(len(filler), -1.0)]
    # The discount of NDCG vanishes too slowly without a cutoff.
    metric = metrics.ranking_metric(name + K.get(name, "")).function
    result = metric(Lists(y, qid, returned=returned), scores, per_query=True, empty=0.0)
    expected = metric(expected_lists, all_scores, per_query=True, empty=0.0)
    np.testing.assert_allclose(result, expected, atol=1e-3)


def test_returned_must_have_a_flag_for_each_row():
    for wrong in ([True], [1, 0], [[True, False]]):
        with pytest.raises(ValueError, match="returned must have True or False for each of 2 rows"):
            Lists([0, 1], returned=wrong)


def test_the_rank_of_a_document_that_is_not_returned_is_the_most():
    lists = Lists([0, 1], returned=np.array([True, False]))
    assert metrics.average_rank(lists, [1.0, 0.0], max_rank=31) == 31
    assert metrics.average_rank(lists, [1.0, 0.0]) == np.inf
    assert metrics.top_counts(lists, [1.0, 0.0], ks=(1, 5)).tolist() == [0, 0]
