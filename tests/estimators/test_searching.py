"""Searches that learn, with every learner: the same model however training is cut into pieces."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

from edgewise import (
    UCB,
    AdaBoostMH,
    Auto,
    Bandit,
    Exhaustive,
    Exp3P,
    Feature,
    Haar,
    Indicator,
    Lazy,
    Product,
    RankBoost,
    Selector,
    Stump,
    ThompsonSampling,
    Tree,
    load,
)

from ..helpers import assert_same_run

POLICIES = [UCB, Exp3P, ThompsonSampling]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.__name__)
every_search = pytest.mark.parametrize("search", [*POLICIES, Lazy], ids=lambda p: p.__name__)


def rows(n=90, d=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random(n) < 0.2, 2] = np.nan
    return X, np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=n), [-0.6, 0.6])


def frame(n=90, seed=0):
    """Return numbers and names."""
    X, y = rows(n, 3, seed)
    rng = np.random.default_rng(seed + 1)
    names = np.array(list("abcdef"))
    table = {f"c{j}": names[(y + rng.integers(5, size=n)) % 6] for j in range(4)}
    return pd.DataFrame({**{f"x{j}": X[:, j] for j in range(3)}, **table}), y


def names_alone(n=90):
    table, y = frame(n)
    return table[[f"c{j}" for j in range(4)]], y


def images(n=60):
    y = np.arange(n) % 3
    X = np.random.default_rng(0).normal(size=(n, 16))
    X[:, :4] += y[:, None]
    return X, y


LEARNERS = {
    "stump": (rows, {"learner": "stump"}),
    "real stump": (rows, {"learner": "stump", "votes": "real"}),
    "stump per class": (rows, {"learner": "stump", "factorized": False}),
    "selector": (names_alone, {"learner": Selector()}),
    "indicator": (names_alone, {"learner": Indicator()}),
    "product": (rows, {"learner": Product(n_terms=3)}),
    "restarts": (rows, {"learner": Product(n_terms=2, restarts=2)}),
    "tree": (rows, {"learner": Tree(max_leaf_nodes=4)}),
    "gain": (
        frame,
        {"learner": Tree(max_leaf_nodes=4, criterion="gain", leaf_votes="free"), "votes": "real"},
    ),
    "auto": (frame, {"learner": "auto"}),
    "list": (frame, {"learner": [Stump(), Indicator(), Product(n_terms=2)]}),
    "tree of products": (rows, {"learner": Tree(Product(n_terms=2), max_leaf_nodes=3)}),
    "filters": (images, {"learner": Haar((4, 4))}),
    "product of filters": (images, {"learner": Product(Haar((4, 4)), n_terms=2)}),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS)


same = partial(assert_same_run, kept=True)


def fit(learner, search, n_rounds=8, **more):
    data, settings = LEARNERS[learner]
    options = {"random_state": 0, **settings, **more}
    return AdaBoostMH(search=search, n_rounds=n_rounds, **options).fit(*data())


# All columns


@cache
def exhaustive(learner):
    return fit(learner, Exhaustive(), 5)


@every_search
@every_learner
def test_a_pull_of_all_columns_is_an_exhaustive_search(learner, search):
    same(exhaustive(learner), fit(learner, search(10_000), 5))


def documents(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=90)
    X = rng.normal(size=(90, 8)) + y[:, None] * np.linspace(1, 0, 8)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, np.arange(90) // 9


RANKERS = {
    "default": {},
    "energy": {"criterion": "energy"},
    "increasing": {"monotonic_cst": "increasing", "learning_rate": 1.0},
    "energy increasing": {"criterion": "energy", "monotonic_cst": "increasing"},
    "product": {"learner": "product"},
    "tree": {"learner": "tree"},
    "feature": {"learner": Feature()},
    "sampled": {"subsample": 0.5},
}


def rank(case, search, n_rounds=8, pairs=False, **more):
    model = RankBoost(search=search, n_rounds=n_rounds, random_state=0, **RANKERS[case], **more)
    return rank_on(model, pairs)


def rank_on(model, pairs=False):
    X, y, qid = documents()
    if not pairs:
        return model.fit(X, y, qid)
    order = np.random.default_rng(1).permutation(90).reshape(45, 2)
    wrong = y[order[:, 0]] > y[order[:, 1]]
    order[wrong] = order[wrong, ::-1]
    return model.fit_pairs(X, order[y[order[:, 0]] != y[order[:, 1]]])


@cache
def exhaustive_ranker(case, pairs):
    return rank(case, Exhaustive(), 5, pairs)


@every_search
@pytest.mark.parametrize("case", RANKERS)
@pytest.mark.parametrize("pairs", [False, True], ids=["grades", "pairs"])
def test_rankers(search, case, pairs):
    same(exhaustive_ranker(case, pairs), rank(case, search(100), 5, pairs))
    few = rank(case, search(2), 10, pairs)
    assert few.n_rounds_ == 10
    assert (few.history_["ranking_loss"] <= few.history_["bound"] + 1e-12).all()
    half = rank(case, search(2), 4, pairs, warm_start=True)
    same(few, rank_on(half.set_params(n_rounds=10), pairs))


# Seeds and threads


@every_search
@pytest.mark.parametrize("learner", ["stump", "product", "gain", "list", "filters"])
def test_the_same_seed_gives_the_same_model(monkeypatch, learner, search):
    models = []
    for backend, n_jobs in (("numpy", 1), ("numba", 1), ("numba", 4)):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        models.append(fit(learner, search(3), 6, n_jobs=n_jobs))
    same(models[0], models[1])
    same(models[0], models[2])


@every_search
def test_another_seed_gives_other_columns(search):
    models = [fit("stump", search(2), 20, random_state=seed, subsample=1.0) for seed in (0, 1)]
    same_columns = np.array_equal(models[0].fitted_.terms.columns, models[1].fitted_.terms.columns)
    # Nothing in upper confidence bounds is random.
    assert same_columns == (search is UCB)


@every_policy
def test_with_trimmed_weights(monkeypatch, policy):
    X, y = rows(300)
    models = []
    for backend in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", backend)
        model = AdaBoostMH(
            "product", preset="paper", search=policy(3), trim=0.6, n_rounds=40, random_state=0
        )
        models.append(model.fit(X, y))
    same(*models)
    assert models[0].history_["saved"].max() > 1 - 4 / 10
    half = AdaBoostMH(
        "product", preset="paper", search=policy(3), trim=0.6, n_rounds=25, random_state=0
    )
    half.set_params(warm_start=True).fit(X, y)
    same(models[0], half.set_params(n_rounds=40).fit(X, y))


@every_policy
def test_the_bound_holds(policy):
    for learner in ("stump", "product", "tree", "auto"):
        history = fit(learner, policy(2), 25).history_
        assert (history["hamming_loss"] <= history["bound"] + 1e-12).all()


@pytest.mark.parametrize("search", [UCB(5), ThompsonSampling(5)], ids=["UCB", "ThompsonSampling"])
def test_a_search_that_learns_finds_the_columns_that_tell(search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 100))
    y = (np.sin(2 * X[:, :5]).sum(axis=1) + 0.3 * rng.normal(size=1500) > 0).astype(int)
    settings = {"learner": "stump", "n_rounds": 150, "random_state": 0}
    model = AdaBoostMH(search=search, **settings).fit(X, y)
    lazy = AdaBoostMH(search=Lazy(5), **settings).fit(X, y)

    def telling(one):
        return (one.fitted_.terms.stumps.columns[50:] < 5).mean()

    assert telling(model) > 2 * telling(lazy)
    assert model.history_["bound"][-1] < lazy.history_["bound"][-1]


def test_where_few_columns_matter_learning_beats_random_columns():
    """1,000 rows to train on and 2,000 to test on; 10 of 400 columns matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 400))
    y = X[:, rng.choice(400, 10, replace=False)].sum(axis=1) > 0

    def error(search):
        model = AdaBoostMH("stump", preset="paper", search=search, n_rounds=80, random_state=0)
        return np.mean(model.fit(X[:1000], y[:1000]).predict(X[1000:]) != y[1000:])

    random = error(Lazy(20))
    assert all(error(search) < 0.7 * random for search in (Auto(20), ThompsonSampling(20), UCB(20)))


# Training in pieces


@every_policy
@every_learner
def test_two_halves_are_one_run(learner, policy, tmp_path):
    data, _ = LEARNERS[learner]
    full = fit(learner, policy(2), 9)
    half = fit(learner, policy(2), 5, warm_start=True)
    half.save(tmp_path / "half")
    for model in (half, load(tmp_path / "half")):
        same(full, model.set_params(n_rounds=9, warm_start=True).fit(*data()))


# Another search


@pytest.mark.parametrize("after", POLICIES, ids=lambda p: p.__name__)
@every_policy
def test_a_search_that_learns_cannot_follow_another(policy, after):
    if policy is after:
        return
    data, _ = LEARNERS["stump"]
    model = fit("stump", policy(2), 5, warm_start=True)
    terms = model.fitted_.terms
    with pytest.raises(ValueError, match="warm_start: search must be as in the last fit"):
        model.set_params(search=after(2), n_rounds=9).fit(*data())
    assert model.fitted_.terms is terms


@every_policy
@pytest.mark.parametrize("before", [Lazy(2), Exhaustive()], ids=lambda s: type(s).__name__)
def test_a_search_that_learns_starts_afresh_after_one_that_learns_nothing(before, policy):
    data, _ = LEARNERS["stump"]
    model = fit("stump", before, 5, warm_start=True)
    model.set_params(search=policy(2), n_rounds=9).fit(*data())
    assert model.history_["columns"][5:].tolist() == [2] * 4
    again = fit("stump", before, 5, warm_start=True)
    same(model, again.set_params(search=policy(2), n_rounds=9).fit(*data()))


@pytest.mark.parametrize("after", [Lazy(2), Exhaustive()], ids=lambda s: type(s).__name__)
@every_policy
def test_a_search_that_learns_nothing_can_follow_any(policy, after):
    data, _ = LEARNERS["stump"]
    model = fit("stump", policy(2), 5, warm_start=True)
    first = model.fitted_.terms
    model.set_params(search=after, n_rounds=9).fit(*data())
    assert model.n_rounds_ == 9
    np.testing.assert_array_equal(model.fitted_.terms.stumps.columns[:5], first.stumps.columns)


@every_policy
def test_k_may_change(policy):
    data, _ = LEARNERS["stump"]
    model = fit("stump", policy(2), 5, warm_start=True)
    model.set_params(search=policy(4), n_rounds=9).fit(*data())
    assert model.history_["columns"].tolist() == [2] * 5 + [4] * 4


def test_other_columns_cannot_follow():
    X, y = rows()
    model = AdaBoostMH("stump", preset="paper", search=UCB(2), n_rounds=5, warm_start=True).fit(
        X, y
    )
    X[:, 9] = 0.0
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_rounds=9).fit(X, y)


# Rewards that searches get


@every_policy
@pytest.mark.parametrize(
    "learner", ["stump", "stump per class", "product", "gain", "list", "filters"]
)
def test_rewards_lie_between_0_and_1(monkeypatch, policy, learner):
    seen = []
    update = Bandit.update

    def watched(self, columns, rewards, weight):
        assert 0.0 < weight <= 1.0
        seen.extend(np.asarray(rewards).tolist())
        assert len(columns) == len(rewards)
        assert (np.diff(columns) > 0).all()
        update(self, columns, rewards, weight)

    monkeypatch.setattr(Bandit, "update", watched)
    fit(learner, policy(3), 10)
    assert seen
    assert 0.0 <= min(seen) < max(seen) <= 1.0


@every_policy
def test_columns_without_information(policy):
    X, y = rows()
    X[:, 3:6], X[:, 6:9] = 1.0, np.nan
    for learner in ("stump", "product", "tree", "auto"):
        settings = {"learner": learner, "n_rounds": 8, "random_state": 0}
        model = AdaBoostMH(search=policy(2), **settings).fit(X, y)
        assert model.n_rounds_ == 8
        same(AdaBoostMH(**settings).fit(X, y), AdaBoostMH(search=policy(10), **settings).fit(X, y))
    X[:] = np.nan
    model = AdaBoostMH("stump", preset="paper", search=policy(2), n_rounds=3).fit(X, y)
    assert model.score(X, y) == np.bincount(y).max() / len(y)
