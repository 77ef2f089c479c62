"""How an estimator runs the boosting loop and keeps what it leaves."""

from collections.abc import Callable
from copy import copy
from inspect import signature
from typing import Any, Self

import numpy as np
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
from edgewise.estimators.trained import TrainedModel
from edgewise.model import Terms


class Trainable(TrainedModel):
    """An estimator that trains by boosting."""

    n_rounds: int
    patience: int | None
    time_limit: float | None
    random_state: Any
    verbose: int
    callbacks: Any
    n_rounds_: int
    best_iteration_: int
    stop_reason_: str

    def _train(self, task: Task, terms: TermList, history: History, started: float) -> None:
        """Run the loop and keep what it leaves, whatever ended it."""

        def save(path: Any) -> None:
            partly = copy(self)
            kept = run.best_round if run.finished else None
            partly._keep(terms.pack(), copy(history), kept, larger)
            partly.stop_reason_ = run.stop_reason if run.finished else "checkpoint"
            partly.save(path)

        validates = task.monitor is not None
        larger = task.monitor is not None and task.monitor.larger_is_better
        run = Run(self.n_rounds, history, save, validates, started=started, larger_is_better=larger)
        callbacks: list[Callback] = [ProgressBar()] if self.verbose else []
        if self.patience is not None:
            callbacks.append(EarlyStopping(self.patience))
        if self.time_limit is not None:
            callbacks.append(TimeLimit(self.time_limit))
        boost(task, terms, run, [*callbacks, *check_callbacks(self.callbacks)])
        self._keep(terms.pack(), history, run.best_round, larger)
        self.stop_reason_ = run.stop_reason

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
