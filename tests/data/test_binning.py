"""Where columns are cut, and that a cut of bins is a cut of values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgewise.data import (
    MAX_BINS,
    Bins,
    NumericColumn,
    SparseColumn,
    as_table,
    encode,
    find_bins,
    fit_encode,
)
from edgewise.data.bins import sampled_rows

NUMBERS = st.floats(allow_nan=False, allow_infinity=True, allow_subnormal=True)


def bins_of(values, mass=None, max_bins=256):
    return find_bins("x", NumericColumn(np.asarray(values)), mass, max_bins)


def codes_of(values, max_bins=256, infinite="raise"):
    table = as_table(np.asarray(values)[:, None], infinite=infinite)
    return fit_encode(table, None, max_bins).codes(0)


def sparse_column(values):
    rows = np.flatnonzero(values != 0).astype(np.int32)
    return SparseColumn(rows, values[rows], len(values))


# One bin for each value


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_each_value_has_its_own_bin_and_thresholds_lie_between_neighbors(numbers):
    values = np.unique(np.array(numbers))
    bins = bins_of(numbers)
    assert bins.n_values == len(values)
    assert (values[:-1] < bins.thresholds).all()
    assert (bins.thresholds <= values[1:]).all()
    ranks = np.searchsorted(values, np.array(numbers))
    assert np.array_equal(codes_of(numbers, infinite="value"), ranks)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, np.nextafter(1.0, 2.0)],
        [np.nextafter(1.0, 0.0), 1.0],
        [0.0, 5e-324],
        [5e-324, 1e-323],
        [-5e-324, 0.0],
        [-1.7e308, 1.7e308],
        [1.7e308, np.nextafter(1.7e308, np.inf)],
        [-np.inf, np.inf],
        [-np.inf, -1.7e308, 3.0, 1.7e308, np.inf],
    ],
)
def test_a_threshold_separates_neighbors_however_close_or_far(values):
    bins = bins_of(values)
    for t, threshold in enumerate(bins.thresholds):
        assert [value >= threshold for value in values] == [i > t for i in range(len(values))]


def test_thresholds_are_midpoints():
    assert bins_of([1.0, 2.0, 5.0, 2.0]).thresholds.tolist() == [1.5, 3.5]
    assert bins_of(np.array([10, 0, 255], np.uint8)).thresholds.tolist() == [5.0, 132.5]


@pytest.mark.parametrize("n_values", [300, MAX_BINS])
def test_exact_search_has_a_bin_for_every_value(n_values):
    values = np.random.default_rng(0).permutation(n_values) * 0.5
    codes = codes_of(values, max_bins=MAX_BINS)
    assert codes.dtype == np.uint16
    assert np.array_equal(codes, values * 2)


def test_exact_search_with_missing_values_uses_the_last_code_for_them():
    values = np.append(np.arange(MAX_BINS - 1.0), np.nan)
    codes = codes_of(values, max_bins=MAX_BINS)
    assert np.array_equal(codes, np.arange(MAX_BINS))


def test_unseen_missing_values_fit_beside_the_most_values():
    seen = as_table(np.arange(float(MAX_BINS))[:, None])
    bins = fit_encode(seen, None, MAX_BINS).bins
    later = encode(as_table([[0.0], [np.nan], [1e9]]), bins)
    assert later.codes(0).tolist() == [0, MAX_BINS, MAX_BINS - 1]


@pytest.mark.parametrize("missing", [False, True])
def test_codes_take_one_byte_by_default(missing):
    values = np.random.default_rng(1).normal(size=1000)
    values[:5] = np.nan if missing else values[:5]
    codes = codes_of(values)
    assert codes.dtype == np.uint8
    assert len(np.unique(codes)) == 256


def test_codes_take_two_bytes_past_256_bins():
    assert codes_of(np.arange(256.0), max_bins=300).dtype == np.uint8
    assert codes_of(np.arange(257.0), max_bins=300).dtype == np.uint16
    assert codes_of(np.append(np.arange(256.0), np.nan), max_bins=300).dtype == np.uint16


def test_a_full_byte_of_values_meets_a_missing_one_later():
    bins = fit_encode(as_table(np.arange(256.0)[:, None]), None, 256).bins
    later = encode(as_table([[np.nan], [255.0], [0.0]]), bins)
    assert later.codes(0).tolist() == [256, 255, 0]


def test_a_missing_bin_stands_only_where_values_are_missing():
    table = as_table(np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0]]))
    complete, gappy = fit_encode(table, None, 256).bins
    assert (complete.has_missing, complete.n_values, complete.n_codes) == (False, 3, 3)
    assert (gappy.has_missing, gappy.n_values, gappy.n_codes) == (True, 2, 3)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_past_the_precision_of_floats_are_cut_as_floats(dtype):
    integers = 2**53 + np.arange(10, dtype=dtype)
    bins = bins_of(integers)
    values = integers.astype(np.float64)
    codes = bins.encode(NumericColumn(integers))
    for t, threshold in enumerate(bins.thresholds):
        assert np.array_equal(codes > t, values >= threshold)
    assert len(np.unique(codes)) == len(np.unique(values))


def test_the_largest_unsigned_integers_are_binned():
    integers = np.array([2**63 + 4096, 2**63 + 8192, 2**63 + 4096, 2**63 + 8192], np.uint64)
    assert bins_of(np.repeat(integers, 2000)).n_values == 2
    assert codes_of(np.repeat(integers, 2000))[::2000].tolist() == [0, 1, 0, 1]


def test_columns_that_tell_rows_apart():
    nan = np.nan
    X = np.array([[5.0, 1.0, nan, 2.0], [5.0, 2.0, 7.0, nan], [5.0, 1.0, 7.0, nan]])
    table = as_table(X)
    assert fit_encode(table, None, 256).splittable.tolist() == [1, 2, 3]


def test_a_column_without_any_value_tells_no_rows_apart():
    table = as_table(np.array([[np.nan, 1.0], [np.nan, 2.0]]))
    assert fit_encode(table, None, 256).splittable.tolist() == [1]


# More values than bins


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=200), st.integers(2, 40), st.booleans())
def test_there_are_never_more_bins_than_asked_for(numbers, max_bins, missing):
    values = np.array([*numbers, *([np.nan] if missing else [])], dtype=np.float64)
    bins = bins_of(values, max_bins=max_bins)
    assert bins.n_codes <= max_bins
    assert (np.diff(bins.thresholds) > 0).all()
    codes = bins.encode(NumericColumn(values))
    # Every bin holds some row: none is wasted.
    assert np.array_equal(np.unique(codes), np.arange(bins.n_codes))


def test_bins_hold_equal_mass_where_values_allow_it():
    values = np.random.default_rng(0).permutation(1000) / 7.0
    codes = codes_of(values, max_bins=10)
    assert np.bincount(codes).tolist() == [100] * 10


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(-30, 30) | st.none(), st.integers(1, 50)), min_size=1, max_size=80
    ),
    st.integers(2, 30),
    st.booleans(),
)
def test_whole_weights_equal_repeated_rows(rows, max_bins, is_sparse):
    values = np.array([np.nan if value is None else value / 3 for value, _ in rows])
    weights = np.array([weight for _, weight in rows])
    repeated = np.repeat(values, weights)
    if is_sparse:
        weighted = find_bins("x", sparse_column(values), weights, max_bins)
    else:
        weighted = bins_of(values, weights, max_bins)
    counted = bins_of(repeated, None, max_bins)
    assert np.array_equal(weighted.thresholds, counted.thresholds)
    assert weighted.has_missing == counted.has_missing


@pytest.mark.parametrize("stored_zeros", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_columns_have_the_bins_of_dense_ones(weighted, stored_zeros):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        values = rng.integers(-40, 41, size=300) * (rng.random(300) < 0.5) / 3.0
        values[rng.random(300) < 0.05] = np.nan
        stored = values != 0
        if stored_zeros:
            stored |= rng.random(300) < 0.3
        rows = np.flatnonzero(stored).astype(np.int32)
        column = SparseColumn(rows, values[rows], 300)
        mass = rng.integers(1, 30, size=300) if weighted else None
        for max_bins in (5, 20, 256):
            dense = bins_of(values, mass, max_bins)
            bins = find_bins("x", column, mass, max_bins)
            assert np.array_equal(bins.thresholds, dense.thresholds)
            assert bins.has_missing == dense.has_missing


def test_whole_weights_equal_repeated_rows_past_256_values():
    rng = np.random.default_rng(5)
    values = rng.normal(size=2000)
    weights = rng.integers(1, 20, size=2000)
    weighted = bins_of(values, weights)
    assert weighted.n_values == 256
    assert np.array_equal(weighted.thresholds, bins_of(np.repeat(values, weights)).thresholds)


@pytest.mark.parametrize("max_bins", [16, 256])
@pytest.mark.parametrize("place", ["lowest", "middle", "highest"])
def test_a_heavy_value_does_not_starve_the_others(place, max_bins):
    light = np.arange(600.0)
    heavy = {"lowest": -1.0, "middle": 299.5, "highest": 600.0}[place]
    values = np.append(light, heavy)
    mass = np.append(np.ones(600, np.int64), 1_000_000)
    codes = bins_of(values, mass, max_bins).encode(NumericColumn(values))
    # The heavy value fills a bin; an even spread of the others puts 600 / (max_bins - 1) in each.
    fair = 600 / (max_bins - 1)
    assert np.bincount(codes[:-1]).max() <= 2 * np.ceil(fair)


# A cut of bins is a cut of values


def probes(rng, thresholds, n):
    """Return values at, next to and between thresholds."""
    near = rng.choice(thresholds, size=n)
    return np.concatenate(
        [near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf), rng.normal(size=n) * 3]
    )


@pytest.mark.parametrize("max_bins", [7, 256, 1000])
def test_codes_say_which_thresholds_are_at_or_below_a_value(max_bins):
    rng = np.random.default_rng(max_bins)
    bins = bins_of(rng.normal(size=600), max_bins=max_bins)
    values = np.concatenate([probes(rng, bins.thresholds, 50), [np.inf, -np.inf, np.nan]])
    codes = bins.encode(NumericColumn(values))
    for t, threshold in enumerate(bins.thresholds):
        assert np.array_equal(codes[:-1] > t, values[:-1] >= threshold)
    assert codes[-1] == bins.missing_code


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_integers_get_the_codes_of_their_values(dtype):
    rng = np.random.default_rng(0)
    integers = rng.integers(0, 100, size=500).astype(dtype)
    bins = Bins("x", np.array([-3.0, 0.0, 7.0, 49.5, 98.5, 120.0]), False)
    expected = bins.encode(NumericColumn(integers.astype(np.float64)))
    assert np.array_equal(bins.encode(NumericColumn(integers)), expected)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("storage", ["dense", "sparse", "auto"])
def test_storages_hold_the_same_codes_and_cuts(storage, as_input, training):
    rng = np.random.default_rng(2)
    X = rng.integers(-3, 4, size=(80, 6)) / 2.0
    X[:, 1::2] *= rng.random((80, 3)) < 0.2
    X[:, 5] = np.where(rng.random(80) < 0.8, 1.5, X[:, 5])  # mostly one value, and that not 0
    X[:, 2:4][rng.random((80, 2)) < 0.3] = np.nan
    X[:, 3][:60] = np.nan  # mostly missing
    bins = fit_encode(as_table(X), None, 256).bins
    if not training:
        X = X[::-1] + 0.25
        X[:7] = np.nan
    binned = encode(as_table(as_input(X)), bins, storage, training)
    n_dense, n_sparse = len(binned.dense.columns), len(binned.sparse.columns)
    assert {"dense": n_sparse == 0, "sparse": n_dense == 0, "auto": n_dense and n_sparse}[storage]
    assert binned.codes(3).dtype == np.uint8
    from_array = encode(as_table(X), bins, storage, training)
    assert np.array_equal(binned.storage_index, from_array.storage_index)
    assert np.array_equal(binned.sparse.common, from_array.sparse.common)
    for j, b in enumerate(bins):
        missing = np.isnan(X[:, j])
        codes = binned.codes(j)
        assert np.array_equal(codes == b.missing_code, missing)
        for first in range(b.n_values):
            above = (X[:, j] >= b.thresholds[first - 1]) | (first == 0)
            assert np.array_equal(codes[~missing] >= first, above[~missing])
            for side in (-1, 0, 1):
                signs = np.where(missing, side, np.where(above, 1, -1))
                assert np.array_equal(binned.cut(j, first, side), signs)


def test_the_constant_is_plus_one_everywhere():
    table = as_table([[1.0], [np.nan], [3.0]])
    binned = fit_encode(table, None, 256)
    assert binned.cut(-1, 0, 1).tolist() == [1, 1, 1]


def test_auto_storage_is_sparse_where_one_bin_holds_most_rows():
    X = np.column_stack([np.arange(10.0), np.r_[np.full(8, 4.0), 1.0, 2.0]])
    table = as_table(X)
    binned = fit_encode(table, None, 256)
    assert binned.dense.columns.tolist() == [0]
    assert binned.sparse.columns.tolist() == [1]
    assert binned.sparse.rows.tolist() == [8, 9]


# Many rows


@pytest.fixture
def a_sample_of_1000(monkeypatch):
    monkeypatch.setattr("edgewise.data.bins._SAMPLE", 1000)


@pytest.mark.parametrize(("n_rows", "max_bins", "size"), [(5000, 2, 1000), (5000, 40, 2560)])
def test_many_rows_are_sampled_one_of_each_run(a_sample_of_1000, n_rows, max_bins, size):
    rows = sampled_rows(n_rows, max_bins)
    starts = np.arange(size + 1) * n_rows // size
    assert ((starts[:-1] <= rows) & (rows < starts[1:])).all()
    assert sampled_rows(size, max_bins) is None


@pytest.mark.parametrize("period", [2, 3, 5, 7, 10, 50])
def test_a_sample_takes_all_rows_of_a_period_alike(a_sample_of_1000, period):
    counts = np.bincount(sampled_rows(5000, 2) % period, minlength=period)
    assert np.allclose(counts, 1000 / period, atol=1 + 0.1 * 1000 / period)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_of_a_sample_hold_about_equal_mass(a_sample_of_1000, weighted):
    rng = np.random.default_rng(0)
    table = as_table(rng.lognormal(size=(50_000, 1)))
    mass = rng.integers(1, 9, 50_000) if weighted else None
    shares = np.bincount(fit_encode(table, mass, 10).codes(0), mass) / 50_000
    shares /= shares.sum()
    assert len(shares) == 10
    assert np.allclose(shares, 0.1, atol=0.02)


def test_a_rare_value_and_a_rare_gap_have_bins_though_no_sampled_row_has_them(a_sample_of_1000):
    X = np.zeros((20_000, 2))
    X[:, 0] = np.arange(20_000) % 3
    X[:, 1] = np.random.default_rng(0).normal(size=20_000)
    unseen = np.setdiff1d(np.arange(20_000), sampled_rows(20_000, 8))
    X[unseen[5]] = 99.0, np.nan
    few, many = fit_encode(as_table(X), None, 8).bins
    assert few.thresholds.tolist() == [0.5, 1.5, 50.5]
    assert many.has_missing
    assert many.n_values == 7


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_columns_have_the_sampled_bins_of_dense_ones(a_sample_of_1000, weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8000, 3)) * (rng.random((8000, 3)) < [0.01, 0.3, 1.0])
    mass = rng.integers(1, 30, size=8000) if weighted else None
    dense, few = (fit_encode(as_table(x), mass, 20) for x in (X, sparse.csr_matrix(X)))
    for j in range(3):
        assert np.array_equal(dense.thresholds(j), few.thresholds(j))
        assert np.array_equal(dense.codes(j), few.codes(j))
