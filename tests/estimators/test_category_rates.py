"""Rates of classes by category: what they are, what they may not give away, and where models go."""

import runpy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from tests.cluster.helpers import fit_together

import edgewise
from edgewise import AdaBoostMH, Indicator, Selector, Stump, Tree, predictor
from edgewise.data import as_table
from edgewise.data.partition import Partition
from edgewise.estimators.rates import (
    _FOLDS,
    MAX_SUBSET_VALUES,
    _hash_rows,
    fit_rates,
    prior_strength,
)
from edgewise.estimators.targets import read_rows


def shops(n=2000, n_shops=100, effect=1.5, seed=0, classes=("no", "yes")):
    """Return a frame with a column of many shops, each with an effect of its own, and classes."""
    rng = np.random.default_rng(seed)
    shop, size = rng.integers(0, n_shops, n), rng.normal(size=n)
    score = effect * rng.normal(size=n_shops)[shop] + size + rng.logistic(size=n)
    X = pd.DataFrame({"size": size, "shop": [f"s{i:04d}" for i in shop]})
    cuts = np.quantile(score, np.arange(1, len(classes)) / len(classes))
    return X, np.array(classes)[np.searchsorted(cuts, score)]


def find_rates(X, y, seed=0, weight=None):
    rows = read_rows(as_table(X), y, weight, "auto", False)
    rates = fit_rates(rows, seed)
    return None if rates is None else (rates[0], rates[1].extend())


def model(**parameters):
    return AdaBoostMH(**{"n_rounds": 15, "random_state": 0, **parameters})


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_those_of_the_other_folds_shrunken_toward_all(classes, weighted):
    X, y = shops(classes=classes)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    rates, table = find_rates(X, y, weight=weight)
    named = classes[1:] if len(classes) == 2 else classes
    assert rates.names == tuple(f"rate of {name} by shop" for name in named)
    w = np.ones(len(y)) if weight is None else weight * len(y) / weight.sum()
    shop = np.unique(X["shop"], return_inverse=True)[1]
    fold = (_hash_rows(Partition(len(y)), len(y), 0) % np.uint64(_FOLDS)).astype(int)
    assert np.bincount(fold).min() > len(y) / 5
    for r, name in enumerate(named):
        hit = y == name
        n_rows, n_hits = np.bincount(shop, w), np.bincount(shop, w * hit)
        strength, prior = prior_strength(n_hits, n_rows), (w * hit).sum() / w.sum()
        expected = (n_hits + strength * prior) / (n_rows + strength)
        np.testing.assert_allclose(rates.table(r)[:-1], expected)
        assert rates.table(r)[-1] == pytest.approx(prior)
        others = table.column(2 + r).values
        for i in range(0, len(y), 7):
            elsewhere = (shop == shop[i]) & (fold != fold[i])
            left_out = w[elsewhere] @ hit[elsewhere] + strength * prior
            assert others[i] == pytest.approx(left_out / (w[elsewhere].sum() + strength))


def test_a_row_does_not_see_its_own_label():
    X, y = shops()
    _, table = find_rates(X, y)
    for i in range(20):
        other = y.copy()
        other[i] = "no" if y[i] == "yes" else "yes"
        _, changed = find_rates(X, other)
        # The prior moves a little; the count of the row's own label would move by a tenth.
        assert abs(changed.column(2).values[i] - table.column(2).values[i]) < 0.005


@pytest.mark.parametrize("n_values", [50, 500, 2000])
def test_categories_that_do_not_differ_have_no_rates(n_values):
    X, y = shops(effect=0.0, n_shops=n_values)
    assert find_rates(X, y) is None
    X, y = shops(n_shops=n_values)
    assert find_rates(X, np.random.default_rng(2).permutation(y)) is None


@pytest.mark.parametrize("n_values", [300, 1500, 2000])
def test_a_random_column_costs_nothing(n_values):
    X, y = shops()
    X["id"] = [f"i{i}" for i in np.random.default_rng(3).integers(0, n_values, len(y))]
    half = len(y) // 2
    auc = [
        roc_auc_score(
            y[half:], model().fit(frame[:half], y[:half]).predict_proba(frame[half:])[:, 1]
        )
        for frame in (X.drop(columns="id"), X)
    ]
    assert auc[1] == auc[0]


def test_many_values_with_effects_are_learned():
    X, y = shops(14_000, 700)
    train, test = slice(None, 11_000), slice(11_000, None)

    def auc(rates):
        fit = model(category_rates=rates).fit(X[train], y[train])
        return roc_auc_score(y[test], fit.predict_proba(X[test])[:, 1])

    assert auc("auto") > auc(False) + 0.1


def test_columns_of_few_values_keep_their_subsets():
    X, y = shops(n_shops=MAX_SUBSET_VALUES)
    assert find_rates(X, y) is None
    fit = model().fit(X, y)
    assert fit.fitted_.rates is None
    assert any("shop in" in str(rule) or "shop not in" in str(rule) for rule in fit.rules(None))


def test_unseen_and_missing_categories_have_the_prior():
    X, y = shops()
    fit = model().fit(X, y)
    new = pd.DataFrame({"size": [0.3, 0.3], "shop": ["s9999", None]})
    prior = fit.fitted_.rates.table(0)[-1]
    assert prior == pytest.approx((y == "yes").mean())
    assert fit.decision_function(new)[0] == fit.decision_function(new)[1]


def test_rules_and_importances_name_what_they_are_made_of():
    X, y = shops()
    fit = model().fit(X, y)
    assert any("rate of yes by shop >=" in str(rule) for rule in fit.rules(None))
    assert fit.feature_importances_.shape == (2,)
    assert fit.feature_importances_[1] > 0.3
    explained = fit.explain(X[:1], X[:30])
    assert set(explained.names) <= {"bias", "size", "shop", "size * shop"}
    assert explained.amounts.sum() == pytest.approx(fit.decision_function(X[:1])[0])


def test_files_exports_and_numpy_alone_predict_the_same(tmp_path):
    X, y = shops()
    fit = model().fit(X, y)
    expected = fit.predict_proba(X)
    fit.save(tmp_path / "m.edgewise")
    for load in (edgewise.load, predictor.load):
        assert np.array_equal(load(tmp_path / "m.edgewise").predict_proba(X), expected)
    fit.export(tmp_path / "m.py")
    exported = runpy.run_path(str(tmp_path / "m.py"))["predict_proba"]
    row = X.iloc[7].to_dict()
    np.testing.assert_allclose(
        list(exported(row).values()) if isinstance(exported(row), dict) else exported(row),
        expected[7],
    )
    np.testing.assert_array_equal(
        fit.fitted_.in_subsets.scores(as_table(X)), fit.fitted_.scores(as_table(X))
    )


def test_validation_rows_have_the_rates_of_all_training_rows():
    X, y = shops()
    fit = model().fit(X[:1000], y[:1000], eval_set=(X[1000:], y[1000:]))
    wrong = np.mean(fit.predict(X[1000:]) != y[1000:])
    assert fit.evals_result_["validation"]["error"][-1] == pytest.approx(wrong)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_threads_backends_and_processes_train_the_same_model(backend, monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y = shops(800, 40)
    expected = model(n_rounds=5).fit(X, y).decision_function(X)
    assert np.array_equal(model(n_rounds=5, n_jobs=2).fit(X, y).decision_function(X), expected)
    if backend == "numpy":
        for together in fit_together(lambda: model(n_rounds=5), X, 2, y=y):
            assert np.array_equal(together.decision_function(X), expected)


def test_a_warm_start_needs_the_same_rows():
    X, y = shops()
    warm = model(n_rounds=5, warm_start=True).fit(X, y).set_params(n_rounds=15).fit(X, y)
    assert np.array_equal(warm.decision_function(X), model().fit(X, y).decision_function(X))
    with pytest.raises(ValueError, match="category_rates"):
        warm.set_params(n_rounds=20).fit(X, y[::-1])


@pytest.mark.parametrize(
    ("settings", "has_rates"),
    [
        ({"learner": "stump"}, True),
        ({"learner": "product"}, True),
        ({"learner": Tree("stump", 4)}, True),
        ({"learner": [Stump(), Selector()]}, True),
        ({"learner": "stump", "category_rates": False}, False),
        ({"preset": "paper"}, False),
        ({"preset": "paper", "category_rates": True}, True),
    ],
    ids=str,
)
def test_learners_of_numbers_have_rates(settings, has_rates):
    X, y = shops()
    assert (model(**settings).fit(X, y).fitted_.rates is not None) == has_rates


def test_learners_of_categories_alone_have_no_rates():
    X, y = shops()
    assert model(learner=Indicator()).fit(X[["shop"]], y).fitted_.rates is None
    with pytest.raises(ValueError, match=r"category_rates.*Indicator"):
        model(learner=Indicator(), category_rates=True).fit(X, y)
    with pytest.raises(TypeError, match="category_rates"):
        model(category_rates="yes").fit(X, y)


def test_rows_of_a_fold_tell_nothing_about_its_choice():
    X, y = shops()
    inside = np.arange(len(y)) % 3 == 0
    kept, held_out = np.flatnonzero(~inside), np.flatnonzero(inside)
    permuted = y.copy()
    permuted[held_out] = np.random.default_rng(2).permutation(y[held_out])
    tables = []
    for targets in (y, permuted):
        rates, training = fit_rates(read_rows(as_table(X), targets, None, "auto", False), 0)
        (r,) = range(len(rates))
        strength = training.sources[r].strength
        training = replace(training, sources=[training.sources[r]._replace(strength=5.0)])
        assert strength > 0
        outside = training.take(kept)
        tables.append((outside.extend(), outside.extend_new(training.take(held_out))))
    for ours, others in zip(*tables, strict=True):
        np.testing.assert_array_equal(ours.column(2).values, others.column(2).values)
    hits, n_rows = y[kept] == "yes", len(kept)
    shop = X["shop"].to_numpy()
    prior = 5.0 * hits.sum() / n_rows
    for i in (0, 5, 17):
        same = shop[kept] == shop[held_out[i]]
        expected = (hits[same].sum() + prior) / (same.sum() + 5.0)
        assert tables[0][1].column(2).values[i] == pytest.approx(expected)
