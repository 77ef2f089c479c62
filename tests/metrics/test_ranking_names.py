"""Ranking metrics by name."""

import pickle

import numpy as np
import pytest

from edgewise import metrics
from edgewise.metrics import RANKING_METRICS, Lists, ranking_metric
from edgewise.metrics.registry import metric_title

NAMES = {
    "map": metrics.mean_average_precision,
    "mrr": metrics.mean_reciprocal_rank,
    "ndcg": metrics.ndcg,
    "rprec": metrics.r_precision,
    "bpref": metrics.bpref,
    "rbp": metrics.rank_biased_precision,
    "err": metrics.expected_reciprocal_rank,
    "auc": metrics.grouped_auc,
    "disagreement": metrics.disagreement,
    "prot": metrics.prot,
    "precision_at_full_recall": metrics.precision_at_full_recall,
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
        ("success", metrics.success_at),
        ("map", metrics.mean_average_precision),
        ("mrr", metrics.mean_reciprocal_rank),
        ("err", metrics.expected_reciprocal_rank),
        ("rbp", metrics.rank_biased_precision),
    ):
        metric = ranking_metric(f"{base}@{k}")
        assert metric.name == f"{base}@{k}"
        assert metric.larger_is_better
        assert metric(y, scores, qid) == function(y, scores, qid, k=k)


def test_every_base_name_is_registered():
    assert set(RANKING_METRICS) == {*NAMES, "precision", "recall", "success", "hit_rate", "map_top"}


def test_metrics_can_be_pickled():
    y, scores, qid = problem()
    for name in ("map", "ndcg@5"):
        metric = pickle.loads(pickle.dumps(ranking_metric(name)))
        assert metric(y, scores, qid) == ranking_metric(name)(y, scores, qid)


OF_OTHER_TOOLS = {
    "MAP": (metrics.mean_average_precision, {}),
    "NDCG@3": (metrics.ndcg, {"k": 3}),
    "nDCG@3": (metrics.ndcg, {"k": 3, "gain": "linear"}),
    "nDCG(dcg='exp-log2')@3": (metrics.ndcg, {"k": 3}),
    "ndcg_cut_3": (metrics.ndcg, {"k": 3, "gain": "linear"}),
    "AP": (metrics.mean_average_precision, {}),
    "AP(rel=2)": (metrics.mean_average_precision, {"relevant": 2}),
    "AP(rel=2)@4": (metrics.mean_average_precision, {"relevant": 2, "k": 4}),
    "map_cut_4": (metrics.mean_average_precision, {"k": 4}),
    "RR": (metrics.mean_reciprocal_rank, {}),
    "RR(rel=2)@2": (metrics.mean_reciprocal_rank, {"relevant": 2, "k": 2}),
    "recip_rank": (metrics.mean_reciprocal_rank, {}),
    "P@5": (metrics.precision_at, {"k": 5}),
    "P_5": (metrics.precision_at, {"k": 5}),
    "P.5": (metrics.precision_at, {"k": 5}),
    "R@5": (metrics.recall_at, {"k": 5}),
    "Success@1": (metrics.success_at, {"k": 1}),
    "Rprec": (metrics.r_precision, {}),
    "Bpref": (metrics.bpref, {}),
    "ERR@20": (metrics.expected_reciprocal_rank, {"k": 20}),
    "err(max_rel=2)": (metrics.expected_reciprocal_rank, {"max_grade": 2}),
    "RBP(p=0.8)": (metrics.rank_biased_precision, {"p": 0.8}),
    "RBP(rel=2, p=0.5)": (metrics.rank_biased_precision, {"p": 0.5, "relevant": 2}),
    "map(rel=top)": (metrics.mean_average_precision, {"relevant": "top"}),
}


@pytest.mark.parametrize("name", OF_OTHER_TOOLS)
def test_names_of_other_tools_and_options_are_understood(name):
    y, scores, qid = problem()
    function, options = OF_OTHER_TOOLS[name]
    own = {"MAP": "map", "NDCG@3": "ndcg@3", "Rprec": "rprec", "Bpref": "bpref", "ERR@20": "err@20"}
    own |= {item: item.lower() for item in OF_OTHER_TOOLS if item.startswith(("RBP", "Success"))}
    assert ranking_metric(name).name == own.get(name, name)
    assert ranking_metric(name)(y, scores, qid) == function(y, scores, qid, **options)


def test_several_names_stand_between_commas():
    result = metrics.ranking_metrics("map, RBP(p=0.5, rel=2), precision@1,5,10,map")
    names = ["map", "rbp(p=0.5, rel=2)", "precision@1", "precision@5", "precision@10"]
    assert [item.name for item in result] == names
    assert [item.name for item in metrics.ranking_metrics(["map", "P@1,2"])] == [
        "map",
        "P@1",
        "P@2",
    ]
    with pytest.raises(TypeError, match="metrics must be names of metrics, got 3"):
        metrics.ranking_metrics(3)
    for nothing in ("", [], "3", "map@" + 5000 * "9"):
        with pytest.raises(ValueError, match="metrics"):
            metrics.ranking_metrics(nothing)


def test_many_names_take_no_time():
    # A pattern that looks for the end of brackets at each comma would take minutes.
    with pytest.raises(ValueError, match="unknown metrics: 'x'"):
        metrics.registry.get_metrics("x," * 200_000)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("map(relevance=2)", "unknown option 'relevance'"),
        ("disagreement(rel=2)", "unknown option 'rel'"),
        ("map(rel=many)", "rel must be a number"),
        ("ndcg(dcg=log3)", "dcg"),
    ],
)
def test_options_that_are_unknown_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        ranking_metric(name)


@pytest.mark.parametrize("name", ["ndcg", "mean_average_precision", "precision_at", "success_at"])
def test_several_cutoffs_in_one_call(name):
    y, scores, qid = problem()
    function = getattr(metrics, name)
    each = [function(y, scores, qid, k=k) for k in (1, 3, 5)]
    assert function(y, scores, qid, k=[1, 3, 5]).tolist() == each
    by_query = function(y, scores, qid, k=(1, 3), per_query=True)
    assert np.array_equal(by_query[:, 1], function(y, scores, qid, k=3, per_query=True))
    with pytest.raises(ValueError, match="at least one cutoff"):
        function(y, scores, qid, k=[])


OTHERS = "auc@5 ndcg@ ndcg@0 ndcg@-1 ndcg@2.5 ndcg@x ndcg@² precision recall@ map@ nDCG@ @3 xap"


@pytest.mark.parametrize("name", [*OTHERS.split(), "", None, 3])
def test_other_names_are_refused_with_a_list(name):
    with pytest.raises(ValueError, match=r"unknown metric: .*map, map@k, mrr, .*ndcg@k"):
        ranking_metric(name)


def test_titles_for_people():
    titles = {
        "NDCG@10": "NDCG@10",
        "roc_auc": "ROC AUC",
        "train_error": "training error",
        "AP(rel=2)": "AP(rel=2)",
        "hit_rate": "hit rate",
        "one_zero_best": "wrong levels",
        "my_metric": "my_metric",
    }
    assert {name: metric_title(name) for name in titles} == titles
