"""The boosting loop, its history and its callbacks."""

from edgewise.boosting.callbacks import (
    BestRound,
    Callback,
    Checkpoint,
    EarlyStopping,
    ProgressBar,
    TimeLimit,
    TrainingRun,
    check_callbacks,
)
from edgewise.boosting.history import CLASSIFYING, RANKING, History
from edgewise.boosting.loop import Task, TermList, boost, boost_together
from edgewise.boosting.monitor import Metric, Monitor, binary_measures

__all__ = [
    "CLASSIFYING",
    "RANKING",
    "BestRound",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "History",
    "Metric",
    "Monitor",
    "ProgressBar",
    "Task",
    "TermList",
    "TimeLimit",
    "TrainingRun",
    "binary_measures",
    "boost",
    "boost_together",
    "check_callbacks",
]
