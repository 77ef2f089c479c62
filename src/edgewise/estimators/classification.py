"""Classifiers: parameters and their defaults, the job, its metrics and its probabilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Backend
from edgewise.boosting import CLASSIFIER_FIELDS, Metric, Monitor, StoppingRule
from edgewise.common.checks import flag, integer, one_of, positive, up_to_one
from edgewise.common.choices import LOSSES, VOTES
from edgewise.common.dtypes import Reals
from edgewise.data import BinnedTable, Table
from edgewise.estimators.advice import warn_about_labels, warn_about_model
from edgewise.estimators.calibration import CalibratedLogLoss, best_temperature
from edgewise.estimators.fitted import FittedClassifier, HeldOutRecord
from edgewise.estimators.job import DEFAULT_BINS, Job, ResolvedSettings, TrainingProblem
from edgewise.estimators.rates import MAX_RATE_SCORES, MAX_SUBSET_VALUES
from edgewise.estimators.rows import ValidationSet, check_column_kinds
from edgewise.estimators.targets import LabeledRows, Labels, read_rows
from edgewise.learners import (
    NAMED_LEARNERS,
    Goal,
    Learner,
    Preset,
    Stump,
    Tree,
    preset_for,
    resolve_learner,
)
from edgewise.metrics.classification import error, log_loss
from edgewise.metrics.registry import CLASSIFICATION_METRICS, metrics_by_name
from edgewise.model.scorer import log_odds, probabilities
from edgewise.objective import SAMPLINGS, Hamming, HammingSettings, Objective
from edgewise.search import resolve_search

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH

# The values of columns can only rank.
LEARNER_NAMES = tuple(name for name in NAMED_LEARNERS if name != "feature")

MAX_ROUNDS = 2000
"""The maximum number of rounds that held-out rows choose from."""

# An improvement that counts. The automatic learner takes small steps, and waits longer.
_STOPPING = StoppingRule(30, patience_fraction=0.1, min_delta_rel=0.005, min_delta=1e-4)
_AUTO_STOPPING = _STOPPING._replace(patience=60, keep_within=_STOPPING.min_delta_rel)

# On folds the automatic learner takes this many steps in one, up to this learning rate.
_STRIDE, _MAX_FOLD_RATE = 4, 0.4

# The settings that depend on the learner unless the user gives them.
_DEFAULTS = (
    *("votes", "loss", "learning_rate", "subsample", "damping", "min_samples_leaf"),
    *("max_bins", "search", "n_rounds"),
)

_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "search": lambda _, search: resolve_search(search),
    "votes": partial(one_of, choices=VOTES),
    "loss": partial(one_of, choices=LOSSES),
    "learning_rate": up_to_one,
    "subsample": up_to_one,
    "sampling": partial(one_of, choices=SAMPLINGS),
    "trim": partial(positive, below=1.0),
    "max_leaf_nodes": partial(integer, low=2),
    "min_samples_leaf": partial(integer, low=1),
    "damping": positive,
    "eval_metric": lambda _, metric: _metrics_by_name(metric),
}
"""Checks of parameters that are not None."""


def check_parameters(model: "AdaBoostMH", validates: bool) -> Learner | str:
    """Raise if a parameter is wrong; return the learner, or its name."""
    learner = _check_learner(model)
    if isinstance(model.n_rounds, str):
        one_of("n_rounds", model.n_rounds, ("auto",))
    elif model.n_rounds is not None:
        integer("n_rounds", model.n_rounds, 1)
    model._check_training(validates, chosen_rounds(model, learner) is None)
    for name, check in _CHECKS.items():
        value = getattr(model, name)
        if value is not None or name == "sampling":
            check(name, value)
    if model.trim is not None and (model.subsample not in (None, 1) or model.sampling != "uniform"):
        raise ValueError("trim cannot be combined with subsample or sampling='weight'")
    if model.max_leaf_nodes is not None and learner not in ("auto", "tree"):
        raise ValueError(
            f"max_leaf_nodes needs learner='auto' or 'tree', or Tree(max_leaf_nodes=...); got "
            f"learner={learner!r}"
        )
    wants_rates = model.category_rates != "auto" and flag("category_rates", model.category_rates)
    if wants_rates and not isinstance(learner, str) and "numeric" not in learner.kinds():
        raise ValueError(f"category_rates=True needs a learner of numbers, got {learner!r}")
    if model.min_weight_fraction_leaf != 0:
        positive("min_weight_fraction_leaf", model.min_weight_fraction_leaf, below=0.5)
    return learner


def _check_learner(model: "AdaBoostMH") -> Learner | str:
    """Return the learner, or its name; with factorized=False, each class has its own stumps."""
    learner = model.learner
    if isinstance(learner, str):
        one_of("learner", learner, LEARNER_NAMES)
    else:
        learner = resolve_learner(learner, names=LEARNER_NAMES)
        if learner.uses_values:
            raise ValueError("learner: Feature is for RankBoost, not for a classifier")
    if flag("factorized", model.factorized):
        return learner
    if learner == "auto":
        return "stump"
    if learner != "stump" and (isinstance(learner, str) or not learner.makes_cuts):
        raise ValueError(
            f"learner must be 'stump' or a Stump for factorized=False, got {learner!r}"
        )
    return learner


def _metrics_by_name(eval_metric: Any) -> dict[str, Any]:
    check = partial(one_of, "eval_metric", choices=CLASSIFICATION_METRICS)
    return metrics_by_name(eval_metric, check)


def classification_problem(
    model: "AdaBoostMH", learner: Learner | str, table: Table, y: Any, sample_weight: Any = None
) -> TrainingProblem:
    """Return the rows with their targets, and the only job on them."""
    uses_softmax = model.loss == "softmax"
    rows = read_rows(table, y, sample_weight, model.init_weights, uses_softmax, model.class_weight)
    chooses = chosen_rounds(model, learner) is None

    if rows.partition.is_root:
        warn_about_labels(rows.labels, rows.partition.n_rows)
    wants_rates = learner == "auto" if model.category_rates == "auto" else model.category_rates
    uses_rates = bool(wants_rates) and rows.labels.n_scores <= MAX_RATE_SCORES
    max_subset_values = MAX_SUBSET_VALUES if uses_rates else None

    def make_jobs(rows: LabeledRows, seed: int) -> list[ClassifierJob]:
        labels, n_rows = rows.labels, rows.partition.n_rows
        goal = Goal(
            labels.n_scores,
            labels.multilabel,
            n_rows=n_rows,
            max_subset_values=max_subset_values,
        )
        return [ClassifierJob(model, rows, resolve_classifier(model, learner, goal, seed))]

    return TrainingProblem(rows, make_jobs, chooses, True, uses_rates)


def chosen_rounds(model: "AdaBoostMH", learner: Learner | str) -> int | None:
    """Return the number of rounds of a classifier; None if held-out rows choose it."""
    if model.n_rounds is None:
        return None if learner == "auto" else 500
    return None if isinstance(model.n_rounds, str) else int(model.n_rounds)


def resolve_classifier(
    model: "AdaBoostMH", learner: Learner | str, goal: Goal, seed: int
) -> ResolvedSettings[HammingSettings]:
    """Return the settings of a classifier for the number of rows and score columns in `goal`."""
    is_auto, name = learner == "auto", learner if isinstance(learner, str) else None
    preset = Preset(learner) if name is None else NAMED_LEARNERS[name](Stump(), goal)  # type: ignore[arg-type]
    values = preset._asdict()
    values["max_bins"] = DEFAULT_BINS
    if is_auto:
        # Thresholds between few rows are not worth their time.
        values["max_bins"] = min(DEFAULT_BINS, max(DEFAULT_BINS // 8, goal.n_rows // 32))
    if model.trim is not None:
        values["subsample"] = 1.0
    parameters = {name: getattr(model, name) for name in _DEFAULTS}
    values |= {name: value for name, value in parameters.items() if value is not None}
    _check_votes(model, preset.learner, values["votes"])
    rate, damping = float(values["learning_rate"]), values["damping"]
    objective = HammingSettings(
        votes=values["votes"],
        factorized=bool(model.factorized),
        loss=values["loss"],
        learning_rate=rate,
        subsample=float(values["subsample"]),
        sampling=str(model.sampling),
        trim=None if model.trim is None else float(model.trim),
        seed=seed,
        min_leaf_weight=float(model.min_weight_fraction_leaf),
        min_leaf_rows=int(values["min_samples_leaf"]),
        damping=None if damping is None or values["votes"] != "real" else float(damping),
    )
    stride = max(1, min(_STRIDE, int(_MAX_FOLD_RATE / rate))) if is_auto else 1
    stopping, usual_rate = (_AUTO_STOPPING, _MAX_FOLD_RATE) if is_auto else (_STOPPING, 1.0)
    assert stopping.patience is not None
    # Smaller steps need more rounds to go as far.
    patience = round(stopping.patience * max(1.0, usual_rate / (stride * rate)))
    return ResolvedSettings(
        preset.learner,
        objective,
        resolve_search(values["search"]),
        values["max_bins"],
        chosen_rounds(model, learner),
        stopping._replace(patience=patience),
        name,
        goal,
        MAX_ROUNDS,
        stride=stride,
        reasons=_reasons(model, is_auto),
    )


def _check_votes(model: "AdaBoostMH", learner: Learner, votes: str) -> None:
    real = [simple for simple in learner.simple_learners() if not simple.makes_tests]
    if real and model.votes != "real":
        raise ValueError(f"votes must be 'real' for learner {real[0]!r}, got {model.votes!r}")
    if model.damping is not None and votes != "real":
        raise ValueError(f"damping needs votes='real', got votes={votes!r}")


def _reasons(model: "AdaBoostMH", is_auto: bool) -> dict[str, str]:
    """Return the origin of each setting: "given", "auto" or "default"."""
    default = "auto" if is_auto else "default"
    reasons = {name: default if getattr(model, name) is None else "given" for name in _DEFAULTS}
    reasons["learner"] = "auto" if model.learner == "auto" else "given"
    if model.max_leaf_nodes is not None:
        reasons["max_leaf_nodes"] = "given"
    if reasons["subsample"] == "auto" and model.trim is not None:
        reasons["subsample"] = "auto, with trim"
    return reasons


@dataclass(frozen=True, eq=False)
class ClassifierJob(Job[FittedClassifier]):
    """The job of training a classifier."""

    rows: LabeledRows

    history_fields = CLASSIFIER_FIELDS
    estimates_probabilities = True

    @property
    def n_scores(self) -> int:
        return self.rows.labels.n_scores

    @property
    def eval_metrics(self) -> dict[str, Any]:
        default = "log_loss" if self.settings.n_rounds is None else "error"
        metric = self.model.eval_metric
        return _metrics_by_name(default if metric is None else metric)

    def learner_for(self, binned: BinnedTable) -> Learner:
        settings, max_leaf_nodes = self.settings, self.model.max_leaf_nodes
        learner = settings.learner
        if settings.learner_name is not None:
            learner = preset_for(settings.learner_name, binned, settings.goal).learner
            if max_leaf_nodes is not None:
                assert isinstance(learner, Tree)
                learner = replace(learner, max_leaf_nodes=int(max_leaf_nodes))
        check_column_kinds(learner, binned)
        return learner

    def objective(self, backend: Backend) -> Objective:
        settings = self.settings
        needs_mass = settings.learner.needs_mass
        return Hamming(backend, self.rows.targets, settings.objective, needs_mass)

    def make_record(self, **common: Any) -> FittedClassifier:
        settings, labels = self.settings, self.rows.labels
        objective = settings.objective
        return FittedClassifier(
            classes=labels.classes,
            multilabel=labels.multilabel,
            offsets=self.rows.offsets,
            votes=objective.votes,
            loss=objective.loss,
            subsample=objective.subsample,
            damping=objective.damping,
            min_samples_leaf=objective.min_leaf_rows,
            max_bins=settings.max_bins,
            search=repr(settings.search),
            n_rows=self.rows.partition.n_rows,
            reasons=dict(settings.reasons),
            **common,
        )

    def held_out_record(
        self, scored: Sequence[tuple[ValidationSet, Reals]], record: HeldOutRecord, calibrates: bool
    ) -> HeldOutRecord:
        if not scored:
            return record
        codes, weights = _concatenate([validation for validation, _ in scored])
        scores = np.concatenate([scores for _, scores in scored])

        def loss(temperature: float) -> float:
            return log_loss(codes, self._probabilities(scores, temperature), weights)

        temperature = best_temperature(loss, len(codes)) if calibrates else 1.0
        return replace(
            record,
            log_loss=loss(temperature),
            error=error(codes, scores, weights),
            prior_log_loss=self._prior_log_loss(codes, weights),
            temperature=temperature,
        )

    def _prior_log_loss(self, codes: NDArray[Any], weights: Reals | None) -> float:
        """Return the log loss of the frequencies of classes, or of labels, among the same rows."""
        labels = self.rows.labels
        entries = codes if labels.multilabel else codes[:, None] == np.arange(len(labels.classes))
        frequencies = np.average(entries, axis=0, weights=weights)
        return log_loss(codes, np.tile(frequencies, (len(codes), 1)), weights)

    def review(self, fitted: FittedClassifier, binned: BinnedTable) -> None:
        if self.rows.partition.is_root:
            warn_about_model(fitted, binned.bins)

    def joint_value(
        self, monitors: Sequence[Monitor], sets: Sequence[ValidationSet]
    ) -> Callable[[], float]:
        if self.eval_metric != "log_loss":
            return super().joint_value(monitors, sets)
        loss = self._calibrated_log_loss(sets)
        return lambda: loss(np.concatenate([monitor.all_scores() for monitor in monitors]))

    def _calibrated_log_loss(self, sets: Sequence[ValidationSet]) -> Metric:
        """Return the log loss of held-out rows at the temperature of the model to be."""
        multilabel = self.rows.labels.multilabel
        loss = CalibratedLogLoss(*_concatenate(sets), multilabel)
        link = self.rows.offsets, multilabel, self.settings.objective.loss
        return lambda scores: loss(log_odds(scores, *link))

    def _probabilities(self, scores: Reals, temperature: float = 1.0) -> Reals:
        loss, multilabel = self.settings.objective.loss, self.rows.labels.multilabel
        return probabilities(scores, self.rows.offsets, multilabel, loss, temperature)

    def monitor(self, validation: ValidationSet, chooses: bool = False) -> Monitor:
        """Return the monitor of validation rows, which may choose the number of rounds.

        A callable metric gets targets as the user gave them, and scores as ``decision_function``
        returns them.
        """
        labels, codes = self.rows.labels, validation.targets
        if "roc_auc" in self.eval_metrics.values():
            _check_roc_auc(codes, labels)
        metrics = {
            name: self._metric(metric, validation) for name, metric in self.eval_metrics.items()
        }
        if chooses and self.eval_metric == "log_loss":
            metrics[next(iter(metrics))] = self._calibrated_log_loss([validation])
        is_binary = labels.n_scores == 1 and not labels.multilabel
        positive = codes == 1 if is_binary else None
        return Monitor(validation.rows, metrics, labels.n_scores, self.larger_is_better, positive)

    def _metric(self, eval_metric: Any, validation: ValidationSet) -> Metric:
        """Return a metric of validation rows as a function of their scores of shape (n, K)."""
        labels, y, weights = self.rows.labels, validation.targets, validation.weights
        if callable(eval_metric):
            true = y if labels.multilabel else labels.classes[y]
            return lambda scores: eval_metric(
                true, scores[:, 0] if scores.shape[1] == 1 else scores
            )
        # Rows of one class among several are compared by its probability; a score of its own ranks
        # rows as its probability does, and never saturates.
        metric = CLASSIFICATION_METRICS[eval_metric]
        is_multiclass = labels.n_scores > 1 and not labels.multilabel
        is_softmax = self.settings.objective.loss == "softmax" and is_multiclass
        if eval_metric == "hamming_loss" and is_softmax:
            # Only differences of scores mean anything: entries are right or wrong by class.
            return lambda scores: 2.0 * error(y, scores) / scores.shape[1]
        if metric.takes != "probabilities" and not (is_multiclass and metric.takes == "either"):
            return partial(metric.function, y)
        options = {} if weights is None or eval_metric != "log_loss" else {"sample_weight": weights}
        return lambda scores: metric.function(y, self._probabilities(scores), **options)


def _concatenate(sets: Sequence[ValidationSet]) -> tuple[NDArray[Any], Reals | None]:
    """Return the targets of all held-out rows, and their weights unless they are all the same."""
    weights = [validation.weights for validation in sets if validation.weights is not None]
    codes = np.concatenate([validation.targets for validation in sets])
    return codes, np.concatenate(weights) if weights else None


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
        names = ", ".join(map(repr, labels.classes[lacking].tolist()))
        raise ValueError(f"eval_metric='roc_auc' needs {wanted} to validate on; lacking: {names}")
