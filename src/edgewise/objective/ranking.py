"""The ranking loss of RankBoost (Iyer 1999 chapter 4): potentials and steps.

Rules output -1 or +1; the thesis's weak hypotheses h output 0 or 1. With h = (1 + phi) / 2, a
coefficient of phi is half the thesis's alpha, and all differences of scores are the same.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.base import (
    MISSING_AUTO,
    UNCONSTRAINED,
    Backend,
    Bounds,
    Candidates,
    ColumnConstraints,
    Problem,
    ScanQuery,
)
from edgewise.common.dtypes import Columns, Exacts, Reals, Rows, Signs
from edgewise.data import BinnedTable, Bins
from edgewise.learners import FoundRule, Learner, Round, RoundStream
from edgewise.model import Cut, Rule
from edgewise.objective.base import Objective, are_same, vote_sign
from edgewise.objective.feedback import (
    SIDE_SCALE,
    Feedback,
    PairWeights,
    RuleOutputs,
    Sides,
    best_step,
)
from edgewise.objective.votes import Vote, half_log_odds

# Either side counts as having at least this share of the pairs' weight in the logarithm of a step,
# so that a rule that orders all pairs correctly gets a finite one.
SMOOTHING = 1e-3
_MAX_STEP = 0.5 * math.log(1.0 / SMOOTHING)

# With less than this left of the exponential loss, every pair is correct by a wide margin.
MIN_ENERGY = 1e-250

# With scores this far apart within a query, their exponentials leave the range of a double.
MAX_SPAN = 1300.0

# Decreases of the energy are compared as integers at this scale, so that rounding decides no ties.
_DECREASE_SCALE = 2.0**40

# Plain sums of at most this many outputs choose the rules whose exact sums are compared. For
# numbers that add up to 1 they are accurate to far less than the slack.
_MAX_OUTPUTS = 1 << 24
_SLACK = 1e-9
_MIN_COMPARED_ENERGY = 1e-200


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
    """The share of the pairs that are misordered after one round."""

    ranking_loss: float


# A cut's key has room for the side of missing values, +1 first: ties go to the first.
_SIDES = 3


class Cumulative:
    """The cumulative weight of every cut: the sum of all steps on it (Iyer 1999 section 4.3).

    It is kept on the side that the column of the cut must have.

    If all cumulative weights of a column are positive, its contribution to the score never
    decreases as its value grows; if they are negative, it never increases. By column, `directions`
    has +1, -1, or 0 without a constraint, and `learn` whether a 0 becomes the direction of the
    first rule. `limit` returns the largest edge whose step is at most a weight.
    """

    def __init__(
        self,
        table: BinnedTable,
        directions: Signs,
        learn: NDArray[np.bool_],
        limit: Callable[[float], int] = lambda weight: 0,
    ) -> None:
        self.table = table
        self.directions = directions.copy()
        self.learn = learn
        self.limit = limit
        self._keys = np.empty(0, dtype=np.int64)
        self._weights = np.empty(0)
        self._limits = np.empty(0, dtype=np.int64)
        self._span = _SIDES * (1 + max((b.n_codes for b in table.bins), default=1))
        self._last: tuple[Columns, Bounds] | None = None

    def bounds(self, columns: Columns) -> Bounds:
        """Return which signs edges may have in a search of some columns."""
        if self._last is not None and self._last[0] is columns:
            return self._last[1]
        low = np.searchsorted(self._keys, columns * self._span)
        high = np.searchsorted(self._keys, (columns + 1) * self._span)
        counts = high - low
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
        cuts = np.arange(starts[-1]) + np.repeat(low - starts[:-1], counts)
        bins, sides = np.divmod(self._keys[cuts] % self._span, _SIDES)
        bounds = Bounds(
            self.directions[columns],
            starts,
            bins.astype(np.intp),
            (1 - sides).astype(np.int8),
            self._limits[cuts],
        )
        self._last = (columns, bounds)
        return bounds

    def clip(self, rule: Rule, step: float) -> float:
        """Return the part of a step that the rule's cumulative weight allows."""
        key = self._key(rule)
        if key is None:
            return step
        direction = int(self.directions[key // self._span])
        if direction * step >= 0:
            return step
        available = direction * self._weight(key)
        return -direction * min(abs(step), max(available, 0.0))

    def add(self, rule: Rule, step: float) -> None:
        """Record a step."""
        key = self._key(rule)
        if key is None:
            return
        column = key // self._span
        if self.learn[column] and self.directions[column] == 0:
            self.directions[column] = np.sign(step)
        i, is_known = self._find(key)
        if not is_known:
            self._keys = np.insert(self._keys, i, key)
            self._weights = np.insert(self._weights, i, 0.0)
            self._limits = np.insert(self._limits, i, 0)
        self._weights[i] += step
        self._limits[i] = self.limit(abs(float(self._weights[i])))
        # Bounds of all columns stay valid, except for this cut's limit.
        if self._last is not None and is_known and len(self._last[1].limits) == len(self._limits):
            self._last[1].limits[i] = self._limits[i]
        else:
            self._last = None

    def _weight(self, key: int) -> float:
        i, is_known = self._find(key)
        return float(self._weights[i]) if is_known else 0.0

    def _find(self, key: int) -> tuple[int, bool]:
        """Return the position of a cut, and whether it is among the cuts so far."""
        i = int(np.searchsorted(self._keys, key))
        return i, i < len(self._keys) and bool(self._keys[i] == key)

    def _key(self, rule: Rule) -> int | None:
        """Return the number of a cut; None for rules without a direction."""
        if not isinstance(rule, Cut) or not 0 <= rule.column < self.table.n_columns:
            return None
        if rule.threshold == -np.inf:
            return None
        bins = self.table.bins[rule.column]
        assert isinstance(bins, Bins)
        side = rule.missing if bins.has_missing else 1
        return rule.column * self._span + bins.first(rule.threshold) * _SIDES + 1 - side


class Ranking(Objective):
    """RankBoost's objective on one table.

    `cumulative` constrains the signs of cumulative weights. With `mass_column`, the learner's
    searches need each row's |S|. Directions among the `column_constraints` hold for every rule by
    itself. `start` holds initial scores in the order of the feedback's rows.
    """

    def __init__(
        self,
        backend: Backend,
        feedback: Feedback,
        settings: RankSettings,
        cumulative: Cumulative | None = None,
        mass_column: bool = False,
        start: Reals | None = None,
        column_constraints: ColumnConstraints = UNCONSTRAINED,
    ) -> None:
        self.backend = backend
        self.feedback = feedback
        self.column_constraints = column_constraints
        self._partition = backend.table.partition
        self.settings = settings
        self.cumulative = cumulative
        self._mass_column = mass_column
        # An upper bound on the differences of scores.
        self._max_span = 0.0 if start is None else float(np.ptp(start))
        self._trial: tuple[NDArray, float, Reals, PairWeights] | None = None
        # Rules that are compared in every round, and their outputs.
        self._compared_rules: tuple[Sequence[Rule], RuleOutputs | None] = ((), None)
        # The rows of the round's sample, and the weights of its pairs as integers.
        self._sampled_rows: Rows | None = None
        self._pair_weights: Any = None
        self.scores = np.zeros(feedback.n_rows) if start is None else start
        self._move_to(self.scores, feedback.weigh(self.scores))

    def hand_over(self, backend: Backend) -> None:
        self.backend = backend
        self.feedback.use(backend.pairs)

    @property
    def is_fitted(self) -> bool:
        if self.pairs.energy < MIN_ENERGY:
            return True
        return self._max_span > MAX_SPAN and self.feedback.score_span(self.scores) > MAX_SPAN

    def find(self, learner: Learner, t: int, everything: bool = False) -> FoundRule | None:
        learner.begin(t)
        problem, rng = self._problem(t, everything), RoundStream(self.settings.seed, t)
        return learner.find(
            Round(
                self.backend,
                problem,
                rng,
                real_votes=True,
                pairs=self,
                column_constraints=self.column_constraints,
            )
        )

    @property
    def constrains(self) -> bool:
        """Whether cuts have bounds, or are compared by the energy."""
        return self.cumulative is not None or self.settings.criterion != "edge"

    def bounds(self, columns: Columns) -> Bounds | None:
        """Return which signs the edges of the columns' cuts may have."""
        return None if self.cumulative is None else self.cumulative.bounds(columns)

    def find_cuts(self, columns: Columns, question: ScanQuery) -> Candidates | None:
        """Return the best cut of each column by the energy, if that is the criterion."""
        if self.settings.criterion != "energy":
            return None
        if self._pair_weights is None:
            self._pair_weights = self.feedback.quantize(self.scores, self._sampled_rows)
        return find_energy_cuts(self.backend, self.feedback, self._pair_weights, columns, question)

    def _problem(self, t: int, everything: bool) -> Problem:
        problem, fraction = self._current, self.settings.subsample
        self._sampled_rows, self._pair_weights = None, None
        if everything or fraction == 1.0:
            return problem
        rng = np.random.default_rng([self.settings.seed, t, 1])
        self._sampled_rows = self.feedback.sample_rows(fraction, rng)
        return self.backend.within(problem, self._sampled_rows)

    def decreases(self, rules: Sequence[Rule], only_best: bool = False) -> list[float]:
        """Return the relative decreases of the energy along rules, to second order."""
        candidates = self._screen(rules) if only_best and len(rules) > 1 else None
        if candidates is None:
            return [self.decrease(rule) for rule in rules]
        decreases = [0.0] * len(rules)
        for i in candidates.tolist():
            decreases[i] = self.decrease(rules[i])
        return decreases

    def _screen(self, rules: Sequence[Rule]) -> Columns | None:
        """Return which rules may be the best, by plain sums; None if that takes too much memory."""
        fits = len(rules) * self.feedback.n_rows <= _MAX_OUTPUTS and self._partition.is_whole
        if not fits or self.pairs.energy < _MIN_COMPARED_ENERGY:
            return None
        if not are_same(rules, self._compared_rules[0]):
            units = [self._scale(self._outputs(rule))[0] for rule in rules]
            self._compared_rules = (tuple(rules), self.feedback.prepare(units))
        outputs = self._compared_rules[1]
        curvatures = None if outputs is None else self.feedback.curvatures(self.scores, outputs)
        if outputs is None or curvatures is None:
            return None
        curvatures /= self.pairs.energy
        slopes = 2.0 * np.abs(self.pairs.potentials @ outputs.values) / self.pairs.energy
        upper = (slopes + _SLACK) ** 2 / np.maximum(curvatures - _SLACK, 1e-300)
        lower = np.maximum(slopes - _SLACK, 0.0) ** 2 / (curvatures + _SLACK)
        return np.flatnonzero(upper >= lower.max())

    def decrease(self, rule: Rule) -> float:
        """Return the relative decrease of the energy along a rule, to second order."""
        unit, span = self._scale(self._outputs(rule))
        if span == 0.0:
            return 0.0
        _, slope, curvature = self.feedback.moments(self.scores, unit, 0.0)
        return 0.5 * slope * slope / (curvature * self.pairs.energy) if curvature > 0 else 0.0

    def _outputs(self, rule: Rule) -> NDArray:
        """Return a rule's outputs on the rows of the pairs."""
        return self.backend.outputs(rule)[0][self.feedback.rows]

    def vote(self, found: FoundRule) -> Vote | None:
        phi = self._outputs(found.rule)
        edge = self._edge(phi)
        step = self.settings.learning_rate * self._step(phi, edge)
        if self.cumulative is not None:
            step = self.cumulative.clip(found.rule, step)
        if vote_sign(found.rule, self.column_constraints.directions) * step < 0:
            step = 0.0
        vote = self._try_step(phi, step, edge)
        return vote if vote.energy < 1.0 else None

    def evaluate_vote(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        phi = self._outputs(rule)
        return self._try_step(phi, alpha * float(votes[0]), self._edge(phi))

    def advance(self, rule: Rule, vote: Vote) -> RankProgress:
        step = float(vote.coefficients[0])
        if self._trial is None or self._trial[1] != step:
            self.evaluate_vote(rule, vote.alpha, vote.votes)
        assert self._trial is not None
        phi, _, scores, pairs = self._trial
        lowest, highest = self._range(phi)
        self._max_span += abs(step) * max(highest - lowest, 0.0)
        self._move_to(scores, pairs)
        if self.cumulative is not None:
            self.cumulative.add(rule, step)
        moved = phi > 0 if _two_valued(phi) else None
        return RankProgress(self.feedback.ranking_loss(self.scores, moved))

    @property
    def search_cost(self) -> float:
        return self.settings.subsample

    def _edge(self, phi: NDArray) -> float:
        """Return r = sum of pi h (Iyer 1999 eq. 4.10), which is the sum of S phi."""
        if phi.dtype == np.int8:
            return int(self._partition.sum(int((self._exact * phi).sum()))) / EXACT_SCALE
        return self._partition.fsum(self.pairs.potentials / self.pairs.energy * phi)

    def _step(self, phi: NDArray, edge: float) -> float:
        """Return the coefficient of phi that minimizes Z, or its bound."""
        if phi.dtype == np.int8:
            if self.settings.step == "bound":
                return 0.5 * half_log_odds((1 + edge) / 2, (1 - edge) / 2, SMOOTHING)
            if self._partition.all(_two_valued(phi)):
                low, high = self.feedback.sides(self.scores, phi > 0)
                return 0.5 * half_log_odds(low, high, SMOOTHING * max(low, high, 1e-300))
        unit, span = self._scale(phi)
        if span == 0.0:
            return 0.0
        moments = partial(self.feedback.moments, self.scores, unit)
        return best_step(moments, _MAX_STEP) / span

    def _try_step(self, phi: NDArray, step: float, edge: float) -> Vote:
        """Weigh the pairs after a step, and save the result for `advance`."""
        # Libraries may differ in the last digit of log: all processes take the same step.
        step = self._partition.max(float(step))
        scores = self.scores + step * phi
        pairs = self.feedback.weigh(scores)
        self._trial = (phi, step, scores, pairs)
        votes = np.array([math.copysign(1.0, step)])
        return Vote(abs(step), votes, edge, pairs.energy / self.pairs.energy)

    def _move_to(self, scores: Reals, pairs: PairWeights) -> None:
        """Make scores and weights the current ones; quantize the potentials for the search."""
        self.scores, self.pairs, self._trial = scores, pairs, None
        shares = pairs.potentials / max(pairs.energy, 1e-300)
        quanta = np.rint(shares * SEARCH_SCALE).astype(np.int64)
        self._exact = np.rint(shares * EXACT_SCALE).astype(np.int64)
        rows = self.feedback.rows
        # S is half the potentials; valid until the next step.
        self._current = self.backend.potentials(rows, quanta, self._mass_column)
        self._pair_weights = None

    def _range(self, phi: NDArray) -> tuple[float, float]:
        """Return the smallest and the largest output in all processes."""
        real = phi.astype(np.float64)
        # The maximum of the negated outputs as well, in one exchange.
        ends = np.array([(-real).max(initial=-np.inf), real.max(initial=-np.inf)])
        negated, highest = self._partition.max(ends).tolist()
        return -negated, highest

    def _scale(self, phi: NDArray) -> tuple[Reals, float]:
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


def find_energy_cuts(
    backend: Backend, feedback: Feedback, weights: Any, columns: Columns, question: ScanQuery
) -> Candidates:
    """Return the cut of each column with the lowest Z = W0 + 2 sqrt(W- W+).

    This is the second method of Iyer 1999. In place of an edge, a candidate holds the decrease of
    the energy, 1 - Z, in fixed point. `weights` come from `Feedback.quantize`.
    """
    table, bounds, absent = backend.table, question.bounds, question.missing
    if question.criterion != "edge" or question.score_edges or question.constraints is not None:
        raise ValueError("criterion='energy' compares single cuts by their energy alone")

    def find_cut(q: int) -> tuple[int, int, int]:
        j = int(columns[q])
        bins = table.bins[j]
        n_values = bins.missing_code
        codes = table.codes(j)[feedback.rows].astype(np.int64)
        sides = (1, -1) if absent == MISSING_AUTO else (absent,)
        best = (-1, 0, 1)
        for side in sides if bins.has_missing else (1,):
            is_low = bins.has_missing and side < 0
            shifted = np.where(codes == n_values, -1, codes) if is_low else codes
            sides_of_cuts = feedback.cut_sides(weights, shifted, n_values)
            direction = 0 if bounds is None else int(bounds.directions[q])
            decreases = _decreases(sides_of_cuts, direction, _odds(bounds, q, side, n_values))
            if side == 1 and not question.constant:
                decreases[0] = -1
            first = int(decreases.argmax())
            # Ties go to the lowest threshold, then to missing values on the positive side.
            if (decreases[first], -first) > (best[0], -best[1]):
                best = (int(decreases[first]), first, side)
        return best

    cuts = backend.spread(find_cut, range(len(columns)))
    edges, firsts, missing = map(list, zip(*cuts, strict=True))
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
    cuts = slice(int(bounds.starts[q]), int(bounds.starts[q + 1]))
    same = bounds.sides[cuts] == side
    edges = bounds.limits[cuts][same] / SEARCH_SCALE
    odds = np.ones(n_values)
    odds[bounds.firsts[cuts][same]] = (1 + edges) / np.maximum(1 - edges, 1e-9)
    return odds


def _decreases(sides: Sides, direction: int, odds: Reals | None) -> Exacts:
    """Return the decrease of the energy at each cut, -1 where its sign is not allowed."""
    right, wrong = sides.right.astype(np.float64), sides.wrong.astype(np.float64)
    decreases = (np.sqrt(right) - np.sqrt(wrong)) ** 2 * (_DECREASE_SCALE / SIDE_SCALE)
    quantized = np.rint(decreases).astype(np.int64)
    if odds is None:
        return quantized
    ahead, behind = (right, wrong) if direction > 0 else (wrong, right)
    allowed = behind <= ahead * odds
    # At the first bin a cut separates missing values from others, which has no direction.
    allowed[0] = True
    return np.where(allowed, quantized, -1)
