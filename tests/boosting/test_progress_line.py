"""The bar that tells how far a training has come."""

import copy
import io
import subprocess
import sys

import numpy as np
import pytest

from edgewise import AdaBoostMH, ProgressBar
from edgewise.boosting import RANKER_FIELDS, History


class Run:
    """A training run of which only the numbers matter."""

    def __init__(self, n_rounds, fields=None, stage="", **recorded):
        self.n_rounds, self.stage = n_rounds, stage
        self.history = History() if fields is None else History(fields)
        self.recorded = {"energy": 0.9, **recorded}

    def rounds(self, n):
        for _ in range(n):
            self.history.append(**self.recorded)
            yield


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(run, n, stream=None):
    """Return the lines of a run of `n` rounds."""
    stream = io.StringIO() if stream is None else stream
    bar = ProgressBar(stream)
    bar.on_start(run)
    for _ in run.rounds(n):
        bar.on_round(run)
    bar.on_end(run)
    return stream.getvalue().replace("\r", "\n").strip("\n").split("\n")


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_a_line_tells_rounds_speed_time_left_and_losses(stream):
    last = shown(Run(50, train_error=0.25), 50, stream)[-1].rstrip()
    assert last.startswith("100%|")
    assert "| 50/50 [00:00, 00:00 left, " in last
    assert last.endswith(" rounds/s, error 0.2500, bound 0.00515]")


def test_a_run_that_ends_early_shows_where():
    lines = shown(Run(50), 23)
    assert [line.split("| ")[1].split()[0] for line in lines] == [
        *(f"{n}/50" for n in range(5, 21, 5)),
        "23/50",
    ]


def test_rounds_of_an_earlier_fit_count_as_done():
    run = Run(100)
    for _ in run.rounds(50):
        pass
    first = shown(run, 50)[0]
    assert first.startswith("60%|")
    assert "| 60/100 " in first


def test_what_the_run_is_for_is_the_title():
    assert shown(Run(10, stage="choosing rounds"), 10)[-1].startswith("choosing rounds: 100%|")


def test_what_is_not_recorded_is_not_shown():
    assert shown(Run(10, train_error=0.25), 10)[-1].endswith("error 0.2500, bound 0.349]")
    ranker = shown(Run(10, fields=RANKER_FIELDS, ranking_loss=0.5), 10)[-1]
    assert ranker.endswith("misordered 0.5000, bound 0.349]")


def test_two_classes_show_how_well_they_are_told_apart():
    X = np.random.default_rng(0).normal(size=(40, 3))
    lines = io.StringIO()
    model = AdaBoostMH(n_rounds=10, callbacks=[ProgressBar(lines)]).fit(X, X[:, 0] > 0.5)
    last = lines.getvalue().splitlines()[-1]
    assert f"AUC {model.history_['roc_auc'][-1]:.4f}" in last
    assert f"balanced accuracy {model.history_['balanced_accuracy'][-1]:.4f}" in last


def test_standard_error_that_is_no_terminal_stays_empty(capsys):
    bar, run = ProgressBar(), Run(10)
    bar.on_start(run)
    for _ in run.rounds(10):
        bar.on_round(run)
    bar.on_end(run)
    assert capsys.readouterr() == ("", "")


def test_a_bar_that_was_never_closed_can_be_copied():
    bar = ProgressBar()
    bar.on_start(Run(10))
    assert copy.deepcopy(bar).stream is None
    bar.on_end(Run(10))


def test_tqdm_loads_when_a_bar_is_drawn():
    program = "import sys; from edgewise import ProgressBar; print('tqdm' in sys.modules)"
    actual = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert actual.stdout.strip() == "False"
