"""The terms of additive models: curves, levels, tables of pairs, and all of them in a grid."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, RankBoost
from edgewise.plots import TermDisplay, TermGridDisplay

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def people():
    """Return numbers of which some are missing, a skewed column, and categories."""
    rng = np.random.default_rng(0)
    age, wealth = rng.integers(18, 80, 500).astype(float), rng.lognormal(3, 2, 500)
    city = rng.choice(["Oslo", "Rome", "$Bonn", "Bern"], 500, p=[0.4, 0.3, 0.2, 0.1])
    score = 0.1 * age + np.log(wealth) + 2 * (city == "Oslo") + 3 * (age > 40) * (wealth > 20)
    age[rng.random(500) < 0.1] = np.nan
    X = pd.DataFrame({"age": age, "wealth": wealth, "city": city})
    return X, np.digitize(score + rng.normal(size=500), [8, 11])


@pytest.fixture(scope="module")
def two_classes(people):
    X, y = people
    return AdaBoostMH("additive", random_state=0).fit(X, np.where(y > 0, "rich", "poor"))


@pytest.fixture(scope="module")
def three_classes(people):
    X, y = people
    return AdaBoostMH("additive", n_rounds=60, random_state=0).fit(X, np.array(["a", "b", "c"])[y])


def term(model, name):
    return next(term for term in model.terms_ if term.name == name)


def ticks(side):
    return [text.get_text() for text in side.get_ticklabels()]


def test_a_curve_is_drawn_with_its_interval_and_its_rows(two_classes):
    age = term(two_classes, "age")
    axes = TermDisplay.from_estimator(two_classes, "age").ax_
    band, curve = (patch for patch in axes.patches if hasattr(patch, "get_data"))
    np.testing.assert_array_equal(curve.get_data().values, age.scores[:-1, 0])
    np.testing.assert_array_equal(curve.get_data().edges[1:-1], age.axes[0].thresholds)
    np.testing.assert_allclose(
        band.get_data().values, age.scores[:-1, 0] + 1.96 * age.errors[:-1, 0]
    )
    bars = [patch for patch in axes.patches if hasattr(patch, "get_height")]
    heights = np.array([bar.get_height() for bar in bars if bar.get_height() < 1])
    assert (heights >= 0).all()
    assert heights.any()
    assert axes.get_ylabel() == "score: above 0 for rich, below for poor"
    assert axes.get_legend() is None


def test_missing_values_are_drawn_apart_and_without_a_tick(two_classes):
    axes = TermDisplay.from_estimator(two_classes, "age").ax_
    assert [text.get_text() for text in axes.texts] == ["missing"]
    last_step = next(p for p in axes.patches if hasattr(p, "get_data")).get_data().edges[-1]
    assert max(axes.get_xticks()) <= last_step < axes.get_xlim()[1]
    assert not TermDisplay.from_estimator(two_classes, "wealth").ax_.texts


def test_a_skewed_column_has_a_logarithmic_axis(two_classes):
    assert TermDisplay.from_estimator(two_classes, "wealth").ax_.get_xscale() == "log"
    assert TermDisplay.from_estimator(two_classes, "age").ax_.get_xscale() == "linear"


def test_levels_are_sorted_by_score(two_classes):
    city = term(two_classes, "city")
    axes = TermDisplay.from_estimator(two_classes, "city").ax_
    order = np.argsort(city.scores[:4, 0])
    cities = [city.axes[0].categories[k].replace("$", r"\$") for k in order]
    assert ticks(axes.xaxis) == cities


def test_a_pair_is_a_map_whose_colors_are_centered_at_0(two_classes):
    table = term(two_classes, "age * wealth")
    axes = TermDisplay.from_estimator(two_classes, ("wealth", "age")).ax_
    (mesh,) = axes.collections
    low, high = mesh.get_clim()
    assert low == -high < 0
    assert mesh.get_array().shape[1] <= min(30, table.axes[0].n_cells - 1) + 1
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "wealth")
    assert "missing" in ticks(axes.xaxis)
    assert "missing" not in ticks(axes.yaxis)


def test_each_class_has_a_line_or_the_one_that_is_named(three_classes):
    axes = TermDisplay.from_estimator(three_classes).ax_
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b", "c"]
    named = TermDisplay.from_estimator(three_classes, "age", label="b")
    curve = [patch for patch in named.ax_.patches if hasattr(patch, "get_data")][-1]
    scores = term(three_classes, "age").scores
    np.testing.assert_array_equal(curve.get_data().values, scores[:-1, 1])
    with pytest.raises(ValueError, match="label must be one of the classes"):
        TermDisplay.from_estimator(three_classes, label="d")


def test_the_most_important_term_or_one_by_name_or_number(two_classes):
    assert TermDisplay.from_estimator(two_classes).function is two_classes.terms_[0]
    assert TermDisplay.from_estimator(two_classes, 2).function.name == "city"
    with pytest.raises(ValueError, match="no term 'height'"):
        TermDisplay.from_estimator(two_classes, "height")


def test_other_models_are_refused(people):
    with pytest.raises(AttributeError, match="learner='additive'"):
        TermDisplay.from_estimator(AdaBoostMH("tree", n_rounds=9).fit(*people))


def test_a_grid_shows_the_most_important_terms_in_order(three_classes):
    shown = TermGridDisplay.from_estimator(three_classes, n_terms=4)
    titles = [display.ax_.get_title() for display in shown.displays_]
    terms = three_classes.terms_[:4]
    assert titles == [f"{term.name}, {term.importance:.1%}" for term in terms]
    (legend,) = shown.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="n_terms must be"):
        TermGridDisplay.from_estimator(three_classes, n_terms=0)


def test_a_ranker(people):
    X, y = people
    ranker = RankBoost("additive", n_rounds=40, random_state=0).fit(X, y, np.arange(500) // 10)
    shown = TermGridDisplay.from_estimator(ranker)
    assert len(shown.displays_) == min(12, len(ranker.terms_))
    assert TermDisplay.from_estimator(ranker).ax_.get_ylabel() == "added to the score"
