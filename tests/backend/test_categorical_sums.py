"""Sums over the values of categorical columns: both backends and definitions agree."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.data import as_table, fit_encode

from ..helpers import Given, all_signed, some_rows, sums

SCORES = [1, 3, 40]


def categorical_table(rng, sizes, n, missing=True):
    """Return a table of a numeric column and categorical ones with up to `sizes` values."""
    X = np.column_stack([rng.normal(size=n), *(rng.integers(size, size=n) for size in sizes)])
    if missing:
        X[rng.random(n) < 0.1, -1] = np.nan
    table = as_table(X).with_categorical(range(1, X.shape[1]))
    return fit_encode(table, None, 256)


def sums_of_values(table, columns, signed):
    """Return the sums of S of each value, row by row."""
    sums = []
    for j in columns:
        by_value = np.zeros((table.bins[j].n_codes, signed.shape[1]), dtype=np.int64)
        np.add.at(by_value, table.codes(j), signed)
        sums.append(by_value)
    return np.concatenate(sums)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    n_scores=st.sampled_from(SCORES),
    share=st.sampled_from([None, 0.0, 0.5, 1.0]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_histograms_of_categorical_columns(
    make_problem, both, seed, n, sizes, n_scores, share, n_jobs
):
    rng = np.random.default_rng(seed)
    given = make_problem(seed, n=n, n_scores=n_scores, kind="multilabel")
    problem, heavy = given.state().whole, given.state(mass_column=True)
    table = categorical_table(rng, sizes, n)
    columns = np.sort(
        rng.choice(np.arange(1, 1 + len(sizes)), rng.integers(1, 1 + len(sizes)), replace=False)
    )
    with both(table, n_jobs) as (reference, numba):
        if share is not None:
            problem = reference.within(problem, some_rows(rng, n, share))
        expected = sums_of_values(table, columns, all_signed(problem))
        for backend in (reference, numba):
            found = sums(backend, columns, problem)
            assert found.dtype == np.int64
            assert np.array_equal(found, expected)
        with_mass = replace(heavy.whole, rows=problem.rows)
        expected = sums_of_values(table, columns, all_signed(with_mass, mass=True))
        for backend in (reference, numba):
            assert np.array_equal(sums(backend, columns, with_mass, mass=True), expected)
        flipped = reference.flip(problem, [Given(rng.integers(-1, 2, size=n).astype(np.int8))])
        expected = sums_of_values(table, columns, all_signed(flipped))
        for backend in (reference, numba):
            assert np.array_equal(sums(backend, columns, flipped), expected)


@pytest.mark.parametrize(("n_values", "dtype"), [(65_535, np.uint16), (65_536, np.uint32)])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_histograms_of_more_values_than_two_bytes_hold(make_problem, both, n_values, dtype, n_jobs):
    rng = np.random.default_rng(n_values)
    n = n_values + 999
    values = np.concatenate([np.arange(n_values), rng.integers(n_values, size=999)])
    X = np.column_stack([rng.permutation(values), rng.integers(7, size=n)]).astype(float)
    table = as_table(X).with_categorical([0, 1])
    binned = fit_encode(table, None, 256)
    assert [codes.dtype for codes in binned.categorical.codes] == [dtype, np.uint16]
    for n_scores in (1, 40):
        problem = make_problem(0, n=n, d=1, n_scores=n_scores, kind="multilabel").state().whole
        with both(binned, n_jobs) as (reference, numba):
            for part in (problem, reference.within(problem, some_rows(rng, n, 0.3))):
                expected = sums_of_values(binned, [0, 1], all_signed(part))
                for backend in (reference, numba):
                    assert np.array_equal(sums(backend, np.array([0, 1]), part), expected)
