"""Metrics: how wrong predictions are, and how good ranked lists are."""

from edgewise.metrics.classification import (
    ON_PROBABILITIES,
    ON_SCORES,
    error,
    hamming_loss,
    log_loss,
    predicted,
)
from edgewise.metrics.ranking import (
    RANKING_METRICS,
    Lists,
    Ranked,
    RankingMetric,
    average_precision,
    average_rank,
    coverage,
    disagreement,
    ndcg,
    precision_at,
    prot,
    ranking_metric,
    recall_at,
    reciprocal_rank,
    top_counts,
)
from edgewise.metrics.significance import RandomisationResult, randomisation_test

__all__ = [
    "ON_PROBABILITIES",
    "ON_SCORES",
    "RANKING_METRICS",
    "Lists",
    "RandomisationResult",
    "Ranked",
    "RankingMetric",
    "average_precision",
    "average_rank",
    "coverage",
    "disagreement",
    "error",
    "hamming_loss",
    "log_loss",
    "ndcg",
    "precision_at",
    "predicted",
    "prot",
    "randomisation_test",
    "ranking_metric",
    "recall_at",
    "reciprocal_rank",
    "top_counts",
]
