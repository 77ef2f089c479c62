"""Recommended lists: items that they may hold, the best of these, and frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from edgewise import (
    BiasBaseline,
    Blend,
    BoostedFactorization,
    ImplicitFactorization,
    ItemKNN,
    MatrixFactorization,
    Popularity,
    Ratings,
    SVDRecommender,
    UserKNN,
)
from edgewise.recommend import RecommendedList, RecommendedLists
from edgewise.recommend import arrays as blocks
from edgewise.recommend.lists import find_best, rank_best, top_candidates

SCORES = st.lists(st.sampled_from([0.0, 1.0, 2.5, -3.0, np.inf, -np.inf, np.nan]), max_size=12).map(
    np.array
)


@pytest.fixture
def lists():
    """Return a list of two, an empty one and a list of one."""
    return RecommendedLists(
        np.array(["ann", "bob", "cat"]), np.array([7, 9, 8]), np.array([3.0, 2.0, 5.0]),
        np.array([2, 2, 3]),
    )  # fmt: skip


class TestBest:
    @given(SCORES, st.integers(1, 14))
    def test_as_a_stable_sort_gives_them(self, scores, n):
        open_ones = [place for place in range(len(scores)) if scores[place] > -np.inf]
        order = sorted(open_ones, key=lambda place: (-scores[place], place))
        assert find_best(scores, n).tolist() == order[:n]

    def test_of_equal_scores_the_first(self):
        assert find_best(np.ones(1000), 3).tolist() == [0, 1, 2]

    def test_of_nothing(self):
        assert find_best(np.zeros(0), 5).tolist() == []
        assert find_best(np.full(3, -np.inf), 5).tolist() == []
        assert find_best(np.full(3, np.nan), 5).tolist() == []


class TestMany:
    def test_places(self, lists):
        assert len(lists) == 3
        assert lists[0].ids.tolist() == [7, 9]
        assert lists[1].ids.tolist() == []
        assert lists[-1].scores.tolist() == [5.0]
        assert [one.ids.tolist() for one in lists[1:]] == [[], [8]]
        assert [len(one.ids) for one in lists] == [2, 0, 1]
        with pytest.raises(IndexError):
            lists[3]

    def test_repr(self, lists):
        assert repr(lists) == "RecommendedLists(3 lists of 3 ids)"

    def test_equality(self, lists):
        parts = (lists.keys, lists.ids, lists.scores, lists.ends)
        assert lists == RecommendedLists(*(part.copy() for part in parts))
        assert lists != RecommendedLists(*parts[:2], lists.scores + 1, lists.ends)
        assert lists != RecommendedLists(*parts[:3], np.array([1, 2, 3]))
        assert lists != [1, 2]

    @pytest.mark.parametrize("library", [pd, pl])
    def test_frames(self, lists, library):
        frame = lists.to_frame(library=library.__name__)
        assert isinstance(frame, library.DataFrame)
        assert list(frame.columns) == ["user", "item", "rank", "score"]
        assert frame["user"].to_list() == ["ann", "ann", "cat"]
        assert frame["item"].to_list() == [7, 9, 8]
        assert frame["rank"].to_list() == [1, 2, 1]
        assert frame["score"].to_list() == [3.0, 2.0, 5.0]
        named = lists.to_frame("item", "like", library=library.__name__)
        assert list(named.columns) == ["item", "like", "rank", "score"]

    def test_frames_of_unknown_libraries(self, lists):
        with pytest.raises(ValueError, match="library must be one of"):
            lists.to_frame(library="excel")

    def test_frames_of_nothing(self):
        nothing = np.zeros(0, dtype=int)
        none = RecommendedLists(nothing, np.array([], dtype="<U1"), np.zeros(0), nothing)
        assert len(none.to_frame()) == 0
        assert none.ids.dtype.kind == "U"


class TestOne:
    def test_in_words(self):
        best = RecommendedList(np.array(["Heat", "Fargo"]), np.array([4.5, 4.25]))
        assert str(best) == "Heat   4.500\nFargo  4.250"
        assert str(RecommendedList(np.array([]), np.array([]))) == ""

    def test_ids_and_scores(self):
        ids, scores = RecommendedList(np.array([1]), np.array([2.0]))
        assert (ids.tolist(), scores.tolist()) == ([1], [2.0])


N_USERS, N_ITEMS = 30, 40
ABOUT = pd.DataFrame({
    "item": np.arange(N_ITEMS),
    "kind": np.array(["film", "song", "book"])[np.arange(N_ITEMS) % 3],
    "year": 1990 + np.arange(N_ITEMS) % 4,
})  # fmt: skip


MODELS = [
    MatrixFactorization(3, n_epochs=2, random_state=0),
    ImplicitFactorization(3, n_epochs=2, random_state=0),
    SVDRecommender(3),
    BoostedFactorization(8, random_state=0),
    BoostedFactorization(8, target="one_hot", random_state=0),
    Blend([("svd", SVDRecommender(2)), ("popular", BiasBaseline())], random_state=0),
]
NEAREST = [
    kind(3, implicit=implicit, n_candidates=9)
    for kind in (ItemKNN, UserKNN)
    for implicit in (False, True)
]


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((N_USERS, N_ITEMS)) < 0.3)
    values = rng.integers(1, 6, len(users))
    return Ratings.from_arrays(users, items, values, item_features=ABOUT)


@pytest.fixture(scope="module")
def model(ratings):
    return MatrixFactorization(3, n_epochs=2, random_state=0).fit(ratings)


def sorted_out(model, user, allowed, n=5):
    """Return the best of some items, by their scores one by one."""
    seen = set(model.ratings_.items[model.ratings_.users == user].tolist())
    left = np.array([item for item in allowed if item not in seen], dtype=int)
    scores = model._pair_scores(np.full(len(left), user), left)
    return left[np.lexsort((left, -scores))][:n].tolist()


class TestBatches:
    @pytest.mark.parametrize("model", MODELS + NEAREST)
    def test_lists_are_those_of_the_scores(self, ratings, model):
        model = clone(model).fit(ratings)
        lists = model.recommend(n=5)
        for user in range(N_USERS):
            assert lists[user].ids.tolist() == sorted_out(model, user, range(N_ITEMS))
            pairs = np.full(len(lists[user].ids), user), lists[user].ids
            assert lists[user].scores.tolist() == model._pair_scores(*pairs).tolist()

    def test_nobody_changes_the_list_of_another(self, ratings, monkeypatch):
        model = ImplicitFactorization(3, n_epochs=2, random_state=0).fit(ratings)
        lists = model.recommend(n=5)
        monkeypatch.setattr(blocks, "_BLOCK", 3 * N_ITEMS)
        assert model.recommend(n=5) == lists
        assert model.set_params(n_jobs=2).recommend(n=5) == lists
        for user in (0, 17):
            one = model.recommend(user, n=5)
            assert one.ids.tolist() == lists[user].ids.tolist()
            assert one.scores.tolist() == lists[user].scores.tolist()

    def test_unknown_users_are_asked_for_among_others(self, ratings):
        lists = SVDRecommender(2).fit(ratings).recommend([5, 99, 6], 3, unknown="mean")
        assert lists.keys.tolist() == [5, 99, 6]
        popular = Popularity().fit(ratings)._popularity()
        assert len(lists[1].ids) == 3
        assert popular[lists[1].ids[0]] > 0

    def test_numbers_past_single_precision(self, model):
        large = MatrixFactorization(3, n_epochs=1, random_state=0).fit(model.ratings_)
        large.user_factors_ = model.user_factors_ * 1e200
        assert large.recommend(3, n=5).ids.tolist() == sorted_out(large, 3, range(N_ITEMS))

    def test_a_new_fit_forgets_the_old_factors(self, ratings):
        model = ImplicitFactorization(2, n_epochs=2, random_state=0).fit(ratings)
        first = model.recommend(n=3)
        other = model.set_params(random_state=1, n_factors=5).fit(ratings).recommend(n=3)
        same = ImplicitFactorization(5, n_epochs=2, random_state=1).fit(ratings)
        assert other == same.recommend(n=3)
        assert first != other


class TestFilters:
    def test_candidates_of_each_user(self, model):
        chosen = {3: [1, 2, 5, 8, 13, 21, 34], 4: np.arange(10), 5: []}
        lists = model.recommend([3, 4, 5], n=5, items=chosen)
        for place, user in enumerate((3, 4, 5)):
            assert lists[place].ids.tolist() == sorted_out(model, user, chosen[user])

    def test_exclusions_of_all_and_of_each(self, model):
        best = model.recommend([3, 4], n=2)
        left = model.recommend([3, 4], n=5, exclude={3: best[0].ids, 99: [1], 4: [1000]})
        allowed = set(range(N_ITEMS)) - set(best[0].ids.tolist())
        assert left[0].ids.tolist() == sorted_out(model, 3, allowed)
        assert left[1].ids.tolist() == sorted_out(model, 4, range(N_ITEMS))
        assert model.recommend(3, 5, exclude=best[0].ids).ids.tolist() == left[0].ids.tolist()

    @pytest.mark.parametrize(
        ("where", "rows"),
        [
            ({"kind": "film"}, ABOUT["kind"] == "film"),
            (
                {"kind": ["song", "book"], "year": 1991},
                (ABOUT.kind != "film") & (ABOUT.year == 1991),
            ),
            ({"year": {1990, 1993}}, ABOUT["year"].isin([1990, 1993])),
            ({"kind": "play"}, ABOUT["year"] < 0),
        ],
    )
    def test_features_of_items(self, model, where, rows):
        found = model.recommend(7, n=5, where=where).ids.tolist()
        assert found == sorted_out(model, 7, np.flatnonzero(rows))

    def test_rare_items_are_left_out(self, model):
        sizes = model.ratings_.by_item.sizes
        found = model.recommend(7, n=5, min_support=10).ids.tolist()
        assert found == sorted_out(model, 7, np.flatnonzero(sizes >= 10))

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"items": {3: [1]}}, "items must hold items for every user, got none for 4"),
            ({"items": {3: [1], 4: [999]}}, "items must be ids that are known, got 999"),
            ({"exclude": {3: ["Heat"]}}, "exclude must be integers"),
            ({"where": {"color": "red"}}, "where=.*must name features of the items"),
            ({"where": ["film"]}, "where must map features to values, got list"),
            ({"min_support": -1}, "min_support must be an integer of at least 0, got -1"),
        ],
    )
    def test_wrong_filters(self, model, given, message):
        with pytest.raises((TypeError, ValueError), match=message):
            model.recommend([3, 4], **given)


class TestContenders:
    shapes = st.tuples(st.integers(1, 3), st.integers(0, 50))
    numbers = st.sampled_from([-np.inf, np.nan, -1.0, 0.0, 0.5, 1.0, 2.0])

    @given(arrays(np.float64, shapes, elements=numbers), st.integers(1, 4))
    def test_nothing_of_the_best_is_missing(self, scores, n):
        rows, places = top_candidates(scores.copy(), n)
        found = rank_best(rows, places, scores[rows, places], n)
        for row, line in enumerate(scores):
            there = [place for place in range(len(line)) if line[place] > -np.inf]
            best = sorted(there, key=lambda place: (-line[place], place))[:n]
            assert found[1][found[0] == row].tolist() == best == find_best(line, n).tolist()

    def test_errors_widen_the_choice(self):
        exact = np.random.default_rng(0).normal(size=(4, 300))
        near = (exact + np.random.default_rng(1).uniform(-0.1, 0.1, exact.shape)).astype(np.float32)
        rows, places = top_candidates(near, 3, np.full(4, 0.1001))
        found = rank_best(rows, places, exact[rows, places], 3)[1].reshape(4, 3)
        assert found.tolist() == np.argsort(-exact, axis=1)[:, :3].tolist()


class TestVectors:
    @pytest.mark.parametrize("model", MODELS[:3])
    def test_products_are_scores(self, ratings, model):
        model = clone(model).fit(ratings)
        users, items = model.vectors("users"), model.vectors("items")
        ones, others = np.divmod(np.arange(N_USERS * N_ITEMS), N_ITEMS)
        scores = model._pair_scores(users.ids[ones], items.ids[others])
        np.testing.assert_allclose((users.rows @ items.rows.T).ravel(), scores, atol=1e-12)

    def test_only_what_the_model_knows(self, ratings):
        model = ImplicitFactorization(2).fit(ratings.take(ratings.items != 4))
        assert 4 not in model.vectors("items").ids
        with pytest.raises(ValueError, match="side must be one of"):
            model.vectors("films")

    def test_similar_items_by_cosines(self, ratings):
        model = ImplicitFactorization(3).fit(ratings)
        items = model.item_factors_
        units = items / np.linalg.norm(items, axis=1)[:, None]
        found = model.similar_items([2, 9], n=4)
        for place, item in enumerate((2, 9)):
            cosines = units @ units[item]
            cosines[item] = -np.inf
            assert found[place].ids.tolist() == np.argsort(-cosines)[:4].tolist()
            np.testing.assert_allclose(found[place].scores, np.sort(cosines)[::-1][:4])
