"""Least weights and least rows bind in every leaf: numeric cuts, subsets, products, filters."""

from contextlib import closing

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Haar, Indicator, Lazy, Product, Selector, Stump, Tree
from edgewise.backend.base import MISSING_AUTO, ScanQuery
from edgewise.backend.local import LocalBackend
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend

RNG = np.random.default_rng(0)
N = 300
NUMBERS = RNG.integers(12, size=(N, 4)).astype(float)
NUMBERS[RNG.random(NUMBERS.shape) < 0.15] = np.nan
WORDS = pandas.DataFrame(
    {"a": RNG.choice(list("abcdefgh"), N), "b": RNG.choice(["u", "v", "w", None], N)}
)
MIXED = WORDS.assign(c=NUMBERS[:, 0], d=NUMBERS[:, 1])
Y = (np.nan_to_num(NUMBERS[:, 0]) > 6) ^ (WORDS["a"] < "d").to_numpy() ^ (RNG.random(N) < 0.2)
WEIGHTS = RNG.uniform(0.2, 2.0, N)

BASES = {
    "stump": (NUMBERS, Stump()),
    "abstain": (NUMBERS, Stump(missing="abstain")),
    "low": (NUMBERS, Stump(missing="low")),
    "selector": (WORDS, Selector()),
    "indicator": (WORDS, Indicator()),
    "climb": (WORDS, Indicator(start="informed", restarts=1)),
    "mixed": (MIXED, [Stump(), Indicator()]),
    "product": (MIXED, Product([Stump(), Indicator()], 2)),
}


LIMITS = {
    "weight": {"min_weight_fraction_leaf": 0.12},
    "rows": {"min_samples_leaf": 35},
    "both": {"min_weight_fraction_leaf": 0.1, "min_samples_leaf": 32},
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("criterion", ["edge", "gain"])
@pytest.mark.parametrize("name", BASES)
def test_every_leaf_holds_enough(monkeypatch, name, criterion, backend, limit):
    if criterion == "gain" and name in ("abstain", "product"):
        pytest.skip("gains are for single columns that do not abstain")
    monkeypatch.setenv("EDGEWISE_BACKEND", backend)
    rows, base = BASES[name]
    held = LIMITS[limit]
    leaves = watch_leaves(monkeypatch)
    model = AdaBoostMH(
        Tree(base, 8, "free", criterion),
        preset="paper",
        n_rounds=5,
        votes="real",
        random_state=0,
        **held,
    ).fit(rows, Y, sample_weight=WEIGHTS)
    assert model.n_rounds_ == 5
    assert max(len(each) for each in leaves) > 2
    share, count = least_of(leaves, WEIGHTS)
    assert share >= held.get("min_weight_fraction_leaf", 0.0) - 1e-6
    assert count >= held.get("min_samples_leaf", 1)
    leaves.clear()
    model.set_params(**dict.fromkeys(held)).set_params(min_weight_fraction_leaf=0.0)
    model.fit(rows, Y, sample_weight=WEIGHTS)
    share, count = least_of(leaves, WEIGHTS)
    assert share < 0.1
    assert count < 32


def watch_leaves(monkeypatch):
    """Return a list that collects the rows in the leaves of every tree that is grown."""
    leaves_of = []
    for backend in (LocalBackend, NumbaBackend):

        def watched(self, problem, *arguments, grow=backend.grow):
            tree = grow(self, problem, *arguments)
            if tree is not None:
                rows = np.arange(problem.n_rows) if problem.rows is None else problem.rows
                leaves = range(len(tree.nodes) + 1)
                leaves_of.append([rows[tree.leaves[rows] == leaf] for leaf in leaves])
            return tree

        monkeypatch.setattr(backend, "grow", watched)
    return leaves_of


def least_of(leaves, weights):
    """Return the least share of the weight and the least number of rows of any leaf."""
    rows = [leaf for each in leaves for leaf in each]
    return min(weights[leaf].sum() for leaf in rows) / weights.sum(), min(map(len, rows))


@pytest.mark.parametrize("limit", LIMITS)
def test_filters_too(monkeypatch, limit):
    held = LIMITS[limit]
    leaves = watch_leaves(monkeypatch)
    images = RNG.integers(9, size=(200, 16)).astype(float)
    AdaBoostMH(
        Tree(Haar((4, 4)), 6, "free"),
        preset="paper",
        n_rounds=4,
        search=Lazy(30),
        random_state=0,
        **held,
    ).fit(images, RNG.integers(2, size=200))
    share, count = least_of(leaves, np.ones(200))
    assert share >= held.get("min_weight_fraction_leaf", 0.0) - 1e-6
    assert count >= held.get("min_samples_leaf", 1)


def test_a_sample_of_the_rows_counts_its_own(monkeypatch):
    monkeypatch.setenv("EDGEWISE_BACKEND", "numpy")
    leaves = watch_leaves(monkeypatch)
    tree = Tree(Stump(), 8, "free", "gain")
    AdaBoostMH(
        tree,
        preset="paper",
        n_rounds=5,
        votes="real",
        subsample=0.5,
        min_samples_leaf=20,
        random_state=0,
    ).fit(NUMBERS, Y)
    # A round whose sample shows nothing that helps takes all rows.
    sizes = {sum(map(len, each)) for each in leaves} - {N}
    assert sizes
    assert all(0.3 * N < size < 0.7 * N for size in sizes)
    assert least_of(leaves, np.ones(N))[1] >= 20


def test_a_random_first_test_splits_off_no_fewer_rows():
    """On the corners of a square no test has an edge, so that trees begin with a random one."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 4)
    y = (X.sum(axis=1) % 2).astype(int)
    tree = Tree(Stump(constant=False), 4, "free")
    fitted = AdaBoostMH(tree, preset="paper", n_rounds=1, min_samples_leaf=4, random_state=0).fit(
        X, y
    )
    assert fitted.score(X, y) == 1.0
    assert AdaBoostMH(tree, preset="paper", n_rounds=1, min_samples_leaf=9).fit(X, y).n_rounds_ == 0


@pytest.mark.parametrize("value", [0, 2.5, "3"])
def test_min_samples_leaf_is_a_positive_integer(value):
    with pytest.raises((TypeError, ValueError), match="min_samples_leaf must be"):
        AdaBoostMH(min_samples_leaf=value).fit(NUMBERS, Y)


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["edge", "gain", "score"]),
    st.sampled_from([MISSING_AUTO, -1, 0, 1]),
    st.sampled_from([0.05, 0.2, 0.4]),
    st.sampled_from([("weight",), ("count",), ("weight", "count")]),
)
def test_a_scan_finds_the_best_cut_that_holds_enough(
    make_problem, seed, criterion, missing, share, names
):
    """Both backends agree, and no better cut of the column holds enough on both sides."""
    if criterion == "gain" and missing == 0:
        missing = 1
    case = make_problem(seed, n=40, d=4, n_scores=2, kind="multilabel", equal_mass=False)
    columns = case.binned.splittable
    state = case.state(mass_column=criterion == "gain")
    problem = ReferenceBackend(case.binned).problem(state, names)
    totals = dict(zip(names, problem.constraints.signed_totals.tolist(), strict=True))
    min_sums = tuple(int(share * totals[name]) for name in names)
    results = []
    with closing(NumbaBackend(case.binned)) as compiled:
        for backend in (ReferenceBackend(case.binned), compiled):
            masses = backend.histogram(columns, problem.constraints)
            question = ScanQuery(criterion, False, missing, constraints=masses, min_sums=min_sums)
            results.append(backend.scan(backend.histogram(columns, problem), question))
    np.testing.assert_array_equal(results[0].edges, results[1].edges)
    held = results[0].edges >= 0
    for name in ("first", "missing"):
        ours, theirs = (getattr(x, name)[held] for x in results)
        np.testing.assert_array_equal(ours, theirs)
    known = {"weight": case.row_weights * 2.0**30, "count": np.ones(40)}
    quanta = np.rint([known[name] for name in names]).astype(np.int64)
    signed = (problem.signed.transpose(1, 0, 2).reshape(40, -1)[:, :2]).astype(np.int64)
    if criterion != "edge":
        return
    for q, j in enumerate(columns.tolist()):
        best, bins = -1, case.binned.bins[j]
        missing_sides = (
            ((1, -1) if missing == MISSING_AUTO else (missing,)) if bins.has_missing else (1,)
        )
        for first in range(bins.missing_code):
            for side in missing_sides:
                if first == 0 and side == 1:
                    continue
                phi = case.binned.cut(j, first, side)
                sides = quanta[:, phi < 0].sum(axis=1), quanta[:, phi > 0].sum(axis=1)
                if all((side >= min_sums).all() for side in sides):
                    best = max(best, int(np.abs(phi @ signed).sum()))
        assert results[0].edges[q] == best
