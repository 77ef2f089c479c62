"""The rounds of a boosted factorization, and the few factors that they come down to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals, Singles
from edgewise.recommend.similarity import single_precision_error

USERS, ITEMS, BOTH = 0, 1, 2
"""The kinds of rounds: values of users alone, of items alone, or a product of both."""

Floats = NDArray[np.floating]

# Products are found in blocks of at most this many, which bounds the memory.
_ENTRIES = 1 << 20


class FactorRound(NamedTuple):
    """A round: U and Z (all 1 for a side without a part in it), v, and how good they are.

    The first round of a model is the constant that fits best without users and items.
    """

    kind: int
    user_values: Reals
    item_values: Reals
    votes: Reals
    # The weights of the users' indicator features behind U.
    indicator_weights: Reals = np.zeros(0)
    # About twice the decrease of the loss along it at full length.
    gain: float = 0.0
    # The root mean squared error in training after it and the rounds found with it.
    error: float = np.nan
    # The step that it is part of: rounds of one step follow from the same scores.
    step: int = 0


def stack_rounds(rounds: Sequence[FactorRound]) -> tuple[Reals, Reals]:
    """Return the values of users and of items, a column for each round."""
    users, items = ([round_[side] for round_ in rounds] for side in (1, 2))
    return np.column_stack(users), np.column_stack(items)


class KeptRounds:
    """The rounds of a model, in single precision, which training scores with too.

    The values of a user or an item in all rounds stand together: arrays have a row for each of
    them, or of the users' indicators, and a column for each round. `sizes` are the numbers of
    users, items and indicators; there is room for `n_rounds`.
    """

    def __init__(self, sizes: tuple[int, int, int], n_rounds: int, n_columns: int) -> None:
        self._values = [np.zeros((size, n_rounds), dtype=np.float32) for size in sizes]
        self.votes = np.zeros((n_rounds, n_columns))
        self.kinds = np.zeros(n_rounds, dtype=np.int8)
        self.steps = np.zeros(n_rounds, dtype=np.int64)
        self.size = 0

    def add(self, found: Sequence[FactorRound]) -> None:
        """Keep the rounds of a step."""
        at = slice(self.size, self.size + len(found))
        self.size = at.stop
        sides = (1, 2, 4)
        for kept, side in zip(self._values, sides, strict=True):
            values = np.column_stack([round_[side] for round_ in found])
            # Offsets have no weights of indicators: these stay 0.
            kept[: len(values), at] = values
        self.votes[at] = [round_.votes for round_ in found]
        self.kinds[at] = [round_.kind for round_ in found]
        self.steps[at] = [round_.step for round_ in found]

    def values(self, n_rounds: int) -> list[Singles]:
        """Return the values of users and of items, and the weights of indicators."""
        uses_all = self._values[0].shape[1] == n_rounds
        return [table if uses_all else table[:, :n_rounds].copy() for table in self._values]


@dataclass(frozen=True, eq=False)
class RoundFactors:
    """Rounds to score with: a score is the sum of offsets and of products times their votes.

    `users` and `items` have a column for each round; a round that is no product has votes of 0.
    """

    users: Floats
    items: Floats
    votes: Reals
    user_offsets: Reals
    item_offsets: Reals

    @classmethod
    def of(
        cls, users: Floats, items: Floats, votes: Reals, kinds: NDArray[np.int8], merge: bool = True
    ) -> Self:
        """Return the factors of rounds.

        With `merge`, products that are equal but for their sign are one and share their votes.
        """
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

    def pairs(self, users: NDArray[np.intp], items: NDArray[np.intp]) -> Reals:
        """Return the scores of pairs, shape (pairs, L)."""
        votes, along = self._common
        sums = np.empty((len(users), votes.shape[1]))
        size = max(1, _ENTRIES // max(1, len(votes)))
        for start in range(0, len(users), size):
            block = slice(start, start + size)
            products = self.users[users[block]].astype(np.float64)
            products *= self.items[items[block]]
            # Pair by pair: a score is the same whatever else is asked.
            sums[block] = np.einsum("pt,tl->pl", products, votes)
        scores = sums if along is None else sums * along
        return scores + (self.user_offsets[users] + self.item_offsets[items])

    def table(self, users: NDArray[np.intp]) -> Reals:
        """Return the scores of all items for some users, shape (users, items, L)."""
        votes, along = self._common
        sums = np.zeros((len(users), len(self.items), votes.shape[1]))
        size = max(1, _ENTRIES // max(1, len(self.items)))
        for start in range(0, len(votes), size):
            block = slice(start, start + size)
            mine, others = self.users[users, block], self.items[:, block].T.astype(np.float64)
            for column, vote in enumerate(votes[block].T):
                sums[:, :, column] += (mine * vote) @ others
        scores = sums if along is None else sums * along
        return scores + (self.user_offsets[users, None] + self.item_offsets)

    def near(self, users: NDArray[np.intp]) -> Iterator[tuple[Singles, Reals]]:
        """Yield for each column the scores of all items for some users, and how far off they are.

        Scores are in single precision, in an array of their own; users have an error each.
        """
        votes, along = self._common
        items, longest, highest = self._singles
        mine = np.asarray(self.users[users], dtype=np.float32)
        sums, lengths = items[:0], np.zeros(0)
        for column, vote in enumerate(np.ones(self.votes.shape[1]) if along is None else along):
            if column < votes.shape[1]:
                values = mine * votes[:, column].astype(np.float32)
                lengths = np.sqrt(np.einsum("ut,ut->u", values, values, dtype=np.float64))
                sums = values @ items.T
            offsets = self.user_offsets[users, column]
            scores = sums * np.float32(vote)
            scores += offsets[:, None].astype(np.float32)
            scores += self.item_offsets[:, column].astype(np.float32)
            largest = abs(float(vote)) * longest * lengths + np.abs(offsets) + highest
            yield scores, single_precision_error(len(votes)) * largest

    @cached_property
    def _singles(self) -> tuple[Singles, float, float]:
        """The items in single precision, the longest of them, and the largest offset."""
        items = np.asarray(self.items, dtype=np.float32)
        squares = np.einsum("it,it->i", items, items, dtype=np.float64)
        return items, float(np.sqrt(squares.max(initial=0.0))), float(abs(self.item_offsets).max())

    def terms(self) -> tuple[Reals, Reals, Reals]:
        """Return factors of users and of items, and votes: scores as sums of products alone.

        The offsets of a side are a term for each score column. With one column the votes are 1,
        their sizes shared evenly.
        """
        width = self.votes.shape[1]
        ones = np.ones((len(self.users), width)), np.ones((len(self.items), width))
        terms = [
            (*pair, np.eye(width))
            for pair in ((self.user_offsets, ones[1]), (ones[0], self.item_offsets))
        ]
        kept = (self.votes != 0.0).any(axis=1)
        terms.append((self.users[:, kept], self.items[:, kept], self.votes[kept]))
        users, items, votes = (
            np.concatenate(side, axis=axis, dtype=np.float64)
            for side, axis in zip(zip(*terms, strict=True), (1, 1, 0), strict=True)
        )
        if width != 1:
            return users, items, votes
        size = np.sqrt(np.abs(votes[:, 0]))
        return users * np.copysign(size, votes[:, 0]), items * size, np.ones_like(votes)

    def tastes(self, side: str) -> Floats:
        """Return vectors of users, or items, without their offsets, which are no taste.

        A product counts as much as it moves scores. Without products the offsets are all there is.
        """
        of_users = side == "users"
        values, others = (self.users, self.items) if of_users else (self.items, self.users)
        if not self.votes.any():
            return self.user_offsets if of_users else self.item_offsets
        squares = np.einsum("it,it->t", others, others, dtype=np.float64) / len(others)
        size = np.sqrt((self.votes**2).sum(axis=1) * squares)
        return values * size.astype(values.dtype)


def _offsets(values: Floats, votes: Reals, which: NDArray[np.bool_]) -> Reals:
    """Return the sum of the rounds of one side alone, shape (rows, L)."""
    total = np.zeros((len(values), votes.shape[1]))
    for t in np.flatnonzero(which):
        # Round by round: the sums of old users stay the same when new ones join.
        total += values[:, t, None] * votes[t]
    return total


def _merge_products(users: Floats, items: Floats, votes: Reals) -> tuple[Floats, Floats, Reals]:
    """Return products, equal ones once with their votes added up."""
    firsts: dict[bytes, int] = {}
    added: dict[int, Reals] = {}
    signs = [(_sign(u), _sign(z)) for u, z in zip(users.T, items.T, strict=True)]
    for t, vote in enumerate(votes):
        # Keep a digest: the values of many rounds would fill the memory. Adding 0 makes -0 and 0
        # the same.
        content = sha256((users[:, t] * signs[t][0] + 0.0).tobytes())
        content.update((items[:, t] * signs[t][1] + 0.0).tobytes())
        first = firsts.setdefault(content.digest(), t)
        same = np.prod([*signs[t], *signs[first]])
        added[first] = added[first] + same * vote if first in added else vote
    kept = list(added)
    ends = np.array(list(added.values())).reshape(len(kept), votes.shape[1])
    return users[:, kept], items[:, kept], ends


def _sign(values: Floats) -> float:
    """Return the sign of the first value that is not 0."""
    present = values[values != 0]
    return -1.0 if len(present) and present[0] < 0 else 1.0
