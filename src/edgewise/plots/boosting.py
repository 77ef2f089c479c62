"""Learning curves: losses, their bound, the validation metrics and the edge of every round."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from edgewise.plots.drawing import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    Display,
    escape_label,
    make_figure,
    style_axes,
    unwrap_fitted,
)
from edgewise.report.curves import (
    LOG_ROUNDS,
    LearningCurve,
    LearningCurves,
    learning_curves,
    log_floor,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more rounds, dots are smaller, so that they do not overlap.
_MANY_ROUNDS = 50
# Characters per line of the label of a metric's panel.
_LABEL_WIDTH = 20
_TRAINING_COLORS, _VALIDATION_COLORS = (BLUE, GREEN), (RED, SKY, PINK, ORANGE)


@dataclass(eq=False, repr=False)
class BoostingCurveDisplay(Display):
    """The losses, their bound, the validation metrics and the edge of every round.

    The top panel shows the bound and the losses, on training and validation rows. A validation
    metric that is not an error rate has a panel of its own, with a dot at the best round of the
    metric that decides. The bottom panel shows the edge, which is negative where a ranker reverses
    a rule, and w'_Sigma. Losses that span decades have a logarithmic axis, linear below the
    smallest if a loss reaches zero. A dotted line marks the last round that the model keeps, where
    there were more. Rows that `fit` held out to choose the number of rounds are drawn like
    validation rows.

    Parameters
    ----------
    curves : LearningCurves
        The curves of a model, from `edgewise.report.curves.learning_curves`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the losses.
    axes_ : list of matplotlib Axes
        The axes of all panels, from top to bottom.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from edgewise import RankBoost
    >>> from edgewise.plots import BoostingCurveDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = RankBoost(n_rounds=5).fit(X, y, eval_set=(X, y))
    >>> display = BoostingCurveDisplay.from_estimator(model)
    >>> [axes.get_ylabel() for axes in display.axes_]
    ['loss', 'validation MAP', 'edge']
    """

    curves: LearningCurves

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: "Axes | Sequence[Axes] | None" = None) -> Self:
        """Draw the rounds of a trained model.

        Parameters
        ----------
        estimator : AdaBoostMH, RankBoost or RankFusion
            A trained model, or a pipeline or search that ends with one.
        ax : matplotlib Axes, or sequence of them, default None
            Where to draw: one Axes shows the losses alone, a sequence has one for each panel. None
            makes a new figure.
        """
        (model,) = unwrap_fitted(estimator, "history_")
        return cls(learning_curves(model)).plot(ax=ax)

    def plot(self, *, ax: "Axes | Sequence[Axes] | None" = None) -> Self:
        """Draw the rounds on one Axes, one for each panel, or a new figure if `ax` is None."""
        curves = self.curves
        if not curves.edges:
            raise ValueError("estimator must have at least one round to draw")
        self.axes_ = self._make_panels(ax)
        self.ax_, *panels = self.axes_
        self.figure_ = self.ax_.figure.figure
        self._draw_losses(self.ax_)
        for axes, (metric, metric_curves) in zip(panels, curves.metrics.items(), strict=False):
            self._draw_metric(axes, metric, metric_curves)
        if panels:
            self._draw_edges(panels[-1])
        self.axes_[-1].set_xlabel(curves.unit)
        for axes in self.axes_:
            self._scale_rounds(axes)
            style_axes(axes)
            has_labels = bool(axes.get_legend_handles_labels()[1])
            if curves.kept:
                label = f"kept: {curves.kept:,}" if has_labels else None
                axes.axvline(curves.kept, color=GRAY, linewidth=1.0, linestyle=":", label=label)
            if has_labels:
                # The other panels are low.
                self._add_legend(axes, columns=1 if axes is self.ax_ else 3)
        return self

    def _make_panels(self, ax: "Axes | Sequence[Axes] | None") -> "list[Axes]":
        """Return the axes of the losses, of each metric and of the edges."""
        ratios = (3, *(1.6 for _ in self.curves.metrics), 1.25)
        self._has_own_figure = ax is None
        if ax is None:
            figure = make_figure(7.0, 5.4 + 1.4 * len(self.curves.metrics))
            return list(figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios))
        panels: list[Axes] = np.ravel(np.asarray(ax, dtype=object)).tolist()
        if len(panels) not in (1, len(ratios)):
            raise ValueError(f"ax must be one Axes or {len(ratios)}, got {len(panels)}")
        return panels

    def _draw_losses(self, axes: "Axes") -> None:
        colors, others = iter(_TRAINING_COLORS), cycle(_VALIDATION_COLORS)
        for curve in self.curves.losses:
            if curve.is_bound:
                _draw_curve(axes, curve, GRAY, curve.name, linestyle="--")
            else:
                color = next(others if curve.rows else colors)
                _draw_curve(axes, curve, color, escape_label(curve.name))
        _scale_losses(axes, self.curves.losses)
        axes.set_ylabel("loss")

    def _draw_metric(self, axes: "Axes", metric: str, curves: Sequence[LearningCurve]) -> None:
        """Draw a metric of each set of validation rows, with a dot at its best round."""
        several = len(curves) > 1
        for curve, color in zip(curves, cycle(_VALIDATION_COLORS), strict=False):
            _draw_curve(axes, curve, color, escape_label(curve.rows) if several else None)
        decides, best = self.curves.best
        if metric == decides:
            value = curve.after(best)
            axes.plot(
                [best], [value], "o", color=color, markersize=6, clip_on=False, zorder=3,
                label=f"best: {value:.4g} (round {best:,})",
            )  # fmt: skip
        label = escape_label(metric if several else curve.name)
        axes.set_ylabel(textwrap.fill(label.replace("_", " "), _LABEL_WIDTH))

    def _draw_edges(self, axes: "Axes") -> None:
        edge, *pseudo_weight = self.curves.edges
        axes.set_ylabel("edge")
        if not pseudo_weight and (edge.values < 0).any():
            # A line between values of both signs would fill the panel.
            size = 3.5 if len(edge.rounds) > _MANY_ROUNDS else 5.0
            axes.plot(
                edge.rounds, edge.values, ".", color=ORANGE, markersize=size, clip_on=False,
                zorder=3,
            )  # fmt: skip
            axes.axhline(0.0, color=GRAY, linewidth=0.8, zorder=0.8)
            return
        _draw_curve(axes, edge, ORANGE, "edge" if pseudo_weight else None)
        for curve in pseudo_weight:
            _draw_curve(axes, curve, PINK, r"$w'_\Sigma$")
            axes.set_ylabel("share of weight")
        axes.set_ylim(0.0, None)

    def _scale_rounds(self, axes: "Axes") -> None:
        n_rounds = self.curves.n_rounds
        if n_rounds >= LOG_ROUNDS:
            axes.set_xscale("log")
            axes.set_xlim(1, n_rounds)
            return
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
        axes.set_xlim((1, n_rounds) if n_rounds > 1 else (0, 2))


def _draw_curve(
    axes: "Axes", curve: LearningCurve, color: str, label: str | None, linestyle: str = "-"
) -> None:
    few = len(curve.values) <= 2
    axes.plot(
        curve.rounds, curve.values, color=color, linestyle=linestyle, linewidth=1.6,
        label=label, marker="o" if few else None,
        markersize=5, clip_on=not few,
    )  # fmt: skip


def _scale_losses(axes: "Axes", curves: Sequence[LearningCurve]) -> None:
    """Choose the axis of losses: linear, or logarithmic down to about the smallest one."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    low = log_floor(curves)
    if not low:
        axes.set_ylim(bottom=0.0)
        return
    if any((curve.values == 0).any() for curve in curves):
        # linscale keeps the linear part, which only shows zero, small.
        axes.set_yscale("symlog", linthresh=low, linscale=0.3)
        axes.set_ylim(bottom=0.0)
        high = np.log10(max(float(np.nanmax(curve.values)) for curve in curves))
        decades = np.arange(np.ceil(np.log10(low)), high + 1)
        axes.yaxis.set_major_locator(FixedLocator([0.0, *(10.0**decades)]))
    else:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.8 * low)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
