"""What searches have learned outlasts checkpoints, interrupts and early stopping."""

from functools import partial

import numpy as np
import pytest

from edgewise import (
    UCB,
    AdaBoostMH,
    Callback,
    Checkpoint,
    EarlyStopping,
    Exp3P,
    Product,
    Stump,
    ThompsonSampling,
    Tree,
    load,
)
from edgewise.boosting import History
from edgewise.objective import Hamming

from ..helpers import assert_same_run

every_policy = pytest.mark.parametrize(
    "policy", [UCB, Exp3P, ThompsonSampling], ids=lambda policy: policy.__name__
)
LEARNERS = {
    "stump": Stump(),
    "product": Product(n_terms=3),
    "tree": Tree(max_leaf_nodes=4),
    "list": [Stump(), Product(n_terms=2)],
}


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 10))
    X[rng.random(90) < 0.2, 2] = np.nan
    return X, np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=90), [-0.6, 0.6])


def fit(learner, search, n_rounds, **more):
    settings = {"random_state": 0, "search": search, "n_rounds": n_rounds, **more}
    return AdaBoostMH(LEARNERS[learner], **settings).fit(*data())


same = partial(assert_same_run, kept=True)


@every_policy
def test_a_checkpoint_goes_on(policy, tmp_path):
    full = fit("product", policy(2), 15)
    for every, stop in ((4, 11), (1, 7), (100, 9)):
        path = tmp_path / f"{every}"
        copies = []

        class Copy(Callback):
            def on_round(self, run, path=path, copies=copies):
                if path.exists():
                    copies.append(path.read_bytes())

        fit("product", policy(2), stop, callbacks=[Checkpoint(path, every), Copy()])
        kept = load(path)
        assert kept.n_rounds_ == stop
        same(
            full,
            kept.set_params(n_rounds=15, warm_start=True, callbacks=None).fit(*data()),
        )
        for i, copy in enumerate(copies[:: max(1, len(copies) // 2)]):
            (tmp_path / f"copy {i}").write_bytes(copy)
            kept = load(tmp_path / f"copy {i}")
            kept.set_params(n_rounds=15, warm_start=True, callbacks=None)
            same(full, kept.fit(*data()))


class Interrupt(Callback):
    def __init__(self, at):
        self.at = at

    def on_round(self, run):
        if run.history.n_rounds == self.at:
            raise KeyboardInterrupt


@every_policy
@pytest.mark.parametrize("learner", ["stump", "product", "tree", "list"])
def test_an_interrupt_at_the_end_of_a_round(learner, policy):
    full = fit(learner, policy(2), 9)
    model = fit(learner, policy(2), 9, warm_start=True, callbacks=[Interrupt(4)])
    assert (model.n_rounds_, model.stop_reason_) == (4, "interrupted")
    same(full, model.set_params(callbacks=None).fit(*data()))


@every_policy
@pytest.mark.parametrize("learner", ["stump", "product", "tree", "list"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_in_a_round(monkeypatch, learner, policy, when):
    full = fit(learner, policy(2), 9)
    for nth in (1, 8):
        calls = []
        update = policy.update

        def broken(self, *arguments, update=update, calls=calls, nth=nth):
            calls.append(1)
            if when == "after":
                update(self, *arguments)
            if len(calls) == nth + 1:
                raise KeyboardInterrupt
            if when == "before":
                update(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(policy, "update", broken)
            model = fit(learner, policy(2), 9, warm_start=True)
        if model.n_rounds_ < 9:
            assert model.stop_reason_ == "interrupted"
        same(full, model.fit(*data()))


@every_policy
def test_an_interrupt_between_a_term_and_its_record(monkeypatch, policy):
    full = fit("product", policy(2), 9)
    append, calls = History.append, []

    def broken(history, **values):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        append(history, **values)

    with monkeypatch.context() as patch:
        patch.setattr(History, "append", broken)
        model = fit("product", policy(2), 9, warm_start=True)
    assert model.n_rounds_ == 5
    same(full, model.fit(*data()))


@every_policy
def test_an_interrupt_while_the_rounds_so_far_are_replayed(monkeypatch, policy):
    full = fit("product", policy(2), 9)
    model = fit("product", policy(2), 6, warm_start=True)
    evaluate_vote, calls = Hamming.evaluate_vote, []

    def broken(self, *arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return evaluate_vote(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Hamming, "evaluate_vote", broken)
        model.set_params(n_rounds=9).fit(*data())
    assert (model.n_rounds_, model.stop_reason_) == (6, "interrupted")
    same(full, model.fit(*data()))


# Early stopping


NOISY = {"validation_fraction": 0.3, "eval_metric": "log_loss", "learning_rate": 1.0}


@every_policy
@pytest.mark.parametrize("learner", ["stump", "product", "tree"])
@pytest.mark.parametrize("how", ["early_stopping_rounds", "callback"])
def test_after_early_stopping_training_goes_on_from_the_best_round(learner, policy, how, tmp_path):
    stopping = (
        {"early_stopping_rounds": 3}
        if how == "early_stopping_rounds"
        else {"callbacks": [EarlyStopping(3)]}
    )
    straight = {"early_stopping_rounds": None, "callbacks": None}
    full = fit(learner, policy(2), 25, **NOISY)
    model = fit(learner, policy(2), 25, warm_start=True, **NOISY, **stopping)
    assert model.stop_reason_ == "early stopping"
    assert model.n_rounds_ == model.history_.n_rounds - 3
    model.save(tmp_path / "stopped")
    for fitted in (load(tmp_path / "stopped"), model):
        same(full, fitted.set_params(n_rounds=25, warm_start=True, **straight).fit(*data()))


@every_policy
def test_stopping_early_twice(policy):
    # The second run finds no better round, and ends where it began.
    full = fit("stump", policy(2), 25, **NOISY)
    model = fit("stump", policy(2), 25, warm_start=True, **NOISY, early_stopping_rounds=3)
    best = model.n_rounds_
    model.fit(*data())
    assert model.n_rounds_ == best
    same(full, model.set_params(early_stopping_rounds=None).fit(*data()))


@every_policy
def test_a_checkpoint_after_early_stopping(policy, tmp_path):
    path = tmp_path / "model"
    full = fit("stump", policy(2), 25, **NOISY)
    fit("stump", policy(2), 25, **NOISY, early_stopping_rounds=3, callbacks=[Checkpoint(path, 2)])
    model = load(path).set_params(early_stopping_rounds=None, callbacks=None, warm_start=True)
    same(full, model.fit(*data()))
