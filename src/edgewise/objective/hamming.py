"""The Hamming losses of AdaBoost.MH, exponential and logistic: weights and steps."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgewise.backend.arithmetic import ENERGY_SCALE, EXACT_SCALE, SEARCH_SCALE, fixed
from edgewise.backend.base import Backend, Problem, RealStep, Step, Tally, Targets
from edgewise.common.dtypes import Exacts, Reals
from edgewise.learners import Comparison, Found, Learner, Round
from edgewise.model import Rule, TreeRule
from edgewise.objective.base import Objective, Stream
from edgewise.objective.trimming import HeaviestWeights, SampledRows
from edgewise.objective.votes import VOTE_RULES, Vote, sides

# Rounds multiply the weights; every so often they are recomputed from the scores, so that weights
# that underflowed can return.
REFRESH_EVERY = 1024

# Either side of a cut counts as having at least this share of an average score column's weight in
# the logarithms of the steps. It does not depend on the number of rows, so that a row of weight 2
# is the same as two rows.
SMOOTHING = 1e-3

# By how much a sum of new weights may exceed the last one in fixed point.
_HEAD_ROOM = 2.0**6

# If the logistic weights sum to less than this, every row is right by a wide margin.
_LEAST_WEIGHT = 1e-10

SAMPLINGS = ("uniform", "weight")
LOSSES = ("exponential", "logistic")


class HammingProgress(NamedTuple):
    """What a round adds to the history."""

    train_error: float  # the weighted share of training rows predicted wrongly
    hamming_loss: float  # R_H(f, W1): the initial weight of the entries with a wrong sign
    pseudo_weight: float  # w'_Sigma of Kégl 2014b eq. 14, before the step; NaN without a shared cut
    weight: float  # the sum of the logistic weights before the step; NaN for the exponential loss


@dataclass(frozen=True)
class Settings:
    """Settings of `AdaBoostMH` that shape its loss.

    `trim` is the least share of the weight to search (None: all), `least_leaf` the least share of
    the sample weight on either side of a split.
    """

    votes: str = "discrete"
    factorized: bool = True
    loss: str = "exponential"
    learning_rate: float = 1.0
    subsample: float = 1.0
    sampling: str = "uniform"
    trim: float | None = None
    seed: int = 0
    least_leaf: float = 0.0


class Hamming(Objective):
    """AdaBoost.MH's objective on one training table.

    With `mass_column`, the learner's searches need each row's sum of |S|.
    """

    def __init__(
        self, backend: Backend, targets: Targets, settings: Settings, mass_column: bool = False
    ) -> None:
        self.backend = backend
        self.targets = targets
        self.settings = settings
        self.rule = VOTE_RULES[settings.votes]()
        self.logistic = settings.loss == "logistic"
        self.floor = SMOOTHING / len(targets.labels)
        self._row_total = int(fixed(targets.row_weights).sum())
        # The logistic weights of all entries start at one half of the initial weights.
        self._weight = 0.5 if self.logistic else float("nan")
        self._shift = 0.0
        self.state = backend.state(targets, mass_column)
        self._unit_losses = targets.label_weights * (self.state.scale / EXACT_SCALE)
        # The weights to search: None searches all, or a uniform sample of the rows.
        self._selection: HeaviestWeights | SampledRows | None = None
        if settings.trim is not None:
            self._selection = HeaviestWeights(backend, settings.trim)
        elif settings.sampling == "weight":
            self._selection = SampledRows(backend, settings.subsample, settings.seed)

    @property
    def is_fitted(self) -> bool:
        return self.logistic and self._weight < _LEAST_WEIGHT

    def find(self, learner: Learner, t: int, everything: bool = False) -> Found | None:
        """Return the learner's best base function on the round's sample, or on `everything`."""
        learner.begin(t)
        everywhere = self._problem()
        backend, problem = self.backend, everywhere
        if not everything:
            backend, problem = self._sample(everywhere, t)
        round = Round(
            backend,
            problem,
            Stream(self.settings.seed, t),
            Comparison(energies=self._energies if self.rule.compares_energies else None),
            self.settings.votes == "real",
            least_mass=self._least_mass(problem),
        )
        if not self.settings.factorized:
            rule = learner.find_per_score(round)
            return None if rule is None else Found(rule, 0, 0.0, None)
        found = learner.find(round)
        if found is None or problem is everywhere or self._selection is None:
            return found
        return learner.settled(found, round._replace(backend=self.backend, problem=everywhere))

    def _problem(self) -> Problem:
        return self.backend.problem(self.state, self.settings.least_leaf > 0)

    def _least_mass(self, problem: Problem) -> int:
        """Return the least mass of a leaf: a share of the rows searched."""
        if problem.row_masses is None:
            return 0
        # A little less, so that the share of equal rows is not lost to rounding.
        return math.ceil(self.settings.least_leaf * (1.0 - 1e-9) * problem.row_masses.mass)

    def follow(self, t: int) -> None:
        if isinstance(self._selection, HeaviestWeights):
            self._selection.follow(self._problem(), t)

    @property
    def searched(self) -> float:
        return self.settings.subsample if self._selection is None else self._selection.share

    def _sample(self, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return the backend and the problem that a round searches."""
        share, n_rows = self.settings.subsample, self.backend.table.n_rows
        if self._selection is not None:
            return self._selection.part(problem, t)
        if share == 1.0:
            return self.backend, problem
        rng = np.random.default_rng([self.settings.seed, t, 1])
        chosen = rng.choice(n_rows, max(1, round(share * n_rows)), replace=False)
        return self.backend, self.backend.within(problem, np.sort(chosen).astype(np.int32))

    def vote(self, found: Found) -> Vote | None:
        rate = self.settings.learning_rate
        if found.rule.is_real:
            votes = np.ones(self.state.n_scores) if found.votes is None else found.votes
            vote = self._retake_real(found.rule, rate, votes, found.edge / SEARCH_SCALE)
            return vote if vote.energy < 1.0 else None
        edges = self.backend.edges(self.state, found.rule)
        vote = self.rule.vote(edges, self.floor)
        if isinstance(found.rule, TreeRule):
            # The leaves have voted already: a class without an edge keeps what they say.
            votes = np.where(edges.edges == 0, np.abs(vote.votes), vote.votes)
            vote = self.rule.retake(edges, vote.alpha, votes)
        if rate != 1.0:
            vote = self.rule.retake(edges, rate * vote.alpha, vote.votes)
        return vote if vote.energy < edges.total / EXACT_SCALE else None

    def retake(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        if rule.is_real:
            return self._retake_real(rule, alpha, votes, float("nan"))
        return self.rule.retake(self.backend.edges(self.state, rule), alpha, votes)

    def _retake_real(self, rule: Rule, alpha: float, votes: Reals, edge: float) -> Vote:
        energy = self.backend.energy(self.state, rule, alpha * votes) / ENERGY_SCALE
        return Vote(alpha, votes, edge, energy)

    def advance(self, rule: Rule, vote: Vote) -> HammingProgress:
        weight = self._weight
        if self.logistic or rule.is_real:
            tally = self._recompute(rule, vote)
        else:
            moves, rest = vote.coefficients, 1.0 / vote.energy
            # The same two factors whichever the sign: a vote of -1 on a rule is to the last bit a
            # vote of +1 on its opposite.
            grown = np.exp(np.abs(moves))
            growth, decay = rest * grown, rest / grown
            step = Step(
                np.where(moves > 0, decay, growth),
                np.where(moves > 0, growth, decay),
                rest,
                moves,
                vote.votes,
            )
            tally = self.backend.advance(self.state, rule, step)
            self._shift -= math.log(vote.energy)
        return HammingProgress(
            tally.wrong_rows / self._row_total,
            self._hamming_loss(tally.wrong_entries),
            tally.pseudo / EXACT_SCALE if tally.pseudo >= 0 else float("nan"),
            weight,
        )

    def _recompute(self, rule: Rule, vote: Vote) -> Tally:
        """Move the scores, recompute the weights from them and normalise."""
        # Logistic weights decrease with the loss; their sum hardly ever grows.
        last = self._weight if self.logistic else 1.0
        unit = EXACT_SCALE / _HEAD_ROOM * 2.0 ** -math.frexp(last)[1]
        moves = RealStep(vote.coefficients, vote.votes, self.logistic, self._shift, unit)
        total, pseudo = self.backend.reweigh(self.state, rule, moves)
        if self.logistic:
            self._weight = total / unit
        else:
            self._shift -= math.log(total / unit)
        step = Step.scaling(self.state.n_scores, unit / total)
        tally = self.backend.advance(self.state, None, step)
        return tally._replace(pseudo=pseudo)

    def refresh(self) -> None:
        if not self.logistic:
            self.backend.refresh(self.state)

    def training_scores(self) -> tuple[Reals, Targets]:
        return self.backend.scores(self.state), self.targets

    def _energies(self, score_edges: Exacts, masses: Exacts) -> Reals:
        return self.rule.energies(*sides(score_edges, masses))

    def _hamming_loss(self, wrong_entries: Exacts) -> float:
        if self.targets.matrix is None:
            return float((wrong_entries * self._unit_losses).sum())
        total = 0
        for k, scores in enumerate(self.backend.scores(self.state)):
            wrong = (scores > 0) != (self.targets.labels[k] > 0)
            shares = self.targets.initial_weights(k)[wrong] * self.state.scale
            total += int(fixed(shares).sum())
        return total / EXACT_SCALE
