"""Bars: the importance of columns, and what adds up to a score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer
from edgewise.common.text import pluralize
from edgewise.plots.drawing import BLUE, GRAY, RED, Display, escaped, shortened, tidy, trained

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgewise.model import Contribution, Explanation

# Contributions that would read 0.00 are drawn together.
_LEAST_SHOWN = 0.005
_LONGEST = 44


@dataclass(eq=False, repr=False)
class ImportanceDisplay(Display):
    """The importance of columns as bars, the largest first.

    Parameters
    ----------
    names : sequence of str
        The columns.
    importances : array-like of shape (n_features,)
        Their importances.
    shown : int, default 20
        How many to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import ImportanceDisplay
    >>> model = AdaBoostMH(n_rounds=5).fit([[0, 1], [1, 1], [2, 1]], ["a", "b", "c"])
    >>> [text.get_text() for text in ImportanceDisplay.from_estimator(model).ax_.get_yticklabels()]
    ['x0']
    """

    names: Sequence[str]
    importances: ArrayLike
    shown: int = 20

    @classmethod
    def from_estimator(cls, estimator: Any, *, shown: int = 20, ax: "Axes | None" = None) -> Self:
        """Draw the ``feature_importances_`` of a model: shares of the decrease of its loss.

        Parameters
        ----------
        estimator : AdaBoostMH, RankBoost or RankFusion
            A trained model, or a pipeline or search that ends with one.
        shown : int, default 20
            How many columns to draw; those of no importance are left out.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        (model,) = trained(estimator, "feature_importances_")
        importances = np.asarray(model.feature_importances_)
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(len(importances))]
        return cls(list(names), importances, shown).plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        integer("shown", self.shown, 1)
        shares = np.asarray(self.importances, dtype=np.float64)
        best = np.argsort(-shares, kind="stable")[: self.shown]
        best = best[shares[best] > 0]
        axes = self._begin(ax, 6.6, 1.2 + 0.28 * len(best))
        _draw_bars(axes, [self.names[j] for j in best], shares[best])
        axes.set_xlabel("importance: share of the decrease in loss")
        _in_percent(axes)
        return self


@dataclass(eq=False, repr=False)
class ContributionDisplay(Display):
    """What adds up to a score, or to a model: the contributions of an explanation.

    Bars lead to the score of a row from its bias, and to the score of a user and an item from the
    mean, or from 0: each begins where the one above it ends. The columns of a model have bars from
    0, which show their importance.

    Parameters
    ----------
    explanation : Explanation
        The result of ``explain`` of any model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import ContributionDisplay
    >>> model = AdaBoostMH("stump", n_rounds=5).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> ContributionDisplay.from_estimator(model, [[1.2]]).ax_.get_xlabel()
    'score'
    >>> model.explain().plot().ax_.get_xlabel()
    'importance'
    """

    explanation: "Explanation"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        background: Any = None,
        *,
        label: Any = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw how the score of a row comes about.

        Parameters
        ----------
        estimator : AdaBoostMH or RankBoost
            A trained model, or a pipeline or search that ends with one.
        X : array or data frame of shape (1, n_features)
            The row.
        background : array or data frame of shape (n_samples, n_features), default None
            The rows to compare with: the bias is their mean score. None compares with a row of
            which every value is missing.
        label : object, default None
            The class whose score to draw; None is the predicted one.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        model, X, background = trained(estimator, "history_", X, background)
        explanation = model.explain(X, background)
        return cls(explanation if label is None else explanation.of(label)).plot(ax=ax)

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        from edgewise.model import ModelExplanation

        explanation = self.explanation
        if isinstance(explanation, ModelExplanation):
            parts = explanation.contributions[: explanation.shown]
            axes = self._begin(ax, 6.6, 1.2 + 0.28 * len(parts))
            _draw_bars(axes, [part.name for part in parts], [part.amount for part in parts])
            axes.set_xlabel(explanation.unit)
            _in_percent(axes)
        else:
            self._draw_way(ax)
        self.ax_.set_title(escaped(explanation.title), loc="left", fontsize=10.5)
        return self

    def _draw_way(self, ax: "Axes | None") -> None:
        """Draw the way to the score, each bar from where the one above it ends."""
        explanation = self.explanation
        (begun, begin), parts = _beginning(explanation)
        visible = [part for part in parts[: explanation.shown] if abs(part.amount) >= _LEAST_SHOWN]
        names, amounts = [str(part) for part in visible], [part.amount for part in visible]
        if rest := parts[len(visible) :]:
            names.append(pluralize(len(rest), "others"))
            amounts.append(math.fsum(part.amount for part in rest))
        # The beginning is in the first line, the score in the last.
        ends = begin + np.cumsum([0.0, *amounts, 0.0])
        axes = self._begin(ax, 7.2, 1.2 + 0.29 * len(ends))
        low, high = ends.min(), ends.max()
        room = 0.13 * (high - low or 1.0)
        if low - room < 0 < high + room:
            axes.axvline(0.0, color=GRAY, linewidth=0.8, zorder=1)
        # From each line to the next.
        heights = [place + below for place in range(len(ends) - 1) for below in (0, 1)]
        axes.plot(np.repeat(ends[:-1], 2), heights, color=GRAY, linewidth=0.9, zorder=2)
        axes.plot(ends[[0, -1]], [0, len(ends) - 1], "D", color=GRAY, markersize=5, zorder=4)
        colors = [RED if amount < 0 else BLUE for amount in amounts]
        axes.barh(
            range(1, len(ends) - 1), amounts, left=ends[:-2], color=colors, height=0.64, zorder=3
        )
        text_color = axes.yaxis.label.get_color()
        told = [
            (ends[0], 1, text_color),
            *zip(amounts, amounts, colors, strict=True),
            (ends[-1], 1, text_color),
        ]
        for place, (end, (amount, direction, color)) in enumerate(zip(ends, told, strict=True)):
            side = 1 if direction >= 0 else -1
            text = format(round(float(amount), 2) + 0.0, explanation.amount_format)
            axes.annotate(
                text.replace("-", "\N{MINUS SIGN}"), (end, place), (side * 6, 0),
                textcoords="offset points", ha="left" if side > 0 else "right",
                va="center_baseline", fontsize=9, color=color, zorder=5,
                bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.8,
                      "alpha": 0.85},
            )  # fmt: skip
        ticks = [shortened(name, _LONGEST) for name in (begun, *names, "score")]
        axes.set_yticks(range(len(ends)), ticks)
        axes.set(xlim=(low - room, high + room), ylim=(len(ends) - 0.4, -0.6), xlabel="score")
        tidy(axes)
        _names_only(axes)


def _beginning(explanation: "Explanation") -> tuple[tuple[str, float], list["Contribution"]]:
    """Return where the way to a score begins, by name, and the contributions on it.

    That is the bias of a row. For a user and an item it is a contribution larger than all others
    together, as the mean rating is; else 0.
    """
    from edgewise.model import RowExplanation

    parts = list(explanation.contributions)
    if isinstance(explanation, RowExplanation):
        return ("bias", explanation.bias), [part for part in parts if part.name != "bias"]
    sizes = [abs(part.amount) for part in parts]
    if parts and sizes[0] > math.fsum(sizes[1:]):
        return (str(parts[0]), parts[0].amount), parts[1:]
    return ("start", 0.0), parts


def _draw_bars(axes: "Axes", names: Sequence[str], amounts: ArrayLike) -> None:
    """Draw bars from 0, each with its name, from top to bottom."""
    values = np.asarray(amounts, dtype=np.float64)
    colors = [RED if amount < 0 else BLUE for amount in values.tolist()]
    axes.barh(range(len(names)), values, color=colors, height=0.7)
    axes.axvline(0.0, color=GRAY, linewidth=0.8)
    axes.set_yticks(range(len(names)), [shortened(name, _LONGEST) for name in names])
    axes.invert_yaxis()
    tidy(axes)
    _names_only(axes)


def _names_only(axes: "Axes") -> None:
    """Leave only the names of the vertical axis."""
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _in_percent(axes: "Axes") -> None:
    from matplotlib.ticker import PercentFormatter

    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.locator_params(axis="x", nbins=6)
