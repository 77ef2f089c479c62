"""Bins and codes: the same in one pass or two, compiled or not, on any number of threads."""

import mmap

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgewise import AdaBoostMH
from edgewise.data import Bins, NumericColumn, as_table, encode, find_bins, fit_encode
from edgewise.data.storage import GrowingArray
from edgewise.data.table import mapped_file

NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=32)


def assert_same(ours, theirs):
    assert ours.n_rows == theirs.n_rows
    for mine, other in zip(ours.bins, theirs.bins, strict=True):
        assert type(mine) is type(other)
        assert (mine.name, mine.has_missing) == (other.name, other.has_missing)
        if isinstance(mine, Bins):
            np.testing.assert_array_equal(mine.thresholds, other.thresholds)
            assert mine.has_values == other.has_values
        else:
            assert mine.categories == other.categories
    for kind in ("dense", "sparse", "categorical"):
        mine, other = getattr(ours, kind), getattr(theirs, kind)
        np.testing.assert_array_equal(mine.columns, other.columns)
    for field in ("starts", "rows", "codes", "common"):
        np.testing.assert_array_equal(getattr(ours.sparse, field), getattr(theirs.sparse, field))
    np.testing.assert_array_equal(ours.dense.codes, theirs.dense.codes)
    assert ours.dense.codes.dtype == theirs.dense.codes.dtype
    for mine, other in zip(ours.categorical.codes, theirs.categorical.codes, strict=True):
        np.testing.assert_array_equal(mine, other)


def mixed(n_rows=400, seed=0):
    """A frame with columns of every kind."""
    rng = np.random.default_rng(seed)
    gone = rng.random((n_rows, 8)) < 0.1
    columns = {
        "normal": rng.normal(size=n_rows),
        "single": rng.normal(size=n_rows).astype(np.float32),
        "zeros": np.floor(np.exp(rng.normal(-1, 1.5, n_rows))),
        "whole": rng.integers(-5, 5, n_rows),
        "constant": np.full(n_rows, 3.5),
        "nothing": np.full(n_rows, np.nan),
        "word": rng.choice(["red", "green", "blue"], n_rows),
        "flag": rng.random(n_rows) < 0.5,
    }
    frame = pd.DataFrame(columns)
    for j, name in enumerate(("normal", "single", "zeros", "word")):
        frame.loc[gone[:, j], name] = None
    return frame


@pytest.mark.parametrize("max_bins", [2, 16, 256, 300])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_pass_gives_what_two_give_on_any_number_of_threads(
    max_bins, backend, weighted, monkeypatch
):
    table = as_table(mixed())
    mass = np.random.default_rng(1).integers(1, 9, table.n_rows) if weighted else None
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")
    reference = fit_encode(table, mass, max_bins)
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    for n_jobs in (1, 2, 5):
        assert_same(fit_encode(table, mass, max_bins, n_jobs=n_jobs), reference)
    assert_same(encode(table, reference.bins), reference)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_wide_codes_become_narrow_where_no_column_needs_them(backend, monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    few, many = np.arange(200.0)[:, None], np.arange(600.0)[:, None]
    assert fit_encode(as_table(few), None, 1000).dense.codes.dtype == np.uint8
    assert fit_encode(as_table(many), None, 1000).dense.codes.dtype == np.uint16


@given(st.lists(NUMBERS, min_size=1, max_size=300), st.integers(2, 300))
@settings(deadline=None)
def test_compiled_bins_and_codes_are_those_of_numpy(numbers, max_bins):
    for dtype in (np.float32, np.float64):
        column = NumericColumn(np.array(numbers, dtype=dtype))
        bins, quick = (find_bins("x", column, None, max_bins, 0.0, q) for q in (False, True))
        np.testing.assert_array_equal(bins.thresholds, quick.thresholds)
        for wanted, result in zip(
            *(bins.encode_with_counts(column, np.uint16, fast) for fast in (False, True)),
            strict=True,
        ):
            np.testing.assert_array_equal(wanted, result)


@pytest.mark.parametrize("mass", [None, 1, 2**36])
def test_compiled_bins_of_many_values_are_those_of_numpy(mass):
    # The largest masses do not fit into the compiled loop, which leaves them to Python.
    values = np.random.default_rng(0).lognormal(0, 3, 5000).round(1)
    weights = None if mass is None else np.arange(1, 5001, dtype=np.int64) * mass
    column = NumericColumn(values)
    for max_bins in (7, 255, 1000):
        bins, quick = (find_bins("x", column, weights, max_bins, 0.0, q) for q in (False, True))
        np.testing.assert_array_equal(bins.thresholds, quick.thresholds)


@pytest.mark.parametrize("storage", ["auto", "dense", "sparse"])
def test_a_sparse_matrix_has_the_codes_of_the_same_array(storage, monkeypatch):
    values = np.where(np.random.default_rng(0).random((300, 6)) < 0.3, 2.0, 0.0)
    values[:, 0] -= 1  # All stored, and the commonest value is not 0.
    values[5, 3] = np.nan
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        tables = as_table(values), as_table(sparse.csr_matrix(values))
        dense, few = (encode(t, fit_encode(t, None, 256).bins, storage) for t in tables)
        assert_same(few, dense)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_of_an_array_is_read_in_place(tmp_path, dtype, order):
    values = np.random.default_rng(0).integers(0, 200, (500, 70)).astype(dtype)
    np.save(tmp_path / "x.npy", np.asarray(values, order=order))
    file = np.load(tmp_path / "x.npy", mmap_mode="r")
    table = as_table(file)
    assert np.shares_memory(table.values, file)
    assert table.has_no_infinities()
    assert_same(fit_encode(table, None, 256), fit_encode(as_table(values), None, 256))
    np.testing.assert_array_equal(table.column(3).values, values[:, 3])


def test_a_file_is_read_by_blocks_and_runs(tmp_path, monkeypatch):
    values = np.random.default_rng(0).normal(size=(101, 300))
    np.save(tmp_path / "x.npy", values)
    monkeypatch.setattr("edgewise.data.table._FILE_BLOCK", 100 * 101 * 8)
    monkeypatch.setattr("edgewise.data.table._FILE_RUN", 7 * 300 * 8)
    table = as_table(np.load(tmp_path / "x.npy", mmap_mode="r"))
    read = np.stack([column.values for column in table.columns()], axis=1)
    np.testing.assert_array_equal(read, values)
    values[100, 299] = np.inf
    np.save(tmp_path / "x.npy", values)
    assert not as_table(np.load(tmp_path / "x.npy", mmap_mode="r")).has_no_infinities()


def test_changes_to_a_private_copy_of_a_file_are_kept(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((50, 70)))
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[3, 4] = 7.0
    assert mapped_file(as_table(private).values) is None
    assert [c.values[3] for c in as_table(private).columns()][4] == 7.0
    assert private[3, 4] == 7.0


@pytest.mark.parametrize("is_file", [True, False])
def test_rows_of_large_tables_are_taken_as_columns_are_read(tmp_path, monkeypatch, is_file):
    values = np.random.default_rng(0).normal(size=(120, 9))
    values[5, 2] = np.inf
    np.save(tmp_path / "x.npy", values)
    mapped, y = np.load(tmp_path / "x.npy", mmap_mode="r" if is_file else None), values[:, 0] > 0
    if not is_file:
        monkeypatch.setattr("edgewise.data.table._LARGE", 80 * 9 * 8)
    assert not hasattr(as_table(mapped).take(np.arange(100)), "values")
    settings = {
        "n_rounds": 4,
        "validation_fraction": 0.3,
        "handle_infinite": "missing",
        "random_state": 0,
    }
    ours = AdaBoostMH(**settings).fit(mapped, y)
    monkeypatch.undo()
    theirs = AdaBoostMH(**settings).fit(values, y)
    assert np.array_equal(ours.history_["validation"], theirs.history_["validation"])
    assert np.array_equal(ours.decision_function(mapped), theirs.decision_function(values))


def test_memory_that_no_file_stands_behind_is_kept():
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    shared = np.ndarray((50, 70), buffer=mmap.mmap(-1, 50 * 70 * 8, flags=flags))
    shared[:] = 7.0
    assert [c.values[3] for c in as_table(shared).columns()] == [7.0] * 70
    assert (shared == 7.0).all()


@given(st.lists(st.lists(st.integers(-9, 9), max_size=9), max_size=9))
def test_an_array_grows_by_what_is_added(parts):
    growing = GrowingArray(np.int32)
    for part in parts:
        growing.extend(np.array(part, dtype=np.int32))
    assert growing.finish().tolist() == [number for part in parts for number in part]


def test_chosen_columns_are_those_asked_for():
    values = np.random.default_rng(0).normal(size=(20, 200))
    for wanted in ([0], [3, 4, 5], [0, 7, 199], list(range(200)), []):
        result = list(as_table(values).select_columns(wanted))
        assert [j for j, _ in result] == wanted
        for j, column in result:
            np.testing.assert_array_equal(column.values, values[:, j])
