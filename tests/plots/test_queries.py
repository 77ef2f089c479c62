import numpy as np
import pytest

from edgewise import RankFusion
from edgewise.fusion import RankedLists
from edgewise.metrics import ndcg
from edgewise.plots import QueryMetricDisplay

pytest.importorskip("matplotlib")


def labels(shown):
    return [text.get_text() for text in shown.ax_.get_legend().get_texts()]


def test_every_query_is_there_the_worst_first(ranker, documents):
    X, y, qid = documents(seed=1)
    shown = QueryMetricDisplay.from_estimator(ranker, X, y, qid=qid)
    values = ndcg(y, ranker.predict(X), qid, k=10, per_query=True)
    np.testing.assert_array_equal(shown.values, values)
    line = shown.ax_.lines[1]
    np.testing.assert_array_equal(line.get_ydata()[:-1], np.sort(values))
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert labels(shown) == [f"RankBoost: mean {values.mean():.3f} ± {1.96 * error:.3f}"]
    named = [text.get_text() for text in shown.ax_.get_xticklabels()]
    assert named == [str(q) for q in np.argsort(values, kind="stable")]


def test_two_rankers_on_the_same_axes(ranker, documents):
    X, y, qid = documents(seed=1)
    shown = QueryMetricDisplay.from_estimator(ranker, X, y, qid=qid, metric="map")
    both = QueryMetricDisplay.from_predictions(
        y, X[:, 0], qid=qid, metric="map", name="_first", ax=shown.ax_
    )
    assert [label.split(":")[0] for label in labels(both)] == ["RankBoost", " _first"]
    assert both.ax_.get_xlabel() == "queries, the worst first"
    both.figure_.draw_without_rendering()
    named = [text.get_text() for text in both.ax_.get_xticklabels()]
    assert named == [f"{place:.0f}" for place in both.ax_.get_xticks()]


def test_a_metric_that_should_be_small_and_queries_without_any():
    shown = QueryMetricDisplay.from_predictions(
        [1, 0, 0, 1, 0, 0], [2, 1, 2, 1, 2, 1], qid=[1, 1, 2, 2, 3, 3], metric="disagreement"
    )
    assert np.isnan(shown.values).tolist() == [False, False, True]
    assert shown.ax_.lines[1].get_ydata().tolist() == [1.0, 0.0, 0.0]


def test_lists_have_their_own_queries():
    lists = RankedLists([[1], [2], [2], [1]], qid=["a", "a", "b", "b"], names=["bm25"])
    model = RankFusion(n_rounds=2).fit(lists, [1, 0, 0, 1])
    shown = QueryMetricDisplay.from_estimator(model, lists, [1, 0, 0, 1], metric="mrr")
    assert shown.queries.tolist() == ["a", "b"]
    assert shown.mean_ == 1.0


def test_wrong_arguments(ranker, documents):
    with pytest.raises(ValueError, match="qid must be given"):
        QueryMetricDisplay.from_estimator(ranker, *documents()[:2])
    with pytest.raises(ValueError, match="unknown metric: 'speed'"):
        QueryMetricDisplay.from_estimator(ranker, None, None, metric="speed")
    with pytest.raises(ValueError, match="values must hold a query for which map is defined"):
        QueryMetricDisplay.from_predictions([0, 0], [1, 2], metric="map")
