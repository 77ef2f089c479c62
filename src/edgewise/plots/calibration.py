"""Reliability diagrams of two or more classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import integer, reals
from edgewise.common.dtypes import Reals
from edgewise.metrics.classification import reliability
from edgewise.plots.drawing import GRAY, Display, count_labels, escape_label, line_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More classes are drawn as one line.
_MAX_LINES = 5
# Bins with fewer rows than both are not drawn: their frequencies are mostly noise.
_MIN_ROWS, _MIN_SHARE = 10, 0.01


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
