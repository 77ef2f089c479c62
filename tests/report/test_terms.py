"""The terms of additive models in reports, notebooks and lines of text."""

from dataclasses import replace

import numpy as np
import pytest

from edgewise import AdaBoostMH
from edgewise.model.shapes import Axis, ShapeFunction
from edgewise.report.terms import CellScale, coarsen, term_rows

from .conftest import NASTY
from .test_classifier_report import block, ids


def axis_of(thresholds, counts=None):
    counts = np.full(len(thresholds) + 2, 10.0) if counts is None else np.asarray(counts, float)
    return Axis(0, "x", np.asarray(thresholds, float), None, counts)


def test_the_page_of_an_additive_model_shows_terms_for_effects_and_rules(additive, terms_page):
    assert ids(terms_page)[:2] == ["overview", "terms"]
    assert not {"effects", "rules"} & {*ids(terms_page)}
    items = block(terms_page, "terms", "terms")["items"]
    model, _, _ = additive
    assert [item["name"] for item in items] == [term.name for term in model.terms_]
    kinds = {item["name"]: item["block"]["kind"] for item in items}
    assert (kinds["age"], kinds["age * city"]) == ("chart", "heat")


def test_the_lines_are_the_curves(additive, terms_page):
    model, _, _ = additive
    items = block(terms_page, "terms", "terms")["items"]
    chart = next(item["block"] for item in items if item["name"] == "age")
    (age,) = (term for term in model.terms_ if term.name == "age")
    steps = [line for line in chart["series"] if line["style"] == "steps"]
    for k, line in enumerate(steps):
        np.testing.assert_allclose(line["y"][:-1], age.scores[:-1, k], rtol=1e-4)
        np.testing.assert_allclose(line["high"], age.scores[:-1, k] + 1.96 * age.errors[:-1, k],
                                   rtol=1e-3, atol=1e-4)  # fmt: skip
    missing = [line["y"] for line in chart["series"] if line["style"] == "points"]
    np.testing.assert_allclose(np.ravel(missing), age.scores[-1], rtol=1e-4)
    assert sum(chart["x"]["rows"]["rows"]) == pytest.approx(age.counts[:-1].sum(), rel=1e-4)


def test_edits_are_listed(additive):
    model, X, y = additive
    page = model.edit("age", monotone=1, eval_set=(X, y)).edit("city", drop=True).report(X, y)
    table = block(page, "terms", "table")
    assert [row[:2] for row in table["rows"]] == [["age", "made rising"], ["city", "dropped"]]
    assert table["rows"][0][2] == "log loss"


def test_axes_that_a_few_values_would_squash():
    assert CellScale.of(axis_of(np.arange(20.0))).kind == "linear"
    assert CellScale.of(axis_of(np.geomspace(1, 1e6, 20))).kind == "log"
    assert CellScale.of(axis_of([*np.arange(-9.0, 9.0), 1e6])).kind == "cells"
    assert CellScale.of(axis_of([])).kind == "cells"


def test_a_histogram_keeps_all_rows_and_spreads_them_over_their_cells():
    scale = CellScale.of(axis_of([0, 1, 2, 3, 4], [1, 10, 0, 20, 10, 2, 7]))
    edges, rows = scale.histogram(np.array([1.0, 10, 0, 20, 10, 2, 7]))
    assert rows.sum() == pytest.approx(43)
    middles = (edges[1:] + edges[:-1]) / 2
    assert (rows[(middles > 1.2) & (middles < 1.8)] == 0).all()
    assert scale.missing is not None
    assert scale.histogram(np.ones(7)) is None  # the rows of each cell are not known


def test_a_coarser_table_has_the_same_mean():
    rng = np.random.default_rng(0)
    axes = tuple(axis_of(np.arange(50.0), rng.integers(1, 9, 52)) for _ in range(2))
    fine = ShapeFunction(axes, rng.normal(size=(52, 52, 1)))
    coarse = coarsen(fine, 10)
    assert coarse.scores.shape == (11, 11, 1)
    means = [np.average(f.scores[..., 0], weights=f.counts) for f in (fine, coarse)]
    assert means[0] == pytest.approx(means[1])


def test_extremes_are_cells_that_have_rows():
    names = Axis(0, "city", np.empty(0), ("Oslo", "Rome"), np.array([5.0, 5.0, 0.0]))
    function = ShapeFunction((names,), np.array([[1.0], [-1.0], [9.0]]))
    assert function.extremes(0) == [(-1.0, "Rome"), (1.0, "Oslo")]
    assert function.ranges.tolist() == [2.0]
    assert term_rows([function], ["score"])[1][-1] == "-1.00 (Rome) to +1.00 (Oslo)"


def test_a_curve_in_characters_rises_where_the_curve_does():
    rising = ShapeFunction((axis_of([1, 2, 3]),), np.array([[0.0], [1.0], [2.0], [3.0], [0.0]]))
    _, row = term_rows([rising], ["score"])
    assert row[2] == "".join(sorted(row[2]))
    assert (row[2][0], row[2][-1]) == ("▁", "█")
    _, plain = term_rows([rising], ["score"], encoding="ascii")
    assert plain[2].isascii()
    assert (plain[2][0], plain[2][-1]) == ("_", "#")


def test_of_several_classes_the_one_that_changes_most_is_named():
    axis = axis_of([1.0])
    function = ShapeFunction((axis,), np.array([[0.0, 1.0], [0.1, -1.0], [0.0, 0.0]]))
    heading, row = term_rows([replace(function, importance=0.5)], ["a", "b"])
    assert dict(zip(heading, row, strict=True))["class"] == "b"


def test_the_explanation_of_a_pair_names_a_class(additive):
    model, _, _ = additive
    pair = next(c for c in model.explain().contributions if c.name == "age * city")
    assert any(repr(name) in pair.detail for name in model.classes_.tolist())


def test_a_notebook_shows_terms(additive):
    model, _, _ = additive
    page = model._repr_mimebundle_()["text/html"]
    assert "Most important of" in page
    assert "Strongest rules" not in page
    assert "▁" in page
    assert NASTY not in page


def test_a_model_without_terms(people):
    X, _ = people
    y = np.random.default_rng(0).integers(0, 2, len(X))
    model = AdaBoostMH("additive", n_rounds=5, random_state=0).fit(X, y)
    for term in model.terms_:
        model = model.edit(term.name if len(term.axes) == 1 else term.columns, drop=True)
    page = model.report(X, y)
    assert page.section("terms").blocks[0]["kind"] == "note"
