"""The history of a run: what the papers say must hold in every round."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from edgewise import AdaBoostMH
from edgewise.boosting import CLASSIFIER_FIELDS, RANKER_FIELDS, History

VOTES = ["discrete", "real", "abstain"]
# Learners, and whether the score columns share a rule.
FORMS = [("stump", True), ("stump", False), ("product", True), ("tree", True)]
NAMES = ["edge", "alpha", "energy", "bound", "train_error", "hamming_loss", "pseudo_weight"]
# What the search did, recorded of every model.
SEARCHED = ["columns", "saved"]


def listed(history):
    return [name for name in history if name not in SEARCHED]


def random_problem(seed, n_classes, n_rows=60):
    """Return rows of few distinct values and labels that are partly noise, weights included."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n_rows, 3)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.where(rng.random(n_rows) < 0.5, np.nan_to_num(X[:, 0]) % n_classes, -1)
    y = np.where(y < 0, rng.integers(0, n_classes, n_rows), y).astype(int)
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng.random(n_rows) + 0.05


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    votes=st.sampled_from(VOTES),
    init_weights=st.sampled_from(["balanced", "uniform"]),
    form=st.sampled_from(FORMS),
    weighted=st.booleans(),
)
def test_bounds_hold_in_every_round(seed, n_classes, votes, init_weights, form, weighted):
    X, y, weights = random_problem(seed, n_classes)
    learner, factorized = form
    model = AdaBoostMH(
        learner,
        preset="paper",
        n_rounds=15,
        votes=votes,
        init_weights=init_weights,
        factorized=factorized,
    ).fit(X, y, sample_weight=weights if weighted else None)
    history, slack = model.history_, 1 + 1e-9
    np.testing.assert_allclose(np.cumprod(history["energy"]), history["bound"], rtol=1e-9)
    assert (history["energy"] > 0).all()
    assert (history["energy"] < 1).all()
    assert (history["hamming_loss"] <= history["bound"] * slack).all()
    if n_classes == 2:
        factor = 1.0
    else:
        factor = np.sqrt(n_classes - 1) if init_weights == "balanced" else n_classes
    assert (history["train_error"] <= factor * history["bound"] * slack).all()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    votes=st.sampled_from(VOTES),
    form=st.sampled_from(FORMS),
)
def test_training_error_is_that_of_the_stages(seed, n_classes, votes, form):
    X, y, weights = random_problem(seed, n_classes)
    learner, factorized = form
    model = AdaBoostMH(learner, preset="paper", n_rounds=12, votes=votes, factorized=factorized)
    model.fit(X, y, sample_weight=weights)
    errors = [np.average(stage != y, weights=weights) for stage in model.staged_predict(X)]
    np.testing.assert_allclose(model.history_["train_error"], errors, atol=1e-12)


@pytest.mark.parametrize("init_weights", ["balanced", "uniform"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_hamming_loss_is_the_initial_weight_of_the_wrong_entries(n_classes, init_weights):
    X, y, weights = random_problem(3, n_classes)
    model = AdaBoostMH("tree", preset="paper", n_rounds=10, init_weights=init_weights)
    model.fit(X, y, sample_weight=weights)
    if n_classes == 2:
        signs, first = (y == 1)[:, None], np.ones((len(y), 1))
    else:
        signs = y[:, None] == np.arange(n_classes)
        first = np.where(signs, 0.5, 0.5 / (n_classes - 1))
        first = first if init_weights == "balanced" else np.ones(signs.shape)
    first = first * weights[:, None]
    first /= first.sum()
    for loss, scores in zip(
        model.history_["hamming_loss"], model.staged_decision_function(X), strict=True
    ):
        wrong = (scores.reshape(len(y), -1) > 0) != signs
        assert loss == pytest.approx(first[wrong].sum(), abs=1e-12)


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("learner", ["stump", "product", "tree"])
def test_energy_is_the_fall_of_the_exponential_loss(votes, learner):
    X, y, _ = random_problem(5, 3)
    model = AdaBoostMH(learner, preset="paper", n_rounds=20, votes=votes).fit(X, y)
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    first = np.where(signs > 0, 0.5, 0.25) / len(y)
    losses = [
        (first * np.exp(-signs * scores)).sum() for scores in model.staged_decision_function(X)
    ]
    np.testing.assert_allclose(model.history_["bound"], losses, rtol=1e-9)


@pytest.mark.parametrize("learner", ["stump", "product"])
def test_discrete_steps_follow_from_the_edge(learner):
    X, y, _ = random_problem(7, 3)
    history = AdaBoostMH(learner, preset="paper", n_rounds=20).fit(X, y).history_
    edge = history["edge"]
    np.testing.assert_allclose(history["alpha"], 0.5 * np.log((1 + edge) / (1 - edge)), rtol=1e-9)
    np.testing.assert_allclose(history["energy"], np.sqrt(1 - edge**2), rtol=1e-9)


def test_lengths_and_names():
    X, y, _ = random_problem(1, 3)
    model = AdaBoostMH("stump", preset="paper", n_rounds=9).fit(X, y)
    assert listed(model.history_) == NAMES
    assert model.history_.n_rounds == model.n_rounds_ == model.best_iteration_ == 9
    assert all(model.history_[name].shape == (9,) for name in NAMES)
    assert np.isnan(model.history_["validation"]).all()
    validated = AdaBoostMH("stump", preset="paper", n_rounds=9).fit(X, y, eval_set=(X, y))
    assert listed(validated.history_) == [*NAMES, "validation"]
    logistic = AdaBoostMH("stump", preset="paper", n_rounds=9, loss="logistic").fit(X, y)
    assert listed(logistic.history_) == [*NAMES, "weight"]
    assert logistic.history_["weight"][0] == 0.5
    with pytest.raises(KeyError, match="speed"):
        model.history_["speed"]


def test_a_history_is_a_copy_away_from_its_array():
    history = History()
    history.append(edge=0.6, alpha=0.7, energy=0.8)
    history.append(edge=0.6, alpha=0.7, energy=0.5)
    restored = History.from_array(history.to_array())
    restored.append(edge=0.6, alpha=0.7, energy=0.5)
    assert (history.n_rounds, restored.n_rounds) == (2, 3)
    np.testing.assert_allclose(restored["bound"], [0.8, 0.4, 0.2])
    restored.truncate(1)
    restored.append(edge=0.6, alpha=0.7, energy=0.25)
    np.testing.assert_allclose(restored["bound"], [0.8, 0.2])
    assert np.isnan(restored["train_error"]).all()


@pytest.mark.parametrize("fields", [CLASSIFIER_FIELDS, RANKER_FIELDS], ids=["classifier", "ranker"])
def test_what_a_search_did_is_recorded_where_it_is_known(fields):
    history = History(fields)
    history.append(energy=0.9)
    assert not {"columns", "saved"} & set(history)
    assert "columns" not in repr(history)
    assert np.isnan(history["columns"]).all()
    history.append(energy=0.9, columns=30, saved=0.75)
    np.testing.assert_array_equal(history["columns"], [np.nan, 30.0])
    np.testing.assert_array_equal(history["saved"], [np.nan, 0.75])
    assert repr(history).endswith(", columns, saved)")
    restored = History.from_array(history.to_array(), fields)
    np.testing.assert_array_equal(restored["saved"], history["saved"])
    restored.truncate(1)
    assert "saved" not in restored


def test_a_bound_below_every_float_is_0():
    history = History()
    for _ in range(2000):
        history.append(energy=0.5)
    assert history["bound"][-1] == 0.0
    assert (history["bound"][:1000] > 0).all()


# The validation metric is the metric of the staged predictions.


def staged(model, X, what):
    return [what(scores) for scores in model.staged_decision_function(X)]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("votes", VOTES)
def test_validation_error(n_classes, votes):
    X, y, _ = random_problem(11, n_classes)
    new, truth, _ = random_problem(12, n_classes)
    model = AdaBoostMH(n_rounds=10, votes=votes).fit(X, y, eval_set=(new, truth))
    expected = [(stage != truth).mean() for stage in model.staged_predict(new)]
    np.testing.assert_allclose(model.history_["validation"], expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_hamming_loss(n_classes):
    X, y, _ = random_problem(11, n_classes)
    new, truth, _ = random_problem(12, n_classes)
    signs = (truth == 1)[:, None] if n_classes == 2 else truth[:, None] == np.arange(n_classes)
    model = AdaBoostMH("tree", preset="paper", n_rounds=10, eval_metric="hamming_loss")
    model.fit(X, y, eval_set=(new, truth))
    expected = staged(
        model, new, lambda scores: ((scores.reshape(len(truth), -1) > 0) != signs).mean()
    )
    np.testing.assert_allclose(model.history_["validation"], expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_log_loss(n_classes):
    X, y, _ = random_problem(11, n_classes)
    new, truth, _ = random_problem(12, n_classes)
    labels = np.array(["p", "q", "r"])
    model = AdaBoostMH(n_rounds=10, eval_metric="log_loss")
    model.fit(X, labels[y], eval_set=(new, labels[truth]))
    for n_rounds in (1, 10):
        fewer = AdaBoostMH(n_rounds=n_rounds).fit(X, y)
        expected = log_loss(truth, fewer.predict_proba(new))
        assert model.history_["validation"][n_rounds - 1] == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_metric_of_ones_own_gets_targets_and_scores(n_classes):
    X, y, _ = random_problem(11, n_classes)
    new, truth, _ = random_problem(12, n_classes)
    labels = np.array(["p", "q", "r"])
    seen = []

    def metric(y_true, scores):
        seen.append((y_true.copy(), scores.copy()))
        return float(len(seen))

    model = AdaBoostMH(n_rounds=4, eval_metric=metric)
    model.fit(X, labels[y], eval_set=(new, labels[truth]))
    assert model.history_["validation"].tolist() == [1.0, 2.0, 3.0, 4.0]
    stages = list(model.staged_decision_function(new))
    for (y_true, scores), stage in zip(seen, stages, strict=True):
        assert y_true.tolist() == labels[truth].tolist()
        np.testing.assert_allclose(scores, stage, atol=1e-12)


def test_validation_of_labels():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 80, 3))
    for metric in ("error", "hamming_loss", "log_loss"):
        model = AdaBoostMH(n_rounds=6, eval_metric=metric)
        model.fit(X, X > 0, eval_set=(new, new > 0.2))
        wrong = [stage != (new > 0.2) for stage in model.staged_predict(new)]
        actual = model.history_["validation"]
        if metric == "error":
            np.testing.assert_allclose(actual, [w.any(axis=1).mean() for w in wrong])
        elif metric == "hamming_loss":
            np.testing.assert_allclose(actual, [w.mean() for w in wrong])
        else:
            p = model.predict_proba(new)
            q = np.where(new > 0.2, p, 1 - p)
            assert actual[-1] == pytest.approx(-np.log(q).sum(axis=1).mean())


def test_missing_values_among_the_validation_rows_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    new = X.copy()
    new[rng.random(new.shape) < 0.3] = np.nan
    model = AdaBoostMH(n_rounds=15).fit(X, y, eval_set=(new, y))
    expected = [(stage != y).mean() for stage in model.staged_predict(new)]
    np.testing.assert_allclose(model.history_["validation"], expected)


@pytest.mark.parametrize("max_bins", [255, 256, 300])
def test_validation_with_every_bin_in_use(max_bins):
    rng = np.random.default_rng(0)
    X = rng.permutation(2 * max_bins).astype(float)[:, None]
    y = (X[:, 0] % 100 > 50).astype(int)
    new = np.vstack([X[::3] + 0.25, [[np.nan], [-9.0], [1e9]]])
    truth = np.arange(len(new)) % 2
    model = AdaBoostMH(n_rounds=10, max_bins=max_bins).fit(X, y, eval_set=(new, truth))
    expected = [(stage != truth).mean() for stage in model.staged_predict(new)]
    np.testing.assert_allclose(model.history_["validation"], expected)
