from dataclasses import fields

import numpy as np
import pytest


@pytest.fixture
def same_terms():
    """Assert that two models have the same terms, bit for bit."""

    def check(left, right):
        for field in fields(left.terms_):
            ours, theirs = getattr(left.terms_, field.name), getattr(right.terms_, field.name)
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs, err_msg=field.name)

    return check


@pytest.fixture
def blobs():
    """Return a function that makes rows whose classes overlap: (X, y)."""

    def make(n_rows=120, n_columns=4, n_classes=3, seed=0):
        rng = np.random.default_rng(seed)
        y = np.arange(n_rows) % n_classes
        X = rng.normal(size=(n_rows, n_columns))
        X[:, 0] += 1.5 * y
        return X, y

    return make
