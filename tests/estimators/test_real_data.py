"""Errors on real data, where they are found, near those of the papers."""

import pytest

from edgewise import AdaBoostMH, datasets, metrics

pytestmark = [pytest.mark.real_data, pytest.mark.slow]


def load(name):
    if not datasets.available(name):
        pytest.skip(f"{name} is not in $EDGEWISE_DATA nor in the cache")
    return datasets.load(name, download=False)


def test_stumps_on_pendigits():
    data = load("pendigits")
    model = AdaBoostMH("stump", preset="paper", n_rounds=1000, n_jobs=2).fit(
        data.X_train, data.y_train
    )
    # Kégl and Busa-Fekete 2009a, table 1: 4.97 % after 100,000 rounds.
    assert 1 - model.score(data.X_test, data.y_test) < 0.06


def test_multi_label_emotions():
    data = load("emotions")
    model = AdaBoostMH(n_rounds=100).fit(data.X_train, data.y_train)
    loss = metrics.hamming_loss(data.y_test, model.decision_function(data.X_test))
    # Predicting no label at all has a Hamming loss of 0.31 on these rows.
    assert data.y_test.mean() > 0.3
    assert loss < 0.24


def test_sparse_multi_label_bibtex():
    data = load("bibtex")
    model = AdaBoostMH(n_rounds=5, n_jobs=2).fit(data.X_train[:1000], data.y_train[:1000])
    assert model.predict(data.X_test[:50]).shape == (50, 159)
    assert model.history_["hamming_loss"][-1] <= model.history_["bound"][-1]
