"""Rankers: parameters and their defaults, the jobs, monotonic columns, validation metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from edgewise.backend.base import Backend
from edgewise.boosting import RANKER_FIELDS, Metric, Monitor, StoppingRule
from edgewise.common import choices
from edgewise.common.checks import integer, one_of, up_to_one
from edgewise.common.dtypes import Mask, Reals, Signs
from edgewise.data import MAX_BINS, BinnedTable
from edgewise.estimators.candidates import (
    Candidate,
    holds_out_queries,
    parse_objective,
    ranking_candidates,
)
from edgewise.estimators.constraints import check_monotonic_learner, find_directions
from edgewise.estimators.fitted import FittedRanker, HeldOutRecord
from edgewise.estimators.job import (
    DEFAULT_BINS,
    Job,
    ResolvedSettings,
    TrainingProblem,
)
from edgewise.estimators.judgments import MAX_GRADE, JudgedPairs, JudgedRows
from edgewise.estimators.rows import ValidationSet, check_column_kinds
from edgewise.learners import (
    NAMED_LEARNERS,
    Best,
    Goal,
    Learner,
    Stump,
    Tree,
    build_learner,
    resolve_learner,
)
from edgewise.metrics import Lists, ranking_metric
from edgewise.metrics.registry import metrics_by_name
from edgewise.objective import (
    Cumulative,
    Objective,
    Ranking,
    RankSettings,
    Top,
    TopSettings,
    edge_limit,
)
from edgewise.objective.feedback import Layout
from edgewise.search import Lazy, resolve_search

if TYPE_CHECKING:
    from edgewise.estimators.rank_boost import RankBoost, Ranker

LOST_METRIC = (
    "eval_metric is None: the model was saved with a function, which a file cannot hold; give one "
    "again with set_params(eval_metric=...)"
)

MIN_COLUMNS_TO_DRAW = 64
"""With fewer columns, all are searched even if a candidate would draw some of them."""

# Metrics of lists are uneven: any improvement counts, patience is long, and of values that are as
# good the latest round counts, since a few lucky queries make an early one the best.
_PATIENCE = 60
_STOPPING = StoppingRule(_PATIENCE, patience_fraction=0.5, keep_within=0.005)

_DEFAULT_ROUNDS, _BINS_OF_MANY_ROWS = 500, 1024

_SETTINGS = {
    "auto": {"pair_weight": "difference", "query_weight": "root", "monotonic_cst": "learn"},
    "paper": {"pair_weight": "equal", "query_weight": "pairs", "monotonic_cst": "none"},
}
"""What "auto" means with each preset; "paper" is WeakLearn.3 of Iyer 1999."""

_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "subsample": up_to_one,
    "missing": partial(one_of, choices=choices.RANK_MISSING),
    "objective": lambda _, objective: parse_objective(objective),
    "criterion": partial(one_of, choices=choices.RANK_CRITERIA),
    "preset": partial(one_of, choices=choices.PRESETS),
    "pair_weight": partial(one_of, choices=("auto", *choices.PAIR_WEIGHTS)),
    "query_weight": partial(one_of, choices=("auto", *choices.QUERY_WEIGHTS)),
    "eval_metric": lambda _, metric: metric == "auto" or metrics_by_name(metric, _check_metric),
}


# The settings that candidates differ in.
_COMPARED = ("learner", "objective", "learning_rate")


def check_parameters(model: "RankBoost", validates: bool) -> Learner | str:
    """Raise if a parameter is wrong; return the learner, or its name."""
    n_rounds = model.n_rounds
    if isinstance(n_rounds, str):
        one_of("n_rounds", n_rounds, ("auto",))
    elif n_rounds is not None:
        integer("n_rounds", n_rounds, 1)
    model._check_training(validates, _chooses_rounds(model))
    if model.eval_metric is None:
        raise ValueError(LOST_METRIC)
    for name, check in _CHECKS.items():
        check(name, getattr(model, name))
    learner = _check_learner(model)
    if model.step is not None:
        one_of("step", model.step, choices.RANK_STEPS)
    if model.learning_rate != "auto":
        up_to_one("learning_rate", model.learning_rate)
    if isinstance(model.monotonic_cst, str):
        one_of("monotonic_cst", model.monotonic_cst, ("auto", *choices.MONOTONIC))
    if parse_objective(model.objective)[0] != "pairs":
        _check_pair_settings(model)
    return learner


def _chooses_rounds(model: "RankBoost") -> bool:
    """Return whether held-out queries choose the number of rounds, if there are enough."""
    n_rounds = model.n_rounds
    return isinstance(n_rounds, str) or (n_rounds is None and model.preset == "auto")


def resolve_setting(model: "Ranker", name: str) -> Any:
    """Return a parameter, or what "auto" means for it with the preset."""
    value = getattr(model, name)
    is_decided = isinstance(value, str) and value == "auto" and name in _SETTINGS[model.preset]
    return _SETTINGS[model.preset][name] if is_decided else value


def _check_learner(model: "RankBoost") -> Learner | str:
    """Return the learner, or its name."""
    learner = model.learner
    if isinstance(learner, str):
        one_of("learner", learner, choices.RANK_LEARNERS)
        takes_values = learner == "feature"
    else:
        learner = resolve_learner(learner, names=choices.RANK_LEARNERS)
        takes_values = learner.uses_values
        if model.missing != "learn":
            raise ValueError(
                f"missing={model.missing!r} needs a learner given by name; set it in the learner, "
                "as in Stump(missing='low')"
            )
    if model.handle_infinite == "value" and takes_values:
        raise ValueError("handle_infinite must not be 'value' for learner='feature'")
    return learner


def _check_pair_settings(model: "RankBoost") -> None:
    """Raise unless the settings of objective='pairs' have their defaults."""
    for name, default in (("criterion", "edge"), ("step", None)):
        value = getattr(model, name)
        if value != default:
            raise ValueError(f"{name}={value!r} needs objective='pairs', got {model.objective!r}")


def _check_metric(name: Any) -> None:
    try:
        ranking_metric(name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"eval_metric={name!r}: {error}") from error


def ranking_problem(
    model: "RankBoost", learner: Learner | str, rows: JudgedRows | JudgedPairs
) -> TrainingProblem:
    """Return the rows, and the jobs of all candidates.

    After a warm start, the only candidate is the one that the earlier fit chose.
    """
    if not isinstance(rows, JudgedRows) and parse_objective(model.objective)[0] != "pairs":
        raise ValueError(
            f"objective={model.objective!r} needs grades: fit_pairs takes 'pairs' alone"
        )
    chooses_rounds = _chooses_rounds(model) and holds_out_queries(rows)
    eval_metric, why = model.eval_metric, "given"
    if isinstance(eval_metric, str) and eval_metric == "auto":
        eval_metric, why = metric_for(rows)
    candidates = ranking_candidates(model, learner, rows, eval_metric)
    is_compared = len(candidates) > 1
    if model.warm_start and model.__sklearn_is_fitted__():
        chosen = model.fitted_.candidate
        candidates = [c for c in candidates if c.name == chosen] or candidates[:1]

    def make_jobs(training: JudgedRows | JudgedPairs, seed: int) -> list[RankerJob]:
        size = training.partition.n_rows, training.table.n_columns
        jobs = []
        for candidate in candidates:
            settings = resolve_ranker(model, candidate, *size, seed, chooses_rounds)
            names = [name for name in _COMPARED if settings.reasons[name] != "given"]
            if is_compared:
                settings = settings.because_of("compared", *names)
            settings = settings.because_of(why, "eval_metric")
            metrics = metrics_by_name(eval_metric, _check_metric)
            jobs.append(RankerJob(model, training, settings, candidate, metrics, rows.has_queries))
        return jobs

    return TrainingProblem(rows, make_jobs, chooses_rounds)


def metric_for(rows: JudgedRows | JudgedPairs) -> tuple[str, str]:
    """Return the metric that decides for these grades, and why."""
    if not isinstance(rows, JudgedRows):
        return "map", "auto, without grades"
    lowest, highest = rows.grade_range
    if lowest < 0 < highest or (lowest == 0 and not rows.is_graded):
        return "map", "auto, negative grades" if lowest < 0 else "auto, two grades"
    if lowest >= 0 and highest <= MAX_GRADE:
        return "ndcg@10", "auto, more than two grades" if rows.is_graded else "auto, grades above 0"
    return "disagreement", f"auto, grades outside 0 to {MAX_GRADE}"


def resolve_ranker(
    model: "RankBoost",
    candidate: Candidate,
    n_rows: int,
    n_columns: int,
    seed: int,
    chooses_rounds: bool = False,
) -> ResolvedSettings[RankSettings | TopSettings]:
    """Return the settings of a ranker, as a candidate has them or as the user gave them."""
    learner, rate = candidate.learner, candidate.learning_rate
    metric, k = parse_objective(candidate.objective)
    subsample = float(model.subsample)
    if not isinstance(model.learning_rate, str):
        rate = float(model.learning_rate)
    search = resolve_search(model.search)
    is_default = isinstance(model.search, str) and model.search == "exhaustive"
    if candidate.column_fraction < 1 and n_columns >= MIN_COLUMNS_TO_DRAW and is_default:
        search = Lazy(round(candidate.column_fraction * n_columns), per_round=True)
    objective: RankSettings | TopSettings
    if metric == "pairs":
        step = model.step or ("bound" if model.criterion == "edge" else "exact")
        objective = RankSettings(model.criterion, step, rate, subsample, seed)
    else:
        objective = TopSettings(metric, k, rate, subsample, seed=seed)
    is_tree = learner == "tree" or isinstance(learner, Tree)
    few_bins = is_tree or (bool(candidate.name) and model.preset == "auto")
    max_bins = MAX_BINS if n_rows <= MAX_BINS else _BINS_OF_MANY_ROWS
    # Smaller steps need more rounds to go as far.
    more = max(1.0, candidate.learning_rate / rate)
    n_rounds, max_rounds = None, round(more * candidate.max_rounds)
    if not isinstance(model.n_rounds, str | None):
        n_rounds = max_rounds = int(model.n_rounds)
    elif not chooses_rounds:
        n_rounds = _DEFAULT_ROUNDS
    goal = Goal(ranking=True, missing=model.missing, newton=metric != "pairs", n_columns=n_columns)
    reasons = {
        name: model.preset if getattr(model, name) in ("auto", None) else "given"
        for name in ("objective", "learning_rate", "n_rounds")
    }
    is_auto = isinstance(model.learner, str) and model.learner == "auto"
    reasons["learner"] = model.preset if is_auto else "given"
    return ResolvedSettings(
        NAMED_LEARNERS[learner](Stump(), goal) if isinstance(learner, str) else learner,
        objective,
        search,
        model.max_bins or (DEFAULT_BINS if few_bins else max_bins),
        n_rounds,
        _STOPPING._replace(patience=round(more * _PATIENCE)),
        learner if isinstance(learner, str) else None,
        goal,
        max_rounds,
        reasons=reasons,
    ).with_bags(model.n_bags)


@dataclass(frozen=True, eq=False)
class RankerJob(Job[FittedRanker]):
    """The job of training a ranker."""

    rows: JudgedRows | JudgedPairs
    candidate: Candidate
    metrics: dict[str, Any]  # of validation queries, by name
    has_queries: bool  # whether all training rows have more than one

    history_fields = RANKER_FIELDS
    maximizes_functions = True

    @property
    def n_scores(self) -> int:
        return 1

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def layout(self) -> Layout | None:
        return self.rows.layout

    @property
    def eval_metrics(self) -> dict[str, Any]:
        return self.metrics

    def learner_for(self, binned: BinnedTable) -> Learner:
        learner = self._learner_for_kinds(binned)
        if learner.takes_values and len(binned.categorical.columns):
            column = binned.bins[binned.categorical.columns[0]].name
            raise ValueError(
                f"learner='feature' needs numeric columns, but {column!r} of X is categorical"
            )
        alternatives = learner.alternatives(binned)
        if len(alternatives) == 1:
            (learner,) = alternatives
        check_column_kinds(learner, binned)
        if self.model.criterion == "energy":
            if not learner.makes_cuts:
                raise ValueError(
                    "criterion='energy' needs learner='stump' and numeric columns only, got "
                    f"learner={learner!r}"
                )
            if getattr(learner, "missing", None) == "abstain":
                raise ValueError("criterion='energy' does not allow Stump(missing='abstain')")
        return learner

    def _learner_for_kinds(self, binned: BinnedTable) -> Learner:
        """Return the learner, with rules for the kinds of columns where it has a name."""
        learner, goal = self.candidate.learner, self.settings.goal
        if isinstance(learner, str):
            return build_learner(learner, binned, goal)
        is_named = isinstance(self.model.learner, str)
        if isinstance(learner, Tree) and is_named:
            base = build_learner("tree", binned, goal)
            assert isinstance(base, Tree)
            return clone(learner).set_params(base=base.base)
        if isinstance(learner, Best) and is_named:
            return Best([build_learner(name, binned, goal) for name in learner.learners])
        return learner

    def directions(self, binned: BinnedTable, n_features: int) -> Signs | None:
        directions, _ = self._find_directions(binned)
        if not directions.any():
            return None
        check_monotonic_learner(self.model.monotonic_cst, self.settings.learner)
        return None if self._accumulates(binned) else directions

    def _find_directions(self, binned: BinnedTable) -> tuple[Signs, Mask]:
        """Return the direction of each column, and which of the others learn theirs."""
        monotonic = resolve_setting(self.model, "monotonic_cst")
        return find_directions(monotonic, binned, binned.n_columns, choices.MONOTONIC)

    def _accumulates(self, binned: BinnedTable) -> bool:
        """Return whether the cumulative weights of thresholds have directions, not every rule.

        Rules of one column allow it: a later one may take back a part of an earlier one.
        """
        alternatives = self.settings.learner.alternatives(binned)
        single = all(x.allows_monotonic_cst and x.makes_tests for x in alternatives)
        return single and isinstance(self.settings.objective, RankSettings)

    def objective(self, backend: Backend) -> Objective:
        settings, rows = self.settings.objective, self.rows
        constraints = self.settings.column_constraints
        needs_mass = self.settings.learner.needs_mass
        if isinstance(settings, TopSettings):
            assert isinstance(rows, JudgedRows)
            return Top(backend, rows.lists(settings), settings, needs_mass, constraints)
        feedback = rows.feedback(backend, resolve_setting(self.model, "query_weight"))
        cumulative = self._cumulative(backend.table)
        return Ranking(
            backend, feedback, settings, cumulative, needs_mass, column_constraints=constraints
        )

    def _cumulative(self, table: BinnedTable) -> Cumulative | None:
        """Return the constraints on cumulative weights, if any."""
        directions, learn = self._find_directions(table)
        if not self._accumulates(table) or not (learn.any() or directions.any()):
            return None
        limit = partial(edge_limit, learning_rate=self.settings.objective.learning_rate)
        return Cumulative(table, directions, learn, limit)

    def make_record(self, **common: Any) -> FittedRanker:
        return FittedRanker(
            has_queries=self.has_queries,
            objective=self.candidate.objective,
            candidate=self.name,
            reasons=dict(self.settings.reasons),
            **common,
        )

    def held_out_losses(
        self, scored: Sequence[tuple[ValidationSet, Reals]], record: HeldOutRecord
    ) -> Reals | None:
        if callable(self.eval_metric) or not scored:
            return None
        metric = ranking_metric(self.eval_metric).function
        values = [
            metric(validation.targets, scores[:, 0], per_query=True)
            for validation, scores in scored
        ]
        losses: Reals = np.concatenate(values)
        return -losses if self.larger_is_better else losses

    def monitor(self, validation: ValidationSet, chooses: bool = False) -> Monitor:
        lists, eval_metric = validation.targets, self.eval_metric
        if not callable(eval_metric):
            grades = lists.grades
            if measure(eval_metric, lists, grades) == measure(eval_metric, lists, -grades):
                raise ValueError(
                    f"eval_metric={eval_metric!r} is the same for every order of the validation "
                    "documents, in which relevant means a grade above 0: use 'ndcg' or "
                    "'disagreement', or other grades"
                )
        metrics = {name: _measure_of(metric, lists) for name, metric in self.eval_metrics.items()}
        return Monitor(validation.rows, metrics, 1, self.larger_is_better)


def _measure_of(eval_metric: Any, lists: Lists) -> Metric:
    """Return a metric of some lists as a function of scores of shape (n, 1)."""
    return lambda scores: measure(eval_metric, lists, scores[:, 0])


def measure(eval_metric: Any, lists: Lists, scores: Reals) -> float:
    """Return a metric, by its name or a function of grades, scores and query ids."""
    if callable(eval_metric):
        return float(eval_metric(lists.grades, scores, lists.queries[lists.row_query]))
    return float(ranking_metric(eval_metric)(lists, scores))
