"""Plots of trained models: learning curves, margins, effects of features, a map of items.

They need Matplotlib (``pip install edgewise[plots]``), which is loaded when first used. Every
function returns a Matplotlib ``Figure``, without global state or display, and writes it if there
is a `path`.
"""

from edgewise.plots.curves import contribution_plot, curve_plot, row_plot
from edgewise.plots.factors import Directions, item_directions, item_factors
from edgewise.plots.learning import learning_curve, margin_plot

__all__ = [
    "Directions",
    "contribution_plot",
    "curve_plot",
    "item_directions",
    "item_factors",
    "learning_curve",
    "margin_plot",
    "row_plot",
]
