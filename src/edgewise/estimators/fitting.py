"""The one sequence in which every estimator trains."""

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from edgewise.backend.base import Backend
from edgewise.backend.choose import backend_for, record_kernels_compiled
from edgewise.boosting import (
    Callback,
    Checkpoint,
    EarlyStopping,
    History,
    Monitor,
    ProgressBar,
    StoppingRule,
    Task,
    TermList,
    TimeLimit,
    TrainingRun,
    boost,
    boost_together,
    check_callbacks,
    evaluation,
)
from edgewise.common import checks
from edgewise.common.dtypes import Exacts, Reals, Rows
from edgewise.common.threads import n_threads
from edgewise.data import (
    BinnedTable,
    Categories,
    Table,
    as_table,
    categories_of,
    encode,
    fit_encode,
)
from edgewise.data.filters import Filters
from edgewise.data.part import select_rows
from edgewise.estimators.fitted import Fitted, HeldOutRecord
from edgewise.estimators.pace import Pace
from edgewise.learners import Learner
from edgewise.model import Terms
from edgewise.model.scorer import check_n_features
from edgewise.objective import Objective
from edgewise.objective.lists import Layout
from edgewise.search import Exhaustive, Search

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH
    from edgewise.estimators.base import BoostedModel
    from edgewise.estimators.rank_boost import RankBoost

    Model: TypeAlias = AdaBoostMH | RankBoost

S = TypeVar("S")
T = TypeVar("T")
F = TypeVar("F", bound=Fitted)


MOST_ROUNDS = 2000
"""The most rounds that held-out rows choose from."""


STOPPING = StoppingRule(30, patience_fraction=0.1, min_delta_rel=0.005, min_delta=1e-4)
"""When held-out rows look no further."""

ONE_SET = "validation"
"""The name of validation rows that have no other."""

EVAL_SET = "eval_set"
"""The source of validation rows that the user gave."""

# Rounds that measure how long one takes.
_PROBE_ROUNDS = 4

# What another process trains for the sake of compiling, and holds out half of.
_ROWS_REHEARSED, _ROUNDS_REHEARSED = 512, 3

# Rounds where no row can be held out; and the usual number, by which kernels are chosen.
ROUNDS_UNCHOSEN, USUAL_ROUNDS = 50, 100


class HeldOut(NamedTuple):
    """Validation rows: features, and targets as the problem's metric takes them.

    Rows that the user set aside count equally, whatever their weights.
    """

    table: Table
    targets: Any
    weights: Reals | None = None


class EvalSet(NamedTuple):
    """A set of validation rows as the user gave it, its name, and what errors call it."""

    name: str
    given: Any
    argument: str = "eval_set"


def named_sets(eval_set: Any, eval_names: Any) -> list[EvalSet]:
    """Return the sets of validation rows: one, or a list of them, with or without names."""
    if eval_set is None:
        if eval_names is not None:
            raise ValueError("eval_names are for eval_set, which is None")
        return []
    listed = eval_set if isinstance(eval_set, list) else [eval_set]
    if not listed:
        raise ValueError("eval_set is an empty list: give at least one tuple, or None")
    numbered = [f"{ONE_SET}_{i}" for i in range(len(listed))]
    names = [ONE_SET] if len(listed) == 1 else numbered
    if eval_names is not None:
        names = list(eval_names) if isinstance(eval_names, (list, tuple)) else []
        if len(names) != len(listed) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(
                f"eval_names must be a list of {len(listed)} strings, one for each eval_set, got "
                f"{eval_names!r}"
            )
        if len({*names}) != len(names):
            raise ValueError(f"eval_names must differ from each other, got {eval_names!r}")
    if len(listed) == 1:
        return [EvalSet(names[0], listed[0])]
    return [
        EvalSet(name, given, f"eval_set[{i}]")
        for i, (name, given) in enumerate(zip(names, listed, strict=True))
    ]


class Validation(NamedTuple):
    """Validation rows, in the bins of the training rows, and where they are from."""

    held_out: HeldOut
    binned: BinnedTable
    source: str
    name: str = ONE_SET
    others: tuple["Validation", ...] = ()  # which are only recorded


class Fold(NamedTuple):
    """The rows outside a fold, as a problem and by number, and the rows in it."""

    problem: "TrainingProblem[Any, Any]"
    rows: Rows
    held_out: HeldOut
    aside: Rows


class FitPlan(NamedTuple, Generic[S]):
    """The learner to train with, and the settings of the objective."""

    learner: Learner
    settings: S


class TrainingProblem(ABC, Generic[S, F]):
    """The differences of classification and ranking: targets, objective, metric, learners."""

    model: Any
    table: Table
    learner: Learner | str  # the user's, or the name of one
    n_scores: int
    fields: tuple[str, ...]  # what the history records
    max_bins: int
    least_share: float = 0.0  # of the weight, on each side of a threshold
    search: Search
    looks_at_all_rows: bool  # in every round
    layout: Layout | None = None  # of graded documents
    by_energy: bool = False  # whether rankings are compared by their exact energy
    name: str = ""  # of a way to train, where there are several
    larger_is_better: bool = False  # of the metric that decides
    margin: float = 0.0  # by which a way to train must be better than the first
    factorized: bool = True  # whether all score columns share a rule
    eval_metrics: dict[str, Any]  # names or functions, of which the first decides
    estimates_probabilities: bool = False
    n_rounds: int | None  # None: as many as are best on held-out rows
    share_aside: float | None = None  # of the rows, where one part chooses the rounds without refit
    hurries: bool = True  # whether a time limit changes what is trained
    most_rounds: int = MOST_ROUNDS  # that held-out rows choose from
    stopping: StoppingRule = STOPPING  # when held-out rows look no further

    @abstractmethod
    def split(self, fraction: float, seed: int) -> tuple[Self, HeldOut]:
        """Set a random share of the rows, class by class, or of the queries aside."""

    @abstractmethod
    def read_held_out(self, eval_set: EvalSet) -> HeldOut:
        """Return validation rows that the user gave."""

    @property
    def eval_metric(self) -> Any:
        """The metric that decides, a name or a function."""
        return next(iter(self.eval_metrics.values()))

    @abstractmethod
    def mass(self) -> Exacts | None:
        """Return the rows' weights for binning, in fixed point."""

    @abstractmethod
    def plan(self, binned: BinnedTable, seed: int) -> FitPlan[S]:
        """Return the learner and the settings of the objective, names and "auto" resolved."""

    @abstractmethod
    def objective(self, backend: Backend, plan: FitPlan[S]) -> Objective:
        """Return the objective of the training rows."""

    @abstractmethod
    def monitor(self, held_out: HeldOut, binned: BinnedTable, plan: FitPlan[S]) -> Monitor:
        """Return the monitor of the validation rows."""

    def rivals(self, before: Fitted | None) -> list[Self]:
        """Return the ways to train of which held-out rows choose, of an earlier fit its choice."""
        return [self]

    def value_of(
        self, monitors: Sequence[Monitor], held_out: Sequence[HeldOut], plan: FitPlan[S]
    ) -> Callable[[], float]:
        """Return a function that gives the metric of all held-out rows, to choose the rounds by."""
        return lambda: sum(monitor.value() for monitor in monitors) / len(monitors)

    def folds(self, seed: int, one_part: bool = False) -> list[Fold]:
        """Return the folds that choose the number of rounds; none where rows are too few."""
        raise NotImplementedError

    def readable(self, limit: float, seed: int) -> Self:
        """Return the problem of rows that can be read and binned well within a time limit."""
        raise NotImplementedError

    def pace(self, n_rounds: float, cost: float, plan: FitPlan[S]) -> Pace:
        """Return the pace of a fit that has time for a number of rounds."""
        raise NotImplementedError

    def coarse(self, plan: FitPlan[S]) -> tuple[int, FitPlan[S]]:
        """Return how many rounds one of the folds is, and their plan."""
        return 1, plan

    def hurried(self, pace: Pace, plan: FitPlan[S]) -> tuple[Self, Rows | None, FitPlan[S]]:
        """Return the problem of fewer rows, their numbers (None: all), and the plan of a pace."""
        raise NotImplementedError

    def held_out_record(
        self, parts: Sequence[tuple[HeldOut, Reals]], plan: FitPlan[S], **known: Any
    ) -> HeldOutRecord:
        """Return what held-out rows say, given their scores of shape (K, n).

        The temperature is fitted unless it is `known`.
        """
        raise NotImplementedError

    @abstractmethod
    def fitted(self, plan: FitPlan[S], **common: Any) -> F:
        """Return the record of a model, given the fields that all models share."""


def fit(
    model: "Model",
    X: Any,
    read: Callable[[Table], TrainingProblem[Any, F]],
    eval_sets: Sequence[EvalSet] = (),
    owner: "BoostedModel | None" = None,
) -> F:
    """Train a model and return its record.

    `read` makes a problem of the table. The last of `eval_sets` decides. Checkpoints save `owner`,
    or the model itself.
    """
    started = time.perf_counter()
    before = model.fitted_ if model.warm_start and model.__sklearn_is_fitted__() else None
    table, columns = _read_columns(model, X, before)
    problem = read(table)
    # A warm start sets the same rows aside and draws the same columns as the first fit.
    partition = table.partition
    seed = checks.seed(model.random_state) if before is None else before.seed
    seed = partition.collective.broadcast(seed)
    limit = _time_limit(model)
    hurries = limit < math.inf and problem.hurries and problem.n_rounds is None and before is None
    if hurries and not isinstance(X, BinnedTable):
        problem = problem.readable(limit, seed)
    problem, held_out, source = _hold_out(model, problem, eval_sets, seed)
    rivals = problem.rivals(before)
    problem = rivals[0]
    filters, n_jobs = _filters(problem.learner), n_threads(model.n_jobs)
    binned = _binned(X, table, problem, filters, n_jobs)
    plan = problem.plan(binned, seed)
    columns |= {"categories": categories_of(binned.bins), "filters": filters, "seed": seed}
    columns["history"] = History(problem.fields + _evaluations(problem, held_out))
    run = Prepared(model, problem, binned, plan, _first(problem, plan, columns), started, limit)
    validation = None
    for name, aside in held_out.items():
        assert binned.raw_rows is not None
        rows = encode(aside.table, binned.bins, filters=binned.raw_rows.filters)
        others = () if validation is None else (*validation.others, validation)
        validation = Validation(aside, rows, source, name, others)
    if hurries:
        run, validation = _within_time(run, limit, validation, columns)
    start = run.first
    if before is not None:
        start = _go_on(model, start, before, problem.n_rounds)
    runs = [run, *(_rival(run, rival, columns) for rival in rivals[1:])]
    if validation is not None:
        starts = [start, *(one.first for one in runs[1:])]
        tried: list[F] = [
            _train_watched(one, own, validation, owner or model)
            for one, own in zip(runs, starts, strict=True)
        ]
        return _best(tried, [one.best_validation for one in tried], problem)
    if problem.n_rounds is not None:
        return _train(run, replace(start, held_out=None), problem.n_rounds, owner or model)
    choice, stop_reason = start.held_out, "n_rounds"
    if choice is None or not choice.chosen:
        saved: BoostedModel[Any] = owner or model
        for callback in check_callbacks(model.callbacks):
            if isinstance(callback, Checkpoint) and partition.is_root:
                callback.check(saved._with(start).save)
        chosen = [partition.collective.broadcast(_choose_rounds(one)) for one in runs]
        values = [record.best for record, _ in chosen]
        run, (choice, stop_reason) = _best(list(zip(runs, chosen, strict=True)), values, problem)
        start = start if run is runs[0] else run.first
        choice = replace(choice, rivals=_compared(runs, values))
    start, n_rounds = replace(start, held_out=choice), max(choice.n_rounds, len(start.terms))

    def finish(fitted: F, ended: TrainingRun) -> F:
        if stop_reason in ("interrupted", "time limit") and fitted.stop_reason == "n_rounds":
            return replace(fitted, stop_reason=stop_reason)
        return fitted

    return _train(run, start, n_rounds, owner or model, finish=finish)


def _rival(
    run: "Prepared[S, F]", problem: TrainingProblem[S, F], columns: dict[str, Any]
) -> "Prepared[S, F]":
    """Return the same for another way to train."""
    plan = problem.plan(run.binned, run.first.seed)
    fresh = {**columns, "history": History(run.first.history.fields)}
    return run._replace(problem=problem, plan=plan, first=_first(problem, plan, fresh))


def _best(found: list[T], values: list[float], problem: TrainingProblem[Any, Any]) -> T:
    """Return what has the best value of the validation metric.

    That is the first, unless another is better by more than chance.
    """
    sign = 1.0 if problem.larger_is_better else -1.0
    gains = [sign * (value - values[0]) for value in values]
    best = max(range(len(found)), key=gains.__getitem__)
    return found[best] if gains[best] > problem.margin else found[0]


def _compared(runs: "list[Prepared[S, F]]", values: list[float]) -> dict[str, float]:
    """Return the values of the ways to train, by their names; nothing of a single one."""
    return {one.problem.name: v for one, v in zip(runs, values, strict=True)} if runs[1:] else {}


class Prepared(NamedTuple, Generic[S, F]):
    """All that is settled before the first round."""

    model: "Model"
    problem: TrainingProblem[S, F]
    binned: BinnedTable
    plan: FitPlan[S]
    first: F  # the model of no rounds
    started: float
    limit: float  # the seconds from then on after which training is to stop

    @contextmanager
    def task(self, watched: dict[str, Monitor], start: F, n_rounds: int) -> Iterator[Task]:
        """Give the task of a run, and close its backend afterwards."""
        model, problem, binned, plan = self[:4]
        work, n_jobs = n_rounds * plan.learner.cost, n_threads(model.n_jobs)
        search = problem.search
        backend = backend_for(
            binned,
            problem.n_scores,
            work,
            n_jobs,
            problem.layout,
            problem.by_energy,
            (plan.learner, plan.settings, search),
            partial(_rehearsal, self),
            getattr(model, "device", "cpu"),
        )
        for monitor in watched.values():
            monitor.backend = backend
        with ExitStack() as stack:
            stack.callback(backend.close)
            objective = problem.objective(backend, plan)
            # Rounds may be handed over to another.
            stack.callback(lambda: objective.backend.close())
            learner = _ready(plan.learner, binned, search, start)
            fallback = None
            if not (isinstance(search, Exhaustive) and problem.looks_at_all_rows):
                fallback = cache(partial(plan.learner.ready, binned, Exhaustive(), start.seed))
            yield Task(binned, objective, learner, fallback, watched)
            record_kernels_compiled(objective.backend)

    def of(self, fold: Fold) -> "Prepared[S, F]":
        """Return the same for the rows outside a fold, in the same bins."""
        return self._replace(problem=fold.problem, binned=self.rows(fold.rows))

    def rows(self, rows: Rows) -> BinnedTable:
        """Return some of the binned rows; values and responses of image filters are read again."""
        aligned = self.binned.raw_rows
        takes_values = any(part.takes_values for part in self.plan.learner.simple_parts())
        if aligned is None or (aligned.filters is None and not takes_values):
            return select_rows(self.binned, rows)
        return encode(
            aligned.table.take(rows.astype(np.intp)), self.binned.bins, filters=aligned.filters
        )


def _rehearsal(run: Prepared[Any, Any]) -> tuple[Any, ...]:
    """Return a few rounds on a few rows in the same bins, which need the same kernels."""
    model, problem = copy(run.model), copy(run.problem)
    model.callbacks, model.verbose, model.time_limit = None, 0, None
    problem.model = model
    seed, n_rows = run.first.seed, run.binned.n_rows
    small, _ = problem.split(1.0 - min(_ROWS_REHEARSED / n_rows, 0.5), seed)
    small, held_out = small.split(0.5, seed)
    small.n_rounds = _ROUNDS_REHEARSED
    aligned = run.binned.raw_rows
    filters = None if aligned is None else aligned.filters
    storage = "auto" if len(run.binned.sparse.columns) else "dense"

    def coded(table: Table) -> BinnedTable:
        binned = encode(table, run.binned.bins, storage, filters)
        codes = binned.dense.codes.astype(run.binned.dense.codes.dtype)
        return replace(binned, dense=replace(binned.dense, codes=codes))

    few = run._replace(model=model, problem=small, binned=coded(small.table), limit=math.inf)
    validation = Validation(held_out, coded(held_out.table), EVAL_SET)
    return _train_watched, few, run.first, validation, model


def _choose_rounds(run: Prepared[S, F]) -> tuple[HeldOutRecord, str]:
    """Return for how many rounds the folds improved, and what ended the search.

    The folds are trained side by side.
    """
    folds = run.problem.folds(run.first.seed)
    if not folds:
        return HeldOutRecord("too few rows", ROUNDS_UNCHOSEN), "n_rounds"
    n_rows, n_trained = run.binned.partition.n_rows, sum(len(fold.rows) for fold in folds)
    source, (stride, plan) = _source(folds, n_rows), _coarse(run)
    run = run._replace(plan=plan)
    with ExitStack() as stack:
        held_out = [fold.held_out for fold in folds]
        monitors = [run.problem.monitor(f.held_out, run.rows(f.aside), run.plan) for f in folds]
        expected = len(folds) * USUAL_ROUNDS // stride
        tasks = [
            stack.enter_context(run.of(fold).task({ONE_SET: monitor}, run.first, expected))
            for fold, monitor in zip(folds, monitors, strict=True)
        ]
        kept = _KeptScores(monitors)
        chooses = TrainingRun(
            run.problem.most_rounds // stride,
            History(("validation",)),
            lambda path: None,
            validates=True,
            started=run.started,
            larger_is_better=monitors[0].larger_is_better,
            stage=f"choosing rounds on {source}",
        )
        # The refit takes time in proportion to its rows and rounds.
        share = n_trained / (n_trained + stride * n_rows)
        value = run.problem.value_of(monitors, held_out, run.plan)
        boost_together(tasks, value, chooses, [*_callbacks(run, True, share, stride), kept])
    record = run.problem.held_out_record(
        list(zip(held_out, kept.after(chooses), strict=False)),
        run.plan,
        source=source,
        n_rounds=stride * (chooses.best_round or 1),
        values=chooses.history["validation"],
        stride=stride,
    )
    return record, chooses.stop_reason


def _coarse(run: Prepared[S, F]) -> tuple[int, FitPlan[S]]:
    """Return how many rounds one of the folds is, and their plan.

    The user's own early stopping counts single rounds.
    """
    if run.model.early_stopping_rounds is not None or _own_stopping(run.model):
        return 1, run.plan
    return run.problem.coarse(run.plan)


def _within_time(
    run: Prepared[S, F], limit: float, validation: Validation | None, columns: dict[str, Any]
) -> tuple[Prepared[S, F], Validation | None]:
    """Return what to train so that the rounds can be chosen within the time limit.

    The usual; or, where time is short, a part of the rows that the rest validates, without a refit,
    and in larger steps. Some time is left to train in whatever reading and binning took.
    """
    folds = [] if validation else run.problem.folds(run.first.seed)
    if not (validation or folds):
        return run, None
    seconds = run.binned.partition.collective.broadcast(_seconds_per_round(run, limit))
    elapsed = time.perf_counter() - run.started
    elapsed = run.binned.partition.collective.broadcast(elapsed)
    run = run._replace(limit=max(limit, elapsed + 0.1 * limit))
    # Setting up and validating take time, too.
    cost = 1.0
    if not validation:
        stride, _ = _coarse(run)
        cost += sum(len(fold.rows) for fold in folds) / (stride * run.binned.partition.n_rows)
    pace = run.problem.pace(0.8 * (run.limit - elapsed) / seconds, cost, run.plan)
    if pace == Pace():
        return run, validation
    if validation is None:
        (fold,) = run.problem.folds(run.first.seed, one_part=True)
        aside = run.rows(fold.aside)
        source = _share(aside.partition.n_rows / run.binned.partition.n_rows)
        run, validation = run.of(fold), Validation(fold.held_out, aside, source)
    problem, rows, plan = run.problem.hurried(pace, run.plan)
    binned = run.binned if rows is None else run.rows(rows)
    first = _first(problem, plan, columns)
    return run._replace(problem=problem, binned=binned, plan=plan, first=first), validation


def _seconds_per_round(run: Prepared[S, F], limit: float) -> float:
    """Return the time of a round, from a few that take at most about a tenth of what is left."""
    probe = TrainingRun(_PROBE_ROUNDS, History(run.problem.fields), lambda path: None)
    ends = _RoundTimes(run.started + limit)
    with run.task({}, run.first, USUAL_ROUNDS) as task:
        boost(task, TermList(run.first.terms), probe, [ends])
    if probe.stop_reason == "interrupted":
        raise KeyboardInterrupt
    # The first round may be a constant, and compile; several rounds may end at once.
    times = ends.times[1:]
    return max((times[-1] - times[0]) / (len(times) - 1), 1e-9) if len(times) > 1 else 1e-9


class _RoundTimes(Callback):
    """Keeps the times at which rounds end, while they take a tenth of the time to a deadline."""

    def __init__(self, deadline: float) -> None:
        self.times = [time.perf_counter()]
        self._last = 0.9 * self.times[0] + 0.1 * deadline

    def on_round(self, run: TrainingRun) -> str | None:
        self.times.append(time.perf_counter())
        late = len(self.times) > 2 and self.times[-1] > self._last
        return "time limit" if late else None


def _train_watched(
    run: Prepared[S, F], start: F, validation: Validation, owner: "BoostedModel"
) -> F:
    """Train while watching validation rows, and record what they say.

    An `eval_set` may hold training rows, and fits no temperature.
    """
    held_out, source = validation.held_out, validation.source
    watched = {
        one.name: run.problem.monitor(one.held_out, one.binned, run.plan)
        for one in (*validation.others, validation)
    }
    monitor = watched[validation.name]
    probabilities = run.problem.estimates_probabilities
    chooses = run.problem.n_rounds is None and source != EVAL_SET
    if chooses and probabilities and run.problem.eval_metric == "log_loss":
        value = run.problem.value_of([monitor], [held_out], run.plan)
        monitor._metrics["log_loss"] = lambda scores: value()
    kept = _KeptScores([monitor])

    def finish(fitted: F, ended: TrainingRun) -> F:
        scores = kept.after(ended)
        if not scores or (run.problem.n_rounds and not probabilities):
            return fitted
        known = {"temperature": 1.0} if source == EVAL_SET else {}
        record = run.problem.held_out_record(
            [(held_out, scores[0])],
            run.plan,
            source=source,
            n_rounds=len(fitted.terms),
            chosen=ended.best_round is not None,
            values=fitted.history["validation"],
            **known,
        )
        return replace(fitted, held_out=record)

    n_rounds = run.problem.n_rounds or run.problem.most_rounds
    return _train(run, start, n_rounds, owner, watched, kept, finish)


class _KeptScores(Callback):
    """Keeps the scores of validation rows after the best round."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        self.monitors = monitors
        self._scores: list[Reals] = []

    def on_round(self, run: TrainingRun) -> str | None:
        if run.best_round == run.history.n_rounds:
            self._scores = [monitor.all_scores().copy() for monitor in self.monitors]
        return None

    def after(self, run: TrainingRun) -> list[Reals]:
        """Return the scores after the best round, or after the last where none is the best."""
        if run.best_round is None:
            return [monitor.all_scores() for monitor in self.monitors]
        return self._scores


def _read_columns(model: "Model", X: Any, before: Fitted | None) -> tuple[Table, dict[str, Any]]:
    """Return X as a table, and the number, names and declared categories of its columns."""
    declared = model.categorical_features
    if isinstance(X, BinnedTable):
        assert X.raw_rows is not None
        X = X.raw_rows.table
        declared = sorted(X.categorical) if declared is None else declared
    if before is not None:
        table = model._table(X)
        n_features, names, categorical = before.n_features, before.feature_names, before.categorical
    else:
        table = as_table(X, model.handle_infinite)
        categorical = tuple(_categorical_columns(declared, table))
        table.declare(categorical)
        n_features = table.n_columns
        check_n_features(n_features)
        names = None if table.names is None else tuple(table.names)
        if not isinstance(X, Table):
            # scikit-learn knows names only where all of them are strings.
            seen = BaseEstimator()
            validate_data(seen, X, reset=True, skip_check_array=True)
            names = getattr(seen, "feature_names_in_", None)
            names = None if names is None else tuple(names.tolist())
    return table, {"n_features": n_features, "feature_names": names, "categorical": categorical}


def _categorical_columns(chosen: Any, table: Table) -> list[int]:
    """Return the numbers of the columns that the user declared categorical."""
    if chosen is None:
        return []
    if isinstance(chosen, str) or not hasattr(chosen, "__iter__"):
        raise TypeError(
            f"categorical_features must be a list of columns, by name or number, got {chosen!r}"
        )
    columns, given = [], list(chosen)
    if len(given) == table.n_columns and all(isinstance(one, (bool, np.bool_)) for one in given):
        given = np.flatnonzero(given).tolist()
    for column in given:
        if isinstance(column, str):
            if table.names is None or column not in table.names:
                raise ValueError(
                    f"categorical_features names the column {column!r}, which X does not have"
                )
            columns.append(table.names.index(column))
        else:
            columns.append(
                checks.integer("a categorical_features entry", column, 0, table.n_columns - 1)
            )
    return columns


def _time_limit(model: "Model") -> float:
    """Return the seconds after which the user wants training to stop."""
    own = check_callbacks(model.callbacks)
    limits = [limit.seconds for limit in own if isinstance(limit, TimeLimit)]
    return min([math.inf if model.time_limit is None else float(model.time_limit), *limits])


def _hold_out(
    model: "Model", problem: TrainingProblem[S, F], eval_sets: Sequence[EvalSet], seed: int
) -> tuple[TrainingProblem[S, F], dict[str, HeldOut], str]:
    """Return the problem of the training rows, and the validation rows and where they are from."""
    if eval_sets:
        read = {one.name: problem.read_held_out(one) for one in eval_sets}
        return problem, read, EVAL_SET
    share, source = model.validation_fraction, "validation_fraction"
    if share is None and problem.share_aside is not None:
        share, source = problem.share_aside, _share(problem.share_aside)
    if share is None:
        return problem, {}, ""
    problem, aside = problem.split(share, seed)
    return problem, {ONE_SET: aside}, source


def _evaluations(
    problem: TrainingProblem[Any, Any], held_out: dict[str, HeldOut]
) -> tuple[str, ...]:
    """Return the names of the metrics of validation rows; one of unnamed rows needs none."""
    names = [*held_out] or [ONE_SET]
    if names == [ONE_SET] and len(problem.eval_metrics) == 1:
        return ()
    return tuple(evaluation(name, metric) for name in names for metric in problem.eval_metrics)


def _source(folds: Sequence[Fold], n_rows: int) -> str:
    """Return the name of the rows that choose."""
    n_aside = [len(fold.aside) for fold in folds]
    if len(folds) == 1:
        return _share(n_aside[0] / n_rows)
    if sum(n_aside) == n_rows:
        return f"{len(folds)} folds"
    return f"{len(folds)} of {round(n_rows / n_aside[0])} folds"


def _share(share: float) -> str:
    return f"{share:.0%} of the rows"


def read_validation(X: Any, like: Table, argument: str) -> Table:
    """Return validation rows, which must have the columns of the training rows."""
    try:
        table = as_table(X, like.infinite).declare(list(like.categorical))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{argument}: {error}") from error
    if table.n_columns != like.n_columns:
        raise ValueError(f"{argument} has {table.n_columns} columns, X has {like.n_columns}")
    if table.names is not None and like.names is not None:
        differing = [a for a, b in zip(table.names, like.names, strict=True) if a != b]
        if differing:
            raise ValueError(f"{argument} has the column {differing[0]!r} where X has another")
    return table


def _filters(learner: Learner | str) -> Filters | None:
    """Return the image filters that a learner uses, if any."""
    if isinstance(learner, str):
        return None
    found = {part.filters for part in learner.simple_parts()} - {None}
    if len(found) > 1:
        raise ValueError("learner: all Haar parts must have the same shape and smallest")
    return next(iter(found), None)


def _binned(
    X: Any, table: Table, problem: TrainingProblem[Any, Any], filters: Filters | None, n_jobs: int
) -> BinnedTable:
    """Return the binned training rows; the user's own bins where no row is left out."""
    if isinstance(X, BinnedTable) and problem.table is table and filters is None:
        return X
    return fit_encode(
        problem.table, problem.mass(), problem.max_bins, problem.least_share, filters, n_jobs
    )


def check_kinds(learner: Learner, table: BinnedTable) -> None:
    """Raise if there are columns of a kind that the learner cannot use."""
    categorical = [b.name for b in table.bins if isinstance(b, Categories)]
    numeric = [b.name for b in table.bins if not isinstance(b, Categories)]
    usable = learner.kinds()
    if categorical and "categorical" not in usable:
        raise ValueError(
            f"X has the categorical column {categorical[0]!r}, which learner={learner!r} "
            "cannot use: add Indicator() or Selector() to it, or encode the column as numbers"
        )
    if numeric and "numeric" not in usable:
        raise ValueError(
            f"X has the numeric column {numeric[0]!r}, which learner={learner!r} cannot use: add "
            "Stump() to it, or list the column in categorical_features"
        )


def _first(problem: TrainingProblem[S, F], plan: FitPlan[S], columns: dict[str, Any]) -> F:
    """Return the model of no rounds; the cuts of stumps will collapse to tables."""
    n_cuts = int(plan.learner.makes_cuts) if problem.factorized else problem.n_scores
    return problem.fitted(
        plan,
        terms=Terms.empty(problem.n_scores, n_cuts),
        learner=plan.learner,
        eval_metric=next(iter(problem.eval_metrics)),
        best_iteration=0,
        stop_reason="n_rounds",
        **columns,
    )


def _go_on(model: "Model", start: F, before: Fitted, n_rounds: int | None) -> F:
    """Return the model of the last fit, if more rounds can follow."""
    parameters = signature(type(model)).parameters
    for name in before.unsaved:
        if getattr(model, name) == parameters[name].default:
            raise ValueError(
                f"warm_start: the model was saved without its {name}, which a file cannot "
                f"hold; give it again with set_params({name}=...)"
            )
    start.check_follows(before)
    n_before = len(before.terms)
    if n_rounds is not None and n_rounds < n_before:
        raise ValueError(
            f"n_rounds={n_rounds} must be at least {n_before}, the number of rounds there are "
            "already, when warm_start=True"
        )
    history = before.history.widened(start.history.fields)
    history.truncate(n_before)
    return replace(
        start,
        terms=before.terms,
        history=history,
        search_states=before.search_states,
        held_out=before.held_out,
    )


def _ready(learner: Learner, table: BinnedTable, search: Search, start: Fitted) -> Learner:
    """Return the learner, ready for a run, its searches as the last fit left them."""
    ready = learner.ready(table, search, start.seed)
    if search.learns and any(start.search_states):
        parts = list(ready.column_learners())
        if len(parts) != len(start.search_states):
            raise ValueError("warm_start: learner must be as in the last fit")
        try:
            for part, state in zip(parts, start.search_states, strict=True):
                if state:
                    part.search_.restore(state)
        except ValueError as error:
            raise ValueError(f"warm_start: search must be as in the last fit: {error}") from error
    return ready


class _SearchStates(Callback):
    """Keeps the states of searches after the best round so far, where training may resume."""

    def __init__(self, learner: Learner, n_rounds: int) -> None:
        self._parts = list(learner.column_learners())
        self._learns = any(part.search_.learns for part in self._parts)
        self._known = {n_rounds: self._now(n_rounds)}

    def on_round(self, run: TrainingRun) -> None:
        # A later callback may choose this round as the best, which shows in the next round.
        n_rounds = run.history.n_rounds
        if self._learns:
            best = {n: known for n, known in self._known.items() if n == run.best_round}
            self._known = {**best, n_rounds: self._now(n_rounds)}

    def after(self, n_rounds: int) -> tuple[dict[str, NDArray], ...]:
        """Return the states after a number of rounds; empty ones where they are not known."""
        if n_rounds in self._known:
            return self._known[n_rounds]
        # An interrupt may have come before the last round was noted.
        if n_rounds == max(self._known) + 1:
            return self._now(n_rounds)
        return tuple({} for _ in self._parts)

    def _now(self, n_rounds: int) -> tuple[dict[str, NDArray], ...]:
        return tuple(part.search_.state(n_rounds) for part in self._parts)


def _train(
    prepared: Prepared[S, F],
    start: F,
    n_rounds: int,
    owner: "BoostedModel",
    watched: dict[str, Monitor] | None = None,
    kept: _KeptScores | None = None,
    finish: Callable[[F, TrainingRun], F] = lambda fitted, ended: fitted,
) -> F:
    """Run the loop and return the record of the model, whatever ended it.

    `finish` adds what is known once training has ended. If something fails, such as the last save
    on a full disk, the owner keeps the rounds there are.
    """
    terms, history = TermList(start.terms), start.history
    monitor = None if kept is None else kept.monitors[0]
    larger = monitor is not None and monitor.larger_is_better

    def left() -> F:
        # An interrupt may have come between a term and its record.
        packed, rounds = terms.pack(), copy(history)
        whole = min(len(packed), rounds.n_rounds)
        rounds.truncate(whole)
        ended = run.finished and run.stop_reason != "failed"
        best = run.best_round if ended else None
        kept_terms = packed[: whole if best is None else min(best, whole)]
        fitted = replace(
            start,
            terms=kept_terms,
            history=rounds,
            best_iteration=_best_iteration(rounds, larger),
            stop_reason=run.stop_reason if run.finished else "checkpoint",
            search_states=states.after(len(kept_terms)),
        )
        return finish(fitted, run) if ended else fitted

    run = TrainingRun(
        n_rounds,
        history,
        lambda path: owner._with(left()).save(path),
        validates=monitor is not None,
        started=prepared.started,
        larger_is_better=larger,
    )
    callbacks = _callbacks(prepared, monitor is not None)
    with prepared.task(watched or {}, start, n_rounds) as task:
        # The states of searches are noted before a callback can save the model.
        states = _SearchStates(task.learner, len(terms))
        try:
            boost(task, terms, run, [states, *callbacks, *([] if kept is None else [kept])])
            return left()
        except BaseException:
            # What an earlier fit left is not lost to another one that fails in the middle.
            other = owner.__sklearn_is_fitted__() and len(start.terms) == 0
            if len(terms) > len(start.terms) and (run.stop_reason != "failed" or not other):
                owner.fitted_ = left()
            raise


def _best_iteration(history: History, larger_is_better: bool) -> int:
    validation = history["validation"]
    if np.isnan(validation).all():
        return history.n_rounds
    best = np.nanargmax if larger_is_better else np.nanargmin
    return int(best(validation)) + 1


def _own_stopping(model: "Model") -> list[Callback]:
    """Return the user's own callbacks for early stopping."""
    own = check_callbacks(model.callbacks)
    return [callback for callback in own if isinstance(callback, EarlyStopping)]


def _callbacks(
    run: Prepared[Any, Any], validates: bool, choosing: float | None = None, stride: int = 1
) -> list[Callback]:
    """Return the callbacks of the parameters, and then the user's own.

    While rounds are chosen, which may take the share `choosing` of the time in rounds that are
    `stride` usual ones, the user's own have no model to watch, but progress to show; and early
    stopping is for this, and not for the fit after it.
    """
    model, chooses = run.model, run.problem.n_rounds is None
    own, stopping = check_callbacks(model.callbacks), _own_stopping(model)
    callbacks: list[Callback] = [ProgressBar(sys.stderr)] if model.verbose else []
    if validates and model.early_stopping_rounds is not None:
        callbacks.append(EarlyStopping(model.early_stopping_rounds))
    elif validates and chooses and not stopping:
        # A fit on all rows has more of them to learn from, and late rounds of small steps, which
        # hardly change the loss, lower the error.
        ends = run.problem.stopping
        assert ends.patience is not None
        within = choosing is not None and run.problem.learner == "auto"
        ends = ends._replace(
            patience=ends.patience // stride, keep_within=ends.min_delta_rel if within else 0.0
        )
        callbacks.append(EarlyStopping(*ends))  # type: ignore[arg-type]
    limits = [] if run.limit == math.inf else [TimeLimit((choosing or 1.0) * run.limit)]
    if choosing is not None:
        own = [callback for callback in own if isinstance(callback, (EarlyStopping, ProgressBar))]
    elif chooses and not validates:
        own = [callback for callback in own if callback not in stopping]
    if not run.binned.partition.is_root:
        # The first process decides by the clock, shows progress, saves, and calls the user's own.
        return [one for one in (*callbacks, *own) if isinstance(one, EarlyStopping)]
    return [*callbacks, *limits, *own]
