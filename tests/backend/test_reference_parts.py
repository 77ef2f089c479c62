"""Problems on some of the rows and under virtual labels: both backends and definitions agree."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.backend.arithmetic import GAIN_SCALE
from edgewise.backend.base import NodeHistograms
from edgewise.backend.numba.engine import NumbaBackend

from ..helpers import Given, all_signed, search, shapes, some_rows

SCORES = [1, 3, 40]
threads = pytest.mark.parametrize("n_jobs", [1, 2])
every_width = pytest.mark.parametrize("n_scores", SCORES)
every_storage = pytest.mark.parametrize("storage", ["dense", "sparse", "auto"])

PROBLEMS = shapes(
    n=st.integers(1, 70),
    d=st.integers(1, 9),
    levels=st.integers(1, 6),
    n_scores=st.sampled_from(SCORES),
)


# Some of the rows


@given(PROBLEMS, st.sampled_from([0.0, 0.2, 0.8, 1.0]), st.sampled_from([1, 2]))
def test_parts_of_the_rows(make_problem, both, same_problem, same_candidates, shape, share, n_jobs):
    given = make_problem(kind="multilabel", **shape)
    rows = some_rows(np.random.default_rng(shape["seed"]), shape["n"], share)
    problem = given.state().whole
    with both(given.binned, n_jobs) as (reference, numba):
        part, other = reference.within(problem, rows), numba.within(problem, rows)
        same_problem(part, other)
        outside = np.setdiff1d(np.arange(shape["n"]), rows)
        assert np.array_equal(all_signed(part)[rows], all_signed(problem)[rows])
        assert not all_signed(part)[outside].any()
        if len(reference.table.splittable):
            same_candidates(reference, numba, part, other)
            # Searching all rows afterwards is as it was.
            same_candidates(reference, numba, problem, problem, [{}])


@every_storage
@every_width
@threads
def test_a_search_of_some_rows_is_the_search_of_a_table_of_them(
    make_problem, both, equal_candidates, n_scores, storage, n_jobs
):
    for seed in range(3):
        whole = make_problem(
            seed, n=90, d=9, n_scores=n_scores, kind="multilabel", storage=storage, levels=5
        )
        rows = some_rows(np.random.default_rng(seed), 90, 0.5)
        alone = whole.rows(rows)
        columns = whole.binned.splittable
        with both(whole.binned, n_jobs) as backend, both(alone.binned) as (reference, _):
            for options in ({}, {"score_edges": True}, {"per_score": True}, {"absent": 0}):
                expected = search(reference, columns, alone.state().whole, **options)
                for one in backend:
                    part = one.within(whole.state().whole, rows)
                    equal_candidates(search(one, columns, part, **options), expected)


@every_width
@threads
def test_threads_share_the_columns_of_some_rows(
    make_problem, both, same_problem, same_candidates, n_scores, n_jobs
):
    given = make_problem(8, n=9_001, d=13, n_scores=n_scores, kind="multilabel", levels=90)
    rows = some_rows(np.random.default_rng(8), 9_001, 0.6)
    problem = given.state().whole
    with both(given.binned, n_jobs) as (reference, numba):
        part, other = reference.within(problem, rows), numba.within(problem, rows)
        same_problem(part, other)
        same_candidates(reference, numba, part, other)


# A part by subtraction


def keeping(problem):
    return replace(problem, histograms=NodeHistograms())


def split(backend, problem, rng):
    """Return a part of a problem's rows, and the rest as what is left of the sums."""
    rows = np.arange(problem.n_rows, dtype=np.int32) if problem.rows is None else problem.rows
    mine = rng.random(len(rows)) < 0.3
    part = keeping(backend.within(problem, rows[mine]))
    rest = replace(
        problem,
        size=int((~mine).sum()),
        signed_totals=problem.signed_totals - part.signed_totals,
        signed_masses=problem.signed_masses - part.signed_masses,
        rows=rows[~mine],
        histograms=NodeHistograms(problem.histograms, part.histograms),
    )
    return part, rest


def kept_copy(candidates):
    """Return candidates that outlast the next search."""
    arrays = {
        name: None if array is None else array.copy() for name, array in vars(candidates).items()
    }
    return SimpleNamespace(**arrays)


def grown(backend, problem, seed, options):
    """Return the candidates and the rows of the nodes of a tree that always splits the rest."""
    rng = np.random.default_rng(seed)
    columns = backend.table.splittable
    whole = keeping(problem)
    nodes = [whole]
    found = [kept_copy(search(backend, columns, whole, **options))]
    for _ in range(4):
        for node in split(backend, nodes[-1], rng):
            nodes.append(node)
            found.append(kept_copy(search(backend, columns, node, **options)))
    return found, [node.rows for node in nodes]


@pytest.fixture
def subtractions(monkeypatch):
    """Count the searches that subtract."""
    calls, fill = [], NumbaBackend._fill

    def counted(self, histogram, batch, bins):
        if histogram.subtrahend is not None:
            calls.append(1)
        fill(self, histogram, batch, bins)

    monkeypatch.setattr(NumbaBackend, "_fill", counted)
    return calls


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"score_edges": True, "absent": 0},
        {"per_score": True, "constant": False},
        {"score_edges": True, "gain": True},
    ],
    ids=lambda options: " ".join(options) or "edge",
)
@every_storage
@every_width
@threads
def test_a_part_by_subtraction_is_the_part_searched_directly(
    make_problem, both, equal_candidates, subtractions, n_scores, storage, n_jobs, options
):
    given = make_problem(
        n_scores, n=200, d=9, n_scores=n_scores, kind="multilabel", storage=storage, levels=5
    )
    problem = given.state(mass_column=options.get("gain", False)).whole
    columns = given.binned.splittable
    with both(given.binned, n_jobs) as (reference, numba):
        # Again and again: memory that was given back holds old sums.
        for seed in range(3):
            found, rows = grown(numba, problem, seed, options)
            also, same_rows = grown(reference, problem, seed, options)
            assert len(subtractions) >= 4 * (seed + 1)
            for candidates, others, mine, theirs in zip(found, also, rows, same_rows, strict=True):
                part = problem if mine is None else reference.within(problem, mine)
                expected = search(reference, columns, part, **options)
                assert np.array_equal(mine, theirs)
                equal_candidates(candidates, expected)
                equal_candidates(others, expected)


def test_histograms_too_large_to_keep_are_summed_again(
    make_problem, both, equal_candidates, subtractions, monkeypatch
):
    monkeypatch.setattr("edgewise.backend.numba.engine._KEPT_BYTES", 0)
    given = make_problem(0, n=200, d=5, n_scores=3)
    problem = given.state().whole
    with both(given.binned) as (reference, numba):
        found, rows = grown(numba, problem, 0, {})
        for candidates, mine in zip(found, rows, strict=True):
            part = problem if mine is None else reference.within(problem, mine)
            equal_candidates(candidates, search(reference, given.binned.splittable, part))
    assert not subtractions


def test_a_part_is_subtracted_for_the_columns_that_were_searched_before_only(
    make_problem, both, equal_candidates, subtractions
):
    given = make_problem(1, n=200, d=9, n_scores=3)
    problem, few, others = given.state().whole, np.array([0, 3, 4]), np.array([0, 3, 5])
    with both(given.binned) as (reference, numba):
        whole = keeping(problem)
        search(numba, few, whole)
        part, rest = split(numba, whole, np.random.default_rng(0))
        search(numba, few, part)
        direct = reference.within(problem, rest.rows)
        equal_candidates(search(numba, others, rest), search(reference, others, direct))
        assert not subtractions
        equal_candidates(search(numba, few, rest), search(reference, few, direct))
        assert subtractions
        # The sums of the whole are used up: a second search of the rest has its own.
        equal_candidates(search(numba, few, rest), search(reference, few, direct))


# Searches by gain


GAIN = [{"gain": True}, {"gain": True, "score_edges": True}]


@given(PROBLEMS, st.sampled_from([None, 0.3, 0.8]), st.sampled_from([1, 2]))
def test_searches_by_gain(make_problem, both, same_problem, same_candidates, shape, share, n_jobs):
    given = make_problem(kind="multilabel", **shape)
    problem = given.state(mass_column=True).whole
    with both(given.binned, n_jobs) as (reference, numba):
        other = problem
        if share is not None:
            rows = some_rows(np.random.default_rng(shape["seed"]), shape["n"], share)
            problem, other = reference.within(problem, rows), numba.within(problem, rows)
            same_problem(problem, other)
        if len(reference.table.splittable) and problem.signed_masses.any():
            same_candidates(reference, numba, problem, other, GAIN)


def best_gain(signed, values, thresholds):
    """Return (gain, first bin, missing side) of the cut with the largest gain, first come first.

    The gain is the sum over both sides of the squared edges over the mass of the side.
    """
    best = (-1, 0, 1)
    holed = np.isnan(values).any()
    for first in range(len(thresholds) + 1):
        for side in (1, -1) if holed else (1,):
            above = values >= (thresholds[first - 1] if first else -np.inf)
            above[np.isnan(values)] = side > 0
            if above.all() or not above.any():
                continue
            parts = [signed[above], signed[~above]]
            masses = [int(np.abs(part).sum()) for part in parts]
            if min(masses) == 0 or (first == 0 and side > 0):
                continue
            gain = sum(
                round(sum(int(edge) ** 2 for edge in part.sum(axis=0)) / mass * GAIN_SCALE)
                for part, mass in zip(parts, masses, strict=True)
            )
            if gain > best[0]:
                best = (gain, first, side)
    return best


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("missing", [False, True])
@every_width
def test_the_best_gain_is_that_of_trying_every_cut(make_problem, both, n_scores, missing, storage):
    for seed in range(4):
        given = make_problem(
            seed, n=25, n_scores=n_scores, kind="multilabel", missing=missing, storage=storage,
            levels=4, weight_levels=(None, 3)[seed % 2],
        )  # fmt: skip
        problem = given.state(mass_column=True).whole
        signed = all_signed(problem)
        expected = [
            best_gain(signed, given.X[:, j], b.thresholds) for j, b in enumerate(given.binned.bins)
        ]
        columns = np.arange(given.binned.n_columns)
        with both(given.binned) as backend:
            for one in backend:
                found = search(one, columns, problem, gain=True)
                assert list(zip(found.edges, found.first, found.missing, strict=True)) == expected


@every_storage
@every_width
def test_a_mass_column_changes_no_search_by_edge(
    make_problem, both, same_problem, same_candidates, n_scores, storage
):
    given = make_problem(5, n=70, n_scores=n_scores, kind="multilabel", storage=storage)
    plain, other = given.state().whole, given.state(mass_column=True).whole
    assert np.array_equal(
        all_signed(other, mass=True)[:, -1], np.abs(all_signed(plain)).sum(axis=1)
    )
    rows = some_rows(np.random.default_rng(5), 70, 0.5)
    with both(given.binned) as (reference, numba):
        same_problem(plain, other)
        same_candidates(reference, numba, plain, other)
        same_candidates(reference, numba, reference.within(plain, rows), numba.within(other, rows))


# Virtual labels


def signs_of(rng, n, kind):
    choices = {"signs": [-1, 1], "zeros too": [-1, 0, 1], "zeros only": [0], "ones": [1]}[kind]
    return rng.choice(choices, size=n).astype(np.int8)


KINDS = ["signs", "zeros too", "zeros only", "ones"]


@given(
    PROBLEMS,
    st.sampled_from(KINDS),
    st.sampled_from([None, 0.0, 0.5, 1.0]),
    st.sampled_from([1, 2]),
)
def test_virtual_labels(
    make_problem, both, same_problem, same_candidates, shape, kind, share, n_jobs
):
    given = make_problem(kind="multilabel", **shape)
    rng = np.random.default_rng(shape["seed"])
    problem = given.state().whole
    before = all_signed(problem)
    with both(given.binned, n_jobs) as (reference, numba):
        if share is not None:
            problem = reference.within(problem, some_rows(rng, shape["n"], share))
        for _ in range(3):  # the compiled backend lend the same memory again
            signs = signs_of(rng, shape["n"], kind)
            flipped, other = (
                reference.flip(problem, [Given(signs)]),
                numba.flip(problem, [Given(signs)]),
            )
            same_problem(flipped, other)
            assert np.array_equal(all_signed(flipped), all_signed(problem) * signs[:, None])
            if len(reference.table.splittable):
                same_candidates(reference, numba, flipped, other)
        assert np.array_equal(all_signed(given.state().whole), before)


@every_width
@threads
@pytest.mark.parametrize("some", [False, True])
def test_threads_share_the_rows_of_virtual_labels(
    make_problem, both, same_problem, same_candidates, n_scores, n_jobs, some
):
    given = make_problem(9, n=9_001, d=5, n_scores=n_scores, kind="multilabel", levels=40)
    rng = np.random.default_rng(9)
    problem = given.state().whole
    with both(given.binned, n_jobs) as (reference, numba):
        assert len(numba._row_spans(9_001)) == n_jobs
        if some:
            problem = numba.within(problem, some_rows(rng, 9_001, 0.4))
        signs = signs_of(rng, 9_001, "zeros too")
        flipped, other = (
            reference.flip(problem, [Given(signs)]),
            numba.flip(problem, [Given(signs)]),
        )
        same_problem(flipped, other)
        same_candidates(reference, numba, flipped, other)


def test_two_problems_with_virtual_labels_do_not_share_memory(make_problem, both):
    given = make_problem(2, n=60, n_scores=3)
    problem = given.state().whole
    rng = np.random.default_rng(0)
    first, second = signs_of(rng, 60, "signs"), signs_of(rng, 60, "signs")
    with both(given.binned) as (_, numba):
        one, two = numba.flip(problem, [Given(first)]), numba.flip(problem, [Given(second)])
        assert np.array_equal(all_signed(one), all_signed(problem) * first[:, None])
        assert np.array_equal(all_signed(two), all_signed(problem) * second[:, None])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_parts_and_virtual_labels_in_64_bits(
    make_problem, both, same_problem, same_candidates, equal_candidates, monkeypatch, storage
):
    monkeypatch.setattr("edgewise.backend.host.WIDE_SEARCH_LIMIT", 100)
    for n_scores in (1, 40):
        given = make_problem(3, n=120, n_scores=n_scores, kind="multilabel", storage=storage)
        rng = np.random.default_rng(n_scores)
        problem, rows = given.state().whole, some_rows(rng, 120, 0.5)
        assert problem.signed.dtype == np.int64
        with both(given.binned) as (reference, numba):
            part, other = reference.within(problem, rows), numba.within(problem, rows)
            same_problem(part, other)
            signs = signs_of(rng, 120, "zeros too")
            flipped, also = reference.flip(part, [Given(signs)]), numba.flip(other, [Given(signs)])
            same_problem(flipped, also)
            same_candidates(reference, numba, flipped, also)
            found, nodes = grown(numba, problem, 0, {})
            for candidates, mine in zip(found, nodes, strict=True):
                direct = problem if mine is None else reference.within(problem, mine)
                equal_candidates(candidates, search(reference, given.binned.splittable, direct))


# Another table


@threads
def test_kernels_over_another_table_search_its_columns(
    make_problem, both, same_candidates, equal_candidates, n_jobs
):
    one, other = make_problem(1, n=80, d=4, n_scores=3), make_problem(2, n=80, d=7, n_scores=3)
    problem = one.state().whole
    columns = np.arange(7)
    with both(one.binned, n_jobs) as (reference, numba), both(other.binned) as (expected, _):
        for backend in (reference, numba):
            over = backend.with_columns(other.binned)
            assert over.table is other.binned
            equal_candidates(search(over, columns, problem), search(expected, columns, problem))
        same_candidates(reference, numba, problem, problem)
