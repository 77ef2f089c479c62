"""The history of the columns that rounds searched, and of the work that was saved."""

import numpy as np
import pytest

from edgewise import (
    UCB,
    AdaBoostMH,
    Exp3P,
    Haar,
    Lazy,
    Product,
    RankBoost,
    Search,
    Stump,
    ThompsonSampling,
    Tree,
)

SEARCHES = [Lazy(3), UCB(3), Exp3P(3), ThompsonSampling(3)]
every_search = pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s).__name__)


class First(Search):
    """Always the first column."""

    def pull(self, n=None):
        return self.columns_[:1]


def rows(n=120, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=n), [-0.6, 0.6])


def test_every_column_is_nothing_saved():
    for learner, decisions in (("stump", 1), ("product", None), ("tree", None), ("auto", None)):
        history = (
            AdaBoostMH(learner, preset="paper", n_rounds=5, subsample=1.0, loss="logistic")
            .fit(*rows())
            .history_
        )
        assert (history["saved"] == 0.0).all()
        assert (history["columns"] % 12 == 0).all()
        assert decisions is None or (history["columns"] == 12 * decisions).all()


@every_search
def test_stumps_look_at_k_columns(search):
    history = (
        AdaBoostMH("stump", preset="paper", search=search, n_rounds=10, random_state=0)
        .fit(*rows())
        .history_
    )
    assert (history["columns"] == 3).all()
    np.testing.assert_allclose(history["saved"], 0.75)


@every_search
def test_rankers_look_at_k_columns(search):
    X, y = rows()
    model = RankBoost(search=search, n_rounds=10, random_state=0).fit(X, y, np.arange(120) // 12)
    assert (model.history_["columns"] == 3).all()
    np.testing.assert_allclose(model.history_["saved"], 0.75)


@every_search
@pytest.mark.parametrize(
    "learner", [Product(n_terms=3), Tree(max_leaf_nodes=5), [Stump(), Product()]], ids=str
)
def test_every_decision_counts(search, learner):
    history = (
        AdaBoostMH(learner, preset="paper", search=search, n_rounds=10, random_state=0)
        .fit(*rows())
        .history_
    )
    # A term of a product that is fitted again has its own column among those looked at.
    assert (history["columns"] >= 6).all()
    assert ((history["saved"] >= 1 - 4 / 12 - 1e-12) & (history["saved"] <= 0.75)).all()


def test_columns_without_information_do_not_count():
    X, y = rows()
    X[:, 3:] = 1.0
    history = (
        AdaBoostMH("stump", preset="paper", search=Lazy(2), n_rounds=4, random_state=0)
        .fit(X, y)
        .history_
    )
    assert (history["columns"] == 2).all()
    np.testing.assert_allclose(history["saved"], 1 / 3)
    X[:] = np.nan
    history = (
        AdaBoostMH("stump", preset="paper", search=Lazy(2), n_rounds=4, random_state=0)
        .fit(X, y)
        .history_
    )
    assert (history["columns"] == 0).all()
    assert (history["saved"] == 0.0).all()


def test_a_round_that_falls_back_counts_both_looks():
    # The first column tells nothing, and the constant has no edge either.
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model = AdaBoostMH(Stump(constant=False), preset="paper", search=First(), n_rounds=1).fit(
        X, [0, 0, 1, 1]
    )
    assert model.fitted_.terms.columns.ravel().tolist() == [1]
    assert model.history_["columns"].tolist() == [3]
    assert model.history_["saved"].tolist() == [0.0]


def test_filters_are_counted():
    X = np.random.default_rng(0).normal(size=(60, 16))
    y = np.arange(60) % 3
    model = AdaBoostMH(
        Haar((4, 4)), preset="paper", search=UCB(10), n_rounds=5, random_state=0
    ).fit(X, y)
    assert (model.history_["columns"] == 10).all()
    assert (model.history_["saved"] > 0.5).all()


@pytest.mark.parametrize("sampling", ["uniform", "weight"])
def test_rows_left_out_are_saved(sampling):
    X, y = rows()
    model = AdaBoostMH(
        "stump", preset="paper", subsample=0.25, sampling=sampling, n_rounds=5, random_state=0
    )
    history = model.fit(X, y).history_
    np.testing.assert_allclose(history["saved"], 0.75)
    history = model.set_params(search=Lazy(3)).fit(X, y).history_
    np.testing.assert_allclose(history["saved"], 1 - 0.25 * 0.25)


def test_queries_left_out_are_saved():
    X, y = rows()
    model = RankBoost(subsample=0.5, n_rounds=5, random_state=0).fit(X, y, np.arange(120) // 12)
    np.testing.assert_allclose(model.history_["saved"], 0.5)
