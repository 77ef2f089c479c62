"""Rounds that are trained in one compiled call are those that are trained one by one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from tests.backend.test_trees import assert_same, categories_of, table_of

from edgewise import AdaBoostMH, Stump, Tree
from edgewise.backend.arithmetic import log
from edgewise.backend.choose import use_backend
from edgewise.backend.numba import step
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.boosting import Callback


class Leaping(NumbaBackend):
    """Counts the rounds of several that it trains in one call."""

    count = 0

    def train_ahead(self, state, request):
        for result in super().train_ahead(state, request):
            Leaping.count += 1
            yield result


class OneByOne(NumbaBackend):
    """Trains every round by itself."""

    def train_ahead(self, state, request):
        return iter(())


def both(X, y, weights=None, eval_set=None, **settings):
    Leaping.count = 0
    models = []
    for backend in (Leaping, OneByOne):
        with use_backend(backend):
            model = AdaBoostMH(random_state=0, **{"n_bags": 1, **settings})
            models.append(model.fit(X, y, sample_weight=weights, eval_set=eval_set))
    assert Leaping.count > 0
    assert_same(*models)
    return models


@pytest.mark.parametrize("kind", ["two", "three", "ten", "labels", "categories"])
def test_the_default_is_the_same(kind):
    rng = np.random.default_rng(0)
    X = table_of(rng, 240, 5, 30, 0.1)
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * rng.normal(size=240)
    weights = None if kind == "two" else rng.integers(1, 4, size=240).astype(float)
    y = (signal > np.median(signal)).astype(int)
    if kind in ("three", "ten"):
        cuts = [0.3, 0.7] if kind == "three" else np.linspace(0.1, 0.9, 9)
        y = np.digitize(signal, np.quantile(signal, cuts))
    elif kind == "labels":
        y = np.stack([y, rng.integers(2, size=240)], axis=1)
    elif kind == "categories":
        X = pd.DataFrame(X).add_prefix("x").join(categories_of(rng, 240, [3, 8], 0.1))
    models = both(X, y, weights)
    records = [model.fitted_.held_out for model in models]
    assert records[0].temperature == records[1].temperature
    assert np.array_equal(records[0].values, records[1].values)
    assert np.array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_validation_rows_stop_training_in_the_same_round():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    held_out = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    settings = {"n_rounds": 200, "early_stopping_rounds": 5}
    models = both(X, y, eval_set=held_out, **settings)
    assert models[0].stop_reason_ == "early stopping"
    assert models[0].n_rounds_ < 200


def test_callbacks_see_every_round():
    class Sees(Callback):
        def __init__(self):
            self.seen = []

        def on_round(self, run):
            self.seen.append((run.history.n_rounds, run.history.last("roc_auc")))
            return "enough" if run.history.n_rounds == 12 else None

    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + rng.normal(size=200) > 0
    seen = []
    for backend in (Leaping, OneByOne):
        sees = Sees()
        with use_backend(backend):
            model = AdaBoostMH(n_rounds=50, callbacks=[sees]).fit(X, y)
        assert model.n_rounds_ == 12
        assert model.stop_reason_ == "enough"
        seen.append(sees.seen)
    assert [n for n, _ in seen[0]] == list(range(1, 13))
    assert seen[0] == seen[1]


def test_a_round_without_a_split_is_left_to_the_others():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]] * 4), np.array([0, 1, 1, 1] * 4)
    learner = Tree(Stump(), 4, "free", "gain")
    given = {"votes": "real", "loss": "logistic", "damping": 0.5, "min_samples_leaf": 5}
    both(X, y, learner=learner, n_rounds=30, subsample=0.6, **given)


def test_small_trees_come_first():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=200) > 0).astype(int)
    learner = Tree(Stump(), 6, "free", "gain", small_rounds=21)
    given = {"votes": "real", "loss": "logistic", "damping": 0.5, "learning_rate": 0.1}
    model, _ = both(X, y, learner=learner, n_rounds=40, **given)
    sizes = np.diff(model.fitted_.terms.firsts) + 1  # leaves, one more than nodes
    assert sizes.tolist() == [3] * 21 + [6] * 19


def test_more_rounds_follow():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(150, 3)), rng.integers(3, size=150)
    with use_backend(Leaping):
        model = AdaBoostMH(n_rounds=20, warm_start=True).fit(X, y)
        model.set_params(n_rounds=45).fit(X, y)
    with use_backend(OneByOne):
        assert_same(model, AdaBoostMH(n_rounds=45).fit(X, y))


@njit
def compiled(values):
    logs, halves = np.empty_like(values), np.empty_like(values)
    for i in range(len(values)):
        logs[i], halves[i] = step.log(abs(values[i]) + 1e-300), step.half(values[i])
    return logs, halves


@given(st.lists(st.floats(-60_000, 60_000), min_size=1, max_size=50))
@settings(max_examples=200, deadline=None)
def test_logarithms_and_roundings_have_the_same_bits(values):
    values = np.array([*values, 1.0, 2.0**-14, 3 * 2.0**-25, 1.0 + 2.0**-11])
    logs, halves = compiled(values)
    found = log(np.abs(values) + 1e-300)
    assert np.array_equal(found, logs)
    assert np.allclose(found, np.log(np.abs(values) + 1e-300), rtol=1e-15, atol=1e-16)
    assert np.array_equal(halves, values.astype(np.float16).astype(float))
