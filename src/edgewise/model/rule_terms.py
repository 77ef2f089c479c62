"""A model of products, subsets and trees packed into arrays, and its scores."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.choose import use_compiled
from edgewise.common.dtypes import Exacts, Reals, Rows, Signs
from edgewise.data import Aligned
from edgewise.model.packed import PackedTerms
from edgewise.model.rules import (
    EVERYWHERE,
    Cut,
    Node,
    ProductRule,
    Rule,
    Scores,
    Source,
    Subset,
    Test,
    TreeRule,
)

# The first leaves of every model, which the single node of a term that is no tree leads to.
SIDES = np.array([[-1.0], [1.0], [0.0]])

# Rows are scored in blocks whose cuts and scores stay in cache.
_BLOCK_ROWS = 512
_ROWS_A_THREAD = 2048

# The most memory for the outputs of all different factors on the rows of several blocks.
_CUT_BYTES = 1 << 26


@dataclass(frozen=True)
class RuleTerms(PackedTerms):
    """Rules that are products of cuts and subsets, or trees of such products.

    A term is a tree of nodes; a product is a tree with one node. A node's test is the product of
    its factors: cuts of numeric columns and subsets of categorical ones.

    Attributes
    ----------
    alphas : float64 array of shape (T,)
        The base coefficients.
    votes : float64 array of shape (T, K)
        The vote vectors.
    firsts : int64 array of shape (T + 1,)
        The nodes of term t are from ``firsts[t]`` to ``firsts[t + 1]``.
    low, high, rest : int32 arrays of shape (N,)
        What follows on a test of -1, +1 and 0: a node, counted over all terms, or -1 - a leaf.
    starts : int64 array of shape (N + 1,)
        The factors of node p are from ``starts[p]`` to ``starts[p + 1]``.
    columns : int32 array of shape (F,)
        Each factor's column.
    thresholds : float64 array of shape (F,)
        Each cut's threshold; NaN for a subset.
    missing : int8 array of shape (F,)
        Each cut's output for missing values.
    value_starts : int64 array of shape (F + 1,)
        The outputs of a subset's values are from ``value_starts[f]`` to ``value_starts[f + 1]`` of
        `values`; a cut has none.
    values : int8 or float64 array
        The outputs of the subsets' values, each subset's last one for missing and unseen values.
    leaves : float64 array of shape (L, 1) or (L, K)
        The output of each leaf; the first three are -1, +1 and 0, where products end.
    real : bool array of shape (T,)
        Whether a term's outputs are real numbers and not -1, 0 or +1.
    """

    alphas: Reals
    votes: Reals
    firsts: Exacts
    low: Rows
    high: Rows
    rest: Rows
    starts: Exacts
    columns: Rows
    thresholds: Reals
    missing: Signs
    value_starts: Exacts
    values: NDArray[Any]
    leaves: Reals
    real: NDArray[np.bool_]

    @staticmethod
    def pack(rules: Sequence[Rule], alphas: Sequence[float], votes: Reals) -> "RuleTerms":
        """Return rules as arrays."""
        packer = _Packer()
        for rule in rules:
            packer.add(rule)
        return packer.terms(np.array(alphas, dtype=np.float64), votes)

    @staticmethod
    def empty(n_scores: int) -> "RuleTerms":
        """Return no terms."""
        return RuleTerms.pack([], [], np.empty((0, n_scores)))

    def __getitem__(self, which: slice) -> "RuleTerms":
        chosen = range(len(self))[which]
        if len(chosen) == len(self):
            return self
        return RuleTerms.pack(
            [self.rule(t) for t in chosen], self.alphas[which].tolist(), self.votes[which]
        )

    def __add__(self, other: "RuleTerms") -> "RuleTerms":
        if len(self) == 0:
            return other
        if len(other) == 0:
            return self
        nodes, leaves = len(self.low), len(self.leaves) - len(SIDES)
        width = max(self.leaves.shape[1], other.leaves.shape[1])
        mine = np.broadcast_to(self.leaves, (len(self.leaves), width))
        shifted: dict[str, NDArray[Any]] = {
            "leaves": np.broadcast_to(other.leaves, (len(other.leaves), width))[len(SIDES) :]
        }
        for name in ("low", "high", "rest"):
            child = getattr(other, name)
            moved = np.where(child < -len(SIDES), child - leaves, child)
            shifted[name] = np.where(child >= 0, child + nodes, moved).astype(np.int32)
        for name in ("firsts", "starts", "value_starts"):
            shifted[name] = getattr(other, name)[1:] + getattr(self, name)[-1]
        joined = [
            np.concatenate(
                [
                    mine if f.name == "leaves" else getattr(self, f.name),
                    shifted.get(f.name, getattr(other, f.name)),
                ]
            )
            for f in fields(self)
        ]
        return RuleTerms(*joined)

    @property
    def total_vote(self) -> float:
        """The largest score that any row could reach: what margins are normalised by."""
        if len(self) == 0:
            return 0.0
        sizes = np.abs(self.coefficients).max(axis=1)
        return float((sizes * self._largest_outputs()).sum())

    def _largest_outputs(self) -> Reals:
        """Return for each term the largest size of an output."""
        sizes = np.ones(len(self))
        for t in range(len(self)):
            rule = self.rule(t)
            if isinstance(rule, (TreeRule, Scores)):
                given = rule.leaves if isinstance(rule, TreeRule) else rule.values
                sizes[t] = float(np.abs(given).max())
        return sizes

    def rule(self, t: int) -> Rule:
        """Return term `t` as a rule."""
        first, last = int(self.firsts[t]), int(self.firsts[t + 1])
        if self.real[t] and self.low[first] == -1:
            f = int(self.starts[first])
            span = slice(int(self.value_starts[f]), int(self.value_starts[f + 1]))
            return Scores(int(self.columns[f]), self.values[span].astype(np.float64))
        tests = [self._test(p) for p in range(first, last)]
        if self.low[first] == -1:
            return tests[0]
        children = [(self.low[p], self.high[p], self.rest[p]) for p in range(first, last)]
        ends = [-1 - int(child) for group in children for child in group if child < 0]
        base = min(ends)
        nodes = [
            Node(test, *(int(c) - first if c >= 0 else int(c) + base for c in group))
            for test, group in zip(tests, children, strict=True)
        ]
        leaves = self.leaves[base : max(ends) + 1]
        return TreeRule(tuple(nodes), leaves if self.real[t] else leaves.astype(np.int8))

    def _test(self, p: int) -> Any:
        factors = [self._factor(f) for f in range(int(self.starts[p]), int(self.starts[p + 1]))]
        if not factors:
            return EVERYWHERE
        return factors[0] if len(factors) == 1 else ProductRule(tuple(factors))

    def _factor(self, f: int) -> Any:
        low, high = int(self.value_starts[f]), int(self.value_starts[f + 1])
        column = int(self.columns[f])
        if low == high:
            return Cut(column, float(self.thresholds[f]), int(self.missing[f]))
        return Subset(column, self.values[low:high].astype(np.int8, copy=False))

    def scores(self, rows: Aligned, n_jobs: int = 1) -> Reals:
        """Return the scores of every row, shape (n, K)."""
        visits = 3.0 * rows.n_rows * len(self) * (self.n_scores + 4)
        if use_compiled(visits):
            return self._compiled_scores(rows, n_jobs)
        return np.ascontiguousarray(self.summed_scores(rows).T)

    def _compiled_scores(self, rows: Aligned, n_jobs: int) -> Reals:
        from edgewise.backend.numba import score as compiled

        distinct, factors = self._distinct
        scores = np.zeros((self.n_scores, rows.n_rows))
        model = (self.firsts, self.starts, factors, self.low, self.high, self.rest, self.leaves)
        coefficients = self.coefficients

        def run(block: tuple[int, NDArray[Any]]) -> None:
            start, cuts = block
            part = slice(start, start + cuts.shape[1])
            mine = np.zeros_like(scores[:, part])
            compiled.score_rules(cuts, *model, coefficients, mine)
            scores[:, part] = mine

        one_thread = n_jobs == 1 or rows.n_rows < 2 * _ROWS_A_THREAD
        with ThreadPoolExecutor(1 if one_thread else n_jobs) as pool:
            for blocks in self._blocks(rows, distinct):
                list(map(run, blocks) if one_thread else pool.map(run, blocks))
        return np.ascontiguousarray(scores.T)

    def _blocks(
        self, rows: Aligned, distinct: NDArray[np.intp]
    ) -> Iterator[list[tuple[int, NDArray[Any]]]]:
        """Yield lists of blocks of rows: the first row, and the outputs of all different factors.

        A factor is evaluated on many blocks at once, on as many as memory allows.
        """
        each = max(1, _CUT_BYTES // max(1, len(distinct) * self.values.itemsize * _BLOCK_ROWS))
        for first in range(0, rows.n_rows, each * _BLOCK_ROWS):
            source = rows.part(first, first + each * _BLOCK_ROWS)
            cuts = np.empty((len(distinct), source.n_rows), dtype=self.values.dtype)
            for place, f in enumerate(distinct.tolist()):
                cuts[place] = self._factor_outputs(f, source)
            yield [
                (first + start, np.ascontiguousarray(cuts[:, start : start + _BLOCK_ROWS]))
                for start in range(0, source.n_rows, _BLOCK_ROWS)
            ]

    def _factor_outputs(self, f: int, source: Source) -> NDArray[Any]:
        low, high = int(self.value_starts[f]), int(self.value_starts[f + 1])
        if low == high:
            cut = (int(self.columns[f]), float(self.thresholds[f]), int(self.missing[f]))
            return source.threshold_signs(*cut)
        return source.subset_values(int(self.columns[f]), self.values[low:high])

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return factors of which no two are the same, and which of them each factor is."""
        place: dict[tuple[Any, ...], int] = {}
        chosen: list[int] = []
        which: list[int] = []
        bounds = self.value_starts.tolist()
        rows = zip(
            self.columns.tolist(), self.thresholds.tolist(), self.missing.tolist(), strict=True
        )
        for f, (column, threshold, missing) in enumerate(rows):
            low, high = bounds[f], bounds[f + 1]
            test = (threshold, missing) if low == high else self.values[low:high].tobytes()
            at = place.setdefault((column, test), len(chosen))
            if at == len(chosen):
                chosen.append(f)
            which.append(at)
        return np.array(chosen, dtype=np.intp), np.array(which, dtype=np.intp)


class _Packer:
    """Rules written one after the other into lists."""

    def __init__(self) -> None:
        self.firsts, self.starts, self.value_starts = [0], [0], [0]
        self.children: list[tuple[int, int, int]] = []
        self.factors: list[tuple[int, float, int]] = []
        self.values: list[NDArray[Any]] = []
        self.leaves: list[NDArray[Any]] = []
        self.n_leaves = len(SIDES)
        self.real: list[bool] = []

    def add(self, rule: Rule) -> None:
        self.real.append(
            isinstance(rule, Scores)
            or (isinstance(rule, TreeRule) and rule.leaves.dtype != np.int8)
        )
        base, leaf = len(self.children), self.n_leaves
        if isinstance(rule, TreeRule):
            for node in rule.nodes:
                self._add_factors(node.test.factors)
                ends = (node.low, node.high, node.rest)
                self._add_children(tuple(e + base if e >= 0 else e - leaf for e in ends))
            self.leaves.append(np.asarray(rule.leaves, dtype=np.float64))
            self.n_leaves += len(rule.leaves)
        else:
            assert isinstance(rule, (Test, Scores))
            self._add_factors(rule.factors if isinstance(rule, Test) else (rule,))
            self._add_children((-1, -2, -3))
        self.firsts.append(len(self.children))

    def _add_children(self, ends: Any) -> None:
        self.children.append(ends)
        self.starts.append(len(self.factors))

    def _add_factors(self, factors: Sequence[Any]) -> None:
        for factor in factors:
            if isinstance(factor, Cut):
                self.factors.append((factor.column, factor.threshold, factor.missing))
                self.value_starts.append(self.value_starts[-1])
            else:
                self.factors.append((factor.column, np.nan, 0))
                self.value_starts.append(self.value_starts[-1] + len(factor.values))
                self.values.append(factor.values)

    def terms(self, alphas: Reals, votes: Reals) -> RuleTerms:
        factors = np.array(self.factors, dtype=np.float64).reshape(-1, 3)
        ends = np.array(self.children, dtype=np.int32).reshape(-1, 3)
        width = self.leaves[0].shape[1] if self.leaves else 1
        leaves = np.concatenate([np.repeat(SIDES, width, axis=1), *self.leaves])
        values = [np.empty(0, dtype=np.int8), *self.values]
        return RuleTerms(
            alphas,
            votes,
            np.array(self.firsts, dtype=np.int64),
            np.ascontiguousarray(ends[:, 0]),
            np.ascontiguousarray(ends[:, 1]),
            np.ascontiguousarray(ends[:, 2]),
            np.array(self.starts, dtype=np.int64),
            factors[:, 0].astype(np.int32),
            np.ascontiguousarray(factors[:, 1]),
            factors[:, 2].astype(np.int8),
            np.array(self.value_starts, dtype=np.int64),
            np.concatenate(values),
            leaves,
            np.array(self.real, dtype=bool),
        )
