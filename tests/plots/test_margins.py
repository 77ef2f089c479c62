import pytest

from edgewise.plots import margin_plot

pytest.importorskip("matplotlib")


class TestMarginPlot:
    def test_is_the_distribution_function(self):
        axes = margin_plot([-0.5, 0.0, 0.5, 0.5]).axes[0]
        line = axes.lines[0]
        assert line.get_drawstyle() == "steps-post"
        assert line.get_ydata().tolist() == [0, 0.25, 0.5, 1, 1, 1]
        assert axes.get_title("left") == "50.0% of margins at or below 0"

    def test_any_shape_and_a_single_margin(self):
        axes = margin_plot([[0.1, 0.2], [0.3, -1.0]]).axes[0]
        assert axes.lines[0].get_xdata().tolist()[1:-1] == [-1.0, 0.1, 0.2, 0.3]
        assert axes.lines[0].get_ydata().tolist() == [0, 0.25, 0.5, 0.75, 1, 1]
        assert axes.get_title("left") == "25.0% of margins at or below 0"
        axes = margin_plot([0.0]).axes[0]
        assert axes.lines[0].get_ydata().tolist() == [0, 1, 1]
        assert axes.get_title("left") == "100.0% of margins at or below 0"

    @pytest.mark.parametrize("margins", [[], [1.5]])
    def test_refuses_what_is_no_margin(self, margins):
        with pytest.raises(ValueError, match="margins must"):
            margin_plot(margins)
