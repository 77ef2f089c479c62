"""Offsets of users and items from the mean of all ratings."""

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings
from edgewise.recommend.factorization.entries import row_mass, row_numbers, rows_from


def offsets(
    ratings: Ratings, user_damping: float, item_damping: float, n_epochs: int
) -> tuple[Reals, Reals]:
    """Return the offsets of users and of items from the mean, as a bias baseline has them.

    Examples
    --------
    >>> from edgewise import Ratings
    >>> ratings = Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], [5, 3, 4, 2])
    >>> offsets(ratings, 0.0, 0.0, 1)
    (array([ 0.5, -0.5]), array([ 1., -1.]))
    """
    users, items, weights = ratings.users, ratings.items, ratings.weights
    user_mass, item_mass = row_mass(ratings.by_user), row_mass(ratings.by_item)
    centred = ratings.values - ratings.mean
    user_biases, item_biases = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
    for _ in range(n_epochs):
        left = centred - user_biases[users]
        item_biases = shrunk(left, items, weights, item_mass, item_damping)
        left = centred - item_biases[items]
        user_biases = shrunk(left, users, weights, user_mass, user_damping)
    return user_biases, item_biases


def new_offsets(
    ratings: Ratings, n_new: int, mean: float, item_biases: Reals, damping: float
) -> Reals:
    """Return the offsets of the last users of the ratings, given those of the items."""
    side = rows_from(ratings.by_user, ratings.n_users - n_new)
    errors = side.values - mean - item_biases[side.others]
    return shrunk(errors, row_numbers(side), side.weights, row_mass(side), damping)


def shrunk(
    errors: Reals, rows: NDArray, weights: Reals | None, mass: Reals, damping: float
) -> Reals:
    """Return the mean error of each row with some errors of 0 in addition; 0 where none is."""
    sums = np.bincount(rows, errors if weights is None else errors * weights, len(mass))
    return np.divide(sums, mass + damping, out=np.zeros(len(mass)), where=mass > 0)
