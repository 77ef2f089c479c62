"""The rounds of boosted factorization: a step of training, all rounds, scores, explanations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Indices, Mask, Reals, Singles
from edgewise.model import Contribution, Terms
from edgewise.recommend.arrays import iter_blocks, relative_weights, single_precision_error
from edgewise.recommend.features import indicator_names
from edgewise.recommend.kernels.boosting import WIDTH

if TYPE_CHECKING:
    from edgewise.recommend.boosted.model import BoostedFactorization

USERS, ITEMS, BOTH = 0, 1, 2
"""The kinds of rounds: values of users alone, of items alone, or a product of both."""

Floats = NDArray[np.floating]

# Contributions below this fraction of all others are rounding errors.
_ROUNDING = 1e-6


class FactorStep(NamedTuple):
    """One or several rounds that follow from the same scores, and share their votes.

    Values have a column for each round; a side without a part in it has values of 1. The first step
    of a model is the constant that fits best without users and items.
    """

    kind: int
    user_values: Floats
    item_values: Floats
    votes: Reals
    # The weights of the users' indicator features behind their values; None for none.
    indicator_weights: Floats | None = None
    # About twice the decrease of the loss along each round at full length.
    gains: Reals = np.zeros(1)
    # The root mean squared error in training after the step.
    error: float = np.nan

    @property
    def n_rounds(self) -> int:
        """The number of rounds in the step."""
        return self.user_values.shape[1]

    @classmethod
    def of_side(
        cls, kind: int, values: Reals, n_others: int, votes: Reals, gain: float = 0.0
    ) -> Self:
        """Return a round with values of users alone, or of items alone."""
        column, ones = values[:, None], np.ones((n_others, 1))
        users, items = (column, ones) if kind == USERS else (ones, column)
        return cls(kind, users, items, votes, gains=np.array([gain]))


class FactorRounds(NamedTuple):
    """The rounds of a model, with a column for each in single precision.

    The values of a user, or an item, stand together in memory. `indicator_weights` has a row for
    each indicator feature of users; `steps` has the number of each round's step.
    """

    kinds: NDArray[np.int8]
    steps: NDArray[np.int64]
    votes: Reals
    user_values: Singles
    item_values: Singles
    indicator_weights: Singles

    @classmethod
    def empty(cls, sizes: tuple[int, int, int], n_rounds: int, n_columns: int) -> Self:
        """Return room for rounds; `sizes` are the numbers of users, items and indicators."""
        return cls(
            np.zeros(n_rounds, dtype=np.int8),
            np.zeros(n_rounds, dtype=np.int64),
            np.zeros((n_rounds, n_columns)),
            *(np.zeros((size, n_rounds), dtype=np.float32) for size in sizes),
        )

    def put(self, start: int, step: FactorStep) -> int:
        """Write the rounds of a step from `start` on, and return where they end."""
        stop = start + step.n_rounds
        rounds = slice(start, stop)
        self.kinds[rounds] = step.kind
        self.steps[rounds] = self.steps[start - 1] + 1 if start else 0
        self.votes[rounds] = step.votes
        self.user_values[:, rounds] = step.user_values
        self.item_values[:, rounds] = step.item_values
        if step.indicator_weights is not None:
            self.indicator_weights[:, rounds] = step.indicator_weights
        return stop

    def first(self, n: int) -> Self:
        """Return the first `n` rounds; copies, unless that is all."""
        if n == len(self.kinds):
            return self
        values = (table[:, :n].copy() for table in self[3:])
        return type(self)(self.kinds[:n], self.steps[:n], self.votes[:n], *values)

    def iter_steps(self) -> Iterator[tuple[slice, FactorStep]]:
        """Yield each step and its columns."""
        ends = np.flatnonzero(np.diff(self.steps)) + 1
        for start, stop in pairwise(np.unique([0, *ends, len(self.steps)]).tolist()):
            at = slice(start, stop)
            yield at, FactorStep(
                int(self.kinds[start]), self.user_values[:, at], self.item_values[:, at],
                self.votes[start], self.indicator_weights[:, at],
            )  # fmt: skip

    def check(self) -> None:
        """Raise if the rounds of a file contradict each other."""
        if not np.isin(self.kinds, (USERS, ITEMS, BOTH)).all():
            raise ValueError("kinds_ has an unknown kind of round")
        same_step = np.diff(self.steps) == 0
        alike = (np.diff(self.kinds) == 0) & (self.kinds[1:] == BOTH)
        alike &= (np.diff(self.votes, axis=0) == 0).all(axis=1)
        largest = max((step.n_rounds for _, step in self.iter_steps()), default=0)
        if (same_step & ~alike).any() or largest > WIDTH:
            raise ValueError("the steps do not match the rounds")


class FittedRounds(NamedTuple):
    """The rounds of a model with their history, and with the rules behind rounds of signs."""

    rounds: FactorRounds
    history: dict[str, Reals]
    rules: Terms

    @classmethod
    def collect(
        cls,
        steps: Iterable[FactorStep],
        sizes: tuple[int, int, int],
        max_rounds: int,
        n_columns: int,
    ) -> Self:
        """Return the rounds of steps; their history does not include the constant."""
        rounds, n = FactorRounds.empty(sizes, max_rounds, n_columns), 0
        errors: list[float] = []
        gains: list[float] = []
        for step in steps:
            n = rounds.put(n, step)
            errors += [step.error] * step.n_rounds
            gains += step.gains.tolist()
        history = {"train_rmse": np.array(errors[1:]), "gain": np.array(gains[1:])}
        return cls(rounds.first(n), history, Terms.empty(1))

    def first(self, n: int, validation_errors: list[float]) -> Self:
        """Return the constant and the first `n` rounds, with their errors on validation rows."""
        history = {**self.history, "validation_rmse": np.array(validation_errors[1:])}
        history = {name: values[:n] for name, values in history.items()}
        return type(self)(self.rounds.first(n + 1), history, self.rules[: n + 1])


@dataclass(frozen=True, eq=False)
class RoundFactors:
    """Rounds to score with: a score is the sum of offsets and of products times their votes.

    `users` and `items` have a column for each round; rounds of one side alone have votes of 0.
    """

    users: Singles
    items: Singles
    votes: Reals
    user_offsets: Reals
    item_offsets: Reals

    @classmethod
    def of(cls, rounds: FactorRounds, merge: bool) -> Self:
        """Return the factors of rounds; `merge` makes one of products that differ in sign only."""
        users, items, votes, kinds = (
            rounds.user_values, rounds.item_values, rounds.votes, rounds.kinds,
        )  # fmt: skip
        offsets = _offsets(users, votes, kinds == USERS), _offsets(items, votes, kinds == ITEMS)
        both = kinds == BOTH
        if merge:
            return cls(*_merge_products(users[:, both], items[:, both], votes[both]), *offsets)
        return cls(users, items, np.where(both[:, None], votes, 0.0), *offsets)

    @cached_property
    def _common(self) -> tuple[Reals, Reals | None]:
        """Votes of the rounds, and a factor for each score column if products vote alike.

        One sum over the rounds then serves all columns.
        """
        products = (self.votes != 0.0).any(axis=1)
        votes = self.votes[products]
        if len(votes) and (votes == votes[0]).all():
            return products.astype(np.float64)[:, None], votes[0]
        return self.votes, None

    def score_pairs(self, users: Indices, items: Indices) -> Reals:
        """Return the scores of pairs, shape (pairs, columns)."""
        votes, along = self._common
        sums = np.empty((len(users), votes.shape[1]))
        for block in iter_blocks(len(users), len(votes)):
            products = self.users[users[block]].astype(np.float64)
            products *= self.items[items[block]]
            # Pair by pair: a score does not depend on the other pairs.
            sums[block] = np.einsum("pt,tl->pl", products, votes)
        scores = sums if along is None else sums * along
        return scores + (self.user_offsets[users] + self.item_offsets[items])

    def score_users(self, users: Indices) -> Reals:
        """Return the scores of all items for some users, shape (users, items, columns)."""
        votes, along = self._common
        sums = np.zeros((len(users), len(self.items), votes.shape[1]))
        for block in iter_blocks(len(votes), len(self.items)):
            factors, others = self.users[users, block], self.items[:, block].T.astype(np.float64)
            for column, vote in enumerate(votes[block].T):
                sums[:, :, column] += (factors * vote) @ others
        scores = sums if along is None else sums * along
        return scores + (self.user_offsets[users, None] + self.item_offsets)

    def approximate_scores(self, users: Indices) -> Iterator[tuple[Singles, Reals]]:
        """Yield for each column the scores of all items for some users, and bounds of their errors.

        Scores are a new array in single precision; users have an error each.
        """
        votes, along = self._common
        factors, (longest, highest) = self.users[users], self._largest_items
        sums, lengths = factors[:0], np.zeros(0)
        for column, vote in enumerate(np.ones(self.votes.shape[1]) if along is None else along):
            if column < votes.shape[1]:
                values = factors * votes[:, column].astype(np.float32)
                lengths = np.sqrt(np.einsum("ut,ut->u", values, values, dtype=np.float64))
                sums = values @ self.items.T
            offsets = self.user_offsets[users, column]
            scores = sums * np.float32(vote)
            scores += offsets[:, None].astype(np.float32)
            scores += self.item_offsets[:, column].astype(np.float32)
            largest = abs(float(vote)) * longest * lengths + np.abs(offsets) + highest
            yield scores, single_precision_error(len(votes)) * largest

    @cached_property
    def _largest_items(self) -> tuple[float, float]:
        """The largest length of an item's factors, and the largest offset of an item."""
        squares = np.einsum("it,it->i", self.items, self.items, dtype=np.float64)
        return float(np.sqrt(squares.max(initial=0.0))), float(abs(self.item_offsets).max())

    def terms(self) -> tuple[Reals, Reals, Reals]:
        """Return factors of users and of items, and votes: scores as sums of products alone.

        The offsets of a side are a term for each score column. With one column the votes are 1, and
        both factors take the root of their size.
        """
        width = self.votes.shape[1]
        is_product = (self.votes != 0.0).any(axis=1)
        user_ones, item_ones = (np.ones((len(side), width)) for side in (self.users, self.items))
        users = self.users[:, is_product].astype(np.float64)
        items = self.items[:, is_product].astype(np.float64)
        user_factors = np.concatenate([self.user_offsets, user_ones, users], axis=1)
        item_factors = np.concatenate([item_ones, self.item_offsets, items], axis=1)
        votes = np.concatenate([np.eye(width), np.eye(width), self.votes[is_product]])
        if width != 1:
            return user_factors, item_factors, votes
        size = np.sqrt(np.abs(votes[:, 0]))
        signed = np.copysign(size, votes[:, 0])
        return user_factors * signed, item_factors * size, np.ones_like(votes)

    def taste_vectors(self, side: str) -> Floats:
        """Return vectors of users, or items, without their offsets, which express no taste.

        A product counts as much as it moves scores. Without products the offsets are all there is.
        """
        of_users = side == "users"
        values, others = (self.users, self.items) if of_users else (self.items, self.users)
        if not self.votes.any():
            return self.user_offsets if of_users else self.item_offsets
        squares = np.einsum("it,it->t", others, others, dtype=np.float64) / len(others)
        size = np.sqrt((self.votes**2).sum(axis=1) * squares)
        return values * size.astype(values.dtype)


def _offsets(values: Singles, votes: Reals, is_kind: Mask) -> Reals:
    """Return the sum of the rounds of one side alone, shape (rows, columns)."""
    total = np.zeros((len(values), votes.shape[1]))
    for t in np.flatnonzero(is_kind):
        # Round by round: the sums of old users stay the same when new ones join.
        total += values[:, t, None] * votes[t]
    return total


def _merge_products(users: Singles, items: Singles, votes: Reals) -> tuple[Singles, Singles, Reals]:
    """Return products, those that differ in sign only once, with their votes added up."""
    user_signs, item_signs = _first_signs(users), _first_signs(items)
    signs = user_signs * item_signs
    first_of: dict[bytes, int] = {}
    firsts = []
    for t in range(len(votes)):
        # A digest, as the values of many rounds would fill the memory; + 0.0 turns -0 into 0.
        content = sha256((users[:, t] * user_signs[t] + 0.0).tobytes())
        content.update((items[:, t] * item_signs[t] + 0.0).tobytes())
        firsts.append(first_of.setdefault(content.digest(), t))
    merged = np.zeros_like(votes)
    np.add.at(merged, firsts, (signs * signs[firsts])[:, None] * votes)
    kept = list(first_of.values())
    return users[:, kept], items[:, kept], merged[kept]


def _first_signs(values: Singles) -> Reals:
    """Return the sign of the first value of each column that is not 0."""
    firsts = (values != 0).argmax(axis=0)
    return np.where(values[firsts, np.arange(values.shape[1])] < 0, -1.0, 1.0)


def explain_pair(
    model: "BoostedFactorization", user: int, item: int
) -> tuple[float, list[Contribution]]:
    """Return the prediction for the indices of a user and an item, and its contributions.

    The scores of the columns are sums. The expected rating is a sum of probabilities, each of which
    depends on one score: a contribution's share of the change of the score, from the constant to
    its end, is its share of the change of the probability.
    """
    levels, kinds = model._levels, model.kinds_[1:]
    products = model.user_values_[user].astype(np.float64) * model.item_values_[item]
    products = products[:, None] * model.round_votes_
    constant = products[0] if len(products) else np.zeros(levels.n_columns)
    change = products[1:].sum(axis=0)
    start, end = (
        levels.column_probabilities(constant),
        levels.column_probabilities(constant + change),
    )
    # Where contributions cancel, the quotient is noise: take the derivative there instead.
    has_quotient = np.abs(change) > 1e-6
    slope = np.divide(end - start, change, out=levels.slopes(start), where=has_quotient)
    slope = levels.gaps() * slope

    def points(scores: Reals) -> Reals:
        return (scores * slope).sum(axis=-1)

    def points_of(kind: int) -> float:
        return float(points(products[1:][kinds == kind].sum(axis=0)))

    added, named = (_by_rating if model.joint_ else _by_indicator)(model, user, item)
    amounts = points(added)
    contributions = [
        Contribution("mean", float(levels.mean(constant))),
        Contribution("item offset", points_of(ITEMS)),
    ]
    offset, taste = points_of(USERS), float(points_of(BOTH) - amounts.sum())
    if not model.joint_:
        contributions += [Contribution("user offset", offset), Contribution("user taste", taste)]
    elif abs(offset + taste) > _ROUNDING * np.abs(amounts).sum():
        # Nothing remains where the model has all ratings that it was trained on.
        contributions.append(Contribution("user taste", offset + taste))
    contributions = [entry for entry in contributions if entry.amount != 0.0]
    contributions += [
        Contribution(name, amount, detail)
        for (name, detail), amount in zip(named, amounts.tolist(), strict=True)
    ]
    return float(levels.mean(constant + change)), contributions


def _by_rating(
    model: "BoostedFactorization", user: int, item: int
) -> tuple[Reals, list[tuple[str, str]]]:
    """Return what each rating of a user adds to the score, and its name and detail."""
    view = model.ratings_.by_user
    items, values, _ = view.row(user)
    weights = relative_weights(view, model.ratings_, model.n_trained_)[view.span(user)]
    added = model._user_system.contributions(items, values, weights, item)
    ids = model.ratings_.item_ids.values[items]
    return added[:, None], [("rated", str(item_id)) for item_id in ids.tolist()]


def _by_indicator(
    model: "BoostedFactorization", user: int, item: int
) -> tuple[Reals, list[tuple[str, str]]]:
    """Return what each indicator feature of a user adds to the scores, and its name and detail."""
    if len(model.indicator_weights_) == 0:
        return np.zeros((0, model._levels.n_columns)), []
    ratings = model.ratings_
    row = model._fitted_boosting.user_indicators(ratings, model.n_trained_)[[user]]
    along = model.item_values_[item, :, None] * model.round_votes_
    added = np.einsum("mt,tl->ml", model.indicator_weights_[row.indices], along)
    names: list[tuple[str, str]] = []
    if model.share:
        names += [("rated", str(item_id)) for item_id in ratings.item_ids.values.tolist()]
    if model.side_features and ratings.user_features is not None:
        features = indicator_names(ratings.user_features, model.n_trained_)
        names += [("feature", name) for name in features]
    return added * row.data[:, None], [names[k] for k in row.indices.tolist()]
