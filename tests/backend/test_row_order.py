"""Sums over rows do not depend on their order or on how the rows are shared out."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise import AdaBoostMH, Product, Selector, Stump
from edgewise.backend.base import ScanQuery, Targets
from edgewise.backend.growth import split_node, with_histograms
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.backend.shared import SharedBackend
from edgewise.data.partition import Partition

from ..helpers import Given, search


def histogram(problem):
    columns = np.arange(problem.binned.n_columns)
    return ReferenceBackend(problem.binned).histogram(columns, problem.state().whole).values


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 5))
def test_parts_of_the_rows_sum_to_the_histogram_of_all(make_problem, seed, n, n_parts):
    problem = make_problem(seed, n=n, n_scores=3)
    owner = np.random.default_rng(seed).integers(n_parts, size=n)
    parts = [np.flatnonzero(owner == part) for part in range(n_parts)]
    total = sum(histogram(problem.rows(rows)) for rows in parts if len(rows))
    assert np.array_equal(total, histogram(problem))


def test_a_histogram_holds_every_signed_weight_of_every_column(make_problem):
    problem = make_problem(0, n=50, d=4, n_scores=3)
    bins = histogram(problem)
    totals = problem.state().whole.signed_totals
    ends = np.cumsum([one.n_codes for one in problem.binned.bins])
    for column in np.split(bins, ends[:-1]):
        assert np.array_equal(column.sum(axis=0), totals)


@pytest.mark.parametrize("n_scores", [1, 3, 10])
def test_permuted_rows_give_the_same_candidates_edges_and_tally(make_problem, n_scores):
    kind = "multiclass" if n_scores > 1 else "multilabel"
    problem = make_problem(6, n=530, n_scores=n_scores, kind=kind, equal_mass=False)
    order = np.random.default_rng(0).permutation(530)
    permuted = problem.rows(order)
    columns = problem.binned.splittable
    reference, given = ReferenceBackend(problem.binned), problem.state()
    expected = search(reference, columns, given.whole, score_edges=True)
    cut = problem.binned.cut(0, 2, -1)
    edges = reference.edges(given, Given(cut[None]))
    with closing(NumbaBackend(permuted.binned)) as compiled:
        for backend in (ReferenceBackend(permuted.binned), compiled):
            state = permuted.state()
            found = search(backend, columns, state.whole, score_edges=True)
            for name in ("edges", "first", "missing", "score_edges"):
                assert np.array_equal(getattr(found, name), getattr(expected, name))
            other = backend.edges(state, Given(np.ascontiguousarray(cut[order])[None]))
            assert np.array_equal(other.edges, edges.edges)
            assert np.array_equal(other.masses, edges.masses)
            assert other.total == edges.total


@pytest.mark.parametrize("n_scores", [1, 2, 9, 33])
@pytest.mark.parametrize("mass_column", [False, True])
def test_sums_are_in_c_order(make_problem, both, n_scores, mass_column):
    # NumPy adds floats that are made of them in the order of memory.
    problem = make_problem(4, n_scores=n_scores, kind="multilabel")
    factors, columns = np.ones((2, n_scores)), problem.binned.splittable
    targets = Targets(problem.labels, problem.target, problem.row_weights, factors)
    rows = Given(problem.binned.cut(0, 2, -1))
    with both(problem.binned) as (reference, compiled):
        for backend in (reference, compiled, SharedBackend(reference, Partition(60))):
            state = backend.state(targets, mass_column)
            whole = backend.problem(state, ("weight", "count"))
            for part in (whole, *split_node(backend, with_histograms(whole), rows)):
                histogram = backend.histogram(columns, part)
                edges = backend.scan(histogram, ScanQuery(score_edges=True)).score_edges
                masses = backend.histogram(columns, part.constraints)
                for sums in (histogram.values, histogram.by_score, edges, masses.values):
                    assert sums.flags.c_contiguous


@pytest.mark.parametrize("seed", range(4))
def test_energies_of_many_classes_are_summed_in_one_order(monkeypatch, seed):
    # From 8 classes on, NumPy sums along rows in another order than along columns.
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(2, size=(120, 4)) / 4).add_prefix("x")
    X["k"] = np.array([f"v{q}" for q in rng.integers(3, size=120)], dtype=object)
    y, models = np.arange(120) % 20, []
    for name in ("numpy", "numba"):
        monkeypatch.setenv("EDGEWISE_BACKEND", name)
        learner = Product([Stump(), Selector()], 4, 2)
        models.append(AdaBoostMH(learner, preset="paper", n_rounds=20, votes="real").fit(X, y))
    gone = X.copy()
    gone.loc[::2, "k"] = None
    for rows in (X, gone):
        scores = [model.decision_function(rows) for model in models]
        assert np.array_equal(*scores)
