"""Measures of lists against scikit-learn's, and against the metrics on whole lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from edgewise import Ratings, Recommender, metrics
from edgewise.recommend import evaluate
from edgewise.recommend.evaluation import catalog


class Drawn(Recommender):
    """Scores drawn at random, with ties if there are few of them."""

    predicts = "score"

    def __init__(self, seed=0, n_values=0):
        self.seed = seed
        self.n_values = n_values

    def _fit(self, ratings):
        rng = np.random.default_rng(self.seed)
        shape = ratings.n_users, ratings.n_items
        self.said_ = rng.normal(size=shape)
        if self.n_values:
            self.said_ = rng.integers(self.n_values, size=shape).astype(float)

    def _pair_scores(self, users, items):
        return self.said_[users, items]


def split(seed, n_users=20, n_items=30):
    rng = np.random.default_rng(seed)
    shape = n_users, n_items
    table = np.where(rng.random(shape) < 0.5, rng.integers(1, 6, shape), 0)
    table[0, :2] = 1, 5  # the scale
    return Ratings.from_matrix(table).split(0.4, random_state=seed)


def lists_of(model, train, test):
    """Yield the relevance and the scores of all that a user has not rated in training."""
    relevant = np.zeros((train.n_users, train.n_items), dtype=bool)
    relevant[test.users, test.items] = test.values >= 4
    seen = train.csr().toarray() != 0
    known = train.by_item.sizes > 0
    for user in np.unique(test.users[test.values >= 4]):
        scores = np.where(known, model.said_[user], -1e9)[~seen[user]]
        yield user, relevant[user, ~seen[user]], scores


@pytest.mark.parametrize("seed", range(5))
def test_against_scikit_learn(seed):
    train, test = split(seed)
    assert (train.by_item.sizes > 0).all()
    model = Drawn(seed).fit(train)
    found = evaluate(model, test, ["ndcg@5", "ndcg@100", "map", "auc"])
    lists = [(good, scores) for _, good, scores in lists_of(model, train, test)]
    for k in (5, 100):
        expected = np.mean([ndcg_score([good], [scores], k=k) for good, scores in lists])
        assert found[f"ndcg@{k}"] == pytest.approx(expected, rel=1e-12)
    expected = np.mean([average_precision_score(good, scores) for good, scores in lists])
    assert found["map"] == pytest.approx(expected, rel=1e-12)
    expected = np.mean([roc_auc_score(good, scores) for good, scores in lists])
    assert found["auc"] == pytest.approx(expected, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 35))
def test_with_ties_against_the_metrics_on_whole_lists(seed, n_values, k):
    train, test = split(seed % 7)
    model = Drawn(seed, n_values).fit(train)
    names = ["ndcg", "precision", "recall", "hit_rate", "success", "map", "mrr", "auc"]
    found = evaluate(model, test, names, k=k)
    rows = list(lists_of(model, train, test))
    qid = np.concatenate([np.full(len(good), user) for user, good, _ in rows])
    y = np.concatenate([good for _, good, _ in rows]).astype(float)
    scores = np.concatenate([scores for _, _, scores in rows])
    expected = {
        f"ndcg@{k}": metrics.ndcg(y, scores, qid, k=k),
        f"precision@{k}": metrics.precision_at(y, scores, qid, k=k),
        f"recall@{k}": metrics.recall_at(y, scores, qid, k=k),
        f"hit_rate@{k}": metrics.success_at(y, scores, qid, k=k),
        f"success@{k}": metrics.success_at(y, scores, qid, k=k),
        "map": metrics.mean_average_precision(y, scores, qid),
        "mrr": metrics.mean_reciprocal_rank(y, scores, qid),
        "auc": metrics.grouped_auc(y, scores, qid),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-10), name


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_values", [0, 3])
def test_whole_lists_give_what_positions_give(seed, n_values, monkeypatch):
    train, test = split(seed)
    # Some items have no rating in training: they are on no list.
    train = train.take(~np.isin(train.items, [3, 4, 5]))
    model = Drawn(seed, n_values).fit(train)
    names = ["ndcg@4", "precision@4", "recall@4", "success@4", "map", "mrr"]
    by_position = evaluate(model, test, names)
    monkeypatch.setattr(catalog, "_BY_POSITION", ())
    whole = evaluate(model, test, names)
    for name in names:
        assert whole[name] == pytest.approx(by_position[name], rel=1e-12), name


@pytest.mark.parametrize("seed", range(3))
def test_any_metric_of_the_registry_can_be_named(seed):
    train, test = split(seed)
    model = Drawn(seed).fit(train)
    lists = [(good, scores) for _, good, scores in lists_of(model, train, test)]
    for name, metric in (("rprec", metrics.r_precision), ("bpref", metrics.bpref)):
        expected = np.mean([metric(good, scores) for good, scores in lists])
        assert evaluate(model, test, name)[name] == pytest.approx(expected, rel=1e-12)


def test_items_without_a_score_stand_below_all_others():
    train, test = split(3)
    rare = np.isin(train.items, [3, 4, 5])
    train = train.take(~rare)
    model = Drawn(1).fit(train)
    rows = list(lists_of(model, train, test))
    expected = np.mean([roc_auc_score(good, scores) for _, good, scores in rows])
    assert evaluate(model, test, "auc")["auc"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("entries", [1, 70, 300])
def test_blocks_of_users_change_nothing(monkeypatch, entries):
    train, test = split(2)
    model = Drawn(5, n_values=4).fit(train)
    whole = evaluate(model, test)
    monkeypatch.setattr(catalog, "_ENTRIES", entries)
    parts = evaluate(model, test)
    for name, value in whole.items():
        np.testing.assert_allclose(parts[name], value, rtol=1e-12, err_msg=name)


def test_lists_are_those_that_are_recommended():
    train, test = split(4)
    model = Drawn(2, n_values=3).fit(train)
    users = np.unique(test.users)
    lists = [one.ids for one in model.recommend(users, n=7)]
    names = ["catalog_coverage", "novelty", "diversity", "average_popularity", "gini"]
    found = evaluate(model, test, names, k=7)
    counts, vectors = train.by_item.sizes, train.csr().T.toarray()
    expected = {
        "catalog_coverage@7": metrics.catalog_coverage(lists, train.n_items),
        "novelty@7": metrics.novelty(lists, counts, train.n_users),
        "diversity@7": metrics.diversity(lists, vectors),
        "average_popularity@7": np.mean([counts[one].mean() / train.n_users for one in lists]),
        "gini@7": metrics.gini(lists, train.n_items),
    }
    assert found == pytest.approx(expected)


def test_another_catalog_gives_the_same_values():
    train, test = split(6)
    model = Drawn(3).fit(train)
    users, items = test.user_ids.values[test.users], test.item_ids.values[test.items]
    other = Ratings.from_arrays(users, items, test.values)
    ours, theirs = evaluate(model, test), evaluate(model, other)
    for name, value in ours.items():
        np.testing.assert_allclose(theirs[name], value, rtol=1e-12, err_msg=name)
