"""What models said of ratings that were set aside, and what was right."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.ratings import Ratings, Split
from edgewise.ratings.splits import held_out, one_each

# Draws of an item that a user did not choose; who chose nearly all may find none.
_DRAWS = 20


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of users and items, by index, with their ratings and weights, in some order."""

    users: NDArray[np.intp]
    items: NDArray[np.intp]
    values: Reals
    weights: Reals | None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Pairs, and what each of the models says of them: shape (pairs, models)."""

    pairs: Pairs
    said: Reals
    levels: Reals
    seed: int

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return self.said.shape[1]

    @property
    def span(self) -> float:
        """How far apart the ends of the scale are; 1 where they are the same."""
        return float(self.levels[-1] - self.levels[0]) or 1.0


def set_aside(ratings: Ratings, share: float, seed: int) -> Split:
    """Return what to train on and what to learn weights from: a share of each user's ratings.

    Where that is nothing, as users have few ratings, it is one of each user with two or more.
    """
    rng = np.random.default_rng(seed)
    chosen = held_out("user", share, ratings.by_user, None, rng)
    if not chosen.any():
        chosen = one_each("random", ratings.by_user, None, rng)
    return Split(ratings.take(~chosen), ratings.take(chosen))


def streamed(test: Ratings, seed: int) -> Pairs:
    """Return test ratings in an order that depends on the seed alone."""
    order = np.random.default_rng(seed).permutation(len(test))
    weights = None if test.weights is None else test.weights[order]
    users, items = test.users[order].astype(np.intp), test.items[order].astype(np.intp)
    return Pairs(users, items, test.values[order], weights)


def against_others(pairs: Pairs, ratings: Ratings, seed: int) -> Pairs:
    """Return choices, rated 1, and beside each an item that its user did not choose, rated 0."""
    rng = np.random.default_rng([seed, 1])
    taken = ratings.users.astype(np.int64) * ratings.n_items + ratings.items
    items = np.zeros(len(pairs), dtype=np.intp)
    left = np.arange(len(pairs))
    for _ in range(_DRAWS):
        items[left] = rng.integers(ratings.n_items, size=len(left))
        left = left[np.isin(pairs.users[left] * ratings.n_items + items[left], taken)]
    found = np.setdiff1d(np.arange(len(pairs)), left)
    return Pairs(
        np.concatenate([pairs.users, pairs.users[found]]),
        np.concatenate([pairs.items, items[found]]),
        np.repeat([1.0, 0.0], [len(pairs), len(found)]),
        None if pairs.weights is None else np.concatenate([pairs.weights, pairs.weights[found]]),
    )
