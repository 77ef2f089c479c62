"""The rounds of a boosted factorisation, and the few factors that they come down to."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.recommend.boosted.climb import BOTH, ITEMS, USERS


@dataclass(frozen=True, eq=False)
class Factors:
    """User factors, item factors and votes: a score is the sum over terms of their product.

    Attributes
    ----------
    users : float64 array of shape (users, terms)
        User factors.
    items : float64 array of shape (items, terms)
        Item factors.
    votes : float64 array of shape (terms, L)
        The votes of the terms for each score column.
    n_single : int
        How many of the terms, the first ones, are of users alone or items alone.
    """

    users: Reals
    items: Reals
    votes: Reals
    n_single: int = 0

    def pairs(self, users: NDArray[np.intp], items: NDArray[np.intp]) -> Reals:
        """Return the scores of pairs, shape (pairs, L)."""
        scores = np.empty((len(users), self.votes.shape[1]))
        for start in range(0, len(users), _PAIRS):
            part = slice(start, start + _PAIRS)
            products = self.users[users[part]] * self.items[items[part]]
            scores[part] = np.einsum("pt,tl->pl", products, self.votes)
        return scores

    def table(self, users: NDArray[np.intp]) -> Reals:
        """Return the scores of all items for some users, shape (users, items, L)."""
        values = self.users[users]
        columns = [(values * votes) @ self.items.T for votes in self.votes.T]
        return np.stack(columns, axis=-1)

    def without_votes(self) -> "Factors":
        """Return factors of one score column whose votes are all 1, the sizes shared evenly."""
        votes = self.votes[:, 0]
        size = np.sqrt(np.abs(votes))
        signed = np.where(votes < 0, -size, size)
        ones = np.ones((len(votes), 1))
        return Factors(self.users * signed, self.items * size, ones, self.n_single)

    def tastes(self, side: str) -> Reals:
        """Return what users, or items, differ in beyond being liked more: a row for each.

        A term counts as much as it moves scores. Without any product the offsets are all there is.
        """
        values, others = (self.users, self.items) if side == "users" else (self.items, self.users)
        size = np.sqrt((self.votes**2).sum(axis=1) * (others**2).mean(axis=0))
        first = self.n_single if self.n_single < len(size) else 0
        return (values * size)[:, first:]


# Pairs are scored so many at a time, which bounds the memory.
_PAIRS = 2048


def fold(user_values: Reals, item_values: Reals, votes: Reals, kinds: NDArray[np.int8]) -> Factors:
    """Return the factors of all rounds, those that repeat each other made one.

    Rounds of users alone, however many, come down to one term for each score column; so do those
    of items alone. Of the others, products that are the same but for their sign share their votes.

    Parameters
    ----------
    user_values, item_values : float64 arrays of shape (rounds, users) and (rounds, items)
        U and Z of each round.
    votes : float64 array of shape (rounds, L)
        What the products are multiplied by.
    kinds : int8 array of shape (rounds,)
        What the values of each round belong to.
    """
    parts = []
    width = votes.shape[1]
    for kind, values in ((USERS, user_values), (ITEMS, item_values)):
        at = np.flatnonzero(kinds == kind)
        if len(at):
            # The scores of each column that these rounds add up to.
            added = np.zeros((values.shape[1], width))
            for t in at:
                # Round by round: the sums of old users are the same when there are new ones.
                added += values[t][:, None] * votes[t]
            ones = np.ones(((item_values if kind == USERS else user_values).shape[1], width))
            pair = (added, ones) if kind == USERS else (ones, added)
            parts.append((*pair, np.eye(width)))
    at = np.flatnonzero(kinds == BOTH)
    if len(at):
        parts.append(_merged(user_values[at], item_values[at], votes[at]))
    if not parts:
        n_users, n_items = user_values.shape[1], item_values.shape[1]
        return Factors(np.zeros((n_users, 0)), np.zeros((n_items, 0)), np.zeros((0, width)))
    users, items, ends = (np.concatenate(columns, axis=-1) for columns in _columns(parts))
    n_single = width * (len(parts) - (len(at) > 0))
    return Factors(users, items, np.ascontiguousarray(ends.T), n_single)


def _columns(parts: list[tuple[Reals, Reals, Reals]]) -> Any:
    return (
        [users for users, _, _ in parts],
        [items for _, items, _ in parts],
        [votes.T for _, _, votes in parts],
    )


def _merged(users: Reals, items: Reals, votes: Reals) -> tuple[Reals, Reals, Reals]:
    """Return the products in columns, equal ones once with their votes added up."""
    places: dict[bytes, int] = {}
    first: list[int] = []
    added: list[Reals] = []
    for t, vote in enumerate(votes):
        signs = _sign(users[t]), _sign(items[t])
        # A digest, and not the values themselves: of many rounds these would fill the memory. The 0
        # that is added makes -0 and 0 the same.
        content = sha256(users[t] * signs[0] + 0.0)
        content.update(items[t] * signs[1] + 0.0)
        place = places.setdefault(content.digest(), len(first))
        if place == len(first):
            first.append(t)
            added.append(vote.copy())
        else:
            same = signs[0] * signs[1] * _sign(users[first[place]]) * _sign(items[first[place]])
            added[place] += same * vote
    kept = np.array(first)
    return users[kept].T, items[kept].T, np.array(added)


def _sign(values: Reals) -> float:
    """Return the sign of the first value that is not 0."""
    present = values[values != 0]
    return -1.0 if len(present) and present[0] < 0 else 1.0
