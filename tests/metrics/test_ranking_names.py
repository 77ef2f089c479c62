"""Ranking metrics by name."""

import pickle

import numpy as np
import pytest

from edgewise import metrics
from edgewise.metrics import RANKING_METRICS, Lists, ranking_metric

NAMES = {
    "map": metrics.mean_average_precision,
    "mrr": metrics.mean_reciprocal_rank,
    "ndcg": metrics.ndcg,
    "auc": metrics.grouped_auc,
    "disagreement": metrics.disagreement,
    "prot": metrics.prot,
    "coverage": metrics.coverage,
}


def problem():
    rng = np.random.default_rng(5)
    return rng.integers(0, 3, 80), rng.integers(0, 9, 80) / 2, rng.integers(0, 6, 80)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_its_function(name):
    y, scores, qid = problem()
    metric = ranking_metric(name)
    assert metric.name == name
    assert metric.larger_is_better == (name != "disagreement")
    assert metric(y, scores, qid) == NAMES[name](y, scores, qid)
    assert metric(Lists(y, qid), scores) == metric(y, scores, qid)
    assert isinstance(metric(y, scores), float)


@pytest.mark.parametrize("k", [1, 3, 10, 1000])
def test_a_name_with_a_depth(k):
    y, scores, qid = problem()
    for base, function in (
        ("ndcg", metrics.ndcg),
        ("precision", metrics.precision_at),
        ("recall", metrics.recall_at),
    ):
        metric = ranking_metric(f"{base}@{k}")
        assert metric.name == f"{base}@{k}"
        assert metric.larger_is_better
        assert metric(y, scores, qid) == function(y, scores, qid, k=k)


def test_every_base_name_is_registered():
    assert set(RANKING_METRICS) == {*NAMES, "precision", "recall"}


def test_metrics_can_be_pickled():
    y, scores, qid = problem()
    for name in ("map", "ndcg@5"):
        metric = pickle.loads(pickle.dumps(ranking_metric(name)))
        assert metric(y, scores, qid) == ranking_metric(name)(y, scores, qid)


OTHERS = "auc@5 ndcg@ ndcg@0 ndcg@-1 ndcg@2.5 ndcg@x ndcg@² precision recall@ map@ map@3 NDCG @3"


@pytest.mark.parametrize("name", [*OTHERS.split(), "", None, 3])
def test_other_names_are_refused_with_a_list(name):
    with pytest.raises(ValueError, match=r"name must be one of 'map', 'mrr', 'ndcg', 'ndcg@k', .*"):
        ranking_metric(name)
