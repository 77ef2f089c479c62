"""Learning curves: losses, their bound, the validation metric and the edge of every round."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.metrics.registry import larger_is_better, metric_name, metric_title
from edgewise.plots.drawing import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    Display,
    escaped,
    new_figure,
    tidy,
    trained,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more rounds, a linear axis would squeeze the first ones into its left edge.
_LOG_ROUNDS_FROM = 3000
# With more rounds, dots are smaller, so that they do not overlap.
_MANY_ROUNDS = 50
# Characters per line of the middle panel's label.
_LABEL_WIDTH = 20
# Ratio of the largest to the smallest loss from which the axis is logarithmic.
_LOG_SPAN = 30
# Colors of the validation sets, the last set first, and line styles of their losses.
_SET_COLORS, _LOSS_STYLES = (RED, SKY, PINK, ORANGE), ("-", "-.", ":")

Evaluations: TypeAlias = Mapping[str, Mapping[str, Reals]]


@dataclass(eq=False, repr=False)
class BoostingCurveDisplay(Display):
    """The losses, their bound, the validation metrics and the edge of every round.

    The top panel shows the losses and the bound on them, the bottom panel the edge, which is
    negative where a ranker reverses a rule, and w'_Sigma. A validation metric for which larger is
    better has a panel of its own, and so have all metrics of a ranker; a dot marks the best round
    by the metric that decides. Losses that span decades have a logarithmic axis, linear below its
    lowest decade if a loss reaches zero. A dotted line marks the last round that the model keeps,
    where there were more. Rows that `fit` held out to choose the number of rounds are drawn like
    validation rows.

    Parameters
    ----------
    history : History
        The record of the rounds: ``model.history_``.
    n_rounds : int
        The number of rounds in the model.
    evaluations : mapping, default {}
        The metrics of validation rows, by set and by metric: ``model.evals_result_``.
    apart : sequence of str, default ()
        The metrics that are not losses, which have panels of their own.
    best_iteration : int, default 0
        The best round by the first of these metrics on the last set; 0 marks none.

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
    ['loss', 'validation map', 'edge r']
    """

    history: Mapping[str, Reals]
    n_rounds: int
    evaluations: Evaluations = field(default_factory=dict)
    apart: Sequence[str] = ()
    best_iteration: int = 0

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
        (model,) = trained(estimator, "history_")
        evaluations = model.evals_result_ or _held_out(model)
        metrics = list(next(iter(evaluations.values()), ()))
        given = model.eval_metric
        given = given if isinstance(given, (list, tuple)) else [given]
        rising = {metric_name(metric) for metric in given if larger_is_better(metric)}
        ranks = "ranking_loss" in model.history_
        apart = [metric for metric in metrics if ranks or metric in rising]
        best = model.best_iteration_ if apart[:1] == [model.eval_metric_] else 0
        shown = cls(model.history_, model.n_rounds_, evaluations, apart, best)
        return shown.plot(ax=ax)

    def plot(self, *, ax: "Axes | Sequence[Axes] | None" = None) -> Self:
        """Draw the rounds.

        Parameters
        ----------
        ax : matplotlib Axes, or sequence of them, default None
            Where to draw: one Axes shows the losses alone, a sequence has one for each panel. None
            makes a new figure.
        """
        if len(self.history["edge"]) == 0:
            raise ValueError("estimator must have at least one round to draw")
        metrics = (values for found in self.evaluations.values() for values in found.values())
        n_rounds = max(map(len, (self.history["edge"], *metrics)))
        above, *others = self._panels(ax)
        self.axes_ = [above, *others]
        self._on(above)
        self._draw_losses(above)
        if others:
            self._draw_edges(others[-1])
        for middle, metric in zip(others, self.apart, strict=False):
            self._draw_apart(middle, metric)
        self.axes_[-1].set_xlabel("boosting round")
        for axes in self.axes_:
            _scale_rounds(axes, n_rounds)
            tidy(axes)
            _mark_kept(axes, self.n_rounds, n_rounds)
            if axes.get_legend_handles_labels()[1]:
                # The other panels are low.
                self._legend(axes, columns=1 if axes is above else 3)
        return self

    def _panels(self, ax: "Axes | Sequence[Axes] | None") -> "list[Axes]":
        """Return the axes of the panels."""
        ratios = (3, *(1.6 for _ in self.apart), 1.25)
        self._alone = ax is None
        if ax is None:
            figure = new_figure(7.0, 5.4 + 1.4 * len(self.apart))
            return list(figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios))
        given: list[Axes] = np.ravel(np.asarray(ax, dtype=object)).tolist()
        if len(given) not in (1, len(ratios)):
            raise ValueError(f"ax must be one Axes or {len(ratios)}, got {len(given)}")
        return given

    def _draw_losses(self, axes: "Axes") -> None:
        history = self.history
        # With the logistic loss, the bound is a sum of steps, not a product.
        name = "bound" if "weight" in history else "bound (product of Z)"
        _draw_rounds(axes, history["bound"], name, GRAY, linestyle="--")
        if "ranking_loss" in history:
            losses = [("ranking loss", history["ranking_loss"], BLUE, 1.6, "-")]
        else:
            # For two classes these coincide: the wide line shows behind the narrow one.
            losses = [
                ("Hamming loss", history["hamming_loss"], GREEN, 2.8, "-"),
                ("training error", history["train_error"], BLUE, 1.6, "-"),
            ]
        for name, color, metrics in self._sets():
            found = [metric for metric in metrics if metric not in self.apart]
            for metric, style in zip(found, cycle(_LOSS_STYLES), strict=False):
                losses.append((_named(name, metric), metrics[metric], color, 1.6, style))
        for name, values, color, width, style in losses:
            _draw_rounds(axes, values, name, color, linestyle=style, linewidth=width)
        _scale_losses(axes, history["bound"], np.concatenate([values for _, values, *_ in losses]))
        axes.set_ylabel("loss")

    def _sets(self) -> list[tuple[str, str, Mapping[str, Reals]]]:
        """Return the sets of validation rows: name, color and metrics."""
        backwards = zip(reversed([*self.evaluations.items()]), cycle(_SET_COLORS), strict=False)
        return [(name, color, metrics) for (name, metrics), color in backwards][::-1]

    def _draw_apart(self, axes: "Axes", metric: str) -> None:
        """Draw a metric of the validation rows, with a dot at its best round if it decides."""
        sets = self._sets()
        for name, color, metrics in sets:
            label = escaped(name) if len(sets) > 1 else None
            _draw_rounds(axes, metrics[metric], label, color)
        if metric == self.apart[0] and self.best_iteration:
            _, color, metrics = sets[-1]
            best, value = self.best_iteration, float(metrics[metric][self.best_iteration - 1])
            axes.plot(
                [best], [value], "o", color=color, markersize=6, clip_on=False, zorder=3,
                label=f"best: {value:.4g} (round {best:,})",
            )  # fmt: skip
        name = _named(sets[0][0], metric) if len(sets) == 1 else metric_title(metric)
        axes.set_ylabel(_in_lines(name))

    def _draw_edges(self, axes: "Axes") -> None:
        history = self.history
        if "ranking_loss" in history:
            _draw_signed(axes, history["edge"])
            axes.set_ylabel("edge r")
            return
        _draw_rounds(axes, history["edge"], "edge", ORANGE)
        if not np.isnan(history["pseudo_weight"]).all():
            _draw_rounds(axes, history["pseudo_weight"], r"$w'_\Sigma$", PINK)
        axes.set(ylim=(0.0, None), ylabel="share of weight")


def _held_out(model: Any) -> Evaluations:
    """Return the metric of the rows that were held out to choose the number of rounds, if any."""
    record = getattr(model.fitted_, "held_out", None)
    if record is None or len(record.values) < 2:
        return {}
    measured = record.stride * np.arange(1, len(record.values) + 1)
    rounds = np.arange(1, measured[-1] + 1)
    return {"held-out": {model.eval_metric_: np.interp(rounds, measured, record.values)}}


def _draw_signed(axes: "Axes", values: Reals) -> None:
    """Draw values of both signs as dots: a line between them would fill the panel."""
    rounds = np.arange(1, len(values) + 1)
    size = 3.5 if len(rounds) > _MANY_ROUNDS else 5.0
    axes.plot(rounds, values, ".", color=ORANGE, markersize=size, clip_on=False, zorder=3)
    if (values < 0).any():
        axes.axhline(0.0, color=GRAY, linewidth=0.8, zorder=0.8)
    else:
        axes.set_ylim(0.0, None)


def _draw_rounds(
    axes: "Axes",
    values: Reals,
    name: str | None,
    color: str,
    linestyle: str = "-",
    linewidth: float = 1.6,
) -> None:
    rounds, few = np.arange(1, len(values) + 1), len(values) <= 2
    axes.plot(
        rounds, values, color=color, linestyle=linestyle, linewidth=linewidth, label=name,
        marker="o" if few else None, markersize=2 + 2 * linewidth, clip_on=not few,
    )  # fmt: skip


def _scale_losses(axes: "Axes", bound: Reals, losses: Reals) -> None:
    """Choose the axis: linear, or logarithmic down to about the smallest positive loss."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    seen = losses[np.isfinite(losses)]
    # The bound keeps decreasing long after the losses stop.
    floor = max(float(seen[seen > 0].min(initial=1.0)) / 10, 1e-6)
    every = np.concatenate([bound[bound > floor], seen[seen > 0]])
    if (seen < 0).any() or len(every) == 0 or every.max() < _LOG_SPAN * every.min():
        axes.set_ylim(bottom=min(0.0, float(seen.min(initial=0.0))))
        return
    if (seen == 0).any():
        # linscale keeps the linear part, which only shows zero, small.
        axes.set_yscale("symlog", linthresh=every.min(), linscale=0.3)
        axes.set_ylim(bottom=0.0)
        decades = np.arange(np.ceil(np.log10(every.min())), np.log10(every.max()) + 1)
        axes.yaxis.set_major_locator(FixedLocator([0.0, *(10.0**decades)]))
    else:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.8 * every.min())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _scale_rounds(axes: "Axes", n_rounds: int) -> None:
    if n_rounds >= _LOG_ROUNDS_FROM:
        axes.set_xscale("log")
        axes.set_xlim(1, n_rounds)
        return
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    axes.set_xlim((1, n_rounds) if n_rounds > 1 else (0, 2))


def _mark_kept(axes: "Axes", kept: int, n_rounds: int) -> None:
    """Mark the last round that early stopping keeps."""
    if 0 < kept < n_rounds:
        # Named where there is a legend anyway.
        name = f"kept: {kept:,}" if axes.get_legend_handles_labels()[1] else None
        axes.axvline(kept, color=GRAY, linewidth=1.0, linestyle=":", label=name)


def _named(rows: str, metric: str) -> str:
    return escaped(f"{rows} {metric_title(metric)}")


def _in_lines(name: str) -> str:
    """Break a name after blanks and underscores into lines that fit beside a panel."""
    lines = [""]
    for part in re.findall(r"[^ _]*[ _]*", name):
        if lines[-1] and len(lines[-1] + part.rstrip()) > _LABEL_WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)
