"""Trees that are grown in one compiled call are those that are grown node by node, bit for bit."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Indicator, Lazy, Stump, ThompsonSampling, Tree
from edgewise.backend.choose import use_backend
from edgewise.backend.numba import trees
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend


class AtOnce(NumbaBackend):
    """Counts the trees that it grows in one call."""

    count = 0

    def grow(self, problem, growth, search):
        grown = super().grow(problem, growth, search)
        AtOnce.count += grown is not None and grown.growth is not None
        return grown

    def train_ahead(self, state, request):
        return iter(())  # tested in test_rounds


def trained(backend, X, y, weights, n_jobs=1, **settings):
    given = {"votes": "real", "loss": "logistic", "learning_rate": 0.5, "random_state": 0}
    model = AdaBoostMH(n_jobs=n_jobs, **{"n_bags": 1, **given, **settings})
    with use_backend(backend):
        return model.fit(X, y, sample_weight=weights)


def node_by_node(table, n_jobs):
    return ReferenceBackend(table)


def assert_same(model, other):
    assert model.n_rounds_ == other.n_rounds_
    for field in fields(model.fitted_.terms):
        a, b = (getattr(one.fitted_.terms, field.name) for one in (model, other))
        assert np.array_equal(a, b, equal_nan=field.name == "thresholds"), field.name
    for name, values in model.history_.items():
        assert np.array_equal(values, other.history_[name], equal_nan=True), name


def categories_of(rng, n, sizes, missing):
    """Return a frame of categorical columns, missing values among them."""
    columns = {f"c{j}": rng.integers(size, size=n).astype(object) for j, size in enumerate(sizes)}
    for values in columns.values():
        values[rng.random(n) < missing] = None
    return pd.DataFrame({name: pd.Categorical(values) for name, values in columns.items()})


def table_of(rng, n, d, levels, missing):
    X = rng.integers(levels, size=(n, d)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    # Some columns are stored sparsely.
    X[:, rng.random(d) < 0.3] *= rng.random((n, 1)) < 0.3
    return X


def told(shape):
    """Return a shape with its kind in words."""
    n_classes, criterion, n_categorical = shape.pop("kind")
    values = shape.pop("sizes")[:n_categorical]
    return {**shape, "n_classes": n_classes, "criterion": criterion, "values": values}


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(4, 80),
        "d": st.integers(1, 9),
        "levels": st.sampled_from([2, 5, 40]),
        "missing": st.sampled_from([0.0, 0.3]),
        "equal": st.booleans(),
        # Every combination is compiled by itself, which takes seconds.
        "kind": st.sampled_from([(2, "gain", 2), (3, "edge", 3), (40, "edge", 0)]),
        "sizes": st.lists(st.sampled_from([1, 2, 3, 8, 30]), min_size=3, max_size=3),
        "rare": st.sampled_from([1, 4]),
    }
).map(told)


@given(
    shapes,
    st.integers(2, 12),
    st.sampled_from([1.0, 0.6]),
    st.sampled_from([0.0, 0.05]),
    st.sampled_from([None, 4]),
    st.sampled_from([None, 0.5]),
    st.sampled_from(["logistic", "softmax"]),
    st.sampled_from(["learn", "low", "high"]),
)
@settings(max_examples=60, deadline=None)
def test_the_tree_is_the_same(shape, leaves, subsample, least, least_rows, damping, loss, missing):
    if shape["n_classes"] == 3 and least:
        least_rows = None  # a fifth lane would compile another kind
    rng = np.random.default_rng(shape["seed"])
    n = max(shape["n"], 2 * shape["n_classes"])
    X = table_of(rng, n, shape["d"], shape["levels"], shape["missing"])
    frame = categories_of(rng, n, shape["values"], shape["missing"])
    X = pd.concat([pd.DataFrame(X).add_prefix("x"), frame], axis=1) if shape["values"] else X
    y = np.concatenate([np.arange(shape["n_classes"]), rng.integers(shape["n_classes"], size=n)])[
        :n
    ]
    weights = None if shape["equal"] else rng.integers(1, 5, size=n).astype(float)
    base = [Stump(missing=missing), Indicator(rare=shape["rare"])]
    learner = Tree(base if shape["values"] else base[0], leaves, "free", shape["criterion"])
    given_settings = {
        "subsample": subsample,
        "min_weight_fraction_leaf": least,
        "min_samples_leaf": least_rows,
        "damping": damping,
        "loss": loss,
    }
    rows = (X, y, weights)
    at_once, one_by_one = (
        trained(backend, *rows, learner=learner, n_rounds=3, **given_settings)
        for backend in (lambda table, n_jobs: AtOnce(table), node_by_node)
    )
    assert_same(at_once, one_by_one)


@given(shapes, st.integers(2, 12), st.integers(1, 9), st.booleans(), st.sampled_from([1.0, 0.6]))
@settings(max_examples=30, deadline=None)
def test_on_the_columns_of_a_round_the_tree_is_the_same(shape, leaves, k, learns, subsample):
    rng = np.random.default_rng(shape["seed"])
    n_classes = min(shape["n_classes"], 7)
    X = table_of(rng, shape["n"] + n_classes, shape["d"], shape["levels"], shape["missing"])
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=shape["n"])])
    if shape["values"]:
        frame = categories_of(rng, len(X), shape["values"], shape["missing"])
        X = pd.concat([pd.DataFrame(X).add_prefix("x"), frame], axis=1)
    search = (ThompsonSampling if learns else Lazy)(k, per_round=True)
    given_settings = {
        "search": search,
        "subsample": subsample,
        "damping": 0.5,
        "min_samples_leaf": 2,
        "n_rounds": 6,
    }
    base = [Stump(), Indicator()] if shape["values"] else Stump()
    learner = Tree(base, leaves, "free", shape["criterion"])
    AtOnce.count = 0
    at_once, one_by_one = (
        trained(backend, X, y, None, learner=learner, **given_settings)
        for backend in (lambda table, n_jobs: AtOnce(table), node_by_node)
    )
    # Where nothing can be cut, the only round is the constant.
    assert AtOnce.count >= at_once.n_rounds_ or at_once.n_rounds_ == 1
    assert_same(at_once, one_by_one)
    # The searches have seen the same rewards too.
    for mine, others in zip(
        at_once.fitted_.search_states, one_by_one.fitted_.search_states, strict=True
    ):
        assert mine.keys() == others.keys()
        assert all(np.array_equal(mine[key], others[key]) for key in mine)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_on_threads_the_tree_is_the_same(monkeypatch, n_classes):
    monkeypatch.setattr(trees, "_THREADS_FROM", 0)
    monkeypatch.setattr(trees, "_SPAN", 10)
    rng = np.random.default_rng(0)
    X = table_of(rng, 600, 11, 60, 0.1)
    y = rng.integers(n_classes, size=600)
    learner = Tree(Stump(), 9, "free", "gain")
    AtOnce.count = 0
    settings = {"learner": learner, "n_rounds": 4, "subsample": 0.7}
    models = [trained(AtOnce, X, y, None, n_jobs, **settings) for n_jobs in (1, 2, 3)]
    assert AtOnce.count == 12
    reference = trained(node_by_node, X, y, None, **settings)
    for model in models:
        assert_same(model, reference)


@pytest.mark.parametrize("missing", ["learn", "low", "high"])
def test_validation_rows_end_in_the_same_leaves(missing):
    rng = np.random.default_rng(3)
    X, y = table_of(rng, 300, 6, 30, 0.0), rng.integers(3, size=300)
    X[:150, :3][rng.random((150, 3)) < 0.2] = np.nan
    # Some columns have missing values here alone.
    watched = (table_of(rng, 80, 6, 30, 0.3), rng.integers(3, size=80))
    learner = Tree(Stump(missing=missing), 8, "free", "gain")
    models = []
    for backend in (lambda table, n_jobs: AtOnce(table), node_by_node):
        model = AdaBoostMH(
            learner, preset="paper", votes="real", loss="logistic", n_rounds=4, random_state=0
        )
        with use_backend(backend):
            models.append(model.fit(X, y, eval_set=watched))
    assert_same(*models)
    assert np.isfinite(models[0].history_["validation"]).all()


def test_codes_of_two_bytes():
    rng = np.random.default_rng(1)
    # With a categorical column, the kind that the other tests compile.
    X = pd.DataFrame(rng.normal(size=(700, 3))).add_prefix("x")
    X, y = X.join(categories_of(rng, 700, [3], 0.1)), rng.integers(2, size=700)
    learner = Tree([Stump(), Indicator()], 6, "free", "gain")
    at_once, one_by_one = (
        trained(backend, X, y, None, learner=learner, n_rounds=3, max_bins=1000)
        for backend in (AtOnce, node_by_node)
    )
    assert_same(at_once, one_by_one)


def test_searches_of_some_columns_go_node_by_node():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 8)), rng.integers(2, size=60)
    learner = Tree(Stump(), 6, "free", "gain")
    AtOnce.count = 0
    models = [
        trained(backend, X, y, None, learner=learner, n_rounds=3, search=Lazy(3))
        for backend in (AtOnce, node_by_node)
    ]
    assert AtOnce.count == 0
    assert_same(*models)


def test_inherited_votes_are_inherited():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(90, 4)), rng.integers(3, size=90)
    learner = Tree(Stump(), 6, "inherit", "gain")
    models = [
        trained(backend, X, y, None, learner=learner, n_rounds=4, damping=0.5)
        for backend in (AtOnce, node_by_node)
    ]
    assert_same(*models)


def test_without_a_cut_that_gains_random_first_tests_are_tried():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    learner = Tree(Stump(), 4, "free", "gain")
    at_once, one_by_one = (
        trained(backend, X, y, None, learner=learner, n_rounds=2)
        for backend in (AtOnce, node_by_node)
    )
    assert (at_once.predict(X) == y).all()
    assert_same(at_once, one_by_one)


@pytest.mark.parametrize("n_classes", [2, 40])
def test_leaves_of_few_rows_read_codes_by_row(monkeypatch, n_classes):
    monkeypatch.setattr(trees, "_LARGE", 1)
    rng = np.random.default_rng(n_classes)
    X = pd.DataFrame(table_of(rng, 400, 70, 40, 0.1)).join(categories_of(rng, 400, [3, 9], 0.1))
    X.columns = X.columns.astype(str)
    y = rng.integers(n_classes, size=400)
    given = {"learner": Tree([Stump(), Indicator()], max_leaf_nodes=20), "n_rounds": 4}
    by_row, by_node = (trained(backend, X, y, None, **given) for backend in (AtOnce, node_by_node))
    assert_same(by_row, by_node)
