"""Ratings from matrices of users by items, dense and sparse."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from edgewise import Ratings

TABLE = np.array([[5.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
FORMATS = ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize(
    "matrix", [TABLE, TABLE.tolist(), TABLE.astype(np.int8), np.asfortranarray(TABLE)]
)
def test_dense(matrix):
    ratings = Ratings.from_matrix(matrix)
    assert ratings.user_ids.values.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(ratings.csr().toarray(), TABLE)
    assert len(ratings) == 3


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse(kind, form):
    ratings = Ratings.from_matrix(kind(TABLE).asformat(form))
    np.testing.assert_array_equal(ratings.csr().toarray(), TABLE)
    assert ratings.n_users == ratings.n_items == 3
    assert len(ratings) == 3


@given(
    hnp.arrays(np.int8, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.integers(0, 2))
)
def test_dense_and_sparse_are_the_same(table):
    table[0, 0] = 1
    ratings = Ratings.from_matrix(table)
    np.testing.assert_array_equal(ratings.csr().toarray(), table)
    for form in ("coo", "csr", "csc"):
        other = Ratings.from_matrix(sparse.coo_array(table).asformat(form))
        for name in ("users", "items", "values"):
            np.testing.assert_array_equal(getattr(ratings, name), getattr(other, name))


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_zeros_that_are_stored_are_ratings(form):
    matrix = sparse.coo_array(([0.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2)).asformat(form)
    ratings = Ratings.from_matrix(matrix)
    assert (ratings.users.tolist(), ratings.items.tolist()) == ([0, 1], [1, 0])
    assert ratings.values.tolist() == [0.0, 2.0]


def test_entries_stored_twice_are_their_sum():
    """As SciPy says of the COO format."""
    matrix = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert Ratings.from_matrix(matrix).csr().toarray().tolist() == [[0, 3], [4, 0]]
    twice = sparse.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert Ratings.from_matrix(twice).csr().toarray().tolist() == [[0, 3], [4, 0]]
    assert twice.nnz == 3


def test_columns_in_any_order():
    matrix = sparse.csr_array(([1.0, 2.0], [2, 0], [0, 2]), shape=(1, 3))
    assert Ratings.from_matrix(matrix).items.tolist() == [0, 2]
    assert matrix.indices.tolist() == [2, 0]


def test_ids_are_sorted_with_their_rows():
    ratings = Ratings.from_matrix(TABLE, user_ids=["c", "b", "a"], item_ids=[30, 10, 20])
    assert ratings.user_ids.values.tolist() == ["a", "b", "c"]
    assert ratings.item_ids.values.tolist() == [10, 20, 30]
    assert ratings.csr().toarray().tolist() == [[3, 0, 0], [0, 0, 0], [0, 2, 5]]


def test_what_stands_for_missing():
    table = [[0, -1], [np.nan, 3]]
    assert Ratings.from_matrix(table, missing=-1).values.tolist() == [0, 3]
    assert Ratings.from_matrix(table, missing=np.nan).values.tolist() == [0, -1, 3]
    assert Ratings.from_matrix(table).values.tolist() == [-1, 3]


def test_input_is_not_changed():
    table = TABLE.copy()
    Ratings.from_matrix(table)
    np.testing.assert_array_equal(table, TABLE)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1, 2],), ValueError, r"matrix must have two dimensions, got shape \(2,\)"),
        ((np.ones((1, 1, 1)),), ValueError, "matrix must have two dimensions"),
        ((sparse.coo_array(np.ones(3)),), ValueError, "matrix must have two dimensions"),
        (([["a"]],), (TypeError, ValueError), "matrix must"),
        (([[1], [1, 2]],), (TypeError, ValueError), "matrix must"),
        ((np.array([[1j]]),), (TypeError, ValueError), "matrix must"),
        (([[0, 0]],), ValueError, "at least one rating"),
        (([[np.inf, 1]],), ValueError, "must be finite"),
        ((sparse.csr_array(np.array([[np.nan, 1]])),), ValueError, "must be finite"),
        ((TABLE, [1, 2]), ValueError, "user_ids must be 3"),
        ((TABLE, None, [1]), ValueError, "item_ids must be 3"),
        ((TABLE, [1, 1, 2]), ValueError, "user_ids must all be different"),
        ((TABLE, ["a", 1, 2]), TypeError, "user_ids must be all integers or all strings"),
        ((TABLE, None, [1.0, 2.0, 3.0]), TypeError, "item_ids must be .*integers or .*strings"),
    ],
)
def test_errors_name_the_argument(arguments, error, words):
    with pytest.raises(error, match=words):
        Ratings.from_matrix(*arguments)


def test_missing_must_be_a_number():
    with pytest.raises(TypeError, match="missing must be"):
        Ratings.from_matrix(TABLE, missing="none")


def test_a_frame_does_not_lose_its_names():
    frame = pd.DataFrame([[5.0, 0.0]], index=["ann"], columns=["Heat", "Fargo"])
    try:
        ratings = Ratings.from_matrix(frame)
    except TypeError as error:
        assert "matrix must" in str(error)  # noqa: PT017
    else:
        assert ratings.user_ids.values.tolist() == ["ann"]
