"""The experiments: their quick forms, and what can be worked out by hand."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from experiments.runner import Bench, Options, experiments, figures_of, run, together, verdict

from experiments import movies, open_problem, products, rankboost

PEERS = {"lightgbm": "LightGBM", "xgboost": "XGBoost"}


@pytest.mark.parametrize("name", experiments())
def test_a_quick_run_gives_figures_and_a_report(tmp_path, name):
    experiment = experiments()[name]
    cells = experiment.cells(Bench(quick=True))
    missing = [title for module, title in PEERS.items() if find_spec(module) is None]
    some = [cell for cell in cells if not any(title in cell.name for title in missing)]
    experiment = replace(experiment, cells=lambda bench: some)
    options = Options(True, False, None, 0, "cpu", 1, None, tmp_path, ())
    report = run(experiment, options, lambda line: None)
    text = report.read_text()
    assert text.startswith(f"# {experiment.title}")
    assert all(f"| {cell.row} | {cell.column} |" in text for cell in some)
    assert report.with_name(f"{name}.png").exists() == (experiment.draw is not None)


def test_other_figures_of_a_run_have_papers_of_their_own():
    experiment = replace(experiments()["rankboost-table5-1"], more_is_better=True)
    figures = {"a": {"value": 1.0}, "b": {"value": 2.0, "more_is_better": None}, "c": {"value": 3}}
    papers = rankboost.thesis_figures("RankBoost", "mq2008-agg")
    some = dict(zip("bc", list(papers.values())[:2], strict=True))
    cell = {"row": "r", "column": "a", **together(figures, some)}
    a, b, c = figures_of([cell])
    assert [one["column"] for one in (a, b, c)] == ["a", "b", "c"]
    assert [verdict(experiment, one) for one in (a, b, c)] == ["", "other data", "worse"]


def test_the_thesis_has_shares_of_its_queries():
    papers = rankboost.thesis_figures("RankBoost", "mq2008-agg")
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


@pytest.mark.parametrize("n_classes", [3, 5, 8])
def test_some_votes_keep_what_is_proved(n_classes):
    rng = np.random.default_rng(n_classes)
    all_votes = open_problem.votes(n_classes)
    for concentration in (0.03, 0.3, 3.0):
        for _ in range(50):
            weights = rng.dirichlet(np.full(6 * n_classes, concentration)).reshape(6, n_classes)
            one_label = np.where(np.eye(n_classes)[rng.integers(n_classes, size=6)] > 0, 1.0, -1.0)
            any_labels = rng.choice((-1.0, 1.0), size=weights.shape)
            assert open_problem.best(weights * one_label, all_votes)[0] >= 1 / 3
            least = 1 / np.sqrt(2 * n_classes)
            assert open_problem.best(weights * any_labels, all_votes)[0] >= least
            # The mixture of the proof, row by row.
            drawn = np.abs((weights * one_label) @ all_votes.T).mean(axis=1)
            equal = np.abs((weights * one_label).sum(axis=1))
            assert np.all(2 / 3 * drawn + equal / 3 >= weights.sum(axis=1) / 3 - 1e-12)


@pytest.mark.parametrize("name", ["pendigits", "letter"])
def test_products_tell_rounds_and_rows(name):
    paper, _ = products.TABLE["stump"][products.COLUMNS.index(name)]
    note = products.describe_run("stump", name, paper + 0.1, test_rows=4000, n_rounds=500)
    assert note == "500 of 100,000 rounds; 4 of 4,000 test rows"
