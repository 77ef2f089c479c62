"""Thirty thousand rounds: weights stay weights, and prediction costs no more."""

import numpy as np
import pytest

from edgewise import AdaBoostMH
from edgewise.objective import Hamming

ROUNDS = 30_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def long_run():
    """Return rows, classes, a model of 30,000 rounds, and the weights of every 1,000th."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (60, 2)).astype(float)
    y = np.arange(60) % 3
    taken, advance = [], Hamming.advance

    def watched(self, *given):
        progress = advance(self, *given)
        watched.rounds += 1
        if watched.rounds % 1000 == 0:
            taken.append(self.state.weights.copy())
        return progress

    watched.rounds = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEWISE_BACKEND", "numba")
        patch.setattr(Hamming, "advance", watched)
        model = AdaBoostMH("stump", preset="paper", n_rounds=ROUNDS).fit(X, y)
    return X, y, model, np.array(taken)


def test_weights_stay_a_distribution(long_run):
    _, _, model, weights = long_run
    assert model.n_rounds_ == ROUNDS
    assert weights.shape == (30, 3, 60)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=(1, 2)), 1.0, rtol=0, atol=1e-9)


def test_steps_stay_steps(long_run):
    _, _, model, _ = long_run
    history = model.history_
    assert np.isfinite(model.fitted_.terms.coefficients).all()
    assert (history["energy"] > 0).all()
    assert (history["energy"] < 1).all()
    assert (history["hamming_loss"] <= history["bound"] + 1e-9).all()


def test_the_table_does_not_grow_with_the_rounds(long_run):
    X, y, model, _ = long_run
    short = AdaBoostMH("stump", preset="paper", n_rounds=1000).fit(X, y)
    np.testing.assert_array_equal(short.fitted_.terms.alphas, model.fitted_.terms.alphas[:1000])
    sizes = [sum(len(curve.scores) for curve in m.explain()) for m in (short, model)]
    # Two columns of eight values have seven places to cut at.
    assert sizes[1] <= 2 * 8
    assert sizes[0] <= sizes[1]
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), last, rtol=1e-6, atol=1e-6)
