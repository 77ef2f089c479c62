"""The function that all solvers minimize: by hand, and its gradient by finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from edgewise import Ratings
from edgewise.recommend.factorization.matrix import RatingLoss, draw_factors
from edgewise.recommend.kernels.factorization import BiasedFactors


def flat(factors):
    parts = (factors.users, factors.items, factors.user_biases, factors.item_biases)
    return np.concatenate([part.ravel() for part in parts])


def unflat(vector, like):
    parts, at = [], 0
    for part in (like.users, like.items, like.user_biases, like.item_biases):
        parts.append(vector[at : at + part.size].reshape(part.shape))
        at += part.size
    return BiasedFactors(*parts)


def random_factors(ratings, k, seed=1):
    factors = draw_factors(ratings, k, 1.0, np.random.default_rng(seed))
    factors.user_biases[:] = np.linspace(-1, 1, ratings.n_users)
    factors.item_biases[:] = np.linspace(1, -0.5, ratings.n_items)
    return factors


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("biases", [False, True])
def test_gradient_is_that_of_finite_differences(make_ratings, weighted, biases):
    ratings = make_ratings(weighted=weighted)
    objective = RatingLoss(ratings, biases * ratings.mean, 0.3, biases, scale=2.0)
    factors = random_factors(ratings, 3)
    if not biases:
        factors.user_biases[:] = factors.item_biases[:] = 0.0
    at, h = flat(factors), 1e-5
    free = slice(None) if biases else slice(0, factors.users.size + factors.items.size)
    slopes = np.zeros_like(at)
    for place in range(len(at))[free]:
        step = np.zeros_like(at)
        step[place] = h
        ahead, behind = (objective(unflat(at + s * step, factors)) for s in (1, -1))
        slopes[place] = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(flat(objective.gradient(factors)), slopes, rtol=1e-6, atol=1e-6)


def test_loss_by_hand():
    # A 4 x 4 matrix with six ratings; k = 1, lambda = 0.5.
    ratings = Ratings.from_arrays([0, 0, 1, 2, 3, 3], [0, 1, 1, 2, 3, 0], [5.0, 3, 4, 1, 2, 3])
    assert ratings.mean == 3.0
    factors = BiasedFactors(
        np.array([[1.0], [0.0], [2.0], [-1.0]]),
        np.array([[1.0], [-1.0], [0.0], [0.5]]),
        np.array([0.5, 0.0, -1.0, 0.0]),
        np.array([0.0, 1.0, 0.0, -0.5]),
    )
    # R - mean - b - c - UV':  2-.5-0-1, 0-.5-1+1, 1-0-1-0, -2+1-0-0, -1-0+.5+.5, 0-0-0+1
    errors = [0.5, -0.5, 0.0, -1.0, 0.0, 1.0]
    # |U|^2 + |V|^2 + b^2 + c^2 of the user and the item of each rating.
    sizes = [1 + 1 + 0.25, 1 + 1 + 0.25 + 1, 0 + 1 + 1, 4 + 0 + 1, 1 + 0.25 + 0.25, 1 + 1]
    by_hand = 0.5 * sum(e**2 + 0.5 * s for e, s in zip(errors, sizes, strict=True))
    objective = RatingLoss(ratings, ratings.mean, 0.5, True)
    np.testing.assert_allclose(objective._errors(factors), [0.5, -0.5, 0, -1, 1, 0])
    assert objective(factors) == pytest.approx(by_hand)


def test_a_weight_of_two_counts_as_two_ratings(make_ratings):
    ratings = make_ratings(seed=3)
    twice = Ratings.from_arrays(
        ratings.users, ratings.items, ratings.values, weights=np.full(len(ratings), 2.0)
    )
    factors = random_factors(ratings, 2)
    one, two = (RatingLoss(data, data.mean, 0.1, True) for data in (ratings, twice))
    assert two(factors) == pytest.approx(2 * one(factors))
    np.testing.assert_allclose(flat(two.gradient(factors)), 2 * flat(one.gradient(factors)))


def test_a_weight_of_nought_is_no_rating(make_ratings):
    ratings = make_ratings(seed=4)
    weights = np.ones(len(ratings))
    weights[::3] = 0.0
    factors = random_factors(ratings, 2)
    part = ratings.take(weights > 0)
    muted = RatingLoss(replace(ratings, weights=weights), part.mean, 0.1, True)
    assert muted(factors) == pytest.approx(RatingLoss(part, part.mean, 0.1, True)(factors))
