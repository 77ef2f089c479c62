"""One round of boosted factorisation: a product of user values and item values, and votes on it.

Along a product h = U Z v the loss changes by about ``- sum(pull h) + sum(curve h^2) / 2``. With two
of U, Z and v fixed the best of the third is a division for each user, item or score column, and so
each is improved in turn. Values are shrunken on the way: see `sides`.
"""

from typing import NamedTuple

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.recommend.boosted.passes import Passes
from edgewise.recommend.boosted.sides import Side

_SINGLE_SWEEPS = 2

# Keeps a division by a sum of curves defined where all of them are 0.
_TINY = 1e-12

USERS, ITEMS, BOTH = 0, 1, 2
"""What the values of a round belong to: users alone, items alone, or both."""


class Found(NamedTuple):
    """The product of a round.

    Attributes
    ----------
    kind : int
        USERS, ITEMS or BOTH.
    user_values, item_values : float64 arrays
        U and Z; all 1 at a side that has no part in it.
    votes : float64 array of shape (L,)
        v, whose square is 1 on average.
    gain : float
        By how much, about twice, the loss falls along it at full length.
    marks : float64 array or None
        The weights of the marks behind U.
    """

    kind: int
    user_values: Reals
    item_values: Reals
    votes: Reals
    gain: float
    marks: Reals | None = None


def single(passes: Passes, side: str, own: Side, real_votes: bool) -> Found:
    """Return the best values of users, or of items, by themselves."""
    ones = np.ones(passes.sizes[0]), np.ones(passes.sizes[1])
    at_users = side == "users"
    pulls, curves = passes.sums(side, ones[1 if at_users else 0])
    direction = votes = passes.levels.direction()
    for _ in range(_SINGLE_SWEEPS):
        values, _ = own.values(*along(pulls, curves, votes))
        votes = best_votes(pulls, curves, values, direction, real_votes)
    pull, curve = along(pulls, curves, votes)
    values, _ = own.values(pull, curve)
    gain = float((pull * values).sum())
    if at_users:
        return Found(USERS, values, ones[1], votes, gain)
    return Found(ITEMS, ones[0], values, votes, gain)


def pair(
    passes: Passes, users: Side, items: Side, start: Reals, sweeps: int, real_votes: bool
) -> Found:
    """Return values of users and items together, found by turns from given values of users.

    The users' values come last, from the final votes and values of items, so that those of a new
    user can be found in the same way.
    """
    direction = votes = passes.levels.direction()
    user_values = users.normal(start)
    for sweep in range(sweeps):
        slopes = passes.sums("items", user_values)
        item_values, _ = items.values(*along(*slopes, votes))
        votes = best_votes(*slopes, item_values, direction, real_votes)
        item_values = items.normal(item_values)
        slopes = passes.sums("users", item_values)
        pull, curve = along(*slopes, votes)
        user_values, marks = users.values(pull, curve)
        if sweep < sweeps - 1:
            user_values = users.normal(user_values)
            votes = best_votes(*slopes, user_values, direction, real_votes)
    gain = float((pull * user_values).sum())
    return Found(BOTH, user_values, item_values, votes, gain, marks)


def along(pulls: Reals, curves: Reals, votes: Reals) -> tuple[Reals, Reals]:
    """Return the slopes of each row along votes."""
    # Row by row: the slopes of a user are the same bits however many users there are.
    return np.einsum("rl,l->r", pulls, votes), np.einsum("rl,l->r", curves, votes * votes)


def best_votes(
    pulls: Reals, curves: Reals, values: Reals, direction: Reals, real_votes: bool
) -> Reals:
    """Return the best votes for given values, whose square is 1 on average."""
    pull = (pulls * values[:, None]).sum(axis=0)
    if not real_votes:
        return np.where(pull < 0, -1.0, 1.0)
    curve = (curves * (values * values)[:, None]).sum(axis=0)
    # Half of the way from a vote of its own to the vote that is best for all columns together: the
    # columns ask nearly the same, and some of them have few ratings on one side.
    mean = float(curve.mean())
    bend = float((curve * (direction * direction)).sum())
    common = direction * (float((pull * direction).sum()) / (bend + _TINY))
    votes = (pull + mean * common) / (curve + mean + _TINY)
    size = np.sqrt((votes * votes).mean())
    return votes / size if size > 0 else direction
