"""The one sequence in which every estimator trains."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from copy import copy
from dataclasses import replace
from functools import cache, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from edgewise import boosting
from edgewise.backend.base import Backend
from edgewise.backend.choose import backend_for
from edgewise.common import checks
from edgewise.common.dtypes import Exacts
from edgewise.common.threads import n_threads
from edgewise.data import BinnedTable, Categories, Table, as_table, categories_of
from edgewise.data.coding import encode, fit_encode
from edgewise.data.filters import Filters
from edgewise.estimators.fitted import Fitted
from edgewise.learners import Learner
from edgewise.model import Terms
from edgewise.objective import Objective
from edgewise.objective.lists import Layout
from edgewise.search import Exhaustive, Search, search_named

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH
    from edgewise.estimators.base import BoostedModel
    from edgewise.estimators.rank_boost import RankBoost

    Model: TypeAlias = AdaBoostMH | RankBoost

S = TypeVar("S")
F = TypeVar("F", bound=Fitted)


class HeldOut(NamedTuple):
    """Validation rows: features, and targets as the problem's metric takes them."""

    table: Table
    targets: Any


class FitPlan(NamedTuple, Generic[S]):
    """The learner to train with, and the settings of the objective."""

    learner: Learner
    settings: S


class TrainingProblem(ABC, Generic[S, F]):
    """The differences of classification and ranking: targets, objective, metric, learners."""

    table: Table
    learner: Learner | str  # the user's, or the name of one
    n_scores: int
    fields: tuple[str, ...]  # what the history records
    max_bins: int
    least_share: float = 0.0  # of the weight, on each side of a threshold
    looks_at_all_rows: bool  # in every round
    layout: Layout | None = None  # of graded documents
    by_energy: bool = False  # whether rankings are compared by their exact energy
    factorized: bool = True  # whether all score columns share a rule

    @abstractmethod
    def split(self, fraction: float, seed: int) -> tuple[Self, HeldOut]:
        """Set a random share of the rows, class by class, or of the queries aside."""

    @abstractmethod
    def read_held_out(self, eval_set: Any) -> HeldOut:
        """Return the validation rows that the user gave."""

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
    def monitor(self, held_out: HeldOut, binned: BinnedTable, plan: FitPlan[S]) -> boosting.Monitor:
        """Return the monitor of the validation rows."""

    @abstractmethod
    def fitted(self, plan: FitPlan[S], **common: Any) -> F:
        """Return the record of a model, given the fields that all models share."""


def fit(
    model: "Model",
    X: Any,
    read: Callable[[Table], TrainingProblem[Any, F]],
    eval_set: Any = None,
    owner: "BoostedModel | None" = None,
) -> F:
    """Train a model and return its record.

    `read` makes a problem of the table; checkpoints save `owner`, or the model itself.
    """
    started = time.perf_counter()
    before = model.fitted_ if model.warm_start and model.__sklearn_is_fitted__() else None
    table, columns = _read_columns(model, X, before)
    problem = read(table)
    # A warm start sets the same rows aside and draws the same columns as the first fit.
    seed = checks.seed(model.random_state) if before is None else before.seed
    problem, held_out = _hold_out(model, problem, eval_set, seed)
    filters, n_jobs = _filters(problem.learner), n_threads(model.n_jobs)
    binned = _binned(X, table, problem, filters, n_jobs)
    plan = problem.plan(binned, seed)
    columns |= {"categories": categories_of(binned.bins), "filters": filters, "seed": seed}
    start = _first(problem, plan, columns)
    if before is not None:
        start = _go_on(model, start, before)
    monitor = _monitor(problem, held_out, binned, plan)
    work = model.n_rounds * plan.learner.cost
    backend = backend_for(binned, problem.n_scores, work, n_jobs, problem.layout, problem.by_energy)
    with closing(backend):
        objective = problem.objective(backend, plan)
        search = search_named(model.search)
        learner = _ready(plan.learner, binned, search, start)
        fallback = None
        if not (isinstance(search, Exhaustive) and problem.looks_at_all_rows):
            fallback = cache(partial(plan.learner.ready, binned, Exhaustive(), seed))
        task = boosting.Task(binned, objective, learner, fallback, monitor)
        return _train(model, task, start, started, owner or model)


def _read_columns(model: "Model", X: Any, before: Fitted | None) -> tuple[Table, dict[str, Any]]:
    """Return X as a table, and the number, names and declared categories of its columns."""
    declared = model.categorical_features
    if isinstance(X, BinnedTable):
        assert X.aligned is not None
        X = X.aligned.table
        declared = sorted(X.categorical) if declared is None else declared
    if before is not None:
        table = model._table(X)
        n_features, names, categorical = before.n_features, before.feature_names, before.categorical
    else:
        table = as_table(X, model.handle_infinite)
        categorical = tuple(_categorical_columns(declared, table))
        table.declare(categorical)
        n_features = table.n_columns
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
    columns = []
    for column in chosen:
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


def _hold_out(
    model: "Model", problem: TrainingProblem[S, F], eval_set: Any, seed: int
) -> tuple[TrainingProblem[S, F], HeldOut | None]:
    """Return the problem of the training rows, and the validation rows."""
    if eval_set is not None:
        alone = isinstance(eval_set, list) and len(eval_set) == 1
        return problem, problem.read_held_out(eval_set[0] if alone else eval_set)
    if model.validation_fraction is not None:
        return problem.split(model.validation_fraction, seed)
    return problem, None


def read_validation(X: Any, like: Table) -> Table:
    """Return validation rows, which must have the columns of the training rows."""
    table = as_table(X, like.infinite).declare(list(like.categorical))
    if table.n_columns != like.n_columns:
        raise ValueError(f"eval_set has {table.n_columns} columns, X has {like.n_columns}")
    if table.names is not None and like.names is not None:
        differing = [a for a, b in zip(table.names, like.names, strict=True) if a != b]
        if differing:
            raise ValueError(f"eval_set has the column {differing[0]!r} where X has another")
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


def _monitor(
    problem: TrainingProblem[S, F], held_out: HeldOut | None, trained: BinnedTable, plan: FitPlan[S]
) -> boosting.Monitor | None:
    if held_out is None:
        return None
    assert trained.aligned is not None
    filters = trained.aligned.filters
    binned = encode(held_out.table, trained.bins, filters=filters)
    return problem.monitor(held_out, binned, plan)


def _first(problem: TrainingProblem[S, F], plan: FitPlan[S], columns: dict[str, Any]) -> F:
    """Return the model of no rounds; the cuts of stumps will collapse to tables."""
    n_cuts = int(plan.learner.makes_cuts) if problem.factorized else problem.n_scores
    return problem.fitted(
        plan,
        terms=Terms.empty(problem.n_scores, n_cuts),
        history=boosting.History(problem.fields),
        learner=plan.learner,
        best_iteration=0,
        stop_reason="n_rounds",
        **columns,
    )


def _go_on(model: "Model", start: F, before: Fitted) -> F:
    """Return the model of the last fit, if more rounds can follow."""
    parameters = signature(type(model)).parameters
    for name in before.unsaved:
        if getattr(model, name) == parameters[name].default:
            raise ValueError(
                f"warm_start: the model was saved without its {name}, which a file cannot "
                f"hold; give it again with set_params({name}=...)"
            )
    start.check_follows(before)
    n_rounds = len(before.terms)
    if model.n_rounds < n_rounds:
        raise ValueError(
            f"n_rounds={model.n_rounds} must be at least {n_rounds}, the number of rounds there "
            "are already, when warm_start=True"
        )
    history = copy(before.history)
    history.truncate(n_rounds)
    return replace(start, terms=before.terms, history=history, search_states=before.search_states)


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


class _SearchStates(boosting.Callback):
    """Keeps the states of searches after the best round so far, where training may resume."""

    def __init__(self, learner: Learner, n_rounds: int) -> None:
        self._parts = list(learner.column_learners())
        self._learns = any(part.search_.learns for part in self._parts)
        self._known = {n_rounds: self._now(n_rounds)}

    def on_round(self, run: boosting.TrainingRun) -> None:
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
    model: "Model", task: boosting.Task, start: F, started: float, owner: "BoostedModel"
) -> F:
    """Run the loop and return the record of the model, whatever ended it."""
    terms, history = boosting.TermList(start.terms), start.history
    states = _SearchStates(task.learner, len(terms))
    larger = task.monitor is not None and task.monitor.larger_is_better

    def left(stop_reason: str, n_kept: int | None) -> F:
        # An interrupt may have come between a term and its record.
        packed, rounds = terms.pack(), copy(history)
        whole = min(len(packed), rounds.n_rounds)
        rounds.truncate(whole)
        kept = packed[: whole if n_kept is None else min(n_kept, whole)]
        return replace(
            start,
            terms=kept,
            history=rounds,
            best_iteration=_best_iteration(rounds, larger),
            stop_reason=stop_reason,
            search_states=states.after(len(kept)),
        )

    def save(path: Any) -> None:
        ended = (run.stop_reason, run.best_round) if run.finished else ("checkpoint", None)
        owner._with(left(*ended)).save(path)

    run = boosting.TrainingRun(
        model.n_rounds,
        history,
        save,
        validates=task.monitor is not None,
        started=started,
        larger_is_better=larger,
    )
    # The states of searches are noted before a callback can save the model.
    boosting.boost(task, terms, run, [states, *_callbacks(model)])
    return left(run.stop_reason, run.best_round)


def _best_iteration(history: boosting.History, larger_is_better: bool) -> int:
    validation = history["validation"]
    if np.isnan(validation).all():
        return history.n_rounds
    best = np.nanargmax if larger_is_better else np.nanargmin
    return int(best(validation)) + 1


def _callbacks(model: "Model") -> list[boosting.Callback]:
    """Return the callbacks of the parameters, and then the user's own."""
    callbacks: list[boosting.Callback] = [boosting.ProgressBar()] if model.verbose else []
    if model.early_stopping_rounds is not None:
        callbacks.append(boosting.EarlyStopping(model.early_stopping_rounds))
    if model.time_limit is not None:
        callbacks.append(boosting.TimeLimit(model.time_limit))
    return [*callbacks, *boosting.check_callbacks(model.callbacks)]
