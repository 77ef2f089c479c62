"""Plots of trained models, as scikit-learn's displays.

Each has ``from_estimator``, which draws on `ax` or a new figure, and keeps what it shows: ``plot``
draws it again, ``ax_`` and ``figure_`` are Matplotlib's. They need Matplotlib
(``pip install edgewise[plots]``), which is loaded when first used.
"""

from edgewise.plots.boosting import BoostingCurveDisplay
from edgewise.plots.curves import VoteCurveDisplay
from edgewise.plots.explanations import ContributionDisplay, ImportanceDisplay
from edgewise.plots.factors import ItemMapDisplay
from edgewise.plots.predictions import (
    MarginDisplay,
    QueryMetricDisplay,
    ReliabilityCurve,
    ReliabilityDisplay,
)
from edgewise.plots.terms import TermDisplay, TermGridDisplay, TermPathDisplay

__all__ = [
    "BoostingCurveDisplay",
    "ContributionDisplay",
    "ImportanceDisplay",
    "ItemMapDisplay",
    "MarginDisplay",
    "QueryMetricDisplay",
    "ReliabilityCurve",
    "ReliabilityDisplay",
    "TermDisplay",
    "TermGridDisplay",
    "TermPathDisplay",
    "VoteCurveDisplay",
]
