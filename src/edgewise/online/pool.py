"""The base class of learners over a pool of experts."""

from abc import ABC, abstractmethod
from typing import Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError


class Pool(BaseEstimator, ABC):
    """A pool of experts whose number is set by `start` or by the first round."""

    n_experts_: int
    n_rounds_: int

    @abstractmethod
    def start(self, n_experts: int) -> Self:
        """Start over with `n_experts` experts; the first round does so implicitly."""

    @property
    def _is_started(self) -> bool:
        return hasattr(self, "n_experts_")

    def _start_if_needed(self, n_experts: int) -> None:
        if not self._is_started:
            self.start(n_experts)

    def _require_start(self) -> None:
        if not self._is_started:
            raise NotFittedError("not started: call start(n_experts) or update() first")

    def _check_n_experts(self, name: str, n_experts: int) -> None:
        """Raise unless there is an entry for every expert."""
        if n_experts == 0:
            raise ValueError(f"{name} must come from at least one expert, got none")
        if self._is_started and n_experts != self.n_experts_:
            raise ValueError(f"{name} must come from {self.n_experts_} experts, got {n_experts}")
