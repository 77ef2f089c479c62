"""Weights from scores, and the energy of real outputs: both backends and definitions agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.backend.arithmetic import ENERGY_SCALE, EXACT_SCALE
from edgewise.backend.base import RealStep

from ..helpers import Given

SCORES = [1, 3, 40]
# The fixed point in which new weights are summed, with room for sums past 1.
UNIT = EXACT_SCALE / 64


def random_outputs(rng, kind, n_rows, n_scores):
    """Return outputs; `kind` is "signs" or "reals", for one score column or for each."""
    what, each = kind
    shape = (n_scores if each else 1, n_rows)
    if what == "signs":
        return rng.choice([-1, 0, 1], size=shape).astype(np.int8)
    return rng.normal(size=shape) * (rng.random(shape) < 0.9)


KINDS = [(what, each) for what in ("signs", "reals") for each in (False, True)]


def initial_weights(rng, labels, matrix):
    """Return initial weights that sum to 1, as the backend take them and as a matrix."""
    n_scores, n = labels.shape
    rows, by_label = rng.dirichlet(np.ones(n)), rng.uniform(0.5, 2.0, (2, n_scores))
    given = np.empty((0, 0))
    if matrix:
        given = rows * rng.uniform(0.0, 2.0, labels.shape)
        given[rng.random(given.shape) < 0.1] = 0.0
        by_label = np.ones((2, n_scores))
    shares = np.where(labels > 0, by_label[1][:, None], by_label[0][:, None])
    whole = (given if matrix else rows) * shares
    if whole.sum() == 0.0:
        return initial_weights(rng, labels, False)
    return (rows, by_label / whole.sum(), given), whole / whole.sum()


def margins(state, outputs, coefficients):
    return state.labels * (state.scores + outputs * coefficients[:, None])


def losses(problem):
    """Return the losses that the labels allow: softmax needs one class for each row."""
    several = problem.labels.shape[0] > 1 and ((problem.labels > 0).sum(axis=0) == 1).all()
    return ("exponential", "logistic", "softmax") if several else ("exponential", "logistic")


def assert_equal_to_reference(problem, both, n_jobs=1, matrix=False, rounds=2, seed=0):
    """Take steps of every kind with both backend; the weights are normalized in between."""
    rng = np.random.default_rng(seed)
    n_scores, n = problem.labels.shape
    initial, first = initial_weights(rng, problem.labels, matrix)
    with both(problem.binned, n_jobs) as (reference, numba):
        for loss in losses(problem):
            state, other = problem.fresh_state(), problem.fresh_state()
            state.initial = other.initial = initial
            for kind in KINDS * rounds:
                outputs = random_outputs(rng, kind, n, n_scores)
                moves = rng.normal(size=n_scores) / 2
                votes = rng.normal(size=n_scores) * rng.integers(2, size=n_scores)
                energy = reference.energy(state, Given(outputs), moves)
                assert energy == numba.energy(other, Given(outputs), moves)
                # As the objective does: what is left over after the step is about 1.
                grown = first * np.exp(-margins(state, outputs, moves))
                step = RealStep(moves, votes, loss, -float(np.log(grown.sum())), UNIT)
                found = reference.reweigh(state, Given(outputs), step)
                assert found == numba.reweigh(other, Given(outputs), step)
                assert np.array_equal(state.weights, other.weights)
                assert np.array_equal(state.scores, other.scores)
                for each in (state, other):
                    each.weights *= UNIT / found[0]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    n_scores=st.sampled_from(SCORES),
    matrix=st.booleans(),
)
def test_any_problem(make_problem, both, seed, n, n_scores, matrix):
    problem = make_problem(seed, n=n, d=1, n_scores=n_scores, kind="multilabel")
    assert_equal_to_reference(problem, both, matrix=matrix, rounds=1, seed=seed)


# Rows: less than a vector, one less and more than a tile of 512, and enough for two threads.
@pytest.mark.parametrize("n", [1, 7, 511, 513, 9_195])
@pytest.mark.parametrize("n_scores", SCORES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_number_of_rows(make_problem, both, n, n_scores, n_jobs):
    kind = "multiclass" if n_scores > 1 else "multilabel"
    problem = make_problem(n, n=n, d=1, n_scores=n_scores, kind=kind, equal_mass=False)
    for matrix in (False, True):
        assert_equal_to_reference(problem, both, n_jobs, matrix, rounds=1, seed=n)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize(
    ("loss", "n_scores"),
    [("exponential", 1), ("exponential", 3), ("logistic", 1), ("logistic", 3), ("softmax", 3)],
)
def test_weights_are_what_their_definition_says(make_problem, both, kind, matrix, loss, n_scores):
    rng = np.random.default_rng(5)
    labels = "multiclass" if loss == "softmax" else "multilabel"
    problem = make_problem(5, n=30, d=1, n_scores=n_scores, kind=labels)
    initial, first = initial_weights(rng, problem.labels, matrix)
    with both(problem.binned) as backend:
        for one in backend:
            state = problem.fresh_state()
            state.initial = initial
            state.scores[:] = rng.normal(size=state.scores.shape)
            outputs = random_outputs(rng, kind, 30, n_scores)
            moves, votes = rng.normal(size=n_scores), np.array([1.0, 0.0, -2.0])[:n_scores]
            scores = state.scores + outputs * moves[:, None]
            pulls = np.abs((state.weights * state.labels * np.sign(votes)[:, None]).sum(axis=0))
            f = state.labels * scores
            shift = -float(np.log((first * np.exp(-f)).sum())) - 0.5
            step = RealStep(moves, votes, loss, shift, UNIT)
            total, pseudo = one.reweigh(state, Given(outputs), step)
            softmax = np.exp(scores) / np.exp(scores).sum(axis=0)
            expected = {
                "exponential": first * np.exp(shift - f),
                "logistic": first / (1 + np.exp(f)),
                "softmax": first * np.abs((problem.labels > 0) - softmax),
            }[loss]
            assert np.array_equal(state.scores, scores)
            np.testing.assert_allclose(state.weights, expected, rtol=1e-13)
            assert total / UNIT == pytest.approx(expected.sum(), rel=1e-13)
            if kind == ("signs", False) or (kind[0] == "signs" and n_scores == 1):
                assert pseudo / EXACT_SCALE == pytest.approx(pulls.sum(), rel=1e-13)
            else:
                assert pseudo == -1


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("n_scores", [1, 3])
def test_the_energy_is_what_its_definition_says(make_problem, both, kind, n_scores):
    rng = np.random.default_rng(6)
    problem = make_problem(6, n=30, d=1, n_scores=n_scores, kind="multilabel")
    state, moves = problem.state(), rng.normal(size=n_scores)
    outputs = random_outputs(rng, kind, 30, n_scores)
    grown = state.weights * np.exp(-state.labels * outputs * moves[:, None])
    with both(problem.binned) as backend:
        for one in backend:
            energy = one.energy(state, Given(outputs), moves) / ENERGY_SCALE
            assert energy == pytest.approx(grown.sum(), rel=1e-13)


def test_the_order_of_the_rows_does_not_matter(make_problem, both):
    rng = np.random.default_rng(7)
    problem = make_problem(7, n=700, d=1, n_scores=3, equal_mass=False)
    order = rng.permutation(700)
    permuted = problem.rows(order)
    initial, _ = initial_weights(rng, problem.labels, False)
    shuffled = (initial[0][order], *initial[1:])
    outputs, moves = rng.normal(size=(3, 700)), rng.normal(size=3) / 3
    votes = np.ones(3)
    with both(problem.binned) as (reference, numba):
        for loss in losses(problem):
            state, other = problem.state(), permuted.state()
            state.initial, other.initial = initial, shuffled
            assert reference.energy(state, Given(outputs), moves) == numba.energy(
                other, Given(np.ascontiguousarray(outputs[:, order])), moves
            )
            step = RealStep(moves, votes, loss, 0.0, UNIT)
            found = reference.reweigh(state, Given(outputs), step)
            also = numba.reweigh(other, Given(np.ascontiguousarray(outputs[:, order])), step)
            assert found == also
            assert np.array_equal(state.weights[:, order], other.weights)
