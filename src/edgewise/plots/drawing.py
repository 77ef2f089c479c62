"""Shared by all plots: the base of the displays, colors, axes and files."""

import io
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from edgewise.common.files import PathLike, replace_file
from edgewise.report.blocks import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's color-blind safe colors, without the pale yellow.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
RED, PINK, SKY = "#D55E00", "#CC79A7", "#56B4E9"
COLORS = (BLUE, RED, GREEN, PINK, ORANGE, SKY)
INK, GRAY, PALE = "#222222", "#777777", "#C8C8C8"
_DPI = 150

# A legend beside its axes, where it covers nothing.
_BESIDE: dict[str, Any] = {
    "loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "frameon": False,
    "fontsize": 9, "title_fontsize": 9, "alignment": "left",
}  # fmt: skip


class Display:
    """A plot that holds what it shows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the latest drawing.
    figure_ : matplotlib Figure
        Their figure; ``figure_.savefig(path)`` writes it.
    """

    ax_: "Axes"
    figure_: "Figure"
    _has_own_figure: bool

    def plot(self, *, ax: "Axes | None" = None) -> Self:
        """Draw on `ax`, or on a new figure if it is None."""
        self._has_own_figure = ax is None
        self.ax_ = make_figure(*self._figure_size()).subplots() if ax is None else ax
        # The axes may be in a subfigure.
        self.figure_ = self.ax_.figure.figure
        style_axes(self.ax_)
        self._draw(self.ax_)
        return self

    def _figure_size(self) -> tuple[float, float]:
        """Return the width and height of a new figure, in inches."""
        return 6.6, 4.2

    def _draw(self, axes: "Axes") -> None:
        raise NotImplementedError

    def _add_legend(self, axes: "Axes", title: str | None = None, columns: int = 1) -> None:
        """Add a legend: beside the axes in a new figure, inside them in the user's."""
        inside = {"fontsize": 9, "ncols": columns}
        axes.legend(title=title, **(_BESIDE if self._has_own_figure else inside))


def make_figure(width: float, height: float) -> "Figure":
    """Return a figure of pyplot, which notebooks show."""
    pyplot = _import_matplotlib("pyplot")
    return pyplot.figure(figsize=(width, height), layout="constrained")


def make_file_figure(width: float, height: float) -> "Figure":
    """Return a figure without a window or global state, to be written to a file."""
    figure = _import_matplotlib("figure").Figure
    return figure(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")


def _import_matplotlib(module: str) -> Any:
    try:
        import_module("matplotlib")
    except ImportError as error:
        advice = "plots need Matplotlib, which is not installed: pip install edgewise[plots]"
        raise ImportError(advice) from error
    return import_module(f"matplotlib.{module}")


def save_figure(figure: "Figure", path: PathLike) -> None:
    """Write a figure to a file, as PNG if the path has no extension."""
    path = Path(path)
    if not path.suffix:
        path = path.with_name(path.name + ".png")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower())
    with replace_file(path) as stream:
        stream.write(buffer.getvalue())


def style_axes(axes: "Axes") -> None:
    """Style the frame, grid and ticks of axes."""
    axes.grid(True, color=GRAY, alpha=0.2, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRAY)
    axes.tick_params(which="both", color=GRAY, labelsize=9)


def count_labels(axes: "Axes") -> int:
    """Return how many labeled lines are on axes, which may show other models too."""
    return len(axes.get_legend_handles_labels()[1])


def line_color(k: int) -> str:
    """Return the color of the k-th line, from 0."""
    return COLORS[k % len(COLORS)]


def escape_label(name: Any) -> str:
    """Escape a name: no formula, and no leading underscore, which would hide it in a legend."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def short_label(name: Any, max_length: int = 32) -> str:
    """Escape a name, and cut it if it is long."""
    return escape_label(shorten(name, max_length))


def unwrap_fitted(estimator: Any, needs: str, *tables: Any) -> tuple[Any, ...]:
    """Return the model within pipelines and searches, and tables as it sees them.

    Raises unless the model has a method or attribute `needs`, and is fitted.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    while True:
        if isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                before = estimator[:-1]
                tables = tuple(t if t is None else before.transform(t) for t in tables)
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            break
    if not hasattr(estimator, needs):
        raise TypeError(f"estimator must have {needs}, got {type(estimator).__name__}")
    return estimator, *tables
