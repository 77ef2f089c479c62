"""A ranking metric, query by query."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.dtypes import Reals
from edgewise.fusion import grades_of
from edgewise.metrics.lists import Lists
from edgewise.metrics.registry import ranking_metric
from edgewise.metrics.significance import mean_interval
from edgewise.plots.drawing import Display, count_labels, escape_label, line_color, short_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More queries have no names on the axis.
_MAX_NAMES = 40


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
