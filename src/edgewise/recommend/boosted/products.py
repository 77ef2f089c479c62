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
from itertools import pairwise
from typing import Any

import numpy as np

from edgewise.backend.choose import kernels
from edgewise.common.dtypes import Reals, Rows
from edgewise.common.threads import Threads
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS, FactorRound

# Ratings are cut into parts whose sums are added in order. The number of parts depends on the
# ratings alone, so that sums are the same on any number of threads.
_PART = 1 << 17
_MOST_PARTS = 16

# The cost of a round for each rating and score column in NumPy, counted in visits of a histogram.
_VISITS = 60

_SINGLE_SWEEPS = 2

# Keeps a division by a sum of hessians defined if all of them are 0.
_TINY = 1e-12


class ScoredRatings:
    """The ratings of a training run and their scores, moved round by round.

    `gradients` are negative ones of the logistic loss, `hessians` its second derivatives: half as
    wide as the scores, since reading them is most of the work. `squared_error` is the weighted sum
    of squared errors of the expected ratings.
    """

    def __init__(
        self,
        users: Rows,
        items: Rows,
        values: Reals,
        weights: Reals,
        levels: Levels,
        sizes: tuple[int, int],
        n_rounds: int,
        threads: Threads,
    ) -> None:
        self.users, self.items = users, items
        self.values, self.weights = values, weights
        self.levels, self.sizes = levels, sizes
        n, width = len(users), levels.n_columns
        self.labels = levels.labels()[levels.codes(values)].astype(np.float32)
        self.gaps = levels.gaps()
        self.weighted = not bool((weights == 1.0).all())
        self.scores = np.zeros((n, width))
        self.gradients = np.zeros((n, width), dtype=np.float32)
        self.hessians = np.zeros((n, width), dtype=np.float32)
        self.squared_error = 0.0
        n_parts = min(_MOST_PARTS, max(1, n // _PART))
        self._parts = list(pairwise(np.linspace(0, n, n_parts + 1).astype(np.int64).tolist()))
        self._threads = threads
        work = float(n) * width * n_rounds * _VISITS
        self._kernels: Any = kernels("factorization_boosting", work)

    def advance(self, user_values: Reals, item_values: Reals, votes: Reals) -> None:
        """Add ``U Z votes`` to the scores, and compute gradients and hessians there."""
        sums = np.zeros((len(self._parts), 1))

        def run(part: int) -> None:
            self._kernels.advance(
                *self._parts[part], self.users, self.items, user_values, item_values, votes,
                self.labels, self.gaps, self.levels.low, self.levels.target == "one_hot",
                self.values, self.weights, self.weighted, self.scores, self.gradients,
                self.hessians, sums[part],
            )  # fmt: skip

        self._threads.map(run, range(len(self._parts)))
        self.squared_error = float(np.add.reduce(sums)[0])

    def sums(self, side: str, other_values: Reals) -> tuple[Reals, Reals]:
        """Return each row's sums of gradients and hessians, along values of the other side."""
        of_users = side == "users"
        ones, others = (self.users, self.items) if of_users else (self.items, self.users)
        shape = (len(self._parts), self.sizes[0 if of_users else 1], self.levels.n_columns)
        gradients, hessians = np.zeros(shape), np.zeros(shape)

        def run(part: int) -> None:
            self._kernels.gather(
                *self._parts[part], ones, others, other_values, self.gradients, self.hessians,
                gradients[part], hessians[part],
            )  # fmt: skip

        self._threads.map(run, range(len(self._parts)))
        return np.add.reduce(gradients), np.add.reduce(hessians)


@dataclass(frozen=True, eq=False)
class ValueStep:
    """How the values of users, or of items, follow from gradients and hessians.

    `counts` has the weight of each row's ratings. `indicators` is None or a sparse matrix, with
    weights regularised by `share_regularization`.
    """

    counts: Reals
    indicators: Any
    regularization: float
    share_regularization: float

    def values(self, gradients: Reals, hessians: Reals) -> tuple[Reals, Reals]:
        """Return the values of all rows, and the weights of the indicators."""
        if self.indicators is None:
            return newton_step(gradients, hessians, self.regularization, None), np.zeros(0)
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
        return FactorRound(USERS, values, ones[1], votes, gain=gain)
    return FactorRound(ITEMS, ones[0], values, votes, gain=gain)


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
    return FactorRound(BOTH, user_values, item_values, votes, weights, gain)


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
