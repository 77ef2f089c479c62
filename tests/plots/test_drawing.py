"""What all displays share: axes, files, and the models within pipelines and searches."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import AdaBoostMH
from edgewise.plots import (
    BoostingCurveDisplay,
    ContributionDisplay,
    ImportanceDisplay,
    MarginDisplay,
    ReliabilityDisplay,
    TermDisplay,
    TermGridDisplay,
    VoteCurveDisplay,
)
from edgewise.plots.drawing import save_figure

Figure = pytest.importorskip("matplotlib.figure").Figure


def shown_by(model, X, y):
    return [
        BoostingCurveDisplay.from_estimator(model),
        ContributionDisplay.from_estimator(model, X[:1], X),
        ImportanceDisplay.from_estimator(model),
        MarginDisplay.from_estimator(model, X, y),
        ReliabilityDisplay.from_estimator(model, X, y),
        VoteCurveDisplay.from_estimator(model),
        TermDisplay.from_estimator(model),
        TermGridDisplay.from_estimator(model, n_terms=2),
    ]


class TestAxes:
    def test_every_display_draws_on_given_axes(self, model, rows):
        for display in shown_by(model, *rows):
            axes = Figure().subplots()
            assert display.plot(ax=axes).ax_ is axes
            assert display.figure_ is axes.figure

    def test_without_axes_there_is_a_new_figure_and_plot_makes_another(self, model, rows):
        for shown in shown_by(model, *rows):
            first = shown.figure_
            assert shown.ax_ in first.axes
            assert shown.plot() is shown
            assert shown.figure_ is not first

    def test_axes_of_a_subfigure(self, model):
        whole = Figure()
        axes = whole.subfigures(1, 2)[0].subplots()
        assert ImportanceDisplay.from_estimator(model, ax=axes).figure_ is whole

    def test_pipelines_and_searches_show_their_model(self, rows):
        X, y = rows
        model = AdaBoostMH("stump", n_rounds=5)
        search = GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=2).fit(X, y)
        best = search.best_estimator_
        margins = shown_by(search, X, y)[3].margins
        scaled = best[:-1].transform(X)
        np.testing.assert_array_equal(margins, best[-1].margins(scaled, y))

    def test_other_and_unfitted_models_are_refused(self, rows):
        with pytest.raises(TypeError, match="estimator must have history_"):
            BoostingCurveDisplay.from_estimator(LogisticRegression().fit(*rows))
        with pytest.raises(NotFittedError):
            BoostingCurveDisplay.from_estimator(AdaBoostMH())


class TestWriting:
    @pytest.fixture
    def figure(self):
        return MarginDisplay([0.1, 0.2]).plot(ax=Figure().subplots()).figure_

    def test_the_suffix_says_the_format_and_is_png_by_default(self, figure, tmp_path):
        save_figure(figure, tmp_path / "margins.pdf")
        save_figure(figure, tmp_path / "margins")
        assert (tmp_path / "margins.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / "margins.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")

    def test_a_failed_write_leaves_the_old_file_and_nothing_else(
        self, figure, tmp_path, monkeypatch
    ):
        old = tmp_path / "margins.png"
        old.write_bytes(b"old")

        def refuse(self, target):
            raise OSError("no")

        monkeypatch.setattr("pathlib.Path.replace", refuse)
        with pytest.raises(OSError, match="no"):
            save_figure(figure, old)
        assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install edgewise\[plots\]"):
        MarginDisplay([0.1]).plot()


def test_matplotlib_is_loaded_when_a_plot_is_asked_for():
    program = "import sys, edgewise.plots; print('matplotlib' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
