"""The line that tells how far a training has come, with a clock that tests set."""

import io
import os

import numpy as np
import pytest

from edgewise import AdaBoostMH, ProgressBar
from edgewise.boosting import RANKING, History
from edgewise.common.progress import duration


class Clock:
    """A training run whose clock stands until it is set."""

    def __init__(self, n_rounds, seconds=0.0, fields=None, **recorded):
        self.n_rounds = n_rounds
        self.seconds = seconds
        self.finished = False
        self.stage = ""
        self.history = History() if fields is None else History(fields)
        self.recorded = {"energy": 0.9, **recorded}

    def rounds(self, n, seconds):
        """Let `n` rounds pass in `seconds`."""
        for _ in range(n):
            self.seconds += seconds / n
            self.history.append(**self.recorded)
            yield


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(run, stretches, stream=None):
    """Return the lines of a run of stretches of (rounds, seconds)."""
    stream = io.StringIO() if stream is None else stream
    bar = ProgressBar(stream)
    bar.on_start(run)
    for n, seconds in stretches:
        for _ in run.rounds(n, seconds):
            bar.on_round(run)
    run.finished = True
    bar.on_end(run)
    return stream.getvalue().replace("\x1b[K", "").replace("\r", "\n").strip("\n").split("\n")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1:00"), (60, "1:00"), (90, "1:30"), (3599, "59:59"),
     (3600, "1:00:00"), (3725, "1:02:05"), (360_000, "100:00:00")],
)  # fmt: skip
def test_times_are_written_as_clocks_show_them(seconds, text):
    assert duration(seconds) == text


def test_time_left_of_a_long_run():
    lines = shown(Clock(8000), [(8000, 8000 * 2.0)])
    assert "0.5 rounds/s  4:00:00 left" in lines[0]
    assert "0.5 rounds/s  26:40 left" in lines[-2]
    assert "left" not in lines[-1]
    assert "8000/8000" in lines[-1]


def test_the_speed_is_that_of_the_last_stretch():
    # A slow first half, then a hundred times as many rounds a second.
    lines = shown(Clock(2000), [(1000, 1000.0), (1000, 100.0)])
    assert "1 rounds/s" in lines[4]
    assert "10 rounds/s" in lines[6]
    assert "1:00 left" in lines[6]


def test_time_before_the_first_round_does_not_count():
    lines = shown(Clock(100, seconds=500.0), [(100, 10.0)])
    assert "10 rounds/s  9 s left" in lines[0]


def test_rounds_of_an_earlier_fit_do_not_count():
    run = Clock(100)
    for _ in run.rounds(50, 1.0):
        pass
    lines = shown(run, [(50, 25.0)])
    assert "51/100  2 rounds/s" in lines[0]
    assert lines[0].startswith("[############............]")


def test_a_round_that_takes_longer_than_a_stretch():
    lines = shown(Clock(20), [(10, 600.0), (10, 1200.0)])
    assert "0.017 rounds/s" in lines[0]
    assert "0.0083 rounds/s" in lines[-1]


def test_the_speed_forgets_slow_first_rounds_on_a_terminal():
    lines = shown(Clock(10_000), [(1, 30.0), (9999, 99.99)], Terminal())
    assert "0.033 rounds/s" in lines[0]
    assert "100 rounds/s" in lines[-1]


def test_many_rounds_a_second_have_no_digits_after_the_point():
    assert "12,346 rounds/s" in shown(Clock(12_346), [(12_346, 1.0)])[-1]


def test_a_line_is_never_wider_than_the_terminal(monkeypatch):
    size = os.terminal_size((60, 20))
    monkeypatch.setattr("edgewise.common.progress.shutil.get_terminal_size", lambda: size)
    recorded = {"train_error": 0.25, "roc_auc": 0.8, "balanced_accuracy": 0.7, "validation": 0.1}
    narrow = shown(Clock(100, **recorded), [(100, 200.0)], Terminal())
    assert all(len(line) < 60 for line in narrow)
    assert "0.5 rounds/s  3:18 left" in narrow[0]
    # A file has no width.
    wide = shown(Clock(100, **recorded), [(100, 200.0)])
    assert wide[-1].endswith(
        "error 0.2500  bound 2.66e-05  validation 0.1000  AUC 0.8000  balanced accuracy 0.7000"
    )


def test_what_is_not_recorded_is_not_shown():
    line = shown(Clock(10, train_error=0.25), [(10, 1.0)])[-1]
    assert line.endswith("error 0.2500  bound 0.349")
    ranker = shown(Clock(10, fields=RANKING, ranking_loss=0.5), [(10, 1.0)])[-1]
    assert ranker.endswith("misordered 0.5000  bound 0.349")


def test_two_classes_show_how_well_they_are_told_apart():
    X = np.random.default_rng(0).normal(size=(40, 3))
    lines = io.StringIO()
    model = AdaBoostMH(n_rounds=10, callbacks=[ProgressBar(lines)]).fit(X, X[:, 0] > 0.5)
    last = lines.getvalue().splitlines()[-1]
    assert f"AUC {model.history_['roc_auc'][-1]:.4f}" in last
    assert f"balanced accuracy {model.history_['balanced_accuracy'][-1]:.4f}" in last
