"""Learning curves and the distribution of margins."""

import os
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from edgewise.common.dtypes import Reals
from edgewise.metrics.registry import larger_is_better
from edgewise.plots import drawing
from edgewise.plots.drawing import BESIDE, BLUE, GREEN, GREY, INK, ORANGE, PINK, RED
from edgewise.theory import margin_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgewise.estimators import AdaBoostMH, RankBoost

# With more rounds, a linear axis would squeeze the first ones into its left edge.
_LOG_ROUNDS_FROM = 3000
# With more rounds, dots are smaller, so that they do not overlap.
_MANY_ROUNDS = 50
# Characters per line of the middle panel's label.
_LABEL_WIDTH = 20
# Ratio of the largest to the smallest loss from which the axis is logarithmic.
_LOG_SPAN = 30
_VALIDATION_NAMES = {
    "error": "validation error",
    "hamming_loss": "validation Hamming loss",
    "log_loss": "validation log loss",
    "balanced_accuracy": "validation balanced accuracy",
    "roc_auc": "validation ROC AUC",
}


def learning_curve(
    model: "AdaBoostMH | RankBoost",
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
) -> "Figure":
    """Draw the losses, the validation metric and the edge of every round.

    The top panel shows the losses and the bound on them, the bottom panel the edge, which is
    negative where a ranker reverses a rule, and w'_Sigma. A validation metric for which larger is
    better has a panel of its own, with its best round. Losses that span decades have a logarithmic
    axis, linear below its lowest decade if a loss reaches zero.

    Parameters
    ----------
    model : AdaBoostMH, RankBoost or RankFusion
        A trained model.
    path : str or path-like, default None
        Write the picture here; the suffix is the format, ``.png`` by default.
    title : str, default None
        A heading.

    Examples
    --------
    >>> from edgewise import RankBoost
    >>> from edgewise.plots import learning_curve
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> figure = learning_curve(RankBoost(n_rounds=5).fit(X, y, eval_set=(X, y)))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['loss', 'validation map', 'edge r']
    """
    n_rounds = model.history_.n_rounds
    if n_rounds == 0:
        raise ValueError("model must have at least one round to draw")
    figure = _draw_panels(model, np.arange(1.0, n_rounds + 1))
    figure.axes[-1].set_xlabel("boosting round")
    _scale_rounds(figure.axes[-1], n_rounds)
    for axes in figure.axes:
        drawing.tidy(axes)
        _mark_kept(axes, model.n_rounds_, n_rounds)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(**BESIDE)
    if title is not None:
        figure.axes[0].set_title(title, loc="left", color=INK)
    return drawing.finished(figure, path)


def margin_plot(margins: ArrayLike, path: str | os.PathLike[str] | None = None) -> "Figure":
    """Draw the cumulative distribution of margins.

    Parameters
    ----------
    margins : array-like
        Normalised margins, such as ``model.margins(X, y)``, of any shape.
    path : str or path-like, default None
        Write the picture here; the suffix is the format, ``.png`` by default.

    Examples
    --------
    >>> from edgewise.plots import margin_plot
    >>> margin_plot([-0.1, 0.2, 0.3, 0.4]).axes[0].get_xlabel()
    'normalised margin'
    """
    values, shares = margin_distribution(margins)
    figure = drawing.empty_figure(6.0, 4.0)
    axes = figure.subplots()
    low, high = min(float(values[0]), 0.0), max(float(values[-1]), 0.0)
    room = 0.05 * (high - low) or 0.05
    low, high = max(low - room, -1.0), min(high + room, 1.0)
    axes.plot(
        np.concatenate([[low], values, [high]]),
        np.concatenate([[0.0], shares, [1.0]]),
        drawstyle="steps-post",
        color=BLUE,
        linewidth=1.8,
    )
    axes.axvline(0.0, color=GREY, linewidth=1.0, linestyle="--")
    wrong = float((values <= 0).mean())
    axes.plot([0.0], [wrong], "o", color=BLUE, markersize=5)
    axes.set_title(f"{wrong:.1%} of margins at or below 0", loc="left", fontsize=10, color=INK)
    axes.set(xlim=(low, high), xlabel="normalised margin")
    axes.set(ylim=(0.0, 1.02), ylabel="share of margins at or below")
    drawing.tidy(axes)
    return drawing.finished(figure, path)


def _draw_panels(model: "AdaBoostMH | RankBoost", rounds: Reals) -> "Figure":
    """Draw losses, a validation metric that is not a loss, and edges."""
    history = model.history_
    ranks, validated = "ranking_loss" in history, "validation" in history
    rising = validated and (ranks or larger_is_better(model.eval_metric))
    figure = drawing.empty_figure(7.0, 6.8 if rising else 5.4)
    ratios = (3, 1.6, 1.25) if rising else (3, 1.25)
    above, *middle, below = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios)

    # With the logistic loss, the bound is a sum of steps, not a product.
    name = "bound" if "weight" in history else "bound (product of Z)"
    _draw_rounds(above, rounds, history["bound"], name, INK, linestyle="--")
    if ranks:
        losses = [("ranking loss", "ranking_loss", BLUE, 1.6)]
    else:
        # For two classes these coincide: the wide line shows behind the narrow one.
        losses = [
            ("Hamming loss", "hamming_loss", GREEN, 2.8),
            ("training error", "train_error", BLUE, 1.6),
        ]
    if validated and not rising:
        losses.append((_validation_name(model.eval_metric_), "validation", RED, 1.6))
    for name, key, colour, width in losses:
        _draw_rounds(above, rounds, history[key], name, colour, linewidth=width)
    _scale_losses(above, history["bound"], np.concatenate([history[key] for _, key, *_ in losses]))
    above.set_ylabel("loss")
    for axes in middle:
        _draw_validation(axes, rounds, model)

    if ranks:
        _draw_signed(below, rounds, history["edge"])
        below.set_ylabel("edge r")
        return figure
    _draw_rounds(below, rounds, history["edge"], "edge", ORANGE)
    if not np.isnan(history["pseudo_weight"]).all():
        _draw_rounds(below, rounds, history["pseudo_weight"], r"$w'_\Sigma$", PINK)
    below.set(ylim=(0.0, None), ylabel="share of weight")
    return figure


def _draw_validation(axes: "Axes", rounds: Reals, model: "AdaBoostMH | RankBoost") -> None:
    """Draw the validation metric, with a dot at its best round."""
    values, best = model.history_["validation"], model.best_iteration_
    _draw_rounds(axes, rounds, values, None, RED)
    value = float(values[best - 1])
    axes.plot(
        [best], [value], "o", color=RED, markersize=6, clip_on=False, zorder=3,
        label=f"best: {value:.4g} (round {best:,})",
    )  # fmt: skip
    axes.set_ylabel(_in_lines(_validation_name(model.eval_metric_)))


def _draw_signed(axes: "Axes", rounds: Reals, values: Reals) -> None:
    """Draw values of both signs as dots: a line between them would fill the panel."""
    size = 3.5 if len(rounds) > _MANY_ROUNDS else 5.0
    axes.plot(rounds, values, ".", color=ORANGE, markersize=size, clip_on=False, zorder=3)
    if (values < 0).any():
        axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=0.8)
    else:
        axes.set_ylim(0.0, None)


def _draw_rounds(
    axes: "Axes",
    rounds: Reals,
    values: Reals,
    name: str | None,
    colour: str,
    linestyle: str = "-",
    linewidth: float = 1.6,
) -> None:
    few = len(rounds) <= 2
    axes.plot(
        rounds, values, color=colour, linestyle=linestyle, linewidth=linewidth, label=name,
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
        axes.axvline(kept, color=GREY, linewidth=1.0, linestyle=":", label=name)


def _validation_name(metric: str) -> str:
    return _VALIDATION_NAMES.get(metric, f"validation {metric}")


def _in_lines(name: str) -> str:
    """Break a name after blanks and underscores into lines that fit beside a panel."""
    lines = [""]
    for part in re.findall(r"[^ _]*[ _]*", name):
        if lines[-1] and len(lines[-1] + part.rstrip()) > _LABEL_WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)
