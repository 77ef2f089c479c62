"""Time limits: a fit that is short of time skips folds, takes larger steps, or fewer rows."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from edgewise.boosting import Callback, History, TermList, TrainingRun, boost
from edgewise.common.dtypes import ROW
from edgewise.estimators.classification import USUAL_RATE, at_rate, auto_rate
from edgewise.estimators.rows import fraction_source
from edgewise.estimators.run import TYPICAL_ROUNDS, F, Setup
from edgewise.estimators.targets import LabeledRows

# The usual choice of rounds and the fit after it begin if they have time for this many rounds of
# the usual learning rate.
_MIN_ROUNDS_FOR_FOLDS = 400

# Steps grow, up to this rate, so that fewer rounds replace this many usual ones.
_WANTED_ROUNDS, _MAX_RATE = 200, 0.4

# With fewer rounds than this rows are left out instead, but not below this many rows.
_MIN_ROUNDS, _MIN_ROWS = 40, 2_000

# The values to bin for each second of the limit; a core bins a few times as many.
_VALUES_PER_SECOND = 3_000_000

_PROBE_ROUNDS = 4


class Pace(NamedTuple):
    """The plan for a time limit: folds, or larger steps on a fraction of the rows."""

    folds: bool = True
    factor: float = 1.0  # on the learning rate
    fraction: float = 1.0  # of the rows to train on


def sample_for_time(rows: LabeledRows, seconds: float, seed: int) -> LabeledRows:
    """Return a sample of rows that can be binned in a part of the time; all if they can."""
    n_rows, limit = rows.partition.n_rows, rows_for(seconds, rows.table.n_columns)
    return rows if limit >= n_rows else rows.take(rows.sample(limit / n_rows, seed))


def rows_for(seconds: float, n_columns: int) -> int:
    """Return the number of rows that can be binned in a part of the time.

    Examples
    --------
    >>> rows_for(10.0, 30)
    1000000
    """
    return max(_MIN_ROWS, int(_VALUES_PER_SECOND * seconds / max(n_columns, 1)))


def pace_for(n_rounds: float, cost: float, n_rows: int, learning_rate: float | None) -> Pace:
    """Return the pace where there is time for `n_rounds` rounds on all training rows.

    A round of the usual choice and of the fit after it takes `cost` times as long. The learning
    rate is None where it must stay.

    Examples
    --------
    >>> pace_for(5_000, 5.0, 900, 0.2)
    Pace(folds=True, factor=1.0, fraction=1.0)
    >>> pace_for(50, 1.8, 20_000, 0.2)
    Pace(folds=False, factor=2.0, fraction=1.0)
    >>> pace_for(10, 1.8, 20_000, 0.2)
    Pace(folds=False, factor=2.0, fraction=0.25)
    """
    if n_rounds >= _MIN_ROUNDS_FOR_FOLDS * cost:
        return Pace()
    fraction = min(1.0, max(n_rounds / _MIN_ROUNDS, _MIN_ROWS / n_rows))
    factor = 1.0
    if learning_rate is not None:
        wanted = _WANTED_ROUNDS / max(n_rounds / fraction, 1.0)
        factor = max(1.0, min(wanted, _MAX_RATE / learning_rate))
    return Pace(False, factor, fraction)


def fit_into_time(setups: Sequence[Setup[F]]) -> list[Setup[F]]:
    """Return candidates that leave time to choose the rounds: the same, unless time is short.

    Then a part of the rows validates the others, without a refit, in larger steps, and only the
    first candidate is trained. Some time is left for training, however long reading and binning
    took.
    """
    setup = setups[0]
    job, seed, partition = setup.job, setup.start.seed, setup.binned.partition
    folds = [] if setup.validation else job.rows.folds(seed)
    if not (setup.validation or folds):
        return list(setups)
    seconds = partition.collective.broadcast(_seconds_per_round(setup))
    elapsed = partition.collective.broadcast(time.perf_counter() - setup.started)
    limit = max(setup.limit, elapsed + 0.1 * setup.limit)
    setup = replace(setup, limit=limit)
    # Setup and validation take time, too.
    n_rounds, n_rows = 0.8 * (setup.limit - elapsed) / seconds, partition.n_rows
    settings = job.settings
    fold_cost = sum(len(kept) for kept, _ in folds) / (setup.fold_stride * n_rows)
    cost = settings.n_bags + fold_cost * (len(setups) + settings.fold_bags - 1)
    is_free = job.model.learning_rate is None
    if is_free:
        cost *= USUAL_RATE / settings.objective.learning_rate
    if job.model.n_bags is None and settings.n_bags > 1:
        settings = replace(settings, n_bags=1).because_of("time_limit", "n_bags")
        if is_free:
            settings = at_rate(settings, auto_rate(settings.goal, 1))
    rate = settings.objective.learning_rate if is_free else None
    pace = pace_for(n_rounds, cost, n_rows, rate)
    if pace == Pace():
        return [replace(candidate, limit=limit) for candidate in setups]
    if not setup.validation:
        kept, inside = job.rows.deal(5, seed)[0]
        setup, held_out = setup.split_rows(kept.astype(ROW), inside.astype(ROW))
        validation = job.rows.fold_targets(inside)._replace(binned=held_out)
        source = fraction_source(len(inside) / n_rows)
        setup = replace(setup, validation=(validation,), source=source)
    settings = settings.in_larger_steps(pace.factor)
    if pace.factor > 1.0:
        settings = settings.because_of("time_limit", "learning_rate")
    if pace.fraction < 1.0:
        settings = settings.because_of("time_limit", "n_rows")
        setup = setup.on_rows(setup.job.rows.sample(pace.fraction, seed).astype(ROW))
    return [setup.with_job(replace(setup.job, settings=settings))]


def _seconds_per_round(setup: Setup[F]) -> float:
    """Return the time per round, measured in at most about a tenth of the time left."""
    probe = TrainingRun(_PROBE_ROUNDS, History(setup.job.history_fields), lambda path: None)
    clock = _RoundTimes(setup.started + setup.limit)
    with setup.task({}, setup.start, TYPICAL_ROUNDS) as task:
        boost([task], TermList(setup.start.terms), {}, probe, [clock])
    if probe.stop_reason == "interrupted":
        raise KeyboardInterrupt
    # The first round may be a constant, and compile; several rounds may end at once.
    times = clock.times[1:]
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
