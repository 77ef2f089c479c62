"""SLIM against the conditions of its minimum, and its kernels against each other."""

import numpy as np
import pytest
from tests.recommend.test_ease import choices

from edgewise import EASE, SLIM


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_weights_are_a_minimum_with_none_below_0(precision):
    ratings = choices(n_users=60)
    X = ratings.csr().toarray()
    sizes = X.sum(axis=1).clip(1) ** -0.5
    model = SLIM(regularization=2.0, sparsity=0.3, n_sweeps=500, precision=precision).fit(ratings)
    weights = model.item_weights_.astype(float)
    gram = X.T @ (sizes[:, None] * X)
    slopes = gram @ weights - gram + 2.0 * weights + 0.3
    others = ~np.eye(len(gram), dtype=bool)
    assert (weights >= 0).all()
    assert not np.diag(weights).any()
    # A weight stands where the slope is 0, or at 0 where it would fall below.
    assert (weights > 0).any()
    assert ((weights == 0) & others).any()
    np.testing.assert_allclose(slopes[weights > 0], 0, atol=2e-3)
    assert (slopes[(weights == 0) & others] > -2e-3).all()


def test_without_bounds_that_matter_it_is_ridge_regression():
    ratings = choices()
    model = SLIM(regularization=3.0, sparsity=0.0, n_sweeps=500).fit(ratings)
    free = EASE(3.0).fit(ratings).item_weights_
    items = np.flatnonzero(((free >= 0) | np.eye(len(free), dtype=bool)).all(axis=0))
    np.testing.assert_allclose(model.item_weights_[:, items], free[:, items], atol=1e-3)


def test_more_sparsity_leaves_fewer_weights():
    ratings = choices(2)
    counts = [
        (SLIM(regularization=1.0, sparsity=mu).fit(ratings).item_weights_ > 0).sum()
        for mu in (0.0, 0.5, 1.0, 100.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[-1] == 0


def test_the_sparsity_follows_the_penalty():
    model, ease = SLIM().fit(choices()), EASE().fit(choices())
    assert model.penalty_ == pytest.approx(0.5 * ease.penalty_)
    assert model.sparsity_ == pytest.approx(0.004 * model.penalty_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_both_kernels_give_the_same_weights_on_any_number_of_threads(monkeypatch, n_jobs):
    ratings = choices(3, n_items=20)
    found = []
    for name in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", name)
        found.append(SLIM(regularization=1.0, sparsity=0.1, n_jobs=n_jobs).fit(ratings))
    np.testing.assert_allclose(found[0].item_weights_, found[1].item_weights_, atol=1e-6)
    alone = SLIM(regularization=1.0, sparsity=0.1, n_jobs=1).fit(ratings)
    np.testing.assert_array_equal(found[1].item_weights_, alone.item_weights_)
