"""The same ranker, bit for bit, for any backend, number of threads, storage and order of rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from edgewise import Indicator, Lazy, Product, RankBoost, Stump

from ..helpers import assert_same_run

EXACT = ("edge", "alpha", "energy", "bound")


def same(left, right):
    """Assert that two models have the same terms and history, to the last bit."""
    assert_same_run(left, right, EXACT)
    # Weighted documents and pairs are added up in another order.
    np.testing.assert_allclose(
        left.history_["ranking_loss"], right.history_["ranking_loss"], rtol=0, atol=1e-12
    )


def documents(n=300, seed=0, n_queries=8):
    """Return dense, mostly-zero and holed columns, grades, queries and weights."""
    rng = np.random.default_rng(seed)
    y = rng.choice([0.0, 1.0, 2.0, 4.5], size=n)
    X = rng.normal(size=(n, 5)) + y[:, None] * [0.5, -0.2, 0.1, 0.3, 0.0]
    X[:, 1] = np.where(rng.random(n) < 0.8, 0.0, X[:, 1])
    X[:, 2] = rng.integers(0, 4, n)
    X[rng.random(n) < 0.2, 3] = np.nan
    return X, y, rng.integers(n_queries, size=n) * 7 - 3, rng.random(n) + 0.1


CASES = {
    "edge": {},
    "exact steps": {"step": "exact"},
    "energy": {"criterion": "energy"},
    "energy, free": {"criterion": "energy", "monotonic_cst": "none", "learning_rate": 1.0},
    "increasing": {"monotonic_cst": "increasing", "learning_rate": 1.0},
    "free": {"monotonic_cst": "none"},
    "low": {"missing": "low"},
    "high": {"missing": "high", "criterion": "energy"},
    "abstain": {"learner": Stump(missing="abstain")},
    "equal": {"pair_weight": "equal", "query_weight": "equal"},
    "product": {"learner": "product"},
    "tree": {"learner": "tree"},
    "feature": {"learner": "feature"},
    "lazy": {"search": Lazy(2), "random_state": 3},
}
every_case = pytest.mark.parametrize("case", CASES)


@pytest.fixture
def backend(monkeypatch):
    return lambda name: monkeypatch.setenv("EDGEWISE_BACKEND", name)


def make(case, n_rounds=25, **more):
    return RankBoost(**{"n_rounds": n_rounds, **CASES[case], **more})


@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_numpy_and_compiled_kernels(backend, case, weighted):
    X, y, qid, weights = documents()
    models = []
    for name in ("numpy", "numba"):
        backend(name)
        models.append(make(case).fit(X, y, qid, weights if weighted else None))
    assert_same_run(*models)
    assert models[0].n_rounds_ == 25
    np.testing.assert_array_equal(*(model.predict(X) for model in models))


@pytest.mark.parametrize("pair_weight", ["equal", "difference"])
def test_weights_in_long_lists_are_summed_in_one_order(backend, pair_weight):
    X, y, qid, weights = documents(900, n_queries=2)
    qid[:40] = 5  # and a short one
    models = []
    for name in ("numpy", "numba"):
        backend(name)
        ranker = RankBoost("stump", n_rounds=8, pair_weight=pair_weight)
        models.append(ranker.fit(X, y, qid, weights))
    assert_same_run(*models)


@pytest.mark.parametrize("case", ["edge", "energy", "abstain", "product", "feature"])
def test_numpy_and_compiled_kernels_with_pairs(backend, case):
    X, _, _, _ = documents()
    rng = np.random.default_rng(1)
    pairs = rng.integers(200, size=(400, 2))  # some rows are in none
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weights = rng.normal(size=len(pairs))
    models = []
    for name in ("numpy", "numba"):
        backend(name)
        models.append(make(case).fit_pairs(X, pairs, weights))
    assert_same_run(*models)


@pytest.mark.parametrize("case", ["edge", "exact steps", "energy", "increasing", "tree", "feature"])
@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_the_order_of_the_rows(backend, case, name):
    backend(name)
    X, y, qid, weights = documents()
    order = np.random.default_rng(5).permutation(len(X))
    model = make(case).fit(X, y, qid, weights)
    same(make(case).fit(X[order], y[order], qid[order], weights[order]), model)


@pytest.mark.parametrize("case", ["edge", "energy"])
def test_the_order_of_pairs_and_of_rows(case):
    X, _, _, _ = documents()
    rng = np.random.default_rng(1)
    pairs = np.unique(rng.integers(300, size=(400, 2)), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    weights = rng.random(len(pairs))
    model = make(case).fit_pairs(X, pairs, weights)
    shuffled = rng.permutation(len(pairs))
    same(make(case).fit_pairs(X, pairs[shuffled], weights[shuffled]), model)
    order = rng.permutation(300)
    position = np.argsort(order)
    same(make(case).fit_pairs(X[order], position[pairs], weights), model)


@pytest.mark.parametrize("case", ["edge", "energy", "feature", "tree"])
def test_threads(backend, case):
    # More than twice 4,096 rows, so that two threads share the rows as well as the columns.
    backend("numba")
    X, y, qid, weights = documents(9001, n_queries=90)
    y[:4000] = np.random.default_rng(0).normal(size=4000)  # many grades, and continuous ones
    rounds = 3 if case == "energy" else 8
    first, second = (make(case, rounds, n_jobs=n_jobs).fit(X, y, qid, weights) for n_jobs in (1, 2))
    same(first, second)
    np.testing.assert_array_equal(first.history_["ranking_loss"], second.history_["ranking_loss"])


@pytest.mark.parametrize("name", ["numpy", "numba"])
@pytest.mark.parametrize("case", ["edge", "energy", "increasing"])
def test_lists_of_any_length_and_many_grades(backend, case, name):
    rng = np.random.default_rng(2)
    sizes = [1, 2, 300, 7, 1, 40]
    qid = rng.permutation(np.repeat(list("abcdef"), sizes))
    y = np.round(rng.normal(size=len(qid)) * 8)
    X = np.column_stack([rng.normal(size=(len(qid), 2)), y + rng.normal(size=len(qid)) * 20])
    backend("numpy")
    expected = make(case).fit(X, y, qid)
    backend(name)
    order = rng.permutation(len(qid))
    same(make(case, n_jobs=2).fit(X[order], y[order], qid[order]), expected)


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_dense_and_sparse_tables(backend, name):
    backend(name)
    X, y, qid, weights = documents()
    X = np.where(np.isnan(X), 0.0, X)
    X[:, 4] = np.where(X[:, 4] > 1.5, X[:, 4], 0.0)
    for case in ("edge", "energy", "increasing", "feature"):
        model = make(case).fit(X, y, qid, weights)
        same(make(case).fit(sparse.csr_matrix(X), y, qid, weights), model)
        same(make(case).fit(pd.DataFrame(X), y, qid, weights), model)


@pytest.mark.parametrize("learner", ["stump", "product", "tree", Indicator(), Product(Indicator())])
def test_categorical_columns(backend, learner):
    X, y, qid, weights = documents()
    rng = np.random.default_rng(4)
    strings = np.array(list("pqrst"))
    frame = pd.DataFrame(
        {"a": pd.Categorical(strings[rng.integers(5, size=300)]), "b": strings[y.astype(int)]}
    )
    frame.loc[rng.random(300) < 0.4, "b"] = "p"
    if isinstance(learner, str):
        frame["x"] = X[:, 3]
    models = []
    for name in ("numpy", "numba"):
        backend(name)
        models.append(RankBoost(learner, n_rounds=12).fit(frame, y, qid, weights))
    same(*models)


def test_going_on_with_missing_values_on_the_other_side(backend):
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=60)
    X = rng.integers(5, size=(60, 3)) + 0.5 * y[:, None]
    X[rng.random(X.shape) < 0.4] = np.nan
    models = []
    for name in ("numpy", "numba"):
        backend(name)
        model = RankBoost(n_rounds=30, warm_start=True, missing="low", learning_rate=1.0).fit(X, y)
        models.append(model.set_params(n_rounds=60, missing="high").fit(X, y))
    same(*models)


@pytest.mark.parametrize("seed", [41, 42, 134])
def test_rules_that_differ_on_missing_values_only(backend, seed):
    # In some rounds no document that is looked at has a missing value.
    rng = np.random.default_rng(seed)
    X = rng.integers(4, size=(6, 4)).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    models = []
    for name in ("numpy", "numba"):
        backend(name)
        model = RankBoost(
            n_rounds=60,
            monotonic_cst="increasing",
            learning_rate=0.5,
            subsample=0.5,
            random_state=seed,
        )
        models.append(model.fit(X, [0, 1, 2, 0, 1, 2]))
    same(*models)


def listed(y, qid, pair_weight, query_weight, weights, factors):
    """Return all pairs and their weights."""
    power = {"pairs": 0.0, "root": 0.5, "equal": 1.0}[query_weight]
    pairs, sizes = [], []
    for number, q in enumerate(np.unique(qid)):
        mine = np.flatnonzero(qid == q)
        worse, better = np.nonzero(y[mine][:, None] < y[mine])
        worse, better = mine[worse], mine[better]
        size = weights[worse] * weights[better]
        size = size * (y[better] - y[worse] if pair_weight == "difference" else 1.0)
        if len(size):
            pairs.append(np.column_stack([worse, better]))
            sizes.append(factors[number] * size / size.sum() ** power)
    return np.concatenate(pairs), np.concatenate(sizes)


@pytest.mark.parametrize("pair_weight", ["equal", "difference"])
@pytest.mark.parametrize("query_weight", ["pairs", "root", "equal"])
@pytest.mark.parametrize("kind", ["plain", "rows", "queries"])
def test_grades_and_their_pairs_give_the_same_model(pair_weight, query_weight, kind):
    X, y, qid, weights = documents(80, n_queries=4)
    ones, factors = np.ones(80), np.array([1.0, 2.0, 0.5, 3.0])
    sample_weight = {"plain": None, "rows": weights, "queries": factors}[kind]
    document_weights = weights if kind == "rows" else ones
    pairs, sizes = listed(
        y, qid, pair_weight, query_weight, document_weights, factors if kind == "queries" else ones
    )
    for options in ({}, {"criterion": "energy"}, {"monotonic_cst": "none", "learning_rate": 1.0}):
        model = RankBoost(
            n_rounds=15, pair_weight=pair_weight, query_weight=query_weight, **options
        ).fit(X, y, qid, sample_weight)
        other = RankBoost(n_rounds=15, **options).fit_pairs(X, pairs, sizes)
        for name in ("columns", "thresholds", "missing", "votes"):
            ours, theirs = getattr(model.fitted_.terms, name), getattr(other.fitted_.terms, name)
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        np.testing.assert_allclose(
            model.fitted_.terms.alphas, other.fitted_.terms.alphas, rtol=1e-10
        )
        for name in ("edge", "energy", "bound", "ranking_loss"):
            np.testing.assert_allclose(
                model.history_[name], other.history_[name], rtol=0, atol=1e-12, err_msg=name
            )
