"""What ends a training run: validation, time, callbacks, Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from edgewise import AdaBoostMH, Callback, EarlyStopping, ProgressBar, TimeLimit
from edgewise.boosting import BestRound, History, StoppingRule


@pytest.fixture
def noisy(blobs):
    X, y = blobs(200, 3, 2, seed=4)
    rng = np.random.default_rng(0)
    flipped = rng.random(len(y)) < 0.25
    return X, np.where(flipped, 1 - y, y)


@pytest.mark.parametrize("eval_metric", ["error", "hamming_loss", "log_loss"])
@pytest.mark.parametrize("early_stopping_rounds", [1, 8])
def test_early_stopping_keeps_the_best_round(noisy, blobs, eval_metric, early_stopping_rounds):
    X, y = noisy
    new, truth = blobs(100, 3, 2, seed=5)
    model = AdaBoostMH(
        n_rounds=400, early_stopping_rounds=early_stopping_rounds, eval_metric=eval_metric
    )
    model.fit(X, y, eval_set=(new, truth))
    values = model.history_["validation"]
    assert model.stop_reason_ == "early stopping"
    assert model.best_iteration_ == values.argmin() + 1
    assert len(values) == model.best_iteration_ + early_stopping_rounds
    assert model.n_rounds_ == model.best_iteration_
    assert len(model.fitted_.terms) == model.n_rounds_ * model.settings_.n_bags
    full = AdaBoostMH(n_rounds=model.best_iteration_).fit(X, y)
    np.testing.assert_array_equal(full.decision_function(new), model.decision_function(new))
    assert len(list(model.staged_predict(new))) == model.best_iteration_


def test_early_stopping_on_a_metric_of_ones_own(noisy):
    X, y = noisy
    values = iter([5.0, 4.0, 4.5, 3.0, 3.0, 3.5, 3.2, 1.0])
    model = AdaBoostMH(
        n_rounds=50, early_stopping_rounds=3, eval_metric=lambda y, scores: next(values)
    )
    model.fit(X, y, eval_set=(X, y))
    assert model.history_["validation"].tolist() == [5.0, 4.0, 4.5, 3.0, 3.0, 3.5, 3.2]
    assert model.best_iteration_ == model.n_rounds_ == 4


def test_a_metric_that_is_never_a_number(noisy):
    X, y = noisy
    model = AdaBoostMH(
        n_rounds=50, early_stopping_rounds=3, eval_metric=lambda y, scores: float("nan")
    )
    with pytest.raises(ValueError, match="eval_metric"):
        model.fit(X, y, eval_set=(X, y))


def test_early_stopping_needs_validation_rows(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="validation"):
        AdaBoostMH(n_rounds=50, callbacks=[EarlyStopping(3)]).fit(X, y)


def test_patience_that_never_runs_out(noisy):
    X, y = noisy
    model = AdaBoostMH(n_rounds=20, early_stopping_rounds=100).fit(X, y, eval_set=(X, y))
    assert model.stop_reason_ == "n_rounds"
    assert model.history_.n_rounds == 20
    assert model.n_rounds_ == model.best_iteration_ == model.history_["validation"].argmin() + 1


def test_without_patience_all_rounds_are_kept(noisy):
    X, y = noisy
    model = AdaBoostMH(n_rounds=20).fit(X, y, eval_set=(X[:50], y[:50]))
    assert model.n_rounds_ == 20
    assert model.best_iteration_ == model.history_["validation"].argmin() + 1


def test_validation_fraction_sets_rows_aside_by_class(blobs):
    X, y = blobs(100, 2, 2)
    y = np.where(np.arange(100) < 10, "rare", "usual")
    seen = []
    model = AdaBoostMH(
        n_rounds=3, validation_fraction=0.3, random_state=0,
        eval_metric=lambda truth, scores: seen.append(truth) or 0.0,
    )  # fmt: skip
    model.fit(X, y)
    names, counts = np.unique(seen[0], return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {"rare": 3, "usual": 27}


def test_validation_rows_are_not_trained_on(noisy, same_terms):
    X, y = noisy
    chosen = []
    split = AdaBoostMH(
        n_rounds=15, validation_fraction=0.25, random_state=3,
        eval_metric=lambda truth, scores: chosen.append(len(truth)) or 0.0,
    ).fit(X, y)  # fmt: skip
    assert chosen[0] == 50
    again = AdaBoostMH(n_rounds=15, validation_fraction=0.25, random_state=3).fit(X, y)
    other = AdaBoostMH(n_rounds=15, validation_fraction=0.25, random_state=4).fit(X, y)
    same_terms(split, again)
    assert (again.decision_function(X) != other.decision_function(X)).any()


def test_validation_fraction_of_labels():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = AdaBoostMH(
        n_rounds=30, validation_fraction=0.2, early_stopping_rounds=3, random_state=0
    )
    model.fit(X, (X > 0).astype(int))
    assert 1 <= model.best_iteration_ <= model.history_.n_rounds
    assert np.isfinite(model.history_["validation"]).all()


def test_a_class_of_one_row_stays_for_training(blobs):
    X, y = blobs(60)
    y[0] = 9
    model = AdaBoostMH(n_rounds=3, validation_fraction=0.9, random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 9]


class Slow(Callback):
    def on_round(self, run):
        time.sleep(0.02)


def test_a_time_limit_ends_the_training(blobs):
    model = AdaBoostMH(n_rounds=10_000_000, time_limit=0.1, callbacks=[Slow()]).fit(*blobs())
    assert model.stop_reason_ == "time limit"
    assert 1 <= model.n_rounds_ < 10_000_000
    assert model.n_rounds_ == model.history_.n_rounds


def test_a_time_limit_in_the_future_does_nothing(blobs):
    model = AdaBoostMH(n_rounds=3, time_limit=3600.0).fit(*blobs())
    assert (model.n_rounds_, model.stop_reason_) == (3, "n_rounds")


class Recorder(Callback):
    def __init__(self, reason=None, at=5):
        self.calls, self.reason, self.at = [], reason, at

    def on_start(self, run):
        self.calls.append("start")

    def on_round(self, run):
        self.calls.append(run.history.n_rounds)
        return self.reason if run.history.n_rounds == self.at else None

    def on_end(self, run):
        self.calls.append(f"end: {run.stop_reason}")


def test_callbacks_see_every_round(blobs):
    recorder = Recorder()
    AdaBoostMH(n_rounds=3, callbacks=[recorder]).fit(*blobs())
    assert recorder.calls == ["start", 1, 2, 3, "end: n_rounds"]
    alone = Recorder()
    AdaBoostMH(n_rounds=3, callbacks=alone).fit(*blobs())
    assert alone.calls == recorder.calls


def test_a_callback_ends_the_training_for_a_reason(blobs):
    first, second = Recorder("enough"), Recorder("too late")
    model = AdaBoostMH(n_rounds=30, callbacks=[first, second]).fit(*blobs())
    assert model.stop_reason_ == "enough"
    assert model.n_rounds_ == 5
    assert second.calls[-2:] == [5, "end: enough"]


def test_a_callback_that_watches_does_not_change_the_model(blobs, same_terms):
    X, y = blobs()
    watched = AdaBoostMH(n_rounds=10, callbacks=[Recorder(), Slow()]).fit(X, y)
    same_terms(watched, AdaBoostMH(n_rounds=10).fit(X, y))


def test_callbacks_check_their_settings():
    for bad in (0, 1.5, None):
        with pytest.raises((TypeError, ValueError), match="patience"):
            EarlyStopping(bad)
    for bad in (0, -1, None):
        with pytest.raises((TypeError, ValueError), match="seconds"):
            TimeLimit(bad)


class Interrupts(Callback):
    def __init__(self, at):
        self.at = at

    def on_start(self, run):
        if self.at == 0:
            raise KeyboardInterrupt

    def on_round(self, run):
        if run.history.n_rounds == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("early_stopping_rounds", [None, 50])
def test_an_interrupt_keeps_the_rounds_so_far(blobs, early_stopping_rounds, tmp_path):
    X, y = blobs()
    model = AdaBoostMH(
        n_rounds=100, callbacks=[Interrupts(7)], early_stopping_rounds=early_stopping_rounds
    )
    model.fit(X, y, eval_set=(X, y))
    assert model.stop_reason_ == "interrupted"
    assert model.history_.n_rounds == 7
    best = 7 if early_stopping_rounds is None else int(model.history_["validation"].argmin()) + 1
    assert model.n_rounds_ == best
    short = AdaBoostMH(n_rounds=best).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), short.decision_function(X))
    model.save(tmp_path / "model")


def test_an_interrupted_run_can_go_on(blobs, same_terms):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=20, callbacks=[Interrupts(7)], warm_start=True).fit(X, y)
    model.set_params(callbacks=None).fit(X, y)
    same_terms(model, AdaBoostMH(n_rounds=20).fit(X, y))
    assert model.stop_reason_ == "n_rounds"


class Watcher(Callback):
    """Counts the ends of training; may raise an error in a round."""

    def __init__(self, fails_in=None):
        self.ends, self.fails_in = [], fails_in

    def on_round(self, run):
        if run.history.n_rounds == self.fails_in:
            raise RuntimeError("on purpose")

    def on_end(self, run):
        self.ends.append(run.stop_reason)


def test_all_callbacks_end_if_one_of_them_fails_in_a_round(blobs):
    watchers = [Watcher(), Watcher(fails_in=3), Watcher()]
    model = AdaBoostMH("stump", preset="paper", n_rounds=9, callbacks=watchers)
    with pytest.raises(RuntimeError, match="on purpose"):
        model.fit(*blobs())
    assert [watcher.ends for watcher in watchers] == [["failed"]] * 3
    assert (model.n_rounds_, model.stop_reason_) == (3, "failed")


def test_callbacks_end_if_a_round_fails(blobs, monkeypatch):
    def failing(history, **values):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(History, "append", failing)
    watcher = Watcher()
    with pytest.raises(RuntimeError, match="on purpose"):
        AdaBoostMH("stump", preset="paper", n_rounds=9, callbacks=[watcher]).fit(*blobs())
    assert watcher.ends == ["failed"]


def test_an_interrupt_before_the_first_round(blobs):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=20, callbacks=[Interrupts(0)]).fit(X, y)
    assert (model.n_rounds_, model.stop_reason_) == (0, "interrupted")
    assert model.predict(X).shape == y.shape


def test_an_interrupt_before_the_progress_bar_began(blobs):
    model = AdaBoostMH(n_rounds=20, callbacks=[Interrupts(0), ProgressBar()]).fit(*blobs())
    assert model.stop_reason_ == "interrupted"


def test_an_interrupt_while_terms_are_replayed(blobs, monkeypatch):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=5, warm_start=True, verbose=1).fit(X, y)

    def interrupted(task, terms):
        raise KeyboardInterrupt

    monkeypatch.setattr("edgewise.boosting.loop._replay", interrupted)
    model.set_params(n_rounds=9).fit(X, y)
    assert (model.n_rounds_, model.stop_reason_) == (5, "interrupted")


def test_an_interrupt_between_a_term_and_its_record(blobs, monkeypatch):
    X, y = blobs()
    append, calls = History.append, []

    def interrupted(history, **values):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        append(history, **values)

    monkeypatch.setattr(History, "append", interrupted)
    model = AdaBoostMH(n_rounds=10).fit(X, y)
    assert model.n_rounds_ == model.history_.n_rounds == 3


@pytest.mark.skipif(os.name == "nt", reason="SIGINT goes to a process group there")
def test_ctrl_c_in_a_process_of_its_own():
    program = textwrap.dedent(
        """
        import numpy as np
        from edgewise import AdaBoostMH, Callback

        class Ready(Callback):
            def on_round(self, run):
                if run.history.n_rounds == 20:
                    print("ready", flush=True)

        # Equal rows of several classes: no number of rounds fits them.
        X, y = np.arange(200.0)[:, None] // 20, np.arange(200) % 3
        model = AdaBoostMH("stump", n_rounds=10**9, time_limit=60.0, callbacks=[Ready()]).fit(X, y)
        n_terms = len(model.fitted_.terms)
        print(model.stop_reason_, model.n_rounds_ >= 20, model.n_rounds_ == n_terms)
        print(len(model.predict(X)))
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out == "interrupted True True\n200\n"
    assert "Traceback" not in err


@pytest.mark.parametrize("patience", [None, 1, 3])
@pytest.mark.parametrize("larger_is_better", [False, True])
def test_the_best_round_of_a_series(patience, larger_is_better):
    values = np.random.default_rng(0).integers(0, 5, 30).astype(float)
    watch = BestRound(StoppingRule(patience), larger_is_better)
    for n, value in enumerate(values, start=1):
        stops = watch.update(value)
        seen = -values[:n] if larger_is_better else values[:n]
        assert watch.best == 1 + int(np.argmin(seen))
        assert stops == (patience is not None and n - watch.best >= patience)


@pytest.mark.parametrize("larger_is_better", [False, True])
def test_slack_keeps_later_rounds_that_are_about_as_good(larger_is_better):
    values = [1.0, 0.5, 0.504, 0.52, 0.508, 0.6, 0.7]
    for slack, expected in [(0.0, 2), (0.01, 3), (0.02, 5), (0.05, 5)]:
        watch = BestRound(StoppingRule(3, keep_within=slack), larger_is_better)
        # What a metric lacks to 1 is a loss.
        stops = [watch.update(1.0 - value if larger_is_better else value) for value in values]
        assert watch.best == expected
        assert stops.index(True) == 4


def test_noise_keeps_later_rounds_where_the_rule_keeps_any():
    values = [1.0, 0.5, 0.504, 0.52, 0.508]
    for keep_within, expected in [(0.0, 2), (0.001, 5)]:
        watch = BestRound(StoppingRule(9, keep_within=keep_within))
        for value in values:
            watch.update(value, noise=0.01)
        assert watch.best == expected


def test_early_stopping_without_validation_rows_is_refused_before_training(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="EarlyStopping needs validation rows"):
        AdaBoostMH("stump", n_rounds=5, callbacks=[EarlyStopping(3)]).fit(X, y)
