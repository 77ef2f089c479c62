"""A short form of every part of the soak, and its driver."""

import logging
import os
import signal
import time
from collections import Counter

import pytest
from soak.driver import FAILED, Part, format_json, format_report, run_cases, run_part
from soak.explorer import Explorer
from soak.files import Commands, InputFiles, ModelFiles
from soak.frames import Frames
from soak.kills import Disks, Kills
from soak.running import Growth, Threads


@pytest.fixture(autouse=True)
def _for_parts_alone(monkeypatch):
    """Let parts choose backends and silence logs for themselves alone, and compile nothing."""
    monkeypatch.setenv("EDGEWISE_BACKEND", "auto")
    monkeypatch.setattr(ModelFiles, "backends", ("numpy",))
    logger = logging.getLogger("edgewise")
    level = logger.level
    yield
    logger.setLevel(level)  # which parts raise, in a process of their own


@pytest.mark.parametrize(
    ("kind", "n_cases", "least"),
    [
        (ModelFiles, 250, 250),
        (InputFiles, 150, 150),
        (Commands, 60, 60),
        (Kills, 2, 4),
        (Disks, 15, 15),
        (Threads, 1, 32),
    ],
)
def test_a_part_in_short(tmp_path, kind, n_cases, least):
    assert run_cases(kind(tmp_path), 0, range(n_cases)).total >= least


def test_random_frames_in_short(tmp_path, monkeypatch):
    monkeypatch.setattr("soak.frames.EXAMPLES", 25)
    assert run_cases(Frames(tmp_path), 0, range(1)).total >= 20


def test_random_settings_in_short(tmp_path):
    # With rates by category and by pair, means of models, and candidates of trees.
    assert run_cases(Explorer(tmp_path), 3, range(6)).outcomes["same"] >= 5


def test_growth_in_short(tmp_path):
    part = Growth(tmp_path)
    part.fits = 16
    assert run_cases(part, 0, range(1)).total == 16


class Toy(Part):
    """Cases that end in every way there is."""

    name, about, counted = "toy", "ends in all ways", "cases"
    seconds, gigabytes = 0.5, 0.2

    def case(self, rng):
        self.last = b"what was tried"
        number = rng.randrange(100)
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 1:
            time.sleep(60)
        if number == 2:
            raise KeyError("odd")
        if number == 3:
            bytearray(1 << 30)
        time.sleep(0.001)
        return Counter(fine=1)


def test_workers_that_die_hang_or_fail_are_counted_and_replaced(tmp_path):
    figures = run_part(Toy, tmp_path, 0, 300.0, 2, "fork", n_cases=400)
    found = {failure.what.split("(")[0].strip() for failure in figures.failures}
    assert found >= {"ended the process", "took over 0.5 s", "KeyError", "MemoryError"}
    assert figures.outcomes[FAILED] == len(figures.failures)
    assert figures.outcomes["fine"] > 0
    assert {path.read_bytes() for path in tmp_path.glob("*.input")} == {b"what was tried"}
    report = format_report([figures], "Soak")
    assert f"{figures.total:,} cases" in report
    assert "KeyError: 'odd'" in report
    assert '"toy"' in format_json([figures])
