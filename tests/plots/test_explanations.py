import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH
from edgewise.model import Contribution, PairExplanation
from edgewise.plots import ContributionDisplay, ImportanceDisplay

pytest.importorskip("matplotlib")


def names(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


@pytest.fixture(scope="module")
def explanation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0) + (X[:, 1] * X[:, 2] > 0).astype(int)]
    return AdaBoostMH(n_rounds=20).fit(X, y).explain(X[:1], X)


class TestRow:
    """Bars lead from the bias to the score, one after the other."""

    def test_bars_lead_from_the_bias_to_the_score(self, explanation):
        for name in explanation.classes:
            item = explanation.of(name)
            axes = ContributionDisplay(item).plot().ax_
            bars = axes.patches
            starts = [bar.get_x() for bar in bars]
            ends = [bar.get_x() + bar.get_width() for bar in bars]
            assert starts[0] == pytest.approx(item.bias)
            assert starts[1:] == pytest.approx(ends[:-1])
            assert ends[-1] == pytest.approx(item.scores[item.classes.index(name)])

    def test_every_bar_is_named_and_the_small_ones_together(self, explanation):
        axes = explanation.plot().ax_
        first, *names, others, last = [text.get_text() for text in axes.get_yticklabels()]
        assert (first, last) == ("bias", "score")
        largest = [part for part in explanation.contributions if part.name != "bias"]
        assert names == [str(part) for part in largest[: len(names)]]
        assert len(names) <= explanation.shown
        assert others == f"{len(largest) - len(names)} others"
        assert len(axes.patches) == len(names) + 1

    def test_amounts_are_written_as_they_read(self, explanation):
        axes = explanation.plot().ax_
        texts = [text.get_text() for text in axes.texts]
        amounts = [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]
        assert sum(amounts[:-1]) == pytest.approx(amounts[-1], abs=0.01 * len(amounts))

    def test_two_classes_mirror_each_other(self):
        X, y = np.arange(20.0)[:, None], np.arange(20) > 9
        explanation = AdaBoostMH("stump", n_rounds=3).fit(X, y).explain(X[:1], X)
        widths = [
            [bar.get_width() for bar in explanation.of(name).plot().ax_.patches]
            for name in (False, True)
        ]
        assert widths[0] == pytest.approx([-width for width in widths[1]])

    def test_a_row_that_nothing_tells_from_the_background(self):
        X, y = np.arange(20.0)[:, None], np.arange(20) > 9
        explanation = AdaBoostMH("stump", n_rounds=1).fit(X, y).explain(X[:1], X[:2])
        axes = explanation.plot().ax_
        assert [text.get_text() for text in axes.get_yticklabels()] == ["bias", "score"]


class TestPair:
    def test_bars_lead_from_the_mean_to_the_score(self):
        parts = (Contribution("mean", 3.5), Contribution("Heat", -0.5, "rated it 1"))
        axes = PairExplanation("ann", "Ran", 3.0, parts).plot().ax_
        assert names(axes) == ["mean", "Heat: rated it 1", "score"]
        assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(3.5, -0.5)]
        assert axes.get_title("left") == "Ran for ann: 3.00"

    def test_without_a_mean_they_begin_at_zero(self):
        parts = (Contribution("Heat", 2.0), Contribution("Ran", 1.0), Contribution("Up", -1.0))
        axes = PairExplanation("ann", "Big", 2.0, parts).plot().ax_
        assert names(axes) == ["start", "Heat", "Ran", "Up", "score"]
        assert [bar.get_x() for bar in axes.patches] == [0.0, 2.0, 3.0]

    def test_of_nothing(self):
        axes = PairExplanation("ann", "Big", 0.0, ()).plot().ax_
        assert names(axes) == ["start", "score"]


class TestImportances:
    def test_of_a_model(self, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=["age", "$", "_x", "long name " * 9])
        model = AdaBoostMH("stump", n_rounds=20).fit(frame, y)
        shown = ImportanceDisplay.from_estimator(model, shown=2)
        best = (-model.feature_importances_).argsort()[:2]
        assert sorted(best) == [0, 1]
        assert names(shown.ax_) == [["age", r"\$"][j] for j in best]

    def test_shown_is_a_number(self, model):
        with pytest.raises(ValueError, match="shown"):
            ImportanceDisplay.from_estimator(model, shown=0)
