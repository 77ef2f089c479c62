"""Every learner from rows to predictions, files and words."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone

from edgewise import (
    AdaBoostMH,
    Best,
    Checkpoint,
    Haar,
    Indicator,
    Lazy,
    Product,
    Selector,
    Stump,
    Tree,
    load,
)
from edgewise.data import RawRows, as_table
from edgewise.model import Node, Scores, Subset, Terms, TreeRule

from ..helpers import assert_same_terms

ROUNDS = 4


def numbers(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(3, size=n) * (rng.random(n) < 0.3)  # mostly 0: stored sparsely
    X[:, :2][rng.random((n, 2)) < 0.15] = np.nan
    return X


def names(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = pandas.DataFrame(
        {c: rng.choice(list("abcdefgh")[: 2 + 2 * k], n) for k, c in enumerate("pqr")}
    )
    X.loc[rng.random(n) < 0.15, "q"] = None
    if seed:
        X.loc[0, "r"] = "never seen in training"
    return X


def mixed(n=30, seed=0):
    X = names(n, seed)
    return X.assign(x=numbers(n, seed)[:, 0], y=numbers(n, seed)[:, 2])


def pixels(n=30, seed=0):
    return np.random.default_rng(seed).integers(10, size=(n, 6))


CASES = {
    "stump": (Stump(), numbers),
    "abstaining stump": (Stump(missing="abstain"), numbers),
    "selector": (Selector(), names),
    "indicator": (Indicator(), names),
    "random indicator": (Indicator("random", restarts=1), names),
    "product": (Product(Stump(), n_terms=2), numbers),
    "product with restarts": (Product(Stump(), n_terms=3, restarts=1), numbers),
    "product that abstains": (Product(Stump(missing="abstain"), n_terms=2), numbers),
    "mixed product": (Product([Stump(), Indicator()], n_terms=2), mixed),
    "tree": (Tree(Stump(), max_leaf_nodes=3), numbers),
    "tree with free votes": (Tree(Stump(), max_leaf_nodes=4, leaf_votes="free"), numbers),
    "tree that abstains": (Tree(Stump(missing="abstain"), max_leaf_nodes=3), numbers),
    "tree of products": (Tree(Product(Stump(), n_terms=2), max_leaf_nodes=3), numbers),
    "mixed tree": (Tree([Stump(), Indicator()], max_leaf_nodes=3), mixed),
    "tree by gain": (Tree(Stump(), 3, "free", "gain"), numbers),
    "mixed tree by gain": (Tree([Stump(), Indicator()], 3, "free", "gain"), mixed),
    "haar": (Haar((2, 3)), pixels),
    "product of haar": (Product(Haar((2, 3)), n_terms=2), pixels),
    "tree of haar": (Tree(Haar((2, 3)), max_leaf_nodes=3), pixels),
    "automatic": ("auto", mixed),
    "list": ([Stump(), Selector()], mixed),
    "list with a tree": (Best([Tree(Stump(), max_leaf_nodes=3), Stump()]), numbers),
}

SETTINGS = {
    "plain": {},
    "lazy on some rows": {"search": Lazy(2), "subsample": 0.6, "votes": "abstain"},
    "all at once": {"loss": "logistic", "votes": "real", "search": Lazy(2), "learning_rate": 0.3},
}

cases = pytest.mark.parametrize("case", CASES)
KINDS = ("two classes", "three classes", "labels")


def targets(X, kind="three classes"):
    rng = np.random.default_rng(len(X))
    if kind == "labels":
        return rng.integers(2, size=(len(X), 3))
    return rng.integers(2 if kind == "two classes" else 3, size=len(X))


def make(case, **chosen):
    learner, data = CASES[case]
    chosen = {"n_rounds": ROUNDS, "random_state": 0, "n_bags": 1, **chosen}
    return AdaBoostMH(clone(learner, safe=False), **chosen), data


def assert_same_model(ours, theirs):
    """Compare terms and history, bit for bit."""
    assert_same_terms(ours, theirs)
    np.testing.assert_array_equal(ours.history_.to_array(), theirs.history_.to_array())


@cases
@pytest.mark.parametrize("setting", ["plain", "all at once"])
def test_predictions_hang_together(case, setting):
    model, data = make(case, **SETTINGS[setting])
    X, later = data(), data(25, seed=1)
    y = targets(X)
    assert model.fit(X, y).n_rounds_ == ROUNDS
    scores, chances = model.decision_function(later), model.predict_proba(later)
    assert scores.shape == chances.shape == (25, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(later), model.classes_[scores.argmax(axis=1)])
    *_, staged = model.staged_decision_function(later)
    np.testing.assert_allclose(staged, scores, atol=1e-10)
    *_, predicted = model.staged_predict(later)
    assert np.array_equal(predicted, model.predict(later))
    *_, trained = model.staged_predict(X)
    assert np.mean(trained != y) == pytest.approx(model.history_["train_error"][-1])


@cases
@pytest.mark.parametrize(
    ("kind", "votes"), list(zip(KINDS, ["abstain", "discrete", "real"], strict=True))
)
def test_the_bound_is_the_loss_of_the_scores_and_holds_in_every_round(case, kind, votes):
    """Kégl and Busa-Fekete 2009a: the product of the Z is R_e(f), which is at least the Hamming
    loss.
    """
    model, data = make(case, votes=votes, loss="exponential", init_weights="uniform")
    X = data()
    y = targets(X, kind)
    history = model.fit(X, y).history_
    scores = model.decision_function(X).reshape(len(X), -1)
    signs = np.where(y > 0, 1, -1) if kind != "three classes" else 2 * (y[:, None] == range(3)) - 1
    signs = signs.reshape(scores.shape)
    assert history["bound"][-1] == pytest.approx(np.exp(-scores * signs).mean())
    assert (history["hamming_loss"] <= history["bound"] * (1 + 1e-9)).all()
    assert (history["energy"] < 1).all()


@cases
def test_the_logistic_loss_bounds_the_hamming_loss_too(case):
    model, data = make(case, loss="logistic")
    history = model.fit(data(), targets(data())).history_
    assert (history["hamming_loss"] <= history["bound"] * (1 + 1e-9)).all()


@cases
def test_files_pickles_and_clones_give_the_same_model(case, tmp_path):
    model, data = make(case, votes="real")
    X, later = data(), data(25, seed=1)
    y = targets(X)
    model.fit(X, y).save(tmp_path / "model.edgewise")
    loaded, thawed = load(tmp_path / "model.edgewise"), pickle.loads(pickle.dumps(model))
    for other in (loaded, thawed, clone(model).fit(X, y)):
        assert_same_model(model, other)
        assert np.array_equal(model.decision_function(later), other.decision_function(later))
        assert np.array_equal(model.predict_proba(later), other.predict_proba(later))
        assert [str(rule) for rule in model.rules(None)] == [str(r) for r in other.rules(None)]
    assert repr(loaded.explain()) == repr(model.explain())


@cases
@pytest.mark.parametrize("setting", ["lazy on some rows", "all at once"])
def test_a_fit_that_goes_on_is_one_that_never_stopped(case, setting):
    model, data = make(case, warm_start=True, n_rounds=2, **SETTINGS[setting])
    full, _ = make(case, **SETTINGS[setting])
    X = data()
    y = targets(X)
    model.fit(X, y).set_params(n_rounds=3).fit(X, y).set_params(n_rounds=ROUNDS).fit(X, y)
    assert_same_model(model, full.fit(X, y))


@cases
def test_a_loaded_model_goes_on_as_if_it_had_never_stopped(case, tmp_path):
    chosen = {"votes": "real", "loss": "exponential"}
    model, data = make(case, n_rounds=2, **chosen)
    full, _ = make(case, **chosen)
    X = data()
    y = targets(X)
    model.fit(X, y).save(tmp_path / "model.edgewise")
    again = load(tmp_path / "model.edgewise").set_params(n_rounds=ROUNDS, warm_start=True)
    assert_same_model(again.fit(X, y), full.fit(X, y))


def test_real_values_that_are_whole_go_on_as_if_never_stopped():
    """A number for each of two values may end up as -1 and +1, the largest that there are."""
    rows = RawRows(as_table(np.array([[0.0], [1.0]])).with_categorical([0]), {0: (0.0, 1.0)})
    node = Node(Subset(0, np.array([-1, 1, 0], dtype=np.int8)), -1, -2, -3)
    leaves = np.array([[-1.0, 2.0], [1.0, -2.0], [0.0, 0.0]])
    for rule in (Scores(0, np.array([-1.0, 1.0, 0.0])), TreeRule((node,), leaves)):
        again = Terms.pack([rule], [1.0], np.ones((1, 2))).rule(0)
        assert again.outputs(rows).dtype == rule.outputs(rows).dtype


@pytest.fixture
def selectors_and_trees():
    """Return a maker of models whose first rounds are selectors and whose later ones trees."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = pandas.DataFrame({"a": rng.normal(size=60), "c": np.array(list("xyz"))[y]})
    X.loc[:5, "c"] = "x"

    def make_one(**chosen):
        return (
            AdaBoostMH(
                [Selector(), Tree(Stump(), max_leaf_nodes=4)], preset="paper", n_rounds=12, **chosen
            ),
            X,
            y,
        )

    return make_one


@pytest.mark.parametrize("stop", [1, 2])
def test_a_list_goes_on_with_trees_after_rules_that_are_none(selectors_and_trees, stop):
    full, X, y = selectors_and_trees()
    full.fit(X, y)
    kinds = {type(full.fitted_.terms.rule(t)).__name__ for t in range(12)}
    assert kinds == {"Subset", "TreeRule"}
    model, _, _ = selectors_and_trees(warm_start=True)
    model.set_params(n_rounds=stop).fit(X, y).set_params(n_rounds=12).fit(X, y)
    assert_same_model(model, full)


def test_a_list_with_trees_can_be_saved_as_it_trains(selectors_and_trees, tmp_path):
    path = tmp_path / "model.edgewise"
    model, X, y = selectors_and_trees(callbacks=[Checkpoint(path, every=1)])
    model.fit(X, y)
    assert np.array_equal(load(path).decision_function(X), model.decision_function(X))


@cases
@pytest.mark.parametrize("setting", ["plain", "all at once"])
def test_all_backends_and_threads_give_the_same_model(case, setting, monkeypatch):
    chosen = SETTINGS[setting]
    _, data = make(case)
    X, later = data(), data(25, seed=1)
    y = targets(X)

    def trained(backend, n_jobs):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        model, _ = make(case, n_jobs=n_jobs, **chosen)
        return model.fit(X, y), model.decision_function(later)

    plain, expected = trained("numpy", 1)
    for backend, n_jobs in (("numpy", 2), ("numba", 1), ("numba", 2)):
        model, scores = trained(backend, n_jobs)
        assert_same_model(model, plain)
        assert np.array_equal(scores, expected)


@cases
@pytest.mark.parametrize("kind", ["two classes", "labels"])
def test_every_model_can_be_put_into_words(case, kind):
    model, data = make(case)
    X = data()
    model.fit(X, targets(X, kind))
    rules = model.rules(None)
    if model.fitted_.terms.n_trees == 0:
        assert sorted(rule.round for rule in rules) == list(range(1, ROUNDS + 1))
    sizes = [rule.alpha for rule in rules if "missing" not in str(rule)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(" for " in str(rule) or " against " in str(rule) for rule in rules)
    assert len(model.rules(2)) == 2
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert (importances >= 0).all()
    assert importances.shape == (X.shape[1],)
    explanation = model.explain()
    shares = [curve.importance for curve in explanation] + [
        group.importance for group in explanation.groups
    ]
    assert sum(shares) <= 1 + 1e-9
    assert repr(explanation).startswith("Explanation:")


@pytest.mark.parametrize(
    "learner",
    [
        Stump(),
        Product(Stump()),
        Tree(Stump()),
        Indicator("exact"),
        Indicator("informed"),
        Product(Indicator()),
        Tree(Indicator()),
    ],
    ids=str,
)
def test_the_constant_reads_as_always(learner):
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]] * 4, [0, 0, 1, 0, 0, 0] + [0] * 18
    categorical = [0] if learner.kinds() == {"categorical"} else None
    model = AdaBoostMH(
        learner, n_rounds=1, categorical_features=categorical, init_weights="uniform"
    ).fit(X, y)
    assert set(np.sign(model.decision_function(X)).tolist()) == {-1.0}
    assert "(always)" in str(model.rules()[0])


@cases
def test_margins_are_shares_of_the_largest_possible_score(case):
    model, data = make(case, votes="real")
    X = data()
    y = targets(X)
    margins = model.fit(X, y).margins(X, y)
    assert (np.abs(margins) <= 1 + 1e-12).all()
    right = model.predict(X) == y
    assert right[margins > 0].all()
    assert not right[margins < 0].any()


@cases
def test_validation_rows_are_scored_as_predictions_are(case):
    model, data = make(case, n_rounds=12, early_stopping_rounds=3)
    X, held_out = data(), data(30, seed=1)
    y, y_held_out = targets(X), targets(held_out)
    model.fit(X, y, eval_set=(held_out, y_held_out))
    validation = model.history_["validation"]
    errors = [np.mean(p != y_held_out) for p in model.staged_predict(held_out)]
    np.testing.assert_allclose(validation[: model.n_rounds_], errors)
    assert model.n_rounds_ == model.best_iteration_ == int(validation.argmin()) + 1
    if len(validation) < 12:
        assert len(validation) == model.best_iteration_ + 3


@cases
def test_the_same_seed_gives_the_same_model_and_rows_of_weight_zero_do_not_count(case):
    chosen = {"search": Lazy(2), "subsample": 0.7}
    first, data = make(case, **chosen)
    second, _ = make(case, **chosen)
    X = data()
    y = targets(X)
    assert_same_model(first.fit(X, y), second.fit(X, y))
    weights = (np.arange(len(X)) % 4 > 0).astype(float)
    rows = np.flatnonzero(weights)
    some = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    assert_same_model(first.fit(X, y, sample_weight=weights), second.fit(some, y[rows]))


# --- What is chosen where nothing is -----------------------------------------------------------


def as_params(learner):
    """Return a learner as plain values that can be compared."""
    if isinstance(learner, (list, tuple)):
        return [as_params(element) for element in learner]
    if not hasattr(learner, "get_params"):
        return learner
    params = learner.get_params(deep=False)
    return type(learner).__name__, {name: as_params(value) for name, value in params.items()}


@pytest.mark.parametrize(
    ("n_classes", "leaves", "criterion"),
    [(2, 8, "gain"), (3, 8, "edge"), (8, 8, "edge"), (9, 16, "edge"), (26, 32, "edge"),
     (40, 32, "edge")],
)  # fmt: skip
def test_the_automatic_learner_is_a_tree_that_grows_with_the_classes(n_classes, leaves, criterion):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.arange(80) % n_classes
    model = AdaBoostMH(n_rounds=1).fit(X, y)
    expected = Tree(Stump(), leaves, "free", criterion, small_rounds=100)
    assert as_params(model.learner_) == as_params(expected)
    loss = "softmax" if n_classes == 2 else "logistic"
    assert (model.votes_, model.loss_, model.learning_rate_) == ("real", loss, 0.1)
    assert (model.learner, model.votes, model.loss, model.learning_rate) == ("auto", *[None] * 3)


@pytest.mark.parametrize(
    ("data", "base"),
    [
        (numbers, Stump()),
        (names, Indicator(max_values=10)),
        (mixed, Best([Stump(), Indicator(max_values=10)])),
    ],
    ids=["numbers", "names", "mixed"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_automatic_model_is_the_same_as_one_spelled_out(data, base, kind):
    X = data()
    y = targets(X, kind)
    criterion, damping = ("edge", 0.1) if kind == "three classes" else ("gain", 0.5)
    learner = Tree(base, 8, "free", criterion, small_rounds=100)
    loss = "logistic" if kind == "three classes" else "softmax"
    chosen = {"votes": "real", "loss": loss, "learning_rate": 0.1, "subsample": 0.7, "max_bins": 32}
    chosen |= {"damping": damping, "min_samples_leaf": min(3, max(1, len(y) // 20))}
    model = AdaBoostMH(n_rounds=ROUNDS).fit(X, y)
    assert as_params(model.learner_) == as_params(learner)
    assert_same_model(model, AdaBoostMH(learner, n_rounds=ROUNDS, **chosen).fit(X, y))


def test_what_is_given_is_not_chosen():
    X = numbers()
    chosen = {"votes": "abstain", "loss": "exponential", "learning_rate": 0.7}
    for name, value in chosen.items():
        model = AdaBoostMH(n_rounds=1, **{name: value}).fit(X, targets(X))
        actual = {each: getattr(model, f"{each}_") for each in chosen}
        assert actual == {"votes": "real", "loss": "logistic", "learning_rate": 0.1, name: value}


@cases
def test_what_was_chosen_survives_files_and_pickles(case, tmp_path):
    model, data = make(case, n_rounds=1)
    X = data()
    model.fit(X, targets(X, "two classes")).save(tmp_path / "model.edgewise")
    for other in (load(tmp_path / "model.edgewise"), pickle.loads(pickle.dumps(model))):
        assert as_params(other.learner_) == as_params(model.learner_)
        for name in ("votes_", "loss_", "learning_rate_", "stop_reason_"):
            assert getattr(other, name) == getattr(model, name)
        assert as_params(other.learner) == as_params(model.learner)


@pytest.mark.parametrize("learner", ["tree", "stump", Tree(Stump(), 4), Product(Stump())], ids=str)
def test_what_is_learned_to_the_end_is_fitted(learner):
    """All logistic weights go to 0 where a rule is always right."""
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    model = AdaBoostMH(learner, preset="paper", loss="logistic", n_rounds=2000).fit(X, y)
    assert model.stop_reason_ == "fitted"
    assert 1 < model.n_rounds_ < 2000
    assert model.history_["weight"][-1] > 1e-10
    assert 1 / (1 + np.exp(np.abs(model.decision_function(X)).min())) < 1e-10
    again = model.set_params(warm_start=True).fit(X, y)
    assert (again.stop_reason_, again.n_rounds_) == ("fitted", len(again.fitted_.terms))
    fewer = AdaBoostMH(learner, preset="paper", loss="logistic", n_rounds=2).fit(X, y)
    assert fewer.stop_reason_ != "fitted"


def test_the_exponential_loss_is_never_fitted():
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    model = AdaBoostMH(Stump(), preset="paper", n_rounds=50).fit(X, y)
    assert (model.n_rounds_, model.stop_reason_ == "fitted") == (50, False)
