"""The number of rounds, chosen on folds that are trained side by side."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from edgewise.boosting import History, TrainingRun, boost_together
from edgewise.common.dtypes import ROW
from edgewise.estimators.defaults import ROUNDS_WITHOUT_CHOICE, TYPICAL_ROUNDS, fraction_source
from edgewise.estimators.fitted import HeldOutRecord
from edgewise.estimators.run import BestScores, F, Setup, make_callbacks
from edgewise.estimators.validation import DEFAULT_NAME


def choose_rounds(setup: Setup[F]) -> tuple[HeldOutRecord, str]:
    """Return the record of the folds, which chose the number of rounds, and why they ended."""
    folds = setup.job.rows.folds(setup.start.seed)
    if not folds:
        return HeldOutRecord("too few rows", ROUNDS_WITHOUT_CHOICE), "n_rounds"
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
