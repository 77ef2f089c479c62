"""Runs against judgments, beside trec_eval's way of counting."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgewise import io, metrics
from edgewise.io import Qrels, Run

# Query 1 has three relevant documents, a (2), b (1) and c (1).
JUDGED = [("1", "a", 2), ("1", "b", 1), ("1", "c", 1), ("1", "x", 0), ("2", "a", 1), ("3", "a", 0)]


def qrels(rows=JUDGED):
    queries, docs, grades = zip(*rows, strict=True)
    return Qrels(np.array(queries), np.array(docs), np.array(grades))


def run_of(rows):
    queries, docs, scores = zip(*rows, strict=True)
    n = len(rows)
    return Run(
        np.array(queries), np.array(docs), np.zeros(n, int), np.array(scores), np.full(n, "me")
    )


MINE = run_of([("1", "x", 9.0), ("1", "a", 8.0), ("1", "y", 7.0), ("1", "b", 6.0), ("2", "b", 1.0)])


def test_values_are_those_worked_by_hand():
    log2 = math.log2
    best = 3 + 1 / log2(3) + 1 / 2
    # Queries 2 and 3 count 0. The unreturned c adds nothing and is one of the three.
    first = {
        "map": (1 / 2 + 2 / 4) / 3,
        "mrr": 1 / 2,
        "precision@2": 1 / 2,
        "precision@10": 2 / 10,
        "recall@2": 1 / 3,
        "recall@4": 2 / 3,
        "ndcg": (3 / log2(3) + 1 / log2(5)) / best,
        "ndcg@2": (3 / log2(3)) / (3 + 1 / log2(3)),
    }
    result = metrics.evaluate_run(qrels(), MINE, list(first))
    assert result.queries.tolist() == ["1", "2", "3"]
    assert list(result.values) == list(first)
    for name, value in first.items():
        assert result.values[name] == pytest.approx([value, 0, 0], abs=1e-15)
        assert result.means[name] == pytest.approx(value / 3)
    assert (result.n_unanswered, result.n_unjudged, result.n_without_relevant) == (1, 0, 1)


def test_linear_gain_is_that_of_trec_eval():
    log2 = math.log2
    value = (2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3) + 1 / 2)
    result = metrics.evaluate_run(qrels(), MINE, ["ndcg"], gain="linear")
    assert result.values["ndcg"][0] == pytest.approx(value)


def test_ties_are_expected_over_their_orders():
    # a and z, which is not judged, are tied: 1 or 1/2, of three relevant documents.
    tied = run_of([("1", "a", 5.0), ("1", "z", 5.0), ("2", "a", 1.0)])
    result = metrics.evaluate_run(qrels(), tied, ["map", "mrr"])
    assert result.values["map"] == pytest.approx([0.75 / 3, 1, 0])
    assert result.values["mrr"] == pytest.approx([0.75, 1, 0])


def test_a_score_of_minus_infinity_is_returned_all_the_same():
    low = run_of([("1", "a", -np.inf), ("2", "a", 1.0)])
    assert metrics.evaluate_run(qrels(), low).values["map"] == pytest.approx([1 / 3, 1, 0])


def test_queries_without_judgments_are_ignored():
    more = run_of([("1", "a", 1.0), ("7", "a", 1.0), ("8", "a", 1.0)])
    result = metrics.evaluate_run(qrels(), more)
    assert (result.n_unjudged, result.n_unanswered) == (2, 2)
    assert result.queries.tolist() == ["1", "2", "3"]


def test_grades_below_0_count_as_0():
    rows = [*JUDGED, ("1", "z", -1)]
    run = run_of([("1", "z", 2.0), ("1", "a", 1.0)])
    assert metrics.evaluate_run(qrels(rows), run, ["mrr"]).values["mrr"][0] == 0.5


def test_a_metric_is_evaluated_once():
    assert list(metrics.evaluate_run(qrels(), MINE, ["map", "mrr", "map"]).values) == ["map", "mrr"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.evaluate_run(qrels(), run_of([("9", "a", 1.0)])), "none"),
        (lambda: metrics.evaluate_run(qrels(), MINE, ["map", "prot"]), "unknown metrics: 'prot'"),
        (lambda: metrics.evaluate_run(qrels(), MINE, ["ndcg@0"]), "ndcg@0"),
        (lambda: metrics.evaluate_run(qrels(), MINE, [""]), "unknown metrics: ''"),
        (lambda: metrics.evaluate_run(qrels(), MINE, gain="flat"), "gain must"),
        (lambda: metrics.evaluate_run(qrels([("1", "a", 2000)]), MINE, ["ndcg"]), "y is too large"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_trec_eval_s_own_way_of_counting(seed):
    rng = np.random.default_rng(seed)
    pairs = [(f"q{q}", f"d{d}") for q in range(8) for d in range(30)]
    chosen = [pairs[i] for i in np.flatnonzero(rng.random(len(pairs)) < 0.4)]
    returned = [pairs[i] for i in np.flatnonzero(rng.random(len(pairs)) < 0.5)]
    grades = rng.choice([0, 0, 1, 2, 3], len(chosen))
    judged = Qrels(*map(np.array, zip(*chosen, strict=True)), grades)
    scores = rng.permutation(len(returned)).astype(float)
    q, d = map(np.array, zip(*returned, strict=True))
    run = Run(q, d, np.zeros(len(q), int), scores, np.full(len(q), "r"))
    names = ("map", "mrr", "ndcg", "ndcg@5", "ndcg@50", "precision@5", "recall@5", "recall@50")
    for gain in ("linear", "exponential"):
        result = metrics.evaluate_run(judged, run, names, gain=gain)
        for name in names:
            expected = _by_trec_eval(judged, run, name, gain)
            assert result.values[name] == pytest.approx(expected, abs=1e-14), (name, gain)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_of_all_judged_documents_has_the_metrics_of_its_lists(seed):
    rng = np.random.default_rng(seed)
    pairs = list(itertools.product("abcde", map(str, range(9))))
    queries, docs = map(np.array, zip(*pairs, strict=True))
    grades, scores = rng.integers(0, 3, len(pairs)), rng.normal(size=len(pairs)).round()
    run = Run(queries, docs, np.zeros(len(pairs), int), scores, queries)
    names = ("map", "mrr", "ndcg", "ndcg@3", "precision@3", "recall@3")
    result = metrics.evaluate_run(Qrels(queries, docs, grades), run, names)
    for name in names:
        metric = metrics.ranking_metric(name)
        expected = metric.function(grades, scores, queries, per_query=True)
        np.testing.assert_array_equal(result.values[name], expected)


def _by_trec_eval(qrels, run, metric, gain):
    """Return a metric for each judged query, counted document by document."""
    base, _, k = metric.partition("@")
    values = []
    for query in np.unique(qrels.queries):
        mine = qrels.queries == query
        grades = dict(zip(qrels.docs[mine].tolist(), qrels.grades[mine].tolist(), strict=True))
        rows = np.flatnonzero(run.queries == query)
        rows = rows[np.argsort(-run.scores[rows])]
        ranked = [grades.get(doc, 0) for doc in run.docs[rows].tolist()]
        n_relevant = sum(grade > 0 for grade in grades.values())
        cut = int(k) if k else max(len(ranked), len(grades))
        hits = [i for i, grade in enumerate(ranked, 1) if grade > 0]
        value = (lambda g: g) if gain == "linear" else (lambda g: 2**g - 1)
        dcg = [
            sum(value(g) / math.log2(1 + i) for i, g in enumerate(some[:cut], 1))
            for some in (ranked, sorted(grades.values(), reverse=True))
        ]
        values.append(
            {
                "map": sum(n / i for n, i in enumerate(hits, 1)) / max(n_relevant, 1),
                "mrr": 1 / hits[0] if hits else 0.0,
                "precision": sum(i <= cut for i in hits) / cut,
                "recall": sum(i <= cut for i in hits) / max(n_relevant, 1),
                "ndcg": dcg[0] / dcg[1] if dcg[1] else 0.0,
            }[base]
        )
    return values


# Values of ir_measures 0.4.3 with pytrec_eval-terrier 0.5.11, cwl-eval 1.0.12 and gdeval; the run
# has no ties, "tied" has. gdeval (ERR, and NDCG with exponential gains) prints five digits.
RECORDED = json.loads((Path(__file__).parent / "trec_eval.json").read_text())


@pytest.mark.parametrize("name", RECORDED["values"])
def test_values_are_those_of_ir_measures_and_trec_eval(name):
    result = metrics.evaluate(RECORDED["qrels"], RECORDED["run"], name).runs["run"]
    assert result.queries.tolist() == ["1", "2", "3", "4", "5"]
    (values,) = result.values.values()
    digits = 5e-6 if name.startswith(("ERR", "nDCG(")) else 1e-15
    np.testing.assert_allclose(values, RECORDED["values"][name], rtol=0, atol=1.001 * digits)


@pytest.mark.parametrize("name", RECORDED["values_of_tied"])
def test_ties_may_stand_in_the_order_of_trec_eval(name):
    judged, tied = RECORDED["qrels"], RECORDED["tied"]
    (values,) = metrics.evaluate(judged, tied, name, ties="trec_eval").runs["run"].values.values()
    expected = RECORDED["values_of_tied"][name]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-15)
    (means,) = metrics.evaluate(judged, tied, name).runs["run"].values.values()
    assert not np.allclose(means, expected)


def test_scores_are_tied_in_the_order_of_trec_eval_if_they_are_in_single_precision():
    judged, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1e9 + 1, "b": 1e9}}
    assert metrics.evaluate(judged, run, "mrr").means["run"] == {"mrr": 1.0}
    assert metrics.evaluate(judged, run, "mrr", ties="trec_eval").means["run"] == {"mrr": 0.5}


FRAME = pd.DataFrame(JUDGED, columns=["query", "doc", "grade"])
OTHER = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}


class TestEvaluations:
    def evaluation(self, **options):
        return metrics.evaluate(FRAME, {"mine": MINE, "other": OTHER}, **options)

    def test_are_the_evaluations_of_each_run_with_intervals_and_tests(self):
        result = self.evaluation(metrics=["map", "P@1,2"])
        alone = metrics.evaluate_run(qrels(), MINE, ["map", "P@1", "P@2"])
        assert result.means["mine"] == alone.means
        assert list(result.tests) == ["other"]
        values = result.runs["other"].values["map"]
        test = metrics.randomization_test(values, alone.values["map"], random_state=0)
        assert result.tests["other"]["map"] == test
        values = alone.values["map"]
        half = 1.959964 * values.std(ddof=1) / math.sqrt(3)
        assert result.intervals["mine"]["map"] == pytest.approx((0, values.mean() + half))
        frame = result.to_frame("pandas", intervals=True).set_index("run")
        assert frame["map"].to_dict() == {name: result.means[name]["map"] for name in result.runs}
        assert frame.loc["other", "map_p_value"] == test.p_value
        assert np.isnan(frame.loc["mine", "map_difference"])
        low, high = frame.loc["mine", ["map_low", "map_high"]]
        assert result.intervals["mine"]["map"] == (low, high)
        assert list(result.to_frame("polars").columns) == ["run", "map", "P@1", "P@2"]

    def test_compare_with_any_run(self):
        result = self.evaluation(metrics="map", baseline="other")
        back = self.evaluation(metrics="map").tests["other"]["map"]
        assert result.tests["mine"]["map"].mean_difference == -back.mean_difference
        assert "against other" in str(result)

    def test_read_files(self, tmp_path):
        io.write_qrels(tmp_path / "q", *(FRAME[name] for name in ("query", "doc", "grade")))
        io.write_run(tmp_path / "r", MINE.queries, MINE.docs, MINE.scores)
        result = metrics.evaluate(tmp_path / "q", {"mine": tmp_path / "r"})
        assert result.means["mine"] == self.evaluation().means["mine"]

    @pytest.mark.parametrize(
        ("runs", "options", "message"),
        [
            ({}, {}, "runs must have at least one run"),
            ({"a": OTHER}, {"baseline": "b"}, "baseline must be one of 'a', got 'b'"),
            ({"a": {"9": {"a": 1.0}}}, {}, r"runs\['a'\]: run must have at least one"),
            ({"a": OTHER}, {"ties": "first"}, "ties"),
            ({"a": OTHER}, {"metrics": "prot"}, "unknown metrics: 'prot'"),
            ({"a": pd.DataFrame({"query": ["1"]})}, {}, "run must have a column 'doc'"),
            ({"a": {"1": {}}}, {}, "run must not be empty"),
        ],
    )
    def test_refuse_what_is_wrong(self, runs, options, message):
        with pytest.raises(ValueError, match=message):
            metrics.evaluate(FRAME, runs, **options)
