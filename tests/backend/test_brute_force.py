"""The search finds what trying every cut finds, on the same integers."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.backend.arithmetic import EXACT_SCALE, SEARCH_SCALE
from edgewise.backend.base import MISSING_AUTO, Step
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend

from ..helpers import Given, all_signed, search

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(1, 14),
        "d": st.integers(1, 4),
        "n_scores": st.integers(1, 4),
        "levels": st.integers(1, 5),
        "missing": st.booleans(),
        "storage": st.sampled_from(["dense", "sparse"]),
        "weight_levels": st.sampled_from([2, 4, None]),
    }
)


# Where missing values go.
SIDES = [MISSING_AUTO, -1, 0, 1]


def assert_finds_the_best(backend, problem, brute_force, **options):
    state = problem.state()
    columns = np.arange(problem.binned.n_columns)
    expected = brute_force(problem, state, **options)
    found = search(backend, columns, state.whole, score_edges=True, **options)
    assert found.edges.tolist() == [best[0] for best in expected]
    assert found.first.tolist() == [best[1] for best in expected]
    assert found.missing.tolist() == [best[2] for best in expected]
    for edges, best in zip(found.score_edges.tolist(), expected, strict=True):
        assert best[3] is None or edges == best[3]


def assert_finds_the_best_of_each_score(backend, problem, brute_force, **options):
    state = problem.state()
    columns = np.arange(problem.binned.n_columns)
    found = search(backend, columns, state.whole, per_score=True, **options)
    for score in range(state.n_scores):
        expected = brute_force(problem, state, scores=[score], **options)
        assert found.edges[:, score].tolist() == [best[0] for best in expected]
        assert found.first[:, score].tolist() == [best[1] for best in expected]
        assert found.missing[:, score].tolist() == [best[2] for best in expected]


@given(shapes, st.booleans(), st.sampled_from(SIDES))
def test_the_best_cut_of_every_column(make_problem, brute_force, shape, constant, absent):
    problem = make_problem(kind="multilabel", **shape)
    backend, options = ReferenceBackend(problem.binned), {"constant": constant, "absent": absent}
    assert_finds_the_best(backend, problem, brute_force, **options)
    assert_finds_the_best_of_each_score(backend, problem, brute_force, **options)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("absent", SIDES)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("n_scores", [1, 3, 10])
def test_the_best_cut_of_every_column_compiled(
    make_problem, brute_force, n_scores, storage, constant, absent
):
    options = {"constant": constant, "absent": absent}
    for seed in range(4):
        problem = make_problem(
            seed, n=20, n_scores=n_scores, kind="multilabel", storage=storage,
            weight_levels=(None, 3)[seed % 2],
        )  # fmt: skip
        with closing(NumbaBackend(problem.binned)) as backend:
            assert_finds_the_best(backend, problem, brute_force, **options)
            assert_finds_the_best_of_each_score(backend, problem, brute_force, **options)


def test_the_constant_wins_where_one_class_weighs_most(make_problem):
    problem = make_problem(0, n=30, n_scores=1, kind="multilabel")
    problem.labels[:] = -1
    state = problem.state()
    found = search(ReferenceBackend(problem.binned), problem.binned.splittable, state.whole)
    assert (found.first == 0).all()
    assert (found.missing == 1).all()
    assert (found.edges == np.abs(all_signed(state.whole)).sum()).all()


@pytest.mark.parametrize("kind", ["multiclass", "multilabel"])
@pytest.mark.parametrize("n_cuts", [1, 3])
def test_a_step_does_what_its_definition_says(make_problem, kind, n_cuts):
    rng = np.random.default_rng(11)
    problem = make_problem(3, n=25, n_scores=3, kind=kind, equal_mass=False)
    state = problem.state()
    backend = ReferenceBackend(problem.binned)
    step = Step(
        np.array([0.5, 0.25, 0.75]), np.array([0.9, 0.8, 0.7]), 0.6, rng.normal(size=3),
        np.array([1.0, 0.0, -0.5]),
    )  # fmt: skip
    signs = rng.choice([-1, 0, 1], size=(n_cuts, 25)).astype(np.int8)
    tally = backend.advance(state, Given(signs), step)
    pseudo, wrong_rows, wrong_entries = 0.0, 0, np.zeros((2, 3), dtype=np.int64)
    for i in range(25):
        pull, row = 0.0, []
        for k in range(3):
            sign, label = int(signs[k % n_cuts, i]), int(problem.labels[k, i])
            factor = {1: step.agree[k], -1: step.against[k], 0: step.abstain}[sign * label]
            weight = problem.weights[k, i]
            pull += weight * label * np.sign(step.votes[k])
            assert state.weights[k, i] == weight * factor
            assert state.scores[k, i] == sign * step.coefficients[k]
            assert all_signed(state.whole)[i, k] == round(weight * factor * SEARCH_SCALE) * label
            wrong = (state.scores[k, i] > 0) != (label > 0)
            wrong_entries[int(label > 0), k] += wrong * state.row_mass[i]
            row.append(wrong)
        pseudo += abs(pull)
        lost = int(state.scores[:, i].argmax()) != problem.target[i]
        wrong_rows += int(state.row_mass[i]) if (lost if kind == "multiclass" else any(row)) else 0
    assert np.array_equal(state.whole.signed_totals, all_signed(state.whole).sum(axis=0))
    assert np.array_equal(state.whole.signed_masses, np.abs(all_signed(state.whole)).sum(axis=0))
    assert tally.wrong_rows == wrong_rows
    assert np.array_equal(tally.wrong_entries, wrong_entries)
    if n_cuts == 1:
        assert tally.pseudo / EXACT_SCALE == pytest.approx(pseudo, rel=1e-12)
    else:
        assert tally.pseudo == -1


def test_edges_are_what_their_definition_says(make_problem):
    rng = np.random.default_rng(12)
    problem = make_problem(3, n=25, n_scores=3)
    state = problem.state()
    signs = rng.choice([-1, 0, 1], size=(3, 25)).astype(np.int8)
    found = ReferenceBackend(problem.binned).edges(state, Given(signs))
    exact = [[round(w * EXACT_SCALE) for w in column] for column in problem.weights.tolist()]
    labels = problem.labels.tolist()
    for k, cut in enumerate(signs.tolist()):
        assert found.edges[k] == sum(exact[k][i] * labels[k][i] * cut[i] for i in range(25))
        assert found.masses[k] == sum(exact[k][i] for i in range(25) if cut[i])
    assert found.total == sum(map(sum, exact))
