"""Shapley values: how the columns of a row, and pairs of them, share its score.

The row is compared with other rows, the background. A coalition of columns takes its values from
the row and the other columns theirs from a background row; the score of that mixture is the worth
of the coalition (SHAP's interventional values; Lundberg and Lee 2017). The Shapley values of the
columns sum to the row's score less the background's mean score. What two columns do only together
is their Shapley interaction index (Grabisch and Roubens 1999); a column keeps the rest, as in
Lundberg et al. 2020.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import beta

from edgewise.common.dtypes import Columns, Reals
from edgewise.model.forest import Forest
from edgewise.model.predict import ScoreTables, score
from edgewise.model.rules import Linear

# How many walks through a term, of a background row each, are followed at once.
_WALKS = 1 << 14


class Shares(NamedTuple):
    """What columns and pairs of columns add to the scores of a row."""

    columns: Columns  # (U,), the columns in use
    values: Reals  # (U, K), the Shapley values
    pairs: Columns  # (P, 2), places in `columns`
    interactions: Reals  # (P, K), the interaction indices
    base: Reals  # (K,), the mean scores of the background

    @property
    def alone(self) -> Reals:
        """What each column adds without the pairs it is in, shape (U, K)."""
        alone = self.values.copy()
        for side in self.pairs.T:
            np.add.at(alone, side, -0.5 * self.interactions)
        return alone

    def among(self, columns: Columns, places: Columns) -> "Shares":
        """Return the shares as some of more columns, at these places."""
        values = np.zeros((len(columns), self.values.shape[1]))
        values[places] = self.values
        return self._replace(columns=columns, values=values, pairs=places[self.pairs])


def with_lines(
    shares: Shares, lines: list[tuple[Linear, Reals]], row: Reals, background: Reals
) -> Shares:
    """Add rules that are columns themselves, with their coefficients, to the shares of others."""
    values, base = shares.values.copy(), shares.base.copy()
    for line, moves in lines:
        f = int(np.searchsorted(shares.columns, line.column))
        own, others = (
            np.where(np.isnan(part), line.fill, part) for part in (row[f, 0], background[f])
        )
        values[f] += moves * (own - others.mean())
        base += moves * others.mean()
    return shares._replace(values=values, base=base)


def additive_shares(tables: ScoreTables, row: Reals, background: Reals) -> Shares:
    """Return the shares of a model of stumps: each column's curve less its mean.

    The values of the columns in use have the shapes (U, 1) and (U, m).
    """
    values, base = np.zeros((len(row), len(tables.bias))), tables.bias.copy()
    for f in range(len(row)):
        own, others = np.zeros((1, len(base))), np.zeros((background.shape[1], len(base)))
        score(row[f], *tables.of(f), own)
        score(background[f], *tables.of(f), others)
        mean = others.mean(axis=0)
        values[f] = own[0] - mean
        base += mean
    pairs = np.empty((0, 2), dtype=np.intp)
    return Shares(tables.columns, values, pairs, np.empty((0, len(base))), base)


def forest_shares(forest: Forest, row: Reals, background: Reals) -> Shares:
    """Return the shares of a forest, given the columns in use, shapes (U, 1) and (U, m).

    An end of a term is reached by the mixtures that take some columns, A, from the row and others,
    B, from the background: by the paths of a walk that goes both ways where the two part. Its share
    follows from the sizes of A and B.
    """
    n_columns, n_scores, n_rows = len(row), forest.ends.shape[1], background.shape[1]
    values, base = np.zeros((n_columns, n_scores)), np.zeros(n_scores)
    together, found = np.zeros((0, n_scores)), np.zeros(0, dtype=np.intp)
    step = 1 + _WALKS // (1 + len(forest.roots))
    for start in range(0, n_rows, step):
        others = np.ascontiguousarray(background[:, start : start + step])
        base += forest.walk(others).sum(axis=0)
        single, paired = _weighed(_paths(forest, row[:, 0], others), n_columns)
        values += _summed(*single, n_columns, forest.ends)
        pair, end, weight = paired
        found, place = np.unique(np.concatenate([found, pair]), return_inverse=True)
        earlier = np.zeros((len(found), n_scores))
        earlier[place[: len(together)]] = together
        together = earlier
        mine = place[len(place) - len(pair) :]
        together += _summed(mine, end, weight, len(found), forest.ends)
    pairs = np.stack([found // n_columns, found % n_columns], axis=1)
    return Shares(forest.columns, values / n_rows, pairs, together / n_rows, base / n_rows)


class _Paths(NamedTuple):
    """Ways to ends on which a row and background rows parted on the same number of columns."""

    ends: Columns  # (S,)
    columns: Columns  # (S, C), the columns on which they parted
    from_row: NDArray[np.bool_]  # (S, C), whether the column is taken from the row


def _paths(forest: Forest, row: Reals, background: Reals) -> Iterator[_Paths]:
    """Follow every term with mixtures of a row, shape (U,), and each of some others, (U, m)."""
    n_rows = background.shape[1]
    inside = forest.roots[forest.roots >= 0]
    at, other = np.repeat(inside, n_rows), np.tile(np.arange(n_rows), len(inside))
    # A path has parted on `count` columns; -1 is in the places of others.
    count = np.zeros(len(at), dtype=np.intp)
    columns = np.full((len(at), 1), -1, dtype=np.intp)
    from_row = np.zeros((len(at), 1), dtype=bool)
    done: dict[int, list[_Paths]] = {}
    while len(at):
        column = forest.places[at]
        ours = forest.following(at, row[column])
        theirs = forest.following(at, background[column, other])
        before = columns == column[:, None]
        known, is_ours = before.any(axis=1), (before & from_row).any(axis=1)
        parts = ~known & (ours != theirs)
        ways = (np.flatnonzero(~known | is_ours), np.flatnonzero((known & ~is_ours) | parts))
        way = np.concatenate(ways)
        mine = np.repeat([True, False], [len(ways[0]), len(ways[1])])
        at = np.where(mine, ours[way], theirs[way])
        other, count, columns, from_row = other[way], count[way], columns[way], from_row[way]
        new = np.flatnonzero(parts[way])
        if len(new) and count[new].max() == columns.shape[1]:
            columns = np.pad(columns, ((0, 0), (0, 1)), constant_values=-1)
            from_row = np.pad(from_row, ((0, 0), (0, 1)))
        columns[new, count[new]] = column[way[new]]
        from_row[new, count[new]] = mine[new]
        count[new] += 1
        ended, left = at < 0, np.flatnonzero(at >= 0)
        # A path that parted nowhere says nothing about columns.
        for size in range(1, columns.shape[1] + 1):
            these = np.flatnonzero(ended & (count == size))
            part = _Paths(-1 - at[these], columns[these, :size], from_row[these, :size])
            done.setdefault(size, []).append(part)
        at, other, count = at[left], other[left], count[left]
        columns, from_row = columns[left], from_row[left]
    for some in done.values():
        yield _Paths(*map(np.concatenate, zip(*some, strict=True)))


_Weighed = tuple[Columns, Columns, Reals]
"""Columns or pairs of columns, the ends they lead to, and the weights of these ends."""


def _weighed(paths: Iterator[_Paths], n_columns: int) -> tuple[_Weighed, _Weighed]:
    """Return the weights of ends in the Shapley values of columns, and in the indices of pairs."""
    none = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    single, paired = [none], [none]
    for ends, columns, from_row in paths:
        mine = from_row.astype(np.intp)
        size, n_mine = columns.shape[1], mine.sum(axis=1)[:, None]
        a = np.arange(size + 1)
        b = size - a
        # (a - 1)! b! / (a + b)! for a column of A, and -a! (b - 1)! / (a + b)! for one of B
        alone = np.stack([-_beta(a + 1, b), _beta(a, b + 1)])
        single.append((columns.ravel(), np.repeat(ends, size), alone[mine, n_mine].ravel()))
        # a! (b - 2)!, -(a - 1)! (b - 1)! or (a - 2)! b!, over (a + b - 1)!
        both = np.stack([_beta(a + 1, b - 1), -_beta(a, b), _beta(a - 1, b + 1)])
        i, j = np.triu_indices(size, 1)
        low, high = np.sort([columns[:, i], columns[:, j]], axis=0)
        weight = both[mine[:, i] + mine[:, j], n_mine]
        paired.append(((low * n_columns + high).ravel(), np.repeat(ends, len(i)), weight.ravel()))
    return _joined(single), _joined(paired)


def _beta(a: Columns, b: Columns) -> Reals:
    """Return the beta function; where it is not defined, no weight is of that size."""
    return np.asarray(beta(np.maximum(a, 1), np.maximum(b, 1)))


def _joined(parts: list[_Weighed]) -> _Weighed:
    places, ends, weights = map(np.concatenate, zip(*parts, strict=True))
    return places, ends, weights


def _summed(place: Columns, end: Columns, weight: Reals, size: int, ends: Reals) -> Reals:
    """Return the weighted sums of ends at each place, shape (size, K)."""
    return sparse.csr_array((weight, (place, end)), shape=(size, len(ends))) @ ends
