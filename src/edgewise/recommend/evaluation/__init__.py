"""How good recommenders are: one model on a test part, or many of them over folds, in one table."""

from edgewise.recommend.evaluation.comparison import Comparison
from edgewise.recommend.evaluation.many import compare
from edgewise.recommend.evaluation.measures import MEASURES
from edgewise.recommend.evaluation.single import evaluate

__all__ = ["MEASURES", "Comparison", "compare", "evaluate"]
