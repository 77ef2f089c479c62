"""The top of the list: pairs weighted by what swapping them would change in NDCG or in AP.

With the documents in the order of their scores, swapping two of them changes the metric by the
difference of their gains times the difference of the discounts of their ranks. That is the weight
of the pair, refreshed with the scores (Burges et al. 2006). Swapping two documents below rank k
does not change NDCG@k, so only pairs with one of the first k documents count; so it is for AP.

Ties are broken against the model: of equal scores the lower grade is first. Documents of one score
and grade share their ranks. So nothing depends on the order of the rows, and k runs of such
documents are compared with the others: time is linear in the documents.

A pair in which x1 is to be above x0 costs log2(1 + exp(H(x0) - H(x1))) times its weight w. With all
weights of the current order,

    1 - metric <= sum of w over misordered pairs <= 2 sum of w p <= the sum of the costs times 2,

where p = 1 / (1 + exp(H(x1) - H(x0))) is at least 1/2 for a misordered pair. The first inequality
holds for NDCG since gains are sums of steps: for one step, each document that is misplaced among
the first can be matched with one that it should not be above, and the matching is among the pairs.
The bound holds after every round, but need not fall: weights change with the order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.base import UNCONSTRAINED, Backend, ColumnConstraints
from edgewise.backend.reference.ranking import LEAST_CURVATURE, PLACE_SCALE, TopSums
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows
from edgewise.data.partition import Partition
from edgewise.learners import FoundRule, Learner, Round, RoundStream
from edgewise.learners.base import PairSearch, direction_of
from edgewise.model import Linear, Rule, TreeRule
from edgewise.objective.base import Objective, are_same
from edgewise.objective.feedback import Layout
from edgewise.objective.votes import Vote

# Outputs of columns as integers, and the maximum number of them to keep.
_OUTPUT_SCALE = 2.0**20
_MAX_OUTPUTS = 1 << 24

DEFAULT_CUTOFF = 30
"""The cutoff k if the name of an objective has none."""


@dataclass(frozen=True)
class TopLists:
    """Documents and the discounts of ranks.

    `gains` are in the order of the layout, divided by the best that a query can have and times its
    weight in `factors` (Q,), which sum to 1; `discounts` belong to the first k ranks. With
    `precision` the metric is average precision. `order` is memory for documents by rank.
    """

    layout: Layout
    gains: Reals
    factors: Reals
    discounts: Exacts
    precision: bool
    order: Columns
    queries: Partition

    @staticmethod
    def of(
        layout: Layout,
        grades: Reals,
        factors: Reals,
        metric: str,
        k: int,
        queries: Partition | None = None,
    ) -> "TopLists":
        """Return the lists of documents with grades, in the order of the layout.

        Other processes may have other `queries`.
        """
        queries = Partition(layout.n_queries) if queries is None else queries
        starts, sizes = layout.query_starts, np.diff(layout.query_starts)
        discounts = 1.0 / np.log2(np.arange(2, k + 2))
        precision = metric == "map"
        gains = (grades > 0).astype(np.float64) if precision else np.exp2(grades) - 1.0
        # Grades rise within a query, so that the best rank is counted from the end.
        best_rank = np.repeat(starts[1:], sizes) - 1 - np.arange(len(grades))
        best_discount = np.append(discounts, 0.0)[np.minimum(best_rank, k)]
        best = np.add.reduceat(gains if precision else gains * best_discount, starts[:-1])
        factors = np.where(best > 0, factors, 0.0)
        factors = factors / queries.fsum(factors)
        shares = np.divide(factors, best, out=np.zeros_like(best), where=best > 0)
        return TopLists(
            layout,
            gains * np.repeat(shares, sizes),
            factors,
            np.rint(discounts * PLACE_SCALE).astype(np.int64),
            precision,
            np.arange(len(grades)),
            queries,
        )

    def sample_rows(self, fraction: float, rng: np.random.Generator) -> Rows:
        """Return the rows of a random fraction of the queries."""
        size = max(1, round(fraction * self.queries.n_rows))
        drawn = np.sort(rng.choice(self.queries.n_rows, size, replace=False))
        return self.layout.rows_of(self.queries.local_rows(drawn))


@dataclass(frozen=True)
class TopSettings:
    """Settings of `RankBoost` for the top of the list.

    Steps of leaves add `damping` documents of average curvature.
    """

    metric: str = "ndcg"
    k: int = DEFAULT_CUTOFF
    learning_rate: float = 0.1
    subsample: float = 1.0
    damping: float = 20.0
    seed: int = 0


@dataclass(frozen=True)
class TopProgress:
    """How far the metric is below 1 after one round, and a bound on that."""

    ranking_loss: float
    bound: float

    def _asdict(self) -> dict[str, float]:
        return {"ranking_loss": self.ranking_loss, "bound": self.bound}


class Top(Objective, PairSearch):
    """The objective of the top of the list on one table.

    Each step goes along a rule by the slope over the curvature of the loss, as the leaves of a tree
    do each for itself (Newton's step, with the curvature of each document alone).
    """

    def __init__(
        self,
        backend: Backend,
        lists: TopLists,
        settings: TopSettings,
        mass_column: bool = False,
        column_constraints: ColumnConstraints = UNCONSTRAINED,
    ) -> None:
        self.backend, self.lists, self.settings = backend, lists, settings
        self._mass_column, self.column_constraints = mass_column, column_constraints
        # Rules that are compared in every round, their outputs and the squares of these.
        self._compared_rules: tuple[Sequence[Rule], Reals, Reals] | None = None
        self._rows, self._partition = lists.layout.rows, backend.table.partition
        self._move_to(np.zeros(len(self._rows)))

    @property
    def is_fitted(self) -> bool:
        return self._energy < 1e-250

    def find(self, learner: Learner, t: int, everything: bool = False) -> FoundRule | None:
        learner.begin(t)
        problem, fraction = self._problem, self.settings.subsample
        if fraction < 1.0 and not everything:
            rng = np.random.default_rng([self.settings.seed, t, 1])
            problem = self.backend.within(problem, self.lists.sample_rows(fraction, rng))
        round = Round(
            self.backend,
            problem,
            RoundStream(self.settings.seed, t),
            real_votes=True,
            pairs=self,
            damping=self.settings.damping * self._curvature / self._partition.n_rows,
            newton=True,
            column_constraints=self.column_constraints,
        )
        return learner.find(round)

    def decreases(self, rules: Sequence[Rule], only_best: bool = False) -> list[float]:
        """Return the relative decreases of the loss along rules, to second order."""
        if len(rules) * len(self._rows) > _MAX_OUTPUTS:
            derivatives = np.array([self._derivatives(rule) for rule in rules])
        else:
            derivatives = self._joint_derivatives(rules)
        return [0.5 * s * s / c if c > 0 else 0.0 for s, c in derivatives.tolist()]

    def _joint_derivatives(self, rules: Sequence[Rule]) -> Reals:
        """Return slopes and curvatures of the loss along several rules."""
        if self._compared_rules is not None and are_same(rules, self._compared_rules[0]):
            _, units, squares = self._compared_rules
        else:
            units = np.stack([self._scale(rule)[0] for rule in rules])
            # Whole numbers: their sums are below 2**53, and the same in any order.
            units = np.rint(units * _OUTPUT_SCALE)
            squares = np.rint(units * units / _OUTPUT_SCALE)
            # Other rules are new in every round.
            if all(isinstance(rule, Linear) for rule in rules):
                self._compared_rules = (tuple(rules), units, squares)
        quanta, masses = (values.astype(np.float64) for values in self._quantize())
        sums = np.stack([units @ quanta, squares @ masses]).astype(np.int64)
        return self._partition.sum(sums).T / (_OUTPUT_SCALE * SEARCH_SCALE)

    def vote(self, found: FoundRule) -> Vote | None:
        rule = found.rule
        slope, curvature = self._derivatives(rule)
        if curvature <= 0 or slope == 0:
            return None
        if direction_of(rule, self.column_constraints.directions) * slope < 0:
            # Documents that the round did not draw pull the other way.
            return None
        # The leaves of a tree have each taken their steps already.
        size = 1.0 if isinstance(rule, TreeRule) else slope / curvature
        vote = self._vote(self.settings.learning_rate * size, slope, curvature)
        return vote if vote.energy < 1.0 else None

    def evaluate_vote(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        return self._vote(alpha * float(votes[0]), *self._derivatives(rule))

    def advance(self, rule: Rule, vote: Vote) -> TopProgress:
        step = float(vote.coefficients[0])
        self._move_to(self.scores + step * self._outputs(rule))
        return self._progress

    @property
    def search_cost(self) -> float:
        return self.settings.subsample

    def _outputs(self, rule: Rule) -> NDArray:
        return self.backend.outputs(rule)[0][self._rows]

    def _derivatives(self, rule: Rule) -> tuple[float, float]:
        """Return slope and curvature of the loss along a rule, as shares of the pair weights."""
        unit, largest = self._scale(rule)
        slopes = (self._potentials * unit * EXACT_SCALE).astype(np.int64).sum()
        curvatures = (self._curvatures * (unit * unit) * EXACT_SCALE).astype(np.int64).sum()
        slope, curvature = self._partition.sum(np.array([slopes, curvatures])) / EXACT_SCALE
        return float(slope) * largest, float(curvature) * largest * largest

    def _scale(self, rule: Rule) -> tuple[Reals, float]:
        """Return a rule's outputs, scaled to at most 1, and the largest."""
        phi = self._outputs(rule).astype(np.float64)
        if not isinstance(rule, TreeRule):
            # Only differences within a query count: from its middle on, curvatures are least.
            phi -= self.lists.layout.middles(phi)
        largest = self._partition.max(float(np.abs(phi).max(initial=0.0)))
        return (phi / largest if largest > 0 else phi), largest

    def _vote(self, step: float, slope: float, curvature: float) -> Vote:
        decrease = step * (2.0 * slope - step * curvature)
        votes = np.array([math.copysign(1.0, step)])
        return Vote(abs(step), votes, slope, math.exp(-decrease))

    def _move_to(self, scores: Reals) -> None:
        """Make scores the current ones; weigh the pairs and quantize them for the search."""
        self.scores = scores
        sums: TopSums = self.backend.pairs.weigh_top(self.lists, scores)
        totals = self.lists.queries.fsums([sums.energies, sums.losses, sums.bounds])
        self._energy, loss, bound = totals
        self._progress = TopProgress(max(0.0, loss), bound)
        scale = 1.0 / max(self._energy, 1e-300)
        # In the memory of the sums, because documents may be many.
        self._potentials = np.multiply(sums.potentials, scale, out=sums.potentials)
        self._curvatures = np.multiply(sums.curvatures, scale, out=sums.curvatures)
        quanta, masses = self._quantize()
        self._curvature = float(self._partition.sum(int(masses.sum())))
        self._problem = self.backend.potentials(self._rows, quanta, self._mass_column, masses)

    def _quantize(self) -> tuple[Exacts, Exacts]:
        """Return the potentials and curvatures of documents as integers for the search."""
        quanta = np.rint(self._potentials * SEARCH_SCALE).astype(np.int64)
        masses = np.rint(self._curvatures * SEARCH_SCALE).astype(np.int64)
        # Rounding must not take a curvature below its minimum.
        minimum = np.ceil(LEAST_CURVATURE * np.abs(quanta)).astype(np.int64)
        return quanta, np.maximum(masses, minimum, out=masses)
