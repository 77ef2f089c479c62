"""The boosting loop, its history and what can watch it."""

from edgewise.boosting.callbacks import (
    Callback,
    Checkpoint,
    EarlyStopping,
    ProgressBar,
    Run,
    TimeLimit,
    check_callbacks,
)
from edgewise.boosting.history import CLASSIFYING, RANKING, History
from edgewise.boosting.loop import Task, TermList, boost
from edgewise.boosting.monitor import Metric, Monitor

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
    "boost",
    "check_callbacks",
]
