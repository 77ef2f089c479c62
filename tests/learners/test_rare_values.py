"""Categorical columns with many rare values."""

import numpy as np
import pandas

from edgewise import AdaBoostMH, Indicator


def test_rare_values_count_as_one():
    # "a" and "b" have rows enough; the others are noise that a subset of single values would fit.
    color = ["a"] * 30 + ["b"] * 30 + [f"v{i}" for i in range(20)]
    y = np.array([0] * 30 + [1] * 30 + [0, 1] * 10)
    X = pandas.DataFrame({"color": color})
    model = AdaBoostMH(Indicator(rare=5), preset="paper", n_rounds=1).fit(X, y)
    scores = model.decision_function(X)
    assert len(set(scores[60:])) == 1
    assert (model.predict(X)[:60] == y[:60]).all()
    exact = AdaBoostMH(Indicator(), preset="paper", n_rounds=1).fit(X, y)
    assert exact.score(X, y) == 1.0


def test_names_pool_rare_values_of_large_tables():
    rng = np.random.default_rng(0)
    X = rng.integers(5000, size=(12_000, 1))
    y = rng.integers(2, size=12_000)
    noise = AdaBoostMH("stump", preset="paper", n_rounds=3, categorical_features=[0]).fit(X, y)
    assert noise.history_["train_error"][-1] > 0.45
    small = AdaBoostMH("stump", preset="paper", n_rounds=3, categorical_features=[0]).fit(
        X[:5000], y[:5000]
    )
    assert small.history_["train_error"][-1] < 0.4
