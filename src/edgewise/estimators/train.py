"""How every boosted estimator trains: from X and its targets to the record of the model."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from edgewise.boosting import (
    Checkpoint,
    History,
    TimeLimit,
    TrainingRun,
    boost_together,
    check_callbacks,
    evaluation,
)
from edgewise.common import checks
from edgewise.common.dtypes import ROW
from edgewise.common.threads import n_threads
from edgewise.data import BinnedTable, RawRows, Table, categories_of, encode, fit_encode
from edgewise.data.rates import CategoryRates
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

C = TypeVar("C")
F = TypeVar("F", bound=Fitted)
T = TypeVar("T")

NO_REFIT_ROWS, HOLD_OUT_FRACTION = 50_000, 0.1
"""From this many rows on, a fraction of them chooses, and the model of the others stays."""

# Where no row can be held out.
_ROUNDS_WITHOUT_CHOICE = 50


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
    elif setups[0].job.settings.n_rounds is not None:
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
    rates = None
    if problem.uses_rates and (fitted_rates := fit_rates(rows, seed)):
        rates, extended = fitted_rates
        rows = replace(rows, table=extended)
    jobs = problem.make_jobs(rows, seed)
    binned = _bin_rows(X, table, jobs[0])
    validation = [_encode_validation(held_out, binned, rates) for held_out in validation]
    common = columns._asdict() | {
        "categories": categories_of(binned.bins),
        "filters": image_filters(jobs[0].settings.learner),
        "rates": rates,
        "seed": seed,
    }
    fields = jobs[0].history_fields + _evaluation_fields(jobs[0], validation)
    setups = []
    for job in jobs:
        settings = replace(job.settings, learner=job.learner_for(binned))
        if is_sampled:
            settings = settings.because_of("time_limit", "n_rows")
        job = replace(job, settings=settings)
        start, times = empty_model(job, common, fields), (started, limit)
        setups.append(
            Setup(job, binned, start, common, owner, callbacks, *times, tuple(validation), source)
        )
    if adapts:
        setups = [fit_into_time(setups[0])]
    if before is not None:
        start = _resume(model, setups[0].start, before, setups[0].job.settings.n_rounds)
        setups[0] = replace(setups[0], start=start)
    return setups


def train_given_rounds(setup: Setup[F]) -> F:
    """Train for the number of rounds that was given."""
    n_rounds = setup.job.settings.n_rounds
    assert n_rounds is not None
    return FitRun(replace(setup, start=replace(setup.start, held_out=None)), n_rounds).train()


def train_watched(setups: Sequence[Setup[F]]) -> F:
    """Train every candidate while validation rows watch, and return the best."""
    models = compare_candidates(setups, run_watched, lambda model: model.stop_reason)
    return models[_best_index(setups, [fitted.best_validation for fitted in models])]


def choose_then_refit(setups: Sequence[Setup[F]]) -> F:
    """Choose a candidate and its number of rounds on folds, and train it on all rows.

    A warm start continues with what an earlier fit chose.
    """
    setup, stop_reason = setups[0], "n_rounds"
    record = setup.start.held_out
    if record is None or not record.chosen:
        _check_checkpoints(setup)
        collective = setup.binned.partition.collective
        choices = compare_candidates(
            setups,
            lambda setup: collective.broadcast(choose_rounds(setup.with_job(setup.job))),
            lambda choice: choice[1],
        )
        values = [record.best for record, _ in choices]
        best = _best_index(setups, values)
        setup, (record, stop_reason) = setups[best], choices[best]
        if len(setups) > 1:
            names = [setup.job.name for setup in setups]
            compared = dict(zip(names, values, strict=False))
            record = replace(record, compared=compared)
    setup = replace(setup, start=replace(setup.start, held_out=record))
    n_rounds = max(record.n_rounds, len(setup.start.terms))
    if stop_reason not in ("interrupted", "time limit"):
        stop_reason = "n_rounds"
    return FitRun(setup, n_rounds, choice_stop_reason=stop_reason).train()


def choose_rounds(setup: Setup[F]) -> tuple[HeldOutRecord, str]:
    """Return the record of the folds, which chose the number of rounds, and why they ended."""
    folds = setup.job.rows.folds(setup.start.seed)
    if not folds:
        return HeldOutRecord("too few rows", _ROUNDS_WITHOUT_CHOICE), "n_rounds"
    n_rows, n_trained = setup.binned.partition.n_rows, sum(len(kept) for kept, _ in folds)
    source, stride = fold_source([len(inside) for _, inside in folds], n_rows), setup.fold_stride
    job = replace(setup.job, settings=setup.job.settings.in_larger_steps(stride))
    setup = replace(setup, job=job)
    with ExitStack() as stack:
        sets = [
            job.rows.fold_targets(inside)._replace(binned=setup.select(inside.astype(ROW)))
            for _, inside in folds
        ]
        monitors = [job.monitor(validation) for validation in sets]
        expected = len(folds) * TYPICAL_ROUNDS // stride
        tasks = [
            stack.enter_context(
                setup.on_rows(kept.astype(ROW)).task({DEFAULT_NAME: monitor}, setup.start, expected)
            )
            for (kept, _), monitor in zip(folds, monitors, strict=True)
        ]
        best_scores = BestScores(monitors)
        run = TrainingRun(
            job.settings.max_rounds // stride,
            History(("validation",)),
            lambda path: None,
            validates=True,
            started=setup.started,
            larger_is_better=job.larger_is_better,
            stage=f"choosing rounds on {source}",
        )
        # The refit takes time in proportion to its rows and rounds.
        fraction = n_trained / (n_trained + stride * n_rows)
        callbacks = [*make_callbacks(setup, True, fraction, stride), best_scores]
        boost_together(tasks, job.joint_value(monitors, sets), run, callbacks)
    n_rounds, values = stride * (run.best_round or 1), run.history["validation"]
    record = HeldOutRecord(source, n_rounds, values=values, stride=stride)
    scored = list(zip(sets, best_scores.of(run), strict=False))
    return job.held_out_record(scored, record, calibrates=True), run.stop_reason


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


def compare_candidates(
    candidates: Iterable[C], train: Callable[[C], T], stop_reason: Callable[[T], str]
) -> list[T]:
    """Train candidates one after the other; an interrupt ends the comparison."""
    results = []
    for candidate in candidates:
        results.append(train(candidate))
        if stop_reason(results[-1]) == "interrupted":
            break
    return results


def best_candidate(values: Sequence[float], larger_is_better: bool, min_gain: float = 0.0) -> int:
    """Return the index of the best value: 0 unless another is better by more than `min_gain`.

    Examples
    --------
    >>> best_candidate([0.5, 0.6, 0.7], larger_is_better=True, min_gain=0.1)
    2
    >>> best_candidate([0.5, 0.6, 0.7], larger_is_better=True, min_gain=0.3)
    0
    """
    gains = [value if larger_is_better else -value for value in values]
    best = max(range(len(gains)), key=gains.__getitem__)
    return best if gains[best] - gains[0] > min_gain else 0


def _best_index(setups: Sequence[Setup[F]], values: list[float]) -> int:
    job = setups[0].job
    return best_candidate(values, job.larger_is_better, job.min_gain)


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
        return X
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
    start.check_follows(before)
    n_before = len(before.terms)
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
    )
