"""Ratings as plain values and arrays, and back; parts that do not fit together are refused."""

import json

import numpy as np
import pandas as pd
import pytest

from edgewise import Ratings
from edgewise.ratings.file import RATINGS


def made(numbers=False):
    items = pd.DataFrame(
        {
            "item": [10, 20, 30],
            "year": [1995.0, np.nan, 1990.0],
            "genre": ["noir", None, "käse"],
            "stars": pd.Series([3, 4, 3], dtype="category"),
            "color": [True, False, True],
        }
    )
    users = ["b", "a", "b"] if not numbers else [2, 1, 2]
    return Ratings.from_arrays(
        users, [20, 10, 10], [3.0, 4.5, 0.1], weights=[1, 2, 3], times=[9, 8, 7],
        item_features=items,
    )  # fmt: skip


def parts_of(ratings):
    arrays = {}
    return RATINGS.pack(ratings, "", arrays), {name[1:]: one for name, one in arrays.items()}


def read(header, arrays):
    return RATINGS.unpack(header, "", {f".{name}": one for name, one in arrays.items()}, {})


def back(ratings):
    header, arrays = parts_of(ratings)
    return read(json.loads(json.dumps(header)), arrays)


@pytest.mark.parametrize("numbers", [False, True])
def test_everything_comes_back(numbers):
    ratings = made(numbers)
    loaded = back(ratings)
    for name in ("users", "items", "values", "weights", "times"):
        ours, theirs = getattr(ratings, name), getattr(loaded, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.user_ids.values.tolist() == ratings.user_ids.values.tolist()
    assert loaded.item_ids.values.tolist() == ratings.item_ids.values.tolist()
    assert loaded.user_features is None
    ours, theirs = ratings.item_features, loaded.item_features
    assert theirs.names == ours.names
    for one, two in zip(ours.columns(), theirs.columns(), strict=True):
        assert type(one) is type(two)
        for name in ("values", "codes"):
            np.testing.assert_array_equal(getattr(one, name, 0), getattr(two, name, 0))
        assert getattr(one, "categories", None) == getattr(two, "categories", None)


def test_what_is_not_there_is_not_stored():
    header, arrays = parts_of(Ratings.from_arrays([1], [2]))
    assert sorted(arrays) == ["item_ids", "items", "user_ids", "users", "values"]
    assert back(Ratings.from_arrays([1], [2])).weights is None
    assert header.get("user_features") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"users": np.array([0, 1, 2], np.int32)},
        {"users": np.array([0, 1, -1], np.int32)},
        {"users": np.array([0, 1], np.int32)},
        {"users": np.array([0, 1, 1], np.int64)},
        {"items": np.array([[0, 1, 1]], np.int32)},
        {"values": np.array([1.0, np.nan, 1.0])},
        {"values": np.zeros(0), "users": np.zeros(0, np.int32), "items": np.zeros(0, np.int32)},
        {"weights": np.ones(2)},
        {"weights": np.array([1.0, -1.0, 1.0])},
        {"weights": np.array([1.0, np.nan, 1.0])},
        {"times": np.ones((3, 1))},
        {"item_ids": np.array([10, 10, 30])},
        {"item_ids": np.array([10.0, 20.0, 30.0])},
        {"item_features.columns.0": np.ones(2)},
        {"item_features.columns.1": np.array([0, 1, 9], np.uint32)},
        {"item_features.columns.1": np.array([0.0, 1.0, 1.0])},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_arrays_that_do_not_fit_are_refused(changes):
    header, arrays = parts_of(made())
    with pytest.raises(ValueError):
        read(header, arrays | changes)


@pytest.mark.parametrize(
    "ids", [["a", "a"], ["a", 1], "ab", {"a": 1, "b": 2}, ["a"], ["a", "b", None]], ids=repr
)
def test_ids_that_do_not_fit_are_refused(ids):
    header, arrays = parts_of(made())
    with pytest.raises((TypeError, ValueError)):
        read(header | {"user_ids": ids}, arrays)
