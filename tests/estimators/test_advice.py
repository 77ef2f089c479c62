"""Warnings about data and models: each once, naming what is wrong, and none for sound data."""

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from edgewise import AdaBoostMH
from edgewise.estimators import advice

N = 300
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))
Y = (X["a"] + X["b"] + 0.3 * RNG.normal(size=N) > 0).to_numpy().astype(int)
SHUFFLED = RNG.permutation(N)


def warnings_of(caplog, X, y, **parameters):
    with caplog.at_level(logging.WARNING, "edgewise"):
        AdaBoostMH(**parameters).fit(X, y)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("X", "y", "named"),
    [
        (X, RNG.integers(0, 2, N), "class frequencies"),
        (X.assign(leak=3.0 * Y), Y, "'leak'"),
        (X.assign(id=SHUFFLED), Y, "'id'"),
        (X.assign(id=10.0 + np.arange(N)), np.arange(N) > 150, "every row of 'id'"),
        (X.assign(name=[f"n{i}" for i in SHUFFLED]), Y, "'name'"),
        (X, np.where(Y > 0, "yes", np.where(X["c"] > 0, "no", "Yes ")), "'Yes ', 'yes'"),
        (X, np.arange(N) % 62, "62 different numbers"),
    ],
    ids=["noise", "leak", "row numbers", "ordered row numbers", "names", "spellings", "numbers"],
)
def test_suspicious_data_have_a_warning(X, y, named, caplog):
    messages = warnings_of(caplog, X, y, learner="stump" if named.startswith("62") else "auto")
    assert sum(named in message for message in messages) == 1


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("parameters", [{}, {"learner": "stump", "n_rounds": 30}], ids=str)
def test_sound_data_have_none(load, parameters, caplog):
    assert warnings_of(caplog, *load(return_X_y=True), **parameters) == []


def test_columns_that_only_tell_together_are_no_leak(caplog, monkeypatch):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2_000, 4))
    y = rows[:, 0] * rows[:, 1] > 0
    # The second split of a tree may have nearly all the gain.
    monkeypatch.setattr(advice, "_ONE_COLUMN", 0.4)
    monkeypatch.setattr(advice, "_LEAK_LOSS", 1.0)
    assert warnings_of(caplog, rows, y) == []
    rows[:, 1] = np.where(y, 1.0, -1.0) * np.abs(rows[:, 1])
    assert [text for text in warnings_of(caplog, rows, y) if "'x1', which alone" in text]


def test_a_column_that_tells_all_labels_is_a_leak(caplog):
    labels = np.stack([Y, 1 - Y], axis=1)
    messages = warnings_of(caplog, X.assign(leak=3.0 * Y), labels)
    assert [message for message in messages if "'leak'" in message]


def test_labels_may_be_anything(caplog):
    labels = np.stack([Y, 1 - Y, X["a"] > 0], axis=1).astype(int)
    assert warnings_of(caplog, X, labels) == []


def test_settings_compare_the_model_with_the_class_frequencies():
    settings = AdaBoostMH(random_state=0).fit(X, Y).settings_
    p = Y.mean()
    assert settings.prior_log_loss == pytest.approx(-p * np.log(p) - (1 - p) * np.log(1 - p))
    assert settings.held_out_log_loss < settings.prior_log_loss
    assert "prior_log_loss" in str(settings)
