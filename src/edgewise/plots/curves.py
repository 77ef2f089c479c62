"""Plots of explanations: the effect of one feature, contributions, and the score of a row."""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.common.dtypes import Reals
from edgewise.common.text import counted
from edgewise.plots import drawing
from edgewise.plots.drawing import BESIDE, COLOURS, GREY, INK, PALE, escaped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgewise.model import Curve, Explanation, RowExplanation

# Contributions that would read 0.00 are drawn together.
_LEAST_SHOWN = 0.005


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


def row_plot(explanation: "RowExplanation", path: str | os.PathLike[str] | None = None) -> "Figure":
    """Draw how the score of a row comes about: from the bias, by the largest contributions.

    Each bar begins where the one above it ends; the last ends at the score.

    Parameters
    ----------
    explanation : RowExplanation
        The result of ``explain`` with a row.
    path : str or path-like, default None
        Write the picture here; the suffix is the format, ``.png`` by default.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> model = AdaBoostMH("stump", n_rounds=5).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> model.explain([[1.2]]).plot().axes[0].get_xlabel()
    'score'
    """
    parts = [part for part in explanation.contributions if part.name != "bias"]
    visible = [part for part in parts[: explanation.shown] if abs(part.amount) >= _LEAST_SHOWN]
    names, amounts = [str(part) for part in visible], [part.amount for part in visible]
    if rest := parts[len(visible) :]:
        names.append(counted(len(rest), "others"))
        amounts.append(math.fsum(part.amount for part in rest))
    # The bias is in the first line, the score in the last.
    ends = explanation.bias + np.cumsum([0.0, *amounts, 0.0])
    figure = drawing.empty_figure(7.2, 1.2 + 0.29 * len(ends))
    axes = figure.subplots()
    low, high = ends.min(), ends.max()
    room = 0.13 * (high - low or 1.0)
    if low - room < 0 < high + room:
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    axes.plot(np.repeat(ends[:-1], 2), _stairs(len(ends)), color=GREY, linewidth=0.9, zorder=2)
    axes.plot(ends[[0, -1]], [0, len(ends) - 1], "D", color=INK, markersize=5, zorder=4)
    places, colours = range(1, len(ends) - 1), [COLOURS[amount < 0] for amount in amounts]
    axes.barh(places, amounts, left=ends[:-2], color=colours, height=0.64, zorder=3)
    labels = [(ends[0], 1, INK), *zip(amounts, amounts, colours, strict=True), (ends[-1], 1, INK)]
    for place, (end, (amount, direction, colour)) in enumerate(zip(ends, labels, strict=True)):
        side = 1 if direction >= 0 else -1
        text = format(round(float(amount), 2) + 0.0, explanation.amount_format)
        axes.annotate(
            text.replace("-", "\N{MINUS SIGN}"), (end, place), (side * 6, 0),
            textcoords="offset points", ha="left" if side > 0 else "right", va="center_baseline",
            fontsize=9, color=colour, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
        )  # fmt: skip
    axes.set_yticks(range(len(ends)), ["bias", *map(escaped, names), "score"])
    axes.set(xlim=(low - room, high + room), ylim=(len(ends) - 0.4, -0.6), xlabel="score")
    axes.set_title(escaped(explanation.title), loc="left", fontsize=10.5, color=INK)
    drawing.tidy(axes)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return drawing.finished(figure, path)


def _stairs(n: int) -> list[int]:
    """Return the heights of the lines from each of `n` lines to the next."""
    return [place + below for place in range(n - 1) for below in (0, 1)]


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
