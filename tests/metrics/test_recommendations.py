"""What recommended lists are like: coverage, exposure, novelty and diversity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity

import edgewise.metrics.recommendations as recommendations
from edgewise.metrics import catalog_coverage, diversity, gini, novelty
from edgewise.metrics.registry import larger_is_better

SEEDS = st.integers(0, 2**32 - 1)


def random_lists(seed, n_items=12, n_lists=9):
    rng = np.random.default_rng(seed)
    lists = [rng.permutation(n_items)[: rng.integers(0, 6)] for _ in range(n_lists)]
    return [rng.permutation(n_items)[:3], *lists]


def random_vectors(seed, n_items=12):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n_items, 5)) * (rng.random((n_items, 5)) < 0.5)
    vectors[0] = 0.0
    return vectors


def test_three_lists_by_hand():
    lists = [[0, 1], [0, 2], [0]]
    assert catalog_coverage(lists, 4) == 0.75
    # the items stand on 0, 1, 1 and 3 lists: (-3 * 0 - 1 * 1 + 1 * 1 + 3 * 3) / (4 * 5)
    assert gini(lists, 4) == pytest.approx(9 / 20)
    # 8 of 8, 2 of 8 and 1 of 8 users: 0, 2 and 3 bits
    assert novelty(lists, [8, 2, 1, 0], 8) == pytest.approx((1 + 1.5 + 0) / 3)
    np.testing.assert_allclose(novelty(lists, [8, 2, 1, 0], 8, per_list=True), [1, 1.5, 0])
    # cosines 0.6 and 0; the third list has no pair
    vectors = [[1, 0], [3, 4], [0, 2], [1, 1]]
    assert diversity(lists, vectors) == pytest.approx((0.4 + 1) / 2)
    np.testing.assert_allclose(diversity(lists, vectors, per_list=True), [0.4, 1, np.nan])


@given(SEEDS)
def test_gini_is_half_the_relative_mean_difference(seed):
    lists = random_lists(seed)
    counts = np.bincount(np.concatenate(lists), minlength=12)
    differences = np.abs(counts[:, None] - counts).mean()
    assert gini(lists, 12) == pytest.approx(differences / (2 * counts.mean()))


def test_gini_at_its_ends():
    assert gini(np.arange(6).reshape(3, 2), 6) == pytest.approx(0)
    assert gini([[2]] * 9, 5) == pytest.approx(0.8)


@given(SEEDS)
def test_diversity_by_all_pairs(seed):
    lists, vectors = random_lists(seed), random_vectors(seed)
    distances = 1 - cosine_similarity(vectors)
    expected = []
    for items in lists:
        above = np.triu_indices(len(items), 1)
        pairs = distances[np.ix_(items, items)][above]
        expected.append(pairs.mean() if len(pairs) else np.nan)
    np.testing.assert_allclose(diversity(lists, vectors, per_list=True), expected, atol=1e-12)
    assert diversity(lists, vectors) == pytest.approx(np.nanmean(expected))
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array):
        assert diversity(lists, kind(vectors)) == pytest.approx(np.nanmean(expected))


def test_diversity_in_small_blocks(monkeypatch):
    lists, vectors = random_lists(4), random_vectors(4)
    expected = diversity(lists, vectors, per_list=True)
    monkeypatch.setattr(recommendations, "_BLOCK", 11)
    np.testing.assert_array_equal(diversity(lists, vectors, per_list=True), expected)


def test_diversity_at_its_ends():
    alike = np.outer([1, 2, 3, 0.1], [0.3, 0.7, 0.1])
    assert diversity([[0, 1, 2, 3]], alike) == pytest.approx(0, abs=1e-12)
    assert diversity([[0, 1, 2, 3]], np.eye(4)) == pytest.approx(1)
    assert diversity([[0, 1]], [[1.0], [-2.0]]) == pytest.approx(2)
    assert diversity([[0, 1]], [[0.0], [0.0]]) == 1
    assert diversity([[0, 1]], [[1e300, 1e300], [1e-300, 1e-300]]) == pytest.approx(0, abs=1e-12)


def test_vectors_are_left_as_they_are():
    vectors = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    assert diversity([[0, 1]], vectors) == pytest.approx(1)
    assert vectors.data.tolist() == [1, 2, 4]


@given(SEEDS)
def test_lists_in_any_order_and_form(seed):
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(12)[:4] for _ in range(7)])
    counts, vectors = rng.integers(0, 20, 12), random_vectors(seed)
    for metric, *rest in (
        (catalog_coverage, 12),
        (gini, 12),
        (novelty, counts, 20),
        (diversity, vectors),
    ):
        expected = metric(lists, *rest)
        assert metric(lists.tolist(), *rest) == expected
        assert metric(tuple(lists.astype(np.uint8)), *rest) == expected
        assert metric(lists[::-1, ::-1], *rest) == pytest.approx(expected)


def test_an_item_nobody_knows_is_as_novel_as_one_that_one_user_knows():
    assert novelty([[0]], [0, 1], 64) == novelty([[1]], [0, 1], 64) == 6


def test_empty_lists_have_no_novelty():
    result = novelty([[0], [], [1]], [4, 1], 4, per_list=True)
    np.testing.assert_array_equal(result, [0, np.nan, 2])
    assert novelty([[0], [], [1]], [4, 1], 4) == 1


def test_which_way_is_better():
    better = [larger_is_better(m) for m in (catalog_coverage, gini, novelty, diversity)]
    assert better == [True, False, True, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: catalog_coverage([[0, 4]], 4), "lists must hold item indices from 0 to 3, got 4"),
        (lambda: catalog_coverage([[0, -1]], 4), "lists must hold item indices .* got -1"),
        (lambda: catalog_coverage([[0.0, 1.0]], 4), "lists must be lists of item indices"),
        (lambda: catalog_coverage([["a"]], 4), "lists must be lists of item indices"),
        (lambda: catalog_coverage([0, 1], 4), "lists must be lists of item indices"),
        (lambda: catalog_coverage(3, 4), "lists must be lists of item indices"),
        (lambda: catalog_coverage([], 4), "lists must recommend at least one item"),
        (lambda: catalog_coverage([[], []], 4), "lists must recommend at least one item"),
        (lambda: catalog_coverage([[0]], 0), "n_items must be an integer of at least 1"),
        (lambda: gini([[0]], 2.0), "n_items must be an integer of at least 1"),
        (lambda: novelty([[0]], [3], 2), "counts must lie from 0 to n_users=2, got 3"),
        (lambda: novelty([[0]], [-1], 2), "counts must lie from 0 to n_users=2, got -1"),
        (lambda: novelty([[0]], [np.nan], 2), "counts must hold finite numbers"),
        (lambda: novelty([[1]], [1], 2), "lists must hold item indices from 0 to 0, got 1"),
        (lambda: novelty([[0]], [1], 0), "n_users must be an integer of at least 1"),
        (lambda: novelty([[0]], [1], 2, per_list=1), "per_list must be True or False"),
        (lambda: diversity([[0]], [[1.0]]), "lists must include one with at least two items"),
        (lambda: diversity([[0, 1]], [1.0, 2.0]), "vectors must be a 2-D array of real numbers"),
        (lambda: diversity([[0, 1]], [["a"], ["b"]]), "vectors must be a 2-D array"),
        (lambda: diversity([[0, 1]], [[1.0], [np.nan]]), "vectors must hold finite numbers"),
        (lambda: diversity([[0, 1]], np.empty((2, 0))), "vectors must have at least one component"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
