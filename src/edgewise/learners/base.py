"""The interface of learners, which find the best base function in each round."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.backend.base import (
    UNCONSTRAINED,
    Backend,
    Bounds,
    Candidates,
    ColumnConstraints,
    Histogram,
    Problem,
    ScanQuery,
)
from edgewise.common.dtypes import Columns, Exacts, Reals, Signs
from edgewise.data import BinnedTable
from edgewise.data.filters import HaarFilters
from edgewise.model import Cut, Rule, Test
from edgewise.search import Search

SMOOTHING = 1e-3
"""The minimum weight on either side of a vote, as a share of an average score column's.

It does not depend on the number of rows, so that a row of weight 2 is the same as two rows.
"""

Energies = Callable[[Exacts, Exacts], Reals]
"""The energies Z of candidates, given their edges, shape (candidates, K), and the masses (K,)."""


class Comparison(NamedTuple):
    """How rules are compared."""

    criterion: str = "edge"  # compares the rules of a column: by edge, or by the gain of a split
    # Compares the best rules of the columns; None is the criterion itself, which for discrete votes
    # is equivalent to the energy.
    energies: Energies | None = None
    score_edges: bool = False  # whether the winner needs the edges of the score columns
    splits: bool = False  # whether rules must tell rows apart, which a constant does not

    @property
    def by_gain(self) -> bool:
        """Whether rules are compared by gain."""
        return self.criterion == "gain"

    def losses(self, edges: Exacts, score_edges: Exacts | None, masses: Exacts) -> Reals:
        """Return the losses of candidates, lower is better, infinite without an edge."""
        if self.energies is None:
            return np.where(edges > 0, -edges.astype(np.float64), np.inf)
        assert score_edges is not None
        return np.where(edges > 0, self.energies(score_edges, masses), np.inf)


class PairSearch(Protocol):
    """The part that a ranking objective plays in a search."""

    @property
    def constrains(self) -> bool:
        """Whether cuts have bounds, or are compared by more than their edges."""
        return False

    def bounds(self, columns: Columns) -> Bounds | None:
        """Return the signs that the edges of cuts may have; None for any."""
        return None

    def find_cuts(self, columns: Columns, question: ScanQuery) -> Candidates | None:
        """Return the best cut of each column by the pairs' energy; None to scan histograms."""
        return None

    def decreases(self, rules: Sequence[Rule], only_best: bool = False) -> list[float]:
        """Return the relative decreases of the loss along rules, to second order.

        With `only_best` it may be 0 for a rule that is not the best.
        """


class RoundStream:
    """The random stream of round `t`, made when first called: most rounds draw nothing."""

    def __init__(self, seed: int, t: int) -> None:
        self._seed = (seed, t, 2)
        self._rng: np.random.Generator | None = None

    def __call__(self) -> np.random.Generator:
        if self._rng is None:
            self._rng = np.random.default_rng(self._seed)
        return self._rng


class FoundRule(NamedTuple):
    """A learner's best rule."""

    rule: Rule
    edge: int  # or gain, in the search's fixed point
    loss: float  # its rank among the rules of other learners, lower is better: see `Comparison`
    score_edges: Exacts | None  # (K,), if the round wants them
    votes: Reals | None = None  # (K,), if they belong to the rule and do not follow from its edges


class Round(NamedTuple):
    """The input of a learner in one round."""

    backend: Backend
    problem: Problem
    rng: Callable[[], np.random.Generator]  # returns the round's random stream
    compare: Comparison = Comparison()
    real_votes: bool = False  # whether votes may be of any size
    pairs: PairSearch | None = None  # the ranking objective
    extra_columns: tuple[int, ...] = ()  # to search besides the ones that the search pulls
    baseline: int = 0  # the edge of the terms, or of the leaf, without the new rule
    # The minimum of each of `problem.constraints` on either side of a split; empty allows any.
    min_sums: tuple[int, ...] = ()
    # What real votes add to the weight on either side, in the search's fixed point.
    floor: float = SMOOTHING * SEARCH_SCALE
    damping: float = 0.0  # what gains add to the mass of either side
    newton: bool = False  # whether masses are curvatures, and leaves vote edge over mass
    column_constraints: ColumnConstraints = UNCONSTRAINED
    path: tuple[int, ...] = ()  # the columns that are tested together with the new rule

    @property
    def table(self) -> BinnedTable:
        """The training table."""
        return self.backend.table

    def on(self, problem: Problem, **changes: Any) -> "Round":
        """Return the same round with another problem."""
        return self._replace(problem=problem, **changes)

    def losses(self, edges: Exacts, score_edges: Exacts | None) -> Reals:
        """Return the losses of candidates."""
        return self.compare.losses(edges, score_edges, self.problem.signed_masses)

    def cuts(self, columns: Columns, constant: bool, missing: int) -> Candidates:
        """Return the best cut of each numeric column."""
        question = self.question(columns, constant, missing)
        if self.pairs is not None:
            question = question._replace(bounds=self.pairs.bounds(columns))
            cuts = self.pairs.find_cuts(columns, question)
            if cuts is not None:
                return cuts
        return self.backend.scan(self.backend.histogram(columns, self.problem), question)

    def question(
        self, columns: Columns, constant: bool, missing: int, backend: Backend | None = None
    ) -> ScanQuery:
        """Return the round's question to a scan, of another backend's columns too."""
        wanted = self.compare.score_edges or self.compare.energies is not None
        masses = self.masses(columns, backend)
        directions = self.column_constraints.directions
        if directions is not None:
            directions = directions[columns] if directions[columns].any() else None
        limits = (masses, self.min_sums, self.damping, directions)
        return ScanQuery(self.compare.criterion, constant, missing, wanted, None, *limits)

    def masses(self, columns: Columns, backend: Backend | None = None) -> Histogram | None:
        """Return the sums of the constraints in each bin; None without constraints."""
        if not self.min_sums or self.problem.constraints is None:
            return None
        return (backend or self.backend).histogram(columns, self.problem.constraints)

    def improvements(self, edges: Exacts) -> Exacts:
        """Return how far edges, or gains, are above the product's or the leaf's without a rule."""
        baseline = self.problem.gain(self.damping) if self.compare.by_gain else self.baseline
        return np.maximum(edges - baseline, 0)


def direction_of(rule: Rule, directions: Signs | None) -> int:
    """Return the direction of the column that a cut divides by its values; 0 for other rules."""
    if directions is None or not isinstance(rule, Cut) or rule.threshold == -np.inf:
        return 0
    return int(directions[rule.column])


class Learner(BaseEstimator):
    """A family of base functions phi.

    A learner object holds settings; `ready` makes a copy of it for one training run.
    """

    makes_cuts: ClassVar[bool] = False
    """Whether every rule is a threshold on one column."""

    takes_values: ClassVar[bool] = False
    """Whether rules are the values of columns, which can only rank."""

    @abstractmethod
    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        """Return a copy, with a copy of the search over its own columns, for one training run."""

    @abstractmethod
    def begin(self, t: int) -> None:
        """Begin round `t`; its randomness is independent of earlier rounds."""

    @abstractmethod
    def find(self, round: Round) -> FoundRule | None:
        """Return the best base function for the round's signed weights, or None without an edge."""

    def refit_on_all_weights(self, found: FoundRule, round: Round) -> FoundRule:
        """Return a rule found on a part of the weights, refitted to all of them in `round`."""
        return found

    def follow(self, first: "Learner") -> None:
        """Take over what averaged models have in common from the learner of the first."""

    def in_larger_steps(self, factor: float) -> Self:
        """Return the learner of fewer rounds that go as far."""
        return self

    def find_per_score(self, round: Round) -> Rule | None:
        """Return the best base function of each score column by itself."""
        raise ValueError(
            f"factorized=False trains a stump for each class; learner must be a Stump, got {self!r}"
        )

    @abstractmethod
    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        """Return a random rule, or None without any."""

    def validate(self) -> None:
        """Raise if a setting is wrong."""

    def column_learners(self) -> Iterator["ColumnLearner"]:
        """Yield the column learners inside a learner that is ready."""
        raise NotImplementedError

    def simple_learners(self) -> Iterator["Learner"]:
        """Yield the learners of one-column rules inside, or this learner."""
        yield self

    def kinds(self) -> set[str]:
        """Return the kinds of columns that the learner can use: "numeric", "categorical"."""
        return {kind for leaf in self.simple_learners() for kind in leaf.kinds()}

    def product_search(self) -> tuple[Columns, int] | None:
        """Return the columns and the number of terms, if a backend may find the products itself."""
        return None

    @property
    def makes_tests(self) -> bool:
        """Whether all rules output -1, 0 or +1, the same for every class."""
        return True

    def alternatives(self, table: BinnedTable | None = None) -> list["Learner"]:
        """Return the learners among which each decision chooses; nested lists are flattened."""
        return [self]

    @property
    def allows_monotonic_cst(self) -> bool:
        """Whether rules are thresholds and subsets, or trees of them, which can be monotonic."""
        return False

    @property
    def uses_values(self) -> bool:
        """Whether some rules are the values of columns."""
        return any(learner.takes_values for learner in self.simple_learners())

    @property
    def filters(self) -> HaarFilters | None:
        """The image filters that the learner computes, if any."""
        return None

    @property
    def needs_mass(self) -> bool:
        """Whether searches need each row's sum of ``|S|``."""
        return False

    @property
    def cost(self) -> int:
        """About how many searches of all columns one round takes."""
        return 1


class ColumnLearner(Learner):
    """A learner that searches the columns of one kind, one rule for each."""

    kind: str

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = clone(self)
        started.columns_ = started._columns(table)
        started.search_ = clone(search).start(started.columns_, seed)
        started.begin(0)
        return started

    def _columns(self, table: BinnedTable) -> Columns:
        """Return the numbers of the columns to search."""
        return table.splittable if self.kind == "numeric" else table.splittable_categorical

    def begin(self, t: int) -> None:
        self.search_.begin(t)
        self.n_searched_ = self.n_offered_ = 0

    def _pull(self, round: Round) -> Columns:
        """Return the columns to search for one decision, and count them."""
        columns = self.search_.pull()
        if round.extra_columns and len(columns) < len(self.columns_):
            columns = np.union1d(columns, np.intersect1d(round.extra_columns, self.columns_))
        self.count_searches(len(columns))
        interactions = round.column_constraints.interactions
        if interactions is None:
            return columns
        return columns[interactions.allowed_after(round.path)[columns]]

    def count_searches(self, n_columns: int, n_searches: int = 1) -> None:
        """Count searches of some columns."""
        self.n_searched_ += n_columns * n_searches
        self.n_offered_ += len(self.columns_) * n_searches

    @property
    def searches_all(self) -> bool:
        """Whether every search is of all columns."""
        return self.search_.searches_all(len(self.columns_))

    def _learn(self, round: Round, columns: Columns, edges: Exacts) -> None:
        """Reward the search for the best rule of each column."""
        if self.search_.learns:
            improvements = round.improvements(edges)
            self.search_.learn(columns, improvements, round.problem.mass, round.compare.by_gain)

    def column_learners(self) -> Iterator["ColumnLearner"]:
        yield self

    def kinds(self) -> set[str]:
        return {self.kind}


class Wrapper(Learner):
    """A learner that combines the rules of its `base`: a learner, a list of learners or a name."""

    base: Any

    def validate(self) -> None:
        base = self._base()
        if not base.makes_tests:
            raise ValueError(
                f"base of a {type(self).__name__} must make rules that output -1 or +1, the same "
                f"for every class: no trees and no real values; got {self.base!r}"
            )

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        started = clone(self)
        started.base_ = self._base(table).ready(table, search, seed)
        return started

    def begin(self, t: int) -> None:
        self.base_.begin(t)

    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        return self.base_.draw(table, rng)

    def column_learners(self) -> Iterator[ColumnLearner]:
        yield from self.base_.column_learners()

    def simple_learners(self) -> Iterator[Learner]:
        yield from self._base().simple_learners()

    def _base(self, table: BinnedTable | None = None) -> Learner:
        from edgewise.learners import resolve_base

        return resolve_base("base", self.base, table)
