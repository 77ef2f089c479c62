"""The compiled backend gives the integers and floats of its NumPy reference."""

from contextlib import closing

import numpy as np
import pytest

from edgewise.backend.base import Step
from edgewise.backend.choose import backend_for
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend

from ..helpers import Given, search

# Every lane width, both ways of chunking past 32, and widths that are full or nearly empty.
SCORES = [1, 2, 3, 5, 8, 10, 17, 26, 33, 40]

# Rows: less than a block of 8, not a multiple of it, and more than one and two tiles of 512.
SIZES = {1: 1031, 2: 7, 3: 259, 5: 513, 8: 512, 10: 1037, 17: 101, 26: 517, 33: 41, 40: 67}


def assert_same_edges(reference, compiled, state, other, signs):
    a, b = reference.edges(state, Given(signs)), compiled.edges(other, Given(signs))
    assert np.array_equal(a.edges, b.edges)
    assert np.array_equal(a.masses, b.masses)
    assert a.total == b.total


def assert_same_state(state, other):
    for name in ("weights", "scores"):
        assert np.array_equal(getattr(state, name), getattr(other, name)), name
    for name in ("signed", "signed_totals", "signed_masses"):
        assert np.array_equal(getattr(state.whole, name), getattr(other.whole, name)), name


def assert_same_tally(a, b):
    assert (a.pseudo, a.wrong_rows) == (b.pseudo, b.wrong_rows)
    assert np.array_equal(a.wrong_entries, b.wrong_entries)


def random_step(rng, n_scores):
    return Step(
        rng.uniform(0.2, 1.0, n_scores),
        rng.uniform(0.2, 1.0, n_scores),
        rng.uniform(0.2, 1.0),
        rng.normal(size=n_scores),
        rng.normal(size=n_scores) * rng.integers(2, size=n_scores),
    )


def random_signs(rng, n_cuts, n, kind):
    choices = [-1, 1] if kind == "full" else [-1, 0, 1]
    return rng.choice(choices, size=(n_cuts, n)).astype(np.int8)


@pytest.fixture(scope="module")
def assert_equal_to_reference(both, same_candidates):
    """Run both backends side by side through steps of every kind."""

    def check(problem, n_jobs=1, seed=0):
        rng = np.random.default_rng(seed)
        n_scores, n = problem.labels.shape
        state, other = problem.fresh_state(), problem.fresh_state()
        with both(problem.binned, n_jobs) as (reference, compiled):
            kinds = ((1, "full"), (1, "abstaining"), (n_scores, "full"), (n_scores, "abstaining"))
            for n_cuts, kind in kinds:
                signs = random_signs(rng, n_cuts, n, kind)
                step = random_step(rng, n_scores)
                assert_same_edges(reference, compiled, state, other, signs)
                assert_same_tally(
                    reference.advance(state, Given(signs), step),
                    compiled.advance(other, Given(signs), step),
                )
                assert_same_state(state, other)
                same_candidates(reference, compiled, state.whole, other.whole)

    return check


@pytest.mark.parametrize("storage", ["dense", "sparse", "auto"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_scores", SCORES)
def test_multiclass(assert_equal_to_reference, make_problem, n_scores, missing, storage):
    kind = "multiclass" if n_scores > 1 else "multilabel"
    problem = make_problem(
        n_scores, n=SIZES[n_scores], d=9, n_scores=n_scores, kind=kind, missing=missing,
        storage=storage, equal_mass=missing,
    )  # fmt: skip
    assert_equal_to_reference(problem)


@pytest.mark.parametrize("equal_mass", [False, True])
@pytest.mark.parametrize("n_scores", [1, 3, 10, 33])
def test_multilabel_and_binary(assert_equal_to_reference, make_problem, n_scores, equal_mass):
    for seed in range(3):
        problem = make_problem(
            seed, n=300 + seed, n_scores=n_scores, kind="multilabel", equal_mass=equal_mass
        )
        assert_equal_to_reference(problem, seed=seed)


@pytest.mark.parametrize("n_scores", [3, 10])
def test_ties_are_broken_alike(assert_equal_to_reference, make_problem, n_scores):
    for seed in range(5):
        problem = make_problem(seed, n=17, n_scores=n_scores, levels=3, weight_levels=3)
        assert_equal_to_reference(problem, seed=seed)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_wide_codes(assert_equal_to_reference, make_problem, storage):
    problem = make_problem(0, n=700, n_scores=3, levels=5000, max_bins=1000, storage=storage)
    assert problem.binned.codes(0).dtype == np.uint16
    assert_equal_to_reference(problem)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_a_single_row_in_each_class(assert_equal_to_reference, make_problem, storage):
    assert_equal_to_reference(make_problem(2, n=2, d=3, n_scores=2, missing=False, storage=storage))


@pytest.mark.parametrize("n_scores", [1, 3, 10])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_share_rows_and_columns(assert_equal_to_reference, make_problem, n_scores, n_jobs):
    kind = "multiclass" if n_scores > 1 else "multilabel"
    problem = make_problem(
        5, n=9_195, d=9, n_scores=n_scores, kind=kind, equal_mass=n_scores == 3, levels=90
    )
    with closing(NumbaBackend(problem.binned, n_jobs)) as compiled:
        assert len(compiled._row_spans(9_195)) == n_jobs
    assert_equal_to_reference(problem, n_jobs)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_64_bit_search(
    assert_equal_to_reference, both, same_candidates, make_problem, monkeypatch, storage
):
    problem = make_problem(7, n=263, n_scores=10, storage=storage)
    narrow = problem.state()
    monkeypatch.setattr("edgewise.backend.host.WIDE_SEARCH_LIMIT", 100)
    wide = problem.state()
    assert (narrow.whole.signed.dtype, wide.whole.signed.dtype) == (np.int32, np.int64)
    assert_equal_to_reference(problem)
    with both(problem.binned) as (reference, compiled):
        same_candidates(reference, compiled, narrow.whole, wide.whole)


@pytest.mark.parametrize("label", [-1, 1])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("n_scores", [1, 10])
def test_all_weight_on_one_entry_overflows_nothing(
    assert_equal_to_reference, make_problem, n_scores, storage, label
):
    problem = make_problem(1, n=50, n_scores=n_scores, kind="multilabel", storage=storage)
    score, row = n_scores - 1, 3
    problem.labels[score, row] = label
    problem.weights[:] = 0.0
    problem.weights[score, row] = 1.0
    state = problem.state()
    cut = problem.binned.cut(0, 1, 1)
    with closing(NumbaBackend(problem.binned)) as compiled:
        for backend in (ReferenceBackend(problem.binned), compiled):
            found = search(backend, problem.binned.splittable, state.whole, score_edges=True)
            assert (found.edges == 2**30).all()
            assert (np.abs(found.score_edges[:, score]) == 2**30).all()
            edges = backend.edges(state, Given(cut[None]))
            assert edges.total == 2**62
            assert edges.edges[score] == 2**62 * label * int(cut[row])
            assert edges.masses[score] == 2**62
    assert_equal_to_reference(problem)


def test_some_columns_alone_give_their_own_candidates(make_problem):
    problem = make_problem(4, n=90, d=9, n_scores=3)
    state = problem.state()
    everything = search(ReferenceBackend(problem.binned), np.arange(9), state.whole)
    few = np.array([1, 4, 8])
    with closing(NumbaBackend(problem.binned)) as compiled:
        for backend in (ReferenceBackend(problem.binned), compiled):
            found = search(backend, few, state.whole)
            assert np.array_equal(found.columns, few)
            assert np.array_equal(found.edges, everything.edges[few])
            assert np.array_equal(found.first, everything.first[few])
            assert np.array_equal(found.missing, everything.missing[few])


def test_the_backend_can_be_chosen(make_problem, monkeypatch):
    table = make_problem(0).binned
    chosen = {}
    for name in ("numpy", "numba", "auto"):
        monkeypatch.setenv("EDGEWISE_BACKEND", name)
        with closing(backend_for(table, n_scores=3, n_rounds=1, n_jobs=1)) as backend:
            chosen[name] = type(backend)
    expected = {"numpy": ReferenceBackend, "numba": NumbaBackend, "auto": ReferenceBackend}
    assert chosen == expected
    monkeypatch.setenv("EDGEWISE_BACKEND", "fortran")
    with pytest.raises(ValueError, match="EDGEWISE_BACKEND"):
        backend_for(table, n_scores=3, n_rounds=1, n_jobs=1)
