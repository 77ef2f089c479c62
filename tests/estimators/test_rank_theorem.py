"""Theorem 1 of Iyer 1999 at every round: the bound, what it is made of, and what it bounds."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import Lazy, RankBoost, Stump
from edgewise.theory import training_loss_bound

POWERS = {"pairs": 0.0, "root": 0.5, "auto": 0.5, "equal": 1.0}


def documents(seed, n=40, n_queries=3, missing=True):
    """Return X, grades and queries that X says something about; queries are unsorted words."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    y[:2] = 0, 2
    X = rng.normal(size=(n, 4)) + y[:, None] * [1.0, -0.5, 0.3, 0.0]
    X[:, 1] = np.round(X[:, 1])
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    qid = rng.choice(list("zyxwv")[:n_queries], size=n)
    qid[:2] = "z"
    return X, y, qid


def pairs_of(y, qid, pair_weight="auto", query_weight="auto", weights=None):
    """Return arrays (worse, better, D) of all pairs; D sums to 1."""
    document_weights = np.ones(len(y)) if weights is None else weights
    worse, better, sizes = [], [], []
    for q in np.unique(qid):
        mine = np.flatnonzero(qid == q)
        i, j = (grid.ravel() for grid in np.meshgrid(mine, mine))
        i, j = i[y[i] < y[j]], j[y[i] < y[j]]
        pair_weights = (
            document_weights[i]
            * document_weights[j]
            * (1.0 if pair_weight == "equal" else y[j] - y[i])
        )
        worse.append(i)
        better.append(j)
        sizes.append(pair_weights / max(pair_weights.sum(), 1e-300) ** POWERS[query_weight])
    D = np.concatenate(sizes)
    return np.concatenate(worse), np.concatenate(better), D / D.sum()


def assert_theorem(model, X, pairs):
    """Recompute the history from the scores after each round."""
    worse, better, D = pairs
    history, before = model.history_, 1.0
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_rounds_ == history.n_rounds > 0
    for t, H in enumerate(stages):
        apart = H[worse] - H[better]
        apart[np.abs(apart) < 1e-12] = 0.0  # sums of the same numbers in another order
        loss = math.fsum(D * ((apart > 0) + 0.5 * (apart == 0)))
        left = math.fsum(D * np.exp(apart))
        assert history["ranking_loss"][t] == pytest.approx(loss, abs=1e-12)
        assert history["bound"][t] == pytest.approx(left, rel=1e-10)
        assert history["energy"][t] == pytest.approx(left / before, rel=1e-10)
        # With ties in full, as the theorem has them, too.
        assert math.fsum(D * (apart >= 0)) <= history["bound"][t]
        before = left
    assert (history["ranking_loss"] <= history["bound"]).all()
    assert (history["energy"] < 1.0).all()
    np.testing.assert_allclose(history["bound"], np.cumprod(history["energy"]), rtol=1e-12)
    np.testing.assert_allclose(history["bound"], training_loss_bound(history["energy"]), rtol=1e-12)


CASES = {
    "default": {},
    "whole steps": {"learning_rate": 1.0},
    "second method": {"criterion": "energy", "learning_rate": 1.0},
    "exact steps": {"step": "exact"},
    "free": {"monotonic_cst": "none", "learning_rate": 1.0},
    "increasing": {"monotonic_cst": "increasing"},
    "low": {"missing": "low"},
    "high": {"missing": "high"},
    "abstaining": {"learner": Stump(constant=False, missing="abstain")},
    "abstaining exactly": {"learner": Stump(missing="abstain"), "step": "exact"},
    "equal pairs": {"pair_weight": "equal", "query_weight": "pairs"},
    "equal queries": {"query_weight": "equal"},
    "product": {"learner": "product"},
    "tree": {"learner": "tree", "learning_rate": 0.1},
    "feature": {"learner": "feature", "learning_rate": 1.0},
    "lazy": {"search": Lazy(1), "random_state": 0},
    "sampled": {"subsample": 0.5, "random_state": 0},
    "lazy and sampled": {"search": Lazy(1), "subsample": 0.3, "random_state": 0},
    "few bins": {"max_bins": 3},
}


@pytest.mark.parametrize("case", CASES)
def test_theorem_1(case):
    settings = {"n_rounds": 25, **CASES[case]}
    for seed in range(3):
        X, y, qid = documents(seed)
        model = RankBoost(**settings).fit(X, y, qid)
        pairs = pairs_of(y, qid, model.pair_weight, model.query_weight)
        assert_theorem(model, X, pairs)


@pytest.mark.parametrize("query_weight", list(POWERS))
@pytest.mark.parametrize("pair_weight", ["equal", "difference"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_theorem_1_with_weights(monkeypatch, backend, pair_weight, query_weight):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y, qid = documents(7, n=60)
    weights = np.random.default_rng(7).exponential(size=60)
    model = RankBoost(n_rounds=30, pair_weight=pair_weight, query_weight=query_weight)
    model.fit(X, y, qid, sample_weight=weights)
    assert_theorem(model, X, pairs_of(y, qid, pair_weight, query_weight, weights))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_theorem_1_on_a_long_list(monkeypatch, backend):
    # Long enough that the compiled loss is summed by merging.
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y, qid = documents(3, n=330, n_queries=1)
    model = RankBoost(n_rounds=25).fit(X, y, qid)
    assert_theorem(model, X, pairs_of(y, qid))


@pytest.mark.parametrize("criterion", ["edge", "energy"])
def test_theorem_1_of_pairs(criterion):
    # Preferences that no ranking fulfils.
    X, _, _ = documents(1, n=12)
    pairs = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [5, 3], [4, 6], [7, 8], [9, 10], [11, 9]])
    weights = np.arange(1.0, 10.0)
    model = RankBoost(n_rounds=20, criterion=criterion).fit_pairs(X, pairs, weights)
    assert_theorem(model, X, (*pairs.T, weights / weights.sum()))


def test_theorem_1_with_categorical_columns():
    X, y, qid = documents(2, n=60)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        c=pd.Categorical(np.array(list("stuv"))[np.random.default_rng(0).integers(4, size=60)])
    )
    for learner in ("stump", "product", "tree"):
        model = RankBoost(learner, n_rounds=20).fit(frame, y, qid)
        assert_theorem(model, frame, pairs_of(y, qid))


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans())
def test_a_whole_step_of_the_third_method_leaves_at_most_its_bound(seed, free):
    # Z <= sqrt(1 - r^2), eq. 4.6; signs that must be kept shorten some steps.
    X, y, qid = documents(seed, n=20)
    model = RankBoost(n_rounds=15, learning_rate=1.0, monotonic_cst="none" if free else "learn")
    history = model.fit(X, y, qid).history_
    usual = np.abs(history["edge"]) < 0.998  # past that a step is cut to a finite length
    bound = np.sqrt(1 - history["edge"] ** 2)
    assert (history["energy"][usual] <= bound[usual] + 1e-12).all()


def test_the_edge_is_that_of_the_rule_under_the_weights_of_its_round():
    X, y, qid = documents(5)
    model = RankBoost(n_rounds=20, learning_rate=1.0).fit(X, y, qid)
    worse, better, D = pairs_of(y, qid)
    before = np.zeros(len(X))
    for t, H in enumerate(model.staged_predict(X)):
        weights = D * np.exp(before[worse] - before[better])
        h = (H - before) / (2 * model.fitted_.terms.coefficients[t, 0])  # 0 or 1
        r = (weights * (h[better] - h[worse])).sum() / weights.sum()
        assert model.history_["edge"][t] == pytest.approx(r, abs=1e-10)
        size = 0.5 * math.log((1 + abs(r)) / (1 - abs(r)))
        assert 2 * model.history_["alpha"][t] == pytest.approx(size, rel=1e-9)
        before = H
