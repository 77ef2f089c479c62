"""Training runs: everything that is decided before the first round, the rounds, the model."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.choose import backend_for, record_kernels_compiled
from edgewise.boosting import (
    Callback,
    EarlyStopping,
    History,
    Monitor,
    ProgressBar,
    Task,
    TermList,
    TimeLimit,
    TrainingRun,
    boost,
    mean_monitors,
)
from edgewise.common.dtypes import ROW, Reals, Rows
from edgewise.common.threads import n_threads
from edgewise.data import BinnedTable, Bins, RawRows, Table, encode
from edgewise.data.part import select_rows
from edgewise.estimators.fitted import AdditiveRecord, Fitted, HeldOutRecord
from edgewise.estimators.job import Job
from edgewise.estimators.rates import TrainingRates
from edgewise.estimators.rows import EVAL_SET, Fold, ValidationSet
from edgewise.learners import Additive, Learner
from edgewise.model import Terms
from edgewise.model.shapes import count_rows, may_have_shapes
from edgewise.search import Exhaustive

F = TypeVar("F", bound=Fitted)

TYPICAL_ROUNDS = 100
"""A number of rounds by which kernels are chosen."""

# The training that compiles kernels in another process, half of whose rows are held out.
_WARMUP_ROWS, _WARMUP_ROUNDS = 512, 3


@dataclass(frozen=True, eq=False)
class Setup(Generic[F]):
    """Everything that is decided before the first round."""

    job: Job[F]
    binned: BinnedTable
    start: F  # the model of no rounds, or of an earlier fit
    common: dict[str, Any]  # the fields of the model that do not depend on the job
    owner: Any  # the estimator that checkpoints save
    callbacks: Sequence[Callback]  # the user's
    started: float
    limit: float = math.inf  # seconds from then on after which training is to stop
    validation: tuple[ValidationSet, ...] = ()  # the last decides
    source: str = ""  # of the validation rows
    compared: dict[str, float] = field(default_factory=dict)  # the best value of each candidate
    training_rates: TrainingRates | None = None

    @contextmanager
    def task(self, monitors: dict[str, Monitor], start: F, n_rounds: int) -> Iterator[Task]:
        """Yield the task of a run, and close its backend afterwards."""
        job, settings, binned = self.job, self.job.settings, self.binned
        learner = settings.learner
        backend = backend_for(
            binned,
            job.n_scores,
            n_rounds * learner.cost,
            n_threads(job.model.n_jobs),
            job.layout,
            getattr(settings.objective, "criterion", "edge") == "energy",
            (learner, settings.objective, settings.search),
            partial(warmup_fit, self),
            getattr(job.model, "device", "cpu"),
        )
        for monitor in monitors.values():
            monitor.backend = backend
        with ExitStack() as stack:
            stack.callback(backend.close)
            objective = job.objective(backend)
            # Rounds may be handed over to another.
            stack.callback(lambda: objective.backend.close())
            ready = _restore_learner(learner.ready(binned, settings.search, start.seed), start)
            fallback = None
            if not settings.searches_everything:
                fallback = cache(partial(learner.ready, binned, Exhaustive(), start.seed))
            yield Task(binned, objective, ready, fallback, monitors)
            record_kernels_compiled(objective.backend)

    @property
    def n_bags(self) -> int:
        """The number of bags, whose mean is the model."""
        return self.job.settings.n_bags

    @cached_property
    def bag_folds(self) -> list[Fold]:
        """The rows of each bag, and those that it leaves out; none where all have all rows."""
        if self.n_bags == 1 or not self.job.settings.leaves_rows_out:
            return []
        folds = self.job.rows.deal(self.n_bags, self.start.seed)
        return folds if len(folds) == self.n_bags else []

    def bag(self, b: int) -> "Setup[F]":
        """Return the setup of one bag, which draws rows and columns of its own."""
        if self.n_bags == 1:
            return self
        settings, states = self.job.settings, self.start.search_states
        seed, n_states = bag_seed(self.start.seed, b), len(states) // self.n_bags
        objective = replace(settings.objective, seed=seed)
        start = replace(
            self.start, seed=seed, search_states=states[b * n_states : (b + 1) * n_states]
        )
        job = replace(self.job, settings=replace(settings, objective=objective, n_bags=1))
        bag = replace(self, job=job, start=start)
        folds = self.bag_folds
        return bag.on_rows(folds[b][0].astype(ROW)) if folds else bag

    def with_job(self, job: Job[F]) -> "Setup[F]":
        """Return the same for another job, from its first round on."""
        start = empty_model(job, self.common, self.start.history.fields)
        return replace(self, job=job, start=start)

    def on_rows(self, rows: Rows) -> "Setup[F]":
        """Return the same on some of the rows, in the same bins."""
        job, rates = replace(self.job, rows=self.job.rows.take(rows.astype(np.intp))), None
        if self.training_rates is not None:
            rates = self.training_rates.take(rows.astype(np.intp))
        return replace(self, job=job, binned=self.select(rows), training_rates=rates)

    def split_rows(self, rows: Rows, others: Rows) -> tuple["Setup[F]", BinnedTable]:
        """Return the same on some of the rows, and others, in the same bins.

        Both have the rates of categories among the first alone, so that the labels of held-out
        rows choose the model by their predictions only.
        """
        setup, rates = self.on_rows(rows), self.training_rates
        if rates is None or setup.training_rates is None:
            return setup, self.select(others)
        new = setup.training_rates.extend_new(rates.take(others.astype(np.intp)))
        binned = encode(setup.training_rates.extend(), self.binned.bins)
        return replace(setup, binned=binned), encode(new, self.binned.bins)

    def select(self, rows: Rows) -> BinnedTable:
        """Return some of the binned rows; values and responses of image filters are read again."""
        raw_rows = self.binned.raw_rows
        uses_values = self.job.settings.learner.uses_values
        # The rules of a warm start are evaluated again.
        uses_values = uses_values or self.start.n_rounds > 0
        if raw_rows is None or (raw_rows.filters is None and not uses_values):
            return select_rows(self.binned, rows)
        table = raw_rows.table.take(rows.astype(np.intp))
        return encode(table, self.binned.bins, filters=raw_rows.filters)

    @property
    def fold_stride(self) -> int:
        """The rounds of the model for each round on folds; a user's patience counts its own."""
        patience = self.job.model.early_stopping_rounds
        is_default = patience is None and not self.early_stopping
        return self.job.settings.stride if is_default else 1

    @property
    def early_stopping(self) -> list[Callback]:
        """The user's callbacks that stop early."""
        return [callback for callback in self.callbacks if isinstance(callback, EarlyStopping)]


def bag_seed(seed: int, b: int) -> int:
    """Return the seed of a bag; the first has the model's own.

    Examples
    --------
    >>> [bag_seed(7, b) for b in range(3)]
    [7, 369571992, 1009178997]
    """
    return int(np.random.SeedSequence([seed, b]).generate_state(1)[0]) if b else seed


def empty_model(job: Job[F], common: dict[str, Any], history_fields: tuple[str, ...]) -> F:
    """Return the model of no rounds; the cuts of stumps will collapse to tables."""
    settings = job.settings
    shared = getattr(settings.objective, "factorized", True)
    n_cuts = int(settings.learner.makes_cuts) if shared else job.n_scores
    return job.make_record(
        terms=Terms.empty(job.n_scores, n_cuts),
        learner=settings.learner,
        learning_rate=settings.objective.learning_rate,
        n_bags=settings.n_bags,
        eval_metric=next(iter(job.eval_metrics)),
        best_iteration=0,
        stop_reason="n_rounds",
        history=History(history_fields),
        **common,
    )


def warmup_fit(setup: Setup[Any]) -> tuple[Any, ...]:
    """Return a few rounds on a few rows in the same bins, which compile the same kernels."""
    job, binned = setup.job, setup.binned
    model = copy(job.model)
    model.callbacks, model.verbose, model.time_limit = None, 0, None
    fraction = 1.0 - min(_WARMUP_ROWS / binned.n_rows, 0.5)
    rows, _ = job.rows.hold_out(fraction, setup.start.seed)
    rows, validation = rows.hold_out(0.5, setup.start.seed)
    settings = replace(job.settings, n_rounds=_WARMUP_ROUNDS, n_bags=1)
    job = replace(job, model=model, rows=rows, settings=settings)
    filters = None if binned.raw_rows is None else binned.raw_rows.filters
    storage = "auto" if len(binned.sparse.columns) else "dense"

    def encode_alike(table: Table) -> BinnedTable:
        alike = encode(table, binned.bins, storage, filters)
        codes = alike.dense.codes.astype(binned.dense.codes.dtype)
        return replace(alike, dense=replace(alike.dense, codes=codes))

    assert validation.table is not None
    validation = validation._replace(binned=encode_alike(validation.table))
    few = replace(
        setup,
        job=job,
        binned=encode_alike(rows.table),
        owner=model,
        callbacks=(),
        limit=math.inf,
        validation=(validation,),
        source=EVAL_SET,
        training_rates=None,
    )
    return (run_watched, few)


def _restore_learner(learner: Learner, start: Fitted) -> Learner:
    """Return a learner with its searches, and its pairs, as the last fit left them."""
    if isinstance(learner, Additive) and start.n_rounds > learner.curve_rounds:
        assert start.additive is not None
        learner.set_pairs([(a, b) for a, b in start.additive.pairs.tolist()])
    searches = [x.search_ for x in learner.column_learners()]
    if any(search.learns for search in searches) and any(start.search_states):
        if len(searches) != len(start.search_states):
            raise ValueError("warm_start: learner must be as in the last fit")
        try:
            for search, state in zip(searches, start.search_states, strict=True):
                if state:
                    search.restore(state)
        except ValueError as error:
            raise ValueError(f"warm_start: search must be as in the last fit: {error}") from error
    return learner


class _SearchStates(Callback):
    """Keeps the states of searches after the best round so far, where training may resume."""

    def __init__(self, learners: Iterable[Learner], n_rounds: int) -> None:
        self._searches = [x.search_ for learner in learners for x in learner.column_learners()]
        self._learns = any(search.learns for search in self._searches)
        self._states = {n_rounds: self._current(n_rounds)}

    def on_round(self, run: TrainingRun) -> None:
        # A later callback may choose this round as the best, which shows in the next round.
        n_rounds = run.history.n_rounds
        if self._learns:
            best = {n: states for n, states in self._states.items() if n == run.best_round}
            self._states = {**best, n_rounds: self._current(n_rounds)}

    def after(self, n_rounds: int) -> tuple[dict[str, NDArray], ...]:
        """Return the states after a number of rounds; empty ones where they were not kept."""
        if n_rounds in self._states:
            return self._states[n_rounds]
        # An interrupt may have come before the last round was recorded.
        if n_rounds == max(self._states) + 1:
            return self._current(n_rounds)
        return tuple({} for _ in self._searches)

    def _current(self, n_rounds: int) -> tuple[dict[str, NDArray], ...]:
        return tuple(search.state(n_rounds) for search in self._searches)


class BestScores(Callback):
    """Keeps the scores of validation rows after the best round."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        self._monitors = monitors
        self._scores: list[Reals] = []

    def on_round(self, run: TrainingRun) -> str | None:
        """Keep the scores if this round is the best."""
        if run.best_round == run.history.n_rounds:
            self._scores = [monitor.all_scores().copy() for monitor in self._monitors]
        return None

    def of(self, run: TrainingRun) -> list[Reals]:
        """Return the scores after the best round; after the last if none is the best."""
        if run.best_round is None:
            return [monitor.all_scores() for monitor in self._monitors]
        return self._scores


class FitRun(Generic[F]):
    """The rounds of a model, and the model after any of them.

    There may be `monitors` of validation rows, by name, for each bag.
    """

    def __init__(
        self,
        setup: Setup[F],
        n_rounds: int,
        monitors: Sequence[dict[str, Monitor]] = (),
        choice_stop_reason: str = "n_rounds",
    ) -> None:
        self.setup = setup
        self.monitors = monitors or [{} for _ in range(setup.n_bags)]
        self.mean_monitors = mean_monitors(self.monitors)
        self.choice_stop_reason = choice_stop_reason
        self.terms = TermList(setup.start.terms, setup.n_bags)
        self.history = setup.start.history
        deciding = list(self.mean_monitors.values())[-1:]
        self.best_scores = BestScores(deciding)
        self.run = TrainingRun(
            n_rounds,
            self.history,
            self._save,
            validates=bool(deciding),
            started=setup.started,
            larger_is_better=any(monitor.larger_is_better for monitor in deciding),
        )
        self._states: _SearchStates | None = None
        self._learners: list[Learner] = []

    def train(self) -> F:
        """Train, and return the model.

        If something fails, such as the last save on a full disk, the owner keeps the rounds so far.
        """
        setup, run = self.setup, self.run
        callbacks = make_callbacks(setup, run.validates)
        with ExitStack() as stack:
            bags = [setup.bag(b) for b in range(setup.n_bags)]
            tasks = [
                stack.enter_context(bag.task(monitors, bag.start, run.n_rounds))
                for bag, monitors in zip(bags, self.monitors, strict=True)
            ]
            # The states of searches are kept before a callback can save the model.
            self._learners = [task.learner for task in tasks]
            self._states = _SearchStates(self._learners, self.terms.n_rounds)
            callbacks = [self._states, *callbacks, self.best_scores]
            try:
                boost(tasks, self.terms, self.mean_monitors, run, callbacks)
                fitted = self.snapshot()
                # Processes sum together, and checkpoints are of the first one alone.
                return fitted if setup.binned.partition.is_whole else self._with_covers(fitted)
            except BaseException:
                # A fit from scratch that fails in the middle does not replace an earlier model.
                owner, before = setup.owner, setup.start.n_rounds
                loses = before == 0 and owner.__sklearn_is_fitted__()
                if self.terms.n_rounds > before and (run.stop_reason != "failed" or not loses):
                    owner.fitted_ = self.snapshot()
                raise

    def snapshot(self) -> F:
        """Return the model of the rounds so far; once training has ended, of those to keep."""
        # An interrupt may have come between a term and its record.
        terms, history, run = self.terms.pack(), copy(self.history), self.run
        n_rounds = min(self.terms.n_rounds, history.n_rounds)
        history.truncate(n_rounds)
        has_ended = run.finished and run.stop_reason != "failed"
        stop_reason = run.stop_reason if run.finished else "checkpoint"
        if has_ended and stop_reason == "n_rounds":
            stop_reason = self.choice_stop_reason
        if has_ended and run.best_round is not None:
            n_rounds = min(run.best_round, n_rounds)
        assert self._states is not None
        fitted = replace(
            self.setup.start,
            terms=terms[: n_rounds * self.setup.n_bags],
            history=history,
            best_iteration=_best_iteration(history, run.larger_is_better),
            stop_reason=stop_reason,
            search_states=self._states.after(n_rounds),
        )
        fitted = replace(fitted, additive=self._additive_record(fitted, has_ended))
        if run.finished and self.setup.binned.partition.is_whole:
            fitted = self._with_covers(fitted)
        return self._with_held_out(fitted) if has_ended else fitted

    def _additive_record(self, fitted: F, has_ended: bool) -> AdditiveRecord | None:
        """Return what a sum of curves and tables keeps beside its terms; None for other models."""
        learner = self._learners[0]
        is_additive = isinstance(learner, Additive)
        if not may_have_shapes(fitted, is_additive):
            return None
        return AdditiveRecord(
            count_rows(fitted, self.setup.binned) if has_ended else (),
            np.array(learner.pairs_ if is_additive else [], dtype=np.int64).reshape(-1, 2),
            bool(self.setup.bag_folds),
        )

    def _with_held_out(self, fitted: F) -> F:
        """Return the model with the record of validation rows, if they chose anything."""
        job, source, scores = self.setup.job, self.setup.source, self.best_scores.of(self.run)
        if not scores or (job.settings.n_rounds and not job.estimates_probabilities):
            return fitted
        record = HeldOutRecord(
            source,
            fitted.n_rounds,
            chosen=self.run.best_round is not None,
            values=fitted.history["validation"],
            compared=self.setup.compared,
        )
        # An eval_set may hold training rows, and chooses no temperature.
        scored = [(self.setup.validation[-1], scores[0])]
        return replace(
            fitted, held_out=job.held_out_record(scored, record, calibrates=source != EVAL_SET)
        )

    def _with_covers(self, fitted: F) -> F:
        """Return the model with the number of training rows in each leaf."""
        job, rows, training_rates = self.setup.job, self.setup.binned, self.setup.training_rates
        raw_rows = rows.raw_rows
        if training_rates is not None:
            # The rates that the model predicts with; in training, each row has its own.
            raw_rows = RawRows(training_rates.table, fitted.categories, fitted.rates)
        has_thresholds = all(
            np.isin(
                fitted.terms.thresholds[fitted.terms.columns == j], [-np.inf, *rows.thresholds(j)]
            ).all()
            for j in np.unique(fitted.terms.columns).tolist()
            if j < rows.n_columns and isinstance(rows.bins[j], Bins)
        )
        counted = rows if has_thresholds and training_rates is None else raw_rows
        n_jobs = n_threads(job.model.n_jobs)
        return fitted if counted is None else fitted.with_covers(counted, rows.partition, n_jobs)

    def _save(self, path: Any) -> None:
        self.setup.owner._with(self.snapshot()).save(path)


def _best_iteration(history: History, larger_is_better: bool) -> int:
    validation = history["validation"]
    if np.isnan(validation).all():
        return history.n_rounds
    best = np.nanargmax if larger_is_better else np.nanargmin
    return int(best(validation)) + 1


def run_watched(setup: Setup[F]) -> F:
    """Train while validation rows are measured after every round."""
    job, settings = setup.job, setup.job.settings
    chooses = settings.n_rounds is None and setup.source != EVAL_SET
    monitors = [
        {
            validation.name: job.monitor(validation, chooses and validation is setup.validation[-1])
            for validation in setup.validation
        }
        for _ in range(setup.n_bags)
    ]
    return FitRun(setup, settings.n_rounds or settings.max_rounds, monitors).train()


def make_callbacks(
    setup: Setup[Any], validates: bool, choice_fraction: float | None = None, stride: int = 1
) -> list[Callback]:
    """Return the callbacks of the parameters, and then the user's own.

    While folds choose the number of rounds, which may take `choice_fraction` of the time in rounds
    that are `stride` of the model's, the user's own have no model to watch, but progress to show;
    and early stopping is for this, and not for the fit after it.
    """
    model, settings = setup.job.model, setup.job.settings
    chooses, on_folds = settings.n_rounds is None, choice_fraction is not None
    user_callbacks, user_stopping = setup.callbacks, setup.early_stopping
    callbacks: list[Callback] = [ProgressBar(sys.stderr)] if model.verbose else []
    if validates and model.early_stopping_rounds is not None:
        callbacks.append(EarlyStopping(model.early_stopping_rounds))
    elif validates and chooses and not user_stopping:
        # A fit on all rows has more of them to learn from, and late rounds of small steps, which
        # barely change the loss, lower the error.
        rule = settings.stopping if on_folds else settings.stopping._replace(keep_within=0.0)
        patience = (rule.patience or 0) // stride
        callbacks.append(EarlyStopping(**{**rule._asdict(), "patience": patience}))
    limits = [] if setup.limit == math.inf else [TimeLimit((choice_fraction or 1.0) * setup.limit)]
    if on_folds:
        user_callbacks = [c for c in user_callbacks if isinstance(c, (EarlyStopping, ProgressBar))]
    elif chooses and not validates:
        user_callbacks = [c for c in user_callbacks if c not in user_stopping]
    if not setup.binned.partition.is_root:
        # The first process decides by the clock, shows progress, saves, and calls the user's own.
        return [c for c in (*callbacks, *user_callbacks) if isinstance(c, EarlyStopping)]
    return [*callbacks, *limits, *user_callbacks]
