"""The boosting loop, the only one."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise.boosting.callbacks import Callback, Run
from edgewise.boosting.monitor import Monitor
from edgewise.data import BinnedTable, Bins, Table
from edgewise.dtypes import Reals, Signs
from edgewise.learners import CONSTANT, Cut, Learner
from edgewise.model import StumpTerms
from edgewise.objective import REFRESH_EVERY, Hamming, Progress, Vote
from edgewise.search import Exhaustive, Search

logger = logging.getLogger("edgewise")


class TermList:
    """The terms of a run, growing round by round."""

    def __init__(self, before: StumpTerms) -> None:
        self._before = before
        self._new: list[tuple[Any, ...]] = []

    def append(self, cut: Cut, vote: Vote, bins: Sequence[Bins]) -> None:
        """Add a round's term, its bins turned into real thresholds."""
        thresholds = _thresholds(cut, bins)
        self._new.append((cut.columns, thresholds, _missing(cut, bins), vote.alpha, vote.votes))

    def __len__(self) -> int:
        return len(self._before) + len(self._new)

    def pack(self) -> StumpTerms:
        """Return all terms as arrays."""
        if self._new:
            columns, thresholds, missing, alphas, votes = zip(*self._new, strict=True)
            self._before += StumpTerms(
                np.array(columns, dtype=np.int32),
                np.array(thresholds),
                np.array(missing, dtype=np.int8),
                np.array(alphas),
                np.array(votes),
            )
            self._new = []
        return self._before


@dataclass(frozen=True)
class Task:
    """What one run trains on.

    Attributes
    ----------
    table : Table
        The training rows as they came: terms of an earlier fit are replayed on them.
    binned : BinnedTable
        The same rows in bins.
    objective, learner, search :
        The three parts that make the algorithm.
    monitor : Monitor or None
        Validation rows.
    """

    table: Table
    binned: BinnedTable
    objective: Hamming
    learner: Learner
    search: Search
    monitor: Monitor | None = None


def boost(task: Task, terms: TermList, run: Run, callbacks: Sequence[Callback]) -> None:
    """Train until `run.n_rounds` terms are there, or something ends it; say what in `run`.

    Terms that are there already are replayed first: the weights end up as they were, bit for bit,
    and training goes on as if it had never stopped. Ctrl-C ends the training like any other reason
    to stop, with all finished rounds kept.
    """
    started: list[Callback] = []
    try:
        _replay(task, terms.pack())
        for callback in callbacks:
            callback.on_start(run)
            started.append(callback)
        for _ in _rounds(task, terms, run):
            reasons = [callback.on_round(run) for callback in callbacks]
            stopped = next((reason for reason in reasons if reason), None)
            if stopped:
                run.stop_reason = str(stopped)
                break
    except KeyboardInterrupt:
        run.stop_reason = "interrupted"
        logger.warning("training interrupted after %d rounds", run.history.n_rounds)
    run.finished = True
    for callback in started:
        callback.on_end(run)


def _rounds(task: Task, terms: TermList, run: Run) -> Iterator[None]:
    """Train round by round, yielding after each."""
    objective, bins = task.objective, task.binned.bins
    while len(terms) < run.n_rounds:
        _refresh(objective, len(terms))
        chosen = _choose(task)
        if chosen is None:
            run.stop_reason = "no edge"
            return
        cut, signs, vote = chosen
        progress = objective.advance(signs, vote)
        validation = _validate(task.monitor, cut, bins, vote.coefficients)
        terms.append(cut, vote, bins)
        _record(run, vote, progress, validation)
        yield


def _choose(task: Task) -> tuple[Cut, Signs, Vote] | None:
    """Return the round's cut, its outputs and votes, or None if no cut lowers the loss.

    Where none does of the columns that the search looks at, all are looked at.
    """
    searches: list[Search] = [task.search]
    if not isinstance(task.search, Exhaustive):
        searches.append(Exhaustive().start(task.search.columns_, task.search.rng_))
    for search in searches:
        cut = task.objective.find(task.learner, search)
        if cut is not None:
            signs = _signs(task.binned, cut)
            vote = task.objective.vote(signs)
            if vote is not None:
                return cut, signs, vote
    return None


def _replay(task: Task, terms: StumpTerms) -> None:
    """Bring weights and scores to where the given terms left them."""
    monitored = task.monitor
    watched = terms.signs(monitored.table) if monitored is not None else None
    for t, signs in enumerate(terms.signs(task.table)):
        _refresh(task.objective, t)
        task.search.pull()
        vote = task.objective.retake(signs, float(terms.alphas[t]), terms.votes[t])
        task.objective.advance(signs, vote)
        if monitored is not None and watched is not None:
            monitored.advance(next(watched), vote.coefficients)


def _refresh(objective: Hamming, n_rounds: int) -> None:
    if n_rounds and n_rounds % REFRESH_EVERY == 0:
        objective.refresh()


def _validate(monitor: Monitor | None, cut: Cut, bins: Sequence[Bins], moves: Reals) -> float:
    if monitor is None:
        return float("nan")
    abstaining = Cut(cut.columns, cut.first, _missing(cut, bins))
    monitor.advance(_signs(monitor.binned, abstaining), moves)
    return monitor.value()


def _record(run: Run, vote: Vote, progress: Progress, validation: float) -> None:
    run.history.append(
        edge=vote.edge,
        alpha=vote.alpha,
        energy=vote.energy,
        train_error=progress.train_error,
        hamming_loss=progress.hamming_loss,
        pseudo_weight=progress.pseudo_weight,
        validation=validation,
    )


def _signs(binned: BinnedTable, cut: Cut) -> Signs:
    places = zip(cut.columns, cut.first, cut.missing, strict=True)
    signs = [binned.cut(j, first, missing) for j, first, missing in places]
    return signs[0][None] if len(signs) == 1 else np.stack(signs)


def _thresholds(cut: Cut, bins: Sequence[Bins]) -> list[float]:
    """Return the real thresholds; where every value is on the positive side, minus infinity."""
    return [
        float(bins[j].thresholds[first - 1]) if j != CONSTANT and first > 0 else -np.inf
        for j, first in zip(cut.columns, cut.first, strict=True)
    ]


def _missing(cut: Cut, bins: Sequence[Bins]) -> list[int]:
    """Return the outputs for missing values: 0 in columns where training saw none."""
    return [
        side if j == CONSTANT or bins[j].has_missing else 0
        for j, side in zip(cut.columns, cut.missing, strict=True)
    ]
