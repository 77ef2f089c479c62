"""Paths through trees: conjunctions of conditions, one for each column, that end in a leaf."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgewise.common.dtypes import Reals

if TYPE_CHECKING:
    from edgewise.model.rules import Test
    from edgewise.model.wording import Wording


class Condition(ABC):
    """The values of one subject, a column or a product of tests, that a path lets through."""

    @property
    @abstractmethod
    def subject(self) -> object:
        """The column, or the key of the product."""

    @property
    @abstractmethod
    def key(self) -> object:
        """The same for equal conditions."""

    @property
    @abstractmethod
    def can_hold(self) -> bool:
        """Whether any value meets the condition."""

    @property
    def always_holds(self) -> bool:
        """Whether all values meet the condition."""
        return False

    @abstractmethod
    def intersect(self, other: Any) -> "Condition":
        """Return the condition that both hold, of the same subject."""

    @abstractmethod
    def factor_words(self, wording: "Wording") -> str:
        """Return the condition as text."""


@dataclass(frozen=True)
class Interval(Condition):
    """The numbers of a column from `low` to below `high`, and missing values if `missing`."""

    column: int
    low: float
    high: float | None  # None: no bound, and infinity is inside
    missing: bool

    @property
    def subject(self) -> object:
        return self.column

    @property
    def key(self) -> object:
        return self

    @property
    def has_numbers(self) -> bool:
        """Whether any number is inside."""
        return self.high is None or self.low < self.high

    @property
    def can_hold(self) -> bool:
        return self.missing or self.has_numbers

    @property
    def always_holds(self) -> bool:
        return self.missing and self.low == -float("inf") and self.high is None

    def intersect(self, other: "Interval") -> "Interval":
        highs = [high for high in (self.high, other.high) if high is not None]
        low, high = max(self.low, other.low), min(highs, default=None)
        both = Interval(self.column, low, high, self.missing and other.missing)
        return both if both.has_numbers else only_missing(self.column, both.missing)

    def factor_words(self, wording: "Wording") -> str:
        return wording.interval(self)


def only_missing(column: int, missing: bool) -> Interval:
    """Return the condition that no number meets, and missing values do if `missing`."""
    return Interval(column, -float("inf"), -float("inf"), missing)


@dataclass(frozen=True)
class Outcomes(Condition):
    """The outputs of a product of tests that a path lets through."""

    test: "Test"
    signs: frozenset[int]

    @property
    def subject(self) -> object:
        return self.test.key

    @property
    def key(self) -> object:
        return self.test.key, self.signs

    @property
    def can_hold(self) -> bool:
        return bool(self.signs)

    def intersect(self, other: "Outcomes") -> "Outcomes":
        return Outcomes(self.test, self.signs & other.signs)

    def factor_words(self, wording: "Wording") -> str:
        (sign,) = self.signs
        return f"{self.test.words(wording)} = {f'{sign:+d}' if sign else '0'}"


@dataclass(frozen=True)
class Path:
    """The conditions that lead to a leaf; rows that meet all of them get its votes."""

    conditions: Mapping[object, Condition] = field(default_factory=dict)  # by subject
    abstains: bool = False
    """Whether a test abstains, as on missing values that it has not seen in training."""

    is_real = True

    @property
    def key(self) -> object:
        """The same for paths of the same conditions, in any order."""
        return frozenset(condition.key for condition in self.conditions.values())

    def extend(self, condition: Condition, abstains: bool) -> "Path | None":
        """Return the path with one more condition, or None if no row can meet all."""
        known = self.conditions.get(condition.subject)
        merged = condition if known is None else known.intersect(condition)
        if not merged.can_hold:
            return None
        if merged.always_holds:
            return self
        return Path({**self.conditions, merged.subject: merged}, self.abstains or abstains)

    def sentence(self, wording: "Wording", moves: Reals) -> str:
        """Return the path in words; `moves` are the votes of its leaf."""
        texts = [condition.factor_words(wording) for condition in self.conditions.values()]
        return f"{', '.join(texts) or '(always)'} -> {wording.effect(moves)}"
