"""Base functions phi: each round of boosting adds one, with its coefficient and votes.

A rule has the same outputs on raw rows and on their codes. It packs itself into the arrays of
`Terms`, unpacks itself, and puts itself into words. A new kind of rule is one class here and one
entry of `KINDS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Columns, Reals, Signs
from edgewise.data import CONSTANT, BinnedTable, RawRows
from edgewise.model.paths import Condition, Interval, Outcomes, Path, only_missing

if TYPE_CHECKING:
    from edgewise.model.terms import Packer, Terms
    from edgewise.model.wording import Wording

Categories = dict[int, tuple[object, ...]]
"""The values of each categorical column, by its number."""

PackedFactor = tuple[int, float, int, NDArray[Any]]
"""A factor in `Terms`: column, threshold, output for missing values, outputs of categories."""

_NO_VALUES = np.empty(0, dtype=np.int8)

Source = RawRows | BinnedTable
"""Rows that rules can be evaluated on: as they came, or their codes."""


class Rule(ABC):
    """A base function phi."""

    grown: ClassVar[Any] = None
    """How a tree was grown, for the backend that has just grown it."""

    @abstractmethod
    def outputs(self, source: Source) -> Signs | Reals:
        """Return phi of every row, shape (1, n), or (K, n) where it differs by score column."""

    @property
    def kind(self) -> "type[Rule]":
        """The entry of `KINDS` that packs and unpacks the rule."""
        return next(kind for kind in KINDS if isinstance(self, kind))

    @property
    def key(self) -> tuple[object, ...] | None:
        """The same for equal rules; None for rules that are never compared."""
        return None

    @property
    def is_real(self) -> bool:
        """Whether outputs are real numbers, not only -1, 0 and +1."""
        return False

    @abstractmethod
    def pack(self, packer: "Packer") -> None:
        """Write the rule into arrays."""

    @classmethod
    @abstractmethod
    def unpack(cls, terms: "Terms", t: int) -> "Rule":
        """Return term `t` as a rule of this kind."""

    @classmethod
    @abstractmethod
    def check(cls, terms: "Terms", which: Columns) -> None:
        """Raise unless the terms `which` can be unpacked as this kind; a file may hold anything."""

    def split_paths(self, moves: Reals) -> "Iterable[tuple[Rule | Path, Reals]]":
        """Return the paths of a tree, or else the rule, with votes; `moves` are alpha v."""
        return [(self, moves)]

    @abstractmethod
    def sentence(self, wording: "Wording", moves: Reals) -> str:
        """Return a term in words; `moves` are its coefficients alpha v."""


class Test(Rule):
    """A rule whose output is -1, 0 or +1, the same for every score column: a product of factors."""

    # Backends find a cut from codes alone.
    is_cut: ClassVar[bool] = False

    @abstractmethod
    def signs(self, source: Source) -> Signs:
        """Return phi of every row, shape (n,)."""

    @property
    @abstractmethod
    def factors(self) -> "tuple[Cut | Subset, ...]":
        """The cuts and subsets whose product this is; none for the constant."""

    def condition(self, sign: int) -> Condition:
        """Return the condition for an output of -1, 0 or +1."""
        return Outcomes(self, frozenset([sign]))

    def outputs(self, source: Source) -> Signs:
        return self.signs(source)[None]

    @property
    def columns(self) -> list[int]:
        """The columns that the rule tests, one entry for each factor."""
        return [factor.column for factor in self.factors]

    @property
    def key(self) -> tuple[object, ...] | None:
        return tuple(factor.factor_key for factor in self.factors)

    def pack(self, packer: "Packer") -> None:
        packer.node([factor.numbers for factor in self.factors])

    @classmethod
    def unpack(cls, terms: "Terms", t: int) -> "Test":
        return terms.test(int(terms.firsts[t]))

    @classmethod
    def check(cls, terms: "Terms", which: Columns) -> None:
        _check_nodes(terms, which, 1, real=False)

    def words(self, wording: "Wording") -> str:
        """Return the test as text, in brackets."""
        texts = [f"({factor.factor_words(wording)})" for factor in self.factors]
        return " * ".join(texts) or "(always)"

    def sentence(self, wording: "Wording", moves: Reals) -> str:
        if not self.factors:
            return Path().sentence(wording, moves)
        return wording.term(self.words(wording), moves, is_real=False)


@dataclass(frozen=True)
class Cut(Test):
    """+1 where a numeric column is at or above a threshold, -1 below.

    Kégl and Busa-Fekete 2009a, section 2.2. The column -1 is the constant +1; a threshold of minus
    infinity puts every value on the positive side; `missing` is the output for missing values.
    """

    is_cut: ClassVar[bool] = True

    column: int
    threshold: float
    missing: int

    def signs(self, source: Source) -> Signs:
        return source.threshold_signs(self.column, self.threshold, self.missing)

    @property
    def factors(self) -> "tuple[Cut | Subset, ...]":
        return () if self.column == CONSTANT else (self,)

    @property
    def factor_key(self) -> tuple[object, ...]:
        """The same for equal factors."""
        return (self.column, self.threshold, self.missing)

    @property
    def numbers(self) -> PackedFactor:
        """The factor as numbers of the arrays of `Terms`."""
        return (self.column, self.threshold, self.missing, _NO_VALUES)

    def condition(self, sign: int) -> Interval:
        if sign == 0:
            return only_missing(self.column, self.missing == 0)
        low, high = (self.threshold, None) if sign > 0 else (-np.inf, self.threshold)
        return Interval(self.column, low, high, self.missing == sign)

    def factor_words(self, wording: "Wording") -> str:
        """Return the factor as text."""
        return wording.cut(self.column, self.threshold, self.missing)


EVERYWHERE = Cut(CONSTANT, -np.inf, 1)
"""The constant +1."""


@dataclass(frozen=True)
class Subset(Test, Condition):
    """+1 on some values of a categorical column, -1 on the others.

    Kégl and Busa-Fekete 2009a, eq. 9. `values` holds the output for each value, and last the one
    for missing and unseen values.
    """

    column: int
    values: Signs

    def signs(self, source: Source) -> Signs:
        return source.subset_values(self.column, self.values)

    @property
    def factors(self) -> "tuple[Cut | Subset, ...]":
        return (self,)

    @property
    def factor_key(self) -> tuple[object, ...]:
        """The same for equal factors."""
        return (self.column, bytes(self.values))

    @property
    def numbers(self) -> PackedFactor:
        """The factor as numbers of the arrays of `Terms`."""
        return (self.column, np.nan, 0, self.values)

    @property
    def subject(self) -> object:
        return self.column

    @property
    def can_hold(self) -> bool:
        return bool((self.values > 0).any())

    @property
    def always_holds(self) -> bool:
        return bool((self.values > 0).all())

    def condition(self, sign: int) -> "Subset":
        signs = self.values * sign if sign else np.where(self.values == 0, 1, -1)
        return Subset(self.column, signs.astype(np.int8))

    def intersect(self, other: "Subset") -> "Subset":
        return Subset(self.column, np.minimum(self.values, other.values))

    def factor_words(self, wording: "Wording") -> str:
        """Return the factor as text."""
        return wording.subset(self.column, self.values)


@dataclass(frozen=True)
class ProductRule(Test):
    """The product of several tests (Kégl and Busa-Fekete 2009a, section 2.3)."""

    terms: "tuple[Cut | Subset, ...]"

    def signs(self, source: Source) -> Signs:
        signs = np.ones(source.n_rows, dtype=np.int8)
        for term in self.terms:
            signs *= term.signs(source)
        return signs

    @property
    def factors(self) -> "tuple[Cut | Subset, ...]":
        return self.terms


@dataclass(frozen=True)
class Node:
    """An inner node of a tree: a test, and its children for -1, +1 and 0 (abstain).

    A child is the index of a node, or -1 - the index of a leaf. The gain is the criterion's on the
    training rows; only those of the same tree compare.
    """

    test: Test
    low: int
    high: int
    abstain: int
    gain: float = 0.0


@dataclass(frozen=True)
class TreeRule(Rule):
    """A tree of tests with an output for each leaf and score column.

    The first node is the root, and children come after their parents; `leaves` has the shape
    (leaves, K).
    """

    nodes: tuple[Node, ...]
    leaves: Signs | Reals

    def outputs(self, source: Source) -> Signs | Reals:
        by_score: NDArray[Any] = np.ascontiguousarray(self.leaves.T)
        return by_score.take(self.leaf_of(source), axis=1)

    def leaf_of(self, source: Source) -> NDArray[np.intp]:
        """Return the leaf that each row falls into."""
        target = np.zeros(source.n_rows, dtype=np.intp)
        for index, node in enumerate(self.nodes):
            rows = np.flatnonzero(target == index)
            signs = node.test.signs(source)[rows]
            low = np.where(signs < 0, node.low, node.abstain)
            target[rows] = np.where(signs > 0, node.high, low)
        return -1 - target

    def skip_constant_nodes(self, child: int) -> int:
        """Return the first descendant that is a leaf or tests something, `child` itself if so."""
        while child >= 0 and not self.nodes[child].test.factors:
            child = self.nodes[child].high
        return child

    @property
    def is_real(self) -> bool:
        return self.leaves.dtype != np.int8

    def pack(self, packer: "Packer") -> None:
        node_base, leaf_base = packer.n_nodes, packer.n_leaves
        for node in self.nodes:
            packer.node(
                [factor.numbers for factor in node.test.factors],
                tuple(
                    child + node_base if child >= 0 else child - leaf_base
                    for child in (node.low, node.high, node.abstain)
                ),
                node.gain,
            )
        packer.add_leaves(self.leaves)

    @classmethod
    def unpack(cls, terms: "Terms", t: int) -> "TreeRule":
        indices = terms.nodes(t)
        children = terms.children[:, indices.start : indices.stop]
        leaf_indices = -1 - children[children < 0]
        base = leaf_indices.min()
        local = np.where(children >= 0, children - indices.start, children + base).T.tolist()
        nodes = [
            Node(terms.test(p), low, high, abstain, float(terms.gains[p]))
            for p, (low, high, abstain) in zip(indices, local, strict=True)
        ]
        leaves = terms.leaves[base : leaf_indices.max() + 1]
        return cls(tuple(nodes), leaves if terms.real[t] else leaves.astype(np.int8))

    @classmethod
    def check(cls, terms: "Terms", which: Columns) -> None:
        """Do nothing: `Terms.check` follows the nodes of all terms."""

    def find_paths(self) -> Iterator[tuple[Path, NDArray[Any]]]:
        """Yield the paths that rows can take, each with the outputs of its leaf."""
        reached = {0: Path()}
        for index, node in enumerate(self.nodes):
            path = reached.get(index)
            for sign, child in ((1, node.high), (-1, node.low), (0, node.abstain)):
                longer = path and path.extend(node.test.condition(sign), sign == 0)
                if longer and child >= 0:
                    reached[child] = longer
                elif longer:
                    yield longer, self.leaves[-1 - child]

    def split_paths(self, moves: Reals) -> Iterator[tuple[Path, Reals]]:
        """Yield the paths to leaves that vote, with their votes."""
        for path, outputs in self.find_paths():
            if outputs.any():
                yield path, moves * outputs

    def sentence(self, wording: "Wording", moves: Reals) -> str:
        return "\n".join(path.sentence(wording, votes) for path, votes in self.split_paths(moves))


class LazyTree(TreeRule):
    """A tree in training, whose nodes are made on first use: most rounds of folds never need them.

    The backend that has `grown` the tree knows the leaf of each of its rows.
    """

    def __init__(
        self, make: Callable[[], tuple[Node, ...]], leaves: Signs | Reals, grown: Any = None
    ) -> None:
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "grown", grown)
        self._make = make

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, root first."""
        return self._make()


@dataclass(frozen=True)
class PerScore(Rule):
    """A cut of its own for each score column, as in the original AdaBoost.MH."""

    cuts: tuple[Cut, ...]

    def outputs(self, source: Source) -> Signs:
        return np.stack([cut.signs(source) for cut in self.cuts])

    @property
    def kind(self) -> type[Rule]:
        return Test if len(self.cuts) == 1 else PerScore

    def pack(self, packer: "Packer") -> None:
        for cut in self.cuts:
            cut.pack(packer)

    @classmethod
    def unpack(cls, terms: "Terms", t: int) -> "PerScore":
        return cls(tuple(terms.test(p) for p in terms.nodes(t)))  # type: ignore[misc]

    @classmethod
    def check(cls, terms: "Terms", which: Columns) -> None:
        _check_nodes(terms, which, terms.n_scores, real=False)
        nodes = np.isin(terms.term_of_node, which)
        first, last = terms.starts[:-1][nodes], terms.starts[1:][nodes]
        are_cuts = (last - first <= 1) & (terms.value_starts[first] == terms.value_starts[last])
        require(are_cuts.all(), "a term does not have one cut for each score column")

    def sentence(self, wording: "Wording", moves: Reals) -> str:
        names = wording.classes[-len(moves) :]
        return "\n".join(
            f"{move:+.2f} * {cut.words(wording)} -> votes for {name}"
            for name, cut, move in zip(names, self.cuts, moves, strict=True)
        )


@dataclass(frozen=True)
class Scores(Rule):
    """A number for each value of a categorical column, and last for missing and unseen values.

    The real subset indicator of Kégl and Busa-Fekete 2009a.
    """

    column: int
    values: Reals

    is_real = True

    def outputs(self, source: Source) -> Reals:
        return source.subset_values(self.column, self.values)[None]

    def pack(self, packer: "Packer") -> None:
        packer.node([(self.column, np.nan, 0, self.values)])

    @classmethod
    def unpack(cls, terms: "Terms", t: int) -> "Scores":
        f = terms.first_factor(t)
        return cls(int(terms.columns[f]), terms.values_of(f).astype(np.float64))

    @classmethod
    def check(cls, terms: "Terms", which: Columns) -> None:
        is_numeric = np.diff(terms.value_starts)[_only_factors(terms, which)] == 0
        require(not is_numeric.any(), "a term takes a numeric column as categories")

    def words(self, wording: "Wording") -> str:
        """Return the rule as text."""
        return f"({wording.scores(self.column, self.values)})"

    def sentence(self, wording: "Wording", moves: Reals) -> str:
        return wording.term(self.words(wording), moves, is_real=True)


@dataclass(frozen=True)
class Linear(Rule):
    """A numeric column itself: the simplest weak ranker of Iyer 1999, section 4.3.

    `fill` is the output for a missing value, q_def.
    """

    column: int
    fill: float

    is_real = True

    def outputs(self, source: Source) -> Reals:
        values = source.numbers(self.column)
        return np.where(np.isnan(values), self.fill, values)[None]

    @property
    def key(self) -> tuple[object, ...] | None:
        return (self.column, self.fill)

    def pack(self, packer: "Packer") -> None:
        packer.node([(self.column, self.fill, 0, _NO_VALUES)])

    @classmethod
    def unpack(cls, terms: "Terms", t: int) -> "Linear":
        f = terms.first_factor(t)
        return cls(int(terms.columns[f]), float(terms.thresholds[f]))

    @classmethod
    def check(cls, terms: "Terms", which: Columns) -> None:
        factors = _only_factors(terms, which)
        is_numeric = np.diff(terms.value_starts)[factors] == 0
        require(is_numeric.all(), "a term takes a categorical column as numbers")
        require(np.isfinite(terms.thresholds[factors]).all(), "the fill of a term must be finite")

    def sentence(self, wording: "Wording", moves: Reals) -> str:
        test = f"({wording.name(self.column)}, {self.fill:.6g} where missing)"
        return wording.term(test, moves, is_real=True)


KINDS: tuple[type[Rule], ...] = (Test, TreeRule, PerScore, Scores, Linear)
"""The kinds of rules that `Terms` holds; files store their indices."""


def require(condition: object, message: str) -> None:
    """Raise ValueError unless a condition on the contents of a file holds."""
    if not condition:
        raise ValueError(message)


def _check_nodes(terms: "Terms", which: Columns, n_nodes: int, real: bool) -> None:
    require((np.diff(terms.firsts)[which] == n_nodes).all(), "a term has the wrong number of tests")
    require((terms.real[which] == real).all(), "a term with real values is damaged")


def _only_factors(terms: "Terms", which: Columns) -> Columns:
    """Return the single factor of each of these terms, or raise."""
    _check_nodes(terms, which, 1, real=True)
    nodes = terms.firsts[which]
    n_factors = terms.starts[nodes + 1] - terms.starts[nodes]
    require((n_factors == 1).all(), "a term with real values does not have a single factor")
    return terms.starts[nodes]
