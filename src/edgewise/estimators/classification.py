"""Classification problems: parameters, objective and validation metric."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Backend
from edgewise.boosting import CLASSIFYING, Metric, Monitor
from edgewise.common.checks import flag, integer, one_of, positive, up_to_one
from edgewise.common.choices import LOSSES, VOTES
from edgewise.common.dtypes import ROW, Exacts, Reals, Rows
from edgewise.data import BinnedTable
from edgewise.estimators.fitted import FittedClassifier, HeldOutRecord
from edgewise.estimators.fitting import (
    STOPPING,
    EvalSet,
    FitPlan,
    Fold,
    HeldOut,
    TrainingProblem,
    check_kinds,
    read_validation,
)
from edgewise.estimators.pace import Pace, pace_for, rows_for
from edgewise.estimators.probabilities import CalibratedLogLoss, best_temperature
from edgewise.estimators.targets import (
    LabeledRows,
    Labels,
    bin_mass,
    encode_labels,
    fold_rows,
    make_targets,
    sample_rows,
    score_offsets,
    split_rows,
)
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
from edgewise.metrics.registry import CLASSIFICATION_METRICS, larger_is_better, metrics_by_name
from edgewise.model.scorer import log_odds, probabilities
from edgewise.objective import SAMPLINGS, Hamming, Settings, Targets
from edgewise.search import Search, resolve_search

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH

# The folds that choose the number of rounds, and how many of them are used, below numbers of rows.
_FOLDS = {1_000: (3, 3), 5_000: (4, 2), math.inf: (5, 1)}

# The folds take this many usual steps in one, up to this learning rate; the refit takes small ones.
_STRIDE, _COARSEST = 4, 0.4

# How many small steps held-out rows look ahead.
_PATIENCE = 60

# From this many rows on, a part of them chooses, and the model of the others stays.
_NO_REFIT_FROM, _SHARE_ASIDE = 50_000, 0.1

# The settings that go with a learner unless the user gives them.
_DECIDED = (
    *("votes", "loss", "learning_rate", "subsample", "damping", "min_samples_leaf"),
    *("max_bins", "search", "n_rounds"),
)

_ANY_GOAL = Goal()

# The most bins of a column.
_BINS = 256

# The values of columns can only rank.
LEARNER_NAMES = tuple(name for name in NAMED_LEARNERS if name != "feature")


def read_parameters(model: "AdaBoostMH", validates: bool) -> Learner | str:
    """Return the user's learner, or its name, once all settings are checked."""
    learner = model.learner
    if isinstance(learner, str):
        one_of("learner", learner, LEARNER_NAMES)
    else:
        learner = resolve_learner(learner, names=LEARNER_NAMES)
        if any(part.takes_values for part in learner.simple_parts()):
            raise ValueError("learner: Feature is for RankBoost, not for a classifier")
    if isinstance(model.n_rounds, str):
        one_of("n_rounds", model.n_rounds, ("auto",))
    elif model.n_rounds is not None:
        integer("n_rounds", model.n_rounds, 1)
    model._check_training(validates, _n_rounds(model, learner) is None)
    if model.votes is not None:
        one_of("votes", model.votes, VOTES)
    if model.loss is not None:
        one_of("loss", model.loss, LOSSES)
    if model.learning_rate is not None:
        up_to_one("learning_rate", model.learning_rate)
    if model.subsample is not None:
        up_to_one("subsample", model.subsample)
    one_of("sampling", model.sampling, SAMPLINGS)
    if model.trim is not None:
        positive("trim", model.trim, below=1.0)
        if model.subsample not in (None, 1) or model.sampling != "uniform":
            raise ValueError("give trim or a sample (subsample, sampling), not both")
    if not flag("factorized", model.factorized):
        learner = _per_class(learner)
    if model.max_leaf_nodes is not None:
        integer("max_leaf_nodes", model.max_leaf_nodes, 2)
        if learner not in ("auto", "tree"):
            raise ValueError(
                "max_leaf_nodes is for learner='auto' and 'tree'; a tree of your own has its own, "
                f"Tree(max_leaf_nodes={model.max_leaf_nodes}); got learner {learner!r}"
            )
    if model.min_weight_fraction_leaf != 0:
        positive("min_weight_fraction_leaf", model.min_weight_fraction_leaf, below=0.5)
    if model.min_samples_leaf is not None:
        integer("min_samples_leaf", model.min_samples_leaf, 1)
    if model.damping is not None:
        positive("damping", model.damping)
    if model.eval_metric is not None:
        read_metrics(model.eval_metric)
    return learner


def read_metrics(eval_metric: Any) -> dict[str, Any]:
    """Return the metrics of validation rows by name."""
    known = partial(one_of, "eval_metric", choices=CLASSIFICATION_METRICS)
    return metrics_by_name(eval_metric, known)


def _settings_of(learner: Learner | str, goal: Goal = _ANY_GOAL) -> Preset:
    """Return the settings that go with a learner, before there is a table."""
    if isinstance(learner, str):
        return NAMED_LEARNERS[learner](Stump(), goal)
    return Preset(learner)


def loss_of_classes(model: "AdaBoostMH", learner: Learner | str) -> str:
    """Return the loss of several classes: the user's, or the one that goes with the learner."""
    return _settings_of(learner, Goal(n_scores=3)).loss if model.loss is None else model.loss


def _bins(learner: Learner | str, n_rows: int) -> int:
    """Return the most bins: thresholds that few rows lie between are not worth their time."""
    return min(_BINS, max(_BINS // 8, n_rows // 32)) if learner == "auto" else _BINS


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


def _n_rounds(model: "AdaBoostMH", learner: Learner | str) -> int | None:
    """Return the number of rounds, None if held-out rows are to choose it."""
    if isinstance(model.n_rounds, str):
        return None
    return _settings_of(learner).n_rounds if model.n_rounds is None else int(model.n_rounds)


def _subsample(model: "AdaBoostMH", learner: Learner | str) -> float:
    """Return the share of the rows that a round searches; trimming does without."""
    if model.subsample is not None:
        return float(model.subsample)
    return _settings_of(learner).subsample if model.trim is None else 1.0


def _search(model: "AdaBoostMH", learner: Learner | str) -> Search:
    """Return which columns a round searches."""
    return resolve_search(_settings_of(learner).search if model.search is None else model.search)


class ClassificationProblem(TrainingProblem[Settings, FittedClassifier]):
    """Rows with classes or labels, and how a model is to learn them."""

    fields = CLASSIFYING
    estimates_probabilities = True

    def __init__(self, model: "AdaBoostMH", learner: Learner | str, rows: LabeledRows) -> None:
        self.model, self.learner, self.rows = model, learner, rows
        self.table, self.labels = rows.table, rows.labels
        self.n_scores = rows.labels.n_scores
        self.n_rows = rows.partition.n_rows
        self.max_bins = model.max_bins or _bins(learner, self.n_rows)
        self.least_share = float(model.min_weight_fraction_leaf)
        self.subsample = _subsample(model, learner)
        self.search = _search(model, learner)
        self.looks_at_all_rows = (
            self.subsample == 1 and model.sampling == "uniform" and model.trim is None
        )
        self.factorized = bool(model.factorized)
        self.in_haste: tuple[str, ...] = ()  # the settings that a time limit changed
        self.n_rounds = _n_rounds(model, learner)
        usual = "log_loss" if self.n_rounds is None else "error"
        self.eval_metrics = read_metrics(usual if model.eval_metric is None else model.eval_metric)
        if learner == "auto":
            self.stopping = STOPPING._replace(patience=_PATIENCE)
        if self.n_rounds is None and self.n_rows >= _NO_REFIT_FROM:
            self.share_aside = _SHARE_ASIDE

    def split(self, fraction: float, seed: int) -> tuple["ClassificationProblem", HeldOut]:
        rows, aside = split_rows(self.rows, fraction, seed)
        return self._of(rows), HeldOut(aside.table, aside.all_labels.codes)

    def _of(self, rows: LabeledRows) -> "ClassificationProblem":
        """Return the same problem of other rows."""
        problem = ClassificationProblem(self.model, self.learner, rows)
        problem.in_haste = self.in_haste
        return problem

    def folds(self, seed: int, one_part: bool = False) -> list[Fold]:
        n, rows = self.n_rows, self.rows
        n_folds, n_used = next(chosen for most, chosen in _FOLDS.items() if n < most)
        if one_part:
            n_folds, n_used = 5, 1
        folds = []
        labels, weights = rows.all_labels, self._weights()
        for aside in fold_rows(labels, n_folds, seed)[:n_used]:
            kept = np.setdiff1d(np.arange(n), aside, assume_unique=True)
            own = None if weights is None else weights[aside]
            held_out = HeldOut(self.table, labels.codes[aside], own)
            folds.append(
                Fold(self._of(rows.take(kept)), kept.astype(ROW), held_out, aside.astype(ROW))
            )
        return folds

    def pace(self, n_rounds: float, cost: float, plan: FitPlan[Settings]) -> Pace:
        rate = plan.settings.learning_rate if self.model.learning_rate is None else None
        return pace_for(n_rounds, cost, self.n_rows, rate)

    def coarse(self, plan: FitPlan[Settings]) -> tuple[int, FitPlan[Settings]]:
        if self.learner != "auto":
            return 1, plan
        stride = max(1, min(_STRIDE, int(_COARSEST / plan.settings.learning_rate)))
        return stride, _in_larger_steps(plan, stride)

    def hurried(
        self, pace: Pace, plan: FitPlan[Settings]
    ) -> tuple["ClassificationProblem", Rows | None, FitPlan[Settings]]:
        problem, rows = self._sample(pace.share, plan.settings.seed)
        if pace.factor > 1.0:
            problem.in_haste = (*problem.in_haste, "learning_rate")
        return problem, rows, _in_larger_steps(plan, pace.factor)

    def readable(self, limit: float, seed: int) -> "ClassificationProblem":
        return self._sample(rows_for(limit, self.table.n_columns) / self.n_rows, seed)[0]

    def _sample(self, share: float, seed: int) -> tuple["ClassificationProblem", Rows | None]:
        """Return the problem of a random share of the rows, and their numbers (None: all)."""
        if share >= 1.0:
            return self, None
        drawn = sample_rows(self.rows.all_labels, share, seed)
        problem = self._of(self.rows.take(drawn))
        problem.in_haste = (*self.in_haste, "n_rows")
        return problem, drawn.astype(ROW)

    def _weights(self) -> Reals | None:
        """Return the weights of all rows, None where they are all the same."""
        weights = self.rows.partition.allgather_rows(self.targets.row_weights)
        return None if (weights == weights[0]).all() else weights

    def read_held_out(self, eval_set: EvalSet) -> HeldOut:
        _, given, argument = eval_set
        if not isinstance(given, tuple) or len(given) != 2:
            raise ValueError(f"{argument} must be a tuple (X, y)")
        table = read_validation(given[0], self.table, argument)
        codes = encode_labels(given[1], self.labels.classes, self.labels.multilabel, argument)
        if len(codes) != table.n_rows:
            raise ValueError(f"{argument} has {table.n_rows} rows and {len(codes)} targets")
        return HeldOut(table, table.partition.allgather_rows(codes))

    @cached_property
    def targets(self) -> Targets:
        """Labels and initial weights for the objective."""
        return make_targets(self.rows, self.model.class_weight)

    @cached_property
    def offsets(self) -> Reals:
        """The log-odds that the initial weights add to each score column."""
        return score_offsets(self.rows)

    def mass(self) -> Exacts | None:
        weights = self.targets.row_weights if self.least_share > 0 else self.rows.weights
        return bin_mass(weights, self.rows.partition)

    def plan(self, binned: BinnedTable, seed: int) -> FitPlan[Settings]:
        model = self.model
        if isinstance(self.learner, str):
            goal = Goal(self.n_scores, self.labels.multilabel, n_rows=binned.partition.n_rows)
            preset = preset_for(self.learner, binned, goal)
            if model.max_leaf_nodes is not None:
                assert isinstance(preset.learner, Tree)
                tree = replace(preset.learner, max_leaf_nodes=int(model.max_leaf_nodes))
                preset = preset._replace(learner=tree)
        else:
            preset = Preset(self.learner)
        check_kinds(preset.learner, binned)
        real = [part for part in preset.learner.simple_parts() if not part.makes_tests]
        if real and model.votes != "real":
            raise ValueError(f"learner {real[0]!r} needs votes='real', got votes={model.votes!r}")
        rate = preset.learning_rate if model.learning_rate is None else model.learning_rate
        votes = preset.votes if model.votes is None else model.votes
        if model.damping is not None and votes != "real":
            raise ValueError(f"damping is for votes='real', got votes={votes!r}")
        damping = preset.damping if model.damping is None else float(model.damping)
        least_rows = model.min_samples_leaf
        settings = Settings(
            votes,
            self.factorized,
            preset.loss if model.loss is None else model.loss,
            float(rate),
            self.subsample,
            str(model.sampling),
            None if model.trim is None else float(model.trim),
            seed,
            self.least_share,
            preset.min_samples_leaf if least_rows is None else int(least_rows),
            damping if votes == "real" else None,
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
            subsample=plan.settings.subsample,
            damping=plan.settings.damping,
            min_samples_leaf=plan.settings.least_rows,
            max_bins=self.max_bins,
            search=repr(self.search),
            n_rows=self.n_rows,
            reasons=self._reasons(plan),
            **common,
        )

    def _reasons(self, plan: FitPlan[Settings]) -> dict[str, str]:
        """Return where each setting is from, for people to read."""
        model = self.model
        named = isinstance(model.learner, str) and model.learner == "auto"
        usual = "auto" if isinstance(self.learner, str) and self.learner == "auto" else "default"
        reasons = {"learner": "auto" if named else "given"}
        for name in _DECIDED:
            reasons[name] = usual if getattr(model, name) is None else "given"
        if model.max_leaf_nodes is not None:
            reasons["max_leaf_nodes"] = "given"
        if reasons["subsample"] == "auto" and model.trim is not None:
            reasons["subsample"] = "auto, with trim"
        reasons.update(dict.fromkeys(self.in_haste, "time_limit"))
        return reasons

    def held_out_record(
        self, parts: Sequence[tuple[HeldOut, Reals]], plan: FitPlan[Settings], **known: Any
    ) -> HeldOutRecord:
        if not parts:
            return HeldOutRecord(**known)
        codes, weights = _joined([held_out for held_out, _ in parts])
        scores = np.concatenate([scores for _, scores in parts])

        def loss(temperature: float) -> float:
            return log_loss(codes, self._probabilities(scores, plan, temperature), weights)

        if "temperature" not in known:
            known["temperature"] = best_temperature(loss, len(codes))
        known["log_loss"] = loss(known["temperature"])
        return HeldOutRecord(**known, error=error(codes, scores, weights))

    def value_of(
        self,
        monitors: Sequence[Monitor],
        held_out: Sequence[HeldOut],
        plan: FitPlan[Settings],
    ) -> Callable[[], float]:
        """Return the function of all held-out rows to choose rounds by.

        The log loss is that at the temperature of the model to be.
        """
        if self.eval_metric != "log_loss":
            return super().value_of(monitors, held_out, plan)
        loss = CalibratedLogLoss(*_joined(held_out), self.labels.multilabel)
        given = (self.offsets, self.labels.multilabel, plan.settings.loss)

        def value() -> float:
            scores = np.concatenate([monitor.all_scores() for monitor in monitors])
            return loss(log_odds(scores, *given))

        return value

    def _probabilities(
        self, scores: Reals, plan: FitPlan[Settings], temperature: float = 1.0
    ) -> Reals:
        loss, multilabel = plan.settings.loss, self.labels.multilabel
        return probabilities(scores, self.offsets, multilabel, loss, temperature)

    def monitor(self, held_out: HeldOut, binned: BinnedTable, plan: FitPlan[Settings]) -> Monitor:
        """Return the monitor of the validation rows.

        A callable metric gets targets as the user gave them, and scores as ``decision_function``
        returns them.
        """
        labels, codes = self.labels, held_out.targets
        if "roc_auc" in self.eval_metrics.values():
            _check_roc_auc(codes, labels)
        metrics = {
            name: self._metric(metric, held_out, plan) for name, metric in self.eval_metrics.items()
        }
        positive = codes == 1 if labels.n_scores == 1 and not labels.multilabel else None
        larger = larger_is_better(self.eval_metric)
        return Monitor(binned, metrics, labels.n_scores, larger, positive)

    def _metric(self, eval_metric: Any, held_out: HeldOut, plan: FitPlan[Settings]) -> Metric:
        """Return a metric of held-out rows as a function of their scores of shape (n, K)."""
        labels, (_, y, weights) = self.labels, held_out
        if callable(eval_metric):
            true = y if labels.multilabel else labels.classes[y]
            return lambda scores: eval_metric(
                true, scores[:, 0] if scores.shape[1] == 1 else scores
            )
        # Rows of one class among several are compared by its probability; a score of its own ranks
        # rows as its probability does, and never saturates.
        named = CLASSIFICATION_METRICS[eval_metric]
        several = labels.n_scores > 1 and not labels.multilabel
        compared = several and named.takes == "either"
        if eval_metric == "hamming_loss" and plan.settings.loss == "softmax" and several:
            # Only differences of scores mean anything: entries are right or wrong by class.
            return lambda scores: 2.0 * error(y, scores) / scores.shape[1]
        if named.takes != "probabilities" and not compared:
            return partial(named.function, y)
        given = {} if weights is None or eval_metric != "log_loss" else {"sample_weight": weights}
        return lambda scores: named.function(y, self._probabilities(scores, plan), **given)


def _in_larger_steps(plan: FitPlan[Settings], factor: float) -> FitPlan[Settings]:
    """Return the plan of fewer rounds that go as far."""
    learner, settings = plan
    if isinstance(learner, Tree):
        learner = replace(learner, small_rounds=round(learner.small_rounds / factor))
    return FitPlan(learner, replace(settings, learning_rate=factor * settings.learning_rate))


def _joined(held_out: Sequence[HeldOut]) -> tuple[NDArray[Any], Reals | None]:
    """Return the targets of all held-out rows, and their weights unless they are all the same."""
    codes = np.concatenate([part.targets for part in held_out])
    weights = [part.weights for part in held_out if part.weights is not None]
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
        names = ", ".join(repr(name) for name in labels.classes[lacking].tolist())
        raise ValueError(
            f"eval_metric='roc_auc' needs {wanted} to validate on; they lack some for {names}"
        )
