"""The distribution of margins."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from edgewise.plots.drawing import (
    GRAY,
    Display,
    count_labels,
    escape_label,
    line_color,
    unwrap_fitted,
)
from edgewise.report.curves import evenly_spaced
from edgewise.theory import margin_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More would look the same.
_MAX_POINTS = 5000


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
