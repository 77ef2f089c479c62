"""How commands are run in tests: what they print, and that they fail in one line."""

import itertools

import numpy as np
import pytest

from edgewise import io
from edgewise.boosting import loop
from edgewise.cli import main


def contents(folder):
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def failure(capsys):
    """Run a command that fails and return the one line it prints."""

    def run(argv):
        assert main([str(word) for word in argv]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("edgewise: error: ")
        assert err.count("\n") == 1
        return err

    return run


@pytest.fixture
def success(capsys):
    """Run a command and return what it prints; nothing is to be warned of."""

    def run(argv):
        assert main([str(word) for word in argv]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run


@pytest.fixture
def interrupt_after(monkeypatch):
    """Have training interrupted, as by Ctrl-C, after a number of rounds."""
    choose = loop._choose

    def patch(n_rounds):
        rounds = itertools.count()

        def interrupted(*arguments):
            if next(rounds) >= n_rounds:
                raise KeyboardInterrupt
            return choose(*arguments)

        monkeypatch.setattr(loop, "_choose", interrupted)

    return patch


def _data(seed, n_queries=6, n_docs=8):
    """Documents of queries of three grades, with names."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, 4)).round(3)
    signal = X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=len(X))
    y = np.digitize(signal, [0.2, 1.2]).astype(float)
    qid = np.repeat([f"q{seed}{i}" for i in range(n_queries)], n_docs)
    y[::n_docs], y[1::n_docs] = 0, 2
    docs = np.array([f"d{i:02}" for i in rng.permutation(len(X))])
    return io.RankingData(X, y, qid, docs)


@pytest.fixture
def data():
    return _data
