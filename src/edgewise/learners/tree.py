"""Trees of base functions (Kégl 2014a; Kégl and Busa-Fekete 2009a, 2009b)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.backend.base import Problem
from edgewise.common.checks import integer, one_of
from edgewise.common.dtypes import Exacts, Reals, Signs
from edgewise.learners.base import Comparison, Found, Learner, Round
from edgewise.learners.wrapper import Wrapper
from edgewise.model import Node, Test, TreeRule

LEAF_VOTES = ("inherit", "free")
CRITERIA = ("edge", "gain")

# Where no test has an edge by itself, as on the corners of a cube, trees may still have one: so
# many random first tests are tried before giving up.
_RESCUES = 16

# In real votes either side of a leaf counts as having this share of an average score column's
# weight more than it has.
_SMOOTHING = 1e-3


class Tree(Wrapper):
    """A tree with a base function at every inner node.

    The leaf whose split improves the edge most is split next; a split must beat the constant on
    its rows. An inner node keeps its test and passes its rows on; the votes that were found with
    the test are used only where the node's children are leaves: a leaf outputs its last test times
    those votes. One coefficient goes with the whole tree. With discrete votes a tree of two leaves
    is the base function itself. Where no test has an edge by itself, random first tests are tried.

    Parameters
    ----------
    base : Learner, str or list, default "stump"
        What the tests are: a learner, or a list of learners of which each node takes the best.
        "stump" is stumps for numeric columns and subset indicators for categorical ones.
    max_leaf_nodes : int, default 8
        N, the most leaves.
    leaf_votes : {"inherit", "free"}, default "inherit"
        "free" gives each leaf the votes that are best for its own rows.
    criterion : {"edge", "gain"}, default "edge"
        What splits are chosen by. "edge" is the papers': a split gains only where some class is
        voted for on one side and against on the other. "gain", the sum over both sides of squared
        edges over mass, also sees where a class is only more likely on one side; it is meant for
        real votes and free leaves.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, Stump, Tree
    >>> X, y = [[0.0], [1.0], [2.0]], ["a", "b", "c"]
    >>> learner = Tree(Stump(), max_leaf_nodes=3, leaf_votes="free")
    >>> model = AdaBoostMH(learner=learner, n_rounds=1).fit(X, y)
    >>> model.predict(X)
    array(['a', 'b', 'c'], dtype='<U1')
    """

    def __init__(
        self,
        base: Any = "stump",
        max_leaf_nodes: int = 8,
        leaf_votes: str = "inherit",
        criterion: str = "edge",
    ) -> None:
        self.base = base
        self.max_leaf_nodes = max_leaf_nodes
        self.leaf_votes = leaf_votes
        self.criterion = criterion

    def validate(self) -> None:
        """Raise if a setting is wrong."""
        integer("max_leaf_nodes", self.max_leaf_nodes, 2)
        one_of("leaf_votes", self.leaf_votes, LEAF_VOTES)
        one_of("criterion", self.criterion, CRITERIA)
        super().validate()
        if self.criterion == "gain":
            self._check_base_of_gain()

    def _check_base_of_gain(self) -> None:
        parts = list(_single(self._base()))
        if any(isinstance(part, Wrapper) for part in parts):
            raise ValueError(
                "criterion='gain' needs a base that tests single columns, not products: "
                f"got base={self.base!r}"
            )
        if any(getattr(part, "missing", "learn") == "abstain" for part in parts):
            raise ValueError("criterion='gain' does not go with a stump of missing='abstain'")

    @property
    def makes_tests(self) -> bool:
        """Whether all rules say the same for every class: a tree's leaves do not."""
        return False

    @property
    def needs_mass(self) -> bool:
        """Whether searches need each row's sum of |S|."""
        return self.criterion == "gain"

    def find(self, round: Round) -> Found | None:
        """Return the tree grown on the round's signed weights."""
        # Nodes are compared by edge: the tree has one coefficient, so that edges add up.
        plain = round._replace(compare=Comparison(self.criterion, None, score_edges=True))
        grower, found = self._grown(plain, None)
        for _ in range(_RESCUES if found is None else 0):
            first = self.base_.draw(round.table, round.rng())
            grower, found = self._grown(plain, first)
            if found is not None:
                break
        energies = round.compare.energies
        if found is None or energies is None:
            return found
        if round.real_votes:
            return found._replace(loss=grower.energy())
        assert found.score_edges is not None
        masses = round.problem.signed_masses
        return found._replace(loss=float(energies(found.score_edges[None], masses)[0]))

    def settled(self, found: Found, round: Round) -> Found:
        """Return a tree that was grown on some of the weights, with its leaves' votes on all."""
        rule = found.rule
        assert isinstance(rule, TreeRule)
        leaves, edge = rule.leaves.copy(), 0
        sums = round.backend.leaf_sums(round.problem, rule)
        for leaf, (totals, masses) in enumerate(zip(*sums, strict=True)):
            if self.leaf_votes == "free" and leaf <= len(rule.nodes):
                leaves[leaf] = sized(totals, masses, round.real_votes)
            edge += int((totals * np.sign(leaves[leaf]).astype(np.int64)).sum())
        return found._replace(rule=replace(rule, leaves=leaves), edge=edge)

    def _grown(self, round: Round, first: Test | None) -> tuple["_Grower", Found | None]:
        """Return a grown tree, None if it has no edge; `first` is the test to begin with."""
        grower = _Grower(round, self)
        return grower, grower.grow(first)

    @property
    def cost(self) -> int:
        """About how many searches of all columns one round takes."""
        return (2 + self.max_leaf_nodes // 3) * self._base().cost


@dataclass(eq=False)
class _Leaf:
    """A leaf of a growing tree.

    Attributes
    ----------
    problem : Problem
        The signed weights of its rows.
    outputs : array of shape (K,) or None
        What it says of each score column; None where that follows from its own rows.
    place : tuple (node, side) or None
        Where it hangs; None for the root.
    found : Found or None
        The best split of its rows.
    searched : bool
        Whether it has been looked for.
    is_rest : bool
        Whether its rows are the larger part of a split that leaves none out.
    improvement : int
        How much that split beats the constant by.
    number : int
        Its number among the leaves, once the tree is finished.
    """

    problem: Problem
    outputs: Reals | None
    place: tuple[int, str] | None
    found: Found | None = None
    searched: bool = False
    is_rest: bool = False
    improvement: int = 0
    number: int = -1


class _Grower:
    """One tree in the making."""

    def __init__(self, round: Round, settings: Tree) -> None:
        self.round = round
        self.settings = settings
        self.tests: list[Test] = []
        self.children: list[dict[str, int]] = []
        self.leaves: list[_Leaf] = []
        # What rows on which a node abstains get: what the leaf that it was would say.
        self.rests: list[_Leaf] = []
        # Histograms of a part can be subtracted from those of the whole only where both are of the
        # same columns.
        parts = settings.base_.column_learners()
        self.keeps = all(part.search_.takes_all(len(part.columns_)) for part in parts)

    def grow(self, first: Test | None) -> Found | None:
        """Split leaf after leaf, the one that gains most first.

        With `first` the root's test is given.
        """
        n_scores = self.round.problem.n_scores
        problem = self.round.problem.keeping() if self.keeps else self.round.problem
        root = _Leaf(problem, np.zeros(n_scores), None)
        if first is None:
            root.found = self._heavy(root, self.settings.base_.find(self.round.on(problem)))
        else:
            root.found = Found(first, 0, 0.0, np.zeros(n_scores, dtype=np.int64))
        if root.found is None:
            return None
        self._split(root)
        while len(self.leaves) < self.settings.max_leaf_nodes:
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
                    alone = leaf.problem.gain if self.round.compare.by_gain else edge
                    leaf.improvement = leaf.found.edge - alone

    def _heavy(self, leaf: "_Leaf", found: Found | None) -> Found | None:
        """Return a split whose two sides hold the least sample weight, or None.

        Scans see to it for one column; the sides of a product are known only now.
        """
        least = self.round.least_mass
        if found is None or least == 0 or leaf.problem.row_masses is None:
            return found
        assert isinstance(found.rule, Test)
        if len(found.rule.factors) < 2:
            return found
        sides = self.round.backend.split(leaf.problem.row_masses, found.rule)
        return found if min(side.mass for side in sides) >= least else None

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
            votes = sized(found.score_edges, leaf.problem.signed_masses, self.round.real_votes)
        whole, larger = low.size + high.size == leaf.problem.size, high.size < low.size
        against = None if votes is None else -votes
        self.leaves.append(_Leaf(low, against, (node, "low"), is_rest=whole and larger))
        self.leaves.append(_Leaf(high, votes, (node, "high"), is_rest=whole and not larger))

    def _settle_outputs(self) -> None:
        """Give the leaves, and those that were, the outputs that are best for their own rows."""
        free = [leaf for leaf in [*self.leaves, *self.rests] if leaf.outputs is None]
        if free:
            totals = np.stack([leaf.problem.signed_totals for leaf in free])
            masses = np.stack([leaf.problem.signed_masses for leaf in free])
            votes = sized(totals, masses, self.round.real_votes)
            for leaf, outputs in zip(free, votes, strict=True):
                leaf.outputs = outputs

    def _finished(self) -> Found:
        for number, leaf in enumerate(self.leaves):
            leaf.number = number
            assert leaf.place is not None
            node, side = leaf.place
            self.children[node][side] = -1 - number
        self._settle_outputs()
        nodes = []
        for node, (test, ends) in enumerate(zip(self.tests, self.children, strict=True)):
            nodes.append(Node(test, ends["low"], ends["high"], -1 - len(self.leaves) - node))
        table, totals, _ = self._ends()
        leaves: Signs | Reals = table if self.round.real_votes else table.astype(np.int8)
        score_edges = (totals * np.sign(table).astype(np.int64)).sum(axis=0)
        edge = int(score_edges.sum())
        rule = TreeRule(tuple(nodes), leaves)
        self.round.backend.learned(rule, [leaf.problem for leaf in self.leaves])
        return Found(rule, edge, -float(edge), score_edges)

    def energy(self) -> float:
        """Return the energy of the finished tree with real votes."""
        outputs, totals, masses = self._ends()
        plus, minus = (masses + totals) / 2, (masses - totals) / 2
        return float((plus * np.exp(-outputs) + minus * np.exp(outputs)).sum())

    def _ends(self) -> tuple[Reals, Exacts, Exacts]:
        """Return where rows end, leaves first: outputs, sums of S and of |S|."""
        known = [leaf.outputs for leaf in [*self.leaves, *self.rests]]
        outputs = np.stack([one for one in known if one is not None])
        sums = []
        for name in ("signed_totals", "signed_masses"):
            inside = np.stack([getattr(leaf.problem, name) for leaf in self.leaves])
            # On which rows a node abstains is what is left of it without its children.
            nodes = np.stack([getattr(leaf.problem, name) for leaf in self.rests])
            rest = nodes.copy()
            for leaf, own in zip([*self.leaves, *self.rests], [*inside, *nodes], strict=True):
                if leaf.place is not None:
                    rest[leaf.place[0]] -= own
            sums.append(np.concatenate([inside, rest]))
        return outputs, sums[0], sums[1]


def sized(edges: Exacts, masses: Exacts, real_votes: bool) -> Reals:
    """Return votes: signs of the edges, or half the logarithm of the odds."""
    if not real_votes:
        return np.where(edges > 0, 1.0, -1.0)
    floor = _SMOOTHING * SEARCH_SCALE / edges.shape[-1]
    plus, minus = (masses + edges) / 2 + floor, (masses - edges) / 2 + floor
    return 0.5 * np.log(plus / minus)


def _single(learner: Learner) -> Iterator[Learner]:
    """Yield the learners of a list, of lists in it too."""
    for one in learner.alternatives():
        if one is learner:
            yield one
        else:
            yield from _single(one)
