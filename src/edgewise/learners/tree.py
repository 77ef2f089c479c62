"""Trees of base functions (Kégl 2014a; Kégl and Busa-Fekete 2009a, 2009b)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import log
from edgewise.backend.base import MISSING_AUTO, BoostedRound, GrownTree, Growth, Problem
from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Columns, Exacts, Reals, Signs
from edgewise.data import BinnedTable, Categories
from edgewise.learners.base import ColumnLearner, Comparison, Found, Round, Wrapper
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
        The learner of the tests, or a list of learners of which each node takes the best. "stump"
        is stumps for numeric columns and subset indicators for categorical ones.
    max_leaf_nodes : int, default 8
        N, the most leaves.
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
    >>> model = AdaBoostMH(learner=learner, n_rounds=1).fit(X, y)
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
        parts = self._base().alternatives()
        if any(isinstance(part, Wrapper) for part in parts):
            raise ValueError(
                "criterion='gain' needs a base that tests single columns, not products: "
                f"got base={self.base!r}"
            )
        if any(getattr(part, "missing", "learn") == "abstain" for part in parts):
            raise ValueError("criterion='gain' does not go with a stump of missing='abstain'")

    @property
    def makes_tests(self) -> bool:
        return False

    @property
    def needs_mass(self) -> bool:
        return self.criterion == "gain"

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = super().ready(table, search, seed)
        # The learners of cuts and of subsets, where a tree has no others: a backend may grow it.
        base = started.base_
        parts = base.parts_ if isinstance(base, Best) else [base]
        known = [type(part) for part in parts] in ([Stump], [Indicator], [Stump, Indicator])
        abstains = any(getattr(part, "missing", "") == "abstain" for part in parts)
        started.parts_ = parts if known and not abstains else []
        started.leaves_ = self._leaves(0)
        return started

    def begin(self, t: int) -> None:
        super().begin(t)
        self.leaves_ = self._leaves(t)

    def _leaves(self, t: int) -> int:
        """Return the most leaves of the tree of a round."""
        return max(2, self.max_leaf_nodes // 2) if t < self.small_rounds else self.max_leaf_nodes

    def find(self, round: Round) -> Found | None:
        # Nodes are compared by edge: the tree has one coefficient, so that edges add up.
        # A constant gains nothing, and leaves one side without the rows that it must hold.
        compare = Comparison(
            self.criterion, None, score_edges=True, splits=self._splits(round.least)
        )
        plain = round._replace(compare=compare)
        for part in self.column_learners():
            part.search_.begin_tree()
        grower = _Grower(plain, self)
        found = grower.grow(None)
        for _ in range(_RESCUES):
            if found is not None:
                break
            grower = _Grower(plain, self)
            found = grower.grow(self.base_.draw(round.table, round.rng()))
        for part in self.column_learners():
            part.search_.end_tree(plain.compare.by_gain)
        energies = round.compare.energies
        if found is None or energies is None:
            return found
        if round.real_votes:
            return found._replace(loss=grower.energy())
        assert found.score_edges is not None
        masses = round.problem.signed_masses
        return found._replace(loss=float(energies(found.score_edges[None], masses)[0]))

    def growth(self, least: tuple[int, ...], damping: float) -> tuple[Growth | None, list[Columns]]:
        """Return how a backend may grow a whole tree, or None, and the columns of each part."""
        parts = self.parts_
        if self.leaf_votes != "free":
            return None, []
        pulled = [part.search_.pull() for part in parts]
        columns = pulled[0] if len(pulled) == 1 else np.concatenate([_NO_COLUMNS, *pulled])
        if len(columns) == 0:
            return None, pulled
        stump, subsets = _stump(parts), _subsets(parts)
        growth = Growth(
            columns,
            0 if stump is None else len(pulled[0]),
            self.leaves_,
            self.criterion,
            MISSING_AUTO if stump is None else MISSING_SIDES[stump.missing],
            least,
            damping,
            subsets.groups_ if subsets is not None and subsets.rare > 1 else {},
        )
        return growth, pulled

    def whole_growth(self, t: int, least: tuple[int, ...]) -> tuple[Growth | None, float]:
        """Return how a backend may grow trees from round `t` on, and for how many rounds.

        None where it may not: searches must be complete.
        """
        parts = list(self.column_learners())
        complete = all(part.searches_all and not part.search_.learns for part in parts)
        growth = self.growth(least, 0.0)[0] if complete and self._splits(least) else None
        if growth is not None:
            growth = growth._replace(max_leaf_nodes=self._leaves(t))
        return growth, self.small_rounds - t if t < self.small_rounds else math.inf

    def _splits(self, least: tuple[int, ...]) -> bool:
        """Return whether every node must split its rows; else a constant may be its best rule."""
        return self.criterion == "gain" or (bool(least) and self.leaf_votes == "free")

    def taken(self, grown: BoostedRound, growth: Growth, table: BinnedTable) -> TreeRule:
        """Return a tree that was trained with others in one call."""
        for part in self.parts_:
            part.count(len(part.columns_), grown.n_searches)
        given = (table, self.parts_, growth.columns, grown.nodes, grown.sides)
        return LazyTree(partial(_grown_nodes, *given), grown.votes)

    def settled(self, found: Found, round: Round) -> Found:
        """Return a tree grown on a part of the weights, with its leaves' votes on all."""
        rule = found.rule
        assert isinstance(rule, TreeRule)
        leaves, totals = rule.leaves.copy(), np.zeros(rule.leaves.shape, dtype=np.int64)
        parts = {0: round.problem}
        for number, node in enumerate(rule.nodes):
            whole = parts.pop(number)
            low, high = parts[node.low], parts[node.high] = round.backend.split(whole, node.test)
            totals[-1 - node.rest] = whole.signed_totals - low.signed_totals - high.signed_totals
        for number, part in parts.items():
            totals[-1 - number] = part.signed_totals
            if self.leaf_votes == "free":
                votes = sized(part.signed_totals, part.signed_masses, round)
                leaves[-1 - number] = votes
        edge = int((totals * np.sign(leaves).astype(np.int64)).sum())
        rule = TreeRule(rule.nodes, leaves)
        round.backend.learned(rule, [parts[-1 - leaf] for leaf in range(len(parts))])
        return found._replace(rule=rule, edge=edge)

    @property
    def cost(self) -> int:
        return (2 + self.max_leaf_nodes // 3) * self._base().cost


@dataclass(eq=False)
class _Leaf:
    """A leaf of a growing tree."""

    problem: Problem
    outputs: Reals | None  # its votes; None until they follow from its own rows
    place: tuple[int, str] | None  # its parent and side; None for the root
    found: Found | None = None  # the best split of its rows, once it is searched
    searched: bool = False
    is_rest: bool = False  # whether it is the larger part of a split without abstentions
    improvement: int = 0  # the advantage of the split over the constant


class _Grower:
    """A tree under construction."""

    def __init__(self, round: Round, settings: Tree) -> None:
        self.round = round
        self.settings = settings
        self.tests: list[Test] = []
        self.children: list[dict[str, int]] = []
        self.leaves: list[_Leaf] = []
        # The leaves that became nodes: a node's abstentions get the votes it had as a leaf.
        self.rests: list[_Leaf] = []
        # Histograms can be subtracted only if the whole and its part search the same columns.
        self.keeps = all(
            part.searches_all or part.search_.per_round for part in settings.base_.column_learners()
        )
        # Where rows end, once the tree is finished: outputs and sums of S and |S|, leaves first.
        self.ends: tuple[Reals, Exacts, Exacts]

    def grow(self, first: Test | None) -> Found | None:
        """Split leaf after leaf, the one that gains most first; `first` fixes the root's test."""
        grown = self._grow_at_once() if first is None else None
        if grown is not None:
            return self._taken(grown) if len(grown.nodes) else None
        n_scores = self.round.problem.n_scores
        problem = self.round.problem.keeping() if self.keeps else self.round.problem
        root = _Leaf(problem, np.zeros(n_scores), None)
        if first is None:
            root.found = self._heavy(root, self.settings.base_.find(self.round.on(problem)))
        elif self._holds(root, first):
            root.found = Found(first, 0, 0.0, np.zeros(n_scores, dtype=np.int64))
        if root.found is None:
            return None
        self._split(root)
        while len(self.leaves) < self.settings.leaves_:
            self._look_for_splits()
            best = max(self.leaves, key=lambda leaf: leaf.improvement)
            if best.improvement <= 0:
                break
            self.leaves.remove(best)
            self._split(best)
        found = self._finished()
        return None if first is not None and found.edge <= 0 else found

    def _look_for_splits(self) -> None:
        new = [leaf for leaf in self.leaves if not leaf.searched]
        # The histograms of the larger part follow by subtraction from those of the smaller.
        for leaf in sorted(new, key=lambda leaf: leaf.is_rest):
            leaf.searched = True
            if leaf.problem.size > 1:
                edge = leaf.problem.edge
                found = self.settings.base_.find(self.round.on(leaf.problem, baseline=edge))
                leaf.found = self._heavy(leaf, found)
                if leaf.found is not None:
                    by_gain, damping = self.round.compare.by_gain, self.round.damping
                    alone = leaf.problem.gain(damping) if by_gain else edge
                    leaf.improvement = leaf.found.edge - alone

    def _heavy(self, leaf: "_Leaf", found: Found | None) -> Found | None:
        """Return a split if both its sides hold the least amounts, or None.

        Scans ensure it for one column; the sides of a product are known only now.
        """
        if found is None:
            return None
        assert isinstance(found.rule, Test)
        if len(found.rule.factors) < 2:
            return found
        return found if self._holds(leaf, found.rule) else None

    def _holds(self, leaf: "_Leaf", test: Test) -> bool:
        """Return whether both sides of a split hold the least amounts."""
        if not self.round.least or leaf.problem.constraints is None:
            return True
        sides = self.round.backend.split(leaf.problem.constraints, test)
        return all((side.signed_totals >= self.round.least).all() for side in sides)

    def _split(self, leaf: _Leaf) -> None:
        found, node = leaf.found, len(self.tests)
        assert found is not None
        assert isinstance(found.rule, Test)
        self.tests.append(found.rule)
        self.children.append({})
        if leaf.place is not None:
            above, side = leaf.place
            self.children[above][side] = node
        low, high = self.round.backend.split(leaf.problem, found.rule)
        self.rests.append(leaf)
        votes = None
        if self.settings.leaf_votes == "inherit":
            assert found.score_edges is not None
            votes = sized(found.score_edges, leaf.problem.signed_masses, self.round)
        whole, larger = low.size + high.size == leaf.problem.size, high.size < low.size
        against = None if votes is None else -votes
        self.leaves.append(_Leaf(low, against, (node, "low"), is_rest=whole and larger))
        self.leaves.append(_Leaf(high, votes, (node, "high"), is_rest=whole and not larger))

    def _settle_outputs(self) -> None:
        """Set the remaining votes, of leaves and of nodes, to the best for their own rows."""
        free = [leaf for leaf in [*self.leaves, *self.rests] if leaf.outputs is None]
        if free:
            totals = np.stack([leaf.problem.signed_totals for leaf in free])
            masses = np.stack([leaf.problem.signed_masses for leaf in free])
            votes = sized(totals, masses, self.round)
            for leaf, outputs in zip(free, votes, strict=True):
                leaf.outputs = outputs

    def _finished(self) -> Found:
        for number, leaf in enumerate(self.leaves):
            assert leaf.place is not None
            node, side = leaf.place
            self.children[node][side] = -1 - number
        self._settle_outputs()
        nodes = []
        for node, (test, ends) in enumerate(zip(self.tests, self.children, strict=True)):
            nodes.append(Node(test, ends["low"], ends["high"], -1 - len(self.leaves) - node))
        self.ends = self._ends()
        return self._found(lambda: tuple(nodes), [leaf.problem for leaf in self.leaves])

    def _found(
        self, nodes: Callable[[], tuple[Node, ...]], leaves: list[Problem] | GrownTree
    ) -> Found:
        table, totals, _ = self.ends
        rule = LazyTree(nodes, table if self.round.real_votes else table.astype(np.int8))
        self.round.backend.learned(rule, leaves)
        score_edges = (totals * np.sign(table).astype(np.int64)).sum(axis=0)
        edge = int(score_edges.sum())
        return Found(rule, edge, -float(edge), score_edges)

    def _grow_at_once(self) -> GrownTree | None:
        """Return the tree that the backend grows in one call, or None if it does not."""
        round, parts = self.round, self.settings.parts_
        if not self.keeps or not round.compare.splits:
            return None
        if round.pairs is not None and round.pairs.constrains:
            return None
        growth, pulled = self.settings.growth(round.least, round.damping)
        if growth is None:
            return None
        self.columns = growth.columns
        grown = round.backend.grow(round.problem, growth)
        if grown is None:
            return None
        ends = np.cumsum([len(own) for own in pulled]).tolist()
        for part, own, end in zip(parts, pulled, ends, strict=True):
            part.count(len(own), grown.n_searches)
            if part.search_.learns:
                improvements, by_gain = (
                    grown.improvements[end - len(own) : end],
                    round.compare.by_gain,
                )
                part.search_.learn(own, improvements, grown.mass, by_gain)
        return grown

    def _taken(self, grown: GrownTree) -> Found:
        """Return a tree that was grown in one call; it abstains on none of the rows."""
        n_leaves = len(grown.nodes) + 1
        # Copies: the next tree will have the memory.
        given = (self.round.table, self.settings.parts_, self.columns)
        nodes = partial(_grown_nodes, *given, grown.nodes.copy(), grown.sides.copy())
        outputs = sized(grown.totals, grown.masses, self.round)
        outputs[n_leaves] = 0.0
        totals, masses = grown.totals.copy(), grown.masses.copy()
        totals[n_leaves:], masses[n_leaves:] = 0, 0
        self.ends = outputs, totals, masses
        return self._found(nodes, grown)

    def energy(self) -> float:
        """Return the energy of the finished tree with real votes."""
        outputs, totals, masses = self.ends
        plus, minus = (masses + totals) / 2, (masses - totals) / 2
        return float((plus * np.exp(-outputs) + minus * np.exp(outputs)).sum())

    def _ends(self) -> tuple[Reals, Exacts, Exacts]:
        """Return the outputs and the sums of S and of |S| where rows end, leaves first."""
        known = [leaf.outputs for leaf in [*self.leaves, *self.rests]]
        outputs = np.stack([one for one in known if one is not None])
        sums = []
        for name in ("signed_totals", "signed_masses"):
            inside = np.stack([getattr(leaf.problem, name) for leaf in self.leaves])
            # The rows that a node abstains on are its own without its children's.
            nodes = np.stack([getattr(leaf.problem, name) for leaf in self.rests])
            rest = nodes.copy()
            for leaf, own in zip([*self.leaves, *self.rests], [*inside, *nodes], strict=True):
                if leaf.place is not None:
                    rest[leaf.place[0]] -= own
            sums.append(np.concatenate([inside, rest]))
        return outputs, sums[0], sums[1]


def _grown_nodes(
    table: BinnedTable,
    parts: Sequence[ColumnLearner],
    columns: Columns,
    nodes: NDArray[np.intp],
    sides: Signs,
) -> tuple[Node, ...]:
    """Return the nodes of a tree that was grown in one call."""
    stump, subsets = _stump(parts), _subsets(parts)
    made: list[Node] = []
    for q, first, missing, low, high in nodes.tolist():
        column, own = int(columns[q]), sides[len(made)]
        bins = table.bins[column]
        if not isinstance(bins, Categories):
            assert stump is not None
            test: Test = stump.cut(table, column, first, missing)
        else:
            assert subsets is not None
            if subsets.rare > 1:
                test = subset_rule(table, column, own[subsets.groups_[column]])
            else:
                # The side of missing values follows those of the categories.
                test = Subset(column, own[: bins.missing_code + 1].copy())
        made.append(Node(test, low, high, -2 - len(nodes) - len(made)))
    return tuple(made)


def _stump(parts: Sequence[ColumnLearner]) -> Stump | None:
    return parts[0] if isinstance(parts[0], Stump) else None


def _subsets(parts: Sequence[ColumnLearner]) -> Indicator | None:
    return parts[-1] if isinstance(parts[-1], Indicator) else None


def sized(edges: Exacts, masses: Exacts, round: Round) -> Reals:
    """Return votes: signs of the edges, or half the logarithm of the odds.

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
