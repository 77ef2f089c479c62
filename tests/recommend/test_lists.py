"""Ranked lists, one and many, and the best of scores."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.recommend import RecommendedList, RecommendedLists
from edgewise.recommend.lists import find_best

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
