"""Probabilities of rating levels: they add up, agree with predictions, and are put to the test."""

import numpy as np
import pytest

from edgewise import BiasBaseline, BoostedFactorization, Ratings
from edgewise.recommend import calibration


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((40, 25)) < 0.6)
    tastes = rng.normal(size=40)[users] + rng.normal(size=25)[items]
    values = np.clip(np.round(3 + tastes + 0.5 * rng.normal(size=len(users))), 1, 5)
    return Ratings.from_arrays(users, items, values).split(0.3, random_state=0)


@pytest.mark.parametrize("target", ["ordered", "one_hot", "binary"])
def test_probabilities_agree_with_predictions(parts, target):
    train, test = parts
    model = BoostedFactorization(30, target=target, random_state=0).fit(train)
    chances = model.predict_proba(test.users, test.items)
    assert chances.shape == (len(test), len(model.levels_))
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    expected = np.clip(chances @ model.levels_, model.low_, model.high_)
    np.testing.assert_allclose(expected, model.predict(test.users, test.items), atol=0.05)
    likeliest = model.levels_[chances.argmax(axis=1)]
    np.testing.assert_array_equal(likeliest, model.predict(test.users, test.items, output="mode"))
    # A pair alone, and in any company, has the same chances.
    alone = model.predict_proba(test.users[5], test.items[5])
    np.testing.assert_array_equal(alone[0], chances[5])


def test_unknown_pairs(parts):
    train, _ = parts
    model = BoostedFactorization(5, random_state=0).fit(train)
    with pytest.raises(ValueError, match="unknown users"):
        model.predict_proba(999, 0)
    shares = [np.mean(train.values == level) for level in model.levels_]
    found = model.predict_proba([999, 0], [0, 0], unknown="mean")
    np.testing.assert_allclose(found[0], shares)
    assert np.isnan(model.predict_proba(999, 0, unknown="nan")).all()


def test_calibration_counts_what_came_true(parts):
    train, test = parts
    model = BoostedFactorization(30, random_state=0).fit(train)
    found = calibration(model, test, n_bins=4)
    chances = model.predict_proba(test.users, test.items)
    hits = test.values[:, None] == model.levels_
    np.testing.assert_allclose(found.predicted, chances.mean(axis=0))
    np.testing.assert_allclose(found.observed, hits.mean(axis=0))
    first = chances < 0.25
    assert found.counts[0] == first.sum()
    assert found.frequencies[0] == pytest.approx(hits[first].mean())
    assert found.counts.sum() == chances.size
    gaps = np.abs(found.probabilities - found.frequencies)
    assert found.error == pytest.approx(np.average(gaps, weights=found.counts))
    assert str(found).endswith(f"error {found.error:.4f}")
    assert list(found.to_frame("pandas").columns) == ["predicted", "observed", "count"]


def test_only_models_with_probabilities_are_tested(parts):
    train, test = parts
    with pytest.raises(TypeError, match="model must have predict_proba"):
        calibration(BiasBaseline().fit(train), test)
