"""Rates by pair of categorical columns: which pairs have them, what they are, and where they go."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from tests.cluster.helpers import fit_together

import edgewise
from edgewise import AdaBoostMH, ModelFileError, predictor
from edgewise.data import as_table
from edgewise.data.partition import Partition
from edgewise.estimators import pairs
from edgewise.estimators.pairs import choose_pairs, measure_interaction
from edgewise.estimators.rates import _FOLDS, _hash_rows, fit_rates
from edgewise.estimators.targets import read_rows


def visits(n=3000, n_shops=30, n_days=7, effect=2.0, alone=0.0, classes=("no", "yes"), seed=0):
    """Return shops, days and sizes, and classes that depend on the pair of shop and day."""
    rng = np.random.default_rng(seed)
    shop, day, size = rng.integers(0, n_shops, n), rng.integers(0, n_days, n), rng.normal(size=n)
    score = effect * rng.normal(size=(n_shops, n_days))[shop, day] + 0.5 * size
    score += alone * (rng.normal(size=n_shops)[shop] + rng.normal(size=n_days)[day])
    score += rng.logistic(size=n)
    X = pd.DataFrame({"size": size, "shop": _names("s", shop), "day": _names("d", day)})
    X.loc[rng.random(n) < 0.05, "day"] = None
    cuts = np.quantile(score, np.arange(1, len(classes)) / len(classes))
    return X, np.array(classes)[np.searchsorted(cuts, score)]


def _names(letter, codes):
    return np.array([f"{letter}{code:04d}" for code in codes], dtype=object)


def find_rates(X, y, weight=None):
    rates = fit_rates(read_rows(as_table(X), y, weight, "auto", False), 0)
    return None if rates is None else (rates[0], rates[1].extend())


def pair_names(X, y):
    found = find_rates(X, y)
    return [] if found is None else [name for name in found[0].names if " and " in name]


def model(**parameters):
    return AdaBoostMH(**{"n_rounds": 15, "random_state": 0, **parameters})


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_those_of_the_other_folds_shrunken_toward_all(classes, weighted, monkeypatch):
    X, y = visits(classes=classes)
    w = np.ones(len(y))
    if weighted:
        w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
        w *= len(y) / w.sum()
    strengths = np.arange(1.0, 1 + len(classes[1:] if len(classes) == 2 else classes))
    pair = pairs.Pair(0, 1, strengths.tolist())
    monkeypatch.setattr("edgewise.estimators.rates.choose_pairs", lambda *_: [pair])
    rates, table = find_rates(X, y, w)
    fold = _hash_rows(Partition(len(y)), len(y), 0) % np.uint64(_FOLDS)
    days_of_rows = [None if pd.isna(day) else day for day in X["day"]]
    rows = list(zip(X["shop"], days_of_rows, fold.tolist(), w.tolist(), y.tolist(), strict=True))
    named = classes[1:] if len(classes) == 2 else classes
    first = rates.names.index(f"rate of {named[0]} by shop and day")
    shops, days = sorted(set(X["shop"])), [*sorted(set(X["day"].dropna())), None]
    for r, (name, strength) in enumerate(zip(named, strengths, strict=True), first):
        assert rates.names[r] == f"rate of {name} by shop and day"
        assert rates.sources(r).tolist() == [1, 2]
        n_rows, n_hits = Counter(), Counter()
        for shop, day, k, weight, label in rows:
            for key in ((shop, day), (shop, day, k)):
                n_rows[key] += weight
                n_hits[key] += weight * (label == name)
        prior = sum(weight for *_, weight, label in rows if label == name) / len(rows)
        rate = {
            key: (n_hits[key] + strength * prior) / (n_rows[key] + strength)
            for key in n_rows
            if len(key) == 2
        }
        found = {
            (shops[i], days[j]): value
            for (i, j), value in zip(rates.combinations_of(r), rates.table(r), strict=False)
        }
        assert found.keys() == rate.keys()
        assert list(found.values()) == pytest.approx([rate[key] for key in found])
        assert rates.table(r)[-1] == pytest.approx(prior)
        values = table.column(3 + r).values
        for i in range(0, len(rows), 7):
            shop, day, k, *_ = rows[i]
            hits = n_hits[shop, day] - n_hits[shop, day, k] + strength * prior
            others = n_rows[shop, day] - n_rows[shop, day, k] + strength
            assert values[i] == pytest.approx(hits / others)


def test_products_of_residuals_of_two_rows_are_counted():
    rng = np.random.default_rng(0)
    hit, rate = rng.random(9) < 0.5, rng.random()
    by_pair = [(hit[a] - rate) * (hit[b] - rate) for a in range(9) for b in range(9) if a != b]
    n_hits, n_rows = np.array([hit.sum(), 1.0]), np.array([9.0, 1.0])
    found = pairs._products(n_hits, n_rows, np.full(2, rate))
    assert found == pytest.approx([sum(by_pair), 0.0])


def test_the_strength_is_that_of_the_rates_drawn():
    rng = np.random.default_rng(0)
    first, second = np.divmod(np.arange(20_000), 200)
    n_rows = rng.integers(1, 6, 20_000).astype(float)
    n_hits = rng.binomial(n_rows.astype(int), rng.beta(3.0, 7.0, 20_000)).astype(float)
    found = measure_interaction(first, second, n_hits, n_rows)
    # The variance of the rates is p (1 - p) / 11.
    assert found.strength == pytest.approx(11.0, rel=0.1)
    assert found.evidence > 10


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_permuted_classes_give_no_pair(share):
    rng = np.random.default_rng(0)
    sizes = [12, 30, 100, 300, 1000, 4]
    codes = [(size * rng.random(2000) ** 2).astype(np.intp) for size in sizes]
    hit = np.arange(2000) < 2000 * share
    partition = Partition(2000)
    hashes = _hash_rows(partition, 2000, 0)
    found = [
        choose_pairs(codes, sizes, [rng.permutation(hit)], 10, hashes, partition)
        for _ in range(100)
    ]
    assert sum(map(bool, found)) <= 3


@pytest.mark.parametrize("n_shops", [30, 300])
def test_effects_of_single_columns_give_no_pair(n_shops):
    found = [
        pair_names(*visits(effect=0.0, alone=1.0, n_shops=n_shops, seed=seed)) for seed in range(20)
    ]
    assert sum(map(bool, found)) <= 1


def test_weak_effects_are_left_to_trees():
    X, y = visits(20_000, n_shops=20, effect=0.25)
    first, second = (pd.factorize(X[name], use_na_sentinel=False)[0] for name in ("shop", "day"))
    cell = first * 8 + second
    n_hits = np.bincount(cell, y == "yes")
    interaction = measure_interaction(*np.divmod(np.arange(160), 8), n_hits, np.bincount(cell))
    assert interaction.evidence > 5
    assert pair_names(X, y) == []


def test_columns_that_determine_each_other_give_no_pair():
    X, y = visits(effect=0.0, alone=1.5)
    X["region"] = [f"r{int(name[1:]) // 2}" for name in X["shop"]]
    assert pair_names(X, y) == []


@pytest.mark.parametrize("n_values", [300, 1500])
def test_random_columns_form_no_pairs(n_values):
    X, y = visits()
    X["id"] = _names("i", np.random.default_rng(3).integers(0, n_values, len(y)))
    assert pair_names(X, y) == ["rate of yes by shop and day"]


def test_what_only_a_pair_tells_is_learned():
    X, y = visits(8000, effect=2.0)
    half = len(y) // 2

    def auc(X):
        fit = model().fit(X[:half], y[:half])
        return roc_auc_score(y[half:], fit.predict_proba(X[half:])[:, 1])

    assert auc(X) > auc(X.drop(columns="day")) + 0.1
    assert auc(X) > 0.75


def test_two_columns_of_few_values_form_no_pair():
    assert pair_names(*visits(n_shops=10)) == []


def test_the_largest_gains_have_rates(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, (6, 20_000))
    effects = rng.normal(size=(5, 12, 12))
    # Column 0 with each other column, less and less.
    score = sum(1.5 * 0.7**j * effects[j][codes[0], codes[j + 1]] for j in range(5))
    hit, partition = score + rng.logistic(size=20_000) > 0, Partition(20_000)
    hashes = _hash_rows(partition, 20_000, 0)

    def chosen():
        found = choose_pairs(list(codes), [12] * 6, [hit], 10, hashes, partition)
        return [(pair.first, pair.second) for pair in found]

    monkeypatch.setattr(pairs, "_MAX_PAIRS", 2)
    assert chosen() == [(0, 1), (0, 2)]
    # A sample of the rows, and of the columns.
    monkeypatch.setattr(pairs, "_MAX_TESTED_ROWS", 15 * 5_000)
    assert chosen() == [(0, 1), (0, 2)]
    monkeypatch.setattr(pairs, "_MAX_TESTS", 3)
    assert chosen() == [(0, 1), (0, 2)]


def test_unseen_combinations_have_the_prior_and_missing_values_are_a_category():
    X, y = visits(n_shops=100, n_days=30)
    rates = model().fit(X, y).fitted_.rates
    r = rates.names.index("rate of yes by shop and day")
    seen = {(shop, day) for shop, day in rates.combinations_of(r).tolist()}
    unseen = next((a, b) for a in range(100) for b in range(30) if (a, b) not in seen)
    missing = next((a, b) for a, b in seen if b == 30)
    codes = np.array([unseen, missing, (100, 3)], dtype=np.uint32).T
    found = rates.responses(r, [*codes])
    assert found[0] == found[2] == rates.table(r)[-1] == pytest.approx((y == "yes").mean())
    assert found[1] == rates.table(r)[sorted(seen).index(missing)]


def test_rules_importances_and_explanations_name_both_columns():
    X, y = visits()
    fit = model().fit(X, y)
    assert any("rate of yes by shop and day >=" in str(rule) for rule in fit.rules(None))
    assert fit.feature_importances_[1:].min() > 0.3
    assert fit.feature_importances_.sum() == pytest.approx(1.0)
    assert {group.names for group in fit.explain().groups} == {
        *(("size",), ("shop",), ("day",), ("shop", "day"))
    }
    for background in (None, X[:30]):
        explained = fit.explain(X[:1], background)
        assert set(explained.names) <= {
            *("bias", "size", "shop", "day"),
            *("size * shop", "size * day", "shop * day"),
        }
        assert explained.amounts.sum() == pytest.approx(fit.decision_function(X[:1])[0])
        values = explained.shapley_values[:, 0]
        compared = X if background is None else background
        difference = fit.decision_function(X[:1])[0] - fit.decision_function(compared).mean()
        assert values.sum() == pytest.approx(difference)


def test_files_and_numpy_alone_predict_the_same(tmp_path):
    X, y = visits()
    fit = model().fit(X, y)
    expected = fit.predict_proba(X)
    fit.save(tmp_path / "m.edgewise")
    for load in (edgewise.load, predictor.load):
        assert np.array_equal(load(tmp_path / "m.edgewise").predict_proba(X), expected)
    np.testing.assert_array_equal(
        fit.fitted_.in_subsets.scores(as_table(X)), fit.fitted_.scores(as_table(X))
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("combinations", lambda a: a[::-1]),
        ("combinations", lambda a: a + 1000),
        ("combinations", lambda a: a[:-1]),
        ("combination_starts", lambda a: a + 1),
        ("combination_starts", lambda a: a[::-1]),
        ("columns", lambda a: a - 1),
        ("columns", lambda a: a + 7),
        ("rates", lambda a: a[:-1]),
    ],
)
def test_damaged_rates_are_refused(name, change, tmp_path):
    X, y = visits()
    fit = model().fit(X, y)
    fit.save(tmp_path / "m.edgewise")
    header, arrays = edgewise.model.read(tmp_path / "m.edgewise")
    arrays[f"fitted_.rates.{name}"] = change(arrays[f"fitted_.rates.{name}"])
    edgewise.model.write(tmp_path / "m.edgewise", header, arrays)
    with pytest.raises(ModelFileError):
        edgewise.load(tmp_path / "m.edgewise")


def test_validation_rows_have_the_rates_of_all_training_rows():
    X, y = visits()
    fit = model().fit(X[:2000], y[:2000], eval_set=(X[2000:], y[2000:]))
    wrong = np.mean(fit.predict(X[2000:]) != y[2000:])
    assert fit.evals_result_["validation"]["error"][-1] == pytest.approx(wrong)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_threads_backends_and_processes_train_the_same_model(backend, monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    X, y = visits(2000, n_shops=25, effect=3.0)
    fit = model(n_rounds=5).fit(X, y)
    assert "rate of yes by shop and day" in fit.fitted_.rates.names
    expected = fit.decision_function(X)
    assert np.array_equal(model(n_rounds=5, n_jobs=2).fit(X, y).decision_function(X), expected)
    if backend == "numpy":
        for size in (2, 3):
            for together in fit_together(lambda: model(n_rounds=5), X, size, y=y):
                assert together.fitted_.rates.equals(fit.fitted_.rates)
                assert np.array_equal(together.decision_function(X), expected)


def test_processes_test_the_same_sample(monkeypatch):
    monkeypatch.setattr(pairs, "_MAX_TESTED_ROWS", 1500)
    X, y = visits(2000, n_shops=25, effect=3.0)
    fit = model(n_rounds=3).fit(X, y)
    assert "rate of yes by shop and day" in fit.fitted_.rates.names
    for together in fit_together(lambda: model(n_rounds=3), X, 2, y=y):
        assert together.fitted_.rates.equals(fit.fitted_.rates)


def test_a_warm_start_finds_the_same_pairs():
    X, y = visits()
    warm = model(n_rounds=5, warm_start=True).fit(X, y).set_params(n_rounds=15).fit(X, y)
    assert np.array_equal(warm.decision_function(X), model().fit(X, y).decision_function(X))
