"""The interface of a backend: all arithmetic on the rows of one training table.

A backend keeps weights, scores and codes where the rows are. Callers pass rules with opaque
`State`s and `Problem`s, and get integers. Integer sums do not depend on their order, so every
backend trains the same model, bit for bit.

The interface has three parts: `RowWeights` turns rules into steps, `ColumnSearch` finds rules, and
`PairSums` ranks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import GAIN_SCALE, SEARCH_SCALE, draw_rows
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition


class RuleLike(Protocol):
    """The attributes of rules that a backend uses: see `model.rules`."""

    # The `GrownTree` of a tree that has just been grown on these rows, or None.
    grown: ClassVar[Any]

    @property
    def key(self) -> tuple[object, ...] | None:
        """A key that equal rules share; None if the rule has none."""

    def outputs(self, source: Any) -> Signs | Reals:
        """Return the outputs on all rows, shape (1, n) or (K, n)."""


class TestLike(RuleLike, Protocol):
    """A rule with outputs -1, 0 and +1: a product of factors, each of which tests one column."""

    is_cut: ClassVar[bool]  # whether it has a column, a threshold and a side of missing values

    @property
    def factors(self) -> "Sequence[TestLike]":
        """The factors; none for the constant."""

    def signs(self, source: Any) -> Signs:
        """Return the outputs on all rows, shape (n,)."""


MISSING_AUTO = 2
"""The side of missing values in a `ScanQuery`: the best one of each column."""

# Up to this many score columns, the values of a categorical column are sorted along all votes.
_ALL_VOTES = 6


@dataclass(frozen=True)
class Targets:
    """The targets of AdaBoost.MH: labels, and the initial weight of each entry."""

    labels: Signs  # Y, (K, n): -1 or +1
    target: NDArray[np.int32]  # (n,), the row's class, or -1 in binary and multi-label problems
    row_weights: Reals  # (n,), positive, summing to 1
    # (2, K), the factor of a row's weight in an entry, by label (-1, +1) and score column
    label_weights: Reals
    # (K, n), factors given entry by entry, in place of `label_weights`
    matrix: Reals | None = None

    @property
    def has_classes(self) -> bool:
        """Whether rows are of one class of several, each with a score column."""
        return len(self.target) > 0 and bool(self.target[0] >= 0)

    def initial_weights(self, k: int) -> Reals:
        """Return W1 of score column `k`, not yet normalized over all."""
        if self.matrix is not None:
            return self.row_weights * self.matrix[k]
        low, high = self.label_weights[:, k]
        return self.row_weights * np.where(self.labels[k] > 0, high, low)

    def leaf_constraints(self, names: Sequence[str]) -> Exacts:
        """Return the sample weights, a 1 for each row, or both, as the search counts them."""
        ones = np.ones(len(self.row_weights))
        columns = {"weight": self.row_weights * SEARCH_SCALE, "count": ones}
        return np.rint([columns[name] for name in names]).astype(np.int64)

    def take(self, rows: Rows) -> "Targets":
        """Return the targets of some rows; the row weights keep their sizes."""
        return Targets(
            np.ascontiguousarray(self.labels[:, rows]),
            self.target[rows],
            self.row_weights[rows],
            self.label_weights,
            None if self.matrix is None else np.ascontiguousarray(self.matrix[:, rows]),
        )


class State(ABC):
    """Weights and scores of every (row, score column) entry; opaque to callers."""

    n_scores: int  # K, the number of score columns
    scale: float  # the factor by which the initial weights sum to 1


@dataclass
class Problem:
    """The signed weights S of all rows or of some, which a search sums.

    A backend's subclass has S itself; callers see sums.
    """

    n_rows: int  # of the table
    size: int  # the number of rows that count
    # (K,), the sums of S and of |S| over these rows
    signed_totals: Exacts
    signed_masses: Exacts
    # Whether histograms have one more column, the sums of each row's |S|: searches by gain need it.
    mass_column: bool = False
    # The sample weights of the rows, a 1 for each row, or both, as a problem with a score column
    # for each: leaves must hold a minimum of them.
    constraints: "Problem | None" = None
    histograms: "NodeHistograms | None" = None  # of a tree node; None computes them anew

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return len(self.signed_totals)

    @property
    def mass(self) -> int:
        """The sum of all ``|S|``."""
        return int(self.signed_masses.sum())

    @property
    def edge(self) -> int:
        """The edge of the constant on these rows."""
        return int(np.abs(self.signed_totals).sum())

    def gain(self, damping: float = 0.0) -> int:
        """Return the gain of the constant on these rows: see `gains`."""
        return int(gains((self.signed_totals**2).sum(), self.mass, damping))

    def histogram(self, columns: Columns, compute: Callable[[], "Histogram"]) -> "Histogram":
        """Return the histogram of some columns, which `compute` makes where none is kept."""
        return compute() if self.histograms is None else self.histograms.get(columns, compute)

    def absolute(self) -> Self:
        """Return the problem with ``|S|`` in place of S."""
        raise NotImplementedError


class Histogram(ABC):
    """Sums of S over the rows of each bin: integers that add over parts of the rows."""

    # Ascending; their bins follow each other, a column's missing bin last.
    columns: Columns
    totals: Exacts  # (K,), the sums of S over all rows that count
    mass: int  # the sum of |S|

    @property
    @abstractmethod
    def values(self) -> Exacts:
        """The sums, shape (bins, K), or (bins, K + 1) where there is a mass column, in C order."""

    @property
    def by_score(self) -> Exacts:
        """The same score column by score column: NumPy is slow along short rows."""
        return np.ascontiguousarray(self.values.T)

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """Return the histogram of the rows that are not in the other; it may take this memory."""


class NodeHistograms:
    """The histograms of a tree node; a larger child gets its own by subtraction."""

    def __init__(
        self, parent: "NodeHistograms | None" = None, sibling: "NodeHistograms | None" = None
    ) -> None:
        self._histograms: dict[bytes, Any] = {}
        self._relatives = None if parent is None or sibling is None else (parent, sibling)

    def get(self, columns: Columns, compute: Callable[[], Any]) -> Any:
        """Return the histogram of some columns, by subtraction if possible, else by `compute`."""
        key = columns.tobytes()
        if key not in self._histograms:
            if self._relatives is not None and all(
                key in relative._histograms for relative in self._relatives
            ):
                parent, sibling = self._relatives
                self._histograms[key] = parent._histograms.pop(key) - sibling._histograms[key]
            else:
                self._histograms[key] = compute()
        return self._histograms[key]


class Bounds(NamedTuple):
    """Which signs the edges of cuts may have, in a search with one score column."""

    # By column: +1 or -1 is the sign that its edges must have, 0 allows both. Cuts that only tell
    # present from missing values are always allowed.
    directions: Signs
    # The exceptions of column q are from starts[q] to starts[q + 1] of the arrays below: a cut, by
    # its first bin on the positive side, ascending, and the side of missing values; and how large
    # its edge of the other sign may be.
    starts: Columns
    firsts: Columns
    sides: Signs
    limits: Exacts

    @staticmethod
    def of(directions: Signs) -> "Bounds":
        """Return the bounds without exceptions."""
        none = np.empty(0, dtype=np.int64)
        starts = np.zeros(len(directions) + 1, dtype=np.intp)
        return Bounds(directions, starts, none.astype(np.intp), none.astype(np.int8), none)


class ScanQuery(NamedTuple):
    """The cuts that a scan looks for."""

    # "edge": the largest sum over the score columns of |edge|; "gain": the largest sum of gains on
    # both sides; "score": the largest |edge| of each score column.
    criterion: str = "edge"
    constant: bool = True  # whether the constant is among the cuts; it has no gain
    missing: int = MISSING_AUTO  # the side of missing values: -1, 0, +1 or MISSING_AUTO
    score_edges: bool = False  # whether to return the score columns' edges at the best cut
    bounds: Bounds | None = None
    # Of the problem's constraints, for the same columns: both sides of a cut must hold `min_sums`.
    constraints: Histogram | None = None
    min_sums: tuple[int, ...] = ()
    damping: float = 0.0  # added to the mass of either side in gains
    # By column: +1 or -1 is the side of a cut with the larger mean of S over all score columns; 0
    # allows both. Cuts that only tell present from missing values are always allowed.
    directions: Signs | None = None


@dataclass(frozen=True)
class Candidates:
    """The best cut of each column.

    With one cut for all score columns the arrays have shape (columns,); with a cut for each
    (criterion "score"), shape (columns, K).
    """

    columns: Columns  # their numbers, ascending
    edges: Exacts  # or gains, in the search's fixed point; -1 where no cut is allowed
    first: Columns  # the first bin on the positive side; 0 puts every value there
    missing: Signs  # the side of missing values; 0 where the cut abstains on them
    # (columns, K) in C order, the score columns' edges at the best cut, if the query asks for them
    score_edges: Exacts | None = None


@dataclass(frozen=True, eq=False)
class Interactions:
    """Sets of columns; the columns that are tested on one path of a tree must belong to one set."""

    members: NDArray[np.bool_]  # (sets, columns of the table)

    def allowed_after(self, path: Sequence[int]) -> NDArray[np.bool_]:
        """Return which columns may be tested after those of a path."""
        sets = self.members[:, path].all(axis=1)
        return np.asarray(self.members[sets].any(axis=0))

    def allow(self, columns: Sequence[int]) -> bool:
        """Return whether columns may be tested on one path."""
        return bool(self.members[:, columns].all(axis=1).any())


class ColumnConstraints(NamedTuple):
    """What rules may do with columns."""

    interactions: Interactions | None = None  # None: any columns may be tested together
    # By column of the table: +1 where scores must not fall as its values rise, -1 where they must
    # not rise, else 0; None without any.
    directions: Signs | None = None

    @property
    def are_none(self) -> bool:
        """Whether rules may do anything."""
        return self.interactions is None and self.directions is None

    def allow(self, columns: Sequence[int]) -> bool:
        """Return whether columns may be tested on one path."""
        return self.interactions is None or self.interactions.allow(columns)


UNCONSTRAINED = ColumnConstraints()
"""Rules may do anything with columns."""


class Growth(NamedTuple):
    """How a tree grows best first: the leaf whose split improves the criterion most is split next.

    Without columns a tree is grown node by node, by its `NodeSearch`.
    """

    max_leaf_nodes: int
    # Whether all nodes search the same columns, so that histograms can be subtracted.
    same_columns: bool = True
    # The columns that every node searches: n_cut numeric ones, then categorical ones.
    columns: Columns = np.empty(0, dtype=np.intp)
    n_cut: int = 0
    criterion: str = "gain"  # or "edge": compares splits
    missing: int = MISSING_AUTO  # or -1 or +1: the side of missing values of numeric columns
    min_sums: tuple[int, ...] = ()  # of each of the constraints in a leaf; empty allows any
    damping: float = 0.0  # added to the mass of either side in gains
    # For categorical columns, the group of each value; without an entry each value is a group.
    groups: Mapping[int, Columns] = MappingProxyType({})
    column_constraints: ColumnConstraints = UNCONSTRAINED

    @property
    def directions(self) -> Signs:
        """The directions of the columns, or none where all are free."""
        directions = self.column_constraints.directions
        return np.empty(0, dtype=np.int8) if directions is None else directions[self.columns]


class NodeSplit(NamedTuple):
    """The best split of a node."""

    test: Any  # a `TestLike`
    improvement: int  # over leaving the node a leaf
    details: Any = None  # for the search's later use


class NodeSearch(Protocol):
    """How trees that are grown node by node are split."""

    def split_root(self, problem: Any) -> NodeSplit | None:
        """Return the split of all rows, or None to grow no tree."""

    def split_leaf(self, problem: Any, path: tuple[int, ...]) -> NodeSplit | None:
        """Return the best split of a leaf below tests of some columns, or None without any."""


VALUE_SMOOTHING = 20.0
"""Splits by gain sort values by means that are drawn to 0 by this many times the damping."""


def split_directions(criterion: str, n_scores: int) -> Reals:
    """Return the directions along which the values of a categorical column are sorted.

    A split separates the first of the sorted values from the others. By edge, directions are votes
    of all classes, since the best subset for given votes has positive sums inside and negative sums
    outside: all votes of few classes, and each class against the others of many. By gain, values
    are sorted by the mean of each score column; with one score column, this finds the best of all
    subsets (Breiman et al. 1984). Damping shrinks the means of rare values towards 0.
    """
    if criterion == "gain":
        return np.eye(n_scores)
    if n_scores > _ALL_VOTES:
        return 2.0 * np.eye(n_scores) - 1.0
    bits = (np.arange(1 << (n_scores - 1))[:, None] >> np.arange(n_scores)) & 1
    return (1 - 2 * bits).astype(np.float64)


class GrownTree(NamedTuple):
    """A tree with N nodes and N + 1 leaves."""

    # (N, 5), the split of each node where the backend chose it: its index in `Growth.columns`, and
    # if it is a cut the first bin on the positive side and the side of missing values. Then the
    # next nodes below and above, or -1 - a leaf.
    nodes: Columns
    # (2 N + 1, K), the sums of S and of |S| over the rows of each leaf, and then of each node
    totals: Exacts
    masses: Exacts
    leaves: Any  # (n,), the leaf of each row of the table, where the backend has its rows
    splits: tuple[NodeSplit, ...] = ()  # that a `NodeSearch` chose
    growth: Growth | None = None  # where the backend chose the splits
    # (N, codes), the side of each code, 0 where the node abstains; the code after the last of
    # training is for the missing values and the new categories of other tables.
    sides: Signs = np.empty((0, 0), dtype=np.int8)
    n_searches: int = 0  # the number of nodes and leaves that the backend searched
    # How much the best split of each column improves the criterion, and the sum of |S| over the
    # rows, summed over all searches.
    improvements: Exacts = np.empty(0, dtype=np.int64)
    mass: int = 0
    lease: Any = None  # returns the memory of `leaves` when nothing refers to it any more


class RoundsRequest(NamedTuple):
    """Rounds to train in one call.

    They are rounds of trees with real votes under the logistic loss, where there is a `growth`, or
    else of products of `n_terms` stumps with discrete votes under the exponential loss.
    """

    t: int  # the first round
    n_rounds: int
    rate: float  # the learning rate
    # Added to either side in logarithms, a share of the initial weight; for products their minimum.
    floor: float
    columns: Columns = np.empty(0, dtype=np.intp)  # that every search of a product looks at
    n_terms: int = 0
    growth: Growth | None = None  # its damping changes with the weights
    constraints: tuple[str, ...] = ()  # what leaves must hold a minimum of
    fraction: float = 1.0  # of the rows, drawn in each round
    seed: int = 0  # of the draws
    weight: float = float("nan")  # the sum of the weights
    watched: tuple[BinnedTable, Reals] | None = None  # validation rows and their scores


class RoundResult(NamedTuple):
    """A round that was trained with others in one call: a product or a tree."""

    n_searches: int  # of all columns
    tally: "Tally"
    edges: "Edges | None" = None  # of a product
    # The factors of a product: column, first bin on the positive side, side of missing values.
    cuts: tuple[tuple[int, int, int], ...] = ()
    tree: GrownTree | None = None  # with nodes and sides
    votes: Reals = np.empty((0, 0))  # (2 N + 1, K), of leaves, and of nodes where they abstain
    edge: int = 0  # of a tree, in the search's fixed point
    energy: float = float("nan")
    weight: float = float("nan")  # the sum of the weights before the step
    next_weight: float = float("nan")  # and after it
    scores: Reals = np.empty((0, 0))  # (K, n), after the step
    watched: Reals = np.empty((0, 0))  # (K, m), of validation rows after the step


class Edges(NamedTuple):
    """Sums over the rows for each score column, in 64-bit fixed point."""

    edges: Exacts  # (K,), the sums of w * y * phi
    masses: Exacts  # (K,), the weight of the rows on which the rule does not abstain
    total: int  # W, the weight of everything


class Step(NamedTuple):
    """A step that multiplies the weights.

    The weight of an entry is multiplied by ``agree[l]`` where rule and label agree, by
    ``against[l]`` where they do not, and by `abstain` where the rule abstains; its score changes by
    the rule's output times ``coefficients[l]``. Only the signs of `votes` count.
    """

    agree: Reals
    against: Reals
    abstain: float
    coefficients: Reals
    votes: Reals

    @staticmethod
    def scaling(n_scores: int, factor: float = 1.0) -> "Step":
        """Return the step that multiplies all weights by a factor and moves no score."""
        same, zeros = np.full(n_scores, factor), np.zeros(n_scores)
        return Step(same, same, factor, zeros, zeros)


class RealStep(NamedTuple):
    """A step after which the weights are computed from the scores.

    A score changes by the rule's output times ``coefficients[l]``. Only the signs of `votes` count.
    `loss` is "exponential", "logistic" or "softmax"; `shift` is added to the exponents of the first
    one. `unit` is the fixed point in which the new weights are summed.
    """

    coefficients: Reals
    votes: Reals
    loss: str
    shift: float
    unit: float


class Tally(NamedTuple):
    """The counts of one update."""

    # The sum over rows of | sum over l of w[i,l] y[i,l] v[l] | before the update, in 64-bit fixed
    # point: w'_Sigma of Kégl 2014b eq. 14. -1 where each score column has its own cut.
    pseudo: int
    wrong_rows: int  # the mass of the rows predicted wrongly after the update
    # (2, K), the mass of the entries with the wrong sign after it, by label (-1, +1) and column
    wrong_entries: Exacts


StateT = TypeVar("StateT", bound=State)
ProblemT = TypeVar("ProblemT", bound=Problem)


class Part(ABC, Generic[ProblemT]):
    """Some rows, or some (row, score column) entries, to search in place of all.

    `size` counts the rows, or the entries; `rows` are the rows that have any.
    """

    def __init__(self, backend: "Backend[Any, ProblemT]", rows: Rows, size: int) -> None:
        self.backend, self.rows, self.size = backend, rows, size

    @abstractmethod
    def gather(self, problem: ProblemT, factors: Reals | None = None) -> ProblemT:
        """Return the part's share of a problem of all rows, as it is now.

        `factors` multiply the weights of each of the part's rows, which are rounded again.
        """


class RowWeights(ABC, Generic[StateT]):
    """The weights and scores of all rows, and the steps that change them."""

    @abstractmethod
    def state(self, targets: Targets, mass_column: bool = False) -> StateT:
        """Return the state before the first round: all scores 0, the weights normalized."""

    @abstractmethod
    def edges(self, state: StateT, rule: RuleLike) -> Edges:
        """Return the edges of a rule with outputs -1, 0 and +1."""

    @abstractmethod
    def energy(self, state: StateT, rule: RuleLike, coefficients: Reals) -> int:
        """Return Z of a real-valued rule, the sum of w exp(-y h), at `ENERGY_SCALE`."""

    @abstractmethod
    def advance(self, state: StateT, rule: RuleLike | None, step: Step) -> Tally:
        """Take a step that multiplies the weights, without a rule all of them alike."""

    @abstractmethod
    def reweigh(self, state: StateT, rule: RuleLike, step: RealStep) -> tuple[int, int]:
        """Move the scores and compute the weights from them, not yet normalized.

        Returns the sum of the new weights in fixed point, and `Tally.pseudo`.
        """

    @abstractmethod
    def refresh(self, state: StateT) -> None:
        """Compute the weights of the exponential loss from the scores, normalized.

        Weights that have underflowed can return so.
        """

    @abstractmethod
    def scores(self, state: StateT) -> Reals:
        """Return the scores, shape (K, n): for metrics of the training rows."""

    @abstractmethod
    def outputs(self, rule: RuleLike) -> Signs | Reals:
        """Return the rule's outputs on all rows, shape (1, n) or (K, n)."""

    def outputs_on(self, table: BinnedTable, rule: RuleLike) -> Signs | Reals:
        """Return the rule's outputs on other rows in the same bins."""
        return rule.outputs(table)


class ColumnSearch(ABC, Generic[ProblemT]):
    """The search of columns for rules, given the signed weights of all rows or of some."""

    table: BinnedTable

    @abstractmethod
    def potentials(
        self, rows: Rows, quanta: Exacts, mass_column: bool = False, masses: Exacts | None = None
    ) -> ProblemT:
        """Return the problem with one score column and the given signed weights of some rows.

        Their sizes are the rows' masses, unless others are given.
        """

    @abstractmethod
    def flip(self, problem: ProblemT, tests: Sequence[TestLike]) -> ProblemT:
        """Return the problem with S multiplied by the tests' outputs: virtual labels."""

    @abstractmethod
    def split(self, problem: ProblemT, test: TestLike) -> tuple[ProblemT, ProblemT]:
        """Return the problem of the rows on which a test is -1, and of those on which it is +1."""

    @abstractmethod
    def within(self, problem: ProblemT, rows: Rows) -> ProblemT:
        """Return the problem of some rows, ascending."""

    def draw_rows(self, fraction: float, seed: int, t: int) -> Rows:
        """Return the rows drawn for a round: see `arithmetic.draw_rows`."""
        return draw_rows(self.table.n_rows, fraction, seed, t)

    @abstractmethod
    def histogram(self, columns: Columns, problem: ProblemT) -> Histogram:
        """Return the sums of S over the rows of each bin of some columns, all of one kind."""

    @abstractmethod
    def scan(self, histogram: Histogram, query: ScanQuery) -> Candidates:
        """Return the best cut of each numeric column; looks at no rows."""

    @abstractmethod
    def grow(self, problem: ProblemT, growth: Growth, search: NodeSearch) -> GrownTree | None:
        """Return a tree, or one without nodes or None if nothing can be split: see `growth`."""

    def joint_grower(
        self, problem: ProblemT, growth: Growth, partition: Partition
    ) -> Callable[[], GrownTree] | None:
        """Return a function that all processes call to grow a tree together, or None without it."""
        return None

    @abstractmethod
    def assign_leaves(
        self, nodes: Columns, tests: Sequence[TestLike], leaves: list[ProblemT]
    ) -> Any:
        """Return the leaf of each row of the table, given the rows of each leaf that count."""

    @abstractmethod
    def with_columns(self, table: BinnedTable) -> "Backend[Any, ProblemT]":
        """Return a backend for other columns of the same rows."""

    @abstractmethod
    def row_weight_sums(self, problem: ProblemT) -> Exacts:
        """Return the sum of each row's ``|S|``."""

    @abstractmethod
    def sum_heavy(self, problem: ProblemT, least: int) -> int:
        """Return the sum of the ``|S|`` that are at least `least`."""

    @abstractmethod
    def select(self, rows: Rows) -> Part[ProblemT]:
        """Return the part of some rows, ascending; only the last part is valid."""

    @abstractmethod
    def select_heavy(self, problem: ProblemT, least: int) -> Part[ProblemT] | None:
        """Return the part of the entries with ``|S|`` of at least `least`; None to take rows."""


class PairSums(ABC):
    """Sums over pairs of documents, query by query (Iyer 1999): see `objective.feedback`."""

    @abstractmethod
    def weigh_pairs(self, lists: Any, scores: Reals) -> tuple[Reals, Reals]:
        """Return each query's energy and each document's potential."""

    @abstractmethod
    def pair_moments(self, lists: Any, scores: Reals, outputs: Reals) -> Reals:
        """Return each query's sums over pairs of h(x0)^a (-h(x1))^b D, shape (3, 3, Q)."""

    @abstractmethod
    def misordered_pairs(self, lists: Any, scores: Reals, moved: NDArray[np.bool_] | None) -> Reals:
        """Return each query's weight of misordered pairs, ties by half.

        `moved` marks the documents that the last step moved, all by the same.
        """

    @abstractmethod
    def weigh_top(self, lists: Any, scores: Reals) -> Any:
        """Return sums over the pairs with one of the first documents: `objective.top`."""

    @abstractmethod
    def crossing_pairs(
        self, lists: Any, weights: Any, codes: Exacts, n_values: int
    ) -> tuple[Exacts, Exacts]:
        """Return the changes of W- and W+ as the documents of each code cross the cut."""


class Backend(RowWeights[StateT], ColumnSearch[ProblemT]):
    """All arithmetic on the rows of one training table.

    To write one, derive from this class and implement the abstract methods; `choose.use_backend`
    puts it to use. `reference.engine.ReferenceBackend` does it all in NumPy. One whose rows are in
    one place may derive from `local.LocalBackend`.
    """

    pairs: PairSums
    form: str = ""
    """A key that work with the same compiled kernels shares; empty without kernels."""

    @abstractmethod
    def problem(self, state: StateT, constraints: tuple[str, ...] = ()) -> ProblemT:
        """Return the round's problem, valid until the weights change.

        The problem has the `constraints` named with it: "weight", "count" or both, in this order.
        """

    def train_ahead(self, state: StateT, request: RoundsRequest) -> Iterator[RoundResult]:
        """Train some rounds, and yield them; none where the backend cannot.

        The state is as after the last round, once all have been yielded.
        """
        return iter(())

    def upgrade(self) -> "Backend":
        """Return the backend for the next rounds: this one, or a faster one that is ready now."""
        return self

    def spread(self, run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Return ``run(part)`` for each part, run on all threads."""
        return [run(task) for task in parts]

    def close(self) -> None:
        """End the threads, or whatever else the backend holds."""


def gains(squares: Any, masses: Any, damping: float = 0.0) -> Any:
    """Return the sum of squared edges over the mass plus the damping, in fixed point.

    With one score column the best real vote on some rows lowers the loss by half of this, to second
    order; several score columns share one mass. The sum of squares is an integer below 2**62, so
    only the division rounds.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        damped = np.asarray(masses, dtype=np.float64) + damping
        shares = np.asarray(squares, dtype=np.float64) / damped
    return np.rint(np.where(np.asarray(masses) > 0, shares, 0.0) * GAIN_SCALE).astype(np.int64)
