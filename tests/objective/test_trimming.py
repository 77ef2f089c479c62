"""Which weights a search looks at: enough of them, chosen by the weights alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewise.backend.arithmetic import SEARCH_SCALE
from edgewise.backend.base import Step
from edgewise.backend.numba.engine import NumbaBackend
from edgewise.backend.reference.engine import ReferenceBackend
from edgewise.objective import trimming
from edgewise.objective.trimming import HeaviestWeights, SampledRows, heaviest_rows

from ..helpers import Given, all_signed


@pytest.fixture
def eager(monkeypatch):
    """Look for a part in every round, and take it whatever it saves."""
    monkeypatch.setattr(trimming, "_TRY_EVERY", 1)
    monkeypatch.setattr(trimming, "_MAX_COST", 10.0)


def problem_of(make_problem, power, seed=0, n=60, n_scores=3, mass=False):
    """Return a problem whose weights lie the wider apart the larger the power."""
    case = make_problem(seed, n=n, d=3, n_scores=n_scores, kind="multilabel", missing=False)
    weights = np.random.default_rng(seed).random((n_scores, n)) ** power
    case.weights[:] = weights / weights.sum()
    return case, case.state(mass_column=mass)


def mass(problem):
    return int(problem.signed_masses.sum())


# The heaviest rows


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=40).filter(any),
    st.floats(0.01, 1.0),
)
def test_the_heaviest_rows_are_enough_and_none_too_many(masses, share):
    masses = np.array(masses)
    wanted = share * masses.sum()
    rows = heaviest_rows(masses, wanted)
    lightest = masses[rows].min()
    assert masses[rows].sum() >= wanted
    # All rows as heavy as the lightest are in; without them it would be too little.
    assert rows.tolist() == np.flatnonzero(masses >= lightest).tolist()
    assert masses[masses > lightest].sum() < wanted


# The share of the weight


@settings(max_examples=40)
@given(
    st.floats(0.05, 0.999), st.floats(0.0, 40.0), st.integers(0, 10**6), st.sampled_from([1, 3, 40])
)
def test_never_less_than_the_share_asked_for(make_problem, least, power, seed, n_scores):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trimming, "_TRY_EVERY", 1)
        case, state = problem_of(make_problem, power, seed, n_scores=n_scores)
        backend = ReferenceBackend(case.binned)
        selection = HeaviestWeights(least)
        rng = np.random.default_rng(seed)
        for t in range(8):
            problem = state.whole
            selection.begin_round(backend, problem, t)
            _, selected = selection.select(backend, problem, t)
            assert mass(selected) >= least * mass(problem)
            assert 0.0 < selection.cost <= 1.0
            state.weights *= np.exp(rng.normal(size=state.weights.shape))
            state.weights /= state.weights.sum()
            unmoved = np.ones((1, state.n_rows), dtype=np.int8)
            backend.advance(state, Given(unmoved), Step.scaling(n_scores))


def test_a_part_is_kept_until_it_is_too_light(make_problem, eager):
    case, state = problem_of(make_problem, 12.0)
    backend = ReferenceBackend(case.binned)
    selection = HeaviestWeights(0.8)
    selection.begin_round(backend, state.whole, 0)
    first = selection._part
    assert first is not None
    rows = first.rows
    # A little less weight on these rows is still enough.
    inside = np.isin(np.arange(60), rows)
    share = state.weights[:, inside].sum()
    assert share >= 0.9
    for wanted, kept in ((0.85, True), (0.81, True), (0.79, False)):
        state.weights[:, inside] *= wanted / state.weights[:, inside].sum()
        state.weights[:, ~inside] *= (1 - wanted) / state.weights[:, ~inside].sum()
        backend.advance(state, Given(np.ones((1, 60), dtype=np.int8)), Step.scaling(3))
        selection.begin_round(backend, state.whole, 1)
        assert (selection._part is first) == kept
    assert mass(selection.select(backend, state.whole, 1)[1]) >= 0.9 * mass(state.whole)


def test_a_part_is_looked_for_now_and_then(make_problem):
    case, state = problem_of(make_problem, 0.0)
    backend = ReferenceBackend(case.binned)
    selection = HeaviestWeights(0.8)
    selection.begin_round(backend, state.whole, 0)
    assert selection._part is None
    _, heavy = problem_of(make_problem, 20.0)
    for t in range(1, trimming._TRY_EVERY):
        selection.begin_round(backend, heavy.whole, t)
        assert selection.cost == 1.0
        assert selection.select(backend, heavy.whole, t)[0] is backend
    selection.begin_round(backend, heavy.whole, trimming._TRY_EVERY)
    assert selection._part is not None
    assert selection.cost < trimming._MAX_COST


def test_a_part_is_renewed_as_weight_gathers(make_problem):
    case, wide = problem_of(make_problem, 4.0, n=200)
    backend = ReferenceBackend(case.binned)
    selection = HeaviestWeights(0.6)
    selection.begin_round(backend, wide.whole, 0)
    size = selection._part.size
    # Heavier where it was heavy: the part holds still more of the weight, but fewer would do.
    _, narrow = problem_of(make_problem, 40.0, n=200)
    for t in range(1, trimming._RENEW_EVERY):
        selection.begin_round(backend, narrow.whole, t)
        assert selection._part.size == size
    selection.begin_round(backend, narrow.whole, trimming._RENEW_EVERY)
    assert selection._part.size < size / 2


@pytest.mark.parametrize("n_scores", [1, 3, 40])
def test_equal_weights_are_looked_at_as_a_whole(make_problem, n_scores):
    case, state = problem_of(make_problem, 0.0, n_scores=n_scores)
    backend = ReferenceBackend(case.binned)
    selection = HeaviestWeights(0.5)
    selection.begin_round(backend, state.whole, 0)
    assert selection.cost == 1.0
    assert selection.select(backend, state.whole, 0)[0] is backend


# Rows or entries


@pytest.mark.parametrize("mass_column", [False, True])
def test_entries_where_they_are_fewer(make_problem, mass_column):
    case, state = problem_of(make_problem, 60.0, n=200, n_scores=40, mass=mass_column)
    problem = state.whole
    sizes = np.abs(all_signed(problem))
    results = []
    for backend in (ReferenceBackend(case.binned), NumbaBackend(case.binned)):
        selection = HeaviestWeights(0.9)
        selection.begin_round(backend, problem, 0)
        _, selected = selection.select(backend, problem, 0)
        assert selection._part.size < 0.1 * sizes.size
        assert selection.cost <= trimming._MAX_COST
        assert mass(selected) >= 0.95 * mass(problem)
        results.append(
            (selection.cost, selection._part.rows.tolist(), selected.signed_totals.tolist())
        )
    assert results[0] == results[1]


def test_which_are_chosen_depends_on_the_weights_alone(make_problem, eager):
    for n_scores in (1, 40):
        case, state = problem_of(make_problem, 15.0, n_scores=n_scores)
        order = np.random.default_rng(0).permutation(60)
        other = case.rows(order)
        chosen = []
        for variant, weights in ((case, case.weights), (other, other.weights)):
            state = variant.state()
            np.testing.assert_array_equal(state.weights, weights)
            backend = ReferenceBackend(variant.binned)
            selection = HeaviestWeights(0.8)
            selection.begin_round(backend, state.whole, 0)
            chosen.append((selection._part.rows, selection.cost, selection._part.size))
        assert sorted(order[chosen[1][0]]) == chosen[0][0].tolist()
        assert chosen[0][1:] == chosen[1][1:]


# Rows drawn by their weight (Kégl and Busa-Fekete 2009b section 1)


@pytest.mark.parametrize("mass_column", [False, True])
@pytest.mark.parametrize("n_scores", [1, 3])
def test_every_draw_has_the_same_weight(make_problem, n_scores, mass_column):
    case, state = problem_of(make_problem, 3.0, n_scores=n_scores, mass=mass_column)
    problem = state.whole
    masses = np.abs(all_signed(problem)).sum(axis=1)
    for backend in (ReferenceBackend(case.binned), NumbaBackend(case.binned)):
        selection = SampledRows(0.5, seed=4)
        part_kernels, selected = selection.select(backend, problem, 7)
        assert selection.cost == 0.5
        sizes = np.abs(all_signed(selected)).sum(axis=1)
        draws = sizes * 30 / SEARCH_SCALE
        np.testing.assert_allclose(draws, np.rint(draws), atol=1e-5)
        assert np.rint(draws).sum() == 30
        assert selected.n_rows == part_kernels.table.n_rows <= 30
        np.testing.assert_array_equal(selected.signed_totals, all_signed(selected).sum(axis=0))
        np.testing.assert_array_equal(
            selected.signed_masses, np.abs(all_signed(selected)).sum(axis=0)
        )
        if mass_column:
            by_row = selected.signed.transpose(1, 0, 2).reshape(selected.n_rows, -1)
            np.testing.assert_array_equal(by_row[:, n_scores], sizes)
    assert masses.max() > 2 * masses.mean()


def test_heavy_rows_are_drawn_more_often(make_problem):
    case, state = problem_of(make_problem, 6.0, n_scores=1)
    problem = state.whole
    shares = np.abs(all_signed(problem)).sum(axis=1) / mass(problem)
    backend, selection = ReferenceBackend(case.binned), SampledRows(1.0, seed=0)
    sums = np.zeros(1)
    totals = 0
    for t in range(200):
        _, selected = selection.select(backend, problem, t)
        sums += selected.signed_totals
        totals += mass(selected)
    # The expectation of a sample's sums is the sum over everything.
    assert abs(sums[0] / totals - problem.signed_totals[0] / mass(problem)) < 0.03
    assert shares.max() > 0.03


def test_the_same_seed_and_round_draw_the_same_rows(make_problem):
    case, state = problem_of(make_problem, 2.0)
    problem = state.whole

    def drawn(seed, t):
        return all_signed(
            SampledRows(0.3, seed).select(ReferenceBackend(case.binned), problem, t)[1]
        ).tolist()

    assert drawn(1, 5) == drawn(1, 5)
    assert drawn(1, 5) != drawn(1, 6)
    assert drawn(1, 5) != drawn(2, 5)


def test_rows_without_weight_are_never_drawn(make_problem):
    case, state = problem_of(make_problem, 1.0, n_scores=1)
    state.weights[:, ::2] = 0.0
    state.weights /= state.weights.sum()
    backend = ReferenceBackend(case.binned)
    backend.advance(state, Given(np.ones((1, 60), dtype=np.int8)), Step.scaling(1))
    problem = state.whole
    selection = SampledRows(1.0, seed=0)
    for t in range(20):
        part_kernels, selected = selection.select(backend, problem, t)
        assert (np.abs(all_signed(selected)).sum(axis=1) > 0).all()
        assert part_kernels.table.n_rows <= 30
