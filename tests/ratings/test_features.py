"""Side features of users and items."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from edgewise import Ratings
from edgewise.data import CategoricalColumn, NumericColumn

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def made(**features):
    return Ratings.from_arrays(["b", "a", "b"], [20, 10, 10], [3, 4, 5], **features)


def values(table, j):
    """Return a column as plain values, None where they are missing."""
    column = table.column(j)
    if isinstance(column, CategoricalColumn):
        return [dict(enumerate(column.categories)).get(code) for code in column.codes.tolist()]
    return [None if np.isnan(value) else value for value in column.reals().tolist()]


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_is_put_in_the_order_of_the_ids(library):
    frame = FRAMES[library]({"age": [30, 20], "user": ["b", "a"], "job": ["poet", "nurse"]})
    table = made(user_features=frame).user_features
    assert table.names == ["age", "job"]
    assert isinstance(table.column(0), NumericColumn)
    assert values(table, 0) == [20, 30]
    assert values(table, 1) == ["nurse", "poet"]
    assert made(user_features=frame).item_features is None


def test_a_pair_of_ids_and_columns():
    table = made(item_features=([20, 10], [[1.0, 2.0], [3.0, 4.0]])).item_features
    assert values(table, 0) == [3, 1]
    assert values(table, 1) == [4, 2]
    frame = pd.DataFrame({"year": [1995, 1996]})
    assert values(made(item_features=([20, 10], frame)).item_features, 0) == [1996, 1995]


def test_the_column_of_ids_is_named_as_in_the_frame():
    ratings = pd.DataFrame({"who": ["b", "a"], "what": [20, 10], "rating": [3, 4]})
    ages = pd.DataFrame({"who": ["a", "b"], "age": [20, 30]})
    made = Ratings.from_frame(ratings, "who", "what", user_features=ages)
    assert values(made.user_features, 0) == [20, 30]


def test_ids_without_ratings_join_the_catalog():
    ratings = made(item_features=([15, 20, 10], [[1.0], [2.0], [3.0]]))
    assert ratings.item_ids.values.tolist() == [10, 15, 20]
    assert values(ratings.item_features, 0) == [3, 1, 2]
    assert ratings.items.tolist() == [0, 0, 2]
    assert ratings.by_item.sizes.tolist() == [2, 0, 1]


def test_ids_without_features_have_missing_values():
    frame = pd.DataFrame({"item": [20], "year": [1995], "genre": ["noir"]})
    ratings = made(item_features=frame)
    assert values(ratings.item_features, 0) == [None, 1995]
    assert values(ratings.item_features, 1) == [None, "noir"]


def test_missing_and_infinite_values_are_missing():
    frame = pd.DataFrame(
        {"user": ["a", "b", "c"], "x": [np.nan, 2.0, np.inf], "s": ["p", None, "q"]}
    )
    table = made(user_features=frame).user_features
    assert values(table, 0) == [None, 2.0, None]
    assert values(table, 1) == ["p", None, "q"]


def test_parts_have_the_features_of_all():
    ratings = made(user_features=(["a", "b"], [[1.0], [2.0]]))
    train, test = ratings.split(0.3, random_state=0)
    assert train.user_features is test.user_features is ratings.user_features


@pytest.mark.parametrize("side", ["user", "item"])
@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda ids, key: [1, 2], TypeError, "must be a data frame with a column"),
        (lambda ids, key: (ids, [[1], [2]], 3), TypeError, "must be a data frame"),
        (lambda ids, key: pd.DataFrame({"x": [1]}), ValueError, "must have a column"),
        (lambda ids, key: pd.DataFrame({key: ids}), ValueError, "must have columns besides"),
        (lambda ids, key: (ids, [[1]]), ValueError, "must have one row for each id, 2, got 1"),
        (lambda ids, key: (ids, [1, 2]), ValueError, "."),
        (lambda ids, key: ([ids[0]] * 2, [[1], [2]]), ValueError, "must have each id once"),
        (lambda ids, key: ([ids[0], None], [[1], [2]]), ValueError, "must not be missing"),
        (lambda ids, key: ([1.5, 2.5], [[1], [2]]), TypeError, "must be"),
    ],
)
def test_errors_name_the_argument(side, given, error, words):
    ids = ["a", "b"] if side == "user" else [10, 20]
    with pytest.raises(error, match=f"{side}_features.*{words}"):
        made(**{f"{side}_features": given(ids, side)})


def test_ids_of_features_must_be_of_the_same_kind():
    with pytest.raises(TypeError, match="items must be integers everywhere or strings everywhere"):
        made(item_features=(["10", "20"], [[1.0], [2.0]]))


def test_new_users_bring_their_features():
    ratings = made(user_features=pd.DataFrame({"user": ["a", "b"], "job": ["poet", "nurse"]}))
    more = Ratings.from_arrays(
        ["z", "y"], [10, 10], [1, 2],
        user_features=pd.DataFrame({"user": ["y", "z"], "job": ["spy", "poet"]}),
    )  # fmt: skip
    # A category that training did not see is as good as missing.
    assert values(ratings.with_users(more).user_features, 0) == ["poet", "nurse", None, "poet"]
    bare = Ratings.from_arrays(["z"], [10], [1])
    assert values(ratings.with_users(bare).user_features, 0) == ["poet", "nurse", None]
    assert Ratings.from_arrays(["x"], [10], [1]).with_users(more).user_features is None


@pytest.mark.parametrize("job", [[1.0], ["poet"]])
def test_features_of_new_users_must_be_of_the_same_columns(job):
    other = "age" if isinstance(job[0], str) else "job"
    one, two = (
        Ratings.from_arrays([name], [10], user_features=pd.DataFrame({"user": [name], **columns}))
        for name, columns in (("a", {"job": ["poet"]}), ("b", {other: job}))
    )
    with pytest.raises(ValueError, match="user_features must"):
        one.with_users(two)
