"""AdaBoost.MH as a scikit-learn classifier."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from edgewise.common.dtypes import Reals
from edgewise.estimators.base import BoostedModel, recorded
from edgewise.estimators.fitted import CLASSIFIER, FittedClassifier, ModelSettings
from edgewise.estimators.parameters import TableParameters, documented

if TYPE_CHECKING:
    from edgewise.data import Table
    from edgewise.estimators.job import Problem
    from edgewise.report import Report


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostMH(TableParameters, ClassifierMixin, BoostedModel[FittedClassifier]):
    """AdaBoost.MH: a multi-class and multi-label classifier made of readable votes.

    Each round adds one base function phi(x) times a coefficient and a vote for each class: the
    score of class l is the sum over rounds of ``alpha * v[l] * phi(x)``. Every round lowers an
    upper bound on the training error. The same data and `random_state` give the same model, bit
    for bit, for any `n_jobs`.

    Parameters
    ----------
    learner : {"auto", "stump", "product", "tree"}, Learner or list of them, default "auto"
        The family of base functions. "stump" tests one column: a threshold, or a subset of the
        values of a categorical one. "product" multiplies three such tests, "tree" nests them to 8
        leaves. Given a list, each round uses the best. "auto" is best over many data sets: trees
        and, unless you set them, real votes, log loss, small damped steps, samples of the rows,
        and rounds chosen on held-out rows; a table in docs/guide/defaults.md has the values. All
        other learners come with the papers' settings.
    votes : {"discrete", "real", "abstain"} or None, default None
        "discrete" votes are -1 or +1 with one step size, "real" votes have any size, and "abstain"
        adds 0 to the discrete ones. None is "real" for ``learner="auto"``, else "discrete".
    loss : {"exponential", "logistic", "softmax"} or None, default None
        The loss to minimize; the last two resist wrong labels. "softmax" is the log loss of the
        classes' probabilities, started from the class priors where votes are real; two classes and
        multi-label targets have the logistic loss of each score instead. With ``learner="auto"``
        None is "softmax" for these two, "logistic" for several classes; else it is "exponential".
    learning_rate : float or None, default None
        The factor on every step, above 0 and at most 1; smaller steps take more rounds and overfit
        less. None is below 1 for ``learner="auto"``, else 1.
    sampling : {"uniform", "weight"}, default "uniform"
        How `subsample` draws: uniformly, or by weight with replacement.
    trim : float or None, default None
        The share of the weight to search for rules, above 0 and below 1: each round takes the
        heaviest rows or (row, class) entries that hold it. Votes and steps use all rows.
    init_weights : {"auto", "balanced", "uniform"} or array of shape (n_samples, K), default "auto"
        The weights of the first round: "balanced" gives a row's own class as much as all others
        together, "uniform" all the same, "auto" is "uniform" for multi-label targets and the
        softmax loss, which allows no other. A matrix has a column for each class, one for two
        classes.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes, which multiply `sample_weight`. For multi-label targets, "balanced"
        or a list with a dict ``{0: weight, 1: weight}`` for each label.
    factorized : bool, default True
        Whether all classes share the base function of a round, or each has a stump of its own.
    eval_metric : {"error", "hamming_loss", "log_loss", "balanced_accuracy", "roc_auc"}, callable, \
or list of them
        The validation metric, by default None: "log_loss" where held-out rows choose the number of
        rounds, else "error". A callable takes the true targets and the scores; it is minimized
        unless its attribute ``larger_is_better`` is true. Of several, the first decides; where
        `fit` watches validation rows, `evals_result_` has all.
    max_leaf_nodes : int or None, default None
        The most leaves of the trees of ``learner="auto"`` and "tree". None is 8 to 32 for "auto",
        more for more classes and rows, and 8 for "tree".
    min_weight_fraction_leaf : float, default 0.0
        The least share of the weight of a round's rows on each side of a split.
    min_samples_leaf : int or None, default None
        The least number of a round's rows on each side of a split. None is above 1 for
        ``learner="auto"``, unless rows are few, else 1.
    damping : float or None, default None
        Real votes are half the logarithm of the odds of right against wrong weight; `damping` adds
        to both the weight of this many rows that are wrong for certain, so that leaves of few rows
        vote less; to gains too. None damps for ``learner="auto"``; elsewhere it only smooths the
        odds by a thousandth of the weight.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from edgewise import AdaBoostMH
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaBoostMH(n_rounds=50).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.98
    >>> bool(model.history_["hamming_loss"][-1] <= model.history_["bound"][-1])
    True
    """

    stored: ClassVar = {"fitted_": CLASSIFIER}
    classes_: ClassVar[NDArray] = recorded("classes", "The class labels, or names of labels.")
    votes_: ClassVar[str] = recorded("votes", "The kind of votes.")
    loss_: ClassVar[str] = recorded("loss", "The loss.")
    learning_rate_: ClassVar[float] = recorded("learning_rate", "The factor on every step.")
    settings_: ClassVar[ModelSettings] = recorded(
        "settings", "All settings that were given or decided; `print` it to read them."
    )

    learner: Any = field(default="auto", kw_only=False)
    votes: str | None = None
    loss: str | None = None
    learning_rate: float | None = None
    sampling: str = "uniform"
    trim: float | None = None
    init_weights: Any = "auto"
    class_weight: Any = None
    factorized: bool = True
    eval_metric: Any = None
    max_leaf_nodes: int | None = None
    min_weight_fraction_leaf: float = 0.0
    min_samples_leaf: int | None = None
    damping: float | None = None
    n_rounds: int | str | None = None  # type: ignore[assignment]
    search: Any = None
    subsample: float | None = None  # type: ignore[assignment]

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
    ) -> Self:
        """Train on rows `X` with targets `y` and return the model.

        Ctrl-C ends the training early and keeps the rounds so far; while rounds are chosen, it ends
        the choice, and the best number so far is trained.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Chunks or BinnedTable of shape (n_samples, n_features)
            The rows: NumPy, lists, SciPy CSR/CSC, pandas, polars, Arrow, or `Chunks`. Bins that
            ``edgewise.data.fit_encode`` made are used as they are, for many fits on the same rows.
        y : array of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or the labels of a multi-label problem.
        sample_weight : array of shape (n_samples,) or None
            Weights of the rows; a row of weight 0 counts as absent.
        eval_set : tuple (X, y), list of such tuples, or None
            Validation rows. Of several sets the last decides, by the first `eval_metric`, when to
            stop early; `evals_result_` has all.
        eval_names : list of str or None
            The names of the sets; by default "validation_0", "validation_1" and so on.
        """
        # A model that only predicts does not import what trains it.
        from edgewise.estimators.classification import check_parameters, classification_problem
        from edgewise.estimators.train import fit
        from edgewise.estimators.validation import named_eval_sets

        eval_sets = named_eval_sets(eval_set, eval_names)
        learner = check_parameters(self, bool(eval_sets))

        def read(table: "Table") -> "Problem":
            return classification_problem(self, learner, table, y, sample_weight)

        self.fitted_ = fit(self, X, read, eval_sets)
        if self.verbose:
            sys.stderr.write(f"{self.settings_}\n")
        return self

    def decision_function(self, X: Any) -> Reals:
        """Return the scores: (n_samples,) for two classes, else (n_samples, K)."""
        return self._shaped(self._scores(X))

    def predict(self, X: Any) -> NDArray:
        """Return the predicted classes, or the 0/1 matrix of predicted labels."""
        return self._decided(self._scores(X))

    def predict_proba(self, X: Any) -> Reals:
        """Return the estimated probabilities of shape (n_samples, n_classes).

        They are the logistic link of the scores, with the odds of the initial weights taken out;
        with the softmax loss, the softmax of the scores. Classes sum to 1; the labels of a
        multi-label problem do not. Where `fit` held rows out, a temperature divides the log-odds,
        of which several classes have the softmax: ``settings_.temperature``, the best for the log
        loss of those rows.
        """
        return self._probabilities(self._scores(X))

    def _probabilities(self, scores: Reals) -> Reals:
        return self.fitted_.probabilities(scores)

    def staged_decision_function(self, X: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        for scores in self._staged_scores(X):
            yield self._shaped(scores.T)

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """Yield the predictions after each round."""
        for scores in self._staged_scores(X):
            yield self._decided(scores.T)

    def staged_predict_proba(self, X: Any) -> Iterator[Reals]:
        """Yield the probabilities after each round, at the temperature of the whole model."""
        for scores in self._staged_scores(X):
            yield self._probabilities(scores.T)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows that are right, in all labels where there are several."""
        from edgewise.estimators.targets import plain_labels

        return float(super().score(X, plain_labels(y), sample_weight))

    def margins(self, X: Any, y: Any) -> Reals:
        """Return the normalized margins of rows (or labels): in [-1, 1], above 0 where right."""
        from edgewise.estimators.targets import encode_labels
        from edgewise.theory import margins

        scores, multilabel = self._scores(X), self.fitted_.multilabel
        codes = encode_labels(y, self.classes_, multilabel, "y")
        if len(codes) != len(scores):
            raise ValueError(f"y has {len(codes)} rows, X has {len(scores)}")
        total = self.terms_.total_vote
        if total == 0.0:
            return np.zeros(codes.shape)
        by_class = scores.shape[1] > 1 and not multilabel
        targets = codes if by_class else np.where(codes > 0, 1, -1)
        return margins(self._shaped(scores), targets, total)

    def report(
        self, X: Any, y: Any = None, path: Any = None, *, title: str | None = None
    ) -> "Report":
        """Make a page that shows what the model learned and how good it is on rows `X`.

        One HTML file that needs no network: errors, learning curves with the bound, margins,
        calibration, importances, votes by column, the strongest rules in words, and the rows that
        it gets most wrong with the reasons. More than 200,000 rows are sampled, and the page says
        so.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows, best those that training has not seen.
        y : array of shape (n_samples,), 0/1 matrix of shape (n_samples, n_labels), or None
            Their classes or labels; None leaves out what needs them.
        path : str or path-like, default None
            Write the page here.
        title : str, default None
            The heading.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from edgewise import AdaBoostMH
        >>> X, y = load_iris(return_X_y=True)
        >>> report = AdaBoostMH("stump", n_rounds=10).fit(X, y).report(X, y)
        >>> [section.id for section in report.sections][:4]
        ['overview', 'data', 'training', 'mistakes']
        """
        from edgewise.report import build_report, classifier_report

        def made() -> "Report":
            rows, codes = self._table(X), None
            if y is not None:
                from edgewise.estimators.targets import encode_labels

                codes = encode_labels(y, self.classes_, self.fitted_.multilabel, "y")
                if len(codes) != rows.n_rows:
                    raise ValueError(f"y has {len(codes)} rows, X has {rows.n_rows}")
            return classifier_report(self, rows, codes, title)

        return build_report(path, made)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    def _score_names(self) -> list[object]:
        return self.classes_.tolist()

    def _shaped(self, scores: Reals) -> Reals:
        return self.fitted_.decisions(scores)

    def _decided(self, scores: Reals) -> NDArray:
        return self.fitted_.predictions(scores)
