"""Evaluation of recommenders: one model on test ratings, or many over folds in one table."""

from edgewise.recommend.evaluation.comparison import RecommenderComparison, compare
from edgewise.recommend.evaluation.evaluator import METRICS, evaluate

__all__ = ["METRICS", "RecommenderComparison", "compare", "evaluate"]
