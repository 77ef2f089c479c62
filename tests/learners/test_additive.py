"""Additive models: trees of one column, and of the pairs of columns that interact."""

import numpy as np
import pandas as pd
import pytest
from tests.helpers import assert_same_run

from edgewise import AdaBoostMH, Additive, RankBoost, load
from edgewise.backend.base import Interactions
from edgewise.estimators import classification
from edgewise.model import Path

RNG = np.random.default_rng(5)
N = 400
X = RNG.normal(size=(N, 5))
X[RNG.random(N) < 0.1, 1] = np.nan
FRAME = pd.DataFrame(X, columns=list("abcde"))
FRAME["town"] = RNG.choice(["Ulm", "Bonn", "Jena", None], N)
# An effect of a, and of c and d only together.
SCORE = 2 * X[:, 0] + 3 * np.sign(X[:, 2] * X[:, 3])
TWO = (SCORE + RNG.logistic(size=N) > 0).astype(int)
THREE = TWO + (X[:, 4] > 0.8)
LABELS = np.stack([TWO, X[:, 4] > 0], axis=1).astype(int)
TARGETS = {"two": TWO, "three": THREE, "labels": LABELS}


def columns_of_paths(model):
    """Return the columns that are tested on each path of each tree."""
    terms = model.fitted_.terms
    found = []
    for t in range(len(terms)):
        for rule, _ in terms.rule(t).split_paths(terms.coefficients[t]):
            assert isinstance(rule, Path) or not rule.factors
            found.append(tuple(sorted(getattr(rule, "conditions", {}))))
    return found


def few(**settings):
    return AdaBoostMH(Additive(**settings), n_rounds=40, n_bags=2, random_state=0)


@pytest.mark.parametrize("y", TARGETS)
def test_no_path_tests_more_than_a_pair(y):
    paths = columns_of_paths(few().fit(FRAME, TARGETS[y]))
    assert max(map(len, paths)) == 2
    singles = columns_of_paths(few(max_pairs=0).fit(FRAME, TARGETS[y]))
    assert max(map(len, singles)) == 1


def test_the_pair_that_interacts_is_first():
    model = few(max_pairs=1).fit(FRAME, TWO)
    assert {columns for columns in columns_of_paths(model) if len(columns) == 2} == {(2, 3)}
    assert model.fitted_.additive.pairs.tolist() == [[2, 3]]


def test_a_pair_with_a_category_is_found():
    is_ulm = (FRAME["town"] == "Ulm").to_numpy()
    y = (np.where(is_ulm, 3, -3) * X[:, 2] + RNG.logistic(size=N) > 0).astype(int)
    model = few(max_pairs=1).fit(FRAME, y)
    assert model.fitted_.additive.pairs.tolist() == [[2, 5]]


def test_averaged_models_share_their_pairs():
    pairs = few(max_pairs=2).fit(FRAME, TWO)
    used = {columns for columns in columns_of_paths(pairs) if len(columns) == 2}
    assert used <= {tuple(pair) for pair in pairs.fitted_.additive.pairs.tolist()}
    assert len(pairs.fitted_.additive.pairs) == 2


def test_first_rounds_have_no_pairs():
    model = few(curve_rounds=25).fit(FRAME, TWO)
    paths = columns_of_paths(AdaBoostMH(Additive(curve_rounds=25), n_rounds=25).fit(FRAME, TWO))
    assert max(map(len, paths)) == 1
    assert max(map(len, columns_of_paths(model))) == 2


@pytest.mark.parametrize(
    "terms", [["a", "c", ("c", "d")], [0, 2, (3, 2)], [np.int64(0), 2, ["c", 3]]]
)
def test_given_terms(terms):
    model = AdaBoostMH(Additive(terms=terms), n_rounds=30).fit(FRAME, TWO)
    used = {columns for columns in columns_of_paths(model) if columns}
    assert used <= {(0,), (2,), (3,), (2, 3)}
    assert (2, 3) in used


@pytest.mark.parametrize("terms", [["z"], [7], [("a", "b", "c")], [()], ["a", ("a", "z")]])
def test_unknown_terms_are_refused(terms):
    with pytest.raises(ValueError, match="is no column of X"):
        AdaBoostMH(Additive(terms=terms), n_rounds=2).fit(FRAME, TWO)


@pytest.mark.parametrize("settings", [{"max_pairs": -1}, {"max_terms": 0}, {"curve_rounds": -1}])
def test_bad_settings(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        AdaBoostMH(Additive(**settings)).fit(FRAME, TWO)


@pytest.mark.parametrize("y", TARGETS)
def test_backends_and_threads_train_the_same_model(monkeypatch, y):
    models = []
    for backend, n_jobs in (("numpy", 1), ("numba", 1), ("numba", 3)):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        models.append(few().set_params(n_jobs=n_jobs).fit(FRAME, TARGETS[y]))
    for model in models[1:]:
        assert_same_run(models[0], model)


def test_threads_that_split_nodes_grow_the_same_trees(monkeypatch):
    from edgewise.backend.numba import trees

    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    one = few().fit(FRAME, TWO)
    monkeypatch.setattr(trees, "_THREADS_FROM", 1)
    assert_same_run(one, few().set_params(n_jobs=2).fit(FRAME, TWO))


@pytest.mark.parametrize("learner", ["tree", "additive"])
def test_interactions_hold_by_node_and_in_one_call(monkeypatch, learner):
    """Every tree is the same whether a node is searched alone or the backend grows all."""
    allowed = [[0, 1, 2], [2, 3], [4, 5]]
    models = []
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        model = AdaBoostMH(learner, interaction_cst=allowed, n_rounds=30, n_bags=2, random_state=0)
        models.append(model.fit(FRAME, TWO))
    assert_same_run(*models)
    for columns in columns_of_paths(models[0]):
        assert any({*columns} <= {*together} for together in allowed), columns


def test_allowed_columns_by_brute_force():
    rng = np.random.default_rng(0)
    members = rng.random((6, 7)) < 0.4
    for path in ([], [0], [2, 5], [1, 3, 6]):
        allowed = Interactions(members).allowed_after(path)
        sets = [row for row in members if all(row[j] for j in path)]
        assert allowed.tolist() == [any(row[j] for row in sets) for j in range(7)]


@pytest.mark.parametrize("first", [10, 20, 21, 35])
def test_a_warm_start_continues_with_the_same_pairs(tmp_path, first):
    whole = few().fit(FRAME, TWO)
    half = few().set_params(n_rounds=first).fit(FRAME, TWO)
    half.save(tmp_path / "half.edgewise")
    resumed = load(tmp_path / "half.edgewise")
    resumed.set_params(n_rounds=40, warm_start=True, random_state=0).fit(FRAME, TWO)
    assert_same_run(whole, resumed)


def test_each_averaged_model_leaves_out_other_rows():
    model = AdaBoostMH("additive", n_rounds=30, random_state=0).fit(FRAME, TWO)
    assert model.settings_.n_bags == 8
    assert model.fitted_.additive.has_errors
    errors = model.terms_[0].errors
    assert errors.shape == model.terms_[0].scores.shape
    assert (errors[:-1] > 0).any()


def test_curves_alone_are_compared_from_many_rows_on(monkeypatch):
    monkeypatch.setattr(classification, "_COMPARE_FROM", 100)
    y = (X[:, 0] + RNG.logistic(size=N) > 0).astype(int)
    model = AdaBoostMH("additive", random_state=0).fit(FRAME, y)
    assert {*model.settings_.compared} == {"curves and pairs", "curves"}
    model = AdaBoostMH(Additive(max_pairs=3), random_state=0).fit(FRAME, y)
    assert not model.settings_.compared


@pytest.mark.parametrize("objective", ["pairs", "ndcg"])
def test_rankers(objective):
    qid = np.repeat(np.arange(40), 10)
    grades = np.digitize(SCORE + RNG.normal(size=N), [-2, 0, 3])
    ranker = RankBoost("additive", objective=objective, n_rounds=40, random_state=0)
    ranker.fit(FRAME, grades, qid=qid)
    assert max(map(len, columns_of_paths(ranker))) == 2
    total = ranker.intercept_[0] + sum(
        term(*(ranker_values(ranker, j) for j in term.columns))[:, 0] for term in ranker.terms_
    )
    np.testing.assert_allclose(total, ranker.predict(FRAME), atol=1e-12)


def ranker_values(model, j):
    from edgewise.data import RawRows

    rows = RawRows(model._table(FRAME), model.fitted_.categories, None)
    return rows.block(np.array([j]), slice(None))[0]


def test_tables_without_anything_to_learn():
    constant, y = np.ones((30, 3)), np.arange(30) % 3 // 2
    model = AdaBoostMH("additive", random_state=0).fit(constant, y)
    assert model.terms_ == ()
    assert (model.predict(constant) == np.bincount(y).argmax()).all()


def test_a_single_column_has_no_pairs():
    model = AdaBoostMH("additive", random_state=0).fit(X[:, :1], TWO)
    assert [term.columns for term in model.terms_] == [(0,)]
