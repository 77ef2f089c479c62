"""Means of models: each bag is a model of its own, and their mean is one too."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers import assert_same_run, assert_same_terms

from edgewise import AdaBoostMH, Checkpoint, Lazy, RankBoost, Tree, load
from edgewise.boosting.history import average_rounds
from edgewise.common import checks
from edgewise.estimators import classification, time_limit
from edgewise.estimators.classification import auto_bags
from edgewise.estimators.run import bag_seed
from edgewise.estimators.time_limit import Pace
from edgewise.learners import Goal
from edgewise.metrics.classification import log_loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 5))
TWO = (X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=240) > 0).astype(int)
THREE = TWO + (X[:, 3] + RNG.normal(size=240) > 1)
LABELS = np.stack([TWO, THREE > 1, X[:, 4] > 0], axis=1).astype(int)
TREES = {"learner": Tree("stump", 5, "free", "gain"), "n_rounds": 12}


def means(n_bags=4, **settings):
    return AdaBoostMH(**{**TREES, "n_bags": n_bags, **settings})


def singles(monkeypatch, model, y, **settings):
    """Return the models whose mean a model is, each trained alone."""
    bags = []
    for b in range(model.settings_.n_bags):
        seed = bag_seed(model.fitted_.seed, b)
        with monkeypatch.context() as patch:
            patch.setattr(checks, "seed", lambda _, seed=seed: seed)
            bags.append(means(1, **settings).fit(X, y))
    return bags


@pytest.mark.parametrize("n_bags", [2, 4])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loss": "logistic"},
        {"learner": "stump", "votes": "discrete", "loss": "exponential", "learning_rate": 1.0},
        {"subsample": 1.0, "search": Lazy(2)},
    ],
    ids=["trees", "logistic", "stumps", "columns"],
)
@pytest.mark.parametrize("y", [TWO, THREE, LABELS], ids=["two", "three", "labels"])
def test_the_scores_are_the_means_of_the_bags_scores(monkeypatch, y, settings, n_bags):
    if settings.get("subsample", 0.7) == 1.0:
        settings = {**settings, "learner": "stump"}
    model = means(n_bags, random_state=3, **settings).fit(X, y)
    bags = singles(monkeypatch, model, y, **settings)
    assert model.n_rounds_ == 12
    assert len(model.fitted_.terms) == 12 * n_bags
    for b, bag in enumerate(bags):
        terms = model.fitted_.terms[b::n_bags]
        np.testing.assert_array_equal(terms.alphas * n_bags, bag.fitted_.terms.alphas)
        np.testing.assert_array_equal(terms.votes, bag.fitted_.terms.votes)
        np.testing.assert_array_equal(terms.thresholds, bag.fitted_.terms.thresholds)
    expected = np.mean([bag.decision_function(X) for bag in bags], axis=0)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)


def test_bags_differ():
    model = means(2).fit(X, TWO)
    first, second = model.fitted_.terms[0::2], model.fitted_.terms[1::2]
    assert not np.array_equal(first.thresholds, second.thresholds)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_bound_holds_for_the_loss_of_the_mean(y, loss):
    model = means(4, loss=loss, n_rounds=30).fit(X, y)
    bound = model.history_["bound"]
    losses = {"exponential": lambda margins: np.exp(-margins), "logistic": logistic_loss}
    values, weighted_errors = [], []
    for scores in model.staged_decision_function(X):
        margins, weights = margins_of(scores, y)
        values.append(np.sum(weights * losses[loss](margins)))
        weighted_errors.append(weights[margins <= 0].sum())
    assert len(values) == 30
    assert (np.array(values) <= bound + 1e-9).all()
    assert (np.array(weighted_errors) <= bound + 1e-9).all()


def logistic_loss(margins):
    """Return the loss in bits, which is 1 at a margin of 0."""
    return np.log2(1.0 + np.exp(-margins))


def margins_of(scores, y):
    """Return the margins of the entries of all rows, and their initial weights."""
    if scores.ndim == 1:
        return np.where(y == 1, scores, -scores), np.full(len(y), 1.0 / len(y))
    is_class = y[:, None] == np.arange(scores.shape[1])
    weights = np.where(is_class, 0.5, 0.5 / (scores.shape[1] - 1)) / len(y)
    return np.where(is_class, scores, -scores), weights


@pytest.mark.parametrize("settings", [{}, {"learning_rate": 1.0, "damping": 0.01}])
def test_the_softmax_bound_holds_for_the_errors_of_the_mean(settings):
    model = means(4, loss="softmax", n_rounds=30, **settings).fit(X, THREE)
    errors = np.array([np.mean(predicted != THREE) for predicted in model.staged_predict(X)])
    assert (errors <= model.history_["bound"]).all()


def test_the_softmax_bound_is_the_sum_of_the_bags_bounds():
    # A row that the mean gets wrong may be one that only a single bag gets wrong, by far.
    assert average_rounds([{"bound": 0.0}, {"bound": 0.5}])["bound"] == 0.5
    # Pairs are weighted by the order of each model.
    assert average_rounds(2 * [{"ranking_loss": 0.1, "bound": 0.2}])["bound"] == 1.0


def test_the_energy_of_a_mean_has_the_bound_of_the_mean():
    half, nothing = {"energy": 0.5, "weight": 2.0}, {"energy": 1.0, "weight": 1.0}
    mean = average_rounds([half, nothing])
    # The losses decrease by 1 and by 0.
    assert mean["weight"] * (1.0 - mean["energy"]) == pytest.approx(0.5)
    assert average_rounds([{"energy": 0.25}, {"energy": 1.0}])["energy"] == pytest.approx(0.5)
    assert average_rounds([half]) is half


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_validation_rows_measure_the_mean(y):
    model = means(4, n_rounds=20, eval_metric="log_loss")
    model.fit(X[:160], y[:160], eval_set=(X[160:], y[160:]))
    expected = [log_loss(y[160:], shares) for shares in model.staged_predict_proba(X[160:])]
    np.testing.assert_allclose(model.history_["validation"][: model.n_rounds_], expected, rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"search": "thompson"}], ids=["rows", "columns"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_more_rounds_follow(y, settings, tmp_path):
    whole = means(n_rounds=20, **settings).fit(X, y)
    model = means(n_rounds=8, warm_start=True, **settings).fit(X, y)
    assert_same_run(model.set_params(n_rounds=20).fit(X, y), whole)
    path = tmp_path / "model.edgewise"
    means(n_rounds=9, callbacks=[Checkpoint(path, every=3)], **settings).fit(X, y)
    loaded = load(path).set_params(n_rounds=20, warm_start=True, callbacks=None).fit(X, y)
    assert_same_run(loaded, whole)


def test_the_number_of_bags_stays():
    model = means(2, warm_start=True).fit(X, TWO)
    with pytest.raises(ValueError, match="n_bags must be as in the last fit, 2; got 4"):
        model.set_params(n_bags=4, n_rounds=20).fit(X, TWO)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_model_is_the_same_everywhere(monkeypatch, backend, n_jobs):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    expected = means().fit(X, THREE)
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    assert_same_terms(means(n_jobs=n_jobs).fit(X, THREE), expected)


def test_a_file_keeps_the_mean(tmp_path):
    model = means().fit(X, THREE)
    model.save(tmp_path / "model.edgewise")
    loaded = load(tmp_path / "model.edgewise")
    assert loaded.n_rounds_ == 12
    assert loaded.settings_.n_bags == 4
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_rules_name_their_round():
    rules = means(2, n_rounds=3).fit(X, TWO).rules(n=None)
    assert {rule.round for rule in rules} == {1, 2, 3}


def test_equal_rules_are_listed_once():
    # Each model begins with the class frequencies.
    model = means(4, loss="softmax", votes="real", n_rounds=3).fit(X, np.arange(240) % 5 == 0)
    assert sum("(always)" in rule.text for rule in model.rules(n=None)) == 1
    stumps = means(2, learner="stump", n_rounds=40).fit(X, TWO)
    texts = [rule.text.partition("*")[2].partition("->")[0] for rule in stumps.rules(n=None)]
    assert len(set(texts)) == len(texts) < 80


def test_importances_and_their_decreases_count_each_bag(monkeypatch):
    model = means().fit(X, TWO)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    bags = singles(monkeypatch, model, TWO)
    expected = np.mean([bag.fitted_.decreases.sum() for bag in bags])
    assert model.fitted_.decreases.sum() == pytest.approx(expected)


@pytest.mark.parametrize("wrong", [0, -2, 3, 12])
def test_numbers_of_bags_are_powers_of_two(wrong):
    with pytest.raises(ValueError, match="n_bags must be"):
        means(wrong).fit(X, TWO)


@pytest.mark.parametrize("wrong", [2.0, "two", True])
def test_numbers_of_bags_are_integers(wrong):
    with pytest.raises(TypeError, match="n_bags must be an integer"):
        means(wrong).fit(X, TWO)


def test_bags_need_something_to_draw():
    with pytest.raises(ValueError, match="n_bags=4 needs rounds that draw rows or columns"):
        means(subsample=1.0, search="exhaustive").fit(X, TWO)


def test_trees_have_bags_by_default():
    assert AdaBoostMH(n_rounds=3).fit(X, TWO).settings_.n_bags == 4
    assert AdaBoostMH("stump", n_rounds=3).fit(X, TWO).settings_.n_bags == 1
    assert AdaBoostMH("tree", n_rounds=3, preset="paper").fit(X, TWO).settings_.n_bags == 1
    assert auto_bags(Goal(n_rows=5_000, n_columns=3)) == 2
    assert auto_bags(Goal(n_rows=500_000, n_columns=3)) == 1
    assert auto_bags(Goal(n_rows=1_000, n_columns=10_000)) == 1


def test_a_mean_errs_less_than_its_models():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3_000, 6))
    y = (rows[:, 0] + rows[:, 1] ** 2 + rng.normal(size=3_000) > 1).astype(int)
    frame = pd.DataFrame(rows)
    losses = {
        n_bags: np.mean(
            [
                log_loss(
                    y[300:],
                    AdaBoostMH(n_bags=n_bags, n_rounds=60, random_state=seed)
                    .fit(frame[:300], y[:300])
                    .predict_proba(frame[300:]),
                )
                for seed in range(3)
            ]
        )
        for n_bags in (1, 4)
    }
    assert losses[4] < losses[1]


@pytest.mark.parametrize("objective", ["pairs", "ndcg"])
def test_rankers_are_averaged_too(monkeypatch, objective):
    grades, qid = THREE, np.repeat(np.arange(24), 10)
    settings = {"learner": "stump", "objective": objective, "n_rounds": 10, "subsample": 0.6}
    model = RankBoost(n_bags=2, **settings).fit(X, grades, qid=qid)
    assert (model.n_rounds_, len(model.fitted_.terms)) == (10, 20)
    scores = []
    for b in range(2):
        seed = bag_seed(model.fitted_.seed, b)
        with monkeypatch.context() as patch:
            patch.setattr(checks, "seed", lambda _, seed=seed: seed)
            scores.append(RankBoost(**settings).fit(X, grades, qid=qid).predict(X))
    np.testing.assert_allclose(model.predict(X), np.mean(scores, axis=0), atol=1e-12)
    with pytest.raises(ValueError, match="n_bags=2 needs rounds that draw"):
        RankBoost("stump", n_bags=2).fit(X, grades, qid=qid)


def test_a_short_time_has_one_model_unless_a_number_is_given():
    model = AdaBoostMH(time_limit=1e-3).fit(X, TWO)
    assert (model.settings_.n_bags, model.settings_.reasons["n_bags"]) == (1, "time_limit")
    given = AdaBoostMH(time_limit=1e-3, n_bags=4).fit(X, TWO)
    assert (given.settings_.n_bags, given.settings_.reasons["n_bags"]) == (4, "given")
    model.set_params(warm_start=True, time_limit=None, n_rounds=model.n_rounds_ + 2).fit(X, TWO)
    assert model.settings_.n_bags == 1


def test_rows_drawn_by_weight_are_draws():
    assert means(2, subsample=1.0, sampling="weight").fit(X, TWO).settings_.n_bags == 2


@pytest.fixture
def two_models(monkeypatch):
    """Average two models at a rate of 0.2 on the few rows here."""
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    monkeypatch.setattr(classification, "_FEW_ROWS", 200)


def test_two_models_take_larger_steps_from_rounds_that_single_models_choose(two_models):
    model = AdaBoostMH().fit(X, TWO)
    settings = model.settings_
    assert (settings.n_bags, settings.learning_rate) == (2, 0.2)
    assert model.n_rounds_ == model.fitted_.held_out.n_rounds
    assert len(model.fitted_.terms) == 2 * model.n_rounds_
    assert model.fitted_.held_out.stride == 2
    # Folds train the first model alone.
    single = AdaBoostMH(n_bags=1, learning_rate=0.2).fit(X, TWO)
    ours, theirs = model.fitted_.held_out, single.fitted_.held_out
    np.testing.assert_array_equal(ours.values, theirs.values)
    assert (ours.log_loss, ours.temperature) == (theirs.log_loss, theirs.temperature)
    np.testing.assert_array_equal(model.fitted_.terms[::2].votes, single.fitted_.terms.votes)


def test_folds_average_as_many_models_as_the_user_asks_for(two_models):
    losses = [AdaBoostMH(n_bags=n).fit(X, TWO).settings_.held_out_log_loss for n in (1, 2, 4)]
    assert len(set(losses)) == 3


def test_two_models_are_the_same_everywhere_and_go_on(two_models, monkeypatch, tmp_path):
    whole = AdaBoostMH().fit(X, THREE)
    assert whole.settings_.n_bags == 2
    assert_same_terms(AdaBoostMH(n_jobs=2).fit(X, THREE), whole)
    more = whole.n_rounds_ + 4
    whole.save(tmp_path / "model.edgewise")
    loaded = load(tmp_path / "model.edgewise").set_params(n_rounds=more, warm_start=True)
    expected = AdaBoostMH(n_rounds=more).fit(X, THREE)
    assert_same_terms(loaded.fit(X, THREE), expected)
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")
    assert_same_terms(AdaBoostMH().fit(X, THREE), whole)


def test_a_short_time_has_one_model_in_usual_steps(two_models, monkeypatch):
    pace = Pace(folds=False)
    monkeypatch.setattr(time_limit, "pace_for", lambda *_: pace)
    settings = AdaBoostMH(time_limit=10.0).fit(X, TWO).settings_
    assert (settings.n_bags, settings.learning_rate) == (1, 0.1)
    assert settings.reasons["n_bags"] == "time_limit"


def test_two_models_in_larger_steps_need_no_more_time(two_models, monkeypatch):
    costs = []
    monkeypatch.setattr(time_limit, "pace_for", lambda _, cost, *__: costs.append(cost) or Pace())
    for settings in ({}, {"n_bags": 1}):
        AdaBoostMH(time_limit=10.0, **settings).fit(X, TWO)
    # Two models of half as many rounds, and folds in steps of the same size.
    assert costs[0] == pytest.approx(costs[1])
