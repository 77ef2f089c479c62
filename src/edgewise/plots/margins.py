"""The distribution of margins."""

import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from edgewise.plots.drawing import BLUE, GREY, INK, empty_figure, finished, tidy
from edgewise.theory import margin_distribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    figure = empty_figure(6.0, 4.0)
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
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("normalised margin")
    axes.set_ylabel("share of margins at or below")
    tidy(axes)
    return finished(figure, path)
