"""Which worker takes which rows."""

import numpy as np
import pytest

from edgewise.dask.pieces import Piece, RowRange, Size, assign_rows, size_of, spread_rows


def sized(*n_rows):
    return [Size(n, [], []) for n in n_rows]


def queries(*pieces):
    return [
        size_of(Piece(np.zeros((len(q), 1)), np.zeros(len(q)), None, np.array(q))) for q in pieces
    ]


def test_rows_stay_with_the_worker_that_has_them_and_the_fewest():
    runs = assign_rows(sized(5, 0, 3, 1), [["a", "b"], ["c"], ["b"], ["a", "b"]])
    assert runs == [RowRange(0, 0, 5, "a"), RowRange(2, 0, 3, "b"), RowRange(3, 0, 1, "b")]


def test_rows_of_other_workers_go_to_the_one_with_the_fewest():
    runs = assign_rows(sized(5, 2, 4), [["a"], ["c"], ["c"]], ["a", "b"])
    assert [run.worker for run in runs] == ["a", "b", "b"]


def test_the_rest_of_a_query_goes_to_the_worker_that_has_its_beginning():
    sizes = queries(["q1", "q1", "q2"], ["q2", "q2", "q3"], ["q3", "q4"])
    runs = assign_rows(sizes, [["a"], ["b"], ["a"]])
    assert runs == [
        RowRange(0, 0, 3, "a"),
        RowRange(1, 0, 2, "a"),
        RowRange(1, 2, 3, "b"),
        RowRange(2, 0, 1, "b"),
        RowRange(2, 1, 2, "a"),
    ]


def test_queries_in_no_order_are_refused_by_name():
    mixed = [f"q{i}" for _ in range(2) for i in range(200)]
    sizes = queries(mixed[::2], mixed)
    with pytest.raises(ValueError, match=r"query 'q0'.* partition 1 .*sorted by query"):
        assign_rows(sizes, [["a"], ["b"]])


def test_every_worker_gets_some_validation_rows():
    sizes = sized(4, 3)
    runs = spread_rows(
        [RowRange(0, 0, 4, "a"), RowRange(1, 0, 3, "a")], sizes, ["a", "b", "c"], "eval_set"
    )
    assert {run.worker for run in runs} == {"a", "b", "c"}
    assert [(run.piece, row) for run in runs for row in range(run.start, run.stop)] == [
        (piece, row) for piece in range(2) for row in range(sizes[piece].n_rows)
    ]
    with pytest.raises(ValueError, match="eval_set has fewer rows than there are workers, 2"):
        spread_rows([RowRange(0, 0, 1, "a")], sized(1), ["a", "b"], "eval_set")


def test_validation_queries_stay_whole():
    sizes = queries([1, 1, 1, 1, 2])
    assert spread_rows([RowRange(0, 0, 5, "a")], sizes, ["a", "b"], "eval_set") == [
        RowRange(0, 0, 4, "a"),
        RowRange(0, 4, 5, "b"),
    ]
    with pytest.raises(ValueError, match="fewer queries than there are workers, 3"):
        spread_rows([RowRange(0, 0, 5, "a")], sizes, ["a", "b", "c"], "eval_set")
