"""Some rows of a table are the table of these rows, in the same bins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.data import as_table, encode, fit_encode
from edgewise.data.part import RowSubset, pick_rows

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(1, 50),
        "numeric": st.integers(0, 5),
        "categorical": st.integers(0, 2),
        "storage": st.sampled_from(["dense", "sparse", "auto"]),
        "levels": st.sampled_from([3, 400]),
    }
)


def compiled_pick(*arguments):
    from edgewise.backend.numba import histogram as compiled

    return compiled.pick_rows(*arguments)


def make_table(seed, n, numeric, categorical, storage, levels):
    rng = np.random.default_rng(seed)
    X = rng.integers(levels, size=(n, numeric + categorical)).astype(float)
    X[:, 1::2][rng.random(X[:, 1::2].shape) < 0.6] = 0.0
    X[rng.random(X.shape) < 0.1] = np.nan
    table = as_table(X).with_categorical(list(range(numeric, numeric + categorical)))
    return encode(table, fit_encode(table, None, 1000).bins, storage)


@settings(max_examples=60)
@given(shapes, st.sampled_from([pick_rows, compiled_pick]), st.data())
def test_codes_are_those_of_the_rows(shape, pick, data):
    if shape["numeric"] + shape["categorical"] == 0:
        shape = {**shape, "numeric": 1}
    whole = make_table(**shape)
    store = RowSubset(whole, pick)
    some = st.lists(st.integers(0, shape["n"] - 1), min_size=1, unique=True)
    for _ in range(3):
        rows = np.sort(np.array(data.draw(some), dtype=np.int32))
        part = store.take(rows)
        assert part.n_rows == len(rows)
        assert part.n_columns == whole.n_columns
        np.testing.assert_array_equal(part.splittable, whole.splittable)
        np.testing.assert_array_equal(part.splittable_categorical, whole.splittable_categorical)
        for j in data.draw(st.permutations(range(whole.n_columns))):
            np.testing.assert_array_equal(part.codes(j), whole.codes(j)[rows], err_msg=str(j))


@pytest.mark.parametrize("storage", ["dense", "sparse", "auto"])
def test_cuts_are_those_of_the_rows(storage):
    whole = make_table(4, 60, 6, 0, storage, 5)
    store = RowSubset(whole)
    for rows in (np.arange(0, 60, 3), np.arange(60), np.array([7])):
        part = store.take(rows.astype(np.int32))
        for j in range(6):
            for first in range(whole.bins[j].n_codes):
                for missing in (-1, 0, 1):
                    np.testing.assert_array_equal(
                        part.cut(j, first, missing), whole.cut(j, first, missing)[rows]
                    )


def test_the_table_is_not_changed():
    whole = make_table(5, 40, 4, 2, "auto", 4)
    before = [whole.codes(j).copy() for j in range(6)]
    part = RowSubset(whole).take(np.arange(0, 40, 2, dtype=np.int32))
    for j in range(6):
        assert not np.shares_memory(part.codes(j), whole.codes(j))
        np.testing.assert_array_equal(whole.codes(j), before[j])


def test_only_columns_that_are_asked_for_are_copied():
    copied = []

    def pick(rows, codes, number, out_rows, out_codes):
        copied.append(len(rows))
        return pick_rows(rows, codes, number, out_rows, out_codes)

    whole = make_table(6, 40, 5, 0, "sparse", 4)
    part = RowSubset(whole, pick).take(np.arange(10, dtype=np.int32))
    assert copied == []
    part.ready(np.array([1, 3]))
    part.ready(np.array([3]))
    assert len(copied) == 2


@given(st.integers(0, 10**6), st.integers(0, 40))
def test_what_copies_sparse_columns(seed, n_stored):
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(60, n_stored, replace=False)).astype(np.int32)
    codes = rng.integers(9, size=n_stored).astype(np.uint8)
    number = np.where(rng.random(60) < 0.5, np.arange(60), -1).astype(np.int32)
    expected = [(number[r], c) for r, c in zip(rows, codes, strict=True) if number[r] >= 0]
    for pick in (pick_rows, compiled_pick):
        out = np.zeros(n_stored, np.int32), np.zeros(n_stored, np.uint8)
        count = pick(rows, codes, number, *out)
        assert list(zip(out[0][:count], out[1][:count], strict=True)) == expected
