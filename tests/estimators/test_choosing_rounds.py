"""Rounds chosen on held-out rows, the temperature fitted on them, and the settings shown."""

import io
import sys

import numpy as np
import pytest
from scipy import sparse

from edgewise import AdaBoostMH, Callback, Checkpoint, EarlyStopping, TimeLimit, load
from edgewise.estimators import classification, targets, train
from edgewise.estimators.calibration import CalibratedLogLoss, best_temperature
from edgewise.estimators.classification import resolve_classifier
from edgewise.estimators.job import Job
from edgewise.estimators.targets import Labels, fold_rows
from edgewise.learners import Goal
from edgewise.metrics.classification import log_loss
from edgewise.model.scorer import probabilities


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Train with compiled kernels: the same models in a fraction of the time."""
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")


def flipped(y):
    """Return classes of which a fifth are wrong."""
    return np.where(np.random.default_rng(0).random(len(y)) < 0.2, (y + 1) % 3, y)


@pytest.fixture
def noisy(blobs):
    X, y = blobs(150, 3, 3, seed=4)
    return X, flipped(y)


@pytest.mark.parametrize("preset", ["auto", "paper"])
def test_training_waits_for_an_improvement(preset):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    model = auto(preset=preset, validation_fraction=0.3).fit(X, y)
    assert model.stop_reason_ == "early stopping"
    assert 60 <= model.history_.n_rounds < 90


SINGLE = {"max_leaf_nodes": 8, "loss": "logistic", "n_bags": 1}
"""One model, and nothing to compare."""


def auto(**settings):
    return AdaBoostMH(**{"n_rounds": "auto", "random_state": 0, **settings})


@pytest.mark.parametrize("learner", ["auto", "stump", "product"])
def test_the_refit_is_a_fit_with_the_chosen_rounds(noisy, same_terms, learner):
    model = auto(learner=learner).fit(*noisy)
    assert model.settings_.rounds_from == "3 folds"
    explicit = auto(learner=learner, n_rounds=model.n_rounds_).fit(*noisy)
    same_terms(model, explicit)
    assert model.history_.n_rounds == model.n_rounds_
    assert model.stop_reason_ == "n_rounds"
    assert explicit.settings_.rounds_from == "n_rounds"
    assert explicit.settings_.temperature == 1.0
    assert np.isnan(explicit.settings_.held_out_log_loss)


def test_the_chosen_rounds_are_the_last_of_about_the_lowest_loss(noisy):
    model = auto().fit(*noisy)
    record = model.fitted_.held_out
    low = np.flatnonzero(record.values <= 1.005 * record.values.min())
    # A step of the folds is as long as four.
    assert model.n_rounds_ == record.n_rounds == 4 * (low[-1] + 1)
    assert len(record.values) >= low[0] + 15
    assert record.log_loss == pytest.approx(record.values[low[-1]], rel=1e-3)


def test_the_default_chooses_and_the_papers_do_not():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 3
    assert AdaBoostMH().fit(X, y).settings_.rounds_from == "3 folds"
    assert AdaBoostMH(preset="paper").fit(X, y).history_.n_rounds == 500


@pytest.mark.parametrize("settings", [{}, {"subsample": 0.6}, {"search": "lazy"}])
def test_threads_choose_the_same(noisy, same_terms, settings):
    first, second = (auto(n_jobs=n_jobs, **settings).fit(*noisy) for n_jobs in (1, 2))
    same_terms(first, second)
    assert str(first.settings_) == str(second.settings_)


def test_the_folds_follow_random_state(noisy):
    first, again, other = (auto(random_state=seed).fit(*noisy) for seed in (1, 1, 2))
    assert np.array_equal(first.fitted_.held_out.values, again.fitted_.held_out.values)
    assert not np.array_equal(first.fitted_.held_out.values[:5], other.fitted_.held_out.values[:5])


def test_folds_leave_a_row_of_every_class():
    codes = np.array([0] * 7 + [1] * 2 + [2])
    folds = fold_rows(Labels(np.arange(3), codes), 5, seed=0)
    assert sorted(np.concatenate(folds).tolist()) == list(range(9))  # not the only row of class 2
    for fold in folds:
        assert set(np.delete(codes, fold)) == {0, 1, 2}
        assert len(fold) in (1, 2)


@pytest.mark.parametrize("targets", [[0, 1], [0, 0, 1], [0, 0, 1, 1, 2], [0, 1, 2, 3, 4]])
def test_tiny_tables(targets):
    X = np.arange(float(len(targets)))[:, None]
    model = AdaBoostMH(random_state=0).fit(X, targets)
    assert np.isfinite(model.predict_proba(X)).all()
    few = len(set(targets)) == len(targets)
    assert (model.settings_.rounds_from == "too few rows") == few
    assert ("no row can be held out" in str(model.settings_)) == few


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        AdaBoostMH().fit([[0.0], [1.0]], [1, 1])


def test_multilabel_targets(noisy):
    X, y = noisy
    model = auto().fit(X, np.stack([y == 0, y > 0, X[:, 0] > 0], axis=1).astype(int))
    assert model.settings_.rounds_from == "3 folds"
    assert 0 < model.settings_.held_out_log_loss < 3 * np.log(2)


def test_weights_count_in_the_choice(noisy, same_terms):
    X, y = noisy
    weights = np.where(y == 0, 3.0, 1.0)
    # A bin for every value: with fewer, sample weights shape them, class weights do not.
    by_rows = auto(max_bins=256).fit(X, y, sample_weight=weights)
    by_class = auto(max_bins=256, class_weight={0: 3.0}).fit(X, y)
    same_terms(by_rows, by_class)
    assert by_rows.settings_ == by_class.settings_
    held = np.arange(len(y)) % 2 == 0
    absent = auto().fit(X, y, sample_weight=held.astype(float))
    same_terms(absent, auto().fit(X[held], y[held]))


def test_a_metric_of_ones_own_chooses(noisy):
    def worse_from_the_fourth_round(y, scores):
        calls.append(len(y))
        return abs((len(calls) - 1) // 3 - 3)

    calls = []
    own = {"eval_metric": worse_from_the_fourth_round, "early_stopping_rounds": 3}
    model = auto(**own, **SINGLE).fit(*noisy)
    assert model.n_rounds_ == 4
    assert len(model.fitted_.held_out.values) == 7


def test_validation_rows_choose_where_there_are_any(noisy, blobs, same_terms):
    X, y = noisy
    new = blobs(60, 3, 3, seed=5)
    with_eval_set = auto().fit(X, y, eval_set=new)
    assert with_eval_set.settings_.rounds_from == "eval_set"
    assert with_eval_set.settings_.temperature == 1.0
    assert with_eval_set.n_rounds_ == with_eval_set.history_["validation"].argmin() + 1
    same_terms(with_eval_set, auto(n_rounds=with_eval_set.n_rounds_).fit(X, y))
    drawn = auto(validation_fraction=0.3).fit(X, y)
    assert drawn.settings_.rounds_from == "validation_fraction"
    assert drawn.settings_.temperature != 1.0


def test_many_rows_choose_without_a_refit(noisy, monkeypatch, same_terms):
    monkeypatch.setattr(train, "NO_REFIT_ROWS", 100)
    model = auto(**SINGLE).fit(*noisy)
    assert model.settings_.rounds_from == "10% of the rows"
    assert model.stop_reason_ == "early stopping"
    same = auto(validation_fraction=0.1, n_rounds=model.n_rounds_, **SINGLE).fit(*noisy)
    same_terms(model, same)


def test_a_metric_of_ones_own_chooses_without_a_refit(noisy, monkeypatch):
    monkeypatch.setattr(train, "NO_REFIT_ROWS", 100)

    def worse_from_the_fifth_round(y, scores):
        calls.append(len(y))
        return abs(len(calls) - 4)

    calls = []
    own = {"eval_metric": worse_from_the_fifth_round, "early_stopping_rounds": 3}
    model = auto(**own, **SINGLE).fit(*noisy)
    assert model.settings_.rounds_from == "10% of the rows"
    assert model.n_rounds_ == 4


def test_one_part_and_a_refit(noisy, monkeypatch, same_terms):
    monkeypatch.setattr(targets, "_FOLDS", {np.inf: (5, 1)})
    model = auto().fit(*noisy)
    assert model.settings_.rounds_from == "20% of the rows"
    same_terms(model, auto(n_rounds=model.n_rounds_).fit(*noisy))


# The temperature


@pytest.mark.parametrize("loss", ["exponential", "logistic", "softmax"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_temperature_improves_new_probabilities(blobs, loss, n_classes):
    def draw(seed):
        X, y = blobs(400, 3, n_classes, seed=seed)
        flipped = np.random.default_rng(seed).random(len(y)) < 0.3
        return X, np.where(flipped, (y + 1) % n_classes, y)

    X, y = draw(1)
    model = AdaBoostMH(
        "tree", votes="real", loss=loss, n_rounds=150, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    fitted, (new, truth) = model.fitted_, draw(2)
    assert fitted.temperature > 1.0
    scores = model.decision_function(new).reshape(len(new), -1)
    plain = probabilities(scores, fitted.offsets, False, loss)
    assert log_loss(truth, model.predict_proba(new)) < log_loss(truth, plain)
    assert np.array_equal(model.predict_proba(new).argmax(axis=1), plain.argmax(axis=1))


def test_few_rows_hardly_move_the_temperature():
    def loss(temperature):
        return temperature

    assert 0.9 < best_temperature(loss, 0) < 1.1
    assert 0.5 < best_temperature(loss, 1) < 1.0
    assert best_temperature(loss, 10_000) < 0.21


def test_files_keep_the_settings_and_the_temperature(noisy, tmp_path):
    X, y = noisy
    model = auto().fit(X, y)
    model.save(tmp_path / "model.edgewise")
    loaded = load(tmp_path / "model.edgewise")
    assert loaded.settings_ == model.settings_
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.settings_.temperature != 1.0


# What ends the choosing, and what watches it


@pytest.mark.parametrize("call", [1, 3, 60])
def test_an_interrupt_trains_the_best_rounds_so_far(noisy, call, same_terms):
    def metric(y, scores):
        calls.append(y)
        if len(calls) == call:
            raise KeyboardInterrupt
        return 1.0 / len(calls)

    calls = []
    model = auto(eval_metric=metric).fit(*noisy)
    assert model.stop_reason_ == "interrupted"
    assert model.n_rounds_ == 4 * max(1, (call - 1) // 3)
    same_terms(model, auto(n_rounds=model.n_rounds_).fit(*noisy))


@pytest.mark.parametrize(
    "limited",
    [{"time_limit": 1e-9}, {"callbacks": [TimeLimit(1e-9)]}],
    ids=["parameter", "callback"],
)
def test_the_time_limit_holds_for_choosing_and_refit(noisy, limited):
    model = auto(**limited).fit(*noisy)
    assert model.stop_reason_ == "time limit"
    assert model.n_rounds_ == 1


def test_callbacks_watch_the_model_not_the_choosing(noisy):
    class Counts(Callback):
        rounds = 0

        def on_round(self, run):
            self.rounds += 1

    counts = Counts()
    model = auto(callbacks=[counts]).fit(*noisy)
    assert counts.rounds == model.n_rounds_


def test_a_checkpoint_is_taken_up_without_choosing_again(noisy, tmp_path, same_terms):
    class Stop(Callback):
        def on_round(self, run):
            return "stopped" if run.history.n_rounds == 3 else None

    path = tmp_path / "run.edgewise"
    full = auto().fit(*noisy)
    auto(callbacks=[Checkpoint(path, every=2), Stop()]).fit(*noisy)
    taken_up = load(path).set_params(warm_start=True)
    assert taken_up.n_rounds_ == 3 < full.n_rounds_
    taken_up.fit(*noisy)
    same_terms(full, taken_up)
    assert taken_up.settings_ == full.settings_
    # Once more: all chosen rounds are there.
    same_terms(full, taken_up.fit(*noisy))


def test_a_checkpoint_has_the_temperature_of_the_model(noisy, tmp_path):
    path = tmp_path / "run.edgewise"
    model = auto(n_rounds=30, validation_fraction=0.3, callbacks=[Checkpoint(path)]).fit(*noisy)
    assert load(path).settings_ == model.settings_


def test_given_rounds_after_chosen_ones_go_on_as_if_always_given(noisy, same_terms):
    model = auto(warm_start=True).fit(*noisy)
    n_rounds = model.n_rounds_ + 4
    model.set_params(n_rounds=n_rounds).fit(*noisy)
    same_terms(model, auto(n_rounds=n_rounds).fit(*noisy))
    assert model.settings_.temperature == 1.0


def test_verbose_shows_the_stage_and_the_settings(noisy, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    model = auto(verbose=1).fit(*noisy)
    shown = sys.stderr.getvalue()
    assert "choosing rounds on 3 folds" in shown
    assert shown.endswith(f"{model.settings_}\n")


def test_early_stopping_as_a_callback_is_for_the_choice(noisy, same_terms):
    by_callback = auto(callbacks=[EarlyStopping(3)]).fit(*noisy)
    by_parameter = auto(early_stopping_rounds=3).fit(*noisy)
    same_terms(by_callback, by_parameter)
    assert by_callback.settings_ == by_parameter.settings_
    assert len(by_callback.fitted_.held_out.values) == by_callback.n_rounds_ + 3


# Hostile tables


TARGETS = np.arange(60) % 3


@pytest.mark.parametrize(
    "X",
    [np.ones((60, 2)), np.full((60, 2), np.nan), np.zeros((60, 1)), np.arange(60.0)[:, None] % 1],
    ids=["constant", "all missing", "one value", "one column"],
)
@pytest.mark.parametrize("y", [TARGETS, (TARGETS == 0).astype(int)], ids=["even", "uneven"])
def test_columns_without_information_give_the_shares_of_the_classes(X, y):
    model = auto().fit(X, y)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], shares, atol=0.02)
    assert model.n_rounds_ <= 1
    assert model.settings_.rounds_from == "3 folds"


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_many_classes_of_few_rows(copies):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), copies)
    X = rng.normal(size=(len(y), 2)) + y[:, None]
    model = auto(max_bins=16).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(y), 40)
    assert np.isfinite(p).all()
    assert model.settings_.rounds_from == ("too few rows" if copies == 1 else "3 folds")


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-9, 2.0**1000])
def test_the_scale_of_weights_does_not_matter(noisy, same_terms, scale):
    X, y = noisy
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    plain, scaled = (auto().fit(X, y, sample_weight=w) for w in (weights, scale * weights))
    assert plain.n_rounds_ == scaled.n_rounds_
    np.testing.assert_allclose(plain.predict_proba(X), scaled.predict_proba(X), rtol=1e-6)


def test_one_row_of_nearly_all_the_weight(noisy):
    X, y = noisy
    weights = np.where(np.arange(len(y)) == 0, 1e200, 1.0)
    p = auto().fit(X, y, sample_weight=weights).predict_proba(X)
    assert np.isfinite(p).all()
    assert p[0].argmax() == y[0]


def test_weights_count_in_the_folds(noisy):
    X, y = noisy
    y = y.copy()
    y[::2] = np.random.default_rng(0).permutation(y[::2])  # half of the rows know nothing
    trusted = auto().fit(X, y, sample_weight=np.where(np.arange(len(y)) % 2, 1.0, 0.01)).settings_
    equal = auto().fit(X, y).settings_
    assert trusted.held_out_log_loss < equal.held_out_log_loss


def test_labels_that_never_vary(noisy):
    X, y = noisy
    Y = np.stack([y == 0, np.zeros(len(y)), np.ones(len(y)), np.arange(len(y)) == 3], axis=1)
    p = auto().fit(X, Y.astype(int)).predict_proba(X)
    assert (p[:, 1] < 0.05).all()
    assert (p[:, 2] > 0.95).all()
    assert np.isfinite(p).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse"])
def test_tables_of_every_kind_choose(noisy, kind):
    X, y = noisy
    letters = np.array(list("abcde"))[np.arange(len(y)) % 5]
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"x": X[:, 0], "z": pandas.Categorical(letters)})
        new = pandas.DataFrame({"x": [0.0, np.nan], "z": pandas.Categorical(["never seen", None])})
    elif kind == "polars":
        polars = pytest.importorskip("polars")
        table = polars.DataFrame({"x": X[:, 0], "z": letters})
        table = table.with_columns(polars.col("z").cast(polars.Categorical))
        new = polars.DataFrame({"x": [0.0, None], "z": ["never seen", None]})
    else:
        table = sparse.csr_matrix(np.where(X > 0, X, 0.0))
        new = sparse.csr_matrix((2, X.shape[1]))
    model = auto().fit(table, y)
    assert model.settings_.rounds_from == "3 folds"
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("rare", [1, 2, 3])
def test_rare_classes_are_in_some_folds_only(blobs, rare):
    X, y = blobs(240, 3, 3, seed=4)
    y = flipped(y)
    y[:rare] = 9
    model = auto().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 9]
    assert np.isfinite(model.settings_.held_out_log_loss)
    assert model.predict_proba(X)[:, 3].mean() == pytest.approx(rare / len(y), abs=0.02)


def test_validation_rows_without_some_class_choose(noisy):
    X, y = noisy
    model = auto().fit(X, y, eval_set=(X[y < 2], y[y < 2]))
    assert model.settings_.rounds_from == "eval_set"


def test_a_warm_start_keeps_more_rounds_than_folds_choose(noisy, same_terms):
    model = auto(n_rounds=90, warm_start=True).fit(*noisy)
    model.set_params(n_rounds="auto").fit(*noisy)
    same_terms(model, auto(n_rounds=90).fit(*noisy))
    assert model.settings_.n_rounds == 90 > model.fitted_.held_out.n_rounds


@pytest.mark.parametrize("n_rounds", ["none", "Auto", 0, 2.5])
def test_rounds_are_a_number_or_auto(noisy, n_rounds):
    with pytest.raises((TypeError, ValueError), match="n_rounds"):
        AdaBoostMH(n_rounds=n_rounds).fit(*noisy)


@pytest.mark.parametrize("kind", ["two classes", "several classes", "labels"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rounds_are_compared_at_their_best_temperature(kind, weighted):
    rng = np.random.default_rng(2)
    n, k = 400, 1 if kind == "two classes" else 4
    scores = rng.normal(size=(n, k)) * 3.0
    chances = probabilities(scores, np.zeros(k), kind == "labels", "softmax", temperature=2.5)
    if kind == "labels":
        codes = (rng.random((n, k)) < chances).astype(int)
    else:
        codes = (rng.random((n, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    weights = rng.random(n) if weighted else None

    def loss(temperature):
        actual = probabilities(scores, np.zeros(k), kind == "labels", "softmax", temperature)
        return log_loss(codes, actual, weights)

    best = best_temperature(loss, n)
    assert best == pytest.approx(2.5, rel=0.2)
    calibrated = CalibratedLogLoss(codes, weights, kind == "labels")
    values = [calibrated(scores) for _ in range(8)]
    assert values[-1] == pytest.approx(loss(best), rel=1e-4)
    assert values[1] == pytest.approx(loss(best), rel=0.02)
    assert values[0] < loss(1.0)


def test_rounds_that_are_only_too_sure_lose_little(noisy, monkeypatch):
    """A temperature takes back what many rounds on noisy labels make too sure."""
    record = auto(learning_rate=0.5).fit(*noisy).fitted_.held_out
    monkeypatch.setattr(classification.ClassifierJob, "joint_measure", Job.joint_measure)
    uncalibrated = auto(learning_rate=0.5).fit(*noisy).fitted_.held_out
    n = min(len(record.values), len(uncalibrated.values))
    assert record.values[n - 1] < 0.9 * uncalibrated.values[n - 1]


@pytest.mark.parametrize(
    ("parameters", "patience"),
    [
        ({}, 60),
        ({"learning_rate": 0.2}, 60),
        ({"learning_rate": 0.01}, 600),
        ({"learner": "stump"}, 60),
        ({"preset": "paper"}, 60),
        ({"preset": "paper", "learning_rate": 0.01}, 600),
    ],
    ids=str,
)
def test_smaller_steps_have_more_patience(parameters, patience):
    model = AdaBoostMH(n_rounds="auto", **parameters)
    settings = resolve_classifier(model, model.learner, Goal(5, n_rows=1000), seed=0)
    assert settings.stopping.patience == patience
