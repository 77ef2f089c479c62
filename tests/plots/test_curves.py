import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, RankBoost, RankFusion
from edgewise.fusion import RankedLists
from edgewise.model import Curve
from edgewise.plots import curve_plot, row_plot

pytest.importorskip("matplotlib")


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def steps(n_classes, missing=0.0):
    thresholds = np.array([0.5, 1.5])
    scores = np.arange(3 * n_classes, dtype=float).reshape(3, n_classes) ** 1.5
    return Curve("size", 0, 1.0, thresholds, scores, np.full(n_classes, missing))


class TestCurvePlot:
    def test_few_classes_are_all_named(self):
        axes = curve_plot(steps(3), ["red", "green", "blue"]).axes[0]
        assert sorted(labels(axes)) == ["blue", "green", "red"]
        assert axes.get_xlabel() == "size"

    def test_of_many_classes_the_most_moved_are_named(self):
        axes = curve_plot(steps(10), range(10)).axes[0]
        assert labels(axes) == ["9", "8", "7", "6", "5", "4", "4 others"]

    def test_classes_with_equal_curves_share_a_line(self):
        scores = np.array([[1.0, 1.0, -2.0], [-1.0, -1.0, 3.0]])
        curve = Curve("x", 0, 1.0, np.array([0.5]), scores, np.zeros(3))
        assert labels(curve_plot(curve, "abc").axes[0]) == ["c", "a, b"]

    def test_two_classes_have_one_line(self, rows):
        X, y = rows
        model = AdaBoostMH("stump", n_rounds=5).fit(X, np.where(y > 0, "yes", "no"))
        axes = curve_plot(model.explain()[0], model.classes_).axes[0]
        assert labels(axes) == ["above 0: yes\nbelow 0: no"]

    def test_missing_values_are_dots(self):
        assert not curve_plot(steps(2), "ab").axes[0].texts
        texts = curve_plot(steps(2, missing=0.5), "ab").axes[0].texts
        assert [text.get_text() for text in texts] == ["missing"]

    def test_infinite_thresholds_are_left_out(self, tmp_path):
        thresholds = np.array([-np.inf, 1.0, np.inf])
        scores = np.array([[9.0], [1.0], [2.0], [9.0]])
        curve = Curve("x", 0, 1.0, thresholds, scores, np.zeros(1))
        axes = curve_plot(curve, ["no", "yes"], tmp_path / "curve.png").axes[0]
        drawn = axes.patches[0].get_data()
        assert drawn.values.tolist() == [1, 2]
        assert np.isfinite(drawn.edges).all()

    def test_names_are_shown_as_they_are(self, tmp_path):
        curve = steps(2)
        figure = curve_plot(curve, ["$_{", "_hidden"], tmp_path / "curve.png")
        assert len(labels(figure.axes[0])) == 2

    def test_refuses_other_classes(self):
        with pytest.raises(ValueError, match="classes must have 3 entries"):
            curve_plot(steps(3), ["a", "b"])

    def test_no_tick_stands_below_the_missing_values(self):
        axes = curve_plot(steps(2, missing=0.5), "ab").axes[0]
        last_step = axes.patches[0].get_data().edges[-1]
        assert max(axes.get_xticks()) <= last_step < axes.get_xlim()[1]


class TestCurveOfARanker:
    def test_the_one_score_needs_no_legend(self, ranker):
        explanation = ranker.explain()
        axes = curve_plot(explanation[0], explanation.classes).axes[0]
        assert axes.get_legend() is None
        assert axes.get_xlabel() == explanation[0].name
        assert axes.get_ylabel() == "added to the score"

    def test_the_steps_are_the_curve(self, ranker):
        explanation = ranker.explain()
        for curve in explanation:
            drawn = curve_plot(curve, explanation.classes).axes[0].patches[0].get_data()
            np.testing.assert_array_equal(drawn.values, curve.scores[:, 0])
            np.testing.assert_array_equal(drawn.edges[1:-1], curve.thresholds)

    def test_documents_that_a_list_does_not_return_are_a_dot(self):
        ranks = [[1, 3], [2, None], [3, 1], [1, 2], [2, None], [3, 1]]
        lists = RankedLists(ranks, qid=[1, 1, 1, 2, 2, 2], names=["bm25", "url"])
        model = RankFusion(n_rounds=10, monotonic_cst="increasing").fit(lists, [0, 0, 1, 0, 0, 1])
        explanation = model.explain()
        curve = explanation.curve("url")
        axes = curve_plot(curve, explanation.classes).axes[0]
        dots = [line for line in axes.lines if line.get_marker() == "o"]
        assert [dot.get_ydata() for dot in dots] == [curve.missing]
        assert [text.get_text() for text in axes.texts] == ["missing"]
        assert axes.get_legend() is None

    def test_without_unranked_documents_there_is_no_dot(self, ranker):
        explanation = ranker.explain()
        assert not curve_plot(explanation[0], explanation.classes).axes[0].texts

    def test_an_unranked_document_has_a_score_where_missing_values_have_a_side(self, documents):
        X, y, qid = documents()
        explanation = RankBoost(n_rounds=5, missing="low").fit(X, y, qid).explain()
        axes = curve_plot(explanation[0], explanation.classes).axes[0]
        assert [text.get_text() for text in axes.texts] == ["missing"]

    def test_one_name_for_three_scores_is_refused(self):
        with pytest.raises(ValueError, match="classes must have 3 entries"):
            curve_plot(steps(3), ["score"])


class TestRowPlot:
    """Bars lead from the bias to the score, one after the other."""

    @pytest.fixture
    def explanation(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 8))
        y = np.array(["a", "b", "c"])[(X[:, 0] > 0) + (X[:, 1] * X[:, 2] > 0).astype(int)]
        return AdaBoostMH(n_rounds=20).fit(X, y).explain(X[:1], X)

    def test_bars_lead_from_the_bias_to_the_score(self, explanation):
        for name in explanation.classes:
            one = explanation.of(name)
            axes = row_plot(one).axes[0]
            bars = axes.patches
            starts = [bar.get_x() for bar in bars]
            ends = [bar.get_x() + bar.get_width() for bar in bars]
            assert starts[0] == pytest.approx(one.bias)
            assert starts[1:] == pytest.approx(ends[:-1])
            assert ends[-1] == pytest.approx(one.scores[one.classes.index(name)])

    def test_every_bar_is_named_and_the_small_ones_together(self, explanation):
        axes = explanation.plot().axes[0]
        first, *names, others, last = [text.get_text() for text in axes.get_yticklabels()]
        assert (first, last) == ("bias", "score")
        largest = [part for part in explanation.contributions if part.name != "bias"]
        assert names == [str(part) for part in largest[: len(names)]]
        assert len(names) <= explanation.shown
        assert others == f"{len(largest) - len(names)} others"
        assert len(axes.patches) == len(names) + 1

    def test_amounts_are_written_as_they_read(self, explanation):
        axes = explanation.plot().axes[0]
        texts = [text.get_text() for text in axes.texts]
        amounts = [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]
        assert sum(amounts[:-1]) == pytest.approx(amounts[-1], abs=0.01 * len(amounts))

    def test_two_classes_mirror_each_other(self):
        X, y = np.arange(20.0)[:, None], np.arange(20) > 9
        explanation = AdaBoostMH("stump", n_rounds=3).fit(X, y).explain(X[:1], X)
        widths = [
            [bar.get_width() for bar in explanation.of(name).plot().axes[0].patches]
            for name in (False, True)
        ]
        assert widths[0] == pytest.approx([-width for width in widths[1]])

    def test_names_are_shown_as_they_are(self, tmp_path):
        X = np.arange(20.0)[:, None]
        frame = pd.DataFrame(X, columns=["_$size$"])
        model = AdaBoostMH("stump", n_rounds=3).fit(frame, X[:, 0] > 9)
        figure = model.explain(frame[:1], frame).plot(tmp_path / "why")
        assert (tmp_path / "why.png").stat().st_size > 1000
        assert r"\$size\$: 0" in figure.axes[0].get_yticklabels()[1].get_text()

    def test_a_row_that_nothing_tells_from_the_background(self):
        X, y = np.arange(20.0)[:, None], np.arange(20) > 9
        explanation = AdaBoostMH("stump", n_rounds=1).fit(X, y).explain(X[:1], X[:2])
        axes = explanation.plot().axes[0]
        assert [text.get_text() for text in axes.get_yticklabels()] == ["bias", "score"]
