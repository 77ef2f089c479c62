"""The exponential Hamming loss of AdaBoost.MH: how scores become weights, and the steps."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.dtypes import Exacts, Reals, Signs
from edgewise.kernels import EXACT_SCALE, Kernels, State, Step, exact_sum, fixed
from edgewise.learners import Cut, Energies, Learner
from edgewise.objective.votes import VOTE_RULES, Vote, sides
from edgewise.search import Search

# The weights are multiplied round by round; now and then they are computed from the scores, so
# that weights that have underflowed can return.
REFRESH_EVERY = 1024

# Either side of a cut counts as having at least this share of an average score column's weight in
# the logarithms of the steps. It does not depend on the number of rows, so that a row of weight 2
# is the same as two rows.
SMOOTHING = 1e-3


@dataclass(frozen=True)
class Targets:
    """What is to be learned, and the initial weight of each entry.

    Attributes
    ----------
    labels : int8 array of shape (K, n)
        Y, -1 or +1.
    target : int32 array of shape (n,)
        The row's class, or -1 in binary and multi-label problems.
    row_weights : float64 array of shape (n,)
        Positive, summing to 1.
    label_weights : float64 array of shape (2, K)
        What a row's weight is multiplied by for an entry, by label (-1, +1) and score column.
    matrix : float64 array of shape (K, n) or None
        Weights given entry by entry, which take the place of `label_weights`.
    """

    labels: Signs
    target: NDArray[np.int32]
    row_weights: Reals
    label_weights: Reals
    matrix: Reals | None = None

    def initial_weights(self, k: int) -> Reals:
        """Return W1 of score column `k`, not yet normalised over all."""
        if self.matrix is not None:
            return self.row_weights * self.matrix[k]
        low, high = self.label_weights[:, k]
        return self.row_weights * np.where(self.labels[k] > 0, high, low)


class Progress(NamedTuple):
    """How training stands after a round.

    Attributes
    ----------
    train_error : float
        The weighted share of training rows predicted wrongly.
    hamming_loss : float
        R_H(f, W1): the initial weight of the entries with a wrong sign.
    pseudo_weight : float
        w'_Sigma of seed 001 eq. 14, before the step; NaN without a shared cut.
    """

    train_error: float
    hamming_loss: float
    pseudo_weight: float


class Hamming:
    """AdaBoost.MH's objective on one training table.

    Parameters
    ----------
    kernels : Kernels
        The kernels of the training table.
    targets : Targets
        Labels and initial weights.
    votes : {"discrete", "real", "abstain"}
        The vote rule.
    factorized : bool
        Whether a round has one cut and a vote vector (True) or a cut for each score column.
    """

    def __init__(self, kernels: Kernels, targets: Targets, votes: str, factorized: bool) -> None:
        self.kernels = kernels
        self.targets = targets
        self.rule = VOTE_RULES[votes]()
        self.factorized = factorized
        n_scores = len(targets.labels)
        self.floor = SMOOTHING / n_scores
        weights = np.stack([targets.initial_weights(k) for k in range(n_scores)])
        self._scale = 1.0 / exact_sum(weights)
        self._unit_losses = targets.label_weights * (self._scale / EXACT_SCALE)
        row_mass = fixed(targets.row_weights)
        self._row_total = int(row_mass.sum())
        self.state = State(targets.labels, targets.target, row_mass, weights)
        self.refresh()

    def find(self, learner: Learner, search: Search) -> Cut | None:
        """Return the learner's best cut on the current weights, or None if none has an edge."""
        if not self.factorized:
            return learner.find_per_score(self.kernels, self.state, search)
        energies = self._energies() if self.rule.compares_energies else None
        return learner.find(self.kernels, self.state, search, energies)

    def vote(self, signs: Signs) -> Vote | None:
        """Return the votes on a cut, or None where no step lowers the loss."""
        edges = self.kernels.edges(self.state, signs)
        vote = self.rule.vote(edges, self.floor)
        return vote if vote.energy < edges.total / EXACT_SCALE else None

    def retake(self, signs: Signs, alpha: float, votes: Reals) -> Vote:
        """Return given votes with their energy on the current weights."""
        return self.rule.retake(self.kernels.edges(self.state, signs), alpha, votes)

    def advance(self, signs: Signs, vote: Vote) -> Progress:
        """Take the step."""
        moves, rest = vote.coefficients, 1.0 / vote.energy
        growth = np.exp(moves)
        step = Step(rest / growth, rest * growth, rest, moves, vote.votes)
        tally = self.kernels.advance(self.state, signs, step)
        return Progress(
            tally.wrong_rows / self._row_total,
            self._hamming_loss(tally.wrong_entries),
            tally.pseudo / EXACT_SCALE if tally.pseudo >= 0 else float("nan"),
        )

    def refresh(self) -> None:
        """Compute the weights from the scores."""
        weights, scores, labels = self.state.weights, self.state.scores, self.state.labels
        for k in range(len(labels)):
            weights[k] = self.targets.initial_weights(k)
        # The largest exponent is 0, so nothing overflows and not everything underflows.
        least = min(
            float((labels[k] * scores[k]).min(where=weights[k] > 0, initial=np.inf))
            for k in range(len(labels))
        )
        for k in range(len(labels)):
            weights[k] *= np.exp(np.minimum(least - labels[k] * scores[k], 0.0))
        weights /= exact_sum(weights)
        unmoved = np.ones((1, self.state.n_rows), dtype=np.int8)
        self.kernels.advance(self.state, unmoved, Step.none(self.state.n_scores))

    def _energies(self) -> Energies:
        def energies(score_edges: Exacts) -> Reals:
            return self.rule.energies(*sides(score_edges, self.state.signed_masses))

        return energies

    def _hamming_loss(self, wrong_entries: Exacts) -> float:
        if self.targets.matrix is None:
            return float((wrong_entries * self._unit_losses).sum())
        total = 0
        for k, (scores, labels) in enumerate(
            zip(self.state.scores, self.state.labels, strict=True)
        ):
            wrong = (scores > 0) != (labels > 0)
            total += int(fixed(self.targets.initial_weights(k)[wrong] * self._scale).sum())
        return total / EXACT_SCALE
