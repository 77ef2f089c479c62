"""The Hamming losses of AdaBoost.MH, exponential and logistic: weights and steps."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgewise.backend.arithmetic import ENERGY_SCALE, EXACT_SCALE, SEARCH_SCALE, fixed
from edgewise.backend.base import Backend, Problem, RealStep, Step, Tally, Targets
from edgewise.common.dtypes import Exacts, Reals
from edgewise.learners import Comparison, Energies, Found, Learner, Round
from edgewise.model import Rule, TreeRule
from edgewise.objective.streams import Stream
from edgewise.objective.trimming import Everything, Heaviest, Look, Sampled
from edgewise.objective.votes import VOTE_RULES, Vote, sides

# The weights are multiplied round by round; now and then they are computed from the scores, so
# that weights that have underflowed can return.
REFRESH_EVERY = 1024

# Either side of a cut counts as having at least this share of an average score column's weight in
# the logarithms of the steps. It does not depend on the number of rows, so that a row of weight 2
# is the same as two rows.
SMOOTHING = 1e-3

# By how much a sum of new weights may exceed the last one in fixed point.
_HEAD_ROOM = 2.0**6

# Where the logistic weights sum to less than this, every row is right by a wide margin and there is
# nothing left to learn.
_LEAST_WEIGHT = 1e-10


SAMPLINGS = ("uniform", "weight")
LOSSES = ("exponential", "logistic")


class HammingProgress(NamedTuple):
    """How training stands after a round.

    Attributes
    ----------
    train_error : float
        The weighted share of training rows predicted wrongly.
    hamming_loss : float
        R_H(f, W1): the initial weight of the entries with a wrong sign.
    pseudo_weight : float
        w'_Sigma of Kégl 2014b eq. 14, before the step; NaN without a shared cut.
    weight : float
        The sum of the logistic weights before the step; NaN for the exponential loss.
    """

    train_error: float
    hamming_loss: float
    pseudo_weight: float
    weight: float


@dataclass(frozen=True)
class Settings:
    """How the loss is lowered.

    Attributes
    ----------
    votes : {"discrete", "real", "abstain"}
        The vote rule.
    factorized : bool
        Whether a round has one cut and a vote vector (True) or a cut for each score column.
    loss : {"exponential", "logistic"}
        exp(-y f), or ln(1 + exp(-y f)), whose weights stay bounded.
    learning_rate : float
        What every step is multiplied by.
    subsample : float
        The share of the rows, drawn anew in every round, that base functions are looked for on.
    sampling : {"uniform", "weight"}
        How these rows are drawn: all alike, or by their weight with replacement.
    trim : float or None
        The share of the weight that base functions are looked for on at least; None is all.
    seed : int
        The seed of these draws.
    least_leaf : float
        The least share of the rows' sample weight on either side of a split.
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


class Hamming:
    """AdaBoost.MH's objective on one training table.

    Parameters
    ----------
    backend : Backend
        The backend of the training table.
    targets : Targets
        Labels and initial weights.
    settings : Settings
        How the loss is lowered.
    mass_column : bool
        Whether the learner's searches need each row's sum of |S|.
    """

    def __init__(
        self, backend: Backend, targets: Targets, settings: Settings, mass_column: bool = False
    ) -> None:
        self.backend = backend
        self.targets = targets
        self.settings = settings
        self.rule = VOTE_RULES[settings.votes]()
        self.logistic = settings.loss == "logistic"
        n_scores = len(targets.labels)
        self.floor = SMOOTHING / n_scores
        self._row_total = int(fixed(targets.row_weights).sum())
        # The logistic weights of all entries start at one half of the initial weights.
        self._weight = 0.5 if self.logistic else float("nan")
        self._shift = 0.0
        self.state = backend.state(targets, mass_column)
        self._unit_losses = targets.label_weights * (self.state.scale / EXACT_SCALE)
        self._look = self._looking()

    def _looking(self) -> Look:
        settings = self.settings
        if settings.trim is not None:
            return Heaviest(self.backend, settings.trim)
        if settings.sampling == "weight":
            return Sampled(self.backend, settings.subsample, settings.seed)
        return Everything(self.backend)

    @property
    def is_fitted(self) -> bool:
        """Whether the loss is 0 for all purposes."""
        return self.logistic and self._weight < _LEAST_WEIGHT

    def find(self, learner: Learner, t: int, everything: bool = False) -> Found | None:
        """Return the learner's best base function in round `t`, or None if none has an edge.

        It is looked for on a sample of the rows where the settings say so, unless `everything`.
        """
        learner.begin(t)
        everywhere = self._problem()
        backend, problem = (
            (self.backend, everywhere) if everything else self._looked_at(everywhere, t)
        )
        round = Round(
            backend,
            problem,
            Stream(self.settings.seed, t),
            Comparison(energies=self._energies() if self.rule.compares_energies else None),
            self.settings.votes == "real",
            least_mass=self._least_mass(problem),
        )
        if not self.settings.factorized:
            rule = learner.find_per_score(round)
            return None if rule is None else Found(rule, 0, 0.0, None)
        found = learner.find(round)
        if found is None or problem is everywhere or isinstance(self._look, Everything):
            return found
        return learner.settled(found, round._replace(backend=self.backend, problem=everywhere))

    def _problem(self) -> Problem:
        return self.backend.problem(self.state, self.settings.least_leaf > 0)

    def _least_mass(self, problem: Problem) -> int:
        """Return the least mass of a leaf: a share of the rows that are looked at."""
        if problem.row_masses is None:
            return 0
        # A little less, so that the share of equal rows is not lost to rounding.
        wanted = self.settings.least_leaf * (1.0 - 1e-9) * problem.row_masses.mass
        return math.ceil(wanted)

    def follow(self, t: int) -> None:
        """Take note of the weights at the beginning of round `t`, of a replayed one too."""
        self._look.follow(self._problem(), t)

    @property
    def searched(self) -> float:
        """The share of the weights' work that the last search took."""
        if self.settings.sampling == "uniform" and self.settings.trim is None:
            return self.settings.subsample
        return self._look.share

    def _looked_at(self, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return what a round's search looks at."""
        share = self.settings.subsample
        if share == 1.0 or self.settings.sampling == "weight":
            return self._look.part(problem, t)
        n_rows = self.backend.table.n_rows
        rng = np.random.default_rng([self.settings.seed, t, 1])
        chosen = rng.choice(n_rows, max(1, round(share * n_rows)), replace=False)
        return self.backend, self.backend.within(problem, np.sort(chosen).astype(np.int32))

    def vote(self, found: Found) -> Vote | None:
        """Return the votes on what was found, or None where no step lowers the loss."""
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
        """Return given votes with their energy on the current weights."""
        if rule.is_real:
            return self._retake_real(rule, alpha, votes, float("nan"))
        return self.rule.retake(self.backend.edges(self.state, rule), alpha, votes)

    def _retake_real(self, rule: Rule, alpha: float, votes: Reals, edge: float) -> Vote:
        energy = self.backend.energy(self.state, rule, alpha * votes) / ENERGY_SCALE
        return Vote(alpha, votes, edge, energy)

    def advance(self, rule: Rule, vote: Vote) -> HammingProgress:
        """Take the step."""
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
        """Move the scores, compute the weights from them and normalise these."""
        # Logistic weights fall with the loss; their sum is never much more than it was.
        last = self._weight if self.logistic else 1.0
        unit = EXACT_SCALE / _HEAD_ROOM * 2.0 ** -math.frexp(last)[1]
        step = RealStep(vote.coefficients, vote.votes, self.logistic, self._shift, unit)
        total, pseudo = self.backend.reweigh(self.state, rule, step)
        if self.logistic:
            self._weight = total / unit
        else:
            self._shift -= math.log(total / unit)
        tally = self.backend.rescale(self.state, unit / total)
        return tally._replace(pseudo=pseudo)

    def refresh(self) -> None:
        """Compute the weights from the scores, where they are otherwise multiplied."""
        if not self.logistic:
            self.backend.refresh(self.state)

    def training_scores(self) -> tuple[Reals, Targets]:
        """Return the scores of the training rows, shape (K, n), and their labels."""
        return self.backend.scores(self.state), self.targets

    def _energies(self) -> Energies:
        def energies(score_edges: Exacts, masses: Exacts) -> Reals:
            return self.rule.energies(*sides(score_edges, masses))

        return energies

    def _hamming_loss(self, wrong_entries: Exacts) -> float:
        if self.targets.matrix is None:
            return float((wrong_entries * self._unit_losses).sum())
        return self.backend.wrong_weight(self.state) / EXACT_SCALE
