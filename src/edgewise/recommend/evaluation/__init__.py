"""Evaluation of recommenders: one model on test ratings, or many over folds in one table."""

from edgewise.recommend.evaluation.calibration import LevelCalibration, calibration
from edgewise.recommend.evaluation.comparison import RecommenderComparison, compare
from edgewise.recommend.evaluation.evaluator import evaluate
from edgewise.recommend.evaluation.exposure import GroupExposure, exposure
from edgewise.recommend.evaluation.users import Difference, UserValues

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
