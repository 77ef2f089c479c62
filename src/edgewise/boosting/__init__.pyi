# ruff: isort: skip_file

from edgewise.boosting.callbacks import (
    BestRound as BestRound,
    Callback as Callback,
    Checkpoint as Checkpoint,
    EarlyStopping as EarlyStopping,
    ProgressBar as ProgressBar,
    StoppingRule as StoppingRule,
    TimeLimit as TimeLimit,
    TrainingRun as TrainingRun,
    check_callbacks as check_callbacks,
    metric_size as metric_size,
)
from edgewise.boosting.history import (
    CLASSIFIER_FIELDS as CLASSIFIER_FIELDS,
    RANKER_FIELDS as RANKER_FIELDS,
    History as History,
    evaluation as evaluation,
)
from edgewise.boosting.loop import (
    Task as Task,
    TermList as TermList,
    boost as boost,
    boost_together as boost_together,
)
from edgewise.boosting.monitor import (
    Metric as Metric,
    Monitor as Monitor,
    mean_monitors as mean_monitors,
)

__all__: list[str]
