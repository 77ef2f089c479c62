"""The base of all boosted estimators: explanations, rules in words, files."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from edgewise.boosting import History
from edgewise.common.checks import integer, one_of, threads
from edgewise.common.dtypes import Exacts, Reals
from edgewise.common.files import PathLike
from edgewise.common.threads import n_threads
from edgewise.data import Table, as_table
from edgewise.data.table import INFINITE_CHOICES
from edgewise.estimators.fitted import Fitted
from edgewise.estimators.rows import check_columns
from edgewise.model import (
    ModelExplanation,
    Path,
    ReadableRule,
    RowExplanation,
    Rule,
    ShapeFunction,
    TableExplanation,
    Wording,
)
from edgewise.model.edits import Edit, edit_function
from edgewise.model.explain import (
    OUTPUTS,
    explain_model,
    explain_row,
    explain_rows,
    explain_shapes,
)
from edgewise.model.file import Storable
from edgewise.model.scorecard import Scorecard, round_to_points
from edgewise.model.scorer import ClassScorer
from edgewise.model.shapes import Shapes, cell_axes
from edgewise.model.wording import MAX_NAMES

if TYPE_CHECKING:
    from edgewise.estimators.term_path import TermPath
    from edgewise.learners import Learner

F = TypeVar("F", bound=Fitted)

# Rules name the categories of columns that have no more, and else their rate of a class: a side of
# half of them is named in full.
_MAX_CATEGORIES = 2 * MAX_NAMES


def from_record(name: str, description: str) -> Any:
    """Return a property that reads a field of the record `fitted_`."""
    return property(attrgetter(f"fitted_.{name}"), doc=description)


class BoostedModel(Storable, Generic[F]):
    """An estimator that trains by boosting; `fitted_` holds all that training leaves."""

    _wording: ClassVar[type[Wording]] = Wording  # puts rules into words
    _adds_equal_rules: ClassVar[bool] = False
    fitted_: F

    history_: History = from_record(
        "history", "The record of every round, including those after the best."
    )
    learner_: "Learner | None" = from_record("learner", "The learner that made the terms.")
    best_iteration_: int = from_record(
        "best_iteration", "The round with the best validation metric; without one, the last."
    )
    eval_metric_: str = from_record("eval_metric", "The name of the validation metric.")
    evals_result_: dict[str, dict[str, Reals]] = from_record(
        "evaluations", "The metrics of validation rows after each round: a dict by set, by metric."
    )
    stop_reason_: str = from_record("stop_reason", "Why training ended.")
    n_features_in_: int = from_record("n_features", "The number of columns of X in training.")

    @property
    def n_rounds_(self) -> int:
        """The number of rounds in the model."""
        return self.fitted_.n_rounds

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of a learner or search object: ``learner__max_leaf_nodes=16``."""
        for name in params:
            outer, nested, _ = name.partition("__")
            value = params.get(outer, getattr(self, outer, None))
            if nested and isinstance(value, str):
                raise ValueError(
                    f"{name} needs an object as {outer}, but {outer} is the name {value!r}"
                )
        result: Self = super().set_params(**params)
        return result

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the columns of X in training, if it had any."""
        names = self.fitted_.feature_names
        if names is None:
            raise AttributeError("feature_names_in_: the columns of X had no names in training")
        return np.array(names, dtype=object)

    @property
    def terms_(self) -> tuple[ShapeFunction, ...]:
        """The curves and tables that an additive model is the sum of, the most important first.

        A score is the sum of one entry of each term, and of the intercept. Models whose rules test
        three columns together have no terms, and raise an `AttributeError`.
        """
        return self._shapes("terms_").functions

    @property
    def intercept_(self) -> Reals:
        """The scores of an additive model before its terms are added, shape (K,)."""
        return self._shapes("intercept_").intercept + self._score_offset

    def _shapes(self, attribute: str) -> Shapes:
        check_is_fitted(self)
        shapes = self.fitted_.shapes
        if shapes is None:
            raise AttributeError(
                f"{attribute}: this model is not a sum of curves and tables, since its rules test "
                "three or more columns together, or computed columns; train learner='additive'"
            )
        return shapes

    @property
    def feature_importances_(self) -> Reals:
        """Each column's share in the decrease of the training loss; in the terms, if edited."""
        check_is_fitted(self)
        fitted = self.fitted_
        if fitted.edits and fitted.shapes is not None:
            return fitted.shapes.importances(fitted.n_features)
        return fitted.importances(fitted.decreases)

    @overload
    def explain(self) -> ModelExplanation: ...
    @overload
    def explain(self, X: Any, background: Any = None) -> RowExplanation: ...
    def explain(self, X: Any = None, background: Any = None) -> ModelExplanation | RowExplanation:
        """Explain the model, or the scores of one row.

        A model is explained by curves of single columns and groups of interacting columns, trees
        by column importances; a row by the contributions of its columns, and pairs of them, to each
        score. The contributions are Shapley values and sum to the score.

        Parameters
        ----------
        X : array or data frame of shape (1, n_features), default None
            The row; None explains the model. For several rows see :meth:`explain_rows`.
        background : array or data frame of shape (n_samples, n_features), default None
            The rows to compare with: the bias is their mean score. None compares with the training
            rows, of which the model keeps the number in each leaf (path-dependent values), and a
            ranker's rules that are columns themselves with a missing value. At most 10,000 random
            rows are used, always the same ones, unless all rules test one column each.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        classes = self._score_names()
        if X is None:
            shapes = None if fitted.terms.is_additive else fitted.shapes
            if shapes is not None:
                return explain_shapes(shapes, classes, self._score_offset)
            return explain_model(fitted.in_subsets, fitted.decreases, classes, self._score_offset)
        row = self._table(X)
        if row.n_rows != 1:
            raise ValueError(
                f"X must be a single row to explain, got {row.n_rows} rows; explain_rows takes more"
            )
        others, n_jobs = self._background(background), n_threads(self.n_jobs)
        return explain_row(fitted.in_subsets, row, others, self._score_offset, classes, n_jobs)

    def explain_rows(
        self,
        X: Any,
        background: Any = None,
        *,
        output: str = "score",
        interactions: bool = False,
    ) -> TableExplanation:
        """Explain the scores of rows by the contributions of columns: exact Shapley values.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The rows.
        background : array or data frame of shape (n_others, n_features), default None
            The rows to compare with, as in :meth:`explain`; None compares with the training rows.
        output : {"score", "log_odds", "probability"}, default "score"
            What the contributions add up to. "score" is the decision function or the ranker's
            prediction; the log-odds are the score times a number, by the loss and the temperature,
            plus another. Contributions to probabilities are those to the log-odds, scaled; with
            several classes, along the way from the base to the row (Aumann and Shapley 1974).
        interactions : bool, default False
            Whether the contributions of pairs of columns are computed, too; not of probabilities.

        Examples
        --------
        >>> from edgewise import AdaBoostMH
        >>> X, y = [[1, 5], [2, 3], [3, 5], [4, 3], [5, 3]], [0, 1, 0, 1, 0]
        >>> model = AdaBoostMH("stump", preset="paper", n_rounds=2).fit(X, y)
        >>> explanation = model.explain_rows(X, output="probability")
        >>> (explanation.base_values + explanation.values.sum(axis=1)).round(2)
        array([0.08, 0.57, 0.08, 0.57, 0.57])
        >>> model.predict_proba(X)[:, 1].round(2)
        array([0.08, 0.57, 0.08, 0.57, 0.57])
        """
        check_is_fitted(self)
        outputs = OUTPUTS if isinstance(self.fitted_, ClassScorer) else OUTPUTS[:1]
        one_of("output", output, outputs)
        rows, others = self._table(X), self._background(background)
        return explain_rows(
            self.fitted_.in_subsets,
            rows,
            others,
            self._score_offset,
            self._score_names(),
            bool(interactions),
            output,
            n_threads(self.n_jobs),
        )

    def shap_values(
        self,
        X: Any,
        background: Any = None,
        *,
        output: str = "score",
        interactions: bool = False,
    ) -> Reals:
        """Return the Shapley values of :meth:`explain_rows` as an array.

        Parameters
        ----------
        X, background, output :
            As in :meth:`explain_rows`.
        interactions : bool, default False
            Whether to return the contributions of pairs of columns.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_classes)
            Two classes, and the documents of a ranker, have one score. With `interactions`, there
            is another axis of n_features: the contribution of a pair is divided between its two
            entries, and columns alone are on the diagonal.

        Examples
        --------
        >>> from edgewise import AdaBoostMH
        >>> X, y = [[1, 5], [2, 3], [3, 5], [4, 3], [5, 3]], [0, 1, 0, 1, 0]
        >>> AdaBoostMH("stump", n_rounds=2).fit(X, y).shap_values(X).shape
        (5, 2)
        """
        explanation = self.explain_rows(X, background, output=output, interactions=interactions)
        matrix = explanation.interaction_values
        return explanation.values if matrix is None else matrix

    def _background(self, background: Any) -> Table | None:
        try:
            return None if background is None else self._table(background)
        except ValueError as error:
            raise ValueError(f"background: {error}") from error

    @property
    def _score_offset(self) -> float:
        """The number that predictions add to the scores of the terms."""
        return 0.0

    def edit(
        self,
        term: Any,
        *,
        drop: bool = False,
        clip: tuple[float | None, float | None] | None = None,
        flatten: tuple[float | None, float | None] | None = None,
        monotone: int | None = None,
        merge: Sequence[object] | None = None,
        eval_set: Sequence[Any] | None = None,
    ) -> Self:
        """Return an additive model with one of its terms changed by hand.

        The new model is the sum of its terms, one tree each. It keeps a record of all edits in
        `edits_`, and in its file.

        Parameters
        ----------
        term : str, int or pair of them
            The term: a column, or two columns, by name or number.
        drop : bool, default False
            Remove the term, so that the model does not use the column.
        clip : tuple (low, high), default None
            Limit the scores; None is no limit.
        flatten : tuple (low, high), default None
            Replace the scores between two values of the column by their mean over the training
            rows; None is no bound.
        monotone : {1, -1}, default None
            Replace the scores by the closest ones that rise, or fall, with the column.
        merge : list, default None
            Give these levels of a categorical column the same scores.
        eval_set : tuple (X, y), default None
            Rows to measure the effect on, by log loss for classifiers and by the metric that
            decides for rankers, whose tuple is (X, y, qid).

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from edgewise import AdaBoostMH
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> model = AdaBoostMH("additive", random_state=0).fit(X[::2], y[::2])
        >>> edited = model.edit("mean area", monotone=-1, eval_set=(X[1::2], y[1::2]))
        >>> edited.edits_[0].change
        'made falling'
        """
        shapes = self._shapes("edit")
        changes: dict[str, Any] = {"drop": drop or None, "clip": clip, "flatten": flatten}
        changes |= {"monotone": monotone, "merge": merge}
        chosen = [name for name, value in changes.items() if value is not None]
        if len(chosen) != 1:
            raise ValueError(f"edit: give one of {', '.join(changes)}, got {chosen or 'none'}")
        function = shapes.find(term)
        edited, description = edit_function(function, chosen[0], changes[chosen[0]])
        edit = Edit(function.name, description)
        return self._with_edit(shapes.replace(function, edited), edit, eval_set)[0]

    @property
    def edits_(self) -> tuple[Edit, ...]:
        """The changes of terms by hand, see :meth:`edit`."""
        check_is_fitted(self)
        return self.fitted_.edits

    def _with_functions(self, shapes: Shapes, edit: Edit) -> Self:
        """Return the model of other tables."""
        fitted, record = self.fitted_, self.fitted_.additive
        assert record is not None
        scorer = replace(fitted.with_subsets(), terms=shapes.pack(), n_bags=1, additive=None)
        counts: tuple[Exacts, ...] = ()
        if record.counts:
            counts = tuple(
                shapes.axes[j].coarsen(axis.thresholds)[0].counts.astype(np.int64)
                for j, axis in cell_axes(scorer).items()
            )
        record = replace(record, counts=counts, has_errors=False, edits=(*record.edits, edit))
        return self._with(replace(scorer, additive=record))

    def scorecard(self, points: int = 20, *, eval_set: Sequence[Any] | None = None) -> Scorecard:
        """Round an additive model of two classes, or a ranker, to whole points.

        Parameters
        ----------
        points : int, default 20
            The points of the term with the widest range.
        eval_set : tuple (X, y), default None
            Rows to measure the cost of rounding on; for rankers, (X, y, qid).

        Returns
        -------
        scorecard : Scorecard
            The points of each range or category; ``scorecard.model`` predicts by them.
        """
        integer("points", points, 1)
        shapes = self._shapes("scorecard")
        if len(shapes.intercept) > 1:
            raise ValueError("scorecard needs a model of two classes, or a ranker")
        rounded, unit = round_to_points(shapes, points)
        edit = Edit("all terms", f"rounded to points of {unit:.4g}")
        model, edit = self._with_edit(rounded, edit, eval_set)
        return Scorecard(rounded, unit, model, edit if eval_set is not None else None)

    def term_path(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        sample_weight: Any = None,
        sizes: Sequence[int] | None = None,
    ) -> "TermPath":
        """Train additive models of the 1, 2, 3, ... most important terms of this model.

        Their metric on the held-out rows that choose the number of rounds shows where another term
        stops paying. ``Additive(max_terms=n)`` trains the model of a size.

        Parameters
        ----------
        X, y, qid, sample_weight
            The training rows, their targets, the queries of a ranker, and weights, as in `fit`.
        sizes : sequence of int, default None
            The numbers of terms; None is 1, 2, 3, 4, 6, 8, 12 and so on.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from edgewise import AdaBoostMH
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> path = AdaBoostMH("additive", random_state=0).fit(X, y).term_path(X, y, sizes=[1, 4])
        >>> [step.n_terms for step in path.steps]
        [1, 4]
        """
        from edgewise.estimators.term_path import train_path

        data = {"qid": qid, "sample_weight": sample_weight}
        data = {name: values for name, values in data.items() if values is not None}
        return train_path(self, self._shapes("term_path"), sizes, X, y, **data)

    def _with_edit(
        self, shapes: Shapes, edit: Edit, eval_set: Sequence[Any] | None
    ) -> tuple[Self, Edit]:
        """Return the model of other tables with the edit, and its effect if there are rows."""
        model = self._with_functions(shapes, edit)
        if eval_set is None:
            return model, edit
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) < 2:
            raise ValueError("eval_set must be a tuple (X, y), or (X, y, qid) for rankers")
        (metric, before), (_, after) = (m._measure_set(*eval_set) for m in (self, model))
        edit = replace(edit, metric=metric, before=before, after=after, n_rows=len(eval_set[1]))
        return self._with_functions(shapes, edit), edit

    def _measure_set(self, X: Any, y: Any, qid: Any = None) -> tuple[str, float]:
        """Return the metric that shows the effect of edits, and its value on some rows."""
        raise NotImplementedError

    def rules(self, n: int | None = 10) -> list[ReadableRule]:
        """Return the `n` strongest rules in words (None: all), largest coefficients first.

        A ranker, and a mean of models, adds up the coefficients of equal rules. Trees are read as
        paths: the conditions that lead to a leaf, and the votes that the leaf adds to the scores.
        A row gets the votes of all paths that it meets. Equal paths of several trees are added up;
        paths on which a test abstains, as on missing values where training had none, come last.

        Examples
        --------
        >>> from edgewise import AdaBoostMH
        >>> X, y = [[20.0], [30.0], [50.0], [70.0]], ["poor", "rich", "rich", "poor"]
        >>> model = AdaBoostMH("tree", preset="paper", votes="real", n_rounds=1).fit(X, y)
        >>> for rule in model.rules():
        ...     print(rule)
        x0 >= 60 -> +3.31 for poor
        25 <= x0 < 60 -> +3.31 for rich
        x0 < 25 -> +0.55 for poor
        """
        check_is_fitted(self)
        if n is not None:
            integer("n", n, 1)
        fitted = self.fitted_
        wording = self._wording(fitted.feature_name, fitted.categories, self._score_names())
        listed = sorted(
            self._listed_rules(),
            key=lambda entry: (
                isinstance(entry[1], Path) and entry[1].abstains,
                -wording.size(entry[1], entry[2]),
                entry[0],
            ),
        )
        return [wording.rule(t // fitted.n_bags + 1, rule, moves) for t, rule, moves in listed[:n]]

    def export(
        self,
        path: PathLike,
        *,
        table: str | Sequence[str] | None = None,
        dtype: str | None = None,
        max_size: int | None = None,
    ) -> None:
        """Write the model to a file that other programs run.

        ``.onnx`` is a graph of standard operators, for onnxruntime and others; writing it needs the
        package onnx. ``.py`` is a Python module that needs the standard library alone, with
        ``predict``, ``predict_proba`` and ``scores`` of a row. ``.sql`` is a query that adds scores
        and predictions to the rows of a table. All give the model's scores, up to rounding.

        Parameters
        ----------
        path : str or path-like
            The file: its name ends in ``.onnx``, ``.py`` or ``.sql``.
        table : str, or sequence of str, default None
            For ``.sql``: the table, "data" if None; a sequence is a name with its schema, as in
            ``("sales", "customers")``.
        dtype : {"float64", "float32"} or None, default None
            For ``.onnx``: the type of the input numbers, "float64" if None; thresholds stay
            float64.
        max_size : int or None, default None
            For ``.py`` and ``.sql``: the maximum number of characters, 1,000,000 if None.

        Raises
        ------
        ValueError
            If the file would be larger than `max_size`, or the model has Haar filters.

        Examples
        --------
        >>> import os, tempfile
        >>> from edgewise import AdaBoostMH
        >>> model = AdaBoostMH("stump", n_rounds=3).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> path = os.path.join(tempfile.mkdtemp(), "small.py")
        >>> model.export(path)
        >>> names = {}
        >>> exec(open(path).read(), names)
        >>> names["predict"]({"x0": 1.7})
        'b'
        """
        from edgewise.export import export

        check_is_fitted(self)
        export(self, path, table=table, dtype=dtype, max_size=max_size)

    def _notebook_summary(self) -> str:
        from edgewise.report.notebook import boosted_summary

        return boosted_summary(self) if self.__sklearn_is_fitted__() else ""

    def _check_parameters(self) -> None:
        threads("n_jobs", self.n_jobs)
        one_of("handle_infinite", getattr(self, "handle_infinite", "raise"), INFINITE_CHOICES)

    def _check_restored(self) -> None:
        """Keep the names of the settings that the file could not hold."""
        self._check_parameters()
        self.fitted_ = replace(self.fitted_, unsaved=tuple(self.__dict__.pop("_unsaved")))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def _with(self, fitted: F) -> Self:
        model = copy(self)
        model.fitted_ = fitted
        return model

    def _score_names(self) -> list[object]:
        raise NotImplementedError

    def _listed_rules(self) -> list[tuple[int, Rule | Path, Reals]]:
        """Return the rules and paths to list: number, rule and coefficients.

        Averaged models, and rankers, add up the coefficients of equal rules; all models, of paths.
        """
        terms = self.fitted_.with_subsets(_MAX_CATEGORIES).terms
        adds = self._adds_equal_rules or self.fitted_.n_bags > 1
        listed: dict[object, tuple[int, Rule | Path, Reals]] = {}
        for t, coefficients in enumerate(terms.coefficients):
            for rule, moves in terms.rule(t).split_paths(coefficients):
                is_added = rule.key is not None and (adds or isinstance(rule, Path))
                key = rule.key if is_added else t
                first, _, sums = listed.get(key, (t, rule, 0.0))
                listed[key] = (first, rule, sums + moves)
        return list(listed.values())

    def _scores(self, X: Any) -> Reals:
        """Return the scores of rows, of shape (n, K)."""
        table = self._table(X)
        return self.fitted_.scores(table, n_threads(self.n_jobs))

    def _staged_scores(self, X: Any) -> Iterator[Reals]:
        """Yield the scores after each round, of shape (K, n)."""
        table = self._table(X)
        fitted = self.fitted_
        yield from islice(fitted.staged_scores(table), fitted.n_bags - 1, None, fitted.n_bags)

    def _table(self, X: Any) -> Table:
        """Return rows as a table with the columns of training."""
        check_is_fitted(self)
        try:
            table = as_table(X, self.handle_infinite).with_categorical(self.fitted_.categorical)
            if isinstance(X, Table):
                check_columns(table, self.fitted_.n_features, self.fitted_.feature_names)
            else:
                validate_data(self, X, reset=False, skip_check_array=True)
        except ValueError as error:
            if self.schema_ is not None:
                error.add_note("model.schema_.transform(X) converts a table to the model's columns")
            raise
        return table
