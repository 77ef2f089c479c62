"""What row weights mean: absent rows, repeated rows, and no unit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgewise import AdaBoostMH, Tree

VOTES = ["discrete", "real", "abstain"]


def holed(X, rng, share=0.1):
    X = X.copy()
    X[rng.random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize("max_bins", [4, 256])
@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("kind", ["array", "csr"])
def test_a_row_of_weight_0_is_as_if_absent(blobs, same_terms, votes, max_bins, kind):
    rng = np.random.default_rng(1)
    X, y = blobs(150)
    X = holed(X, rng)
    weights = rng.integers(0, 3, len(y)) * rng.random(len(y))
    X[weights == 0] += 100.0  # values that no other row has: they must not get bins
    kept = weights > 0
    table = sparse.csr_matrix(X) if kind == "csr" else X
    model = AdaBoostMH(n_rounds=25, votes=votes, max_bins=max_bins)
    with_zeros = model.fit(table, y, sample_weight=weights)
    without = AdaBoostMH(n_rounds=25, votes=votes, max_bins=max_bins).fit(
        table[kept], y[kept], sample_weight=weights[kept]
    )
    assert with_zeros.n_rounds_ == 25
    same_terms(with_zeros, without)
    np.testing.assert_array_equal(with_zeros.history_.to_array(), without.history_.to_array())


def test_zeros_and_ones_are_a_choice_of_rows(blobs, same_terms):
    X, y = blobs(400)
    chosen = np.random.default_rng(0).random(len(y)) < 0.6
    model = AdaBoostMH(n_rounds=20, max_bins=8)
    weighted = model.fit(X, y, sample_weight=chosen)
    same_terms(weighted, AdaBoostMH(n_rounds=20, max_bins=8).fit(X[chosen], y[chosen]))


def test_a_class_without_weight_is_no_class(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=5).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    assert model.decision_function(X).shape == (len(y),)


def test_a_row_of_weight_0_takes_its_initial_weights_along(blobs, same_terms):
    X, y = blobs()
    rng = np.random.default_rng(2)
    matrix, weights = rng.random((len(y), 3)), rng.integers(0, 2, len(y)).astype(float)
    kept = weights > 0
    same_terms(
        AdaBoostMH(n_rounds=10, init_weights=matrix).fit(X, y, sample_weight=weights),
        AdaBoostMH(n_rounds=10, init_weights=matrix[kept]).fit(X[kept], y[kept]),
    )


@pytest.mark.parametrize("max_bins", [5, 256])
@pytest.mark.parametrize("votes", VOTES)
def test_integer_weights_are_repeated_rows(blobs, votes, max_bins):
    rng = np.random.default_rng(3)
    X, y = blobs(90)
    counts = rng.integers(1, 5, len(y))
    tree = {"learner": Tree(leaf_votes="free"), "loss": "logistic", "learning_rate": 0.2}
    settings = {"preset": "paper", "n_rounds": 12, "votes": votes, "max_bins": max_bins, **tree}
    weighted = AdaBoostMH(**settings).fit(X, y, sample_weight=counts).decision_function(X)
    repeated = AdaBoostMH(**settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted, repeated.decision_function(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("factorized", [True, False])
def test_integer_weights_are_repeated_rows_of_separable_classes(votes, n_classes, factorized):
    # Perfect cuts have steps that are finite by smoothing, which must not count the rows.
    X = np.arange(12.0)[:, None]
    y = np.arange(12) * n_classes // 12
    counts = 1 + np.arange(12) % 4
    settings = {"preset": "paper", "n_rounds": 6, "votes": votes, "factorized": factorized}
    weighted = AdaBoostMH(**settings).fit(X, y, sample_weight=counts)
    repeated = AdaBoostMH(**settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("max_bins", [7, 256])
@pytest.mark.parametrize(
    ("whole", "scale"),
    [(True, 3), (True, 2.0**-40), (False, 3.0), (False, 2.0**-40), (False, 1e-6), (False, 1e300)],
)
def test_weights_have_no_unit(blobs, scale, max_bins, whole):
    rng = np.random.default_rng(4)
    X, y = blobs(300)
    weights = rng.integers(1, 6, len(y)) if whole else rng.random(len(y)) + 0.1
    model = AdaBoostMH(n_rounds=12, max_bins=max_bins)
    once = model.fit(X, y, sample_weight=weights).decision_function(X)
    scaled = model.fit(X, y, sample_weight=weights * scale).decision_function(X)
    np.testing.assert_allclose(once, scaled, rtol=1e-7, atol=1e-9)


def test_weights_whose_sum_is_beyond_floats(blobs):
    X, y = blobs()
    plain = AdaBoostMH(n_rounds=5).fit(X, y)
    huge = AdaBoostMH(n_rounds=5).fit(X, y, sample_weight=np.full(len(y), 1.5e308))
    np.testing.assert_allclose(plain.decision_function(X), huge.decision_function(X))


def test_one_weight_for_all_is_no_weight(blobs, same_terms):
    X, y = blobs()
    plain = AdaBoostMH(n_rounds=10).fit(X, y)
    same_terms(plain, AdaBoostMH(n_rounds=10).fit(X, y, sample_weight=np.ones(len(y))))
    same_terms(plain, AdaBoostMH(n_rounds=10).fit(X, y, sample_weight=1.0))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), max_bins=st.integers(2, 12))
def test_any_weights_with_zeros(seed, max_bins):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 20, (40, 2)).astype(float)
    y = np.arange(40) % 2
    weights = np.where(rng.random(40) < 0.3, 0.0, rng.exponential(size=40))
    weights[:2] = 1.0
    kept = weights > 0
    full = AdaBoostMH(n_rounds=5, max_bins=max_bins).fit(X, y, sample_weight=weights)
    subset = AdaBoostMH(n_rounds=5, max_bins=max_bins).fit(
        X[kept], y[kept], sample_weight=weights[kept]
    )
    np.testing.assert_array_equal(full.fitted_.terms.thresholds, subset.fitted_.terms.thresholds)
    np.testing.assert_array_equal(full.decision_function(X), subset.decision_function(X))


def test_training_error_is_weighted(blobs):
    X, y = blobs()
    weights = np.random.default_rng(5).random(len(y))
    model = AdaBoostMH(n_rounds=3, n_bags=1).fit(X, y, sample_weight=weights)
    wrong = model.predict(X) != y
    assert model.history_["train_error"][-1] == pytest.approx(np.average(wrong, weights=weights))
