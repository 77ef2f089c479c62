"""A time limit: what a fit does without, that it ends in time, and that it says so."""

import time
from itertools import pairwise

import numpy as np
import pytest

from edgewise import AdaBoostMH, Callback, TimeLimit
from edgewise.estimators import time_limit
from edgewise.estimators.targets import Labels, sample_rows
from edgewise.estimators.time_limit import Pace, pace_for, rows_for
from edgewise.metrics.classification import log_loss


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.searchsorted([-0.7, 0.7], X[:, 0] + X[:, 1] + rng.normal(0, 0.5, n))


@pytest.fixture
def speed(monkeypatch):
    """Return a function that sets how many seconds a round is thought to take."""

    def thought(seconds):
        monkeypatch.setattr(time_limit, "_seconds_per_round", lambda setup: seconds)

    return thought


# The decision


def test_plenty_of_time_changes_nothing():
    assert pace_for(1e9, 5.0, 500, 0.2) == Pace()
    assert pace_for(1e9, 1.0, 500_000, None) == Pace()


def test_less_time_means_no_folds_then_larger_steps_then_fewer_rows():
    paces = [pace_for(n, 5.0, 100_000, 0.1) for n in (900, 200, 60, 30, 10, 3, 0)]
    assert not any(pace.folds for pace in paces)
    assert paces[0] == Pace(False, 1.0, 1.0)
    for before, after in pairwise(paces):
        assert after.factor >= before.factor
        assert after.fraction <= before.fraction
    assert paces[2].factor > 1.0 == paces[2].fraction
    assert paces[-1].fraction * 100_000 == pytest.approx(time_limit._MIN_ROWS)


def test_steps_grow_to_a_limit_and_never_shrink():
    assert pace_for(1, 1.0, 10**6, 0.3).factor * 0.3 == pytest.approx(time_limit._MAX_RATE)
    assert 1.0 < pace_for(70, 1.0, 10**6, 0.1).factor < pace_for(50, 1.0, 10**6, 0.1).factor
    assert pace_for(1, 1.0, 10**6, 1.0).factor == 1.0
    assert pace_for(1, 1.0, 10**6, None).factor == 1.0


def test_few_rows_are_all_used():
    assert pace_for(0.0, 1.0, time_limit._MIN_ROWS, 0.2).fraction == 1.0
    assert rows_for(1e-9, 1_000) == time_limit._MIN_ROWS


def test_samples_have_rows_of_every_class():
    codes = np.repeat(np.arange(4), [1, 2, 97, 900])
    rows = sample_rows(Labels(np.arange(4), codes), 0.1, seed=0)
    assert np.bincount(codes[rows]).tolist() == [1, 1, 10, 90]
    assert (np.diff(rows) > 0).all()
    both = sample_rows(Labels(np.arange(2), np.zeros((50, 2), dtype=int)), 0.1, seed=0)
    assert len(both) == 5


# Its effect


def test_with_plenty_of_time_the_model_is_the_usual(same_terms, speed):
    speed(1e-6)
    usual, limited = AdaBoostMH().fit(*table()), AdaBoostMH(time_limit=1e4).fit(*table())
    same_terms(usual, limited)
    assert limited.settings_ == usual.settings_


def test_a_short_time_has_one_part_and_no_refit(speed, same_terms):
    speed(1.0)
    model = AdaBoostMH(time_limit=600.0).fit(*table())
    settings = model.settings_
    assert settings.rounds_from == "20% of the rows"
    assert settings.n_rows == 480
    assert settings.reasons["learning_rate"] == "auto"
    assert model.stop_reason_ == "early stopping"
    assert settings.temperature != 1.0
    same_terms(model, AdaBoostMH(callbacks=[TimeLimit(600.0)]).fit(*table()))


def test_a_shorter_time_has_larger_steps(speed):
    speed(10.0)
    usual = AdaBoostMH(n_rounds=1).fit(*table()).settings_
    settings = AdaBoostMH(time_limit=600.0).fit(*table()).settings_
    assert settings.learning_rate > usual.learning_rate
    assert settings.reasons["learning_rate"] == "time_limit"
    assert settings.n_rows == 480
    explicit = AdaBoostMH(time_limit=600.0, learning_rate=0.15).fit(*table()).settings_
    assert (explicit.learning_rate, explicit.reasons["learning_rate"]) == (0.15, "given")


def test_a_very_short_time_has_fewer_rows(speed, monkeypatch):
    monkeypatch.setattr(time_limit, "_MIN_ROWS", 100)
    speed(100.0)
    X, y = table()
    y[:2] = 7  # a rare class
    settings = AdaBoostMH(time_limit=600.0).fit(X, y).settings_
    assert settings.n_rows < 480
    assert settings.reasons["n_rows"] == "time_limit"
    assert "time_limit" in str(settings)


def test_many_values_are_not_all_binned(speed, monkeypatch):
    monkeypatch.setattr(time_limit, "_VALUES_PER_SECOND", 2)
    monkeypatch.setattr(time_limit, "_MIN_ROWS", 100)
    speed(1e-6)
    settings = AdaBoostMH(time_limit=600.0).fit(*table()).settings_
    assert settings.n_rows == 300
    assert settings.reasons["n_rows"] == "time_limit"
    assert settings.rounds_from == "3 folds"


def test_columns_without_information_take_no_time():
    model = AdaBoostMH(time_limit=0.5).fit(np.ones((60, 3)), np.arange(60) % 2)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 3))), 0.5)


def test_time_limits_of_given_rounds_only_cut():
    settings = AdaBoostMH(n_rounds=5, time_limit=1e-9).fit(*table()).settings_
    assert (settings.n_rounds, settings.n_rows) == (1, 600)
    assert settings.reasons["learning_rate"] == "auto"


@pytest.mark.parametrize("settings", [{}, {"learner": "stump", "n_rounds": "auto"}], ids=str)
def test_rounds_are_chosen_within_the_time(settings):
    calls = []

    def slow(y, scores):
        calls.append(time.sleep(0.05))
        return 1.0 / len(calls)  # every round improves

    model = AdaBoostMH(time_limit=1.0, eval_metric=slow, **settings).fit(*table())
    assert model.stop_reason_ == "time limit"
    assert model.n_rounds_ <= 4 * len(calls) <= 4 * 26  # each takes a twentieth of the limit
    assert "ended by time limit" in str(model.settings_)


def test_even_without_time_a_model_comes_out():
    X, y = table()
    model = AdaBoostMH(time_limit=1e-9).fit(X, y)
    assert model.stop_reason_ == "time limit"
    assert model.n_rounds_ == 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_short_time_is_used_well(speed):
    """Larger steps on part of the rows beat the usual folds and refit of as many rounds in all."""
    rng = np.random.default_rng(0)
    (X, new), n_rounds = rng.normal(size=(2, 3_000, 4)), 42
    y, truth = ((X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 0).astype(int) for X in (X, new))
    speed(600.0 / n_rounds)

    class Stop(Callback):
        def on_round(self, run):
            return "stopped" if run.history.n_rounds == n_rounds else None

    hurried = AdaBoostMH(time_limit=600.0, callbacks=[Stop()]).fit(X, y)
    usual = AdaBoostMH(n_rounds=n_rounds // 3).fit(X, y)
    assert log_loss(truth, hurried.predict_proba(new)) < log_loss(truth, usual.predict_proba(new))


@pytest.mark.parametrize("targets", [[0, 1], [0, 0, 1], [0, 1, 2, 3, 4]])
def test_tiny_tables(targets):
    X = np.arange(float(len(targets)))[:, None]
    for limit in (1e-9, 100.0):
        model = AdaBoostMH(time_limit=limit).fit(X, targets)
        assert np.isfinite(model.predict_proba(X)).all()


def test_an_interrupt_while_the_speed_is_measured_leaves_no_model(monkeypatch):
    def interrupt(self, run):
        raise KeyboardInterrupt

    monkeypatch.setattr(time_limit._RoundTimes, "on_round", interrupt)
    with pytest.raises(KeyboardInterrupt):
        AdaBoostMH(time_limit=100.0).fit(*table())
