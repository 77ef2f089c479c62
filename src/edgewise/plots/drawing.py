"""Shared by all plots: colours, figures, axes and files."""

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.common.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colour-blind safe colours, without the pale yellow.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
RED, PINK, SKY = "#D55E00", "#CC79A7", "#56B4E9"
COLOURS = (BLUE, RED, GREEN, PINK, ORANGE, SKY)
INK, GREY, PALE = "#222222", "#777777", "#C8C8C8"
_DPI = 150

BESIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.01, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
    "fontsize": 9,
    "title_fontsize": 9,
    "alignment": "left",
    "labelcolor": INK,
}
"""A legend beside its axes, where it covers nothing."""


def empty_figure(width: float, height: float) -> "Figure":
    """Return an empty figure without a window or global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need Matplotlib, which is not installed: pip install edgewise[plots]"
        ) from error
    return Figure(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")


def finished(figure: "Figure", path: str | os.PathLike[str] | None) -> "Figure":
    """Return the figure, and write it if there is a path."""
    if path is not None:
        path = Path(path)
        if not path.suffix:
            path = path.with_name(path.name + ".png")
        drawn = io.BytesIO()
        figure.savefig(drawn, format=path.suffix[1:].lower())
        with replacing(path) as stream:
            stream.write(drawn.getvalue())
    return figure


def tidy(axes: "Axes") -> None:
    """Style the frame, grid and ticks of axes."""
    axes.grid(True, color="#E6E6E6", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
    axes.tick_params(which="both", color=GREY, labelcolor=INK, labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def escaped(name: Any) -> str:
    """Escape a name: no formula, and no leading underscore, which would hide it in a legend."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
