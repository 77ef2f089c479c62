"""Saving a run on its way, taking it up again, and watching it."""

import io
import shutil

import numpy as np
import pytest

from edgewise import AdaBoostMH, Callback, Checkpoint, Lazy, ProgressBar, load


class StopAt(Callback):
    def __init__(self, at):
        self.at = at

    def on_round(self, run):
        return "stopped" if run.history.n_rounds == self.at else None


@pytest.mark.parametrize("votes", ["discrete", "real", "abstain"])
@pytest.mark.parametrize(
    ("learner", "factorized"),
    [("stump", True), ("stump", False), ("product", True), ("tree", True)],
)
def test_a_run_taken_up_again_ends_as_if_never_stopped(
    blobs, same_terms, tmp_path, monkeypatch, votes, learner, factorized
):
    # Weights are recomputed from the scores now and then; here in rounds 10 and 20.
    monkeypatch.setattr("edgewise.boosting.loop.REFRESH_EVERY", 10)
    X, y = blobs(n_columns=8)
    X[::7, 2] = np.nan
    settings = {
        "learner": learner,
        "n_rounds": 34,
        "search": Lazy(3),
        "random_state": 5,
        "votes": votes,
        "factorized": factorized,
    }
    full = AdaBoostMH(**settings).fit(X, y)
    path = tmp_path / "run.edgewise"
    for stop in (7, 10, 16, 23):
        AdaBoostMH(callbacks=[Checkpoint(path, every=4), StopAt(stop)], **settings).fit(X, y)
        taken_up = load(path)
        assert taken_up.n_rounds_ == stop
        taken_up.set_params(warm_start=True).fit(X, y)
        same_terms(full, taken_up)
        np.testing.assert_array_equal(full.decision_function(X), taken_up.decision_function(X))
        for name in ("edge", "energy", "train_error", "hamming_loss"):
            np.testing.assert_array_equal(full.history_[name], taken_up.history_[name])


def test_a_run_taken_up_past_the_real_refresh(blobs, same_terms, tmp_path):
    from edgewise.objective import REFRESH_EVERY

    X, y = blobs(30, 2)
    path = tmp_path / "run.edgewise"
    n_rounds = REFRESH_EVERY + 40
    full = AdaBoostMH("stump", preset="paper", n_rounds=n_rounds).fit(X, y)
    AdaBoostMH(
        "stump", preset="paper", n_rounds=REFRESH_EVERY - 3, callbacks=[Checkpoint(path)]
    ).fit(X, y)
    same_terms(full, load(path).set_params(warm_start=True, n_rounds=n_rounds).fit(X, y))


def test_a_run_with_validation_taken_up_again(blobs, same_terms, tmp_path):
    X, y = blobs(150, seed=2)
    path = tmp_path / "run.edgewise"
    settings = {
        "n_rounds": 60,
        "validation_fraction": 0.3,
        "random_state": 2,
        "eval_metric": "log_loss",
    }
    full = AdaBoostMH(**settings).fit(X, y)
    AdaBoostMH(callbacks=[Checkpoint(path, every=10), StopAt(25)], **settings).fit(X, y)
    taken_up = load(path).set_params(warm_start=True).fit(X, y)
    same_terms(full, taken_up)
    np.testing.assert_array_equal(full.history_["validation"], taken_up.history_["validation"])
    patient = (
        load(path).set_params(warm_start=True, early_stopping_rounds=6, n_rounds=400).fit(X, y)
    )
    assert patient.best_iteration_ == patient.history_["validation"].argmin() + 1


def test_every_checkpoint_is_a_model_of_its_rounds(blobs, tmp_path):
    X, y = blobs()
    path = tmp_path / "run.edgewise"
    results = []

    class Loads(Callback):
        def on_round(self, run):
            if path.exists():
                results.append((run.history.n_rounds, load(path)))

    AdaBoostMH(n_rounds=11, callbacks=[Checkpoint(path, every=3), Loads()]).fit(X, y)
    assert [(n, model.n_rounds_) for n, model in results] == [
        (3, 3), (4, 3), (5, 3), (6, 6), (7, 6), (8, 6), (9, 9), (10, 9), (11, 9),
    ]  # fmt: skip
    last = load(path)
    assert last.n_rounds_ == 11
    sixth = AdaBoostMH(n_rounds=6).fit(X, y)
    np.testing.assert_array_equal(results[3][1].decision_function(X), sixth.decision_function(X))
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.edgewise"]


def test_a_checkpoint_does_not_disturb_the_run(blobs, same_terms, tmp_path):
    X, y = blobs()
    model = AdaBoostMH(n_rounds=9, callbacks=[Checkpoint(tmp_path / "m", every=2)]).fit(X, y)
    same_terms(model, AdaBoostMH(n_rounds=9).fit(X, y))
    assert model.stop_reason_ == "n_rounds"
    assert model.history_.n_rounds == 9


def test_a_checkpoint_fails_before_the_first_round(blobs, tmp_path):
    rounds = []

    class Counts(Callback):
        def on_round(self, run):
            rounds.append(run.history.n_rounds)

    checkpoint = Checkpoint(tmp_path / "no" / "folder" / "m")
    with pytest.raises(FileNotFoundError, match="folder"):
        AdaBoostMH(n_rounds=3, callbacks=[Counts(), checkpoint]).fit(*blobs())
    assert rounds == []


class Removes(Callback):
    """Removes a folder after some round."""

    def __init__(self, folder, at):
        self.folder, self.at, self.ended = folder, at, False

    def on_round(self, run):
        if run.history.n_rounds == self.at:
            shutil.rmtree(self.folder)

    def on_end(self, run):
        self.ended = True


def test_a_save_that_fails_loses_no_training(blobs, same_terms, tmp_path):
    X, y = blobs()
    folder = tmp_path / "folder"
    folder.mkdir()
    removes = Removes(folder, 4)
    model = AdaBoostMH(n_rounds=9, callbacks=[Checkpoint(folder / "m", every=3), removes])
    with (
        pytest.warns(RuntimeWarning, match="no checkpoint after [69] rounds"),
        pytest.raises(FileNotFoundError, match="folder"),
    ):
        model.fit(X, y)
    assert removes.ended
    assert model.stop_reason_ == "n_rounds"
    same_terms(model, AdaBoostMH(n_rounds=9).fit(X, y))


def test_a_callback_that_fails_loses_no_training(blobs, same_terms):
    X, y = blobs()

    class Fails(Callback):
        def on_round(self, run):
            return {}[0] if run.history.n_rounds == 5 else None

    model = AdaBoostMH(n_rounds=9, callbacks=[Fails()])
    with pytest.raises(KeyError):
        model.fit(X, y)
    assert model.stop_reason_ == "failed"
    five = AdaBoostMH(n_rounds=5).fit(X, y)
    same_terms(model, five)
    model.set_params(warm_start=True, callbacks=[StopAt(7), Fails()]).fit(X, y)
    assert model.n_rounds_ == 7  # a warm start goes on from the rounds that were kept
    with pytest.raises(KeyError):
        five.set_params(learner="stump", callbacks=[Fails()], n_rounds=9).fit(X, y)
    assert five.stop_reason_ == "n_rounds"  # another fit that fails leaves the model as it was


def test_an_interrupt_of_the_end_loses_no_training(blobs, same_terms):
    X, y = blobs()

    class Stops(Callback):
        def on_round(self, run):
            if run.history.n_rounds == 5:
                raise KeyboardInterrupt

        def on_end(self, run):
            raise KeyboardInterrupt

    model = AdaBoostMH(n_rounds=9, callbacks=[Stops()])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    same_terms(model, AdaBoostMH(n_rounds=5).fit(X, y))


class NotSaved(AdaBoostMH):
    """A class of one's own, which files cannot name."""


@pytest.mark.parametrize("rounds", [3, None])
def test_what_cannot_be_saved_is_found_out_before_the_first_round(blobs, tmp_path, rounds):
    X, y = blobs()
    trained = []

    class Counts(Callback):
        def on_start(self, run):
            trained.append(run)

    settings = {"n_rounds": rounds, "callbacks": [Checkpoint("/proc/model"), Counts()]}
    with pytest.raises(OSError, match="/proc/model"):
        AdaBoostMH(**settings).fit(X, y)
    settings["callbacks"][0] = Checkpoint(tmp_path / "model")
    with pytest.raises(TypeError, match="a class of your own"):
        NotSaved(**settings).fit(X, y)
    assert trained == []
    assert not list(tmp_path.iterdir())
    failed = AdaBoostMH(n_rounds=3, callbacks=[Checkpoint("/proc/model")])
    with pytest.raises(OSError, match="/proc/model"):
        failed.fit(X, y)
    assert not hasattr(failed, "fitted_")


@pytest.mark.parametrize("every", [0, 1.5, None, "often"])
def test_a_checkpoint_checks_its_settings(every):
    with pytest.raises((TypeError, ValueError), match="every"):
        Checkpoint("model", every=every)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal_is_one_line(blobs):
    screen = Terminal()
    AdaBoostMH(n_rounds=30, callbacks=[ProgressBar(screen)]).fit(*blobs())
    text = screen.getvalue()
    assert text.startswith("\r")
    assert text.count("\n") == 1
    assert text.endswith("\n")
    last = text.rstrip("\n").split("\r")[-1]
    assert "30/30" in last
    assert "error" in last
    assert "bound" in last


def test_progress_in_a_file_is_a_line_every_tenth(blobs):
    lines = io.StringIO()
    AdaBoostMH(n_rounds=50, callbacks=[ProgressBar(lines)]).fit(*blobs())
    actual = lines.getvalue().splitlines()
    assert [line.split("| ")[1].split()[0] for line in actual] == [
        f"{n}/50" for n in range(5, 51, 5)
    ]
    assert "\r" not in lines.getvalue()


def test_progress_shows_what_the_history_holds(blobs):
    X, y = blobs()
    lines = io.StringIO()
    model = AdaBoostMH(n_rounds=10, callbacks=[ProgressBar(lines)]).fit(X, y, eval_set=(X, y))
    last = lines.getvalue().splitlines()[-1]
    assert f"error {model.history_['train_error'][-1]:.4f}" in last
    assert f"validation {model.history_['validation'][-1]:.4f}" in last
    assert "validation" not in _progress_of(AdaBoostMH(n_rounds=10), X, y)


def _progress_of(model, X, y):
    lines = io.StringIO()
    model.set_params(callbacks=[ProgressBar(lines)]).fit(X, y)
    return lines.getvalue()


def test_progress_of_a_run_without_rounds():
    for stream in (Terminal(), io.StringIO()):
        AdaBoostMH(n_rounds=5, callbacks=[ProgressBar(stream)]).fit(np.zeros((4, 1)), [0, 1, 0, 1])
        assert stream.getvalue() == ""


def test_verbose_writes_to_standard_error(blobs, capsys):
    AdaBoostMH(n_rounds=10, verbose=1).fit(*blobs())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "10/10" in captured.err
    AdaBoostMH(n_rounds=10).fit(*blobs())
    assert capsys.readouterr().err == ""
