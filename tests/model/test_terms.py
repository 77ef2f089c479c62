"""Terms are stumps on raw values."""

import numpy as np

from edgewise.data import RawRows, as_table, encode, fit_encode
from edgewise.model import Cut, Terms


def test_a_cut_of_raw_values_is_the_cut_of_bins(make_problem):
    for seed in range(5):
        problem = make_problem(seed, n=80, levels=300, max_bins=20)
        for j, b in enumerate(problem.binned.bins):
            for first in range(1, b.n_values):
                for missing in (-1, 1):
                    cut = Cut(j, float(b.thresholds[first - 1]), missing)
                    terms = Terms.pack([cut], [1.0], np.ones((1, 1)), n_cuts=1)
                    (signs,) = terms.outputs(RawRows(as_table(problem.X)))
                    assert np.array_equal(signs[0], problem.binned.cut(j, first, missing))
                    (coded,) = terms.outputs(problem.binned)
                    assert np.array_equal(coded, signs)


def test_unseen_rows_are_cut_alike_raw_and_in_bins():
    rng = np.random.default_rng(0)
    seen, later = rng.normal(size=(500, 1)), as_table(rng.normal(size=(500, 1)) * 2)
    bins = fit_encode(as_table(seen), None, 32).bins
    binned = encode(later, bins)
    for first, threshold in enumerate(bins[0].thresholds, start=1):
        terms = Terms.pack([Cut(0, float(threshold), 0)], [1.0], np.ones((1, 1)), n_cuts=1)
        (signs,) = terms.outputs(RawRows(later))
        assert np.array_equal(signs[0], binned.cut(0, first, 0))
        (coded,) = terms.outputs(binned)
        assert np.array_equal(coded, signs)


def test_slices_and_sums_of_terms(make_terms, make_rows, term_by_term):
    terms, X = make_terms(1, n_terms=10), make_rows(1, n=15)
    first, second = terms[:4], terms[4:]
    assert (len(first), len(second), len(first + second)) == (4, 6, 10)
    assert np.array_equal(term_by_term(first + second, X), term_by_term(terms, X))
    expected = term_by_term(first, X) + term_by_term(second, X)
    np.testing.assert_allclose(expected, term_by_term(terms, X), atol=1e-12)
