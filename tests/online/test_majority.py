"""Weighted majority: Shi's (2025) algorithm by hand, its bounds on any sequence, and its ties."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise.online import WeightedMajority, mistake_bound

KINDS = ("best", "each", "total", "weights")
RUNS = {
    "seed": st.integers(0, 2**32 - 1),
    "n_experts": st.integers(1, 12),
    "n_rounds": st.integers(0, 40),
    "beta": st.floats(0.01, 0.99),
    "penalize": st.sampled_from(["mistakes", "always"]),
    "n_labels": st.integers(2, 4),
}
ADVICE = [[1, 1, -1], [1, -1, -1], [1, -1, -1], [1, -1, -1]]
OUTCOMES = [-1, 1, 1, 1]


def random_run(seed, n_experts, n_rounds, beta, penalize, n_labels):
    rng = np.random.default_rng(seed)
    learner = WeightedMajority(
        beta, labels=tuple(range(n_labels)), penalize=penalize, random_state=seed
    )
    outcomes = rng.integers(n_labels, size=n_rounds)
    skill = rng.random(n_experts)
    right = rng.random((n_rounds, n_experts)) < skill
    advice = np.where(right, outcomes[:, None], rng.integers(n_labels, size=right.shape))
    return learner, advice, outcomes


def assert_bounds_hold(learner):
    bounds = [learner.bound(kind) for kind in KINDS]
    assert learner.mistakes_ <= bounds[-1] + 1e-9
    # each follows from the next: best >= each >= total >= weights
    assert all(a >= b - 1e-9 for a, b in pairwise(bounds))


def test_three_experts_by_hand():
    learner = WeightedMajority(0.5)
    # the weights (1, 1, 1): + has 2 of 3, and is wrong
    assert learner.predict(ADVICE[0]) == 1
    learner.update(ADVICE[0], -1)
    np.testing.assert_allclose(np.exp(learner.log_weights_), [0.5, 0.5, 1])
    # - has 1.5 of 2, wrong; then 0.75 of 1.25, wrong
    assert learner.predict(ADVICE[1]) == -1
    learner.update(ADVICE[1], 1)
    np.testing.assert_allclose(np.exp(learner.log_weights_), [0.5, 0.25, 0.5])
    assert learner.predict(ADVICE[2]) == -1
    learner.update(ADVICE[2], 1)
    np.testing.assert_allclose(np.exp(learner.log_weights_), [0.5, 0.125, 0.25])
    # + has 0.5 of 0.875: right, and nobody is penalized
    assert learner.predict(ADVICE[3]) == 1
    learner.update(ADVICE[3], 1)
    np.testing.assert_allclose(np.exp(learner.log_weights_), [0.5, 0.125, 0.25])
    np.testing.assert_allclose(learner.weights_, [4 / 7, 1 / 7, 2 / 7])
    assert learner.mistakes_ == 3
    assert learner.n_rounds_ == 4
    assert learner.expert_mistakes_.tolist() == [1, 4, 3]
    assert learner.penalties_.tolist() == [1, 3, 2]
    assert learner.bound() == pytest.approx((math.log(3) + math.log(2)) / math.log(4 / 3))


def test_penalizing_in_every_round():
    learner = WeightedMajority(0.5, penalize="always")
    learner.run(ADVICE, OUTCOMES)
    np.testing.assert_allclose(np.exp(learner.log_weights_), [0.5, 1 / 16, 1 / 8])
    assert learner.mistakes_ == 3


def test_the_bounds_of_the_run_are_those_of_the_functions():
    learner = WeightedMajority(0.3)
    learner.run(ADVICE, OUTCOMES)
    assert learner.bound() == pytest.approx(mistake_bound(3, 1, 0.3))
    assert learner.bound("each", k=2) == pytest.approx(mistake_bound(3, 3, 0.3, k=2))
    assert learner.bound("total", k=2) == pytest.approx(mistake_bound(3, 4, 0.3, k=2, total=True))
    assert learner.bound("total") == pytest.approx(
        min(mistake_bound(3, m, 0.3, k=k, total=True) for k, m in ((1, 1), (2, 4), (3, 8)))
    )


@given(**RUNS)
def test_bounds_hold_on_random_sequences(**run):
    learner, advice, outcomes = random_run(**run)
    predictions = learner.run(advice, outcomes)
    assert learner.mistakes_ == (predictions != outcomes).sum()
    np.testing.assert_array_equal(
        learner.expert_mistakes_, (advice != outcomes[:, None]).sum(axis=0)
    )
    assert_bounds_hold(learner)


@given(**RUNS)
@settings(max_examples=50)
def test_bounds_hold_against_an_adversary_in_every_round(**run):
    learner, advice, _ = random_run(**run)
    learner.start(run["n_experts"])
    for row in advice:
        # the label with the least weight: never what is predicted
        sums = [learner.weights_[row == label].sum() for label in range(run["n_labels"])]
        outcome = int(np.argmin(sums))
        if outcome == learner.predict(row):
            outcome = (outcome + 1) % run["n_labels"]
        learner.update(row, outcome)
        assert_bounds_hold(learner)
    assert learner.mistakes_ == len(advice)


def test_a_pool_of_halves_forces_the_bound_of_halving():
    # expert i says bit b of i in round b, and the majority of those left is always wrong
    bits = (np.arange(16)[None, :] >> np.arange(4)[:, None]) & 1
    learner = WeightedMajority(1e-12, labels=(0, 1), random_state=0)
    for row in bits:
        learner.update(row, 1 - learner.predict(row))
    assert learner.mistakes_ == 4
    assert learner.bound() == pytest.approx(4)
    assert np.sort(learner.expert_mistakes_)[0] == 0


@given(**RUNS)
def test_experts_in_another_order_give_the_same_run(**run):
    learner, advice, outcomes = random_run(**run)
    order = np.random.default_rng(run["seed"]).permutation(run["n_experts"])
    predictions = learner.run(advice, outcomes)
    other = clone(learner)
    np.testing.assert_array_equal(other.run(advice[:, order], outcomes), predictions)
    np.testing.assert_array_equal(other.weights_, learner.weights_[order])
    np.testing.assert_array_equal(other.expert_mistakes_, learner.expert_mistakes_[order])


@given(**RUNS)
def test_rounds_one_by_one_are_the_run(**run):
    learner, advice, outcomes = random_run(**run)
    learner.start(run["n_experts"])
    single = clone(learner).start(run["n_experts"])
    predictions = []
    for row, outcome in zip(advice, outcomes, strict=True):
        predictions.append(single.predict(row))
        assert single.predict(row) == predictions[-1]  # the tie of a round is split once
        single.update(row, outcome)
    half = len(advice) // 2
    together = np.concatenate(
        [learner.run(advice[:half], outcomes[:half]), learner.run(advice[half:], outcomes[half:])]
    )
    np.testing.assert_array_equal(together, np.array(predictions, dtype=together.dtype))
    np.testing.assert_array_equal(single.weights_, learner.weights_)
    assert single.mistakes_ == learner.mistakes_


def test_ties_are_split_at_random_and_again_the_same():
    # the advice of no expert is ever better: every second round is a tie
    def run(seed):
        return WeightedMajority(penalize="always", random_state=seed).run(
            [[1, -1]] * 400, [1, -1] * 200
        )

    firsts = [WeightedMajority(random_state=seed).predict([1, -1]) for seed in range(400)]
    assert 150 < firsts.count(1) < 250
    np.testing.assert_array_equal(run(3), run(3))
    assert 60 < (run(3)[::2] == 1).sum() < 140
    assert (run(3) != run(4)).any()


def test_equal_weights_tie_exactly_after_many_mistakes():
    # the pairs trade mistakes, so their weights stay equal though beta is no binary fraction
    learner = WeightedMajority(0.9, penalize="always", random_state=1)
    learner.run([[1, 1, -1, -1], [1, 1, -1, -1]] * 500, [1, -1] * 500)
    predictions = set()
    for _ in range(60):
        predictions.add(learner.predict([1, -1, 1, -1]))
        learner.update([1, 1, 1, 1], 1)  # draws for the next round, and penalizes nobody
    assert predictions == {-1, 1}


def test_long_runs_stay_finite():
    rng = np.random.default_rng(0)
    n = 20_000
    outcomes = np.where(rng.random(n) < 0.5, 1, -1)
    noise = rng.random((n, 5)) < [0.45, 0.5, 0.5, 0.5, 0.5]
    learner = WeightedMajority(0.1, penalize="always", random_state=0)
    learner.run(np.where(noise, -outcomes[:, None], outcomes[:, None]), outcomes)
    assert learner.log_weights_.max() < -1000  # far below what a float can hold
    assert learner.weights_.sum() == pytest.approx(1)
    assert learner.weights_.argmax() == 0
    assert_bounds_hold(learner)


def test_words_and_ratings_as_labels():
    learner = WeightedMajority(labels=["drama", "comedy", "war"], random_state=0)
    assert learner.predict(["war", "comedy", "war"]) == "war"
    learner.update(["war", "comedy", "war"], "drama")
    assert learner.mistakes_ == 1
    frame = np.array(["war", "comedy", "drama"], dtype=object)  # as a data frame has words
    assert WeightedMajority(labels=frame).predict(frame[[1, 1, 0]]) == "comedy"
    levels = WeightedMajority(labels=np.arange(1, 6))
    assert levels.predict(np.array([4.0, 4.0, 5.0])) == 4


@pytest.mark.parametrize(
    ("parameters", "argument"),
    [
        ({"beta": 1.0}, "beta"),
        ({"beta": "auto"}, "beta"),
        ({"labels": (1,)}, "labels"),
        ({"labels": (1, 1)}, "labels"),
        ({"labels": (1, "a")}, "labels"),
        ({"labels": "ab"}, "labels"),
        ({"labels": 3}, "labels"),
        ({"penalize": "never"}, "penalize"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_wrong_parameters_are_named(parameters, argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        WeightedMajority(**parameters).start(2)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: x.predict([1, 0]), "advice"),
        (lambda x: x.predict([1.0, np.nan]), "advice"),
        (lambda x: x.predict(["a", "b"]), "advice"),
        (lambda x: x.predict([[1, 1]]), "advice"),
        (lambda x: x.predict([]), "advice"),
        (lambda x: x.start(3).predict([1, 1]), "advice"),
        (lambda x: x.update([1, 1], 2), "outcome"),
        (lambda x: x.run([[1, 1]], [1, 1]), "outcomes"),
        (lambda x: x.start(0), "n_experts"),
        (lambda x: x.start(2).bound("worst"), "kind"),
        (lambda x: x.start(2).bound("each", k=3), "k must"),
        (lambda x: x.start(2).bound(k=1), "k must"),
    ],
)
def test_wrong_arguments_are_named(call, argument):
    with pytest.raises((TypeError, ValueError), match=argument):
        call(WeightedMajority())
