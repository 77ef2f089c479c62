"""The search for rounds: products of user values and item values, and votes on them.

Along a product h = U Z v the loss changes by about ``- sum(gradient h) + sum(hessian h^2) / 2``,
where gradients are negative ones. With two of U, Z and v fixed, the best of the third is a division
for each user, item or score column, so each is improved in turn. Votes are free in rounds of users
alone and of items alone; products vote for better ratings in all columns alike. Several products
are learned at a time, from different starts along the same gradients.

The few ratings of one user are weak evidence, but other users who rated the same items add to it.
So a value is the sum of two parts: a sum of weights of the user's indicator features (the items it
rated, and its side features), and a Newton step of the user alone, regularized toward that sum.
Items are treated in the same way.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from edgewise.common.dtypes import Reals, Rows, Singles
from edgewise.common.threads import Threads
from edgewise.ratings import Ratings
from edgewise.recommend.arrays import relative_weights
from edgewise.recommend.boosted.levels import RatingLevels
from edgewise.recommend.boosted.rounds import BOTH, ITEMS, USERS, FactorStep, Floats
from edgewise.recommend.kernels import load_kernels
from edgewise.recommend.kernels.boosting import WIDTH, FactorPairs, RatingTargets, Slopes

# Sums over the ratings are taken in blocks of at least this many ratings, at most this many, and
# added in order. Blocks depend on the ratings alone, so the number of threads changes no bit.
_PART_RATINGS = 1 << 17
_MAX_PARTS = 16

# The cost of a round per rating in NumPy, and more per score column, in visits of a histogram.
_VISITS, _VISITS_PER_COLUMN = 25, 15

_SINGLE_SWEEPS, _PRODUCT_SWEEPS = 2, 2

# Keeps a division by a sum of hessians defined if all of them are 0.
_TINY = 1e-12


class ScoredRatings:
    """Ratings and their scores, updated step by step, with the slopes of the loss.

    `gradients` are negative ones of the loss along the votes `direction`, `hessians` its second
    derivatives: single precision, since reading them is most of the work. `squared_error` is the
    weighted sum of squared errors of the expected ratings. `sizes` are the numbers of users and
    items.
    """

    def __init__(
        self,
        pairs: tuple[Rows, Rows],
        values: Reals,
        weights: Reals,
        levels: RatingLevels,
        sizes: tuple[int, int],
        n_rounds: int,
        threads: Threads,
    ) -> None:
        self.users, self.items = pairs
        self.values, self.weights = values, weights
        self.levels, self.sizes, self.threads = levels, sizes, threads
        n, width = len(values), levels.n_columns
        self.direction = levels.direction()
        self.codes = levels.codes(values)
        self._targets = RatingTargets(
            self.codes, *levels.positive_levels(), levels.gaps(), levels.low,
            levels.target == "one_hot", levels.target == "value", values, weights,
            not bool((weights == 1.0).all()),
        )  # fmt: skip
        shapes = (width, n), (n,), (n,)
        self.slopes = Slopes(*(np.zeros(shape, dtype=np.float32) for shape in shapes))
        self.squared_error = 0.0
        n_parts = min(_MAX_PARTS, max(1, n // _PART_RATINGS))
        self._parts = list(pairwise(np.linspace(0, n, n_parts + 1).astype(np.int64).tolist()))
        work = float(n) * n_rounds * (_VISITS + _VISITS_PER_COLUMN * width / WIDTH)
        self._kernels: Any = load_kernels("boosting", work)

    @classmethod
    def of(
        cls, ratings: Ratings, levels: RatingLevels, n_rounds: int, threads: Threads
    ) -> "ScoredRatings":
        """Return training ratings with scores of 0."""
        pairs, sizes = (ratings.users, ratings.items), (ratings.n_users, ratings.n_items)
        weights = relative_weights(ratings, ratings, ratings.n_users)
        return cls(pairs, ratings.values, weights, levels, sizes, n_rounds, threads)

    def advance(self, user_values: Floats, item_values: Floats, votes: Reals) -> None:
        """Add the products ``U Z votes`` to the scores, and compute the slopes there.

        Values have a column for each product; all products share the votes.
        """
        pairs = FactorPairs(
            self.users, self.items, _pad_values(user_values), _pad_values(item_values)
        )
        move, direction = votes.astype(np.float32), self.direction.astype(np.float32)

        def advance(start: int, stop: int, sums: Reals) -> None:
            self._kernels.advance(
                start, stop, pairs, move, direction, self._targets, self.slopes, sums
            )

        self.squared_error = float(self._sum_parts((1,), advance)[0])

    def set_direction(self, direction: Reals) -> None:
        """Compute the slopes along other votes."""
        if not np.array_equal(direction, self.direction):
            self.direction = direction
            users, items = (np.zeros((size, 1)) for size in self.sizes)
            self.advance(users, items, np.zeros_like(direction))

    def sum_slopes(self, side: str, other_values: Floats) -> tuple[Reals, Reals]:
        """Return the gradients and hessians of each row, along values of the other side.

        Values and sums have a column for each product.
        """
        rows, others, n_rows = self._side(side)
        values, width = _pad_values(other_values), other_values.shape[1]

        def gather(start: int, stop: int, sums: Reals) -> None:
            self._kernels.gather(start, stop, rows, others, values, self.slopes, sums)

        sums = self._sum_parts((n_rows, 2 * WIDTH), gather)
        gradients, hessians = sums[:, :width], sums[:, WIDTH : WIDTH + width]
        return np.ascontiguousarray(gradients), np.ascontiguousarray(hessians)

    def sum_columns(self, side: str) -> tuple[Reals, Reals]:
        """Return the gradients and hessians of each row in every score column."""
        rows, _, n_rows = self._side(side)

        def gather(start: int, stop: int, sums: Reals) -> None:
            self._kernels.gather_columns(
                start, stop, rows, self._targets, self.slopes.scores, sums[0], sums[1]
            )

        gradients, hessians = self._sum_parts((2, n_rows, self.levels.n_columns), gather)
        return gradients, hessians

    def _sum_parts(self, shape: tuple[int, ...], run: Any) -> Reals:
        """Return the sum over all parts of the ratings of what ``run(start, stop, sums)`` adds."""
        sums = np.zeros((len(self._parts), *shape))
        self.threads.map(lambda k: run(*self._parts[k], sums[k]), range(len(self._parts)))
        return np.asarray(np.add.reduce(sums))

    def _side(self, side: str) -> tuple[Rows, Rows, int]:
        if side == "users":
            return self.users, self.items, self.sizes[0]
        return self.items, self.users, self.sizes[1]


def _pad_values(values: Floats) -> Singles:
    """Return values in single precision, in as many columns as kernels take."""
    table = np.zeros((len(values), WIDTH), dtype=np.float32)
    table[:, : values.shape[1]] = values
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
    threads: Threads

    def values(self, gradients: Reals, hessians: Reals) -> tuple[Reals, Reals | None]:
        """Return the values of all rows, and the weights of the indicators."""
        if self.indicators is None:
            return newton_step(gradients, hessians, self.regularization, None), None
        by_row, by_indicator, scales = self._blocks
        # Values of the other side have one size, so that the loss bends about alike along products.
        curvatures = self._multiply(by_indicator, scales * hessians.mean(axis=1))
        weights = self._multiply(by_indicator, gradients)
        weights /= curvatures[:, None] + self.share_regularization
        shared = self._multiply(by_row, weights)
        # Indicators overlap, so their steps together are too long or too short: find the best
        # length along them.
        curvature = (hessians * shared * shared).sum(axis=0)
        length = (gradients * shared).sum(axis=0)
        length = np.divide(length, curvature, out=np.zeros_like(curvature), where=curvature > 0)
        values = newton_step(gradients, hessians, self.regularization, shared * length)
        return values, weights * length

    @cached_property
    def _blocks(self) -> tuple[list[Any], list[Any], Reals]:
        """The indicators in blocks of rows, their transpose likewise, and each row's scale."""
        by_row, by_indicator = map(self._split_rows, (self.indicators, self.indicators.T.tocsr()))
        sizes = np.diff(self.indicators.indptr)
        return by_row, by_indicator, 1.0 / np.sqrt(np.maximum(sizes, 1))

    def _split_rows(self, matrix: Any) -> list[Any]:
        shares = self.threads.shares(matrix.indptr)
        return [matrix] if len(shares) == 1 else [matrix[start:stop] for start, stop in shares]

    def _multiply(self, blocks: list[Any], values: Reals) -> Reals:
        return np.concatenate(self.threads.map(lambda block: block @ values, blocks))

    def normalize(self, values: Reals) -> Reals:
        """Return values whose square is 1 on average over the ratings, in each column."""
        mean = (self.counts[:, None] * values * values).sum(axis=0) / self.counts.sum()
        return values / np.sqrt(np.where(mean > 0, mean, 1.0))


def newton_step(
    gradients: Reals, hessians: Reals, regularization: float, prior: Reals | None
) -> Reals:
    """Return Newton steps, regularized toward a prior; None is 0."""
    total = hessians + regularization
    safe = np.where(total > 0, total, 1.0)
    if prior is None:
        return gradients / safe
    return prior + (gradients - hessians * prior) / safe


def best_single(
    scored: ScoredRatings, side: str, regularization: float, real_votes: bool
) -> FactorStep:
    """Return the best values of users, or of items, alone."""
    gradients, hessians = scored.sum_columns(side)
    direction = votes = scored.levels.direction()
    for sweep in range(_SINGLE_SWEEPS + 1):
        gradient, hessian = slopes_along(gradients, hessians, votes)
        values = newton_step(gradient, hessian, regularization, None)
        if sweep < _SINGLE_SWEEPS:
            votes = best_votes(gradients, hessians, values, direction, real_votes)
    gain = float((gradient * values).sum())
    kind, n_others = (USERS, scored.sizes[1]) if side == "users" else (ITEMS, scored.sizes[0])
    return FactorStep.of_side(kind, values, n_others, votes, gain)


def best_products(
    scored: ScoredRatings, users: ValueStep, items: ValueStep, start: Reals
) -> FactorStep:
    """Return products of values of users and items, improved in turn from given values of users.

    `start` has a column for each product. The users' values come last, from the final values of
    items, so that the values of new users can be computed in the same way.
    """
    user_values = start
    for _ in range(_PRODUCT_SWEEPS):
        slopes = scored.sum_slopes("items", users.normalize(user_values))
        item_values = items.normalize(items.values(*slopes)[0])
        gradients, hessians = scored.sum_slopes("users", item_values)
        user_values, weights = users.values(gradients, hessians)
    gains = (gradients * user_values).sum(axis=0)
    return FactorStep(BOTH, user_values, item_values, scored.direction, weights, gains)


def slopes_along(gradients: Reals, hessians: Reals, votes: Reals) -> tuple[Reals, Reals]:
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
    # Half-way between each column's best vote and the best common vote: the columns ask nearly the
    # same, and some have few ratings on one side.
    mean = float(hessian.mean())
    curvature = float((hessian * (direction * direction)).sum())
    common = direction * (float((gradient * direction).sum()) / (curvature + _TINY))
    votes = (gradient + mean * common) / (hessian + mean + _TINY)
    size = np.sqrt((votes * votes).mean())
    return votes / size if size > 0 else direction
