"""Bars: the importance of columns, and the contributions to a score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.checks import integer
from edgewise.common.text import pluralize
from edgewise.plots.drawing import (
    BLUE,
    GRAY,
    RED,
    Display,
    escape_label,
    short_label,
    unwrap_fitted,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgewise.model import Contribution, Explanation

# Contributions that would read 0.00 are drawn together.
_MIN_AMOUNT = 0.005
_MAX_LABEL = 44


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
        """Draw the ``feature_importances_`` of a model.

        Parameters
        ----------
        estimator : AdaBoostMH, RankBoost or RankFusion
            A trained model, or a pipeline or search that ends with one.
        shown : int, default 20
            How many columns to draw; columns without importance are left out.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        (model,) = unwrap_fitted(estimator, "feature_importances_")
        importances = np.asarray(model.feature_importances_)
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(len(importances))]
        return cls(list(names), importances, shown).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        best = self._most_important()
        _draw_bars(axes, [self.names[j] for j in best], np.asarray(self.importances)[best])
        axes.set_xlabel("importance: share of the decrease in loss")

    def _figure_size(self) -> tuple[float, float]:
        return 6.6, 1.2 + 0.28 * len(self._most_important())

    def _most_important(self) -> list[int]:
        integer("shown", self.shown, 1)
        importances = np.asarray(self.importances, dtype=np.float64)
        best = np.argsort(-importances, kind="stable")[: self.shown]
        return best[importances[best] > 0].tolist()


@dataclass(eq=False, repr=False)
class ContributionDisplay(Display):
    """The contributions of an explanation as bars.

    For a score it is a waterfall chart: each bar begins where the one above it ends. It begins at
    the bias of a row, and at the mean rating, or 0, of a user and an item. For a model the
    bars show the importance of its columns.

    Parameters
    ----------
    explanation : Explanation
        The result of ``explain`` of any model.

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
        """Draw the contributions to the score of one row.

        Parameters
        ----------
        estimator : AdaBoostMH or RankBoost
            A trained model, or a pipeline or search that ends with one.
        X : array or data frame of shape (1, n_features)
            The row.
        background : array or data frame of shape (n_samples, n_features), default None
            The rows to compare with: the bias is their mean score. None compares with the training
            rows.
        label : object, default None
            The class whose score to draw; None is the predicted one.
        ax : matplotlib Axes, default None
            Where to draw; None makes a new figure.
        """
        model, X, background = unwrap_fitted(estimator, "history_", X, background)
        explanation = model.explain(X, background)
        return cls(explanation if label is None else explanation.of(label)).plot(ax=ax)

    def _draw(self, axes: "Axes") -> None:
        from edgewise.model import ModelExplanation

        explanation = self.explanation
        if isinstance(explanation, ModelExplanation):
            shown = explanation.contributions[: explanation.shown]
            _draw_bars(axes, [c.name for c in shown], [c.amount for c in shown])
            axes.set_xlabel(explanation.unit)
        else:
            self._draw_waterfall(axes)
        axes.set_title(escape_label(explanation.title), loc="left", fontsize=10.5)

    def _figure_size(self) -> tuple[float, float]:
        return 7.0, 1.7 + 0.29 * min(len(self.explanation.contributions), self.explanation.shown)

    def _draw_waterfall(self, axes: "Axes") -> None:
        """Draw the bars that lead to the score, each from where the one above it ends."""
        explanation = self.explanation
        first, contributions = _split_start(explanation)
        shown = [c for c in contributions[: explanation.shown] if abs(c.amount) >= _MIN_AMOUNT]
        bars = [(str(c), c.amount) for c in shown]
        if others := contributions[len(shown) :]:
            bars.append((pluralize(len(others), "others"), math.fsum(c.amount for c in others)))
        names, amounts = [name for name, _ in bars], [value for _, value in bars]
        # The start is in the first line, the score in the last.
        ends = first.amount + np.cumsum([0.0, *amounts, 0.0])
        low, high = ends.min(), ends.max()
        room = 0.13 * (high - low or 1.0)
        if low - room < 0 < high + room:
            axes.axvline(0.0, color=GRAY, linewidth=0.8, zorder=1)
        # From each line to the next.
        heights = [line + below for line in range(len(ends) - 1) for below in (0, 1)]
        axes.plot(np.repeat(ends[:-1], 2), heights, color=GRAY, linewidth=0.9, zorder=2)
        axes.plot(ends[[0, -1]], [0, len(ends) - 1], "D", color=GRAY, markersize=5, zorder=4)
        colors = [_color(amount) for amount in amounts]
        lines = range(1, len(ends) - 1)
        axes.barh(lines, amounts, left=ends[:-2], color=colors, height=0.64, zorder=3)
        ink = axes.yaxis.label.get_color()
        texts = zip([ends[0], *amounts, ends[-1]], [ink, *colors, ink], strict=True)
        for line, (end, (amount, color)) in enumerate(zip(ends, texts, strict=True)):
            side = -1 if color == RED else 1
            text = format(round(float(amount), 2) + 0.0, explanation.amount_format)
            axes.annotate(
                text.replace("-", "\N{MINUS SIGN}"), (end, line), (side * 6, 0),
                textcoords="offset points", ha="left" if side > 0 else "right",
                va="center_baseline", fontsize=9, color=color, zorder=5,
                bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.8,
                      "alpha": 0.85},
            )  # fmt: skip
        labels = [short_label(name, _MAX_LABEL) for name in (first.name, *names, "score")]
        axes.set_yticks(range(len(ends)), labels)
        axes.set(xlim=(low - room, high + room), ylim=(len(ends) - 0.4, -0.6), xlabel="score")
        _style_bars(axes)


def _split_start(explanation: "Explanation") -> "tuple[Contribution, list[Contribution]]":
    """Return where the waterfall starts, and the contributions after it.

    It starts at the bias of a row. For a user and an item it starts at a contribution larger than
    all others together, as the mean rating is; else at 0.
    """
    from edgewise.model import Contribution, RowExplanation

    contributions = list(explanation.contributions)
    if isinstance(explanation, RowExplanation):
        others = [c for c in contributions if c.name != "bias"]
        return Contribution("bias", explanation.bias), others
    sizes = [abs(c.amount) for c in contributions]
    if contributions and sizes[0] > math.fsum(sizes[1:]):
        return replace(contributions[0], name=str(contributions[0])), contributions[1:]
    return Contribution("start", 0.0), contributions


def _color(amount: float) -> str:
    return RED if amount < 0 else BLUE


def _draw_bars(axes: "Axes", names: Sequence[str], amounts: ArrayLike) -> None:
    """Draw shares as bars from 0, each with its name, from top to bottom."""
    from matplotlib.ticker import PercentFormatter

    values = np.asarray(amounts, dtype=np.float64).tolist()
    axes.barh(range(len(names)), values, color=[_color(value) for value in values], height=0.7)
    axes.axvline(0.0, color=GRAY, linewidth=0.8)
    axes.set_yticks(range(len(names)), [short_label(name, _MAX_LABEL) for name in names])
    axes.invert_yaxis()
    _style_bars(axes)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.locator_params(axis="x", nbins=6)


def _style_bars(axes: "Axes") -> None:
    """Style axes whose vertical axis has only names."""
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
