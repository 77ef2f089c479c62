"""The losses of AdaBoost.MH, exponential, logistic and softmax: weights and steps."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from edgewise.backend.arithmetic import (
    ENERGY_SCALE,
    EXACT_SCALE,
    HEAD_ROOM,
    LEAST_WEIGHT,
    SEARCH_SCALE,
    exp,
    to_fixed_point,
)
from edgewise.backend.base import (
    UNCONSTRAINED,
    Backend,
    ColumnConstraints,
    Growth,
    Problem,
    RealStep,
    RoundResult,
    RoundsRequest,
    Step,
    Tally,
    Targets,
)
from edgewise.common.dtypes import Columns, Exacts, Reals
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition
from edgewise.learners import (
    SMOOTHING,
    Comparison,
    FoundRule,
    Learner,
    Round,
    RoundStream,
    Stump,
    Tree,
)
from edgewise.learners.product import multiply_tests
from edgewise.model import EVERYWHERE, PerScore, Rule, TreeRule
from edgewise.objective.base import AheadRound, Objective, TrainedRound, vote_sign
from edgewise.objective.trimming import HeaviestWeights, SampledRows
from edgewise.objective.votes import VOTE_RULES, Vote, sides

# Rounds multiply the weights; every so often they are recomputed from the scores, so that weights
# that underflowed can return.
REFRESH_EVERY = 1024

# A cap on the logarithm of the factor on damping under the exponential loss: exp() stays finite.
_MAX_SHIFT = 600.0

# The rounds of one call are few at first, since training may end after any of them; together they
# look at no more entries of the table, and keep no more scores, than this.
_MIN_ROUNDS_AHEAD, _MAX_ENTRIES_AHEAD = 8, 1 << 20

_NO_SCORES = np.empty((0, 0))

# Logarithms of class priors that differ by less are equal: they start no model.
_PRIOR_TOLERANCE = 1e-9

SAMPLINGS = ("uniform", "weight")


class HammingProgress(NamedTuple):
    """The quantities that the history records of one round."""

    train_error: float  # the weighted share of training rows predicted wrongly
    # R_H(f, W1): the initial weight of the entries with a wrong sign; with the softmax loss, of the
    # entries in which the predicted and the true class differ
    hamming_loss: float
    pseudo_weight: float  # w'_Sigma of Kégl 2014b eq. 14, before the step; NaN without a shared cut
    # the sum of the logistic or softmax weights before the step; NaN for the exponential loss
    weight: float
    # with the softmax loss, an upper bound on `train_error`; otherwise NaN: the history has it
    bound: float
    balanced_accuracy: float  # of two classes; else NaN


@dataclass(frozen=True)
class HammingSettings:
    """Settings of `AdaBoostMH` that shape its loss.

    `trim` is the minimal share of the weight to search (None: all), `min_leaf_weight` the minimal
    share of the sample weight and `min_leaf_rows` the minimal number of rows on either side of a
    split. Real votes add `damping` rows to the weight on either side of a leaf; None smooths them a
    little.
    """

    votes: str = "discrete"
    factorized: bool = True
    loss: str = "exponential"
    learning_rate: float = 1.0
    subsample: float = 1.0
    sampling: str = "uniform"
    trim: float | None = None
    seed: int = 0
    min_leaf_weight: float = 0.0
    min_leaf_rows: int = 1
    damping: float | None = None


class ExponentialLoss:
    """The loss exp(-margin): weights are normalized in every round, and `shift` is the log of that.

    A margin is the label times the score.
    """

    name = "exponential"
    has_limit = False
    weight = float("nan")  # the sum of the weights before normalization, where they have a limit
    shift = 0.0

    def rescale(self, total: float) -> None:
        """Record that all weights are divided by their sum."""
        self.shift -= math.log(total)

    def damping(self, row_damping: float) -> float:
        """Return a share of the initial weight as a share of the current weight."""
        return row_damping * math.exp(min(self.shift, _MAX_SHIFT))

    def prior_votes(self, plus: Reals, minus: Reals) -> Reals:
        """Return the constant scores of lowest loss, given the weights of both labels."""
        return (np.log(plus) - np.log(minus)) / 2


class LogisticLoss(ExponentialLoss):
    """The loss log(1 + exp(-margin)), whose weights are at most the initial ones.

    They decrease with the loss, and so does their sum.
    """

    name = "logistic"
    has_limit = True
    weight = 0.5  # all entries start at one half of the initial weights

    def rescale(self, total: float) -> None:
        self.weight = total

    def damping(self, row_damping: float) -> float:
        # A row counts as the weight that an average entry has when it is wrong for certain.
        return row_damping / self.weight

    def prior_votes(self, plus: Reals, minus: Reals) -> Reals:
        return np.asarray(np.log(plus) - np.log(minus))


class SoftmaxLoss(LogisticLoss):
    """The cross entropy of the softmax of the scores."""

    name = "softmax"
    weight = 1.0

    def prior_votes(self, plus: Reals, minus: Reals) -> Reals:
        votes = np.log(plus)
        # The same number may be added to the scores of all classes: here their sum is 0.
        return np.asarray(votes - votes.mean())


_LOSSES = {kind.name: kind for kind in (ExponentialLoss, LogisticLoss, SoftmaxLoss)}


def make_loss(name: str, targets: Targets, partition: Partition) -> ExponentialLoss:
    """Return the loss of a name; "softmax" is logistic unless there are several classes."""
    has_classes = partition.any(targets.has_classes)
    return _LOSSES["logistic" if name == "softmax" and not has_classes else name]()


class Hamming(Objective):
    """AdaBoost.MH's objective on one training table.

    With `mass_column`, the learner's searches need each row's sum of |S|.
    """

    def __init__(
        self,
        backend: Backend,
        targets: Targets,
        settings: HammingSettings,
        mass_column: bool = False,
        column_constraints: ColumnConstraints = UNCONSTRAINED,
    ) -> None:
        self.backend = backend
        self.targets = targets
        self.settings = settings
        self.column_constraints = column_constraints
        self.rule = VOTE_RULES[settings.votes]()
        self._partition = backend.table.partition
        self.loss = make_loss(settings.loss, targets, self._partition)
        self.floor = SMOOTHING / len(targets.labels)
        self._row_total = self._partition.sum(int(to_fixed_point(targets.row_weights).sum()))
        # The scores after one of several rounds that were trained in one call.
        self._scores: Reals | None = None
        self.state = backend.state(targets, mass_column)
        self._unit_losses = targets.label_weights * (self.state.scale / EXACT_SCALE)
        if self.loss.name == "softmax":
            self._recompute(EVERYWHERE, Vote(0.0, np.zeros(self.state.n_scores), 0.0, 1.0))
        # The weights to search: None searches all, or a uniform sample of the rows.
        self._selection: HeaviestWeights | SampledRows | None = None
        if settings.trim is not None:
            self._selection = HeaviestWeights(settings.trim)
        elif settings.sampling == "weight":
            self._selection = SampledRows(settings.subsample, settings.seed)

    @property
    def is_fitted(self) -> bool:
        return self.loss.weight < LEAST_WEIGHT

    def find(self, learner: Learner, t: int, everything: bool = False) -> FoundRule | None:
        """Return the learner's best base function on the round's sample, or on `everything`."""
        learner.begin(t)
        prior = self.find_constant() if t == 0 and self.settings.loss == "softmax" else None
        if prior is not None:
            return prior
        all_rows = self._problem()
        backend, problem = self.backend, all_rows
        if not everything:
            backend, problem = self._sample(all_rows, t)
        damping = self.settings.damping
        round = Round(
            backend,
            problem,
            RoundStream(self.settings.seed, t),
            Comparison(energies=self._energies if self.rule.compares_energies else None),
            self.settings.votes == "real",
            min_sums=self._leaf_minima(problem),
            floor=self._damping * SEARCH_SCALE,
            damping=0.0 if damping is None else self._damping * SEARCH_SCALE,
            column_constraints=self.column_constraints,
        )
        if not self.settings.factorized:
            rule = learner.find_per_score(round)
            return None if rule is None else FoundRule(rule, 0, 0.0, None)
        best = learner.find(round)
        if best is None or problem is all_rows or self._selection is None:
            return best
        return learner.refit_on_all_weights(
            best, round._replace(backend=self.backend, problem=all_rows)
        )

    def train_ahead(
        self,
        learner: Learner,
        t: int,
        max_rounds: int,
        validation: tuple[BinnedTable, Reals] | None,
    ) -> Iterator[AheadRound]:
        yield from self._climb(learner, t, max_rounds if validation is None else 0)
        growth, n_alike = self._growth_ahead(learner, t)
        if t == 0 or growth is None or not isinstance(learner, Tree):
            return
        settings, n_rows = self.settings, self.backend.table.n_rows
        n_scores, n_watched = self.state.n_scores, 0 if validation is None else validation[0].n_rows
        size = max(n_rows * max(len(growth.columns), n_scores), n_watched * n_scores)
        n_fit = _MAX_ENTRIES_AHEAD // size
        n_rounds = int(min(max_rounds, _MIN_ROUNDS_AHEAD + t // 16, n_fit, n_alike))
        if n_rounds < 2:
            return
        request = RoundsRequest(
            t,
            n_rounds,
            settings.learning_rate,
            self._row_damping,
            growth=growth,
            constraints=self._constraints,
            fraction=settings.subsample,
            seed=settings.seed,
            weight=self.loss.weight,
            watched=validation,
        )
        for s, result in enumerate(self.backend.train_ahead(self.state, request), t):
            self._scores, self.loss.weight = result.scores, result.next_weight
            yield AheadRound(result.watched, partial(self._finish_tree, learner, growth, s, result))
        self._scores = None

    def _climb(self, learner: Learner, t: int, max_rounds: int) -> Iterator[AheadRound]:
        """Train rounds of products of stumps in one call, where the backend can."""
        settings, search, targets = self.settings, learner.product_search(), self.targets
        plain = settings.votes == "discrete" and self.loss.name == "exponential"
        plain = plain and settings.factorized and settings.damping is None
        plain = plain and self._selection is None and settings.subsample == 1.0
        plain = plain and not self._constraints and targets.matrix is None
        plain = plain and self.column_constraints.are_none
        # The call ends before the weights are recomputed. Two classes have measures of every round.
        n_rounds = min(max_rounds, -t % REFRESH_EVERY)
        if search is None or not plain or n_rounds < 2 or len(targets.labels) == 1:
            return
        columns, n_terms = search
        request = RoundsRequest(t, n_rounds, settings.learning_rate, self.floor, columns, n_terms)
        for s, result in enumerate(self.backend.train_ahead(self.state, request), t):
            trained = self._finish_product_round(learner, s, result)
            yield AheadRound(_NO_SCORES, lambda trained=trained: trained)  # type: ignore[misc]

    def _finish_product_round(self, learner: Learner, t: int, result: RoundResult) -> TrainedRound:
        """Return one of several rounds of products that the backend trained."""
        learner.begin(t)
        (stump,) = learner.column_learners()
        assert isinstance(stump, Stump)
        assert result.edges is not None
        stump.count_searches(len(stump.columns_), result.n_searches)
        rule = multiply_tests([stump.cut(self.backend.table, *cut) for cut in result.cuts])
        vote = self.rule.vote(result.edges, self.floor)
        if self.settings.learning_rate != 1.0:
            alpha = self.settings.learning_rate * vote.alpha
            vote = self.rule.evaluate(result.edges, alpha, vote.votes)
        self.loss.rescale(vote.energy)
        return TrainedRound(rule, vote, self._progress(self.loss.weight, result.tally))

    def _growth_ahead(self, learner: Learner, t: int) -> tuple[Growth | None, float]:
        """Return the plan by which trees grow from round `t` on, and for how many rounds.

        None where rounds must be trained one by one.
        """
        settings = self.settings
        plain = settings.votes == "real" and settings.factorized and self.loss.name == "logistic"
        if not (plain and settings.damping and self._selection is None):
            return None, 0
        if settings.min_leaf_weight > 0 or not isinstance(learner, Tree):
            return None, 0
        min_sums = (settings.min_leaf_rows,) if settings.min_leaf_rows > 1 else ()
        return learner.growth_ahead(t, min_sums, self.column_constraints)

    def _finish_tree(
        self, learner: Tree, growth: Growth, t: int, result: RoundResult
    ) -> TrainedRound:
        """Return one of several rounds of trees that the backend trained."""
        learner.begin(t)
        rule = learner.make_tree(result, growth, self.backend.table)
        votes = np.ones(self.state.n_scores)
        vote = Vote(self.settings.learning_rate, votes, result.edge / SEARCH_SCALE, result.energy)
        return TrainedRound(rule, vote, self._progress(result.weight, result.tally))

    def find_constant(self) -> FoundRule | None:
        """Return the constant of lowest loss, with which models of the softmax loss begin.

        Only models of real votes with one rule for all classes have one.
        """
        if self.settings.votes != "real" or not self.settings.factorized:
            return None
        edges = self.backend.edges(self.state, EVERYWHERE)
        # Halved first, because the sum of two of the largest integers would overflow.
        plus, minus = edges.masses / 2 + edges.edges / 2, edges.masses / 2 - edges.edges / 2
        floor = self.floor * EXACT_SCALE
        votes = self.loss.prior_votes(np.maximum(plus, floor), np.maximum(minus, floor))
        if np.abs(votes).max() < _PRIOR_TOLERANCE:
            return None
        return FoundRule(EVERYWHERE, 0, 0.0, None, votes)

    @cached_property
    def _constraints(self) -> tuple[str, ...]:
        """The quantities that have a minimum in every leaf."""
        limits = {
            "weight": self.settings.min_leaf_weight > 0,
            "count": self.settings.min_leaf_rows > 1,
        }
        return tuple(name for name in limits if limits[name])

    def _problem(self) -> Problem:
        return self.backend.problem(self.state, self._constraints)

    def _leaf_minima(self, problem: Problem) -> tuple[int, ...]:
        """Return the minima of a leaf: a share of the weight of the searched rows, and a number."""
        settings, minima = self.settings, []
        if settings.min_leaf_weight > 0:
            assert problem.constraints is not None
            mass = int(problem.constraints.signed_totals[0])
            # A little less, so that the share of equal rows is not lost to rounding.
            minima.append(math.ceil(settings.min_leaf_weight * (1.0 - 1e-9) * mass))
        if settings.min_leaf_rows > 1:
            minima.append(settings.min_leaf_rows)
        return tuple(minima)

    @property
    def _damping(self) -> float:
        """The weight that real votes add to either side, as a share of the current weight."""
        return self.floor if self.settings.damping is None else self.loss.damping(self._row_damping)

    @cached_property
    def _row_damping(self) -> float:
        """The damping as a share of the initial weight, of which each entry has an equal part."""
        row = 1.0 / (self._partition.n_rows * self.state.n_scores)
        return (self.settings.damping or 0.0) * row

    def begin_round(self, t: int) -> None:
        if isinstance(self._selection, HeaviestWeights):
            self._selection.begin_round(self.backend, self._problem(), t)

    @property
    def search_cost(self) -> float:
        return self.settings.subsample if self._selection is None else self._selection.cost

    def _sample(self, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return the backend and the problem to search in round `t`."""
        fraction = self.settings.subsample
        if self._selection is not None:
            return self._selection.select(self.backend, problem, t)
        if fraction == 1.0:
            return self.backend, problem
        rows = self.backend.draw_rows(fraction, self.settings.seed, t)
        has_rows = self._partition.any(len(rows))
        return self.backend, self.backend.within(problem, rows) if has_rows else problem

    def vote(self, found: FoundRule) -> Vote | None:
        rate = self.settings.learning_rate
        if found.rule.is_real:
            votes = np.ones(self.state.n_scores) if found.votes is None else found.votes
            vote = self._evaluate_real(found.rule, rate, votes, found.edge / SEARCH_SCALE)
            return vote if vote.energy < 1.0 else None
        edges = self.backend.edges(self.state, found.rule)
        if found.votes is not None:
            return self.rule.evaluate(edges, 1.0, found.votes)
        signs = self._vote_signs(found.rule)
        if self.settings.damping is None:
            vote = self.rule.vote(edges, self.floor, signs=signs)
        else:
            vote = self.rule.vote(edges, 0.0, self._damping, signs)
        if isinstance(found.rule, TreeRule):
            # The leaves have voted already: a class without an edge keeps their votes.
            votes = np.where(edges.edges == 0, np.abs(vote.votes), vote.votes)
            vote = self.rule.evaluate(edges, vote.alpha, votes)
        if rate != 1.0:
            vote = self.rule.evaluate(edges, rate * vote.alpha, vote.votes)
        return vote if vote.energy < edges.total / EXACT_SCALE else None

    def _vote_signs(self, rule: Rule) -> Columns | None:
        """Return the signs that votes on a rule must have, 0 for any; None where all may."""
        directions = self.column_constraints.directions
        rules = rule.cuts if isinstance(rule, PerScore) else (rule,) * self.state.n_scores
        signs = np.array([vote_sign(each, directions) for each in rules])
        return signs if signs.any() else None

    def evaluate_vote(self, rule: Rule, alpha: float, votes: Reals) -> Vote:
        if rule.is_real:
            return self._evaluate_real(rule, alpha, votes, float("nan"))
        return self.rule.evaluate(self.backend.edges(self.state, rule), alpha, votes)

    def _evaluate_real(self, rule: Rule, alpha: float, votes: Reals, edge: float) -> Vote:
        energy = self.backend.energy(self.state, rule, alpha * votes) / ENERGY_SCALE
        return Vote(alpha, votes, edge, energy)

    def advance(self, rule: Rule, vote: Vote) -> HammingProgress:
        weight = self.loss.weight
        if self.loss.has_limit or rule.is_real:
            return self._progress(weight, self._recompute(rule, vote))
        moves, scale = vote.coefficients, 1.0 / vote.energy
        # The same two factors for either sign: a vote of -1 on a rule is to the last bit a vote of
        # +1 on its opposite.
        factor = exp(np.abs(moves))
        growth, decay = scale * factor, scale / factor
        right = np.where(moves > 0, decay, growth)
        wrong = np.where(moves > 0, growth, decay)
        tally = self.backend.advance(self.state, rule, Step(right, wrong, scale, moves, vote.votes))
        self.loss.rescale(vote.energy)
        return self._progress(weight, tally)

    def _progress(self, weight: float, tally: Tally) -> HammingProgress:
        """Return the history entries of a step, given the weight before it."""
        error, bound = tally.wrong_rows / self._row_total, float("nan")
        if self.loss.name == "softmax":
            n_scores = self.state.n_scores
            # The class of a misclassified row has a probability of at most 1/2.
            hamming_loss, bound = 2.0 * error / n_scores, n_scores * self.loss.weight
        else:
            hamming_loss = self._hamming_loss(tally.wrong_entries)
        pseudo = tally.pseudo / EXACT_SCALE if tally.pseudo >= 0 else float("nan")
        accuracy = self._balanced_accuracy(tally.wrong_entries)
        return HammingProgress(error, hamming_loss, pseudo, weight, bound, accuracy)

    @cached_property
    def _class_totals(self) -> Exacts:
        """The mass of the rows of each of two classes."""
        mass, positive = to_fixed_point(self.targets.row_weights), self.targets.labels[0] > 0
        return self._partition.sum(np.array([mass[~positive].sum(), mass[positive].sum()]))

    def _balanced_accuracy(self, wrong_entries: Exacts) -> float:
        """Return the mean accuracy of two classes; NaN for other targets."""
        if len(self.targets.labels) != 1 or not self._class_totals.all():
            return float("nan")
        right = (self._class_totals - wrong_entries[:, 0]) / self._class_totals
        return float(right.mean())

    def _recompute(self, rule: Rule, vote: Vote) -> Tally:
        """Move the scores, recompute the weights from them and normalize."""
        loss = self.loss
        # Weights with a limit decrease with the loss: their sum almost never grows.
        exponent = math.frexp(loss.weight if loss.has_limit else 1.0)[1]
        unit = EXACT_SCALE / HEAD_ROOM * 2.0**-exponent
        step = RealStep(vote.coefficients, vote.votes, loss.name, loss.shift, unit)
        total, pseudo = self.backend.reweigh(self.state, rule, step)
        loss.rescale(total / unit)
        tally = self.backend.advance(
            self.state, None, Step.scaling(self.state.n_scores, unit / total)
        )
        return tally._replace(pseudo=pseudo)

    def refresh(self) -> None:
        if not self.loss.has_limit:
            self.backend.refresh(self.state)

    def training_scores(self) -> tuple[Reals, Targets]:
        scores = self.backend.scores(self.state) if self._scores is None else self._scores
        return scores, self.targets

    def _energies(self, score_edges: Exacts, masses: Exacts) -> Reals:
        return self.rule.energies(*sides(score_edges, masses))

    def _hamming_loss(self, wrong_entries: Exacts) -> float:
        if self.targets.matrix is None:
            return float((wrong_entries * self._unit_losses).sum())
        total = 0
        for k, scores in enumerate(self.training_scores()[0]):
            wrong = (scores > 0) != (self.targets.labels[k] > 0)
            shares = self.targets.initial_weights(k)[wrong] * self.state.scale
            total += int(to_fixed_point(shares).sum())
        return self._partition.sum(total) / EXACT_SCALE
