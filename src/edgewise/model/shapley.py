"""Shapley values: how the columns of a row, and pairs of them, share its score.

The row is compared with other rows, the background. A coalition of columns takes its values from
the row, the other columns take theirs from a background row, and the score of that mixture is the
worth of the coalition (SHAP's interventional values; Lundberg and Lee 2017). The Shapley values of
the columns sum to the row's score less the background's mean score. The Shapley interaction index
(Grabisch and Roubens 1999) is what two columns do only together; a column keeps the rest, as in
Lundberg et al. 2020.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import beta

from edgewise.common.dtypes import Columns, Reals
from edgewise.model.forest import Forest
from edgewise.model.rules import Linear
from edgewise.model.tables import ScoreTables, look_up

# How many walks of background rows through terms are followed at once.
_WALKS_AT_ONCE = 1 << 14


class Shares(NamedTuple):
    """Contributions of columns and pairs of columns to the scores of a row."""

    columns: Columns  # (U,), the columns in use
    values: Reals  # (U, K), the Shapley values
    pairs: Columns  # (P, 2), indices into `columns`
    interactions: Reals  # (P, K), the interaction indices
    base: Reals  # (K,), the mean scores of the background

    @property
    def alone(self) -> Reals:
        """The contribution of each column without its pairs, shape (U, K)."""
        alone = self.values.copy()
        for side in self.pairs.T:
            np.add.at(alone, side, -0.5 * self.interactions)
        return alone

    def extend_to(self, columns: Columns) -> "Shares":
        """Return the shares of more columns; those that are not in use have none."""
        positions = np.searchsorted(columns, self.columns)
        values = np.zeros((len(columns), self.values.shape[1]))
        values[positions] = self.values
        return self._replace(columns=columns, values=values, pairs=positions[self.pairs])

    def divide(self, sources: Sequence[tuple[int, ...]]) -> "Shares":
        """Return the shares of the source columns, one or two for each derived column.

        The two share its value equally. What it contributes without its pairs is what they do
        only together.
        """
        columns = np.unique([j for made_of in sources for j in made_of]).astype(np.intp)
        # (U, columns), what each source has of a column
        division = np.array(
            [[(j in made_of) / len(made_of) for j in columns.tolist()] for made_of in sources]
        )
        made_of = [np.flatnonzero(row).tolist() for row in division]
        by_pair: dict[tuple[int, int], Reals] = {}

        def add(s: int, t: int, amount: Reals) -> None:
            # What a column does together with itself, it does alone.
            if s != t:
                pair = min(s, t), max(s, t)
                by_pair[pair] = by_pair.get(pair, 0.0) + amount

        for u, amount in enumerate(self.alone):
            add(made_of[u][0], made_of[u][-1], amount)
        for (u, w), amount in zip(self.pairs.tolist(), self.interactions, strict=True):
            for s, t in product(made_of[u], made_of[w]):
                add(s, t, division[u, s] * division[w, t] * amount)
        pairs = np.array([*by_pair], dtype=np.intp).reshape(-1, 2)
        interactions = np.array([*by_pair.values()]).reshape(-1, self.values.shape[1])
        return Shares(columns, division.T @ self.values, pairs, interactions, self.base)


def add_linear_rules(
    shares: Shares, linear: dict[Linear, Reals], row: Reals, background: Reals
) -> Shares:
    """Add rules that are columns themselves, with their coefficients, to the shares of others."""
    values, base = shares.values.copy(), shares.base.copy()
    for rule, moves in linear.items():
        u = int(np.searchsorted(shares.columns, rule.column))
        value, others = (
            np.where(np.isnan(rows), rule.fill, rows) for rows in (row[u, 0], background[u])
        )
        values[u] += moves * (value - others.mean())
        base += moves * others.mean()
    return shares._replace(values=values, base=base)


def additive_shares(tables: ScoreTables, row: Reals, background: Reals) -> Shares:
    """Return the shares of a model of stumps: each column's curve less its mean.

    The values of the columns in use have the shapes (U, 1) and (U, m).
    """
    values, base = np.zeros((len(row), len(tables.bias))), tables.bias.copy()
    for u in range(len(row)):
        mean = look_up(background[u], *tables.of_column(u)).mean(axis=0)
        values[u] = look_up(row[u], *tables.of_column(u))[0] - mean
        base += mean
    pairs = np.empty((0, 2), dtype=np.intp)
    return Shares(tables.columns, values, pairs, np.empty((0, len(base))), base)


def forest_shares(forest: Forest, row: Reals, background: Reals) -> Shares:
    """Return the shares of a forest, given the columns in use, shapes (U, 1) and (U, m).

    A leaf is reached by the mixtures that take some columns, A, from the row and others, B, from
    the background, on paths that split where the two differ. Its share follows from the sizes of A
    and B.
    """
    n_columns, n_scores, n_rows = len(row), forest.leaves.shape[1], background.shape[1]
    values, base = np.zeros((n_columns, n_scores)), np.zeros(n_scores)
    interactions, pairs = np.zeros((0, n_scores)), np.zeros(0, dtype=np.intp)
    step = 1 + _WALKS_AT_ONCE // (1 + len(forest.roots))
    for start in range(0, n_rows, step):
        others = np.ascontiguousarray(background[:, start : start + step])
        base += forest.walk(others).sum(axis=0)
        single, paired = _weigh_leaves(_follow_paths(forest, row[:, 0], others), n_columns)
        values += _sum_leaves(*single, n_columns, forest.leaves)
        pair, leaf, weight = paired
        pairs, index = np.unique(np.concatenate([pairs, pair]), return_inverse=True)
        previous = interactions
        interactions = np.zeros((len(pairs), n_scores))
        interactions[index[: len(previous)]] = previous
        interactions += _sum_leaves(index[len(previous) :], leaf, weight, len(pairs), forest.leaves)
    both = np.stack([pairs // n_columns, pairs % n_columns], axis=1)
    return Shares(forest.columns, values / n_rows, both, interactions / n_rows, base / n_rows)


class _Paths(NamedTuple):
    """Paths to leaves that split on the same number of columns."""

    leaves: Columns  # (S,)
    columns: Columns  # (S, C), the columns that they split on
    from_row: NDArray[np.bool_]  # (S, C), whether the column is taken from the row


def _follow_paths(forest: Forest, row: Reals, background: Reals) -> Iterator[_Paths]:
    """Follow every term with mixtures of a row, shape (U,), and each of some others, (U, m)."""
    n_rows = background.shape[1]
    roots = forest.roots[forest.roots >= 0]
    node, other = np.repeat(roots, n_rows), np.tile(np.arange(n_rows), len(roots))
    # A path has split on `count` columns; the remaining entries of `columns` are -1.
    count = np.zeros(len(node), dtype=np.intp)
    columns = np.full((len(node), 1), -1, dtype=np.intp)
    from_row = np.zeros((len(node), 1), dtype=bool)
    finished: dict[int, list[_Paths]] = {}
    while len(node):
        column = forest.node_columns[node]
        child_of_row = forest.find_children(node, row[column])
        child_of_other = forest.find_children(node, background[column, other])
        is_before = columns == column[:, None]
        is_fixed = is_before.any(axis=1)
        is_fixed_to_row = (is_before & from_row).any(axis=1)
        is_split = ~is_fixed & (child_of_row != child_of_other)
        # A path splits in two: with the row, and with the other.
        with_row = np.flatnonzero(~is_fixed | is_fixed_to_row)
        with_other = np.flatnonzero((is_fixed & ~is_fixed_to_row) | is_split)
        path = np.concatenate([with_row, with_other])
        takes_row = np.repeat([True, False], [len(with_row), len(with_other)])
        node = np.where(takes_row, child_of_row[path], child_of_other[path])
        other, count, columns, from_row = other[path], count[path], columns[path], from_row[path]
        new = np.flatnonzero(is_split[path])
        if len(new) and count[new].max() == columns.shape[1]:
            columns = np.pad(columns, ((0, 0), (0, 1)), constant_values=-1)
            from_row = np.pad(from_row, ((0, 0), (0, 1)))
        columns[new, count[new]] = column[path[new]]
        from_row[new, count[new]] = takes_row[new]
        count[new] += 1
        at_leaf, inside = node < 0, np.flatnonzero(node >= 0)
        # A path that never split contributes to no column.
        for size in range(1, columns.shape[1] + 1):
            ends = np.flatnonzero(at_leaf & (count == size))
            paths = _Paths(-1 - node[ends], columns[ends, :size], from_row[ends, :size])
            finished.setdefault(size, []).append(paths)
        node, other, count = node[inside], other[inside], count[inside]
        columns, from_row = columns[inside], from_row[inside]
    for group in finished.values():
        yield _Paths(*map(np.concatenate, zip(*group, strict=True)))


_LeafWeights = tuple[Columns, Columns, Reals]
"""Columns or pairs of columns, the leaves they lead to, and the weights of these leaves."""


def _weigh_leaves(paths: Iterator[_Paths], n_columns: int) -> tuple[_LeafWeights, _LeafWeights]:
    """Return the weights of leaves in the values of columns, and in the indices of pairs."""
    none = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    single, paired = [none], [none]
    for leaves, columns, from_row in paths:
        in_a = from_row.astype(np.intp)
        size, n_in_a = columns.shape[1], in_a.sum(axis=1)[:, None]
        a = np.arange(size + 1)
        b = size - a
        # (a - 1)! b! / (a + b)! for a column of A, and -a! (b - 1)! / (a + b)! for one of B
        alone = np.stack([-_beta(a + 1, b), _beta(a, b + 1)])
        single.append((columns.ravel(), np.repeat(leaves, size), alone[in_a, n_in_a].ravel()))
        # a! (b - 2)!, -(a - 1)! (b - 1)! or (a - 2)! b!, over (a + b - 1)!
        both = np.stack([_beta(a + 1, b - 1), -_beta(a, b), _beta(a - 1, b + 1)])
        i, j = np.triu_indices(size, 1)
        low, high = np.sort([columns[:, i], columns[:, j]], axis=0)
        weight = both[in_a[:, i] + in_a[:, j], n_in_a]
        paired.append(((low * n_columns + high).ravel(), np.repeat(leaves, len(i)), weight.ravel()))
    return _concatenate(single), _concatenate(paired)


def _beta(a: Columns, b: Columns) -> Reals:
    """Return the beta function; where it is undefined, no path needs its value."""
    return np.asarray(beta(np.maximum(a, 1), np.maximum(b, 1)))


def _concatenate(parts: list[_LeafWeights]) -> _LeafWeights:
    indices, leaves, weights = map(np.concatenate, zip(*parts, strict=True))
    return indices, leaves, weights


def _sum_leaves(index: Columns, leaf: Columns, weight: Reals, size: int, leaves: Reals) -> Reals:
    return sparse.csr_array((weight, (index, leaf)), shape=(size, len(leaves))) @ leaves
