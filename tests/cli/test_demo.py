import contextlib
import io
import re
import sys

import numpy as np
import pytest

import edgewise
from edgewise.cli import demo


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a short demo prints, writes and returns."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        model = demo.run(folder, rounds=30)
    return stream.getvalue(), folder, model


def test_writes_the_model_and_the_learning_curve(shown):
    pytest.importorskip("matplotlib")
    _, folder, model = shown
    assert sorted(file.name for file in folder.iterdir()) == [
        "digits.edgewise",
        "learning-curve.png",
    ]
    assert (folder / "learning-curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    loaded = edgewise.load(folder / "digits.edgewise")
    X = np.arange(640.0).reshape(10, 64) % 17
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_tells_errors_bounds_pixels_rules_and_files(shown):
    text, folder, model = shown
    history = model.history_
    assert "1,198 digits to train on, 599 to test on" in text
    flat = " ".join(text.split())
    assert f"training error {history.last('train_error'):.2%}" in flat
    assert f"test error {history.last('validation'):.2%}" in flat
    assert f"bound {history.last('bound'):.2%}, product of Z" in text
    assert f"bound {3 * history.last('bound'):.2%}, sqrt(K - 1) * product of Z" in text
    assert f"{history['pseudo_weight'].min():.3f}" in text
    assert f"Model: {folder / 'digits.edgewise'} (loaded again" in text


def test_the_strongest_rules_are_told_in_words(shown):
    text, _, model = shown
    for rule in model.rules(3):
        assert f"{rule.alpha:+.2f} * " in str(rule)
        # Columns are pixels: row and column of a picture of 8 x 8.
        words = re.sub(r"\bx(\d+)", lambda name: "pixel ({}, {})".format(*divmod(int(name[1]), 8)),
                       str(rule))  # fmt: skip
        assert words in text


def test_the_most_important_pixels_are_told(shown):
    text, _, model = shown
    j = int(model.feature_importances_.argmax())
    share = f"{model.feature_importances_[j]:.1%}"
    assert f"pixel ({j // 8}, {j % 8})   {share}" in re.sub(r" +(?=\d+\.\d%)", "   ", text)


def test_works_without_matplotlib_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    demo.run(tmp_path, rounds=3)
    text = capsys.readouterr().out
    assert "Learning curve: not drawn" in text
    assert "pip install edgewise[plots]" in text
    assert [file.name for file in tmp_path.iterdir()] == ["digits.edgewise"]


def test_an_interrupt_during_training_ends_the_demo(tmp_path, interrupt_after):
    interrupt_after(0)
    with pytest.raises(KeyboardInterrupt):
        demo.run(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_saved_model_that_predicts_otherwise_is_an_error(tmp_path, monkeypatch):
    other = edgewise.AdaBoostMH(n_rounds=1).fit(np.eye(64), np.arange(64) % 10)
    monkeypatch.setattr(edgewise, "load", lambda path: other)
    with pytest.raises(RuntimeError, match="does not predict as the trained one"):
        demo.run(tmp_path, rounds=2)
