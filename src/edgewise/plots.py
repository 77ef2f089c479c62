"""Pictures of a trained model: how it learned, its margins, and what one column does.

Matplotlib is needed (``pip install edgewise[plots]``) and loaded when a plot is first asked for.
Every function returns a Matplotlib ``Figure`` of its own, so that nothing global is touched and no
display is needed; with `path` it is written to a file as well.
"""

import io
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from edgewise.dtypes import Reals
from edgewise.theory import margin_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgewise.estimators import AdaBoostMH
    from edgewise.model import Curve

__all__ = ["curve_plot", "learning_curve", "margin_plot"]

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the pale yellow.
_BLUE, _ORANGE, _GREEN, _RED, _PINK, _SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
_COLOURS = (_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY)
_INK, _GREY, _PALE = "#222222", "#777777", "#C8C8C8"
_DPI = 150
# From so many rounds on, a linear axis would squeeze what happens early into its left edge.
_LOG_ROUNDS_FROM = 3000
# Losses of which the largest is so many times the least are drawn on a logarithmic axis.
_LOG_SPAN = 30
_VALIDATION_NAMES = {
    "error": "validation error",
    "hamming_loss": "validation Hamming loss",
    "log_loss": "validation log loss",
}


def learning_curve(
    model: "AdaBoostMH", path: str | os.PathLike[str] | None = None, title: str | None = None
) -> "Figure":
    """Draw what each round of a training did.

    Above: training error, Hamming loss, the bound on it, and the validation
    metric if there is one. Below: edge and w'_Sigma. Where losses span decades the axis is
    logarithmic, and linear from its lowest decade down to zero where a loss reaches zero.

    Parameters
    ----------
    model : AdaBoostMH
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
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import learning_curve
    >>> model = AdaBoostMH("stump", n_rounds=5).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> figure = learning_curve(model)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['loss', 'share of weight']
    """
    history = model.history_
    if history.n_rounds == 0:
        raise ValueError("model must have at least one round to draw")
    figure = _figure(7.0, 5.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.25))
    rounds = np.arange(1.0, history.n_rounds + 1)
    bound, losses = history["bound"], [history["hamming_loss"], history["train_error"]]
    # With the logistic loss the bound is a sum of steps and no product.
    name = "bound" if "weight" in history else "bound (product of Z)"
    _draw_rounds(above, rounds, bound, name, _INK, linestyle="--")
    # Of two classes these are one line: the wide one shows from below the narrow one.
    _draw_rounds(above, rounds, losses[0], "Hamming loss", _GREEN, linewidth=2.8)
    _draw_rounds(above, rounds, losses[1], "training error", _BLUE)
    if not np.isnan(history["validation"]).all():
        losses.append(history["validation"])
        _draw_rounds(above, rounds, losses[2], _validation_name(model.eval_metric), _RED)
    _scale_losses(above, bound, np.concatenate(losses))
    above.set_ylabel("loss")

    _draw_rounds(below, rounds, history["edge"], "edge", _ORANGE)
    if not np.isnan(history["pseudo_weight"]).all():
        _draw_rounds(below, rounds, history["pseudo_weight"], r"$w'_\Sigma$", _PINK)
    below.set_ylim(0.0, None)
    below.set_ylabel("share of weight")
    below.set_xlabel("boosting round")
    _scale_rounds(below, history.n_rounds)
    for axes in (above, below):
        _tidy(axes)
        _mark_kept(axes, model.n_rounds_, history.n_rounds)
        _legend_beside(axes)
    if title is not None:
        above.set_title(title, loc="left", color=_INK)
    return _finished(figure, path)


def margin_plot(margins: ArrayLike, path: str | os.PathLike[str] | None = None) -> "Figure":
    """Draw the cumulative distribution of margins.

    Parameters
    ----------
    margins : array-like
        Normalised margins, as ``model.margins(X, y)`` returns them, of any shape.
    path : str or path-like, default None
        Where to write the picture; its suffix says the format, and a path without one gets
        ``.png``.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    ValueError
        If there is no margin, or one is outside [-1, 1].

    Examples
    --------
    >>> from edgewise.plots import margin_plot
    >>> margin_plot([-0.1, 0.2, 0.3, 0.4]).axes[0].get_xlabel()
    'normalised margin'
    """
    values, shares = margin_distribution(margins)
    figure = _figure(6.0, 4.0)
    axes = figure.subplots()
    low, high = min(float(values[0]), 0.0), max(float(values[-1]), 0.0)
    room = 0.05 * (high - low) or 0.05
    low, high = max(low - room, -1.0), min(high + room, 1.0)
    axes.plot(
        np.concatenate([[low], values, [high]]),
        np.concatenate([[0.0], shares, [1.0]]),
        drawstyle="steps-post",
        color=_BLUE,
        linewidth=1.8,
    )
    axes.axvline(0.0, color=_GREY, linewidth=1.0, linestyle="--")
    wrong = float((values <= 0).mean())
    axes.plot([0.0], [wrong], "o", color=_BLUE, markersize=5)
    axes.set_title(f"{wrong:.1%} of margins at or below 0", loc="left", fontsize=10, color=_INK)
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("normalised margin")
    axes.set_ylabel("share of margins at or below")
    _tidy(axes)
    return _finished(figure, path)


def curve_plot(
    curve: "Curve", classes: Sequence[Any], path: str | os.PathLike[str] | None = None
) -> "Figure":
    """Draw how one column moves the scores: a step function for each class.

    With more than six classes the six that the column moves most are named, the others are grey.
    Dots at the right are the scores of a missing value, where training saw any.

    Parameters
    ----------
    curve : Curve
        One curve of ``model.explain()``.
    classes : sequence
        The class labels, as ``model.classes_`` or ``model.explain().classes`` has them.
    path : str or path-like, default None
        Where to write the picture; its suffix says the format, and a path without one gets
        ``.png``.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    ValueError
        If `classes` does not fit the curve.

    Examples
    --------
    >>> from edgewise import AdaBoostMH
    >>> from edgewise.plots import curve_plot
    >>> model = AdaBoostMH("stump", n_rounds=5).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> curve_plot(model.explain()[0], model.classes_).axes[0].get_xlabel()
    'x0'
    """
    names = _score_names(curve, classes)
    figure = _figure(6.6, 4.0)
    axes = figure.subplots()
    edges, scores = _steps(curve)
    groups = _alike(np.vstack([scores, curve.missing]))
    named, rest = groups[: len(_COLOURS)], groups[len(_COLOURS) :]
    # Where lines coincide, the wider ones show from below the narrower ones.
    widths = np.linspace(3.6, 1.6, len(named)) if len(named) > 1 else [1.9]
    for group, colour, width in zip(named, _COLOURS, widths, strict=False):
        alike = ", ".join(names[k] for k in group)
        axes.stairs(
            scores[:, group[0]], edges, baseline=None, color=colour, linewidth=width, label=alike
        )
    for place, group in enumerate(rest):
        others = f"{sum(map(len, rest))} others" if place == 0 else None
        axes.stairs(
            scores[:, group[0]], edges, baseline=None, color=_PALE, linewidth=1.0, label=others,
            zorder=0.9,
        )  # fmt: skip
    axes.axhline(0.0, color=_GREY, linewidth=0.8, zorder=0.8)
    axes.set_xlim(edges[0], edges[-1])
    if curve.missing.any():
        _draw_missing(axes, curve.missing, groups, edges)
    axes.set_xlabel(_plain(curve.name))
    axes.set_ylabel("added to the score")
    _tidy(axes)
    axes.legend(title="class" if len(names) > 1 else None, **_BESIDE)
    return _finished(figure, path)


_BESIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.01, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
    "fontsize": 9,
    "title_fontsize": 9,
    "alignment": "left",
    "labelcolor": _INK,
}


def _figure(width: float, height: float) -> "Figure":
    """Return an empty figure that no window and no global state knows of."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need Matplotlib, which is not installed: pip install edgewise[plots]"
        ) from error
    return Figure(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")


def _finished(figure: "Figure", path: str | os.PathLike[str] | None) -> "Figure":
    if path is not None:
        _write(figure, Path(path))
    return figure


def _write(figure: "Figure", path: Path) -> None:
    """Write the figure under a temporary name, then rename it: no half-written file is seen."""
    if not path.suffix:
        path = path.with_name(path.name + ".png")
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower())
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}{path.suffix}")
    try:
        temporary.write_bytes(drawn.getvalue())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _tidy(axes: "Axes") -> None:
    axes.grid(True, color="#E6E6E6", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GREY)
    axes.tick_params(which="both", color=_GREY, labelcolor=_INK, labelsize=9)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)


def _legend_beside(axes: "Axes") -> None:
    axes.legend(**_BESIDE)


def _draw_rounds(
    axes: "Axes",
    rounds: Reals,
    values: Reals,
    name: str,
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
        axes.axvline(kept, color=_GREY, linewidth=1.0, linestyle=":", label=f"kept: {kept:,}")


def _validation_name(metric: Any) -> str:
    if isinstance(metric, str):
        return _VALIDATION_NAMES.get(metric, f"validation {metric}")
    return f"validation {getattr(metric, '__name__', 'metric')}"


def _score_names(curve: "Curve", classes: Sequence[Any]) -> list[str]:
    n_scores = curve.scores.shape[1]
    if n_scores == 1 and len(classes) == 2:
        return [f"above 0: {_plain(classes[1])}\nbelow 0: {_plain(classes[0])}"]
    if len(classes) != n_scores:
        raise ValueError(
            f"classes must have {n_scores} entries, one for each score of the curve, "
            f"got {len(classes)}"
        )
    return [_plain(name) for name in classes]


def _plain(name: Any) -> str:
    """Return a name that Matplotlib shows as it is: no formula, and not left out of a legend."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _steps(curve: "Curve") -> tuple[Reals, Reals]:
    """Return where each step begins and ends, with some room at both ends, and the scores.

    An infinite threshold, which separates missing or infinite values from the rest, has no place
    on the axis, and neither have the scores beyond it.
    """
    finite = np.isfinite(curve.thresholds)
    thresholds = curve.thresholds[finite]
    first = int(np.searchsorted(curve.thresholds, -np.inf, side="right"))
    scores = curve.scores[first : first + len(thresholds) + 1]
    low, high = (thresholds[0], thresholds[-1]) if len(thresholds) else (0.0, 0.0)
    room = 0.08 * (high - low) or 0.5 * max(abs(low), 1.0)
    return np.concatenate([[low - room], thresholds, [high + room]]), scores


def _alike(scores: Reals) -> list[list[int]]:
    """Group the classes that a column moves in the same way, the most moved first."""
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
        colour = _COLOURS[rank] if rank < len(_COLOURS) else _PALE
        axes.plot([place], [missing[groups[rank][0]]], "o", color=colour, markersize=5)
    axes.set_xlim(edges[0], edges[-1] + width)
    axes.annotate(
        "missing", (place, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
        textcoords="offset points", ha="center", va="bottom", fontsize=8, color=_GREY,
    )  # fmt: skip
