"""Constraints on columns give the same bits in one call, node by node, and on any backend."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.backend.test_rounds import Leaping, OneByOne
from tests.backend.test_trees import AtOnce, assert_same, categories_of, node_by_node, table_of

from edgewise import AdaBoostMH, Indicator, RankBoost, Stump, Tree
from edgewise.backend.choose import use_backend
from edgewise.backend.numba import trees
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend

rows = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(20, 120),
        "d": st.integers(2, 7),
        "levels": st.sampled_from([2, 5, 40]),
        "missing": st.sampled_from([0.0, 0.3]),
        "n_labels": st.sampled_from([1, 3]),
    }
)


def problem(seed, n, d, levels, missing, n_labels):
    """Return rows, labels, weights, directions of the columns, and sets of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(table_of(rng, n, d, levels, missing)).add_prefix("x")
    X = X.join(categories_of(rng, n, [3, 8], missing))
    y = rng.integers(2, size=(n, n_labels))
    y[:2] = [[0] * n_labels, [1] * n_labels]
    directions = [*rng.integers(-1, 2, size=d), 0, 0]
    sets = [rng.permutation(d + 2)[: rng.integers(1, d + 2)].tolist() for _ in range(3)]
    weights = rng.integers(1, 5, size=n).astype(float)
    constraints = {"monotonic_cst": directions, "interaction_cst": sets}
    return X, y[:, 0] if n_labels == 1 else y, weights, constraints


def fit(backend, X, y, weights, n_jobs=1, **settings):
    with use_backend(backend):
        return AdaBoostMH(random_state=0, n_jobs=n_jobs, **settings).fit(
            X, y, sample_weight=weights
        )


def reference(table, n_jobs):
    return ReferenceBackend(table)


@given(
    rows,
    st.sampled_from([1.0, 0.6]),
    st.sampled_from(["gain", "edge"]),
    st.sampled_from(["learn", "low", "high"]),
)
@settings(max_examples=30, deadline=None)
def test_trees_are_the_same(shape, subsample, criterion, missing):
    X, y, weights, constraints = problem(**shape)
    learner = Tree([Stump(missing=missing), Indicator()], 7, "free", criterion)
    given_settings = {
        "learner": learner, "votes": "real", "loss": "logistic", "n_rounds": 4, "n_bags": 1,
        "subsample": subsample, "damping": 0.5, "min_samples_leaf": 4, **constraints,
    }  # fmt: skip
    backends = (lambda table, n_jobs: AtOnce(table), node_by_node, OneByOne, Leaping)
    first, *others = (fit(backend, X, y, weights, **given_settings) for backend in backends)
    for other in others:
        assert_same(first, other)


@given(rows, st.sampled_from(["discrete", "real", "abstain"]), st.booleans())
@settings(max_examples=30, deadline=None)
def test_stumps_and_trees_of_the_papers_are_the_same(shape, votes, are_trees):
    X, y, weights, constraints = problem(**shape)
    given_settings = {"preset": "paper", "votes": votes, "n_rounds": 5, **constraints}
    learner = "tree" if are_trees else "stump"
    models = [
        fit(backend, X, y, weights, learner=learner, **given_settings)
        for backend in (NumbaBackend, reference)
    ]
    assert_same(*models)


@given(rows)
@settings(max_examples=15, deadline=None)
def test_a_stump_for_each_label_is_the_same(shape):
    X, y, weights, constraints = problem(**{**shape, "n_labels": 3})
    numbers = X.select_dtypes("number")
    given_settings = {"preset": "paper", "factorized": False, "n_rounds": 5}
    given_settings["monotonic_cst"] = constraints["monotonic_cst"][: numbers.shape[1]]
    models = [
        fit(backend, numbers, y, weights, learner="stump", **given_settings)
        for backend in (NumbaBackend, reference)
    ]
    assert_same(*models)


@given(rows)
@settings(max_examples=15, deadline=None)
def test_rankers_are_the_same(shape):
    X, y, _, constraints = problem(**{**shape, "n_labels": 1})
    for objective in ("pairs", "ndcg"):
        models = []
        for backend in (NumbaBackend, reference):
            with use_backend(backend):
                model = RankBoost("tree", objective=objective, n_rounds=4, **constraints)
                models.append(model.fit(X, y, np.arange(len(X)) // 10))
        assert_same(*models)


def test_several_rounds_are_trained_in_one_call():
    X, y, weights, constraints = problem(0, 300, 4, 30, 0.1, 1)
    Leaping.count = 0
    leaping, one_by_one = (
        fit(backend, X, y, weights, n_rounds=40, n_bags=1, **constraints)
        for backend in (Leaping, OneByOne)
    )
    assert Leaping.count > 20
    assert_same(leaping, one_by_one)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_on_threads_the_model_is_the_same(monkeypatch, n_labels):
    monkeypatch.setattr(trees, "_THREADS_FROM", 0)
    monkeypatch.setattr(trees, "_SPAN", 10)
    X, y, weights, constraints = problem(1, 400, 6, 40, 0.1, n_labels)
    first, *others = (
        fit(NumbaBackend, X, y, weights, n_jobs, n_rounds=12, **constraints) for n_jobs in (1, 2, 3)
    )
    for other in others:
        assert_same(first, other)
