"""What learners over a pool of experts share: the pool begins with the first round."""

from typing import Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError


class Pool(BaseEstimator):
    """A pool of experts whose number is known from the first round, and stays."""

    n_experts_: int
    n_rounds_: int

    def start(self, n_experts: int) -> Self:
        """Begin anew with `n_experts` experts."""
        raise NotImplementedError

    @property
    def _started(self) -> bool:
        return hasattr(self, "n_experts_")

    def _begin(self, n_experts: int) -> None:
        """Start if it has not been done."""
        if not self._started:
            self.start(n_experts)

    def _require_start(self) -> None:
        if not self._started:
            raise NotFittedError("there are no experts yet: call start(n_experts) or give a round")

    def _check_width(self, name: str, n_experts: int) -> None:
        """Raise unless a round has an entry for each expert."""
        if n_experts == 0:
            raise ValueError(f"{name} must come from at least one expert, got none")
        if self._started and n_experts != self.n_experts_:
            raise ValueError(f"{name} must come from {self.n_experts_} experts, got {n_experts}")
