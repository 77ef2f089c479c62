"""What the boosting loop asks of an objective: how scores become weights, how long the step is."""

from collections.abc import Mapping
from typing import Protocol

from edgewise.backend.base import Targets
from edgewise.common.dtypes import Reals
from edgewise.learners import Found, Learner
from edgewise.model import Rule
from edgewise.objective.votes import Vote


class Progress(Protocol):
    """How training stands after a round: quantities of the history by name."""

    def _asdict(self) -> Mapping[str, float]: ...


class Objective(Protocol):
    """A loss that is lowered round by round."""

    @property
    def is_fitted(self) -> bool:
        """Whether the loss is 0 for all purposes."""

    def find(self, learner: Learner, t: int, everything: bool = False) -> Found | None:
        """Return the learner's best base function in round `t`, or None if none has an edge."""

    def vote(self, found: Found) -> Vote | None:
        """Return the votes on what was found, or None where no step lowers the loss."""

    def retake(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        """Return given votes with their energy on the current weights."""

    def advance(self, rule: Rule, vote: Vote) -> Progress:
        """Take the step."""

    def follow(self, t: int) -> None:
        """Take note of the weights at the beginning of round `t`, of a replayed one too."""

    @property
    def searched(self) -> float:
        """The share of the weights' work that the last search took, of what all would take."""

    def refresh(self) -> None:
        """Compute the weights from the scores, where they are otherwise multiplied."""

    def training_scores(self) -> tuple[Reals, Targets] | None:
        """Return the scores of the training rows and their labels; None without classes."""
