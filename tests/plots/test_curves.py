import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, RankFusion
from edgewise.fusion import RankedLists
from edgewise.model import Curve
from edgewise.plots import VoteCurveDisplay

pytest.importorskip("matplotlib")


def axes_of(curve, classes):
    return VoteCurveDisplay(curve, classes).plot().ax_


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def steps(n_classes, missing=0.0):
    thresholds = np.array([0.5, 1.5])
    scores = np.arange(3 * n_classes, dtype=float).reshape(3, n_classes) ** 1.5
    return Curve("size", 0, 1.0, thresholds, scores, np.full(n_classes, missing))


class TestVoteCurve:
    def test_of_many_classes_the_most_moved_are_named(self):
        axes = axes_of(steps(10), range(10))
        assert labels(axes) == ["9", "8", "7", "6", "5", "4", "4 others"]

    def test_classes_with_equal_curves_share_a_line(self):
        scores = np.array([[1.0, 1.0, -2.0], [-1.0, -1.0, 3.0]])
        curve = Curve("x", 0, 1.0, np.array([0.5]), scores, np.zeros(3))
        assert labels(axes_of(curve, "abc")) == ["c", "a, b"]

    def test_two_classes_have_one_line(self, rows):
        X, y = rows
        model = AdaBoostMH("stump", n_rounds=5).fit(X, np.where(y > 0, "yes", "no"))
        axes = axes_of(model.explain()[0], model.classes_)
        assert labels(axes) == ["above 0: yes\nbelow 0: no"]

    def test_missing_values_are_dots(self):
        assert not axes_of(steps(2), "ab").texts
        texts = axes_of(steps(2, missing=0.5), "ab").texts
        assert [text.get_text() for text in texts] == ["missing"]

    def test_infinite_thresholds_are_left_out(self):
        thresholds = np.array([-np.inf, 1.0, np.inf])
        scores = np.array([[9.0], [1.0], [2.0], [9.0]])
        curve = Curve("x", 0, 1.0, thresholds, scores, np.zeros(1))
        axes = axes_of(curve, ["no", "yes"])
        drawn = axes.patches[0].get_data()
        assert drawn.values.tolist() == [1, 2]
        assert np.isfinite(drawn.edges).all()

    def test_refuses_other_classes(self):
        with pytest.raises(ValueError, match="classes must have 3 entries"):
            axes_of(steps(3), ["a", "b"])

    def test_no_tick_stands_below_the_missing_values(self):
        axes = axes_of(steps(2, missing=0.5), "ab")
        last_step = axes.patches[0].get_data().edges[-1]
        assert max(axes.get_xticks()) <= last_step < axes.get_xlim()[1]


class TestCurveOfARanker:
    def test_the_one_score_needs_no_legend(self, ranker):
        explanation = ranker.explain()
        axes = axes_of(explanation[0], explanation.classes)
        assert axes.get_legend() is None
        assert axes.get_xlabel() == explanation[0].name
        assert axes.get_ylabel() == "added to the score"

    def test_the_steps_are_the_curve(self, ranker):
        explanation = ranker.explain()
        for curve in explanation:
            drawn = axes_of(curve, explanation.classes).patches[0].get_data()
            np.testing.assert_array_equal(drawn.values, curve.scores[:, 0])
            np.testing.assert_array_equal(drawn.edges[1:-1], curve.thresholds)

    def test_documents_that_a_list_does_not_return_are_a_dot(self):
        ranks = [[1, 3], [2, None], [3, 1], [1, 2], [2, None], [3, 1]]
        lists = RankedLists(ranks, qid=[1, 1, 1, 2, 2, 2], names=["bm25", "url"])
        model = RankFusion(n_rounds=10, monotonic_cst="increasing").fit(lists, [0, 0, 1, 0, 0, 1])
        explanation = model.explain()
        curve = explanation.curve("url")
        axes = axes_of(curve, explanation.classes)
        dots = [line for line in axes.lines if line.get_marker() == "o"]
        assert [dot.get_ydata() for dot in dots] == [curve.missing]
        assert [text.get_text() for text in axes.texts] == ["missing"]
        assert axes.get_legend() is None


class TestFromEstimator:
    def test_the_most_important_column_or_one_by_name_or_number(self, model):
        curves = model.explain()
        assert VoteCurveDisplay.from_estimator(model).curve.name == curves[0].name
        assert VoteCurveDisplay.from_estimator(model, "x1").curve.name == "x1"
        assert VoteCurveDisplay.from_estimator(model, 1).classes == curves.classes

    def test_a_column_that_the_model_does_not_use(self, model):
        with pytest.raises(ValueError, match=r"feature.*'x9'"):
            VoteCurveDisplay.from_estimator(model, "x9")

    def test_a_model_without_curves(self, rows):
        model = AdaBoostMH("tree", n_rounds=30).fit(*rows)
        with pytest.raises(ValueError, match="rules on single columns"):
            VoteCurveDisplay.from_estimator(model)


class TestCategories:
    @pytest.fixture(scope="class")
    @classmethod
    def shop(cls):
        rng = np.random.default_rng(0)
        colors = rng.choice(["red", "green", "$blue", None], 200)
        frame = pd.DataFrame({"color": colors, "size": rng.normal(size=200)})
        fate = np.where((colors == "red") | (frame["size"] > 1), "sold", "left")
        return AdaBoostMH("stump", n_rounds=12).fit(frame, fate)

    def test_steps_are_what_the_values_add(self, shop):
        shown = VoteCurveDisplay.from_estimator(shop, "color")
        votes = dict(zip(shown.values, shown.curve.scores[:, 0], strict=True))
        assert shown.values[-1] == "red"  # the largest
        rows = pd.DataFrame({"color": [*votes, None], "size": 0.3})
        scores = shop.decision_function(rows)
        np.testing.assert_allclose(np.diff(scores[:-1]), np.diff([*votes.values()]), atol=1e-12)
        assert scores[-1] - scores[0] == pytest.approx(
            shown.curve.missing[0] - shown.curve.scores[0, 0]
        )
        named = [text.get_text() for text in shown.ax_.get_xticklabels()]
        assert named == [value.replace("$", r"\$") for value in shown.values]
        assert shown.ax_.patches[0].get_data().edges.tolist() == [-0.5, 0.5, 1.5, 2.5]

    def test_of_many_values_those_with_the_largest_votes(self):
        rng = np.random.default_rng(0)
        codes = np.repeat(np.arange(60), 4)
        frame = pd.DataFrame({"zip": [f"z{code}" for code in codes]})
        is_popular = (rng.random(60) > 0.5)[codes]
        model = AdaBoostMH("stump", n_rounds=5).fit(frame, is_popular)
        assert model.fitted_.rates is not None
        shown = VoteCurveDisplay.from_estimator(model)
        assert len(shown.values) == 30
        assert shown.ax_.get_xlabel() == "zip (30 of 60 values)"
