"""One round of boosted factorisation: a product of user values and item values, and votes on it.

Along a product h = U Z v the loss changes by about ``- sum(gradient h) + sum(hessian h^2) / 2``,
where gradients are negative ones. With two of U, Z and v fixed, the best of the third is a division
for each user, item or score column, so each is improved in turn.

A user with few ratings tells little alone, but others who rated the same items tell something about
it. So a value has two parts: a sum of weights of the user's indicator features (the items it rated,
and its own features), and a Newton step of the user's own, regularised towards that sum. Items are
treated in the same way.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.recommend.boosted.gradients import ScoredRatings
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS, FactorRound

_SINGLE_SWEEPS = 2

# Keeps a division by a sum of hessians defined if all of them are 0.
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ValueStep:
    """How the values of users, or of items, follow from gradients and hessians.

    Attributes
    ----------
    counts : float64 array of shape (rows,)
        The weight of each row's ratings.
    indicators : csr_array of shape (rows, indicators) or None
        Indicator features: see `indicators`.
    regularization, share_regularization : float
        The regularisation of a row's own part, and of the weights of indicators.
    """

    counts: Reals
    indicators: Any
    regularization: float
    share_regularization: float

    def values(self, gradients: Reals, hessians: Reals) -> tuple[Reals, Reals | None]:
        """Return the values of all rows, and the weights of the indicators."""
        if self.indicators is None:
            return newton_step(gradients, hessians, self.regularization, None), None
        by_indicator, squares = self._transposed
        weights = (by_indicator @ gradients) / (squares @ hessians + self.share_regularization)
        shared = self.indicators @ weights
        # Indicators overlap, so their steps together are too long or too short: find the best
        # length along them.
        bend = float((hessians * shared * shared).sum())
        length = float((gradients * shared).sum()) / bend if bend > 0 else 0.0
        values = newton_step(gradients, hessians, self.regularization, shared * length)
        return values, weights * length

    @cached_property
    def _transposed(self) -> tuple[Any, Any]:
        """The indicators by column, and their squares."""
        turned = self.indicators.T.tocsr()
        squares = turned.copy()
        squares.data = squares.data**2
        return turned, squares

    def normalized(self, values: Reals) -> Reals:
        """Return values whose square is 1 on average over the ratings."""
        mean = float((self.counts * values * values).sum() / self.counts.sum())
        return values / np.sqrt(mean) if mean > 0 else values


def newton_step(
    gradients: Reals, hessians: Reals, regularization: float, prior: Reals | None
) -> Reals:
    """Return Newton steps, regularised towards a prior (None: 0)."""
    total = hessians + regularization
    safe = np.where(total > 0, total, 1.0)
    if prior is None:
        return gradients / safe
    return prior + (gradients - hessians * prior) / safe


def best_single(scored: ScoredRatings, side: str, step: ValueStep, real_votes: bool) -> FactorRound:
    """Return the best values of users, or of items, alone."""
    ones = np.ones(scored.sizes[0]), np.ones(scored.sizes[1])
    of_users = side == "users"
    gradients, hessians = scored.sums(side, ones[1 if of_users else 0])
    direction = votes = scored.levels.direction()
    for _ in range(_SINGLE_SWEEPS):
        values, _ = step.values(*along(gradients, hessians, votes))
        votes = best_votes(gradients, hessians, values, direction, real_votes)
    gradient, hessian = along(gradients, hessians, votes)
    values, _ = step.values(gradient, hessian)
    gain = float((gradient * values).sum())
    if of_users:
        return FactorRound(USERS, values, ones[1], votes, gain)
    return FactorRound(ITEMS, ones[0], values, votes, gain)


def best_product(
    scored: ScoredRatings,
    users: ValueStep,
    items: ValueStep,
    start: Reals,
    sweeps: int,
    real_votes: bool,
) -> FactorRound:
    """Return values of users and items together, improved in turn from given values of users.

    The users' values come last, from the final votes and values of items, so that the values of new
    users can be found in the same way.
    """
    direction = votes = scored.levels.direction()
    user_values = users.normalized(start)
    for sweep in range(sweeps):
        sums = scored.sums("items", user_values)
        item_values, _ = items.values(*along(*sums, votes))
        votes = best_votes(*sums, item_values, direction, real_votes)
        item_values = items.normalized(item_values)
        sums = scored.sums("users", item_values)
        gradient, hessian = along(*sums, votes)
        user_values, weights = users.values(gradient, hessian)
        if sweep < sweeps - 1:
            user_values = users.normalized(user_values)
            votes = best_votes(*sums, user_values, direction, real_votes)
    gain = float((gradient * user_values).sum())
    return FactorRound(BOTH, user_values, item_values, votes, gain, weights)


def along(gradients: Reals, hessians: Reals, votes: Reals) -> tuple[Reals, Reals]:
    """Return the gradient and hessian of each row along votes."""
    # Row by row: a user's sums are the same bits however many users there are.
    return np.einsum("rl,l->r", gradients, votes), np.einsum("rl,l->r", hessians, votes * votes)


def best_votes(
    gradients: Reals, hessians: Reals, values: Reals, direction: Reals, real_votes: bool
) -> Reals:
    """Return the best votes for given values, whose square is 1 on average."""
    gradient = (gradients * values[:, None]).sum(axis=0)
    if not real_votes:
        return np.where(gradient < 0, -1.0, 1.0)
    hessian = (hessians * (values * values)[:, None]).sum(axis=0)
    # Half-way between each column's own best vote and the best common vote: the columns ask nearly
    # the same, and some have few ratings on one side.
    mean = float(hessian.mean())
    bend = float((hessian * (direction * direction)).sum())
    common = direction * (float((gradient * direction).sum()) / (bend + _TINY))
    votes = (gradient + mean * common) / (hessian + mean + _TINY)
    size = np.sqrt((votes * votes).mean())
    return votes / size if size > 0 else direction
