"""The nearest rows of sparse matrices, against dense ones and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity

from edgewise.ratings import Ratings
from edgewise.ratings.rows import Grouped, group_ratings
from edgewise.recommend.knn import ItemKNN, NeighborSearch, UserKNN, nearest_rows, neighbor_sums


@pytest.fixture(params=["numpy", "numba"])
def backend(request, monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", request.param)
    return request.param


def sides(table):
    """Return the entries of a dense table that are not NaN, by rows and by columns."""
    rows, columns = (one.astype(np.int32) for one in np.nonzero(~np.isnan(table)))
    values = table[rows, columns]
    by_row = group_ratings(rows, columns, values, None, *table.shape)
    by_column = group_ratings(columns, rows, values, None, *table.shape[::-1])
    return by_row, by_column, values


def nearest(table, targets, criteria):
    return nearest_rows(*sides(table), targets, criteria)


def naive(table, criteria):
    """Return all similarities, where they count, as a dense matrix."""
    filled, present = np.nan_to_num(table), (~np.isnan(table)).astype(float)
    similar, common = cosine_similarity(filled), present @ present.T
    with np.errstate(invalid="ignore"):
        similar = similar * np.nan_to_num(common / (common + criteria.shrinkage))
    similar[common < criteria.min_support] = 0.0
    similar[:, criteria.limit :] = 0.0
    np.fill_diagonal(similar, 0.0)
    return similar


def random_table(seed, n_rows, n_columns, density=0.4):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 6, (n_rows, n_columns)).astype(float)
    table[rng.random(table.shape) > density] = np.nan
    return table


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 20),
    st.integers(1, 8),
    st.sampled_from([0.0, 1.0, 25.0]),
    st.integers(1, 3),
)
def test_the_sparse_nearest_are_the_dense_nearest(seed, n_rows, n_columns, n, shrinkage, support):
    table = random_table(seed, n_rows, n_columns)
    rng = np.random.default_rng(seed)
    criteria = NeighborSearch(n, shrinkage, support, int(rng.integers(1, n_rows + 1)))
    targets = rng.permutation(n_rows)[: max(1, n_rows // 2)]
    near = nearest(table, targets, criteria)
    dense = naive(table, criteria)
    for target, others, similarities in zip(targets, near.others, near.similarities, strict=True):
        count = (others >= 0).sum()
        expected = np.sort(dense[target])[::-1][:n]
        assert count == (expected > 1e-12).sum()
        np.testing.assert_allclose(similarities[:count], expected[:count], rtol=1e-9)
        np.testing.assert_allclose(dense[target][others[:count]], similarities[:count], rtol=1e-9)
        assert (others[count:] == -1).all()
        assert (similarities[count:] == 0).all()
        assert len(set(others[:count].tolist())) == count


def test_the_lower_number_wins_a_tie(backend):
    # All rows are the same: all similarities are 1.
    table = np.tile([1.0, 2.0, 3.0], (6, 1))
    near = nearest(table, np.arange(6), NeighborSearch(2, 0.0, 1, 6))
    assert near.others.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]
    np.testing.assert_allclose(near.similarities, 1.0)


@pytest.mark.parametrize("density", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("shrinkage", [0.0, 3.0])
def test_compiled_kernels_find_the_same_bits(monkeypatch, density, shrinkage):
    table = random_table(3, 150, 70, density)
    found = {}
    for choice in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", choice)
        criteria = NeighborSearch(9, shrinkage, 1, 140)
        found[choice] = nearest(table - 3.0, np.arange(150), criteria)
    np.testing.assert_array_equal(found["numpy"].others, found["numba"].others)
    np.testing.assert_array_equal(found["numpy"].similarities, found["numba"].similarities)


@pytest.mark.parametrize("n_jobs", [2, 3, 8])
def test_any_number_of_threads_finds_the_same_bits(monkeypatch, n_jobs):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    table = random_table(5, 90, 40)
    by_row, by_column, values = sides(table)
    criteria = NeighborSearch(12, 2.0, 2, 90)
    one, many = (
        nearest_rows(
            by_row, by_column, values - np.pi, np.arange(90), criteria._replace(n_threads=n)
        )
        for n in (1, n_jobs)
    )
    np.testing.assert_array_equal(one.others, many.others)
    np.testing.assert_array_equal(one.similarities, many.similarities)
    pairs = np.repeat(np.arange(90), 40), np.tile(np.arange(40), 90)
    weighted = replace(by_column, weights=by_column.values)
    sums = [neighbor_sums(one, weighted, by_column.values, pairs, 3, n) for n in (1, n_jobs)]
    np.testing.assert_array_equal(sums[0], sums[1])


@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.integers(1, 15), st.integers(1, 6))
def test_sums_over_the_nearest_that_have_a_value(seed, n_rows, n_columns, k):
    table = random_table(seed, n_rows, n_columns)
    rng = np.random.default_rng(seed)
    _, by_column, _ = sides(table)
    near = nearest(table, np.arange(n_rows), NeighborSearch(8, 0.0, 1, n_rows))
    weights = rng.uniform(0.5, 2.0, len(by_column.values))
    dense_weights = np.zeros((n_rows, n_columns))
    for column in range(n_columns):
        span = by_column.span(column)
        dense_weights[by_column.others[span], column] = weights[span]
    targets, columns = rng.integers(n_rows, size=40), rng.integers(n_columns, size=40)
    view = replace(by_column, weights=weights)
    totals, masses = neighbor_sums(near, view, view.values, (targets, columns), k)
    for target, column, total, mass in zip(targets, columns, totals, masses, strict=True):
        listed = zip(near.others[target], near.similarities[target], strict=True)
        pairs = [
            (similarity * dense_weights[other, column], table[other, column])
            for other, similarity in listed
            if other >= 0 and not np.isnan(table[other, column])
        ][:k]
        assert total == pytest.approx(sum(share * value for share, value in pairs))
        assert mass == pytest.approx(sum(share for share, _ in pairs))


def test_compiled_sums_have_the_same_bits(monkeypatch):
    table = random_table(8, 80, 60) / 7
    _, by_column, _ = sides(table)
    near = nearest(table, np.arange(80), NeighborSearch(30, 5.0, 1, 80))
    rng = np.random.default_rng(0)
    pairs = rng.integers(80, size=500), rng.integers(60, size=500)
    weights, found = rng.random(len(by_column.values)), []
    for choice in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", choice)
        view = replace(by_column, weights=weights)
        found.append(neighbor_sums(near, view, view.values, pairs, 4))
    np.testing.assert_array_equal(found[0], found[1])


def test_rows_without_values(backend):
    table = np.full((3, 2), np.nan)
    table[0] = 1.0, 2.0
    near = nearest(table, np.arange(3), NeighborSearch(2, 0.0, 1, 3))
    assert (near.others == -1).all()
    view = Grouped(np.array([0, 1, 2]), np.zeros(2, np.int32), np.ones(2), None, np.arange(2))
    sums = neighbor_sums(near, view, view.values, (np.array([0, 1]), np.array([1, 0])), 1)
    np.testing.assert_array_equal(sums, 0.0)


def test_memory_is_for_the_nearest_only(backend):
    # 20,000 rows in pairs: a dense matrix of similarities would take 3.2 GB.
    n = 20_000
    rows = np.arange(n, dtype=np.int32)
    pairs = sparse.csr_array((np.ones(n), (rows, rows // 2)), shape=(n, n // 2))
    by_row = group_ratings(rows, pairs.indices.astype(np.int32), pairs.data, None, n, n // 2)
    by_column = group_ratings(pairs.indices.astype(np.int32), rows, pairs.data, None, n // 2, n)
    targets, criteria = np.arange(0, n, 100), NeighborSearch(2, 0.0, 1, n)
    near = nearest_rows(by_row, by_column, pairs.data, targets, criteria)
    assert near.others[:, 0].tolist() == list(range(1, n, 100))
    assert (near.others[:, 1] == -1).all()


def test_means_of_rows():
    table = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    assert sides(table)[0].means.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("kind", [ItemKNN, UserKNN])
def test_tables_of_scores_have_the_same_bits(monkeypatch, kind):
    ratings = Ratings.from_matrix(random_table(0, 30, 20))
    model, users = kind(2, n_candidates=9).fit(ratings), np.arange(ratings.n_users)
    found = {}
    for choice in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", choice)
        found[choice] = model._user_scores(users)
    np.testing.assert_array_equal(found["numpy"], found["numba"])
    pairs = np.repeat(users, ratings.n_items), np.tile(np.arange(ratings.n_items), len(users))
    one_by_one = model._pair_scores(*pairs).reshape(found["numpy"].shape)
    assert np.abs(found["numpy"] - one_by_one).max() <= model._error() < 1e-9
