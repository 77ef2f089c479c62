"""Rankers: parameters and their defaults, the jobs, monotonic columns, validation metrics."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from edgewise.backend.base import Backend
from edgewise.boosting import RANKER_FIELDS, Metric, Monitor, StoppingRule
from edgewise.common import choices
from edgewise.common.checks import integer, one_of, up_to_one
from edgewise.common.dtypes import Reals, Signs
from edgewise.data import MAX_BINS, BinnedTable, Categories
from edgewise.estimators.candidates import (
    Candidate,
    parse_objective,
    ranking_candidates,
)
from edgewise.estimators.fitted import FittedRanker
from edgewise.estimators.job import DEFAULT_BINS, Job, ResolvedSettings, TrainingProblem
from edgewise.estimators.judgments import JudgedPairs, JudgedRows
from edgewise.estimators.rows import ValidationSet, check_column_kinds
from edgewise.learners import (
    NAMED_LEARNERS,
    Best,
    Goal,
    Learner,
    Stump,
    Tree,
    preset_for,
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
    from edgewise.estimators.rank_boost import RankBoost

LOST_METRIC = (
    "eval_metric is None: the model was saved with a function, which a file cannot hold; give one "
    "again with set_params(eval_metric=...)"
)

# Two good rankers differ in a query by about this, in metrics from 0 to 1: their means over the
# queries by this over the root of their number. Smaller differences may be chance.
_DIFFERENCE = 0.07

MIN_COLUMNS_TO_DRAW = 64
"""With fewer columns, all are searched even if a candidate would draw some of them."""

# Metrics of lists are uneven: any improvement counts, and patience is long.
_STOPPING = StoppingRule(60, patience_fraction=0.5)

_DEFAULT_ROUNDS, _BINS_OF_MANY_ROWS = 500, 1024

_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "subsample": up_to_one,
    "missing": partial(one_of, choices=choices.RANK_MISSING),
    "objective": lambda _, objective: parse_objective(objective),
    "criterion": partial(one_of, choices=choices.RANK_CRITERIA),
    "pair_weight": partial(one_of, choices=choices.PAIR_WEIGHTS),
    "query_weight": partial(one_of, choices=choices.QUERY_WEIGHTS),
    "eval_metric": lambda _, metric: metrics_by_name(metric, _check_metric),
}


def check_parameters(model: "RankBoost", validates: bool) -> Learner | str:
    """Raise if a parameter is wrong; return the learner, or its name."""
    learner, n_rounds = model.learner, model.n_rounds
    chooses = isinstance(n_rounds, str) and isinstance(learner, str) and learner == "auto"
    if isinstance(n_rounds, str):
        one_of("n_rounds", n_rounds, ("auto",))
    else:
        integer("n_rounds", n_rounds, 1)
    model._check_training(validates, chooses)
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
        one_of("monotonic_cst", model.monotonic_cst, choices.MONOTONIC)
    ranks_pairs = parse_objective(model.objective)[0] == "pairs"
    if not ranks_pairs:
        _check_pair_settings(model)
    if learner == "auto" and not chooses:
        # Nothing is compared where the rounds are given.
        return "stump" if ranks_pairs else "tree"
    return learner


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
    for name, default in (("criterion", "edge"), ("step", None), ("monotonic_cst", "learn")):
        value = getattr(model, name)
        # Comparing a mapping or an array with a string needs no more than its type.
        if not (value is default or (isinstance(value, str) and value == default)):
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
    compared: tuple[Candidate, ...] = ()
    if learner == "auto":
        compared, learner = ranking_candidates(model, rows), "stump"
        if model.warm_start and model.__sklearn_is_fitted__():
            chosen = model.fitted_.candidate
            compared = tuple(c for c in compared if c.name == chosen) or compared
    objective = "pairs" if model.objective == "auto" else model.objective
    ranks_pairs = parse_objective(objective)[0] == "pairs"
    if not ranks_pairs and not isinstance(rows, JudgedRows):
        raise ValueError(f"objective={objective!r} needs grades: fit_pairs takes 'pairs' alone")
    candidates = compared or (Candidate("", learner, objective, 0.2 if ranks_pairs else 0.1),)

    def make_jobs(training: JudgedRows | JudgedPairs, seed: int) -> list[RankerJob]:
        size = training.partition.n_rows, training.table.n_columns
        settings = [resolve_ranker(model, candidate, *size, seed) for candidate in candidates]
        return [
            RankerJob(model, training, *resolved, rows.has_queries)
            for resolved in zip(settings, candidates, strict=True)
        ]

    return TrainingProblem(rows, make_jobs, bool(compared))


def resolve_ranker(
    model: "RankBoost", candidate: Candidate, n_rows: int, n_columns: int, seed: int
) -> ResolvedSettings[RankSettings | TopSettings]:
    """Return the settings of a ranker, as a candidate has them or as the user gave them."""
    learner, is_candidate = candidate.learner, bool(candidate.name)
    metric, k = parse_objective(candidate.objective)
    rate, subsample = candidate.learning_rate, float(model.subsample)
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
    few_bins = learner == "tree" or isinstance(learner, Tree)
    few_bins = few_bins or (is_candidate and learner == "feature")
    max_bins = MAX_BINS if n_rows <= MAX_BINS else _BINS_OF_MANY_ROWS
    n_rounds = _DEFAULT_ROUNDS if isinstance(model.n_rounds, str) else model.n_rounds
    goal = Goal(ranking=True, missing=model.missing, newton=metric != "pairs")
    return ResolvedSettings(
        NAMED_LEARNERS[learner](Stump(), goal).learner if isinstance(learner, str) else learner,
        objective,
        search,
        model.max_bins or (DEFAULT_BINS if few_bins else max_bins),
        None if is_candidate else n_rounds,
        _STOPPING,
        learner if isinstance(learner, str) else None,
        goal,
        candidate.max_rounds,
    )


@dataclass(frozen=True, eq=False)
class RankerJob(Job[FittedRanker]):
    """The job of training a ranker."""

    rows: JudgedRows | JudgedPairs
    candidate: Candidate
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
    def min_gain(self) -> float:
        if not isinstance(self.rows, JudgedRows) or callable(self.eval_metric):
            return 0.0
        return _DIFFERENCE / math.sqrt(max(self.rows.queries.n_rows, 1))

    @property
    def eval_metrics(self) -> dict[str, Any]:
        return metrics_by_name(self.model.eval_metric, _check_metric)

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
            return preset_for(learner, binned, goal).learner
        if isinstance(learner, Tree) and self.name:
            base = preset_for("tree", binned, goal).learner
            assert isinstance(base, Tree)
            return clone(learner).set_params(base=base.base)
        if isinstance(learner, Best) and self.name:
            return Best([preset_for(name, binned, goal).learner for name in learner.learners])
        return learner

    def objective(self, backend: Backend) -> Objective:
        settings, rows = self.settings.objective, self.rows
        learner = self.settings.learner
        if isinstance(settings, TopSettings):
            assert isinstance(rows, JudgedRows)
            return Top(backend, rows.lists(settings), settings, learner.needs_mass)
        feedback = rows.feedback(backend, self.model.query_weight)
        cumulative = self._cumulative(learner, backend.table)
        return Ranking(backend, feedback, settings, cumulative, learner.needs_mass)

    def _cumulative(self, learner: Learner, table: BinnedTable) -> Cumulative | None:
        """Return the constraints that keep contributions of columns monotonic, if any."""
        monotonic = self.model.monotonic_cst
        directions, learn = _directions(monotonic, table)
        if not learn.any() and not directions.any():
            return None
        if all(x.allows_monotonic_cst for x in learner.alternatives(table)):
            limit = partial(edge_limit, learning_rate=self.settings.objective.learning_rate)
            return Cumulative(table, directions, learn, limit)
        if isinstance(monotonic, str) and monotonic == "learn":
            return None
        raise ValueError(
            f"monotonic_cst={monotonic!r} needs rules that are thresholds, learner='stump'; got "
            f"learner={learner!r}"
        )

    def make_record(self, **common: Any) -> FittedRanker:
        return FittedRanker(
            has_queries=self.has_queries,
            objective=self.candidate.objective,
            candidate=self.name,
            **common,
        )

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


def _directions(monotonic_cst: Any, table: BinnedTable) -> tuple[Signs, NDArray[np.bool_]]:
    """Return the direction of each column, and which of the others learn theirs."""
    names = [b.name for b in table.bins]
    directions, learn = np.zeros(len(names), dtype=np.int8), np.zeros(len(names), dtype=bool)
    if isinstance(monotonic_cst, str):
        directions[:], learn[:] = monotonic_cst == "increasing", monotonic_cst == "learn"
        return directions, learn
    if isinstance(monotonic_cst, Mapping):
        unknown = [name for name in monotonic_cst if name not in names]
        if unknown:
            raise ValueError(f"monotonic_cst: X does not have the column {unknown[0]!r}")
        learn = np.array([name not in monotonic_cst for name in names])
        values = np.array([monotonic_cst.get(name, 0) for name in names])
    else:
        values = np.asarray(monotonic_cst)
    if values.shape != directions.shape or not np.isin(values, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst must be one of {', '.join(map(repr, choices.MONOTONIC))}, or -1, 0 or "
            f"1 for each of the {len(names)} columns, got {monotonic_cst!r}"
        )
    for b, value in zip(table.bins, values, strict=True):
        if value and isinstance(b, Categories):
            raise ValueError(f"monotonic_cst: the column {b.name!r} is categorical")
    return values.astype(np.int8), learn
