"""A search on a part of the weights is that of the whole with all other weights at 0."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgewise.backend.base import Step
from edgewise.backend.host import SignedProblem
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.data import as_table, encode, fit_encode
from edgewise.model import Cut

from ..helpers import Given, all_signed, search, shapes, sums

SCORES = [1, 3, 40]
QUESTIONS = [{}, {"score_edges": True}, {"per_score": True}, {"absent": 0, "constant": False}]

PROBLEMS = shapes(
    n=st.integers(1, 60),
    d=st.integers(1, 7),
    levels=st.integers(2, 6),
    n_scores=st.sampled_from(SCORES),
)


def with_zeros(problem, chosen):
    """Return a problem of all rows in which only the chosen entries, shape (n, K), are not 0."""
    chunks, n, lanes = problem.shape
    rows = problem.signed.transpose(1, 0, 2).reshape(n, -1).astype(np.int64)
    rows[:, : problem.n_scores] *= chosen
    scores = rows[:, : problem.n_scores]
    if problem.mass_column:
        rows[:, problem.n_scores] = np.abs(scores).sum(axis=1)
    signed = rows.reshape(n, chunks, lanes).transpose(1, 0, 2).astype(problem.signed.dtype)
    return replace(
        problem,
        signed=np.ascontiguousarray(signed),
        signed_totals=scores.sum(axis=0),
        signed_masses=np.abs(scores).sum(axis=0),
    )


def some_rows(seed, n):
    rows = np.flatnonzero(np.random.default_rng(seed).random(n) < 0.5).astype(np.int32)
    return rows if len(rows) else np.zeros(1, dtype=np.int32)


def a_size(problem, seed):
    """Return how large one of the entries is that are not 0, or 1."""
    sizes = np.abs(all_signed(problem))
    sizes = sizes[sizes > 0]
    return int(np.random.default_rng(seed).choice(sizes)) if len(sizes) else 1


def searched_alike(backend, parts, whole, equal_candidates, questions=QUESTIONS):
    """Assert that all parts are searched as the whole with zeros is."""
    reference = backend[0]
    columns = reference.table.splittable
    for options in questions if len(columns) else []:
        expected = search(reference, columns, whole, **options)
        for part, gathered in parts:
            equal_candidates(search(part.backend, columns, gathered, **options), expected)


@settings(max_examples=60)
@given(PROBLEMS, st.sampled_from([1, 2]))
def test_some_rows(make_problem, both, equal_candidates, shape, n_jobs):
    given = make_problem(kind="multilabel", **shape)
    problem = given.state().whole
    rows = some_rows(shape["seed"], shape["n"])
    with both(given.binned, n_jobs) as backend:
        parts = [one.select(rows) for one in backend]
        gathered = [part.gather(problem) for part in parts]
        expected = all_signed(problem)[rows]
        for part, one in zip(parts, gathered, strict=True):
            assert part.size == len(rows)
            np.testing.assert_array_equal(part.rows, rows)
            np.testing.assert_array_equal(all_signed(one), expected)
            np.testing.assert_array_equal(one.signed_totals, expected.sum(axis=0))
            np.testing.assert_array_equal(one.signed_masses, np.abs(expected).sum(axis=0))
        inside = np.isin(np.arange(shape["n"]), rows)[:, None]
        whole = with_zeros(problem, inside)
        searched_alike(backend, zip(parts, gathered, strict=True), whole, equal_candidates)


@settings(max_examples=60)
@given(PROBLEMS, st.booleans(), st.sampled_from([1, 2]))
def test_some_entries(make_problem, both, equal_candidates, shape, mass, n_jobs):
    given = make_problem(kind="multilabel", **shape)
    problem = given.state(mass_column=mass).whole
    least = a_size(problem, shape["seed"])
    chosen = np.abs(all_signed(problem)) >= least
    assume(chosen.any())
    with both(given.binned, n_jobs) as backend:
        parts = [one.select_heavy(problem, least) for one in backend]
        gathered = [part.gather(problem) for part in parts]
        rows = np.flatnonzero(chosen.any(axis=1))
        expected = np.where(chosen, all_signed(problem), 0)[rows]
        for part, one in zip(parts, gathered, strict=True):
            assert part.size == chosen.sum()
            np.testing.assert_array_equal(part.rows, rows)
            assert one.n_rows == len(rows)
            np.testing.assert_array_equal(all_signed(one), expected)
            np.testing.assert_array_equal(one.signed_totals, expected.sum(axis=0))
            np.testing.assert_array_equal(one.signed_masses, np.abs(expected).sum(axis=0))
        questions = [{"gain": True}, {"gain": True, "score_edges": True}] if mass else QUESTIONS
        whole = with_zeros(problem, chosen)
        searched_alike(
            backend, zip(parts, gathered, strict=True), whole, equal_candidates, questions
        )


@settings(max_examples=40)
@given(PROBLEMS, st.booleans())
def test_virtual_labels_on_entries(make_problem, both, equal_candidates, shape, abstain):
    # Products search on labels times the signs of their other terms, 0 where one abstains.
    given = make_problem(kind="multilabel", **shape)
    problem = given.state().whole
    assume(all_signed(problem).any())
    rng = np.random.default_rng(shape["seed"])
    with both(given.binned) as backend:
        parts = [one.select_heavy(problem, a_size(problem, shape["seed"])) for one in backend]
        signs = rng.choice(np.int8([-1, 0, 1] if abstain else [-1, 1]), size=len(parts[0].rows))
        reference, numba = (
            part.backend.flip(part.gather(problem), [Given(signs)]) for part in parts
        )
        np.testing.assert_array_equal(all_signed(reference), all_signed(numba))
        np.testing.assert_array_equal(reference.signed_totals, numba.signed_totals)
        np.testing.assert_array_equal(reference.signed_masses, numba.signed_masses)
        columns = given.binned.splittable
        for options in QUESTIONS if len(columns) else []:
            equal_candidates(
                search(parts[0].backend, columns, reference, **options),
                search(parts[1].backend, columns, numba, **options),
            )


@settings(max_examples=40)
@given(PROBLEMS, st.booleans())
def test_leaves_of_entries(make_problem, both, equal_candidates, shape, mass):
    # Trees search on some rows of a part; the larger side of a split follows by subtraction.
    given = make_problem(kind="multilabel", **shape)
    problem = given.state(mass_column=mass).whole
    least, columns = a_size(problem, shape["seed"]), given.binned.splittable
    questions = [{"gain": True}] if mass else [{}, {"score_edges": True}]
    assume(all_signed(problem).any())
    with both(given.binned) as backend:
        found = []
        for one in backend:
            part = one.select_heavy(problem, least)
            rows = np.arange(0, len(part.rows), 2, dtype=np.int32)
            here = part.backend.within(part.gather(problem), rows)
            found.append((part.backend, here))
        (reference, left), (numba, right) = found
        np.testing.assert_array_equal(all_signed(left), all_signed(right))
        np.testing.assert_array_equal(left.signed_masses, right.signed_masses)
        for options in questions if len(columns) else []:
            equal_candidates(
                search(reference, columns, left, **options),
                search(numba, columns, right, **options),
            )


@settings(max_examples=40)
@given(PROBLEMS, st.booleans())
def test_how_heavy_rows_and_entries_are(make_problem, both, shape, mass):
    given = make_problem(kind="multilabel", **shape)
    problem = given.state(mass_column=mass).whole
    sizes = np.abs(all_signed(problem))
    with both(given.binned) as backend:
        for one in backend:
            np.testing.assert_array_equal(one.row_weight_sums(problem), sizes.sum(axis=1))
            for least in (1, 2, a_size(problem, shape["seed"]), 2**31, 2**40):
                assert one.sum_heavy(problem, least) == sizes[sizes >= least].sum()


def test_a_mass_column_in_a_vector_of_its_own(make_problem, both, equal_candidates):
    # With 32 score columns it is the first of the third vector of 16.
    given = make_problem(5, n=40, d=5, n_scores=32, kind="multilabel")
    problem = given.state(mass_column=True).whole
    assert problem.shape == (3, 40, 16)
    least = a_size(problem, 1)
    whole = with_zeros(problem, np.abs(all_signed(problem)) >= least)
    with both(given.binned) as backend:
        parts = [one.select_heavy(problem, least) for one in backend]
        gathered = [(part, part.gather(problem)) for part in parts]
        searched_alike(backend, gathered, whole, equal_candidates, [{"gain": True}, {}])


@pytest.mark.parametrize("kind", ["rows", "entries"])
def test_a_part_follows_the_weights(make_problem, both, equal_candidates, kind):
    given = make_problem(3, n=50, d=5, n_scores=40, kind="multilabel")
    state = given.state()
    problem, columns = state.whole, given.binned.splittable
    least, rows = a_size(problem, 0), some_rows(0, 50)
    rng = np.random.default_rng(1)
    with both(given.binned) as backend:
        if kind == "rows":
            parts = [one.select(rows) for one in backend]
            chosen = np.isin(np.arange(50), rows)[:, None]
        else:
            parts = [one.select_heavy(problem, least) for one in backend]
            chosen = np.abs(all_signed(problem)) >= least
        for _ in range(3):
            state.weights *= rng.uniform(0.5, 1.5, state.weights.shape)
            state.weights /= state.weights.sum()
            backend[0].advance(state, Given(np.ones((1, 50), dtype=np.int8)), Step.scaling(40))
            expected = search(backend[0], columns, with_zeros(state.whole, chosen))
            for part in parts:
                now = part.gather(state.whole)
                equal_candidates(search(part.backend, columns, now), expected)


@pytest.mark.parametrize("n_scores", SCORES)
def test_categorical_columns_of_a_part(make_problem, both, n_scores):
    rng = np.random.default_rng(n_scores)
    table = as_table(
        np.column_stack(
            [rng.integers(5, size=80), rng.normal(size=80), rng.integers(300, size=80)]
        ).astype(float)
    ).with_categorical([0, 2])
    binned = fit_encode(table, None, 256)
    given = replace(make_problem(1, n=80, d=3, n_scores=n_scores, kind="multilabel"), binned=binned)
    problem = given.state().whole
    columns, least = binned.splittable_categorical, a_size(problem, 2)
    rows = some_rows(3, 80)
    chosen = {
        "rows": np.isin(np.arange(80), rows)[:, None],
        "entries": np.abs(all_signed(problem)) >= least,
    }
    with both(binned) as backend:
        for one in backend:
            for name, which in chosen.items():
                part = one.select(rows) if name == "rows" else one.select_heavy(problem, least)
                found = sums(part.backend, columns, part.gather(problem))
                whole = sums(ReferenceBackend(binned), columns, with_zeros(problem, which))
                np.testing.assert_array_equal(found, whole)


def test_threads_have_memory_for_every_batch():
    # One large column, then several small ones, then several of a size between.
    rng = np.random.default_rng(0)
    levels = [300, *[3] * 5, *[60] * 5]
    table = as_table(np.column_stack([rng.integers(k, size=900) for k in levels]).astype(float))
    binned = encode(table, fit_encode(table, None, 256).bins, "dense")
    nothing = np.zeros(1, dtype=np.int64)
    problem = SignedProblem.of(np.zeros((1, 900, 1), dtype=np.int32), nothing, nothing)
    with closing(NumbaBackend(binned, 2)) as backend:
        for columns in ([0], range(1, 6), range(6, 11)):
            plan = backend._layout(np.array(columns), problem)
            backend._make_scratch(plan)
            memories = [backend._scratch.get() for _ in range(backend._scratch.qsize())]
            assert len(memories) >= min(2, len(plan.batches))
            assert min(map(len, memories)) >= max(batch.size for batch in plan.batches)
            for memory in memories:
                backend._scratch.put(memory)


def test_a_cut_of_a_dense_column_looks_at_codes_alone(make_problem, monkeypatch):
    given = make_problem(0, n=60, d=3, levels=9, n_scores=2, kind="multilabel")
    table = given.binned
    column = int(np.flatnonzero(table.storage_index >= 0)[0])
    cut = Cut(column, float(table.thresholds(column)[1]), 1)
    sizes = [int((cut.signs(table) == side).sum()) for side in (-1, 1)]
    monkeypatch.setattr(Cut, "signs", None)
    with closing(NumbaBackend(table)) as backend:
        low, high = backend.split(given.state().whole, cut)
    assert [low.size, high.size] == sizes
