"""The boosting loop, its history and what can watch it."""

from edgewise.boosting.binary import binary_measures
from edgewise.boosting.callbacks import (
    Callback,
    Checkpoint,
    EarlyStopping,
    Run,
    TimeLimit,
    check_callbacks,
)
from edgewise.boosting.history import CLASSIFYING, RANKING, History
from edgewise.boosting.loop import Task, TermList, boost
from edgewise.boosting.monitor import Metric, Monitor
from edgewise.boosting.progress import ProgressBar

__all__ = [
    "CLASSIFYING",
    "RANKING",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "History",
    "Metric",
    "Monitor",
    "ProgressBar",
    "Run",
    "Task",
    "TermList",
    "TimeLimit",
    "binary_measures",
    "boost",
    "check_callbacks",
]
