"""Metrics of classifiers, rankings, predicted ratings, recommended lists and TREC runs.

Ranking metrics are exact expectations over the orders of documents with equal scores.
"""

from edgewise.metrics.classification import balanced_accuracy, error, hamming_loss, log_loss
from edgewise.metrics.gain import ndcg
from edgewise.metrics.lists import Lists, Ranked
from edgewise.metrics.pairs import disagreement, grouped_auc
from edgewise.metrics.ranks import (
    average_rank,
    coverage,
    mean_average_precision,
    mean_reciprocal_rank,
    precision_at,
    prot,
    recall_at,
    top_counts,
)
from edgewise.metrics.ratings import mae, nearest_level, nmae, one_zero_error, rmse
from edgewise.metrics.recommendations import catalogue_coverage, diversity, gini, novelty
from edgewise.metrics.registry import RANKING_METRICS, RankingMetric, ranking_metric
from edgewise.metrics.roc import roc_auc
from edgewise.metrics.runs import RunEvaluation, evaluate_run
from edgewise.metrics.significance import RandomisationResult, randomisation_test

__all__ = [
    "RANKING_METRICS",
    "Lists",
    "RandomisationResult",
    "Ranked",
    "RankingMetric",
    "RunEvaluation",
    "average_rank",
    "balanced_accuracy",
    "catalogue_coverage",
    "coverage",
    "disagreement",
    "diversity",
    "error",
    "evaluate_run",
    "gini",
    "grouped_auc",
    "hamming_loss",
    "log_loss",
    "mae",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "ndcg",
    "nearest_level",
    "nmae",
    "novelty",
    "one_zero_error",
    "precision_at",
    "prot",
    "randomisation_test",
    "ranking_metric",
    "recall_at",
    "rmse",
    "roc_auc",
    "top_counts",
]
