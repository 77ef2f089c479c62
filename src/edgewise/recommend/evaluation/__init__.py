"""Evaluation of recommenders: one model on test ratings, or many over folds in one table."""

from edgewise.recommend.evaluation.comparison import Comparison, compare
from edgewise.recommend.evaluation.evaluator import evaluate
from edgewise.recommend.evaluation.metrics import METRICS

__all__ = ["METRICS", "Comparison", "compare", "evaluate"]
