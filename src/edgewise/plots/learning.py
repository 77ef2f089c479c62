"""What each round of a training did."""

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.metrics.registry import larger_is_better
from edgewise.plots.drawing import (
    BESIDE,
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PINK,
    RED,
    empty_figure,
    finished,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgewise.estimators import AdaBoostMH, RankBoost

# From so many rounds on, a linear axis would squeeze what happens early into its left edge.
_LOG_ROUNDS_FROM = 3000
# The dots of more rounds than this are smaller, so that they stand side by side.
_MANY_ROUNDS = 50
# The most letters in a line along the side of the panel in the middle.
_LABEL_WIDTH = 20
# Losses of which the largest is so many times the least are drawn on a logarithmic axis.
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
    """Draw what each round of a training did.

    Of a classifier, above: training error, Hamming loss, the bound on it, and the validation
    metric if there is one. Below: edge and w'_Sigma. A validation metric of which larger is better
    is no loss: it is in the middle, with its best round.

    Of a ranker, above: ranking loss and the bound on it. In the middle, if there is one: the
    validation metric with its best round; it is seldom a loss, and so has an axis of its own.
    Below: the edge r, negative where a rule is turned round.

    Where losses span decades the axis is logarithmic, and linear from its lowest decade down to
    zero where a loss reaches zero.

    Parameters
    ----------
    model : AdaBoostMH, RankBoost or RankFusion
        A trained model.
    path : str or path-like, default None
        Where to write the picture; its suffix says the format, and a path without one gets
        ``.png``.
    title : str, default None
        A heading.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    ValueError
        If the model has no rounds.

    Examples
    --------
    >>> from edgewise import AdaBoostMH, RankBoost
    >>> from edgewise.plots import learning_curve
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> figure = learning_curve(AdaBoostMH("stump", n_rounds=5).fit(X, y))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['loss', 'share of weight']
    >>> figure = learning_curve(RankBoost(n_rounds=5).fit(X, y, eval_set=(X, y)))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['loss', 'validation map', 'edge r']
    """
    n_rounds = model.history_.n_rounds
    if n_rounds == 0:
        raise ValueError("model must have at least one round to draw")
    draw = _draw_ranker if "ranking_loss" in model.history_ else _draw_classifier
    figure = draw(model, np.arange(1.0, n_rounds + 1))
    figure.axes[-1].set_xlabel("boosting round")
    _scale_rounds(figure.axes[-1], n_rounds)
    for axes in figure.axes:
        tidy(axes)
        _mark_kept(axes, model.n_rounds_, n_rounds)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(**BESIDE)
    if title is not None:
        figure.axes[0].set_title(title, loc="left", color=INK)
    return finished(figure, path)


def _draw_classifier(model: "AdaBoostMH | RankBoost", rounds: Reals) -> "Figure":
    """Draw losses above, shares of weight below, and in the middle a metric that is no loss."""
    history = model.history_
    validated = "validation" in history
    rising = validated and larger_is_better(model.eval_metric)
    figure, (above, *middle, below) = _panels(rising)
    bound, losses = history["bound"], [history["hamming_loss"], history["train_error"]]
    # With the logistic loss the bound is a sum of steps and no product.
    name = "bound" if "weight" in history else "bound (product of Z)"
    _draw_rounds(above, rounds, bound, name, INK, linestyle="--")
    # Of two classes these are one line: the wide one shows from below the narrow one.
    _draw_rounds(above, rounds, losses[0], "Hamming loss", GREEN, linewidth=2.8)
    _draw_rounds(above, rounds, losses[1], "training error", BLUE)
    if validated and not rising:
        losses.append(history["validation"])
        _draw_rounds(above, rounds, losses[2], _validation_name(model.eval_metric), RED)
    _scale_losses(above, bound, np.concatenate(losses))
    above.set_ylabel("loss")
    for axes in middle:
        _draw_validation(axes, rounds, model)

    _draw_rounds(below, rounds, history["edge"], "edge", ORANGE)
    if not np.isnan(history["pseudo_weight"]).all():
        _draw_rounds(below, rounds, history["pseudo_weight"], r"$w'_\Sigma$", PINK)
    below.set_ylim(0.0, None)
    below.set_ylabel("share of weight")
    return figure


def _panels(with_middle: bool) -> tuple["Figure", list["Axes"]]:
    """Return a new figure and its panels: above, in the middle where asked for, below."""
    figure = empty_figure(7.0, 6.8 if with_middle else 5.4)
    ratios = (3, 1.6, 1.25) if with_middle else (3, 1.25)
    return figure, list(figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios))


def _draw_ranker(model: "AdaBoostMH | RankBoost", rounds: Reals) -> "Figure":
    """Draw losses above, the validation metric, if there is one, in the middle, edges below."""
    history = model.history_
    figure, (above, *middle, below) = _panels("validation" in history)
    _draw_rounds(above, rounds, history["bound"], "bound (product of Z)", INK, linestyle="--")
    _draw_rounds(above, rounds, history["ranking_loss"], "ranking loss", BLUE)
    _scale_losses(above, history["bound"], history["ranking_loss"])
    above.set_ylabel("loss")
    for axes in middle:
        _draw_validation(axes, rounds, model)

    _draw_signed(below, rounds, history["edge"])
    below.set_ylabel("edge r")
    return figure


def _draw_validation(axes: "Axes", rounds: Reals, model: "AdaBoostMH | RankBoost") -> None:
    """Draw the validation metric, and its best round as a dot."""
    values, best = model.history_["validation"], model.best_iteration_
    _draw_rounds(axes, rounds, values, None, RED)
    value = float(values[best - 1])
    axes.plot(
        [best], [value], "o", color=RED, markersize=6, clip_on=False, zorder=3,
        label=f"best: {value:.4g} (round {best:,})",
    )  # fmt: skip
    # A file cannot hold a function; the name of the default would be that of another metric.
    unknown = "eval_metric" in getattr(model, "_unsaved", ())
    axes.set_ylabel(_in_lines(_validation_name(None if unknown else model.eval_metric)))


def _draw_signed(axes: "Axes", rounds: Reals, values: Reals) -> None:
    """Draw values of either sign as dots, since a line between them would fill the panel."""
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
    """Choose the axis: linear, or logarithmic down to about the least loss that is not zero."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    seen = losses[np.isfinite(losses)]
    # The bound goes on falling long after no loss can follow it.
    floor = max(float(seen[seen > 0].min(initial=1.0)) / 10, 1e-6)
    every = np.concatenate([bound[bound > floor], seen[seen > 0]])
    if (seen < 0).any() or len(every) == 0 or every.max() < _LOG_SPAN * every.min():
        axes.set_ylim(bottom=min(0.0, float(seen.min(initial=0.0))))
        return
    if (seen == 0).any():
        # linscale keeps the linear part, which only says "down to zero", small.
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
    """Show where early stopping cut the model."""
    if 0 < kept < n_rounds:
        # Named where there is a legend anyway.
        name = f"kept: {kept:,}" if axes.get_legend_handles_labels()[1] else None
        axes.axvline(kept, color=GREY, linewidth=1.0, linestyle=":", label=name)


def _validation_name(metric: Any) -> str:
    if isinstance(metric, str):
        return _VALIDATION_NAMES.get(metric, f"validation {metric}")
    # A `RankingMetric` has a name, and is no function.
    name = getattr(metric, "__name__", None) or getattr(metric, "name", "metric")
    return f"validation {name}"


def _in_lines(name: str) -> str:
    """Return a name in lines that fit the side of a panel, broken after blanks and underscores."""
    lines = [""]
    for part in re.findall(r"[^ _]*[ _]*", name):
        if lines[-1] and len(lines[-1] + part.rstrip()) > _LABEL_WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)
