"""Trees of base functions (Kégl 2014a; Kégl and Busa-Fekete 2009a, 2009b)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from edgewise.backend.arithmetic import log
from edgewise.backend.base import (
    MISSING_AUTO,
    ColumnConstraints,
    GrownTree,
    Growth,
    NodeSplit,
    Problem,
    RoundResult,
)
from edgewise.backend.growth import regrow, rest_sums
from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Columns, Exacts, Reals, Signs
from edgewise.data import BinnedTable, Categories
from edgewise.learners.base import (
    ColumnLearner,
    Comparison,
    Energies,
    FoundRule,
    Learner,
    Round,
    Wrapper,
    direction_of,
)
from edgewise.learners.best import Best
from edgewise.learners.indicator import Indicator
from edgewise.learners.selector import subset_rule
from edgewise.learners.stump import MISSING_SIDES, Stump
from edgewise.model import LazyTree, Node, Subset, Test, TreeRule
from edgewise.search import Search

LEAF_VOTES = ("inherit", "free")
CRITERIA = ("edge", "gain")

_NO_COLUMNS = np.empty(0, dtype=np.intp)

# Random first tests before giving up: where no test has an edge by itself, as on the corners of a
# cube, a tree may still have one.
_RESCUES = 16


@dataclass(eq=False, repr=False)
class Tree(Wrapper):
    """A tree with a base function at every inner node.

    The leaf whose split improves the edge most is split next; a split must beat the constant on its
    rows. A leaf outputs its last test times the votes found with that test; one coefficient goes
    with the whole tree. With discrete votes a tree of two leaves is the base function itself. Where
    no test has an edge by itself, random first tests are tried.

    Parameters
    ----------
    base : Learner, str or list, default "stump"
        The learner of the tests, or a list of learners; each node takes the best. "stump"
        is stumps for numeric columns and subset indicators for categorical ones.
    max_leaf_nodes : int, default 8
        N, the maximum number of leaves.
    leaf_votes : {"inherit", "free"}, default "inherit"
        "free" gives each leaf the best votes for its own rows.
    criterion : {"edge", "gain"}, default "edge"
        Compares splits. "edge" is the papers': a split improves it only if some class changes sign
        between the sides. "gain", the sum over both sides of squared edges over mass, also sees
        that a class is more likely on one side; it is meant for real votes and free leaves.
    small_rounds : int, default 0
        The number of first rounds whose trees have half as many leaves: where rows are few, large
        trees fit noise that small ones leave alone.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Stump, Tree
    >>> X, y = [[0.0], [1.0], [2.0]], ["a", "b", "c"]
    >>> learner = Tree(Stump(), max_leaf_nodes=3, leaf_votes="free")
    >>> model = AdaBoostMH(learner, preset="paper", n_rounds=1).fit(X, y)
    >>> model.predict(X)
    array(['a', 'b', 'c'], dtype='<U1')
    """

    base: Any = "stump"
    max_leaf_nodes: int = 8
    leaf_votes: str = "inherit"
    criterion: str = "edge"
    small_rounds: int = 0

    def validate(self) -> None:
        integer("max_leaf_nodes", self.max_leaf_nodes, 2)
        integer("small_rounds", self.small_rounds, 0)
        one_of("leaf_votes", self.leaf_votes, LEAF_VOTES)
        one_of("criterion", self.criterion, CRITERIA)
        super().validate()
        if self.criterion == "edge":
            return
        bases = self._base().alternatives()
        if any(isinstance(base, Wrapper) for base in bases):
            raise ValueError(
                "criterion='gain' needs a base that tests single columns, not products: "
                f"got base={self.base!r}"
            )
        if any(getattr(base, "missing", "learn") == "abstain" for base in bases):
            raise ValueError("criterion='gain' cannot be combined with Stump(missing='abstain')")

    @property
    def makes_tests(self) -> bool:
        return False

    @property
    def needs_mass(self) -> bool:
        return self.criterion == "gain"

    @property
    def allows_monotonic_cst(self) -> bool:
        return all(base.allows_monotonic_cst for base in self._base().alternatives())

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = super().ready(table, search, seed)
        # The learners of cuts and of subsets, where a tree has no others: a backend may grow it.
        base = started.base_
        splitters = base.learners_ if isinstance(base, Best) else [base]
        kinds = [type(learner) for learner in splitters]
        is_simple = kinds in ([Stump], [Indicator], [Stump, Indicator])
        abstains = any(getattr(learner, "missing", "") == "abstain" for learner in splitters)
        started.splitters_ = splitters if is_simple and not abstains else []
        started.leaves_ = self._leaves(0)
        return started

    def begin(self, t: int) -> None:
        super().begin(t)
        self.leaves_ = self._leaves(t)

    def _leaves(self, t: int) -> int:
        """Return the maximum number of leaves in round `t`."""
        return max(2, self.max_leaf_nodes // 2) if t < self.small_rounds else self.max_leaf_nodes

    def find(self, round: Round) -> FoundRule | None:
        # Nodes are compared by edge: the tree has one coefficient, so that edges add up.
        # A constant gains nothing, and leaves one side without the rows that it must hold.
        compare = Comparison(
            self.criterion, None, score_edges=True, splits=self._splits(round.min_sums)
        )
        plain = round._replace(compare=compare)
        for learner in self.column_learners():
            learner.search_.begin_tree()
        tree = self._grow(plain, round.compare.energies)
        for _ in range(_RESCUES):
            first = None if tree is not None else self.base_.draw(round.table, round.rng())
            if first is None:
                break
            if round.column_constraints.allow((*round.path, *first.columns)):
                tree = self._grow(plain, round.compare.energies, first)
        for learner in self.column_learners():
            learner.search_.end_tree(plain.compare.by_gain)
        return tree

    def _grow(
        self, round: Round, energies: Energies | None, first: Test | None = None
    ) -> FoundRule | None:
        """Return a tree, or None without an edge; `first` fixes the test of its root."""
        growth, pulled = self._growth(round) if first is None else (self._by_nodes(), [])
        search = _NodeSearch(round, self.base_, first)
        grown = round.backend.grow(round.problem, growth, search)
        if grown is None:
            return None
        if grown.growth is not None:
            self._count(grown, pulled, round)
        if len(grown.nodes) == 0:
            return None
        totals, masses = (rest_sums(grown.nodes, sums) for sums in (grown.totals, grown.masses))
        outputs = self._outputs(grown, round)
        if not round.real_votes:
            outputs = outputs.astype(np.int8)
        rule = LazyTree(partial(_make_nodes, round.table, self.splitters_, grown), outputs, grown)
        score_edges = (totals * np.sign(outputs).astype(np.int64)).sum(axis=0)
        edge = int(score_edges.sum())
        if first is not None and edge <= 0:
            return None
        loss = -float(edge)
        if energies is not None and round.real_votes:
            plus, minus = (masses + totals) / 2, (masses - totals) / 2
            loss = float((plus * np.exp(-outputs) + minus * np.exp(outputs)).sum())
        elif energies is not None:
            loss = float(energies(score_edges[None], round.problem.signed_masses)[0])
        return FoundRule(rule, edge, loss, score_edges)

    def _outputs(self, grown: GrownTree, round: Round) -> Reals:
        """Return the outputs where rows end: at leaves, and at nodes that abstain."""
        n_leaves = len(grown.nodes) + 1
        if self.leaf_votes == "free":
            outputs = leaf_votes(grown.totals, grown.masses, round)
            # The rows that the root abstains on had no votes.
            outputs[n_leaves] = 0.0
            return _limit_votes(grown, outputs, round)
        outputs = np.zeros(grown.totals.shape)
        for node, split in enumerate(grown.splits):
            assert split.details is not None
            votes = leaf_votes(split.details, grown.masses[n_leaves + node], round)
            for child, sign in zip(grown.nodes[node, 3:].tolist(), (-1.0, 1.0), strict=True):
                outputs[-1 - child if child < 0 else n_leaves + child] = sign * votes
        return _limit_votes(grown, outputs, round)

    def _by_nodes(self) -> Growth:
        """Return the plan of growing a tree node by node."""
        learners = self.base_.column_learners()
        return Growth(self.leaves_, all(x.searches_all or x.search_.per_round for x in learners))

    def _growth(self, round: Round) -> tuple[Growth, list[Columns]]:
        """Return the plan of growing a tree, and the columns of each splitter.

        A backend may grow the tree in one call if the columns are known; else there are none.
        """
        growth = self._by_nodes()
        constrained = round.pairs is not None and round.pairs.constrains
        if not growth.same_columns or not round.compare.splits or constrained:
            return growth, []
        full_growth, pulled = self._growth_in_one_call(
            round.min_sums, round.damping, round.column_constraints
        )
        return full_growth or growth, pulled

    def _growth_in_one_call(
        self, min_sums: tuple[int, ...], damping: float, column_constraints: ColumnConstraints
    ) -> tuple[Growth | None, list[Columns]]:
        """Return the plan of growing a tree in one call, or None, and each splitter's columns."""
        if self.leaf_votes != "free":
            return None, []
        pulled = [learner.search_.pull() for learner in self.splitters_]
        columns = pulled[0] if len(pulled) == 1 else np.concatenate([_NO_COLUMNS, *pulled])
        if len(columns) == 0:
            return None, pulled
        stump, subsets = _stump(self.splitters_), _subsets(self.splitters_)
        growth = Growth(
            self.leaves_,
            True,
            columns,
            0 if stump is None else len(pulled[0]),
            self.criterion,
            MISSING_AUTO if stump is None else MISSING_SIDES[stump.missing],
            min_sums,
            damping,
            subsets.groups_ if subsets is not None and subsets.rare > 1 else {},
            column_constraints,
        )
        return growth, pulled

    def _count(self, grown: GrownTree, pulled: list[Columns], round: Round) -> None:
        """Note the searches of a tree that the backend grew in one call."""
        ends = np.cumsum([len(columns) for columns in pulled]).tolist()
        for learner, columns, end in zip(self.splitters_, pulled, ends, strict=True):
            learner.count_searches(len(columns), grown.n_searches)
            if learner.search_.learns:
                improvements = grown.improvements[end - len(columns) : end]
                learner.search_.learn(columns, improvements, grown.mass, round.compare.by_gain)

    def growth_ahead(
        self, t: int, min_sums: tuple[int, ...], column_constraints: ColumnConstraints
    ) -> tuple[Growth | None, float]:
        """Return the plan by which a backend grows trees from round `t` on, and for how long.

        None if a search is not of all columns: then it cannot grow several trees in one call.
        """
        learners = list(self.column_learners())
        complete = all(x.searches_all and not x.search_.learns for x in learners)
        growth = None
        if complete and self._splits(min_sums):
            growth = self._growth_in_one_call(min_sums, 0.0, column_constraints)[0]
        if growth is not None:
            growth = growth._replace(max_leaf_nodes=self._leaves(t))
        return growth, self.small_rounds - t if t < self.small_rounds else math.inf

    def _splits(self, min_sums: tuple[int, ...]) -> bool:
        """Return whether every node must split its rows; else a constant may be its best rule."""
        return self.criterion == "gain" or (bool(min_sums) and self.leaf_votes == "free")

    def make_tree(self, result: RoundResult, growth: Growth, table: BinnedTable) -> TreeRule:
        """Return a tree that was trained with others in one call."""
        for learner in self.splitters_:
            learner.count_searches(len(learner.columns_), result.n_searches)
        assert result.tree is not None
        grown = result.tree._replace(growth=growth)
        return LazyTree(partial(_make_nodes, table, self.splitters_, grown), result.votes)

    def in_larger_steps(self, factor: float) -> Self:
        return replace(self, small_rounds=round(self.small_rounds / factor))

    def refit_on_all_weights(self, found: FoundRule, round: Round) -> FoundRule:
        """Return a tree grown on a part of the weights, with its leaves' votes on all."""
        rule = found.rule
        assert isinstance(rule, TreeRule)
        nodes = np.array([(0, 0, 0, node.low, node.high) for node in rule.nodes], dtype=np.intp)
        tests = [node.test for node in rule.nodes]
        grown = regrow(round.backend, round.problem, nodes, tests)
        leaves, n_leaves = rule.leaves.astype(np.float64), len(nodes) + 1
        if self.leaf_votes == "free":
            leaves[:n_leaves] = leaf_votes(grown.totals[:n_leaves], grown.masses[:n_leaves], round)
            leaves = _limit_votes(grown, leaves, round, tests)
        totals = rest_sums(nodes, grown.totals)
        edge = int((totals * np.sign(leaves).astype(np.int64)).sum())
        leaves = leaves.astype(rule.leaves.dtype)
        return found._replace(rule=LazyTree(lambda: rule.nodes, leaves, grown), edge=edge)

    @property
    def cost(self) -> int:
        return (2 + self.max_leaf_nodes // 3) * self._base().cost


class _NodeSearch:
    """A learner's search for the test of each node; `first` is the test of the root, if any."""

    def __init__(self, round: Round, base: Learner, first: Test | None) -> None:
        self.round, self.base, self.first = round, base, first

    def split_root(self, problem: Problem) -> NodeSplit | None:
        if self.first is None:
            return self._find_split(problem, 0, 0, ())
        no_edges = np.zeros(problem.n_scores, dtype=np.int64)
        return NodeSplit(self.first, 0, no_edges) if self._holds(problem, self.first) else None

    def split_leaf(self, problem: Problem, path: tuple[int, ...]) -> NodeSplit | None:
        by_gain, edge = self.round.compare.by_gain, problem.edge
        unsplit = problem.gain(self.round.damping) if by_gain else edge
        return self._find_split(problem, edge, unsplit, path)

    def _find_split(
        self, problem: Problem, baseline: int, unsplit: int, path: tuple[int, ...]
    ) -> NodeSplit | None:
        """Return the best split; `unsplit` is the edge or gain without one."""
        best = self.base.find(self.round.on(problem, baseline=baseline, path=path))
        if best is None:
            return None
        assert isinstance(best.rule, Test)
        # Scans ensure it for one column; the sides of a product are known only now.
        if len(best.rule.factors) > 1 and not self._holds(problem, best.rule):
            return None
        return NodeSplit(best.rule, best.edge - unsplit, best.score_edges)

    def _holds(self, problem: Problem, test: Test) -> bool:
        """Return whether both sides of a split satisfy the constraints."""
        if not self.round.min_sums or problem.constraints is None:
            return True
        sides = self.round.backend.split(problem.constraints, test)
        return all((side.signed_totals >= self.round.min_sums).all() for side in sides)


def _make_nodes(
    table: BinnedTable, splitters: Sequence[ColumnLearner], grown: GrownTree
) -> tuple[Node, ...]:
    """Return the nodes of a grown tree."""
    nodes: list[Node] = []
    gains = _gains(grown)
    for number, (q, first, missing, low, high) in enumerate(grown.nodes.tolist()):
        if grown.growth is None:
            test: Test = grown.splits[number].test
        else:
            column = int(grown.growth.columns[q])
            test = _make_test(table, splitters, column, first, missing, grown.sides[number])
        nodes.append(Node(test, low, high, -2 - len(grown.nodes) - number, gains[number]))
    return tuple(nodes)


def _gains(grown: GrownTree) -> list[float]:
    """Return how much each split raises the sum of squared edges over masses, per mass of all."""
    n_leaves, children = len(grown.nodes) + 1, grown.nodes[:, 3:]
    masses = np.maximum(grown.masses, 1).astype(np.float64)
    sizes = (np.square(grown.totals.astype(np.float64)) / masses).sum(axis=1)
    below = sizes[np.where(children < 0, -1 - children, n_leaves + children)].sum(axis=1)
    return (np.maximum(below - sizes[n_leaves:], 0.0) / masses[n_leaves].sum()).tolist()


def _make_test(
    table: BinnedTable,
    splitters: Sequence[ColumnLearner],
    column: int,
    first: int,
    missing: int,
    sides: Signs,
) -> Test:
    """Return the test of a node that a backend chose: see `GrownTree`."""
    stump, subsets, bins = _stump(splitters), _subsets(splitters), table.bins[column]
    if not isinstance(bins, Categories):
        assert stump is not None
        return stump.cut(table, column, first, missing)
    assert subsets is not None
    if subsets.rare > 1:
        return subset_rule(table, column, sides[subsets.groups_[column]])
    # The side of missing values comes after the sides of the categories.
    return Subset(column, sides[: bins.missing_code + 1].copy())


def _stump(splitters: Sequence[ColumnLearner]) -> Stump | None:
    return splitters[0] if isinstance(splitters[0], Stump) else None


def _subsets(splitters: Sequence[ColumnLearner]) -> Indicator | None:
    return splitters[-1] if isinstance(splitters[-1], Indicator) else None


def _limit_votes(
    grown: GrownTree, votes: Reals, round: Round, tests: Sequence[Test] | None = None
) -> Reals:
    """Return the votes where rows end, limited so that they keep to the directions of columns.

    Top down, each node gets the least and the largest vote below it. Where a node tests a column
    with a direction, the middle of its children's votes is between the votes below either; or its
    own vote where theirs are in the wrong order, so that no limit makes a vote worse than that.
    """
    directions, nodes = round.column_constraints.directions, grown.nodes
    if directions is None:
        return votes
    if grown.growth is not None:
        of_nodes = np.where(nodes[:, 1] > 0, grown.growth.directions[nodes[:, 0]], 0).tolist()
    else:
        tests = [split.test for split in grown.splits] if tests is None else tests
        of_nodes = [direction_of(test, directions) for test in tests]
    n_leaves = len(nodes) + 1
    low, high = np.full(votes.shape, -np.inf), np.full(votes.shape, np.inf)
    ends = np.where(nodes[:, 3:] < 0, -1 - nodes[:, 3:], n_leaves + nodes[:, 3:])
    for node, (children, direction) in enumerate(zip(ends, of_nodes, strict=True)):
        low[children], high[children] = low[n_leaves + node], high[n_leaves + node]
        if direction:
            below, above = children[::direction]
            limits = low[below], high[below]
            least, most = (np.clip(votes[child], *limits) for child in (below, above))
            middle = (least + most) / 2.0
            if not round.real_votes:
                middle = np.trunc(middle)
            elif round.damping:
                middle = middle.astype(np.float16).astype(np.float64)
            own = np.clip(votes[n_leaves + node], *limits)
            high[below] = low[above] = np.where(least <= most, middle, own)
    return np.asarray(np.clip(votes, low, high))


def leaf_votes(edges: Exacts, masses: Exacts, round: Round) -> Reals:
    """Return the votes of leaves: signs of the edges, or half the logarithm of the odds.

    Damped votes, estimates anyway, are rounded to half precision: a file holds them in two bytes.
    """
    if not round.real_votes:
        return np.where(edges > 0, 1.0, -1.0)
    if round.newton:
        steps = edges / np.maximum(masses + round.damping, 1.0)
        return steps.astype(np.float16).astype(np.float64)
    plus, minus = (masses + edges) / 2 + round.floor, (masses - edges) / 2 + round.floor
    if not round.damping:
        return np.asarray(0.5 * np.log(plus / minus))
    return (0.5 * log(plus / minus)).astype(np.float16).astype(np.float64)
