"""Shapley values: how the columns of a row, and pairs of them, share its score.

The row is compared with other rows, the background. A coalition of columns takes its values from
the row and the other columns theirs from a background row; the score of that mixture is the worth
of the coalition (SHAP's interventional values; Lundberg and Lee 2017). The Shapley values of the
columns sum to the row's score less the background's mean score. What two columns do only together
is their Shapley interaction index (Grabisch and Roubens 1999); a column keeps the rest, as in
Lundberg et al. 2020.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import beta

from edgewise.common.dtypes import Columns, Reals
from edgewise.model.forest import Forest
from edgewise.model.predict import ScoreTables, score

# How many background rows are followed through all terms at once.
_ROWS_AT_ONCE = 16


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
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        others = np.ascontiguousarray(background[:, start : start + _ROWS_AT_ONCE])
        base += forest.walk(others).sum(axis=0)
        paths = _paths(forest, row[:, 0], others)
        single, end, weight = _single(paths)
        values += _summed(single, weight, forest.ends[end], n_columns)
        pair, end, weight = _paired(paths, n_columns)
        found, place = np.unique(np.concatenate([found, pair]), return_inverse=True)
        earlier = np.zeros((len(found), n_scores))
        earlier[place[: len(together)]] = together
        together = earlier
        together += _summed(place[len(place) - len(pair) :], weight, forest.ends[end], len(found))
    pairs = np.stack([found // n_columns, found % n_columns], axis=1)
    return Shares(forest.columns, values / n_rows, pairs, together / n_rows, base / n_rows)


class _Paths(NamedTuple):
    """Ways to the ends where a row and background rows part."""

    ends: Columns  # (S,)
    decided: Columns  # (S, D), the columns on which they parted, -1 for none
    from_row: NDArray[np.bool_]  # (S, D), whether the column is taken from the row


def _paths(forest: Forest, row: Reals, background: Reals) -> _Paths:
    """Follow every term with mixtures of a row, shape (U,), and each of some others, (U, m)."""
    n_rows = background.shape[1]
    inside = forest.roots[forest.roots >= 0]
    at, other = np.repeat(inside, n_rows), np.tile(np.arange(n_rows), len(inside))
    decided = np.empty((len(at), 0), dtype=np.intp)
    from_row = np.empty((len(at), 0), dtype=bool)
    done: list[_Paths] = []
    while len(at):
        column = forest.places[at]
        ours = forest.following(at, row[column])
        theirs = forest.following(at, background[column, other])
        before = decided == column[:, None]
        known, is_ours = before.any(axis=1), (before & from_row).any(axis=1)
        parts = ~known & (ours != theirs)
        ways = (np.flatnonzero(~known | is_ours), np.flatnonzero((known & ~is_ours) | parts))
        way = np.concatenate(ways)
        mine = np.repeat([True, False], [len(ways[0]), len(ways[1])])
        at = np.where(mine, ours[way], theirs[way])
        new = np.where(parts[way], column[way], -1)
        decided = np.hstack([decided[way], new[:, None]])
        from_row = np.hstack([from_row[way], mine[:, None]])
        other = other[way]
        ended, left = np.flatnonzero(at < 0), np.flatnonzero(at >= 0)
        done.append(_Paths(-1 - at[ended], decided[ended], from_row[ended]))
        at, other, decided, from_row = at[left], other[left], decided[left], from_row[left]
    depth = decided.shape[1]
    return _Paths(
        np.concatenate([np.empty(0, dtype=np.intp), *(part.ends for part in done)]),
        _stacked([decided[:0], *(part.decided for part in done)], depth, -1),
        _stacked([from_row[:0], *(part.from_row for part in done)], depth, False),
    )


def _stacked(parts: list[NDArray[Any]], width: int, fill: Any) -> NDArray[Any]:
    wide = [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=fill) for p in parts]
    return np.vstack(wide)


def _single(paths: _Paths) -> tuple[Columns, Columns, Reals]:
    """Return columns, the ends they lead to and the weights of these in the Shapley values."""
    there = paths.decided >= 0
    ours = (there & paths.from_row).sum(axis=1)
    theirs = there.sum(axis=1) - ours
    path, place = np.nonzero(there)
    a, b, mine = ours[path], theirs[path], paths.from_row[path, place]
    # (a - 1)! b! / (a + b)! for a column of A, and -a! (b - 1)! / (a + b)! for one of B
    weight = np.where(mine, beta(np.maximum(a, 1), b + 1), -beta(a + 1, np.maximum(b, 1)))
    return paths.decided[path, place], paths.ends[path], weight


def _paired(paths: _Paths, n_columns: int) -> tuple[Columns, Columns, Reals]:
    """Return pairs of columns, the ends they lead to and the weights of these in the indices."""
    there = paths.decided >= 0
    ours = (there & paths.from_row).sum(axis=1)
    theirs = there.sum(axis=1) - ours
    pairs, ends, weights = [np.empty(0, np.intp)], [np.empty(0, np.intp)], [np.empty(0)]
    depth = there.shape[1]
    for p in range(depth):
        for q in range(p + 1, depth):
            both = np.flatnonzero(there[:, p] & there[:, q])
            i, j = paths.decided[both, p], paths.decided[both, q]
            mine = paths.from_row[both, p].astype(int) + paths.from_row[both, q]
            a, b = ours[both], theirs[both]
            # (a - 2)! b!, -(a - 1)! (b - 1)! or a! (b - 2)!, over (a + b - 1)!
            least = np.maximum(np.stack([a - 1, b - 1, a, b]), 1)
            cases = [beta(a + 1, least[1]), -beta(least[2], least[3]), beta(least[0], b + 1)]
            pairs.append(np.minimum(i, j) * n_columns + np.maximum(i, j))
            ends.append(paths.ends[both])
            weights.append(np.choose(mine, cases))
    return np.concatenate(pairs), np.concatenate(ends), np.concatenate(weights)


def _summed(place: Columns, weight: Reals, moves: Reals, size: int) -> Reals:
    """Return the weighted sums of rows of scores at each place, shape (size, K)."""
    sums = [np.bincount(place, weight * move, minlength=size) for move in moves.T]
    return np.stack(sums, axis=1)
