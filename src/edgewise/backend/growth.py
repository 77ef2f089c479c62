"""Best-first growth of trees, on the histograms, scans and splits of any backend."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewise.backend.base import (
    ColumnSearch,
    GrownTree,
    Growth,
    NodeHistograms,
    NodeSearch,
    NodeSplit,
    Problem,
    TestLike,
)
from edgewise.common.dtypes import Columns, Exacts


@dataclass(eq=False)
class _Leaf:
    """A leaf of a growing tree, or a node that was one."""

    problem: Problem
    parent: int = -1
    is_high: bool = False
    is_rest: bool = False  # whether its histograms follow from its parent's and its sibling's
    is_searched: bool = False
    split: NodeSplit | None = None
    path: tuple[int, ...] = ()  # the columns that are tested above it

    @property
    def improvement(self) -> int:
        """The improvement by the best split."""
        return 0 if self.split is None else self.split.improvement


def grow_best_first(
    backend: ColumnSearch, problem: Problem, growth: Growth, search: NodeSearch
) -> GrownTree | None:
    """Return a tree; the leaf with the largest improvement is split next, the earliest of ties.

    The search finds the splits; histograms that it asks for are subtracted where all nodes search
    the same columns. None if the root has no split.
    """
    if growth.same_columns:
        problem = with_histograms(problem)
    root = _Leaf(problem, split=search.split_root(problem))
    if root.split is None:
        return None
    nodes: list[_Leaf] = []
    leaves = [root]
    while len(leaves) < growth.max_leaf_nodes:
        # The smaller child first: histograms of the larger one follow by subtraction.
        for leaf in sorted(leaves, key=lambda leaf: leaf.is_rest):
            if not leaf.is_searched and leaf is not root and leaf.problem.size > 1:
                leaf.split = search.split_leaf(leaf.problem, leaf.path)
            leaf.is_searched = True
        best = root if not nodes else max(leaves, key=lambda leaf: leaf.improvement)
        if nodes and best.improvement <= 0:
            break
        leaves.remove(best)
        leaves += _children(backend, best, len(nodes))
        nodes.append(best)
    return _build_tree(backend, nodes, leaves)


def _children(backend: ColumnSearch, leaf: _Leaf, node: int) -> list[_Leaf]:
    assert leaf.split is not None
    low, high = split_node(backend, leaf.problem, leaf.split.test)
    path = (*leaf.path, *(factor.column for factor in leaf.split.test.factors))
    covers = low.size + high.size == leaf.problem.size
    larger_is_low = high.size < low.size
    return [
        _Leaf(low, node, is_rest=covers and larger_is_low, path=path),
        _Leaf(high, node, is_high=True, is_rest=covers and not larger_is_low, path=path),
    ]


def _build_tree(backend: ColumnSearch, nodes: list[_Leaf], leaves: list[_Leaf]) -> GrownTree:
    table = np.zeros((len(nodes), 5), dtype=np.intp)
    for number, leaf in [*enumerate(nodes), *((-1 - i, leaf) for i, leaf in enumerate(leaves))]:
        if leaf.parent >= 0:
            table[leaf.parent, 3 + leaf.is_high] = number
    splits = tuple(node.split for node in nodes if node.split is not None)
    totals, masses = _sums([leaf.problem for leaf in [*leaves, *nodes]])
    tests = [split.test for split in splits]
    row_leaves = backend.assign_leaves(table, tests, [leaf.problem for leaf in leaves])
    return GrownTree(table, totals, masses, row_leaves, splits)


def regrow(
    backend: ColumnSearch, problem: Problem, nodes: Columns, tests: Sequence[TestLike]
) -> GrownTree:
    """Return a tree that was grown on other rows, with the sums and leaves of a problem's rows."""
    problems: dict[int, Problem] = {0: problem}
    for number, test in enumerate(tests):
        low, high = backend.split(problems[number], test)
        problems[int(nodes[number, 3])], problems[int(nodes[number, 4])] = low, high
    leaves = [problems[-1 - leaf] for leaf in range(len(nodes) + 1)]
    totals, masses = _sums([*leaves, *(problems[node] for node in range(len(nodes)))])
    return GrownTree(nodes, totals, masses, backend.assign_leaves(nodes, tests, leaves))


def rest_sums(nodes: Columns, sums: Exacts) -> Exacts:
    """Return sums where rows end: at each leaf, and at each node where its test abstains.

    `sums` are sums over the rows of each leaf and of each node.
    """
    ends = np.where(nodes[:, 3:] < 0, -1 - nodes[:, 3:], len(nodes) + 1 + nodes[:, 3:])
    sums_at_ends = sums.copy()
    sums_at_ends[len(nodes) + 1 :] -= sums[ends].sum(axis=1)
    return sums_at_ends


def _sums(problems: list[Problem]) -> tuple[Exacts, Exacts]:
    totals = np.stack([problem.signed_totals for problem in problems])
    return totals, np.stack([problem.signed_masses for problem in problems])


def with_histograms(problem: Problem) -> Problem:
    """Return the problem of a root, whose histograms are kept until they have been subtracted."""
    constraints = problem.constraints
    if constraints is not None:
        constraints = replace(constraints, histograms=NodeHistograms())
    return replace(problem, histograms=NodeHistograms(), constraints=constraints)


def split_node(backend: ColumnSearch, problem: Problem, test: TestLike) -> tuple[Problem, Problem]:
    """Return the problems of a node's children, their histograms by subtraction where possible."""
    low, high = backend.split(problem, test)
    if problem.histograms is None:
        return low, high
    covers = low.size + high.size == problem.size
    small, large = (high, low) if high.size < low.size else (low, high)
    _link(problem, small, large, covers)
    if problem.constraints is not None:
        assert small.constraints is not None
        assert large.constraints is not None
        _link(problem.constraints, small.constraints, large.constraints, covers)
    return low, high


def _link(parent: Problem, small: Any, large: Any, covers: bool) -> None:
    small.histograms = NodeHistograms()
    large.histograms = NodeHistograms(parent.histograms if covers else None, small.histograms)
