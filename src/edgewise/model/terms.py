"""A model's terms packed into arrays: h(x) = sum over t of alpha_t v_t phi_t(x)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Columns, Exacts, Reals, Rows, Signs
from edgewise.common.fields import Array, Count, Record
from edgewise.model.rules import (
    EVERYWHERE,
    KINDS,
    Categories,
    Cut,
    PackedFactor,
    PerScore,
    ProductRule,
    Rule,
    Scores,
    Source,
    Subset,
    Test,
    TreeRule,
    require,
)

# The first leaves of every model, which the nodes of terms that are not trees lead to.
SIDES = np.array([[-1.0], [1.0], [0.0]])
_TO_SIDES = (-1, -2, -3)
_TREE, _PER_SCORE, _SCORES = map(KINDS.index, (TreeRule, PerScore, Scores))

# Where every score column has its own cut, tables hold K numbers for each of T K thresholds: far
# more than the terms themselves.
_MAX_TABLE_BYTES = 1 << 28


@dataclass(frozen=True)
class StumpTerms:
    """Cuts and their coefficients as arrays: one a term (C = 1), or one a score column (C = K).

    A cut, of shape (T, C), has a column, -1 for the constant +1; a threshold; and an output for
    missing values: -1, +1, or 0 where training saw none. Coefficients are `alphas` of shape (T,)
    times `votes` of shape (T, K).
    """

    columns: Rows
    thresholds: Reals
    missing: Signs
    alphas: Reals
    votes: Reals

    def __len__(self) -> int:
        return len(self.alphas)

    def __getitem__(self, which: slice) -> "StumpTerms":
        return StumpTerms(*(getattr(self, f.name)[which] for f in fields(self)))

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return self.votes.shape[1]

    @property
    def coefficients(self) -> Reals:
        """alpha_t v_t, shape (T, K)."""
        return self.alphas[:, None] * self.votes

    def rule(self, t: int) -> Cut | PerScore:
        """Return term `t` as a rule."""
        cuts = zip(self.columns[t], self.thresholds[t], self.missing[t], strict=True)
        rules = tuple(Cut(int(j), float(threshold), int(miss)) for j, threshold, miss in cuts)
        return rules[0] if len(rules) == 1 else PerScore(rules)


@dataclass(frozen=True)
class Terms:
    """All terms of a model, whatever the kinds of their rules: T terms, N nodes, F factors.

    A term is a tree of nodes; most kinds of rules are trees with a single node. A node's test is
    the product of its factors: cuts of numeric columns and subsets of categorical ones.
    """

    alphas: Reals  # (T,), the base coefficients
    votes: Reals  # (T, K)
    kinds: NDArray[np.int8]  # (T,), the place of each rule's kind in `rules.KINDS`
    real: NDArray[np.bool_]  # (T,), whether outputs are real numbers and not -1, 0 or +1
    firsts: Exacts  # (T + 1,), the nodes of term t are from firsts[t] to firsts[t + 1]
    # (3, N), what follows on a test of -1, +1 and 0: a node, counted over all terms, or -1 - a leaf
    children: Rows
    gains: NDArray[np.float32]  # (N,), of the splits of trees on the training rows, else 0
    starts: Exacts  # (N + 1,), the factors of node p are from starts[p] to starts[p + 1]
    columns: Rows  # (F,)
    thresholds: Reals  # (F,), NaN for a subset
    missing: Signs  # (F,), the output of a cut for missing values
    # (F + 1,), the bounds of each subset's outputs in `values`, int8 or float64; a cut has none.
    # A subset's last output is for missing and unseen values.
    value_starts: Exacts
    values: NDArray[Any]
    leaves: Reals  # (L, 1) or (L, K); the first three are -1, +1 and 0, where single nodes end
    # The cuts in each term of a model of stumps, scored by one table a column: 1 or K; else 0
    n_cuts: int = 0
    # The number of training rows that end in each leaf of `Scorer.paths_forest`; those of term t
    # are from cover_starts[t] to cover_starts[t + 1]. None are known before the end of training.
    covers: Exacts = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    cover_starts: Exacts = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if len(self.cover_starts) == 0:
            object.__setattr__(self, "cover_starts", np.zeros(len(self) + 1, dtype=np.int64))

    @staticmethod
    def pack(
        rules: Sequence[Rule], alphas: Sequence[float] | Reals, votes: Reals, n_cuts: int = 0
    ) -> "Terms":
        """Return rules as arrays."""
        packer = Packer()
        for rule in rules:
            packer.add(rule)
        return packer.terms(np.array(alphas, dtype=np.float64), votes, n_cuts)

    @staticmethod
    def empty(n_scores: int, n_cuts: int = 0) -> "Terms":
        """Return no terms."""
        return Terms.pack([], [], np.empty((0, n_scores)), n_cuts)

    def __len__(self) -> int:
        return len(self.alphas)

    def __getitem__(self, which: slice) -> "Terms":
        indices = range(len(self))[which]
        return self if indices == range(len(self)) else self.select([*indices], self.n_cuts)

    def select(self, indices: list[int], n_cuts: int = 0) -> "Terms":
        """Return some of the terms."""
        rules = [self.rule(t) for t in indices]
        terms = Terms.pack(rules, self.alphas[indices], self.votes[indices], n_cuts)
        bounds = self.cover_starts[:-1][indices], self.cover_starts[1:][indices]
        covers = [self.covers[start:end] for start, end in zip(*bounds, strict=True)]
        return replace(
            terms,
            covers=np.concatenate([self.covers[:0], *covers]),
            cover_starts=np.cumsum([0, *map(len, covers)], dtype=np.int64),
        )

    @property
    def n_split(self) -> Columns:
        """The number of terms that `split_scores` makes of each term."""
        return np.where(self.kinds == _PER_SCORE, np.diff(self.firsts), 1)

    def split_scores(self) -> "Terms":
        """Return the same terms, where each cut of a score column is a term of its own."""
        per_score, sizes = self.kinds == _PER_SCORE, self.n_split
        term = np.repeat(np.arange(len(self)), sizes)
        k = np.arange(len(term)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        votes = self.votes[term]
        others = per_score[term, None] & (np.arange(self.n_scores) != k[:, None])
        return replace(
            self,
            alphas=self.alphas[term],
            votes=np.where(others, 0.0, votes),
            kinds=np.where(per_score, KINDS.index(Test), self.kinds)[term].astype(np.int8),
            real=self.real[term],
            firsts=np.append(
                self.firsts[:-1][term] + np.where(per_score[term], k, 0), self.n_nodes
            ),
            n_cuts=min(self.n_cuts, 1),
            covers=self.covers[:0],
            cover_starts=self.cover_starts[:0],
        )

    def with_subsets(self, subsets: Mapping[int, Subset]) -> "Terms":
        """Return the same terms with subsets in the place of some factors, by their numbers."""
        columns, thresholds, missing = (
            self.columns.copy(),
            self.thresholds.copy(),
            self.missing.copy(),
        )
        values = [self.values_of(f) for f in range(len(columns))]
        for f, subset in subsets.items():
            columns[f], thresholds[f], missing[f] = subset.column, np.nan, 0
            values[f] = subset.values
        return replace(
            self,
            columns=columns,
            thresholds=thresholds,
            missing=missing,
            value_starts=np.cumsum([0, *map(len, values)], dtype=np.int64),
            values=np.concatenate([self.values[:0], *values]),
        )

    def __add__(self, other: "Terms") -> "Terms":
        if len(self) == 0:
            return other
        if len(other) == 0:
            return self
        width = max(self.leaves.shape[1], other.leaves.shape[1])
        leaves, more = (
            np.broadcast_to(terms.leaves, (len(terms.leaves), width)) for terms in (self, other)
        )
        # The shared leaves keep their indices.
        inner, shared = other.children >= 0, other.children >= -len(SIDES)
        moved = other.children - np.where(shared, 0, len(leaves) - len(SIDES))
        moved = np.where(inner, other.children + self.n_nodes, moved).astype(np.int32)
        arrays: dict[str, Any] = {}
        for name in ("firsts", "starts", "value_starts", "cover_starts"):
            bounds = getattr(self, name)
            arrays[name] = np.append(bounds, getattr(other, name)[1:] + bounds[-1])
        for name in (
            *("alphas", "votes", "kinds", "real", "gains"),
            *("columns", "thresholds", "missing", "values", "covers"),
        ):
            arrays[name] = np.concatenate([getattr(self, name), getattr(other, name)])
        arrays["leaves"] = np.concatenate([leaves, more[len(SIDES) :]])
        return replace(self, **arrays, children=np.hstack([self.children, moved]))

    # Rules

    def rule(self, t: int) -> Rule:
        """Return term `t` as a rule."""
        return KINDS[self.kinds[t]].unpack(self, t)

    @property
    def rules(self) -> list[Rule]:
        """The rules of all terms."""
        return [self.rule(t) for t in range(len(self))]

    def nodes(self, t: int) -> range:
        """Return the nodes of a term."""
        return range(int(self.firsts[t]), int(self.firsts[t + 1]))

    def first_factor(self, t: int) -> int:
        """Return the first factor of a term."""
        return int(self.starts[self.firsts[t]])

    def test(self, p: int) -> Test:
        """Return the test of a node."""
        factors = [self._factor(f) for f in range(int(self.starts[p]), int(self.starts[p + 1]))]
        if not factors:
            return EVERYWHERE
        return factors[0] if len(factors) == 1 else ProductRule(tuple(factors))

    def _factor(self, f: int) -> Cut | Subset:
        column, values = int(self.columns[f]), self.values_of(f)
        if len(values) == 0:
            return Cut(column, float(self.thresholds[f]), int(self.missing[f]))
        return Subset(column, values.astype(np.int8, copy=False))

    def values_of(self, f: int) -> NDArray[Any]:
        """Return the outputs of a subset's values; none for a cut."""
        return self.values[int(self.value_starts[f]) : int(self.value_starts[f + 1])]

    # Numbers

    @property
    def n_nodes(self) -> int:
        """N, the number of nodes of all terms."""
        return self.children.shape[1]

    @property
    def n_trees(self) -> int:
        """The number of terms that are trees."""
        return int((self.kinds == _TREE).sum())

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return self.votes.shape[1]

    @property
    def is_additive(self) -> bool:
        """Whether scores are sums of functions of single columns: a model of stumps."""
        return self.n_cuts > 0

    @cached_property
    def has_tables(self) -> bool:
        """Whether a model of stumps has tables to score rows by, and not term by term."""
        row_bytes = 8 * self.n_scores
        if self.n_cuts < 2 or len(self.columns) * row_bytes <= _MAX_TABLE_BYTES:
            return self.is_additive
        cuts = np.stack([self.columns.astype(np.float64), self.thresholds])
        return int(np.unique(cuts, axis=1).shape[1]) * row_bytes <= _MAX_TABLE_BYTES

    @property
    def coefficients(self) -> Reals:
        """alpha_t v_t, shape (T, K)."""
        return self.alphas[:, None] * self.votes

    @property
    def total_vote(self) -> float:
        """The largest score that any row could reach, by which margins are normalized."""
        if len(self) == 0:
            return 0.0
        # A child that is a node counts as the leaf 0.
        ends = np.where(self.children < 0, -1 - self.children, -1 - _TO_SIDES[2])
        sizes = np.abs(self.leaves).max(axis=1)[ends]
        outputs = np.maximum.reduceat(sizes.max(axis=0), self.firsts[:-1])
        for t in np.flatnonzero(self.kinds == _SCORES).tolist():
            outputs[t] = np.abs(self.values_of(self.first_factor(t))).max()
        return float((np.abs(self.coefficients).max(axis=1) * outputs).sum())

    @cached_property
    def term_of_node(self) -> Columns:
        """The term of each node."""
        return np.repeat(np.arange(len(self)), np.diff(self.firsts))

    @cached_property
    def node_of_factor(self) -> Columns:
        """The node of each factor."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.starts))

    @cached_property
    def term_of_factor(self) -> Columns:
        """The term of each factor."""
        return self.term_of_node[self.node_of_factor]

    def shares(self, decreases: Reals) -> Reals:
        """Divide the decrease of the loss by each term among its factors, shape (F,).

        The tests of a tree share it by their gains, the factors of a test equally, and the cuts of
        score columns by their votes.
        """
        node, term = self.node_of_factor, self.term_of_factor
        each = self.gains[node] / np.diff(self.starts)[node]
        totals = np.bincount(term, each, minlength=len(self))
        # Rules that are no trees, and trees without gains.
        each[totals[term] == 0.0] = 1.0
        shares: Reals = decreases[term] * each / np.bincount(term, each, minlength=len(self))[term]
        by_votes = self.kinds[term] == _PER_SCORE
        if by_votes.any():
            node, term = node[by_votes], term[by_votes]
            sizes = np.abs(self.votes)
            totals = np.maximum(sizes.sum(axis=1), 1e-300)
            votes = sizes[term, node - self.firsts[term]]
            shares[by_votes] = decreases[term] * votes / totals[term]
        return shares

    @cached_property
    def stumps(self) -> StumpTerms:
        """The terms of a model of stumps as cuts."""
        shape = (len(self), max(1, self.n_cuts))
        cuts = np.diff(self.starts).reshape(shape) > 0
        columns = np.full(shape, EVERYWHERE.column, dtype=np.int32)
        thresholds = np.full(shape, EVERYWHERE.threshold)
        missing = np.full(shape, EVERYWHERE.missing, dtype=np.int8)
        columns[cuts], thresholds[cuts] = self.columns, self.thresholds
        missing[cuts] = self.missing
        return StumpTerms(columns, thresholds, missing, self.alphas, self.votes)

    def outputs(self, source: Source) -> Iterator[Signs | Reals]:
        """Yield phi_t of every row, shape (1, n) or (K, n), term by term."""
        for t in range(len(self)):
            yield self.rule(t).outputs(source)

    def staged_scores(self, source: Source) -> Iterator[Reals]:
        """Yield the scores of every row, shape (K, n), after each term."""
        scores = np.zeros((self.n_scores, source.n_rows))
        for outputs, moves in zip(self.outputs(source), self.coefficients, strict=True):
            scores += outputs * moves[:, None]
            yield scores.copy()

    # Checks of what a file held

    def check(self, n_columns: int, n_derived: int, categories: Categories) -> None:
        """Raise unless all references are valid and every rule fits its columns.

        Derived columns are numbered after those of the table.
        """
        _check_bounds(self.firsts, self.n_nodes)
        _check_bounds(self.starts, len(self.columns))
        _check_bounds(self.value_starts, len(self.values))
        _check_bounds(self.cover_starts, len(self.covers))
        require((self.covers >= 0).all(), "a leaf has a negative number of rows")
        is_shaped = self.leaves.shape[1] in (1, self.n_scores) and len(self.leaves) >= len(SIDES)
        require(is_shaped, "the leaves have the wrong shape")
        require((self.leaves[: len(SIDES)] == SIDES).all(), "the first leaves are damaged")
        require((np.diff(self.firsts) >= 1).all(), "a term has no nodes")
        self._check_children()
        self._check_factors(n_columns + n_derived, categories)
        for index, kind in enumerate(KINDS):
            which = np.flatnonzero(self.kinds == index)
            if len(which):
                kind.check(self, which)
        if self.is_additive:
            self._check_additive(n_columns)

    def _check_factors(self, n_columns: int, categories: Categories) -> None:
        """Raise unless cuts are of numeric columns, and subsets fit their categorical ones."""
        is_known = (self.columns >= 0) & (self.columns < n_columns)
        require(is_known.all(), "a term names a column that does not exist")
        used, index = np.unique(self.columns, return_inverse=True)
        expected = [len(categories[j]) + 1 if j in categories else 0 for j in used.tolist()]
        fitting, sizes = np.array(expected, dtype=np.int64)[index], np.diff(self.value_starts)
        is_cut = sizes == 0
        require((is_cut == (fitting == 0)).all(), "a term tests a column of another kind")
        require((sizes == fitting).all(), "a subset does not match the values of its column")
        require(not np.isnan(self.thresholds[is_cut]).any(), "a threshold is not a number")
        signs = self.values[np.repeat(self.kinds[self.term_of_factor] != _SCORES, sizes)]
        are_signs = _are_signs(self.missing[is_cut]) and _are_signs(signs)
        require(are_signs, "a test has an output other than -1, 0 and +1")

    def _check_children(self) -> None:
        """Raise unless paths through trees go down, stay in their term and end in a leaf."""
        owner = self.term_of_node
        is_tree, is_real = self.kinds[owner] == _TREE, self.real[owner]
        after, end = np.arange(self.n_nodes) + 1, self.firsts[1:][owner]
        for children, side in zip(self.children, _TO_SIDES, strict=True):
            inner = children >= 0
            require((is_tree | (children == side)).all(), "a node of a test is damaged")
            is_below = (children >= after) & (children < end)
            require((~inner | is_below).all(), "a tree has a node outside of its term")
            require((children >= -len(self.leaves)).all(), "a tree has no such leaf")
            is_own = inner | (children < -len(SIDES))
            require((~is_tree | is_own).all(), "a tree ends in a leaf of another rule")
            leaves = self.leaves[-1 - children[~inner & ~is_real]]
            require(_are_signs(leaves), "a leaf is neither -1, 0 nor +1")

    def _check_additive(self, n_columns: int) -> None:
        """Raise unless all terms are stumps."""
        are_cuts = (np.diff(self.starts) <= 1).all() and not (self.kinds == _TREE).any()
        are_cuts = are_cuts and len(self.values) == 0 and not self.real.any()
        require(are_cuts, "a term of a model of stumps is not a cut")
        fits = self.n_cuts in (1, self.n_scores) and (np.diff(self.firsts) == self.n_cuts).all()
        require(fits, "the terms of a model of stumps have the wrong number of cuts")
        fits = self.columns.max(initial=-1) < n_columns
        require(fits, "a term names a column that does not exist")


def _are_signs(outputs: NDArray[Any]) -> bool:
    return bool(np.isin(outputs, (-1, 0, 1)).all())


def _check_bounds(bounds: Exacts, total: int) -> None:
    """Raise unless bounds ascend from 0 to their total."""
    ascend = bounds[0] == 0 and bounds[-1] == total and (np.diff(bounds) >= 0).all()
    require(ascend, "the bounds of terms are damaged")


def _terms(**arrays: Any) -> Terms:
    terms = Terms(**arrays)
    sizes = {"firsts": len(terms), "starts": terms.n_nodes, "value_starts": len(terms.columns)}
    sizes["cover_starts"] = len(terms)
    for name, size in sizes.items():
        require(len(arrays[name]) == size + 1, f"the array of {name} has the wrong shape")
    require(np.isin(terms.kinds, range(len(KINDS))).all(), "a term is of an unknown kind")
    return terms


TERMS = Record(
    {
        "alphas": Array("terms", np.float64),
        "votes": Array("terms scores", np.float64),
        "kinds": Array("terms", np.int8),
        "real": Array("terms", np.bool_),
        "firsts": Array("*", np.int64),
        "children": Array("3 nodes", np.int32),
        "gains": Array("nodes", np.float32),
        "starts": Array("*", np.int64),
        "columns": Array("factors", np.int32),
        "thresholds": Array("factors", np.float64, finite=False),
        "missing": Array("factors", np.int8),
        "value_starts": Array("*", np.int64),
        "values": Array("*", (np.int8, np.float64)),
        "leaves": Array("* *", np.float64),
        "n_cuts": Count(),
        "covers": Array("*", np.int64),
        "cover_starts": Array("*", np.int64),
    },
    _terms,
)
"""Terms in a model file; `Terms.check` is yet to be called."""


class Packer:
    """Rules appended to lists."""

    def __init__(self) -> None:
        self._firsts, self._starts, self._value_starts = [0], [0], [0]
        self._children: list[tuple[int, ...]] = []
        self._gains: list[float] = []
        self._factors: list[tuple[int, float, int]] = []
        self._values: list[NDArray[Any]] = [np.empty(0, dtype=np.int8)]
        self._leaves: list[NDArray[Any]] = []
        self._kinds: list[int] = []
        self._real: list[bool] = []
        self.n_leaves = len(SIDES)
        """The number of leaves so far."""

    @property
    def n_nodes(self) -> int:
        """The number of nodes so far."""
        return len(self._children)

    def add(self, rule: Rule) -> None:
        """Append a rule."""
        rule.pack(self)
        self._firsts.append(self.n_nodes)
        self._kinds.append(KINDS.index(rule.kind))
        self._real.append(rule.is_real)

    def node(
        self,
        factors: Sequence[PackedFactor],
        children: tuple[int, ...] = _TO_SIDES,
        gain: float = 0.0,
    ) -> None:
        """Append a node: its factors, its children for -1, +1 and 0, and its gain."""
        for column, threshold, missing, values in factors:
            self._factors.append((column, threshold, missing))
            self._value_starts.append(self._value_starts[-1] + len(values))
            self._values.append(values)
        self._children.append(children)
        self._gains.append(gain)
        self._starts.append(len(self._factors))

    def add_leaves(self, leaves: NDArray[Any]) -> None:
        """Append the leaves of a tree."""
        self._leaves.append(np.asarray(leaves, dtype=np.float64))
        self.n_leaves += len(leaves)

    def terms(self, alphas: Reals, votes: Reals, n_cuts: int) -> Terms:
        """Return all rules as arrays."""
        factors = np.array(self._factors, dtype=np.float64).reshape(-1, 3)
        children = np.array(self._children, dtype=np.int32).reshape(-1, 3)
        width = self._leaves[0].shape[1] if self._leaves else 1
        return Terms(
            alphas,
            votes,
            np.array(self._kinds, dtype=np.int8),
            np.array(self._real, dtype=bool),
            np.array(self._firsts, dtype=np.int64),
            np.ascontiguousarray(children.T),
            np.array(self._gains, dtype=np.float32),
            np.array(self._starts, dtype=np.int64),
            factors[:, 0].astype(np.int32),
            np.ascontiguousarray(factors[:, 1]),
            factors[:, 2].astype(np.int8),
            np.array(self._value_starts, dtype=np.int64),
            np.concatenate(self._values),
            np.concatenate([np.repeat(SIDES, width, axis=1), *self._leaves]),
            n_cuts,
        )
