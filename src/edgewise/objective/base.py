"""The interface between the boosting loop and an objective."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from edgewise.backend.base import Backend, Targets
from edgewise.common.dtypes import Reals
from edgewise.data import BinnedTable
from edgewise.learners import Found, Learner
from edgewise.model import Rule
from edgewise.objective.votes import Vote


class Progress(Protocol):
    """The quantities that a round adds to the history, by name."""

    def _asdict(self) -> Mapping[str, float]: ...


class Taken(NamedTuple):
    """The rule and the votes of a round, and what they did."""

    rule: Rule
    vote: Vote
    progress: Progress


class Leapt(NamedTuple):
    """One of several rounds that were trained in one call."""

    watched: Reals  # the scores of the validation rows
    taken: Callable[[], Taken]  # tells what the round did


class Objective(Protocol):
    """A loss that boosting minimizes round by round."""

    backend: Backend

    def hand_over(self, backend: Backend) -> None:
        """Continue with another backend of the same rows."""
        self.backend = backend

    @property
    def is_fitted(self) -> bool:
        """Whether the loss is 0 for all purposes."""

    def find(self, learner: Learner, t: int, everything: bool = False) -> Found | None:
        """Return the learner's best base function in round `t`, or None if none has an edge."""

    def constant(self) -> Found | None:
        """Return the constant to begin with where no base function has an edge, or None."""
        return None

    def vote(self, found: Found) -> Vote | None:
        """Return the votes on what was found, or None where no step lowers the loss."""

    def leap(
        self, learner: Learner, t: int, most: int, watched: tuple[BinnedTable, Reals] | None
    ) -> Iterator[Leapt]:
        """Train up to `most` rounds from `t` on at once, and yield them; none where it cannot.

        `watched` are validation rows and their scores.
        """
        return iter(())

    def retake(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        """Return given votes with their energy on the current weights."""

    def advance(self, rule: Rule, vote: Vote) -> Progress:
        """Take the step."""

    def follow(self, t: int) -> None:
        """Observe the weights at the start of round `t`, replayed rounds included."""
        return

    @property
    def searched(self) -> float:
        """The cost of the last search, as a share of a search of all weights."""

    def refresh(self) -> None:
        """Recompute the weights from the scores, if rounds only multiply them."""
        return

    def training_scores(self) -> tuple[Reals, Targets] | None:
        """Return the scores of the training rows and their labels; None without classes."""
        return None


class Stream:
    """The random stream of round `t`, made when first called: most rounds draw nothing."""

    def __init__(self, seed: int, t: int) -> None:
        self._seed = (seed, t, 2)
        self._rng: np.random.Generator | None = None

    def __call__(self) -> np.random.Generator:
        if self._rng is None:
            self._rng = np.random.default_rng(self._seed)
        return self._rng
