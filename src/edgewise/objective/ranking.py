"""The ranking loss of RankBoost (Iyer 1999 chapter 4): potentials and steps.

Rules say -1 or +1; the thesis's weak hypotheses h say 0 or 1. With h = (1 + phi) / 2 a coefficient
of phi is half the thesis's alpha, and all differences of scores are the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.base import MISSING_AUTO, Backend, Bounds, Candidates, Problem, ScanQuery
from edgewise.common.choices import RANK_STEPS
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows
from edgewise.learners import Found, Learner, Round
from edgewise.model import Rule
from edgewise.objective.base import Objective, Stream
from edgewise.objective.cumulative import Cumulative
from edgewise.objective.feedback import SIDE_SCALE, Feedback, Lines, PairWeights, Sides, best_step
from edgewise.objective.votes import Vote, half_log_odds

STEPS = RANK_STEPS

# Either side counts as having at least this share of the pairs' weight in the logarithm of a step,
# so that a rule that orders all pairs rightly gets a finite one.
SMOOTHING = 1e-3
_LARGEST_STEP = 0.5 * math.log(1.0 / SMOOTHING)

# With less than this left of the exponential loss, every pair is right by a wide margin.
LEAST_ENERGY = 1e-250

# With scores this far apart within a query, their exponentials leave the range of a double.
WIDEST = 1300.0

# Decreases of the energy are compared as integers at this scale, so that rounding decides no ties.
_DECREASE_SCALE = 2.0**40

# Plain sums of up to so many outputs choose the rules whose exact sums are compared. Of numbers
# that add up to 1 they are right to far less than the slack.
_LARGEST_MATRIX = 1 << 24
_SLACK = 1e-9
_LEAST_COMPARED = 1e-200


@dataclass(frozen=True)
class RankSettings:
    """Settings of `RankBoost` that shape its loss.

    `criterion` "edge" and "energy" are the thesis's third and second methods. `step` "bound"
    minimizes sqrt(1 - r^2) (eq. 4.6); "exact" minimizes Z, in closed form for rules of two values
    (eq. 4.2) and by Newton's method for others.
    """

    criterion: str = "edge"
    step: str = "bound"
    learning_rate: float = 1.0
    subsample: float = 1.0
    seed: int = 0


class RankProgress(NamedTuple):
    """The share of the pairs that are misordered after a round."""

    ranking_loss: float


class Ranking(Objective):
    """RankBoost's objective on one table.

    `cumulative` constrains the signs of cumulative weights. With `mass_column`, the learner's
    searches need each row's |S|. `start` holds initial scores in the order of the feedback's rows.
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
        self._partition = backend.table.partition
        self.settings = settings
        self.cumulative = cumulative
        self._mass_column = mass_column
        # How far apart scores could be by now.
        self._reach = 0.0 if start is None else float(np.ptp(start))
        self._trial: tuple[NDArray, float, Reals, PairWeights] | None = None
        # The rules that are asked for in every round, and their outputs.
        self._lines: tuple[Sequence[Rule], Lines | None] = ((), None)
        # The rows of the round's sample, and the weights of its pairs as integers.
        self._sampled: Rows | None = None
        self._sample: Any = None
        self.scores = np.zeros(feedback.n_rows) if start is None else start
        self._adopt(self.scores, feedback.weigh(self.scores))

    def hand_over(self, backend: Backend) -> None:
        self.backend = backend
        self.feedback.use(backend.pairs)

    @property
    def is_fitted(self) -> bool:
        if self.weighed.energy < LEAST_ENERGY:
            return True
        return self._reach > WIDEST and self.feedback.span(self.scores) > WIDEST

    def find(self, learner: Learner, t: int, everything: bool = False) -> Found | None:
        learner.begin(t)
        problem, rng = self._problem(t, everything), Stream(self.settings.seed, t)
        return learner.find(Round(self.backend, problem, rng, real_votes=True, pairs=self))

    @property
    def constrains(self) -> bool:
        """Whether cuts have bounds, or are compared by the energy."""
        return self.cumulative is not None or self.settings.criterion != "edge"

    def bounds(self, columns: Columns) -> Bounds | None:
        """Return which signs the edges of the columns' cuts may have."""
        return None if self.cumulative is None else self.cumulative.bounds(columns)

    def cuts(self, columns: Columns, problem: Problem, question: ScanQuery) -> Candidates | None:
        """Return the best cut of each column by the energy, if that is the criterion."""
        if self.settings.criterion != "energy":
            return None
        if self._sample is None:
            self._sample = self.feedback.integers(self.scores, self._sampled)
        return best_cuts(self.backend, self.feedback, self._sample, columns, question)

    def _problem(self, t: int, everything: bool) -> Problem:
        problem, share = self._current, self.settings.subsample
        self._sampled, self._sample = None, None
        if everything or share == 1.0:
            return problem
        rng = np.random.default_rng([self.settings.seed, t, 1])
        self._sampled = self.feedback.some(share, rng)
        return self.backend.within(problem, self._sampled)

    def decreases(self, rules: Sequence[Rule], only_best: bool = False) -> list[float]:
        """Return the relative decreases of the energy along rules, to second order."""
        rivals = self._rivals(rules) if only_best and len(rules) > 1 else None
        if rivals is None:
            return [self.decrease(rule) for rule in rules]
        found = [0.0] * len(rules)
        for place in rivals.tolist():
            found[place] = self.decrease(rules[place])
        return found

    def _rivals(self, rules: Sequence[Rule]) -> Columns | None:
        """Return which rules may be the best, by plain sums; None if that takes too much."""
        fits = len(rules) * self.feedback.n_rows <= _LARGEST_MATRIX and self._partition.is_whole
        if not fits or self.weighed.energy < _LEAST_COMPARED:
            return None
        if [*map(id, rules)] != [*map(id, self._lines[0])]:
            outputs = [self._unit(self._outputs(rule))[0] for rule in rules]
            self._lines = (tuple(rules), self.feedback.lines(outputs))
        lines = self._lines[1]
        curvatures = None if lines is None else self.feedback.curvatures(self.scores, lines)
        if lines is None or curvatures is None:
            return None
        curvatures /= self.weighed.energy
        slopes = 2.0 * np.abs(self.weighed.potentials @ lines.values) / self.weighed.energy
        most = (slopes + _SLACK) ** 2 / np.maximum(curvatures - _SLACK, 1e-300)
        least = np.maximum(slopes - _SLACK, 0.0) ** 2 / (curvatures + _SLACK)
        return np.flatnonzero(most >= least.max())

    def decrease(self, rule: Rule) -> float:
        """Return the relative decrease of the energy along a rule, to second order."""
        unit, span = self._unit(self._outputs(rule))
        if span == 0.0:
            return 0.0
        _, slope, curvature = self.feedback.moments(self.scores, unit, 0.0)
        return 0.5 * slope * slope / (curvature * self.weighed.energy) if curvature > 0 else 0.0

    def _outputs(self, rule: Rule) -> NDArray:
        """Return a rule's outputs on the rows of the pairs."""
        return self.backend.outputs(rule)[0][self.feedback.rows]

    def vote(self, found: Found) -> Vote | None:
        phi = self._outputs(found.rule)
        edge = self._edge(phi)
        step = self.settings.learning_rate * self._step(phi, edge)
        if self.cumulative is not None:
            step = self.cumulative.clip(found.rule, step)
        vote = self._try(phi, step, edge)
        return vote if vote.energy < 1.0 else None

    def retake(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        phi = self._outputs(rule)
        return self._try(phi, alpha * float(votes[0]), self._edge(phi))

    def advance(self, rule: Rule, vote: Vote) -> RankProgress:
        step = float(vote.coefficients[0])
        if self._trial is None or self._trial[1] != step:
            self.retake(rule, vote.alpha, vote.votes)
        assert self._trial is not None
        phi, _, scores, weighed = self._trial
        lowest, highest = self._range(phi)
        self._reach += abs(step) * max(highest - lowest, 0.0)
        self._adopt(scores, weighed)
        if self.cumulative is not None:
            self.cumulative.add(rule, step)
        moved = phi > 0 if _two_valued(phi) else None
        return RankProgress(self.feedback.misordered(self.scores, moved))

    @property
    def searched(self) -> float:
        return self.settings.subsample

    def _edge(self, phi: NDArray) -> float:
        """Return r = sum of pi h (Iyer 1999 eq. 4.10), which is the sum of S phi."""
        if phi.dtype == np.int8:
            return int(self._partition.sum(int((self._exact * phi).sum()))) / EXACT_SCALE
        return self._partition.fsum(self.weighed.potentials / self.weighed.energy * phi)

    def _step(self, phi: NDArray, edge: float) -> float:
        """Return the coefficient of phi that minimizes Z, or its bound."""
        if phi.dtype == np.int8:
            if self.settings.step == "bound":
                return 0.5 * half_log_odds((1 + edge) / 2, (1 - edge) / 2, SMOOTHING)
            if self._partition.all(_two_valued(phi)):
                low, high = self.feedback.sides(self.scores, phi > 0)
                return 0.5 * half_log_odds(low, high, SMOOTHING * max(low, high, 1e-300))
        unit, span = self._unit(phi)
        if span == 0.0:
            return 0.0
        moments = partial(self.feedback.moments, self.scores, unit)
        return best_step(moments, _LARGEST_STEP) / span

    def _try(self, phi: NDArray, step: float, edge: float) -> Vote:
        """Weigh the pairs after a step, and save the result for `advance`."""
        # Libraries may differ in the last digit of log: all processes take the same step.
        step = self._partition.max(float(step))
        scores = self.scores + step * phi
        weighed = self.feedback.weigh(scores)
        self._trial = (phi, step, scores, weighed)
        votes = np.array([math.copysign(1.0, step)])
        return Vote(abs(step), votes, edge, weighed.energy / self.weighed.energy)

    def _adopt(self, scores: Reals, weighed: PairWeights) -> None:
        """Make scores and weights the current ones; quantize the potentials for the search."""
        self.scores, self.weighed, self._trial = scores, weighed, None
        shares = weighed.potentials / max(weighed.energy, 1e-300)
        quanta = np.rint(shares * SEARCH_SCALE).astype(np.int64)
        self._exact = np.rint(shares * EXACT_SCALE).astype(np.int64)
        rows = self.feedback.rows
        # S is half the potentials; valid until the next step.
        self._current = self.backend.potentials(rows, quanta, self._mass_column)
        self._sample = None

    def _range(self, phi: NDArray) -> tuple[float, float]:
        """Return the least and the largest output at all processes."""
        real = phi.astype(np.float64)
        lowest, highest = float(real.min(initial=np.inf)), float(real.max(initial=-np.inf))
        return self._partition.min(lowest), self._partition.max(highest)

    def _unit(self, phi: NDArray) -> tuple[Reals, float]:
        """Return outputs scaled to [0, 1], and their span: only differences count."""
        low, high = self._range(phi)
        real, span = phi.astype(np.float64), high - low
        return ((real - low) / span if span > 0 else np.zeros_like(real)), span


def edge_limit(weight: float, learning_rate: float) -> int:
    """Return the largest edge, in the search's fixed point, whose step is at most a weight."""
    return math.floor(math.tanh(2.0 * weight / learning_rate) * SEARCH_SCALE)


def _two_valued(phi: NDArray) -> bool:
    """Return whether outputs are all -1 or +1."""
    return phi.dtype == np.int8 and bool(phi.all())


def best_cuts(
    backend: Backend, feedback: Feedback, weights: Any, columns: Columns, question: ScanQuery
) -> Candidates:
    """Return the cut of each column with the least Z = W0 + 2 sqrt(W- W+).

    This is the second method of Iyer 1999. In place of an edge, a candidate holds the decrease of
    the energy, 1 - Z, in fixed point. `weights` come from `Feedback.integers`.
    """
    table, bounds, absent = backend.table, question.bounds, question.missing
    if question.criterion != "edge" or question.score_edges or question.constraints is not None:
        raise ValueError("criterion='energy' compares single cuts by their energy alone")

    def search(q: int) -> tuple[int, int, int]:
        j = int(columns[q])
        bins = table.bins[j]
        n_values = bins.missing_code
        codes = table.codes(j)[feedback.rows].astype(np.int64)
        sides = (1, -1) if absent == MISSING_AUTO else (absent,)
        best = (-1, 0, 1)
        for side in sides if bins.has_missing else (1,):
            placed = codes
            if bins.has_missing and side < 0:
                placed = np.where(codes == n_values, -1, codes)
            found = feedback.cut_sides(weights, placed, n_values)
            direction = 0 if bounds is None else int(bounds.directions[q])
            decreases = _decreases(found, direction, _odds(bounds, q, side, n_values))
            if side == 1 and not question.constant:
                decreases[0] = -1
            first = int(decreases.argmax())
            # Ties go to the lowest threshold, then to missing values on the positive side.
            if (decreases[first], -first) > (best[0], -best[1]):
                best = (int(decreases[first]), first, side)
        return best

    found = backend.spread(search, range(len(columns)))
    edges, firsts, missing = (list(part) for part in zip(*found, strict=True))
    return Candidates(
        columns,
        np.array(edges, dtype=np.int64),
        np.array(firsts, dtype=np.intp),
        np.array(missing, dtype=np.int8),
    )


def _odds(bounds: Bounds | None, q: int, side: int, n_values: int) -> Reals | None:
    """Return the largest odds against a column's direction that each of its cuts may have.

    A step is half the logarithm of the odds. Bounds are for steps by |r|, whose odds are
    (1 + r) / (1 - r).
    """
    if bounds is None or bounds.directions[q] == 0:
        return None
    mine = slice(int(bounds.starts[q]), int(bounds.starts[q + 1]))
    same = bounds.sides[mine] == side
    edges = bounds.limits[mine][same] / SEARCH_SCALE
    odds = np.ones(n_values)
    odds[bounds.firsts[mine][same]] = (1 + edges) / np.maximum(1 - edges, 1e-9)
    return odds


def _decreases(found: Sides, direction: int, odds: Reals | None) -> Exacts:
    """Return the decrease of the energy at each cut, -1 where its sign is not allowed."""
    right, wrong = found.right.astype(np.float64), found.wrong.astype(np.float64)
    decreases = (np.sqrt(right) - np.sqrt(wrong)) ** 2 * (_DECREASE_SCALE / SIDE_SCALE)
    whole = np.rint(decreases).astype(np.int64)
    if odds is None:
        return whole
    ahead, behind = (right, wrong) if direction > 0 else (wrong, right)
    allowed = behind <= ahead * odds
    # At the first bin a cut tells present from missing values, which is no direction.
    allowed[0] = True
    return np.where(allowed, whole, -1)
