"""The mean ratings that rankers begin with."""

import numpy as np
import pytest

from edgewise import Ratings
from edgewise.recommend.rankboost.training import ItemMeans

from .worlds import world


def shrunk(values, weights, mean):
    return (np.dot(weights, values) + 5 * mean) / (np.sum(weights) + 5)


@pytest.mark.parametrize("weighted", [False, True])
def test_ones_own_ratings_are_left_out(weighted):
    ratings = world(0)
    weights = np.random.default_rng(1).exponential(size=len(ratings)) if weighted else None
    ratings = Ratings.from_arrays(ratings.users, ratings.items, ratings.values, weights=weights)
    own = ratings.users == 4
    counts = np.ones(len(ratings)) if weights is None else weights
    means = ItemMeans.of(ratings).without(ratings.by_user.row(4))
    overall = np.average(ratings.values[~own], weights=counts[~own])
    for item in range(ratings.n_items):
        others = ~own & (ratings.items == item)
        assert means[item] == pytest.approx(shrunk(ratings.values[others], counts[others], overall))


def test_of_one_user_nothing_is_left():
    ratings = Ratings.from_arrays([1, 1], [7, 8], [5, 3])
    np.testing.assert_array_equal(ItemMeans.of(ratings).without(ratings.by_user.row(0)), [0.0, 0.0])
    assert ItemMeans.of(ratings).start_weight(ratings, "equal") == 0.0


@pytest.mark.parametrize("pair_weight", ["equal", "difference"])
def test_the_weight_minimizes_the_loss_of_all_pairs(pair_weight):
    ratings = world(2)
    means_of_items = ItemMeans.of(ratings)

    def loss(weight):
        total = 0.0
        for user in range(ratings.n_users):
            rated = ratings.by_user.row(user)
            scores = weight * means_of_items.without(rated)[rated.others]
            worse, better = np.nonzero(rated.values[:, None] < rated.values)
            gaps = np.ones(len(worse))
            if pair_weight == "difference":
                gaps = rated.values[better] - rated.values[worse]
            total += np.average(np.exp(scores[worse] - scores[better]), weights=gaps)
        return total

    weight = means_of_items.start_weight(ratings, pair_weight)
    assert weight > 0
    assert loss(weight) < min(loss(weight - 1e-3), loss(weight + 1e-3))


def test_means_that_mislead_weigh_nothing():
    # Each item is liked by one group and disliked by the other: the mean of others says less of it
    # to those who like it.
    ratings = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], [5, 1, 1, 5])
    assert ItemMeans.of(ratings).start_weight(ratings, "equal") == 0.0
