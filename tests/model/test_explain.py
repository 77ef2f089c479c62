"""A model as curves that sum to its scores."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from edgewise.data import as_table
from edgewise.model import Contribution, PairExplanation, Scorer
from edgewise.model.explain import explain_model

NAMES = ["height", "width", "depth", "age"]
IMPORTANCES = np.array([0.1, 0.5, 0.2, 0.2])


@pytest.fixture
def model(make_terms):
    terms = make_terms(0)
    columns = terms.stumps.columns[:, 0]
    # How much the loss fell with each term: a column's terms share its importance.
    counts = np.bincount(columns[columns >= 0], minlength=4)
    decreases = np.where(columns >= 0, (IMPORTANCES / counts)[columns], 7.0)
    scorer = Scorer(terms=terms, n_features=4, feature_names=tuple(NAMES))
    return terms, scorer, explain_model(scorer, decreases, ["a", "b", "c"])


def test_curves_sum_to_the_scores(model, make_rows, term_by_term):
    terms, scorer, explanation = model
    X = make_rows(0)
    total = np.tile(explanation.bias, (len(X), 1))
    for curve in explanation:
        total += curve(X[:, curve.column])
    tolerance = 1e-12 * terms.alphas.sum()
    np.testing.assert_allclose(total, term_by_term(terms, X), rtol=0, atol=tolerance)
    scores = scorer.scores(as_table(X, infinite="value"))
    np.testing.assert_allclose(total, scores, rtol=0, atol=tolerance)


def test_the_most_important_column_comes_first(model):
    _, _, explanation = model
    assert [curve.name for curve in explanation] == ["width", "depth", "age", "height"]
    importances = [curve.importance for curve in explanation]
    assert importances == pytest.approx([0.5, 0.2, 0.2, 0.1], rel=1e-12)
    assert [curve.name for curve in explanation[:2]] == ["width", "depth"]


def test_a_curve_is_found_by_name_or_number(model):
    _, _, explanation = model
    assert explanation.curve("depth").column == 2
    assert explanation.curve(2).name == "depth"


def test_an_unknown_column_is_an_error_that_lists_those_in_use(model):
    _, _, explanation = model
    with pytest.raises(KeyError, match=r"color.*width"):
        explanation.curve("color")


def test_a_curve_jumps_at_its_thresholds_and_knows_missing_values(model):
    _, _, explanation = model
    curve = explanation.curve("width")
    assert (np.diff(curve.thresholds) > 0).all()
    finite = np.isfinite(curve.thresholds)
    at, below = curve.thresholds[finite], np.nextafter(curve.thresholds[finite], -np.inf)
    assert np.array_equal(curve(at), curve.scores[1:][finite])
    assert np.array_equal(curve(below), curve.scores[:-1][finite])
    assert np.array_equal(curve(np.array([np.nan]))[0], curve.missing)


def test_an_explanation_reads_as_text(model):
    _, _, explanation = model
    lines = repr(explanation).splitlines()
    assert len(lines) == 5
    for line, curve in zip(lines[1:], explanation, strict=True):
        assert curve.name in line


# What every explanation can do


def pair(n=3, **more):
    contributions = tuple(
        Contribution(f"film {j}", 3.0 - j, "rated it 4" * (j == 0)) for j in range(n)
    )
    return PairExplanation("ann", "Heat", 4.25, contributions, **more)


def test_a_pair_prints_its_largest_contributions_and_the_sum_of_the_others():
    assert str(pair(6, shown=2)).splitlines() == [
        "Heat for ann: 4.25",
        "  +3.00  film 0: rated it 4",
        "  +2.00  film 1",
        "  -2.00  4 others",
    ]


@pytest.mark.parametrize("kind", ["pair", "model"])
def test_an_explanation_becomes_a_frame_and_a_picture(model, kind):
    explanation = pair() if kind == "pair" else model[2]
    frame = explanation.to_frame()
    assert explanation.to_frame("polars").columns == frame.columns.tolist()
    assert list(frame) == ["name", explanation.unit, "detail"]
    assert frame["name"].tolist() == [
        contribution.name for contribution in explanation.contributions
    ]
    assert frame[explanation.unit].tolist() == [
        contribution.amount for contribution in explanation.contributions
    ]
    axes = explanation.plot(ax=Figure().subplots()).ax_
    names = [label.get_text().partition(":")[0] for label in axes.get_yticklabels()]
    assert [name for name in names if name not in ("start", "score")] == frame["name"].tolist()
    assert [bar.get_width() for bar in axes.patches] == frame[explanation.unit].tolist()
    assert axes.get_title(loc="left") == explanation.title
