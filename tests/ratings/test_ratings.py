"""What ratings tell: their views, their parts, and further users."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from edgewise import Ratings

PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 7)), st.integers(1, 5), min_size=1
)


def made(table, **parts):
    users, items = zip(*table, strict=True)
    return Ratings.from_arrays(users, items, list(table.values()), **parts)


@pytest.fixture
def ratings():
    return Ratings.from_arrays(
        ["b", "a", "b", "c"], [20, 10, 10, 30], [3.0, 4.5, 5.0, 3.0],
        weights=[1, 2, 3, 4], times=[9, 8, 7, 6],
    )  # fmt: skip


class TestNumbers:
    def test_of_the_scale(self, ratings):
        assert (ratings.low, ratings.high) == (3.0, 5.0)
        assert ratings.levels.tolist() == [3.0, 4.5, 5.0]
        assert ratings.mean == pytest.approx((3 + 9 + 15 + 12) / 10)

    def test_repr(self, ratings):
        assert repr(ratings) == "Ratings(4 ratings from 3 to 5, 3 users, 3 items)"
        assert "0 ratings" in repr(ratings.take(np.zeros(4, dtype=bool)))

    def test_nothing_can_be_changed(self, ratings):
        with pytest.raises(dataclasses.FrozenInstanceError):
            ratings.values = np.zeros(4)
        for name in ("users", "items", "values", "weights", "times"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(ratings, name)[0] = 1


class TestViews:
    @given(PAIRS)
    def test_rows_of_users_and_of_items(self, table):
        ratings = made(table)
        for view, ones, others, size in (
            (ratings.by_user, ratings.users, ratings.items, ratings.n_users),
            (ratings.by_item, ratings.items, ratings.users, ratings.n_items),
        ):
            assert len(view.starts) == size + 1
            assert view.starts[-1] == len(ratings)
            for row in range(size):
                span = view.span(row)
                assert (np.diff(view.others[span]) > 0).all()
                assert (ones[view.rows[span]] == row).all()
                assert view.sizes[row] == (ones == row).sum()
            np.testing.assert_array_equal(view.others, others[view.rows])
            np.testing.assert_array_equal(view.values, ratings.values[view.rows])

    @given(PAIRS)
    def test_the_matrix(self, table):
        ratings = made(table)
        matrix = ratings.csr()
        assert sparse.issparse(matrix)
        assert matrix.shape == (ratings.n_users, ratings.n_items)
        dense = np.zeros(matrix.shape)
        dense[ratings.users, ratings.items] = ratings.values
        np.testing.assert_array_equal(matrix.toarray(), dense)

    def test_weights_go_with_their_ratings(self, ratings):
        for view in (ratings.by_user, ratings.by_item):
            np.testing.assert_array_equal(view.weights, ratings.weights[view.rows])
        assert ratings.take([0]).by_user.sizes.tolist() == [1, 0, 0]

    def test_what_is_done_to_the_matrix_does_not_reach_the_ratings(self, ratings):
        matrix = ratings.csr()
        matrix *= 0
        assert ratings.csr().sum() == ratings.values.sum() > 0


class TestFrame:
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_gives_back_what_was_given(self, library):
        given = {"user": ["a", "a", "b"], "item": [1, 2, 1], "rating": [5.0, 3.0, 4.0]}
        more = {"weight": [1.0, 2.0, 0.5], "time": [7.0, 8.0, 9.0]}
        pytest.importorskip(library)
        frame = Ratings.from_arrays(*given.values()).to_frame(library)
        assert {name: frame[name].to_list() for name in frame.columns} == given
        arrays = {f"{name}s": values for name, values in more.items()}
        frame = Ratings.from_arrays(*given.values(), **arrays).to_frame(library)
        assert {name: frame[name].to_list() for name in frame.columns} == given | more


class TestTake:
    @given(PAIRS, st.data())
    def test_masks_and_places_are_the_same(self, table, data):
        ratings = made(table)
        mask = np.array(
            data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table)))
        )
        places = data.draw(st.permutations(np.flatnonzero(mask).tolist()))
        for part in (ratings.take(mask), ratings.take(places)):
            np.testing.assert_array_equal(part.values, ratings.values[mask])
            np.testing.assert_array_equal(part.users, ratings.users[mask])
            np.testing.assert_array_equal(part.items, ratings.items[mask])
            assert part.user_ids is ratings.user_ids
            assert part.n_items == ratings.n_items

    def test_weights_and_times_go_with_their_ratings(self, ratings):
        part = ratings.take([3, 1])
        assert part.weights.tolist() == [3, 4]
        assert part.times.tolist() == [7, 6]

    def test_places_from_the_end(self, ratings):
        assert ratings.take([-1, 0]).values.tolist() == [4.5, 3.0]

    def test_nothing(self, ratings):
        for nothing in ([], np.zeros(0, dtype=int), np.zeros(4, dtype=bool)):
            assert len(ratings.take(nothing)) == 0

    @pytest.mark.parametrize(
        "rows", [[0, 0], [0, -4], [4], [-5], [True], [True] * 5, [0.0], ["a"], [[0]], 0]
    )
    def test_errors_name_the_argument(self, ratings, rows):
        with pytest.raises((TypeError, ValueError, IndexError), match="rows must"):
            ratings.take(rows)


class TestFurtherUsers:
    def test_they_come_last(self, ratings):
        more = Ratings.from_arrays(["z", "aa", "aa"], [10, 30, 10], [3, 4, 5])
        both = ratings.with_users(more)
        assert both.user_ids.values.tolist() == ["a", "b", "c", "aa", "z"]
        assert both.users.tolist() == [0, 1, 1, 2, 3, 3, 4]
        assert both.items.tolist() == [0, 0, 1, 2, 0, 2, 0]
        assert both.values.tolist() == [4.5, 5, 3, 3, 5, 4, 3]
        assert both.weights.tolist() == [2, 3, 1, 4, 1, 1, 1]
        assert both.item_ids is ratings.item_ids
        assert len(ratings) == 4
        assert ratings.n_users == 3

    def test_weights_of_one_side_only(self, ratings):
        plain = Ratings.from_arrays(["a", "b"], [10, 30], [4, 5])
        more = Ratings.from_arrays(["z"], [10], [3], weights=[7], times=[1])
        assert plain.with_users(more).weights.tolist() == [1, 1, 7]
        assert plain.with_users(more).times is None

    def test_who_cannot_come(self, ratings):
        for users, items, error, words in (
            (["a"], [10], ValueError, "users must be new, but 'a' is known already"),
            (["z"], [11], ValueError, "items must be known, got 11"),
            ([1], [10], TypeError, "users must be strings"),
            (["z"], ["10"], TypeError, "items must be integers"),
        ):
            with pytest.raises(error, match=words):
                ratings.with_users(Ratings.from_arrays(users, items))

    def test_items_that_nobody_rated_may_be_unknown(self, ratings):
        more = Ratings.from_matrix([[0, 5]], user_ids=["z"], item_ids=[99, 10])
        assert ratings.with_users(more).n_items == 3


class TestFurtherRatings:
    @given(st.integers(0, 10**6))
    def test_they_are_as_if_given_at_once(self, seed):
        rng = np.random.default_rng(seed)
        columns = [
            (rng.integers(0, 6, n), rng.integers(high - 6, high, n), rng.integers(1, 6, n))
            for n, high in ((8, 6), (5, 8))
        ]
        first, more = (Ratings.from_arrays(*three, duplicates="last") for three in columns)
        both = first.with_ratings(more)
        whole = Ratings.from_arrays(
            *map(np.concatenate, zip(*columns, strict=True)), duplicates="last"
        )
        assert rows_of(both) == rows_of(whole)
        keys = both.users * 100 + both.items
        assert (np.diff(keys) > 0).all()
        for name in ("user_ids", "item_ids"):
            old, now = getattr(first, name).values, getattr(both, name).values
            np.testing.assert_array_equal(old, now[: len(old)])
        assert rows_of(first.with_ratings(first)) == rows_of(first)

    def test_they_may_follow_users_that_were_folded_in(self, ratings):
        more = Ratings.from_arrays(["z", "z"], [10, 30], [3, 4])
        joined = ratings.with_ratings(Ratings.from_arrays(["b"], [5], [1]))  # item 5 is the last
        folded = joined.with_users(Ratings.from_arrays(["z", "z"], [5, 10], [1, 5]))
        both = folded.with_ratings(more)
        assert rows_of(both) == rows_of(folded) - {("z", 10, 5.0)} | rows_of(more)
        assert (np.diff(both.users * 100 + both.items) > 0).all()

    def test_weights_times_and_features(self, ratings):
        more = Ratings.from_arrays(["a", "z"], [10, 10], [3, 4], weights=[7, 8], times=[1, 2])
        both = ratings.with_ratings(more)
        assert both.weights.tolist() == [7, 3, 1, 4, 8]
        assert both.times[[0, -1]].tolist() == [1, 2]
        about = (["a", "b"], [[1.0], [2.0]])
        first = Ratings.from_arrays(["a", "b"], [1, 2], user_features=about)
        second = Ratings.from_arrays(["b", "c"], [1, 2], user_features=(["b", "c"], [[9.0], [3.0]]))
        table = first.with_ratings(second).user_features
        assert table.column(0).reals().tolist() == [1.0, 2.0, 3.0]
        plain = first.with_ratings(Ratings.from_arrays(["c"], [1])).user_features
        assert np.isnan(plain.column(0).reals()[2])

    def test_ids_keep_their_type(self, ratings):
        with pytest.raises(TypeError, match="users must be strings"):
            ratings.with_ratings(Ratings.from_arrays([1], [10]))


def rows_of(ratings):
    """Return the ratings as a set of user, item and value."""
    frame = ratings.to_frame("pandas")[["user", "item", "rating"]]
    return set(frame.itertuples(index=False, name=None))
