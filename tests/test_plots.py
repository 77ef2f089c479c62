import sys

import numpy as np
import pytest

from edgewise import AdaBoostMH
from edgewise.model import Curve
from edgewise.plots import curve_plot, learning_curve, margin_plot

pytest.importorskip("matplotlib")

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)
    return X, y


@pytest.fixture(scope="module")
def model(rows):
    return AdaBoostMH("stump", n_rounds=30).fit(*rows, eval_set=rows)


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def steps(n_classes, missing=0.0):
    thresholds = np.array([0.5, 1.5])
    scores = np.arange(3 * n_classes, dtype=float).reshape(3, n_classes) ** 1.5
    return Curve("size", 0, 1.0, thresholds, scores, np.full(n_classes, missing))


class TestWriting:
    def test_each_plot_writes_a_png(self, model, rows, tmp_path):
        learning_curve(model, tmp_path / "learning.png", "a title")
        margin_plot(model.margins(*rows), tmp_path / "margins.png")
        curve_plot(model.explain()[0], model.classes_, str(tmp_path / "curve.png"))
        files = sorted(tmp_path.iterdir())
        assert [file.name for file in files] == ["curve.png", "learning.png", "margins.png"]
        for file in files:
            content = file.read_bytes()
            assert content.startswith(PNG)
            assert len(content) > 5000

    def test_the_suffix_says_the_format(self, tmp_path):
        margin_plot([0.1, 0.2], tmp_path / "margins.pdf")
        assert (tmp_path / "margins.pdf").read_bytes().startswith(b"%PDF")

    def test_a_path_without_suffix_gets_png(self, tmp_path):
        margin_plot([0.1, 0.2], tmp_path / "margins")
        assert [file.name for file in tmp_path.iterdir()] == ["margins.png"]

    def test_a_failed_write_leaves_the_old_file_and_nothing_else(self, tmp_path, monkeypatch):
        old = tmp_path / "margins.png"
        old.write_bytes(b"old")

        def refuse(self, target):
            raise OSError("no")

        monkeypatch.setattr("pathlib.Path.replace", refuse)
        with pytest.raises(OSError, match="no"):
            margin_plot([0.1, 0.2], old)
        assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]

    def test_pyplot_is_not_touched(self, model):
        before = "matplotlib.pyplot" in sys.modules
        learning_curve(model)
        assert ("matplotlib.pyplot" in sys.modules) == before


class TestLearningCurve:
    def test_every_quantity_is_named_and_drawn(self, model):
        above, below = learning_curve(model).axes
        assert labels(above) == [
            "bound (product of Z)",
            "Hamming loss",
            "training error",
            "validation error",
        ]
        np.testing.assert_array_equal(above.lines[0].get_ydata(), model.history_["bound"])
        np.testing.assert_array_equal(below.lines[0].get_ydata(), model.history_["edge"])
        assert below.get_xlim() == (1, 30)

    def test_without_validation_there_is_no_such_line(self, rows):
        above, _ = learning_curve(AdaBoostMH(n_rounds=5).fit(*rows)).axes
        assert not any("validation" in label for label in labels(above))

    def test_losses_that_reach_zero_stay_on_the_axis(self):
        model = AdaBoostMH(n_rounds=60).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        assert model.history_["train_error"][-1] == 0
        above, _ = learning_curve(model).axes
        assert above.get_ylim()[0] == 0
        assert above.get_ylim()[1] > 0

    def test_one_round_shows(self):
        model = AdaBoostMH(n_rounds=1).fit([[0.0], [1.0]], ["a", "b"])
        above, _ = learning_curve(model).axes
        assert above.lines[0].get_marker() == "o"

    def test_early_stopping_is_marked(self, rows):
        X, y = rows
        noise = np.random.default_rng(1).integers(0, 3, len(y))
        model = AdaBoostMH(n_rounds=50, patience=3).fit(X, noise, eval_set=(X[::2], noise[1::2]))
        assert model.n_rounds_ < model.history_.n_rounds
        above, _ = learning_curve(model).axes
        assert labels(above)[-1] == f"kept: {model.n_rounds_}"

    def test_a_metric_below_zero_is_drawn_on_a_linear_axis(self, rows):
        def minus_mean(y, scores):
            return -float(np.abs(scores).mean())

        model = AdaBoostMH(n_rounds=40, eval_metric=minus_mean).fit(*rows, eval_set=rows)
        above, _ = learning_curve(model).axes
        assert above.get_yscale() == "linear"
        assert above.get_ylim()[0] <= model.history_["validation"].min()
        assert labels(above)[-1] == "validation minus_mean"

    def test_unfactorised_training_has_no_pseudo_weights_to_draw(self, rows):
        _, below = learning_curve(AdaBoostMH("stump", n_rounds=5, factorized=False).fit(*rows)).axes
        assert labels(below) == ["edge"]

    def test_multi_label(self, rows):
        X, _ = rows
        model = AdaBoostMH(n_rounds=5).fit(X, (X[:, :3] > 0).astype(int))
        assert len(learning_curve(model).axes) == 2


class TestMarginPlot:
    def test_is_the_distribution_function(self):
        axes = margin_plot([-0.5, 0.0, 0.5, 0.5]).axes[0]
        line = axes.lines[0]
        assert line.get_drawstyle() == "steps-post"
        assert line.get_ydata().tolist() == [0, 0.25, 0.5, 1, 1, 1]
        assert axes.get_title("left") == "50.0% of margins at or below 0"

    def test_any_shape_and_a_single_margin(self):
        margin_plot([[0.1, 0.2], [0.3, -1.0]])
        margin_plot([0.0])

    @pytest.mark.parametrize("margins", [[], [1.5]])
    def test_refuses_what_is_no_margin(self, margins):
        with pytest.raises(ValueError, match="margins must"):
            margin_plot(margins)


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


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install edgewise\[plots\]"):
        margin_plot([0.1])


def test_a_model_without_rounds_is_refused(rows):
    model = AdaBoostMH(n_rounds=2).fit(*rows)
    model.history_.truncate(0)
    with pytest.raises(ValueError, match="at least one round"):
        learning_curve(model)
