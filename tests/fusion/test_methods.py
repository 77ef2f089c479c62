"""Fusion methods: a hand-worked example, and what happens at the edges."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from edgewise.common import choices
from edgewise.fusion import (
    FUSIONS,
    RankedLists,
    best_list,
    borda,
    comb_mnz,
    comb_sum,
    condorcet,
    fuse,
    maximum_rank,
    median_rank,
    methods,
    minimum_rank,
    normalized_scores,
    rank_sum,
    reciprocal_rank_fusion,
    single_list,
)

# One query, documents a, b, c and d. The lists are a b c d, then b a c, then c a.
HAND = RankedLists(
    [[1, 2, 2], [2, 1, None], [3, 3, 1], [4, None, None]],
    qid=["q"] * 4,
    docs=list("abcd"),
    names=["A", "B", "C"],
)


@pytest.mark.parametrize(
    ("method", "options", "expected"),
    [
        # Points of a: 4 + 3 + 3. C returns two of four and leaves (2 + 1) / 2 to b and d.
        ("borda", {}, [10, 3 + 4 + 1.5, 2 + 2 + 4, 1 + 1 + 1.5]),
        # After the lists come the ranks 5, 4 and 3.
        ("minimum_rank", {}, [-1, -1, -1, -3]),
        ("maximum_rank", {}, [-2, -3, -3, -4]),
        ("median_rank", {}, [-2, -2, -3, -4]),
        ("rank_sum", {}, [-5, -6, -7, -11]),
        ("minimum_rank", {"unranked": "ignore"}, [-1, -1, -1, -4]),
        ("maximum_rank", {"unranked": "ignore"}, [-2, -2, -3, -4]),
        ("median_rank", {"unranked": "ignore"}, [-2, -1.5, -3, -4]),
        ("rank_sum", {"unranked": "ignore"}, [-5, -4.5, -7, -12]),
        ("rank_sum", {"unranked": 31}, [-5, -34, -7, -66]),
        ("rrf", {"k": 1}, [1 / 2 + 1 / 3 + 1 / 3, 1 / 3 + 1 / 2, 1 / 4 + 1 / 4 + 1 / 2, 1 / 5]),
        # a beats all, b beats c (on A and B) and d, c beats d.
        ("condorcet", {}, [3, 1, -1, -3]),
        # The lists have 4, 3 and 2 documents.
        ("comb_sum", {"norm": "rank"}, [1 + 2 / 3 + 1 / 2, 3 / 4 + 1, 1 / 2 + 1 / 3 + 1, 1 / 4]),
        ("comb_mnz", {"norm": "rank"}, [13 / 2, 7 / 2, 11 / 2, 1 / 4]),
        ("comb_sum", {}, [1 + 1 / 2 + 0, 2 / 3 + 1, 1 / 3 + 0 + 1, 0]),
        ("comb_mnz", {}, [9 / 2, 10 / 3, 4, 0]),
    ],
)
def test_hand_worked_example(method, options, expected):
    np.testing.assert_allclose(fuse(HAND, method, **options), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("min-max", [1, 0.5, 0, 0]),
        ("max", [1, 0.75, 0.5, 0]),
        ("sum", [2 / 3, 1 / 3, 0, 0]),
        ("zmuv", [math.sqrt(1.5), 0, -math.sqrt(1.5), 0]),
        ("rank", [1, 2 / 3, 1 / 3, 0]),
        (None, [8, 6, 4, 0]),
    ],
)
def test_norms_by_hand(norm, expected):
    lists = RankedLists.from_scores([[8], [6], [4], [None]], qid=[1] * 4)
    np.testing.assert_allclose(normalized_scores(lists, norm)[:, 0], expected, atol=1e-15)


@pytest.mark.parametrize(
    ("norm", "value"), [("min-max", 1), ("max", 1), ("sum", 1 / 3), ("zmuv", 0), ("rank", 2 / 3)]
)
def test_norms_of_a_list_that_tells_nothing_apart(norm, value):
    lists = RankedLists.from_scores([[0.1], [0.1], [0.1], [None]], qid=[1] * 4)
    np.testing.assert_allclose(normalized_scores(lists, norm)[:, 0], [value] * 3 + [0], atol=1e-15)


def test_copeland_scores_do_not_depend_on_the_size_of_a_block(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(9, size=(60, 4)).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    lists = RankedLists.from_scores(X, qid=np.repeat([1, 2], [50, 10]))
    whole = condorcet(lists)
    monkeypatch.setattr(methods, "_PAIRS", 170)
    np.testing.assert_array_equal(condorcet(lists), whole)


def test_majorities_in_a_circle_are_tied():
    circle = RankedLists([[1, 3, 2], [2, 1, 3], [3, 2, 1]], qid=[1, 1, 1])
    np.testing.assert_array_equal(condorcet(circle), [0, 0, 0])


def test_gaps_do_not_put_unranked_documents_before_ranked_ones():
    # Two documents of a long list are at hand, and one that it does not return.
    lists = RankedLists([[20], [107], [None]], qid=[1, 1, 1])
    for method in FUSIONS:
        assert fuse(lists, method)[1] >= fuse(lists, method)[2]
    np.testing.assert_array_equal(rank_sum(lists), [-20, -107, -108])
    np.testing.assert_array_equal(borda(lists), [3, 2, 1])


def test_a_list_that_returns_nothing_has_no_say():
    some, empty = [[1, 3], [2, 1], [3, 2]], [[None]] * 3
    lists = RankedLists(some, qid=[1, 1, 1])
    more = RankedLists(np.hstack([some, np.array(empty, dtype=float)]), qid=[1, 1, 1])
    for method in FUSIONS:
        order = np.argsort(-fuse(lists, method), kind="stable")
        np.testing.assert_array_equal(np.argsort(-fuse(more, method), kind="stable"), order)
    np.testing.assert_array_equal(minimum_rank(more), minimum_rank(lists))
    np.testing.assert_array_equal(median_rank(more), median_rank(lists))
    np.testing.assert_array_equal(maximum_rank(more), maximum_rank(lists))


def test_a_large_k_flattens_the_weights_of_the_places():
    # The first document is once first and once last, the second is twice in the middle.
    lists = RankedLists([[1, 9], [4, 4]], qid=[1, 1])
    sharp, flat = reciprocal_rank_fusion(lists, k=1), reciprocal_rank_fusion(lists, k=1000)
    assert sharp[0] > sharp[1]
    assert flat[0] < flat[1]


def test_scores_count_only_where_they_are_asked_for():
    X = np.array([[9.0, 0.2], [3.0, 0.9], [1.0, np.nan]])
    scored = RankedLists.from_scores(X, qid=[1, 1, 1])
    plain = RankedLists(scored.positions, qid=[1, 1, 1])
    for method in set(FUSIONS) - {"comb_sum", "comb_mnz"}:
        np.testing.assert_array_equal(fuse(scored, method), fuse(plain, method))
    np.testing.assert_array_equal(comb_mnz(scored, "rank"), comb_mnz(plain, "rank"))
    np.testing.assert_array_equal(comb_sum(scored, None), [9.2, 3.9, 1.0])
    np.testing.assert_array_equal(comb_sum(plain, None), comb_sum(plain, "rank"))


def test_single_list_and_its_name():
    np.testing.assert_array_equal(single_list(HAND, 2), [-2, -3, -1, -3])
    np.testing.assert_array_equal(single_list(HAND, "C"), single_list(HAND, 2))


def mean_grade_on_top(y, scores, qid):
    return np.mean([y[qid == q][np.argmax(scores[qid == q])] for q in np.unique(qid)])


def test_best_list():
    # b is the right answer, which B alone has on top; c, and C does.
    assert best_list(HAND, [0, 1, 0, 0], mean_grade_on_top) == 1
    assert best_list(HAND, [0, 0, 1, 0], mean_grade_on_top) == 2
    assert best_list(HAND, [0, 0, 0, 1], mean_grade_on_top) == 0  # all alike: the first
    assert best_list(HAND, [1, 0, 0, 0], mean_grade_on_top, larger_is_better=False) == 1


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fuse(HAND, "average"), "method"),
        (lambda: fuse(SimpleNamespace()), "lists"),
        (lambda: fuse(HAND, "borda", k=3), "k"),
        (lambda: reciprocal_rank_fusion(HAND, k=0), "k must"),
        (lambda: comb_sum(HAND, norm="l2"), "norm"),
        (lambda: rank_sum(HAND, unranked="last"), "unranked"),
        (lambda: rank_sum(HAND, unranked=-1), "unranked"),
        (lambda: single_list(HAND, 3), "j must"),
        (lambda: single_list(HAND, "D"), "j must"),
        (lambda: best_list(HAND, [1, 0], mean_grade_on_top), "y must"),
        (lambda: best_list(HAND, [1, 0, 0, 0], "ndcg"), "metric"),
        (lambda: best_list(HAND, [1, 0, 0, 0], lambda *_: math.nan), "metric"),
    ],
)
def test_bad_input_is_named(call, argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        call()


def test_the_norm_by_the_maximum_refuses_scores_that_it_would_turn_round():
    lists = RankedLists.from_scores([[-1.0], [-2.0]], qid=[7, 7], names=["likelihood"])
    with pytest.raises(ValueError, match="norm='max'"):
        comb_sum(lists, norm="max")
    zeros = RankedLists.from_scores([[0.0], [0.0]], qid=[7, 7])
    np.testing.assert_array_equal(comb_sum(zeros, norm="max"), [0, 0])


class TestWeights:
    LISTS = RankedLists.from_scores([[3.0, 1.0], [2.0, 5.0], [1.0, 2.0]], qid=[1, 1, 1])

    @pytest.mark.parametrize("method", ["borda", "comb_mnz", "comb_sum", "rrf"])
    def test_count_lists_more_or_not_at_all(self, method):
        twice = RankedLists.from_scores(
            [[3.0, 3.0, 1.0], [2.0, 2.0, 5.0], [1.0, 1.0, 2.0]], qid=[1, 1, 1]
        )
        weighted = fuse(self.LISTS, method, weights=[2.0, 1.0])
        # CombMNZ also multiplies by the number of lists.
        factor = 2 / 3 if method == "comb_mnz" else 1
        np.testing.assert_allclose(weighted, factor * fuse(twice, method))
        alone = fuse(self.LISTS, method, weights={"list0": 0.0})
        np.testing.assert_allclose(alone, fuse(self.LISTS, method, weights=[0.0, 1.0]))
        assert alone.argmax() == 1

    @pytest.mark.parametrize("wrong", [[1.0], [0.0, 0.0], {"other": 2.0}, [1.0, np.nan]])
    def test_that_are_wrong_are_refused(self, wrong):
        with pytest.raises(ValueError, match="weights"):
            fuse(self.LISTS, "rrf", weights=wrong)


def test_names_on_the_command_line_are_those_of_the_library():
    assert tuple(FUSIONS) == choices.FUSIONS
    assert FUSIONS["rrf"] is reciprocal_rank_fusion
