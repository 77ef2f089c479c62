"""The softmax loss: weights |y - p|, a start from the priors, probabilities, and bounds."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import edgewise
from edgewise import AdaBoostMH, Indicator, Product, Stump, Tree
from edgewise.backend.numba.engine import NumbaBackend

FORMS = {
    "discrete stumps": (Stump(), "discrete", True),
    "real stumps": (Stump(), "real", True),
    "abstaining stumps": (Stump(), "abstain", True),
    "stump for each": (Stump(), "discrete", False),
    "products": (Product(Stump(), n_terms=2), "real", True),
    "real trees": (Tree(Stump(), 4, "free", "edge"), "real", True),
}
every_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
def train(make_problem, make_targets, make_objective, boost):
    """Return (objective, row weights, rounds as they come)."""

    def start(form, n_rounds=12, seed=0, **settings):
        learner, votes, factorized = FORMS[form]
        problem = make_problem(seed, n=80, n_scores=4, kind="multiclass", equal_mass=False)
        targets = make_targets(seed, problem, "uniform")
        settings = {"loss": "softmax", **settings}
        objective = make_objective(problem, targets, votes, factorized, **settings)
        return objective, targets.row_weights, boost(objective, n_rounds, learner)

    return start


def slopes(objective, row_weights):
    """Return the weights that the loss asks for, from the scores alone."""
    p = softmax(objective.state.scores, axis=0)
    return row_weights * np.abs((objective.state.labels > 0) - p) / len(p)


def log_loss(objective, row_weights):
    logs = log_softmax(objective.state.scores, axis=0)
    return -float((row_weights * logs * (objective.state.labels > 0)).sum())


@every_form
def test_weights_are_residuals_of_the_softmax(train, form):
    objective, row_weights, rounds = train(form)
    weight, n_rounds = slopes(objective, row_weights).sum(), 0
    assert weight == pytest.approx(2 * 3 / 4**2)
    for step in rounds:
        assert step.progress.weight == pytest.approx(weight, rel=1e-12)
        expected = slopes(objective, row_weights)
        weight = expected.sum()
        np.testing.assert_allclose(objective.state.weights, expected / weight, rtol=1e-10)
        n_rounds += 1
    assert n_rounds == 12


@every_form
def test_the_bound_is_never_below_the_training_error(train, form):
    objective, row_weights, rounds = train(form)
    for step in rounds:
        p = softmax(objective.state.scores, axis=0)
        wrong_class = (row_weights * (1 - p) * (objective.state.labels > 0)).sum()
        assert step.progress.bound == pytest.approx(2 * wrong_class, rel=1e-12)
        assert step.progress.train_error <= step.progress.bound
        assert step.progress.hamming_loss == step.progress.train_error * 2 / 4


@every_form
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_the_loss_falls_by_what_twice_the_step_promises(train, form, rate):
    objective, row_weights, rounds = train(form, learning_rate=rate)
    before = log_loss(objective, row_weights)
    for t, step in enumerate(rounds):
        after = log_loss(objective, row_weights)
        h = step.vote.coefficients[:, None] * step.signs
        energy = (step.weights * np.exp(-2 * h * objective.state.labels)).sum()
        promised = 4 * step.progress.weight / 2 * (1 - energy)
        assert before - after >= promised - 1e-12
        if t > 0:  # the priors are as good as a constant can be
            assert promised > 0
        before = after


def test_real_votes_are_half_the_log_odds_of_the_residuals(train):
    objective, _, rounds = train("real stumps")
    for t, step in enumerate(rounds):
        if t == 0:
            continue
        right = (step.weights * (objective.state.labels == step.signs)).sum(axis=1)
        wrong = (step.weights * (objective.state.labels == -step.signs)).sum(axis=1)
        floor = objective.floor
        odds = np.maximum(right, floor) / np.maximum(wrong, floor)
        np.testing.assert_allclose(step.vote.votes, 0.5 * np.log(odds), rtol=1e-6, atol=1e-9)


@every_form
def test_permuted_rows_and_other_backends_give_the_same_rounds(assert_order_does_not_matter, form):
    learner, votes, factorized = FORMS[form]
    settings = {"loss": "softmax", "learning_rate": 0.5}
    assert_order_does_not_matter(NumbaBackend, 15, [learner], votes, factorized, **settings)


# As users see it.

TREE = Tree(max_leaf_nodes=6, leaf_votes="free", criterion="gain")


def model(learner=TREE, **settings):
    options = {"votes": "real", "loss": "softmax", "learning_rate": 0.2, "n_rounds": 30}
    return AdaBoostMH(learner, preset="paper", random_state=0, **{**options, **settings})


@pytest.fixture
def unequal(blobs):
    X, y = blobs(n_classes=3)
    kept = np.flatnonzero((y != 1) | (np.arange(len(y)) % 2 == 0))
    return X[kept], y[kept]


def test_the_first_round_is_the_class_priors(unequal):
    X, y = unequal
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    fitted = model(n_rounds=1).fit(X, y, sample_weight=weights)
    shares = np.bincount(y, weights) / weights.sum()
    np.testing.assert_allclose(fitted.predict_proba(X), np.tile(shares, (len(X), 1)), rtol=1e-9)
    assert "always" in str(fitted.rules()[0])
    two = model(n_rounds=1).fit(X, y == 1, sample_weight=weights)
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], shares[1], rtol=1e-9)


def test_labels_start_from_their_own_shares(unequal):
    X, y = unequal
    labels = np.stack([y == 1, y != 2, np.zeros(len(y))], axis=1).astype(int)
    p = model(n_rounds=1).fit(X, labels).predict_proba(X)
    np.testing.assert_allclose(p[:, :2], np.tile(labels.mean(axis=0)[:2], (len(X), 1)), rtol=1e-9)
    assert (p[:, 2] < 0.01).all()


def test_equal_classes_need_no_constant(blobs):
    X, y = blobs(n_classes=3)
    kept = np.concatenate([np.flatnonzero(y == k)[:20] for k in range(3)])
    assert "always" not in str(model(n_rounds=1).fit(X[kept], y[kept]).rules()[0])


def test_two_classes_of_equal_size_have_the_logistic_loss(blobs):
    X, y = blobs(n_classes=2)
    kept = np.concatenate([np.flatnonzero(y == k)[:30] for k in range(2)])
    first, other = model().fit(X[kept], y[kept]), model(loss="logistic").fit(X[kept], y[kept])
    assert np.array_equal(first.decision_function(X), other.decision_function(X))
    assert np.array_equal(first.predict_proba(X), other.predict_proba(X))
    assert first.loss_ == "softmax"


def test_probabilities_are_the_softmax_of_scores(unequal):
    X, y = unequal
    fitted = model().fit(X, y)
    expected = softmax(fitted.decision_function(X), axis=1)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-12)
    assert (fitted.predict(X) == fitted.classes_[expected.argmax(axis=1)]).all()
    assert (fitted.history_["train_error"] <= fitted.history_["bound"]).all()
    assert "weight" in fitted.history_


@pytest.mark.parametrize("init_weights", ["balanced", np.ones((60, 3))], ids=["name", "matrix"])
def test_other_initial_weights_are_refused(blobs, init_weights):
    X, y = blobs(60, n_classes=3)
    with pytest.raises(ValueError, match="init_weights"):
        model(init_weights=init_weights).fit(X, y)
    uniform = model(init_weights="uniform", n_rounds=5).fit(X, y)
    automatic = model(n_rounds=5).fit(X, y)
    assert np.array_equal(uniform.decision_function(X), automatic.decision_function(X))


def test_a_saved_model_a_warm_start_and_a_replay_are_the_same_model(unequal, tmp_path):
    X, y = unequal
    full = model(n_rounds=20).fit(X, y)
    resumed = model(n_rounds=8).fit(X, y)
    resumed.save(tmp_path / "model.edgewise")
    loaded = edgewise.load(tmp_path / "model.edgewise")
    assert np.array_equal(loaded.predict_proba(X), resumed.predict_proba(X))
    for fitted in (resumed, loaded):
        fitted.set_params(warm_start=True, n_rounds=20).fit(X, y)
        assert np.array_equal(fitted.decision_function(X), full.decision_function(X))
        for name in full.history_:
            np.testing.assert_array_equal(fitted.history_[name], full.history_[name])


@pytest.mark.parametrize("eval_metric", ["log_loss", "error", "hamming_loss", "roc_auc"])
def test_validation_and_early_stopping(unequal, eval_metric):
    X, y = unequal
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(y)) < 0.3, rng.integers(3, size=len(y)), y)
    held = np.arange(len(y)) % 4 == 0
    aside = X[held], noisy[held]
    fitted = model(n_rounds=200, eval_metric=eval_metric, early_stopping_rounds=10)
    fitted.fit(X[~held], noisy[~held], eval_set=aside)
    assert fitted.stop_reason_ == "early stopping"
    staged = list(fitted.staged_decision_function(aside[0]))
    values = fitted.history_["validation"]
    assert len(staged) == fitted.n_rounds_ == fitted.best_iteration_
    if eval_metric == "log_loss":
        expected = [
            -log_softmax(f, axis=1)[np.arange(len(aside[1])), aside[1]].mean() for f in staged
        ]
        np.testing.assert_allclose(values[: len(staged)], expected, rtol=1e-9)
    if eval_metric == "hamming_loss":
        expected = [(f.argmax(axis=1) != aside[1]).mean() * 2 / 3 for f in staged]
        np.testing.assert_allclose(values[: len(staged)], expected, rtol=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_every_backend_and_number_of_threads_gives_the_same_model(
    unequal, monkeypatch, backend, n_jobs
):
    X, y = unequal
    X = X.copy()
    X[::7, 1] = np.nan
    codes = np.column_stack([X, np.arange(len(X)) % 5])
    settings = {"categorical_features": [codes.shape[1] - 1], "subsample": 0.7}
    tree = Tree([Stump(), Indicator()], 6, "free", "gain")
    expected = model(tree, **settings).fit(codes, y)
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    fitted = model(tree, n_jobs=n_jobs, **settings).fit(codes, y)
    assert np.array_equal(fitted.decision_function(codes), expected.decision_function(codes))


def test_probabilities_are_calibrated_where_the_posteriors_are_known():
    """Three normal classes of unequal size: probabilities are close to Bayes' posteriors."""
    rng = np.random.default_rng(0)
    centers, priors = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]]), np.array([0.6, 0.3, 0.1])

    def draw(n):
        y = rng.choice(3, n, p=priors)
        X = centers[y] + rng.normal(size=(n, 2))
        logs = np.log(priors) - ((X[:, None] - centers) ** 2).sum(axis=2) / 2
        return X, y, softmax(logs, axis=1)

    X, y, _ = draw(4000)
    held_X, held_y, posterior = draw(4000)
    fitted = model(TREE, n_rounds=300, learning_rate=0.1, eval_metric="log_loss", subsample=0.7)
    fitted.set_params(early_stopping_rounds=20, validation_fraction=0.2).fit(X, y)
    p = fitted.predict_proba(held_X)
    assert np.abs(p - posterior).mean() < 0.04
    for k in range(3):
        # Ten equal parts of the rows by probability: each part has as many of the class as it says.
        for rows in np.array_split(np.argsort(p[:, k]), 10):
            assert abs(p[rows, k].mean() - (held_y[rows] == k).mean()) < 0.08
