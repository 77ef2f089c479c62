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
    Backend,
    Growth,
    Problem,
    RealStep,
    RoundResult,
    RoundsRequest,
    Step,
    Tally,
    Targets,
)
from edgewise.common.dtypes import Exacts, Reals
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition
from edgewise.learners import SMOOTHING, Comparison, Found, Learner, Round, Stump, Tree
from edgewise.learners.product import multiplied
from edgewise.model import EVERYWHERE, Rule, TreeRule
from edgewise.objective.base import Leapt, Objective, Stream, Taken
from edgewise.objective.trimming import HeaviestWeights, SampledRows
from edgewise.objective.votes import VOTE_RULES, Vote, sides

# Rounds multiply the weights; every so often they are recomputed from the scores, so that weights
# that underflowed can return.
REFRESH_EVERY = 1024

# The largest logarithm of a row's unit of damping under the exponential loss.
_LARGEST_SHIFT = 600.0

# The rounds of one call are few at first, since training may end after any of them; all together
# they look at no more entries of the table, and keep no more scores, than this.
_SHORTEST_LEAP, _LARGEST_LEAP = 8, 1 << 20

_NO_SCORES = np.empty((0, 0))

# Logarithms of class priors that differ by less are equal: they start no model.
_EQUAL_PRIORS = 1e-9

SAMPLINGS = ("uniform", "weight")


class HammingProgress(NamedTuple):
    """What a round adds to the history."""

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


def loss_of(name: str, targets: Targets, partition: Partition) -> str:
    """Return the loss of the weights: softmax is for several classes, elsewhere it is logistic."""
    several = partition.any(targets.has_classes)
    return "logistic" if name == "softmax" and not several else name


@dataclass(frozen=True)
class Settings:
    """Settings of `AdaBoostMH` that shape its loss.

    `trim` is the least share of the weight to search (None: all), `least_leaf` the least share of
    the sample weight and `least_rows` the least number of rows on either side of a split. Real
    votes add `damping` rows to the weight on either side of a leaf; None smooths them a little.
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
    least_rows: int = 1
    damping: float | None = None


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
        self._partition = backend.table.partition
        self.loss = loss_of(settings.loss, targets, self._partition)
        self.floor = SMOOTHING / len(targets.labels)
        self._row_total = self._partition.sum(int(to_fixed_point(targets.row_weights).sum()))
        # The logistic weights of all entries start at one half of the initial weights.
        self._weight = 0.5 if self.loss == "logistic" else float("nan")
        self._shift = 0.0
        # The scores after a round that was trained with later ones.
        self._scores: Reals | None = None
        self.state = backend.state(targets, mass_column)
        self._unit_losses = targets.label_weights * (self.state.scale / EXACT_SCALE)
        if self.loss == "softmax":
            self._weight = 1.0
            self._recompute(EVERYWHERE, Vote(0.0, np.zeros(self.state.n_scores), 0.0, 1.0))
        # The weights to search: None searches all, or a uniform sample of the rows.
        self._selection: HeaviestWeights | SampledRows | None = None
        if settings.trim is not None:
            self._selection = HeaviestWeights(settings.trim)
        elif settings.sampling == "weight":
            self._selection = SampledRows(settings.subsample, settings.seed)

    @property
    def is_fitted(self) -> bool:
        return self._weight < LEAST_WEIGHT

    def find(self, learner: Learner, t: int, everything: bool = False) -> Found | None:
        """Return the learner's best base function on the round's sample, or on `everything`."""
        learner.begin(t)
        start = self.constant() if t == 0 and self.settings.loss == "softmax" else None
        if start is not None:
            return start
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
            least=self._least(problem),
            floor=self._damping * SEARCH_SCALE,
            damping=0.0 if self.settings.damping is None else self._damping * SEARCH_SCALE,
        )
        if not self.settings.factorized:
            rule = learner.find_per_score(round)
            return None if rule is None else Found(rule, 0, 0.0, None)
        found = learner.find(round)
        if found is None or problem is everywhere or self._selection is None:
            return found
        return learner.settled(found, round._replace(backend=self.backend, problem=everywhere))

    def leap(
        self, learner: Learner, t: int, most: int, watched: tuple[BinnedTable, Reals] | None
    ) -> Iterator[Leapt]:
        yield from self._climb(learner, t, most if watched is None else 0)
        growth, alike = self._whole_growth(learner, t)
        if t == 0 or growth is None or not isinstance(learner, Tree):
            return
        settings, n_rows = self.settings, self.backend.table.n_rows
        n_scores, n_watched = self.state.n_scores, 0 if watched is None else watched[0].n_rows
        size = max(n_rows * max(len(growth.columns), n_scores), n_watched * n_scores)
        n_rounds = int(min(most, _SHORTEST_LEAP + t // 16, _LARGEST_LEAP // size, alike))
        if n_rounds < 2:
            return
        request = RoundsRequest(
            t,
            n_rounds,
            settings.learning_rate,
            self._row_damping,
            growth=growth,
            constraints=self._amounts,
            fraction=settings.subsample,
            seed=settings.seed,
            weight=self._weight,
            watched=watched,
        )
        for s, result in enumerate(self.backend.train_ahead(self.state, request), t):
            self._scores, self._weight = result.scores, result.next_weight
            yield Leapt(result.watched, partial(self._taken, learner, growth, s, result))
        self._scores = None

    def _climb(self, learner: Learner, t: int, most: int) -> Iterator[Leapt]:
        """Train rounds of products of stumps in one call, where the backend can."""
        settings, found, targets = self.settings, learner.climbs(), self.targets
        plain = settings.votes == "discrete" and settings.factorized and self.loss == "exponential"
        plain = plain and settings.damping is None and self._selection is None
        plain = plain and settings.subsample == 1.0 and not self._amounts
        # Rounds before which the weights are recomputed, and measures of two classes, are apart.
        n_rounds = min(most, -t % REFRESH_EVERY)
        if found is None or not plain or n_rounds < 2 or targets.matrix is not None:
            return
        if len(targets.labels) == 1:
            return
        columns, n_terms = found
        request = RoundsRequest(t, n_rounds, settings.learning_rate, self.floor, columns, n_terms)
        for s, result in enumerate(self.backend.train_ahead(self.state, request), t):
            taken = self._climbed(learner, s, result)
            yield Leapt(_NO_SCORES, lambda taken=taken: taken)  # type: ignore[misc]

    def _climbed(self, learner: Learner, t: int, result: RoundResult) -> Taken:
        """Return what one of several rounds of products did."""
        learner.begin(t)
        (part,) = learner.column_learners()
        assert isinstance(part, Stump)
        assert result.edges is not None
        part.count(len(part.columns_), result.n_searches)
        rule = multiplied([part.cut(self.backend.table, *cut) for cut in result.cuts])
        vote = self.rule.vote(result.edges, self.floor)
        if self.settings.learning_rate != 1.0:
            alpha = self.settings.learning_rate * vote.alpha
            vote = self.rule.retake(result.edges, alpha, vote.votes)
        self._shift -= math.log(vote.energy)
        return Taken(rule, vote, self._progress(self._weight, result.tally))

    def _whole_growth(self, learner: Learner, t: int) -> tuple[Growth | None, float]:
        """Return how trees grow from round `t` on, and for how many rounds.

        None where rounds must be taken one by one.
        """
        settings = self.settings
        plain = settings.votes == "real" and settings.factorized and self.loss == "logistic"
        if not (plain and settings.damping and self._selection is None):
            return None, 0
        if settings.least_leaf > 0 or not isinstance(learner, Tree):
            return None, 0
        return learner.whole_growth(t, (settings.least_rows,) if settings.least_rows > 1 else ())

    def _taken(self, learner: Tree, growth: Growth, t: int, result: RoundResult) -> Taken:
        """Return what one of several rounds did."""
        learner.begin(t)
        rule, ones = learner.taken(result, growth, self.backend.table), np.ones(self.state.n_scores)
        vote = Vote(self.settings.learning_rate, ones, result.edge / SEARCH_SCALE, result.energy)
        return Taken(rule, vote, self._progress(result.weight, result.tally))

    def constant(self) -> Found | None:
        """Return the constant of least loss, by which models of the softmax loss begin.

        Its votes are the logarithms of the class priors, or the log-odds of single columns, halved
        where scores are. Votes of one size, and models with a rule for each class, have none.
        """
        if self.settings.votes != "real" or not self.settings.factorized:
            return None
        edges = self.backend.edges(self.state, EVERYWHERE)
        # Halved first: the sum of two of the largest would not fit.
        plus, minus = edges.masses / 2 + edges.edges / 2, edges.masses / 2 - edges.edges / 2
        floor = self.floor * EXACT_SCALE
        votes = np.log(np.maximum(plus, floor))
        # The same number may be added to the scores of all classes: here their sum is 0.
        votes -= votes.mean() if self.loss == "softmax" else np.log(np.maximum(minus, floor))
        if self.loss == "exponential":
            votes /= 2
        if np.abs(votes).max() < _EQUAL_PRIORS:
            return None
        return Found(EVERYWHERE, 0, 0.0, None, votes)

    @cached_property
    def _amounts(self) -> tuple[str, ...]:
        """What leaves must hold a least amount of."""
        limits = {"weight": self.settings.least_leaf > 0, "count": self.settings.least_rows > 1}
        return tuple(name for name in limits if limits[name])

    def _problem(self) -> Problem:
        return self.backend.problem(self.state, self._amounts)

    def _least(self, problem: Problem) -> tuple[int, ...]:
        """Return the least amounts of a leaf: a share of the rows searched, and their number."""
        settings, least = self.settings, []
        if settings.least_leaf > 0:
            assert problem.constraints is not None
            mass = int(problem.constraints.signed_totals[0])
            # A little less, so that the share of equal rows is not lost to rounding.
            least.append(math.ceil(settings.least_leaf * (1.0 - 1e-9) * mass))
        if settings.least_rows > 1:
            least.append(settings.least_rows)
        return tuple(least)

    @property
    def _damping(self) -> float:
        """What real votes add to the weight on either side, as a share of the current weight.

        A row counts as the weight that an average entry has at first: where weights have a limit,
        that is what it has when it is wrong for certain.
        """
        if self.settings.damping is None:
            return self.floor
        if self.loss == "exponential":
            return self._row_damping * math.exp(min(self._shift, _LARGEST_SHIFT))
        return self._row_damping / self._weight

    @cached_property
    def _row_damping(self) -> float:
        """The same, as a share of the initial weight."""
        row = 1.0 / (self._partition.n_rows * self.state.n_scores)
        return (self.settings.damping or 0.0) * row

    def follow(self, t: int) -> None:
        if isinstance(self._selection, HeaviestWeights):
            self._selection.follow(self.backend, self._problem(), t)

    @property
    def searched(self) -> float:
        return self.settings.subsample if self._selection is None else self._selection.share

    def _sample(self, problem: Problem, t: int) -> tuple[Backend, Problem]:
        """Return the backend and the problem that a round searches."""
        share = self.settings.subsample
        if self._selection is not None:
            return self._selection.part(self.backend, problem, t)
        if share == 1.0:
            return self.backend, problem
        rows = self.backend.draw_rows(share, self.settings.seed, t)
        drawn = self._partition.any(len(rows))
        return self.backend, self.backend.within(problem, rows) if drawn else problem

    def vote(self, found: Found) -> Vote | None:
        rate = self.settings.learning_rate
        if found.rule.is_real:
            votes = np.ones(self.state.n_scores) if found.votes is None else found.votes
            vote = self._retake_real(found.rule, rate, votes, found.edge / SEARCH_SCALE)
            return vote if vote.energy < 1.0 else None
        edges = self.backend.edges(self.state, found.rule)
        if found.votes is not None:
            return self.rule.retake(edges, 1.0, found.votes)
        if self.settings.damping is None:
            vote = self.rule.vote(edges, self.floor)
        else:
            vote = self.rule.vote(edges, 0.0, self._damping)
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
        if self.loss != "exponential" or rule.is_real:
            tally = self._recompute(rule, vote)
        else:
            moves, rest = vote.coefficients, 1.0 / vote.energy
            # The same two factors whichever the sign: a vote of -1 on a rule is to the last bit a
            # vote of +1 on its opposite.
            grown = exp(np.abs(moves))
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
        return self._progress(weight, tally)

    def _progress(self, weight: float, tally: Tally) -> HammingProgress:
        """Return what a step adds to the history, given the weight before it."""
        error, bound = tally.wrong_rows / self._row_total, float("nan")
        if self.loss == "softmax":
            n_scores = self.state.n_scores
            # The class of a misclassified row has a probability of at most 1/2.
            hamming_loss, bound = 2.0 * error / n_scores, n_scores * self._weight
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
        # Weights with a limit decrease with the loss; their sum hardly ever grows.
        limited = self.loss != "exponential"
        unit = EXACT_SCALE / HEAD_ROOM * 2.0 ** -math.frexp(self._weight if limited else 1.0)[1]
        moves = RealStep(vote.coefficients, vote.votes, self.loss, self._shift, unit)
        total, pseudo = self.backend.reweigh(self.state, rule, moves)
        if limited:
            self._weight = total / unit
        else:
            self._shift -= math.log(total / unit)
        step = Step.scaling(self.state.n_scores, unit / total)
        tally = self.backend.advance(self.state, None, step)
        return tally._replace(pseudo=pseudo)

    def refresh(self) -> None:
        if self.loss == "exponential":
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
