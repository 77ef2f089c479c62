"""Plots of predictions on rows with known targets: margins, reliability and ranking metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import integer, reals
from edgewise.common.dtypes import Reals
from edgewise.fusion import grades_of
from edgewise.metrics.classification import reliability
from edgewise.metrics.lists import Lists
from edgewise.metrics.registry import ranking_metric
from edgewise.metrics.significance import mean_interval
from edgewise.plots.drawing import (
    GRAY,
    Display,
    count_labels,
    escape_label,
    line_color,
    short_label,
    unwrap_fitted,
)
from edgewise.report.curves import evenly_spaced
from edgewise.theory import margin_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More points of margins would look the same.
_MAX_POINTS = 5000
# More classes share one line.
_MAX_LINES = 5
# Bins with fewer rows than both are not drawn: their frequencies are mostly noise.
_MIN_ROWS, _MIN_SHARE = 10, 0.01
# More queries have no names on the axis.
_MAX_NAMES = 40


@dataclass(eq=False, repr=False)
class MarginDisplay(Display):
    """The cumulative distribution of margins.

    A margin is above 0 where a row is classified correctly, and close to 1 where nearly all votes
    agree. Draw the training and the test rows on the same axes to compare them.

    Parameters
    ----------
    margins : array-like
        Normalized margins, such as ``model.margins(X, y)``, of any shape.
    name : str, default None
        The name of the rows, for the legend.

    Examples
    --------
    >>> from edgewise.plots import MarginDisplay
    >>> MarginDisplay([-0.1, 0.2, 0.3, 0.4]).plot().ax_.get_xlabel()
    'normalized margin'
    """

    margins: ArrayLike
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: "Axes | None" = None
    ) -> Self:
        """Draw the margins of rows.

        Parameters
        ----------
        estimator : AdaBoostMH
            A trained classifier, or a pipeline or search that ends with one.
        X : array or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their classes or labels.
        name : str, default None
            The name of the rows, for the legend.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        model, X = unwrap_fitted(estimator, "margins", X)
        return cls(model.margins(X, y), name).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        values, shares = margin_distribution(self.margins)
        wrong = float((values <= 0).mean())
        indices = evenly_spaced(len(values), _MAX_POINTS)
        values, shares = values[indices], shares[indices]
        low, high = min(float(values[0]), 0.0), max(float(values[-1]), 0.0)
        room = 0.05 * (high - low) or 0.05
        low, high = max(low - room, -1.0), min(high + room, 1.0)
        n_lines = count_labels(axes)
        color = line_color(n_lines)
        if n_lines:
            low, high = min(low, axes.get_xlim()[0]), max(high, axes.get_xlim()[1])
        else:
            axes.axvline(0.0, color=GRAY, linewidth=1.0, linestyle="--")
        label = f"{wrong:.1%} at or below 0"
        axes.plot(
            np.concatenate([[-1.0], values, [1.0]]),
            np.concatenate([[0.0], shares, [1.0]]),
            drawstyle="steps-post",
            color=color,
            linewidth=1.8,
            label=label if self.name is None else f"{escape_label(self.name)}: {label}",
        )
        axes.plot([0.0], [wrong], "o", color=color, markersize=5)
        axes.set(xlim=(low, high), xlabel="normalized margin")
        axes.set(ylim=(0.0, 1.02), ylabel="share of margins at or below")
        axes.legend(loc="upper left", fontsize=9)


class ReliabilityCurve(NamedTuple):
    """Bins of a predicted probability: its mean, the observed frequency, and the number of rows."""

    name: str
    predicted: Reals
    observed: Reals
    counts: NDArray[np.intp]

    @property
    def gap(self) -> float:
        """The mean distance of the two, by rows: the expected calibration error."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """The observed frequency of each class against its predicted probability.

    Rows are binned by their probability of a class. A dot shows the mean probability of a bin and
    the share of its rows that are of the class, and its size shows the number of rows; on the
    diagonal the two are equal. Bins with fewer than ten rows, and less than 1% of all, are not
    drawn. "Off by" is the expected calibration error: the mean distance from the diagonal over all
    rows.

    For several classes the line "predicted class" takes the probability of the class that each row
    is predicted to have. More than five classes or labels are drawn as one line. For two classes
    scikit-learn's ``CalibrationDisplay`` draws the same line.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve
        The bins of each line.
    name : str, default None
        The name of the classifier, for the legend: several can be drawn on the same axes.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.plots import ReliabilityDisplay
    >>> y_prob = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    >>> display = ReliabilityDisplay.from_predictions(["no", "no", "no", "yes"], y_prob, n_bins=2)
    >>> display.curves[0].observed
    array([0. , 0.5])
    """

    curves: Sequence[ReliabilityCurve]
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        name: str | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the probabilities of a classifier.

        Parameters
        ----------
        estimator : classifier
            A trained classifier with ``predict_proba``.
        X : array or data frame of shape (n_samples, n_features)
            Rows that the classifier was not trained on.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their classes or labels.
        n_bins, name, ax
            As for :meth:`from_predictions`.
        """
        y_prob, classes = estimator.predict_proba(X), estimator.classes_
        return cls.from_predictions(y, y_prob, classes=classes, n_bins=n_bins, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        name: str | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw predicted probabilities.

        Parameters
        ----------
        y_true : array of shape (n_samples,) or (n_samples, n_labels)
            The classes, or 0 and 1 for each label of a multi-label problem.
        y_prob : float array of shape (n_samples, n_classes)
            The probabilities.
        classes : array of shape (n_classes,), default None
            The class of each column; None is the sorted classes of `y_true`.
        n_bins : int, default 10
            The number of bins.
        name : str, default None
            The name of the classifier, for the legend.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        integer("n_bins", n_bins, 1)
        p, y = reals("y_prob", y_prob, ndim=(2,)), np.asarray(y_true)
        if p.size and not 0.0 <= p.min() <= p.max() <= 1.0:
            raise ValueError("y_prob must hold probabilities, from 0 to 1")
        if classes is None:
            names = np.unique(y) if y.ndim == 1 else np.arange(y.shape[1])
        else:
            names = np.asarray(classes)
        is_true = y[:, None] == names if y.ndim == 1 else y != 0
        if is_true.shape != p.shape:
            raise ValueError(
                f"y_prob must have a row for each of y_true and a column for each class, "
                f"{is_true.shape}, got {p.shape}"
            )
        lines = {str(name): (p[:, k], is_true[:, k]) for k, name in enumerate(names)}
        if len(names) > _MAX_LINES:
            lines = {f"all {len(names)} {'labels' if y.ndim == 2 else 'classes'}": (p, is_true)}
        if y.ndim == 1 and len(names) == 2:
            del lines[str(names[0])]
        elif y.ndim == 1:
            rows, best = np.arange(len(y)), p.argmax(axis=1)
            lines = {"predicted class": (p[rows, best], is_true[rows, best]), **lines}
        curves = [
            ReliabilityCurve(label, *reliability(p.ravel(), is_true.ravel(), n_bins))
            for label, (p, is_true) in lines.items()
        ]
        return cls(curves, name).plot(ax=ax)

    def _figure_size(self) -> tuple[float, float]:
        return 5.4, 5.2

    def _draw(self, axes: "Axes") -> None:
        if not count_labels(axes):
            axes.plot([0, 1], [0, 1], ":", color=GRAY, linewidth=1.2, label="perfectly calibrated")
        for curve in self.curves:
            color = line_color(count_labels(axes) - 1)
            shares = curve.counts / curve.counts.sum()
            is_large = (curve.counts >= _MIN_ROWS) | (shares >= _MIN_SHARE)
            x, y, sizes = (v[is_large] for v in (curve.predicted, curve.observed, 8 + 150 * shares))
            name = curve.name if self.name is None else f"{self.name}: {curve.name}"
            label = f"{escape_label(name)} (off by {curve.gap:.1%})"
            axes.plot(x, y, "o-", color=color, linewidth=1.5, markersize=3, label=label)
            axes.scatter(x, y, s=sizes, color=color, linewidths=0, zorder=3)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        axes.set(xlabel="mean predicted probability", ylabel="observed frequency")
        axes.legend(fontsize=9)


@dataclass(eq=False, repr=False)
class QueryMetricDisplay(Display):
    """A ranking metric of every query, the worst first, and its mean with a 95% interval.

    Draw several rankers on the same axes to compare them. The interval is from the spread of the
    queries.

    Parameters
    ----------
    queries : array of shape (n_queries,)
        The query ids.
    values : float array of shape (n_queries,)
        The metric of each query; those that are NaN are left out.
    metric : str
        The name of the metric, such as "ndcg@10".
    name : str, default None
        The name of the ranker, for the legend.

    Attributes
    ----------
    mean_ : float
        The mean over the queries.
    interval_ : tuple of two floats
        Its 95% interval; NaN for one query.

    Examples
    --------
    >>> from edgewise.plots import QueryMetricDisplay
    >>> grades, scores = [1, 0, 0, 1], [0.9, 0.1, 0.8, 0.2]
    >>> shown = QueryMetricDisplay.from_predictions(grades, scores, qid=[1, 1, 2, 2], metric="mrr")
    >>> shown.values, shown.mean_
    (array([1. , 0.5]), 0.75)
    """

    queries: NDArray[Any]
    values: Reals
    metric: str
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        qid: ArrayLike | None = None,
        metric: str = "ndcg@10",
        name: str | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the metric of the lists that a ranker returns.

        Parameters
        ----------
        estimator : RankBoost, RankFusion or any model whose ``predict`` returns scores
            A trained ranker.
        X : array or data frame of shape (n_samples, n_features)
            The documents; for `RankFusion`, the lists.
        y : array of shape (n_samples,)
            Their grades; for `RankFusion`, any judgments that ``fit`` takes.
        qid : array of shape (n_samples,), default None
            Their query ids; lists have their own.
        metric, ax
            As for :meth:`from_predictions`.
        name : str, default None
            The name in the legend; None is the name of the class.
        """
        from edgewise.estimators.rank_fusion import RankFusion, ranked_lists

        ranking_metric(metric)
        if isinstance(estimator, RankFusion):
            X = ranked_lists(X)
            y, qid = grades_of(X, y), X.qid
        elif qid is None and getattr(estimator, "fitted_", None) and estimator.fitted_.has_queries:
            raise ValueError("qid must be given: the model was trained on several queries")
        scores = estimator.predict(X)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, scores, qid=qid, metric=metric, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        metric: str = "ndcg@10",
        name: str | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the metric of documents that are ranked by scores.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            The grades of the documents.
        y_score : array of shape (n_samples,)
            Their scores, larger for a better rank.
        qid : array of shape (n_samples,), default None
            Their query ids; None is one query.
        metric : str, default "ndcg@10"
            A name that :func:`edgewise.metrics.ranking_metric` knows.
        name : str, default None
            The name of the ranker, for the legend.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        lists = Lists(y_true, qid)
        values = ranking_metric(metric).function(lists, y_score, empty="skip", per_query=True)
        return cls(lists.queries, np.asarray(values), metric, name).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        metric = ranking_metric(self.metric)
        order = np.argsort(self.values if metric.larger_is_better else -self.values, kind="stable")
        order = order[~np.isnan(self.values[order])]
        n, values = len(order), self.values[order]
        if n == 0:
            raise ValueError(f"values must hold a query for which {self.metric} is defined")
        self.mean_, low, high = mean_interval(values)
        self.interval_ = low, high
        n_lines = count_labels(axes)
        color = line_color(n_lines)
        label = f"mean {self.mean_:.3f}"
        if n > 1:
            label += f" ± {(high - low) / 2:.3f}"
            axes.axhspan(low, high, color=color, alpha=0.15, linewidth=0)
        axes.axhline(self.mean_, color=color, linewidth=1.2, linestyle="--")
        axes.plot(
            np.arange(n + 1), np.append(values, values[-1]), drawstyle="steps-post",
            color=color, linewidth=1.8,
            label=label if self.name is None else f"{escape_label(self.name)}: {label}",
        )  # fmt: skip
        if n <= _MAX_NAMES and not n_lines:
            names = [short_label(query, 16) for query in self.queries[order].tolist()]
            axes.set_xticks(np.arange(n) + 0.5, names, rotation=90 if n > 10 else 0)
            axes.set_xlabel("query, the worst first")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.xaxis.set_major_formatter("{x:.0f}")
            axes.set_xlabel("queries, the worst first")
        axes.set(xlim=(0, n), ylabel=metric.title)
        axes.set_ylim(bottom=min(0.0, float(values.min()), axes.get_ylim()[0] if n_lines else 0.0))
        axes.legend(loc="lower right", fontsize=9)
