"""The trees that held-out rows compare, and how the comparison ends."""

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers import assert_same_terms

from edgewise import AdaBoostMH, load
from edgewise.estimators import classification, train
from edgewise.estimators.train import best_candidate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 6))
ADDITIVE = (X[:, :3].sum(axis=1) + 2 * RNG.normal(size=900) > 0).astype(int)
# The parity of four columns: no split of fewer columns tells anything.
PARITY = (X[:, :4] > 0).sum(axis=1) % 2
PRODUCT = (X[:, 0] * X[:, 1] > 0).astype(int)
CLASSES = np.digitize(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * RNG.normal(size=900), [-0.7, 0.7])


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Train with compiled kernels: the same models in a fraction of the time."""
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    """Compare trees on fewer rows than usual."""
    monkeypatch.setattr(classification, "_COMPARE_FROM", 600)


def compared(**settings):
    return AdaBoostMH(n_bags=1, **settings)


def names(model):
    return list(model.settings_.compared)


def test_what_is_compared():
    assert names(compared().fit(X, ADDITIVE)) == ["usual trees", "small trees", "large trees"]
    assert names(compared().fit(X, CLASSES))[-1] == "softmax loss"
    text = str(compared().fit(X, ADDITIVE).settings_)
    assert "large trees" in text
    assert "compared" in text


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_leaf_nodes": 8}, ["usual trees", "softmax loss"]),
        ({"loss": "logistic"}, ["usual trees", "small trees", "large trees"]),
        ({"max_leaf_nodes": 8, "loss": "logistic"}, []),
        ({"n_rounds": 20}, []),
        ({"learner": "stump"}, []),
        ({"preset": "paper", "n_rounds": "auto"}, []),
    ],
)
def test_settings_leave_candidates_out(settings, expected):
    assert names(compared(**settings).fit(X, CLASSES)) == expected


def test_few_rows_compare_nothing():
    assert names(compared().fit(X[:599], ADDITIVE[:599])) == []


def test_columns_that_only_tell_together_take_large_trees():
    model = compared().fit(X, PARITY)
    assert model.settings_.max_leaf_nodes == 32
    assert model.settings_.reasons["max_leaf_nodes"] == "compared"
    values = model.settings_.compared
    assert min(values, key=values.get) == "large trees"
    usual = compared(max_leaf_nodes=8).fit(X, PARITY)
    assert values["usual trees"] == usual.fitted_.held_out.best
    assert model.settings_.held_out_log_loss < usual.settings_.held_out_log_loss


def test_the_candidate_is_what_its_settings_give():
    model = compared().fit(X, PARITY)
    same = compared(max_leaf_nodes=32, n_rounds=model.n_rounds_).fit(X, PARITY)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_a_difference_within_the_standard_error_keeps_the_usual_trees():
    noise = np.random.default_rng(5).integers(0, 2, len(X))
    model = compared().fit(X, noise)
    assert model.fitted_.candidate == ""
    assert best_candidate([0.50, 0.49, 0.48], False, [0.0, 0.005, 0.03]) == 1
    assert best_candidate([0.50, 0.49, 0.48], False, [0.0, 0.02, 0.03]) == 0


def test_those_far_behind_end_early(monkeypatch):
    rounds = []
    choose = train.choose_rounds

    def counted(*given, **named):
        rounds.append(choose(*given, **named))
        return rounds[-1]

    monkeypatch.setattr(train, "choose_rounds", counted)
    model = compared().fit(X, PRODUCT)
    lengths = {
        name: len(choice.record.values) for name, choice in zip(names(model), rounds, strict=True)
    }
    assert rounds[1].stop_reason == "behind another candidate"
    assert lengths["small trees"] < lengths["usual trees"]


def test_a_warm_start_stays_with_the_candidate(tmp_path):
    model = compared(warm_start=True).fit(X, PARITY)
    expected = len(model.fitted_.terms)
    again = model.fit(X, PARITY)
    assert again.fitted_.candidate == "large trees"
    assert len(again.fitted_.terms) == expected
    model.save(tmp_path / "model.edgewise")
    loaded = load(tmp_path / "model.edgewise").fit(X, PARITY)
    assert loaded.settings_.max_leaf_nodes == 32
    assert_same_terms(loaded, model)


def test_more_rounds_follow_with_the_candidate():
    model = compared(warm_start=True).fit(X, PARITY)
    n_rounds = model.n_rounds_ + 5
    model.set_params(n_rounds=n_rounds).fit(X, PARITY)
    assert model.settings_.max_leaf_nodes == 32
    assert_same_terms(model, compared(max_leaf_nodes=32, n_rounds=n_rounds).fit(X, PARITY))


def test_more_rounds_follow_with_the_loss_of_the_candidate(monkeypatch):
    monkeypatch.setattr(train, "best_candidate", lambda values, *_: len(values) - 1)
    model = compared(max_leaf_nodes=8, warm_start=True).fit(X, CLASSES)
    assert model.fitted_.candidate == "softmax loss"
    model.set_params(n_rounds=model.n_rounds_ + 5).fit(X, CLASSES)
    assert model.loss_ == "softmax"


def test_many_rows_are_compared_by_a_sample(monkeypatch):
    monkeypatch.setattr(train, "NO_REFIT_ROWS", 500)
    monkeypatch.setattr(train, "_COMPARED_ROWS", 700)
    model = compared().fit(X, PARITY)
    assert model.settings_.rounds_from == "10% of the rows"
    assert model.fitted_.candidate == "large trees"
    assert len(names(model)) == 3


def test_an_interrupt_takes_the_best_so_far(monkeypatch):
    choose = train.choose_rounds

    def interrupted(*given, **named):
        choice = choose(*given, **named)
        calls.append(choice)
        return choice._replace(stop_reason="interrupted") if len(calls) == 2 else choice

    calls = []
    monkeypatch.setattr(train, "choose_rounds", interrupted)
    model = AdaBoostMH().fit(X, ADDITIVE)
    assert len(calls) == 2
    assert names(model) == ["usual trees", "small trees"]
    assert model.stop_reason_ == "interrupted"


@pytest.mark.parametrize("candidate", ["", "small trees", "large trees", "softmax loss"])
def test_a_number_of_rounds_continues_the_candidate(monkeypatch, candidate):
    chosen = classification.tree_candidates

    def only(*given):
        candidates = chosen(*given)
        return [c for c in candidates if c.name == candidate] or candidates

    monkeypatch.setattr(classification, "tree_candidates", only)
    model = compared(warm_start=True, learning_rate=0.3).fit(X, CLASSES)
    monkeypatch.undo()
    before = model.settings_
    more = model.set_params(n_rounds=model.n_rounds_ + 5).fit(X, CLASSES).settings_
    assert model.fitted_.candidate == candidate
    assert (more.max_leaf_nodes, more.loss) == (before.max_leaf_nodes, before.loss)


def test_where_no_row_can_be_held_out_nothing_is_compared():
    assert names(compared().fit([[0.0], [1.0]], [0, 1])) == []


def test_the_choice_of_a_mean_may_be_cut_short(monkeypatch):
    choose = train.choose_rounds

    def interrupted(setup, folds, max_bags=1, leader=None):
        choice = choose(setup, folds, max_bags, leader)
        if max_bags == 1:
            return choice
        return choice._replace(record=replace(choice.record, n_rounds=1), stop_reason="interrupted")

    monkeypatch.setattr(train, "choose_rounds", interrupted)
    model = AdaBoostMH().fit(X, ADDITIVE)
    assert model.stop_reason_ == "interrupted"
    assert model.n_rounds_ > 1
