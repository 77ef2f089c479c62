"""What packed terms have in common, whatever their rules."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from edgewise.common.dtypes import Reals, Signs
from edgewise.model.rules import Rule, Source


class PackedTerms(ABC):
    """Terms h(x) = alpha_t v_t phi_t(x), of which `rule` gives phi_t."""

    alphas: Reals
    votes: Reals

    @abstractmethod
    def rule(self, t: int) -> Rule:
        """Return term `t` as a rule."""

    def __len__(self) -> int:
        return len(self.alphas)

    @property
    def n_scores(self) -> int:
        """K, the number of score columns."""
        return self.votes.shape[1]

    @property
    def coefficients(self) -> Reals:
        """alpha_t v_t, shape (T, K)."""
        return self.alphas[:, None] * self.votes

    def outputs(self, source: Source) -> Iterator[Signs | Reals]:
        """Yield phi_t of every row, shape (1, n) or (K, n), term by term."""
        for t in range(len(self)):
            yield self.rule(t).outputs(source)

    def staged_scores(self, source: Source) -> Iterator[Reals]:
        """Yield the scores of every row, shape (K, n), after each term."""
        scores = np.zeros((self.n_scores, source.n_rows))
        for _ in self._adding(source, scores):
            yield scores.copy()

    def summed_scores(self, source: Source) -> Reals:
        """Return the scores of every row, shape (K, n), after all terms."""
        scores = np.zeros((self.n_scores, source.n_rows))
        for _ in self._adding(source, scores):
            pass
        return scores

    def _adding(self, source: Source, scores: Reals) -> Iterator[None]:
        """Add term after term to the scores."""
        for outputs, moves in zip(self.outputs(source), self.coefficients, strict=True):
            scores += outputs * moves[:, None]
            yield
