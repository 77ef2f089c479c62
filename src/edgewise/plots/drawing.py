"""Shared by all plots: the base of the displays, colors, axes and files."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise.common.files import PathLike, replace_file
from edgewise.report.blocks import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's color-blind safe colors, without the pale yellow.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
RED, PINK, SKY = "#D55E00", "#CC79A7", "#56B4E9"
COLORS = (BLUE, RED, GREEN, PINK, ORANGE, SKY)
INK, GRAY, PALE = "#222222", "#777777", "#C8C8C8"
_DPI = 150

BESIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.01, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
    "fontsize": 9,
    "title_fontsize": 9,
    "alignment": "left",
}
"""A legend beside its axes, where it covers nothing."""


class Display:
    """A plot that holds what it shows; `plot` draws it again, on other axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the latest drawing.
    figure_ : matplotlib Figure
        Their figure; ``figure_.savefig(path)`` writes it.
    """

    ax_: "Axes"
    figure_: "Figure"
    _alone: bool

    def _begin(self, ax: "Axes | None", width: float, height: float) -> "Axes":
        """Return the axes to draw on: `ax`, or new ones in a figure of this size."""
        self._alone = ax is None
        if ax is None:
            ax = new_figure(width, height).subplots()
        self._on(ax)
        return ax

    def _on(self, ax: "Axes") -> None:
        """Note the axes, which may be of a subfigure, and their figure."""
        self.ax_, self.figure_ = ax, ax.figure.figure

    def _legend(self, axes: "Axes", title: str | None = None, columns: int = 1) -> None:
        """Draw a legend: beside the axes in a figure of our own, inside them in the user's."""
        within = {"fontsize": 9, "ncols": columns}
        axes.legend(title=title, **(BESIDE if self._alone else within))


def new_figure(width: float, height: float) -> "Figure":
    """Return a figure of pyplot, which notebooks show."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(_ADVICE) from error
    return pyplot.figure(figsize=(width, height), layout="constrained")


def empty_figure(width: float, height: float) -> "Figure":
    """Return an empty figure without a window or global state, to be written to a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(_ADVICE) from error
    return Figure(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")


_ADVICE = "plots need Matplotlib, which is not installed: pip install edgewise[plots]"


def finished(figure: "Figure", path: PathLike | None) -> "Figure":
    """Return the figure, and write it if there is a path."""
    if path is not None:
        path = Path(path)
        if not path.suffix:
            path = path.with_name(path.name + ".png")
        drawn = io.BytesIO()
        figure.savefig(drawn, format=path.suffix[1:].lower())
        with replace_file(path) as stream:
            stream.write(drawn.getvalue())
    return figure


def tidy(axes: "Axes") -> None:
    """Style the frame, grid and ticks of axes."""
    axes.grid(True, color=GRAY, alpha=0.2, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRAY)
    axes.tick_params(which="both", color=GRAY, labelsize=9)


def n_named(axes: "Axes") -> int:
    """Return how many lines with names are on axes, which may show other models too."""
    return len(axes.get_legend_handles_labels()[1])


def color_of(k: int) -> str:
    """Return the color of the k-th line, from 0."""
    return COLORS[k % len(COLORS)]


def escaped(name: Any) -> str:
    """Escape a name: no formula, and no leading underscore, which would hide it in a legend."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def shortened(name: Any, longest: int = 32) -> str:
    """Escape a name, and cut it if it is long."""
    return escaped(short(name, longest))


def trained(estimator: Any, needs: str, *tables: Any) -> tuple[Any, ...]:
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
        raise TypeError(
            f"estimator must have {needs}, as those of edgewise do, got {type(estimator).__name__}"
        )
    return estimator, *tables
