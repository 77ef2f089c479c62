"""The function that matrix factorisation minimises, and its gradient."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edgewise.common.dtypes import Reals, Rows
from edgewise.ratings import Ratings

# Products of pairs are made for as many at a time as keep the factors of both below so many.
_ENTRIES = 1 << 20

# The standard deviation of ratings from one to five stars (1.126 on MovieLens 100K), for which
# learning rates are usually given.
_FIVE_STARS = 1.125


@dataclass
class Factors:
    """The unknowns: a row of factors and a bias for each user and each item."""

    users: Reals
    items: Reals
    user_biases: Reals
    item_biases: Reals

    @classmethod
    def drawn(
        cls, n_users: int, n_items: int, n_factors: int, scale: float, rng: np.random.Generator
    ) -> "Factors":
        """Return random factors, rows of about the length `scale`, and biases of 0."""
        deviation = scale / n_factors**0.5
        users = rng.normal(0.0, deviation, (n_users, n_factors))
        items = rng.normal(0.0, deviation, (n_items, n_factors))
        return cls(users, items, np.zeros(n_users), np.zeros(n_items))

    def moved(self, direction: "Factors", length: float) -> "Factors":
        """Return what stands some way in a direction."""
        return Factors(
            self.users + length * direction.users,
            self.items + length * direction.items,
            self.user_biases + length * direction.user_biases,
            self.item_biases + length * direction.item_biases,
        )

    @property
    def squared_length(self) -> float:
        """The sum of all squares."""
        arrays = (self.users, self.items, self.user_biases, self.item_biases)
        return float(sum(np.vdot(array, array) for array in arrays))


@dataclass(frozen=True, eq=False)
class Objective:
    """1/2 the sum over ratings of w (E^2 + lambda (|U_i|^2 + |V_j|^2 + b_i^2 + c_j^2)).

    The error is E = R - mean - b_i - c_j - U_i V_j'. Shi 2025, "Regularized SGD": the term of one
    rating is the J_ij of the lecture, with the bias terms O and P of its next slide; the penalty
    of a
    user is thus counted once for each rating that the user gave. Without biases the mean is 0 and
    the biases stay 0.
    """

    users: Rows
    items: Rows
    values: Reals
    weights: Reals | None
    n_users: int
    n_items: int
    mean: float
    penalty: float
    biases: bool
    compiled: bool = False

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        penalty: float,
        biases: bool,
        compiled: bool = False,
    ) -> "Objective":
        """Return the objective of ratings."""
        return cls(
            ratings.users,
            ratings.items,
            ratings.values,
            ratings.weights,
            ratings.n_users,
            ratings.n_items,
            ratings.mean if biases else 0.0,
            penalty,
            biases,
            compiled,
        )

    @cached_property
    def user_mass(self) -> Reals:
        """The sum of the weights of each user's ratings."""
        return np.bincount(self.users, self.weights, self.n_users).astype(float)

    @cached_property
    def item_mass(self) -> Reals:
        """The sum of the weights of each item's ratings."""
        return np.bincount(self.items, self.weights, self.n_items).astype(float)

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the ratings, with that of five stars as 1; 1 if it is 0.

        Products of factors grow to about this size, and so each factor to its root: where factors
        start and how long their steps can be goes with it.
        """
        mean = np.average(self.values, weights=self.weights)
        square = float(np.average((self.values - mean) ** 2, weights=self.weights))
        return square**0.5 / _FIVE_STARS or 1.0

    @cached_property
    def all_weights(self) -> Reals:
        """The weights, none if all are 1: as the compiled kernels take them."""
        return np.zeros(0) if self.weights is None else self.weights

    def errors(self, factors: Factors) -> Reals:
        """Return E for every rating."""
        products = pair_products(factors.users, factors.items, self.users, self.items)
        biases = factors.user_biases[self.users] + factors.item_biases[self.items]
        return self.values - self.mean - biases - products

    def loss(self, factors: Factors) -> float:
        """Return the value at some factors."""
        if self.compiled:
            from edgewise.recommend.factorization.compiled import squared_error

            error = squared_error(
                self.users, self.items, self.values, self.all_weights, self.mean,
                factors.users, factors.items, factors.user_biases, factors.item_biases,
            )  # fmt: skip
        else:
            squares = self.errors(factors) ** 2
            error = squares.sum() if self.weights is None else np.vdot(squares, self.weights)
        return 0.5 * float(error) + self.penalties(factors)

    def penalties(self, factors: Factors) -> float:
        """Return the part of the value that does not depend on the ratings."""
        total = 0.0
        for rows, biases, mass in (
            (factors.users, factors.user_biases, self.user_mass),
            (factors.items, factors.item_biases, self.item_mass),
        ):
            total += float(mass @ (np.einsum("ij,ij->i", rows, rows) + biases**2))
        return 0.5 * self.penalty * total

    def gradient(self, factors: Factors) -> Factors:
        """Return the derivatives by all factors and biases."""
        errors = self.errors(factors)
        if self.weights is not None:
            errors = errors * self.weights
        shape = (self.n_users, self.n_items)
        matrix: Any = sparse.csr_array((errors, (self.users, self.items)), shape=shape)
        user_pull, item_pull = self.penalty * self.user_mass, self.penalty * self.item_mass
        user_biases, item_biases = np.zeros(self.n_users), np.zeros(self.n_items)
        if self.biases:
            user_biases = self.penalty * self.user_mass * factors.user_biases
            user_biases -= np.bincount(self.users, errors, self.n_users)
            item_biases = self.penalty * self.item_mass * factors.item_biases
            item_biases -= np.bincount(self.items, errors, self.n_items)
        return Factors(
            user_pull[:, None] * factors.users - matrix @ factors.items,
            item_pull[:, None] * factors.items - matrix.T @ factors.users,
            user_biases,
            item_biases,
        )


def pair_products(left: NDArray, right: NDArray, ones: NDArray, others: NDArray) -> NDArray:
    """Return the products of a row of `left` and a row of `right`, for pairs of them.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> pair_products(rows, rows, np.array([0, 0]), np.array([0, 1]))
    array([5., 2.])
    """
    products = np.empty(len(ones), dtype=np.result_type(left, right))
    size = max(1, _ENTRIES // max(1, left.shape[1]))
    for start in range(0, len(ones), size):
        part = slice(start, start + size)
        products[part] = np.einsum("ij,ij->i", left[ones[part]], right[others[part]])
    return products
