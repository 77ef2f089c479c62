"""Whether probabilities are right: a reliability diagram of two or more classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgewise.common.checks import integer, reals
from edgewise.common.dtypes import Reals
from edgewise.metrics.classification import reliability
from edgewise.plots.drawing import GRAY, Display, color_of, escaped, n_named, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More classes are drawn as one line.
_NAMED = 5
# A bin with fewer rows than both, the number and the share, shows little but chance.
_LEAST, _LEAST_SHARE = 10, 0.01


class ReliabilityCurve(NamedTuple):
    """Bins of one probability: its mean, how often it came true, and the number of rows."""

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
    """How often predictions come true, by their probability, for each class.

    Rows are put into bins by their probability of a class. A dot shows the mean probability of a
    bin and the share of its rows that are of the class, and is larger the more rows there are; on
    the diagonal the two are equal. Bins with fewer than ten rows, and less than 1% of all, are not
    drawn. "Off by" is the mean distance from the diagonal over all rows, the expected calibration
    error.

    For several classes the line "predicted class" is about the class that each row is predicted to
    have. More than five classes or labels are drawn as one line, all of their bins together. For
    two classes scikit-learn's ``CalibrationDisplay`` draws the same line.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve
        The bins of each line.
    name : str, default None
        The name of the classifier, for the legend: several can be drawn on the same axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.plots import ReliabilityDisplay
    >>> chance = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    >>> shown = ReliabilityDisplay.from_predictions(["no", "no", "no", "yes"], chance, n_bins=2)
    >>> shown.curves[0].observed
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
        n_bins : int, default 10
            The number of bins.
        name : str, default None
            The name of the classifier, for the legend.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        chance, classes = estimator.predict_proba(X), estimator.classes_
        return cls.from_predictions(y, chance, classes=classes, n_bins=n_bins, name=name, ax=ax)

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
        chance, y = reals("y_prob", y_prob, ndim=(2,)), np.asarray(y_true)
        if chance.size and not 0.0 <= chance.min() <= chance.max() <= 1.0:
            raise ValueError("y_prob must hold probabilities, from 0 to 1")
        if y.ndim == 2:
            names = np.arange(y.shape[1]) if classes is None else np.asarray(classes)
            hits = y != 0
        else:
            names = np.unique(y) if classes is None else np.asarray(classes)
            hits = y[:, None] == names
        if hits.shape != chance.shape:
            raise ValueError(
                f"y_prob must have one row for each of y_true and one column for each class, "
                f"{hits.shape}, got {chance.shape}"
            )
        lines = {str(name): (chance[:, k], hits[:, k]) for k, name in enumerate(names)}
        if len(names) > _NAMED:
            lines = {f"all {len(names)} {'labels' if y.ndim == 2 else 'classes'}": (chance, hits)}
        if y.ndim == 1 and len(names) == 2:
            del lines[str(names[0])]
        elif y.ndim == 1:
            rows, best = np.arange(len(y)), chance.argmax(axis=1)
            lines = {"predicted class": (chance[rows, best], hits[rows, best]), **lines}
        curves = [
            ReliabilityCurve(name, *reliability(p.ravel(), h.ravel(), n_bins))
            for name, (p, h) in lines.items()
        ]
        return cls(curves, name).plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        axes = self._begin(ax, 5.4, 5.2)
        if not n_named(axes):
            axes.plot([0, 1], [0, 1], ":", color=GRAY, linewidth=1.2, label="as predicted")
        for curve in self.curves:
            color = color_of(n_named(axes) - 1)
            shares = curve.counts / curve.counts.sum()
            seen = (curve.counts >= _LEAST) | (shares >= _LEAST_SHARE)
            x, y, sizes = curve.predicted[seen], curve.observed[seen], 8.0 + 150.0 * shares[seen]
            name = curve.name if self.name is None else f"{self.name}: {curve.name}"
            label = f"{escaped(name)} (off by {curve.gap:.1%})"
            axes.plot(x, y, "o-", color=color, linewidth=1.5, markersize=3, label=label)
            axes.scatter(x, y, s=sizes, color=color, linewidths=0, zorder=3)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        axes.set(xlabel="mean predicted probability", ylabel="share of rows where it came true")
        tidy(axes)
        axes.legend(fontsize=9)
        return self
