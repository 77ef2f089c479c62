"""How an estimator runs the boosting loop and keeps what it leaves."""

from collections.abc import Callable
from copy import copy
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from edgewise.boosting import (
    Callback,
    EarlyStopping,
    History,
    ProgressBar,
    Run,
    Task,
    TermList,
    TimeLimit,
    boost,
    check_callbacks,
)
from edgewise.data import BinnedTable
from edgewise.estimators.trained import TrainedModel
from edgewise.learners import Learner
from edgewise.model import Terms
from edgewise.search import Search


class _Searches(Callback):
    """Keeps what searches knew when the best round so far was complete.

    Early stopping ends a model there, and training may go on from there.
    """

    def __init__(self, learner: Learner, n_rounds: int) -> None:
        self._parts = list(learner.column_learners())
        self._learns = any(part.search_.learns for part in self._parts)
        self._known = {n_rounds: self._now(n_rounds)}

    def on_round(self, run: Run) -> None:
        """Keep the states of this round, and of the best one so far."""
        # Which round is the best may be said by a callback that comes after this one, and so is
        # known in the next round.
        n_rounds = run.history.n_rounds
        if self._learns:
            best = {n: known for n, known in self._known.items() if n == run.best_round}
            self._known = {**best, n_rounds: self._now(n_rounds)}

    def states(self, n_rounds: int) -> list[dict[str, NDArray]]:
        """Return the states after so many rounds; nothing, where they are not known any more."""
        if n_rounds in self._known:
            return self._known[n_rounds]
        # An interrupt may have come before the last round was kept.
        if n_rounds == max(self._known) + 1:
            return self._now(n_rounds)
        return [{} for _ in self._parts]

    def _now(self, n_rounds: int) -> list[dict[str, NDArray]]:
        return [part.search_.state(n_rounds) for part in self._parts]


class Trainable(TrainedModel):
    """An estimator that trains by boosting."""

    n_rounds: int
    early_stopping_rounds: int | None
    time_limit: float | None
    random_state: Any
    verbose: int
    callbacks: Any
    n_rounds_: int
    best_iteration_: int
    stop_reason_: str
    _seed: int
    _search_states: list[dict[str, NDArray]]

    def _train(self, task: Task, terms: TermList, history: History, started: float) -> None:
        """Run the loop and keep what it leaves, whatever ended it."""
        searches = _Searches(task.learner, len(terms))

        def save(path: Any) -> None:
            partly = copy(self)
            kept = run.best_round if run.finished else None
            partly._keep(terms.pack(), copy(history), kept, larger)
            partly._search_states = searches.states(partly.n_rounds_)
            partly.stop_reason_ = run.stop_reason if run.finished else "checkpoint"
            partly.save(path)

        validates = task.monitor is not None
        larger = task.monitor is not None and task.monitor.larger_is_better
        run = Run(self.n_rounds, history, save, validates, started=started, larger_is_better=larger)
        callbacks: list[Callback] = [ProgressBar()] if self.verbose else []
        if self.early_stopping_rounds is not None:
            callbacks.append(EarlyStopping(self.early_stopping_rounds))
        if self.time_limit is not None:
            callbacks.append(TimeLimit(self.time_limit))
        # Before those that may save the model.
        watching = [searches, *callbacks, *check_callbacks(self.callbacks)]
        boost(task, terms, run, watching)
        self._keep(terms.pack(), history, run.best_round, larger)
        self._search_states = searches.states(self.n_rounds_)
        self.stop_reason_ = run.stop_reason

    def _ready(self, learner: Learner, table: BinnedTable, search: Search, going_on: bool) -> Any:
        """Return the learner, ready for a run; going on, with what its searches have learned."""
        ready = learner.ready(table, search, self._seed)
        if going_on and search.learns and any(self._search_states):
            parts = list(ready.column_learners())
            if len(parts) != len(self._search_states):
                raise ValueError("warm_start: learner must be as in the last fit")
            try:
                for part, state in zip(parts, self._search_states, strict=True):
                    if state:
                        part.search_.restore(state)
            except ValueError as error:
                raise ValueError(
                    f"warm_start: search must be as in the last fit: {error}"
                ) from error
        return ready

    def _keep(
        self, terms: Terms, history: History, best_round: int | None, larger_is_better: bool
    ) -> None:
        """Take over terms and history; after early stopping, the rounds up to the best."""
        # An interrupt may have come between a term and its record.
        whole = min(len(terms), history.n_rounds)
        history.truncate(whole)
        validation = history["validation"]
        validated = whole > 0 and not np.isnan(validation).all()
        best = np.nanargmax if larger_is_better else np.nanargmin
        self.best_iteration_ = int(best(validation)) + 1 if validated else whole
        self.terms_ = terms[: whole if best_round is None else min(best_round, whole)]
        self.n_rounds_ = len(self.terms_)
        self.history_ = history
        self._prepare()

    def _draw_seed(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(2**31))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"random_state must be an int, a RandomState or None: {error}"
            ) from error

    def _taken_over(self, train: Callable[[Any], None]) -> Self:
        """Train a draft and take it over at the end, so that a fit that fails changes nothing."""
        draft = copy(self)
        train(draft)
        self.__dict__ = draft.__dict__
        return self

    def _check_unsaved(self) -> None:
        """Raise where a model from a file goes on without a setting that files cannot hold."""
        parameters = signature(type(self)).parameters
        for name in getattr(self, "_unsaved", ()):
            if getattr(self, name) == parameters[name].default:
                raise ValueError(
                    f"warm_start: the model was saved without its {name}, which a file cannot "
                    f"hold; give it again with set_params({name}=...)"
                )

    def _to_go_on_from(self, kind: type[Terms]) -> tuple[Terms, History]:
        """Return the terms and history of the last fit."""
        if self.n_rounds < self.n_rounds_:
            raise ValueError(
                f"n_rounds={self.n_rounds} must be at least {self.n_rounds_}, the number of rounds "
                "there are already, when warm_start=True"
            )
        if not isinstance(self.terms_, kind):
            raise ValueError("warm_start: learner must be as in the last fit")
        history = copy(self.history_)
        history.truncate(self.n_rounds_)
        return self.terms_, history
