"""Votes against their formulas and against trying every vote vector."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.backend.arithmetic import EXACT_SCALE
from edgewise.backend.base import Edges
from edgewise.objective import VOTE_RULES

FLOOR = 1e-6


@st.composite
def cuts(draw, max_scores=6):
    """Draw the edges of a cut: right and wrong weight of each score column, and idle weight."""
    n_scores = draw(st.integers(1, max_scores))
    shares = st.integers(1, 1000)
    plus = np.array(draw(st.lists(shares, min_size=n_scores, max_size=n_scores)), dtype=float)
    minus = np.array(draw(st.lists(shares, min_size=n_scores, max_size=n_scores)), dtype=float)
    idle = draw(st.sampled_from([0.0, 100.0]))
    total = plus.sum() + minus.sum() + idle
    unit = EXACT_SCALE / total
    edges = np.rint((plus - minus) * unit).astype(np.int64)
    masses = np.rint((plus + minus) * unit).astype(np.int64)
    return Edges(edges, masses, int(masses.sum()) + round(idle * unit))


def energy_of(edges, alpha, votes):
    """Return Z: each score column's right and wrong weight after the step, and the idle weight."""
    plus = (edges.masses + edges.edges) / 2 / EXACT_SCALE
    minus = (edges.masses - edges.edges) / 2 / EXACT_SCALE
    idle = (edges.total - int(edges.masses.sum())) / EXACT_SCALE
    step = alpha * np.asarray(votes)
    return float((plus * np.exp(-step) + minus * np.exp(step)).sum()) + idle


def least_energies(edges, choices):
    """Return the least energy over alpha of every vote vector with the given entries."""
    plus = (edges.masses + edges.edges) / 2 / EXACT_SCALE
    minus = (edges.masses - edges.edges) / 2 / EXACT_SCALE
    energies = {}
    for votes in product(choices, repeat=len(plus)):
        v = np.array(votes)
        right = plus[v > 0].sum() + minus[v < 0].sum()
        wrong = minus[v > 0].sum() + plus[v < 0].sum()
        idle = edges.total / EXACT_SCALE - right - wrong
        energies[votes] = idle + 2 * np.sqrt(right * wrong)
    return energies


@given(cuts())
def test_discrete_votes_are_the_best_of_all_signs(edges):
    vote = VOTE_RULES["discrete"]().vote(edges, FLOOR)
    best = min(least_energies(edges, (-1, 1)).values())
    assert vote.energy == pytest.approx(best, rel=1e-12)
    assert vote.energy == pytest.approx(energy_of(edges, vote.alpha, vote.votes), rel=1e-12)


@given(cuts())
def test_abstaining_votes_are_the_best_of_all_signs_and_zeros(edges):
    vote = VOTE_RULES["abstain"]().vote(edges, FLOOR)
    energies = least_energies(edges, (-1, 0, 1))
    assert len(energies) == 3 ** len(edges.edges)
    assert vote.energy == pytest.approx(min(energies.values()), rel=1e-12)
    assert energies[tuple(vote.votes.astype(int))] == pytest.approx(vote.energy, rel=1e-12)
    assert vote.energy == pytest.approx(energy_of(edges, vote.alpha, vote.votes), rel=1e-12)


def test_an_unsure_score_column_abstains():
    plus, minus = np.array([0.40, 0.26]), np.array([0.10, 0.24])
    fixed = np.rint(np.array([plus - minus, plus + minus]) * EXACT_SCALE).astype(np.int64)
    vote = VOTE_RULES["abstain"]().vote(Edges(*fixed, int(fixed[1].sum())), FLOOR)
    # Alone, the first column leaves 0.5 + 2 sqrt(0.4 * 0.1) = 0.9; with the second the two leave
    # 2 sqrt(0.66 * 0.34) = 0.947.
    assert vote.votes.tolist() == [1.0, 0.0]
    assert vote.energy == pytest.approx(0.9, rel=1e-12)
    assert vote.alpha == pytest.approx(np.log(2), rel=1e-12)


@given(cuts())
def test_real_votes_are_half_the_log_odds_of_each_column(edges):
    vote = VOTE_RULES["real"]().vote(edges, FLOOR)
    plus = (edges.masses + edges.edges).astype(float)
    minus = (edges.masses - edges.edges).astype(float)
    np.testing.assert_allclose(vote.votes, 0.5 * np.log(plus / minus), rtol=1e-9, atol=1e-12)
    idle = (edges.total - int(edges.masses.sum())) / EXACT_SCALE
    best = np.sqrt(plus * minus).sum() / EXACT_SCALE + idle
    assert vote.energy == pytest.approx(best, rel=1e-12)


@given(cuts())
def test_freer_votes_never_leave_more_energy(edges):
    energy = {name: rule().vote(edges, FLOOR).energy for name, rule in VOTE_RULES.items()}
    assert energy["real"] <= energy["abstain"] + 1e-12
    assert energy["abstain"] <= energy["discrete"] + 1e-12


@pytest.mark.parametrize("name", VOTE_RULES)
@given(cuts())
def test_energies_of_candidates_are_those_of_their_votes(name, edges):
    rule = VOTE_RULES[name]()
    sizes = np.abs(edges.edges)
    plus, minus = (edges.masses + sizes) / 2 / EXACT_SCALE, (edges.masses - sizes) / 2 / EXACT_SCALE
    candidates = rule.energies(np.stack([plus, plus[::-1]]), np.stack([minus, minus[::-1]]))
    idle = (edges.total - int(edges.masses.sum())) / EXACT_SCALE
    expected = rule.vote(edges, FLOOR).energy - idle
    np.testing.assert_allclose(candidates, expected, rtol=1e-9)


@pytest.mark.parametrize("name", VOTE_RULES)
def test_a_side_without_weight_counts_as_the_floor(name):
    mass = np.array([2**62], dtype=np.int64)
    vote = VOTE_RULES[name]().vote(Edges(mass, mass, 2**62), 0.01)
    # 1/2 ln(1 / 0.01) = ln 10, and exp(-ln 10) is left.
    assert vote.coefficients == pytest.approx([np.log(10)], rel=1e-12)
    assert vote.energy == pytest.approx(0.1, rel=1e-12)
    assert vote.edge == 1.0


@given(cuts(), st.floats(0.01, 10.0))
def test_damping_adds_to_both_sides_of_discrete_votes(edges, damping):
    vote = VOTE_RULES["discrete"]().vote(edges, 0.0, damping)
    edge, mass = np.abs(edges.edges).sum() / EXACT_SCALE, edges.masses.sum() / EXACT_SCALE
    odds = ((mass + edge) / 2 + damping) / ((mass - edge) / 2 + damping)
    assert vote.alpha == pytest.approx(0.5 * np.log(odds), rel=1e-9, abs=1e-12)
