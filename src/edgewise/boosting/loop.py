"""The boosting loop, the only one."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from edgewise.boosting.callbacks import Callback, TrainingRun
from edgewise.boosting.history import average_rounds, evaluation
from edgewise.boosting.monitor import Monitor, binary_measures
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition
from edgewise.learners import FoundRule, Learner
from edgewise.model import Rule, Terms
from edgewise.model.terms import Packer
from edgewise.objective import REFRESH_EVERY, Objective, TrainedRound, Vote

logger = logging.getLogger("edgewise")


class TermList:
    """The terms of a run, growing round by round; each round adds a term of every bag."""

    def __init__(self, before: Terms, n_bags: int = 1) -> None:
        self._before, self.n_bags = before, n_bags
        self._packer, self._votes = Packer(), list[Vote]()

    def append(self, rule: Rule, vote: Vote) -> None:
        """Add the term of the next round."""
        # Packed now: a tree in training keeps the data that it was built from.
        self._packer.add(rule)
        self._votes.append(vote)

    @property
    def n_rounds(self) -> int:
        """The number of whole rounds."""
        return (len(self._before) + len(self._votes)) // self.n_bags

    def bag(self, b: int) -> Terms:
        """Return the terms of one bag, with its own coefficients."""
        terms = self.pack()[b :: self.n_bags]
        return replace(terms, alphas=terms.alphas * self.n_bags)

    def pack(self) -> Terms:
        """Return all terms as arrays."""
        if self._votes:
            alphas = np.array([vote.alpha for vote in self._votes], dtype=np.float64) / self.n_bags
            votes = np.array([vote.votes for vote in self._votes])
            self._before += self._packer.terms(alphas, votes, self._before.n_cuts)
            self._packer, self._votes = Packer(), []
        return self._before


@dataclass(frozen=True)
class Task:
    """The data, objective and learner of one run."""

    binned: BinnedTable
    objective: Objective
    learner: Learner  # holds the search
    # Returns the same learner with a search of all columns, for rounds in which the search
    # pulled none with an edge; None where the learner searches all anyway.
    fallback: Callable[[], Learner] | None = None
    watched: dict[str, Monitor] = field(default_factory=dict)  # sets of validation rows

    @property
    def monitor(self) -> Monitor | None:
        """The set of validation rows that decides: the last."""
        return next(reversed(self.watched.values()), None)

    @property
    def others(self) -> list[Monitor]:
        """The sets of validation rows that are only recorded."""
        return list(self.watched.values())[:-1]


def boost(
    tasks: Sequence[Task],
    terms: TermList,
    monitors: Mapping[str, Monitor],
    run: TrainingRun,
    callbacks: Sequence[Callback],
) -> None:
    """Train until there are `run.n_rounds` rounds or something else ends the training.

    There is a task for each bag; the model is the mean of the bags, whose validation rows the
    `monitors` measure. Existing terms are replayed first, which restores the weights bit for bit,
    and training continues as if it had never stopped. Ctrl-C is a reason to stop like any other:
    all finished rounds are kept.
    """
    rounds = _rounds(tasks, terms, monitors, run)
    _run_with_callbacks(rounds, run, callbacks, tasks[0].binned.partition)


def boost_together(
    tasks: Sequence[Task],
    measure: Callable[[], dict[str, float]],
    run: TrainingRun,
    callbacks: Sequence[Callback],
) -> None:
    """Train several tasks side by side, round by round.

    The history records what `measure` returns for their validation rows; no terms are kept.
    """
    _run_with_callbacks(
        _rounds_together(tasks, measure, run), run, callbacks, tasks[0].binned.partition
    )


def _run_with_callbacks(
    rounds: Iterator[None],
    run: TrainingRun,
    callbacks: Sequence[Callback],
    partition: Partition,
) -> None:
    """Run the rounds, and the callbacks after each; the first process decides when to stop.

    Whatever ends the training, `on_end` runs for every callback that was started.
    """
    started: list[Callback] = []
    errors: list[BaseException] = []
    try:
        for callback in callbacks:
            callback.on_start(run)
            started.append(callback)
        for _ in rounds:
            reasons = [callback.on_round(run) for callback in callbacks]
            reason = next((reason for reason in reasons if reason), None)
            if partition.any(reason and partition.is_root):
                run.stop_reason = str(partition.collective.broadcast(reason))
                break
    except KeyboardInterrupt:
        run.stop_reason = "interrupted"
        logger.warning("training interrupted after %d rounds", run.history.n_rounds)
    except BaseException as error:
        run.stop_reason = "failed"
        errors.append(error)
    run.finished = True
    for callback in started:
        try:
            callback.on_end(run)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _rounds(
    tasks: Sequence[Task], terms: TermList, monitors: Mapping[str, Monitor], run: TrainingRun
) -> Iterator[None]:
    """Train all bags round by round, yielding after each; training ends where it does for any."""
    for b, task in enumerate(tasks):
        _replay(task, terms.bag(b))
        if b:
            task.learner.follow(tasks[0].learner)
    monitor = [*monitors.values()][-1] if monitors else None
    measures = [
        binary_measures(task.objective, monitor, task.binned.partition)
        for task in (tasks if monitor is None else tasks[:1])
    ]
    for steps in zip(*(_steps(task, terms.n_rounds, run.n_rounds) for task in tasks), strict=False):
        reason = next((step for step in steps if isinstance(step, str)), None)
        if reason is not None:
            run.stop_reason = reason
            if reason == "no edge" and not len(terms.pack().columns):
                logger.warning("no rule has an edge on the training rows: all rows score the same")
            return
        rounds = [
            _finish_round(task, step, terms)
            for task, step in zip(tasks, steps, strict=True)
            if not isinstance(step, str)
        ]
        # Measures of validation rows replace measures of training rows.
        measured = average_rounds([measure() for measure in measures])
        validation = _validation_metrics(monitors)
        run.history.append(**{**average_rounds(rounds), **validation, **measured})
        yield


def _finish_round(task: Task, step: "_Step", terms: TermList) -> dict[str, float]:
    """Add the term of a round, and return its quantities."""
    rule, vote, progress = step.finish()
    for other in task.others:
        other.follow(rule, vote.coefficients)
    terms.append(rule, vote)
    step_sizes = {"edge": vote.edge, "alpha": vote.alpha, "energy": vote.energy}
    return {**step_sizes, **progress._asdict(), **_search_cost(task, step.fell_back)}


def _rounds_together(
    tasks: Sequence[Task], measure: Callable[[], dict[str, float]], run: TrainingRun
) -> Iterator[None]:
    """Train all tasks by one round, yielding after each; one that has ended stays as it is."""
    active = set(range(len(tasks)))
    steps = [_steps(task, 0, run.n_rounds) for task in tasks]
    for _ in range(run.n_rounds):
        for i in sorted(active):
            step = next(steps[i])
            if isinstance(step, str):
                active.remove(i)
                run.stop_reason = step
        if not active:
            return
        run.stop_reason = "n_rounds"
        run.history.append(**measure())
        yield


class _Step(NamedTuple):
    """A round that has been trained."""

    finish: Callable[[], TrainedRound]
    fell_back: bool = False  # whether all columns and rows were searched after some of them


def _steps(task: Task, t: int, n_rounds: int) -> Iterator[_Step | str]:
    """Train from round `t` on, yielding each round, or why training ended before `n_rounds`.

    Where the objective can, several rounds are trained before the first of them is yielded.
    """
    monitor = task.monitor
    while t < n_rounds:
        _hand_over(task)
        before, watched = t, None if monitor is None else (monitor.binned, monitor.scores)
        for ahead in task.objective.train_ahead(task.learner, t, n_rounds - t, watched):
            if monitor is not None:
                monitor.set_scores(ahead.validation_scores)
            t += 1
            yield _Step(ahead.finish)
        if t == before:
            yield _step(task, t)
            t += 1


def _hand_over(task: Task) -> None:
    """Continue with a faster backend if one is ready: both keep the same state."""
    backend = task.objective.backend.upgrade()
    if backend is not task.objective.backend:
        task.objective.hand_over(backend)
        for monitor in task.watched.values():
            monitor.backend = backend


def _step(task: Task, t: int) -> _Step | str:
    """Train one round; return the reason where training has ended."""
    if task.objective.is_fitted:
        return "fitted"
    _refresh(task.objective, t)
    task.objective.begin_round(t)
    chosen = _choose(task, t)
    if chosen is None:
        return "no edge"
    rule, vote, fell_back = chosen
    progress = task.objective.advance(rule, vote)
    if task.monitor is not None:
        task.monitor.follow(rule, vote.coefficients)
    return _Step(partial(TrainedRound, rule, vote, progress), fell_back)


def _choose(task: Task, t: int) -> tuple[Rule, Vote, bool] | None:
    """Return the round's rule and votes, or None if no rule lowers the loss.

    If none does on the round's columns and rows, all are searched; the last value is whether they
    were. If none does even then, the first round takes a constant where the objective has one.
    """
    objective, fell_back = task.objective, False
    chosen = _vote(task, objective.find(task.learner, t))
    if chosen is None and task.fallback is not None:
        fell_back = True
        chosen = _vote(task, objective.find(task.fallback(), t, everything=True))
    if chosen is None and t == 0:
        chosen = _vote(task, objective.find_constant())
    return None if chosen is None else (*chosen, fell_back)


def _search_cost(task: Task, fell_back: bool) -> dict[str, float]:
    """Return the number of columns that the round searched, and the fraction of the work saved."""
    learners = list(task.learner.column_learners())
    n_searched = sum(learner.n_searched_ for learner in learners)
    n_offered = sum(learner.n_offered_ for learner in learners)
    work = n_searched * task.objective.search_cost
    if fell_back:
        assert task.fallback is not None
        n_again = sum(learner.n_searched_ for learner in task.fallback().column_learners())
        n_searched, n_offered = n_searched + n_again, max(n_offered, n_again)
        work += n_again
    # A round that searched twice took more work than one that searches everything once.
    return {"columns": n_searched, "saved": max(1.0 - work / n_offered, 0.0) if n_offered else 0.0}


def _vote(task: Task, found: FoundRule | None) -> tuple[Rule, Vote] | None:
    vote = None if found is None else task.objective.vote(found)
    return None if found is None or vote is None else (found.rule, vote)


def _replay(task: Task, terms: Terms) -> None:
    """Bring weights and scores to where the given terms left them."""
    if len(terms) == 0:
        return
    rows = task.binned.raw_rows
    assert rows is not None
    used = np.unique(terms.columns).tolist()
    rows.read(used)
    watched = []
    for monitor in task.watched.values():
        if monitor.binned.raw_rows is not None:
            monitor.binned.raw_rows.read(used)
            watched.append((monitor, terms.outputs(monitor.binned.raw_rows)))
    for t in range(len(terms)):
        _refresh(task.objective, t)
        task.objective.begin_round(t)
        rule = terms.rule(t)
        vote = task.objective.evaluate_vote(rule, float(terms.alphas[t]), terms.votes[t])
        task.objective.advance(rule, vote)
        for monitor, outputs in watched:
            monitor.advance(next(outputs), vote.coefficients)


def _refresh(objective: Objective, n_rounds: int) -> None:
    if n_rounds and n_rounds % REFRESH_EVERY == 0:
        objective.refresh()


def _validation_metrics(monitors: Mapping[str, Monitor]) -> dict[str, float]:
    """Return the metrics of all validation sets, and as `validation` the one that decides."""
    metrics: dict[str, float] = {}
    validation = math.nan
    for name, monitor in monitors.items():
        values = monitor.values()
        metrics |= {evaluation(name, metric): value for metric, value in values.items()}
        validation = next(iter(values.values()))
    return {**metrics, "validation": validation}
