"""Fitting again: a failing fit changes nothing, and a warm start goes on."""

import numpy as np
import pandas as pd
import pytest

from edgewise import AdaBoostMH, Callback, Lazy, Stump

X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.array(["a", "b", "c"])[(X[:, :3].argmax(axis=1))]
FRAME = pd.DataFrame(X, columns=list("pqrs"))


class Fails(Callback):
    def on_round(self, run):
        if run.history.n_rounds == 3:
            raise RuntimeError("the disk is on fire")


def spoiled(array, value):
    changed = array.copy()
    changed[5] = value
    return changed


FAILURES = {
    "targets": {"y": np.zeros(60)},
    "fewer columns and bad targets": {"X": X[:, :2], "y": np.zeros(60)},
    "other names and bad targets": {"X": FRAME.set_axis(list("tuvw"), axis=1), "y": np.zeros(60)},
    "no names and bad weights": {"X": X, "sample_weight": -np.ones(60)},
    "infinite rows": {"X": spoiled(X, np.inf)},
    "fewer columns and infinite rows": {"X": spoiled(X[:, :3], np.inf)},
    "categorical": {"X": FRAME.iloc[:, :3].assign(s="word"), "learner": Stump()},
    "learner": {"X": X[:, :2], "learner": "twig"},
    "eval_set": {"X": X[:, :2], "eval_set": (X, Y)},
    "setting": {"X": X[:, :2], "votes": "hard"},
    "class_weight": {"X": X[:, :2], "y": Y == "a", "class_weight": {"z": 2.0}},
    "callback": {"X": X[:, :2], "y": Y == "a", "callbacks": [Fails()]},
    "callback, labels": {"X": X[:, :2], "y": X[:, :3] > 0, "callbacks": [Fails()]},
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failing_fit_leaves_the_old_model(case, tmp_path):
    model = AdaBoostMH(n_rounds=12).fit(FRAME, Y)
    answers = (model.predict(FRAME), model.predict_proba(FRAME), model.margins(FRAME, Y))
    importances = model.feature_importances_
    model.save(tmp_path / "before")
    change = dict(FAILURES[case])
    data = {"X": FRAME, "y": Y} | {
        name: change.pop(name) for name in ("X", "y", "sample_weight", "eval_set") if name in change
    }
    settings = {name: model.get_params()[name] for name in change}
    model.set_params(**change)
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(**data)
    model.set_params(**settings)
    after = (model.predict(FRAME), model.predict_proba(FRAME), model.margins(FRAME, Y))
    for old, new in zip(answers, after, strict=True):
        np.testing.assert_array_equal(old, new)
    np.testing.assert_array_equal(model.feature_importances_, importances)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert list(model.feature_names_in_) == list("pqrs")
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_a_second_fit_starts_anew(same_terms):
    model = AdaBoostMH(n_rounds=6).fit(X[:, :2], Y == "a")
    same_terms(model.fit(FRAME, Y), AdaBoostMH(n_rounds=6).fit(FRAME, Y))
    assert model.history_.n_rounds == 6
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("votes", ["discrete", "real", "abstain"])
@pytest.mark.parametrize(
    ("learner", "factorized"),
    [("stump", True), ("stump", False), ("product", True), ("tree", True)],
)
def test_a_warm_start_goes_on_exactly(same_terms, votes, learner, factorized):
    settings = {"learner": learner, "votes": votes, "factorized": factorized}
    full = AdaBoostMH(n_rounds=30, **settings).fit(X, Y)
    resumed = AdaBoostMH(n_rounds=7, warm_start=True, **settings).fit(X, Y)
    for n_rounds in (8, 30):
        resumed.set_params(n_rounds=n_rounds).fit(X, Y)
    same_terms(full, resumed)
    for name in ("edge", "alpha", "energy", "train_error", "hamming_loss", "pseudo_weight"):
        np.testing.assert_array_equal(full.history_[name], resumed.history_[name], err_msg=name)
    np.testing.assert_allclose(full.history_["bound"], resumed.history_["bound"], rtol=1e-12)


@pytest.mark.parametrize("learner", ["stump", "product", "tree", "auto"])
@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "logistic"},
        {"loss": "logistic", "learning_rate": 0.3, "subsample": 0.5},
        {"loss": "exponential", "subsample": 0.5, "search": Lazy(2), "votes": "real"},
    ],
    ids=["logistic", "small steps", "random"],
)
def test_a_warm_start_goes_on_exactly_whatever_is_lowered(same_terms, learner, settings):
    settings = {"learner": learner, "random_state": 3, **settings}
    full = AdaBoostMH(n_rounds=20, **settings).fit(X, Y)
    resumed = AdaBoostMH(n_rounds=7, warm_start=True, **settings).fit(X, Y)
    for n_rounds in (8, 20):
        resumed.set_params(n_rounds=n_rounds).fit(X, Y)
    same_terms(full, resumed)
    np.testing.assert_array_equal(full.history_.to_array(), resumed.history_.to_array())


def test_a_warm_start_with_as_many_rounds_changes_nothing(same_terms):
    model = AdaBoostMH(n_rounds=9, warm_start=True).fit(X, Y)
    terms = model.fitted_.terms
    model.fit(X, Y)
    assert model.n_rounds_ == 9
    np.testing.assert_array_equal(model.fitted_.terms.alphas, terms.alphas)


def test_a_first_warm_start_is_a_start(same_terms):
    same_terms(AdaBoostMH(n_rounds=5, warm_start=True).fit(X, Y), AdaBoostMH(n_rounds=5).fit(X, Y))


@pytest.mark.parametrize(
    ("change", "data", "message"),
    [
        ({"n_rounds": 4}, {}, r"n_rounds.*at least 5.*4"),
        ({"n_rounds": 9}, {"y": Y == "a"}, r"warm_start.*classes"),
        ({"n_rounds": 9}, {"y": np.char.upper(Y)}, r"warm_start.*classes"),
        ({"n_rounds": 9}, {"X": X[:, :3]}, r"3 features.*expecting 4"),
        ({"n_rounds": 9}, {"X": FRAME.set_axis(list("tuvw"), axis=1)}, r"feature names"),
        ({"n_rounds": 9, "factorized": False}, {}, r"warm_start.*factorized"),
        ({"n_rounds": 9, "learner": "product"}, {}, r"warm_start.*learner"),
    ],
    ids=[
        "fewer rounds",
        "fewer classes",
        "other classes",
        "columns",
        "names",
        "factorized",
        "learner",
    ],
)
def test_a_warm_start_needs_the_same_problem(change, data, message):
    named = "X" in data and isinstance(data["X"], pd.DataFrame)
    start = FRAME if named else X
    model = AdaBoostMH("stump", preset="paper", n_rounds=5, warm_start=True).fit(start, Y)
    before = model.predict(start)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(**({"X": start, "y": Y} | data))
    np.testing.assert_array_equal(model.predict(start), before)


def test_a_warm_start_after_early_stopping_goes_on_from_the_best_round():
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 2, 60)
    model = AdaBoostMH(
        n_rounds=100,
        validation_fraction=0.3,
        early_stopping_rounds=5,
        random_state=0,
        warm_start=True,
    ).fit(X, noise)
    best = model.n_rounds_
    assert model.stop_reason_ == "early stopping"
    assert model.history_.n_rounds == best + 5
    model.set_params(early_stopping_rounds=None, n_rounds=best + 20).fit(X, noise)
    assert model.n_rounds_ == model.history_.n_rounds == best + 20
