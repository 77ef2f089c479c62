"""The bounds of Kégl and Busa-Fekete 2009a and Kégl 2014b on runs of a plain AdaBoost.MH."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.theory import (
    energy,
    margin_cdf_bound,
    one_error_bound,
    rounds_to_zero_error,
    step,
    training_loss_bound,
)

runs = settings(max_examples=50, deadline=None)
shape = {
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(5, 25),
    "n_classes": st.integers(1, 5),
    "init": st.sampled_from(["balanced", "uniform"]),
}


def one_error(scores, signs):
    """Mean error; a tie with another class, or a score of zero, counts as an error."""
    if signs.shape[1] == 1:
        return np.mean(scores * signs <= 0)
    right = scores[signs > 0]
    others = np.where(signs > 0, -np.inf, scores).max(axis=1)
    return np.mean(others >= right)


@runs
@given(**shape)
def test_product_of_energies_is_the_exponential_loss(boosted, seed, n, n_classes, init):
    run = boosted(seed, n, 3, n_classes, 20, init)
    losses = [(run.initial * np.exp(-f * run.signs)).sum() for f in run.scores]
    np.testing.assert_allclose(training_loss_bound(run.energies), losses, rtol=1e-9)


@runs
@given(**shape)
def test_energy_and_step_follow_from_the_edge(boosted, seed, n, n_classes, init):
    run = boosted(seed, n, 3, n_classes, 20, init)
    np.testing.assert_allclose(energy(run.edges), run.energies, rtol=1e-9)
    np.testing.assert_allclose(step(run.edges), run.alphas, rtol=1e-9)


@runs
@given(**shape)
def test_errors_stay_under_their_bounds_in_every_round(boosted, seed, n, n_classes, init):
    run = boosted(seed, n, 3, n_classes, 30, init)
    hamming = [(run.initial * (f * run.signs <= 0)).sum() for f in run.scores]
    ones = [one_error(f, run.signs) for f in run.scores]
    slack = 1 + 1e-9
    assert (hamming <= training_loss_bound(run.energies) * slack).all()
    for tight in (False, True):
        assert (ones <= one_error_bound(run.energies, n_classes, init, tight=tight) * slack).all()


@runs
@given(theta=st.floats(-1, 1), **shape)
def test_share_of_small_margins_stays_under_its_bound(boosted, theta, seed, n, n_classes, init):
    run = boosted(seed, n, 3, n_classes, 30, init)
    totals = np.cumsum(run.alphas)
    shares = [
        (run.initial * (f * run.signs <= theta * total)).sum()
        for f, total in zip(run.scores, totals, strict=True)
    ]
    assert (
        shares <= margin_cdf_bound(energy(run.edges), step(run.edges), theta) * (1 + 1e-9)
    ).all()


def test_margin_cdf_bound_is_the_hamming_bound_at_zero():
    edges = np.array([0.5, 0.3, 0.1])
    np.testing.assert_allclose(
        margin_cdf_bound(energy(edges), step(edges), 0.0), training_loss_bound(energy(edges))
    )


def test_small_margins_die_out_below_half_the_edge_only():
    edges = np.full(4000, 0.3)
    assert margin_cdf_bound(energy(edges), step(edges), 0.145)[-1] < 1e-3
    assert margin_cdf_bound(energy(edges), step(edges), 0.3)[-1] > 1


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_balanced_factor_cannot_be_smaller(n_classes):
    # One example, tied with one wrong class at the worst height, far above the others.
    scores = np.full(n_classes, -50.0)
    scores[:2] = 0.5 * math.log(n_classes - 1)
    loss = 0.5 * math.exp(-scores[0]) + np.exp(scores[1:]).sum() / (2 * (n_classes - 1))
    assert one_error_bound([loss], n_classes)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_uniform_factor_is_half_of_the_papers_at_best(n_classes):
    scores = np.full(n_classes, -50.0)
    scores[:2] = 0.0
    loss = (math.exp(-scores[0]) + np.exp(scores[1:]).sum()) / n_classes
    assert one_error_bound([loss], n_classes, "uniform", tight=True)[0] == pytest.approx(1.0)
    assert one_error_bound([loss], n_classes, "uniform")[0] == pytest.approx(2.0)


def test_product_does_not_underflow_early_or_fail_at_zero():
    bound = training_loss_bound([1e-200, 1e200, 0.5])
    np.testing.assert_allclose(bound, [1e-200, 1.0, 0.5], rtol=1e-9)
    assert training_loss_bound([0.5, 0.0, 0.5]).tolist() == [0.5, 0.0, 0.0]
    assert training_loss_bound([]).shape == (0,)


@pytest.mark.parametrize(
    ("labels", "n_classes"),
    [
        ([0, 1, 2, 0, 1, 2], 3),
        ([0, 1, 2, 3, 3, 1], 4),
        ([0, 0, 1, 1, 2], 3),
        ([1, 1, 0, 0, 0, 1, 1], 1),
    ],
)
@pytest.mark.parametrize("tight", [False, True])
def test_error_is_zero_after_the_promised_rounds(boosted_to_zero, labels, n_classes, tight):
    run = boosted_to_zero(labels, n_classes, 300)
    promised = rounds_to_zero_error(len(labels), n_classes, min(run.edges), tight=tight)
    assert promised <= len(run.scores)
    for scores in run.scores[promised - 1 :]:
        assert one_error(scores, run.signs) == 0
        if not tight:
            assert (scores * run.signs > 0).all()


@given(
    n=st.integers(1, 10**7),
    n_classes=st.integers(2, 1000),
    edge=st.floats(0.01, 1.0),
)
def test_rounds_are_just_enough(n, n_classes, edge):
    for tight, threshold in [
        (False, math.log(2 * n * (n_classes - 1))),
        (True, math.log(n) + 0.5 * math.log(n_classes - 1)),
    ]:
        rounds = rounds_to_zero_error(n, n_classes, edge, tight=tight)
        assert rounds * edge**2 / 2 > threshold
        assert (rounds - 2) * edge**2 / 2 < threshold + 1e-9


def test_rounds_by_hand_and_the_tight_form_is_no_larger():
    # 2 ln(2 * 100 * 4) / 0.01 = 1336.9..., 2 ln(100 * 2) / 0.01 = 1059.6...
    assert rounds_to_zero_error(100, 5, 0.1) == 1338
    assert rounds_to_zero_error(100, 5, 0.1, tight=True) == 1061
    assert rounds_to_zero_error(100, 1, 0.1) == rounds_to_zero_error(100, 2, 0.1, tight=True)


@given(edge=st.floats(-0.999, 0.999), total=st.floats(1e-3, 1e3))
def test_step_minimizes_the_energy(edge, total):
    gamma = edge * total

    def loss(alpha):
        return total * math.cosh(alpha) - gamma * math.sinh(alpha)

    best = step(gamma, total)
    assert energy(gamma, total) == pytest.approx(loss(best), rel=1e-6)
    assert loss(best) <= min(loss(best - 0.01), loss(best + 0.01))


def test_perfect_edge():
    assert energy(2.0, total=2.0) == 0.0
    assert step(2.0, total=2.0) == math.inf


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: training_loss_bound([0.5, -0.1]), ValueError, "energies"),
        (lambda: training_loss_bound([[0.5]]), ValueError, "energies"),
        (lambda: training_loss_bound([0.5, np.nan]), ValueError, "energies"),
        (lambda: training_loss_bound(["a"]), TypeError, "energies"),
        (lambda: one_error_bound([0.5], 0), ValueError, "n_classes"),
        (lambda: one_error_bound([0.5], 2.5), TypeError, "n_classes"),
        (lambda: one_error_bound([0.5], 3, "weighted"), ValueError, "init_weights"),
        (lambda: rounds_to_zero_error(0, 2, 0.1), ValueError, "n must"),
        (lambda: rounds_to_zero_error(10, True, 0.1), TypeError, "n_classes"),
        (lambda: rounds_to_zero_error(10, 2, 0.0), ValueError, "edge"),
        (lambda: rounds_to_zero_error(10, 2, 1.5), ValueError, "edge"),
        (lambda: rounds_to_zero_error(10, 2, "big"), TypeError, "edge"),
        (lambda: energy(1.5), ValueError, "edge"),
        (lambda: energy(0.5, total=0.0), ValueError, "total"),
        (lambda: step([0.5, -1.1]), ValueError, "edge"),
        (lambda: margin_cdf_bound([-1.0], [1.0], 0.1), ValueError, "energies"),
        (lambda: margin_cdf_bound([0.5], [1.0, 2.0], 0.1), ValueError, "alphas"),
        (lambda: margin_cdf_bound([0.1], [0.1], 1.1), ValueError, "theta"),
    ],
)
def test_bad_input_is_named(call, error, name):
    with pytest.raises(error, match=name):
        call()
