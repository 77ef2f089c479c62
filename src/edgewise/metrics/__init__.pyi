# ruff: isort: skip_file

from edgewise.metrics.classification import (
    balanced_accuracy as balanced_accuracy,
    error as error,
    hamming_loss as hamming_loss,
    log_loss as log_loss,
)
from edgewise.metrics.gain import (
    expected_reciprocal_rank as expected_reciprocal_rank,
    ndcg as ndcg,
)
from edgewise.metrics.lists import (
    Lists as Lists,
    Ranked as Ranked,
)
from edgewise.metrics.pairs import (
    disagreement as disagreement,
    grouped_auc as grouped_auc,
)
from edgewise.metrics.ranks import (
    average_rank as average_rank,
    bpref as bpref,
    precision_at_full_recall as precision_at_full_recall,
    mean_average_precision as mean_average_precision,
    mean_reciprocal_rank as mean_reciprocal_rank,
    precision_at as precision_at,
    prot as prot,
    r_precision as r_precision,
    rank_biased_precision as rank_biased_precision,
    recall_at as recall_at,
    success_at as success_at,
    top_counts as top_counts,
)
from edgewise.metrics.ratings import (
    mae as mae,
    nearest_level as nearest_level,
    nmae as nmae,
    one_zero_error as one_zero_error,
    rmse as rmse,
)
from edgewise.metrics.recommendations import (
    average_popularity as average_popularity,
    catalog_coverage as catalog_coverage,
    diversity as diversity,
    gini as gini,
    novelty as novelty,
)
from edgewise.metrics.registry import (
    RANKING_METRICS as RANKING_METRICS,
    METRICS as METRICS,
    Metric as Metric,
    ranking_metric as ranking_metric,
    ranking_metrics as ranking_metrics,
)
from edgewise.metrics.roc import roc_auc as roc_auc
from edgewise.metrics.runs import (
    Evaluation as Evaluation,
    RunEvaluation as RunEvaluation,
    evaluate as evaluate,
    evaluate_run as evaluate_run,
)
from edgewise.metrics.tables import MetricTable as MetricTable
from edgewise.metrics.significance import (
    Difference as Difference,
    RandomizationResult as RandomizationResult,
    randomization_test as randomization_test,
)

__all__: list[str]
