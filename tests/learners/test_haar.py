"""Haar filters: thresholds on differences of rectangles of an image.

Kégl and Busa-Fekete 2009a, footnote 5.
"""

import math
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from edgewise import AdaBoostMH, Haar, Lazy, Product, Stump, Tree, load
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.data import as_table, encode, fit_encode
from edgewise.data.filters import HaarFilters
from edgewise.learners import resolve_learner

from ..helpers import FIELDS


def response(images, one):
    """Return light fields less dark fields, field by field."""
    total = np.zeros(len(images), dtype=np.int64)
    for y, row in enumerate(FIELDS[one.kind]):
        for x, weight in enumerate(row):
            top, left = one.top + y * one.height, one.left + x * one.width
            field = images[:, top : top + one.height, left : left + one.width]
            total += weight * field.sum(axis=(1, 2))
    return total


def all_cuts(images, filters, numbers):
    """Return (filter, phi) of every threshold on the responses of some filters."""
    results = []
    for j in numbers:
        values = response(images, filters[j])
        results += [(j, np.where(values >= t, 1, -1)) for t in np.unique(values)[1:]]
    return results


@pytest.fixture(scope="module")
def images_of(random_small):
    """Return a function that makes a problem of small random images, and the images."""

    def make(seed, shape=(3, 4), n=16, n_scores=2):
        rng = np.random.default_rng(seed)
        images = rng.integers(8, size=(n, *shape))
        problem = random_small(seed, n=n, n_scores=n_scores)
        table = as_table(images.reshape(n, -1))
        bins = fit_encode(table, None, 256).bins
        binned = encode(table, bins, filters=HaarFilters(shape))
        return type(problem)(table.values, (), binned, problem.labels, problem.weights), images

    return make


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
def test_the_filter_found_is_the_best_of_all(images_of, edge_of, seed, n_scores, constant):
    problem, images = images_of(seed, n_scores=n_scores)
    filters = HaarFilters((3, 4))
    cuts = all_cuts(images, filters, range(len(filters)))
    best = max(edge_of(phi, problem.signed) for _, phi in cuts)
    if constant:
        best = max(best, edge_of(np.ones(16, dtype=int), problem.signed))
    result = problem.find(Haar((3, 4), constant=constant), score_edges=True)
    assert problem.units(result.edge) == best
    phi = result.rule.signs(problem.binned).astype(np.int64)
    assert edge_of(phi, problem.signed) == best
    assert [problem.units(e) for e in result.score_edges] == (phi @ problem.signed).tolist()
    if result.rule.columns:
        values = response(images, filters[result.rule.column - 12])
        assert phi.tolist() == np.where(values >= result.rule.threshold, 1, -1).tolist()


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 5))
def test_a_lazy_search_finds_the_best_of_the_filters_it_draws(images_of, edge_of, seed, t):
    problem, images = images_of(seed)
    filters = HaarFilters((3, 4))
    drawn = Lazy(7).start(np.arange(len(filters)), seed=3).begin(t).pull()
    cuts = all_cuts(images, filters, drawn.tolist())
    best = problem.find(Haar((3, 4), constant=False), search=Lazy(7), seed=3, t=t)
    assert problem.units(best.edge) == max(edge_of(phi, problem.signed) for _, phi in cuts)
    assert best.rule.column - 12 in drawn


def test_equal_filters_go_to_the_lowest(images_of):
    problem, images = images_of(0, n=6, n_scores=1)
    labels = np.where(response(images, HaarFilters((3, 4))[5]) >= 0, 1, -1)
    problem = type(problem)(
        problem.X, (), problem.binned, labels[None].astype(np.int8), problem.weights
    )
    best = problem.find(Haar((3, 4), constant=False))
    filters = HaarFilters((3, 4))
    perfect = [
        j
        for j, phi in all_cuts(images, filters, range(len(filters)))
        if abs(int(phi @ labels)) == 6
    ]
    assert best.rule.column - 12 == min(perfect)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_a_product_of_filters_is_what_figure_3_gives(images_of, figure_3, seed, terms):
    problem, images = images_of(seed, shape=(2, 3))
    filters = HaarFilters((2, 3))
    everywhere = (-1, np.ones(16, dtype=int))
    cuts = [everywhere, *all_cuts(images, filters, range(len(filters)))]
    _, best = figure_3(cuts, problem.signed, terms)
    result = problem.find(Product(Haar((2, 3)), terms))
    assert problem.units(result.edge) == best


def test_a_tree_of_filters_is_at_least_as_good_as_one(images_of, edge_of):
    for seed in range(5):
        problem, _ = images_of(seed, n=30)
        stump, tree = problem.find(Haar((3, 4))), problem.find(Tree(Haar((3, 4)), max_leaf_nodes=4))
        assert tree.edge > stump.edge
        outputs = tree.rule.outputs(problem.binned).T
        assert problem.units(tree.edge) == int((outputs * problem.signed).sum())


@pytest.mark.parametrize("search", [Lazy(7), Lazy(150)], ids=["few", "many"])
@pytest.mark.parametrize(
    "learner",
    [
        Haar((6, 6)),
        Product(Haar((6, 6)), 2),
        Tree(Haar((6, 6)), 4),
        Tree(Haar((6, 6)), 4, "free", "gain"),
    ],
    ids=["alone", "product", "tree", "tree by gain"],
)
def test_compiled_kernels_find_the_same_filters(images_of, learner, search):
    """Of many filters only some are computed at a time."""
    for seed in range(3):
        problem, _ = images_of(seed, shape=(6, 6), n=40)
        plain = problem.find(learner, search=search)
        with closing(NumbaBackend(problem.binned)) as backend:
            best = problem.find(learner, search=search, backend=backend)
        assert best.edge == plain.edge
        assert np.array_equal(best.rule.outputs(problem.binned), plain.rule.outputs(problem.binned))


@pytest.mark.parametrize(
    "learner",
    [
        Haar((4, 4)),
        Product(Haar((4, 4)), 2),
        Tree(Haar((4, 4)), 3),
        [Stump(), Haar((4, 4), smallest=2)],
    ],
    ids=["alone", "product", "tree", "list"],
)
def test_a_saved_model_scores_as_before(tmp_path, learner):
    rng = np.random.default_rng(0)
    X, y = rng.integers(16, size=(60, 16)), rng.integers(3, size=60)
    model = AdaBoostMH(learner, preset="paper", search=Lazy(20), n_rounds=5, random_state=0).fit(
        X, y
    )
    model.save(tmp_path / "m.edgewise")
    again = load(tmp_path / "m.edgewise")
    rows = rng.integers(16, size=(30, 16))
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))
    assert [str(rule) for rule in again.rules()] == [str(rule) for rule in model.rules()]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.shape == (16,)


def test_stripes_are_told_apart_by_one_filter():
    """Bright above or bright below, whatever the overall brightness."""
    rng = np.random.default_rng(0)
    images = rng.integers(100, size=(80, 1, 1)) + rng.integers(5, size=(80, 6, 5))
    y = rng.integers(2, size=80)
    images[y == 1, :3] += 20
    images[y == 0, 3:] += 20
    X = images.reshape(80, -1)
    model = AdaBoostMH(Haar((6, 5)), preset="paper", n_rounds=1).fit(X, y)
    assert model.score(X, y) == 1.0
    assert "stripes down" in str(model.rules()[0])
    assert AdaBoostMH(Stump(), preset="paper", n_rounds=1).fit(X, y).score(X, y) < 0.9


def test_real_pixels_and_numbers_of_any_kind_give_the_same_model():
    rng = np.random.default_rng(0)
    X, y = rng.integers(16, size=(60, 16)), rng.integers(3, size=60)
    model = partial(
        AdaBoostMH, Haar((4, 4)), preset="paper", search=Lazy(10), n_rounds=4, random_state=0
    )
    expected = model().fit(X.astype(np.uint8), y)
    for dtype in (np.int64, np.float32, np.float64):
        real = model().fit(X.astype(dtype), y)
        assert np.array_equal(real.decision_function(X), expected.decision_function(X))


def test_real_pixels_are_cut_where_the_rule_says():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 16)), rng.integers(2, size=60)
    model = AdaBoostMH(
        Haar((4, 4)), preset="paper", search=Lazy(10), n_rounds=1, random_state=0
    ).fit(X, y)
    rule = model.fitted_.terms.rule(0)
    haar_filter = HaarFilters((4, 4))[rule.column - 16]
    field = np.array(FIELDS[haar_filter.kind])
    sums = [
        weight
        * X.reshape(60, 4, 4)[
            :, top : top + haar_filter.height, left : left + haar_filter.width
        ].sum((1, 2))
        for (y_, x_), weight in np.ndenumerate(field)
        for top, left in [
            (haar_filter.top + y_ * haar_filter.height, haar_filter.left + x_ * haar_filter.width)
        ]
    ]
    values = np.sum(sums, axis=0)
    expected = np.where(values >= rule.threshold, 1, -1)
    scores = model.decision_function(X)
    assert abs(int((np.sign(scores) * expected).sum())) == 60


def test_the_constant_can_be_refused(images_of):
    problem, _ = images_of(0, n_scores=1)
    ones = np.ones((1, 16), dtype=np.int8)
    problem = type(problem)(problem.X, (), problem.binned, ones, problem.weights)
    assert problem.find(Haar((3, 4))).rule.columns == []
    assert problem.find(Haar((3, 4), constant=False)).rule.columns != []


@pytest.mark.parametrize("chosen", [{"max_bins": 2}])
def test_thresholds_on_filters_do_not_depend_on_the_settings_of_columns(chosen):
    rng = np.random.default_rng(0)
    X, y = rng.integers(10, size=(60, 16)), rng.integers(2, size=60)
    model = AdaBoostMH(
        Haar((4, 4)), preset="paper", search=Lazy(20), n_rounds=8, random_state=0
    ).fit(X, y)
    other = clone(model).set_params(**chosen).fit(X, y)
    assert [model.fitted_.terms.rule(t) for t in range(8)] == [
        other.fitted_.terms.rule(t) for t in range(8)
    ]
    assert np.array_equal(model.decision_function(X), other.decision_function(X))


def test_it_can_be_cloned():
    assert clone(Haar((4, 6), 2, False)).get_params() == {
        "shape": (4, 6), "smallest": 2, "constant": False
    }  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ({"shape": 28}, "shape must be"),
        ({"shape": (4,)}, "shape must be"),
        ({"shape": (0, 4)}, "shape must be"),
        ({"shape": (4.0, 4)}, "shape must be"),
        ({"shape": (4, 4), "smallest": 0}, "smallest must be"),
        ({"shape": (4, 4), "constant": 1}, "constant must be"),
        ({"shape": (3, 3), "smallest": 2}, "shape"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(chosen, name):
    with pytest.raises((ValueError, TypeError), match=name):
        resolve_learner(Haar(**chosen))


def test_a_shape_that_does_not_fit_is_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"shape=\(2, 4\) is 8 pixels, but X has 6 columns"):
        AdaBoostMH(Haar((2, 4)), preset="paper").fit(np.zeros((4, 6)), [0, 1, 0, 1])


def test_missing_pixels_are_an_error_that_names_them():
    X = np.arange(24.0).reshape(4, 6)
    X[1, 2] = math.nan
    with pytest.raises(ValueError, match="missing"):
        AdaBoostMH(Haar((2, 3)), preset="paper").fit(X, [0, 1, 0, 1])


def test_filters_of_two_shapes_are_an_error():
    with pytest.raises(ValueError, match="same shape"):
        AdaBoostMH([Haar((2, 3)), Haar((3, 2))], preset="paper").fit(np.zeros((4, 6)), [0, 1, 0, 1])


def test_filters_of_two_classes_are_explained():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 2
    model = AdaBoostMH(Haar((2, 2), constant=False), preset="paper", n_rounds=2).fit(X, y)
    assert sum(group.importance for group in model.explain().groups) == pytest.approx(1.0)
