"""The interface between the boosting loop and an objective."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from edgewise.backend.base import Backend, Targets
from edgewise.common.dtypes import Reals, Signs
from edgewise.data import BinnedTable
from edgewise.learners import FoundRule, Learner
from edgewise.learners.base import direction_of
from edgewise.model import Rule, TreeRule
from edgewise.objective.votes import Vote


class Progress(Protocol):
    """The quantities that the history records of one round, by name."""

    def _asdict(self) -> Mapping[str, float]: ...


class TrainedRound(NamedTuple):
    """The rule and the votes of one round, and their effect."""

    rule: Rule
    vote: Vote
    progress: Progress


class AheadRound(NamedTuple):
    """One of several rounds that were trained in one call."""

    validation_scores: Reals  # (K, rows), after the round
    finish: Callable[[], TrainedRound]


class Objective(Protocol):
    """A loss that boosting minimizes round by round."""

    backend: Backend

    def hand_over(self, backend: Backend) -> None:
        """Continue with another backend of the same rows."""
        self.backend = backend

    @property
    def is_fitted(self) -> bool:
        """Whether the loss is practically 0."""

    def find(self, learner: Learner, t: int, everything: bool = False) -> FoundRule | None:
        """Return the learner's best base function in round `t`, or None if none has an edge."""

    def find_constant(self) -> FoundRule | None:
        """Return the constant to begin with if no base function has an edge, or None."""
        return None

    def vote(self, found: FoundRule) -> Vote | None:
        """Return the votes on a rule that `find` returned, or None if no step lowers the loss."""

    def train_ahead(
        self,
        learner: Learner,
        t: int,
        max_rounds: int,
        validation: tuple[BinnedTable, Reals] | None,
    ) -> Iterator[AheadRound]:
        """Train up to `max_rounds` rounds from `t` on in one call and yield them, if possible.

        `validation` are validation rows and their scores.
        """
        return iter(())

    def evaluate_vote(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        """Return these votes with their edge and energy on the current weights."""

    def advance(self, rule: Rule, vote: Vote) -> Progress:
        """Take the step."""

    def begin_round(self, t: int) -> None:
        """Observe the weights at the start of round `t`, replayed rounds included."""
        return

    @property
    def search_cost(self) -> float:
        """The cost of the last search, as a share of a search of all weights."""

    def refresh(self) -> None:
        """Recompute the weights from the scores, if rounds only multiply them."""
        return

    def training_scores(self) -> tuple[Reals, Targets] | None:
        """Return the scores of the training rows and their labels; None without classes."""
        return None


def vote_sign(rule: Rule, directions: Signs | None) -> int:
    """Return the sign that votes on a rule must have; 0 for any.

    The leaves of a tree keep to the directions of columns as they are.
    """
    is_tree = directions is not None and isinstance(rule, TreeRule)
    return 1 if is_tree else direction_of(rule, directions)


def are_same(rules: Sequence[Rule], others: Sequence[Rule]) -> bool:
    """Return whether two sequences hold the same rule objects."""
    return len(rules) == len(others) and all(map(operator.is_, rules, others))
