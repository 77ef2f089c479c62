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
from edgewise.plots.drawing import Display, color_of, escaped, n_named, shortened, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More queries have no names on the axis.
_NAMED = 40


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
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.

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
        """Draw the metric of a ranker's lists.

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
        metric : str, default "ndcg@10"
            A name that :func:`edgewise.metrics.ranking_metric` knows.
        name : str, default None
            The name in the legend; None is the name of the class.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
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

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the metric of every query.

        Parameters
        ----------
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        known = np.flatnonzero(~np.isnan(self.values))
        n = len(known)
        if n == 0:
            raise ValueError(f"values must hold a query for which {self.metric} is defined")
        worst_first = self.values[known]
        if not ranking_metric(self.metric).larger_is_better:
            worst_first = -worst_first
        known = known[np.argsort(worst_first, kind="stable")]
        values = self.values[known]
        self.mean_, low, high = mean_interval(values)
        self.interval_ = low, high
        axes = self._begin(ax, 7.0, 4.2)
        from matplotlib.ticker import MaxNLocator

        before = n_named(axes)
        color = color_of(before)
        told = f"mean {self.mean_:.3f}"
        if n > 1:
            told += f" ± {(high - low) / 2:.3f}"
            axes.axhspan(low, high, color=color, alpha=0.15, linewidth=0)
        axes.axhline(self.mean_, color=color, linewidth=1.2, linestyle="--")
        axes.plot(
            np.arange(n + 1), np.append(values, values[-1]), drawstyle="steps-post",
            color=color, linewidth=1.8,
            label=told if self.name is None else f"{escaped(self.name)}: {told}",
        )  # fmt: skip
        if n <= _NAMED and not before:
            names = [shortened(one, 16) for one in self.queries[known].tolist()]
            axes.set_xticks(np.arange(n) + 0.5, names, rotation=90 if n > 10 else 0)
            axes.set_xlabel("query, the worst first")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.xaxis.set_major_formatter("{x:.0f}")
            axes.set_xlabel("queries, the worst first")
        axes.set(xlim=(0, n), ylabel=self.metric)
        axes.set_ylim(bottom=min(0.0, float(values.min()), axes.get_ylim()[0] if before else 0.0))
        tidy(axes)
        axes.legend(loc="lower right", fontsize=9)
        return self
