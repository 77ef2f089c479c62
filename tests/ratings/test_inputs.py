"""Ratings from arrays, frames and mappings."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import Ratings

USERS, ITEMS, VALUES = ["b", "a", "b"], [20, 10, 10], [3.0, 4.5, 5.0]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def triples(ratings):
    """Return the ratings as they were before they had indices."""
    users = ratings.user_ids.values[ratings.users].tolist()
    items = ratings.item_ids.values[ratings.items].tolist()
    return list(zip(users, items, ratings.values.tolist(), strict=True))


class TestArrays:
    def test_ratings_stand_by_user_and_then_by_item(self):
        ratings = Ratings.from_arrays(USERS, ITEMS, VALUES)
        assert triples(ratings) == [("a", 10, 4.5), ("b", 10, 5.0), ("b", 20, 3.0)]
        assert ratings.users.dtype == ratings.items.dtype == np.int32
        assert ratings.values.dtype == np.float64
        assert (ratings.n_users, ratings.n_items, len(ratings)) == (2, 2, 3)
        assert ratings.weights is ratings.times is None

    def test_choices_are_ratings_of_one(self):
        assert Ratings.from_arrays(USERS, ITEMS).values.tolist() == [1, 1, 1]

    @given(st.data())
    def test_the_order_of_input_makes_no_difference(self, data):
        pairs = data.draw(
            st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, unique=True)
        )
        table = np.array([(u, i, k, k + 1, -k) for k, (u, i) in enumerate(pairs)], dtype=float)
        order = data.draw(st.permutations(range(len(pairs))))
        one, two = (
            Ratings.from_arrays(
                rows[:, 0].astype(int), rows[:, 1].astype(int), *rows[:, 2:3].T,
                weights=rows[:, 3], times=rows[:, 4],
            )
            for rows in (table, table[order])
        )  # fmt: skip
        for name in ("users", "items", "values", "weights", "times"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        assert sorted(zip(one.users, one.items, strict=True)) == list(
            zip(one.users, one.items, strict=True)
        )
        assert triples(one) == sorted((u, i, float(k)) for k, (u, i) in enumerate(pairs))

    def test_input_is_neither_changed_nor_shared(self):
        values, weights = np.array(VALUES), np.ones(3)
        ratings = Ratings.from_arrays(USERS, ITEMS, values, weights=weights)
        values[:], weights[:] = 0.0, 5.0
        assert ratings.values.tolist() == [4.5, 5.0, 3.0]
        assert ratings.weights.tolist() == [1, 1, 1]
        single = np.array([2.0])
        assert not np.shares_memory(Ratings.from_arrays([1], [1], single).values, single)

    def test_weights_and_times_go_with_their_ratings(self):
        ratings = Ratings.from_arrays(USERS, ITEMS, VALUES, weights=[1, 2, 3], times=[9, 8, 7])
        assert ratings.weights.tolist() == [2, 3, 1]
        assert ratings.times.tolist() == [8, 7, 9]
        assert ratings.mean == pytest.approx((2 * 4.5 + 3 * 5 + 3) / 6)

    @pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array])
    def test_numbers_in_any_container(self, kind):
        ratings = Ratings.from_arrays(USERS, ITEMS, kind(VALUES), weights=kind([1, 2, 3]))
        assert ratings.values.tolist() == [4.5, 5.0, 3.0]
        assert ratings.weights.tolist() == [2, 3, 1]

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            (([], []), ValueError, "ratings must hold at least one rating"),
            (([1, 2], [1]), ValueError, "items must be as long as users, 2, got 1"),
            (([1], [1], [1, 2]), ValueError, "ratings must be as long as users, 1, got 2"),
            (([1], [1], [np.nan]), ValueError, "ratings must be finite, but entry 0 is nan"),
            (([1, 2], [1, 1], [1, np.inf]), ValueError, "ratings must be finite, but entry 1"),
            (([1], [1], [None]), ValueError, "ratings must be finite"),
            (([1], [1], ["5"]), TypeError, "ratings must hold real numbers"),
            (([1], [1], np.array(["5"], dtype=object)), TypeError, "ratings must hold"),
            (([1], [1], [1j]), TypeError, "ratings must hold real numbers"),
            (([1], [1], [[1]]), ValueError, "ratings must be 1-D"),
            (([1], [1], 5), ValueError, "ratings must be 1-D"),
            (([1.5], [1]), TypeError, "users must be .*integers or .*strings"),
            (([1], [None]), ValueError, "items must not be missing"),
            (([1, "1"], [1, 2]), TypeError, "users must be all integers or all strings"),
        ],
    )
    def test_errors_name_the_argument(self, arguments, error, words):
        with pytest.raises(error, match=words):
            Ratings.from_arrays(*arguments)

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"weights": [0]}, ValueError, "weights must be positive, got 0"),
            ({"weights": [-1]}, ValueError, "weights must be positive"),
            ({"weights": [np.inf]}, ValueError, "weights must be finite"),
            ({"weights": [1, 1]}, ValueError, "weights must be as long as users"),
            ({"times": [np.nan]}, ValueError, "times must be finite"),
            ({"times": ["today"]}, TypeError, "times must hold real numbers"),
            ({"duplicates": "first"}, ValueError, "duplicates must be one of 'raise', 'last'"),
            ({"user_features": [1]}, TypeError, "user_features must be a data frame"),
        ],
    )
    def test_errors_name_the_option(self, arguments, error, words):
        with pytest.raises(error, match=words):
            Ratings.from_arrays([1], [1], **arguments)


class TestDuplicates:
    """The same pair several times, in an order that is not that of time."""

    def made(self, duplicates, times=True):
        return Ratings.from_arrays(
            [1, 1, 2, 1], [7, 7, 7, 7], [5, 2, 4, 3], weights=[1, 1, 1, 2], duplicates=duplicates,
            times=[30, 10, 5, 20] if times else None,
        )  # fmt: skip

    def test_they_are_refused_by_default(self):
        with pytest.raises(ValueError, match=r"duplicates='raise'.*user 1 rated item 7.*2 dupl"):
            self.made("raise")

    def test_the_last_by_time(self):
        ratings = self.made("last")
        assert triples(ratings) == [(1, 7, 5.0), (2, 7, 4.0)]
        assert ratings.times.tolist() == [30, 5]
        assert ratings.weights.tolist() == [1, 1]

    def test_the_last_as_given_without_times(self):
        assert triples(self.made("last", times=False)) == [(1, 7, 3.0), (2, 7, 4.0)]

    def test_the_mean_is_by_weight(self):
        ratings = self.made("mean")
        assert triples(ratings) == [(1, 7, (5 + 2 + 2 * 3) / 4), (2, 7, 4.0)]
        assert ratings.weights.tolist() == [4, 1]
        assert ratings.times.tolist() == [30, 5]

    def test_the_sum(self):
        assert triples(self.made("sum")) == [(1, 7, 10.0), (2, 7, 4.0)]

    @pytest.mark.parametrize("duplicates", ["mean", "sum"])
    def test_their_order_makes_no_difference(self, duplicates):
        values, weights = np.array([0.1, 0.2, 0.3, 0.7]), np.array([0.3, 0.1, 0.7, 0.2])
        found = {
            (ratings.values[0], ratings.weights[0])
            for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])
            for ratings in [
                Ratings.from_arrays(
                    [1] * 4, [1] * 4, values[order], weights=weights[order], duplicates=duplicates
                )
            ]
        }
        assert len(found) == 1


class TestFrames:
    @pytest.mark.parametrize("library", FRAMES)
    def test_frames_of_three_libraries(self, library):
        frame = FRAMES[library]({"user": USERS, "item": ITEMS, "rating": VALUES})
        assert triples(Ratings.from_frame(frame)) == triples(
            Ratings.from_arrays(USERS, ITEMS, VALUES)
        )

    @pytest.mark.parametrize("library", FRAMES)
    def test_columns_of_any_name(self, library):
        frame = FRAMES[library](
            {"who": USERS, "what": ITEMS, "n": VALUES, "w": [1, 2, 3], "when": [9, 8, 7]}
        )
        ratings = Ratings.from_frame(frame, "who", "what", "n", weight="w", time="when")
        assert ratings.weights.tolist() == [2, 3, 1]
        assert ratings.times.tolist() == [8, 7, 9]
        assert Ratings.from_frame(frame, "who", "what", None).values.tolist() == [1, 1, 1]

    def test_rows_of_any_index(self):
        frame = pd.DataFrame({"user": USERS, "item": ITEMS, "rating": VALUES}, index=[5, 5, 0])
        assert triples(Ratings.from_frame(frame[::-1])) == triples(Ratings.from_frame(frame))

    @pytest.mark.parametrize(
        "series",
        [
            pd.Series(["b", "a", "b"], dtype="category"),
            pd.Series(["b", "a", "b"], dtype="string"),
            pl.Series(["b", "a", "b"], dtype=pl.Categorical),
            pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])),
        ],
        ids=repr,
    )
    def test_categories_are_strings(self, series):
        library = pd if isinstance(series, pd.Series) else pl
        frame = library.DataFrame({"user": series, "item": ITEMS, "rating": VALUES})
        assert Ratings.from_frame(frame).user_ids.values.tolist() == ["a", "b"]

    def test_categories_of_integers_are_integers(self):
        frame = pd.DataFrame({"user": [196, 22], "item": ["a", "b"], "rating": [1, 2]})
        frame["user"] = frame["user"].astype("category")
        assert Ratings.from_frame(frame).user_ids.values.tolist() == [22, 196]

    @pytest.mark.parametrize("library", FRAMES)
    def test_dates_are_seconds(self, library):
        days = [datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 1, 0, 0, 30)]
        frame = FRAMES[library]({"user": [1, 2], "item": [1, 1], "rating": [1, 2], "t": days})
        assert Ratings.from_frame(frame, time="t").times.tolist() == [86400, 30]

    @pytest.mark.parametrize("library", FRAMES)
    def test_missing_values_are_refused(self, library):
        good = {"user": ["a", "b"], "item": [1, 2], "rating": [1.0, 2.0], "weight": [1.0, 2.0]}
        good["time"] = [datetime.datetime(1970, 1, 2)] * 2
        for name in good:
            frame = FRAMES[library](good | {name: [good[name][0], None]})
            with pytest.raises(ValueError, match=f"{name}.* must (not be missing|be finite)"):
                Ratings.from_frame(frame, weight="weight", time="time")

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            (
                {"user": "usr"},
                ValueError,
                "user='usr' must be .*column.*: there are 'user', 'item'",
            ),
            ({"item": "usr"}, ValueError, "item='usr' must be .*column"),
            ({"rating": "stars"}, ValueError, "rating='stars' must be .*column"),
            ({"weight": "w"}, ValueError, "weight='w' must be .*column"),
            ({"time": "t"}, ValueError, "time='t' must be .*column"),
            ({"rating": "words"}, TypeError, "rating='words' must hold numbers"),
            ({"time": "words"}, TypeError, "time='words' must hold numbers"),
            ({"user": "rating", "rating": None}, TypeError, "user must be"),
            ({"user": "item"}, ValueError, "user, item .* different columns, got 'item' twice"),
            ({"user": None}, (TypeError, ValueError), "user"),
            ({"duplicates": "no"}, ValueError, "duplicates must be one of"),
        ],
    )
    @pytest.mark.parametrize("library", FRAMES)
    def test_errors_name_the_argument(self, library, arguments, error, words):
        frame = FRAMES[library](
            {"user": USERS, "item": ITEMS, "rating": VALUES, "words": ["a", "b", "c"]}
        )
        with pytest.raises(error, match=words):
            Ratings.from_frame(frame, **arguments)

    @pytest.mark.parametrize("wrong", [None, np.ones((2, 3)), {"user": [1]}, [[1, 2, 3]]])
    def test_only_frames_are_taken(self, wrong):
        with pytest.raises(TypeError, match="frame must be a data frame"):
            Ratings.from_frame(wrong)

    def test_columns_named_by_numbers_are_refused(self):
        frame = pd.DataFrame([["b", 20, 3.0], ["a", 10, 4.5]])
        with pytest.raises(TypeError, match="user must be the name of a column, got 0"):
            Ratings.from_frame(frame, 0, 1, 2)


class TestMappings:
    def test_users_to_items_to_ratings(self):
        ratings = Ratings.from_dict({"b": {20: 3, 10: 5}, "a": {10: 4.5}})
        assert triples(ratings) == triples(Ratings.from_arrays(USERS, ITEMS, VALUES))

    @pytest.mark.parametrize(
        ("wrong", "error", "words"),
        [
            ({}, ValueError, "at least one rating"),
            ({"a": {}}, ValueError, "at least one rating"),
            ([("a", 1, 2)], TypeError, "ratings must be a mapping of users to mappings, got list"),
            ({"a": 5}, TypeError, "the ratings of 'a' must map items to ratings, got 5"),
            ({"a": {1: "5"}}, TypeError, "ratings must hold real numbers"),
            ({"a": {1: [5]}}, (TypeError, ValueError), "ratings must"),
            ({"a": {1: np.nan}}, ValueError, "ratings must be finite"),
            ({1: {1: 5}, "1": {1: 4}}, TypeError, "users must be all integers or all strings"),
            ({"a": {1: 5, "1": 4}}, TypeError, "items must be all integers or all strings"),
            ({None: {1: 5}}, ValueError, "users must not be missing"),
            ({(1, 2): {1: 5}}, TypeError, "users must be all integers or all strings"),
        ],
    )
    def test_errors_name_the_argument(self, wrong, error, words):
        with pytest.raises(error, match=words):
            Ratings.from_dict(wrong)
