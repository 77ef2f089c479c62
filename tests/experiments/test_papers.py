"""The experiments on ranking and ratings: their quick forms, and what can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.runner import Bench, Options, experiments, figures_of, run, together, verdict

from experiments import movies, rankboost

# With the beginnings of the rows to run, where all would take longer than a test should.
QUICK = {
    "rankboost-figure5-1": ("WeakLearn.3",),
    "rankboost-table5-1": ("",),
    "rankboost-meta-search": ("RankFusion()", "borda"),
    "rankboost-or-adaboost": ("",),
    "rankboost-figures5-2-to-5-5": ("regression", "random", "mean rating", "share", "guessing"),
    "products-table2": ("BiasBaseline",),
    "ratings-weak-generalisation": ("BiasBaseline",),
    "recommend-lecture": ("content", "gradient", "penalty", "two factors"),
}


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_run_gives_figures_and_a_report(tmp_path, name):
    experiment = experiments()[name]
    cells = experiment.cells(Bench(quick=True))
    some = [cell for cell in cells if cell.row.startswith(QUICK[name])]
    experiment = replace(experiment, cells=lambda bench: some)
    options = Options(True, False, None, 0, "cpu", 1, None, tmp_path, ())
    report = run(experiment, options, lambda line: None)
    assert report.read_text().startswith(f"# {experiment.title}")
    assert report.with_name(f"{name}.png").exists() == (experiment.draw is not None)


def test_other_figures_of_a_run_have_papers_of_their_own():
    experiment = replace(experiments()["rankboost-table5-1"], more_is_better=True)
    figures = {"a": {"value": 1.0}, "b": {"value": 2.0, "more_is_better": None}, "c": {"value": 3}}
    papers = rankboost.printed("RankBoost", "mq2008-agg")
    some = dict(zip("bc", list(papers.values())[:2], strict=True))
    cell = {"row": "r", "column": "a", **together(figures, some)}
    a, b, c = figures_of([cell])
    assert [one["column"] for one in (a, b, c)] == ["a", "b", "c"]
    assert [verdict(experiment, one) for one in (a, b, c)] == ["", "other data", "worse"]


def test_the_thesis_has_shares_of_its_queries():
    papers = rankboost.printed("RankBoost", "mq2008-agg")
    assert papers["mq2008-agg, top 30"].value == pytest.approx(100 * 202 / 210)
    assert papers["mq2008-agg, top 1, less the best list's"].value == pytest.approx(-1500 / 210)
    assert papers["mq2008-agg, average rank"].value == 4.38


def test_guessing_is_exact():
    # One good movie of four: it is at each rank with the same chance.
    found = movies.guesses(1 / 4, 4, Bench())
    expected = np.mean([1, 1 / 2, 1 / 3, 1 / 4])
    assert [one["value"] for one in figures_of([{"row": "", "column": "", **found}])] == (
        pytest.approx([expected] * 3)
    )


def test_ranks_within_a_query_do_not_depend_on_its_level():
    rows = rankboost.generated_rows(5, seed=0)
    moved = rows._replace(X=rows.X + rows.qid[:, None])
    assert np.array_equal(rows.ranked.X, moved.ranked.X)
    assert rows.ranked.X.min() > 0
    assert rows.ranked.X.max() < 1
