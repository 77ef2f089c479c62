"""A learner says which base functions it can make, and finds the best of them in a round."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from edgewise.backend.arithmetic import GAIN_SCALE
from edgewise.backend.base import (
    Backend,
    Bounds,
    Candidates,
    Histogram,
    Problem,
    Question,
)
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.data import BinnedTable
from edgewise.data.filters import Filters
from edgewise.model import Rule, Test
from edgewise.search import Search

Energies = Callable[[Exacts, Exacts], Reals]
"""From the edges of some candidates, shape (candidates, K), and the masses (K,), both in the
search's fixed point, to the energy Z that each candidate would leave."""


class Comparison(NamedTuple):
    """How rules are compared.

    Attributes
    ----------
    criterion : {"edge", "gain"}
        What a column's rules are compared by: the edge, or the gain of a split.
    energies : Energies or None
        What the best rules of the columns are compared by; None is the criterion itself, which for
        discrete votes says the same as the energy.
    score_edges : bool
        Whether the edges of the score columns are wanted for the winner.
    """

    criterion: str = "edge"
    energies: Energies | None = None
    score_edges: bool = False

    @property
    def by_gain(self) -> bool:
        """Whether rules are compared by gain."""
        return self.criterion == "gain"

    def losses(self, edges: Exacts, score_edges: Exacts | None, masses: Exacts) -> Reals:
        """Return what candidates are compared by, the lower the better; infinite without an edge.

        `masses` are the score columns' sums of ``|S|``.
        """
        if self.energies is None:
            return np.where(edges > 0, -edges.astype(np.float64), np.inf)
        assert score_edges is not None
        return np.where(edges > 0, self.energies(score_edges, masses), np.inf)


class PairSearch(Protocol):
    """What a ranking objective adds to a round."""

    def bounds(self, columns: Columns) -> Bounds | None:
        """Return which signs the edges of cuts of some columns may have."""

    def cuts(self, columns: Columns, problem: Problem, question: Question) -> Candidates | None:
        """Return the best cut of each column by the pairs' energy; None to scan histograms."""

    def decrease(self, rule: Rule) -> float:
        """Return by how much the loss decreases along a real-valued rule, to second order."""


class Found(NamedTuple):
    """What a learner found.

    Attributes
    ----------
    rule : Rule
        The base function.
    edge : int
        Its edge, or its gain, in the search's fixed point.
    loss : float
        What learners compare rules by, the lower the better: see `Comparison`.
    score_edges : int64 array of shape (K,) or None
        The edges of the score columns, where the round wants them.
    votes : float64 array of shape (K,) or None
        The votes, where they belong to the rule and do not follow from its edges.
    """

    rule: Rule
    edge: int
    loss: float
    score_edges: Exacts | None
    votes: Reals | None = None


class Round(NamedTuple):
    """What a learner works with in one round.

    Attributes
    ----------
    backend : Backend
        The backend of the training table.
    problem : Problem
        The signed weights.
    rng : function
        Returns the round's random stream.
    compare : Comparison
        How rules are compared.
    real_votes : bool
        Whether votes may be of any size.
    pairs : PairSearch or None
        What a ranking objective adds.
    extra_columns : tuple of int
        Columns to look at besides those that the search takes.
    baseline : int
        The edge without the decision: of the terms, or of the leaf, so far.
    least_mass : int
        The least sample weight on either side of a split, in the fixed point of
        ``problem.row_masses``; 0 allows any.
    """

    backend: Backend
    problem: Problem
    rng: Callable[[], np.random.Generator]
    compare: Comparison = Comparison()
    real_votes: bool = False
    pairs: PairSearch | None = None
    extra_columns: tuple[int, ...] = ()
    baseline: int = 0
    least_mass: int = 0

    @property
    def table(self) -> BinnedTable:
        """The training table."""
        return self.backend.table

    def on(self, problem: Problem, **changes: Any) -> "Round":
        """Return the same round with another problem."""
        return self._replace(problem=problem, **changes)

    def losses(self, edges: Exacts, score_edges: Exacts | None) -> Reals:
        """Return what candidates are compared by."""
        return self.compare.losses(edges, score_edges, self.problem.signed_masses)

    def cuts(self, columns: Columns, constant: bool, missing: int) -> Candidates:
        """Return the best cut of each numeric column."""
        question = self.question(columns, constant, missing)
        if self.pairs is not None:
            question = question._replace(bounds=self.pairs.bounds(columns))
            found = self.pairs.cuts(columns, self.problem, question)
            if found is not None:
                return found
        return self.backend.scan(self.backend.histogram(columns, self.problem), question)

    def question(
        self, columns: Columns, constant: bool, missing: int, backend: Backend | None = None
    ) -> Question:
        """Return what the round asks of a scan of some columns, of another backend's too."""
        wanted = self.compare.score_edges or self.compare.energies is not None
        masses, least = self.masses(columns, backend), self.least_mass
        return Question(self.compare.criterion, constant, missing, wanted, None, masses, least)

    def masses(self, columns: Columns, backend: Backend | None = None) -> Histogram | None:
        """Return the sample weight of each bin, where a least one is asked for."""
        if self.least_mass == 0 or self.problem.row_masses is None:
            return None
        return (backend or self.backend).histogram(columns, self.problem.row_masses)

    def shares(self, edges: Exacts) -> Reals:
        """Return edges as shares of the weight; of gains, the edges that would gain as much.

        Inside a product or a tree it is what the decision adds to the edge that counts.
        """
        mass = max(self.problem.mass, 1)
        if self.compare.by_gain:
            gained = np.maximum(edges - self.problem.gain, 0) / (GAIN_SCALE * mass)
            return np.sqrt(np.minimum(gained, 1.0))
        return np.maximum(edges - self.baseline, 0) / mass


class Learner(BaseEstimator):
    """A family of base functions phi.

    A learner object holds settings; `ready` makes a copy of it for one training run.
    """

    @abstractmethod
    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        """Return a copy that is ready for a run.

        Parameters
        ----------
        table : BinnedTable
            The training rows.
        search : Search
            Which of the columns are looked at; a learner starts a copy of it on its own columns.
        seed : int
            The seed of all that is random.
        """

    @abstractmethod
    def begin(self, t: int) -> None:
        """Begin round `t`: what is random in it depends on nothing that came before."""

    @abstractmethod
    def find(self, round: Round) -> Found | None:
        """Return the best base function for the round's signed weights, or None without an edge."""

    def settled(self, found: Found, round: Round) -> Found:
        """Return what was found on some of the weights, as it stands on all: `round` has those."""
        return found

    def find_per_score(self, round: Round) -> Rule | None:
        """Return the best base function of each score column by itself."""
        raise ValueError(
            f"factorized=False trains a stump for each class; learner must be a Stump, got {self!r}"
        )

    @abstractmethod
    def draw(self, table: BinnedTable, rng: np.random.Generator) -> Test | None:
        """Return a random rule, or None if there is nothing to draw from."""

    def validate(self) -> None:
        """Raise if a setting is wrong."""

    def column_learners(self) -> Iterator["ColumnLearner"]:
        """Yield the learners that look at columns themselves, of a learner that is ready."""
        raise NotImplementedError

    def simple_parts(self) -> Iterator["Learner"]:
        """Yield the learners that look at columns themselves: this one, or those it is made of."""
        yield self

    def kinds(self) -> set[str]:
        """Return the kinds of columns that the learner can use: "numeric", "categorical"."""
        return {kind for leaf in self.simple_parts() for kind in leaf.kinds()}

    @property
    def makes_tests(self) -> bool:
        """Whether all rules say -1, 0 or +1, the same for every class."""
        return True

    def alternatives(self, table: BinnedTable | None = None) -> list["Learner"]:
        """Return the learners that a round chooses among: this one, or those it is made of."""
        return [self]

    @property
    def makes_cuts(self) -> bool:
        """Whether every rule is a threshold on one column."""
        return False

    @property
    def takes_values(self) -> bool:
        """Whether rules are the values of columns, which can only rank."""
        return False

    @property
    def allows_monotonic_cst(self) -> bool:
        """Whether every rule tests one column, so that its contribution can be kept monotonic."""
        return False

    @property
    def filters(self) -> Filters | None:
        """The image filters that the learner computes, if any."""
        return None

    @property
    def needs_mass(self) -> bool:
        """Whether searches need each row's sum of |S|."""
        return False

    @property
    def cost(self) -> int:
        """About how many searches of all columns one round takes."""
        return 1


class ColumnLearner(Learner):
    """A learner that looks at the columns of one kind, one rule for each."""

    kind: str

    def ready(self, table: BinnedTable, search: Search, seed: int) -> Self:
        """Return a copy that is ready for a run."""
        started = clone(self)
        started.columns_ = started._columns(table)
        started.search_ = clone(search).start(started.columns_, seed)
        started.begin(0)
        return started

    @abstractmethod
    def _columns(self, table: BinnedTable) -> Any:
        """Return the numbers of the columns that the learner looks at."""

    def begin(self, t: int) -> None:
        """Begin round `t`."""
        self.search_.begin(t)
        self.looked_at_ = self.offered_ = 0

    def _pull(self, round: Round) -> Columns:
        """Return the columns to look at for one decision, and count them."""
        columns = self.search_.pull()
        if round.extra_columns and len(columns) < len(self.columns_):
            columns = np.union1d(columns, np.intersect1d(round.extra_columns, self.columns_))
        self.looked_at_ += len(columns)
        self.offered_ += len(self.columns_)
        return columns

    def _learn(self, round: Round, columns: Columns, edges: Exacts) -> None:
        """Tell the search what the best rules of the columns were worth."""
        if self.search_.learns:
            self.search_.update(columns, self.search_.rewards(round.shares(edges)))

    def column_learners(self) -> Iterator["ColumnLearner"]:
        """Yield itself."""
        yield self

    def kinds(self) -> set[str]:
        """Return the kinds of columns that the learner can use."""
        return {self.kind}
