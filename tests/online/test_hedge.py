"""Hedge: by hand, its theorems on any sequence, and what it promises about mixtures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.online import Hedge, loss_bound, tuned_beta, tuned_loss_bound

RUNS = {
    "seed": st.integers(0, 2**32 - 1),
    "n_experts": st.integers(1, 12),
    "n_rounds": st.integers(1, 40),
    "beta": st.floats(0.01, 0.99),
}


def random_losses(seed, n_experts, n_rounds, coarse=False):
    rng = np.random.default_rng(seed)
    losses = rng.random((n_rounds, n_experts)) * rng.random(n_experts)
    return np.rint(losses * 2) / 2 if coarse else losses


def assert_bounds_hold(learner):
    best, pool, weights = (learner.bound(kind) for kind in ("best", "pool", "weights"))
    slack = 1e-9 * (1 + best)
    assert learner.loss_ <= weights + slack
    assert weights <= pool + slack
    assert pool <= best + slack


def test_three_experts_by_hand():
    learner = Hedge(beta=0.25)
    mixed = learner.run([[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])
    # equal weights lose (0 + 1/2 + 1) / 3; then they are 1, 1/2, 1/4: (1 + 1/4 + 0) / (7/4)
    np.testing.assert_allclose(mixed, [0.5, 5 / 7])
    np.testing.assert_allclose(learner.weights_, [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(learner.log_weights_, np.log(1 / 12))
    np.testing.assert_array_equal(learner.expert_losses_, [1, 1, 1])
    assert learner.loss_ == pytest.approx(0.5 + 5 / 7)
    assert learner.n_rounds_ == 2
    assert learner.bound() == pytest.approx((math.log(4) + math.log(3)) / 0.75)
    # all three have lost 1, so the subpool of all pays no ln N
    assert learner.bound("pool") == pytest.approx(math.log(4) / 0.75)
    assert learner.bound("weights") == pytest.approx(math.log(4) / 0.75)


def test_the_bounds_of_the_run_are_those_of_the_functions():
    losses = random_losses(1, 6, 30)
    learner = Hedge(0.6).update(losses[0])
    learner.run(losses[1:])
    best = losses.sum(axis=0).min()
    assert learner.bound() == pytest.approx(loss_bound(6, best, 0.6))
    tuned = Hedge(horizon=30)
    tuned.run(losses)
    assert tuned.beta_ == pytest.approx(tuned_beta(6, 30))
    assert tuned.bound("horizon") == pytest.approx(tuned_loss_bound(6, best, 30))
    prior = np.array([1.0, 2, 3, 4, 5, 6])
    informed = Hedge(0.6, prior=prior)
    informed.run(losses)
    each = [
        loss_bound(6, loss, 0.6, prior=p)
        for loss, p in zip(losses.sum(axis=0), prior / 21, strict=True)
    ]
    assert informed.bound() == pytest.approx(min(each))


@given(**RUNS, coarse=st.booleans(), informed=st.booleans())
def test_theorem_2_on_random_sequences(seed, n_experts, n_rounds, beta, coarse, informed):
    prior = np.random.default_rng(seed).random(n_experts) + 0.01 if informed else None
    learner = Hedge(beta, prior=prior)
    for row in random_losses(seed, n_experts, n_rounds, coarse):
        learner.update(row)
        assert_bounds_hold(learner)


@given(**RUNS)
@settings(max_examples=50)
def test_theorem_2_against_an_adversary(seed, n_experts, n_rounds, beta):
    learner = Hedge(beta).start(n_experts)
    for _ in range(n_rounds):
        # whoever has the most weight loses all, the others nothing
        learner.update(np.arange(n_experts) == learner.weights_.argmax())
        assert_bounds_hold(learner)
    assert learner.loss_ >= n_rounds / n_experts - 1e-9


@given(**RUNS, informed=st.booleans())
def test_lemma_4_the_tuned_rate_keeps_its_promise(seed, n_experts, n_rounds, beta, informed):
    prior = np.random.default_rng(seed).random(n_experts) + 0.01 if informed else None
    learner = Hedge(horizon=n_rounds, prior=prior)
    learner.run(random_losses(seed, n_experts, n_rounds))
    assert learner.loss_ <= learner.bound("horizon") + 1e-9
    assert n_experts == 1 or learner.bound() <= learner.bound("horizon") + 1e-9


@given(**RUNS)
def test_experts_in_another_order_give_the_same_run(seed, n_experts, n_rounds, beta):
    losses = random_losses(seed, n_experts, n_rounds)
    order = np.random.default_rng(seed).permutation(n_experts)
    prior = np.arange(1.0, n_experts + 1)
    first, other = Hedge(beta, prior=prior), Hedge(beta, prior=prior[order])
    np.testing.assert_allclose(first.run(losses), other.run(losses[:, order]), atol=1e-12)
    np.testing.assert_allclose(first.weights_[order], other.weights_, atol=1e-12)


@given(**RUNS)
def test_rounds_one_by_one_are_the_run(seed, n_experts, n_rounds, beta):
    losses = random_losses(seed, n_experts, n_rounds)
    first, other = Hedge(beta), Hedge(beta)
    mixed = first.run(losses)
    for row, loss in zip(losses, mixed, strict=True):
        assert other.mix(row) == pytest.approx(loss)
        other.update(row)
    np.testing.assert_allclose(first.weights_, other.weights_, rtol=1e-9)
    assert first.loss_ == pytest.approx(other.loss_)
    assert first.n_rounds_ == other.n_rounds_ == n_rounds


@given(**RUNS)
def test_the_plain_product_of_the_paper(seed, n_experts, n_rounds, beta):
    losses = random_losses(seed, n_experts, n_rounds)
    weights = np.full(n_experts, 1.0 / n_experts)
    lost = 0.0
    for row in losses:
        lost += weights @ row / weights.sum()
        weights = weights * beta**row
    learner = Hedge(beta)
    learner.run(losses)
    assert learner.loss_ == pytest.approx(lost)
    np.testing.assert_allclose(learner.weights_, weights / weights.sum(), rtol=1e-9)
    np.testing.assert_allclose(learner.log_weights_, np.log(weights), rtol=1e-9, atol=1e-9)


@given(**RUNS)
def test_a_mixture_loses_no_more_than_the_mean_of_a_convex_loss(seed, n_experts, n_rounds, beta):
    rng = np.random.default_rng(seed)
    learner = Hedge(beta)
    lost = 0.0
    for _ in range(n_rounds):
        truth, predictions = rng.random(), rng.random(n_experts)
        lost += (learner.mix(predictions) - truth) ** 2
        learner.update((predictions - truth) ** 2)
    assert lost <= learner.loss_ + 1e-9
    assert lost <= learner.bound() + 1e-9


def test_a_million_rounds_stay_finite():
    losses = np.empty((1_000_000, 3))
    losses[:] = [1.0, 0.999, 1.0]
    learner = Hedge(beta=0.01)
    mixed = learner.run(losses)
    assert np.isfinite(mixed).all()
    assert learner.weights_.sum() == pytest.approx(1)
    assert learner.weights_[1] == pytest.approx(1)
    assert np.isfinite(learner.log_weights_).all()
    assert learner.log_weights_.max() < -1e6
    assert learner.loss_ <= learner.bound("weights") * (1 + 1e-9)


def test_the_three_ways_to_say_beta():
    assert Hedge().start(3).beta_ == pytest.approx(0.5)
    assert Hedge(0.8).start(3).beta_ == pytest.approx(0.8)
    assert Hedge(learning_rate=0.1).start(3).beta_ == pytest.approx(math.exp(-0.1))
    assert Hedge("auto", horizon=50).start(3).beta_ == pytest.approx(tuned_beta(3, 50))


def test_a_pool_of_one_loses_what_its_expert_loses():
    learner = Hedge(horizon=10)
    learner.run([[0.5], [1.0], [0.25]])
    assert learner.loss_ == 1.75 == learner.bound("horizon")


def test_choices_follow_the_weights():
    learner = Hedge(beta=0.25, random_state=0).update([0.0, 1.0, 0.0])
    counts = np.bincount([learner.choose() for _ in range(4000)], minlength=3)
    np.testing.assert_allclose(counts / 4000, [4 / 9, 1 / 9, 4 / 9], atol=0.03)
    again = [Hedge(random_state=5).start(4).choose() for _ in range(2)]
    assert again[0] == again[1]


def test_mixing_arrays():
    learner = Hedge(prior=[1, 3])
    assert learner.mix([2, 4]) == pytest.approx(3.5)
    np.testing.assert_allclose(learner.mix([[0, 4], [4, 0]]), [3, 1])
    assert learner.mix(np.ones((2, 3, 5))).shape == (3, 5)


@pytest.mark.parametrize(
    ("parameters", "argument"),
    [
        ({"beta": 1.0}, "beta"),
        ({"beta": "best"}, "beta"),
        ({"beta": None}, "beta"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"horizon": -3}, "horizon"),
        ({"beta": 0.5, "horizon": 3}, "give one of beta"),
        ({"prior": [1, 1]}, "prior"),
        ({"prior": [1, np.nan, 1]}, "prior"),
        ({"prior": [1e-300, 1, 1e300]}, "prior"),
        ({"random_state": 1.5}, "random_state"),
    ],
)
def test_wrong_parameters_are_named(parameters, argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        Hedge(**parameters).start(3)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: x.update([0.5, 1.5]), "losses"),
        (lambda x: x.update([0.5, np.nan]), "losses"),
        (lambda x: x.update([]), "losses"),
        (lambda x: x.run([0.5, 0.5]), "losses"),
        (lambda x: x.start(3).update([0, 1]), "losses"),
        (lambda x: x.start(3).mix([0, 1]), "predictions"),
        (lambda x: x.mix(3.0), "predictions"),
        (lambda x: x.start(2).bound("worst"), "kind"),
        (lambda x: x.start(2).bound("horizon"), "kind"),
    ],
)
def test_wrong_arguments_are_named(call, argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        call(Hedge())


def test_a_horizon_that_was_passed_promises_nothing():
    learner = Hedge(horizon=1)
    learner.run([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="horizon is 1, the smallest loss 2"):
        learner.bound("horizon")
    assert learner.loss_ <= learner.bound()
