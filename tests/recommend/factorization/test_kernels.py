"""Compiled kernels against the reference in NumPy, and threads against one thread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import ImplicitFactorization, MatrixFactorization, NonNegativeFactorization, Ratings
from edgewise.common.threads import Threads
from edgewise.ratings import Grouped
from edgewise.recommend.factorization.base import run_on_rows, solve_ridge_rows
from edgewise.recommend.factorization.implicit import ConfidenceSide, pad_factors
from edgewise.recommend.kernels import factorization as reference
from edgewise.recommend.kernels import factorization_numba as compiled

MODELS = [
    MatrixFactorization(5, solver="sgd", n_epochs=4),
    MatrixFactorization(5, solver="sgd", n_epochs=4, biases=False),
    MatrixFactorization(5, solver="als", n_epochs=4),
    MatrixFactorization(5, solver="als", n_epochs=4, regularization=0.0, biases=False),
    NonNegativeFactorization(5, n_epochs=4),
    NonNegativeFactorization(5, n_epochs=4, entries="all"),
    ImplicitFactorization(5, n_epochs=4, solver="exact", regularization=0.1),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model).replace("\n", ""))
def test_both_kernels_give_the_same_model(make_ratings, backend, model, weighted):
    ratings = make_ratings(seed=2, n_users=20, n_items=15, weighted=weighted, low=0.1)
    fitted = []
    for name in ("numpy", "numba"):
        backend(name)
        one = type(model)(**model.get_params()).set_params(random_state=0).fit(ratings)
        fitted.append(one.fold_in({1000: {0: 3.0, 2: 1.0}}))
    for name in ("user_factors_", "item_factors_", "loss_history_"):
        ours, theirs = (getattr(one, name) for one in fitted)
        np.testing.assert_allclose(theirs, ours, rtol=1e-8, atol=1e-10)


def test_both_conjugate_gradients_agree_as_single_precision_can(make_ratings, backend):
    ratings = make_ratings(seed=2, n_users=20, n_items=15, weighted=True)
    scores = []
    for name in ("numpy", "numba"):
        backend(name)
        model = ImplicitFactorization(5, n_epochs=4, regularization=1.0, random_state=0)
        scores.append(model.fit(ratings)._user_scores(np.arange(20)))
    np.testing.assert_allclose(*scores, atol=1e-4)


@given(st.integers(0, 300), st.integers(1, 2**63))
def test_both_shuffles_give_the_same_order(n, seed):
    ours, theirs = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    states = [np.array([seed], dtype=np.uint64) for _ in range(2)]
    reference.shuffle(ours, states[0])
    compiled.shuffle(theirs, states[1])
    np.testing.assert_array_equal(ours, theirs)
    assert states[0] == states[1]
    assert sorted(ours.tolist()) == list(range(n))


def test_shuffles_are_even():
    state, places = np.array([7], dtype=np.uint64), np.arange(4, dtype=np.int32)
    counts = np.zeros((4, 4))
    for _ in range(8000):
        places[:] = np.arange(4)
        compiled.shuffle(places, state)
        counts[np.arange(4), places] += 1
    # Each is 2000 on average, with a standard deviation of 39.
    assert np.abs(counts - 2000).max() < 200


@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    k=st.integers(1, 7),
    penalty=st.sampled_from([0.0, 0.1]),
)
def test_both_solve_every_row(seed, sizes, k, penalty):
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(starts[-1])
    others = rng.integers(0, 9, n).astype(np.int32)
    weights = rng.uniform(0.1, 2.0, n)
    targets = weights * rng.normal(size=n)
    design = rng.normal(size=(9, k))
    scales, penalties = np.array(sizes, dtype=float), np.full(k, penalty)
    for kernels in (reference, compiled):
        system = reference.RidgeSystem(
            starts, others, weights, targets, design, np.zeros((k, k)), scales, penalties
        )
        entries = Grouped(starts, others, weights, None, others)
        rows = solve_ridge_rows(kernels, Threads(1), entries, system)
        for i, x in enumerate(rows):
            entries = slice(starts[i], starts[i + 1])
            Y = design[others[entries]]
            A = Y.T @ (weights[entries, None] * Y) + penalty * sizes[i] * np.eye(k)
            # Also where many solutions exist: any of them solves the equations.
            np.testing.assert_allclose(A @ x, Y.T @ targets[entries], atol=1e-6)
            if sizes[i] == 0:
                assert not x.any()


THREADED = [
    MatrixFactorization(6, solver="als", n_epochs=3),
    MatrixFactorization(6, solver="sgd", n_epochs=3),
    NonNegativeFactorization(6, n_epochs=3),
    ImplicitFactorization(6, n_epochs=3),
    ImplicitFactorization(6, n_epochs=3, solver="exact"),
]


@pytest.mark.parametrize("name", ["numpy", "numba"])
@pytest.mark.parametrize("model", THREADED, ids=lambda model: repr(model).replace("\n", ""))
def test_the_same_bits_on_any_number_of_threads(make_ratings, backend, model, name):
    backend(name)
    ratings = make_ratings(seed=6, n_users=60, n_items=40, share=0.3, low=0.1)
    one, three = (
        type(model)(**model.get_params())
        .set_params(random_state=3, n_jobs=n_jobs)
        .fit(ratings)
        .fold_in({1000: {0: 3.0, 5: 1.0}, 1001: {1: 2.0}})
        for n_jobs in (1, 3)
    )
    for attribute in ("user_factors_", "item_factors_", "loss_history_"):
        np.testing.assert_array_equal(getattr(three, attribute), getattr(one, attribute))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_take_every_row_once(n_threads):
    starts = np.array([0, 50, 50, 51, 60, 200, 201, 201])
    taken = np.zeros(7)

    def take(start, stop):
        taken[start:stop] += 1

    none = np.zeros(0)
    with Threads(n_threads) as pool:
        run_on_rows(take, pool, Grouped(starts, none, none, None, none))
    assert (taken == 1).all()


def test_columns_of_nought_change_nothing():
    factors = np.random.default_rng(0).normal(size=(3, 5))
    single = pad_factors(factors)
    assert single.shape == (3, 8)
    np.testing.assert_array_equal(single[:, :5], factors.astype(np.float32))
    ratings = Ratings.from_arrays([0, 1, 2], [0, 1, 2])
    side = ConfidenceSide(ratings.by_user, 1.0, 0.5, compiled)
    rows, others = pad_factors(factors), pad_factors(factors[::-1])
    side.improve(rows, others, 3, Threads(1))
    assert not rows[:, 5:].any()
