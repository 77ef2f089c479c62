"""The ranking loss of RankBoost (Iyer 1999 chapter 4): potentials and steps.

Rules say -1 or +1; the thesis's weak hypotheses h say 0 or 1. With h = (1 + phi) / 2 a coefficient
of phi is half the thesis's alpha, and all differences of scores are the same.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.base import Backend, Bounds, Candidates, Problem, Question
from edgewise.common.dtypes import Columns, Reals, Rows
from edgewise.learners import Found, Learner, Round
from edgewise.model import Rule
from edgewise.objective.cumulative import Cumulative
from edgewise.objective.energy_cuts import best_cuts
from edgewise.objective.feedback import Feedback, Weighed
from edgewise.objective.newton import best_step
from edgewise.objective.streams import Stream
from edgewise.objective.votes import Vote, half_log_odds

STEPS = ("bound", "exact")

# Either side counts as having at least this share of the pairs' weight in the logarithm of a step,
# so that a rule that orders all pairs rightly gets a finite one.
SMOOTHING = 1e-3
_LARGEST_STEP = 0.5 * math.log(1.0 / SMOOTHING)

# With less than this left of the exponential loss, every pair is right by a wide margin.
LEAST_ENERGY = 1e-250

# With scores so far apart within a query, exponentials of them leave the range of a double.
WIDEST = 1300.0


@dataclass(frozen=True)
class RankSettings:
    """How the loss is lowered.

    Attributes
    ----------
    criterion : {"edge", "energy"}
        What rules are compared by: |r|, or Z itself (the thesis's third and second methods).
    step : {"bound", "exact"}
        The step that minimises the bound sqrt(1 - r^2) of Z (eq. 4.6), or Z itself: in closed form
        where a rule has two values (eq. 4.2), by Newton's method where it has more.
    learning_rate : float
        What every step is multiplied by.
    subsample : float
        The share of the queries, drawn anew in every round, that rules are looked for on.
    seed : int
        The seed of these draws.
    """

    criterion: str = "edge"
    step: str = "bound"
    learning_rate: float = 1.0
    subsample: float = 1.0
    seed: int = 0


class RankProgress(NamedTuple):
    """How training stands after a round: the share of the pairs that are misordered."""

    ranking_loss: float


class Ranking:
    """RankBoost's objective on one table.

    Parameters
    ----------
    backend : Backend
        The backend of the training table.
    feedback : Feedback
        The pairs, of all rows of the table or of some.
    settings : RankSettings
        How the loss is lowered.
    cumulative : Cumulative or None
        Which signs the weights of cuts may add up to; None lets them have any.
    mass_column : bool
        Whether the learner's searches need each row's |S|.
    start : float64 array of shape (rows of the feedback,) or None
        The scores to begin with, in the order of the feedback's rows; None is 0.
    """

    def __init__(
        self,
        backend: Backend,
        feedback: Feedback,
        settings: RankSettings,
        cumulative: Cumulative | None = None,
        mass_column: bool = False,
        start: Reals | None = None,
    ) -> None:
        self.backend = backend
        self.feedback = feedback
        self.settings = settings
        self.cumulative = cumulative
        self._mass_column = mass_column
        # How far apart scores could be by now.
        self._reach = 0.0 if start is None else float(np.ptp(start))
        self._trial: tuple[NDArray, float, Reals, Weighed] | None = None
        # The rows of the round's sample, and the weights of its pairs as integers.
        self._sampled: Rows | None = None
        self._sample: Any = None
        self.scores = np.zeros(feedback.n_rows) if start is None else start
        self._adopt(self.scores, feedback.weigh(self.scores))

    @property
    def is_fitted(self) -> bool:
        """Whether the loss is 0 for all purposes, or scores lie too far apart to go on."""
        if self.weighed.energy < LEAST_ENERGY:
            return True
        return self._reach > WIDEST and self.feedback.span(self.scores) > WIDEST

    def problem(self) -> Problem:
        """Return the round's problem: S is half the potentials, good until the next step."""
        return self._current

    def find(self, learner: Learner, t: int, everything: bool = False) -> Found | None:
        """Return the learner's best rule in round `t`, or None if none has an edge.

        It is looked for on a sample of the queries where the settings say so, unless `everything`.
        """
        learner.begin(t)
        problem, rng = self._problem(t, everything), Stream(self.settings.seed, t)
        return learner.find(Round(self.backend, problem, rng, real_votes=True, pairs=self))

    def bounds(self, columns: Columns) -> Bounds | None:
        """Return which signs the edges of cuts of some columns may have."""
        return None if self.cumulative is None else self.cumulative.bounds(columns)

    def cuts(self, columns: Columns, problem: Problem, question: Question) -> Candidates | None:
        """Return the best cut of each column by the energy, where that is the criterion."""
        if self.settings.criterion != "energy":
            return None
        if self._sample is None:
            self._sample = self.feedback.integers(self.scores, self._sampled)
        return best_cuts(self.backend, self.feedback, self._sample, columns, question)

    def _problem(self, t: int, everything: bool) -> Problem:
        problem, share = self.problem(), self.settings.subsample
        self._sampled, self._sample = None, None
        if everything or share == 1.0:
            return problem
        rng = np.random.default_rng([self.settings.seed, t, 1])
        self._sampled = self.feedback.some(share, rng)
        return self.backend.within(problem, self._sampled)

    def decrease(self, rule: Rule) -> float:
        """Return by which share the energy decreases along a real-valued rule, to second order."""
        unit, span = _unit(self._outputs(rule))
        if span == 0.0:
            return 0.0
        _, slope, curvature = self.feedback.moments(self.scores, unit, 0.0)
        return 0.5 * slope * slope / (curvature * self.weighed.energy) if curvature > 0 else 0.0

    def _outputs(self, rule: Rule) -> NDArray:
        """Return a rule's outputs on the rows of the pairs."""
        return self.backend.outputs(rule)[0][self.feedback.rows]

    def vote(self, found: Found) -> Vote | None:
        """Return the step along what was found, or None where no step lowers the loss."""
        phi = self._outputs(found.rule)
        edge = self._edge(phi)
        step = self.settings.learning_rate * self._step(phi, edge)
        if self.cumulative is not None:
            step = self.cumulative.clip(found.rule, step)
        vote = self._try(phi, step, edge)
        return vote if vote.energy < 1.0 else None

    def retake(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        """Return a given step with the edge and energy that it has now."""
        phi = self._outputs(rule)
        return self._try(phi, alpha * float(votes[0]), self._edge(phi))

    def advance(self, rule: Rule, vote: Vote) -> RankProgress:
        """Take the step."""
        step = float(vote.coefficients[0])
        if self._trial is None or self._trial[1] != step:
            self.retake(rule, vote.alpha, vote.votes)
        assert self._trial is not None
        phi, _, scores, weighed = self._trial
        self._reach += abs(step) * float(np.ptp(phi)) if len(phi) else 0.0
        self._adopt(scores, weighed)
        if self.cumulative is not None:
            self.cumulative.add(rule, step)
        moved = phi > 0 if _two_valued(phi) else None
        return RankProgress(self.feedback.misordered(self.scores, moved))

    def follow(self, t: int) -> None:
        """Nothing to take note of: searches look at all rows, or at a new sample of them."""

    @property
    def searched(self) -> float:
        """The share of the rows that the last search looked at."""
        return self.settings.subsample

    def refresh(self) -> None:
        """Nothing to do: the weights are computed from the scores in every round."""

    def training_scores(self) -> None:
        """There are no classes."""

    def _edge(self, phi: NDArray) -> float:
        """Return r = sum of pi h (Iyer 1999 eq. 4.10), which is the sum of S phi."""
        if phi.dtype == np.int8:
            return int((self._exact * phi).sum()) / EXACT_SCALE
        return math.fsum((self.weighed.potentials / self.weighed.energy * phi).tolist())

    def _step(self, phi: NDArray, edge: float) -> float:
        """Return the coefficient of phi that minimises Z, or its bound."""
        if phi.dtype == np.int8:
            if self.settings.step == "bound":
                return 0.5 * half_log_odds((1 + edge) / 2, (1 - edge) / 2, SMOOTHING)
            if _two_valued(phi):
                low, high = self.feedback.sides(self.scores, phi > 0)
                return 0.5 * half_log_odds(low, high, SMOOTHING * max(low, high, 1e-300))
        unit, span = _unit(phi)
        if span == 0.0:
            return 0.0
        moments = partial(self.feedback.moments, self.scores, unit)
        return best_step(moments, _LARGEST_STEP) / span

    def _try(self, phi: NDArray, step: float, edge: float) -> Vote:
        """Weigh the pairs after a step, and keep that for `advance`."""
        scores = self.scores + step * phi
        weighed = self.feedback.weigh(scores)
        self._trial = (phi, step, scores, weighed)
        votes = np.array([math.copysign(1.0, step)])
        return Vote(abs(step), votes, edge, weighed.energy / self.weighed.energy)

    def _adopt(self, scores: Reals, weighed: Weighed) -> None:
        """Make scores and weights the current ones; quantise the potentials for the search."""
        self.scores, self.weighed, self._trial = scores, weighed, None
        shares = weighed.potentials / max(weighed.energy, 1e-300)
        quanta = np.rint(shares * SEARCH_SCALE).astype(np.int64)
        self._exact = np.rint(shares * EXACT_SCALE).astype(np.int64)
        rows = self.feedback.rows
        self._current = self.backend.potentials(rows, quanta, self._mass_column)
        self._sample = None


def _unit(phi: NDArray) -> tuple[Reals, float]:
    """Return outputs scaled to span 1 from 0 on, and what they span: only differences count."""
    real = phi.astype(np.float64)
    low = float(real.min(initial=np.inf))
    span = float(real.max(initial=-np.inf)) - low
    return ((real - low) / span if span > 0 else np.zeros_like(real)), span


def edge_limit(weight: float, learning_rate: float) -> int:
    """Return the largest edge, in the search's fixed point, whose step is at most a weight."""
    return math.floor(math.tanh(2.0 * weight / learning_rate) * SEARCH_SCALE)


def _two_valued(phi: NDArray) -> bool:
    """Return whether outputs are all -1 or +1."""
    return phi.dtype == np.int8 and bool(phi.all())
