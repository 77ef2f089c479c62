"""The matrix that rankers share."""

import numpy as np
import pandas as pd

from edgewise import Ratings
from edgewise.recommend.rankboost.matrix import (
    MAX_CODES,
    CodeValues,
    item_matrix,
    user_matrix,
)

from .worlds import dense, world


def rebuilt(matrix, by_columns):
    """Return the dense codes of a matrix, -1 where there is no entry."""
    table = np.full((matrix.n_items, matrix.n_columns), -1)
    entries = (matrix.by_column.T if by_columns else matrix.by_item).tocoo()
    table[entries.coords] = entries.data
    return table


def test_it_holds_the_ratings_both_ways():
    ratings = world(0)
    references = np.array([0, 3, 7])
    matrix = item_matrix(ratings, references, side_features=False)
    codes = np.nan_to_num(dense(ratings)[:, references], nan=0).astype(int) - 1
    for by_columns in (True, False):
        np.testing.assert_array_equal(rebuilt(matrix, by_columns), codes)
    assert [matrix.column_of(user) for user in (0, 1, 3, 7, 8)] == [0, -1, 1, 2, -1]


def test_missing_ratings_take_no_memory():
    few, many = (item_matrix(world(0, seen=seen), np.arange(14), False) for seen in (0.1, 0.8))
    for matrix in (few, many):
        assert matrix.by_item.nnz == matrix.by_column.nnz
    assert 5 * few.by_item.nnz < many.by_item.nnz


def test_item_features_are_further_columns():
    features = pd.DataFrame(
        {
            "item": [7, 8, 9],
            "year": [1990.0, np.nan, 1985.0],
            "genre": ["crime", "drama", "crime"],
        }
    )
    ratings = Ratings.from_arrays([1, 1, 1], [7, 8, 9], [5, 3, 4], item_features=features)
    matrix = item_matrix(ratings, np.arange(1), side_features=True)
    named = [(side.name, side.category) for side in matrix.features]
    assert named == [("year", None), ("genre", "crime"), ("genre", "drama")]
    expected = [[2, 1, 0, -1], [0, -1, -1, 0], [1, 0, 0, -1]]
    np.testing.assert_array_equal(rebuilt(matrix, True), expected)
    assert item_matrix(ratings, np.arange(1), side_features=False).n_columns == 1


def test_few_levels_are_all_told_apart():
    levels = CodeValues.of(np.array([1.0, 5.0, 2.0, 2.0]))
    np.testing.assert_array_equal(levels.encode(np.array([1.0, 2.0, 5.0])), [0, 1, 2])
    np.testing.assert_array_equal(levels.thresholds(np.array([0, 1]), np.array([2, 2])), [3.0, 3.5])


def test_many_levels_are_binned():
    values = np.random.default_rng(0).normal(size=5000)
    levels = CodeValues.of(values)
    assert len(levels.values) <= MAX_CODES
    codes = levels.encode(values)
    for below, above in ((0, 1), (3, 9), (100, 254)):
        (threshold,) = levels.thresholds(np.array([below]), np.array([above]))
        assert (values[codes <= below] < threshold).all()
        assert (values[codes >= above] >= threshold).all()
        first = np.searchsorted(levels.values, threshold)
        np.testing.assert_array_equal(codes >= first, values >= threshold)


def test_a_part_has_only_what_tells_its_rows_apart():
    # Of the items 0 and 1: user 1 says the same of both, user 2 rated one of them, user 3 none.
    ratings = Ratings.from_arrays(
        [0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 1, 2, 2], [5, 1, 3, 3, 2, 4, 4]
    )
    part = user_matrix(item_matrix(ratings, np.arange(4), False), np.array([0, 1]), without=-1)
    assert part.columns.tolist() == [0, 2]
    assert part.table.has_missing.tolist() == [False, True]
    assert part.table.first_bins.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(part.codes, [0, 4, 1])
    np.testing.assert_array_equal(np.split(part.table.bins, part.table.starts[1:-1])[1], [0, 2])
    without = user_matrix(item_matrix(ratings, np.arange(4), False), np.array([0, 1]), without=0)
    assert without.columns.tolist() == [2]
