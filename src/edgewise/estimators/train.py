"""How every boosted estimator trains: from X and its targets to the record of the model."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from edgewise.backend.base import ColumnConstraints
from edgewise.boosting import (
    Callback,
    Checkpoint,
    History,
    TimeLimit,
    TrainingRun,
    boost_together,
    check_callbacks,
    evaluation,
    mean_monitors,
    metric_size,
)
from edgewise.common import checks
from edgewise.common.dtypes import ROW, Reals
from edgewise.common.threads import n_threads
from edgewise.data import (
    BinnedTable,
    Bins,
    RawRows,
    Table,
    categories_of,
    encode,
    fit_encode,
)
from edgewise.data.rates import CategoryRates
from edgewise.estimators.constraints import describe_constraints, find_interactions
from edgewise.estimators.fitted import Fitted, HeldOutRecord
from edgewise.estimators.job import Job, TrainingProblem
from edgewise.estimators.rates import fit_rates
from edgewise.estimators.rows import (
    DEFAULT_NAME,
    EVAL_SET,
    EvalSet,
    ValidationSet,
    fraction_source,
    image_filters,
    read_columns,
)
from edgewise.estimators.run import (
    TYPICAL_ROUNDS,
    BestScores,
    FitRun,
    Setup,
    empty_model,
    make_callbacks,
    run_watched,
)
from edgewise.estimators.time_limit import fit_into_time, sample_for_time

if TYPE_CHECKING:
    from edgewise.estimators.adaboost_mh import AdaBoostMH
    from edgewise.estimators.base import BoostedModel
    from edgewise.estimators.rank_boost import RankBoost

F = TypeVar("F", bound=Fitted)

NO_REFIT_ROWS, HOLD_OUT_FRACTION = 50_000, 0.1
"""From this many rows on, a fraction of them chooses, and the model of the others stays."""

# Where no row can be held out.
_ROUNDS_WITHOUT_CHOICE = 50

# Candidates for large tables are compared on a sample of rows.
_COMPARED_ROWS = 20_000

# Reasons for which a choice on folds ends before it is done.
_CUT_SHORT = ("interrupted", "time limit")

# A race between candidates is open for this many rounds; after them, a candidate may be behind by
# this fraction.
_OPEN_ROUNDS, _RACE_SLACK = 5, 0.01


def fit(
    model: "AdaBoostMH | RankBoost",
    X: Any,
    read_problem: Callable[[Table], TrainingProblem],
    eval_sets: Sequence[EvalSet] = (),
    owner: "BoostedModel[Any] | None" = None,
) -> Any:
    """Train a model and return its record.

    `read_problem` returns the problem of the table. The last of `eval_sets` decides. Checkpoints
    save `owner`, or the model itself.
    """
    setups = prepare_setups(model, X, read_problem, eval_sets, owner or model)
    if setups[0].validation:
        fitted = train_watched(setups)
    elif len(setups) == 1 and setups[0].job.settings.n_rounds is not None:
        fitted = train_given_rounds(setups[0])
    else:
        fitted = choose_then_refit(setups)
    setups[0].job.review(fitted, setups[0].binned)
    return fitted


def prepare_setups(
    model: "AdaBoostMH | RankBoost",
    X: Any,
    read_problem: Callable[[Table], TrainingProblem],
    eval_sets: Sequence[EvalSet],
    owner: "BoostedModel[Any]",
) -> list[Setup[Any]]:
    """Return the setup of each candidate: its job, the binned rows, and the model to start from."""
    started, callbacks = time.perf_counter(), check_callbacks(model.callbacks)
    limits = [callback.seconds for callback in callbacks if isinstance(callback, TimeLimit)]
    limit = min([math.inf if model.time_limit is None else float(model.time_limit), *limits])
    before = model.fitted_ if model.warm_start and model.__sklearn_is_fitted__() else None
    table, columns = read_columns(model, X, before)
    # Wrong constraints are refused before work is done.
    find_interactions(model.interaction_cst, table)
    constraints = describe_constraints(model, table)
    problem = read_problem(table)
    # A warm start holds out the same rows and draws the same columns as the first fit.
    seed = checks.seed(model.random_state) if before is None else before.seed
    seed = table.partition.collective.broadcast(seed)
    adapts = problem.adapts_to_time_limit and problem.chooses_rounds
    adapts = adapts and limit < math.inf and before is None
    rows = problem.rows
    if adapts and not isinstance(X, BinnedTable):
        rows = sample_for_time(rows, limit, seed)
    is_sampled = rows is not problem.rows
    rows, validation, source = _split_validation(model, problem, rows, eval_sets, seed)
    rates, training_rates = (problem.uses_rates and fit_rates(rows, seed)) or (None, None)
    if training_rates is not None:
        rows = replace(rows, table=training_rates.extend())
    jobs = problem.make_jobs(rows, seed)
    binned = _bin_rows(X, table, jobs[0])
    validation = [_encode_validation(held_out, binned, rates) for held_out in validation]
    common = columns._asdict() | {
        "categories": categories_of(binned.bins),
        "filters": image_filters(jobs[0].settings.learner),
        "rates": rates,
        "seed": seed,
        "constraints": constraints,
    }
    if constraints and common["filters"] is not None:
        raise ValueError(f"{next(iter(constraints))} cannot be combined with filters of all pixels")
    interactions = find_interactions(model.interaction_cst, table, rates)
    fields = jobs[0].history_fields + _evaluation_fields(jobs[0], validation)
    setups = []
    for job in jobs:
        settings = replace(job.settings, learner=job.learner_for(binned))
        job = replace(job, settings=settings)
        directions = job.directions(binned, table.n_columns)
        settings = replace(settings, column_constraints=ColumnConstraints(interactions, directions))
        if is_sampled:
            settings = settings.because_of("time_limit", "n_rows")
        job = replace(job, settings=settings)
        setups.append(
            Setup(
                job,
                binned,
                start=empty_model(job, common, fields),
                common=common,
                owner=owner,
                callbacks=callbacks,
                started=started,
                limit=limit,
                validation=tuple(validation),
                source=source,
                training_rates=training_rates,
            )
        )
    if adapts:
        setups = fit_into_time(setups)
    if before is not None:
        start = _resume(model, setups[0].start, before, setups[0].job.settings.n_rounds)
        setups[0] = replace(setups[0], start=start)
    return setups


def train_given_rounds(setup: Setup[F]) -> F:
    """Train for the number of rounds that was given."""
    n_rounds = setup.job.settings.n_rounds
    assert n_rounds is not None
    record = setup.start.held_out
    if record is not None and record.chosen:
        # It is of another number of rounds.
        setup = replace(setup, start=replace(setup.start, held_out=None))
    return FitRun(setup, n_rounds).train()


def train_watched(setups: Sequence[Setup[F]]) -> F:
    """Train while validation rows watch, after folds have compared several candidates."""
    return run_watched(setups[0] if len(setups) == 1 else choose_on_sample(setups))


def choose_then_refit(setups: Sequence[Setup[F]]) -> F:
    """Choose a candidate on folds, and its rounds if none are given, and train it on all rows.

    A warm start continues with what an earlier fit chose.
    """
    setup, stop_reason = setups[0], "n_rounds"
    record = setup.start.held_out
    if record is None or not record.chosen:
        _check_checkpoints(setup)
        setup, (record, stop_reason, _) = choose_on_folds(setups)
    n_rounds = setup.job.settings.n_rounds
    if n_rounds is None:
        n_rounds = max(record.n_rounds, setup.start.n_rounds)
    else:
        record = replace(record, chosen=False)
    setup = replace(setup, start=replace(setup.start, held_out=record))
    if stop_reason not in _CUT_SHORT:
        stop_reason = "n_rounds"
    return FitRun(setup, n_rounds, choice_stop_reason=stop_reason).train()


class Choice(NamedTuple):
    """A number of rounds that folds chose."""

    record: HeldOutRecord
    stop_reason: str = "n_rounds"
    losses: Reals | None = None  # of the held-out rows or queries


def choose_on_sample(setups: Sequence[Setup[F]]) -> Setup[F]:
    """Return the candidate that is best on folds of at most a fixed number of rows."""
    rows = setups[0].job.rows
    n_rows = rows.partition.n_rows
    samples: Sequence[Setup[F]] = [replace(setup, validation=()) for setup in setups]
    if n_rows > _COMPARED_ROWS:
        drawn = rows.sample(_COMPARED_ROWS / n_rows, setups[0].start.seed).astype(ROW)
        samples = [sample.on_rows(drawn) for sample in samples]
    best, choice = compare_on_folds(samples)
    return replace(setups[best], compared=choice.record.compared)


def choose_on_folds(setups: Sequence[Setup[F]]) -> tuple[Setup[F], Choice]:
    """Return the best candidate, and its number of rounds.

    Candidates are compared as single models, even where the model will be a mean.
    """
    n_bags = setups[0].job.settings.fold_bags
    if len(setups) == 1:
        return setups[0], choose_rounds(setups[0], split_folds(setups[0]), n_bags)
    best, choice = compare_on_folds(setups)
    setup = setups[best]
    if n_bags > 1 and choice.stop_reason not in _CUT_SHORT:
        choice_of_mean = choose_rounds(setup, split_folds(setup), n_bags)
        if choice_of_mean.stop_reason in _CUT_SHORT:
            return setup, choice._replace(stop_reason=choice_of_mean.stop_reason)
        record = replace(choice_of_mean.record, compared=choice.record.compared)
        choice = choice_of_mean._replace(record=record)
    return setup, choice


def compare_on_folds(setups: Sequence[Setup[F]]) -> tuple[int, Choice]:
    """Return the index of the best candidate, and its number of rounds."""
    job, folds = setups[0].job, split_folds(setups[0])
    choices: list[Choice] = []
    leader: _Leader | None = None
    for setup in setups:
        if choices and not job.races:
            # Rankers may read values of columns, which others leave in bins.
            folds = split_folds(setup)
        # Each candidate is measured at its best round, whatever number is given.
        settings = replace(setup.job.settings, n_rounds=None)
        setup = setup.with_job(replace(setup.job, settings=settings))
        choices.append(choose_rounds(setup, folds, leader=leader))
        if not folds:
            return 0, choices[0]
        values = [choice.record.best for choice in choices]
        best = best_candidate(values, job.larger_is_better)
        if job.races:
            leader = _Leader(choices[best].record, setups[best].job.round_ratio)
        if choices[-1].stop_reason == "interrupted":
            break
    min_gains = [_standard_error(choices[0], choice) for choice in choices]
    best = best_candidate(values, job.larger_is_better, min_gains)
    # Processes may differ in the last digit of a standard error.
    best = setups[0].binned.partition.collective.broadcast(best)
    choice = choices[best]
    if choices[-1].stop_reason == "interrupted":
        choice = choice._replace(stop_reason="interrupted")
    compared = dict(zip([setup.job.name for setup in setups], values, strict=False))
    return best, choice._replace(record=replace(choice.record, compared=compared))


def _standard_error(first: Choice, other: Choice) -> float:
    """Return the standard error of the difference of two candidates' mean losses."""
    if first.losses is None or other.losses is None:
        return 0.0
    differences = first.losses - other.losses
    # Some metrics of a query whose documents are all alike are NaN.
    differences = differences[np.isfinite(differences)]
    return float(differences.std()) / math.sqrt(len(differences)) if len(differences) else 0.0


class _Leader(NamedTuple):
    """The best candidate so far."""

    record: HeldOutRecord
    round_ratio: int  # see `Job.round_ratio`


class _Race(Callback):
    """Ends the training of a candidate that is behind the leader at the same point.

    One that takes small steps has more rounds to get there.
    """

    def __init__(self, leader: _Leader, round_ratio: int, larger_is_better: bool) -> None:
        best = np.maximum.accumulate if larger_is_better else np.minimum.accumulate
        self._best = best(leader.record.values).tolist()
        self._ratio = round_ratio / leader.round_ratio
        self._larger_is_better = larger_is_better

    def on_round(self, run: TrainingRun) -> str | None:
        n_rounds = run.history.n_rounds
        if n_rounds < _OPEN_ROUNDS:
            return None
        index = min(max(int(n_rounds / self._ratio), 1), len(self._best)) - 1
        best, value = self._best[index], run.history.last("validation")
        behind = best - value if self._larger_is_better else value - best
        slack = _RACE_SLACK * metric_size(best, self._larger_is_better)
        return "behind another candidate" if behind > slack else None


class FoldRows(NamedTuple):
    """The rows outside of a fold, to train on, and those inside."""

    outside: Setup[Any]
    inside: ValidationSet
    n_inside: int


def split_folds(setup: Setup[F]) -> list[FoldRows]:
    """Return the rows of each fold; none where no row can be held out."""
    folds = []
    for kept, inside in setup.job.rows.folds(setup.start.seed):
        outside, binned = setup.split_rows(kept.astype(ROW), inside.astype(ROW))
        targets = setup.job.rows.fold_targets(inside)
        folds.append(FoldRows(outside, targets._replace(binned=binned), len(inside)))
    return folds


def choose_rounds(
    setup: Setup[F],
    folds: Sequence[FoldRows],
    n_bags: int = 1,
    leader: _Leader | None = None,
) -> Choice:
    """Return the number of rounds that folds choose; training ends if it falls behind a leader.

    Each fold trains `n_bags` of the averaged models.
    """
    if not folds:
        return Choice(HeldOutRecord("too few rows", _ROUNDS_WITHOUT_CHOICE))
    n_rows = setup.binned.partition.n_rows
    source, stride = fold_source([fold.n_inside for fold in folds], n_rows), setup.fold_stride
    settings = replace(setup.job.settings.in_larger_steps(stride), n_bags=n_bags)
    job = replace(setup.job, settings=settings)
    sets = [fold.inside for fold in folds]
    with ExitStack() as stack:
        bags = [[{DEFAULT_NAME: job.monitor(rows)} for _ in range(n_bags)] for rows in sets]
        monitors = [mean_monitors(of_fold)[DEFAULT_NAME] for of_fold in bags]
        expected = len(folds) * n_bags * TYPICAL_ROUNDS // stride
        tasks = []
        for fold, of_fold in zip(folds, bags, strict=True):
            outside = fold.outside.with_job(replace(job, rows=fold.outside.job.rows))
            for b, monitor in enumerate(of_fold):
                bag = outside.bag(b)
                tasks.append(stack.enter_context(bag.task(monitor, bag.start, expected)))
                if b:
                    tasks[-1].learner.follow(tasks[-1 - b].learner)
        best_scores = BestScores(monitors)
        run = TrainingRun(
            job.settings.max_rounds // stride,
            History(("validation", "noise")),
            lambda path: None,
            validates=True,
            started=setup.started,
            larger_is_better=job.larger_is_better,
            stage=f"choosing rounds on {source}",
        )
        # The refit takes time in proportion to its rows and rounds.
        n_trained = n_bags * sum(n_rows - fold.n_inside for fold in folds)
        fraction = n_trained / (n_trained + stride * n_rows * setup.n_bags)
        callbacks = [*make_callbacks(setup, True, fraction, stride), best_scores]
        if leader is not None:
            callbacks.append(_Race(leader, job.round_ratio, job.larger_is_better))
        boost_together(tasks, job.joint_measure(monitors, sets), run, callbacks)
    n_rounds, values = stride * (run.best_round or 1), run.history["validation"]
    record = HeldOutRecord(source, n_rounds, values=values, stride=stride)
    scored = list(zip(sets, best_scores.of(run), strict=False))
    record = job.held_out_record(scored, record, calibrates=True)
    choice = Choice(record, run.stop_reason, job.held_out_losses(scored, record))
    return setup.binned.partition.collective.broadcast(choice)


def fold_source(sizes: Sequence[int], n_rows: int) -> str:
    """Return the name of the rows that choose, from the sizes of the folds.

    Examples
    --------
    >>> fold_source([300, 300], 1200), fold_source([300], 1200)
    ('2 of 4 folds', '25% of the rows')
    """
    if len(sizes) == 1:
        return fraction_source(sizes[0] / n_rows)
    if sum(sizes) == n_rows:
        return f"{len(sizes)} folds"
    return f"{len(sizes)} of {round(n_rows / sizes[0])} folds"


def best_candidate(
    values: Sequence[float], larger_is_better: bool, min_gains: Sequence[float] | float = 0.0
) -> int:
    """Return the index of the best value, of the first and those better by more than `min_gains`.

    Examples
    --------
    >>> best_candidate([0.5, 0.6, 0.7], larger_is_better=True, min_gains=0.1)
    2
    >>> best_candidate([0.5, 0.6, 0.7], larger_is_better=True, min_gains=[0.0, 0.0, 0.3])
    1
    """
    sign = 1.0 if larger_is_better else -1.0
    gains = sign * (np.asarray(values) - values[0])
    counts = gains > min_gains
    counts[0] = True
    return int(np.where(counts, gains, -np.inf).argmax())


def _check_checkpoints(setup: Setup[F]) -> None:
    """Raise if the model cannot be saved where a checkpoint is to be, before rounds are chosen."""
    if setup.binned.partition.is_root:
        for callback in setup.callbacks:
            if isinstance(callback, Checkpoint):
                callback.check(setup.owner._with(setup.start).save)


def _split_validation(
    model: Any, problem: TrainingProblem, rows: Any, eval_sets: Sequence[EvalSet], seed: int
) -> tuple[Any, list[ValidationSet], str]:
    """Return the rows to train on, the sets of validation rows, and the source of these."""
    if eval_sets:
        return rows, [rows.read_eval_set(eval_set) for eval_set in eval_sets], EVAL_SET
    fraction, source = model.validation_fraction, "validation_fraction"
    is_large = problem.rows.partition.n_rows >= NO_REFIT_ROWS
    if fraction is None and problem.chooses_rounds and is_large:
        fraction, source = HOLD_OUT_FRACTION, fraction_source(HOLD_OUT_FRACTION)
    if fraction is None:
        return rows, [], ""
    rows, validation = rows.hold_out(fraction, seed)
    return rows, [validation], source


def _encode_validation(
    validation: ValidationSet, binned: BinnedTable, rates: CategoryRates | None
) -> ValidationSet:
    """Return validation rows in the bins of the training rows."""
    assert validation.table is not None
    assert binned.raw_rows is not None
    table = validation.table
    if rates is not None:
        table = rates.extend(RawRows(table, binned.raw_rows.categories))
    rows = encode(table, binned.bins, filters=binned.raw_rows.filters)
    return validation._replace(table=table, binned=rows)


def _evaluation_fields(job: Job[F], validation: Sequence[ValidationSet]) -> tuple[str, ...]:
    """Return the names of the metrics of validation rows; one of unnamed rows needs none."""
    names = [validation_set.name for validation_set in validation] or [DEFAULT_NAME]
    if names == [DEFAULT_NAME] and len(job.eval_metrics) == 1:
        return ()
    return tuple(evaluation(name, metric) for name in names for metric in job.eval_metrics)


def _bin_rows(X: Any, table: Table, job: Job[F]) -> BinnedTable:
    """Return the binned training rows; the user's own bins where no row is left out."""
    rows, settings, filters = job.rows, job.settings, image_filters(job.settings.learner)
    if isinstance(X, BinnedTable) and rows.table is table and filters is None:
        if not table.ignored:
            return X
        none = [Bins(b.name, np.empty(0), False) for b in X.bins]
        return encode(table, [none[j] if j in table.ignored else b for j, b in enumerate(X.bins)])
    min_fraction = getattr(settings.objective, "min_leaf_weight", 0.0)
    mass = rows.bin_mass(min_fraction > 0)
    n_jobs = n_threads(job.model.n_jobs)
    return fit_encode(rows.table, mass, settings.max_bins, min_fraction, filters, n_jobs)


def _resume(model: Any, start: F, before: Fitted, n_rounds: int | None) -> F:
    """Return the model of the last fit, if more rounds can follow."""
    parameters = signature(type(model)).parameters
    for name in before.unsaved:
        if getattr(model, name) == parameters[name].default:
            raise ValueError(
                f"warm_start: the model was saved without its {name}, which a file cannot hold; "
                f"give it again with set_params({name}=...)"
            )
    if before.edits:
        raise ValueError("warm_start: a model that was edited cannot be trained further")
    start.check_follows(before)
    n_before = before.n_rounds
    if n_rounds is not None and n_rounds < n_before:
        raise ValueError(
            f"n_rounds must be at least {n_before}, the rounds of the last fit, for "
            f"warm_start=True, got {n_rounds}"
        )
    history = before.history.with_fields(start.history.fields)
    history.truncate(n_before)
    return replace(
        start,
        terms=before.terms,
        history=history,
        search_states=before.search_states,
        held_out=before.held_out,
        additive=before.additive,
    )
