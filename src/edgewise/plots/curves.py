"""Plots of explanations: the effect of one feature, and contributions."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.plots import drawing
from edgewise.plots.drawing import BESIDE, COLOURS, GREY, PALE, escaped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgewise.model import Curve, Explanation


def curve_plot(
    curve: "Curve", classes: Sequence[Any], path: str | os.PathLike[str] | None = None
) -> "Figure":
    """Draw the effect of one feature on the scores: a step function for each class.

    With more than six classes, the six that the feature changes most have names and the others
    are grey. For a list of `RankFusion`, the j-th document is at -j. Dots at the right are the
    scores of a missing value, or of documents that a list does not return, unless they are 0.

    Parameters
    ----------
    curve : Curve
        One curve of ``model.explain()``.
    classes : sequence
        The class labels: ``model.classes_``, or ``model.explain().classes`` for a ranker.
    path : str or path-like, default None
        Write the picture here; the suffix is the format, ``.png`` by default.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import curve_plot
    >>> model = AdaBoostMH("stump", n_rounds=5).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> curve_plot(model.explain()[0], model.classes_).axes[0].get_xlabel()
    'x0'
    """
    names = _score_names(curve, classes)
    figure = drawing.empty_figure(6.6, 4.0)
    axes = figure.subplots()
    edges, scores = _steps(curve)
    groups = _alike(np.vstack([scores, curve.missing]))
    named, rest = groups[: len(COLOURS)], groups[len(COLOURS) :]
    # Where lines coincide, the wider one shows behind the narrower one.
    widths = np.linspace(3.6, 1.6, len(named)) if len(named) > 1 else [1.9]
    for group, colour, width in zip(named, COLOURS, widths, strict=False):
        alike = ", ".join(names[k] for k in group)
        axes.stairs(
            scores[:, group[0]], edges, baseline=None, color=colour, linewidth=width, label=alike
        )
    for place, group in enumerate(rest):
        others = f"{sum(map(len, rest))} others" if place == 0 else None
        axes.stairs(
            scores[:, group[0]], edges, baseline=None, color=PALE, linewidth=1.0, label=others,
            zorder=0.9,
        )  # fmt: skip
    axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=0.8)
    axes.set_xlim(edges[0], edges[-1])
    if curve.missing.any():
        _draw_missing(axes, curve.missing, groups, edges)
    axes.set(xlabel=escaped(curve.name), ylabel="added to the score")
    drawing.tidy(axes)
    if len(classes) > 1:
        axes.legend(title="class" if len(names) > 1 else None, **BESIDE)
    return drawing.finished(figure, path)


def contribution_plot(
    explanation: "Explanation", path: str | os.PathLike[str] | None = None
) -> "Figure":
    """Draw the largest contributions of an explanation as horizontal bars.

    Parameters
    ----------
    explanation : Explanation
        The result of ``explain`` of any model.
    path : str or path-like, default None
        Write the picture here; the suffix is the format, ``.png`` by default.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", n_rounds=5).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> model.explain().plot().axes[0].get_xlabel()
    'importance'
    """
    parts = explanation.contributions[: explanation.shown]
    figure = drawing.empty_figure(6.6, 1.2 + 0.28 * len(parts))
    axes = figure.subplots()
    places = range(len(parts))
    colours = [COLOURS[part.amount < 0] for part in parts]
    axes.barh(places, [part.amount for part in parts], color=colours, height=0.7)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_yticks(places, [escaped(part.name) for part in parts])
    axes.invert_yaxis()
    axes.set_xlabel(explanation.unit)
    axes.set_title(escaped(explanation.title), loc="left", fontsize=10)
    drawing.tidy(axes)
    return drawing.finished(figure, path)


def _score_names(curve: "Curve", classes: Sequence[Any]) -> list[str]:
    n_scores = curve.scores.shape[1]
    if n_scores == 1 and len(classes) == 2:
        return [f"above 0: {escaped(classes[1])}\nbelow 0: {escaped(classes[0])}"]
    if len(classes) != n_scores:
        raise ValueError(
            f"classes must have {n_scores} entries, one for each score of the curve, "
            f"got {len(classes)}"
        )
    return [escaped(name) for name in classes]


def _steps(curve: "Curve") -> tuple[Reals, Reals]:
    """Return the edges of the steps, with some room at both ends, and the scores."""
    # Infinite thresholds, which separate missing or infinite values, are not on the axis.
    finite = np.isfinite(curve.thresholds)
    thresholds = curve.thresholds[finite]
    first = int(np.searchsorted(curve.thresholds, -np.inf, side="right"))
    scores = curve.scores[first : first + len(thresholds) + 1]
    low, high = (thresholds[0], thresholds[-1]) if len(thresholds) else (0.0, 0.0)
    room = 0.08 * (high - low) or 0.5 * max(abs(low), 1.0)
    return np.concatenate([[low - room], thresholds, [high + room]]), scores


def _alike(scores: Reals) -> list[list[int]]:
    """Group classes with equal step functions, the largest effect first."""
    groups: dict[bytes, list[int]] = {}
    moved = np.ptp(scores, axis=0)
    for k in np.argsort(-moved, kind="stable").tolist():
        # Equal but for rounding; adding 0.0 makes -0.0 positive.
        groups.setdefault((scores[:, k].round(9) + 0.0).tobytes(), []).append(k)
    return list(groups.values())


def _draw_missing(axes: "Axes", missing: Reals, groups: list[list[int]], edges: Reals) -> None:
    """Draw the scores of a missing value as dots in a strip at the right."""
    width = 0.1 * (edges[-1] - edges[0])
    place = edges[-1] + width / 2
    axes.axvspan(edges[-1], edges[-1] + width, color="#F4F4F4", zorder=0)
    for rank in reversed(range(len(groups))):
        colour = COLOURS[rank] if rank < len(COLOURS) else PALE
        axes.plot([place], [missing[groups[rank][0]]], "o", color=colour, markersize=5)
    axes.set_xlim(edges[0], edges[-1] + width)
    # The strip is not part of the scale, so it has no tick.
    axes.set_xticks([tick for tick in axes.get_xticks() if edges[0] <= tick <= edges[-1]])
    axes.annotate(
        "missing", (place, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
        textcoords="offset points", ha="center", va="bottom", fontsize=8, color=GREY,
    )  # fmt: skip
