"""What a trained classifier can do: predict, explain itself, and be saved."""

import os
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from edgewise.boosting import History
from edgewise.data import Table, as_table
from edgewise.data.filters import Filters
from edgewise.dtypes import Reals
from edgewise.estimators.link import probabilities
from edgewise.estimators.parameters import nominal_columns
from edgewise.estimators.targets import Labels, encode_labels
from edgewise.metrics import predicted
from edgewise.model import Explanation, Predictor, ReadableRule, Terms, Wording, explain
from edgewise.theory import margins as theory_margins
from edgewise.validation import integer


class TrainedClassifier:
    """The part of a classifier that works on what training has left."""

    classes_: NDArray
    terms_: Terms
    history_: History
    n_features_in_: int
    infinite: str
    nominal: Any
    n_jobs: int | None
    _multilabel: bool
    _offsets: Reals
    _link: float
    _categories: dict[int, tuple[object, ...]]
    _filters: Filters | None
    _nominal: list[int]
    _predictor: Predictor

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

    def explain(self) -> Explanation:
        """Return what the model has learned: curves of single columns, and groups of columns."""
        check_is_fitted(self)
        return explain(self._predictor, self._falls(), self._name, self.classes_.tolist())

    def rules(self, n: int | None = 10) -> list[ReadableRule]:
        """Return the strongest rules in words, those with the largest coefficients first.

        Parameters
        ----------
        n : int or None, default 10
            How many; None for all.
        """
        check_is_fitted(self)
        if n is not None:
            integer("n", n, 1)
        wording = Wording(self._name, self._categories, self.classes_.tolist())
        moves = self.terms_.coefficients
        worded = [wording.rule(t + 1, self.terms_.rule(t), moves[t]) for t in range(len(moves))]
        return sorted(worded, key=lambda rule: (-rule.alpha, rule.round))[:n]

    def _name(self, j: int) -> str:
        if j >= self.n_features_in_ and self._filters is not None:
            return self._filters.name(j - self.n_features_in_)
        names = getattr(self, "feature_names_in_", None)
        return f"x{j}" if names is None else str(names[j])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `edgewise.load` reads; see there."""
        from edgewise.estimators.files import save

        check_is_fitted(self)
        save(cast(Any, self), path)

    @property
    def feature_importances_(self) -> Reals:
        """Each column's share in the fall of the loss (the sum of -ln Z of its rounds)."""
        check_is_fitted(self)
        return self._predictor.importances(self._falls())

    def _falls(self) -> Reals:
        energies = self.history_["energy"][: len(self.terms_)]
        return -np.log(np.maximum(energies, 1e-300))

    def _prepare(self) -> None:
        """Make ready to predict."""
        self._predictor = Predictor(
            self.terms_, self.n_features_in_, self._categories, self._filters
        )

    def _table(self, X: Any, reset: bool = False) -> Table:
        if not reset:
            check_is_fitted(self)
        table = as_table(X, self.infinite)
        if reset:
            self._nominal = nominal_columns(self.nominal, table)
        table.declare(self._nominal)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return table

    def _scores(self, X: Any) -> Reals:
        table = self._table(X)
        return self._predictor.scores(table, self._n_threads())

    def _shaped(self, scores: Reals) -> Reals:
        return scores[:, 0] if scores.shape[1] == 1 and not self._multilabel else scores

    def _decided(self, scores: Reals) -> NDArray:
        codes = predicted(scores, self._multilabel)
        return codes if self._multilabel else self.classes_[codes]

    def _n_threads(self) -> int:
        from joblib import effective_n_jobs

        if self.n_jobs is None:
            return 1
        return int(effective_n_jobs(self.n_jobs))
