"""The rounds of boosted factorization: products of user values and item values, and votes on them.

Along a product h = U Z v the loss changes by about ``- sum(gradient h) + sum(hessian h^2) / 2``,
where gradients are negative ones. With two of U, Z and v fixed, the best of the third is a division
for each user, item or score column, so each is improved in turn. Votes are free in rounds of users
alone and of items alone; products vote for better ratings in all columns alike. Several products
are found at a time, from different starts along the same gradients.

A user with few ratings tells little alone, but others who rated the same items tell something about
it. So a value has two parts: a sum of weights of the user's indicator features (the items it rated,
and its own features), and a Newton step of the user's own, regularized toward that sum. Items are
treated in the same way.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals, Rows, Singles
from edgewise.common.threads import Threads
from edgewise.recommend.boosted.levels import Levels
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS, FactorRound
from edgewise.recommend.kernels import load_kernels
from edgewise.recommend.kernels.boosting import WIDTH, Pairs, Slopes, Targets

# Ratings are cut into parts whose sums are added in order. The number of parts depends on the
# ratings alone, so that sums are the same on any number of threads.
_PART = 1 << 17
_MOST_PARTS = 16

# The cost of a round for each rating in NumPy, and for each score column more, counted in visits of
# a histogram.
_VISITS, _VISITS_PER_COLUMN = 25, 15

_SINGLE_SWEEPS = 2

# Keeps a division by a sum of hessians defined if all of them are 0.
_TINY = 1e-12


class ScoredRatings:
    """The ratings of a training run and their scores, moved round by round.

    `gradients` are negative ones of the loss along the votes `direction`, `hessians` its second
    derivatives: single precision, since reading them is most of the work. `squared_error` is the
    weighted sum of squared errors of the expected ratings.
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
        self.direction = levels.direction()
        self.codes = levels.codes(values)
        self._targets = Targets(
            self.codes, *levels.questions(), levels.gaps(), levels.low, levels.target == "one_hot",
            levels.target == "value", values, weights, not bool((weights == 1.0).all()),
        )  # fmt: skip
        shapes = (width, n), (n,), (n,)
        self.slopes = Slopes(*(np.zeros(shape, dtype=np.float32) for shape in shapes))
        self.squared_error = 0.0
        n_parts = min(_MOST_PARTS, max(1, n // _PART))
        self._parts = list(pairwise(np.linspace(0, n, n_parts + 1).astype(np.int64).tolist()))
        self.threads = threads
        work = float(n) * n_rounds * (_VISITS + _VISITS_PER_COLUMN * width / WIDTH)
        self._kernels: Any = load_kernels("boosting", work)

    def advance(self, user_values: Reals, item_values: Reals, votes: Reals) -> None:
        """Add the sum over products of ``U Z votes`` to the scores, and find the slopes there.

        Values have shape (rows,), or (rows, products) with votes for all products.
        """
        pairs = Pairs(self.users, self.items, _pad_values(user_values), _pad_values(item_values))
        move, direction = votes.astype(np.float32), self.direction.astype(np.float32)
        sums = np.zeros((len(self._parts), 1))

        def run(part: int) -> None:
            self._kernels.advance(
                *self._parts[part], pairs, move, direction, self._targets, self.slopes, sums[part]
            )

        self.threads.map(run, range(len(self._parts)))
        self.squared_error = float(np.add.reduce(sums)[0])

    def face(self, direction: Reals) -> None:
        """Find the slopes along other votes."""
        if not np.array_equal(direction, self.direction):
            self.direction = direction
            n_users, n_items = self.sizes
            self.advance(np.zeros(n_users), np.zeros(n_items), np.zeros_like(direction))

    def sums(self, side: str, other_values: Reals) -> tuple[Reals, Reals]:
        """Return each row's sums of slopes, along values of the other side and the direction.

        Values and sums have shape (rows, products).
        """
        ones, others, n_rows = self._side(side)
        values, width = _pad_values(other_values), other_values.shape[1]
        sums = np.zeros((len(self._parts), n_rows, 2 * WIDTH))

        def run(part: int) -> None:
            self._kernels.gather(*self._parts[part], ones, others, values, self.slopes, sums[part])

        self.threads.map(run, range(len(self._parts)))
        total = np.add.reduce(sums)
        gradients, hessians = total[:, :width], total[:, WIDTH : WIDTH + width]
        return np.ascontiguousarray(gradients), np.ascontiguousarray(hessians)

    def column_sums(self, side: str) -> tuple[Reals, Reals]:
        """Return each row's sums of gradients and hessians in every column."""
        ones, _, n_rows = self._side(side)
        shape = (len(self._parts), n_rows, self.levels.n_columns)
        gradients, hessians = np.zeros(shape), np.zeros(shape)

        def run(part: int) -> None:
            self._kernels.gather_columns(
                *self._parts[part], ones, self._targets, self.slopes.scores, gradients[part],
                hessians[part],
            )  # fmt: skip

        self.threads.map(run, range(len(self._parts)))
        return np.add.reduce(gradients), np.add.reduce(hessians)

    def _side(self, side: str) -> tuple[Rows, Rows, int]:
        if side == "users":
            return self.users, self.items, self.sizes[0]
        return self.items, self.users, self.sizes[1]


def _pad_values(values: Reals) -> Singles:
    """Return values in single precision, in as many columns as kernels take."""
    table = np.zeros((len(values), WIDTH), dtype=np.float32)
    table[:, : 1 if values.ndim == 1 else values.shape[1]] = values.reshape(len(values), -1)
    return table


@dataclass(frozen=True, eq=False)
class ValueStep:
    """How the values of users, or of items, follow from gradients and hessians.

    `counts` has the weight of each row's ratings. `indicators` is None or a sparse matrix, with
    weights regularized by `share_regularization`, whose rows `threads` multiply side by side.
    Gradients, hessians and values have a column for each product.
    """

    counts: Reals
    indicators: Any
    regularization: float
    share_regularization: float
    threads: Threads = field(default_factory=lambda: Threads(1))

    def values(self, gradients: Reals, hessians: Reals) -> tuple[Reals, Reals]:
        """Return the values of all rows, and the weights of the indicators."""
        if self.indicators is None:
            none = np.zeros((0, gradients.shape[1]))
            return newton_step(gradients, hessians, self.regularization, None), none
        by_row, by_indicator, scales = self._parts
        # Values of the other side have one size, so that products bend the loss about alike.
        bends = self._times(by_indicator, scales * hessians.mean(axis=1))
        weights = self._times(by_indicator, gradients)
        weights /= bends[:, None] + self.share_regularization
        shared = self._times(by_row, weights)
        # Indicators overlap, so their steps together are too long or too short: find the best
        # length along them.
        bend = (hessians * shared * shared).sum(axis=0)
        length = (gradients * shared).sum(axis=0)
        length = np.divide(length, bend, out=np.zeros_like(bend), where=bend > 0)
        values = newton_step(gradients, hessians, self.regularization, shared * length)
        return values, weights * length

    @cached_property
    def _parts(self) -> tuple[list[Any], list[Any], Reals]:
        """The rows of the indicators in parts, those of the transpose, and each row's scale."""
        by_row, by_indicator = (
            self._split_rows(self.indicators),
            self._split_rows(self.indicators.T.tocsr()),
        )
        sizes = np.diff(self.indicators.indptr)
        return by_row, by_indicator, 1.0 / np.sqrt(np.maximum(sizes, 1))

    def _split_rows(self, matrix: Any) -> list[Any]:
        shares = self.threads.shares(matrix.indptr)
        return [matrix] if len(shares) == 1 else [matrix[start:stop] for start, stop in shares]

    def _times(self, parts: list[Any], values: Reals) -> Reals:
        return np.concatenate(self.threads.map(lambda part: part @ values, parts))

    def normalized(self, values: Reals) -> Reals:
        """Return values whose square is 1 on average over the ratings, in each column."""
        mean = (self.counts[:, None] * values * values).sum(axis=0) / self.counts.sum()
        return values / np.sqrt(np.where(mean > 0, mean, 1.0))


def newton_step(
    gradients: Reals, hessians: Reals, regularization: float, prior: Reals | None
) -> Reals:
    """Return Newton steps, regularized toward a prior (None: 0)."""
    total = hessians + regularization
    safe = np.where(total > 0, total, 1.0)
    if prior is None:
        return gradients / safe
    return prior + (gradients - hessians * prior) / safe


def best_single(scored: ScoredRatings, side: str, step: ValueStep, real_votes: bool) -> FactorRound:
    """Return the best values of users, or of items, alone."""
    ones = np.ones(scored.sizes[0]), np.ones(scored.sizes[1])
    gradients, hessians = scored.column_sums(side)
    direction = votes = scored.levels.direction()

    def best() -> tuple[Reals, Reals]:
        gradient, hessian = along(gradients, hessians, votes)
        return newton_step(gradient, hessian, step.regularization, None), gradient

    for _ in range(_SINGLE_SWEEPS):
        votes = best_votes(gradients, hessians, best()[0], direction, real_votes)
    values, gradient = best()
    gain = float((gradient * values).sum())
    if side == "users":
        return FactorRound(USERS, values, ones[1], votes, gain=gain)
    return FactorRound(ITEMS, ones[0], values, votes, gain=gain)


def best_products(
    scored: ScoredRatings, users: ValueStep, items: ValueStep, start: Reals, sweeps: int
) -> list[FactorRound]:
    """Return products of values of users and items, improved in turn from given values of users.

    `start` has a column for each product. The users' values come last, from the final values of
    items, so that the values of new users can be found in the same way.
    """
    user_values = users.normalized(start)
    for sweep in range(sweeps):
        item_values, _ = items.values(*scored.sums("items", user_values))
        item_values = items.normalized(item_values)
        gradients, hessians = scored.sums("users", item_values)
        user_values, weights = users.values(gradients, hessians)
        if sweep < sweeps - 1:
            user_values = users.normalized(user_values)
    gains = (gradients * user_values).sum(axis=0).tolist()
    return [
        FactorRound(BOTH, user, item, scored.direction, weight, gain)
        for user, item, weight, gain in zip(
            user_values.T, item_values.T, weights.T, gains, strict=True
        )
    ]


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
