"""AdaBoost.MH as a scikit-learn classifier."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from edgewise.common.dtypes import Reals
from edgewise.estimators.base import BoostedModel, from_record
from edgewise.estimators.fitted import CLASSIFIER, FittedClassifier, ModelSettings
from edgewise.estimators.parameters import TableParameters, document_parameters

if TYPE_CHECKING:
    from edgewise.data import Table
    from edgewise.estimators.job import TrainingProblem
    from edgewise.learners import Learner
    from edgewise.report import Report


@document_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostMH(TableParameters, ClassifierMixin, BoostedModel[FittedClassifier]):
    """AdaBoost.MH: a multi-class and multi-label classifier made of readable votes.

    Each round adds one base function phi(x) times a coefficient and a vote for each class: the
    score of class l is the sum over rounds of ``alpha * v[l] * phi(x)``. Every round lowers an
    upper bound on the training error. The same data and `random_state` give the same model, bit
    for bit, for any `n_jobs`.

    Parameters
    ----------
    learner : {"auto", "stump", "additive", "product", "tree"}, Learner or list, default "auto"
        The base functions. "stump" tests one column: a threshold, or a subset of the values of a
        categorical one. "additive" is a sum of curves and of tables of pairs of columns, see
        `Additive`. "product" multiplies three such tests, "tree" nests them. A list offers all
        of its learners in each round. "auto" is "tree".
    preset : {"auto", "paper"}, default "auto"
        The values of all parameters that you leave at None, for any learner. "auto" has those that
        do best over many data sets (docs/guide/defaults.md), "paper" those of discrete AdaBoost.MH
        (Schapire and Singer 1999); its "auto" is "stump", and its "tree" has 8 leaves that inherit
        votes.
    n_rounds : int, "auto" or None, default None
        The number of boosting rounds. "auto" chooses it on held-out rows. None is "auto", or 500
        with ``preset="paper"``.
    learning_rate : float or None, default None
        Factor on every step, above 0 and at most 1. Smaller steps need more rounds and overfit
        less. None is 0.1; 0.2 for two models on 2,000 rows or more (see `n_bags`), for two classes
        and labels from 500,000 rows on, and for additive models from 10,000; 1 for "paper".
    max_leaf_nodes : int or None, default None
        Maximum number of leaves of the trees of "auto" and "tree". None is 8 to 32, more for more
        classes and rows; 8 for "paper".
    min_samples_leaf : int or None, default None
        Minimum number of searched rows on each side of a split. None is at most 3, fewer for small
        tables; 1 for "paper".
    min_weight_fraction_leaf : float, default 0.0
        Minimum fraction of the weight of the searched rows on each side of a split.
    subsample : float or None, default None
        Fraction of the rows that each round searches for rules; votes and steps use all rows. None
        is 0.7, or 1 with `trim` and for "paper".
    n_bags : int or None, default None
        Number of models to average, a power of two. Each draws rows and columns of its own, so it
        needs `subsample` below 1 or a search of random columns. Averaging lowers the error, most of
        all on few rows, and multiplies the training time by `n_bags`. None is up to 4 for trees on
        fewer than 2,000 rows, fewer with many columns or classes. It is 2 for trees on fewer than
        500,000 rows, unless `learning_rate` is given; otherwise, and for "paper", 1. Additive
        models, each of which leaves out other rows, are 8 on fewer than 10,000 rows, 4 on fewer
        than 500,000, else 2.
    loss : {"exponential", "logistic", "softmax"} or None, default None
        The loss to minimize. The last two resist wrong labels. "softmax" is the log loss of the
        class probabilities, started from the class priors if votes are real; for two classes and
        labels it is the logistic loss of each score. None is "logistic" for several classes, else
        "softmax", and always for additive models; "exponential" for "paper".
    votes : {"discrete", "real", "abstain"} or None, default None
        "discrete" votes are -1 or +1 with one step size, "real" votes have any size, and "abstain"
        adds 0 to the discrete ones. None is "real", or "discrete" for "paper".
    damping : float or None, default None
        Pseudo-rows added to both sides of the log-odds of real votes, and to the denominator of
        gains, like lambda in XGBoost: leaves of few rows vote less. None is 0.1 for several
        classes, else 0.5, and always for additive models; "paper" smooths the odds by a thousandth
        of the weight instead.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes, which multiply `sample_weight`. For multi-label targets, "balanced"
        or a list with a dict ``{0: weight, 1: weight}`` for each label.
    init_weights : {"auto", "balanced", "uniform"} or array of shape (n_samples, K), default "auto"
        Weights of the first round. "balanced" gives a row's class as much as all others together,
        "uniform" all the same; "auto" is "uniform" for multi-label targets and the softmax loss,
        which allow no other, else "balanced". A matrix has a column for each class, one for two
        classes.
    eval_metric : {"error", "hamming_loss", "log_loss", "balanced_accuracy", "roc_auc"}, callable, \
list of them, or None, default None
        The validation metric. None is "log_loss" if held-out rows choose the number of rounds, else
        "error". A callable takes the true targets and the scores; it is minimized unless its
        attribute ``larger_is_better`` is true. The first of several decides; `evals_result_` has
        all if `fit` watches validation rows.
    trim : float or None, default None
        Each round searches only the heaviest rows or (row, class) entries, which hold this fraction
        of the weight. Votes and steps use all rows.
    sampling : {"uniform", "weight"}, default "uniform"
        How `subsample` draws: uniformly, or by weight with replacement.
    factorized : bool, default True
        Whether all classes share one base function per round, or each has its own stump.
    search : {"exhaustive", "auto", "lazy", "ucb", "thompson", "exp3p"}, Search or None, \
default None
        The columns to search in each round: all, or random ones ("lazy"); the others learn which
        columns pay off. "auto" searches all of up to 199 columns, and 50 of more, which it learns.
        None is "auto", or "exhaustive" for "paper".
    max_bins : int or None, default None
        Maximum number of bins per column, up to 65,535. A column with fewer distinct values is
        searched at every threshold. None is one per 32 rows, from 32 to 256; 256 for "paper".
    category_rates : bool or "auto", default "auto"
        Whether trees and stumps also test the rate of each class among the rows of a category
        (target encoding), for categorical columns of more than 10 values; learners given by name
        then form no subsets of these values. The rates of a training row come from other rows.
        Two columns also have rates by combination where these tell more than both columns.
        "auto" is True for learners that test numbers, and False for additive models and "paper".
    monotonic_cst : dict, array of shape (n_features,) or None, default None
        +1 for columns that may only raise the score, -1 for those that may only lower it, else 0;
        a dict gives them by name. For two classes, the score of the second; or of every label.
        Missing values may have any score. Not for several classes, nor for products.

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
    classes_: ClassVar[NDArray] = from_record("classes", "The class labels, or names of labels.")
    votes_: ClassVar[str] = from_record("votes", "The kind of votes.")
    loss_: ClassVar[str] = from_record("loss", "The loss.")
    learning_rate_: ClassVar[float] = from_record("learning_rate", "The factor on every step.")
    settings_: ClassVar[ModelSettings] = from_record(
        "settings", "All settings that were given or decided; `print` it to read them."
    )

    learner: Any = field(default="auto", kw_only=False)
    preset: str = "auto"
    n_rounds: int | str | None = None  # type: ignore[assignment]
    learning_rate: float | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: int | None = None
    min_weight_fraction_leaf: float = 0.0
    subsample: float | None = None  # type: ignore[assignment]
    loss: str | None = None
    votes: str | None = None
    damping: float | None = None
    class_weight: Any = None
    init_weights: Any = "auto"
    eval_metric: Any = None
    trim: float | None = None
    sampling: str = "uniform"
    factorized: bool = True
    search: Any = None
    category_rates: bool | str = "auto"
    monotonic_cst: Any = None

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
        the choice, and trains the best number so far.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Chunks or BinnedTable of shape (n_samples, n_features)
            The rows: NumPy, lists, SciPy CSR/CSC, pandas, polars, Arrow, or `Chunks`. Bins of
            ``edgewise.data.fit_encode`` are used as they are, for many fits on the same rows.
        y : array of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or the labels of a multi-label problem.
        sample_weight : array of shape (n_samples,) or None
            Weights of the rows; a row of weight 0 counts as absent.
        eval_set : tuple (X, y), list of such tuples, or None
            Validation rows. The last of several sets decides when to stop early.
        eval_names : list of str or None
            Names of the sets in `evals_result_`; by default "validation_0", "validation_1" and so
            on.
        """
        # A model that only predicts does not import what trains it.
        from edgewise.estimators.classification import check_parameters, classification_problem
        from edgewise.estimators.rows import name_eval_sets
        from edgewise.estimators.term_path import train_on_terms
        from edgewise.estimators.train import fit

        eval_sets = name_eval_sets(eval_set, eval_names)
        learner = check_parameters(self, bool(eval_sets))

        def train(model: Self, learner: "Learner | str") -> FittedClassifier:
            def read_problem(table: "Table") -> "TrainingProblem":
                return classification_problem(model, learner, table, y, sample_weight)

            return fit(model, X, read_problem, eval_sets, self)

        self.fitted_ = train_on_terms(train, self, learner)
        if self.verbose:
            sys.stderr.write(f"{self.settings_}\n")
        return self

    def decision_function(self, X: Any) -> Reals:
        """Return the scores: (n_samples,) for two classes, else (n_samples, K)."""
        scores = self._scores(X)
        return self.fitted_.decisions(scores)

    def predict(self, X: Any) -> NDArray:
        """Return the predicted classes, or the 0/1 matrix of predicted labels."""
        scores = self._scores(X)
        return self.fitted_.predictions(scores)

    def predict_proba(self, X: Any) -> Reals:
        """Return the estimated probabilities of shape (n_samples, n_classes).

        The logistic link of the scores, without the odds of the initial weights; for the softmax
        loss, the softmax of the scores. Classes sum to 1; labels do not. If `fit` held rows out,
        the log-odds are divided by a temperature, ``settings_.temperature``, with the lowest log
        loss on those rows, and several classes have their softmax.
        """
        scores = self._scores(X)
        return self.fitted_.probabilities(scores)

    def staged_decision_function(self, X: Any) -> Iterator[Reals]:
        """Yield the scores after each round."""
        for scores in self._staged_scores(X):
            yield self.fitted_.decisions(scores.T)

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """Yield the predictions after each round."""
        for scores in self._staged_scores(X):
            yield self.fitted_.predictions(scores.T)

    def staged_predict_proba(self, X: Any) -> Iterator[Reals]:
        """Yield the probabilities after each round, at the temperature of the whole model."""
        for scores in self._staged_scores(X):
            yield self.fitted_.probabilities(scores.T)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the fraction of rows with all labels right."""
        from edgewise.estimators.targets import plain_labels

        return float(super().score(X, plain_labels(y), sample_weight))

    def margins(self, X: Any, y: Any) -> Reals:
        """Return the normalized margins of rows (or labels): in [-1, 1], above 0 where right."""
        from edgewise.theory import margins

        scores, multilabel = self._scores(X), self.fitted_.multilabel
        codes = self._encode(y, len(scores))
        total = self.fitted_.terms.total_vote
        if total == 0.0:
            return np.zeros(codes.shape)
        by_class = scores.shape[1] > 1 and not multilabel
        targets = codes if by_class else np.where(codes > 0, 1, -1)
        return margins(self.fitted_.decisions(scores), targets, total)

    def _measure_set(self, X: Any, y: Any, qid: Any = None) -> tuple[str, float]:
        from edgewise.metrics.classification import log_loss

        if qid is not None:
            raise ValueError("eval_set must be a tuple (X, y)")
        shares = self.predict_proba(X)
        return "log loss", log_loss(self._encode(y, len(shares)), shares)

    def _encode(self, y: Any, n_rows: int) -> NDArray[np.int64]:
        """Return the targets of `n_rows` rows in the codes of training."""
        from edgewise.estimators.targets import encode_labels

        return encode_labels(y, self.classes_, self.fitted_.multilabel, "y", n_rows)

    def report(
        self, X: Any, y: Any = None, path: Any = None, *, title: str | None = None
    ) -> "Report":
        """Make a page that shows what the model learned and how good it is on rows `X`.

        One HTML file that needs no network: errors, learning curves, margins, calibration,
        importances, votes by column, the strongest rules, and the worst mistakes with their
        reasons. Of more than 200,000 rows, a sample is shown.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows, preferably not from training.
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

        def build() -> "Report":
            table = self._table(X)
            codes = None if y is None else self._encode(y, table.n_rows)
            return classifier_report(self, table, codes, title)

        return build_report(path, build)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    def _score_names(self) -> list[object]:
        return self.classes_.tolist()
