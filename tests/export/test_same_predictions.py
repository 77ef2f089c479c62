"""Every exported file gives the scores, classes and probabilities of the model itself."""

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Indicator, Product, RankBoost, Stump

from .programs import (
    LEARNERS,
    RANK_LEARNERS,
    assert_same,
    by_onnx,
    by_python,
    by_sql,
    classifier,
    mixed,
    near_thresholds,
    numbers,
    ranker,
    targets,
)

FEW = settings(max_examples=2, derandomize=True)
OF_NUMBERS = ("stump", "stump that abstains", "feature")
SEEDS = st.integers(0, 1000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exported")


def assert_all_same(model, X, folder):
    for result in (by_python, by_sql, by_onnx):
        assert_same(result(model, X, folder), model, X)


@pytest.mark.parametrize("kind", ["ints", "two", "bools", "strings", "labels"])
@pytest.mark.parametrize("name", LEARNERS)
@FEW
@given(
    seed=SEEDS,
    votes=st.sampled_from(["discrete", "real", "abstain"]),
    loss=st.sampled_from(["exponential", "logistic", "softmax"]),
)
def test_classifiers(name, kind, seed, votes, loss, folder):
    rng = np.random.default_rng(seed)
    make = numbers if name in OF_NUMBERS else mixed
    X = make(rng, 60)
    model = classifier(LEARNERS[name](), X, targets(rng, X, kind), votes=votes, loss=loss)
    assert_all_same(model, near_thresholds(rng, model, make(rng, 40)), folder)


@pytest.mark.parametrize("name", RANK_LEARNERS)
@FEW
@given(seed=SEEDS)
def test_rankers(name, seed, folder):
    rng = np.random.default_rng(seed)
    make = numbers if name in OF_NUMBERS else mixed
    X = make(rng, 60)
    model = ranker(RANK_LEARNERS[name](), X, targets(rng, X, "grades"))
    assert_all_same(model, near_thresholds(rng, model, make(rng, 40)), folder)


@pytest.mark.parametrize("kind", ["ints", "two", "labels"])
def test_the_default_classifier_with_its_temperature(kind, folder):
    rng = np.random.default_rng(3)
    X = mixed(rng, 80)
    model = AdaBoostMH(early_stopping_rounds=5).fit(X, targets(rng, X, kind))
    assert model.settings_.temperature != 1
    assert_all_same(model, near_thresholds(rng, model, mixed(rng, 40)), folder)


def test_a_stump_for_each_class(folder):
    rng = np.random.default_rng(4)
    X = numbers(rng, 60)
    model = classifier("stump", X, targets(rng, X, "ints"), factorized=False)
    assert_all_same(model, near_thresholds(rng, model, X), folder)


def test_numbers_that_are_categories(folder):
    rng = np.random.default_rng(5)
    X = mixed(rng, 60)
    X["code"] = rng.choice([1.0, 2.5, -7.0, np.nan], 60)
    y = np.where(X["code"] > 1, "a", targets(rng, X, "strings"))
    learner = Product([Stump(), Indicator()], 2)
    model = classifier(learner, X, y, categorical_features=["code"])
    X.loc[:5, "code"] = 3.0  # training did not have it
    assert_all_same(model, X, folder)


@pytest.mark.parametrize("learner", ["auto", "stump", "product"])
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rates_by_two_columns(n_classes, has_missing, learner, folder):
    rng = np.random.default_rng(6)
    left, right = rng.integers(0, 25, 2000), rng.integers(0, 12, 2000)
    score = 2 * rng.normal(size=(25, 12))[left, right] + rng.logistic(size=2000)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    X = pandas.DataFrame(
        {name: [f"it's {i}" for i in codes] for name, codes in (("a b", left), ('"', right))}
    )
    new = X.copy()
    if has_missing:
        X = X.mask(rng.random(X.shape) < 0.05, None)
    model = AdaBoostMH(learner, n_rounds=8, random_state=0).fit(X, y)
    assert any(len(model.fitted_.rates.sources(r)) == 2 for r in range(len(model.fitted_.rates)))
    new = new.mask(rng.random(X.shape) < 0.1, "new").mask(rng.random(X.shape) < 0.1, None)
    assert_all_same(model, new[:300].assign(**{'"': rng.permutation(new['"'])[:300]}), folder)


@pytest.mark.parametrize("infinite", ["missing", "value"])
def test_infinite_numbers(infinite, folder):
    rng = np.random.default_rng(6)
    X = numbers(rng, 80)
    X[rng.random(X.shape) < 0.2] = np.inf
    X[rng.random(X.shape) < 0.2] = -np.inf
    y = np.where(X[:, 0] == np.inf, 9, targets(rng, X, "ints"))
    for learner in ("stump", Product(Stump(), 2), "tree"):
        model = classifier(learner, X, y, handle_infinite=infinite)
        assert_all_same(model, X, folder)


def test_a_long_sum(folder):
    rng = np.random.default_rng(7)
    X = numbers(rng, 60)
    model = AdaBoostMH(Product(Stump(), 2), n_rounds=300, votes="real", learning_rate=0.1)
    model.fit(X, targets(rng, X, "two"))
    assert_all_same(model, X, folder)


@pytest.mark.parametrize("learner", ["stump", "product", "tree"])
def test_a_model_without_tests(learner, folder):
    X = np.ones((6, 2))
    assert_all_same(AdaBoostMH(learner, n_rounds=2).fit(X, [0, 1, 1, 2, 1, 1]), X, folder)
    assert_all_same(RankBoost(learner, n_rounds=2).fit(X, [0, 1, 0, 0, 1, 0]), X, folder)
