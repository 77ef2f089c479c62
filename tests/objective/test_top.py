"""The top of the list: weights of pairs, their bound, twins and models."""

import itertools

import numpy as np
import pytest

from edgewise import Feature, RankBoost, Stump, Tree, metrics
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode
from edgewise.estimators.judgments import graded_layout
from edgewise.model import Linear
from edgewise.objective.top import Top, TopLists

N = 240


@pytest.fixture(scope="module")
def lists():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(12), 20)
    X = rng.normal(size=(N, 5)).round(1)
    y = np.clip(np.rint(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=N)), 0, 3)
    return X, y, qid


def top_of(y, qid, metric, k, weights=None):
    layout = graded_layout(np.arange(len(y)), y, qid, "equal", weights)
    return TopLists.of(layout, y[layout.rows], np.ones(layout.n_queries), metric, k)


@pytest.fixture(scope="module")
def backends():
    table = fit_encode(as_table(np.random.default_rng(1).normal(size=(N, 2))), None, 16)
    return ReferenceBackend(table), NumbaBackend(table), NumbaBackend(table, 2)


@pytest.mark.parametrize("metric", ["ndcg", "map"])
@pytest.mark.parametrize("k", [1, 3, 30])
def test_backends_and_row_orders_give_the_same_numbers(backends, metric, k):
    rng = np.random.default_rng(k)
    for case in range(4):
        # Long lists are sorted in another way than short ones.
        qid = np.sort(rng.integers(0, 2 if case > 1 else 11, 600))
        y, weights = rng.integers(0, 4, 600).astype(float), rng.uniform(0.1, 3.0, 600)
        scores = np.round(rng.normal(size=600) * 2, 0 if case % 2 else 3)
        top = top_of(y, qid, metric, k, weights if case % 2 else None)
        plain, *others = (
            backend.pairs.weigh_top(top, scores[top.layout.rows]) for backend in backends
        )
        for other in others:
            for expected, actual in zip(plain, other, strict=True):
                assert np.array_equal(expected, actual)
        order = rng.permutation(600)
        again = top_of(y[order], qid[order], metric, k, weights[order] if case % 2 else None)
        moved = backends[0].pairs.weigh_top(again, scores[order][again.layout.rows])
        by_row, shuffled = np.empty(600), np.empty(600)
        by_row[top.layout.rows] = plain.potentials
        shuffled[order[again.layout.rows]] = moved.potentials
        assert np.array_equal(by_row, shuffled)


def test_losses_are_what_the_metrics_lack(backends, lists):
    _, y, qid = lists
    scores = np.random.default_rng(2).normal(size=N)
    for metric, k, value in (
        ("ndcg", 5, metrics.ndcg(y, scores, qid, k=5)),
        ("map", 30, metrics.mean_average_precision(y, scores, qid)),
    ):
        top = top_of(y, qid, metric, k)
        sums = backends[0].pairs.weigh_top(top, scores[top.layout.rows])
        assert 1.0 - sums.losses.sum() == pytest.approx(value, abs=1e-9)


def test_weights_are_the_changes_of_the_metric_and_bound_its_loss(backends):
    for k, grades in itertools.product((2, 6), itertools.product((0.0, 1.0, 2.0), repeat=5)):
        y = np.array(grades)
        if y.max() == y.min():
            continue
        qid, scores = np.zeros(5, dtype=int), np.arange(5.0, 0.0, -1.0)
        top = top_of(y, qid, "ndcg", k)
        sums = backends[0].pairs.weigh_top(top, scores[top.layout.rows])
        now, bound = metrics.ndcg(y, scores, qid, k=k), 0.0
        for i, j in itertools.combinations(range(5), 2):
            swapped = scores.copy()
            swapped[[i, j]] = scores[[j, i]]
            change = metrics.ndcg(y, swapped, qid, k=k) - now
            wrong = 1.0 / (1.0 + np.exp((scores[i] - scores[j]) * np.sign(y[i] - y[j])))
            bound += 2.0 * abs(change) * wrong
        assert sums.bounds.sum() == pytest.approx(bound, abs=1e-9)
        assert sums.losses.sum() <= sums.bounds.sum() + 1e-12


def test_the_bound_of_average_precision(backends):
    for relevant in itertools.product((0.0, 1.0), repeat=9):
        y = np.array(relevant)
        if y.max() == y.min():
            continue
        top = top_of(y, np.zeros(9, dtype=int), "map", 9)
        sums = backends[0].pairs.weigh_top(top, np.arange(9.0, 0.0, -1.0)[top.layout.rows])
        assert sums.losses.sum() <= sums.bounds.sum() + 1e-9


@pytest.mark.parametrize("objective", ["ndcg", "ndcg@3", "map"])
def test_every_learner_raises_the_metric(lists, objective):
    X, y, qid = lists
    metric = "map" if objective == "map" else "ndcg"
    for learner in ("stump", "product", "tree", "feature", [Stump(), Tree(Stump(), 4)]):
        model = RankBoost(learner, objective=objective, n_rounds=30, eval_metric=metric)
        history = model.fit(X, y, qid=qid).history_
        assert (history["ranking_loss"] <= history["bound"]).all()
        assert (history["energy"] < 1).all()
        assert history["ranking_loss"][-1] < history["ranking_loss"][0]
        assert model.score(X, y, qid) > 0.7


def test_the_same_model_for_any_backend_threads_and_order(lists, monkeypatch):
    X, y, qid = lists
    order = np.random.default_rng(3).permutation(N)
    settings = {"learner": "tree", "objective": "ndcg", "n_rounds": 10}
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")
    plain = RankBoost(**settings).fit(X, y, qid=qid).predict(X)
    shuffled = RankBoost(**settings).fit(X[order], y[order], qid=qid[order]).predict(X)
    monkeypatch.setenv("EDGEWISE_BACKEND", "numba")
    compiled = RankBoost(n_jobs=2, **settings).fit(X, y, qid=qid).predict(X)
    assert np.array_equal(plain, shuffled)
    assert np.array_equal(plain, compiled)


def test_going_on_as_if_training_had_not_stopped(lists):
    X, y, qid = lists
    full = RankBoost("tree", objective="ndcg", n_rounds=8).fit(X, y, qid=qid)
    model = RankBoost("tree", objective="ndcg", n_rounds=4, warm_start=True).fit(X, y, qid=qid)
    model.set_params(n_rounds=8).fit(X, y, qid=qid)
    assert np.array_equal(model.predict(X), full.predict(X))


def test_what_does_not_go_together(lists):
    X, y, qid = lists

    def refused(message, **settings):
        with pytest.raises(ValueError, match=message):
            RankBoost(n_rounds=2, **settings).fit(X, y, qid=qid)

    refused("objective must be one of", objective="top")
    refused("objective must be one of", objective="ndcg@0")
    refused("objective must be one of", objective="pairs@3")
    refused("criterion='energy'", objective="ndcg", criterion="energy")
    rises = {"objective": "map", "monotonic_cst": "increasing"}
    refused("monotonic_cst='increasing'", learner="feature", **rises)
    with pytest.raises(ValueError, match="y must be from 0 to"):
        RankBoost(objective="ndcg", n_rounds=2).fit(X, y - 1, qid=qid)
    with pytest.raises(ValueError, match="needs grades"):
        RankBoost(objective="ndcg", n_rounds=2).fit_pairs(X, [[0, 1]])
    model = RankBoost(Feature(), objective="ndcg", n_rounds=2).fit(X, y, qid=qid)
    assert model.n_rounds_ == 2


def test_the_outputs_of_columns_are_scaled_once_beside_rules_that_are_new_in_each_round(
    lists, monkeypatch
):
    X, y, qid = lists
    scaled, scale = [], Top._scale

    def count(self, rule):
        scaled.append(rule)
        return scale(self, rule)

    monkeypatch.setattr(Top, "_scale", count)
    learners = [Stump(constant=False), Feature()]
    RankBoost(learners, n_rounds=5, objective="ndcg").fit(X, y, qid=qid)
    columns = [rule for rule in scaled if isinstance(rule, Linear)]
    # Each of the 5 columns once, then the best of each round when compared with the best cut, and
    # when it is taken.
    assert len(columns) <= 5 + 2 * 5
