"""What every trained model can do: explain itself, be read, and be saved."""

import os
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from edgewise.boosting import History
from edgewise.common.checks import integer
from edgewise.common.dtypes import Reals
from edgewise.common.threads import n_threads
from edgewise.data import Table, as_table
from edgewise.data.filters import Filters
from edgewise.estimators.parameters import categorical_columns
from edgewise.model import ModelExplanation, Predictor, ReadableRule, Rule, Terms, Wording, explain


class TrainedModel:
    """The part of an estimator that works on what training has left."""

    terms_: Terms
    history_: History
    learner_: Any
    n_features_in_: int
    infinite: str
    categorical_features: Any
    n_jobs: int | None
    _categories: dict[int, tuple[object, ...]]
    _filters: Filters | None
    _categorical: list[int]
    _predictor: Predictor

    def _score_names(self) -> list[object]:
        """Return what each score column stands for."""
        raise NotImplementedError

    def _listed_rules(self) -> list[tuple[int, Rule, Reals]]:
        """Return the rules that there are to list: number, rule and coefficients."""
        moves = self.terms_.coefficients
        return [(t, self.terms_.rule(t), moves[t]) for t in range(len(moves))]

    def _wording(self) -> type[Wording]:
        """Return how rules are put into words."""
        return Wording

    def explain(self) -> ModelExplanation:
        """Return what the model has learned: curves of single columns, and groups of columns."""
        check_is_fitted(self)
        return explain(self._predictor, self._falls(), self._name, self._score_names())

    def rules(self, n: int | None = 10) -> list[ReadableRule]:
        """Return the strongest rules in words, those with the largest coefficients first.

        Of a ranker the weights of a rule that came in several rounds are added up.

        Parameters
        ----------
        n : int or None, default 10
            How many; None for all.
        """
        check_is_fitted(self)
        if n is not None:
            integer("n", n, 1)
        wording = self._wording()(self._name, self._categories, self._score_names())
        worded = [wording.rule(t + 1, rule, moves) for t, rule, moves in self._listed_rules()]
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
            self._categorical = categorical_columns(self.categorical_features, table)
        table.declare(self._categorical)
        if isinstance(X, Table):
            self._check_columns(table, reset)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
        return table

    def _check_columns(self, table: Table, reset: bool) -> None:
        """Keep or compare the columns of a table of our own, which scikit-learn does not know."""
        if reset:
            self.n_features_in_ = table.n_columns
            self.__dict__.pop("feature_names_in_", None)
            if table.names is not None:
                self.feature_names_in_ = np.array(table.names, dtype=object)
            return
        if table.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {table.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        known, names = getattr(self, "feature_names_in_", None), table.names
        if known is not None and names is not None and list(known) != names:
            trained, given = next(
                pair for pair in zip(known, names, strict=True) if pair[0] != pair[1]
            )
            raise ValueError(f"X has the column {given!r} where training had {trained!r}")

    def _n_threads(self) -> int:
        return n_threads(self.n_jobs)
