"""Evaluation of recommenders: one model on test ratings, or many over folds in one table."""

from edgewise.metrics.significance import Difference
from edgewise.recommend.evaluation.comparison import RecommenderComparison, compare
from edgewise.recommend.evaluation.diagnostics import (
    GroupExposure,
    LevelCalibration,
    calibration,
    exposure,
)
from edgewise.recommend.evaluation.evaluator import UserValues, evaluate

__all__ = [
    "Difference",
    "GroupExposure",
    "LevelCalibration",
    "RecommenderComparison",
    "UserValues",
    "calibration",
    "compare",
    "evaluate",
    "exposure",
]
