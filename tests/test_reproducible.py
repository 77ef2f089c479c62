"""The same model, bit for bit: on any number of threads, backend, storage and order of rows."""

from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgewise import AdaBoostMH, Lazy

VOTES = ["discrete", "real", "abstain"]
SHAPES = {
    "stump": {"learner": "stump"},
    "stump per class": {"learner": "stump", "factorized": False},
    "product": {"learner": "product"},
    "tree": {"learner": "tree"},
    "auto": {"learner": "auto"},
}


def same(left, right):
    for field in fields(left.fitted_.terms):
        ours, theirs = (
            getattr(left.fitted_.terms, field.name),
            getattr(right.fitted_.terms, field.name),
        )
        np.testing.assert_array_equal(ours, theirs, err_msg=field.name)
    for name in ("edge", "energy", "train_error", "hamming_loss", "pseudo_weight"):
        np.testing.assert_array_equal(left.history_[name], right.history_[name], err_msg=name)


def problem(n_rows=300, n_columns=6, n_classes=3, seed=0):
    """Return rows with dense, mostly-zero and holed columns, their classes and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1] = np.where(rng.random(n_rows) < 0.8, 0.0, X[:, 1])
    X[:, 2] = rng.integers(0, 4, n_rows)
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    y = np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_rows), [-0.6, 0.6])
    y = y % n_classes
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng.random(n_rows) + 0.1


@pytest.fixture
def backend(monkeypatch):
    def choose(name):
        monkeypatch.setenv("EDGEWISE_BACKEND", name)

    return choose


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads(backend, votes, shape, n_classes):
    # More than twice 4,096 rows, so that two threads share the rows as well as the columns.
    X, y, weights = problem(9001, 5, n_classes)
    backend("numba")
    models = [
        AdaBoostMH(n_rounds=6, votes=votes, n_jobs=n_jobs, **shape).fit(X, y, sample_weight=weights)
        for n_jobs in (1, 2, 3)
    ]
    for other in models[1:]:
        same(models[0], other)
        np.testing.assert_array_equal(models[0].decision_function(X), other.decision_function(X))
    backend("numpy")
    same(models[0], AdaBoostMH(n_rounds=6, votes=votes, **shape).fit(X, y, sample_weight=weights))


@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("n_classes", "max_bins"), [(2, 16), (3, 256), (2, 1000)])
def test_backends(backend, votes, shape, n_classes, max_bins):
    X, y, weights = problem(n_classes=n_classes)
    models = {}
    for name in ("numpy", "numba"):
        backend(name)
        models[name] = AdaBoostMH(n_rounds=40, votes=votes, max_bins=max_bins, **shape)
        models[name].fit(X, y, sample_weight=weights)
    same(models["numpy"], models["numba"])
    scores = []
    for name in ("numpy", "numba"):
        backend(name)
        scores.append(models["numpy"].decision_function(X))
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("n_classes", [5, 40])
def test_backends_with_many_classes(backend, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.arange(200) % n_classes
    models = []
    for name in ("numpy", "numba"):
        backend(name)
        models.append(AdaBoostMH(n_rounds=15, votes="abstain").fit(X, y))
    same(*models)


@pytest.mark.parametrize("name", ["numpy", "numba"])
@pytest.mark.parametrize("votes", VOTES)
def test_kinds_of_input(backend, name, votes):
    backend(name)
    X, y, weights = problem()
    names = [f"c{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    tables = [
        np.asfortranarray(X),
        X.tolist(),
        sparse.csr_matrix(X),
        sparse.csc_array(X),
        frame,
        frame.astype({"c2": "int64", "c3": "Float64"}),
        pl.from_numpy(X, schema=names),
        pa.Table.from_pandas(frame),
    ]
    model = AdaBoostMH(n_rounds=20, votes=votes).fit(X, y, sample_weight=weights)
    scores = model.decision_function(X)
    for table in tables:
        other = AdaBoostMH(n_rounds=20, votes=votes).fit(table, y, sample_weight=weights)
        same(model, other)
        np.testing.assert_array_equal(other.decision_function(table), scores)


def test_how_a_sparse_matrix_is_stored_does_not_matter(backend):
    X, y, _ = problem()
    X = np.nan_to_num(X)
    matrix = sparse.csr_matrix(X)
    with_zeros = sparse.csr_matrix(
        (np.r_[matrix.data, [0.0, 0.0]], np.r_[matrix.indices, [1, 1]],
         np.r_[matrix.indptr[:-1], matrix.indptr[-1] + 2]), shape=matrix.shape,
    )  # fmt: skip
    rows, columns = X.nonzero()
    halves = sparse.coo_matrix(
        (np.tile(X[rows, columns] / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))), X.shape
    )
    model = AdaBoostMH(n_rounds=20).fit(X, y)
    same(model, AdaBoostMH(n_rounds=20).fit(with_zeros, y))
    same(model, AdaBoostMH(n_rounds=20).fit(halves, y))


@pytest.mark.parametrize("name", ["numpy", "numba"])
@pytest.mark.parametrize("votes", VOTES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_order_of_rows(backend, name, votes, shape):
    backend(name)
    X, y, weights = problem()
    model = AdaBoostMH(n_rounds=30, votes=votes, max_bins=32, subsample=1.0, **shape)
    model.fit(X, y, sample_weight=weights)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        shuffled = AdaBoostMH(n_rounds=30, votes=votes, max_bins=32, subsample=1.0, **shape)
        same(model, shuffled.fit(X[order], y[order], sample_weight=weights[order]))


@pytest.mark.parametrize("init_weights", ["balanced", "uniform", "matrix"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_order_of_rows_with_weights_of_every_kind(init_weights, class_weight):
    X, y, weights = problem(500)
    matrix = np.random.default_rng(1).random((500, 3))
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(500)
        models = [
            AdaBoostMH(
                subsample=1.0, n_rounds=20, class_weight=class_weight,
                init_weights=matrix[rows] if init_weights == "matrix" else init_weights,
            ).fit(X[rows], y[rows], sample_weight=weights[rows])
            for rows in (np.arange(500), order)
        ]  # fmt: skip
        same(*models)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_order_of_rows_with_labels(class_weight):
    X, _, weights = problem(500)
    Y = (np.nan_to_num(X[:, :3]) > 0.3).astype(int)
    model = AdaBoostMH(subsample=1.0, n_rounds=20, class_weight=class_weight).fit(
        X, Y, sample_weight=weights
    )
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(500)
        shuffled = AdaBoostMH(subsample=1.0, n_rounds=20, class_weight=class_weight)
        same(model, shuffled.fit(X[order], Y[order], sample_weight=weights[order]))


def test_order_of_rows_across_a_refresh(monkeypatch):
    monkeypatch.setattr("edgewise.boosting.loop.REFRESH_EVERY", 7)
    X, y, weights = problem()
    order = np.random.default_rng(0).permutation(len(y))
    same(
        AdaBoostMH(subsample=1.0, n_rounds=30).fit(X, y, sample_weight=weights),
        AdaBoostMH(subsample=1.0, n_rounds=30).fit(
            X[order], y[order], sample_weight=weights[order]
        ),
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), votes=st.sampled_from(VOTES), n_classes=st.integers(2, 3))
def test_order_of_any_rows(seed, votes, n_classes):
    X, y, weights = problem(40, 4, n_classes, seed=seed)
    order = np.random.default_rng(seed).permutation(40)
    same(
        AdaBoostMH(subsample=1.0, n_rounds=8, votes=votes, max_bins=8).fit(
            X, y, sample_weight=weights
        ),
        AdaBoostMH(subsample=1.0, n_rounds=8, votes=votes, max_bins=8).fit(
            X[order], y[order], sample_weight=weights[order]
        ),
    )


def test_random_searches_follow_the_seed(backend):
    X, y, _ = problem()
    models = {}
    for name in ("numpy", "numba"):
        backend(name)
        models[name] = AdaBoostMH("stump", n_rounds=20, search=Lazy(2), random_state=1).fit(X, y)
    same(models["numpy"], models["numba"])
    other = AdaBoostMH("stump", n_rounds=20, search=Lazy(2), random_state=2).fit(X, y)
    assert (
        other.fitted_.terms.stumps.columns != models["numpy"].fitted_.terms.stumps.columns
    ).any()


@pytest.mark.parametrize("learner", ["stump", "product", "tree", "auto"])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_samples_of_the_rows_follow_the_seed(backend, learner, loss):
    X, y, _ = problem()
    settings = {"learner": learner, "loss": loss, "n_rounds": 12, "subsample": 0.5}
    models = []
    for name, n_jobs in (("numpy", 1), ("numba", 1), ("numba", 2)):
        backend(name)
        models.append(AdaBoostMH(random_state=1, n_jobs=n_jobs, **settings).fit(X, y))
    same(models[0], models[1])
    same(models[0], models[2])
    other = AdaBoostMH(random_state=2, **settings).fit(X, y)
    assert (other.decision_function(X) != models[0].decision_function(X)).any()


def test_what_is_not_random_needs_no_seed():
    X, y, _ = problem()
    one, other = (AdaBoostMH(subsample=1.0, n_rounds=10, random_state=seed) for seed in (0, 5))
    same(one.fit(X, y), other.fit(X, y))


def test_training_data_is_not_changed():
    X, y, weights = problem()
    copies = X.copy(), y.copy(), weights.copy()
    for array in (X, y, weights):
        array.setflags(write=False)
    AdaBoostMH(n_rounds=3, init_weights="uniform").fit(X, y, sample_weight=weights).predict(X)
    for array, copy in zip((X, y, weights), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
