"""From the edges of a rule to votes, step and energy: discrete, real and abstaining votes.

In all three, a vote is right about ``plus = (mass + |edge|) / 2`` of its score column's weight and
wrong about ``minus = (mass - |edge|) / 2``.
"""

import math
import operator
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from edgewise.backend.arithmetic import EXACT_SCALE, exp_of, log_of
from edgewise.backend.base import Edges
from edgewise.common.dtypes import Columns, Exacts, Reals


class Vote(NamedTuple):
    """One round's votes."""

    alpha: float  # the base coefficient
    votes: Reals  # v, (K,): -1 or +1; 0 for a class that abstains; any number for real votes
    edge: float  # as a share of the total weight
    energy: float  # Z, the sum of the weights after the step, before normalization

    @property
    def coefficients(self) -> Reals:
        """Alpha * v, the change of the scores."""
        return self.alpha * self.votes


class VoteRule(ABC):
    """How votes and step follow from the edges of the score columns."""

    compares_energies: ClassVar[bool] = True
    """Whether columns are compared by energy: for discrete votes, edges give the same order."""

    @abstractmethod
    def votes(self, plus: Reals, minus: Reals, signs: Reals, floor: float) -> tuple[float, Reals]:
        """Return alpha and v, given the weight on either side and the signs of the edges."""

    @abstractmethod
    def energies(self, plus: Reals, minus: Reals) -> Reals:
        """Return the minimal energy of each row of `plus` and `minus`, shape (candidates, K)."""

    def vote(
        self, edges: Edges, floor: float, damping: float = 0.0, signs: Columns | None = None
    ) -> Vote:
        """Return the votes that minimize the energy, given a cut's edges in fixed point.

        In the logarithms a side weighs at least `floor`, so that a perfect cut gets a finite step;
        `damping` adds to both. Votes have the `signs`, of which 0 allows both.
        """
        allowed = edges
        if signs is not None:
            # Without an edge, no vote is best.
            allowed = edges._replace(edges=np.where(signs * edges.edges < 0, 0, edges.edges))
        plus, minus, best_signs = _sides(allowed)
        alpha, votes = self.votes(plus + damping, minus + damping, best_signs, floor)
        if signs is not None:
            votes = np.where(signs * votes < 0, 0.0, votes)
        return self.evaluate(edges, alpha, votes)

    def evaluate(self, edges: Edges, alpha: float, votes: Reals) -> Vote:
        """Return these votes with the edge and energy that they have on the current weights."""
        plus, minus, signs = _sides(edges)
        sizes = alpha * votes * signs
        idle = (edges.total - sum(edges.masses.tolist())) / EXACT_SCALE
        energy = math.fsum(plus * np.exp(-sizes)) + math.fsum(minus * np.exp(sizes)) + idle
        edge = sum((np.sign(votes).astype(np.int64) * edges.edges).tolist())
        return Vote(alpha, votes, edge / edges.total, energy)


class Discrete(VoteRule):
    """Votes of -1 or +1 and one alpha (Kégl and Busa-Fekete 2009a, eq. 4)."""

    compares_energies = False

    def vote(
        self, edges: Edges, floor: float, damping: float = 0.0, signs: Columns | None = None
    ) -> Vote:
        """Return the votes from two sums: most models do this in every round."""
        votes = np.where(edges.edges > 0, 1.0, -1.0)
        if signs is not None:
            votes = np.where(signs == 0, votes, signs)
        edge, mass = _total_edge(edges, votes), sum(edges.masses.tolist())
        plus, minus = (mass + edge) / 2 / EXACT_SCALE, (mass - edge) / 2 / EXACT_SCALE
        # Votes of given signs may have a negative edge: no step is best.
        alpha = max(half_log_odds(plus + damping, minus + damping, floor), 0.0)
        return self._evaluate(alpha, votes, edge, mass, edges.total)

    def evaluate(self, edges: Edges, alpha: float, votes: Reals) -> Vote:
        edge, mass = _total_edge(edges, votes), sum(edges.masses.tolist())
        return self._evaluate(alpha, votes, edge, mass, edges.total)

    def _evaluate(self, alpha: float, votes: Reals, edge: int, mass: int, total: int) -> Vote:
        plus, minus = (mass + edge) / 2 / EXACT_SCALE, (mass - edge) / 2 / EXACT_SCALE
        idle = (total - mass) / EXACT_SCALE
        energy = plus * exp_of(-alpha) + minus * exp_of(alpha) + idle
        return Vote(alpha, votes, edge / total, energy)

    def votes(self, plus: Reals, minus: Reals, signs: Reals, floor: float) -> tuple[float, Reals]:
        return half_log_odds(plus.sum(), minus.sum(), floor), signs

    def energies(self, plus: Reals, minus: Reals) -> Reals:
        """Return 2 sqrt(right * wrong)."""
        return 2 * np.sqrt(plus.sum(axis=1) * minus.sum(axis=1))


class RealVotes(VoteRule):
    """A vote of any size for each score column, and alpha = 1 (Kégl and Busa-Fekete 2009a, 2.2)."""

    def votes(self, plus: Reals, minus: Reals, signs: Reals, floor: float) -> tuple[float, Reals]:
        sizes = [half_log_odds(p, m, floor) for p, m in zip(plus, minus, strict=True)]
        return 1.0, signs * np.array(sizes)

    def energies(self, plus: Reals, minus: Reals) -> Reals:
        """Return the sum of 2 sqrt(right * wrong) over the score columns."""
        return 2 * np.sqrt(plus * minus).sum(axis=1)


class Abstaining(VoteRule):
    """Votes of -1, 0 or +1 that minimize W0 + 2 sqrt(W+ W-).

    The voters are always the columns with the highest ratios of right to wrong weight: 2 sqrt(ab)
    is the minimum of t a + b / t over t > 0, so a column adds to the weight gained just when its
    ratio exceeds 1 / t. Trying the K sets of best columns is enough.
    """

    def votes(self, plus: Reals, minus: Reals, signs: Reals, floor: float) -> tuple[float, Reals]:
        order, gains = _gains(plus[None], minus[None])
        voters = order[0, : int(gains[0].argmax()) + 1]
        votes = np.zeros_like(signs)
        votes[voters] = signs[voters]
        return half_log_odds(plus[voters].sum(), minus[voters].sum(), floor), votes

    def energies(self, plus: Reals, minus: Reals) -> Reals:
        """Return W0 + 2 sqrt(W+ W-) of the best voters."""
        return (plus + minus).sum(axis=1) - _gains(plus, minus)[1].max(axis=1)


VOTE_RULES: dict[str, type[VoteRule]] = {
    "discrete": Discrete,
    "real": RealVotes,
    "abstain": Abstaining,
}


def _total_edge(edges: Edges, votes: Reals) -> int:
    """Return the edge of votes of -1, 0 and +1."""
    return sum(map(operator.mul, edges.edges.tolist(), map(int, votes.tolist())))


def half_log_odds(plus: float, minus: float, floor: float) -> float:
    """Return 1/2 ln(plus / minus), each counted as at least `floor`.

    Examples
    --------
    >>> round(half_log_odds(0.75, 0.25, 1e-3), 4)
    0.5493
    >>> round(half_log_odds(1.0, 0.0, 1e-3), 4)
    3.4539
    """
    return 0.5 * log_of(max(float(plus), floor) / max(float(minus), floor))


def sides(score_edges: Exacts, masses: Exacts) -> tuple[Reals, Reals]:
    """Return plus and minus of several candidates, in the fixed point of the arguments."""
    sizes = np.abs(score_edges)
    # Halved first, because the sum of two of the largest integers would overflow.
    return masses / 2 + sizes / 2, (masses - sizes) / 2


def _sides(edges: Edges) -> tuple[Reals, Reals, Reals]:
    plus, minus = sides(edges.edges, edges.masses)
    signs = np.where(edges.edges > 0, 1.0, -1.0)
    return plus / EXACT_SCALE, minus / EXACT_SCALE, signs


def _gains(plus: Reals, minus: Reals) -> tuple[np.ndarray, Reals]:
    """Return the columns by decreasing ratio, and the weight gained by the first 1, 2, ..., K."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(plus > 0, minus / plus, np.inf)
    order = np.argsort(ratios, axis=1, kind="stable")
    right = np.cumsum(np.take_along_axis(plus, order, axis=1), axis=1)
    wrong = np.cumsum(np.take_along_axis(minus, order, axis=1), axis=1)
    return order, right + wrong - 2 * np.sqrt(right * wrong)
