"""Searches in which edges must have given signs, against trying every cut and the reference."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgewise.backend.base import MISSING_AUTO, Bounds
from edgewise.backend.host import SignedProblem, aligned_zeros
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, fit_encode

from ..helpers import all_signed, search, shapes

SIDES = [MISSING_AUTO, -1, 0, 1]


def random_bounds(rng, problem, columns, absent, largest):
    """Return directions, and as exceptions cuts that a search could have found before."""
    directions = rng.integers(-1, 2, size=len(columns)).astype(np.int8)
    found = []
    for q, j in enumerate(columns.tolist()):
        bins = problem.binned.bins[j]
        sides = (1, -1) if absent == MISSING_AUTO else (absent,)
        cuts = [
            (first, side)
            for first in range(len(bins.thresholds) + 1)
            for side in (sides if bins.has_missing else (1,))
            if first > 0 or side < 1
        ]
        found += [
            (q, first, side, int(rng.integers(largest + 1)))
            for first, side in sorted(cuts)
            if directions[q] and rng.random() < 0.5
        ]
    owners, firsts, sides, limits = np.array(found, dtype=np.int64).reshape(-1, 4).T.copy()
    starts = np.searchsorted(owners, np.arange(len(columns) + 1)).astype(np.intp)
    return Bounds(directions, starts, firsts.astype(np.intp), sides.astype(np.int8), limits)


def best_allowed(problem, signed, columns, bounds, constant, absent):
    """Return the size of each column's largest edge that may be, and all cuts that have it."""
    found = []
    for q, j in enumerate(columns.tolist()):
        values, thresholds = problem.X[:, j], problem.binned.bins[j].thresholds
        mine = slice(bounds.starts[q], bounds.starts[q + 1])
        kept = zip(*(part[mine].tolist() for part in bounds[2:]), strict=True)
        limits = {(first, side): limit for first, side, limit in kept}
        holed = np.isnan(values).any()
        sizes = {}
        for first in range(len(thresholds) + 1):
            high = values >= (thresholds[first - 1] if first else -np.inf)
            for side in ((1, -1) if absent == MISSING_AUTO else (absent,)) if holed else (1,):
                if first == 0 and side == 1 and not constant:
                    continue
                phi = np.where(np.isnan(values), side, np.where(high, 1, -1))
                edge = int(signed @ phi)
                direction = int(bounds.directions[q]) if first else 0
                if direction * edge >= 0 or abs(edge) <= limits.get((first, side), -1):
                    sizes[first, side] = abs(edge)
        best = max(sizes.values(), default=-1)
        found.append((best, {cut for cut, size in sizes.items() if size == best}))
    return found


PROBLEMS = shapes(n=st.integers(2, 40), d=st.integers(1, 5), levels=st.integers(1, 6))


def make(make_problem, shape, absent):
    """Return a problem with one score column, its weights, all its columns and random bounds."""
    given = make_problem(n_scores=1, kind="multilabel", **shape)
    rng = np.random.default_rng(shape["seed"])
    problem, columns = given.state().whole, given.binned.splittable
    assume(len(columns))
    largest = int(problem.signed_masses[0])
    return given, problem, columns, random_bounds(rng, given, columns, absent, largest)


@settings(max_examples=60)
@given(PROBLEMS, st.booleans(), st.sampled_from(SIDES))
def test_the_best_of_the_cuts_that_may_be(make_problem, both, shape, constant, absent):
    given, problem, columns, bounds = make(make_problem, shape, absent)
    signed = all_signed(problem)[:, 0]
    expected = best_allowed(given, signed, columns, bounds, constant, absent)
    with both(given.binned) as backend:
        for one in backend:
            found = search(one, columns, problem, constant=constant, absent=absent, bounds=bounds)
            assert found.edges.tolist() == [best for best, _ in expected]
            chosen = zip(found.first.tolist(), found.missing.tolist(), strict=True)
            for cut, (best, cuts) in zip(chosen, expected, strict=True):
                assert best < 0 or cut in cuts


def assert_equal_to_reference(both, given, problem, columns, n_jobs=1, **options):
    with both(given.binned, n_jobs) as (reference, compiled):
        ours = search(reference, columns, problem, **options)
        theirs = search(compiled, columns, problem, **options)
        np.testing.assert_array_equal(ours.edges, theirs.edges)
        # Where nothing may be chosen, what stands in place of a cut says nothing.
        some = ours.edges >= 0
        np.testing.assert_array_equal(ours.first[some], theirs.first[some])
        np.testing.assert_array_equal(ours.missing[some], theirs.missing[some])


@settings(max_examples=60)
@given(PROBLEMS, st.booleans(), st.sampled_from([-1, 0, 1]), st.sampled_from([1, 2]))
def test_compiled_equals_reference(make_problem, both, shape, constant, absent, n_jobs):
    given, problem, columns, bounds = make(make_problem, shape, absent)
    options = {"constant": constant, "absent": absent, "bounds": bounds}
    assert_equal_to_reference(both, given, problem, columns, n_jobs, **options)


@settings(max_examples=60)
@given(PROBLEMS, st.booleans(), st.sampled_from([1, 2]))
def test_both_learn_the_side_of_missing_values(make_problem, both, shape, constant, n_jobs):
    # Without few levels of weights, which make ties likely: of these see below.
    given, problem, columns, bounds = make(
        make_problem, {**shape, "weight_levels": None}, MISSING_AUTO
    )
    assert_equal_to_reference(
        both, given, problem, columns, n_jobs, constant=constant, bounds=bounds
    )


@settings(max_examples=60)
@given(PROBLEMS, st.sampled_from([-1, 0, 1]), st.floats(0.0, 1.0))
def test_some_of_the_rows(make_problem, both, shape, absent, share):
    given, problem, columns, bounds = make(make_problem, shape, absent)
    rows = np.flatnonzero(np.random.default_rng(0).random(shape["n"]) < share).astype(np.int32)
    with both(given.binned) as (reference, _):
        part = reference.within(problem, rows)
    assert_equal_to_reference(both, given, part, columns, absent=absent, bounds=bounds)
    expected = best_allowed(given, all_signed(part)[:, 0], columns, bounds, True, absent)
    with both(given.binned) as (_, compiled):
        found = search(compiled, columns, part, absent=absent, bounds=bounds)
        assert found.edges.tolist() == [best for best, _ in expected]


def test_no_bound_is_no_bound(make_problem, both, equal_candidates):
    given = make_problem(3, n=50, d=6, n_scores=1, kind="multilabel")
    problem, columns = given.state().whole, given.binned.splittable
    nothing = np.empty(0, dtype=np.intp)
    free = Bounds(
        np.zeros(len(columns), dtype=np.int8), np.zeros(len(columns) + 1, dtype=np.intp),
        nothing, nothing.astype(np.int8), nothing.astype(np.int64),
    )  # fmt: skip
    with both(given.binned) as backend:
        for one in backend:
            for absent in SIDES:
                expected = search(ReferenceBackend(given.binned), columns, problem, absent=absent)
                found = search(one, columns, problem, absent=absent, bounds=free)
                equal_candidates(found, expected)


def three_rows(weights):
    """Return the table of x = 1, 2 and a missing value, and a problem with these weights."""
    table = as_table([[1.0], [2.0], [np.nan]])
    signed = aligned_zeros((1, 3, 1), np.int32)
    signed[0, :, 0] = weights
    binned = fit_encode(table, None, 256)
    return binned, SignedProblem.of(signed, signed[0].sum(axis=0), np.abs(signed[0]).sum(axis=0))


def one_exception(direction, first, side, limit):
    return Bounds(
        np.array([direction], np.int8), np.array([0, 1]), np.array([first]),
        np.array([side], np.int8), np.array([limit]),
    )  # fmt: skip


def test_of_equal_edges_missing_values_above_come_first(both):
    # x >= 1.5 has the edge 1 - 1 - 2 = -2 with missing values above, which it may have by way of
    # exception, and 1 - 1 + 2 = 2 with missing values below.
    binned, problem = three_rows([-1, -1, -2])
    with both(binned) as backend:
        for one in backend:
            found = search(
                one, np.array([0]), problem, constant=False, bounds=one_exception(1, 1, 1, 5)
            )
            assert (found.edges[0], found.first[0], found.missing[0]) == (2, 1, 1)


@pytest.mark.parametrize("absent", [-1, 0, 1])
def test_the_side_of_missing_values_is_the_one_asked_for(both, absent):
    # A cut that was noted with missing values on another side, in an earlier fit, is none of these.
    binned, problem = three_rows([1, -1, 9])
    other = {-1: 1, 0: -1, 1: -1}[absent]
    with both(binned) as backend:
        for one in backend:
            bounds = one_exception(1, 1, other, 100)
            found = search(
                one, np.array([0]), problem, constant=False, absent=absent, bounds=bounds
            )
            assert found.edges[0] < 0 or found.missing[0] == absent
