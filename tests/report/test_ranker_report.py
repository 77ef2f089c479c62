"""The numbers on the pages of rankers are those of the library's own functions."""

import re

import numpy as np
import pandas as pd
import pytest

from edgewise import RankBoost, RankFusion
from edgewise.fusion import RankedLists
from edgewise.io import Schema
from edgewise.metrics import mean_average_precision, ndcg
from edgewise.report import ranker as ranker_page

from .test_classifier_report import block, ids, tiles


def test_the_page_has_every_section(ranking_page):
    assert ids(ranking_page) == [
        "overview", "data", "training", "metrics", "scores", "importance", "effects", "rules",
        "cases",
    ]  # fmt: skip


def test_metrics_are_means_over_queries_with_intervals(ranker, documents, ranking_page):
    X, y, qid = (rows[200:] for rows in documents)
    scores = ranker.predict(X)
    values = ndcg(y, scores, qid, k=10, per_query=True)
    assert tiles(ranking_page)["NDCG@10"] == f"{values.mean():.4f}"
    shown = {item["name"]: item for item in block(ranking_page, "metrics", "bars")["items"]}
    assert shown["MAP"]["value"] == mean_average_precision(y, scores, qid)
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert shown["NDCG@10"]["low"] == pytest.approx(values.mean() - half, abs=1e-4)


def test_reasons_of_a_query_add_up_to_the_difference_of_scores(ranker, documents, ranking_page):
    X, y, qid = (rows[200:] for rows in documents)
    scores = ranker.predict(X)
    worst = block(ranking_page, "cases", "cases")["items"][0]
    values = ndcg(y, scores, qid, k=10, per_query=True)
    assert worst["title"] == f"Query {np.unique(qid)[values.argmin()]}"
    above, best = (
        int(word) for word in worst["question"].removeprefix("Why row ").split(" ranks above row ")
    )
    assert y[above] < y[best]
    total = sum(part["amount"] for part in worst["contributions"])
    assert total == pytest.approx(scores[above] - scores[best])
    assert total >= 0


def test_grades_and_queries_are_optional(ranker, documents):
    X, y, _ = documents
    assert ids(ranker.report(X)) == [
        "overview", "data", "training", "importance", "effects", "rules"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="qid must be given"):
        ranker.report(X, y)
    one_query = RankBoost(n_rounds=3).fit(X[:50], y[:50])
    assert tiles(one_query.report(X[:50], y[:50]))["NDCG@10"]


def test_many_documents_are_sampled_in_whole_queries(ranker, documents, monkeypatch):
    X, y, qid = documents
    monkeypatch.setattr(ranker_page, "MAX_ROWS", 100)
    page = ranker_page.ranker_report(ranker, ranker._table(X), y, qid)
    lead = "On 100 of the 300 documents, in whole queries, drawn at random."
    assert page.section("overview").lead == lead


def test_fused_lists_have_a_page_with_names_of_lists_and_documents():
    lists = RankedLists(
        [[1, 3], [2, None], [3, 1], [1, 2], [2, 1]],
        qid=[1, 1, 1, 2, 2], docs=["d1", "d2", "d3", "d1", "d4"], names=["bm25", "url"],
    )  # fmt: skip
    page = RankFusion(n_rounds=2).fit(lists, [0, 0, 1, 0, 1]).report(lists, [0, 1, 1, 1, 0])
    assert page.title == "Rank fusion report"
    assert "(url: top 1)" in block(page, "rules", "rules")["items"][0]["text"]
    assert "d4" in block(page, "cases", "cases")["items"][0]["question"]


def test_reasons_name_dates():
    days = [f"2021-03-{day:02}" for day in (1, 8, 15, 15, 22, 22, 29, 29)]
    frame = pd.DataFrame({"day": days, "grade": [1, 0, 0, 0, 1, 1, 1, 0], "query": 1})
    schema = Schema.fit(frame, "grade", query="query")
    X, y, qid = schema.transform(frame), schema.labels(frame), schema.role(frame, "query")
    model = RankBoost(n_rounds=1).fit(X, y, qid=qid)
    model.schema_ = schema
    worst = block(model.report(X, y, qid=qid), "cases", "cases")["items"][0]
    details = {part["name"]: part["detail"] for part in worst["contributions"]}
    assert re.fullmatch(r"2021-03-\d\d against 2021-03-\d\d", details["day.days"])
