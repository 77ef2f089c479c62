"""Workers that die, are busy or fail in the middle of a fit: the same model, or a clear error."""

import os
import signal
import time

import numpy as np
import pytest

from cluster.test_dask import da, numbers, problem, same
from edgewise import AdaBoostMH, Callback, Checkpoint, RankBoost, load

distributed = pytest.importorskip("distributed")
dask_estimators = pytest.importorskip("edgewise.dask")
training = pytest.importorskip("edgewise.dask.training")
DaskAdaBoostMH, DaskRankBoost = dask_estimators.DaskAdaBoostMH, dask_estimators.DaskRankBoost


def signaling(pid, number, path, n_rounds=5):
    """Return a callback that sends a process a signal after some rounds, once."""

    # Inside a function, so that it travels whole.
    class Signal(Callback):
        def on_round(self, run):
            if run.history.n_rounds == n_rounds and not path.exists():
                path.touch()
                os.kill(pid, number)

    return Signal()


@pytest.fixture
def spread(client):
    """Rows on workers that Dask chose: it would compute others again on the same worker only."""
    client.wait_for_workers(4)
    X, y, _ = problem()
    values = numbers(X)
    rows, targets = (da.from_array(part, chunks=40, name=False) for part in (values, y))
    return (rows.persist(), targets), (values, y)


def victim(client, X, place):
    """Return the address and the process of a worker that has rows."""
    distributed.wait(X)
    held = client.who_has(X)
    workers = list(dict.fromkeys(held[key][0] for key in sorted(held, key=str)))
    return workers[place], client.run(os.getpid, workers=[workers[place]])[workers[place]]


def test_a_worker_that_dies_ends_the_training_with_an_error(client, spread, tmp_path):
    (X, y), _ = spread
    worker, pid = victim(client, X, -1)
    kill = signaling(pid, signal.SIGKILL, tmp_path / "killed")
    started = time.monotonic()
    with pytest.raises(ConnectionError, match=rf"worker {worker} died, or was lost") as caught:
        DaskAdaBoostMH("stump", n_rounds=500, callbacks=[kill]).fit(X, y)
    assert time.monotonic() - started < 60
    assert "Checkpoint" in caught.value.__notes__[0]


def test_training_goes_on_from_a_checkpoint_on_the_workers_left(client, spread, tmp_path):
    (X, y), local = spread
    kill = signaling(victim(client, X, 0)[1], signal.SIGKILL, tmp_path / "killed")
    model = AdaBoostMH("stump", n_rounds=12)
    own = [Checkpoint(tmp_path / "model", every=2), kill]
    result = DaskAdaBoostMH("stump", n_rounds=12, callbacks=own).fit(X, y)
    assert (tmp_path / "killed").exists()
    same(result, model.fit(*local))
    same(result, load(tmp_path / "model"))


def test_a_ranker_starts_again_before_the_first_checkpoint(client, spread, tmp_path):
    (X, y), local = spread
    kill = signaling(victim(client, X, 1)[1], signal.SIGKILL, tmp_path / "killed", n_rounds=2)
    qid = np.arange(240) // 7
    own = [Checkpoint(tmp_path / "model"), kill]
    result = DaskRankBoost(n_rounds=6, callbacks=own).fit(X, y, da.from_array(qid, chunks=40))
    same(result, RankBoost(n_rounds=6).fit(*local, qid))


def test_control_c_keeps_the_rounds_so_far(client, spread, tmp_path):
    (X, y), local = spread
    press = signaling(os.getpid(), signal.SIGINT, tmp_path / "pressed")
    # A shell starts what it runs in the background with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        model = DaskAdaBoostMH("stump", n_rounds=100_000, callbacks=[press]).fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.stop_reason_ == "interrupted"
    assert 5 <= model.n_rounds_ < 100_000
    expected = AdaBoostMH("stump", n_rounds=model.n_rounds_).fit(*local)
    np.testing.assert_array_equal(model.history_["edge"], expected.history_["edge"])


def test_a_worker_that_is_busy_is_named(client, spread, monkeypatch):
    (X, y), _ = spread
    assign_rows, busy = training.assign_rows, []

    def wait_for(event):
        distributed.Event(event).wait(60)

    def assign_and_keep_busy(*given):
        runs = assign_rows(*given)
        busy.append(runs[-1].worker)
        distributed.fire_and_forget(client.submit(wait_for, "fit ended", workers=busy, pure=False))
        return runs

    monkeypatch.setattr(training, "assign_rows", assign_and_keep_busy)
    # The scheduler of the tests is in this process: it gives up waiting sooner.
    monkeypatch.setattr(training, "TIMEOUT", 3)
    try:
        with pytest.raises(
            RuntimeError, match=r"worker .* did not start to train.* busy"
        ) as caught:
            DaskAdaBoostMH("stump", n_rounds=5).fit(X, y)
        assert busy[0] in str(caught.value)
    finally:
        client.restart_workers(busy)


def test_a_worker_that_dies_while_dask_asks_it_for_something_counts_as_lost(
    client, spread, tmp_path, monkeypatch
):
    (X, y), local = spread
    cut_pieces, failed = training.cut_pieces, []

    def cut_once_too_late(*given):
        if not failed:
            failed.append(True)
            raise distributed.comm.CommClosedError("in <TCP (closed)>")
        return cut_pieces(*given)

    monkeypatch.setattr(training, "cut_pieces", cut_once_too_late)
    with pytest.raises(distributed.comm.CommClosedError) as caught:
        DaskAdaBoostMH("stump", n_rounds=6).fit(X, y)
    assert "Checkpoint" in caught.value.__notes__[0]
    failed.clear()
    own = [Checkpoint(tmp_path / "model")]
    result = DaskAdaBoostMH("stump", n_rounds=6, callbacks=own).fit(X, y)
    assert failed
    same(result, AdaBoostMH("stump", n_rounds=6).fit(*local))
