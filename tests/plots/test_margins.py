import numpy as np
import pytest

from edgewise.plots import MarginDisplay

pytest.importorskip("matplotlib")


def drawn(margins):
    """Return the axes, and the steps within them."""
    axes = MarginDisplay(margins).plot().ax_
    return axes, axes.lines[1]


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


class TestMarginDisplay:
    def test_is_the_distribution_function(self):
        axes, line = drawn([-0.5, 0.0, 0.5, 0.5])
        assert line.get_drawstyle() == "steps-post"
        assert line.get_ydata().tolist() == [0, 0.25, 0.5, 1, 1, 1]
        assert labels(axes) == ["50.0% at or below 0"]

    def test_any_shape_and_a_single_margin(self):
        axes, line = drawn([[0.1, 0.2], [0.3, -1.0]])
        assert line.get_xdata().tolist()[1:-1] == [-1.0, 0.1, 0.2, 0.3]
        assert line.get_ydata().tolist() == [0, 0.25, 0.5, 0.75, 1, 1]
        assert labels(axes) == ["25.0% at or below 0"]
        axes, line = drawn([0.0])
        assert line.get_ydata().tolist() == [0, 1, 1]
        assert labels(axes) == ["100.0% at or below 0"]

    def test_of_a_model_and_two_on_the_same_axes(self, model, rows):
        X, y = rows
        first = MarginDisplay.from_estimator(model, X[:90], y[:90], name="training")
        np.testing.assert_array_equal(first.margins, model.margins(X[:90], y[:90]))
        low, high = first.ax_.get_xlim()
        both = MarginDisplay([-0.9, 0.9], name="_test").plot(ax=first.ax_)
        assert both.ax_ is first.ax_
        assert [label.split(":")[0] for label in labels(both.ax_)] == ["training", " _test"]
        assert both.ax_.get_xlim()[0] < low < high < both.ax_.get_xlim()[1]
        colors = {line.get_color() for line in both.ax_.lines if line.get_drawstyle() != "default"}
        assert len(colors) == 2

    @pytest.mark.parametrize("margins", [[], [1.5]])
    def test_refuses_what_is_no_margin(self, margins):
        with pytest.raises(ValueError, match="margins must"):
            MarginDisplay(margins).plot()
