import dataclasses

import numpy as np
import pytest
from scipy import sparse

from edgewise.io import RankingData


@pytest.fixture
def data():
    X = np.arange(8.0).reshape(4, 2)
    y, qid = np.array([2.0, 0.0, 1.0, 0.0]), np.array(["b", "b", "a", "c"])
    return RankingData(X, y, qid, np.array(["d1", "d2", "d3", "d4"]))


def test_queries_come_in_the_order_of_the_rows(data):
    assert data.queries.tolist() == ["b", "a", "c"]
    assert data.n_queries == 3
    assert len(data) == 4
    assert repr(data) == "RankingData(4 rows, 2 columns, 3 queries)"


@pytest.mark.parametrize(
    ("rows", "docs"),
    [
        ([2, 0], ["d3", "d1"]),
        (np.array([True, False, False, True]), ["d1", "d4"]),
        (slice(1, 3), ["d2", "d3"]),
        ([-1], ["d4"]),
        (np.array([], dtype=int), []),
    ],
)
def test_take(data, rows, docs):
    taken = data.take(rows)
    assert taken.docs.tolist() == docs
    assert taken.X[:, 0].tolist() == [data.X[data.docs == doc][0, 0] for doc in docs]
    assert taken.y.tolist() == [data.y[data.docs == doc][0] for doc in docs]
    assert taken.qid.tolist() == [data.qid[data.docs == doc][0] for doc in docs]


def test_what_is_not_known_stays_unknown():
    data = RankingData(np.eye(2), None, None)
    assert data.take([0]).y is None
    assert data.take([0]).qid is None
    assert data.take([0]).docs is None
    assert data.n_queries == 0
    assert repr(data) == "RankingData(2 rows, 2 columns, no queries)"
    both = RankingData.concatenate([data, data])
    assert (both.y, both.qid, both.docs) == (None, None, None)


def test_parts_put_together_are_the_whole(data):
    whole = RankingData.concatenate([data.take([0, 1]), data.take([2]), data.take([3])])
    for name in ("X", "y", "qid", "docs"):
        assert np.array_equal(getattr(whole, name), getattr(data, name))


def test_sparse_rows(data):
    item = dataclasses.replace(data, X=sparse.csr_matrix(data.X))
    both = RankingData.concatenate([item, item.take([1])])
    assert both.X.format == "csr"
    assert np.array_equal(both.X.toarray(), np.vstack([data.X, data.X[1:2]]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_of_a_frame(data, library):
    frames = pytest.importorskip(library)
    item = dataclasses.replace(data, X=frames.DataFrame({"x": [1, 2, 3, 4], "w": list("abcd")}))
    taken = item.take([3, 0])
    assert taken.X["w"].to_list() == ["d", "a"]
    both = RankingData.concatenate([taken, item])
    assert both.X["x"].to_list() == [4, 1, 1, 2, 3, 4]
    if library == "pandas":
        assert both.X.index.tolist() == list(range(6))


@pytest.mark.parametrize("name", ["y", "qid", "docs"])
def test_parts_of_other_lengths_are_refused(data, name):
    with pytest.raises(ValueError, match=f"{name} must have one entry for each of the 4 rows"):
        dataclasses.replace(data, **{name: getattr(data, name)[:3]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones((4, 3))}, r"same columns, got \[2, 3\]"),
        ({"qid": None}, "parts must all have qid"),
        ({"docs": None}, "parts must all have docs"),
        ({"y": None}, "parts must all have y"),
        ({"X": sparse.csr_matrix((4, 2))}, "same kind of X"),
    ],
)
def test_parts_that_do_not_fit_are_refused(data, changes, message):
    with pytest.raises(ValueError, match=message):
        RankingData.concatenate([data, dataclasses.replace(data, **changes)])


def test_no_parts_are_refused():
    with pytest.raises(ValueError, match="parts must hold at least one"):
        RankingData.concatenate([])


def test_it_cannot_be_changed(data):
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.y = None
