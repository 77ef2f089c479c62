"""Ranking losses by counting, against all pairs one by one (Iyer 1999, Eq. 5.1)."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewise.recommend import arrays as blocks
from edgewise.recommend.per_user import ranking_distances


def pair_by_pair(grades, scores, weights):
    """Return the share of the pairs that scores misorder, ties counting half."""
    total = wrong = 0.0
    for one, two in combinations(range(len(grades)), 2):
        if grades[one] == grades[two]:
            continue
        worse, better = (one, two) if grades[one] < grades[two] else (two, one)
        weight = weights[one] * weights[two]
        total += weight
        wrong += weight * (scores[worse] > scores[better])
        wrong += weight * 0.5 * (scores[worse] == scores[better])
    return wrong / total if total else 0.0


def best_default(grades, rated, n_levels, weights):
    """Return the least loss of a viewer over all default levels, and the lowest such level."""
    found = [
        pair_by_pair(grades, np.where(rated < 0, level, rated), weights)
        for level in range(n_levels)
    ]
    return min(found), found


@st.composite
def problems(draw):
    n_levels, m = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    grades = draw(st.lists(st.integers(0, n_levels - 1), min_size=m, max_size=m))
    rows = st.lists(st.integers(-1, n_levels - 1), min_size=m, max_size=m)
    table = draw(st.lists(rows, min_size=1, max_size=6))
    return np.unique(grades, return_inverse=True)[1], np.array(table), n_levels


@pytest.mark.parametrize("weighed", [False, True])
@given(problems())
def test_counting_gives_the_loss_of_all_pairs(weighed, problem):
    grades, table, n_levels = problem
    weights = np.linspace(0.5, 2.0, len(grades)) if weighed else np.ones(len(grades))
    viewers, places = np.nonzero(table >= 0)
    rated_pairs, shape = (viewers, places, table[viewers, places]), (len(table), n_levels)
    distances = ranking_distances(
        grades, rated_pairs, shape, weights if weighed else np.ones(len(grades))
    )
    losses, defaults, common = distances
    for viewer, rated in enumerate(table):
        least, each = best_default(grades, rated, n_levels, weights)
        assert losses[viewer] == pytest.approx(least)
        assert common[viewer] == (rated >= 0).sum()
        if (rated >= 0).all():
            assert defaults[viewer] == -1
        else:
            assert each[defaults[viewer]] == pytest.approx(least)
            if not weighed:
                # The arithmetic is exact: of equals the lowest level.
                assert defaults[viewer] == int(np.argmin(np.round(each, 12)))


def test_viewers_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.integers(-1, 5, (40, 30))
    grades = rng.integers(0, 5, 30)
    viewers, places = np.nonzero(table >= 0)
    problem = grades, (viewers, places, table[viewers, places]), (40, 5), np.ones(30)
    whole = ranking_distances(*problem)
    monkeypatch.setattr(blocks, "_BLOCK", 75)
    for one, two in zip(whole, ranking_distances(*problem), strict=True):
        np.testing.assert_array_equal(one, two)
