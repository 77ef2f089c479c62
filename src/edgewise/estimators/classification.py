"""Classification problems: parameters, objective, validation metric and probabilities."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp

from edgewise.backend.base import Backend
from edgewise.boosting import CLASSIFYING, Metric, Monitor
from edgewise.common.checks import flag, integer, one_of, positive, up_to_one
from edgewise.common.dtypes import Exacts, Reals
from edgewise.data import MAX_BINS, BinnedTable
from edgewise.estimators.fitted import FittedClassifier
from edgewise.estimators.fitting import (
    FitPlan,
    HeldOut,
    TrainingProblem,
    check_kinds,
    read_validation,
)
from edgewise.estimators.targets import (
    LabelledRows,
    Labels,
    bin_mass,
    encode_labels,
    make_targets,
    score_offsets,
    split_rows,
)
from edgewise.learners import NAMED_LEARNERS, Goal, Learner, Preset, learner_named, preset_for
from edgewise.metrics.registry import CLASSIFICATION_METRICS, larger_is_better
from edgewise.objective import LOSSES, SAMPLINGS, VOTE_RULES, Hamming, Settings, Targets

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH

# The values of columns can only rank.
LEARNER_NAMES = tuple(name for name in NAMED_LEARNERS if name != "feature")


def read_parameters(model: "AdaBoostMH", eval_set: Any) -> Learner | str:
    """Return the user's learner, or its name, once all settings are checked."""
    learner = model.learner
    if isinstance(learner, str):
        one_of("learner", learner, LEARNER_NAMES)
    else:
        learner = learner_named(learner, names=LEARNER_NAMES)
        if any(part.takes_values for part in learner.simple_parts()):
            raise ValueError("learner: Feature is for RankBoost, not for a classifier")
    integer("max_bins", model.max_bins, 2, MAX_BINS)
    model._check_training(eval_set)
    if model.votes is not None:
        one_of("votes", model.votes, VOTE_RULES)
    if model.loss is not None:
        one_of("loss", model.loss, LOSSES)
    if model.learning_rate is not None:
        up_to_one("learning_rate", model.learning_rate)
    one_of("sampling", model.sampling, SAMPLINGS)
    if model.trim is not None:
        positive("trim", model.trim, below=1.0)
        if model.subsample != 1 or model.sampling != "uniform":
            raise ValueError("give trim or a sample (subsample, sampling), not both")
    if not flag("factorized", model.factorized):
        learner = _per_class(learner)
    if model.min_weight_fraction_leaf != 0:
        positive("min_weight_fraction_leaf", model.min_weight_fraction_leaf, below=0.5)
    if not callable(model.eval_metric):
        one_of("eval_metric", model.eval_metric, CLASSIFICATION_METRICS)
    return learner


def _per_class(learner: Learner | str) -> Learner | str:
    """Return the learner of factorized=False: only stumps can be trained class by class."""
    if learner == "auto":
        return "stump"
    if learner != "stump" and (isinstance(learner, str) or not learner.makes_cuts):
        raise ValueError(
            "factorized=False trains a stump for each class: learner must be 'stump' or a Stump, "
            f"got {learner!r}"
        )
    return learner


class ClassificationProblem(TrainingProblem[Settings, FittedClassifier]):
    """Rows with classes or labels, and how a model is to learn them."""

    fields = CLASSIFYING

    def __init__(self, model: "AdaBoostMH", learner: Learner | str, rows: LabelledRows) -> None:
        self.model, self.learner, self.rows = model, learner, rows
        self.table, self.labels = rows.table, rows.labels
        self.n_scores = rows.labels.n_scores
        self.max_bins = model.max_bins
        self.least_share = float(model.min_weight_fraction_leaf)
        self.looks_at_all_rows = (
            model.subsample == 1 and model.sampling == "uniform" and model.trim is None
        )
        self.factorized = bool(model.factorized)

    def split(self, fraction: float, seed: int) -> tuple["ClassificationProblem", HeldOut]:
        rows, aside = split_rows(self.rows, fraction, seed)
        problem = ClassificationProblem(self.model, self.learner, rows)
        return problem, HeldOut(aside.table, aside.labels.codes)

    def read_held_out(self, eval_set: Any) -> HeldOut:
        if not isinstance(eval_set, tuple) or len(eval_set) != 2:
            raise ValueError("eval_set must be a tuple (X, y)")
        table = read_validation(eval_set[0], self.table)
        codes = encode_labels(eval_set[1], self.labels.classes, self.labels.multilabel, "eval_set")
        if len(codes) != table.n_rows:
            raise ValueError(f"eval_set has {table.n_rows} rows and {len(codes)} targets")
        return HeldOut(table, codes)

    @cached_property
    def targets(self) -> Targets:
        """Labels and initial weights for the objective."""
        return make_targets(self.rows, self.model.class_weight)

    @cached_property
    def offsets(self) -> Reals:
        """The log-odds that the initial weights add to each score column."""
        return score_offsets(self.rows)

    def mass(self) -> Exacts | None:
        return bin_mass(self.targets.row_weights if self.least_share > 0 else self.rows.weights)

    def plan(self, binned: BinnedTable, seed: int) -> FitPlan[Settings]:
        model = self.model
        if isinstance(self.learner, str):
            goal = Goal(self.n_scores, self.labels.multilabel)
            preset = preset_for(self.learner, binned, goal)
        else:
            preset = Preset(self.learner)
        check_kinds(preset.learner, binned)
        real = [part for part in preset.learner.simple_parts() if not part.makes_tests]
        if real and model.votes != "real":
            raise ValueError(f"learner {real[0]!r} needs votes='real', got votes={model.votes!r}")
        rate = preset.learning_rate if model.learning_rate is None else model.learning_rate
        settings = Settings(
            preset.votes if model.votes is None else model.votes,
            self.factorized,
            preset.loss if model.loss is None else model.loss,
            float(rate),
            float(model.subsample),
            str(model.sampling),
            None if model.trim is None else float(model.trim),
            seed,
            self.least_share,
        )
        return FitPlan(preset.learner, settings)

    def objective(self, backend: Backend, plan: FitPlan[Settings]) -> Hamming:
        return Hamming(backend, self.targets, plan.settings, plan.learner.needs_mass)

    def fitted(self, plan: FitPlan[Settings], **common: Any) -> FittedClassifier:
        return FittedClassifier(
            classes=self.labels.classes,
            multilabel=self.labels.multilabel,
            offsets=self.offsets,
            votes=plan.settings.votes,
            loss=plan.settings.loss,
            learning_rate=plan.settings.learning_rate,
            **common,
        )

    def monitor(self, held_out: HeldOut, binned: BinnedTable, plan: FitPlan[Settings]) -> Monitor:
        """Return the monitor of the validation rows.

        A callable metric gets targets as the user gave them, and scores as ``decision_function``
        returns them.
        """
        labels, eval_metric = self.labels, self.model.eval_metric
        codes: NDArray[np.int64] = held_out.targets
        if isinstance(eval_metric, str) and eval_metric == "roc_auc":
            _check_roc_auc(codes, labels)
        targets: NDArray = codes
        if callable(eval_metric) and not labels.multilabel:
            targets = labels.classes[codes]
        positive = codes == 1 if labels.n_scores == 1 and not labels.multilabel else None
        metric, larger = self._metric(plan.settings.loss), larger_is_better(eval_metric)
        return Monitor(binned, targets, metric, labels.n_scores, larger, positive)

    def _metric(self, loss: str) -> Metric:
        """Return the metric as a function of targets and scores of shape (n, K)."""
        eval_metric, labels = self.model.eval_metric, self.labels
        if callable(eval_metric):
            return lambda y, scores: eval_metric(
                y, scores[:, 0] if scores.shape[1] == 1 else scores
            )
        # Rows of one class among several are compared by its probability; a score of its own ranks
        # rows as its probability does, and never saturates.
        named = CLASSIFICATION_METRICS[eval_metric]
        compared = labels.n_scores > 1 and not labels.multilabel and named.takes == "either"
        if named.takes != "probabilities" and not compared:
            return named.function
        return lambda y, scores: named.function(
            y, probabilities(scores, self.offsets, labels.multilabel, loss)
        )


def _check_roc_auc(codes: NDArray[np.int64], labels: Labels) -> None:
    """Raise unless there are rows of every class, or rows with and without every label."""
    if labels.multilabel:
        counts = (codes > 0).sum(axis=0)
        lacking = (counts == 0) | (counts == len(codes))
        wanted = "rows with and rows without each label"
    else:
        lacking = np.bincount(codes, minlength=len(labels.classes)) == 0
        wanted = "rows of every class"
    if lacking.any():
        names = ", ".join(repr(name) for name in labels.classes[lacking].tolist())
        raise ValueError(
            f"eval_metric='roc_auc' needs {wanted} to validate on; they lack some for {names}"
        )


def probabilities(
    scores: Reals, offsets: Reals, multilabel: bool, loss: str = "exponential"
) -> Reals:
    """Return probabilities for scores of shape (n, K) (Iyer 1999, eq. 3.6).

    `offsets` are the log-odds that the initial weights add to each column. Classes sum to 1; labels
    of a multi-label problem do not.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities(np.array([[0.0], [1.0]]), np.zeros(1), False).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """
    log_odds = (1.0 if loss == "logistic" else 2.0) * scores - offsets
    if multilabel:
        return expit(log_odds)
    if scores.shape[1] == 1:
        positive = expit(log_odds)
        return np.hstack([1 - positive, positive])
    # In logarithms, so that rows far from every class still have probabilities.
    logs = log_expit(log_odds)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
