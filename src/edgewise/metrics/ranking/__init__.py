"""How good ranked lists are: exact expectations where equal scores leave the order open."""

from edgewise.metrics.ranking.area import auc
from edgewise.metrics.ranking.gain import ndcg
from edgewise.metrics.ranking.lists import Lists
from edgewise.metrics.ranking.named import RANKING_METRICS, RankingMetric, ranking_metric
from edgewise.metrics.ranking.order import average_rank, disagreement, top_counts
from edgewise.metrics.ranking.precision import average_precision, precision_at, recall_at
from edgewise.metrics.ranking.ranked import Ranked
from edgewise.metrics.ranking.reciprocal import coverage, prot, reciprocal_rank

__all__ = [
    "RANKING_METRICS",
    "Lists",
    "Ranked",
    "RankingMetric",
    "auc",
    "average_precision",
    "average_rank",
    "coverage",
    "disagreement",
    "ndcg",
    "precision_at",
    "prot",
    "ranking_metric",
    "recall_at",
    "reciprocal_rank",
    "top_counts",
]
