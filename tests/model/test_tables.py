"""A collapsed model scores like its terms one by one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from edgewise.backend.numba import score as compiled
from edgewise.data import RawRows, as_table
from edgewise.model import StumpTerms, Terms, collapse
from edgewise.model.tables import look_up

FORMS = [(1, False), (3, False), (3, True)]


@pytest.mark.parametrize("votes", ["discrete", "real"])
@pytest.mark.parametrize(("n_scores", "per_score"), FORMS)
def test_a_collapsed_model_scores_like_its_terms(
    make_terms, make_rows, term_by_term, n_scores, per_score, votes
):
    for seed in range(4):
        terms = make_terms(seed, n_scores=n_scores, per_score=per_score, votes=votes)
        X = make_rows(seed)
        scores = collapse(terms.stumps).scores(as_table(X, infinite="value"))
        assert scores.shape == (50, n_scores)
        tolerance = 1e-12 * np.abs(terms.coefficients).max(axis=1).sum()
        np.testing.assert_allclose(scores, term_by_term(terms, X), rtol=0, atol=tolerance)


def test_many_terms_stay_within_the_tolerance(make_terms, make_rows):
    terms, X = make_terms(9, n_terms=20_000), make_rows(9)
    table = as_table(X, infinite="value")
    *_, summed = terms.staged_scores(RawRows(table))
    scores = collapse(terms.stumps).scores(table)
    np.testing.assert_allclose(scores, summed.T, rtol=0, atol=1e-12 * terms.alphas.sum())


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans(), st.integers(1, 12))
def test_random_models(make_terms, make_rows, term_by_term, seed, n_scores, per_score, n_terms):
    terms = make_terms(seed, n_terms, d=2, n_scores=n_scores, per_score=per_score)
    X = make_rows(seed, n=8, d=2)
    scores = collapse(terms.stumps).scores(as_table(X, infinite="value"))
    tolerance = 1e-12 * terms.alphas.sum()
    np.testing.assert_allclose(scores, term_by_term(terms, X), rtol=0, atol=tolerance)


def test_no_terms_score_zero():
    scores = collapse(Terms.empty(3, n_cuts=1).stumps).scores(as_table([[1.0], [np.nan]]))
    assert np.array_equal(scores, np.zeros((2, 3)))


def test_the_size_depends_on_distinct_thresholds_and_not_on_rounds(make_terms):
    terms = make_terms(3, n_terms=40)
    once, often = collapse(terms.stumps), collapse((terms + terms + terms).stumps)
    used = {(j, b) for j, b in zip(terms.columns, terms.thresholds, strict=True)}
    distinct = sorted(used)
    assert len(once.thresholds) == len(distinct) < 40
    assert once.tables.shape == (len(distinct) + 2 * len({j for j, _ in distinct}), 3)
    assert np.array_equal(often.thresholds, once.thresholds)
    assert np.array_equal(often.columns, once.columns)
    assert often.tables.shape == once.tables.shape
    np.testing.assert_allclose(often.tables, 3 * once.tables, atol=1e-12 * terms.alphas.sum())


def test_a_column_without_missing_values_in_training_abstains_on_them():
    terms = StumpTerms(
        np.array([[0], [1]], np.int32), np.array([[0.5], [0.5]]), np.array([[0], [-1]], np.int8),
        np.array([2.0, 0.25]), np.array([[1.0, -1.0], [1.0, 1.0]]),
    )  # fmt: skip
    scores = collapse(terms).scores(as_table([[np.nan, 1.0], [1.0, np.nan]]))
    assert scores.tolist() == [[0.25, 0.25], [2.0 - 0.25, -2.0 - 0.25]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_scores", "per_score"), FORMS)
def test_the_compiled_score_equals_the_reference(make_terms, make_rows, n_scores, per_score, dtype):
    tables = collapse(make_terms(4, n_scores=n_scores, per_score=per_score, votes="real").stumps)
    X = make_rows(4, n=203).astype(dtype)
    expected = np.tile(tables.bias, (203, 1))
    for f, j in enumerate(tables.columns):
        expected += look_up(X[:, j].astype(np.float64), *tables.of_column(f))
    actual = np.tile(tables.bias, (203, 1))
    model = (tables.columns, tables.starts, tables.thresholds, tables.tables)
    compiled.score(X, *model, 0, 100, actual)
    compiled.score(X, *model, 100, 203, actual)
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("infinite", ["value", "missing"])
def test_backends_and_threads_give_the_same_scores(
    make_terms, make_rows, monkeypatch, n_jobs, infinite
):
    tables, X = collapse(make_terms(5, votes="real").stumps), make_rows(5, n=9_001)
    results = []
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        results.append(tables.scores(as_table(X, infinite=infinite), n_jobs))
    assert np.array_equal(*results)


def test_sparse_rows_and_frames_score_like_arrays(make_terms):
    tables = collapse(make_terms(6).stumps)
    X = np.random.default_rng(6).integers(-3, 4, size=(30, 4)) / 2.0
    expected = tables.scores(as_table(X))
    assert np.array_equal(tables.scores(as_table(sparse.csr_matrix(X))), expected)
    assert np.array_equal(tables.scores(as_table(pl.DataFrame(X))), expected)


def test_an_infinite_value_that_is_not_allowed_is_an_error(make_terms):
    tables = collapse(make_terms(6).stumps)
    with pytest.raises(ValueError, match="'x1'"):
        tables.scores(as_table([[0.0, np.inf, 0.0, 0.0]]))


def test_categories_where_training_had_numbers_name_the_column(make_terms):
    tables = collapse(make_terms(6).stumps)
    frame = pl.DataFrame({"a": [1.0], "b": ["red"], "c": [1.0], "d": [1.0]})
    with pytest.raises((TypeError, ValueError), match="'b'"):
        tables.scores(as_table(frame))
