"""The rounds of a boosted factorisation, and the few factors that they come down to."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.recommend.similarity import SINGLE, SLACK

USERS, ITEMS, BOTH = 0, 1, 2
"""The kinds of rounds: values of users alone, of items alone, or a product of both."""

# Pairs are scored this many at a time, which bounds the memory.
_PAIRS = 2048


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


@dataclass(frozen=True, eq=False)
class RoundFactors:
    """User factors, item factors and votes: a score is the sum over terms of their product.

    The first `n_single` terms are of users alone or items alone.
    """

    users: Reals
    items: Reals
    votes: Reals
    n_single: int = 0

    def pairs(self, users: NDArray[np.intp], items: NDArray[np.intp]) -> Reals:
        """Return the scores of pairs, shape (pairs, L)."""
        scores = np.empty((len(users), self.votes.shape[1]))
        alike, n = self._alike, self.n_single
        for start in range(0, len(users), _PAIRS):
            part = slice(start, start + _PAIRS)
            products = self.users[users[part]] * self.items[items[part]]
            if alike is None:
                scores[part] = np.einsum("pt,tl->pl", products, self.votes)
            else:
                scores[part] = np.einsum("pt,tl->pl", products[:, :n], self.votes[:n])
                scores[part] += products[:, n:].sum(axis=1)[:, None] * alike
        return scores

    @cached_property
    def _alike(self) -> Reals | None:
        """The votes that all products share, if they do."""
        votes = self.votes[self.n_single :]
        return votes[0] if len(votes) and (votes == votes[0]).all() else None

    def table(self, users: NDArray[np.intp]) -> Reals:
        """Return the scores of all items for some users, shape (users, items, L)."""
        values, n, alike = self.users[users], self.n_single, self._alike
        if alike is not None:
            products = values[:, n:] @ self.items[:, n:].T
            values, items, ends = values[:, :n], self.items[:, :n], self.votes[:n]
            columns = [
                (values * votes) @ items.T + products * vote
                for votes, vote in zip(ends.T, alike.tolist(), strict=True)
            ]
        else:
            columns = [(values * votes) @ self.items.T for votes in self.votes.T]
        return np.stack(columns, axis=-1)

    def without_votes(self) -> "RoundFactors":
        """Return factors of one score column whose votes are all 1, sizes shared evenly."""
        votes = self.votes[:, 0]
        size = np.sqrt(np.abs(votes))
        signed = np.where(votes < 0, -size, size)
        ones = np.ones((len(votes), 1))
        return RoundFactors(self.users * signed, self.items * size, ones, self.n_single)

    def tastes(self, side: str) -> Reals:
        """Return vectors of users, or items, without their offsets, which are no taste.

        A term counts as much as it moves scores. Without products the offsets are all there is.
        """
        values, others = (self.users, self.items) if side == "users" else (self.items, self.users)
        size = np.sqrt((self.votes**2).sum(axis=1) * (others**2).mean(axis=0))
        first = self.n_single if self.n_single < len(size) else 0
        return (values * size)[:, first:]


class SingleRounds(NamedTuple):
    """Factors in single precision, to find the best items with."""

    users: NDArray[np.float32]
    items: NDArray[np.float32]
    votes: NDArray[np.float32]
    longest: float

    @classmethod
    def of(cls, factors: RoundFactors) -> "SingleRounds":
        """Return factors in single precision."""
        longest = float(np.sqrt((factors.items**2).sum(axis=1).max(initial=0.0)))
        users, items, votes = (
            part.astype(np.float32) for part in (factors.users, factors.items, factors.votes)
        )
        return cls(users, items, votes, longest)

    def scores(self, users: NDArray[np.intp], column: int) -> tuple[NDArray[np.float32], Reals]:
        """Return the scores of all items for some users, and how far off they may be."""
        values: NDArray[np.float32] = self.users[users] * self.votes[:, column]
        lengths = np.sqrt((values.astype(np.float64) ** 2).sum(axis=1))
        off = SINGLE * (len(self.votes) + SLACK) * lengths * self.longest
        return values @ self.items.T, off


def fold(
    user_values: Reals,
    item_values: Reals,
    votes: Reals,
    kinds: NDArray[np.int8],
    merge: bool = True,
) -> RoundFactors:
    """Return the factors of all rounds, merging rounds that repeat each other.

    All rounds of users alone come down to one term for each score column, and so do those of items
    alone. With `merge`, products that are equal but for their sign share their votes.
    """
    width, n_users, n_items = votes.shape[1], user_values.shape[1], item_values.shape[1]
    parts = []
    for kind, values in ((USERS, user_values), (ITEMS, item_values)):
        at = np.flatnonzero(kinds == kind)
        if len(at):
            added = np.zeros((values.shape[1], width))
            for t in at:
                # Round by round: the sums of old users stay the same when new ones join.
                added += values[t][:, None] * votes[t]
            ones = np.ones((n_items if kind == USERS else n_users, width))
            pair = (added, ones) if kind == USERS else (ones, added)
            parts.append((*pair, np.eye(width)))
    n_single = width * len(parts)
    at = np.flatnonzero(kinds == BOTH)
    if len(at):
        found = user_values[at], item_values[at], votes[at]
        parts.append(_merged(*found) if merge else (found[0].T, found[1].T, found[2]))
    if not parts:
        parts.append((np.zeros((n_users, 0)), np.zeros((n_items, 0)), np.zeros((0, width))))
    users, items, ends = zip(*parts, strict=True)
    return RoundFactors(
        np.concatenate(users, axis=1),
        np.concatenate(items, axis=1),
        np.ascontiguousarray(np.concatenate(ends)),
        n_single,
    )


def _merged(users: Reals, items: Reals, votes: Reals) -> tuple[Reals, Reals, Reals]:
    """Return the products in columns, equal ones once with their votes added up."""
    firsts: dict[bytes, int] = {}
    added: dict[int, Reals] = {}
    signs = [(_sign(u), _sign(z)) for u, z in zip(users, items, strict=True)]
    for t, vote in enumerate(votes):
        # Keep a digest: the values of many rounds would fill the memory. Adding 0 makes -0 and 0
        # the same.
        content = sha256(users[t] * signs[t][0] + 0.0)
        content.update(items[t] * signs[t][1] + 0.0)
        first = firsts.setdefault(content.digest(), t)
        same = np.prod([*signs[t], *signs[first]])
        added[first] = added[first] + same * vote if first in added else vote
    kept = list(added)
    return users[kept].T, items[kept].T, np.array(list(added.values()))


def _sign(values: Reals) -> float:
    """Return the sign of the first value that is not 0."""
    present = values[values != 0]
    return -1.0 if len(present) and present[0] < 0 else 1.0
