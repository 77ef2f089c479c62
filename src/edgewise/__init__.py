"""edgewise: boosted weak rules for classifying, ranking and recommending.

Everything public is reachable from here and loaded when first used, so that ``import edgewise``
costs next to nothing::

    from edgewise import AdaBoostMH

    model = AdaBoostMH(n_rounds=300).fit(X, y)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from edgewise import datasets, fusion, io, metrics, online, plots, recommend, theory
    from edgewise.boosting import (
        Callback,
        Checkpoint,
        EarlyStopping,
        History,
        ProgressBar,
        TimeLimit,
    )
    from edgewise.data import Chunks
    from edgewise.estimators import AdaBoostMH, RankBoost, RankFusion
    from edgewise.learners import Best, Feature, Haar, Indicator, Product, Selector, Stump, Tree
    from edgewise.loading import load
    from edgewise.model import (
        Contribution,
        Curve,
        Explanation,
        Group,
        ModelExplanation,
        ModelFileError,
        PairExplanation,
        ReadableRule,
    )
    from edgewise.ratings import Ratings
    from edgewise.search import UCB, Exhaustive, Exp3P, Lazy, ThompsonSampling

# One line for each public name: where it lives.
_HOMES = {
    "AdaBoostMH": "edgewise.estimators",
    "RankBoost": "edgewise.estimators",
    "RankFusion": "edgewise.estimators",
    "load": "edgewise.loading",
    "Best": "edgewise.learners",
    "Feature": "edgewise.learners",
    "Haar": "edgewise.learners",
    "Indicator": "edgewise.learners",
    "Product": "edgewise.learners",
    "Selector": "edgewise.learners",
    "Stump": "edgewise.learners",
    "Tree": "edgewise.learners",
    "Exhaustive": "edgewise.search",
    "Exp3P": "edgewise.search",
    "Lazy": "edgewise.search",
    "ThompsonSampling": "edgewise.search",
    "UCB": "edgewise.search",
    "Callback": "edgewise.boosting",
    "Checkpoint": "edgewise.boosting",
    "EarlyStopping": "edgewise.boosting",
    "History": "edgewise.boosting",
    "ProgressBar": "edgewise.boosting",
    "TimeLimit": "edgewise.boosting",
    "Contribution": "edgewise.model",
    "Curve": "edgewise.model",
    "Explanation": "edgewise.model",
    "Group": "edgewise.model",
    "ModelExplanation": "edgewise.model",
    "ModelFileError": "edgewise.model",
    "PairExplanation": "edgewise.model",
    "ReadableRule": "edgewise.model",
    "Ratings": "edgewise.ratings",
    "Chunks": "edgewise.data",
    "datasets": "edgewise.datasets",
    "fusion": "edgewise.fusion",
    "io": "edgewise.io",
    "metrics": "edgewise.metrics",
    "online": "edgewise.online",
    "plots": "edgewise.plots",
    "recommend": "edgewise.recommend",
    "theory": "edgewise.theory",
}

__all__ = [
    "UCB",
    "AdaBoostMH",
    "Best",
    "Callback",
    "Checkpoint",
    "Chunks",
    "Contribution",
    "Curve",
    "EarlyStopping",
    "Exhaustive",
    "Exp3P",
    "Explanation",
    "Feature",
    "Group",
    "Haar",
    "History",
    "Indicator",
    "Lazy",
    "ModelExplanation",
    "ModelFileError",
    "PairExplanation",
    "Product",
    "ProgressBar",
    "RankBoost",
    "RankFusion",
    "Ratings",
    "ReadableRule",
    "Selector",
    "Stump",
    "ThompsonSampling",
    "TimeLimit",
    "Tree",
    "__version__",
    "datasets",
    "fusion",
    "io",
    "load",
    "metrics",
    "online",
    "plots",
    "recommend",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'edgewise' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = home if _HOMES[name] == f"edgewise.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
