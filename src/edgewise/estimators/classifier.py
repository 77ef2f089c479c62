"""What a trained classifier can do."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.common.dtypes import Reals
from edgewise.estimators.link import probabilities
from edgewise.estimators.targets import Labels, encode_labels
from edgewise.estimators.trained import TrainedModel
from edgewise.metrics.classification import predicted
from edgewise.theory import margins as theory_margins


class TrainedClassifier(TrainedModel):
    """The part of a classifier that works on what training has left."""

    classes_: NDArray
    _multilabel: bool
    _offsets: Reals
    _link: float

    def decision_function(self, X: Any) -> Reals:
        """Return the scores: (n_samples,) for two classes, else (n_samples, K)."""
        return self._shaped(self._scores(X))

    def predict(self, X: Any) -> NDArray:
        """Return the predicted classes, or the 0/1 matrix of predicted labels."""
        return self._decided(self._scores(X))

    def predict_proba(self, X: Any) -> Reals:
        """Return the estimated probabilities of shape (n_samples, n_classes).

        The logistic link of the score, with the odds of the initial weights undone. Over classes
        they are made to sum to 1; over the labels of a multi-label problem they are not.
        """
        return probabilities(self._scores(X), self._offsets, self._multilabel, self._link)

    def staged_decision_function(self, X: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        table = self._table(X)
        for scores in self._predictor.staged_scores(table):
            yield self._shaped(scores.T)

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """Yield the predictions after each round."""
        table = self._table(X)
        for scores in self._predictor.staged_scores(table):
            yield self._decided(scores.T)

    def margins(self, X: Any, y: Any) -> Reals:
        """Return the normalised margins of rows with known targets.

        They lie in [-1, 1] and are positive where the prediction is right: of shape (n_samples,),
        or (n_samples, K) for a multi-label problem.
        """
        scores = self._scores(X)
        known = Labels(self.classes_, np.empty((0,) * (1 + self._multilabel), dtype=np.int64))
        codes = encode_labels(y, known, "y")
        if len(codes) != len(scores):
            raise ValueError(f"y has {len(codes)} rows, X has {len(scores)}")
        total = self.terms_.total_vote
        if total == 0.0:
            return np.zeros(scores.shape if self._multilabel else len(scores))
        if self._multilabel:
            return theory_margins(scores, np.where(codes > 0, 1, -1), total)
        if scores.shape[1] == 1:
            return theory_margins(scores[:, 0], np.where(codes > 0, 1, -1), total)
        return theory_margins(scores, codes, total)

    def _score_names(self) -> list[object]:
        return self.classes_.tolist()

    def _scores(self, X: Any) -> Reals:
        table = self._table(X)
        return self._predictor.scores(table, self._n_threads())

    def _shaped(self, scores: Reals) -> Reals:
        return scores[:, 0] if scores.shape[1] == 1 and not self._multilabel else scores

    def _decided(self, scores: Reals) -> NDArray:
        codes = predicted(scores, self._multilabel)
        return codes if self._multilabel else self.classes_[codes]
