"""The boosting loop, the only one."""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from edgewise.boosting.callbacks import Callback, TrainingRun
from edgewise.boosting.history import evaluation
from edgewise.boosting.monitor import Monitor, binary_measures
from edgewise.data import BinnedTable
from edgewise.data.partition import Partition
from edgewise.learners import Found, Learner
from edgewise.model import Rule, Terms, TreeRule
from edgewise.objective import REFRESH_EVERY, Objective, Taken, Vote

logger = logging.getLogger("edgewise")


class TermList:
    """The terms of a run, growing round by round."""

    def __init__(self, before: Terms) -> None:
        self._before = before
        self._new: list[tuple[Rule, Vote]] = []

    def append(self, rule: Rule, vote: Vote) -> None:
        """Add a round's term."""
        if isinstance(rule, TreeRule):
            # Made now: until then a tree keeps what it was made from.
            _ = rule.nodes
        self._new.append((rule, vote))

    def __len__(self) -> int:
        return len(self._before) + len(self._new)

    def pack(self) -> Terms:
        """Return all terms as arrays."""
        if self._new:
            rules, taken = zip(*self._new, strict=True)
            alphas, votes = [vote.alpha for vote in taken], np.array([v.votes for v in taken])
            self._before += Terms.pack(rules, alphas, votes, self._before.n_cuts)
            self._new = []
        return self._before


@dataclass(frozen=True)
class Task:
    """What one run trains on."""

    binned: BinnedTable
    objective: Objective
    learner: Learner  # holds the search
    # Returns the same learner with a search of all columns, for rounds in which the search
    # pulled none with an edge; None where that is what the learner does anyway.
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


def boost(task: Task, terms: TermList, run: TrainingRun, callbacks: Sequence[Callback]) -> None:
    """Train until `run.n_rounds` terms are there, or something ends it; say what in `run`.

    Terms that are there already are replayed first: the weights end up as they were, bit for bit,
    and training goes on as if it had never stopped. Ctrl-C ends the training like any other reason
    to stop, with all finished rounds kept.
    """
    _watch(_rounds(task, terms, run), run, callbacks, task.binned.partition)


def boost_together(
    tasks: Sequence[Task],
    value: Callable[[], float],
    run: TrainingRun,
    callbacks: Sequence[Callback],
) -> None:
    """Train several tasks round by round side by side, as :func:`boost` trains one.

    The history of the run has the `value` of their validation rows alone; no terms are kept.
    """
    _watch(_rounds_together(tasks, value, run), run, callbacks, tasks[0].binned.partition)


def _watch(
    rounds: Iterator[None],
    run: TrainingRun,
    callbacks: Sequence[Callback],
    partition: Partition,
) -> None:
    """Run the rounds, and the callbacks after each; all of them end, also if one fails.

    The first process decides when to stop.
    """
    started: list[Callback] = []
    try:
        for callback in callbacks:
            callback.on_start(run)
            started.append(callback)
        for _ in rounds:
            reasons = [callback.on_round(run) for callback in callbacks]
            stopped = next((reason for reason in reasons if reason), None)
            if partition.any(stopped and partition.is_root):
                run.stop_reason = str(partition.collective.broadcast(stopped))
                break
    except KeyboardInterrupt:
        run.stop_reason = "interrupted"
        logger.warning("training interrupted after %d rounds", run.history.n_rounds)
    run.finished = True
    failed: list[Exception] = []
    for callback in started:
        try:
            callback.on_end(run)
        except Exception as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _rounds(task: Task, terms: TermList, run: TrainingRun) -> Iterator[None]:
    """Train round by round, yielding after each."""
    _replay(task, terms.pack())
    measure = binary_measures(task.objective, task.monitor, task.binned.partition)
    for step in _steps(task, len(terms), run.n_rounds):
        if isinstance(step, str):
            run.stop_reason = step
            if step == "no edge" and not len(terms.pack().columns):
                logger.warning("no rule has an edge on the training rows: all rows score the same")
            return
        rule, vote, progress = step.taken()
        terms.append(rule, vote)
        for other in task.others:
            other.follow(rule, vote.coefficients)
        noted = {**progress._asdict(), **measure(), **_looked(task, step.fell_back)}
        run.history.append(
            edge=vote.edge,
            alpha=vote.alpha,
            energy=vote.energy,
            **_evaluated(task),
            **noted,
        )
        yield


def _rounds_together(
    tasks: Sequence[Task], value: Callable[[], float], run: TrainingRun
) -> Iterator[None]:
    """Train all tasks by one round, yielding after each; one that has ended stays as it is."""
    growing = set(range(len(tasks)))
    steps = [_steps(task, 0, run.n_rounds) for task in tasks]
    for _ in range(run.n_rounds):
        for place in sorted(growing):
            step = next(steps[place])
            if isinstance(step, str):
                growing.remove(place)
                run.stop_reason = step
        if not growing:
            return
        run.stop_reason = "n_rounds"
        run.history.append(validation=value())
        yield


class _Step(NamedTuple):
    """A round that has been trained."""

    taken: Callable[[], Taken]
    fell_back: bool = False  # whether all columns and rows were searched after some of them


def _steps(task: Task, t: int, n_rounds: int) -> Iterator[_Step | str]:
    """Train from round `t` on, yielding after each; at the end, why there is no other.

    Where the objective can, several rounds are trained before the first of them is yielded.
    """
    monitor = task.monitor
    while t < n_rounds:
        before, watched = t, None if monitor is None else (monitor.binned, monitor.scores)
        for leapt in task.objective.leap(task.learner, t, n_rounds - t, watched):
            if monitor is not None:
                monitor.scores = leapt.watched
            t += 1
            yield _Step(leapt.taken)
        if t == before:
            yield _step(task, t)
            t += 1


def _step(task: Task, t: int) -> _Step | str:
    """Train one round; return why there is none where training has ended."""
    if task.objective.is_fitted:
        return "fitted"
    _refresh(task.objective, t)
    task.objective.follow(t)
    chosen = _choose(task, t)
    if chosen is None:
        return "no edge"
    rule, vote, fell_back = chosen
    progress = task.objective.advance(rule, vote)
    if task.monitor is not None:
        task.monitor.follow(rule, vote.coefficients)
    return _Step(partial(Taken, rule, vote, progress), fell_back)


def _choose(task: Task, t: int) -> tuple[Rule, Vote, bool] | None:
    """Return the round's rule and votes, or None if no rule lowers the loss.

    If none does on the round's columns and rows, all are searched; the last value is whether they
    were. If none does even then, the first round takes a constant where the objective has one.
    """
    objective, fell_back = task.objective, False
    chosen = _voted(task, objective.find(task.learner, t))
    if chosen is None and task.fallback is not None:
        fell_back = True
        chosen = _voted(task, objective.find(task.fallback(), t, everything=True))
    if chosen is None and t == 0:
        chosen = _voted(task, objective.constant())
    return None if chosen is None else (*chosen, fell_back)


def _looked(task: Task, fell_back: bool) -> dict[str, float]:
    """Return the number of columns that the round searched, and the share of the work saved."""
    parts = list(task.learner.column_learners())
    looked_at = sum(part.looked_at_ for part in parts)
    offered = sum(part.offered_ for part in parts)
    work = looked_at * task.objective.searched
    if fell_back:
        assert task.fallback is not None
        again = sum(part.looked_at_ for part in task.fallback().column_learners())
        looked_at, offered, work = looked_at + again, max(offered, again), work + again
    # A round that searched twice took more work than one that searches everything once.
    return {"columns": looked_at, "saved": max(1.0 - work / offered, 0.0) if offered else 0.0}


def _voted(task: Task, found: Found | None) -> tuple[Rule, Vote] | None:
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
        task.objective.follow(t)
        rule = terms.rule(t)
        vote = task.objective.retake(rule, float(terms.alphas[t]), terms.votes[t])
        task.objective.advance(rule, vote)
        for monitor, outputs in watched:
            monitor.advance(next(outputs), vote.coefficients)


def _refresh(objective: Objective, n_rounds: int) -> None:
    if n_rounds and n_rounds % REFRESH_EVERY == 0:
        objective.refresh()


def _evaluated(task: Task) -> dict[str, float]:
    """Return the metrics of validation rows, and as `validation` the one that decides."""
    noted, decides = {}, math.nan
    for name, monitor in task.watched.items():
        values = monitor.values()
        noted.update({evaluation(name, metric): value for metric, value in values.items()})
        decides = next(iter(values.values()))
    return {**noted, "validation": decides}
