"""Ranked lists: how they are read, what they hold, and what they refuse."""

import math
import pickle
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.fusion import FUSIONS, RankedLists, fuse, grades_of
from edgewise.io import Run

NAN = math.nan


def run(**arrays):
    given = {"queries": ["q"] * 3, "docs": ["x", "y", "z"], "ranks": [1, 2, 3], "scores": [3, 2, 1]}
    return SimpleNamespace(**{**given, **arrays})


def test_what_lists_hold():
    lists = RankedLists([[2, 1], [None, 2], [1, None]], ["a", "b", "a"], docs=[5, 5, 6])
    assert (len(lists), lists.n_lists, lists.names) == (3, 2, ("list0", "list1"))
    np.testing.assert_array_equal(lists.features, [[-2, -1], [NAN, -2], [-1, NAN]])
    np.testing.assert_array_equal(lists.returned, [[1, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(lists.queries.ids, ["a", "b"])
    np.testing.assert_array_equal(lists.queries.codes, [0, 1, 0])
    np.testing.assert_array_equal(lists.n_returned(), [[2, 1], [0, 1]])
    np.testing.assert_array_equal(lists.lengths(), [[2, 1], [0, 2]])


def test_lists_do_not_change_and_leave_their_input_alone():
    positions = np.array([[1.0], [2.0]])
    lists = RankedLists(positions, [1, 1])
    with pytest.raises(FrozenInstanceError):
        lists.qid = [2, 2]
    with pytest.raises(ValueError, match="read-only"):
        lists.positions[0] = 5
    positions[0] = 3  # the caller's array can still be written to
    again = pickle.loads(pickle.dumps(lists))
    np.testing.assert_array_equal(again.positions, lists.positions)


def test_take_keeps_positions():
    lists = RankedLists([[1], [7], [2]], [1, 1, 2], docs=[8, 9, 8], names=["A"])
    part = lists.take([2, 1])
    np.testing.assert_array_equal(part.positions, [[2], [7]])
    np.testing.assert_array_equal(part.docs, [8, 9])
    np.testing.assert_array_equal(lists.take(lists.qid == 1).positions, [[1], [7]])
    assert part.names == ("A",)


def test_positions_from_scores_share_ties():
    X = [[0.5, 1], [0.5, 2], [0.9, 3], [None, 3], [0.1, 1]]
    lists = RankedLists.from_scores(X, [1, 1, 1, 1, 2])
    np.testing.assert_array_equal(lists.positions[:, 0], [2.5, 2.5, 1, NAN, 1])
    np.testing.assert_array_equal(lists.positions[:, 1], [4, 3, 1.5, 1.5, 1])
    np.testing.assert_array_equal(lists.scores, np.array(X, dtype=float))
    ranks = RankedLists.from_scores(X, [1, 1, 1, 1, 2], larger_is_better=False)
    np.testing.assert_array_equal(ranks.positions[:, 1], [1, 2, 3.5, 3.5, 1])
    assert ranks.scores is None


@given(
    X=st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=20), data=st.data()
)
def test_a_position_counts_those_before_and_half_of_those_tied(X, data):
    qid = data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X)))
    positions = RankedLists.from_scores([[x] for x in X], qid).positions[:, 0]
    for q, x, position in zip(qid, X, positions, strict=True):
        others = [y for p, y in zip(qid, X, strict=True) if p == q and y is not None]
        if x is None:
            assert math.isnan(position)
        else:
            before = sum(y > x for y in others)
            assert position == before + (others.count(x) + 1) / 2


LONG = {
    "query": ["q2", "q1", "q1", "q1", "q1"],
    "doc": ["b", "a", "b", "b", "c"],
    "list": ["B", "A", "A", "B", "B"],
    "rank": [1, 2, 1, 2, 1],
    "score": [0.1, 5.0, 7.0, 0.2, 0.9],
}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_long_frame(frame):
    lists = RankedLists.from_frames(frame(LONG))
    assert lists.names == ("A", "B")
    np.testing.assert_array_equal(lists.qid, ["q1", "q1", "q1", "q2"])
    np.testing.assert_array_equal(lists.docs, ["a", "b", "c", "b"])
    np.testing.assert_array_equal(lists.positions, [[2, NAN], [1, 2], [NAN, 1], [NAN, 1]])
    np.testing.assert_array_equal(lists.scores, [[5, NAN], [7, 0.2], [NAN, 0.9], [NAN, 0.1]])


def test_a_frame_for_each_list_with_other_names_of_columns():
    frame = pl.DataFrame(LONG).rename({"query": "topic", "doc": "page", "rank": "place"})
    parts = {name: frame.filter(pl.col("list") == name).drop("list") for name in ("B", "A")}
    lists = RankedLists.from_frames(parts, query="topic", doc="page", rank="place")
    assert lists.names == ("B", "A")
    whole = RankedLists.from_frames(pd.DataFrame(LONG))
    np.testing.assert_array_equal(lists.positions, whole.positions[:, ::-1])
    np.testing.assert_array_equal(lists.docs, whole.docs)


def test_frames_without_ranks_are_ranked_by_score():
    frame = pd.DataFrame(LONG).drop(columns="rank")
    lists = RankedLists.from_frames(frame)
    np.testing.assert_array_equal(lists.positions, [[2, NAN], [1, 2], [NAN, 1], [NAN, 1]])
    tied = frame.assign(score=1.0)
    expected = [[1.5, NAN], [1.5, 1.5], [NAN, 1.5], [NAN, 1]]
    np.testing.assert_array_equal(RankedLists.from_frames(tied).positions, expected)


def test_a_missing_rank_is_an_unranked_document():
    frame = pl.DataFrame(
        {"query": [1, 1, 1], "doc": [1, 2, 3], "list": ["A"] * 3, "rank": [1, None, None]}
    )
    lists = RankedLists.from_frames(frame)
    np.testing.assert_array_equal(lists.positions[:, 0], [1, NAN, NAN])
    assert lists.scores is None


def test_ranks_with_gaps_stay_as_they_are():
    frame = pd.DataFrame({"query": [1, 1], "doc": [1, 2], "list": ["A"] * 2, "rank": [40, 107]})
    np.testing.assert_array_equal(RankedLists.from_frames(frame).positions[:, 0], [40, 107])


def test_wide_frames_name_their_lists():
    X = pd.DataFrame({"bm25": [3.0, 1.0], "lm": [np.nan, 0.2]})
    assert RankedLists.from_scores(X, [1, 1]).names == ("bm25", "lm")
    positions = pl.DataFrame({"bm25": [1, 2], "lm": [None, 1]})
    lists = RankedLists(positions, pl.Series([1, 1]), docs=pd.Series(["x", "y"]))
    assert lists.names == ("bm25", "lm")
    np.testing.assert_array_equal(lists.positions, [[1, NAN], [2, 1]])
    assert RankedLists.from_scores(X, [1, 1], names=["A", "B"]).names == ("A", "B")


def test_runs_are_sorted_as_trec_eval_sorts_them():
    # By score, not by rank; of equal scores the larger id first, as text: d9, d20, d100.
    tied = run(docs=["d100", "d9", "d20"], ranks=[1, 2, 3], scores=[1.0, 1.0, 1.0])
    lists = RankedLists.from_runs({"A": tied, "B": run(docs=["d9", "d20", "d7"])})
    np.testing.assert_array_equal(lists.docs, ["d100", "d20", "d7", "d9"])
    np.testing.assert_array_equal(lists.positions[:, 0], [3, 2, NAN, 1])
    np.testing.assert_array_equal(lists.positions[:, 1], [NAN, 2, 3, 1])
    np.testing.assert_array_equal(lists.scores[:, 1], [NAN, 2, 1, 3])
    by_rank = RankedLists.from_runs({"A": tied}, order="rank")
    np.testing.assert_array_equal(by_rank.docs, ["d100", "d20", "d9"])
    np.testing.assert_array_equal(by_rank.positions[:, 0], [1, 3, 2])


def test_runs_as_they_are_read_from_files():
    arrays = [np.array(["q1", "q1", "q2"]), np.array(["a", "b", "a"])]
    read = Run(*arrays, np.array([1, 2, 1]), np.array([0.5, 0.5, 0.1]), np.array(["me"] * 3))
    np.testing.assert_array_equal(
        RankedLists.from_runs({"me": read}).positions[:, 0], read.positions()
    )
    by_rank = RankedLists.from_runs({"me": read}, order="rank")
    np.testing.assert_array_equal(by_rank.positions[:, 0], read.positions("rank"))


def test_every_way_to_read_the_same_lists_gives_the_same_fusion():
    frame = pd.DataFrame(LONG)
    runs = {
        name: run(queries=part["query"], docs=part["doc"], ranks=part["rank"], scores=part["score"])
        for name, part in frame.groupby("list")
    }
    long, trec = RankedLists.from_frames(frame), RankedLists.from_runs(runs)
    matrix = RankedLists.from_scores(long.scores, long.qid, long.docs, long.names)
    for method in FUSIONS:
        np.testing.assert_array_equal(fuse(long, method), fuse(trec, method))
        np.testing.assert_array_equal(fuse(long, method), fuse(matrix, method))


def frames(**columns):
    return pd.DataFrame({**LONG, **columns})


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: RankedLists([[0]], [1]), "positions"),
        (lambda: RankedLists([1, 2], [1, 1]), "positions"),
        (lambda: RankedLists(np.empty((0, 3)), []), "positions"),
        (lambda: RankedLists([[np.inf]], [1]), "positions"),
        (lambda: RankedLists([["top"]], [1]), "positions"),
        (lambda: RankedLists([[1], [2]], [1]), "qid"),
        (lambda: RankedLists([[1], [2]], [1.0, NAN]), "qid"),
        (lambda: RankedLists([[1], [2]], ["a", 1]), "qid"),
        (lambda: RankedLists([[1]], [1], docs=[1, 2]), "docs"),
        (lambda: RankedLists([[1], [2]], [7, 7], docs=["a", "a"]), "docs"),
        (lambda: RankedLists([[1]], [1], names=["A", "B"]), "names"),
        (lambda: RankedLists([[1, 1]], [1], names="AB"), "names"),
        (lambda: RankedLists([[1, 1]], [1], names=["A", "A"]), "names"),
        (lambda: RankedLists([[1]], [1], scores=[[NAN]]), "scores"),
        (lambda: RankedLists([[1]], [1], scores=[[2, 3]]), "scores"),
        (lambda: RankedLists.from_scores([[np.inf]], [1]), "X"),
        (lambda: RankedLists.from_scores([[1]], [1, 2]), "qid"),
        (lambda: RankedLists.from_scores([[1]], [1], larger_is_better=0), "larger_is_better"),
        (lambda: RankedLists.from_frames([1]), "frames"),
        (lambda: RankedLists.from_frames({}), "frames"),
        (lambda: RankedLists.from_frames(pl.DataFrame(LONG).lazy()), "frames"),
        (lambda: RankedLists.from_frames(frames()[:0]), "frames"),
        (lambda: RankedLists.from_frames(frames(), query="topic"), "column 'topic'"),
        (lambda: RankedLists.from_frames(frames(), rank="r", score="s"), "column 'r' or 's'"),
        (lambda: RankedLists.from_frames(frames(doc=list("baabc"))), "got a twice for query q1"),
        (lambda: RankedLists.from_frames(frames(doc=["b", None, "a", "b", "c"])), "'doc'"),
        (lambda: RankedLists.from_frames(frames(rank=[0, 1, 2, 3, 4])), "'rank'"),
        (lambda: RankedLists.from_frames(frames(rank=list("ivxlc"))), "'rank'"),
        (lambda: RankedLists.from_frames(frames(score=[1, 2, 3, 4, None])), "'score'"),
        (
            lambda: RankedLists.from_frames({"A": frames(), "B": frames().drop(columns="score")}),
            "'B'",
        ),
        (
            lambda: RankedLists.from_frames({"A": frames(), "B": frames(query=[1, 2, 3, 4, 5])}),
            "queries",
        ),
        (lambda: RankedLists.from_runs([run()]), "runs"),
        (lambda: RankedLists.from_runs({"A": 3}), "runs"),
        (lambda: RankedLists.from_runs({"A": run()}, order="docs"), "order"),
        (lambda: RankedLists.from_runs({"A": run(scores=[1, 2])}), "runs"),
        (lambda: RankedLists.from_runs({"A": run(scores=[1, 2, NAN])}), "scores"),
        (lambda: RankedLists.from_runs({"A": run(docs=["x"] * 3)}), "got x twice"),
        (lambda: grades_of(RankedLists([[1], [2]], [1, 1]), [1]), "judgments"),
        (lambda: grades_of(RankedLists([[1]], [1]), {"1": {"x": 1}}), "docs"),
        (lambda: grades_of(RankedLists([[1]], [1], docs=["y"]), {"1": {"x": 1}}), "judgments"),
    ],
)
def test_bad_input_is_named(call, argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        call()


def test_judgments_come_in_any_form(tmp_path):
    lists = RankedLists([[1], [2], [3]], qid=["q", "q", "r"], docs=["x", "y", "x"])
    (tmp_path / "qrels").write_text("q 0 y 2\nq 0 x -1\nr 0 x 1\n")
    by_query = {"q": {"y": 2, "x": -1}, "r": {"x": 1}}
    frame = pd.DataFrame({"query": ["q", "r"], "doc": ["y", "x"], "grade": [2, 1]})
    for judgments in (tmp_path / "qrels", by_query, frame, [0, 2, 1]):
        assert grades_of(lists, judgments).tolist() == [0, 2, 1]
