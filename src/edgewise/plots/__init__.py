"""Pictures of a trained model: how it learned, its margins, what one column does, a map of items.

Matplotlib is needed (``pip install edgewise[plots]``) and loaded when a plot is first asked for.
Every function returns a Matplotlib ``Figure`` of its own, so that nothing global is touched and no
display is needed; with `path` it is written to a file as well.
"""

from edgewise.plots.curves import contribution_plot, curve_plot
from edgewise.plots.factors import Directions, item_directions, item_factors
from edgewise.plots.learning import learning_curve
from edgewise.plots.margins import margin_plot

__all__ = [
    "Directions",
    "contribution_plot",
    "curve_plot",
    "item_directions",
    "item_factors",
    "learning_curve",
    "margin_plot",
]
