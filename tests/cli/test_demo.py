"""``edgewise demo``: what it prints, and the files it writes."""

import re
import sys

import numpy as np
import pytest

import edgewise
from edgewise.cli import demo


def test_shows_errors_bounds_pixels_and_rules_and_writes_files(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "folder"
    model = demo.run(folder, rounds=30)
    text, history = capsys.readouterr().out, model.history_
    assert "1,198 digits to train on, 599 to test on" in text
    flat = " ".join(text.split())
    assert f"training error {history.last('train_error'):.2%}" in flat
    assert f"test error {history.last('validation'):.2%}" in flat
    assert f"bound {history.last('bound'):.2%}, product of Z" in text
    # sqrt(K - 1) is 3 for ten classes.
    assert f"bound {3 * history.last('bound'):.2%}, sqrt(K - 1) * product of Z" in text
    for rule in model.rules(3):
        # Columns are pixels: row and column of a picture of 8 x 8.
        assert re.sub(r"\bx(\d+)", lambda name: demo._pixel(int(name[1])), str(rule)) in text
    j = int(model.feature_importances_.argmax())
    share = f"{model.feature_importances_[j]:.1%}"
    assert re.search(rf"pixel \({j // 8}, {j % 8}\) +{share}", text)
    assert (folder / "learning-curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    loaded = edgewise.load(folder / "digits.edgewise")
    X = np.arange(640.0).reshape(10, 64) % 17
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_works_without_matplotlib(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    demo.run(tmp_path, rounds=3)
    assert "pip install edgewise[plots]" in capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir()] == ["digits.edgewise"]


def test_an_interrupt_during_training_ends_the_demo(tmp_path, interrupt_after):
    interrupt_after(0)
    with pytest.raises(KeyboardInterrupt):
        demo.run(tmp_path)
    assert list(tmp_path.iterdir()) == []
