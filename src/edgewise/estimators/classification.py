"""Classifiers: parameters and their defaults, the job, its metrics and its probabilities."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Backend
from edgewise.boosting import CLASSIFIER_FIELDS, Metric, Monitor, StoppingRule
from edgewise.common.checks import flag, integer, one_of, positive, up_to_one
from edgewise.common.choices import LOSSES, PRESETS, VOTES
from edgewise.common.dtypes import Reals, Signs
from edgewise.data import BinnedTable, Table
from edgewise.estimators.advice import warn_about_labels, warn_about_model
from edgewise.estimators.calibration import CalibratedLogLoss, best_temperature
from edgewise.estimators.constraints import (
    check_monotonic_learner,
    find_directions,
    read_directions,
)
from edgewise.estimators.fitted import FittedClassifier, HeldOutRecord
from edgewise.estimators.job import DEFAULT_BINS, Job, ResolvedSettings, TrainingProblem
from edgewise.estimators.rates import MAX_RATE_SCORES, MAX_SUBSET_VALUES
from edgewise.estimators.rows import ValidationSet, check_column_kinds
from edgewise.estimators.targets import LabeledRows, Labels, read_rows
from edgewise.learners import (
    NAMED_LEARNERS,
    Additive,
    Goal,
    Learner,
    Stump,
    Tree,
    auto_leaves,
    build_learner,
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

# An improvement that counts, for steps of up to this learning rate.
_STOPPING = StoppingRule(
    60, patience_fraction=0.1, min_delta_rel=0.005, min_delta=1e-4, keep_within=0.005
)
_PATIENT_RATE = 0.4

# Log losses on folds within this many standard errors count as equal.
_NOISE_ERRORS = 0.5

# Folds take this many steps in one, up to this learning rate.
_STRIDE, _MAX_FOLD_RATE = 4, 0.4

# The usual learning rate, and the one of two models, or of many rows, whose rounds take longer.
USUAL_RATE, _LARGER_RATE = 0.1, 0.2

# The learner that a name means with a preset.
_MEANINGS = {"auto": {"tree": "auto"}, "paper": {"auto": "stump"}}


class TreeCandidate(NamedTuple):
    """Trees that held-out rows compare with the usual ones, whose name is empty."""

    name: str = ""
    leaves: int = 0  # 0: the usual number
    softmax: bool = False  # whether several classes take the softmax loss, and splits by gain
    round_ratio: int = 1  # rounds for each of the usual trees
    pairs: bool = True  # whether an additive model has pairs


_USUAL_TREES = TreeCandidate()
_CURVES_AND_PAIRS, _CURVES = TreeCandidate("curves and pairs"), TreeCandidate("curves", pairs=False)

# The leaves of small and of the largest trees to compare.
_SMALL_TREES, _SMALL_TREES_OF_CLASSES, _LARGEST_TREES = 3, 4, 128

# Fewer rows cannot tell candidates apart.
_COMPARE_FROM = 1_000

# From this many rows on a sample decides, on which small trees do better than on all rows.
_NO_SMALL_TREES_FROM = 50_000
_SOFTMAX_DAMPING = 0.5

# Averaging pays most where rows are few. The limit on the work of a round, in values of the table
# times score columns, keeps a fit below half a second. On more rows, two models of half as many
# rounds take the time of one.
_MAX_BAGS, _FEW_ROWS, _BAG_WORK = 4, 2_000, 400_000

# From this many rows on, rounds take long. One model in larger steps halves the time, and costs
# next to no accuracy unless several classes compete.
_MANY_ROWS = 500_000

# The averaged additive models and their learning rate, below each number of rows: many small models
# are cheap, and their spread gives the errors of curves.
_ADDITIVE = {10_000: (8, USUAL_RATE), _MANY_ROWS: (4, _LARGER_RATE), math.inf: (2, _LARGER_RATE)}


def auto_bags(goal: Goal) -> int:
    """Return the default number of tree models to average.

    Examples
    --------
    >>> goals = Goal(1, n_rows=500), Goal(15, n_rows=500), Goal(1, n_rows=9_000)
    >>> [auto_bags(goal._replace(n_columns=20)) for goal in goals]
    [4, 2, 2]
    """
    if goal.n_rows >= _FEW_ROWS:
        return 2 if goal.n_rows < _MANY_ROWS else 1
    affordable = _BAG_WORK // max(goal.n_rows * goal.n_columns * goal.n_scores, 1)
    return next(n for n in (_MAX_BAGS, 2, 1) if n <= affordable or n == 1)


def auto_rate(goal: Goal, n_bags: int) -> float:
    """Return the default learning rate.

    Examples
    --------
    >>> few, more, many = (Goal(1, n_rows=n_rows) for n_rows in (500, 9_000, 1_000_000))
    >>> auto_rate(few, 4), auto_rate(more, 2), auto_rate(more, 1), auto_rate(many, 1)
    (0.1, 0.2, 0.1, 0.2)
    """
    averages = n_bags > 1 and goal.n_rows >= _FEW_ROWS
    takes_long = goal.apart and goal.n_rows >= _MANY_ROWS
    return _LARGER_RATE if averages or takes_long else USUAL_RATE


def auto_settings(goal: Goal) -> dict[str, Any]:
    """Return the settings that measured best over many data sets (docs/guide/defaults.md)."""
    return {
        "votes": "real",
        # Of two classes and of labels the same loss, started from the priors.
        "loss": "softmax" if goal.apart else "logistic",
        "learning_rate": None,  # see `auto_rate`
        "subsample": 0.7,
        "damping": 0.5 if goal.apart else 0.1,
        # Tiny tables could not be split otherwise.
        "min_samples_leaf": min(3, max(1, goal.n_rows // 20)),
        # Thresholds between few rows are not worth their time.
        "max_bins": min(DEFAULT_BINS, max(DEFAULT_BINS // 8, goal.n_rows // 32)),
        "search": "auto",
        "n_bags": auto_bags(goal),
        "n_rounds": "auto",
    }


PAPER_SETTINGS: dict[str, Any] = {
    "votes": "discrete",
    "loss": "exponential",
    "learning_rate": 1.0,
    "subsample": 1.0,
    "damping": None,
    "min_samples_leaf": 1,
    "max_bins": DEFAULT_BINS,
    "search": "exhaustive",
    "n_bags": 1,
    "n_rounds": 500,
}
"""The settings of discrete AdaBoost.MH (Schapire and Singer 1999)."""


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
    one_of("preset", model.preset, PRESETS)
    learner = _check_learner(model)
    if isinstance(model.n_rounds, str):
        one_of("n_rounds", model.n_rounds, ("auto",))
    elif model.n_rounds is not None:
        integer("n_rounds", model.n_rounds, 1)
    model._check_training(validates, _chooses_rounds(model))
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
    if wants_rates and not _tests_numbers(learner):
        raise ValueError(f"category_rates=True needs a learner of numbers, got {learner!r}")
    if wants_rates and _is_additive(learner):
        raise ValueError("category_rates=True cannot be combined with additive models")
    if model.min_weight_fraction_leaf != 0:
        positive("min_weight_fraction_leaf", model.min_weight_fraction_leaf, below=0.5)
    return learner


def _check_learner(model: "AdaBoostMH") -> Learner | str:
    """Return the learner, or its name; with factorized=False, each class has its own stumps."""
    learner = model.learner
    if isinstance(learner, str):
        one_of("learner", learner, LEARNER_NAMES)
        learner = _MEANINGS[model.preset].get(learner, learner)
    else:
        learner = resolve_learner(learner, names=LEARNER_NAMES)
        if learner.uses_values:
            raise ValueError("learner: Feature is for RankBoost, not for a classifier")
    if flag("factorized", model.factorized):
        return learner
    if model.learner == "auto":
        return "stump"
    if learner != "stump" and (isinstance(learner, str) or not learner.makes_cuts):
        raise ValueError(
            f"learner must be 'stump' or a Stump for factorized=False, got {model.learner!r}"
        )
    return learner


def _tests_numbers(learner: Learner | str) -> bool:
    return isinstance(learner, str) or "numeric" in learner.kinds()


def _is_additive(learner: Learner | str) -> bool:
    return learner == "additive" or isinstance(learner, Additive)


def _chooses_rounds(model: "AdaBoostMH") -> bool:
    """Return whether held-out rows choose the number of rounds."""
    n_rounds = model.n_rounds
    return isinstance(n_rounds, str) or (n_rounds is None and model.preset == "auto")


def _metrics_by_name(eval_metric: Any) -> dict[str, Any]:
    check = partial(one_of, "eval_metric", choices=CLASSIFICATION_METRICS)
    return metrics_by_name(eval_metric, check)


def classification_problem(
    model: "AdaBoostMH", learner: Learner | str, table: Table, y: Any, sample_weight: Any = None
) -> TrainingProblem:
    """Return the rows with their targets, and the jobs of all candidates."""
    uses_softmax = model.loss == "softmax"
    rows = read_rows(table, y, sample_weight, model.init_weights, uses_softmax, model.class_weight)

    names = [table.name(j) for j in range(table.n_columns)]
    directions, _ = read_directions(model.monotonic_cst, names)
    is_multiclass = rows.labels.n_scores > 1 and not rows.labels.multilabel
    if directions.any() and is_multiclass:
        raise ValueError(
            "monotonic_cst is not supported for multiclass classification: y has "
            f"{rows.labels.n_scores} classes; only two classes and labels have scores of their own"
        )
    if rows.partition.is_root:
        warn_about_labels(rows.labels, rows.partition.n_rows)
    wants_rates = model.category_rates
    if wants_rates == "auto":
        wants_rates = model.preset == "auto" and _tests_numbers(learner)
        # The terms of an additive model are categories, and not their rates.
        wants_rates = wants_rates and not _is_additive(learner)
    uses_rates = bool(wants_rates) and rows.labels.n_scores <= MAX_RATE_SCORES
    max_subset_values = MAX_SUBSET_VALUES if uses_rates else None

    def goal_of(rows: LabeledRows) -> Goal:
        return Goal(
            rows.labels.n_scores,
            rows.labels.multilabel,
            n_rows=rows.partition.n_rows,
            n_columns=rows.table.n_columns,
            max_subset_values=max_subset_values,
        )

    # Settings that do not go together are refused before rates are counted.
    resolve_classifier(model, learner, goal_of(rows), seed=0)

    def make_jobs(rows: LabeledRows, seed: int) -> list[ClassifierJob]:
        goal = goal_of(rows)
        resolve = partial(resolve_classifier, model, learner, goal, seed)
        return [
            ClassifierJob(model, rows, resolve(candidate), candidate)
            for candidate in tree_candidates(model, learner, goal)
        ]

    return TrainingProblem(rows, make_jobs, _chooses_rounds(model), True, uses_rates)


def tree_candidates(model: "AdaBoostMH", learner: Learner | str, goal: Goal) -> list[TreeCandidate]:
    """Return the trees that held-out rows compare, the usual ones first.

    After a warm start, the only candidate is the one that the earlier fit chose.
    """
    if learner != "auto":
        return _additive_candidates(model, learner, goal)
    small_leaves = _SMALL_TREES if goal.apart else _SMALL_TREES_OF_CLASSES
    large_leaves = min(_LARGEST_TREES, 4 * auto_leaves(goal.n_scores, goal.n_rows))
    small = TreeCandidate("small trees", small_leaves, round_ratio=2)
    large = TreeCandidate("large trees", large_leaves)
    softmax = TreeCandidate("softmax loss", softmax=True)
    if model.warm_start and model.__sklearn_is_fitted__():
        before = model.fitted_.candidate
        return [c for c in (_USUAL_TREES, small, large, softmax) if c.name == before]
    candidates = [_USUAL_TREES]
    if not _chooses_rounds(model) or goal.n_rows < _COMPARE_FROM:
        return candidates
    if model.max_leaf_nodes is None:
        candidates += [small, large] if goal.n_rows < _NO_SMALL_TREES_FROM else [large]
    settings = (model.loss, model.votes, model.damping)
    if settings == (None, None, None) and not goal.apart and model.init_weights == "auto":
        candidates.append(softmax)
    return candidates


def _additive_candidates(
    model: "AdaBoostMH", learner: Learner | str, goal: Goal
) -> list[TreeCandidate]:
    """Return an additive model with pairs, and one without where held-out rows may tell."""
    if not _is_additive(learner) or (isinstance(learner, Additive) and not learner.chooses_pairs):
        return [_USUAL_TREES]
    candidates = [_CURVES_AND_PAIRS, _CURVES]
    if model.warm_start and model.__sklearn_is_fitted__():
        return [c for c in candidates if c.name == model.fitted_.candidate]
    compares = _chooses_rounds(model) and goal.n_rows >= _COMPARE_FROM
    return candidates if compares else candidates[:1]


def resolve_classifier(
    model: "AdaBoostMH",
    learner: Learner | str,
    goal: Goal,
    seed: int,
    candidate: TreeCandidate = _USUAL_TREES,
) -> ResolvedSettings[HammingSettings]:
    """Return the settings of a classifier for the rows and score columns in `goal`."""
    is_auto, reasons = model.preset == "auto", {}
    values = auto_settings(goal) if is_auto else dict(PAPER_SETTINGS)
    is_additive = _is_additive(learner)
    if candidate.softmax or (is_additive and is_auto):
        values |= {"loss": "softmax", "damping": _SOFTMAX_DAMPING}
    for name in values:
        value = getattr(model, name)
        reasons[name] = model.preset if value is None else "given"
        values[name] = values[name] if value is None else value
    if model.trim is not None and reasons["subsample"] == "auto":
        values["subsample"], reasons["subsample"] = 1.0, "auto, with trim"
    if model.damping is None and values["votes"] != "real":
        values["damping"] = None
    reasons["learner"] = model.preset if model.learner == "auto" else "given"
    if model.max_leaf_nodes is not None:
        reasons["max_leaf_nodes"] = "given"
    if candidate.leaves:
        reasons["max_leaf_nodes"] = "compared"
    if candidate.softmax:
        reasons |= {"loss": "compared", "damping": "compared"}
    learner_name = learner if isinstance(learner, str) else None
    resolved = NAMED_LEARNERS[learner](Stump(), goal) if isinstance(learner, str) else learner
    assert isinstance(resolved, Learner)
    _check_votes(model, resolved, values["votes"])
    # Averaging would make lists of rules longer, which are there to be read.
    default_bags = int(values["n_bags"]) if isinstance(resolved, Tree) else 1
    default_rate: float | None = None
    is_large, rate = goal.n_rows >= _FEW_ROWS, values["learning_rate"]
    if is_additive and is_auto:
        default_bags, default_rate = next(v for n, v in _ADDITIVE.items() if goal.n_rows < n)
    elif is_large and rate is not None:
        default_bags = 1
    if model.warm_start and model.__sklearn_is_fitted__():
        default_bags, default_rate = model.fitted_.n_bags, model.fitted_.learning_rate
    damping, n_rounds = values["damping"], values["n_rounds"]
    objective = HammingSettings(
        votes=values["votes"],
        factorized=bool(model.factorized),
        loss=values["loss"],
        subsample=float(values["subsample"]),
        sampling=str(model.sampling),
        trim=None if model.trim is None else float(model.trim),
        seed=seed,
        min_leaf_weight=float(model.min_weight_fraction_leaf),
        min_leaf_rows=int(values["min_samples_leaf"]),
        damping=None if damping is None else float(damping),
    )
    settings = ResolvedSettings(
        resolved,
        objective,
        resolve_search(values["search"]),
        values["max_bins"],
        None if isinstance(n_rounds, str) else int(n_rounds),
        _STOPPING,
        learner_name,
        goal,
        reasons=reasons,
    ).with_bags(model.n_bags, default_bags)
    if is_large and model.n_bags is None:
        # A single model is nearly as good a guide, in half the time.
        settings = replace(settings, fold_bags=1)
    if rate is None:
        rate = default_rate or auto_rate(goal, settings.n_bags)
    return at_rate(settings, float(rate))


def at_rate(
    settings: ResolvedSettings[HammingSettings], rate: float
) -> ResolvedSettings[HammingSettings]:
    """Return the settings at a learning rate: smaller steps need more rounds to go as far."""
    stride = max(1, min(_STRIDE, int(_MAX_FOLD_RATE / rate)))
    more = max(1.0, _PATIENT_RATE / (stride * rate))
    assert _STOPPING.patience is not None
    return replace(
        settings,
        objective=replace(settings.objective, learning_rate=rate),
        stopping=_STOPPING._replace(patience=round(_STOPPING.patience * more)),
        max_rounds=round(MAX_ROUNDS * more),
        stride=stride,
    )


def _check_votes(model: "AdaBoostMH", learner: Learner, votes: str) -> None:
    real = [simple for simple in learner.simple_learners() if not simple.makes_tests]
    if real and votes != "real":
        raise ValueError(f"votes must be 'real' for learner {real[0]!r}, got {votes!r}")
    if model.damping is not None and votes != "real":
        raise ValueError(f"damping needs votes='real', got votes={votes!r}")


@dataclass(frozen=True, eq=False)
class ClassifierJob(Job[FittedClassifier]):
    """The job of training a classifier."""

    rows: LabeledRows
    candidate: TreeCandidate = _USUAL_TREES

    history_fields = CLASSIFIER_FIELDS
    estimates_probabilities = True
    races = True

    @property
    def name(self) -> str:
        return self.candidate.name or "usual trees"

    @property
    def round_ratio(self) -> int:
        return self.candidate.round_ratio

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
            learner = build_learner(settings.learner_name, binned, settings.goal)
            if max_leaf_nodes is not None:
                assert isinstance(learner, Tree)
                learner = replace(learner, max_leaf_nodes=int(max_leaf_nodes))
            learner = self._vary(learner)
        if isinstance(learner, Additive):
            if not self.candidate.pairs:
                learner = replace(learner, max_pairs=0)
            learner = learner.in_larger_steps(settings.objective.learning_rate / USUAL_RATE)
        check_column_kinds(learner, binned)
        return learner

    def _vary(self, learner: Learner) -> Learner:
        """Return the learner of the candidate, given the usual one."""
        leaves, softmax = self.candidate.leaves, self.candidate.softmax
        if leaves:
            assert isinstance(learner, Tree)
            is_small = leaves < learner.max_leaf_nodes
            small_rounds = 0 if is_small else learner.small_rounds
            learner = replace(learner, max_leaf_nodes=leaves, small_rounds=small_rounds)
        return replace(learner, criterion="gain") if softmax else learner

    def directions(self, binned: BinnedTable, n_features: int) -> Signs | None:
        monotonic_cst = self.model.monotonic_cst
        directions, _ = find_directions(monotonic_cst, binned, n_features)
        if not directions.any():
            return None
        check_monotonic_learner(monotonic_cst, self.settings.learner)
        return directions

    def objective(self, backend: Backend) -> Objective:
        settings, targets = self.settings, self.rows.targets
        needs_mass, constraints = settings.learner.needs_mass, settings.column_constraints
        return Hamming(backend, targets, settings.objective, needs_mass, constraints)

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
            candidate=self.candidate.name,
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

    def held_out_losses(
        self, scored: Sequence[tuple[ValidationSet, Reals]], record: HeldOutRecord
    ) -> Reals | None:
        if self.eval_metric != "log_loss" or not scored:
            return None
        codes, weights = _concatenate([validation for validation, _ in scored])
        scores = np.concatenate([scores for _, scores in scored])
        shares = self._probabilities(scores, record.temperature)
        if self.rows.labels.multilabel:
            shares = np.where(codes > 0, shares, 1.0 - shares)
        else:
            shares = shares[np.arange(len(codes)), codes][:, None]
        losses: Reals = -np.log(np.maximum(shares, np.finfo(float).tiny)).sum(axis=1)
        return losses if weights is None else losses * (weights / weights.mean())

    def _prior_log_loss(self, codes: NDArray[Any], weights: Reals | None) -> float:
        """Return the log loss of the frequencies of classes, or of labels, among the same rows."""
        labels = self.rows.labels
        entries = codes if labels.multilabel else codes[:, None] == np.arange(len(labels.classes))
        frequencies = np.average(entries, axis=0, weights=weights)
        return log_loss(codes, np.tile(frequencies, (len(codes), 1)), weights)

    def review(self, fitted: FittedClassifier, binned: BinnedTable) -> None:
        if self.rows.partition.is_root:
            warn_about_model(fitted, binned, self.rows.labels)

    def joint_measure(
        self, monitors: Sequence[Monitor], sets: Sequence[ValidationSet]
    ) -> Callable[[], dict[str, float]]:
        if self.eval_metric != "log_loss":
            return super().joint_measure(monitors, sets)
        loss = CalibratedLogLoss(*_concatenate(sets), self.rows.labels.multilabel)

        def measure() -> dict[str, float]:
            scores = np.concatenate([monitor.all_scores() for monitor in monitors])
            value = loss(self._log_odds(scores))
            return {"validation": value, "noise": _NOISE_ERRORS * loss.standard_error}

        return measure

    def _log_odds(self, scores: Reals) -> Reals:
        multilabel, loss = self.rows.labels.multilabel, self.settings.objective.loss
        return log_odds(scores, self.rows.offsets, multilabel, loss)

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
            loss = CalibratedLogLoss(*_concatenate([validation]), labels.multilabel)
            metrics[next(iter(metrics))] = lambda scores: loss(self._log_odds(scores))
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
