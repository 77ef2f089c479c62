"""How pictures are made and written to files."""

import subprocess
import sys

import pytest

from edgewise.plots import curve_plot, learning_curve, margin_plot

pytest.importorskip("matplotlib")

PNG = b"\x89PNG\r\n\x1a\n"


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


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install edgewise\[plots\]"):
        margin_plot([0.1])


def test_matplotlib_is_loaded_when_a_plot_is_asked_for():
    program = "import sys, edgewise.plots; print('matplotlib' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
