"""Data in pieces give the bins, the model and the predictions of all data in one array."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score

from edgewise import AdaBoostMH, Chunks
from edgewise.data import (
    Bins,
    CategoricalColumn,
    NumericColumn,
    RawRows,
    SparseColumn,
    as_table,
    fit_encode,
)
from edgewise.data.columns import concatenate_columns

N = 240


def frame(seed=0):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "b": rng.integers(0, 9, N),
            "color": rng.choice(["red", "green", "blue"], N),
            "c": np.where(rng.random(N) < 0.7, 0.0, rng.normal(size=N)),
            "shape": pd.Categorical(rng.choice(["disc", "ring"], N)),
            "d": rng.normal(size=N).astype(np.float32),
        }
    )
    made.loc[rng.random(N) < 0.1, ["a", "color"]] = None
    return made


FRAME = frame()
ARRAY = np.random.default_rng(1).normal(size=(N, 7))
ARRAY[::9, 2] = np.nan
Y = (ARRAY[:, 0] + ARRAY[:, 5] > 0).astype(int)


def cut(data, bounds=(0, 1, 90, 200, N)):
    """Return runs of rows."""
    take = data.iloc if hasattr(data, "iloc") else data
    return [take[a:b] for a, b in pairwise(bounds)]


def coded(X):
    """Return bins and codes in a form that can be compared."""
    binned = fit_encode(as_table(X), None, 64)
    bins = [
        (b.name, b.has_missing, b.thresholds.tolist() if isinstance(b, Bins) else b.categories)
        for b in binned.bins
    ]
    return bins, [binned.codes(j).tolist() for j in range(binned.n_columns)]


def files(tmp_path, parts):
    paths = []
    for number, part in enumerate(parts):
        paths.append(tmp_path / f"{number}.parquet")
        part.to_parquet(paths[-1], index=False)
    return paths


WHOLE = {"array": ARRAY, "frame": FRAME}
CHUNKS = {
    "blocks of an array": lambda: ("array", Chunks.columns_of([ARRAY[:, :3], ARRAY[:, 3:]])),
    "functions that make blocks": lambda: (
        "array",
        Chunks.columns_of([lambda j=j: ARRAY[:, [j]] for j in range(7)]),
    ),
    "sparse blocks": lambda: (
        "array",
        Chunks.columns_of([sparse.csr_matrix(ARRAY[:, :2]), sparse.csc_matrix(ARRAY[:, 2:])]),
    ),
    "blocks of frames": lambda: (
        "frame",
        Chunks.columns_of([FRAME[["a", "b"]], pl.from_pandas(FRAME[FRAME.columns[2:]])]),
    ),
    "runs of an array": lambda: ("array", Chunks.rows_of(cut(ARRAY), memory=2 * 8 * N)),
    "runs by columns": lambda: (
        "array",
        Chunks.rows_of([lambda p=p: np.asfortranarray(p) for p in cut(ARRAY)], memory=3 * 8 * N),
    ),
    "one column at a time": lambda: ("array", Chunks.rows_of(cut(ARRAY), memory=1)),
    "an iterator made each time": lambda: ("array", Chunks.rows_of(lambda: iter(cut(ARRAY)))),
    "sparse runs": lambda: ("array", Chunks.rows_of([sparse.csr_matrix(p) for p in cut(ARRAY)])),
    "mixed runs": lambda: (
        "array",
        Chunks.rows_of([sparse.csr_matrix(ARRAY[:100]), ARRAY[100:].tolist()]),
    ),
    "runs of frames": lambda: ("frame", Chunks.rows_of(cut(FRAME), memory=2 * 8 * N)),
    "runs of polars": lambda: (
        "frame",
        Chunks.rows_of([lambda p=p: pl.from_pandas(p) for p in cut(FRAME)]),
    ),
    "nested": lambda: (
        "array",
        Chunks.columns_of([Chunks.rows_of(cut(ARRAY[:, :4]), memory=8 * N), ARRAY[:, 4:]]),
    ),
}


@pytest.fixture(params=list(CHUNKS))
def chunked(request):
    """All data in one, and in pieces."""
    kind, pieces = CHUNKS[request.param]()
    return WHOLE[kind], pieces


def test_pieces_have_the_shape_bins_and_codes_of_the_whole(chunked):
    whole, pieces = chunked
    assert pieces.shape == whole.shape
    assert len(pieces) == len(whole)
    assert coded(pieces) == coded(whole)


def test_pieces_give_the_same_model_and_predictions(chunked):
    whole, pieces = chunked
    settings = {"n_rounds": 15, "learner": "product", "random_state": 0, "n_jobs": 2}
    item, other = (AdaBoostMH(**settings).fit(X, Y) for X in (whole, pieces))
    scores = item.decision_function(whole)
    assert np.array_equal(other.decision_function(whole), scores)
    assert np.array_equal(other.decision_function(pieces), scores)
    assert np.array_equal(item.decision_function(pieces), scores)


def test_rows_set_aside_are_those_of_the_whole(chunked):
    whole, pieces = chunked
    weights = np.arange(N) % 5
    settings = {"n_rounds": 8, "learner": "stump", "random_state": 0, "validation_fraction": 0.3}
    item, other = (AdaBoostMH(**settings).fit(X, Y, weights) for X in (whole, pieces))
    assert np.array_equal(item.history_["validation"], other.history_["validation"])
    assert np.array_equal(item.decision_function(whole), other.decision_function(whole))


def test_training_goes_on_as_with_the_whole(chunked):
    whole, pieces = chunked
    models = []
    for X in (whole, pieces):
        model = AdaBoostMH(n_rounds=5, learner="tree", random_state=0, warm_start=True).fit(X, Y)
        models.append(model.set_params(n_rounds=9).fit(X, Y))
    item, other = models
    assert np.array_equal(item.history_["energy"], other.history_["energy"])
    assert np.array_equal(item.decision_function(whole), other.decision_function(whole))


def test_columns_that_are_needed_are_read_ahead(chunked):
    whole, pieces = chunked
    categories = {2: ("blue", "green")} if whole is FRAME else {}
    rows, ahead = (RawRows(as_table(X), categories) for X in (whole, pieces))
    ahead.read([3, 0, 2, -1, 99])
    for j in (0, 3):
        np.testing.assert_array_equal(ahead.numbers(j), rows.numbers(j))
    if categories:
        np.testing.assert_array_equal(ahead.codes(2), rows.codes(2))


def test_parquet_files_are_read_by_columns(tmp_path):
    paths = files(tmp_path, cut(FRAME.assign(target=Y)))
    X = Chunks.parquet(paths, without=["target"], memory=2 * 8 * N)
    assert X.names == list(FRAME.columns)
    assert coded(X) == coded(FRAME)
    assert np.array_equal(X.values("target"), Y)
    model = AdaBoostMH(n_rounds=10, learner="product", random_state=0).fit(X, Y)
    whole = AdaBoostMH(n_rounds=10, learner="product", random_state=0).fit(FRAME, Y)
    assert np.array_equal(model.decision_function(X), whole.decision_function(FRAME))
    item = Chunks.parquet(files(tmp_path, [FRAME])[0])
    assert coded(item) == coded(FRAME)


def test_parquet_files_may_be_empty_or_have_their_columns_in_any_order(tmp_path):
    made = pd.DataFrame(ARRAY, columns=list("abcdefg"))
    made[:90].to_parquet(tmp_path / "1.parquet")
    made[90:][list("gbacdfe")].to_parquet(tmp_path / "2.parquet")
    made[:0].to_parquet(tmp_path / "3.parquet")
    chunks = Chunks.parquet([tmp_path / f"{name}.parquet" for name in (1, 3, 2)])
    model = AdaBoostMH(n_rounds=5).fit(chunks, Y)
    assert np.array_equal(model.decision_function(chunks), model.decision_function(made))


def test_pieces_can_be_cross_validated(chunked):
    whole, chunks = chunked
    y = np.arange(len(whole)) % 2
    model = AdaBoostMH(n_rounds=3)
    assert np.array_equal(cross_val_score(model, chunks, y), cross_val_score(model, whole, y))
    assert chunks[:5].shape == chunks[[4, 2, 9, 0, 1]].shape == (5, chunks.n_columns)
    assert chunks[y == 1].n_rows == y.sum()
    with pytest.raises(TypeError, match="rows must be a list of numbers"):
        chunks[3]


def test_names_are_those_of_the_pieces_or_those_given():
    model = AdaBoostMH(n_rounds=2, learner="stump").fit(Chunks.rows_of(cut(FRAME)), Y)
    assert model.feature_names_in_.tolist() == list(FRAME.columns)
    named = Chunks.columns_of([ARRAY], names=list("abcdefg"))
    model = AdaBoostMH(n_rounds=2, learner="stump").fit(named, Y)
    assert model.feature_names_in_.tolist() == list("abcdefg")
    with pytest.raises(ValueError, match="'z' where training had 'g'"):
        model.predict(Chunks.columns_of([ARRAY], names=list("abcdefz")))


def test_an_index_of_pandas_is_no_column(tmp_path):
    some = FRAME.iloc[::3]
    some.to_parquet(tmp_path / "x.parquet")
    assert coded(Chunks.parquet(tmp_path / "x.parquet")) == coded(some)


def test_parquet_reads_no_column_that_was_not_chosen(tmp_path, monkeypatch):
    X = Chunks.parquet(files(tmp_path, [FRAME]))
    wanted = []
    read = X._read_columns
    monkeypatch.setattr(
        X, "_read_columns", lambda path, names: wanted.append(names) or read(path, names)
    )
    assert [j for j, _ in X.select_columns([0, 3])] == [0, 3]
    assert wanted == [["a", "c"]]


def test_values_of_rows_that_were_left_out_do_not_matter():
    values = ARRAY.copy()
    values[3, 1] = np.inf
    table = as_table(Chunks.columns_of([values[:, :4], values[:, 4:]]))
    with pytest.raises(ValueError, match="infinite value in column 'x1'"):
        list(table.columns())
    kept = np.setdiff1d(np.arange(N), [3])
    assert len(list(table.take(kept).columns())) == 7
    with pytest.raises(ValueError, match="infinite value in column 'x1'"):
        list(table.take(np.arange(9)).take(np.array([3, 4])).columns())


@pytest.mark.parametrize("kind", ["beside", "above"])
def test_infinite_values_are_those_of_the_choice(kind):
    values = ARRAY.copy()
    values[3, 1] = np.inf
    pieces = [values[:, :4], values[:, 4:]], cut(values)
    X = Chunks.columns_of(pieces[0]) if kind == "beside" else Chunks.rows_of(pieces[1])
    assert np.isnan(as_table(X, "missing").column(1).values[3])
    assert as_table(X, "value").column(1).values[3] == np.inf


def test_declared_columns_are_categorical_in_all_pieces():
    values = np.random.default_rng(0).integers(0, 4, (N, 3)).astype(float)
    whole = AdaBoostMH(n_rounds=5, learner="stump", categorical_features=[1], random_state=0).fit(
        values, Y
    )
    X = Chunks.rows_of(cut(values), memory=1)
    model = AdaBoostMH(n_rounds=5, learner="stump", categorical_features=[1], random_state=0).fit(
        X, Y
    )
    assert np.array_equal(model.decision_function(X), whole.decision_function(values))


def test_only_one_lazy_block_is_asked_for_at_a_time():
    calls = []

    def block(j):
        calls.append(j)
        return ARRAY[:, 2 * j : 2 * j + 2]

    X = Chunks.columns_of([lambda j=j: block(j) for j in range(3)])
    calls.clear()
    fit_encode(as_table(X), None, 16)
    assert calls == [0, 1, 2]


def test_a_run_without_values_goes_with_the_others():
    nothing = NumericColumn(np.full(2, np.nan))
    words = CategoricalColumn(np.array([0, 1], np.uint32), ("a", "b"))
    numbers = NumericColumn(np.array([1, 2]))
    few = SparseColumn(np.array([1], np.int32), np.array([5.0]), 3)
    assert concatenate_columns([nothing, words], "x").codes.tolist() == [2, 2, 0, 1]
    np.testing.assert_array_equal(
        concatenate_columns([nothing, numbers], "x").values, [np.nan, np.nan, 1, 2]
    )
    assert concatenate_columns([few, few], "x").reals().tolist() == [0, 5, 0, 0, 5, 0]
    assert concatenate_columns([few, numbers], "x").reals().tolist() == [0, 5, 0, 1, 2]
    with pytest.raises(ValueError, match="numbers in some, categories in others of column 'x'"):
        concatenate_columns([words, numbers], "x")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Chunks.columns_of([]), "pieces"),
        (lambda: Chunks.rows_of([]), "pieces"),
        (lambda: Chunks.columns_of([ARRAY, ARRAY[:3]]), "pieces.*number 2 has 3"),
        (lambda: Chunks.rows_of([ARRAY, ARRAY[:, :3]]), "pieces.*piece 2"),
        (lambda: Chunks.rows_of([FRAME, FRAME[FRAME.columns[::-1]]]), "pieces.*piece 2"),
        (lambda: Chunks.columns_of([ARRAY], names=["a"]), "names"),
        (lambda: Chunks.columns_of([ARRAY[:, :2]], names=["a", "a"]), "'a'"),
        (lambda: Chunks.rows_of([ARRAY], memory=0), "memory"),
    ],
)
def test_wrong_pieces_are_named_before_any_work(make, named):
    with pytest.raises(ValueError, match=named):
        make()


def test_wrong_parquet_files_are_named(tmp_path):
    paths = files(tmp_path, [FRAME, FRAME.drop(columns="b")])
    with pytest.raises(ValueError, match="'b'"):
        Chunks.parquet(paths)
    with pytest.raises(ValueError, match=r"without .*'z'"):
        Chunks.parquet(paths[0], without=["z"])
    with pytest.raises(ValueError, match="at least one Parquet file"):
        Chunks.parquet([])
    with pytest.raises(OSError):
        Chunks.parquet(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"bad\.parquet"):
        Chunks.parquet(tmp_path / "bad.parquet")


def test_pieces_that_can_be_read_only_once_are_refused():
    with pytest.raises(TypeError, match=r"pieces can be read only once.*got generator"):
        Chunks.rows_of(piece for piece in cut(ARRAY))


@pytest.mark.parametrize("pieces", [ARRAY, FRAME, "x.npy", 3, Chunks.columns_of([ARRAY])])
def test_one_piece_is_not_a_sequence_of_them(pieces):
    for make in (Chunks.columns_of, Chunks.rows_of):
        with pytest.raises(TypeError, match="pieces must be a sequence of arrays"):
            make(pieces)


def test_a_column_of_parquet_files_that_is_not_there_is_named(tmp_path):
    FRAME.to_parquet(tmp_path / "1.parquet")
    chunks = Chunks.parquet(tmp_path / "1.parquet", without="color")
    assert chunks.n_columns == FRAME.shape[1] - 1
    assert len(chunks.values("color")) == N
    with pytest.raises(ValueError, match="name must be a column of the files, got 'size'"):
        chunks.values("size")


def test_a_source_that_changes_is_noticed():
    pieces = cut(ARRAY)
    X = Chunks.rows_of(lambda: iter(pieces))
    pieces.pop()
    with pytest.raises(ValueError, match="had 240 rows, now 200"):
        list(as_table(X).columns())
